"""Windows: units become active, their windows open, close and give results.

A unit is active in a partition from the first event that touches it until none of its open windows
has been touched. Window n of a unit is [n * slide, n * slide + within); those from S_LO to S_HI
are open, and at S_DUE one closes or opens.

Cost: O(rows x windows) when a unit becomes active, O(rows) for each window that opens or closes.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.bundles import come_in, split_all, stands_for, take_out
from hamlet.kernel.machine.catch_up import stamp, sync, sync_window
from hamlet.kernel.machine.conditions import NO_EVENT, edge_open
from hamlet.kernel.machine.counts import catch_up_counts, stamp_counts, sync_counts
from hamlet.kernel.machine.guards import begin_guards
from hamlet.kernel.machine.logs import log_entry, logged
from hamlet.kernel.machine.memory import FAR, entries, shape
from hamlet.kernel.machine.ordered import begin_ordered
from hamlet.kernel.machine.redoing import asked_for
from hamlet.kernel.machine.rows import (
    Row,
    add_row,
    copy_row,
    empty_row,
    empty_short_row,
    one_window,
    row_of,
)
from hamlet.kernel.machine.tree_sums import begin_trees, clear_in_trees
from hamlet.kernel.windowing import first_window, last_window


@compiled
def next_due(P, S):
    """When a window of an active unit opens or closes next."""
    due = FAR
    for k in range(S[at.C_ACTIVE]):
        due = min(due, S[P[at.S_DUE] + S[P[at.S_ACTIVE] + k]])
    return due


@inlined
def _windows_at(P, S, u, ts):
    """The first and the last window open at a time; units with the same windows share them.

    Where the first stands in rows, and when one closes or opens next, stands beside them.
    """
    grid = P[P[at.U_QUICK] + at.QUICK * u + at.Q_GRID]
    if ts < S[P[at.S_GRID_FROM] + grid] or ts >= S[P[at.S_GRID_DUE] + grid]:
        _find_windows(P, S, u, grid, ts)
    return grid, S[P[at.S_GRID_LO] + grid], S[P[at.S_GRID_HI] + grid]


@compiled
def _find_windows(P, S, u, grid, ts):
    """Find the windows that are open at a time."""
    slide, within, w = P[P[at.U_SLIDE] + u], P[P[at.U_WITHIN] + u], P[P[at.U_W] + u]
    lo, hi = S[P[at.S_GRID_LO] + grid], S[P[at.S_GRID_HI] + grid]
    slot, since = S[P[at.S_GRID_SLOT] + grid], ts - S[P[at.S_GRID_DUE] + grid]
    if (
        0 <= since < slide and S[at.C_LIMITED] == 0
    ):  # at most one window has closed and one opened: no divisions
        if lo * slide + within <= ts:
            lo += 1
            slot = slot + 1 if slot + 1 < w else 0
        hi += (hi + 1) * slide <= ts
    else:
        lo, hi = first_window(ts, within, slide), last_window(ts, slide)
        slot = lo % w
    S[P[at.S_GRID_FROM] + grid] = max((lo - 1) * slide + within, hi * slide)
    S[P[at.S_GRID_DUE] + grid] = min(lo * slide + within, (hi + 1) * slide)
    if S[at.C_LIMITED] == 1:
        lo, hi = asked_for(S, lo, hi, within, slide)
        slot = lo % w
    S[P[at.S_GRID_LO] + grid], S[P[at.S_GRID_HI] + grid] = lo, hi
    S[P[at.S_GRID_SLOT] + grid] = slot


@compiled
def activate(m, u, ts):
    """Make a unit active at a time, all its windows fresh."""
    P, S = m.P, m.S
    quick = P[at.U_QUICK] + at.QUICK * u
    w, nc, nx = P[quick + at.Q_W], P[quick + at.Q_NC], P[quick + at.Q_NX]
    grid, lo, hi = _windows_at(P, S, u, ts)
    slot = S[P[at.S_GRID_SLOT] + grid]
    rows, first, first_x = P[quick + at.Q_ROWS], P[quick + at.Q_BASE], P[quick + at.Q_BASE_X]
    empty_row(Row(m.v, m.x, first, first_x, rows * w * nc, rows * w * nx))
    for window in range(hi - lo + 1):
        _open(m, u, _slot(slot, window, w))
    _set_open(P, S, u, grid)
    S[P[at.S_TOUCHED] + u] = lo - 1
    begin_guards(P, S, u)
    if P[quick + at.Q_KIND] == at.COUNTS_ONLY:
        stamp_counts(m, u)
    else:
        stamp(m, u)
    if P[quick + at.Q_KIND] == at.STORES:
        for k in entries(P, at.U_LOG_P, u):
            log = P[P[at.U_LOG] + k]
            S[P[at.S_LOG_HEAD] + log] = S[P[at.S_LOG_LEN] + log] = 0
            begin_ordered(P, S, log)
        begin_trees(P, S, u, ts)
    S[P[at.S_WHERE] + u] = S[at.C_ACTIVE]
    S[P[at.S_ACTIVE] + S[at.C_ACTIVE]] = u
    # What it has from before may be the number of a step of another partition.
    S[P[at.S_SEEN] + u] = S[P[at.S_STEP] + u] = -1
    S[at.C_ACTIVE] += 1
    S[at.C_ASLEEP] -= P[P[at.U_ALWAYS] + u]
    come_in(P, S, u)


@compiled
def bar(m, gop, ts):
    """Empty what a guard of one event bars; when a window is due, if its unit has become active.

    Where it bars no empty trends there is nothing to bar in a unit that is not active.
    """
    P, S, due = m.P, m.S, FAR
    g = P[P[at.GOP_GUARD] + gop]
    u = P[P[at.G_UNIT] + g]
    if S[P[at.S_WHERE] + u] < 0:
        if P[P[at.G_STARTS] + g] == 0:
            return due
        activate(m, u, ts)
        due = S[P[at.S_DUE] + u]
    else:
        sync(m, u)
    if P[P[at.G_STARTS] + g] == 1:
        S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
    for r in entries(P, at.G_RESET_P, g):
        empty_row(row_of(m, u, P[P[at.G_RESET_ROW] + r]))
    return due


@inlined
def _set_open(P, S, u, grid):
    """Note which windows of a unit are open, and where the first of them stands in rows."""
    S[P[at.S_SLOT] + u] = S[P[at.S_GRID_SLOT] + grid]
    S[P[at.S_LO] + u] = S[P[at.S_GRID_LO] + grid]
    S[P[at.S_HI] + u] = S[P[at.S_GRID_HI] + grid]
    S[P[at.S_DUE] + u] = S[P[at.S_GRID_DUE] + grid]


@inlined
def _slot(slot, more, w):
    """Where the window stands that is so many after the one in a slot; without a division."""
    slot += more
    if slot >= w:
        slot = slot - w if slot < 2 * w else slot % w
    return slot


@inlined
def _open(m, u, slot):
    """Have an empty trend in a window that opens; its rows are empty."""
    P, quick = m.P, m.P[at.U_QUICK] + at.QUICK * u
    if P[quick + at.Q_START] >= 0:
        numbers.set_one(m.v, P[quick + at.Q_START] + slot * P[quick + at.Q_NC])
        return
    for row in range(P[quick + at.Q_ROWS]):
        if P[P[at.R_START] + P[P[at.U_RBASE] + u] + row] == 1:
            numbers.set_one(m.v, row_of(m, u, row).at + slot * P[quick + at.Q_NC])


@inlined
def _empty(m, u, slot):
    """Empty the rows of a window."""
    P, quick = m.P, m.P[at.U_QUICK] + at.QUICK * u
    w, nc, nx = P[quick + at.Q_W], P[quick + at.Q_NC], P[quick + at.Q_NX]
    cell, cell_x = P[quick + at.Q_BASE] + slot * nc, P[quick + at.Q_BASE_X] + slot * nx
    for _ in range(P[quick + at.Q_ROWS]):
        empty_short_row(Row(m.v, m.x, cell, cell_x, nc, nx))
        cell += w * nc
        cell_x += w * nx


@compiled
def roll(m, sides, stored, records, part, u, ts):
    """Close the windows of a unit that have ended by `ts` and open those that have begun."""
    P, S = m.P, m.S
    w = P[P[at.U_QUICK] + at.QUICK * u + at.Q_W]
    grid, lo, hi = _windows_at(P, S, u, ts)
    first, last, slot = S[P[at.S_LO] + u], S[P[at.S_HI] + u], S[P[at.S_SLOT] + u]
    opened = range(max(last + 1, lo), hi + 1)
    if P[P[at.U_ALWAYS] + u] == 1 or (S[P[at.S_LATE] + u] == 1 and len(opened) > 0):
        # A run that begins trends has to be applied before windows open, and so has what it
        # does to extremes: there are no trends to go on with in a window that opens.
        sync(m, u)
    for window in range(first, min(last, lo - 1) + 1):
        _end(m, sides, stored, records, part, u, window, _slot(slot, window - first, w))
    for window in opened:
        _open(m, u, _slot(slot, window - first, w))
    _set_open(P, S, u, grid)
    if S[P[at.S_TOUCHED] + u] < lo:
        take_out(P, S, u)


@inlined
def _end(m, sides, stored, records, part, u, window, slot):
    """Bring a window that has ended up to date, write its result, and empty it."""
    kind = m.P[m.P[at.U_QUICK] + at.QUICK * u + at.Q_KIND]
    if kind == at.COUNTS_ONLY:
        catch_up_counts(m, u, slot, 1)
    else:
        sync_window(m, u, slot)
    if kind == at.STORES:
        _close_stored(m, sides, stored, records, part, u, window)
        clear_in_trees(m.P, m.S, stored, u, slot)
    else:
        _close(m, records, part, u, window, slot)
    _empty(m, u, slot)


@inlined
def _close(m, records, part, u, window, slot):
    """Write the result of a window of a unit that keeps nothing but rows, if it has any trend."""
    P, S, quick = m.P, m.S, m.P[at.U_QUICK] + at.QUICK * u
    nc, nx = P[quick + at.Q_NC], P[quick + at.Q_NX]
    trends, x = P[quick + at.Q_END] + slot * nc, P[quick + at.Q_END_X] + slot * nx
    if numbers.is_zero(m.v, trends):
        return
    to, to_x = records.n[0] * S[at.C_MOST], records.n[0] * S[at.C_MOST_X]
    for c in range(nc):
        numbers.copy(records.v, to + c, m.v, trends + c)
        if not numbers.is_safe(records.v, to + c):
            m.err[0] = 1
    for c in range(nc, S[at.C_MOST]):
        numbers.set_zero(records.v, to + c)
    for e in range(nx):
        records.x[to_x + e] = m.x[x + e] * P[P[at.X_SIGN] + P[P[at.U_XSBASE] + u] + e]
    for e in range(nx, S[at.C_MOST_X]):
        records.x[to_x + e] = np.inf
    _note(records, part, u, window)
    b = stands_for(P, S, u)
    if b >= 0:
        _repeat(m, records, part, b, window)


@inlined
def _note(records, part, u, window):
    """Note whose record is the next, and that there is one more."""
    record = records.n[0]
    records.part[record], records.unit[record], records.window[record] = part, u, window
    records.n[0] += 1


@compiled
def _repeat(m, records, part, b, window):
    """Write the last record for the other units of a merged bundle, too."""
    P, most, most_x = m.P, m.S[at.C_MOST], m.S[at.C_MOST_X]
    last = records.n[0] - 1
    source = Row(records.v, records.x, last * most, last * most_x, most, most_x)
    for k in range(P[P[at.B_P] + b] + 1, P[P[at.B_P] + b + 1]):
        n = records.n[0]
        copy_row(Row(records.v, records.x, n * most, n * most_x, most, most_x), source)
        _note(records, part, P[P[at.B_UNIT] + k], window)


@compiled
def roll_all(m, sides, stored, records, part, ts):
    """Close and open the windows of all active units by a time; when one is due next."""
    P, S = m.P, m.S
    if P[at.ALIKE] == 1:
        return _roll_alike(m, records, part, ts)
    k, due = 0, FAR
    while k < S[at.C_ACTIVE]:
        u = S[P[at.S_ACTIVE] + k]
        if ts >= S[P[at.S_DUE] + u]:
            roll(m, sides, stored, records, part, u, ts)
        # If it is no longer active, another unit has taken its place in the list.
        if S[P[at.S_WHERE] + u] >= 0:
            due = min(due, S[P[at.S_DUE] + u])
            k += 1
    return due


@compiled
def _roll_alike(m, records, part, ts):
    """Close and open the windows of all active units, whose windows are the same; when next."""
    P, S = m.P, m.S
    if S[at.C_ACTIVE] == 0:
        return FAR
    u = S[P[at.S_ACTIVE]]
    if ts < S[P[at.S_DUE] + u]:
        return S[P[at.S_DUE] + u]
    first, last = S[P[at.S_LO] + u], S[P[at.S_HI] + u]
    w, slot = P[P[at.U_W] + u], S[P[at.S_SLOT] + u]
    grid, lo, hi = _windows_at(P, S, u, ts)
    ended, opened = range(first, min(last, lo - 1) + 1), range(max(last + 1, lo), hi + 1)
    due, new_slot = S[P[at.S_GRID_DUE] + grid], S[P[at.S_GRID_SLOT] + grid]
    k, active, s_lo, s_hi = 0, P[at.S_ACTIVE], P[at.S_LO], P[at.S_HI]
    s_due, s_slot, touched = P[at.S_DUE], P[at.S_SLOT], P[at.S_TOUCHED]
    while k < S[at.C_ACTIVE]:
        u = S[active + k]
        quick = P[at.U_QUICK] + at.QUICK * u
        for window in ended:
            gone = _slot(slot, window - first, w)
            catch_up_counts(m, u, gone, 1)
            _close(m, records, part, u, window, gone)
            _empty(m, u, gone)
        for window in opened:
            numbers.set_one(m.v, P[quick + at.Q_START] + _slot(slot, window - first, w))
        S[s_lo + u], S[s_hi + u], S[s_due + u], S[s_slot + u] = lo, hi, due, new_slot
        if S[touched + u] < lo:
            take_out(P, S, u)  # another unit has taken its place in the list
        else:
            k += 1
    return due if S[at.C_ACTIVE] > 0 else FAR


@compiled
def sync_all(m):
    """Bring all active units up to date, with numbers that can be trusted."""
    P, S = m.P, m.S
    # One that stands for all is brought up to date once, before others get what it has.
    for k in range(S[at.C_ACTIVE]):
        u = S[P[at.S_ACTIVE] + k]
        sync(m, u)
        if S[P[at.S_WAITS] + u] > 0:
            S[P[at.S_STEP] + u] = S[at.C_STEPS] - 1
        w, nc, _ = shape(P, u)
        first = P[P[at.U_VBASE] + u]
        for number in range(first, first + P[P[at.U_NROWS] + u] * w * nc):
            if not numbers.is_safe(m.v, number):
                m.err[0] = 1
    split_all(m)


@compiled
def close_all(m, sides, stored, records, part):
    """Close all windows of all units."""
    P, S = m.P, m.S
    for k in range(S[at.C_ACTIVE]):
        u = S[P[at.S_ACTIVE] + k]
        quick = P[at.U_QUICK] + at.QUICK * u
        if P[quick + at.Q_KIND] == at.COUNTS_ONLY:
            sync_counts(m, u)
        else:
            sync(m, u)
        for window in range(S[P[at.S_LO] + u], S[P[at.S_HI] + u] + 1):
            if P[quick + at.Q_KIND] == at.STORES:
                _close_stored(m, sides, stored, records, part, u, window)
            else:
                slot = _slot(S[P[at.S_SLOT] + u], window - S[P[at.S_LO] + u], P[quick + at.Q_W])
                _close(m, records, part, u, window, slot)


@compiled
def _close_stored(m, sides, stored, records, part, u, window):
    """Write the result of a window, from rows and stored events, if any trend matched in it."""
    P = m.P
    w, nc, nx = shape(P, u)
    slot, record = window % w, records.n[0]
    most, most_x = m.S[at.C_MOST], m.S[at.C_MOST_X]
    empty_row(Row(records.v, records.x, record * most, record * most_x, most, most_x))
    total = Row(records.v, records.x, record * most, record * most_x, nc, nx)
    for k in entries(P, at.END_P, u):
        add_row(total, one_window(row_of(m, u, P[P[at.END_ROW] + k]), slot, nc, nx), m.err)
    for k in entries(P, at.ESCAN_P, u):
        _add_logged(
            m, sides, stored, P[P[at.ESCAN_LOG] + k], P[P[at.ESCAN_COND] + k], u, window, total
        )
    if numbers.is_zero(total.v, total.at):
        return
    for c in range(total.at, total.at + nc):
        if not numbers.is_safe(total.v, c):
            m.err[0] = 1
    for e in range(nx):
        total.x[total.at_x + e] *= P[P[at.X_SIGN] + P[P[at.U_XSBASE] + u] + e]
    _note(records, part, u, window)
    b = stands_for(P, m.S, u)
    if b >= 0:
        _repeat(m, records, part, b, window)


@compiled
def _add_logged(m, sides, stored, log, cond, u, window, total):
    """Add up the stored events of a window at which a trend may end."""
    P, S = m.P, m.S
    w, nc, nx = shape(P, u)
    start = window * P[P[at.U_SLIDE] + u]
    for pos in range(S[P[at.S_LOG_HEAD] + log], S[P[at.S_LOG_LEN] + log]):
        j, step, ts = log_entry(S, stored, log, pos)
        if ts < start:
            continue
        if edge_open(P, S, sides, cond, step, 0, j, NO_EVENT):
            value = logged(P, S, stored, log, pos, w * nc, w * nx)
            add_row(total, one_window(value, window % w, nc, nx), m.err)
