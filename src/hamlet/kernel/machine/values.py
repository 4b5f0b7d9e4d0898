"""What an event adds at a state: found from the rows, trees and logs that its op reads.

`direct` does it at once for an event alone in its time, `move_on` where trends move. Otherwise
`find_value` finds what every event of the step adds, from the state before the step, and `commit`
adds it afterwards.

Cost: O(rows read x windows) for each op, for trees times the logarithm of the events of a window,
and for logs O(stored events x windows) more.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.code import (
    ADDED,
    EMPTIED,
    LAST_STEP,
    NO_EXTREME,
    ONE,
    ORDERED,
    PASSES,
    POPPED,
    STAYS,
    TAKEN,
)
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.catch_up import extend_extremes, gather
from hamlet.kernel.machine.conditions import NO_EVENT, atoms_fit, edge_open
from hamlet.kernel.machine.logs import add_stored, append, first_open, log_entry, logged
from hamlet.kernel.machine.memory import ENTRY, NO_STEP, entries, shape
from hamlet.kernel.machine.ordered import insert, release, take_all, take_below
from hamlet.kernel.machine.rows import Row, add_row, copy_row, empty_row, row_of
from hamlet.kernel.machine.steps import (
    add_trends,
    draw_in,
    draw_out,
    goes_on,
    is_nothing,
    is_past,
    leave,
    leave_all,
    pass_on,
    renew,
    sum_of_sources,
    wait_from_here,
)
from hamlet.kernel.machine.tree_sums import add_leaf, read_tree


@compiled
def direct(m, events, op, i):
    """Compute and add at once: for an event alone in its time, with one op on the unit."""
    P, S, v, t = m.P, m.S, m.v, m.P[at.T_BASE]
    u = P[P[at.O_UNIT] + op]
    w, nc, nx = shape(P, u)
    size = w * nc
    S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    gather(m, u, op, 0, w)
    wp = P[P[at.O_W_P] + op]
    for c in range(1, nc):
        weight = P[P[at.O_W] + wp + c - 1]
        if weight >= 0:
            factor = events.weights[weight * S[at.C_EVENTS] + i]
            for slot in range(t, t + size, nc):
                numbers.add_times(v, slot + c, v, slot, factor, m.err)
        elif weight == ONE:
            for slot in range(t, t + size, nc):
                numbers.add(v, slot + c, v, slot, m.err)
    for e in range(nx):
        own, added = own_extreme(P, S, events, u, op, e, i)
        extend_extremes(m, u, op, e, own, added, 0, w)
    for k in entries(P, at.O_DST_P, op):
        base = P[P[at.U_VBASE] + u] + P[P[at.O_DST_ROW] + k] * size
        for e in range(size):
            numbers.add(v, base + e, v, t + e, m.err)


@compiled
def move_on(m, events, op, i):
    """Move trends on at once: for an event alone in its time, with one op on the unit."""
    P, S = m.P, m.S
    quick = P[at.O_QUICK] + at.QUICK * op
    u, own = P[quick + at.QO_UNIT], P[quick + at.QO_OWN]
    has_passed = is_past(m, u)
    if has_passed:
        if P[quick + at.QO_BEGINS] == 0:
            return
        renew(m, u)
    if own >= 0:
        total = row_of(m, u, own)
        draw_in(m, u, op, own)
    else:
        total = sum_of_sources(m, u, op)
    if is_nothing(total, P[P[at.U_NC] + u]):
        return
    S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    _add_weights(m, events, u, op, i, total)
    if has_passed:
        wait_from_here(m, u)
    else:
        pass_on(m, u, own)
    if own < 0:
        leave_all(m, u, op)
    for k in entries(P, at.O_DST_P, op):
        row = P[P[at.O_DST_ROW] + k]
        if row != own:
            add_trends(row_of(m, u, row), total, P[P[at.U_NC] + u], P[P[at.U_NX] + u], m.err)


@compiled
def move_together(m, events, op, i):
    """Move trends on at once, where several ops of a unit go on with event i."""
    P, S = m.P, m.S
    quick = P[at.O_QUICK] + at.QUICK * op
    u = P[quick + at.QO_UNIT]
    if not goes_on(m, u, op, P[quick + at.QO_BEGINS]):
        return
    total = sum_of_sources(m, u, op)
    draw_out(m, u, op)
    if is_nothing(total, P[P[at.U_NC] + u]):
        return
    S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    _add_weights(m, events, u, op, i, total)
    for k in entries(P, at.O_DST_P, op):
        row = row_of(m, u, P[P[at.O_DST_ROW] + k])
        add_trends(row, total, P[P[at.U_NC] + u], P[P[at.U_NX] + u], m.err)


@compiled
def store_on(m, events, sides, stored, op, i, ts):
    """Move trends on at once where events are stored: else as `move_on`."""
    P = m.P
    u = P[P[at.O_UNIT] + op]
    w, nc, nx = shape(P, u)
    renew(m, u)
    if _finds_nothing(m, stored, u, op):
        return
    total = Row(m.v, m.x, P[at.T_BASE], P[at.T_BASE_X], w * nc, w * nx)
    find_value(m, events, sides, stored, op, i, total, True)
    if is_nothing(total, nc):
        return
    pass_on(m, u, -1)
    leave(m, sides, op, i)
    commit(m, sides, stored, op, i, ts, total)


@inlined
def _finds_nothing(m, stored, u, op):
    """Whether rows and logs that an op of moving trends reads have none."""
    P, S = m.P, m.S
    for k in entries(P, at.O_SRC_P, op):
        if not is_nothing(row_of(m, u, P[P[at.O_SRC_ROW] + k]), P[P[at.U_NC] + u]):
            return False
    for k in entries(P, at.O_SCAN_P, op):
        if _holds_some(P, S, stored, P[P[at.O_SCAN_LOG] + k]):
            return False
    return True


@inlined
def _holds_some(P, S, stored, log):
    """Whether a log has an event that one of this step may go on with."""
    kind = P[P[at.LOG_KIND] + log]
    if kind == ORDERED:
        release(P, S, log)
        return S[P[at.S_LOG_HEAP] + log] > 0
    last = S[P[at.S_LOG_LEN] + log] - 1
    if kind == LAST_STEP:
        return last >= 0 and log_entry(S, stored, log, last)[1] == S[at.C_STEPS] - 1
    return first_open(P, S, stored, log) <= last


@compiled
def own_extreme(P, S, events, u, op, e, i):
    """The value of event i for extreme e, infinite if it has none, and what it adds to others.

    Both negated for MAX.
    """
    attribute = P[P[at.O_X] + P[P[at.O_X_P] + op] + e]
    if attribute == NO_EXTREME:
        return np.inf, 0.0
    row = ADDED - attribute if attribute <= ADDED else attribute
    value = events.extremes[row * S[at.C_EVENTS] + i]
    if value != value:
        return np.inf, 0.0
    value *= P[P[at.X_SIGN] + P[P[at.U_XSBASE] + u] + e]
    return (np.inf, value) if attribute <= ADDED else (value, 0.0)


@compiled
def find_value(m, events, sides, stored, op, i, total, is_alone):
    """What event i, alone in its time or not, adds at the state of an op, for each open window."""
    P = m.P
    u = P[P[at.O_UNIT] + op]
    empty_row(total)
    _add_rows(m, sides, u, op, i, total)
    for k in entries(P, at.O_FIRST_P, op):
        _begin_trends(m, sides, u, P[P[at.O_FIRST_COND] + k], i, total)
    for k in entries(P, at.O_TREE_P, op):
        read_tree(m, stored, P[P[at.O_TREE] + k], i, total)
    for k in entries(P, at.O_SCAN_P, op):
        log, cond = P[P[at.O_SCAN_LOG] + k], P[P[at.O_SCAN_COND] + k]
        step = P[P[at.O_SCAN_STEP] + k]
        if step == STAYS:
            _scan(m, sides, stored, log, cond, i, total)
        elif step == PASSES:
            _scan_last(m, sides, stored, log, cond, i, total)
        elif step == POPPED:
            take_below(m, sides, stored, log, cond, i, total, is_alone)
        elif step == EMPTIED:
            take_all(m, stored, log, cond, total, is_alone)
        else:
            _take(m, sides, stored, log, cond, i, total, step, is_alone)
    _add_weights(m, events, u, op, i, total)


@compiled
def _add_rows(m, sides, u, op, i, total):
    """Add up the rows that an op reads, where the event is what their edges ask for."""
    P = m.P
    for k in entries(P, at.O_SRC_P, op):
        cond = P[P[at.O_SRC_COND] + k]
        if cond >= 0 and not atoms_fit(P, m.S, sides, cond, i):
            continue
        add_row(total, row_of(m, u, P[P[at.O_SRC_ROW] + k]), m.err)


@compiled
def _begin_trends(m, sides, u, cond, i, total):
    """Begin a trend in each window in which the edge from START is open."""
    P, S = m.P, m.S
    w, nc, _ = shape(P, u)
    for window in range(S[P[at.S_LO] + u], S[P[at.S_HI] + u] + 1):
        start = window * P[P[at.U_SLIDE] + u]
        if edge_open(P, S, sides, cond, NO_STEP, start, NO_EVENT, i):
            numbers.set_one(m.v, P[at.T_BASE])
            numbers.add(total.v, total.at + window % w * nc, m.v, P[at.T_BASE], m.err)


@compiled
def _scan(m, sides, stored, log, cond, i, total):
    """Add up the stored events of a log from which an edge to event i is open."""
    P, S = m.P, m.S
    for pos in range(first_open(P, S, stored, log), S[P[at.S_LOG_LEN] + log]):
        j, step, ts = log_entry(S, stored, log, pos)
        if edge_open(P, S, sides, cond, step, 0, j, i):
            add_stored(m, stored, log, pos, ts, total)


@compiled
def _scan_last(m, sides, stored, log, cond, i, total):
    """Add up the stored events of the last step from which an edge to event i is open."""
    P, S = m.P, m.S
    head, pos = first_open(P, S, stored, log), S[P[at.S_LOG_LEN] + log] - 1
    while pos >= head:
        j, step, ts = log_entry(S, stored, log, pos)
        if step != S[at.C_STEPS] - 1:
            return
        if edge_open(P, S, sides, cond, step, 0, j, i):
            add_stored(m, stored, log, pos, ts, total)
        pos -= 1


@compiled
def _take(m, sides, stored, log, cond, i, total, becomes, is_alone):
    """Add up the stored events from which an edge to event i is open, which takes them away.

    Those that an earlier step has taken are left out, and where that may be they are dropped; at
    once, if no other event of this step may go on with them.
    """
    P, S = m.P, m.S
    kept = head = first_open(P, S, stored, log)
    for pos in range(head, S[P[at.S_LOG_LEN] + log]):
        if stored.entries[ENTRY * (log * S[at.C_LOG] + pos) + 3] < S[at.C_STEPS]:
            kept += becomes == TAKEN
            continue
        j, step, ts = log_entry(S, stored, log, pos)
        is_open = edge_open(P, S, sides, cond, step, 0, j, i)
        if is_open:
            add_stored(m, stored, log, pos, ts, total)
            if is_alone and becomes != TAKEN:
                continue
        if kept != pos:
            _move_entry(P, S, stored, log, pos, kept, total.size, total.size_x)
        if is_open:
            stored.entries[ENTRY * (log * S[at.C_LOG] + kept) + 3] = S[at.C_STEPS]
        kept += 1
    S[P[at.S_LOG_LEN] + log] = kept


@inlined
def _move_entry(P, S, stored, log, pos, to, size, size_x):
    """Move a stored event within its log."""
    source, target = ENTRY * (log * S[at.C_LOG] + pos), ENTRY * (log * S[at.C_LOG] + to)
    for k in range(ENTRY):
        stored.entries[target + k] = stored.entries[source + k]
    copy_row(
        logged(P, S, stored, log, to, size, size_x), logged(P, S, stored, log, pos, size, size_x)
    )


@compiled
def _add_weights(m, events, u, op, i, total):
    """Add the event's own weights and extremes, where a trend ends at it."""
    P, S, out = m.P, m.S, total.v
    w, nc, nx = shape(P, u)
    wp = P[P[at.O_W_P] + op]
    for slot in range(w):
        d = total.at + slot * nc
        if numbers.is_zero(out, d):
            continue
        for c in range(1, nc):
            weight = P[P[at.O_W] + wp + c - 1]
            if weight >= 0:
                factor = events.weights[weight * S[at.C_EVENTS] + i]
                numbers.add_times(out, d + c, out, d, factor, m.err)
            elif weight == ONE:
                numbers.add(out, d + c, out, d, m.err)
        for e in range(nx):
            dx = total.at_x + slot * nx + e
            own, added = own_extreme(P, S, events, u, op, e, i)
            total.x[dx] = min(total.x[dx] + added, own)


@compiled
def commit(m, sides, stored, op, i, ts, value):
    """Add what an event has been found to add: to rows, trees and its log."""
    P, S = m.P, m.S
    u = P[P[at.O_UNIT] + op]
    S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    for k in entries(P, at.O_DST_P, op):
        add_row(row_of(m, u, P[P[at.O_DST_ROW] + k]), value, m.err)
    for k in entries(P, at.O_LEAF_P, op):
        add_leaf(m, stored, P[P[at.O_LEAF] + k], i, value)
    log = P[P[at.O_LOG] + op]
    if log < 0:
        return
    if P[P[at.LOG_KIND] + log] == ORDERED:
        insert(P, S, sides, stored, log, i, ts, value)
    else:
        append(P, S, stored, log, i, ts, value)
