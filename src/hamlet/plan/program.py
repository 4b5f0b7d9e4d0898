"""The program: a sharable set as flat integer arrays, which is all that a kernel gets to see.

Kernels are interpreters of these arrays, compiled once for all workloads. States are numbered
through the whole set and laid out by atom, so that the same place of all queries stands side by
side and one event touches one contiguous stretch. Edges are sorted by target: what an event needs
to know is where its predecessors are.

How edges are executed is not part of it: see execution.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from hamlet.plan.aggregates import DURATION, LENGTH
from hamlet.plan.letters import Alphabet, Atom, alphabet_of
from hamlet.plan.template import END, FREE, START, Alternative, Condition, PlannedQuery, Template

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.plan.predicates import EdgePredicate
    from hamlet.plan.template import Part
    from hamlet.plan.workload import SharableSet, WorkloadPlan

    Ints = NDArray[np.int32]


class Role(IntEnum):
    """What a template is for."""

    PATTERN = 0
    SECOND = 1  # Q of P AND Q
    BOTH = 2  # what P and Q both match
    GUARD = 3  # a negated pattern


@dataclass(frozen=True, slots=True)
class Program:
    """The arrays of one sharable set; `n_` and `_of` say what an array is indexed by.

    Templates: `template_query`, `template_role`. States: `state_template`, `state_atom`. Edges, by
    target: `edge_source`, `edge_target` (START is -1, END is -2), `edge_condition`. Conditions have
    guards as template numbers and predicates as indices of `predicates`; condition 0 is the free
    one. Aggregates: `aggregate_query`, and `aggregate_state_start` / `aggregate_states` (state
    numbers, row by row).

    No arrays are `state_part`, for each state the part of trends that its events are where that is
    known, and the templates for which the least or greatest length, or duration, of trends is
    asked: `lengthwise` and `timewise`.
    """

    queries: tuple[int, ...]
    pane_us: int
    alphabet: Alphabet
    predicates: tuple[EdgePredicate, ...]
    conditions: tuple[Condition, ...]
    template_query: Ints
    template_role: Ints
    state_template: Ints
    state_atom: Ints
    edge_source: Ints
    edge_target: Ints
    edge_condition: Ints
    aggregate_query: Ints
    aggregate_state_start: Ints
    aggregate_states: Ints
    state_part: tuple[Part | None, ...]
    lengthwise: frozenset[int]
    timewise: frozenset[int]

    @property
    def arrays(self) -> dict[str, Ints]:
        """The arrays by name."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def aggregates_at(self) -> dict[int, set[int]]:
        """For each state the aggregates, by their number in the query, that count its events."""
        at: dict[int, set[int]] = {}
        number_in_query: Counter[int] = Counter()
        for index, query in enumerate(self.aggregate_query.tolist()):
            low, high = self.aggregate_state_start[index : index + 2]
            for state in self.aggregate_states[low:high].tolist():
                at.setdefault(state, set()).add(number_in_query[query])
            number_in_query[query] += 1
        return at


def compile_set(plan: WorkloadPlan, sharable: SharableSet) -> Program:
    """The program of one sharable set."""
    members = [plan.queries[number] for number in sharable.queries]
    compiler = _Compiler(alphabet_of(members))
    for query, planned in enumerate(members):
        compiler.add(query, planned)
    return compiler.program(sharable, members)


class _Compiler:
    """Numbers templates, states, conditions and predicates while queries are added."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.atom_number = {atom: number for number, atom in enumerate(alphabet.atoms)}
        self.predicate_number: dict[EdgePredicate, int] = {}
        self.condition_number: dict[Condition, int] = {FREE: 0}
        self.templates: list[tuple[int, Role]] = []
        self.states: list[tuple[int, int, bool]] = []
        self.parts: list[Part | None] = []
        self.positive: list[list[tuple[int, frozenset[int]]]] = []  # by query: state, its places
        self.edges: list[tuple[int, int, int]] = []

    def add(self, query: int, planned: PlannedQuery) -> None:
        """Take in the templates of a query; guards first, because edges refer to them."""
        predicates = [self._predicate(p) for p in planned.query.edge_predicates]
        first_guard = len(self.templates)
        self.positive.append([])
        # Many edges have the same condition, so each is renumbered once.
        written = {edge.condition: None for _, t in _roles(planned) for edge in t.edges}
        conditions = {c: self._condition(_renumbered(c, first_guard, predicates)) for c in written}
        for role, template in _roles(planned):
            self._template(query, role, template, conditions)

    def _template(
        self, query: int, role: Role, template: Template, conditions: dict[Condition, int]
    ) -> None:
        number, base = len(self.templates), len(self.states)
        self.templates.append((query, role))
        loops = {edge.source for edge in template.edges if edge.source == edge.target}
        for index, state in enumerate(template.states):
            atom = self.atom_number[Atom(state.type, state.atom)]
            if role != Role.GUARD:
                self.positive[query].append((len(self.states), frozenset(state.places)))
            self.states.append((number, atom, index in loops))
            self.parts.append(state.part)
        for edge in template.edges:
            source = edge.source if edge.source == START else base + edge.source
            target = edge.target if edge.target == END else base + edge.target
            self.edges.append((source, target, conditions[edge.condition]))

    def _predicate(self, predicate: EdgePredicate) -> int:
        return self.predicate_number.setdefault(predicate, len(self.predicate_number))

    def _condition(self, condition: Condition) -> int:
        return self.condition_number.setdefault(condition, len(self.condition_number))

    def program(self, sharable: SharableSet, members: list[PlannedQuery]) -> Program:
        """Lay everything out."""
        # By atom, then Kleene places together: an event of a burst then touches one stretch.
        order = sorted(range(len(self.states)), key=lambda s: (self.states[s][1:], s))
        moved = {START: START, END: END} | {old: new for new, old in enumerate(order)}
        edges = sorted((moved[t], moved[s], c) for s, t, c in self.edges)
        aggregates, starts, states = list[int](), [0], list[int]()
        for query, planned in enumerate(members):
            for aggregate in planned.query.aggregates:
                aggregates.append(query)
                states += sorted(
                    moved[number]
                    for number, places in self.positive[query]
                    if not places.isdisjoint(aggregate.places)
                )
                starts.append(len(states))
        return Program(
            queries=sharable.queries,
            pane_us=sharable.pane_us,
            alphabet=self.alphabet,
            predicates=tuple(self.predicate_number),
            conditions=tuple(self.condition_number),
            template_query=_ints([query for query, _ in self.templates]),
            template_role=_ints([role for _, role in self.templates]),
            state_template=_ints([self.states[old][0] for old in order]),
            state_atom=_ints([self.states[old][1] for old in order]),
            edge_source=_ints([source for _, source, _ in edges]),
            edge_target=_ints([target for target, _, _ in edges]),
            edge_condition=_ints([condition for _, _, condition in edges]),
            aggregate_query=_ints(aggregates),
            aggregate_state_start=_ints(starts),
            aggregate_states=_ints(states),
            state_part=tuple(self.parts[old] for old in order),
            lengthwise=self._templates_with(members, LENGTH),
            timewise=self._templates_with(members, DURATION),
        )

    def _templates_with(self, members: list[PlannedQuery], measure: str) -> frozenset[int]:
        """The templates, but for guards, of queries that ask for extremes of a measure."""
        return frozenset(
            template
            for template, (query, role) in enumerate(self.templates)
            if role != Role.GUARD
            and any(extreme.measure == measure for extreme in members[query].query.extremes)
        )


def _roles(planned: PlannedQuery) -> Iterator[tuple[Role, Template]]:
    templates = planned.templates
    for guard in templates.guards:
        yield Role.GUARD, guard
    yield from zip((Role.PATTERN, Role.SECOND), templates.branches, strict=False)
    if templates.both is not None:
        yield Role.BOTH, templates.both


def _renumbered(condition: Condition, first_guard: int, predicates: list[int]) -> Condition:
    """A condition with its guards and predicates numbered through the whole set."""
    if condition.is_free:
        return FREE

    def way(alternative: Alternative) -> Alternative:
        return Alternative(
            frozenset(first_guard + guard for guard in alternative.guards),
            frozenset(predicates[number] for number in alternative.predicates),
        )

    return Condition(
        frozenset(frozenset(way(alternative) for alternative in need) for need in condition.needs),
        frozenset(way(alternative) for alternative in condition.forbids),
        condition.holds,
        condition.fails,
        condition.step,
    )


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int32)
