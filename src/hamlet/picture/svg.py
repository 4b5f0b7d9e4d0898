"""Graphs as one standalone SVG document: titled cards in a grid, a legend below.

Texts are user data: they are cleaned of characters XML forbids, shortened in the drawing, and
given in full as hover titles. ElementTree does the escaping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from hamlet.picture.cards import (
    GAP,
    MARGIN,
    PADDING,
    SUBTITLE_LINE,
    SUBTITLE_SIZE,
    TITLE_LINE,
    TITLE_SIZE,
    PlacedCard,
    arrange,
    make_card,
)
from hamlet.picture.geometry import Box, Point
from hamlet.picture.layout import lay_out
from hamlet.picture.legend import LEGEND_LINE, draw_legend, legend_rows, signs_in
from hamlet.picture.measure import (
    DETAIL_LINE,
    DETAIL_SIZE,
    GUARD_MARK,
    LABEL_LINE,
    LABEL_SIZE,
    MAIN_LINE,
    MAIN_SIZE,
    TERMINAL_SIZE,
)
from hamlet.picture.style import (
    CARD,
    CARD_BORDER,
    FONT,
    GUARD,
    GUARD_TINT,
    INK,
    MUTED,
    NODE_PAINTS,
    PAGE,
    draw_arrow,
    draw_box,
    draw_guard_mark,
    draw_node_shape,
    draw_text,
    number,
)
from hamlet.picture.text import clean, text_width, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.picture.graph import Edge, Graph, Node
    from hamlet.picture.layout import PlacedEdge, PlacedGraph, PlacedLabel, PlacedNode

_HEADING_SIZE = 21.0
_HEADING_LINE = 28.0
_LEAST_PAGE = 360.0


def render(graphs: Sequence[Graph], *, heading: str = "", columns: int | None = None) -> str:
    """Draw graphs as one SVG document.

    Args:
        graphs: What to draw, in reading order.
        heading: Line above all cards; none if empty.
        columns: Cards in a row; None fits as many as are readable on a screen about 1400 px wide.
    """
    cards = [make_card(graph, lay_out(graph)) for graph in graphs]
    heading = clean(heading)
    top = MARGIN + (_HEADING_LINE + 12 if heading.strip() else 0.0)
    placed = arrange(cards, columns, top)
    width = max([card.box.right + MARGIN for card in placed] + [_LEAST_PAGE])
    bottom = max((card.box.bottom for card in placed), default=top)
    rows = legend_rows(signs_in(graphs), width - 2 * MARGIN)
    legend_height = LEGEND_LINE * len(rows) + GAP / 2 if rows else 0.0

    svg = _document(width, bottom + legend_height + MARGIN)
    for line in wrap(heading, _HEADING_SIZE, width - 2 * MARGIN, 1, bold=True):
        at = Point(MARGIN, MARGIN + _HEADING_SIZE)
        draw_text(svg, at, line, _HEADING_SIZE, INK, anchor="start", bold=True)
    for card in placed:
        _draw_card(svg, card)
    if rows:
        draw_legend(svg, rows, Point(MARGIN, bottom + GAP / 2))
    return tostring(svg, encoding="unicode") + "\n"


def _document(width: float, height: float) -> Element:
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": number(width),
            "height": number(height),
            "viewBox": f"0 0 {number(width)} {number(height)}",
            "font-family": FONT,
        },
    )
    SubElement(svg, "rect", {"width": "100%", "height": "100%", "fill": PAGE})
    return svg


def _draw_card(svg: Element, card: PlacedCard) -> None:
    content, box = card.content, card.box
    group = SubElement(svg, "g", {"transform": f"translate({number(box.x)} {number(box.y)})"})
    graph = content.graph
    _add_hover(group, (graph.title, graph.subtitle))
    draw_box(group, Box(0, 0, box.width, box.height), 10, CARD, CARD_BORDER)

    y = PADDING
    for line in content.title:
        at = Point(PADDING, y + TITLE_SIZE)
        draw_text(group, at, line, TITLE_SIZE, INK, anchor="start", bold=True)
        y += TITLE_LINE
    for line in content.subtitle:
        at = Point(PADDING, y + SUBTITLE_SIZE)
        draw_text(group, at, line, SUBTITLE_SIZE, MUTED, anchor="start")
        y += SUBTITLE_LINE
    # Cards of one row share a height; a smaller graph stands in the middle of its space.
    spare = box.height - content.height
    corner = Point(PADDING, PADDING + content.header_height + spare // 2)
    _draw_layout(group, content.layout, corner)
    y = box.height - PADDING - SUBTITLE_LINE * len(content.notes)
    for line in content.notes:
        at = Point(PADDING, y + SUBTITLE_SIZE)
        draw_text(group, at, line, SUBTITLE_SIZE, MUTED, anchor="start")
        y += SUBTITLE_LINE


def _draw_layout(parent: Element, layout: PlacedGraph, corner: Point) -> None:
    translate = f"translate({number(corner.x)} {number(corner.y)})"
    group = SubElement(parent, "g", {"transform": translate})
    # Shared edges last, then nodes, then labels: what matters most lies on top.
    for edge in sorted(layout.edges, key=lambda placed: placed.edge.kind == "shared"):
        _draw_edge(group, edge)
    for node in layout.nodes:
        _draw_node(group, node)
    for edge in layout.edges:
        if edge.label is not None:
            _draw_label(group, edge.edge, edge.label)


def _draw_edge(parent: Element, placed: PlacedEdge) -> None:
    edge = placed.edge
    group = SubElement(parent, "g", {"class": "edge"})
    _add_hover(group, (*edge.lines, *edge.guards))
    draw_arrow(
        group,
        placed.path,
        placed.tip,
        is_shared=edge.kind == "shared",
        is_guarded=bool(edge.guards),
    )


def _draw_label(parent: Element, edge: Edge, label: PlacedLabel) -> None:
    group = SubElement(parent, "g", {"class": "label"})
    _add_hover(group, (*edge.lines, *edge.guards))
    box = label.box
    draw_box(group, box, 6, CARD)
    y = box.y + 2
    for line in label.lines:
        at = Point(box.centre.x, y + 12)
        bold = edge.kind == "shared"
        draw_text(group, at, line, LABEL_SIZE, "#0f2f75" if bold else INK, bold=bold)
        y += LABEL_LINE
    for guard in label.guards:
        _draw_guard(group, guard, Point(box.centre.x, y), box.width)
        y += LABEL_LINE


def _draw_guard(parent: Element, guard: str, top: Point, width: float) -> None:
    draw_box(parent, Box(top.x - width / 2, top.y, width, LABEL_LINE), 5, GUARD_TINT)
    text = text_width(guard, LABEL_SIZE, bold=True)
    left = top.x - (text + GUARD_MARK) / 2
    draw_guard_mark(parent, Point(left + 5, top.y + LABEL_LINE / 2))
    at = Point(left + GUARD_MARK, top.y + 12)
    draw_text(parent, at, guard, LABEL_SIZE, GUARD, anchor="start", bold=True)


def _draw_node(parent: Element, placed: PlacedNode) -> None:
    node, front = placed.node, placed.front
    group = SubElement(parent, "g", {"class": f"node {node.kind}"})
    _add_hover(group, node.lines)
    draw_node_shape(
        group, placed.box, front, node.kind, accepting=node.accepting, stacked=node.stacked
    )
    paint = NODE_PAINTS[node.kind]
    details = placed.lines[1:]
    y = front.centre.y - (MAIN_LINE + DETAIL_LINE * len(details)) / 2
    for line in placed.lines[:1]:
        size = _main_size(node)
        draw_text(group, Point(front.centre.x, y + 14), line, size, paint.text, bold=True)
    y += MAIN_LINE
    for line in details:
        draw_text(group, Point(front.centre.x, y + 11), line, DETAIL_SIZE, paint.detail)
        y += DETAIL_LINE


def _main_size(node: Node) -> float:
    return TERMINAL_SIZE if node.kind in ("start", "end") else MAIN_SIZE


def _add_hover(group: Element, lines: Sequence[str]) -> None:
    """Give the full texts as a hover title, which must be the first child."""
    text = "\n".join(clean(line) for line in lines if line)
    if text:
        SubElement(group, "title").text = text
