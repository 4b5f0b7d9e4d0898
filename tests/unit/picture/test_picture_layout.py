"""Geometry of automaton pictures.

These tests would catch boxes or labels drawn over each other, edges that run through foreign boxes,
a picture larger than it claims, bent chains, and arrows that start or end in the air.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import picture_samples as samples
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.picture import Edge, Graph, Node
from hamlet.picture.geometry import Box, Point
from hamlet.picture.layers import assign_ranks, find_back_edges
from hamlet.picture.layout import PlacedEdge, PlacedGraph, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS = st.lists(st.sampled_from(["q1", "q1 q2 q3", "A.x < NEXT(A).x", "事件", ""]), max_size=2)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    kinds = st.sampled_from(["start", "end", "place", "place", "shared"])
    count = draw(st.integers(1, 9))
    nodes = tuple(
        Node(
            f"k{index}",
            (f"Type{index}", *draw(LABELS)),
            draw(kinds),
            accepting=draw(st.booleans()),
            stacked=draw(st.booleans()),
        )
        for index in range(count)
    )
    keys = st.sampled_from([node.key for node in nodes])
    edges = draw(
        st.lists(
            st.builds(
                Edge,
                keys,
                keys,
                LABELS.map(tuple),
                st.sampled_from([(), (), ("no Pickup",), ("no A", "no B")]),
                st.sampled_from(["plain", "shared"]),
            ),
            max_size=18,
        )
    )
    return Graph("g", "", nodes, tuple(edges))


def sample_graphs() -> list[Graph]:
    return [*samples.all_samples(), samples.wide_fan(35), *samples.small_templates(4)]


def boxes_of(layout: PlacedGraph) -> list[Box]:
    labels = [edge.label.box for edge in layout.edges if edge.label is not None]
    return [node.box for node in layout.nodes] + labels


def points_on(edge: PlacedEdge, steps: int = 24) -> Iterator[Point]:
    start = edge.path[0]
    for one, two, end in zip(edge.path[1::3], edge.path[2::3], edge.path[3::3], strict=True):
        for step in range(steps + 1):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            yield Point(
                sum(w * p.x for w, p in zip(weights, (start, one, two, end), strict=True)),
                sum(w * p.y for w, p in zip(weights, (start, one, two, end), strict=True)),
            )
        start = end


def is_inside(point: Point, box: Box, margin: float = 0.5) -> bool:
    return (
        box.x + margin < point.x < box.right - margin
        and box.y + margin < point.y < box.bottom - margin
    )


def assert_nothing_overlaps(layout: PlacedGraph) -> None:
    for one, other in combinations(boxes_of(layout), 2):
        assert not samples.overlap(one, other), (one, other)


def assert_edges_keep_clear(layout: PlacedGraph) -> None:
    for edge in layout.edges:
        own = {edge.edge.source, edge.edge.target}
        foreign = [node.box for node in layout.nodes if node.node.key not in own]
        foreign += [
            other.label.box
            for other in layout.edges
            if other is not edge and other.label is not None
        ]
        for point in points_on(edge):
            assert not any(is_inside(point, box) for box in foreign), (edge.edge, point)


@pytest.mark.parametrize("graph", sample_graphs(), ids=lambda graph: graph.title)
def test_no_two_boxes_overlap_in_real_templates(graph: Graph) -> None:
    assert_nothing_overlaps(lay_out(graph))


@pytest.mark.parametrize("graph", sample_graphs(), ids=lambda graph: graph.title)
def test_no_edge_runs_through_a_foreign_box_in_real_templates(graph: Graph) -> None:
    assert_edges_keep_clear(lay_out(graph))


@settings(deadline=None)
@given(graphs())
def test_no_two_boxes_overlap_in_any_graph(graph: Graph) -> None:
    assert_nothing_overlaps(lay_out(graph))


@settings(deadline=None)
@given(graphs())
def test_no_edge_runs_through_a_foreign_box_in_any_graph(graph: Graph) -> None:
    assert_edges_keep_clear(lay_out(graph))


@settings(deadline=None)
@given(graphs())
def test_everything_lies_within_the_stated_size(graph: Graph) -> None:
    layout = lay_out(graph)

    points = [point for edge in layout.edges for point in (*points_on(edge), edge.tip)]
    for box in boxes_of(layout):
        points += [Point(box.x, box.y), Point(box.right, box.bottom)]
    assert all(-0.5 <= point.x <= layout.width + 0.5 for point in points)
    assert all(-0.5 <= point.y <= layout.height + 0.5 for point in points)


@settings(deadline=None)
@given(graphs())
def test_every_edge_leaves_its_source_and_points_at_its_target(graph: Graph) -> None:
    layout = lay_out(graph)

    boxes = {node.node.key: node.box for node in layout.nodes}
    for edge in layout.edges:
        for point, key in ((edge.path[0], edge.edge.source), (edge.tip, edge.edge.target)):
            box = boxes[key]
            assert box.x <= point.x <= box.right
            assert box.y <= point.y <= box.bottom
            assert point.x in (box.x, box.right) or point.y in (box.y, box.bottom)


@settings(deadline=None)
@given(graphs())
def test_every_edge_but_a_loop_joins_two_layers_in_its_direction(graph: Graph) -> None:
    back = find_back_edges(graph)
    ranks = assign_ranks(graph, back)

    for index, edge in enumerate(graph.edges):
        if not edge.is_loop:
            assert (ranks[edge.source] > ranks[edge.target]) == (index in back)
            assert ranks[edge.source] != ranks[edge.target]


@settings(deadline=None)
@given(graphs())
def test_starts_come_before_and_ends_after_all_other_nodes(graph: Graph) -> None:
    ranks = assign_ranks(graph, find_back_edges(graph))

    stages = {"start": 0, "place": 1, "shared": 1, "end": 2}
    for one, other in combinations(graph.nodes, 2):
        if stages[one.kind] < stages[other.kind]:
            assert ranks[one.key] < ranks[other.key]
        if stages[one.kind] > stages[other.kind]:
            assert ranks[one.key] > ranks[other.key]


def test_only_edges_that_return_point_backwards_when_two_cycles_meet() -> None:
    graph = samples.nested_kleene()

    back = {(graph.edges[i].source, graph.edges[i].target) for i in find_back_edges(graph)}

    assert back == {("B", "A"), ("B", "C")}


def test_a_chain_is_one_straight_line() -> None:
    layout = lay_out(samples.one_query())

    assert len({node.box.centre.y for node in layout.nodes}) == 1
    for edge in layout.edges:
        if not edge.edge.is_loop:
            assert len({point.y for point in edge.path}) == 1


def test_a_long_way_back_runs_below_the_nodes_between() -> None:
    layout = lay_out(samples.long_way_back())

    lowest = max(node.box.bottom for node in layout.nodes)
    ways_back = [edge for edge in layout.edges if edge.is_back]
    assert len(ways_back) == 2
    for edge in ways_back:
        assert max(point.y for point in edge.path) > lowest
        assert edge.label is not None
        assert edge.label.box.y > lowest


def test_edges_in_opposite_directions_do_not_coincide() -> None:
    nodes = (Node("a", ("A",), "place"), Node("b", ("B",), "place"))
    layout = lay_out(Graph("g", "", nodes, (Edge("a", "b"), Edge("b", "a"))))

    there, back = layout.edges
    middle = (layout.nodes[0].box.right + layout.nodes[1].box.x) / 2
    height_there = min(points_on(there), key=lambda point: abs(point.x - middle)).y
    height_back = min(points_on(back), key=lambda point: abs(point.x - middle)).y
    assert abs(height_there - height_back) > 8


def test_parallel_edges_between_the_same_nodes_are_kept_apart() -> None:
    nodes = (Node("a", ("A",), "place"), Node("b", ("B",), "place"))
    layout = lay_out(Graph("g", "", nodes, (Edge("a", "b"), Edge("a", "b"))))

    assert layout.edges[0].path != layout.edges[1].path


def test_a_loop_stands_above_its_node_and_below_its_label() -> None:
    layout = lay_out(samples.one_query())

    loop = next(edge for edge in layout.edges if edge.edge.is_loop)
    travel = next(node for node in layout.nodes if node.node.key == "Travel")
    assert loop.label is not None
    assert all(point.y <= travel.box.y for point in points_on(loop))
    assert all(point.y >= loop.label.box.bottom for point in points_on(loop))


def test_alternatives_that_lead_to_each_other_are_drawn_without_loss() -> None:
    graph = samples.alternatives()

    layout = lay_out(graph)

    assert [edge.edge for edge in layout.edges] == list(graph.edges)
    assert [node.node for node in layout.nodes] == list(graph.nodes)


def test_a_graph_without_nodes_has_no_size() -> None:
    layout = lay_out(Graph("empty", "", (), ()))

    assert (layout.width, layout.height) == (0, 0)
