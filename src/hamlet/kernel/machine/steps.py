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

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
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
        m.S[m.P[at.S_STEP] + u] = m.S[at.C_STEPS]


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


@compiled
def leave_all(m, u, op):
    """Empty all rows whose trends an op, that asks nothing more of events, goes on with."""
    P = m.P
    first, end = P[P[at.O_SRC_P] + op], P[P[at.O_SRC_P] + op + 1]
    for k in range(P[P[at.SRC_TAKE_P] + first], P[P[at.SRC_TAKE_P] + end]):
        empty_row(row_of(m, u, P[P[at.SRC_TAKE] + k]))
