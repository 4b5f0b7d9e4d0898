"""Where everything goes: a layered drawing from left to right, as plain coordinates.

Steps: turn back edges around and layer the nodes (`layers`), give nodes, labels and passing edges
slots in columns and order them (`columns`), choose heights (`rows`), then widths and curves here.

Laws: node boxes and label boxes never overlap one another, and no edge passes through a box that
is not its own, because edges change height only in the gaps between columns, where no box stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from hamlet.picture.columns import build_columns, reduce_crossings
from hamlet.picture.geometry import Box, Point, centred_box, line_to, swing_to, turn_to
from hamlet.picture.layers import assign_ranks, find_back_edges
from hamlet.picture.measure import (
    LOOP_HEIGHT,
    STACK_OFFSET,
    Label,
    even,
    loop_width,
    measure_label,
    measure_node,
    node_extent,
)
from hamlet.picture.rows import place_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.picture.columns import Columns, Extent, Route
    from hamlet.picture.graph import Edge, Graph, Node

ARROW = 9.0

# Level piece before an arrow head, so that the head does not sit on a slope.
_STUB = 4.0
_BACK_PORT = 11.0
_LOOP_HALF_WIDTH = 13.0


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node with its box; `lines` are cleaned and shortened for drawing."""

    node: Node
    lines: tuple[str, ...]
    box: Box

    @property
    def front(self) -> Box:
        """The box of the front card: all of the box, unless the node is stacked."""
        back = STACK_OFFSET if self.node.stacked else 0.0
        return Box(self.box.x, self.box.y, self.box.width - back, self.box.height - back)


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """The texts of an edge and the box that was kept free for them."""

    lines: tuple[str, ...]
    guards: tuple[str, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class PlacedEdge:
    """An edge with its curve.

    Args:
        edge: What is drawn.
        path: Start point, then two controls and an end for each cubic curve; ends where the arrow
            head begins.
        tip: Point of the arrow head.
        label: Texts, if the edge has any.
        is_back: Whether the edge runs against the reading direction.
    """

    edge: Edge
    path: tuple[Point, ...]
    tip: Point
    label: PlacedLabel | None
    is_back: bool


@dataclass(frozen=True, slots=True)
class PlacedGraph:
    """A graph with coordinates; everything lies within `width` x `height`."""

    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    edges: tuple[PlacedEdge, ...]


def lay_out(graph: Graph) -> PlacedGraph:
    """Choose coordinates for one graph."""
    labels = [measure_label(edge) for edge in graph.edges]
    loops = _loops_by_node(graph)
    loop_labels = [[labels[index] for index in loops[node.key]] for node in graph.nodes]
    cards = [measure_node(node, own) for node, own in zip(graph.nodes, loop_labels, strict=True)]
    extents = [node_extent(card, own) for card, own in zip(cards, loop_labels, strict=True)]

    back = find_back_edges(graph)
    ranks = assign_ranks(graph, back)
    columns = reduce_crossings(
        build_columns(
            graph, ranks, back, extents, [label.extent if label else None for label in labels]
        )
    )
    frame = _make_frame(columns)

    nodes = tuple(
        PlacedNode(node, card.lines, centred_box(frame.centre(slot), card.width, card.height))
        for slot, (node, card) in enumerate(zip(graph.nodes, cards, strict=True))
    )
    edges = _place_between(graph, labels, frame, nodes) | _place_loops(graph, labels, loops, nodes)
    in_order = tuple(edges[index] for index in range(len(graph.edges)))
    return PlacedGraph(frame.width, frame.height, nodes, in_order)


def _place_between(
    graph: Graph, labels: Sequence[Label | None], frame: _Frame, nodes: tuple[PlacedNode, ...]
) -> dict[int, PlacedEdge]:
    """Edges between two nodes, by index."""
    tracer = _Tracer(frame, nodes, frozenset(e.source for e in graph.edges if e.is_loop))
    edges = {}
    for route in frame.columns.routes:
        path, tip = tracer.trace(route)
        label = labels[route.edge]
        placed = None
        if label is not None and route.label is not None:
            placed = _put(label, frame.centre(route.label))
        edge = graph.edges[route.edge]
        edges[route.edge] = PlacedEdge(edge, path, tip, placed, route.is_back)
    return edges


def _place_loops(
    graph: Graph,
    labels: Sequence[Label | None],
    loops: dict[str, list[int]],
    nodes: Sequence[PlacedNode],
) -> dict[int, PlacedEdge]:
    """Self-loops by index: side by side on the upper border of their node."""
    edges = {}
    for node in nodes:
        own = loops[node.node.key]
        at = node.front.centre.x - sum(loop_width(labels[index]) for index in own) / 2
        for index in own:
            width = loop_width(labels[index])
            foot = Point(at + width / 2, node.box.y)
            edges[index] = _draw_loop(graph.edges[index], labels[index], foot)
            at += width
    return edges


def _draw_loop(edge: Edge, label: Label | None, foot: Point) -> PlacedEdge:
    x, top = foot
    tip = Point(x + _LOOP_HALF_WIDTH, top)
    path = (
        Point(x - _LOOP_HALF_WIDTH, top),
        Point(x - _LOOP_HALF_WIDTH - 9, top - 37),
        Point(x + _LOOP_HALF_WIDTH + 9, top - 37),
        Point(tip.x + 1.5, top - ARROW),
    )
    placed = None
    if label is not None:
        placed = _put(label, Point(x, top - LOOP_HEIGHT - label.height / 2))
    return PlacedEdge(edge, path, tip, placed, False)


def _loops_by_node(graph: Graph) -> dict[str, list[int]]:
    loops: dict[str, list[int]] = {node.key: [] for node in graph.nodes}
    for index, edge in enumerate(graph.edges):
        if edge.is_loop:
            loops[edge.source].append(index)
    return loops


def _put(label: Label, centre: Point) -> PlacedLabel:
    return PlacedLabel(label.lines, label.guards, centred_box(centre, label.width, label.height))


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where columns begin and end, and how far down each slot stands."""

    columns: Columns
    lefts: tuple[float, ...]
    rights: tuple[float, ...]
    heights: tuple[float, ...]
    width: float
    height: float

    def left(self, slot: int) -> float:
        return self.lefts[self.columns.slots[slot].column]

    def right(self, slot: int) -> float:
        return self.rights[self.columns.slots[slot].column]

    def centre(self, slot: int) -> Point:
        return Point((self.left(slot) + self.right(slot)) / 2, self.heights[slot])

    def free_space(self, slot: int) -> tuple[float, float]:
        """How far up and down from a slot nothing else stands in its column."""
        column = self.columns.order[self.columns.slots[slot].column]
        index = column.index(slot)
        up, down = -inf, inf
        if index > 0:
            up = self.heights[column[index - 1]] + self._extent(column[index - 1]).below
        if index + 1 < len(column):
            down = self.heights[column[index + 1]] - self._extent(column[index + 1]).above
        return up, down

    def _extent(self, slot: int) -> Extent:
        return self.columns.slots[slot].extent


def _make_frame(columns: Columns) -> _Frame:
    slots = columns.slots
    heights = place_rows(columns)
    lefts, rights = [], []
    at = 0.0
    for gap, column in zip(_gaps(columns, heights), columns.order, strict=True):
        lefts.append(at + gap)
        at = lefts[-1] + even(max(slots[slot].extent.width for slot in column))
        rights.append(at)
    reaches = [y + slot.extent.below for y, slot in zip(heights, slots, strict=True)]
    bottom = max(reaches, default=0.0)
    return _Frame(columns, tuple(lefts), tuple(rights), tuple(heights), at, bottom)


def _gaps(columns: Columns, heights: Sequence[float]) -> list[float]:
    """Space before each column, wider where an edge climbs far so that no curve is too steep."""
    slots = columns.slots
    climbs = [0.0] * len(columns.order)
    for route in columns.routes:
        for one, other in pairwise(route.chain):
            column = slots[other].column
            climbs[column] = max(climbs[column], abs(heights[one] - heights[other]))
    has_nodes = [any(slots[slot].kind == "node" for slot in column) for column in columns.order]
    gaps = []
    for index, climb in enumerate(climbs):
        # Without a label column between them, two node columns need room for a visible arrow.
        least = 36.0 if index and has_nodes[index - 1] and has_nodes[index] else 20.0
        gaps.append(even(min(84.0, least + climb * 0.3)) if index else 0.0)
    return gaps


@dataclass(frozen=True, slots=True)
class _Port:
    """Where an edge meets a node: `tip` on the border, `base` further out if an arrow ends here."""

    tip: Point
    base: Point
    is_upright: bool


@dataclass(frozen=True, slots=True)
class _Tracer:
    """Draws the curves of edges between two nodes."""

    frame: _Frame
    nodes: tuple[PlacedNode, ...]
    with_loops: frozenset[str]

    def trace(self, route: Route) -> tuple[tuple[Point, ...], Point]:
        """Path and arrow tip of an edge.

        The path is built from left to right and turned around for a back edge.
        """
        frame, chain = self.frame, route.chain
        start = self._port(route, chain[0], chain[1], side=1)
        end = self._port(route, chain[-1], chain[-2], side=-1)
        path = [start.base]
        if not start.is_upright:
            edge_x = max(frame.right(chain[0]), start.base.x + (_STUB if route.is_back else 0))
            line_to(path, Point(edge_x, start.base.y))
        for slot in chain[1:-1]:
            self._reach(path, Point(frame.left(slot), frame.heights[slot]), start)
            line_to(path, Point(frame.right(slot), frame.heights[slot]))
        if end.is_upright:
            turn_to(path, end.base, starts_upright=False)
        else:
            edge_x = min(frame.left(chain[-1]), end.base.x - (0 if route.is_back else _STUB))
            self._reach(path, Point(edge_x, end.base.y), start)
            line_to(path, end.base)
        if route.is_back:
            return tuple(reversed(path)), start.tip
        return tuple(path), end.tip

    def _reach(self, path: list[Point], end: Point, start: _Port) -> None:
        if start.is_upright and len(path) == 1:
            turn_to(path, end, starts_upright=True)
        else:
            swing_to(path, end)

    def _port(self, route: Route, node_slot: int, next_slot: int, *, side: int) -> _Port:
        """Where the edge meets a node on its right (side 1) or left (side -1).

        Forward edges meet in the middle of a side. Back edges keep clear of them: they use the
        node's lower or upper border where the way there is free, else an off-centre place.
        """
        node = self.nodes[node_slot]
        box = node.box
        has_tip = route.is_back == (side == 1)
        border_x = box.right if side == 1 else box.x
        if not route.is_back:
            tip = Point(border_x, box.centre.y)
            return _Port(tip, Point(tip.x + side * ARROW * has_tip, tip.y), False)

        next_y = self.frame.heights[next_slot]
        upright_x = box.centre.x + side * box.width / 4
        room = ARROW + _STUB + 4
        free_from, free_to = self.frame.free_space(node_slot)
        if box.bottom + room <= next_y <= free_to:
            tip = Point(upright_x, box.bottom)
            return _Port(tip, Point(tip.x, tip.y + ARROW * has_tip), True)
        if node.node.key not in self.with_loops and free_from <= next_y <= box.y - room:
            tip = Point(upright_x, box.y)
            return _Port(tip, Point(tip.x, tip.y - ARROW * has_tip), True)
        offset = min(_BACK_PORT, box.height / 2 - 8)
        tip = Point(border_x, box.centre.y + (offset if next_y >= box.centre.y else -offset))
        return _Port(tip, Point(tip.x + side * ARROW * has_tip, tip.y), False)
