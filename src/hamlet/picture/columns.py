"""Nodes, labels and passing edges sorted into columns, each column ordered from top to bottom.

Even columns hold nodes, odd columns hold edge labels. An edge owns one slot in every column it
passes, so space for its line and its label is reserved like space for a node; that is why nothing
can overlap later. Order within columns follows the barycentre method with a few sweeps.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hamlet.picture.graph import Graph

_SWEEPS = 8
_SHUFFLES = 8
_PASSING_HALF_HEIGHT = 5.0
# Distance that lets a back edge leave its nodes in a visible arc.
_BACK_ROOM = 8.0


@dataclass(frozen=True, slots=True)
class Extent:
    """Space something needs: its width, and its reach above and below its centre line."""

    width: float
    above: float
    below: float


@dataclass(frozen=True, slots=True)
class Slot:
    """One place in a column.

    Args:
        column: Index of the column.
        kind: What fills the slot; "passing" is the bare line of an edge.
        extent: Space to reserve.
        back_span: Layers that the back edge passing here turns back over; 0 for all other slots.
    """

    column: int
    kind: Literal["node", "label", "passing"]
    extent: Extent
    back_span: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """The slots of one edge from left to right, both nodes included.

    A back edge runs against this direction.
    """

    edge: int
    is_back: bool
    chain: tuple[int, ...]
    label: int | None


@dataclass(frozen=True, slots=True)
class Columns:
    """A graph ready for coordinates: slots, edges as chains of slots, columns in order."""

    slots: tuple[Slot, ...]
    routes: tuple[Route, ...]
    order: tuple[tuple[int, ...], ...]


def build_columns(
    graph: Graph,
    ranks: Mapping[str, int],
    back: frozenset[int],
    node_extents: Sequence[Extent],
    label_extents: Sequence[Extent | None],
) -> Columns:
    """Give every node, label and passing edge its slot. The first slots are the graph's nodes."""
    spans = _spans(graph, ranks, back)
    label_columns = {
        index: _label_column(left, right, index in back)
        for index, (left, right) in spans.items()
        if label_extents[index] is not None
    }
    used = _used_columns(graph, ranks, spans, label_columns)
    compact = {column: index for index, column in enumerate(used)}

    slots = [
        Slot(compact[2 * ranks[node.key]], "node", extent)
        for node, extent in zip(graph.nodes, node_extents, strict=True)
    ]
    slot_of_node = {node.key: index for index, node in enumerate(graph.nodes)}
    routes = []
    for index, (left, right) in spans.items():
        edge = graph.edges[index]
        ends = (edge.target, edge.source) if index in back else (edge.source, edge.target)
        chain = [slot_of_node[ends[0]]]
        label = None
        for column in used[compact[left] + 1 : compact[right]]:
            extent = label_extents[index] if label_columns.get(index) == column else None
            if extent is not None:
                label = len(slots)
            chain.append(len(slots))
            back_span = (right - left) // 2 if index in back else 0
            slots.append(_edge_slot(compact[column], extent, back_span))
        chain.append(slot_of_node[ends[1]])
        routes.append(Route(index, index in back, tuple(chain), label))
    return Columns(tuple(slots), tuple(routes), _first_order(slots, len(used)))


def reduce_crossings(columns: Columns) -> Columns:
    """Reorder each column so that few edges cross.

    Starts from the caller's order, and while edges still cross, from a few shuffled ones; the best
    order seen is kept. The shuffles are always the same ones, so the picture is too.
    """
    best, fewest = _sweep(columns, columns.order)
    for seed in range(_SHUFFLES):
        if fewest == 0:
            break
        shuffled = Random(seed)
        start = [shuffled.sample(column, len(column)) for column in columns.order]
        order, crossings = _sweep(columns, start)
        if crossings < fewest:
            best, fewest = order, crossings
    return Columns(columns.slots, columns.routes, best)


def _sweep(
    columns: Columns, start: Sequence[Sequence[int]]
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Best order and its crossings, by sweeping to the right and back.

    Each column is sorted by the mean position of its neighbours in the column before, then pairs
    that follow each other are exchanged where that helps.

    Cost: O(sweeps x links x log links).
    """
    left, right = neighbours(columns)
    order = [list(column) for column in start]
    position = {slot: index for column in order for index, slot in enumerate(column)}
    best, fewest = columns.order, -1
    for sweep in range(_SWEEPS):
        to_the_right = sweep % 2 == 0
        linked = left if to_the_right else right
        for column in order if to_the_right else reversed(order):
            _sort_column(column, columns, linked, position)
        for column in order:
            _swap_neighbours(column, columns.slots, (left, right), position)
        crossings = _count_crossings(order, right, position)
        if fewest < 0 or crossings < fewest:
            fewest, best = crossings, tuple(map(tuple, order))
        if fewest == 0 and sweep > 0:
            break
    return best, fewest


def neighbours(columns: Columns) -> tuple[list[list[int]], list[list[int]]]:
    """For each slot, the slots linked to it in the column before and in the column after."""
    left: list[list[int]] = [[] for _ in columns.slots]
    right: list[list[int]] = [[] for _ in columns.slots]
    for route in columns.routes:
        for one, other in pairwise(route.chain):
            right[one].append(other)
            left[other].append(one)
    return left, right


def _edge_slot(column: int, label: Extent | None, back_span: int) -> Slot:
    extent = label or Extent(0.0, _PASSING_HALF_HEIGHT, _PASSING_HALF_HEIGHT)
    if back_span:
        # A long way back lies below its nodes, a short one may lie above.
        below = _BACK_ROOM if back_span == 1 else 0.0
        extent = Extent(extent.width, extent.above + _BACK_ROOM, extent.below + below)
    return Slot(column, "passing" if label is None else "label", extent, back_span)


def _spans(
    graph: Graph, ranks: Mapping[str, int], back: frozenset[int]
) -> dict[int, tuple[int, int]]:
    """Leftmost and rightmost column of each edge that is no self-loop."""
    spans = {}
    for index, edge in enumerate(graph.edges):
        if not edge.is_loop:
            ends = (2 * ranks[edge.source], 2 * ranks[edge.target])
            spans[index] = (ends[1], ends[0]) if index in back else ends
    return spans


def _label_column(left: int, right: int, is_back: bool) -> int:
    """Labels stand right after the node they leave; on a long way back, under its middle node."""
    if is_back and right - left > 2:
        return left + 2 * ((right - left) // 4)
    return left + 1


def _used_columns(
    graph: Graph,
    ranks: Mapping[str, int],
    spans: Mapping[int, tuple[int, int]],
    label_columns: Mapping[int, int],
) -> list[int]:
    """All node columns, and the label columns that keep a label or a pair of edges apart."""
    pairs = Counter(
        (left, frozenset((graph.edges[index].source, graph.edges[index].target)))
        for index, (left, right) in spans.items()
        if right - left == 2
    )
    apart = {left + 1 for (left, _), edges in pairs.items() if edges > 1}
    return sorted({2 * rank for rank in ranks.values()} | set(label_columns.values()) | apart)


def _first_order(slots: Sequence[Slot], count: int) -> tuple[tuple[int, ...], ...]:
    order: list[list[int]] = [[] for _ in range(count)]
    for index, slot in enumerate(slots):
        order[slot.column].append(index)
    return tuple(map(tuple, order))


def _sort_column(
    column: list[int],
    columns: Columns,
    linked: Sequence[Sequence[int]],
    position: dict[int, int],
) -> None:
    slots = columns.slots

    def wish(slot: int) -> tuple[int, float, int, int]:
        span = slots[slot].back_span
        if span > 1:
            # A long way back runs below everything it passes, the longest lowest, and in all
            # columns alike.
            return (span, 0.0, 0, slot)
        others = linked[slot]
        if not others:
            return (0, float(position[slot]), 0, 0)
        at = sum(position[other] for other in others) / len(others)
        # A short one stays on the outer side of its forward twin, so that they do not cross.
        middle = (len(columns.order[slots[others[0]].column]) - 1) / 2
        outside = 0 if span == 0 else (-1 if at < middle else 1)
        return (0, at, outside, position[slot])

    column.sort(key=wish)
    for index, slot in enumerate(column):
        position[slot] = index


def _swap_neighbours(
    column: list[int],
    slots: Sequence[Slot],
    sides: Sequence[Sequence[Sequence[int]]],
    position: dict[int, int],
) -> None:
    """Exchange slots that follow each other wherever that alone saves crossings."""
    for index in range(len(column) - 1):
        upper, lower = column[index], column[index + 1]
        if max(slots[upper].back_span, slots[lower].back_span) > 1:
            continue
        gain = 0
        for linked in sides:
            above = [position[other] for other in linked[upper]]
            below = [position[other] for other in linked[lower]]
            gain += sum((a > b) - (a < b) for a in above for b in below)
        if gain > 0:
            column[index], column[index + 1] = lower, upper
            position[upper], position[lower] = index + 1, index


def _count_crossings(
    order: Sequence[Sequence[int]], right: Sequence[Sequence[int]], position: Mapping[int, int]
) -> int:
    crossings = 0
    for column in order:
        seen: list[int] = []
        for slot in column:
            ends = sorted(position[other] for other in right[slot])
            crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return crossings
