"""From program to code: units, rows, ops, guards, trees and chains found and numbered.

What the parts are is told in code.py. The work is done once for each run of a workload and is about
linear in the number of queries.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import Component, Weight, components_of
from hamlet.kernel.bundles import find_bundles
from hamlet.kernel.chains import Chain, ChainGroup
from hamlet.kernel.code import NO_WEIGHT, ONE, Code, Compiled
from hamlet.kernel.quick import quick_ops, quick_units
from hamlet.kernel.stack_code import COMPARE_CODES, GENERAL, emit
from hamlet.plan.letters import Atom
from hamlet.plan.program import Program, Role
from hamlet.plan.template import END, START, Alternative, Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.bundles import Bundle
    from hamlet.plan.predicates import Expression
    from hamlet.plan.query import Window
    from hamlet.plan.workload import WorkloadPlan

    Ints = NDArray[np.int64]


@dataclass(slots=True)
class _Rows:
    """Lists of lists that become a pointer array and a flat array."""

    lists: list[list[Any]] = field(default_factory=list)

    def pointers(self) -> Ints:
        return np.cumsum([0, *(len(each) for each in self.lists)], dtype=np.int64)

    def flat(self, column: int | None = None) -> Ints:
        values = [v if column is None else v[column] for each in self.lists for v in each]
        return _ints(values)


def _ints(values: Iterable[Any]) -> Ints:
    return np.array(list(values), dtype=np.int64)


def _counts(groups: int, sorted_members: list[int]) -> Ints:
    """Pointers to the members of each group in a list sorted by group."""
    sizes = np.bincount(np.array(sorted_members, dtype=np.int64), minlength=groups)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def query_components(
    plan: WorkloadPlan, query: int, digits: dict[str, tuple[int, ...]]
) -> tuple[Component, ...]:
    """The components of a query of the workload."""
    functions = [
        ("COUNT_OF" if a.function == "COUNT" and a.places else a.function, a.attribute)
        for a in plan.queries[query].query.aggregates
    ]
    return components_of(functions, digits)


class _Unit:
    """One unit while it is being compiled."""

    def __init__(self, number: int, template: int, query: int) -> None:
        self.number = number
        self.template = template
        self.query = query
        self.rows: dict[tuple[int, frozenset[int], int], int] = {}
        self.row_is_start: list[int] = []

    def row(self, owner: int, guards: frozenset[int], copy: int = -1) -> int:
        """The number of a row, made when first asked for; copy -1 is the row itself."""
        key = (owner, guards, copy)
        if key not in self.rows:
            self.rows[key] = len(self.rows)
            self.row_is_start.append(int(owner == START))
        return self.rows[key]


def compile_code(
    plan: WorkloadPlan,
    program: Program,
    weights: Sequence[Weight],
    extreme_attributes: Sequence[str],
    digits: dict[str, tuple[int, ...]],
    predicates: Sequence[Expression | None],
    column_names: Sequence[str],
    ordered_usable: Sequence[bool],
    is_float: bool = False,
    lazy_weights: Sequence[bool] | None = None,
    share: bool = True,
    only: frozenset[int] | None = None,
    ones: Sequence[bool] | None = None,
    patience: Callable[[Bundle, Code], int] | None = None,
    distinct: bool = False,
) -> Compiled:
    """The code of one sharable set for batches with the given weights and columns.

    Args:
        plan: The workload.
        program: The program of the set.
        weights: What the rows of a batch's weights are.
        extreme_attributes: What the rows of a batch's extremes are.
        digits: For each summed attribute the exponents of its digits.
        predicates: For each edge predicate its condition with constants as floats.
        column_names: What the rows of a batch's columns are.
        ordered_usable: For each edge predicate whether its two sides can be compared directly.
        is_float: Whether weights, and numbers, are floating-point.
        lazy_weights: For each weight whether sums over a run may be had as differences of running
            sums, which in floating-point asks for values of about one size; all when left out.
        share: Whether runs are shared among units; without it every event touches every query.
        only: The templates to make units of; all that are not guards when left out.
        ones: For each weight whether it is 1 for every event; none when left out.
        patience: How many events for all units of a bundle there have to be in a row before it is
            merged: see machine/bundles.py. Bundles are not looked for when left out.
        distinct: Whether components that are always equal, such as the sums of SUM and AVG of one
            attribute, are computed once and repeated in what is emitted.
    """
    maker = _Maker(plan, program, weights, extreme_attributes, digits, only)
    maker.ordered_usable = ordered_usable
    maker.weight_type = np.float64 if is_float else np.int64
    maker.lazy_weights = lazy_weights
    maker.ones = [False] * len(weights) if ones is None else ones
    if distinct:
        maker.keep_distinct_components()
    maker.take_out_chains()
    maker.make_units(share)
    maker.make_predicates(predicates, column_names, ordered_usable)
    made = maker.finish()
    if patience is None or not share:
        return made
    bundles = find_bundles(made.code)
    waits = tuple(patience(bundle, made.code) for bundle in bundles)
    return replace(made, bundles=bundles, patience=waits)


class _Maker:
    """The work of `compile_code`."""

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
            _Unit(i, t, int(program.template_query[t]))
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

    # Chains

    def take_out_chains(self) -> None:
        """Take out the units that are chains: they are run by themselves, not by the machine."""
        groups: dict[tuple[int, int, int, int, int], list[Chain]] = {}
        left: list[_Unit] = []
        for unit in self.units:
            found = self._chain(unit)
            if found is None:
                left.append(unit)
            else:
                groups.setdefault(found[0], []).append(found[1])
        self.chains = tuple(ChainGroup(*key, tuple(chains)) for key, chains in groups.items())
        # The others are numbered anew.
        kept = {unit.number: number for number, unit in enumerate(left)}
        self.guards = [(kept[unit], t) for unit, t in self.guards if unit in kept]
        self.guard_number = {pair: i for i, pair in enumerate(self.guards)}
        for unit in left:
            unit.number = kept[unit.number]
        self.all_units, self.units = self.units, left

    def _chain(self, unit: _Unit) -> tuple[tuple[int, int, int, int, int], Chain] | None:
        """A unit as a chain with the key of its group; None where it is something else."""
        program, query = self.program, self.queries[unit.query]
        states = self.states_of.get(unit.template, [])
        edges = self.edges_of.get(unit.template, [])
        loops = [(s, c) for s, t, c in edges if s == t]
        if len(loops) != 1 or len(states) > 2:
            return None
        ((state, condition_number),) = loops
        condition = program.conditions[condition_number]
        entry = next((s for s in states if s != state), None)
        path = [(START, state)] if entry is None else [(START, entry), (entry, state)]
        wanted = {*path, (state, END), (state, state)}
        free = all(program.conditions[c].is_free for s, t, c in edges if s != t)
        if {(s, t) for s, t, _ in edges} != wanted or not free or query.is_conjunction:
            return None
        if self._grain(unit, condition) != "tree" or condition.guards:
            return None
        predicate = next(iter(condition.predicates))
        operator = COMPARE_CODES[program.predicates[predicate].operator]
        window = query.window
        extremes = [a for a in query.aggregates if a.function in ("MIN", "MAX")]
        atom = int(program.state_atom[state])
        chain = Chain(
            unit.template,
            -1 if entry is None else int(program.state_atom[entry]),
            tuple(self._state_weights(unit.query, state)),
            tuple(self._state_weights(unit.query, -1 if entry is None else entry)),
            tuple(self._state_extremes(unit.query, state, extremes)),
            tuple(self._state_extremes(unit.query, -1 if entry is None else entry, extremes)),
            tuple(1 if a.function == "MIN" else -1 for a in extremes),
        )
        return (atom, predicate, operator, window.within_us, window.slide_us), chain

    # Edges

    def _grain(self, unit: _Unit, condition: Condition) -> str:
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

    def _condition(self, unit: int, target: int, condition: Condition) -> int:
        """The number of a condition on an edge to a state of some type."""
        event_type = "" if target == END else self._type(target)
        return self.conditions.setdefault((unit, event_type, condition), len(self.conditions))

    def _atom_condition(self, unit: int, target: int, condition: Condition) -> int:
        """The number of what an edge asks of the second event itself; -1 for nothing."""
        if not condition.holds and not condition.fails:
            return -1
        own = Condition(holds=condition.holds, fails=condition.fails)
        return self._condition(unit, target, own)

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

    def _reading_row(self, unit: _Unit, owner: int, guards: frozenset[int]) -> int:
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
        self.sources, self.scans, self.firsts = _Rows(), _Rows(), _Rows()
        self.ends, self.end_scans = _Rows(), _Rows()
        self.tree_reads = _Rows()
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
        self.lazy_op = self._choose_lazy() if share else {}

    def _incoming(
        self, unit: _Unit, target: int, edges: list[tuple[int, Condition]]
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[int], list[int]]:
        """Rows read, logs looked through, conditions at START and trees read, of some edges."""
        sources: list[tuple[int, int]] = []
        scans: list[tuple[int, int]] = []
        firsts: list[int] = []
        trees: list[int] = []
        for source, condition in edges:
            grain = self._grain(unit, condition)
            if grain == "tree" and source != START:
                trees.append(self._tree(unit.number, source, condition))
            elif grain == "type":
                row = self._reading_row(unit, source, condition.guards)
                sources.append((row, self._atom_condition(unit.number, target, condition)))
            elif source == START:
                firsts.append(self._condition(unit.number, target, condition))
            else:
                log = self._log(unit.number, source)
                scans.append((log, self._condition(unit.number, target, condition)))
        return sources, scans, firsts, trees

    # Lazy ops

    def _choose_lazy(self) -> dict[int, int]:
        """For each unit that can have one, the state of its lazy op."""
        candidates = {unit.number: self._lazy_states(unit) for unit in self.units}
        atoms = self.program.state_atom
        votes = Counter(int(atoms[s]) for states in candidates.values() for s in states)
        return {
            unit: max(states, key=lambda s: (votes[int(atoms[s])], -s))
            for unit, states in candidates.items()
            if states
        }

    def _lazy_states(self, unit: _Unit) -> list[int]:
        types = Counter(self._type(s) for s in self.states_of.get(unit.template, []))
        for number, template in self.guards:
            if number == unit.number:
                types.update(self._type(s) for s in self.states_of[template])
        return [
            state
            for state in self.states_of.get(unit.template, [])
            if types[self._type(state)] == 1 and self._can_be_lazy(unit, state)
        ]

    def _type(self, state: int) -> str:
        return str(self.program.alphabet.atoms[self.program.state_atom[state]].type)

    def _can_be_lazy(self, unit: _Unit, state: int) -> bool:
        op = self.op_of_state[state]
        own = unit.rows.get((state, frozenset(), -1))
        sources = self.sources.lists[op]
        plain = all(condition == -1 for _, condition in sources)
        loops = own is not None and any(row == own for row, _ in sources)
        reads = self.scans.lists[op] or self.firsts.lists[op] or self.tree_reads.lists[op]
        is_stored = state in self.logs or state in self.trees_of
        weights = self._state_weights(unit.query, state)
        summable = self.lazy_weights is None or all(self.lazy_weights[w] for w in weights if w >= 0)
        return plain and loops and not reads and not is_stored and summable

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
        self.p_code = _Rows()
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

    # All together

    def finish(self) -> Compiled:
        """Lay everything out."""
        program, units = self.program, self.units
        guard_inputs, guard_rows = self._guards()
        windows = [self.queries[unit.query].window for unit in units]
        ncs = [1 + len(self.components[unit.query]) for unit in units]
        extremes = [
            [a for a in self.queries[unit.query].aggregates if a.function in ("MIN", "MAX")]
            for unit in units
        ]
        nxs = [len(each) for each in extremes]
        sizes = [
            len(unit.rows) * window.overlap for unit, window in zip(units, windows, strict=True)
        ]
        values = np.cumsum([0, *(s * n for s, n in zip(sizes, ncs, strict=True))], dtype=np.int64)
        extreme_base = np.cumsum(
            [0, *(s * n for s, n in zip(sizes, nxs, strict=True))], dtype=np.int64
        )
        destinations = _Rows(
            [
                [row for (owner, _, _), row in units[u].rows.items() if owner == state]
                for u, state in zip(self.op_unit, self.op_state, strict=True)
            ]
        )
        op_weights = [
            self._state_weights(units[u].query, s)
            for u, s in zip(self.op_unit, self.op_state, strict=True)
        ]
        op_extremes = [
            self._state_extremes(units[u].query, s, extremes[u])
            for u, s in zip(self.op_unit, self.op_state, strict=True)
        ]
        lazy = self._lazy(op_weights, op_extremes)
        trees = self._tree_arrays(windows)
        condition_arrays = self._condition_arrays()
        alphabet = program.alphabet.atoms
        atom_ops: list[list[int]] = [[] for _ in alphabet]
        for op, state in enumerate(self.op_state):
            if self.lazy_op.get(self.op_unit[op]) != state:
                atom_ops[program.state_atom[state]].append(op)
        atom_gops: list[list[int]] = [[] for _ in alphabet]
        gops: list[tuple[int, int]] = []
        for guard, (_, template) in enumerate(self.guards):
            for index, state in enumerate(self.states_of[template]):
                atom_gops[program.state_atom[state]].append(len(gops))
                gops.append((guard, index))
        starts = [i for unit in units for i in unit.row_is_start]
        code = Code(
            u_template=_ints(unit.template for unit in units),
            u_w=_ints(window.overlap for window in windows),
            u_slide=_ints(window.slide_us for window in windows),
            u_within=_ints(window.within_us for window in windows),
            u_nc=_ints(ncs),
            u_nx=_ints(nxs),
            u_nrows=_ints(len(unit.rows) for unit in units),
            u_vbase=values[:-1].copy(),
            u_xbase=extreme_base[:-1].copy(),
            u_rbase=_ints(np.cumsum([0, *(len(unit.rows) for unit in units)])[:-1]),
            u_always=_ints(self._is_always(unit) for unit in units),
            u_lazy=_ints(lazy["of_unit"]),
            u_lop=_ints(
                self.op_of_state[self.lazy_op[u.number]] if u.number in self.lazy_op else -1
                for u in units
            ),
            u_sbase=_ints(np.cumsum([0, *ncs])[:-1]),
            x_sign=_ints(1 if a.function == "MIN" else -1 for each in extremes for a in each),
            u_xsbase=_ints(np.cumsum([0, *nxs])[:-1]),
            end_p=self.ends.pointers(),
            end_row=self.ends.flat(),
            escan_p=self.end_scans.pointers(),
            escan_log=self.end_scans.flat(0),
            escan_cond=self.end_scans.flat(1),
            r_start=_ints(starts),
            o_unit=_ints(self.op_unit),
            o_src_p=self.sources.pointers(),
            o_src_row=self.sources.flat(0),
            o_src_cond=self.sources.flat(1),
            o_dst_p=destinations.pointers(),
            o_dst_row=destinations.flat(),
            o_scan_p=self.scans.pointers(),
            o_scan_log=self.scans.flat(0),
            o_scan_cond=self.scans.flat(1),
            o_first_p=self.firsts.pointers(),
            o_first_cond=self.firsts.flat(),
            o_log=_ints(self.logs.get(state, -1) for state in self.op_state),
            o_w_p=_Rows(op_weights).pointers(),
            o_w=_Rows(op_weights).flat(),
            o_x_p=_Rows(op_extremes).pointers(),
            o_x=_Rows(op_extremes).flat(),
            o_zw=_Rows(lazy["op_sums"]).flat(),
            o_zx=_Rows(lazy["op_stacks"]).flat(),
            z_atom=_ints(lazy["atoms"]),
            zs_p=_Rows(lazy["sums"]).pointers(),
            zs_weight=_Rows(lazy["sums"]).flat(),
            zx_p=_Rows(lazy["stacks"]).pointers(),
            zx_attribute=_Rows(lazy["stacks"]).flat(),
            g_unit=_ints(unit for unit, _ in self.guards),
            g_n=_ints(len(self.states_of[t]) for _, t in self.guards),
            g_sbase=_ints(np.cumsum([0, *(len(self.states_of[t]) for _, t in self.guards)])[:-1]),
            **guard_rows,
            **guard_inputs,
            gop_guard=_ints(guard for guard, _ in gops),
            gop_state=_ints(state for _, state in gops),
            u_g_p=_counts(len(units), [unit for unit, _ in self.guards]),
            log_unit=_ints(self.log_unit),
            u_log_p=_counts(len(units), sorted(self.log_unit)),
            u_log=_ints(sorted(range(len(self.log_unit)), key=self.log_unit.__getitem__)),
            u_glog_p=_counts(len(units), [self.guards[g][0] for g, _ in self.guard_logs]),
            **trees,
            **condition_arrays,
            p_kind=_ints(self.p_kind),
            p_code_p=self.p_code.pointers(),
            p_code=self.p_code.flat(0),
            p_arg=np.array([a for each in self.p_code.lists for _, a in each], dtype=np.float64),
            u_quick=_ints([]),
            o_quick=_ints([]),
        )
        code = code._replace(u_quick=quick_units(code), o_quick=quick_ops(code))
        lazy_of_atom = [-1] * len(alphabet)
        for number, atom in enumerate(lazy["atoms"]):
            lazy_of_atom[atom] = number
        return Compiled(
            code,
            int(values[-1]),
            int(extreme_base[-1]),
            sum(len(each) for each in lazy["sums"]),
            atom_ops,
            atom_gops,
            lazy_of_atom,
            list(self.classes),
            self.components,
            self.weight_type,
            self.chains,
            repeats=self.repeats,
        )

    def _is_always(self, unit: _Unit) -> int:
        """Whether START feeds the lazy op: its events then count before any other."""
        state = self.lazy_op.get(unit.number)
        if state is None:
            return 0
        rows = {row for row, _ in self.sources.lists[self.op_of_state[state]]}
        owners = {owner for (owner, _, _), row in unit.rows.items() if row in rows}
        return int(START in owners)

    def _state_weights(self, query: int, state: int) -> list[int]:
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

    def _state_extremes(self, query: int, state: int, extremes: list[Any]) -> list[int]:
        """For each extreme the attribute that an event at a state has a value of."""
        at = self.aggregates_at.get(state, set())
        aggregates = self.queries[query].aggregates
        return [
            self.extreme_number[a.attribute] if aggregates.index(a) in at else -1 for a in extremes
        ]

    def _stack_numbers(self, unit: int, extremes: list[int]) -> list[int]:
        """For each extreme of an op the number of what its stack holds, -1 for none."""
        aggregates = self.queries[self.units[unit].query].aggregates
        functions = [a.function for a in aggregates if a.function in ("MIN", "MAX")]
        return [
            -1 if x < 0 else 2 * x + (function == "MAX")
            for x, function in zip(extremes, functions, strict=True)
        ]

    def _lazy(self, weights: list[list[int]], extremes: list[list[int]]) -> dict[str, Any]:
        """Accumulators: one for each atom with lazy ops, with the sums and stacks its ops need.

        A stack holds an attribute, or (odd numbers) its negative, whose least is the greatest.
        """
        atoms: list[int] = []
        of_unit = [-1] * len(self.units)
        sums: list[list[int]] = []
        stacks: list[list[int]] = []
        for unit, state in self.lazy_op.items():
            atom = int(self.program.state_atom[state])
            if atom not in atoms:
                atoms.append(atom)
                sums.append([])
                stacks.append([])
            number = atoms.index(atom)
            of_unit[unit] = number
            op = self.op_of_state[state]
            used = dict.fromkeys(w for w in weights[op] if w != NO_WEIGHT)
            sums[number] += [w for w in used if w not in sums[number]]
            held = self._stack_numbers(unit, extremes[op])
            stacks[number] += [x for x in dict.fromkeys(held) if x >= 0 and x not in stacks[number]]
        sum_base = np.cumsum([0, *(len(each) for each in sums)])
        stack_base = np.cumsum([0, *(len(each) for each in stacks)])
        op_sums = [[-1] * len(each) for each in weights]
        op_stacks = [[-1] * len(each) for each in extremes]
        for unit, state in self.lazy_op.items():
            op, number = self.op_of_state[state], of_unit[unit]
            op_sums[op] = [
                -1 if w == NO_WEIGHT else int(sum_base[number]) + sums[number].index(w)
                for w in weights[op]
            ]
            op_stacks[op] = [
                -1 if x < 0 else int(stack_base[number]) + stacks[number].index(x)
                for x in self._stack_numbers(unit, extremes[op])
            ]
        return {
            "atoms": atoms,
            "of_unit": of_unit,
            "sums": sums,
            "stacks": stacks,
            "op_sums": op_sums,
            "op_stacks": op_stacks,
        }

    # Trees

    def _tree_arrays(self, windows: list[Window]) -> dict[str, Ints]:
        """Trees in the order of their units, and who reads and feeds them."""
        program = self.program
        keys = sorted(
            self.trees, key=lambda key: (self.tree_unit[self.trees[key]], self.trees[key])
        )
        number = {self.trees[key]: new for new, key in enumerate(keys)}
        rows: list[tuple[int, int, int]] = []
        by_guard: dict[tuple[int, int], list[int]] = {}
        for state, predicate, guards in keys:
            unit = self.tree_unit[self.trees[state, predicate, guards]]
            kind = (int(program.state_atom[state]), predicate, windows[unit].within_us)
            operator = COMPARE_CODES[program.predicates[predicate].operator]
            rows.append((unit, self.classes.setdefault(kind, len(self.classes)), operator))
            for template in guards:
                by_guard.setdefault((unit, template), []).append(len(rows) - 1)
        reads = _Rows([[number[t] for t in each] for each in self.tree_reads.lists])
        leaves = _Rows([[number[t] for t in self.trees_of.get(s, ())] for s in self.op_state])
        guarded = _Rows([by_guard.get(pair, []) for pair in self.guards])
        return {
            "t_unit": _ints(unit for unit, _, _ in rows),
            "t_class": _ints(kind for _, kind, _ in rows),
            "t_op": _ints(operator for _, _, operator in rows),
            "u_tree_p": _counts(len(self.units), [unit for unit, _, _ in rows]),
            "o_tree_p": reads.pointers(),
            "o_tree": reads.flat(),
            "o_leaf_p": leaves.pointers(),
            "o_leaf": leaves.flat(),
            "g_tree_p": guarded.pointers(),
            "g_tree": guarded.flat(),
        }

    # Guards

    def _guards(self) -> tuple[dict[str, Ints], dict[str, Ints]]:
        """How matches of guards are followed, and which rows they change."""
        resets, mains, copies = _Rows(), _Rows(), _Rows()
        inputs = _Rows()
        ends: list[int] = []
        logs: list[int] = []
        conditions = self.program.conditions
        for number, (unit_number, template) in enumerate(self.guards):
            unit = self.units[unit_number]
            states = self.states_of[template]
            guarded = [key for key in unit.rows if template in key[1]]
            main = [key for key in guarded if key[2] == -1]
            resets.lists.append([unit.rows[key] for key in guarded] if len(states) == 1 else [])
            mains.lists.append([unit.rows[key] for key in main] if len(states) > 1 else [])
            # Where two guards of a row have several events the edge looks at single events instead.
            copies.lists.append(
                [
                    unit.rows[owner, guards, copy]
                    for owner, guards, _ in main
                    for copy in range(len(states))
                ]
                if len(states) > 1
                else []
            )
            local = {state: i for i, state in enumerate(states)}
            incoming: dict[int, list[tuple[int, int, int]]] = {}
            ending = set()
            logged = set()
            for s, t, c in self.edges_of[template]:
                condition = conditions[c]
                if t == END:
                    ending.add(s)
                    continue
                looks = int(bool(condition.predicates))
                if looks and s != START:
                    logged.add(s)
                asked = (
                    self._condition(unit_number, t, condition)
                    if looks
                    else self._atom_condition(unit_number, t, condition)
                )
                incoming.setdefault(t, []).append((local.get(s, -1), asked, looks))
            for state in states:
                inputs.lists.append(incoming.get(state, []))
                ends.append(int(state in ending))
                if state in logged:
                    key = (number, local[state])
                    self.guard_logs[key] = len(self.guard_logs)
                    logs.append(self.guard_logs[key])
                else:
                    logs.append(-1)
        return (
            {
                "gs_end": _ints(ends),
                "gs_log": _ints(logs),
                "gs_in_p": inputs.pointers(),
                "gs_in_source": inputs.flat(0),
                "gs_in_cond": inputs.flat(1),
                "gs_in_scan": inputs.flat(2),
            },
            {
                "g_reset_p": resets.pointers(),
                "g_reset_row": resets.flat(),
                "g_main_p": mains.pointers(),
                "g_main_row": mains.flat(),
                "g_copy_p": copies.pointers(),
                "g_copy_row": copies.flat(),
            },
        )

    # Conditions

    def _condition_arrays(self) -> dict[str, Ints]:
        needs, forbids, holds, fails = _Rows(), _Rows(), _Rows(), _Rows()
        need_alternatives = _Rows()
        guards, predicates = _Rows(), _Rows()
        atoms = {atom: i for i, atom in enumerate(self.program.alphabet.atoms)}

        def alternative(unit: int, way: Alternative) -> int:
            guards.lists.append([self.guard_number[unit, g] for g in sorted(way.guards)])
            predicates.lists.append(sorted(way.predicates))
            return len(guards.lists) - 1

        for unit, event_type, condition in self.conditions:
            numbers = []
            for need in condition.needs:
                need_alternatives.lists.append([alternative(unit, way) for way in need])
                numbers.append(len(need_alternatives.lists) - 1)
            needs.lists.append(numbers)
            forbids.lists.append([alternative(unit, way) for way in condition.forbids])
            holds.lists.append([atoms[Atom(event_type, e)] for e in condition.holds])
            fails.lists.append([atoms[Atom(event_type, e)] for e in condition.fails])
        return {
            "need_p": needs.pointers(),
            "need_alt_p": need_alternatives.pointers(),
            "need_alt": need_alternatives.flat(),
            "forbid_p": forbids.pointers(),
            "forbid_alt": forbids.flat(),
            "alt_guard_p": guards.pointers(),
            "alt_guard": guards.flat(),
            "alt_pred_p": predicates.pointers(),
            "alt_pred": predicates.flat(),
            "holds_p": holds.pointers(),
            "holds": holds.flat(),
            "fails_p": fails.pointers(),
            "fails": fails.flat(),
        }
