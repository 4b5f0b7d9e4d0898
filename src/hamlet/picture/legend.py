"""The legend: one small sample for each sign that occurs in the pictures, and no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from hamlet.picture.geometry import Box, Point
from hamlet.picture.style import (
    MUTED,
    draw_arrow,
    draw_box,
    draw_guard_mark,
    draw_node_shape,
    draw_text,
)
from hamlet.picture.text import text_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hamlet.picture.graph import Graph

    _Sample = Callable[[Element, Point], None]

LEGEND_LINE = 30.0
_SIZE = 12.0
_SAMPLE_WIDTH = 34.0
_SPACE = 28.0


@dataclass(frozen=True, slots=True)
class Sign:
    """One entry: its text, whether it occurs in a graph, and how to draw its sample."""

    text: str
    occurs: Callable[[Graph], bool]
    draw: _Sample


def _node_sample(kind: str, *, accepting: bool = False, stacked: bool = False) -> _Sample:
    def draw(parent: Element, left: Point) -> None:
        box = Box(left.x + 2, left.y - 9, 28, 18)
        back = 5.0 if stacked else 0.0
        front = Box(box.x, box.y, box.width - back, box.height - back)
        draw_node_shape(parent, box, front, kind, accepting=accepting, stacked=stacked)

    return draw


def _edge_sample(*, is_shared: bool, is_guarded: bool) -> _Sample:
    def draw(parent: Element, left: Point) -> None:
        tip = Point(left.x + 32, left.y)
        base = Point(tip.x - 9, left.y)
        draw_arrow(
            parent,
            [left, left, base, base],
            tip,
            is_shared=is_shared,
            is_guarded=is_guarded,
        )
        if is_guarded:
            draw_box(parent, Box(left.x + 5, left.y - 7, 14, 14), 7, "#ffffff")
            draw_guard_mark(parent, Point(left.x + 12, left.y))

    return draw


SIGNS = (
    Sign(
        "start of a trend",
        lambda graph: any(node.kind == "start" for node in graph.nodes),
        _node_sample("start"),
    ),
    Sign(
        "end of a trend",
        lambda graph: any(node.kind == "end" for node in graph.nodes),
        _node_sample("end"),
    ),
    Sign(
        "a trend may end here",
        lambda graph: any(node.accepting for node in graph.nodes),
        _node_sample("place", accepting=True),
    ),
    Sign(
        "Kleene type shared by several queries",
        lambda graph: any(node.kind == "shared" for node in graph.nodes),
        _node_sample("shared"),
    ),
    Sign(
        "step shared by several queries",
        lambda graph: any(edge.kind == "shared" for edge in graph.edges),
        _edge_sample(is_shared=True, is_guarded=False),
    ),
    Sign(
        "only if no such event lies between",
        lambda graph: any(edge.guards for edge in graph.edges),
        _edge_sample(is_shared=False, is_guarded=True),
    ),
    Sign(
        "several event types folded into one",
        lambda graph: any(node.stacked for node in graph.nodes),
        _node_sample("place", stacked=True),
    ),
)


def signs_in(graphs: Sequence[Graph]) -> list[Sign]:
    """The entries that at least one graph needs, in legend order."""
    return [sign for sign in SIGNS if any(map(sign.occurs, graphs))]


def legend_rows(signs: Sequence[Sign], width: float) -> list[list[Sign]]:
    """The entries broken into rows of the given width."""
    rows: list[list[Sign]] = []
    used = width
    for sign in signs:
        if used + _width(sign) > width or not rows:
            rows.append([])
            used = 0.0
        rows[-1].append(sign)
        used += _width(sign) + _SPACE
    return rows


def draw_legend(parent: Element, rows: Sequence[Sequence[Sign]], corner: Point) -> None:
    """Draw the rows below a corner point."""
    group = SubElement(parent, "g", {"class": "legend"})
    for index, row in enumerate(rows):
        x = corner.x
        y = corner.y + LEGEND_LINE * (index + 0.5)
        for sign in row:
            sign.draw(group, Point(x, y))
            text_at = Point(x + _SAMPLE_WIDTH + 8, y + 4)
            draw_text(group, text_at, sign.text, _SIZE, MUTED, anchor="start")
            x += _width(sign) + _SPACE


def _width(sign: Sign) -> float:
    return _SAMPLE_WIDTH + 8 + text_width(sign.text, _SIZE)
