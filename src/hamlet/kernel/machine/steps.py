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
from hamlet.kernel.machine.rows import Row, add_row, copy_row, empty_row, row_of


@inlined
def passes(P, u):
    """Whether a unit has rows that hold trends for one step only."""
    return P[P[at.U_PASS_P] + u] < P[P[at.U_PASS_P] + u + 1]


@compiled
def renew(m, u):
    """Empty the rows for one step only of a unit, if what they hold is not of the last step."""
    P, S = m.P, m.S
    if passes(P, u) and S[P[at.S_STEP] + u] != S[at.C_STEPS] - 1:
        _empty_passed(m, u)
        S[P[at.S_STEP] + u] = S[at.C_STEPS] - 1


@compiled
def pass_on(m, u):
    """Empty the rows for one step only of a unit, for those that wait from this step on."""
    P, S = m.P, m.S
    if passes(P, u):
        _empty_passed(m, u)
        S[P[at.S_STEP] + u] = S[at.C_STEPS]


@inlined
def _empty_passed(m, u):
    for k in entries(m.P, at.U_PASS_P, u):
        empty_row(row_of(m, u, m.P[m.P[at.U_PASS] + k]))


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
