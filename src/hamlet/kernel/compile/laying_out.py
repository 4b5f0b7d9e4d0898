"""All that was found and numbered, laid out as the arrays of code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.code import DROPPED, PASSES, STAYS, TAKEN, Code, Compiled
from hamlet.kernel.compile.conditions import condition_arrays
from hamlet.kernel.compile.fast_paths import placed_loops, quick_ops, quick_units
from hamlet.kernel.compile.guards import guard_arrays
from hamlet.kernel.compile.loops import accumulators, lazy_ops
from hamlet.kernel.compile.parts import RaggedLists, counts, ints
from hamlet.kernel.compile.trees import tree_arrays
from hamlet.plan.template import START, Step

if TYPE_CHECKING:
    from hamlet.kernel.compile.maker import Maker
    from hamlet.kernel.compile.parts import Unit


def lay_out(maker: Maker) -> Compiled:
    """Lay everything out."""
    program, units = maker.program, maker.units
    guard_inputs, guard_rows = guard_arrays(maker)
    windows = [maker.queries[unit.query].window for unit in units]
    ncs = [1 + len(maker.components[unit.query]) for unit in units]
    extremes = [maker.queries[unit.query].extremes for unit in units]
    nxs = [len(each) for each in extremes]
    sizes = [len(unit.rows) * window.overlap for unit, window in zip(units, windows, strict=True)]
    values = np.cumsum([0, *(s * n for s, n in zip(sizes, ncs, strict=True))], dtype=np.int64)
    extreme_base = np.cumsum([0, *(s * n for s, n in zip(sizes, nxs, strict=True))], dtype=np.int64)
    destinations = RaggedLists(
        [
            [row for (owner, *_), row in units[u].rows.items() if owner == state]
            for u, state in zip(maker.op_unit, maker.op_state, strict=True)
        ]
    )
    op_weights = [
        maker.state_weights(units[u].query, s)
        for u, s in zip(maker.op_unit, maker.op_state, strict=True)
    ]
    op_extremes = [
        maker.state_extremes(units[u].query, s)
        for u, s in zip(maker.op_unit, maker.op_state, strict=True)
    ]
    lazy = accumulators(maker, op_weights, op_extremes)
    trees = tree_arrays(maker, windows)
    conditions = condition_arrays(maker)
    alphabet = program.alphabet.atoms
    atom_ops: list[list[int]] = [[] for _ in alphabet]
    for op, state in enumerate(maker.op_state):
        if state not in maker.lazy_states.get(maker.op_unit[op], ()):
            atom_ops[program.state_atom[state]].append(op)
    atom_gops: list[list[int]] = [[] for _ in alphabet]
    gops: list[tuple[int, int]] = []
    for guard, (_, template) in enumerate(maker.guards):
        for index, state in enumerate(maker.states_of[template]):
            atom_gops[program.state_atom[state]].append(len(gops))
            gops.append((guard, index))
    passing = RaggedLists(
        [[row for key, row in unit.rows.items() if key[3] == Step.PASS] for unit in units]
    )
    starts = [i for unit in units for i in unit.row_is_start]
    code = Code(
        u_template=ints(unit.template for unit in units),
        u_w=ints(window.overlap for window in windows),
        u_slide=ints(window.slide_us for window in windows),
        u_within=ints(window.within_us for window in windows),
        u_nc=ints(ncs),
        u_nx=ints(nxs),
        u_nrows=ints(len(unit.rows) for unit in units),
        u_vbase=values[:-1].copy(),
        u_xbase=extreme_base[:-1].copy(),
        u_rbase=ints(np.cumsum([0, *(len(unit.rows) for unit in units)])[:-1]),
        u_always=ints(_is_always(maker, unit) for unit in units),
        x_sign=ints(aggregate.sign for each in extremes for aggregate in each),
        u_steps=ints(unit.number in maker.stepping for unit in units),
        u_pass_p=passing.pointers(),
        u_pass=passing.flat(),
        u_xsbase=ints(np.cumsum([0, *nxs])[:-1]),
        end_p=maker.ends.pointers(),
        end_row=maker.ends.flat(),
        escan_p=maker.end_scans.pointers(),
        escan_log=maker.end_scans.flat(0),
        escan_cond=maker.end_scans.flat(1),
        r_start=ints(starts),
        o_unit=ints(maker.op_unit),
        o_src_p=maker.sources.pointers(),
        o_src_row=maker.sources.flat(0),
        o_src_cond=maker.sources.flat(1),
        src_take_p=maker.taken.pointers(),
        src_take=maker.taken.flat(),
        o_dst_p=destinations.pointers(),
        o_dst_row=destinations.flat(),
        o_scan_p=maker.scans.pointers(),
        o_scan_log=maker.scans.flat(0),
        o_scan_cond=maker.scans.flat(1),
        o_scan_step=ints(_scan_step(maker, *scan) for op in maker.scans.lists for scan in op),
        o_first_p=maker.firsts.pointers(),
        o_first_cond=maker.firsts.flat(),
        o_log=ints(maker.logs.get(state, -1) for state in maker.op_state),
        o_w_p=RaggedLists(op_weights).pointers(),
        o_w=RaggedLists(op_weights).flat(),
        o_x_p=RaggedLists(op_extremes).pointers(),
        o_x=RaggedLists(op_extremes).flat(),
        o_zw=RaggedLists(lazy["op_sums"]).flat(),
        o_zx=RaggedLists(lazy["op_stacks"]).flat(),
        **lazy_ops(maker, lazy["atoms"], ncs, destinations.lists),
        z_atom=ints(lazy["atoms"]),
        zs_p=RaggedLists(lazy["sums"]).pointers(),
        zs_weight=RaggedLists(lazy["sums"]).flat(),
        zx_p=RaggedLists(lazy["stacks"]).pointers(),
        zx_attribute=RaggedLists(lazy["stacks"]).flat(),
        g_unit=ints(unit for unit, _ in maker.guards),
        g_n=ints(len(maker.states_of[t]) for _, t in maker.guards),
        g_sbase=ints(np.cumsum([0, *(len(maker.states_of[t]) for _, t in maker.guards)])[:-1]),
        **guard_rows,
        **guard_inputs,
        gop_guard=ints(guard for guard, _ in gops),
        gop_state=ints(state for _, state in gops),
        u_g_p=counts(len(units), [unit for unit, _ in maker.guards]),
        log_unit=ints(maker.log_unit),
        u_log_p=counts(len(units), sorted(maker.log_unit)),
        u_log=ints(sorted(range(len(maker.log_unit)), key=maker.log_unit.__getitem__)),
        u_glog_p=counts(len(units), [maker.guards[g][0] for g, _ in maker.guard_logs]),
        **trees,
        **conditions,
        p_kind=ints(maker.p_kind),
        p_code_p=maker.p_code.pointers(),
        p_code=maker.p_code.flat(0),
        p_arg=np.array([a for each in maker.p_code.lists for _, a in each], dtype=np.float64),
        u_quick=ints([]),
        o_quick=ints([]),
    )
    code = code._replace(lazies=placed_loops(code))
    code = code._replace(u_quick=quick_units(code))
    code = code._replace(o_quick=quick_ops(code))
    lazy_of_atom = [-1] * len(alphabet)
    for number, atom in enumerate(lazy["atoms"]):
        lazy_of_atom[atom] = number
    return Compiled(
        code,
        int(values[-1]),
        int(extreme_base[-1]),
        atom_ops,
        atom_gops,
        lazy_of_atom,
        list(maker.classes),
        maker.components,
        maker.weight_type,
        maker.row_groups,
        repeats=maker.repeats,
    )


def _scan_step(maker: Maker, log: int, _: int, step: Step) -> int:
    """What becomes of a stored event that an event goes on with: see `STAYS` in code.py."""
    if step == Step.STAY:
        return STAYS
    if step == Step.PASS:
        return PASSES
    is_read_at_end = any(log == other for of_unit in maker.end_scans.lists for other, *_ in of_unit)
    return TAKEN if is_read_at_end else DROPPED


def _is_always(maker: Maker, unit: Unit) -> int:
    """Whether START feeds a lazy op: its events then count before any other."""
    ops = [maker.op_of_state[state] for state in maker.lazy_states.get(unit.number, ())]
    rows = {row for op in ops for row, _ in maker.sources.lists[op]}
    owners = {owner for (owner, *_), row in unit.rows.items() if row in rows}
    return int(START in owners)
