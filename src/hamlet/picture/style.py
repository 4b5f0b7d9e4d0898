"""Colours and the small drawing verbs shared by graphs, cards and legend.

Everything is set by presentation attributes, without style sheets, ids or markers, so several
pictures can stand in one HTML page and not disturb each other. No fact is told by colour alone:
guarded edges are dashed, shared ones thicker, accepting nodes have a second border.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.picture.geometry import Box, Point

FONT = "Inter, Segoe UI, Helvetica, Arial, sans-serif"
PAGE = "#f4f6f9"
CARD = "#ffffff"
CARD_BORDER = "#dfe4ec"
INK = "#1b2434"
MUTED = "#5b6779"
LINE = "#5d6a7e"
ACCENT = "#1a56c4"
GUARD = "#a11a1a"
GUARD_TINT = "#fdf1f1"


@dataclass(frozen=True, slots=True)
class Paint:
    """Look of one kind of node."""

    fill: str
    stroke: str
    stroke_width: float
    text: str
    detail: str


NODE_PAINTS = {
    "start": Paint("#3a4658", "#3a4658", 1.5, "#ffffff", "#e3e8f0"),
    "end": Paint("#ffffff", "#3a4658", 2.5, INK, MUTED),
    "place": Paint("#f3f6fa", "#8996a9", 1.4, INK, MUTED),
    "shared": Paint("#dfeaff", ACCENT, 2.8, "#0f2f75", "#3c5488"),
}


def number(value: float) -> str:
    """A coordinate as short text.

    >>> number(12.0), number(1.25)
    ('12', '1.2')
    """
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def draw_text(
    parent: Element,
    at: Point,
    text: str,
    size: float,
    fill: str,
    *,
    anchor: str = "middle",
    bold: bool = False,
) -> None:
    """Write one line with its baseline at a point."""
    attributes = {"x": number(at.x), "y": number(at.y), "font-size": number(size), "fill": fill}
    if anchor != "start":
        attributes["text-anchor"] = anchor
    if bold:
        attributes["font-weight"] = "600"
    SubElement(parent, "text", attributes).text = text


def draw_box(
    parent: Element,
    box: Box,
    radius: float,
    fill: str,
    stroke: str | None = None,
    stroke_width: float = 1.0,
) -> None:
    """Draw a rectangle with round corners."""
    attributes = {
        "x": number(box.x),
        "y": number(box.y),
        "width": number(box.width),
        "height": number(box.height),
        "rx": number(radius),
        "fill": fill,
    }
    if stroke is not None:
        attributes |= {"stroke": stroke, "stroke-width": number(stroke_width)}
    SubElement(parent, "rect", attributes)


def draw_arrow(
    parent: Element, path: Sequence[Point], tip: Point, *, is_shared: bool, is_guarded: bool
) -> None:
    """Draw a curve and its arrow head."""
    colour = ACCENT if is_shared else LINE
    attributes = {
        "d": _path_data(path),
        "fill": "none",
        "stroke": colour,
        "stroke-width": "2.8" if is_shared else "1.5",
    }
    if is_guarded:
        attributes["stroke-dasharray"] = "6 4"
    SubElement(parent, "path", attributes)
    SubElement(
        parent, "path", {"d": _head_data(path[-1], tip, 5.5 if is_shared else 4.2), "fill": colour}
    )


def draw_guard_mark(parent: Element, centre: Point) -> None:
    """Draw the small "no entry" sign that stands before a guard."""
    SubElement(
        parent,
        "circle",
        {"cx": number(centre.x), "cy": number(centre.y), "r": "5", "fill": GUARD},
    )
    SubElement(
        parent,
        "path",
        {
            "d": f"M{number(centre.x - 3)} {number(centre.y)}h6",
            "stroke": "#ffffff",
            "stroke-width": "1.8",
        },
    )


def draw_node_shape(
    parent: Element, box: Box, front: Box, kind: str, *, accepting: bool, stacked: bool
) -> None:
    """Draw the outline of a node: the cards behind it, its box, and the second border."""
    paint = NODE_PAINTS[kind]
    is_terminal = kind in ("start", "end")
    radius = min(front.height / 2, 18.0) if is_terminal else min(front.height / 4, 8.0)
    if stacked:
        back = box.right - front.right
        for share in (1.0, 0.5):
            behind = _shift(front, back * share)
            draw_box(parent, behind, radius, paint.fill, paint.stroke, min(paint.stroke_width, 1.4))
    draw_box(parent, front, radius, paint.fill, paint.stroke, paint.stroke_width)
    if accepting:
        inner = _shrink(front, 4.0)
        stroke = paint.text if kind == "start" else paint.stroke
        draw_box(parent, inner, max(radius - 3.5, 0.0), "none", stroke, 1.2)


def _shift(box: Box, by: float) -> Box:
    return type(box)(box.x + by, box.y + by, box.width, box.height)


def _shrink(box: Box, by: float) -> Box:
    return type(box)(box.x + by, box.y + by, box.width - 2 * by, box.height - 2 * by)


def _path_data(path: Sequence[Point]) -> str:
    data = [f"M{_pair(path[0])}"]
    start = path[0]
    for first, second, end in zip(path[1::3], path[2::3], path[3::3], strict=True):
        if start.y == first.y == second.y == end.y:
            data.append(f"L{_pair(end)}")
        else:
            data.append(f"C{_pair(first)} {_pair(second)} {_pair(end)}")
        start = end
    return "".join(data)


def _head_data(base: Point, tip: Point, half_width: float) -> str:
    dx, dy = tip.x - base.x, tip.y - base.y
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    across_x, across_y = -dy / length * half_width, dx / length * half_width
    corners = [(base.x + across_x, base.y + across_y), (base.x - across_x, base.y - across_y)]
    return f"M{_pair(tip)}" + "".join(f"L{_pair(corner)}" for corner in corners) + "Z"


def _pair(point: tuple[float, float]) -> str:
    return f"{number(point[0])} {number(point[1])}"
