"""Which edges point backwards, and in which layer each node stands.

The first step of a layered drawing (Sugiyama, Tagawa and Toda, 1981). Laws: apart from self-loops,
every edge joins two different layers; it points to the right if and only if it is not a back edge;
start nodes come before all others and end nodes after all others.
"""

from __future__ import annotations

from collections import deque
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hamlet.picture.graph import Graph

_STAGE = {"start": 0, "place": 1, "shared": 1, "end": 2}


def find_back_edges(graph: Graph) -> frozenset[int]:
    """Indices of the edges to draw backwards, so that the others form no cycle.

    Edges are accepted one by one, those leading away from the start first; one that would close a
    cycle points backwards. A plain depth-first search would do as well for breaking cycles, but
    with A -> B, C -> B, B -> A, B -> C it may enter C through B, and turn C -> B around instead.

    Cost: O(edges x (nodes + edges)).
    """
    stage = _stages(graph)
    distance = _distances(graph)
    edges = graph.edges
    away_first = sorted(
        (index for index, edge in enumerate(edges) if not edge.is_loop),
        key=lambda index: distance[edges[index].source] - distance[edges[index].target],
    )
    successors: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    back: set[int] = set()
    for index in away_first:
        source, target = edges[index].source, edges[index].target
        if stage[source] < stage[target]:
            continue
        if stage[source] > stage[target] or _reaches(successors, target, source):
            back.add(index)
        else:
            successors[source].append(target)
    return frozenset(back)


def assign_ranks(graph: Graph, back: frozenset[int]) -> dict[str, int]:
    """Layer of each node: the longest path that leads to it, back edges turned around."""
    before: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    for index, edge in enumerate(graph.edges):
        if index in back:
            before[edge.source].append(edge.target)
        elif not edge.is_loop:
            before[edge.target].append(edge.source)

    stage = _stages(graph)
    ranks: dict[str, int] = {}
    order = list(TopologicalSorter(before).static_order())
    for current in sorted(set(stage.values())):
        first_rank = max(ranks.values(), default=-1) + 1
        for key in order:
            if stage[key] == current:
                ranks[key] = max([first_rank, *(ranks[other] + 1 for other in before[key])])
    return ranks


def _stages(graph: Graph) -> dict[str, int]:
    return {node.key: _STAGE[node.kind] for node in graph.nodes}


def _distances(graph: Graph) -> dict[str, int]:
    """Fewest edges from a start node, or from a node nothing leads to if no start reaches it."""
    successors: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    entered = set()
    for edge in graph.edges:
        if not edge.is_loop:
            successors[edge.source].append(edge.target)
            entered.add(edge.target)

    distance = {node.key: 0 for node in graph.nodes if node.kind == "start"}
    _spread(successors, distance, list(distance))
    # Python's sort is stable: nodes nothing leads to first, each group in the caller's order.
    for key in sorted(successors, key=entered.__contains__):
        if key not in distance:
            distance[key] = 1
            _spread(successors, distance, [key])
    return distance


def _spread(successors: dict[str, list[str]], distance: dict[str, int], sources: list[str]) -> None:
    """Breadth-first: give every unvisited node reachable from `sources` its distance."""
    queue = deque(sources)
    while queue:
        key = queue.popleft()
        for other in successors[key]:
            if other not in distance:
                distance[other] = distance[key] + 1
                queue.append(other)


def _reaches(successors: dict[str, list[str]], source: str, target: str) -> bool:
    stack, seen = [source], {source}
    while stack:
        key = stack.pop()
        if key == target:
            return True
        for other in successors[key]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return False
