"""Bundles: queries that behave alike are one, as long as they do.

Units with the same rows, ops, aggregates and windows, which differ only in the events that some ops
ask for, make a bundle. While every event is for all of them or for none, their rows are equal: the
bundle is *merged*, one unit stands for all, and what an event, a window or a snapshot costs does
not grow with their number. An event that is for some only *splits* the bundle: the state is copied
to each unit. Once every open window has begun after the last such event, rows are equal again and
the bundle may be merged, which is free; but to split it again is not.

So there is a choice at each event that is for all units of a split bundle, and it is made from what
is at hand: how many such events have come since the last that was for some. Patience is how many
there have to be. 0: merge whenever possible. FOREVER: never merge.

Where many events for some have come in a row, with none for all in between, they are no longer
looked at: the bundle *rests* until an event for all comes. So a stream on which queries never agree
does not pay for the question.

Each partition begins as if units had behaved alike before: what is decided in it depends on no
other one.

Cost: a merge or a split O(units x rows x windows); a decision a few comparisons.
"""

from __future__ import annotations

from hamlet.kernel import layout as at
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.memory import FAR, entries
from hamlet.kernel.machine.rows import copy_row, row_of

IDLE, MERGED, SPLIT = range(3)
FOREVER = 1 << 40
# Events for some in a row, for each of its units, after which a bundle rests
_PATIENCE_OF_UNITS = 32
# What S_B_RUN is then; before, as many below zero as events for some have come in a row
_RESTING = -FOREVER
# Numbers in a row of a trace: partition, time, bundle, events of the burst before, units, units
# with state of their own before and after, and what was decided
TRACED = 8
# What is decided: events are for all units, or for some
STAYS_MERGED, STAYS_SPLIT, IS_MERGED, IS_SPLIT = range(4)


@compiled
def begin_bundles(P, S):
    """Begin a partition with no unit active, whatever those before it were like."""
    for b in range(P[at.N_B]):
        if S[P[at.S_B_RUN] + b] == _RESTING:
            _look_again(P, b)
        patience = P[P[at.B_PATIENCE] + b]
        S[P[at.S_B_RUN] + b] = patience if patience < FOREVER else 0
        S[P[at.S_B_MODE] + b] = IDLE
        S[P[at.S_B_LIVE] + b] = 0
        S[P[at.S_B_PARTIAL] + b] = -FAR


@inlined
def come_in(P, S, u):
    """Note that a unit has become active."""
    b = P[P[at.U_BUNDLE] + u]
    if b >= 0:
        S[P[at.S_B_LIVE] + b] += 1


@inlined
def go_out(P, S, u):
    """Note that a unit is no longer active."""
    b = P[P[at.U_BUNDLE] + u]
    if b >= 0:
        S[P[at.S_B_LIVE] + b] -= 1
        if S[P[at.S_B_LIVE] + b] == 0:
            S[P[at.S_B_MODE] + b] = IDLE


@compiled
def take_out(P, S, u):
    """Take a unit off the list of active ones; the last takes its place."""
    last = S[P[at.S_ACTIVE] + S[at.C_ACTIVE] - 1]
    S[P[at.S_ACTIVE] + S[P[at.S_WHERE] + u]] = last
    S[P[at.S_WHERE] + last] = S[P[at.S_WHERE] + u]
    S[P[at.S_WHERE] + u] = -1
    S[at.C_ACTIVE] -= 1
    S[at.C_ASLEEP] += P[P[at.U_ALWAYS] + u]
    go_out(P, S, u)


@inlined
def stands_for(P, S, u):
    """The bundle that a unit stands for, or -1."""
    b = P[P[at.U_BUNDLE] + u]
    return b if b >= 0 and S[P[at.S_B_MODE] + b] == MERGED else -1


@compiled
def for_all(m, b, ts):
    """An event is for all units of a bundle: whether the bundle is merged now."""
    P, S = m.P, m.S
    if S[P[at.S_B_RUN] + b] == _RESTING:
        _wake(P, S, b, ts)
    mode, units = S[P[at.S_B_MODE] + b], P[P[at.B_P] + b + 1] - P[P[at.B_P] + b]
    run = max(S[P[at.S_B_RUN] + b], 0)
    S[P[at.S_B_RUN] + b] = run + 1
    before = mode
    if mode == IDLE:
        mode = MERGED if run >= P[P[at.B_PATIENCE] + b] else SPLIT
    elif mode == SPLIT and run >= P[P[at.B_PATIENCE] + b] and _are_equal(P, S, b, units):
        for k in range(P[P[at.B_P] + b] + 1, P[P[at.B_P] + b + 1]):
            take_out(P, S, P[P[at.B_UNIT] + k])
        S[at.C_MERGED] += 1
        mode = MERGED
    S[P[at.S_B_MODE] + b] = mode
    S[at.C_SHARED] += mode == MERGED
    if S[at.C_TRACE_ROOM] > 0:
        if mode == MERGED:
            _trace(m, b, ts, units, before, STAYS_MERGED if before == MERGED else IS_MERGED)
        else:
            _trace(m, b, ts, units, before, STAYS_SPLIT)
    return mode == MERGED


@inlined
def _are_equal(P, S, b, units):
    """Whether all open windows of all units have begun after the last event that was for some."""
    u = P[P[at.B_UNIT] + P[P[at.B_P] + b]]
    if S[P[at.S_B_LIVE] + b] < units:
        return False
    return S[P[at.S_LO] + u] * P[P[at.U_SLIDE] + u] > S[P[at.S_B_PARTIAL] + b]


@inlined
def stay_split(P, S, b, ts):
    """Note the last event that was for some units of a split bundle."""
    run = min(S[P[at.S_B_RUN] + b], 0) - 1
    S[P[at.S_B_RUN] + b] = run
    S[P[at.S_B_PARTIAL] + b] = ts
    if run < -_PATIENCE_OF_UNITS * (P[P[at.B_P] + b + 1] - P[P[at.B_P] + b]):
        _rest(P, S, b)


@compiled
def _rest(P, S, b):
    """Have events for some units of a bundle no longer looked at."""
    S[P[at.S_B_RUN] + b] = _RESTING
    for op in range(P[at.N_OPS]):
        quick = P[at.O_QUICK] + at.QUICK * op
        if P[quick + at.QO_BUNDLE] == b:
            P[quick + at.QO_BUNDLE] = -1


@compiled
def _wake(P, S, b, ts):
    """Look at them again; those that were not may have come until now."""
    S[P[at.S_B_RUN] + b] = 0
    S[P[at.S_B_PARTIAL] + b] = ts
    S[P[at.S_B_MODE] + b] = SPLIT if S[P[at.S_B_LIVE] + b] > 0 else IDLE
    _look_again(P, b)


@compiled
def _look_again(P, b):
    """Have events for some units of a bundle looked at."""
    for op in range(P[at.N_OPS]):
        quick = P[at.O_QUICK] + at.QUICK * op
        if P[P[at.U_BUNDLE] + P[quick + at.QO_UNIT]] == b:
            P[quick + at.QO_BUNDLE] = b


@compiled
def for_some(m, b, ts):
    """An event is, or may be, for some units of a bundle only."""
    P, S = m.P, m.S
    before = S[P[at.S_B_MODE] + b]
    if before == MERGED:
        split(m, b)
        S[at.C_SPLIT] += 1
    S[P[at.S_B_MODE] + b] = SPLIT
    stay_split(P, S, b, ts)
    if S[at.C_TRACE_ROOM] > 0:
        units = P[P[at.B_P] + b + 1] - P[P[at.B_P] + b]
        _trace(m, b, ts, units, before, IS_SPLIT if before == MERGED else STAYS_SPLIT)


@compiled
def split(m, b):
    """Give each unit of a merged bundle the state of the one that stands for all."""
    P, S = m.P, m.S
    one = P[P[at.B_UNIT] + P[P[at.B_P] + b]]
    for k in range(P[P[at.B_P] + b] + 1, P[P[at.B_P] + b + 1]):
        u = P[P[at.B_UNIT] + k]
        for row in range(P[P[at.U_ROWS_P] + one + 1] - P[P[at.U_ROWS_P] + one]):
            to = P[P[at.U_ROWS] + P[P[at.U_ROWS_P] + u] + row]
            source = P[P[at.U_ROWS] + P[P[at.U_ROWS_P] + one] + row]
            copy_row(row_of(m, u, to), row_of(m, one, source))
        S[P[at.S_LO] + u], S[P[at.S_HI] + u] = S[P[at.S_LO] + one], S[P[at.S_HI] + one]
        S[P[at.S_DUE] + u], S[P[at.S_TOUCHED] + u] = S[P[at.S_DUE] + one], S[P[at.S_TOUCHED] + one]
        S[P[at.S_SLOT] + u], S[P[at.S_SEEN] + u] = S[P[at.S_SLOT] + one], -1
        S[P[at.S_LATE] + u] = S[P[at.S_LATE] + one]
        _copy_stamps(m, u, one)
        S[P[at.S_WHERE] + u] = S[at.C_ACTIVE]
        S[P[at.S_ACTIVE] + S[at.C_ACTIVE]] = u
        S[at.C_ACTIVE] += 1
        come_in(P, S, u)
    S[P[at.S_B_MODE] + b] = SPLIT


@compiled
def _copy_stamps(m, u, one):
    """Have a unit up to date with its accumulators as far as another of its bundle is."""
    P, S = m.P, m.S
    first, source = P[P[at.U_LAZY_P] + u], P[P[at.U_LAZY_P] + one]
    for k in range(P[P[at.U_LAZY_P] + u + 1] - first):
        to, of = P[P[at.U_WAITS] + first + k], P[P[at.U_WAITS] + source + k]
        S[P[at.S_STAMP_N] + to] = S[P[at.S_STAMP_N] + of]
        S[P[at.S_STAMP_EVENTS] + to] = S[P[at.S_STAMP_EVENTS] + of]
        for e in range(2):
            m.zf[2 * (P[at.N_Z] + to) + e] = m.zf[2 * (P[at.N_Z] + of) + e]
        sums = P[at.N_SUMS] + P[P[at.LAZIES] + at.LAZY * to + at.LZ_SBASE]
        of_sums = P[at.N_SUMS] + P[P[at.LAZIES] + at.LAZY * of + at.LZ_SBASE]
        for e in range(2 * P[P[at.U_NC] + u]):
            m.zs[2 * sums + e] = m.zs[2 * of_sums + e]


@compiled
def split_all(m):
    """Give each unit its own state, for it to be kept."""
    for b in range(m.P[at.N_B]):
        if m.S[m.P[at.S_B_MODE] + b] == MERGED:
            split(m, b)


@inlined
def alike_windows(P, S, u):
    """How many of the last windows of a unit are equal to those of all others of its bundle."""
    b = P[P[at.U_BUNDLE] + u]
    if b < 0 or S[P[at.S_B_RUN] + b] == _RESTING:
        return 0
    first = S[P[at.S_B_PARTIAL] + b] // P[P[at.U_SLIDE] + u] + 1
    return max(0, S[P[at.S_HI] + u] + 1 - max(first, S[P[at.S_LO] + u]))


@inlined
def take_up(P, S, u, alike):
    """Note that a unit has been loaded, so many of whose last windows equal those of others."""
    b = P[P[at.U_BUNDLE] + u]
    if b >= 0:
        S[P[at.S_B_LIVE] + b] += 1
        S[P[at.S_B_MODE] + b] = SPLIT
        # As if the last event for some had come just before the first of these windows.
        partial = (S[P[at.S_HI] + u] + 1 - alike) * P[P[at.U_SLIDE] + u] - 1
        S[P[at.S_B_PARTIAL] + b] = max(S[P[at.S_B_PARTIAL] + b], partial)


@compiled
def merge_loaded(P, S):
    """Have bundles be one again whose units have been loaded and behave alike."""
    for b in range(P[at.N_B]):
        units = P[P[at.B_P] + b + 1] - P[P[at.B_P] + b]
        if (
            S[P[at.S_B_MODE] + b] == SPLIT
            and S[P[at.S_B_RUN] + b] >= P[P[at.B_PATIENCE] + b]
            and _are_equal(P, S, b, units)
        ):
            for k in range(P[P[at.B_P] + b] + 1, P[P[at.B_P] + b + 1]):
                take_out(P, S, P[P[at.B_UNIT] + k])
            S[P[at.S_B_MODE] + b] = MERGED


@compiled
def _trace(m, b, ts, units, before, decided):
    """Write a row of what was decided."""
    P, S = m.P, m.S
    one = P[P[at.B_UNIT] + P[P[at.B_P] + b]]
    burst = 0
    if S[P[at.S_WHERE] + one] >= 0:
        for lazy in entries(P, at.U_LAZY_P, one):
            z = P[P[at.LAZIES] + at.LAZY * lazy + at.LZ_Z]
            burst = max(burst, S[P[at.S_C_N] + P[P[at.Z_TOTAL] + z]] - S[P[at.S_STAMP_N] + lazy])
    row = TRACED * S[at.C_TRACE]
    S[at.C_TRACE] += 1
    m.trace[row], m.trace[row + 1], m.trace[row + 2] = S[at.C_PART], ts, b
    m.trace[row + 3], m.trace[row + 4] = burst, units
    m.trace[row + 5] = 0 if before == IDLE else 1 if before == MERGED else units
    m.trace[row + 6] = 1 if S[P[at.S_B_MODE] + b] == MERGED else units
    m.trace[row + 7] = decided
