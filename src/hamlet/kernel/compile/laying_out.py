"""All that was found and numbered, laid out as the arrays of code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel.code import Code, Compiled
from hamlet.kernel.compile.conditions import condition_arrays
from hamlet.kernel.compile.fast_paths import placed_loops, quick_ops, quick_units
from hamlet.kernel.compile.guards import guard_arrays
from hamlet.kernel.compile.logs import log_arrays
from hamlet.kernel.compile.loops import accumulators, lazy_ops
from hamlet.kernel.compile.parts import RaggedLists, begins, counts, ints
from hamlet.kernel.compile.trees import tree_arrays
from hamlet.plan.template import START, Step

if TYPE_CHECKING:
    from hamlet.kernel.compile.maker import Maker
    from hamlet.kernel.compile.parts import Ints, Unit
    from hamlet.plan.query import Aggregate, Window


def lay_out(maker: Maker) -> Compiled:
    """Lay everything out."""
    guard_inputs, guard_rows = guard_arrays(maker)
    components = [1 + len(maker.components[unit.query]) for unit in maker.units]
    of_ops = _OpLists.of(maker)
    lazy = accumulators(maker, of_ops.weights, of_ops.extremes, of_ops.destinations.lists)
    trees = tree_arrays(maker, _windows(maker))
    conditions = condition_arrays(maker)
    atom_gops, gops = _guard_ops(maker)
    bases = _Bases.of(maker, components)
    code = Code(
        **_units(maker, bases, components),
        **_ops(maker, of_ops, lazy),
        **lazy_ops(maker, lazy["atoms"], components, of_ops.destinations.lists),
        **_lazy_loops(lazy),
        **_guards(maker, gops),
        **guard_rows,
        **guard_inputs,
        **log_arrays(maker),
        **trees,
        **conditions,
        **_predicates(maker),
        p_arg=np.array([a for each in maker.p_code.lists for _, a in each], dtype=np.float64),
        u_quick=ints([]),
        o_quick=ints([]),
    )
    code = code._replace(lazies=placed_loops(code))
    code = code._replace(u_quick=quick_units(code))
    code = code._replace(o_quick=quick_ops(code))
    return Compiled(
        code,
        int(bases.values[-1]),
        int(bases.extremes[-1]),
        _ops_by_atom(maker),
        atom_gops,
        _lazy_by_atom(maker, lazy["atoms"]),
        list(maker.classes),
        maker.components,
        maker.weight_type,
        maker.row_groups,
        repeats=maker.repeats,
    )


# Units


class _Bases(NamedTuple):
    """Where the numbers and the extremes of each unit begin, and where the last of them end."""

    values: Ints
    extremes: Ints

    @staticmethod
    def of(maker: Maker, components: list[int]) -> _Bases:
        sizes = [
            len(unit.rows) * window.overlap
            for unit, window in zip(maker.units, _windows(maker), strict=True)
        ]
        kinds = [len(each) for each in _extremes(maker)]
        return _Bases(
            begins(size * n for size, n in zip(sizes, components, strict=True)),
            begins(size * n for size, n in zip(sizes, kinds, strict=True)),
        )


def _windows(maker: Maker) -> list[Window]:
    """The window of each unit."""
    return [maker.queries[unit.query].window for unit in maker.units]


def _extremes(maker: Maker) -> list[tuple[Aggregate, ...]]:
    """The MIN and MAX of each unit."""
    return [maker.queries[unit.query].extremes for unit in maker.units]


def _units(maker: Maker, bases: _Bases, components: list[int]) -> dict[str, Ints]:
    units, windows, extremes = maker.units, _windows(maker), _extremes(maker)
    passing = RaggedLists(
        [[row for key, row in unit.rows.items() if key[3] == Step.PASS] for unit in units]
    )
    return {
        "u_template": ints(unit.template for unit in units),
        "u_w": ints(window.overlap for window in windows),
        "u_slide": ints(window.slide_us for window in windows),
        "u_within": ints(window.within_us for window in windows),
        "u_nc": ints(components),
        "u_nx": ints(map(len, extremes)),
        "u_nrows": ints(len(unit.rows) for unit in units),
        "u_vbase": bases.values[:-1].copy(),
        "u_xbase": bases.extremes[:-1].copy(),
        "u_rbase": begins(len(unit.rows) for unit in units)[:-1].copy(),
        "u_always": ints(_is_always(maker, unit) for unit in units),
        "x_sign": ints(aggregate.sign for each in extremes for aggregate in each),
        "u_steps": ints(unit.number in maker.stepping for unit in units),
        "u_pass_p": passing.pointers(),
        "u_pass": passing.flat(),
        "u_xsbase": begins(map(len, extremes))[:-1].copy(),
        "end_p": maker.ends.pointers(),
        "end_row": maker.ends.flat(),
        "escan_p": maker.end_scans.pointers(),
        "escan_log": maker.end_scans.flat(0),
        "escan_cond": maker.end_scans.flat(1),
        "r_start": ints(i for unit in units for i in unit.row_is_start),
    }


def _is_always(maker: Maker, unit: Unit) -> int:
    """Whether START feeds a lazy op: its events then count before any other."""
    ops = [maker.op_of_state[state] for state in maker.lazy_states.get(unit.number, ())]
    rows = {row for op in ops for row, _ in maker.sources.lists[op]}
    owners = {owner for (owner, *_), row in unit.rows.items() if row in rows}
    return int(START in owners)


# Ops


class _OpLists(NamedTuple):
    """What each op writes to, and what it adds."""

    destinations: RaggedLists
    weights: list[list[int]]
    extremes: list[list[int]]

    @staticmethod
    def of(maker: Maker) -> _OpLists:
        units, ops = maker.units, list(zip(maker.op_unit, maker.op_state, strict=True))
        return _OpLists(
            RaggedLists(
                [
                    [row for (owner, *_), row in units[u].rows.items() if owner == state]
                    for u, state in ops
                ]
            ),
            [maker.state_weights(units[u].query, state) for u, state in ops],
            [maker.state_extremes(units[u].query, state) for u, state in ops],
        )


def _groups(maker: Maker) -> tuple[list[int], RaggedLists]:
    """Ops that go on with the same events of a unit: see `Code.o_group` and `Code.o_missed`."""
    atoms = (int(maker.program.state_atom[state]) for state in maker.op_state)
    keys, read = list(zip(maker.op_unit, atoms, strict=True)), Counter[tuple[int, int, int]]()
    for op, key in enumerate(keys):
        read.update((*key, row) for row, _ in maker.sources.lists[op])
    shared = {(unit, atom) for (unit, atom, _), count in read.items() if count > 1}
    sizes, numbers = Counter(keys), {key: number for number, key in enumerate(dict.fromkeys(keys))}
    groups = [numbers[key] if sizes[key] > 1 and key not in shared else -1 for key in keys]
    missed = [
        [
            row
            for owner, row in maker.units[key[0]].rows.items()
            if owner[3] == Step.PASS and (*key, row) not in read
        ]
        for key in keys
    ]
    return groups, RaggedLists(missed)


def _ops(maker: Maker, of_ops: _OpLists, lazy: dict[str, Any]) -> dict[str, Ints]:
    weights, extremes = RaggedLists(of_ops.weights), RaggedLists(of_ops.extremes)
    groups, missed = _groups(maker)
    return {
        "o_unit": ints(maker.op_unit),
        "o_src_p": maker.sources.pointers(),
        "o_src_row": maker.sources.flat(0),
        "o_src_cond": maker.sources.flat(1),
        "src_take_p": maker.taken.pointers(),
        "src_take": maker.taken.flat(),
        "o_dst_p": of_ops.destinations.pointers(),
        "o_dst_row": of_ops.destinations.flat(),
        "o_scan_p": maker.scans.pointers(),
        "o_scan_log": maker.scans.flat(0),
        "o_scan_cond": maker.scans.flat(1),
        "o_first_p": maker.firsts.pointers(),
        "o_first_cond": maker.firsts.flat(),
        "o_log": ints(maker.logs.get(state, -1) for state in maker.op_state),
        "o_group": ints(groups),
        "o_missed_p": missed.pointers(),
        "o_missed": missed.flat(),
        "o_w_p": weights.pointers(),
        "o_w": weights.flat(),
        "o_x_p": extremes.pointers(),
        "o_x": extremes.flat(),
        "o_zw": RaggedLists(lazy["op_sums"]).flat(),
        "o_zl": RaggedLists(lazy["op_ladders"]).flat(),
        "o_zx": RaggedLists(lazy["op_stacks"]).flat(),
    }


def _ops_by_atom(maker: Maker) -> list[list[int]]:
    """The ops of each atom, without those that are lazy."""
    by_atom: list[list[int]] = [[] for _ in maker.program.alphabet.atoms]
    for op, state in enumerate(maker.op_state):
        if state not in maker.lazy_states.get(maker.op_unit[op], ()):
            by_atom[maker.program.state_atom[state]].append(op)
    return by_atom


# Loops whose events are counted first and applied later


def _lazy_loops(lazy: dict[str, Any]) -> dict[str, Ints]:
    sums, stacks = RaggedLists(lazy["sums"]), RaggedLists(lazy["stacks"])
    ladders = RaggedLists(lazy["ladders"])
    return {
        "z_atom": ints(lazy["atoms"]),
        "zs_p": sums.pointers(),
        "zs_weight": sums.flat(),
        "zl_p": ladders.pointers(),
        "zl_weight": ladders.flat(),
        "zx_p": stacks.pointers(),
        "zx_attribute": stacks.flat(),
    }


def _lazy_by_atom(maker: Maker, atoms: list[int]) -> list[int]:
    """The number of the loop of each atom, -1 where it has none."""
    by_atom = [-1] * len(maker.program.alphabet.atoms)
    for number, atom in enumerate(atoms):
        by_atom[atom] = number
    return by_atom


# Guards, predicates


def _guard_ops(maker: Maker) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """The ops of guards by atom, and of each op the guard and the state in it."""
    by_atom: list[list[int]] = [[] for _ in maker.program.alphabet.atoms]
    ops: list[tuple[int, int]] = []
    for guard, (_, template) in enumerate(maker.guards):
        for index, state in enumerate(maker.states_of[template]):
            by_atom[maker.program.state_atom[state]].append(len(ops))
            ops.append((guard, index))
    return by_atom, ops


def _guards(maker: Maker, ops: list[tuple[int, int]]) -> dict[str, Ints]:
    sizes = [len(maker.states_of[template]) for _, template in maker.guards]
    units = [unit for unit, _ in maker.guards]
    return {
        "g_unit": ints(units),
        "g_n": ints(sizes),
        "g_sbase": begins(sizes)[:-1].copy(),
        "gop_guard": ints(guard for guard, _ in ops),
        "gop_state": ints(state for _, state in ops),
        "u_g_p": counts(len(maker.units), units),
    }


def _predicates(maker: Maker) -> dict[str, Ints]:
    return {
        "p_kind": ints(maker.p_kind),
        "p_code_p": maker.p_code.pointers(),
        "p_code": maker.p_code.flat(0),
    }
