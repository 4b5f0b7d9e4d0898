"""Out of the basis: coefficients of snapshots become numbers of units and windows.

`settle` does it with what has ended at E+ where something reads it or a window closes, and from
there everything is as with own columns. `split` does it with every stored event: the windows that
are over snapshots have own columns from then on.

Cost: O(snapshots + entries x windows) to settle, and for each stored event to split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from hamlet.kernel import numbers
from hamlet.kernel.jit import INLINED, apart, inlined
from hamlet.kernel.numbers import SAFE
from hamlet.kernel.rows.basis import column_place
from hamlet.kernel.rows.cells import (
    add_cells,
    add_size_times,
    copy_cells,
    fill_cells,
    least_cells,
    zero_cells,
)
from hamlet.kernel.rows.layout import (
    BY_BENEFIT,
    C_SPLIT,
    EXTREME_OF,
    LOOP_LETTER,
    OP_FIRST,
    OP_IS_LOOP,
    OP_N,
    OP_TARGETS_P,
    OPS_P,
    ROW_EXTREMES,
    S_DATED,
    S_FIRST_ENTRY,
    S_FORCED,
    S_HALF,
    S_HI,
    S_IS_TREE,
    S_LEAVES,
    S_LEAVES_BEFORE,
    S_LO,
    S_MODE,
    S_OLDEST,
    S_OPEN,
    S_OWN_HI,
    S_OWN_OPEN,
    S_PLACE,
    S_PLANNED,
    S_ROOM,
    S_SCRATCH,
    S_STORED,
    S_UNSETTLED,
    SHARING,
    TARGET_AT,
    TARGET_AT_X,
)
from hamlet.kernel.rows.memory import entries
from hamlet.kernel.rows.snapshots import (
    E_AT,
    E_COLUMN,
    E_FIRST,
    E_HI,
    E_LO,
    E_N,
    ENTRY,
    forget_all,
    in_extremes,
    live,
    place_in_node,
    snapshot_place,
)
from hamlet.kernel.rows.tree import node_of, open_up_node, sides


def is_in_range(v: Any, d: int) -> bool:
    """Whether a coefficient, or a sum of some, is one that can be trusted."""
    raise NotImplementedError


@overload(is_in_range, jit_options=INLINED)
def _is_in_range(v: Any, d: int) -> Any:
    if v.dtype == types.int64:

        def ints(v: Any, d: int) -> bool:
            return bool(abs(v[d]) < SAFE)

        return ints

    def doubles(v: Any, d: int) -> bool:
        return bool(abs(v[d]) < 1e300)

    return doubles


@apart
def settle(m, b):
    """Add what has ended at E+ since the last time to the rows that it goes to."""
    P, S, z = m.P, m.S, m.z
    S[S_UNSETTLED] = 0
    begin, end = live(m)
    n, n_x = (end - begin) * z.components, (end - begin) * m.P[ROW_EXTREMES]
    copy_cells(b.sums, 0, b.ended, begin * z.components, n)
    zero_cells(b.ended, begin * z.components, n)
    copy_cells(b.sums_x, 0, b.ended_x, begin * m.P[ROW_EXTREMES], n_x)
    fill_cells(b.ended_x, begin * m.P[ROW_EXTREMES], n_x, np.inf)
    evaluate(m, b, end - begin)
    for op in entries(P, OPS_P, P[LOOP_LETTER]):
        if P[P[OP_IS_LOOP] + op] == 1:
            for k in entries(P, OP_TARGETS_P, op):
                first, wide = P[P[OP_FIRST] + op], P[P[OP_N] + op]
                to, at = P[P[TARGET_AT] + k], S[S_SCRATCH] * z.whole + first
                for _ in range(z.blocks):
                    add_cells(m.v, to, m.scratch, at, wide, m.err)
                    to += z.columns
                    at += z.columns
                to, at = P[P[TARGET_AT_X] + k], S[S_SCRATCH] * z.whole_x + first
                for _ in range(z.blocks_x):
                    least_cells(m.x, to, m.scratch_x, at, wide)
                    to += z.columns
                    at += z.columns


@apart
def evaluate(m, b, n):
    """Have what the coefficients in `sums` of the n oldest snapshots come to, in the last row.

    These become sums from their end on, so that each entry asks for one of them.
    """
    S, z = m.S, m.z
    row, row_x = S[S_SCRATCH] * z.whole, S[S_SCRATCH] * z.whole_x
    zero_cells(m.scratch, row, z.whole)
    fill_cells(m.scratch_x, row_x, z.whole_x, np.inf)
    _sum_from_the_end(m, b, b.sums, 0, n)
    if m.err[0] != 0:
        return
    _least_from_the_end(m, b, b.sums_x, 0, n)
    for k in range(S[S_FIRST_ENTRY], S[S_DATED]):
        column = max(0, b.log[ENTRY * k + E_COLUMN] - S[S_OLDEST])
        if column < n and b.sums[column * z.components] != 0:
            _add_entry(m, b, ENTRY * k, m.scratch, row, b.sums, column * z.components)
            if z.extremes > 0:
                _add_extremes(m, b, ENTRY * k, row_x, column * m.P[ROW_EXTREMES])


@inlined
def _sum_from_the_end(m, b, row, first, n):
    """Add to each coefficient those of later snapshots; one of a single event stays by itself."""
    nc, (begin, _) = m.z.components, live(m)
    later = -1
    for k in range(n - 1, -1, -1):
        if b.single[begin + k] == 1:
            continue
        if later >= 0:
            for c in range(nc):
                d = first + k * nc + c
                row[d] += row[first + later * nc + c]
                if not is_in_range(row, d):
                    m.err[0] = 1
        later = k


@inlined
def _least_from_the_end(m, b, row, first, n):
    """Have with each extreme those of later snapshots; one of a single event stays by itself."""
    nx, (begin, _) = m.P[ROW_EXTREMES], live(m)
    later = -1
    for k in range(n - 1 if nx > 0 else -1, -1, -1):
        if b.single[begin + k] == 1:
            continue
        if later >= 0:
            least_cells(row, first + k * nx, row, first + later * nx, nx)
        later = k


@apart
def _add_extremes(m, b, entry, at, sums):
    """Take in the extremes of an entry: with those of its coefficient, which is not 0."""
    P, S, z = m.P, m.S, m.z
    n, first, begin = b.log[entry + E_N], b.log[entry + E_FIRST], b.log[entry + E_AT]
    begin_x = in_extremes(m, begin)
    for window in range(max(S[S_LO], b.log[entry + E_LO]), b.log[entry + E_HI] + 1):
        place = _place_of(m, window)
        came, came_x = begin + place * z.components * n, begin_x + place * z.extremes * n
        for c in range(z.extremes):
            d, of = at + place * z.size_x + c * z.columns + first, P[EXTREME_OF] + c * z.columns
            for i in range(n):
                if numbers.is_zero(b.amounts, came + i):
                    continue
                least, own = b.amounts_x[came_x + c * n + i], P[of + first + i]
                if own >= 0:
                    least = min(least, b.sums_x[sums + own])
                m.scratch_x[d + i] = min(m.scratch_x[d + i], least)


@inlined
def _add_entry(m, b, entry, to, at, row, sums):
    """Add an entry, multiplied with the sums of coefficients from row[sums] on."""
    S, nc, columns = m.S, m.z.components, m.z.columns
    n = b.log[entry + E_N]
    for window in range(max(S[S_LO], b.log[entry + E_LO]), b.log[entry + E_HI] + 1):
        place = _place_of(m, window)
        d, source = at + place * m.z.size + b.log[entry + E_FIRST], place * nc * n
        source += b.log[entry + E_AT]
        for i in range(n):
            numbers.add_times(to, d + i, b.amounts, source + i, row[sums], m.err)
            for c in range(1, nc):
                more = d + c * columns + i
                numbers.add_times(to, more, b.amounts, source + c * n + i, row[sums], m.err)
                numbers.add_times(to, more, b.amounts, source + i, row[sums + c], m.err)


@inlined
def _place_of(m, window):
    """Where an open window stands in rows."""
    place = m.S[S_PLACE] + window - m.S[S_LO]
    return place - m.z.overlap if place >= m.z.overlap else place


# Own columns from here on


@apart
def split(m, b, table):
    """Have own columns in all open windows: every stored event is evaluated.

    Where coefficients have outgrown their word those of windows to come would, too.
    """
    S = m.S
    if S[S_FORCED] == 1 and m.P[SHARING] == BY_BENEFIT:
        S[S_MODE], S[S_PLANNED] = 0, 0
    if S[S_UNSETTLED] == 1:
        settle(m, b)
    terms, terms_x = _terms(m, b), _terms_of_extremes(m, b)
    if S[S_IS_TREE] == 1:
        _split_tree(m, b, table, S[S_HALF], S[S_LEAVES], terms, terms_x)
        _split_tree(m, b, table, 1 - S[S_HALF], S[S_LEAVES_BEFORE], terms, terms_x)
    else:
        _split_scanned(m, b, table, terms, terms_x)
    _split_sizes(m, b)
    forget_all(m)
    S[S_OWN_HI], S[S_OWN_OPEN], S[S_FORCED] = S[S_HI], S[S_OPEN], 0
    S[C_SPLIT] += 1


@apart
def _terms(m, b):
    """What all entries come to, once for all rows: a list of products, by snapshot.

    For each the coefficient, counted from that of the oldest snapshot on, the place in a row of own
    columns that it is added to, and the number it is multiplied with.
    """
    S, nc = m.S, m.z.components
    count = 0
    for k in range(S[S_FIRST_ENTRY], S[S_DATED]):
        lo, hi = max(S[S_LO], b.log[ENTRY * k + E_LO]), b.log[ENTRY * k + E_HI]
        count += max(0, hi - lo + 1) * b.log[ENTRY * k + E_N] * (2 * nc - 1)
    terms = np.empty((count, 3), np.int64)
    r = 0
    for k in range(S[S_FIRST_ENTRY], S[S_DATED]):
        entry, n = ENTRY * k, b.log[ENTRY * k + E_N]
        column = max(0, b.log[entry + E_COLUMN] - S[S_OLDEST]) * nc
        for window in range(max(S[S_LO], b.log[entry + E_LO]), b.log[entry + E_HI] + 1):
            place = _place_of(m, window)
            d = place * m.z.size + b.log[entry + E_FIRST]
            source = b.log[entry + E_AT] + place * nc * n
            for i in range(n):
                terms[r, 0], terms[r, 1], terms[r, 2] = column, d + i, source + i
                r += 1
                for c in range(1, nc):
                    to = d + c * m.z.columns + i
                    terms[r, 0], terms[r, 1], terms[r, 2] = column, to, source + c * n + i
                    r += 1
                    terms[r, 0], terms[r, 1], terms[r, 2] = column + c, to, source + i
                    r += 1
    return terms


@inlined
def _evaluate_terms(m, b, to, at, row, first, n, terms):
    """The same as evaluate, by a list of products."""
    _sum_from_the_end(m, b, row, first, n)
    end = n * m.z.components
    for r in range(terms.shape[0]):
        if terms[r, 0] >= end:
            break
        numbers.add_times(
            to, at + terms[r, 1], b.amounts, terms[r, 2], row[first + terms[r, 0]], m.err
        )


@apart
def _terms_of_extremes(m, b):
    """The same of extremes, where trends came in.

    For each the snapshot, counted from the oldest on, its extreme or -1 for none, the place in a
    row of own columns, and the extreme of what came in.
    """
    P, S, z = m.P, m.S, m.z
    count = 0
    if z.extremes > 0:
        for k in range(S[S_FIRST_ENTRY], S[S_DATED]):
            lo, hi = max(S[S_LO], b.log[ENTRY * k + E_LO]), b.log[ENTRY * k + E_HI]
            count += max(0, hi - lo + 1) * b.log[ENTRY * k + E_N] * z.extremes
    terms = np.empty((count, 4), np.int64)
    r = 0
    for k in range(S[S_FIRST_ENTRY], S[S_DATED] if count > 0 else 0):
        entry, n, first = ENTRY * k, b.log[ENTRY * k + E_N], b.log[ENTRY * k + E_FIRST]
        snapshot = max(0, b.log[entry + E_COLUMN] - S[S_OLDEST])
        begin = b.log[entry + E_AT]
        for window in range(max(S[S_LO], b.log[entry + E_LO]), b.log[entry + E_HI] + 1):
            place = _place_of(m, window)
            came = begin + place * z.components * n
            came_x = in_extremes(m, begin) + place * z.extremes * n
            for c in range(z.extremes):
                for i in range(n):
                    if not numbers.is_zero(b.amounts, came + i):
                        terms[r, 0] = snapshot
                        terms[r, 1] = P[P[EXTREME_OF] + c * z.columns + first + i]
                        terms[r, 2] = place * z.size_x + c * z.columns + first + i
                        terms[r, 3] = came_x + c * n + i
                        r += 1
    return terms[:r]


@inlined
def _take_extremes(m, b, to, at, row, first, row_x, first_x, n, terms):
    """Have the extremes of an event, by a list of terms; its coefficients have been summed up."""
    nc, nx = m.z.components, m.P[ROW_EXTREMES]
    _least_from_the_end(m, b, row_x, first_x, n)
    for r in range(terms.shape[0]):
        snapshot = terms[r, 0]
        if snapshot >= n:
            break
        if row[first + snapshot * nc] != 0:
            d, least = at + terms[r, 2], b.amounts_x[terms[r, 3]]
            if terms[r, 1] >= 0:
                least = min(least, row_x[first_x + snapshot * nx + terms[r, 1]])
            to[d] = min(to[d], least)


@apart
def _split_tree(m, b, table, half, leaves, terms, terms_x):
    S, z = m.S, m.z
    for side in range(sides(m)):
        for i in range(1, leaves + 1):
            node = node_of(m, half, side, i)
            n = b.born[node] - S[S_OLDEST]
            if n > 0:
                open_up_node(m, table, node)
                place = place_in_node(m, half, side, i, S[S_OLDEST])
                first, first_x = place * z.components, place * m.P[ROW_EXTREMES]
                _evaluate_terms(m, b, table.v, node * z.whole, b.v, first, n, terms)
                at_x = node * z.whole_x
                _take_extremes(m, b, table.x, at_x, b.v, first, b.x, first_x, n, terms_x)


@apart
def _split_scanned(m, b, table, terms, terms_x):
    """Evaluate the events of a scanned table one by one."""
    S, z = m.S, m.z
    begin, end = live(m)
    nc, nx, room = z.components, m.P[ROW_EXTREMES], S[S_ROOM]
    row, row_x = S[S_SCRATCH] * z.whole, S[S_SCRATCH] * z.whole_x
    for e in range(m.begins[S[S_PLACE]], S[S_STORED]):
        n = 0
        while n < end - begin and b.begins[begin + n] <= e:
            place = column_place(m, begin + n)
            for c in range(nc):
                b.sums[n * nc + c] = b.v[(place + c) * room + e]
            place = snapshot_place(m, begin + n) * nx
            for c in range(nx):
                b.sums_x[n * nx + c] = b.x[(place + c) * room + e]
            n += 1
        zero_cells(m.scratch, row, z.whole)
        fill_cells(m.scratch_x, row_x, z.whole_x, np.inf)
        _evaluate_terms(m, b, m.scratch, row, b.sums, 0, n, terms)
        _take_extremes(m, b, m.scratch_x, row_x, b.sums, 0, b.sums_x, 0, n, terms_x)
        for window in range(max(S[S_OWN_HI] + 1, S[S_LO]), S[S_HI] + 1):
            place = _place_of(m, window)
            for c in range(place * z.size, (place + 1) * z.size):
                numbers.copy(table.v, c * room + e, m.scratch, row + c)
            for c in range(place * z.size_x, (place + 1) * z.size_x):
                table.x[c * room + e] = m.scratch_x[row_x + c]


@apart
def _split_sizes(m, b):
    """Add to the sizes of own columns what stored numbers come to at most."""
    S, nc, columns = m.S, m.z.components, m.z.columns
    begin, end = live(m)
    at = m.z.rows * m.z.whole
    _sum_from_the_end(m, b, b.sizes, begin * nc, end - begin)
    if m.err[0] != 0:
        return
    for k in range(S[S_FIRST_ENTRY], S[S_DATED]):
        entry, n = ENTRY * k, b.log[ENTRY * k + E_N]
        column = begin + max(0, b.log[entry + E_COLUMN] - S[S_OLDEST])
        if column >= end:
            continue
        for window in range(max(S[S_LO], b.log[entry + E_LO]), b.log[entry + E_HI] + 1):
            place = _place_of(m, window)
            d, source = at + place * m.z.size + b.log[entry + E_FIRST], place * nc * n
            source += b.log[entry + E_AT]
            for i in range(n):
                size = b.sizes[column * nc]
                add_size_times(m.v, d + i, b.amounts, source + i, size, m.err)
                for c in range(1, nc):
                    more, other = d + c * columns + i, b.sizes[column * nc + c]
                    add_size_times(m.v, more, b.amounts, source + c * n + i, size, m.err)
                    add_size_times(m.v, more, b.amounts, source + i, other, m.err)
