"""Loops whose events are stored in order, in one go: what MATCH NEXT does most often.

An event alone in its time takes what it goes on with off the front of a log, and what a row holds
that leads to the loop, adds its own, and is stored in the log itself; trends that may end at it are
added to the row of the end. It comes to the same as `store_on` in values.py, window by window.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.code import ONE
from hamlet.kernel.jit import compiled
from hamlet.kernel.machine.logs import logged
from hamlet.kernel.machine.memory import entries, shape
from hamlet.kernel.machine.ordered import enter, pop_below
from hamlet.kernel.machine.rows import Row, empty_row, row_of
from hamlet.kernel.machine.values import own_extreme


@compiled
def take_and_store(m, events, sides, stored, op, i, ts):
    """Go on with stored events, and be stored among them."""
    P, S, v, x = m.P, m.S, m.v, m.x
    quick = P[at.O_QUICK] + at.QUICK * op
    u, log, source = P[quick + at.QO_UNIT], P[quick + at.QO_OWN], P[quick + at.QO_FROM]
    w, nc, nx = shape(P, u)
    is_begun = False
    if source >= 0:
        for begun in range(source, source + w * nc, nc):
            is_begun = is_begun or not numbers.is_zero(v, begun)
    total = Row(v, x, P[at.T_BASE], P[at.T_BASE_X], w * nc, w * nx)
    cond = P[P[at.O_SCAN_COND] + P[P[at.O_SCAN_P] + op]]
    popped = pop_below(m, sides, stored, log, cond, i, total)
    if not is_begun and popped == 0:
        return
    S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    entry = enter(P, S, sides, stored, log, i, ts)
    own = logged(P, S, stored, log, entry, w * nc, w * nx)
    for slot in range(w):
        here, here_x = total.at + slot * nc, total.at_x + slot * nx
        if popped == 0:
            for c in range(here, here + nc):
                numbers.set_zero(v, c)
            for e in range(here_x, here_x + nx):
                x[e] = np.inf
        if is_begun:
            before, before_x = source + slot * nc, P[quick + at.QO_FROM_X] + slot * nx
            for c in range(nc):
                numbers.add(v, here + c, v, before + c, m.err)
            for e in range(nx):
                x[here_x + e] = min(x[here_x + e], x[before_x + e])
        if not numbers.is_zero(v, here):
            _add_own(m, events, op, i, u, here, here_x, nc, nx)
            end, end_x = P[quick + at.QO_END] + slot * nc, P[quick + at.QO_END_X] + slot * nx
            if P[quick + at.QO_END] >= 0:
                for c in range(nc):
                    numbers.add(v, end + c, v, here + c, m.err)
                for e in range(nx):
                    x[end_x + e] = min(x[end_x + e], x[here_x + e])
        for c in range(nc):
            numbers.copy(own.v, own.at + slot * nc + c, v, here + c)
        for e in range(nx):
            own.x[own.at_x + slot * nx + e] = x[here_x + e]
    if is_begun:
        first = P[P[at.O_SRC_P] + op]
        for k in entries(P, at.SRC_TAKE_P, first):
            empty_row(row_of(m, u, P[P[at.SRC_TAKE] + k]))


@compiled
def _add_own(m, events, op, i, u, here, here_x, nc, nx):
    """Add what the event itself has to what it goes on with, in a window."""
    P, S, v = m.P, m.S, m.v
    weights = P[at.O_W] + P[P[at.O_W_P] + op]
    for c in range(1, nc):
        weight = P[weights + c - 1]
        if weight >= 0:
            factor = events.weights[weight * S[at.C_EVENTS] + i]
            numbers.add_times(v, here + c, v, here, factor, m.err)
        elif weight == ONE:
            numbers.add(v, here + c, v, here, m.err)
    for e in range(nx):
        own, added = own_extreme(P, S, events, u, op, e, i)
        m.x[here_x + e] = min(m.x[here_x + e] + added, own)
