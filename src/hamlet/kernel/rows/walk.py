"""The walk through the events of a partition, step by step: a step is all events of one time.

What each event of a step adds is found from the state before the step, then guards empty what they
bar, and only then is anything added: simultaneous events never see each other.
"""

from __future__ import annotations

from hamlet.kernel import numbers
from hamlet.kernel.code import ONE
from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.basis import end_at, extend_row, look_up_shared, put_in_shared
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
from hamlet.kernel.rows.decision import (
    D_ENTRIES,
    D_EVENTS,
    D_PARTS,
    D_READS,
    D_TOTAL,
    begin_burst,
    end_decisions,
    make_room_for_singles,
)
from hamlet.kernel.rows.direct import take_in
from hamlet.kernel.rows.evaluation import settle, split
from hamlet.kernel.rows.layout import (
    C_BURSTS,
    COMES_IN,
    DIRECTS,
    DISPUTES,
    EMPTIES,
    ENTERS,
    FAR,
    FED_COLUMNS,
    FEEDS,
    IS_CLEAR,
    IS_LOOP,
    KNOWN,
    LOOPS,
    OP_EXTREME,
    OP_FIRST,
    OP_IS_LOOP,
    OP_LAYER,
    OP_N,
    OP_SOURCES_P,
    OP_TARGETS_P,
    OP_WEIGHT,
    OPS_P,
    OWN,
    PARTS,
    PLAIN,
    PREDICATES,
    READS,
    RESET_AT,
    RESET_AT_X,
    RESET_N,
    RESETS_P,
    S_AMOUNTS_ROOM,
    S_BLOCK_END,
    S_DECIDED,
    S_DECIDED_ROOM,
    S_DIRTY,
    S_DUE,
    S_FORCED,
    S_HI,
    S_IS_TREE,
    S_LO,
    S_LOG_ROOM,
    S_NEXT,
    S_OUT,
    S_OUT_ROOM,
    S_OWN_HI,
    S_OWN_OPEN,
    S_POLICY,
    S_READABLE,
    S_SCRATCH,
    S_TAIL,
    S_UNSETTLED,
    S_WANTED,
    SHARING,
    SKIPS_P,
    SOURCE_AT,
    SOURCE_AT_X,
    TARGET_AT,
    TARGET_AT_X,
)
from hamlet.kernel.rows.memory import entries, row_size, window_size
from hamlet.kernel.rows.plain import take_in_plain
from hamlet.kernel.rows.predicates import is_disputed, scan_by_column, store_keys
from hamlet.kernel.rows.redoing import note_firm
from hamlet.kernel.rows.scan import forget_scanned, scan, store
from hamlet.kernel.rows.singles import clear_skipped, take_single
from hamlet.kernel.rows.snapshots import enter, has_log_room
from hamlet.kernel.rows.tree import clear_others, forget_trees, look_up, put_in
from hamlet.kernel.rows.windows import close_all, roll

# What there may be too little room for; and the way of walking is another from here on
ROOM_OUT, ROOM_SCRATCH, ROOM_LOG, ROOM_DECIDED, CHANGED = 1, 2, 3, 4, 5
# Of events that are noted as entries over snapshots
_NOTED = COMES_IN | PARTS | DISPUTES


@apart
def walk(m, b, events, table, ranks, out, part, i, end):
    """Walk through the events of a partition from i on, until its end or until room is short.

    Returns where it stands and what it needs more of (0: nothing, it is done); that is found out
    before anything of a step is changed.
    """
    S, short = m.S, CHANGED
    while short == CHANGED:
        if S[S_IS_TREE] == 0 and S[S_HI] <= S[S_OWN_HI]:
            i, short = _walk_scanned(m, b, events, table, ranks, out, part, i, end)
        else:
            i, short = _walk_any(m, b, events, table, ranks, out, part, i, end)
    return i, short


@apart
def _walk_any(m, b, events, table, ranks, out, part, i, end):
    """The same until a scanned table has own columns alone: CHANGED."""
    P, S, z = m.P, m.S, m.z
    can_share = S[S_POLICY] != OWN
    while i < end:
        if S[S_IS_TREE] == 0 and S[S_HI] <= S[S_OWN_HI]:
            return i, CHANGED
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
            short = _short_to_roll(m, b, can_share)
            if short != 0:
                return i, short
            roll(m, b, out, part, ts)
            if m.err[0] != 0:
                return i, 0
            note_firm(S)
        if (j - i) * z.layers > S[S_SCRATCH]:
            S[S_WANTED] = (j - i) * z.layers
            return i, ROOM_SCRATCH
        if can_share and (S[S_HI] > S[S_OWN_HI] or S[S_DECIDED_ROOM] > 0):
            if known & _NOTED and not _has_log_room(m, b, j - i):
                S[S_WANTED] = j - i
                return i, ROOM_LOG
            if S[S_DECIDED_ROOM] > 0 and S[S_DECIDED] == S[S_DECIDED_ROOM]:
                return i, ROOM_DECIDED
            _decide(m, b, events, table, ranks, part, i, j, ts, known)
        elif known & LOOPS:
            S[S_DIRTY] = 0
            if S[S_IS_TREE] == 1 and ts >= S[S_BLOCK_END]:
                turn_block(m, b, events, table, ranks, i, ts)
        if known & PLAIN and j == i + 1 and S[S_OWN_OPEN] == 0 and S[S_HI] > S[S_OWN_HI]:
            take_in_plain(m, b, events, table, ranks, i)
        else:
            step(m, b, events, table, ranks, i, j, known)
        if m.err[0] != 0:
            return i, 0
        i = j
    return i, _end(m, b, out, part)


@apart
def _walk_scanned(m, b, events, table, ranks, out, part, i, end):
    """The same over own columns in a scanned table: most events are taken in directly.

    Where windows open that are over snapshots it goes on in the other way: CHANGED.
    """
    P, S, z = m.P, m.S, m.z
    can_share = S[S_POLICY] != OWN
    while i < end:
        j, letter = i + 1, events.letter[i]
        known = P[P[KNOWN] + letter]
        if j < end and events.tied[j] == 1:
            known &= ~DIRECTS
            while j < end and events.tied[j] == 1:
                known |= P[P[KNOWN] + events.letter[j]] & ~DIRECTS
                j += 1
        if known == 0:
            i = j
            continue
        if events.ts[i] >= S[S_DUE]:
            short = _short_to_roll(m, b, can_share)
            if short != 0:
                return i, short
            roll(m, b, out, part, events.ts[i])
            if m.err[0] != 0:
                return i, 0
            note_firm(S)
            if S[S_HI] > S[S_OWN_HI] and can_share:
                return i, CHANGED
        if not known & DIRECTS and (j - i) * z.layers > S[S_SCRATCH]:
            S[S_WANTED] = (j - i) * z.layers
            return i, ROOM_SCRATCH
        if S[S_DECIDED_ROOM] > 0 and not _is_decided(m, b, events, table, ranks, part, i, j, known):
            return i, ROOM_DECIDED
        # A burst over own columns that nothing is written down of; else it would begin later on.
        if known & LOOPS:
            if not can_share and P[SHARING] != OWN:
                S[C_BURSTS] += S[S_DIRTY]  # no survey has counted it
            S[S_DIRTY] = 0
        if known & DIRECTS:
            if known & COMES_IN:
                S[S_DIRTY] = 1
            take_in(m, b, events, table, i, letter)
        else:
            step(m, b, events, table, ranks, i, j, known)
        if m.err[0] != 0:
            return i, 0
        i = j
    return i, _end(m, b, out, part)


@inlined
def _short_to_roll(m, b, can_share):
    """What there is too little room for where windows close and open."""
    S, z = m.S, m.z
    if S[S_OUT] + z.overlap * z.units > S[S_OUT_ROOM]:
        return ROOM_OUT
    if can_share and not _has_log_room(m, b, z.overlap):
        S[S_WANTED] = z.overlap
        return ROOM_LOG
    return 0


@inlined
def _end(m, b, out, part):
    """Close all windows at the end of a partition; what there is too little room for."""
    S = m.S
    if S[S_OUT] + m.z.overlap * m.z.units > S[S_OUT_ROOM]:
        return ROOM_OUT
    close_all(m, b, out, part)
    if S[S_DECIDED_ROOM] > 0 and S[S_TAIL] == FAR:
        end_decisions(m)
    return 0


@apart
def _is_decided(m, b, events, table, ranks, part, i, j, known):
    """Decide about the burst that a step begins, if any, unless there is no room to write it down.

    An event that is going to be taken in directly is counted here, as a step counts its own.
    """
    S = m.S
    if S[S_DECIDED] == S[S_DECIDED_ROOM]:
        return False
    _decide(m, b, events, table, ranks, part, i, j, events.ts[i], known)
    if known & DIRECTS:
        _count(m, events.letter[i], known, events.ts[i])
    return True


@inlined
def _count(m, letter, known, ts):
    """Count an event that is taken in directly: see decision.py."""
    if known & COMES_IN:
        m.D[D_ENTRIES] += m.P[m.P[ENTERS] + letter]
    if known & LOOPS:
        m.D[D_EVENTS] += 1
        if ts < m.S[S_TAIL]:
            m.D[D_TOTAL] += 1
        if known & PARTS:
            m.D[D_PARTS] += 1


@inlined
def _has_log_room(m, b, events):
    """Whether there is room for what some events, or windows that open, bring into E+."""
    P, S = m.P, m.S
    n = events * max(P[FEEDS], 1)
    cells = events * max(P[FED_COLUMNS], m.z.columns) * m.z.overlap * m.z.components
    return has_log_room(m, b, n, cells, S[S_LOG_ROOM], S[S_AMOUNTS_ROOM])


@inlined
def _decide(m, b, events, table, ranks, part, i, j, ts, known):
    """Before a step: settle what it reads, and decide about the burst that it begins."""
    S = m.S
    if known & READS:
        if S[S_UNSETTLED] == 1:
            settle(m, b)
        if S[S_READABLE] == 1:
            m.D[D_READS] += 1
            S[S_READABLE] = 0
    if known & LOOPS:
        if S[S_IS_TREE] == 1 and ts >= S[S_BLOCK_END]:
            turn_block(m, b, events, table, ranks, i, ts)
        if S[S_DIRTY] == 1:
            begin_burst(m, b, table, part, ts)
        elif S[S_FORCED] == 1:
            split(m, b, table)
        if known & (PARTS | DISPUTES) and S[S_HI] > S[S_OWN_HI]:
            make_room_for_singles(m, b, table, j - i)
        S[S_READABLE] = 1


@apart
def step(m, b, events, table, ranks, i, j, known):
    """Take in the events from i to j, all of one time."""
    P, S = m.P, m.S
    layers, loops = m.z.layers, 0
    has_own, has_shared = S[S_OWN_OPEN] > 0, S[S_HI] > S[S_OWN_HI]
    for e in range(i, j):
        letter, row = events.letter[e], (e - i) * layers
        is_loop = P[P[IS_LOOP] + letter] == 1
        if is_loop:
            _look_up(m, b, events, table, ranks, e, row, loops, has_own, has_shared)
            loops += 1
            if known & (PARTS | DISPUTES):
                _admit(m, b, events, table, e, row, has_own, has_shared)
        for op in entries(P, OPS_P, letter):
            if has_own or P[P[OP_IS_LOOP] + op] == 0:
                _find(m, events, op, e, row)
        if is_loop and has_own and has_shared:
            clear_others(m, row * m.z.whole, row * m.z.whole_x)
    if known & EMPTIES:
        for e in range(i, j):
            _reset(m, b, table, events.letter[e])
    loops = 0
    for e in range(i, j):
        letter = events.letter[e]
        for op in entries(P, OPS_P, letter):
            if has_own or P[P[OP_IS_LOOP] + op] == 0:
                _add(m, b, op, (e - i) * layers, has_shared)
        if P[P[IS_LOOP] + letter] == 1:
            _store(m, b, events, table, ranks, e, (e - i) * layers, loops, has_own, has_shared)
            loops += 1
    S[S_NEXT] += loops
    m.D[D_EVENTS] += loops
    if events.ts[i] < S[S_TAIL]:
        m.D[D_TOTAL] += loops


@inlined
def _look_up(m, b, events, table, ranks, e, row, loops, has_own, has_shared):
    """What stored events add to an event of the loop."""
    S, whole, whole_x = m.S, m.z.whole, m.z.whole_x
    if has_own:
        if S[S_IS_TREE] == 1:
            look_up(m, table, ranks, S[S_NEXT] + loops, row * whole, row * whole_x)
        elif m.P[PREDICATES] > 1:
            scan_by_column(m, events, table, e, row * whole, row * whole_x)
        else:
            scan(m, table, events.g[e], row * whole, row * whole_x)
    if has_shared:
        op = m.P[m.P[OPS_P] + events.letter[e]]  # those of the loop come first
        is_tree = S[S_IS_TREE] == 1
        look_up_shared(m, b, table, ranks, S[S_NEXT] + loops, events.g[e], is_tree, row)
        extend_row(m, b, events, op, e, row)


@apart
def _admit(m, b, events, table, e, row, has_own, has_shared):
    """Have an event of the loop for each E+ as that has it, where they differ."""
    P, letter = m.P, events.letter[e]
    is_skipped = P[P[SKIPS_P] + letter] < P[P[SKIPS_P] + letter + 1]
    if not is_skipped and (P[PREDICATES] == 1 or not is_disputed(m, events, table, e)):
        return
    m.D[D_PARTS] += 1
    if has_own and is_skipped:
        clear_skipped(m, letter, row * m.z.whole, row * m.z.whole_x)
    if has_shared:
        take_single(m, b, events, table, e, row)


@inlined
def _store(m, b, events, table, ranks, e, row, loops, has_own, has_shared):
    """Store an event of the loop."""
    S, whole, whole_x = m.S, m.z.whole, m.z.whole_x
    if has_own:
        add_sizes(m.v, m.z.rows * whole, m.scratch, row * whole, whole, m.err)
    has_coefficients = has_shared and end_at(m, b, row)
    if S[S_IS_TREE] == 0:
        store(m, b, table, events.f[e], row, has_coefficients)
        if m.P[PREDICATES] > 1:
            store_keys(m, events, table, e)
        return
    if has_own:
        put_in(m, table, ranks, S[S_NEXT] + loops, row * whole, row * whole_x)
    if has_coefficients:
        put_in_shared(m, b, ranks, S[S_NEXT] + loops, row)


@inlined
def _find(m, events, op, e, row):
    """What an event adds at the nodes of an op, in the row of scratch of its layer."""
    P = m.P
    nc, nx = m.z.components, m.z.extremes
    whole, whole_x = row_size(m)
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
def _stretches(m, n):
    """N columns of a row are so many stretches of so many numbers each, so far apart.

    All columns stand side by side. (A range with a step would be counted out by a division.)
    """
    if n == m.z.columns:
        return 1, m.z.whole, 0
    return m.z.blocks, n, m.z.columns


@inlined
def _stretches_x(m, n):
    """The same of extremes, which may be more or fewer than numbers."""
    if n == m.z.columns:
        return 1, m.z.whole_x
    return m.z.blocks_x, n


@inlined
def _take(m, source, source_x, at, at_x, n, is_fresh):
    """Add n columns of a row to scratch, or have them there."""
    stretches_x, n_x = _stretches_x(m, n)
    stretches, n, step = _stretches(m, n)
    if is_fresh:
        for _ in range(stretches):
            copy_cells(m.scratch, at, m.v, source, n)
            at += step
            source += step
    elif n == 1:
        for _ in range(stretches):
            numbers.add(m.scratch, at, m.v, source, m.err)
            at += step
            source += step
    else:
        for _ in range(stretches):
            add_cells(m.scratch, at, m.v, source, n, m.err)
            at += step
            source += step
    if m.z.whole_x > 0:
        _take_extremes(m, source_x, at_x, n_x, stretches_x, is_fresh)


@inlined
def _take_extremes(m, source, at, n, stretches, is_fresh):
    for _ in range(stretches):
        for i in range(n):
            if is_fresh or m.x[source + i] < m.scratch_x[at + i]:
                m.scratch_x[at + i] = m.x[source + i]
        at += m.z.columns
        source += m.z.columns


@inlined
def _add_own(m, events, op, e, at, at_x, n):
    """Add the weights and extremes of an event itself, where trends end at it."""
    P = m.P
    nc, nx, columns = m.z.components, m.z.extremes, m.z.columns
    size, size_x = window_size(m)
    for _ in range(m.z.overlap):
        for c in range(1, nc):
            weight = P[P[OP_WEIGHT] + op * (nc - 1) + c - 1]
            if weight >= 0:
                factor = events.weights[weight * m.z.n_events + e]
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
    value = events.extremes[(attribute >> 1) * m.z.n_events + e]
    if value != value:
        return
    value = -value if attribute & 1 else value
    for i in range(n):
        if value < m.scratch_x[at_x + i] and not numbers.is_zero(m.scratch, at + i):
            m.scratch_x[at_x + i] = value


@inlined
def _add(m, b, op, row, has_shared):
    """Add what was found to the rows that it goes to."""
    P = m.P
    whole, whole_x = row_size(m)
    first, n = P[P[OP_FIRST] + op], P[P[OP_N] + op]
    row += P[P[OP_LAYER] + op]
    at, at_x = row * whole + first, row * whole_x + first
    stretches, wide, step = _stretches(m, n)
    stretches_x, n_x = _stretches_x(m, n)
    for k in entries(P, OP_TARGETS_P, op):
        to, source = P[P[TARGET_AT] + k], at
        if to < m.z.columns:  # what comes into E+ is row 0
            m.S[S_DIRTY] = 1
            m.D[D_ENTRIES] += 1
            if has_shared:
                lo = max(m.S[S_LO], m.S[S_OWN_HI] + 1)
                enter(m, b, m.scratch, at, m.scratch_x, at_x, to, n, lo, m.S[S_HI])
        if wide == 1:
            for _ in range(stretches):
                numbers.add(m.v, to, m.scratch, source, m.err)
                to += step
                source += step
        else:
            for _ in range(stretches):
                add_cells(m.v, to, m.scratch, source, wide, m.err)
                to += step
                source += step
        if whole_x > 0:
            _add_extremes(m, P[P[TARGET_AT_X] + k], at_x, n_x, stretches_x)


@inlined
def _add_extremes(m, to, at, n, stretches):
    for _ in range(stretches):
        least_cells(m.x, to, m.scratch_x, at, n)
        to += m.z.columns
        at += m.z.columns


@apart
def _reset(m, b, table, letter):
    """Empty what an event of a letter bars."""
    P, S = m.P, m.S
    for k in entries(P, RESETS_P, letter):
        at, at_x, n = P[P[RESET_AT] + k], P[P[RESET_AT_X] + k], P[P[RESET_N] + k]
        for block in range(m.z.blocks):
            zero_cells(m.v, at + block * m.z.columns, n)
        for block in range(m.z.blocks_x):
            fill_cells(m.x, at_x + block * m.z.columns, n, float("inf"))
    if P[P[IS_CLEAR] + letter] == 1:
        zero_cells(m.v, m.z.rows * m.z.whole, m.z.whole)
        if S[S_IS_TREE] == 1:
            forget_trees(m, b, table)
        forget_scanned(m, b)
