"""Heights: how far down each slot stands, with chains kept straight.

A node wishes to stand level with its neighbours, the slots of an edge level with each other. Per
column, the wishes are met as closely as the order and the reserved space allow: the sum of
distances is made smallest (an isotonic regression, solved by pooling adjacent violators). Distances
and medians rather than squares and means, since those bend every line a little while these keep
most lines straight.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import floor
from operator import sub
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.picture.columns import Columns, Route, Slot

_SPREADING_SWEEPS = 6
_MOST_SWEEPS = 80
_STILL = 0.005
_GAP = {"node": 22.0, "label": 10.0, "passing": 10.0}
_WEIGHT = {"node": 1, "label": 1, "passing": 3}


@dataclass(frozen=True, slots=True)
class _Pulls:
    """What each slot wishes to be level with.

    Args:
        left: For each node, the slots it looks at on its left.
        right: For each node, the slots it looks at on its right.
        levels: For each slot of an edge, the slots whose mean height it wishes for.
    """

    left: dict[int, list[int]]
    right: dict[int, list[int]]
    levels: dict[int, tuple[int, ...]]


def place_rows(columns: Columns) -> list[float]:
    """Centre line of each slot, as whole pixels. The topmost reach is at 0.

    Cost: O(sweeps x slots).
    """
    slots = columns.slots
    pulls = _find_pulls(columns)
    heights = _stack(columns)
    for sweep in range(_MOST_SWEEPS):
        to_the_right = sweep % 2 == 1
        # Looking one way spreads the picture out; looking both ways, later, settles it.
        one_way = sweep < _SPREADING_SWEEPS
        sides = [pulls.left, pulls.right]
        if one_way:
            sides = [pulls.left if to_the_right else pulls.right]
        before = list(heights)
        for column in columns.order if to_the_right else reversed(columns.order):
            wishes = [_wish(slot, sides, pulls.levels, heights) for slot in column]
            _settle(column, slots, wishes, heights)
        moved = max(map(abs, map(sub, before, heights)), default=0.0)
        if moved < _STILL and not one_way:
            break
    _level_long_ways_back(columns, heights)
    top = min((heights[i] - slot.extent.above for i, slot in enumerate(slots)), default=0.0)
    # Rounded twice, so that two slots that agree but for float noise land on the same pixel.
    return [float(floor(round(height - top, 2) + 0.5)) for height in heights]


def separation(upper: Slot, lower: Slot) -> float:
    """Least distance between the centre lines of two slots that follow each other."""
    gap = (_GAP[upper.kind] + _GAP[lower.kind]) / 2
    return upper.extent.below + gap + lower.extent.above


def _find_pulls(columns: Columns) -> _Pulls:
    nodes = [index for index, slot in enumerate(columns.slots) if slot.kind == "node"]
    left: dict[int, list[int]] = {node: [] for node in nodes}
    right: dict[int, list[int]] = {node: [] for node in nodes}
    for route in _pulling_routes(columns.routes):
        # A lone label follows its nodes, so nodes look through it at each other.
        inner = route.chain[1:-1]
        first, last = route.chain[0], route.chain[-1]
        right[first].append(inner[0] if len(inner) > 1 else last)
        left[last].append(inner[-1] if len(inner) > 1 else first)

    levels: dict[int, tuple[int, ...]] = {}
    for route in columns.routes:
        inner = route.chain[1:-1]
        level = inner if len(inner) > 1 else _anchors(route, left, right)
        levels.update(dict.fromkeys(inner, level))
    return _Pulls(left, right, levels)


def _pulling_routes(routes: Sequence[Route]) -> list[Route]:
    """Forward edges; back edges only if they are all that holds a node."""
    forward = [route for route in routes if not route.is_back]
    held = {end for route in forward for end in (route.chain[0], route.chain[-1])}
    others = [
        route for route in routes if route.is_back and not {route.chain[0], route.chain[-1]} <= held
    ]
    return forward + others


def _anchors(
    route: Route, left: dict[int, list[int]], right: dict[int, list[int]]
) -> tuple[int, ...]:
    """The end with fewer edges: there the label continues the line, and only the fan bends."""
    first, last = route.chain[0], route.chain[-1]
    leaving, entering = len(right[first]), len(left[last])
    if leaving == entering:
        return (first, last)
    return (first,) if leaving < entering else (last,)


def _stack(columns: Columns) -> list[float]:
    """Start positions: every column packed and centred on one axis."""
    heights = [0.0] * len(columns.slots)
    for column in columns.order:
        at = 0.0
        for index, slot in enumerate(column):
            if index:
                at += separation(columns.slots[column[index - 1]], columns.slots[slot])
            heights[slot] = at
        for slot in column:
            heights[slot] -= at / 2
    return heights


def _wish(
    slot: int,
    sides: Sequence[dict[int, list[int]]],
    levels: dict[int, tuple[int, ...]],
    heights: Sequence[float],
) -> float:
    if slot in levels:
        return fmean(heights[other] for other in levels[slot])
    seen = [side[slot] for side in sides if side[slot]]
    if not seen:
        return heights[slot]
    return fmean(median(heights[other] for other in side) for side in seen)


def _settle(
    column: Sequence[int], slots: Sequence[Slot], wishes: Sequence[float], heights: list[float]
) -> None:
    """Move the slots of one column as near to their wishes as their order allows.

    Slots that would come too close are pooled and move as one, to the median of what they wish.
    """
    offset = 0.0
    offsets = []
    pools: list[tuple[float, list[tuple[float, int]]]] = []
    for index, slot in enumerate(column):
        if index:
            offset += separation(slots[column[index - 1]], slots[slot])
        offsets.append(offset)
        # Back edges give way, so that forward chains stay straight.
        weight = 0 if slots[slot].back_span else _WEIGHT[slots[slot].kind]
        value, members = wishes[index] - offset, [(wishes[index] - offset, weight)]
        while pools and pools[-1][0] > value:
            members = pools.pop()[1] + members
            value = _weighted_median(members)
        pools.append((value, members))

    values = [value for value, members in pools for _ in members]
    for slot, value, offset in zip(column, values, offsets, strict=True):
        heights[slot] = value + offset


def _weighted_median(members: Sequence[tuple[float, int]]) -> float:
    expanded = [value for value, weight in members for _ in range(weight)]
    return median(expanded or [value for value, _ in members])


def _level_long_ways_back(columns: Columns, heights: list[float]) -> None:
    """Put each long back edge on one level, below all that it passes.

    Law: such edges are the lowest slots of their columns, shorter ones above longer ones, so each
    needs to know only the slot above it.
    """
    slots = columns.slots
    above = {lower: upper for column in columns.order for upper, lower in pairwise(column)}
    long_ways = [route for route in columns.routes if slots[route.chain[1]].back_span > 1]
    for route in sorted(long_ways, key=lambda route: slots[route.chain[1]].back_span):
        inner = route.chain[1:-1]
        level = max(
            (
                heights[above[slot]] + separation(slots[above[slot]], slots[slot])
                for slot in inner
                if slot in above
            ),
            default=heights[inner[0]],
        )
        for slot in inner:
            heights[slot] = level
