"""Units of a program: which rows each has, what its ops read, and how edges are executed.

The parts of the work that stand by themselves are functions of a `Maker` in the modules beside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import Component, ExtremeAt, components_of, extreme_at
from hamlet.kernel.code import ADDED, NO_EXTREME, NO_WEIGHT, ONE
from hamlet.kernel.compile.parts import RaggedLists, Unit
from hamlet.kernel.stack_code import COMPARE_CODES, GENERAL, emit
from hamlet.plan.execution import Execution, Grain
from hamlet.plan.template import END, START, Condition, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.compile.form import EventForm
    from hamlet.kernel.rows.letters import PlacedGroup
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan

    Ints = NDArray[np.int64]
    # The source of an edge, its condition, and how it is executed
    _Incoming = tuple[int, Condition, Grain]


class Maker:
    """Units, their rows and ops, and what is numbered on the way."""

    def __init__(
        self,
        plan: WorkloadPlan,
        program: Program,
        form: EventForm,
        only: frozenset[int] | None,
    ) -> None:
        self.program = program
        self.form = form
        digits = dict(form.digits)
        self.queries = [plan.queries[number].query for number in program.queries]
        self.components = [components_of(query.aggregates, digits) for query in self.queries]
        self.weight_number = {weight: i for i, weight in enumerate(form.weights)}
        self.extreme_number = {name: i for i, name in enumerate(form.extreme_attributes)}
        self.execution = Execution(program, form.comparable, self._is_summable)
        self.states_of, self.edges_of = self.execution.states_of, self.execution.edges_of
        self.units = [
            Unit(i, t, int(program.template_query[t]))
            for i, t in enumerate(t for t in self.execution.units if only is None or t in only)
        ]
        # A guard is kept once for each unit of its query, with rows of its own.
        self.guards = [
            (unit.number, template)
            for unit in self.units
            for template in self.execution.guards_of.get(unit.query, ())
        ]
        self.guard_number = {pair: i for i, pair in enumerate(self.guards)}
        self.aggregates_at = self.program.aggregates_at()
        self.conditions: dict[tuple[int, str, Condition], int] = {}
        self.logs: dict[int, int] = {}
        self.log_unit: list[int] = []
        self.guard_logs: dict[tuple[int, int], int] = {}
        self.trees: dict[tuple[int, int, frozenset[int]], int] = {}
        self.trees_of: dict[int, list[int]] = {}  # by source state
        self.tree_unit: list[int] = []
        self.classes: dict[tuple[int, int, int], int] = {}
        self.row_groups: tuple[PlacedGroup, ...] = ()
        self.repeats: Ints | None = None
        self.weight_type: type = form.mode.dtype

    def keep_distinct_components(self) -> None:
        """Keep one of several components with equal weights at the same states."""
        program = self.program
        query_of = program.template_query[program.state_template]
        repeats = np.full((len(self.queries), 1 + max(map(len, self.components))), -1, np.int64)
        repeats[:, 0] = 0
        for query, components in enumerate(self.components):
            kept: dict[tuple[Any, frozenset[int]], Component] = {}
            for number, component in enumerate(components):
                states = frozenset(
                    state
                    for state, aggregates in self.aggregates_at.items()
                    if component.aggregate in aggregates and query_of[state] == query
                )
                key = (ONE if self._is_one(component) else component.weight, states)
                kept.setdefault(key, component)
                repeats[query, 1 + number] = 1 + list(kept).index(key)
            self.components[query] = tuple(kept.values())
        self.repeats = repeats[program.template_query]

    # Edges

    def condition_number(self, unit: int, target: int, condition: Condition) -> int:
        """The number of a condition on an edge to a state of some type."""
        event_type = "" if target == END else self.execution.type_of(target)
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

    def _reading_rows(self, unit: Unit, owner: int, condition: Condition) -> list[int]:
        """The row that an edge reads, and the copies of it that are made along with it."""
        guards, step = condition.guards, condition.step
        rows = [unit.row(owner, guards, -1, step)]
        for guard in sorted(guards):
            states = self.states_of[guard]
            if len(states) > 1:
                rows += [unit.row(owner, guards, copy, step) for copy in range(len(states))]
        return rows

    def make_units(self, share: bool) -> None:
        """Rows, ops and ends of every unit."""
        conditions, grains = self.program.conditions, self.execution.grains
        self.op_of_state: dict[int, int] = {}
        self.op_state: list[int] = []
        self.op_unit: list[int] = []
        self.sources, self.scans, self.firsts = RaggedLists(), RaggedLists(), RaggedLists()
        self.taken = RaggedLists()  # of each source the rows that are emptied with it
        self.stepping: set[int] = set()  # units of which some trends do not stay
        self.ends, self.end_scans = RaggedLists(), RaggedLists()
        self.tree_reads = RaggedLists()
        for unit in self.units:
            incoming: dict[int, list[_Incoming]] = {}
            for s, t, c in self.edges_of.get(unit.template, []):
                incoming.setdefault(t, []).append((s, conditions[c], grains[c]))
                if conditions[c].step != Step.STAY:
                    self.stepping.add(unit.number)
            for state in self.states_of.get(unit.template, []):
                self.op_of_state[state] = len(self.op_state)
                self.op_state.append(state)
                self.op_unit.append(unit.number)
                sources, scans, firsts, trees = self._incoming(unit, state, incoming.get(state, []))
                self.tree_reads.lists.append(trees)
                self.sources.lists.append([(row, asked) for row, asked, _ in sources])
                self.taken.lists += [taken for _, _, taken in sources]
                self.scans.lists.append(scans)
                self.firsts.lists.append(firsts)
            rows, scans, _, _ = self._incoming(unit, END, incoming.get(END, []))
            self.ends.lists.append([row for row, _, _ in rows])
            self.end_scans.lists.append(scans)
        number = {unit.template: unit.number for unit in self.units}
        bursts = self.execution.bursts(number) if share else {}
        self.lazy_states = {number[template]: states for template, states in bursts.items()}

    def _incoming(
        self, unit: Unit, target: int, edges: list[_Incoming]
    ) -> tuple[
        list[tuple[int, int, list[int]]], list[tuple[int, int, Condition]], list[int], list[int]
    ]:
        """Rows read, logs looked through, conditions at START and trees read, of some edges.

        Rows with what is asked of the event itself and the rows that are emptied then; logs with
        the number of the condition, and it.
        """
        sources: list[tuple[int, int, list[int]]] = []
        scans: list[tuple[int, int, Condition]] = []
        firsts: list[int] = []
        trees: list[int] = []
        for source, condition, grain in edges:
            if grain == Grain.ORDERED:
                trees.append(self._tree(unit.number, source, condition))
            elif grain == Grain.TYPE:
                rows = self._reading_rows(unit, source, condition)
                asked = self.atom_condition_number(unit.number, target, condition)
                sources.append((rows[0], asked, rows if condition.step == Step.MOVE else []))
            elif source == START:
                firsts.append(self.condition_number(unit.number, target, condition))
            else:
                log = self._log(unit.number, source)
                asked = self.condition_number(unit.number, target, condition)
                scans.append((log, asked, condition))
        return sources, scans, firsts, trees

    # Predicates

    def make_predicates(self) -> None:
        """Comparisons of two sides, or code for the stack machine."""
        column = {name: i for i, name in enumerate(self.form.column_names)}
        self.p_kind: list[int] = []
        self.p_code = RaggedLists()
        for number, predicate in enumerate(self.program.predicates):
            condition = self.form.conditions[number]
            if self.execution.is_comparable(number):
                self.p_kind.append(COMPARE_CODES[predicate.operator])
                self.p_code.lists.append([])
            else:
                self.p_kind.append(GENERAL)
                steps: list[tuple[int, float]] = []
                emit(condition if condition is not None else predicate.condition, column, steps)
                self.p_code.lists.append(steps)

    def _is_summable(self, state: int, twice: bool) -> bool:
        """Whether sums over events at a state may be had as differences of running sums."""
        query = int(self.program.template_query[self.program.state_template[state]])
        summable = self.form.summable_twice if twice else self.form.summable
        return all(summable[w] for w in self.state_weights(query, state) if w >= 0)

    def _is_one(self, component: Component) -> bool:
        """Whether a component adds up 1 for every event."""
        weight = component.weight
        return weight.kind == "one" or self.form.ones[self.weight_number[weight]]

    def state_weights(self, query: int, state: int) -> list[int]:
        """For each component after the first the weight that an event at a state adds."""
        at = self.aggregates_at.get(state, set())
        numbers = []
        for component in self.components[query]:
            if component.aggregate not in at:
                numbers.append(NO_WEIGHT)
            elif self._is_one(component):
                numbers.append(ONE)
            else:
                weight = component.weight.at(self.program.state_part[state])
                numbers.append(NO_WEIGHT if weight is None else self.weight_number[weight])
        return numbers

    def state_extremes(self, query: int, state: int) -> list[int]:
        """For each extreme the row that an event at a state has a value in: see `Code.o_x`."""
        at = self.aggregates_at.get(state, set())
        part = self.program.state_part[state]
        return [
            self._extreme(extreme_at(aggregate, part)) if number in at else NO_EXTREME
            for number, aggregate in enumerate(self.queries[query].aggregates)
            if aggregate.sign
        ]

    def _extreme(self, found: ExtremeAt | None) -> int:
        if found is None:
            return NO_EXTREME
        row = self.extreme_number[found.row]
        return ADDED - row if found.is_added else row
