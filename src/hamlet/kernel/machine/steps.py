"""Steps that move trends: MATCH NEXT and MATCH CONTIGUOUS.

Where trends wait until an event goes on with them, their rows are emptied when one does; where they
wait for one step only, the rows of a unit that hold them are emptied with the next event that the
unit knows, and count for nothing if that is not of the very next step. Simultaneous events all go
on with the same trends, so rows are emptied when all of them have been found to, and before
anything is added.

Cost: O(rows x windows) for each op, as for any other; nothing for events that the unit does not
know, and for ops in units with no trend to go on with.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.catch_up import sync
from hamlet.kernel.machine.conditions import atoms_fit
from hamlet.kernel.machine.memory import entries, shape
from hamlet.kernel.machine.rows import Row, add_row, copy_row, empty_row, one_window, row_of


@inlined
def passes(P, u):
    """Whether a unit has rows that hold trends for one step only."""
    return P[P[at.U_PASS_P] + u] < P[P[at.U_PASS_P] + u + 1]


@compiled
def renew(m, u):
    """Empty the rows for one step only of a unit, if what they hold is not of the last step."""
    if is_past(m, u):
        if m.S[m.P[at.S_STEP] + u] >= 0:  # or they are as empty as when it became active
            _empty_passed(m, u, -1)
        m.S[m.P[at.S_STEP] + u] = m.S[at.C_STEPS] - 1


@inlined
def is_past(m, u):
    """Whether a unit has rows for one step only, and what they hold is not of the last step."""
    return passes(m.P, u) and m.S[m.P[at.S_STEP] + u] != m.S[at.C_STEPS] - 1


@inlined
def pass_on(m, u, own):
    """Empty the rows for one step only of a unit, for those that wait from this step on.

    All but one, if that has them already.
    """
    if passes(m.P, u):
        _empty_passed(m, u, own)
        wait_from_here(m, u)


@inlined
def wait_from_here(m, u):
    """Note that what a unit's rows for one step only are about to hold waits from this step on."""
    m.S[m.P[at.S_STEP] + u] = m.S[at.C_PASSED] = m.S[at.C_STEPS]
    wait_on(m.P, m.S, u)


@inlined
def wait_on(P, S, u):
    """Note that trends of a unit that is up to date wait for the very next event.

    Where that may be lazy, so may be those after it: a run of them is applied when another event
    ends it, if it has begun right after the unit was up to date. A run is of one accumulator, by
    which it is known from its first event on.
    """
    quick = P[at.U_QUICK] + at.QUICK * u
    if P[quick + at.Q_LAZY] < P[quick + at.Q_LAZY_END] and S[P[at.S_WAITS] + u] == 0:
        S[P[at.S_WAITS] + u] = at.NO_RUN
        S[P[at.S_WAITING] + S[at.C_WAITING]] = u
        S[at.C_WAITING] += 1


@compiled
def end_runs(m, sides, letter):
    """Apply the runs that an event of a letter ends; -1: of any letter.

    What waits then has waited since the step before.
    """
    P, S = m.P, m.S
    kept = 0
    for k in range(S[at.C_WAITING]):
        u = S[P[at.S_WAITING] + k]
        if S[P[at.S_WHERE] + u] >= 0:
            run = _run_with(P, S, sides, u, letter) if letter >= 0 else 0
            if run > 0:
                S[P[at.S_WAITS] + u] = run
                S[P[at.S_WAITING] + kept] = u
                kept += 1
                continue
            sync(m, u)
            S[P[at.S_STEP] + u] = S[at.C_PASSED] = S[at.C_STEPS] - 1
        S[P[at.S_WAITS] + u] = 0
    S[at.C_WAITING] = kept


@compiled
def let_pass(m, sides):
    """Let others come between two events: what waits for the very next has waited in vain."""
    if m.S[at.C_WAITING] > 0:
        end_runs(m, sides, -1)
    m.S[at.C_STEPS] += 1


@inlined
def _run_with(P, S, sides, u, letter):
    """The run of a unit that events of a letter begin, or go on with, as in S_WAITS; 0: none.

    Its loops are of different types, or of one atom, so a letter has at most one of them.
    """
    quick, waits = P[at.U_QUICK] + at.QUICK * u, S[P[at.S_WAITS] + u]
    for lazy in range(P[quick + at.Q_LAZY], P[quick + at.Q_LAZY_END]):
        z = P[P[at.LAZIES] + at.LAZY * lazy + at.LZ_Z]
        is_its_own = waits == at.NO_RUN or waits == at.NO_RUN + 1 + z
        if is_its_own and sides.letters[letter * S[at.C_ATOMS] + P[P[at.Z_ATOM] + z]] == 1:
            return at.NO_RUN + 1 + z
    return 0


@compiled
def _empty_passed(m, u, own):
    for k in entries(m.P, at.U_PASS_P, u):
        row = m.P[m.P[at.U_PASS] + k]
        if row != own:
            empty_row(row_of(m, u, row))


@compiled
def leave(m, sides, op, i):
    """Empty the rows whose trends event i has gone on with."""
    P = m.P
    u = P[P[at.O_UNIT] + op]
    for source in entries(P, at.O_SRC_P, op):
        cond = P[P[at.O_SRC_COND] + source]
        if cond >= 0 and not atoms_fit(P, m.S, sides, cond, i):
            continue
        for k in entries(P, at.SRC_TAKE_P, source):
            empty_row(row_of(m, u, P[P[at.SRC_TAKE] + k]))


@inlined
def sum_of_sources(m, u, op):
    """What the rows hold that an op reads, in the room for one row."""
    P = m.P
    w, nc, nx = shape(P, u)
    total = Row(m.v, m.x, P[at.T_BASE], P[at.T_BASE_X], w * nc, w * nx)
    first = P[P[at.O_SRC_P] + op]
    copy_row(total, row_of(m, u, P[P[at.O_SRC_ROW] + first]))
    for source in range(first + 1, P[P[at.O_SRC_P] + op + 1]):
        add_row(total, row_of(m, u, P[P[at.O_SRC_ROW] + source]), m.err)
    return total


@inlined
def draw_in(m, u, op, own):
    """Move into a row what the other rows hold that an op reads; START keeps its empty trends."""
    P = m.P
    _, nc, nx = shape(P, u)
    for source in entries(P, at.O_SRC_P, op):
        row = P[P[at.O_SRC_ROW] + source]
        if row == own:
            continue
        other = row_of(m, u, row)
        add_trends(row_of(m, u, own), other, nc, nx, m.err)
        if P[P[at.R_START] + P[P[at.U_RBASE] + u] + row] == 0 and not is_nothing(other, nc):
            empty_row(other)


@inlined
def add_trends(row, other, nc, nx, err):
    """Add another row in the windows in which it has trends, which may be few."""
    for slot in range(row.size // nc):
        if not numbers.is_zero(other.v, other.at + slot * nc):
            add_row(one_window(row, slot, nc, nx), one_window(other, slot, nc, nx), err)


@inlined
def is_nothing(total, nc):
    """Whether a row has no trend in any window."""
    for k in range(total.at, total.at + total.size, nc):
        if not numbers.is_zero(total.v, k):
            return False
    return True


@inlined
def hand_on(m, quick):
    """Add all of one row to another, and empty it; nothing where it has no trend."""
    P, S = m.P, m.S
    source, to, size = P[quick + at.QO_FROM], P[quick + at.QO_OWN], P[quick + at.QO_SIZE]
    u, is_any = P[quick + at.QO_UNIT], False
    for e in range(0, size, P[P[at.U_NC] + u]):
        is_any = is_any or not numbers.is_zero(m.v, source + e)
    if not is_any:
        return
    S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    for e in range(size):
        numbers.add(m.v, to + e, m.v, source + e, m.err)
        numbers.set_zero(m.v, source + e)
    source, to = P[quick + at.QO_FROM_X], P[quick + at.QO_TO_X]
    for e in range(P[quick + at.QO_SIZE_X]):
        m.x[to + e] = min(m.x[to + e], m.x[source + e])
        m.x[source + e] = np.inf


@inlined
def begin_waiting(m, quick):
    """Have all empty trends wait at a row for the very next event, and nothing else in its unit."""
    P, S, u = m.P, m.S, m.P[quick + at.QO_UNIT]
    if S[P[at.S_STEP] + u] >= 0:
        _empty_passed(m, u, -1)
    source, to = P[quick + at.QO_FROM], P[quick + at.QO_OWN]
    for e in range(0, P[quick + at.QO_SIZE], P[P[at.U_NC] + u]):
        numbers.copy(m.v, to + e, m.v, source + e)
    S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    wait_from_here(m, u)


@inlined
def end_waiting(m, quick):
    """End the trends that have waited at a row; nothing waits in its unit any more."""
    P, S, u = m.P, m.S, m.P[quick + at.QO_UNIT]
    source, to, nc = P[quick + at.QO_FROM], P[quick + at.QO_OWN], P[P[at.U_NC] + u]
    for slot in range(P[P[at.U_W] + u]):
        e, nx = slot * nc, P[P[at.U_NX] + u]
        if numbers.is_zero(m.v, source + e):
            continue
        S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
        for c in range(e, e + nc):
            numbers.add(m.v, to + c, m.v, source + c, m.err)
        before, after = P[quick + at.QO_FROM_X], P[quick + at.QO_TO_X]
        for x in range(slot * nx, (slot + 1) * nx):
            m.x[after + x] = min(m.x[after + x], m.x[before + x])
    _empty_passed(m, u, -1)
    S[P[at.S_STEP] + u] = -1


@inlined
def goes_on(m, u, op, begins):
    """Whether an op goes on with an event, as one of several; the first has others passed by."""
    P, S = m.P, m.S
    if S[P[at.S_STEP] + u] == S[at.C_STEPS]:
        return True
    if not is_past(m, u):
        for k in entries(P, at.O_MISSED_P, op):
            empty_row(row_of(m, u, P[P[at.O_MISSED] + k]))
    elif begins == 0:
        return False
    elif S[P[at.S_STEP] + u] >= 0:
        _empty_passed(m, u, -1)
    wait_from_here(m, u)
    return True


@inlined
def draw_out(m, u, op):
    """Empty the rows that an op has read, but for those of START."""
    P = m.P
    for source in entries(P, at.O_SRC_P, op):
        row = P[P[at.O_SRC_ROW] + source]
        if P[P[at.R_START] + P[P[at.U_RBASE] + u] + row] == 0:
            empty_row(row_of(m, u, row))


@compiled
def leave_all(m, u, op):
    """Empty all rows whose trends an op, that asks nothing more of events, goes on with."""
    P = m.P
    first, end = P[P[at.O_SRC_P] + op], P[P[at.O_SRC_P] + op + 1]
    for k in range(P[P[at.SRC_TAKE_P] + first], P[P[at.SRC_TAKE_P] + end]):
        empty_row(row_of(m, u, P[P[at.SRC_TAKE] + k]))
