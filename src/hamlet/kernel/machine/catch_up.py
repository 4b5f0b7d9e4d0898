"""Bringing units up to date with their accumulators: a run of lazy events applied in one go.

A unit remembers ("stamps") what the accumulators of its lazy ops were when it was last up to date,
and the difference is applied ("synced") when something else touches it. See accumulators.py for
what a run does.

Cost: O(rows x windows) for each sync.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.accumulators import ladder_of, least_of, steps_of
from hamlet.kernel.machine.counts import growth
from hamlet.kernel.machine.memory import entries, shape
from hamlet.kernel.machine.rows import add_row, empty_row, one_window, row_of


@compiled
def stamp(m, u):
    """Remember that a unit is up to date with its accumulators."""
    P, S = m.P, m.S
    S[P[at.S_LATE] + u] = 0
    for lazy in entries(P, at.U_LAZY_P, u):
        S[P[at.S_STAMP_EVENTS] + lazy] = S[at.C_LAZY]
        _stamp_numbers(m, u, lazy)


@inlined
def _stamp_numbers(m, u, lazy):
    """Remember that the numbers of a lazy op, not its extremes, are up to date."""
    P, S, zf, zs = m.P, m.S, m.zf, m.zs
    quick = P[at.LAZIES] + at.LAZY * lazy
    z = P[quick + at.LZ_Z]
    S[P[at.S_STAMP_N] + lazy] = steps_of(m, z)
    own = P[at.N_Z] + lazy
    zf[2 * own] = zf[2 * z]
    zf[2 * own + 1] = zf[2 * z + 1]
    low, first = P[P[at.O_W_P] + P[quick + at.LZ_OP]], P[at.N_SUMS] + P[quick + at.LZ_SBASE]
    for c in range(P[P[at.U_NC] + u] - 1):
        s = P[P[at.O_ZW] + low + c]
        if s >= 0:
            total = P[P[at.SUM_TOTAL] + s]
            zs[2 * (first + c)] = zs[2 * total]
            zs[2 * (first + c) + 1] = zs[2 * total + 1]
        if P[at.N_LADDERS] > 0 and P[P[at.O_ZL] + low + c] >= 0:
            ladder = 2 * ladder_of(P, P[P[at.O_ZL] + low + c])
            to = 2 * _ladder_stamp(P, u, first, c)
            for k in range(4):
                zs[to + k] = zs[ladder + k]


@inlined
def _ladder_stamp(P, u, first, c):
    """Where the stamp of the ladder of a component is, after those of the sums."""
    return first + P[P[at.U_NC] + u] + 2 * c


@inlined
def sync(m, u):
    """Apply to a unit the runs of lazy events since it was last up to date."""
    if _is_behind(m, u):
        _sync(m, u)


@inlined
def _is_behind(m, u):
    """Whether there have been lazy events since a unit was last up to date."""
    P, S, quick = m.P, m.S, m.P[at.U_QUICK] + at.QUICK * u
    for lazy in range(P[quick + at.Q_LAZY], P[quick + at.Q_LAZY_END]):
        z = P[P[at.LAZIES] + at.LAZY * lazy + at.LZ_Z]
        if steps_of(m, z) != S[P[at.S_STAMP_N] + lazy]:
            return True
    return S[P[at.S_LATE] + u] == 1


@compiled
def _sync(m, u):
    """Apply the runs that there are."""
    P, S = m.P, m.S
    _catch_up(m, u, 0, P[P[at.U_W] + u], False)
    if S[P[at.S_WAITS] + u] > 0:
        _empty_passed(m, u)
    S[at.C_SNAPSHOTS] += 1
    stamp(m, u)
    if P[P[at.U_ALWAYS] + u] == 1:  # the run may have begun trends
        S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]


@compiled
def _empty_passed(m, u):
    """Empty the rows for one step only, but those of the run, which has passed the others by."""
    P, S = m.P, m.S
    for k in entries(P, at.U_PASS_P, u):
        passed, is_own = row_of(m, u, P[P[at.U_PASS] + k]), False
        for lazy in entries(P, at.U_LAZY_P, u):
            quick = P[at.LAZIES] + at.LAZY * lazy
            has_run = steps_of(m, P[quick + at.LZ_Z]) != S[P[at.S_STAMP_N] + lazy]
            is_own = is_own or (has_run and P[quick + at.LZ_OWN] == passed.at)
        if not is_own:
            empty_row(passed)


@compiled
def sync_numbers(m, u):
    """Apply a run to the numbers of a unit, and leave its extremes for later where that may be.

    It may be where trends go on in every open window: there all later events of the loop count for
    extremes, whatever else happens to the numbers. A window that opens, or anything that touches
    extremes, needs them up to date first. The unit has one lazy op.
    """
    P, S = m.P, m.S
    is_quick = P[P[at.U_NC] + u] == 1 or numbers.is_float(m.v)
    if not is_quick or not _has_trends(m, u):
        sync(m, u)
    elif _is_behind(m, u):
        _catch_up(m, u, 0, P[P[at.U_W] + u], True)
        S[at.C_SNAPSHOTS] += 1
        S[P[at.S_LATE] + u] = 1
        _stamp_numbers(m, u, P[P[at.U_LAZY_P] + u])


@inlined
def _has_trends(m, u):
    """Whether the loop of a unit, as far as it is known, has trends to go on with in each window.

    Slots of windows that are not open have none; a unit all whose windows are open is common.
    """
    P = m.P
    quick, nc = P[at.LAZIES] + at.LAZY * P[P[at.U_LAZY_P] + u], P[P[at.U_NC] + u]
    own, other = P[quick + at.LZ_OWN], P[quick + at.LZ_OTHER]
    for offset in range(0, P[P[at.U_W] + u] * nc, nc):
        if numbers.is_zero(m.v, own + offset) and numbers.is_zero(m.v, other + offset):
            return False
    return True


@inlined
def sync_window(m, u, slot):
    """Apply runs to one window that is about to be closed; the unit stays as it is."""
    if _is_behind(m, u):
        _catch_up(m, u, slot, 1, False)


@compiled
def _catch_up(m, u, first, windows, is_later):
    """Apply runs to some windows of a unit, extremes perhaps later.

    Where trends stay, n steps of m events each multiply U by A = product of (1 + m). So the run
    adds to every row of the state (A - 1) U, and to a sum with weights also A times the sum of
    weights / (1 + m), times the count in U. Lazy ops of a unit do not read what others of them add
    to: each by itself.

    That doubles have grown too large is sure to be seen when a window closes; looking at one of
    them here only saves work that would be in vain.
    """
    P, S = m.P, m.S
    for lazy in entries(P, at.U_LAZY_P, u):
        quick = P[at.LAZIES] + at.LAZY * lazy
        z = P[quick + at.LZ_Z]
        n = steps_of(m, z) - S[P[at.S_STAMP_N] + lazy]
        if n == 0 and S[P[at.S_LATE] + u] == 0:
            continue
        if P[P[at.U_STEPS] + u] == 1:
            if P[P[at.U_PASS_P] + u] == P[P[at.U_PASS_P] + u + 1] or S[P[at.S_WAITS] + u] > 0:
                _move_on(m, u, lazy, first, windows, n)
            continue
        am, ae = growth(m, lazy, z, n)
        if P[quick + at.LZ_OWN] >= 0 and (P[P[at.U_NC] + u] == 1 or numbers.is_float(m.v)):
            _grow_loop(m, u, lazy, first, windows, is_later, n, am, ae)
        else:
            _grow_rows(m, u, lazy, first, windows, n, am, ae)


@compiled
def _move_on(m, u, lazy, first, windows, n):
    """What a run of n steps does where trends move: those that wait for it end up at its state.

    There are as many as before, and each has had all events of the run. They were of different
    times, or the unit would not have waited. Where trends may end there each of them has done so
    with every event of the run.
    """
    P, v = m.P, m.v
    w, nc, nx = shape(P, u)
    quick = P[at.LAZIES] + at.LAZY * lazy
    op = P[quick + at.LZ_OP]
    own = row_of(m, u, (P[quick + at.LZ_OWN] - P[P[at.U_VBASE] + u]) // (w * nc))
    is_idle = True
    for source in entries(P, at.O_SRC_P, op):
        other = row_of(m, u, P[P[at.O_SRC_ROW] + source])
        for slot in range(first, first + windows):
            waiting = one_window(other, slot, nc, nx)
            if numbers.is_zero(v, waiting.at):
                continue
            is_idle = False
            if other.at != own.at:
                add_row(one_window(own, slot, nc, nx), waiting, m.err)
                empty_row(waiting)
                for k in entries(P, at.SRC_TAKE_P, source):
                    taken = row_of(m, u, P[P[at.SRC_TAKE] + k])
                    empty_row(one_window(taken, slot, nc, nx))
    if is_idle:
        return
    for k in entries(P, at.O_DST_P, op):
        ended = row_of(m, u, P[P[at.O_DST_ROW] + k])
        if ended.at != own.at:
            _end_in_run(m, u, lazy, own, ended, first, windows, n)
    low, stamps = P[P[at.O_W_P] + op], P[at.N_SUMS] + P[quick + at.LZ_SBASE]
    for c in range(1, nc):
        s = P[P[at.O_ZW] + low + c - 1]
        if s < 0:
            continue
        total = numbers.sum_since(m.zs, P[P[at.SUM_TOTAL] + s], stamps + c - 1)
        for d in range(own.at + first * nc, own.at + (first + windows) * nc, nc):
            # Once the sum of weights; doubles have the half of it.
            numbers.add_weighted_growth(v, d + c, v, d, 1, 2.0, 0.0, total, m.err)
    for e in range(nx):
        least = _least_of_run(m, lazy, op, e)
        for slot in range(first, first + windows):
            if not numbers.is_zero(v, own.at + slot * nc):
                at_x = own.at_x + slot * nx + e
                m.x[at_x] = min(m.x[at_x], least)
                for k in entries(P, at.O_DST_P, op):
                    ended_x = row_of(m, u, P[P[at.O_DST_ROW] + k]).at_x + slot * nx + e
                    m.x[ended_x] = min(m.x[ended_x], m.x[at_x])


@compiled
def _end_in_run(m, u, lazy, own, ended, first, windows, n):
    """Add to a row the trends that end at each of the n events of a run, but for extremes.

    They have had what they had before it, n times, and what the run's ladder has come to.
    """
    P, v = m.P, m.v
    nc = P[P[at.U_NC] + u]
    quick = P[at.LAZIES] + at.LAZY * lazy
    low = P[P[at.O_W_P] + P[quick + at.LZ_OP]]
    for slot in range(first * nc, (first + windows) * nc, nc):
        if numbers.is_zero(v, own.at + slot):
            continue
        for c in range(nc):
            numbers.add_times(v, ended.at + slot + c, v, own.at + slot + c, n, m.err)
    for c in range(1, nc):
        ladder = P[P[at.O_ZL] + low + c - 1]
        if ladder < 0:
            continue
        stamp = _ladder_stamp(P, u, P[at.N_SUMS] + P[quick + at.LZ_SBASE], c - 1)
        total = numbers.climbed_since(m.zs, ladder_of(P, ladder), stamp, n)
        for slot in range(first * nc, (first + windows) * nc, nc):
            numbers.add_weighted_growth(
                v, ended.at + slot + c, v, own.at + slot, 1, 2.0, 0.0, total, m.err
            )


@inlined
def _grow_loop(m, u, lazy, first, windows, is_later, n, am, ae):
    """What a run does to a loop that reads no more than its own row and another."""
    P, v, quick, nc = m.P, m.v, m.P[at.LAZIES] + at.LAZY * lazy, m.P[m.P[at.U_NC] + u]
    own, other = P[quick + at.LZ_OWN] + first * nc, P[quick + at.LZ_OTHER]
    other = -1 if other < 0 else other + first * nc
    if P[P[at.U_NX] + u] > 0 and not is_later:
        _extend_loop(m, u, lazy, own, other, first, windows)
    if nc > 1:
        _grow_sums(m, u, lazy, own, other, windows, am, ae)
    numbers.grow_row(v, own, other, windows, nc, n, am, ae, P[at.T_BASE], m.err)
    if not numbers.is_safe(v, own):
        m.err[0] = 1


@inlined
def _grow_rows(m, u, lazy, first, windows, n, am, ae):
    """What a run does to all rows of its state, from the sum of all rows that it reads."""
    P, v, t = m.P, m.v, m.P[at.T_BASE]
    w, nc, nx = shape(P, u)
    quick = P[at.LAZIES] + at.LAZY * lazy
    op, size = P[quick + at.LZ_OP], windows * nc
    gather(m, u, op, first, windows)
    for k in entries(P, at.O_DST_P, op):
        base = P[P[at.U_VBASE] + u] + (P[P[at.O_DST_ROW] + k] * w + first) * nc
        for e in range(size):
            numbers.add_growth(v, base + e, v, t + e, n, am, ae, m.err)
        if not numbers.is_safe(v, base):
            m.err[0] = 1
    for c in range(1, nc):
        s = P[P[at.O_ZW] + P[P[at.O_W_P] + op] + c - 1]
        if s < 0:
            continue
        stamped = P[at.N_SUMS] + P[quick + at.LZ_SBASE] + c - 1
        total = numbers.sum_since(m.zs, P[P[at.SUM_TOTAL] + s], stamped)
        for k in entries(P, at.O_DST_P, op):
            base = P[P[at.U_VBASE] + u] + (P[P[at.O_DST_ROW] + k] * w + first) * nc
            for slot in range(0, size, nc):
                numbers.add_weighted_growth(
                    v, base + slot + c, v, t + slot, n, am, ae, total, m.err
                )
    for e in range(nx):
        extend_extremes(m, u, op, e, _least_of_run(m, lazy, op, e), 0.0, first, windows)


@inlined
def _least_of_run(m, lazy, op, e):
    """The least value of extreme e since an op was up to date, infinite if no event has one."""
    stack = m.P[m.P[at.O_ZX] + m.P[m.P[at.O_X_P] + op] + e]
    return least_of(m, stack, m.S[m.P[at.S_STAMP_EVENTS] + lazy]) if stack >= 0 else np.inf


@compiled
def _grow_sums(m, u, lazy, own, other, windows, am, ae):
    """What a run does to sums, in doubles, while counts are as before it."""
    P, v, t = m.P, m.v, m.P[at.T_BASE]
    quick = P[at.LAZIES] + at.LAZY * lazy
    nc, op = P[P[at.U_NC] + u], P[quick + at.LZ_OP]
    for window in range(windows):
        numbers.copy(v, t + window, v, own + window * nc)
        if other >= 0:
            numbers.add(v, t + window, v, other + window * nc, m.err)
    for c in range(1, nc):
        s = P[P[at.O_ZW] + P[P[at.O_W_P] + op] + c - 1]
        total = 0.0
        if s >= 0:
            stamped = P[at.N_SUMS] + P[quick + at.LZ_SBASE] + c - 1
            total = numbers.sum_as_double(m.zs, P[P[at.SUM_TOTAL] + s], stamped)
        for window in range(windows):
            offset = window * nc + c
            before = -1 if other < 0 else other + offset
            numbers.grow_sum(v, own + offset, before, t + window, total, am, ae)


@compiled
def _extend_loop(m, u, lazy, own, other, first, windows):
    """What a run does to the extremes of a loop, where there is a trend to go on with."""
    P, v, x = m.P, m.v, m.x
    w, nc, nx = shape(P, u)
    op, base = P[P[at.LAZIES] + at.LAZY * lazy + at.LZ_OP], P[P[at.U_VBASE] + u]
    size = w * nc
    first_x = P[P[at.U_XBASE] + u] + first * nx
    own_x = first_x + (own - base) // size * w * nx
    other_x = -1 if other < 0 else first_x + (other - base) // size * w * nx
    for e in range(nx):
        least = _least_of_run(m, lazy, op, e)
        for window in range(windows):
            k = window * nx + e
            value = least if other_x < 0 else min(least, x[other_x + k])
            if value >= x[own_x + k]:
                continue  # nearly always, after a while
            if not numbers.is_zero(v, own + window * nc) or (
                other_x >= 0 and not numbers.is_zero(v, other + window * nc)
            ):
                x[own_x + k] = value


@compiled
def gather(m, u, op, first, windows):
    """The sum of the rows that an op reads, of some windows, into the numbers from T_BASE on."""
    P, v, t = m.P, m.v, m.P[at.T_BASE]
    w, nc, _ = shape(P, u)
    vbase, size = P[P[at.U_VBASE] + u] + first * nc, windows * nc
    source = P[P[at.O_SRC_P] + op]
    row = vbase + P[P[at.O_SRC_ROW] + source] * w * nc
    for k in range(size):
        numbers.copy(v, t + k, v, row + k)
    for s in range(source + 1, P[P[at.O_SRC_P] + op + 1]):
        row = vbase + P[P[at.O_SRC_ROW] + s] * w * nc
        for k in range(size):
            numbers.add(v, t + k, v, row + k, m.err)


@compiled
def extend_extremes(m, u, op, e, least, added, first, windows):
    """Extreme e of an op's rows in some windows, for events whose own least value is given.

    What they add to the extremes of trends that they go on with is given, too.

    Only in the windows where `gather` has found a trend to go on with.
    """
    P, x, t = m.P, m.x, m.P[at.T_BASE]
    w, nc, nx = shape(P, u)
    for window in range(windows):
        if numbers.is_zero(m.v, t + window * nc):
            continue
        value = np.inf
        base = P[P[at.U_XBASE] + u] + (first + window) * nx + e
        for k in entries(P, at.O_SRC_P, op):
            value = min(value, x[base + P[P[at.O_SRC_ROW] + k] * w * nx])
        value = min(value + added, least)
        for k in entries(P, at.O_DST_P, op):
            fed = base + P[P[at.O_DST_ROW] + k] * w * nx
            x[fed] = min(x[fed], value)
