"""Workload analysis: which queries can share work, and the merged template of each such set.

Two queries are sharable when both have E+ for some type E and partition the stream by the same
attributes (Section "Workload Analysis and Stream Partitioning" of the paper). The paper has two
conditions more. Windows must overlap: they always do here, because SLIDE is at most WITHIN, so
every window of a query meets one of any other. Aggregates must be compatible: every event carries
a count and, for whoever asks, weighted sums and extremes of the same trends, so all of them are.

Sharing is not transitive, sets are: a set is what chains of sharable pairs connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from hamlet.plan.template import END, START, PlannedQuery, Template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hamlet.plan.query import Window


@dataclass(frozen=True, slots=True)
class MergedEdge:
    """An edge between two types (or START, END) and the queries that have it, by their numbers."""

    source: str
    target: str
    queries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergedTemplate:
    """Each type once, each edge labelled with its queries; START and END under those names."""

    types: tuple[str, ...]
    edges: tuple[MergedEdge, ...]

    def queries_of(self, source: str, target: str) -> tuple[int, ...]:
        """The queries that have an edge."""
        for edge in self.edges:
            if (edge.source, edge.target) == (source, target):
                return edge.queries
        return ()


@dataclass(frozen=True, slots=True)
class SharableSet:
    """Queries that are executed together, by their numbers in the workload.

    `shared` maps each Kleene type that several of them have to those queries. A pane is the longest
    stretch that no window of the set begins or ends in.
    """

    queries: tuple[int, ...]
    partition: tuple[str, ...]
    shared: tuple[tuple[str, tuple[int, ...]], ...]
    pane_us: int
    merged: MergedTemplate


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """All queries of a workload and the sets they share work in."""

    queries: tuple[PlannedQuery, ...]
    sets: tuple[SharableSet, ...]

    def set_of(self, query: int) -> int:
        """The number of the set a query is in."""
        return next(i for i, one in enumerate(self.sets) if query in one.queries)


def plan_workload(queries: Iterable[PlannedQuery]) -> WorkloadPlan:
    """Analyse a workload."""
    planned = tuple(queries)
    sets = tuple(_sharable_set(planned, members) for members in _components(planned))
    return WorkloadPlan(planned, sets)


def plan_alone(plan: WorkloadPlan) -> WorkloadPlan:
    """The same queries with nothing shared: each in a set of its own."""
    alone = (_sharable_set(plan.queries, [number]) for number in range(len(plan.queries)))
    return WorkloadPlan(plan.queries, tuple(alone))


def why_apart(one: PlannedQuery, other: PlannedQuery) -> str | None:
    """Why two queries cannot share, or None where they can."""
    if _partition_key(one) != _partition_key(other):
        return (
            f"partitioned by {show_partition(one.query.partition)} "
            f"against {show_partition(other.query.partition)}"
        )
    for each in (one, other):
        if not each.kleene_types:
            return f"{each.query.name} repeats no single type"
    if not one.kleene_types & other.kleene_types:
        return f"no Kleene type in common: {_plus(one)} against {_plus(other)}"
    return None


def show_partition(attributes: tuple[str, ...]) -> str:
    """Partition attributes as they are shown: in square brackets."""
    return f"[{', '.join(attributes)}]"


def pane_us(windows: Iterable[Window]) -> int:
    """The greatest length that divides every WITHIN and SLIDE.

    >>> from hamlet.plan.query import Window
    >>> pane_us([Window(10, 5), Window(15, 5)])
    5
    """
    return gcd(*(length for window in windows for length in (window.within_us, window.slide_us)))


def _partition_key(planned: PlannedQuery) -> tuple[str, ...]:
    """The partition attributes without their order, which does not matter to a partition."""
    return tuple(sorted(planned.query.partition))


def _plus(planned: PlannedQuery) -> str:
    return ", ".join(f"{name}+" for name in sorted(planned.kleene_types))


def _components(queries: tuple[PlannedQuery, ...]) -> list[list[int]]:
    """Queries connected by a common Kleene type under one partitioning, in order of appearance."""
    parent = list(range(len(queries)))

    def root(query: int) -> int:
        while parent[query] != query:
            parent[query] = parent[parent[query]]
            query = parent[query]
        return query

    first_with: dict[tuple[tuple[str, ...], str], int] = {}
    for number, planned in enumerate(queries):
        key = _partition_key(planned)
        for name in planned.kleene_types:
            first = first_with.setdefault((key, name), number)
            low, high = sorted((root(first), root(number)))
            parent[high] = low
    members: dict[int, list[int]] = {}
    for number in range(len(queries)):
        members.setdefault(root(number), []).append(number)
    return list(members.values())


def _sharable_set(queries: tuple[PlannedQuery, ...], members: list[int]) -> SharableSet:
    having: dict[str, list[int]] = {}
    for number in members:
        for name in sorted(queries[number].kleene_types):
            having.setdefault(name, []).append(number)
    shared = tuple((name, tuple(found)) for name, found in having.items() if len(found) > 1)
    return SharableSet(
        queries=tuple(members),
        partition=queries[members[0]].query.partition,
        shared=shared,
        pane_us=pane_us(queries[number].query.window for number in members),
        merged=merge_templates((number, queries[number]) for number in members),
    )


def merge_templates(members: Iterable[tuple[int, PlannedQuery]]) -> MergedTemplate:
    """One template for several queries: each type once, each edge labelled with its queries."""
    types: dict[str, None] = {}
    labels: dict[tuple[str, str], dict[int, None]] = {}
    for number, planned in members:
        for template in planned.templates.branches:
            types.update(dict.fromkeys(state.type for state in template.states))
            for source, target in _typed_edges(template):
                labels.setdefault((source, target), {})[number] = None
    order = {name: position for position, name in enumerate(("START", *types, "END"))}
    edges = [MergedEdge(s, t, tuple(queries)) for (s, t), queries in labels.items()]
    edges.sort(key=lambda edge: (order[edge.source], order[edge.target]))
    return MergedTemplate(tuple(types), tuple(edges))


def _typed_edges(template: Template) -> Iterator[tuple[str, str]]:
    for edge in template.edges:
        source = "START" if edge.source == START else template.states[edge.source].type
        target = "END" if edge.target == END else template.states[edge.target].type
        yield source, target
