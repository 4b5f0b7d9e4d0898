"""The map of a template as queries: each entry is a count that the engine knows how to make.

Trends that are not at their end *wait*: after the event of some state, or at START, for an event
along an edge. Edges with a guard (NOT) are open as long as nothing has matched the guard, so trends
wait in *rows*, one for each state and set of guards that an edge asks for; a row loses all its
trends when its guard matches.

What gets from one row to another in a pane is what a query counts over the pane as a window of its
own: its trends begin with the edges that leave the one row and end in the state of the other. The
guards of the first stand at the beginning of these trends, those of the other at their end. Rows
whose edges are the same have their entries in common. Whether a row loses its trends is a query
too: whether the pane has a match of the guard.

A query *composes* where edges look at no pairs of events, where trends wait on however many
events go on with them, and where each match of a guard has one
event that is a match alone, so that no match crosses from pane to pane unseen. What is asked of
trends must not depend on which of their events are the first and the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hamlet.plan.program import Role
from hamlet.plan.query import Aggregate, Window
from hamlet.plan.template import (
    END,
    FREE,
    START,
    Alternative,
    Condition,
    Edge,
    PlannedQuery,
    QueryTemplates,
    Step,
    Template,
)
from hamlet.plan.workload import SharableSet, WorkloadPlan, merge_templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hamlet.plan.query import Query

    # A state or START, and the guards that have not matched since.
    Row = tuple[int, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Form:
    """How the map of one template is read from the answers of queries.

    query: The query of the workload whose template it is.
    role: Which of its templates.
    rows: Where trends wait; entries and all below are by their numbers.
    starts: The rows at START: a window begins with one trend without events in each.
    ends: The rows from which trends end.
    entries: The query that counts the ways from one row to another.
    barred: For each row the queries of its guards: where one has a match, the row is empty.
    """

    query: int
    role: Role
    rows: tuple[Row, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    entries: Mapping[tuple[int, int], int]
    barred: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Panes:
    """A workload, and the queries over panes that its maps are read from.

    pane_us: How long a pane is.
    plan: The workload with these queries after its own.
    first: The number of the first of them.
    sets: The sets of the workload that compose.
    pane_sets: For each of them the set of its queries over panes.
    forms: For each of them the templates of its queries.
    """

    pane_us: int
    plan: WorkloadPlan
    first: int
    sets: tuple[SharableSet, ...]
    pane_sets: tuple[SharableSet, ...]
    forms: tuple[tuple[Form, ...], ...]

    @property
    def origins(self) -> list[int]:
        """For each query over panes the query of the workload that it is for."""
        origin: dict[int, int] = {}
        for form in (form for forms in self.forms for form in forms):
            barring = (number for some in form.barred for number in some)
            origin |= dict.fromkeys((*form.entries.values(), *barring), form.query)
        return [origin[number] for number in range(self.first, len(self.plan.queries))]


def composes(planned: PlannedQuery) -> bool:
    """Whether windows of a query can be put together from panes, which begin at plain times."""
    query = planned.query
    if not query.window.clock.is_plain or query.asks_lengths or query.asks_durations:
        return False
    templates = planned.templates
    guards: set[int] = set()
    for _, template in _patterns(templates):
        for condition in (edge.condition for edge in template.edges):
            one_way = all(len(need) == 1 for need in condition.needs)
            stays = condition.step == Step.STAY
            if condition.predicates or condition.forbids or not one_way or not stays:
                return False
            guards |= condition.guards
    return all(_is_sudden(templates.guards[number]) for number in guards)


def _is_sudden(guard: Template) -> bool:
    """Whether the first event of each match of a guard is a match alone."""
    if any(edge.condition.predicates or edge.condition.guards for edge in guard.edges):
        return False
    first = {edge.target for edge in guard.edges if edge.source == START}
    last = {edge.source for edge in guard.edges if edge.target == END and edge.condition == FREE}
    return first <= last


def derive(plan: WorkloadPlan, sets: Sequence[SharableSet], pane_us: int) -> Panes:
    """The queries over panes of sets that compose.

    Args:
        plan: The workload.
        sets: Those of its sets; every query of them composes.
        pane_us: How long a pane is; it divides every WITHIN and SLIDE of these queries.
    """
    derived: list[PlannedQuery] = []
    forms: list[tuple[Form, ...]] = []
    pane_sets: list[SharableSet] = []
    first = len(plan.queries)
    for sharable in sets:
        begin = len(derived)
        forms.append(
            tuple(
                form
                for number in sharable.queries
                for form in _Deriving(number, plan, sharable, pane_us, first, derived).forms()
            )
        )
        numbers = tuple(range(first + begin, first + len(derived)))
        members = zip(numbers, derived[begin:], strict=True)
        merged = merge_templates(members)
        # They are run together, whether or not they repeat a type in common: events are then
        # encoded once.
        pane_sets.append(SharableSet(numbers, sharable.partition, (), pane_us, merged))
    extended = WorkloadPlan((*plan.queries, *derived), (*plan.sets, *pane_sets))
    return Panes(pane_us, extended, first, tuple(sets), tuple(pane_sets), tuple(forms))


def _patterns(templates: QueryTemplates) -> Iterator[tuple[Role, Template]]:
    yield from zip((Role.PATTERN, Role.SECOND), templates.branches, strict=False)
    if templates.both is not None:
        yield Role.BOTH, templates.both


@dataclass(frozen=True, slots=True)
class _Deriving:
    """Makes the queries of one query of a workload, and adds them to those that are there."""

    number: int
    plan: WorkloadPlan
    sharable: SharableSet
    pane_us: int
    first: int
    derived: list[PlannedQuery]

    @property
    def query(self) -> Query:
        return self.plan.queries[self.number].query

    @property
    def templates(self) -> QueryTemplates:
        return self.plan.queries[self.number].templates

    def forms(self) -> Iterator[Form]:
        barring: dict[int, int] = {}
        for role, template in _patterns(self.templates):
            yield self._form(role, template, barring)

    def _form(self, role: Role, template: Template, barring: dict[int, int]) -> Form:
        rows: dict[Row, int] = {}
        for edge in template.edges:
            rows.setdefault((edge.source, edge.condition.guards), len(rows))
        # Rows that trends leave by the same edges have the same entries.
        known: dict[tuple[frozenset[Edge], int], int | None] = {}
        entries: dict[tuple[int, int], int] = {}
        for row, source in rows.items():
            leaving = _leaving(template, row)
            for (state, guards), target in rows.items():
                if state == START:
                    continue
                key = frozenset(leaving), target
                if key not in known:
                    known[key] = self._entry(template, leaving, state, guards)
                found = known[key]
                if found is not None:
                    entries[source, target] = found
        ends = [
            rows[edge.source, edge.condition.guards]
            for edge in template.edges
            if edge.target == END
        ]
        return Form(
            self.number,
            role,
            tuple(rows),
            tuple(number for row, number in rows.items() if row[0] == START),
            tuple(ends),
            entries,
            tuple(tuple(self._guard(g, barring) for g in sorted(guards)) for _, guards in rows),
        )

    def _entry(
        self, template: Template, leaving: list[Edge], state: int, guards: frozenset[int]
    ) -> int | None:
        """The query of an entry; None where there is no way."""
        way = Condition(frozenset({frozenset({Alternative(guards)})})) if guards else FREE
        inner = [edge for edge in template.edges if edge.source >= 0 and edge.target >= 0]
        found = _trimmed(template, [*leaving, *inner, Edge(state, END, way)])
        return None if found is None else self._add(found, self.query.aggregates)

    def _guard(self, guard: int, barring: dict[int, int]) -> int:
        """The query of whether there is a match of a guard, one for all templates."""
        if guard not in barring:
            count = (Aggregate("COUNT(*)", "COUNT"),)
            barring[guard] = self._add(self.templates.guards[guard], count)
        return barring[guard]

    def _add(self, template: Template, aggregates: tuple[Aggregate, ...]) -> int:
        number = self.first + len(self.derived)
        query = replace(
            self.query,
            name=f"{self.query.name} pane {number}",
            aggregates=aggregates,
            results=(),
            having=None,
            branches=self.query.branches[:1],
            # Partitions are put together one by one, and added up later.
            group_by=self.sharable.partition,
            equivalence=(),
            window=Window(self.pane_us, self.pane_us),
        )
        has_guards = any(edge.condition.guards for edge in template.edges)
        guards = self.templates.guards if has_guards else ()
        self.derived.append(PlannedQuery(query, QueryTemplates((template,), None, guards)))
        return number


def _leaving(template: Template, row: Row) -> list[Edge]:
    """The edges by which trends leave a row, as edges from START."""
    state, guards = row
    return [
        Edge(START, edge.target, edge.condition)
        for edge in template.edges
        if edge.source == state and edge.condition.guards == guards and edge.target != END
    ]


def _trimmed(template: Template, edges: list[Edge]) -> Template | None:
    """The states of a template that are on a way from START to END along some edges."""
    forward = _reached(START, [(edge.source, edge.target) for edge in edges])
    backward = _reached(END, [(edge.target, edge.source) for edge in edges])
    if END not in forward:
        return None
    useful = forward & backward
    kept = [number for number in range(len(template.states)) if number in useful]
    moved = {START: START, END: END} | {old: new for new, old in enumerate(kept)}
    found = tuple(
        Edge(moved[edge.source], moved[edge.target], edge.condition)
        for edge in edges
        if edge.source in useful and edge.target in useful
    )
    return Template(tuple(template.states[n] for n in kept), found, template.is_determinised)


def _reached(begin: int, steps: list[tuple[int, int]]) -> set[int]:
    after: dict[int, list[int]] = {}
    for source, target in steps:
        after.setdefault(source, []).append(target)
    reached, queue = {begin}, [begin]
    while queue:
        for target in after.get(queue.pop(), ()):
            if target not in reached:
                reached.add(target)
                queue.append(target)
    return reached
