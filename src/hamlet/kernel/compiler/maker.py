"""Units of a program: which rows each has, what its ops read, and how edges are executed.

The parts of the work that stand by themselves are functions of a `Maker` in the modules beside.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import Component, Weight, components_of
from hamlet.kernel.code import NO_WEIGHT, ONE
from hamlet.kernel.compiler.loops import choose_loops
from hamlet.kernel.compiler.parts import Rows, Unit
from hamlet.kernel.stack_code import COMPARE_CODES, GENERAL, emit
from hamlet.plan.program import Program, Role
from hamlet.plan.template import END, START, Condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.rows.letters import PlacedGroup
    from hamlet.plan.predicates import Expression
    from hamlet.plan.workload import WorkloadPlan

    Ints = NDArray[np.int64]


def query_components(
    plan: WorkloadPlan, query: int, digits: dict[str, tuple[int, ...]]
) -> tuple[Component, ...]:
    """The components of a query of the workload."""
    functions = [
        ("COUNT_OF" if a.function == "COUNT" and a.places else a.function, a.attribute)
        for a in plan.queries[query].query.aggregates
    ]
    return components_of(functions, digits)


class Maker:
    """Units, their rows and ops, and what is numbered on the way."""

    def __init__(
        self,
        plan: WorkloadPlan,
        program: Program,
        weights: Sequence[Weight],
        extreme_attributes: Sequence[str],
        digits: dict[str, tuple[int, ...]],
        only: frozenset[int] | None,
    ) -> None:
        self.program = program
        self.queries = [plan.queries[number].query for number in program.queries]
        self.components = [query_components(plan, n, digits) for n in program.queries]
        self.weight_number = {weight: i for i, weight in enumerate(weights)}
        self.extreme_number = {name: i for i, name in enumerate(extreme_attributes)}
        self.states_of: dict[int, list[int]] = {}
        for state, template in enumerate(program.state_template):
            self.states_of.setdefault(int(template), []).append(state)
        self.edges_of: dict[int, list[tuple[int, int, int]]] = {}
        for s, t, c in zip(
            program.edge_source, program.edge_target, program.edge_condition, strict=True
        ):
            template = int(program.state_template[t if t != END else s])
            self.edges_of.setdefault(template, []).append((int(s), int(t), int(c)))
        roles = program.template_role
        self.guard_templates = [t for t in range(len(roles)) if roles[t] == Role.GUARD]
        self.units = [
            Unit(i, t, int(program.template_query[t]))
            for i, t in enumerate(
                t
                for t in range(len(roles))
                if roles[t] != Role.GUARD and (only is None or t in only)
            )
        ]
        # A guard is kept once for each unit of its query, with rows of its own.
        guards_of: dict[int, list[int]] = {}
        for template in self.guard_templates:
            guards_of.setdefault(int(program.template_query[template]), []).append(template)
        self.guards = [
            (unit.number, template)
            for unit in self.units
            for template in guards_of.get(unit.query, ())
        ]
        self.guard_number = {pair: i for i, pair in enumerate(self.guards)}
        self.aggregates_at = self._aggregates_at()
        self.conditions: dict[tuple[int, str, Condition], int] = {}
        self.logs: dict[int, int] = {}
        self.log_unit: list[int] = []
        self.guard_logs: dict[tuple[int, int], int] = {}
        self.trees: dict[tuple[int, int, frozenset[int]], int] = {}
        self.trees_of: dict[int, list[int]] = {}  # by source state
        self.tree_unit: list[int] = []
        self.classes: dict[tuple[int, int, int], int] = {}
        self.ordered_usable: Sequence[bool] = ()
        self.lazy_weights: Sequence[bool] | None = None
        self.ones: Sequence[bool] = ()
        self.row_groups: tuple[PlacedGroup, ...] = ()
        self.repeats: Ints | None = None
        self.weight_type: type = np.int64

    def _aggregates_at(self) -> dict[int, set[int]]:
        """For each state the aggregates (numbers in its query) that count its events."""
        program = self.program
        found: dict[int, set[int]] = {}
        number_in_query: Counter[int] = Counter()
        for index, query in enumerate(program.aggregate_query):
            low, high = program.aggregate_state_start[index : index + 2]
            for state in program.aggregate_states[low:high]:
                found.setdefault(int(state), set()).add(number_in_query[int(query)])
            number_in_query[int(query)] += 1
        return found

    def keep_distinct_components(self) -> None:
        """Keep one of several components with equal weights at the same states."""
        program = self.program
        query_of = program.template_query[program.state_template]
        repeats = np.full((len(self.queries), 1 + max(map(len, self.components))), -1, np.int64)
        repeats[:, 0] = 0
        for query, components in enumerate(self.components):
            kept: dict[tuple[Any, frozenset[int]], Component] = {}
            for number, component in enumerate(components):
                is_one = component.weight.kind == "one"
                is_one = is_one or self.ones[self.weight_number[component.weight]]
                states = frozenset(
                    state
                    for state, aggregates in self.aggregates_at.items()
                    if component.aggregate in aggregates and query_of[state] == query
                )
                key = (ONE if is_one else component.weight, states)
                kept.setdefault(key, component)
                repeats[query, 1 + number] = 1 + list(kept).index(key)
            self.components[query] = tuple(kept.values())
        self.repeats = repeats[program.template_query]

    # Edges

    def grain(self, unit: Unit, condition: Condition) -> str:
        """How an edge is executed: from a row, from a tree, or by a look at single events."""
        simple = all(len(need) == 1 for need in condition.needs) and not condition.forbids
        several = [g for g in condition.guards if len(self.states_of[g]) > 1]
        if condition.is_simple and not several and len(condition.predicates) == 1:
            number = next(iter(condition.predicates))
            if self.program.predicates[number].is_ordered and self.ordered_usable[number]:
                return "tree"
        if condition.predicates or not simple:
            return "scan"
        if len(several) > 1 or any(self._has_predicates(g) for g in condition.guards):
            return "scan"
        return "type"

    def _has_predicates(self, template: int) -> bool:
        conditions = self.program.conditions
        return any(conditions[c].predicates for _, _, c in self.edges_of[template])

    def type_of(self, state: int) -> str:
        """The type of the events at a state."""
        return str(self.program.alphabet.atoms[self.program.state_atom[state]].type)

    def condition_number(self, unit: int, target: int, condition: Condition) -> int:
        """The number of a condition on an edge to a state of some type."""
        event_type = "" if target == END else self.type_of(target)
        return self.conditions.setdefault((unit, event_type, condition), len(self.conditions))

    def atom_condition_number(self, unit: int, target: int, condition: Condition) -> int:
        """The number of what an edge asks of the second event itself; -1 for nothing."""
        if not condition.holds and not condition.fails:
            return -1
        own = Condition(holds=condition.holds, fails=condition.fails)
        return self.condition_number(unit, target, own)

    def _log(self, unit: int, state: int) -> int:
        if state not in self.logs:
            self.logs[state] = len(self.log_unit)
            self.log_unit.append(unit)
        return self.logs[state]

    def _tree(self, unit: int, state: int, condition: Condition) -> int:
        """The tree that an edge reads, made when first asked for."""
        key = (state, next(iter(condition.predicates)), condition.guards)
        if key not in self.trees:
            self.trees[key] = len(self.trees)
            self.trees_of.setdefault(state, []).append(self.trees[key])
            self.tree_unit.append(unit)
        return self.trees[key]

    def _reading_row(self, unit: Unit, owner: int, guards: frozenset[int]) -> int:
        """The row that an edge with some guards reads; copies of it are made along with it."""
        row = unit.row(owner, guards)
        for guard in sorted(guards):
            states = self.states_of[guard]
            if len(states) > 1:
                for copy in range(len(states)):
                    unit.row(owner, guards, copy)
        return row

    def make_units(self, share: bool) -> None:
        """Rows, ops and ends of every unit."""
        conditions = self.program.conditions
        self.op_of_state: dict[int, int] = {}
        self.op_state: list[int] = []
        self.op_unit: list[int] = []
        self.sources, self.scans, self.firsts = Rows(), Rows(), Rows()
        self.ends, self.end_scans = Rows(), Rows()
        self.tree_reads = Rows()
        for unit in self.units:
            incoming: dict[int, list[tuple[int, Condition]]] = {}
            for s, t, c in self.edges_of.get(unit.template, []):
                incoming.setdefault(t, []).append((s, conditions[c]))
            for state in self.states_of.get(unit.template, []):
                self.op_of_state[state] = len(self.op_state)
                self.op_state.append(state)
                self.op_unit.append(unit.number)
                sources, scans, firsts, trees = self._incoming(unit, state, incoming.get(state, []))
                self.tree_reads.lists.append(trees)
                self.sources.lists.append(sources)
                self.scans.lists.append(scans)
                self.firsts.lists.append(firsts)
            rows, scans, _, _ = self._incoming(unit, END, incoming.get(END, []))
            self.ends.lists.append([row for row, _ in rows])
            self.end_scans.lists.append(scans)
        self.lazy_op = choose_loops(self) if share else {}

    def _incoming(
        self, unit: Unit, target: int, edges: list[tuple[int, Condition]]
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[int], list[int]]:
        """Rows read, logs looked through, conditions at START and trees read, of some edges."""
        sources: list[tuple[int, int]] = []
        scans: list[tuple[int, int]] = []
        firsts: list[int] = []
        trees: list[int] = []
        for source, condition in edges:
            grain = self.grain(unit, condition)
            if grain == "tree" and source != START:
                trees.append(self._tree(unit.number, source, condition))
            elif grain == "type":
                row = self._reading_row(unit, source, condition.guards)
                sources.append((row, self.atom_condition_number(unit.number, target, condition)))
            elif source == START:
                firsts.append(self.condition_number(unit.number, target, condition))
            else:
                log = self._log(unit.number, source)
                scans.append((log, self.condition_number(unit.number, target, condition)))
        return sources, scans, firsts, trees

    # Predicates

    def make_predicates(
        self,
        predicates: Sequence[Expression | None],
        column_names: Sequence[str],
        ordered_usable: Sequence[bool],
    ) -> None:
        """Comparisons of two sides, or code for the stack machine."""
        column = {name: i for i, name in enumerate(column_names)}
        self.p_kind: list[int] = []
        self.p_code = Rows()
        for number, predicate in enumerate(self.program.predicates):
            condition = predicates[number]
            if predicate.is_ordered and ordered_usable[number]:
                self.p_kind.append(COMPARE_CODES[predicate.operator])
                self.p_code.lists.append([])
            else:
                self.p_kind.append(GENERAL)
                steps: list[tuple[int, float]] = []
                emit(condition if condition is not None else predicate.condition, column, steps)
                self.p_code.lists.append(steps)

    def state_weights(self, query: int, state: int) -> list[int]:
        """For each component after the first the weight that an event at a state adds."""
        at = self.aggregates_at.get(state, set())
        numbers = []
        for component in self.components[query]:
            if component.aggregate not in at:
                numbers.append(NO_WEIGHT)
            elif component.weight.kind == "one" or self.ones[self.weight_number[component.weight]]:
                numbers.append(ONE)
            else:
                numbers.append(self.weight_number[component.weight])
        return numbers

    def state_extremes(self, query: int, state: int, extremes: list[Any]) -> list[int]:
        """For each extreme the attribute that an event at a state has a value of."""
        at = self.aggregates_at.get(state, set())
        aggregates = self.queries[query].aggregates
        return [
            self.extreme_number[a.attribute] if aggregates.index(a) in at else -1 for a in extremes
        ]
