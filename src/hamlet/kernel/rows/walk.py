"""The walk through the events of a partition, step by step: a step is all events of one time.

What each event of a step adds is found from the state before the step, then guards empty what they
bar, and only then is anything added: simultaneous events never see each other.
"""

from __future__ import annotations

from hamlet.kernel import numbers
from hamlet.kernel.code import ONE
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.rows.basis import (
    enter,
    extend_row,
    forget_stored,
    has_log_room,
    look_up_shared,
    settle,
    store_shared,
    take_snapshot,
)
from hamlet.kernel.rows.blocks import turn_block
from hamlet.kernel.rows.cells import (
    add_cells,
    add_product,
    add_sizes,
    copy_cells,
    fill_cells,
    least_cells,
    zero_cells,
)
from hamlet.kernel.rows.layout import (
    COLUMNS,
    COMPONENTS,
    EMPTIES,
    EXTREMES,
    FED_COLUMNS,
    FEEDS,
    IS_CLEAR,
    IS_LOOP,
    KNOWN,
    LAYERS,
    N_EVENTS,
    OP_EXTREME,
    OP_FIRST,
    OP_IS_LOOP,
    OP_LAYER,
    OP_N,
    OP_SOURCES_P,
    OP_TARGETS_P,
    OP_WEIGHT,
    OPS_P,
    OVERLAP,
    READS_LOOP,
    RESET_AT,
    RESET_AT_X,
    RESET_N,
    RESETS_P,
    ROWS,
    S_AMOUNTS_ROOM,
    S_BLOCK_END,
    S_DATED,
    S_DUE,
    S_ENTRIES,
    S_HI,
    S_IS_SHARED,
    S_IS_TREE,
    S_LO,
    S_LOG_ROOM,
    S_NEXT,
    S_OUT,
    S_OUT_ROOM,
    S_SCRATCH,
    S_UNSETTLED,
    S_WANTED,
    SOURCE_AT,
    SOURCE_AT_X,
    TARGET_AT,
    TARGET_AT_X,
    UNITS,
)
from hamlet.kernel.rows.memory import entries, row_size, window_size
from hamlet.kernel.rows.scan import forget_scanned, scan, store
from hamlet.kernel.rows.tree import forget_trees, look_up, put_in
from hamlet.kernel.rows.windows import close_all, roll

# What there may be too little room for
ROOM_OUT, ROOM_SCRATCH, ROOM_LOG = 1, 2, 3


@compiled
def walk(m, b, events, table, ranks, out, part, i, end):
    """Walk through the events of a partition from i on, until its end or until room is short.

    Returns where it stands and what it needs more of (0: nothing, it is done); that is found out
    before anything of a step is changed.
    """
    P, S = m.P, m.S
    while i < end:
        j = i + 1
        known = P[P[KNOWN] + events.letter[i]]
        while j < end and events.tied[j] == 1:
            known |= P[P[KNOWN] + events.letter[j]]
            j += 1
        if known == 0:
            i = j
            continue
        ts = events.ts[i]
        if ts >= S[S_DUE]:
            if S[S_OUT] + P[OVERLAP] * P[UNITS] > S[S_OUT_ROOM]:
                return i, ROOM_OUT
            if S[S_IS_SHARED] == 1 and not _has_log_room(m, b, P[OVERLAP]):
                S[S_WANTED] = P[OVERLAP]
                return i, ROOM_LOG
            roll(m, b, out, part, ts)
        if (j - i) * P[LAYERS] > S[S_SCRATCH]:
            S[S_WANTED] = (j - i) * P[LAYERS]
            return i, ROOM_SCRATCH
        if S[S_IS_SHARED] == 1 and not _has_log_room(m, b, j - i):
            S[S_WANTED] = j - i
            return i, ROOM_LOG
        _step(m, b, events, table, ranks, i, j, ts, known)
        if m.err[0] != 0:
            return i, 0
        i = j
    if S[S_OUT] + P[OVERLAP] * P[UNITS] > S[S_OUT_ROOM]:
        return i, ROOM_OUT
    close_all(m, b, out, part)
    return i, 0


@compiled
def _has_log_room(m, b, events):
    """Whether there is room for what some events, or windows that open, bring into E+."""
    P, S = m.P, m.S
    n = events * max(P[FEEDS], 1)
    cells = events * max(P[FED_COLUMNS], P[COLUMNS]) * P[OVERLAP] * P[COMPONENTS]
    return has_log_room(m, b, n, cells, S[S_LOG_ROOM], S[S_AMOUNTS_ROOM])


@inlined
def _step(m, b, events, table, ranks, i, j, ts, known):
    """Take in the events from i to j, all of one time."""
    P, S = m.P, m.S
    layers = P[LAYERS]
    loops, is_shared = 0, S[S_IS_SHARED] == 1
    if is_shared and S[S_UNSETTLED] == 1:
        _settle_for(m, b, events, i, j)
    for e in range(i, j):
        letter = events.letter[e]
        if P[P[IS_LOOP] + letter] == 1:
            _look_up(m, b, events, table, ranks, e, (e - i) * layers, loops, ts)
            loops += 1
        for op in entries(P, OPS_P, letter):
            if not is_shared or P[P[OP_IS_LOOP] + op] == 0:
                _find(m, events, op, e, (e - i) * layers)
    if known & EMPTIES:
        for e in range(i, j):
            _reset(m, b, table, events.letter[e])
    loops = 0
    for e in range(i, j):
        letter = events.letter[e]
        for op in entries(P, OPS_P, letter):
            if not is_shared or P[P[OP_IS_LOOP] + op] == 0:
                _add(m, b, op, (e - i) * layers)
        if P[P[IS_LOOP] + letter] == 1:
            _store(m, b, events, table, ranks, e, (e - i) * layers, loops)
            loops += 1
    S[S_NEXT] += loops


@compiled
def _settle_for(m, b, events, i, j):
    """Settle where an event of a step reads what E+ has given."""
    for e in range(i, j):
        if m.P[m.P[READS_LOOP] + events.letter[e]] == 1:
            settle(m, b)
            return


@inlined
def _look_up(m, b, events, table, ranks, e, row, loops, ts):
    """What stored events add to an event of the loop."""
    P, S = m.P, m.S
    whole, whole_x = row_size(P)
    if S[S_IS_TREE] == 1 and ts >= S[S_BLOCK_END]:
        turn_block(m, b, events, table, ranks, e, ts)
    if S[S_IS_SHARED] == 1:
        _look_up_shared(m, b, events, table, ranks, e, row, loops)
    elif S[S_IS_TREE] == 1:
        look_up(m, table, ranks, S[S_NEXT] + loops, row * whole, row * whole_x)
    else:
        scan(m, table, events.g[e], row * whole, row * whole_x)


@compiled
def _look_up_shared(m, b, events, table, ranks, e, row, loops):
    P, S = m.P, m.S
    if S[S_DATED] < S[S_ENTRIES]:
        take_snapshot(m, b)
    op = P[P[OPS_P] + events.letter[e]]  # those of the loop come first
    is_tree = S[S_IS_TREE] == 1
    look_up_shared(m, b, table, ranks, S[S_NEXT] + loops, events.g[e], is_tree, row)
    extend_row(m, b, events, op, e, row)


@inlined
def _store(m, b, events, table, ranks, e, row, loops):
    """Store an event of the loop."""
    P, S = m.P, m.S
    whole, whole_x = row_size(P)
    if S[S_IS_SHARED] == 1:
        is_tree = S[S_IS_TREE] == 1
        store_shared(m, b, table, ranks, S[S_NEXT] + loops, events.f[e], is_tree, row)
        return
    add_sizes(m.v, P[ROWS] * whole, m.scratch, row * whole, whole, m.err)
    if S[S_IS_TREE] == 1:
        put_in(m, table, ranks, S[S_NEXT] + loops, row * whole, row * whole_x)
    else:
        store(m, table, events.f[e], row * whole, row * whole_x)


@inlined
def _find(m, events, op, e, row):
    """What an event adds at the nodes of an op, in the row of scratch of its layer."""
    P = m.P
    nc, nx = P[COMPONENTS], P[EXTREMES]
    whole, whole_x = row_size(P)
    first, n = P[P[OP_FIRST] + op], P[P[OP_N] + op]
    row += P[P[OP_LAYER] + op]
    at, at_x = row * whole + first, row * whole_x + first
    is_fresh = P[P[OP_IS_LOOP] + op] == 0
    for k in entries(P, OP_SOURCES_P, op):
        _take(m, P[P[SOURCE_AT] + k], P[P[SOURCE_AT_X] + k], at, at_x, n, is_fresh)
        is_fresh = False
    if nc > 1 or nx > 0:
        _add_own(m, events, op, e, at, at_x, n)


@inlined
def _take(m, source, source_x, at, at_x, n, is_fresh):
    """Add n columns of a row to scratch, or have them there."""
    P = m.P
    columns = P[COLUMNS]
    whole, whole_x = row_size(P)
    if n == columns:
        n, columns = whole, whole
    if is_fresh:
        for c in range(0, whole, columns):
            copy_cells(m.scratch, at + c, m.v, source + c, n)
    elif n == 1:
        for c in range(0, whole, columns):
            numbers.add(m.scratch, at + c, m.v, source + c, m.err)
    else:
        for c in range(0, whole, columns):
            add_cells(m.scratch, at + c, m.v, source + c, n, m.err)
    if whole_x > 0:
        _take_extremes(m, source_x, at_x, n, is_fresh)


@inlined
def _take_extremes(m, source, at, n, is_fresh):
    columns = m.P[COLUMNS]
    _, whole = row_size(m.P)
    n = min(n, columns)
    for c in range(0, whole, columns):
        for i in range(c, c + n):
            if is_fresh or m.x[source + i] < m.scratch_x[at + i]:
                m.scratch_x[at + i] = m.x[source + i]


@inlined
def _add_own(m, events, op, e, at, at_x, n):
    """Add the weights and extremes of an event itself, where trends end at it."""
    P = m.P
    nc, nx, columns = P[COMPONENTS], P[EXTREMES], P[COLUMNS]
    size, size_x = window_size(P)
    for _ in range(P[OVERLAP]):
        for c in range(1, nc):
            weight = P[P[OP_WEIGHT] + op * (nc - 1) + c - 1]
            if weight >= 0:
                factor = events.weights[weight * P[N_EVENTS] + e]
                add_product(m.scratch, at + c * columns, m.scratch, at, n, factor, m.err)
            elif weight == ONE:
                add_cells(m.scratch, at + c * columns, m.scratch, at, n, m.err)
        for c in range(nx):
            _own_extreme(m, events, P[P[OP_EXTREME] + op * nx + c], e, at, at_x + c * columns, n)
        at += size
        at_x += size_x


@inlined
def _own_extreme(m, events, attribute, e, at, at_x, n):
    if attribute < 0:
        return
    value = events.extremes[(attribute >> 1) * m.P[N_EVENTS] + e]
    if value != value:
        return
    value = -value if attribute & 1 else value
    for i in range(n):
        if value < m.scratch_x[at_x + i] and not numbers.is_zero(m.scratch, at + i):
            m.scratch_x[at_x + i] = value


@inlined
def _add(m, b, op, row):
    """Add what was found to the rows that it goes to."""
    P = m.P
    columns = P[COLUMNS]
    whole, whole_x = row_size(P)
    first, n = P[P[OP_FIRST] + op], P[P[OP_N] + op]
    row += P[P[OP_LAYER] + op]
    at, at_x = row * whole + first, row * whole_x + first
    wide = n
    if n == columns:
        n, columns = whole, whole
    for k in entries(P, OP_TARGETS_P, op):
        to = P[P[TARGET_AT] + k]
        if to < P[COLUMNS] and m.S[S_IS_SHARED] == 1:  # what comes into E+ is row 0
            enter(m, b, m.scratch, at, to, wide, m.S[S_LO], m.S[S_HI])
        if n == 1:
            for c in range(0, whole, columns):
                numbers.add(m.v, to + c, m.scratch, at + c, m.err)
        else:
            for c in range(0, whole, columns):
                add_cells(m.v, to + c, m.scratch, at + c, n, m.err)
        if whole_x > 0:
            _add_extremes(m, P[P[TARGET_AT_X] + k], at_x, n)


@inlined
def _add_extremes(m, to, at, n):
    columns = m.P[COLUMNS]
    _, whole = row_size(m.P)
    for c in range(0, whole, columns):
        least_cells(m.x, to + c, m.scratch_x, at + c, min(n, columns))


@compiled
def _reset(m, b, table, letter):
    """Empty what an event of a letter bars."""
    P, S = m.P, m.S
    columns = P[COLUMNS]
    whole, whole_x = row_size(P)
    for k in entries(P, RESETS_P, letter):
        at, at_x, n = P[P[RESET_AT] + k], P[P[RESET_AT_X] + k], P[P[RESET_N] + k]
        for c in range(0, whole, columns):
            zero_cells(m.v, at + c, n)
        for c in range(0, whole_x, columns):
            fill_cells(m.x, at_x + c, n, float("inf"))
    if P[P[IS_CLEAR] + letter] == 1:
        zero_cells(m.v, P[ROWS] * whole, whole)
        if S[S_IS_TREE] == 1:
            forget_trees(m, table)
        elif S[S_IS_SHARED] == 1:
            forget_stored(m, b)
        else:
            forget_scanned(m)
