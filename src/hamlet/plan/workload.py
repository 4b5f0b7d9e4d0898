"""Workload analysis: which queries can share work, and the merged template of each such set.

Two queries are sharable when both have E+ for some type E and partition the stream by the same
attributes (Section "Workload Analysis and Stream Partitioning" of the paper). The paper has two
conditions more. Windows must overlap: they always do here, because SLIDE is at most WITHIN, so
every window of a query meets one of any other. Aggregates must be compatible: every event carries
a count and, for whoever asks, weighted sums and extremes of the same trends, so all of them are.

Sharing is not transitive, sets are: a set is what chains of sharable pairs connect.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from hamlet.plan.query import ANY
from hamlet.plan.template import END, START, PlannedQuery, Template

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hamlet.plan.clocks import Clock
    from hamlet.plan.query import Window
    from hamlet.plan.template import State

    # A query by its number, and which of its branches: 0, or 0 and 1 for the two sides of AND
    Member = tuple[int, int]
    # A type, and which of the states of that type in one template
    Occurrence = tuple[str, int]


@dataclass(frozen=True, slots=True)
class MergedState:
    """A type in a merged template, under a name that tells it from others of the same type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class MergedEdge:
    """An edge between two states (or START, END), by their names, and those that have it."""

    source: str
    target: str
    members: tuple[Member, ...]

    @property
    def queries(self) -> tuple[int, ...]:
        """The queries that have the edge, by their numbers."""
        return tuple(dict.fromkeys(number for number, _ in self.members))


@dataclass(frozen=True, slots=True)
class MergedTemplate:
    """The templates of several queries in one, each edge labelled with its queries.

    Each type is there once, as in the paper, unless one pattern has it at several places: then it
    is there as often. So whatever a query's own edges lead through is a run of its template, and
    nothing else is. START and END stand under those names.
    """

    states: tuple[MergedState, ...]
    edges: tuple[MergedEdge, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """All types, each once."""
        return tuple(dict.fromkeys(state.type for state in self.states))

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


def plan_workload(queries: Iterable[PlannedQuery]) -> WorkloadPlan:
    """Analyse a workload."""
    planned = tuple(queries)
    sets = tuple(_sharable_set(planned, members) for members in _components(planned))
    return WorkloadPlan(planned, sets)


def plan_alone(plan: WorkloadPlan) -> WorkloadPlan:
    """The same queries with nothing shared: each in a set of its own."""
    alone = (_sharable_set(plan.queries, [number]) for number in range(len(plan.queries)))
    return WorkloadPlan(plan.queries, tuple(alone))


def plan_together(plan: WorkloadPlan) -> WorkloadPlan:
    """The same queries in as few sets as can be: one for each partitioning and clock."""
    alike: dict[tuple[tuple[str, ...], Clock], list[int]] = {}
    for number, planned in enumerate(plan.queries):
        key = partition_key(planned), planned.query.window.clock
        alike.setdefault(key, []).append(number)
    if len(alike) == len(plan.sets):
        return plan
    sets = (_sharable_set(plan.queries, members) for members in alike.values())
    return WorkloadPlan(plan.queries, tuple(sets))


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


def partition_key(planned: PlannedQuery) -> tuple[str, ...]:
    """The partition attributes without their order, which does not matter to a partition."""
    return tuple(sorted(planned.query.partition))


def _components(queries: tuple[PlannedQuery, ...]) -> list[list[int]]:
    """Queries connected by a common Kleene type, by partitioning and clock, in their order."""
    parent = list(range(len(queries)))

    def root(query: int) -> int:
        while parent[query] != query:
            parent[query] = parent[parent[query]]
            query = parent[query]
        return query

    first_with: dict[tuple[Clock, tuple[str, ...], str], int] = {}
    for number, planned in enumerate(queries):
        clock, key = planned.query.window.clock, partition_key(planned)
        for name in planned.kleene_types:
            first = first_with.setdefault((clock, key, name), number)
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
    shared = tuple((name, tuple(numbers)) for name, numbers in having.items() if len(numbers) > 1)
    return SharableSet(
        queries=tuple(members),
        partition=queries[members[0]].query.partition,
        shared=shared,
        pane_us=pane_us(queries[number].query.window for number in members),
        merged=merge_templates((number, queries[number]) for number in members),
    )


def merge_templates(members: Iterable[tuple[int, PlannedQuery]]) -> MergedTemplate:
    """One template for several queries: see `MergedTemplate`."""
    queries = list(members)
    names = merged_names(planned for _, planned in queries)
    labels: dict[tuple[str, str], dict[Member, None]] = {}
    for number, planned in queries:
        for side, template in enumerate(planned.templates.branches):
            named = state_names(template, names)
            for edge in template.edges:
                between = named[edge.source], named[edge.target]
                labels.setdefault(between, {})[number, side] = None
    states = tuple(MergedState(name, of) for (of, _), name in names.items())
    order = {name: i for i, name in enumerate(("START", *(s.name for s in states), "END"))}
    edges = [MergedEdge(s, t, tuple(having)) for (s, t), having in labels.items()]
    edges.sort(key=lambda edge: (order[edge.source], order[edge.target]))
    return MergedTemplate(states, tuple(edges))


def state_names(template: Template, names: Mapping[Occurrence, str]) -> dict[int, str]:
    """For START, END and each state of a template its name in a merged template."""
    named = {START: "START", END: "END"}
    return named | {i: names[occurrence] for i, occurrence in enumerate(_occurrences(template))}


def merged_names(members: Iterable[PlannedQuery]) -> dict[Occurrence, str]:
    """The states of a merged template with their names: the type alone where that is enough.

    States of one type are told apart by their aliases, where all queries have the same, or else by
    numbers; those of a defined type are called by its name, where no query has another.
    """
    aliases: dict[Occurrence, set[str]] = {}
    defined: dict[Occurrence, set[str]] = {}
    for planned in members:
        for template in planned.templates.branches:
            for occurrence, state in zip(_occurrences(template), template.states, strict=True):
                aliases.setdefault(occurrence, set()).add(_alias(planned, state))
                defined.setdefault(occurrence, set()).add(_defined(planned, state))
    names: dict[Occurrence, str] = {}
    for of, count in Counter(name for name, _ in aliases).items():
        those = [aliases[of, place] for place in range(count)]
        called = [_only(defined[of, place]) or of for place in range(count)]
        if count == 1:
            shown = [called[0] if called[0] not in ("START", "END") else f"{called[0]} #1"]
        elif all(len(aliases_of) == 1 and "" not in aliases_of for aliases_of in those):
            shown = [
                f"{name} {next(iter(aliases_of))}"
                for name, aliases_of in zip(called, those, strict=True)
            ]
        else:
            shown = []
        if len(set(shown)) < count:
            alone = {name for name in called if name != of and called.count(name) == 1}
            shown = [
                name if name in alone else f"{name} #{called[: place + 1].count(name)}"
                for place, name in enumerate(called)
            ]
        names |= {(of, place): name for place, name in enumerate(shown)}
    taken: set[str] = set()
    for occurrence in aliases:
        # A type may be called as another with its alias.
        while names[occurrence] in taken:
            names[occurrence] += "'"
        taken.add(names[occurrence])
    return {occurrence: names[occurrence] for occurrence in aliases}


def _alias(planned: PlannedQuery, state: State) -> str:
    names = dict.fromkeys(planned.query.places[place].alias or "" for place in state.places)
    return "|".join(name for name in names if name)


def _defined(planned: PlannedQuery, state: State) -> str:
    """What was defined as the type of a state's events; nothing where that is a plain type."""
    query = planned.query
    name = _only({query.places[place].written or "" for place in state.places})
    types = {place.type for place in query.places if place.written == name}
    return name if len(types) == 1 and name != ANY else ""


def _only(names: set[str]) -> str:
    """The one name of some; nothing where there are several."""
    return next(iter(names)) if len(names) == 1 else ""


def _occurrences(template: Template) -> list[Occurrence]:
    """For each state its type, and which of the states of that type it is.

    Those that repeat come first: they are what queries may have in common.
    """
    loops = {edge.source for edge in template.edges if edge.source == edge.target}
    order = sorted(range(len(template.states)), key=lambda number: number not in loops)
    counts: Counter[str] = Counter()
    occurrences: dict[int, Occurrence] = {}
    for number in order:
        of = template.states[number].type
        occurrences[number] = (of, counts[of])
        counts[of] += 1
    return [occurrences[number] for number in range(len(order))]
