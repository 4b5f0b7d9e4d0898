"""Short cuts of code: what the machine needs most often, side by side, and what each letter does.

Everything here can be read off the code; it is put together once so that the machine does not have
to look for it event by event. What the entries mean is told in layout.py.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel.compile.bundles import whole_bundles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Code, Compiled

    Ints = NDArray[np.int64]


def quick_units(code: Code) -> Ints:
    """Of each unit its loop, and for units that only count where trends begin and end."""
    quick = np.full((len(code.u_w), at.QUICK), -1, np.int64)
    quick[:, at.Q_W], quick[:, at.Q_BASE] = code.u_w, code.u_vbase
    quick[:, at.Q_ROWS] = code.u_nrows
    quick[:, at.Q_LAZY] = code.u_lazy
    reads, feeds = _parted(code.o_src_p, code.o_src_row), _parted(code.o_dst_p, code.o_dst_row)
    ends, loops = _parted(code.end_p, code.end_row), code.u_lop.tolist()
    first, starts = code.u_rbase.tolist(), code.r_start.tolist()
    may_end = (code.u_nc == 1) & (code.u_nx == 0) & (code.u_always == 0)
    may_end[code.t_unit] = False
    may_end[code.log_unit] = False
    for unit in np.flatnonzero(code.u_lazy >= 0).tolist():
        read, fed = reads[loops[unit]], feeds[loops[unit]]
        others = [row for row in read if row not in fed]
        if len(fed) != 1 or read.count(fed[0]) != 1 or len(others) > 1:
            continue
        quick[unit, at.Q_OWN] = fed[0]
        quick[unit, at.Q_OTHER] = others[0] if others else -1
        begins = starts[first[unit] : first[unit] + int(code.u_nrows[unit])]
        if may_end[unit] and sum(begins) == len(ends[unit]) == 1 and not begins[ends[unit][0]]:
            quick[unit, at.Q_START], quick[unit, at.Q_END] = begins.index(1), ends[unit][0]
    for place in (at.Q_OWN, at.Q_OTHER, at.Q_START, at.Q_END):
        row = quick[:, place]
        quick[:, place] = np.where(row < 0, -1, code.u_vbase + row * code.u_w * code.u_nc)
    return quick.reshape(-1)


def are_alike(code: Code) -> bool:
    """Whether all units only count, and have windows of the same length and slide."""
    ends = code.u_quick.reshape(-1, at.QUICK)[:, at.Q_END]
    windows = np.column_stack([code.u_within, code.u_slide])
    return len(ends) > 0 and bool((ends >= 0).all() and (windows == windows[0]).all())


def quick_ops(code: Code) -> Ints:
    """Of each op its unit, and for ops that add to the number of trends alone from where to where.

    START has an empty trend in each window, without sums and extremes.
    """
    unit = code.o_unit
    quick = np.full((len(unit), at.QUICK), -1, np.int64)
    quick[:, at.QO_UNIT] = unit
    quick[:, at.QO_W], quick[:, at.QO_NC] = code.u_w[unit], code.u_nc[unit]
    units = code.u_quick.reshape(-1, at.QUICK)
    quick[:, at.QO_SYNC] = np.where(units[unit, at.Q_END] >= 0, at.SYNC_COUNTS, at.SYNC_ALL)
    if not len(unit):
        return quick.reshape(-1)
    is_simple = (np.diff(code.o_src_p) == 1) & (np.diff(code.o_dst_p) == 1)
    simple = np.flatnonzero(is_simple)
    read, fed = code.o_src_row[code.o_src_p[simple]], code.o_dst_row[code.o_dst_p[simple]]
    unit = unit[simple]
    only_counts = (code.u_nc[unit] == 1) & (code.u_nx[unit] == 0)
    adds = _any(code.o_w_p, code.o_w != -1)[simple] | _any(code.o_x_p, code.o_x >= 0)[simple]
    begins = code.r_start[code.u_rbase[unit] + read] == 1
    wanted = (read != fed) & (only_counts | (begins & ~adds))
    size, base = code.u_w[unit] * code.u_nc[unit], code.u_vbase[unit]
    quick[simple[wanted], at.QO_FROM] = (base + read * size)[wanted]
    quick[simple[wanted], at.QO_TO] = (base + fed * size)[wanted]
    later = simple[wanted & begins & (code.u_nx[unit] > 0)]
    is_other = quick[later, at.QO_TO] == units[quick[later, at.QO_UNIT], at.Q_OTHER]
    quick[_alone(code, later[is_other]), at.QO_SYNC] = at.SYNC_LATER
    return quick.reshape(-1)


def _alone(code: Code, ops: Ints) -> Ints:
    """Of ops that have one destination those whose row no op feeds that is not among them."""
    rows = np.concatenate([[0], np.cumsum(code.u_nrows)])
    owner = np.repeat(code.o_unit, np.diff(code.o_dst_p))
    fed = np.bincount(rows[owner] + code.o_dst_row, minlength=int(rows[-1]))
    own = rows[code.o_unit[ops]] + code.o_dst_row[code.o_dst_p[ops]]
    of_these = np.bincount(own, minlength=int(rows[-1]))
    alone: Ints = ops[fed[own] == of_these[own]]
    return alone


def by_letter(compiled: Compiled, letters: NDArray[np.uint8]) -> tuple[Ints, list[bool]]:
    """For each letter the ops, guard ops and accumulators of its atoms, in one flat array.

    Also which bundles are of use: those that some letter is for all units of.
    """
    ops, gops, lazy, direct = _of_letters(compiled, letters)
    arrays: list[Any] = []
    for lists in (ops, gops, lazy):
        arrays.append(np.cumsum([0, *(len(of_letter) for of_letter in lists)]))
        arrays.append([value for of_letter in lists for value in of_letter])
    only_lazy = [int(not o and not g) for o, g in zip(ops, gops, strict=True)]
    rest, whole, is_used = whole_bundles(compiled, ops, direct)
    full = [of_letter for letter in whole for of_letter in letter]
    tables = [
        np.cumsum([0, *(len(of_letter) for of_letter in rest)]),
        [op for of_letter in rest for op in of_letter],
        np.cumsum([0, *(len(of_letter) for of_letter in whole)]),
        [bundle for bundle, _ in full],
        np.cumsum([0, *(len(some) for _, some in full)])[:-1],
        [op for _, some in full for op in some],
    ]
    return _flat([*arrays, direct, only_lazy, *tables]), is_used


def bundle_letters(
    compiled: Compiled, letters: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """[letters, bundles]: for which bundles an event alone in its time is for all, and for any.

    Bundles that no letter is for all units of are of no use to the machine: neither is told.
    """
    ops, _, _, direct = _of_letters(compiled, letters)
    _, whole, is_used = whole_bundles(compiled, ops, direct)
    for_all = np.zeros((len(letters), len(compiled.bundles)), np.bool_)
    for_any = np.zeros_like(for_all)
    of_unit = {
        u: b for b, bundle in enumerate(compiled.bundles) for u in bundle.units if is_used[b]
    }
    units = compiled.code.o_unit.tolist()
    for letter, some in enumerate(ops):
        for_all[letter, [b for b, _ in whole[letter]]] = True
        for_any[letter, [of_unit[units[op]] for op in some if units[op] in of_unit]] = True
    return for_all, for_any


def _of_letters(
    compiled: Compiled, letters: NDArray[np.uint8]
) -> tuple[list[list[int]], list[list[int]], list[list[int]], list[int]]:
    """For each letter its ops, guard ops and accumulators, and whether ops can be run directly."""
    ops: list[list[int]] = [[] for _ in letters]
    gops: list[list[int]] = [[] for _ in letters]
    lazy: list[list[int]] = [[] for _ in letters]
    for letter, atom in zip(*(where.tolist() for where in np.nonzero(letters)), strict=True):
        ops[letter] += compiled.atom_ops[atom]
        gops[letter] += compiled.atom_gops[atom]
        if compiled.lazy_of_atom[atom] >= 0:
            lazy[letter].append(compiled.lazy_of_atom[atom])
    for of_letter in ops:
        of_letter.sort()
    reads_rows_only = _reads_rows_only(compiled.code).tolist()
    units = compiled.code.o_unit.tolist()
    direct = [
        int(
            bool(some)
            and not guards
            and all(reads_rows_only[op] for op in some)
            and len({units[op] for op in some}) == len(some)
        )
        for some, guards in zip(ops, gops, strict=True)
    ]
    return ops, gops, lazy, direct


def bundle_arrays(compiled: Compiled, is_used: list[bool]) -> tuple[dict[str, Ints], Ints]:
    """Bundles that are of use, as the machine has them; the others keep their numbers.

    Also the short cuts of ops, each with its bundle.
    """
    code, bundles = compiled.code, compiled.bundles
    of_unit = np.full(len(code.u_w), -1, np.int64)
    rows: list[tuple[int, ...]] = [()] * len(code.u_w)
    for number, bundle in enumerate(bundles):
        if is_used[number]:
            of_unit[list(bundle.units)] = number
            for unit, some in zip(bundle.units, bundle.rows, strict=True):
                rows[unit] = some
    ops = code.o_quick.reshape(-1, at.QUICK).copy()
    ops[:, at.QO_BUNDLE] = of_unit[code.o_unit]
    arrays = {
        "u_bundle": of_unit,
        "b_p": np.cumsum([0, *(len(bundle.units) for bundle in bundles)]),
        "b_unit": np.array([u for bundle in bundles for u in bundle.units], np.int64),
        "b_patience": np.array(compiled.patience, np.int64),
        "u_rows_p": np.cumsum([0, *map(len, rows)]),
        "u_rows": np.array([row for some in rows for row in some], np.int64),
    }
    return arrays, ops.reshape(-1)


def _reads_rows_only(code: Code) -> NDArray[np.bool_]:
    """For each op whether an event alone in its time can be added by it at once."""
    empty = np.diff(code.o_src_p) > 0
    for pointers in (code.o_scan_p, code.o_first_p, code.o_tree_p, code.o_leaf_p):
        empty &= np.diff(pointers) == 0
    return empty & (code.o_log < 0) & ~_any(code.o_src_p, code.o_src_cond != -1)


def _any(pointers: Ints, is_so: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each range of an array whether it holds for some of it."""
    before = np.concatenate([[0], np.cumsum(is_so)])
    return before[pointers[1:]] > before[pointers[:-1]]


def _parted(pointers: Ints, flat: Ints) -> list[list[int]]:
    """The ranges of an array as lists."""
    values, cuts = flat.tolist(), pointers.tolist()
    return [values[low:high] for low, high in pairwise(cuts)]


def _flat(arrays: list[Any]) -> Ints:
    """The offset of each array, and the arrays."""
    offsets = len(arrays) + np.cumsum([0, *(len(array) for array in arrays)])[:-1]
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in (offsets, *arrays)])
