"""Templates, conditions and events as the flat arrays that the compared systems read.

Every system goes through the states of a template; what differs is what it keeps for them. So one
`Graph` of each template serves all of them, and one table of conditions all graphs of a set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel.base import components_of
from hamlet.kernel.compile.parts import RaggedLists
from hamlet.kernel.stack_code import COMPARE_CODES, GENERAL, emit
from hamlet.plan.letters import Atom
from hamlet.plan.program import Role
from hamlet.plan.template import END, START

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.predicates import EdgePredicate, Expression
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.template import Alternative
    from hamlet.plan.workload import WorkloadPlan

    Ints = NDArray[np.int64]

# Instead of a weight: the component does not count the event, or counts it once.
NO_WEIGHT, ONE = -1, -2
# Instead of a condition: there is no such edge.
NO_EDGE = -1
# How a condition is decided: always met, one comparison of the two events, or all of its parts.
FREE_WAY, COMPARED, LOOKED_AT = 0, 1, 2


class SystemEvents(NamedTuple):
    """Events as compiled functions see them; see `EventBatch`.

    step: Simultaneous events have the same one, and it grows with time in a partition.
    latest: By guard, then event: the event that the latest match completed before it began with,
        -1 for none. After the events stands what is known at the end of each partition.
    """

    ts: Any
    step: Any
    letter: Any
    letters: Any
    weights: Any
    extremes: Any
    previous: Any
    next: Any
    columns: Any
    latest: Any


class Rules(NamedTuple):
    """All conditions of a set: pointers and numbers, as in `kernel/compiler/conditions.py`."""

    kind: Any
    predicate: Any  # of conditions that are one comparison
    need_p: Any
    way_p: Any
    way: Any
    forbid_p: Any
    forbid: Any
    guard_p: Any
    guard: Any
    asked_p: Any
    asked: Any
    holds_p: Any
    holds: Any
    fails_p: Any
    fails: Any
    p_kind: Any
    code_p: Any
    code: Any
    argument: Any


class Graph(NamedTuple):
    """One template; START is the source -1.

    enter_p, enter: The states that events of a letter are for.
    in_p, in_source, in_rule: The edges into a state.
    end_rule: The condition of a state's edge to END, NO_EDGE where it has none.
    weights: [states, components after the first] and extremes: [states, extremes].
    signs: 1 for MIN and -1 for MAX.
    """

    within: int
    slide: int
    enter_p: Any
    enter: Any
    in_p: Any
    in_source: Any
    in_rule: Any
    end_rule: Any
    weights: Any
    extremes: Any
    signs: Any


@dataclass(frozen=True, slots=True)
class Unit:
    """A template that results come from: its number in the program, and its graph."""

    template: int
    query: int
    atoms: tuple[int, ...]
    graph: Graph


@dataclass(frozen=True, slots=True)
class Guard:
    """A negated pattern: its number in the program, and its graph."""

    template: int
    query: int
    graph: Graph


@dataclass(frozen=True, slots=True)
class Tables:
    """One sharable set: its units, its guards and its conditions.

    rule_keys: For each rule the condition of the program that it is, and of which type of event.
    """

    plan: WorkloadPlan
    program: Program
    encoded: EncodedSet
    units: tuple[Unit, ...]
    guards: tuple[Guard, ...]
    rule_keys: tuple[tuple[int, str], ...]
    rules: Rules

    def name_of(self, query: int) -> str:
        """The name of a query of the set."""
        return self.query_of(query).name

    def query_of(self, query: int) -> Query:
        """A query by its number in the set."""
        return self.plan.queries[self.program.queries[query]].query


def tables_of(plan: WorkloadPlan, program: Program, encoded: EncodedSet) -> Tables:
    """The tables of an encoded set."""
    maker = _Graphs(plan, program, encoded)
    roles, query = program.template_role.tolist(), program.template_query.tolist()
    guards = [t for t, role in enumerate(roles) if role == Role.GUARD]
    # What both sides of AND match may be nothing, and then has no state.
    others = [t for t in maker.states if roles[t] != Role.GUARD]
    return Tables(
        plan,
        program,
        encoded,
        tuple(Unit(t, query[t], maker.atoms(t), maker.graph(t)) for t in others),
        tuple(Guard(t, query[t], maker.graph(t)) for t in guards),
        maker.rule_keys,
        _rules(program, encoded, maker.rule_keys, {t: i for i, t in enumerate(guards)}),
    )


class _Graphs:
    """Makes graphs of the templates of a program."""

    def __init__(self, plan: WorkloadPlan, program: Program, encoded: EncodedSet) -> None:
        self.program, self.encoded = program, encoded
        self.queries = [plan.queries[number].query for number in program.queries]
        self.weight_number = {w: i for i, w in enumerate(encoded.batch.weight_specs)}
        self.extreme_number = {a: i for i, a in enumerate(encoded.batch.extreme_attributes)}
        self.states: dict[int, list[int]] = {}
        for state, template in enumerate(program.state_template.tolist()):
            self.states.setdefault(template, []).append(state)
        self.into: dict[int, list[tuple[int, int]]] = {}
        self.ends: dict[int, int] = {}
        self._rule_number: dict[tuple[int, str], int] = {(0, ""): 0}
        for source, target, condition in zip(
            program.edge_source.tolist(),
            program.edge_target.tolist(),
            program.edge_condition.tolist(),
            strict=True,
        ):
            rule = self._rule(condition, target)
            if target == END:
                self.ends[source] = rule
            else:
                self.into.setdefault(target, []).append((source, rule))
        self.counted_at = program.aggregates_at()

    @property
    def rule_keys(self) -> tuple[tuple[int, str], ...]:
        """For each rule its condition, and the type of event where that matters."""
        return tuple(self._rule_number)

    def _rule(self, condition: int, target: int) -> int:
        """The rule of a condition: what it asks of an event itself depends on the event's type."""
        known = self.program.conditions[condition]
        is_typed = target >= 0 and (known.holds or known.fails)
        atoms, atom = self.program.alphabet.atoms, self.program.state_atom
        key = (condition, atoms[atom[target]].type if is_typed else "")
        return self._rule_number.setdefault(key, len(self._rule_number))

    def atoms(self, template: int) -> tuple[int, ...]:
        """The atom of each state of a template."""
        return tuple(int(self.program.state_atom[s]) for s in self.states[template])

    def graph(self, template: int) -> Graph:
        """The graph of one template."""
        query = int(self.program.template_query[template])
        states = self.states[template]
        local = {START: START} | {state: number for number, state in enumerate(states)}
        edges = RaggedLists([self.into.get(state, []) for state in states])
        atoms, letters = self.atoms(template), self.encoded.batch.letters
        enter = RaggedLists([[s for s, atom in enumerate(atoms) if row[atom]] for row in letters])
        window = self.queries[query].window
        return Graph(
            window.within_us,
            window.slide_us,
            enter.pointers(),
            enter.flat(),
            edges.pointers(),
            np.array([local[int(s)] for s in edges.flat(0)], np.int64),
            edges.flat(1),
            np.array([self.ends.get(state, NO_EDGE) for state in states], np.int64),
            _matrix([self._weights(query, state) for state in states]),
            _matrix([self._extremes(query, state) for state in states]),
            np.array([each.sign for each in self.queries[query].extremes], np.int64),
        )

    def _weights(self, query: int, state: int) -> list[int]:
        """For each component after the first the weight that an event at a state adds."""
        at = self.counted_at.get(state, set())
        layout = components_of(self.queries[query].aggregates, self.encoded.digits)
        return [
            NO_WEIGHT
            if each.aggregate not in at
            else ONE
            if each.weight.kind == "one"
            else self.weight_number[each.weight]
            for each in layout
        ]

    def _extremes(self, query: int, state: int) -> list[int]:
        """For each extreme the attribute that an event at a state has a value of."""
        at = self.counted_at.get(state, set())
        return [
            self.extreme_number[str(a.attribute)] if number in at else -1
            for number, a in enumerate(self.queries[query].aggregates)
            if a.sign
        ]


def _matrix(rows: list[list[int]]) -> Ints:
    return np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 0)


# Conditions


def _rules(
    program: Program,
    encoded: EncodedSet,
    keys: tuple[tuple[int, str], ...],
    guard_number: dict[int, int],
) -> Rules:
    needs, ways, forbids, holds, fails = (
        RaggedLists(),
        RaggedLists(),
        RaggedLists(),
        RaggedLists(),
        RaggedLists(),
    )
    guards, asked = RaggedLists(), RaggedLists()
    atoms = {atom: number for number, atom in enumerate(program.alphabet.atoms)}
    p_kind, codes = _predicates(program, encoded)
    kinds, compared = [], []

    def way_number(way: Alternative) -> int:
        guards.lists.append([guard_number[guard] for guard in sorted(way.guards)])
        asked.lists.append(sorted(way.predicates))
        return len(guards.lists) - 1

    for number, event_type in keys:
        condition, of_need = program.conditions[number], []
        for need in condition.needs:
            ways.lists.append([way_number(way) for way in need])
            of_need.append(len(ways.lists) - 1)
        needs.lists.append(of_need)
        forbids.lists.append([way_number(way) for way in condition.forbids])
        holds.lists.append([atoms[Atom(event_type, each)] for each in condition.holds])
        fails.lists.append([atoms[Atom(event_type, each)] for each in condition.fails])
        only = sorted(condition.predicates)
        is_compared = condition.is_simple and not condition.guards and len(only) == 1
        if is_compared and p_kind[only[0]] != GENERAL:
            kinds.append(COMPARED)
        else:
            kinds.append(FREE_WAY if condition.is_free else LOOKED_AT)
        compared.append(only[0] if only else -1)
    return Rules(
        np.array(kinds, np.int64),
        np.array(compared, np.int64),
        needs.pointers(),
        ways.pointers(),
        ways.flat(),
        forbids.pointers(),
        forbids.flat(),
        guards.pointers(),
        guards.flat(),
        asked.pointers(),
        asked.flat(),
        holds.pointers(),
        holds.flat(),
        fails.pointers(),
        fails.flat(),
        np.array(p_kind, np.int64),
        codes.pointers(),
        codes.flat(0),
        np.array([argument for each in codes.lists for _, argument in each], np.float64),
    )


def _predicates(program: Program, encoded: EncodedSet) -> tuple[list[int], RaggedLists]:
    """How each edge predicate is decided, and code for those that no comparison decides."""
    column = {name: number for number, name in enumerate(encoded.batch.column_names)}
    kinds, codes = [], RaggedLists()
    for number, predicate in enumerate(program.predicates):
        steps: list[tuple[int, float]] = []
        if predicate.is_ordered and encoded.ordered_usable[number]:
            kinds.append(COMPARE_CODES[predicate.operator])
        else:
            kinds.append(GENERAL)
            emit(_condition(predicate, encoded.conditions[number]), column, steps)
        codes.lists.append(steps)
    return kinds, codes


def _condition(predicate: EdgePredicate, rewritten: Expression | None) -> Expression:
    return predicate.condition if rewritten is None else rewritten
