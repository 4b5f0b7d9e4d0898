"""Points, rectangles and the few curves a layered drawing is made of.

A path is a start point followed by three points (two controls, one end) for each cubic Bézier
curve. Lengths are pixels, y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """A place in the picture."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, given by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower side."""
        return self.y + self.height

    @property
    def centre(self) -> Point:
        """The middle."""
        return Point(self.x + self.width / 2, self.y + self.height / 2)


def centred_box(centre: Point, width: float, height: float) -> Box:
    """The rectangle of that size around a point."""
    return Box(centre.x - width / 2, centre.y - height / 2, width, height)


def line_to(path: list[Point], end: Point) -> None:
    """Extend a path by a straight line; nothing if it already ends there."""
    if path[-1] != end:
        path += (path[-1], end, end)


def swing_to(path: list[Point], end: Point) -> None:
    """Extend a path by an S-curve that is level at both ends; a line if they are level."""
    start = path[-1]
    if start.y == end.y:
        line_to(path, end)
        return
    middle = (start.x + end.x) / 2
    path += (Point(middle, start.y), Point(middle, end.y), end)


def turn_to(path: list[Point], end: Point, *, starts_upright: bool) -> None:
    """Extend a path by a quarter turn, from upright to level or the other way round."""
    start = path[-1]
    dx, dy = (end.x - start.x) * _ROUND, (end.y - start.y) * _ROUND
    if starts_upright:
        path += (Point(start.x, start.y + dy), Point(end.x - dx, end.y), end)
    else:
        path += (Point(start.x + dx, start.y), Point(end.x, end.y - dy), end)


# The usual share of the radius at which controls stand when a cubic imitates a quarter circle.
_ROUND = 0.55
