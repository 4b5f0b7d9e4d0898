"""How edges and loops are executed: decided here, for the compiler and for explain alike.

An edge is executed by its condition: from running totals, from an ordered index, off the front of
what is stored in order, or by a look at every stored predecessor. Of loops, two kinds are worked
out for all queries together: bursts, which are one linear map for every query that waits in the
same way, and loops with one comparison between neighbours whose surroundings are running totals:
they have one table of rows.

What only events can tell is an argument: whether the two sides of a comparison can be compared
directly, and whether sums over a burst may be had as differences of running sums. Where nothing is
known of events both are taken for granted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from hamlet.plan.program import Role
from hamlet.plan.template import END, START, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hamlet.plan.program import Program
    from hamlet.plan.template import Condition, PlannedQuery


class Grain(StrEnum):
    """How the predecessors along an edge are summed up."""

    TYPE = "type"  # one running total for each place and query: constant time
    ORDERED = "ordered"  # an index ordered by f(previous): logarithmic time
    TAKEN = "taken"  # each stored predecessor is taken off once: logarithmic time
    SCAN = "scan"  # every stored predecessor is looked at: linear time
    # Of loops whose work queries have in common
    BURST = "burst"  # TYPE, and a run of events is one map for all queries
    ROWS = "rows"  # ORDERED, with one table of rows for all queries: see kernel/rows

    @property
    def keeps_events(self) -> bool:
        """Whether predecessors are kept one by one."""
        return self not in (Grain.TYPE, Grain.BURST)


@dataclass(frozen=True, slots=True)
class GuardShape:
    """What edges have to know of a negated pattern."""

    states: int
    has_predicates: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the grain of an edge depends on besides its condition, by the numbers that it uses.

    Attributes:
        comparable: The edge predicates f(previous) op g(next) whose sides can be compared.
        directed: Those among them of which a lesser, or a greater, f will do as well.
        guards: The shapes of guards.
    """

    comparable: frozenset[int]
    directed: frozenset[int]
    guards: Mapping[int, GuardShape]

    @classmethod
    def of(cls, planned: PlannedQuery) -> Surroundings:
        """Those of the templates of one query, where nothing is known of events."""
        predicates = planned.query.edge_predicates
        guards = planned.templates.guards
        return cls(
            frozenset(n for n, predicate in enumerate(predicates) if predicate.is_ordered),
            frozenset(n for n, predicate in enumerate(predicates) if predicate.is_directed),
            {
                number: GuardShape(
                    len(guard.states), any(edge.condition.predicates for edge in guard.edges)
                )
                for number, guard in enumerate(guards)
            },
        )


def grain_of(condition: Condition, around: Surroundings) -> Grain:
    """How an edge of a pattern is executed."""
    several = [guard for guard in condition.guards if around.guards[guard].states > 1]
    predicates = condition.predicates
    if is_taken_off(condition, around.directed):
        return Grain.TAKEN
    if predicates:
        # An index has one order, and is emptied by guards that are single events; single events
        # cannot be taken out of it.
        is_ordered = len(predicates) == 1 and predicates <= around.comparable
        is_ordered = is_ordered and condition.step == Step.STAY
        return Grain.ORDERED if is_ordered and condition.is_simple and not several else Grain.SCAN
    # Guards are resets of a running total, but only where each of them must be clear. Those of
    # several events have a copy of the total for each of their states, which two cannot both have.
    # Of a total all is taken or nothing.
    must_be_clear = all(len(need) == 1 for need in condition.needs) and not condition.forbids
    looks = any(around.guards[guard].has_predicates for guard in condition.guards)
    is_total = must_be_clear and len(several) <= 1 and not looks and condition.step != Step.TAKE
    return Grain.TYPE if is_total else Grain.SCAN


def is_taken_off(condition: Condition, directed: frozenset[int]) -> bool:
    """Whether what an edge takes away stands in front of what is stored in order, or is all of it.

    Args:
        condition: The condition of the edge.
        directed: See `Surroundings`.
    """
    is_plain = condition.is_simple and len(condition.predicates) <= 1
    return condition.step == Step.TAKE and is_plain and condition.predicates <= directed


def guard_grain_of(condition: Condition) -> Grain:
    """How an edge of a negated pattern is executed: of guards only the latest match counts."""
    return Grain.SCAN if condition.predicates else Grain.TYPE


@dataclass(frozen=True, slots=True)
class RowShape:
    """What the loops with an edge predicate of a unit have in common that has rows in a table.

    Attributes:
        loops: Their states, all of one atom.
        predicate: What is asked of neighbours.
        guards: Atoms of which no event may be between neighbours.
    """

    loops: frozenset[int]
    atom: int
    predicate: int
    guards: tuple[int, ...]


@dataclass(frozen=True)
class Execution:
    """How the templates of a program are executed.

    Attributes:
        program: The program; states, conditions and templates are known by their numbers there.
        comparable: For each edge predicate whether its sides can be compared directly.
        is_summable: Whether sums over events at a state may be had as differences of running sums,
            and, where asked for, sums of these sums.
    """

    program: Program
    comparable: Sequence[bool] | None = None
    is_summable: Callable[[int, bool], bool] | None = None

    @cached_property
    def states_of(self) -> dict[int, list[int]]:
        """The states of each template that has any."""
        states: dict[int, list[int]] = {}
        for state, template in enumerate(self.program.state_template.tolist()):
            states.setdefault(template, []).append(state)
        return states

    @cached_property
    def edges_of(self) -> dict[int, list[tuple[int, int, int]]]:
        """The edges of each template: source, target, number of the condition."""
        program, edges = self.program, dict[int, list[tuple[int, int, int]]]()
        columns = (program.edge_source, program.edge_target, program.edge_condition)
        template_of = program.state_template.tolist()
        for source, target, condition in zip(*(c.tolist() for c in columns), strict=True):
            template = template_of[target if target != END else source]
            edges.setdefault(template, []).append((source, target, condition))
        return edges

    @cached_property
    def units(self) -> list[int]:
        """The templates that are no guards."""
        roles = self.program.template_role.tolist()
        return [template for template, role in enumerate(roles) if role != Role.GUARD]

    @cached_property
    def guards_of(self) -> dict[int, list[int]]:
        """The guards of each query that has any."""
        roles, guards = self.program.template_role.tolist(), dict[int, list[int]]()
        for template, query in enumerate(self.program.template_query.tolist()):
            if roles[template] == Role.GUARD:
                guards.setdefault(query, []).append(template)
        return guards

    def type_of(self, state: int) -> str:
        """The type of the events at a state."""
        return str(self.program.alphabet.atoms[self.program.state_atom[state]].type)

    # Edges

    def is_comparable(self, predicate: int) -> bool:
        """Whether the two sides of an edge predicate are compared directly."""
        known = self.comparable is None or self.comparable[predicate]
        return bool(known and self.program.predicates[predicate].is_ordered)

    @cached_property
    def surroundings(self) -> Surroundings:
        """What grains depend on, in the numbers of the program."""
        conditions = self.program.conditions
        guards = (guard for of_query in self.guards_of.values() for guard in of_query)
        comparable = frozenset(filter(self.is_comparable, range(len(self.program.predicates))))
        return Surroundings(
            comparable,
            frozenset(n for n in comparable if self.program.predicates[n].is_directed),
            {
                guard: GuardShape(
                    len(self.states_of.get(guard, ())),
                    any(conditions[c].predicates for _, _, c in self.edges_of.get(guard, ())),
                )
                for guard in guards
            },
        )

    @cached_property
    def grains(self) -> tuple[Grain, ...]:
        """The grain of each condition, on edges of templates that are no guards."""
        return tuple(
            grain_of(condition, self.surroundings) for condition in self.program.conditions
        )

    # Loops with an edge predicate

    def rows(self, template: int) -> RowShape | None:
        """What the loops of a template have in common that has rows in a table; None where not.

        All of its edges but these loops are running totals, and all guards are single events; and
        nothing is asked for that grows along trends but sums.
        """
        if template in self.program.lengthwise | self.program.timewise:
            return None
        loops: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        for source, target, number in self.edges_of.get(template, ()):
            condition = self.program.conditions[number]
            guards = self.guard_atoms(condition)
            if guards is None:
                return None
            if self.grains[number] == Grain.ORDERED and source == target:
                atom = int(self.program.state_atom[source])
                loops[source] = (atom, next(iter(condition.predicates)), guards)
            elif self.grains[number] != Grain.TYPE:
                return None
        if len(set(loops.values())) != 1:
            return None
        return RowShape(frozenset(loops), *next(iter(loops.values())))

    def guard_atoms(self, condition: Condition) -> tuple[int, ...] | None:
        """The atoms of the guards of an edge; None where one of them is more than an event."""
        atoms = set()
        for guard in condition.guards:
            states, edges = self.states_of.get(guard, ()), self.edges_of.get(guard, ())
            is_free = all(self.program.conditions[c].is_free for _, _, c in edges)
            if len(states) != 1 or not is_free:
                return None
            atoms.add(int(self.program.state_atom[states[0]]))
        return tuple(sorted(atoms))

    # Bursts

    def bursts(self, units: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """For each unit that can have shared bursts, the states that it has them at.

        None of them reads what another is fed, or takes away: all wait at once. Of types that stand
        in each other's way the one whose atoms most units could share goes first.
        """
        atoms = self.program.state_atom
        candidates = {unit: self._burst_states(unit) for unit in units}
        votes = Counter(
            int(atoms[s]) for waiting in candidates.values() for some in waiting for s in some
        )
        classes: dict[int, tuple[int, ...]] = {}
        for unit, waiting in candidates.items():
            chosen: tuple[int, ...] = ()
            for some in sorted(
                waiting, key=lambda some: (-max(votes[int(atoms[s])] for s in some), some)
            ):
                both = chosen + some
                if not self._are_in_the_way(unit, both) and self._wait_for_one(unit, both):
                    chosen += some
            if chosen:
                classes[unit] = tuple(sorted(chosen))
        return classes

    def _burst_states(self, unit: int) -> list[tuple[int, ...]]:
        """The states of each type whose events could wait: at all states of the type, or at none.

        An event that did more to the unit than waiting would be seen at once.
        """
        by_type: dict[str, list[int]] = {}
        for state in self.states_of.get(unit, ()):
            by_type.setdefault(self.type_of(state), []).append(state)
        guards = self.guards_of.get(int(self.program.template_query[unit]), ())
        negated = {
            self.type_of(state) for guard in guards for state in self.states_of.get(guard, ())
        }
        return [
            tuple(states)
            for event_type, states in by_type.items()
            if event_type not in negated
            and all(self._can_have_bursts(unit, state) for state in states)
            and not self._are_in_the_way(unit, tuple(states))
            and self._wait_for_one(unit, states)
        ]

    def _wait_for_one(self, unit: int, states: Sequence[int]) -> bool:
        """Whether trends that wait for the very next event can be found to have waited for it.

        Then an event is of one of the runs that they may wait for, or of none.
        """
        passes = any(
            self.program.conditions[c].step == Step.PASS for _, _, c in self.edges_of.get(unit, ())
        )
        atoms = {(self.type_of(state), int(self.program.state_atom[state])) for state in states}
        return not passes or len(atoms) == len({event_type for event_type, _ in atoms})

    def _are_in_the_way(self, unit: int, states: tuple[int, ...]) -> bool:
        """Whether one of some states comes right after another, or takes what another waits for."""
        if len(states) < 2:
            return False
        taken: dict[int, int] = {}
        for source, target, number in self.edges_of.get(unit, ()):
            if target not in states or source == target:
                continue
            moves = self.program.conditions[number].step != Step.STAY
            if source in states or (moves and taken.setdefault(source, target) != target):
                return True
        return False

    def _can_have_bursts(self, unit: int, state: int) -> bool:
        """Whether a run at a state is one map: all it reads are totals, all that read it too.

        For the least and greatest length it matters how often the run is gone through.
        """
        if unit in self.program.lengthwise:
            return False
        conditions, edges = self.program.conditions, self.edges_of.get(unit, ())
        into = [(source, c) for source, target, c in edges if target == state]
        out = [c for source, _, c in edges if source == state]
        loops = any(source == state and not conditions[c].guards for source, c in into)
        reads = all(
            self.grains[c] == Grain.TYPE and not (conditions[c].holds or conditions[c].fails)
            for _, c in into
        )
        is_read = all(self.grains[c] == Grain.TYPE for c in out)
        stays = all(conditions[c].step == Step.STAY for c in (*(c for _, c in into), *out))
        is_one_map = stays or self._moves_on(unit, state)
        if not (loops and reads and is_read and is_one_map):
            return False
        ends = not stays and any(source == state and target == END for source, target, _ in edges)
        return self.is_summable is None or self.is_summable(state, ends)

    def _moves_on(self, unit: int, state: int) -> bool:
        """Whether a run at a state moves all trends that wait for it, and none begins there."""
        steps = set()
        for source, target, number in self.edges_of.get(unit, ()):
            if source == START and target == state:
                return False
            if state in (source, target) and target != END:
                steps.add(self.program.conditions[number].step)
        return len(steps) == 1 and steps <= {Step.MOVE, Step.PASS}

    # Loops

    def loops(self) -> dict[int, dict[int, Grain]]:
        """For each unit how each of its loops is executed, by state."""
        in_rows = {unit: shape for unit in self.units if (shape := self.rows(unit)) is not None}
        bursts = self.bursts(unit for unit in self.units if unit not in in_rows)
        grains: dict[int, dict[int, Grain]] = {}
        for unit in self.units:
            for source, target, condition in self.edges_of.get(unit, ()):
                if source == target:
                    grain = self.grains[condition]
                    if unit in in_rows and source in in_rows[unit].loops:
                        grain = Grain.ROWS
                    elif source in bursts.get(unit, ()):
                        grain = Grain.BURST
                    grains.setdefault(unit, {})[source] = grain
        return grains

    def keeps_events(self, unit: int) -> bool:
        """Whether a unit, or a guard of its query, keeps events one by one."""
        guards = self.guards_of.get(int(self.program.template_query[unit]), ())
        conditions = self.program.conditions
        return any(self.grains[c].keeps_events for _, _, c in self.edges_of.get(unit, ())) or any(
            guard_grain_of(conditions[c]).keeps_events
            for guard in guards
            for source, target, c in self.edges_of.get(guard, ())
            if source != START and target != END
        )
