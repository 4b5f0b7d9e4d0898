"""Lazy accumulators: a run of events that is one linear map for all queries and windows.

An event of a lazy op reads its unit's rows, its own among them, and adds what it read to its own.
With U the sum of the rows it reads, m such events of one time multiply U by 1 + m, whatever U is.
So a partition keeps for each accumulator only the product of these factors, the sums of weights
and the extremes of the events. A unit remembers ("stamps") what they were when it was last up to
date, and the difference is applied ("synced") when something else touches it.

Cost: an event takes O(weights + extremes) time, whatever the number of units and windows; a sync
O(rows x windows).
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.bundles import begin_bundles
from hamlet.kernel.machine.counts import growth
from hamlet.kernel.machine.memory import entries, shape

_POWERS = 2.0 ** np.arange(201)

# Units


@compiled
def begin(m):
    """Begin a partition with nothing in it."""
    P, S = m.P, m.S
    S[at.C_ACTIVE] = 0
    S[at.C_STEPS] = 0
    begin_bundles(P, S)
    for z in range(P[at.N_Z]):
        S[P[at.S_Z_N] + z] = 0
        S[P[at.S_Z_EVENTS] + z] = 0
        m.zf[2 * z] = 1.0
        m.zf[2 * z + 1] = 0.0
    for s in range(2 * P[at.N_SUMS]):
        m.zs[s] = 0
    for s in range(P[P[at.ZX_P] + P[at.N_Z]]):
        S[P[at.S_STACK_LEN] + s] = 0


@compiled
def stamp(m, u):
    """Remember that a unit is up to date with its accumulator."""
    P, S = m.P, m.S
    z = P[P[at.U_LAZY] + u]
    if z < 0:
        return
    S[P[at.S_STAMP_EVENTS] + u] = S[P[at.S_Z_EVENTS] + z]
    S[P[at.S_LATE] + u] = 0
    _stamp_numbers(m, u, z)


@inlined
def _stamp_numbers(m, u, z):
    """Remember that the numbers of a unit, not its extremes, are up to date."""
    P, S, zf, zs = m.P, m.S, m.zf, m.zs
    S[P[at.S_STAMP_N] + u] = S[P[at.S_Z_N] + z]
    own = P[at.N_Z] + u
    zf[2 * own] = zf[2 * z]
    zf[2 * own + 1] = zf[2 * z + 1]
    nc = shape(P, u)[1]
    low = P[P[at.O_W_P] + P[P[at.U_LOP] + u]]
    for c in range(nc - 1):
        s = P[P[at.O_ZW] + low + c]
        if s >= 0:
            own = P[at.N_SUMS] + P[P[at.U_SBASE] + u] + c
            zs[2 * own] = zs[2 * s]
            zs[2 * own + 1] = zs[2 * s + 1]


@compiled
def sync(m, u):
    """Apply to a unit the run of lazy events since it was last up to date."""
    if _catch_up(m, u, 0, m.P[m.P[at.U_W] + u], False):
        m.S[at.C_SNAPSHOTS] += 1
        stamp(m, u)


@compiled
def sync_numbers(m, u):
    """The same, but extremes may be left for later: where trends go on in every open window.

    There all later events of the loop count for extremes, whatever else happens to the numbers. A
    window that opens, or anything that touches extremes, needs them up to date first.
    """
    P, S = m.P, m.S
    is_quick = P[P[at.U_NC] + u] == 1 or numbers.is_float(m.v)
    if not is_quick or not _has_trends(m, u):
        sync(m, u)
    elif _catch_up(m, u, 0, P[P[at.U_W] + u], True):
        S[at.C_SNAPSHOTS] += 1
        S[P[at.S_LATE] + u] = 1
        _stamp_numbers(m, u, P[P[at.U_LAZY] + u])


@inlined
def _has_trends(m, u):
    """Whether the loop of a unit, as far as it is known, has trends to go on with in each window.

    Slots of windows that are not open have none; a unit all whose windows are open is common.
    """
    P = m.P
    quick, nc = P[at.U_QUICK] + at.QUICK * u, P[P[at.U_NC] + u]
    own, other = P[quick + at.Q_OWN], P[quick + at.Q_OTHER]
    for offset in range(0, P[quick + at.Q_W] * nc, nc):
        if numbers.is_zero(m.v, own + offset) and numbers.is_zero(m.v, other + offset):
            return False
    return True


@compiled
def sync_window(m, u, slot):
    """Apply it to one window that is about to be closed and emptied; the unit stays as it is."""
    _catch_up(m, u, slot, 1, False)


@compiled
def _catch_up(m, u, first, windows, is_later):
    """Apply a run to some windows of a unit, extremes perhaps later; whether there is anything.

    n steps of m events each multiply U by A = product of (1 + m). So the run adds to every row of
    the state (A - 1) U, and to a sum with weights also A times the sum of weights / (1 + m), times
    the count in U.

    That doubles have grown too large is sure to be seen when a window closes; looking at one of
    them here only saves work that would be in vain.
    """
    P, S, v, zs = m.P, m.S, m.v, m.zs
    z = P[P[at.U_LAZY] + u]
    if z < 0:
        return False
    n = S[P[at.S_Z_N] + z] - S[P[at.S_STAMP_N] + u]
    if n == 0 and S[P[at.S_LATE] + u] == 0:
        return False
    am, ae = growth(m, u, z)
    quick = P[at.U_QUICK] + at.QUICK * u
    own, other = P[quick + at.Q_OWN], P[quick + at.Q_OTHER]
    nc, nx = P[P[at.U_NC] + u], P[P[at.U_NX] + u]
    if own >= 0 and (nc == 1 or numbers.is_float(v)):
        own += first * nc
        other = -1 if other < 0 else other + first * nc
        if nx > 0 and not is_later:
            _extend_loop(m, u, own, other, first, windows)
        if nc > 1:
            _grow_sums(m, u, own, other, windows, am, ae)
        numbers.grow_row(v, own, other, windows, nc, n, am, ae, P[at.T_BASE], m.err)
        if not numbers.is_safe(v, own):
            m.err[0] = 1
        return True
    op = P[P[at.U_LOP] + u]
    w = P[quick + at.Q_W]
    size, t = windows * nc, P[at.T_BASE]
    gather(m, u, op, first, windows)
    for k in entries(P, at.O_DST_P, op):
        base = P[P[at.U_VBASE] + u] + (P[P[at.O_DST_ROW] + k] * w + first) * nc
        for e in range(size):
            numbers.add_growth(v, base + e, v, t + e, n, am, ae, m.err)
        if not numbers.is_safe(v, base):
            m.err[0] = 1
    wp = P[P[at.O_W_P] + op]
    for c in range(1, nc):
        s = P[P[at.O_ZW] + wp + c - 1]
        if s >= 0:
            own = P[at.N_SUMS] + P[P[at.U_SBASE] + u] + c - 1
            total = numbers.sum_since(zs, s, own)
            for k in entries(P, at.O_DST_P, op):
                base = P[P[at.U_VBASE] + u] + (P[P[at.O_DST_ROW] + k] * w + first) * nc
                for slot in range(0, size, nc):
                    numbers.add_weighted_growth(
                        v, base + slot + c, v, t + slot, n, am, ae, total, m.err
                    )
    for e in range(nx):
        stack = P[P[at.O_ZX] + P[P[at.O_X_P] + op] + e]
        least = np.inf
        if stack >= 0:
            least = _least_since(m, stack, S[P[at.S_STAMP_EVENTS] + u])
        extend_extremes(m, u, op, e, least, first, windows)
    return True


@compiled
def _grow_sums(m, u, own, other, windows, am, ae):
    """What a run does to sums, in doubles, while counts are as before it."""
    P, v, t = m.P, m.v, m.P[at.T_BASE]
    nc, op = P[P[at.U_NC] + u], P[P[at.U_LOP] + u]
    for window in range(windows):
        numbers.copy(v, t + window, v, own + window * nc)
        if other >= 0:
            numbers.add(v, t + window, v, other + window * nc, m.err)
    for c in range(1, nc):
        s = P[P[at.O_ZW] + P[P[at.O_W_P] + op] + c - 1]
        total = 0.0
        if s >= 0:
            total = numbers.sum_as_double(m.zs, s, P[at.N_SUMS] + P[P[at.U_SBASE] + u] + c - 1)
        for window in range(windows):
            offset = window * nc + c
            before = -1 if other < 0 else other + offset
            numbers.grow_sum(v, own + offset, before, t + window, total, am, ae)


@compiled
def _extend_loop(m, u, own, other, first, windows):
    """What a run does to the extremes of a loop, where there is a trend to go on with."""
    P, v, x = m.P, m.v, m.x
    w, nc, nx = shape(P, u)
    op, base, size = P[P[at.U_LOP] + u], P[P[at.U_VBASE] + u], w * nc
    first_x = P[P[at.U_XBASE] + u] + first * nx
    own_x = first_x + (own - base) // size * w * nx
    other_x = -1 if other < 0 else first_x + (other - base) // size * w * nx
    for e in range(nx):
        stack = P[P[at.O_ZX] + P[P[at.O_X_P] + op] + e]
        least = np.inf
        if stack >= 0:
            least = _least_since(m, stack, m.S[P[at.S_STAMP_EVENTS] + u])
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
def extend_extremes(m, u, op, e, least, first, windows):
    """Extreme e of an op's rows in some windows, for events whose own least value is given.

    Only in the windows where `gather` has found a trend to go on with.
    """
    P, x, t = m.P, m.x, m.P[at.T_BASE]
    w, nc, nx = shape(P, u)
    for window in range(windows):
        if numbers.is_zero(m.v, t + window * nc):
            continue
        value = least
        base = P[P[at.U_XBASE] + u] + (first + window) * nx + e
        for k in entries(P, at.O_SRC_P, op):
            value = min(value, x[base + P[P[at.O_SRC_ROW] + k] * w * nx])
        for k in entries(P, at.O_DST_P, op):
            fed = base + P[P[at.O_DST_ROW] + k] * w * nx
            x[fed] = min(x[fed], value)


# Stacks of extremes


@compiled
def _least_since(m, stack, since):
    """The least value pushed at or after an event number."""
    base, n = stack * m.S[at.C_STACK], m.S[m.P[at.S_STACK_LEN] + stack]
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if m.spos[base + middle] < since:
            low = middle + 1
        else:
            high = middle
    return m.sval[base + low] if low < n else np.inf


@compiled
def _push(m, stack, position, value):
    """Push a value; greater ones before it will never be the least again."""
    base, n = stack * m.S[at.C_STACK], m.S[m.P[at.S_STACK_LEN] + stack]
    while n > 0 and m.sval[base + n - 1] >= value:
        n -= 1
    m.spos[base + n] = position
    m.sval[base + n] = value
    m.S[m.P[at.S_STACK_LEN] + stack] = n + 1


# Taking events in


@compiled
def _multiply(zf, z, factor):
    """Multiply what an accumulator multiplies by, for a factor of at most 2^200."""
    mantissa = zf[2 * z] * factor
    if mantissa >= numbers.HIGH:
        mantissa *= numbers.INVERSE
        zf[2 * z + 1] += 1.0
    zf[2 * z] = mantissa


@inlined
def _least(extremes, first, end, sign):
    """The least value in a range, in two halves that do not wait for each other.

    Never NaN, which stands for null.
    """
    least, other = np.inf, np.inf
    half = (end - first) // 2
    for i in range(first, first + half):
        value, further = sign * extremes[i], sign * extremes[i + half]
        least = value if value < least else least
        other = further if further < other else other
    if first + 2 * half < end:
        value = sign * extremes[end - 1]
        least = value if value < least else least
    return min(least, other)


@compiled
def take_run(m, events, first, end):
    """Take a run of events of one letter and different times into the accumulators.

    No unit is synced in the middle of a run, so of its extremes only the least has to be kept.
    """
    P, S, L = m.P, m.S, events.by_letter
    n = end - first
    for k in entries(L, at.L_Z_P, events.letter[first]):
        z = L[L[at.L_Z] + k]
        for s in entries(P, at.ZS_P, z):
            weight = P[P[at.ZS_WEIGHT] + s]
            if weight < 0:
                numbers.add_to_sum(m.zs, s, n, 1)
            else:
                row = weight * S[at.C_EVENTS]
                numbers.add_run_to_sum(m.zs, s, events.weights, row + first, row + end)
        for s in entries(P, at.ZX_P, z):
            attribute = P[P[at.ZX_ATTRIBUTE] + s]
            row = (attribute >> 1) * S[at.C_EVENTS]
            least = _least(events.extremes, row + first, row + end, -1.0 if attribute & 1 else 1.0)
            if least < np.inf:
                _push(m, s, S[P[at.S_Z_EVENTS] + z], least)
        S[P[at.S_Z_N] + z] += n
        S[P[at.S_Z_EVENTS] + z] += n
        if numbers.is_float(m.v):
            left = n
            while left > 0:
                part = min(left, 200)
                _multiply(m.zf, z, _POWERS[part])
                left -= part


@compiled
def take_step(m, events, first, end):
    """Take the lazy events of one time into the accumulators."""
    P, S = m.P, m.S
    for z in range(P[at.N_Z]):
        together = multiplicity(events, first, end, z)
        if together == 0:
            continue
        for i in range(first, end):
            if has_lazy(events, i, z):
                _take_event(m, events, z, i, together)
        # In integers a step of several events has been applied to every active unit, which are
        # stamped right after this; what counts is that the number of steps has moved on.
        S[P[at.S_Z_N] + z] += 1
        if numbers.is_float(m.v):
            _multiply(m.zf, z, 1.0 + together)


@compiled
def _take_event(m, events, z, i, together):
    """Take the weights and extremes of one of several events of a time."""
    P, S = m.P, m.S
    for s in entries(P, at.ZS_P, z):
        weight = P[P[at.ZS_WEIGHT] + s]
        if weight < 0:
            numbers.add_to_sum(m.zs, s, 1, together)
        else:
            numbers.add_to_sum(m.zs, s, events.weights[weight * S[at.C_EVENTS] + i], together)
    for s in entries(P, at.ZX_P, z):
        attribute = P[P[at.ZX_ATTRIBUTE] + s]
        value = events.extremes[(attribute >> 1) * S[at.C_EVENTS] + i]
        if value == value:
            _push(m, s, S[P[at.S_Z_EVENTS] + z], -value if attribute & 1 else value)
    S[P[at.S_Z_EVENTS] + z] += 1


@compiled
def has_lazy(events, i, z):
    """Whether an accumulator takes in event i."""
    L = events.by_letter
    for k in entries(L, at.L_Z_P, events.letter[i]):
        if L[L[at.L_Z] + k] == z:
            return True
    return False


@compiled
def multiplicity(events, first, end, z):
    """How many events of a step an accumulator takes in."""
    m = 0
    for i in range(first, end):
        if has_lazy(events, i, z):
            m += 1
    return m
