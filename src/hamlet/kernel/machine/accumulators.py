"""Lazy accumulators: a run of events that is one linear map for all queries and windows.

An event of a lazy op reads its unit's rows, its own among them, and adds what it read to its own.
With U the sum of the rows it reads, m such events of one time multiply U by 1 + m, whatever U is.
So a partition keeps for each accumulator only the number of steps, each of which doubles at least,
the product of what steps multiply by beyond that, the sums of weights and the extremes of the
events; catch_up.py applies what has come since to units that need it.

Events are counted in counters, of which accumulators are added up when asked: queries that differ
in what they ask of an event have different accumulators, but an event is counted once.

Cost: an event takes O(weights + extremes) time, whatever the number of units and windows; adding an
accumulator up takes O(counters).
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.bundles import begin_bundles
from hamlet.kernel.machine.memory import NO_STEP, entries


@compiled
def begin(m):
    """Begin a partition with nothing in it."""
    P, S = m.P, m.S
    S[at.C_ACTIVE] = 0
    S[at.C_STEPS] = 0
    S[at.C_ASLEEP] = P[at.N_ALWAYS]
    begin_bundles(P, S)
    S[at.C_LAZY] = 0
    S[at.C_ADDED] = -1
    for c in range(P[at.N_COUNTERS]):
        S[P[at.S_C_N] + c] = 0
    for z in range(P[at.N_Z]):
        S[P[at.S_Z_FRESH] + z] = -1
        m.zf[2 * z] = 1.0
        m.zf[2 * z + 1] = 0.0
    for s in range(2 * P[at.N_SUMS]):
        m.zs[s] = 0
    for s in range(2 * P[at.LADDERS], 2 * P[at.LADDERS] + 4 * P[at.N_LADDERS]):
        m.zs[s] = 0
    for k in range(S[at.C_WAITING]):
        S[P[at.S_WAITS] + S[P[at.S_WAITING] + k]] = 0
    S[at.C_WAITING] = 0
    S[at.C_PASSED] = NO_STEP - 1
    for s in range(P[at.N_STACKS]):
        S[P[at.S_STACK_LEN] + s] = 0


# Stacks of extremes


@compiled
def _least_since(m, stack, since):
    """The least value pushed at or after an event number."""
    base, n = stack * m.S[at.C_STACK], m.S[m.P[at.S_STACK_LEN] + stack]
    if n == 0 or m.spos[base + n - 1] < since:
        return np.inf
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
    """Multiply what steps of an accumulator multiply by beyond doubling."""
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
def take_event(m, events, i):
    """Take an event alone in its time into the counters."""
    take_one(m, events, i)


@inlined
def take_one(m, events, i):
    """The same; for the loop in which there are many such events, of different letters."""
    P, S, L = m.P, m.S, events.by_letter
    for k in entries(L, at.L_COUNTERS_P, events.letter[i]):
        counter = L[L[at.L_COUNTERS] + k]
        for s in entries(P, at.C_SUM_P, counter):
            weight = P[P[at.C_SUM] + s]
            if weight < 0:
                numbers.add_to_sum(m.zs, s, 1, 1)
            else:
                value = events.weights[weight * S[at.C_EVENTS] + i]
                numbers.add_to_sum(m.zs, s, value, 1)
        for s in entries(P, at.C_STACK_P, counter):
            attribute = P[P[at.C_STACK_OF] + s]
            value = events.extremes[(attribute >> 1) * S[at.C_EVENTS] + i]
            if value == value:
                _push(m, s, S[at.C_LAZY], -value if attribute & 1 else value)
        S[P[at.S_C_N] + counter] += 1
    if P[at.N_LADDERS] > 0:
        for k in entries(L, at.L_LADDERS_P, events.letter[i]):
            _climb(m, events, L[L[at.L_LADDERS] + k], i, i + 1)
    S[at.C_LAZY] += 1


@compiled
def take_stretch(m, events, first, end):
    """Take events of different times and letters into the counters of few accumulators.

    Which events an accumulator takes in is looked up for each; there are no ladders.
    """
    P, S, bits = m.P, m.S, events.by_letter[at.L_BITS]
    for z in range(P[at.N_Z]):
        n = 0
        for i in range(first, end):
            n += events.by_letter[bits + events.letter[i]] >> z & 1
        if n == 0:
            continue
        S[P[at.S_C_N] + z] += n
        for s in entries(P, at.C_SUM_P, z):
            weight = P[P[at.C_SUM] + s]
            if weight < 0:
                numbers.add_to_sum(m.zs, s, n, 1)
            else:
                row = weight * S[at.C_EVENTS]
                numbers.add_some_to_sum(m.zs, s, events, bits, z, row, first, end)
        for s in entries(P, at.C_STACK_P, z):
            attribute = P[P[at.C_STACK_OF] + s]
            row, sign = (attribute >> 1) * S[at.C_EVENTS], -1.0 if attribute & 1 else 1.0
            least = np.inf
            for i in range(first, end):
                value = sign * events.extremes[row + i]
                value = value if events.by_letter[bits + events.letter[i]] >> z & 1 else np.inf
                least = value if value < least else least
            if least < np.inf:
                _push(m, s, S[at.C_LAZY], least)
    S[at.C_LAZY] += end - first


@inlined
def take_run(m, events, first, end):
    """Take a run of events of one letter and different times into the counters.

    No unit is synced in the middle of a run, so of its extremes only the least has to be kept.
    """
    P, S, L = m.P, m.S, events.by_letter
    n = end - first
    for k in entries(L, at.L_COUNTERS_P, events.letter[first]):
        counter = L[L[at.L_COUNTERS] + k]
        for s in entries(P, at.C_SUM_P, counter):
            weight = P[P[at.C_SUM] + s]
            if weight < 0:
                numbers.add_to_sum(m.zs, s, n, 1)
            else:
                row = weight * S[at.C_EVENTS]
                numbers.add_run_to_sum(m.zs, s, events.weights, row + first, row + end)
        for s in entries(P, at.C_STACK_P, counter):
            attribute = P[P[at.C_STACK_OF] + s]
            row = (attribute >> 1) * S[at.C_EVENTS]
            least = _least(events.extremes, row + first, row + end, -1.0 if attribute & 1 else 1.0)
            if least < np.inf:
                _push(m, s, S[at.C_LAZY], least)
        S[P[at.S_C_N] + counter] += n
    if P[at.N_LADDERS] > 0:
        for k in entries(L, at.L_LADDERS_P, events.letter[first]):
            _climb(m, events, L[L[at.L_LADDERS] + k], first, end)
    S[at.C_LAZY] += n


@inlined
def ladder_of(P, ladder):
    """Where a ladder is among sums."""
    return P[at.LADDERS] + 2 * ladder


@compiled
def _climb(m, events, ladder, first, end):
    """Take events of different times into a ladder."""
    weight = m.P[m.P[at.ZL_WEIGHT] + ladder]
    if weight < 0:
        numbers.climb_by_one(m.zs, ladder_of(m.P, ladder), end - first)
    else:
        row = weight * m.S[at.C_EVENTS]
        numbers.climb(m.zs, ladder_of(m.P, ladder), events.weights, row + first, row + end)


@compiled
def take_step(m, events, first, end):
    """Take the lazy events of one time into the own counters of accumulators."""
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
        S[P[at.S_C_N] + z] += 1
        if numbers.is_float(m.v):
            _multiply(m.zf, z, (1.0 + together) / 2.0)
    S[at.C_LAZY] += 1


@compiled
def _take_event(m, events, z, i, together):
    """Take the weights and extremes of one of several events of a time.

    Where ladders are asked for, no unit is left that waits for several of them.
    """
    P, S = m.P, m.S
    for ladder in entries(P, at.ZL_P, z):
        _climb(m, events, ladder, i, i + 1)
    for s in entries(P, at.C_SUM_P, z):
        weight = P[P[at.C_SUM] + s]
        if weight < 0:
            numbers.add_to_sum(m.zs, s, 1, together)
        else:
            numbers.add_to_sum(m.zs, s, events.weights[weight * S[at.C_EVENTS] + i], together)
    for s in entries(P, at.C_STACK_P, z):
        attribute = P[P[at.C_STACK_OF] + s]
        value = events.extremes[(attribute >> 1) * S[at.C_EVENTS] + i]
        if value == value:
            _push(m, s, S[at.C_LAZY], -value if attribute & 1 else value)


# What accumulators are


@inlined
def steps_of(m, z):
    """How many steps an accumulator has taken; it and its sums are added up if they have to be."""
    P, S = m.P, m.S
    total = P[P[at.Z_TOTAL] + z]
    if total != z and S[P[at.S_Z_FRESH] + z] != S[at.C_LAZY]:
        _add_up(m, z)
    return S[P[at.S_C_N] + total]


@compiled
def _add_up(m, z):
    """Add up an accumulator, or all of them where it is the second at the same event."""
    P, S = m.P, m.S
    if S[at.C_ADDED] != S[at.C_LAZY]:
        S[at.C_ADDED] = S[at.C_LAZY]
        _add_up_one(m, z, -1, at.Z_C_P, at.Z_C, at.SUM_PARTS_P, at.SUM_PARTS)
        return
    for k in range(P[at.N_SHARED]):
        each = P[P[at.Z_ORDER] + k]
        parent = P[P[at.Z_PARENT] + each]
        _add_up_one(m, each, parent, at.Z_MORE_P, at.Z_MORE, at.SUM_MORE_P, at.SUM_MORE)


@inlined
def _add_up_one(m, z, parent, counters_p, counters, parts_p, parts):
    """Add up an accumulator from another (-1: none), the counters in a list, and its own."""
    P, S, zs = m.P, m.S, m.zs
    n = 0 if parent < 0 else S[P[at.S_C_N] + P[P[at.Z_TOTAL] + parent] + 1]
    for k in entries(P, counters_p, z):
        n += S[P[at.S_C_N] + P[P[counters] + k]]
    total = P[at.S_C_N] + P[P[at.Z_TOTAL] + z]
    S[total], S[total + 1] = n + S[P[at.S_C_N] + z], n
    for s in entries(P, at.C_SUM_P, z):
        high, low = zs[2 * s] - zs[2 * s], zs[2 * s] - zs[2 * s]  # 0 of their type
        if parent >= 0:
            of_parent = P[P[at.SUM_TOTAL] + P[P[at.SUM_PARENT] + s]] + 1
            high, low = zs[2 * of_parent], zs[2 * of_parent + 1]
        for k in entries(P, parts_p, s):
            part = P[P[parts] + k]
            high, low = _added(high, low, zs[2 * part], zs[2 * part + 1])
        to = P[P[at.SUM_TOTAL] + s]
        zs[2 * to + 2], zs[2 * to + 3] = high, low
        zs[2 * to], zs[2 * to + 1] = _added(high, low, zs[2 * s], zs[2 * s + 1])
    S[P[at.S_Z_FRESH] + z] = S[at.C_LAZY]


@inlined
def _added(high, low, more, more_low):
    """The sum of two numbers in two parts; of doubles the second has what is lost in rounding."""
    both = high + more
    back = both - high
    return both, low + ((high - (both - back)) + (more - back)) + more_low


@compiled
def least_of(m, stack, since):
    """The least value of an extreme that an accumulator has had at or after an event number."""
    P = m.P
    least = _least_since(m, stack, since)
    for k in entries(P, at.STACK_PARTS_P, stack):
        least = min(least, _least_since(m, P[P[at.STACK_PARTS] + k], since))
    return least


# Which events accumulators take in


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
