"""The walk through the events of a partition, step by step: a step is all events of one time.

For each step: windows that have ended are closed, what every event adds is found from the state
before the step, the guards that were completed are applied, and only then is anything added.
Simultaneous events thus never see each other.

Three kinds of steps, from cheap to dear: a run of events that only accumulators know is taken in
at once; an event alone in its time whose ops read nothing but rows is added directly; the others
go the long way.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.inner import compiled, inlined
from hamlet.kernel.layout import (
    B_P,
    C_ACTIVE,
    C_BURSTS,
    C_PENDING,
    C_ROOM,
    C_STEPS,
    C_TRACE,
    C_TRACE_ROOM,
    C_WANTED,
    C_WINDOWS,
    G_UNIT,
    GOP_GUARD,
    L_DIRECT,
    L_FULL,
    L_FULL_AT,
    L_FULL_OPS,
    L_FULL_P,
    L_GOPS,
    L_GOPS_P,
    L_LAZY,
    L_OPS,
    L_OPS_P,
    L_REST,
    L_REST_P,
    L_Z_P,
    N_B,
    N_UNITS,
    O_QUICK,
    O_UNIT,
    QO_BUNDLE,
    QO_FROM,
    QO_NC,
    QO_SYNC,
    QO_TO,
    QO_UNIT,
    QO_W,
    S_ACTIVE,
    S_B_MODE,
    S_B_PARTIAL,
    S_DUE,
    S_HI,
    S_SEEN,
    S_TOUCHED,
    S_WHERE,
    SYNC_COUNTS,
    SYNC_LATER,
    U_LAZY,
    U_LOP,
)
from hamlet.kernel.machine.bundles import SPLIT, for_all, for_some, stay_split
from hamlet.kernel.machine.counts import sync_counts
from hamlet.kernel.machine.guards import complete_guards, find_match, kept_for
from hamlet.kernel.machine.lazy import (
    has_lazy,
    multiplicity,
    stamp,
    sync,
    sync_numbers,
    take_run,
    take_step,
)
from hamlet.kernel.machine.memory import FAR, entries, shape
from hamlet.kernel.machine.room import ROOM_OUT, ROOM_TRACE, short_of
from hamlet.kernel.machine.rows import Row
from hamlet.kernel.machine.tree_sums import turn_block
from hamlet.kernel.machine.values import commit, direct, find_value
from hamlet.kernel.machine.windows import activate, close_all, next_due, roll_all, sync_all
from hamlet.kernel.stopping import STOPPED

# Events that are looked at together where a run may be long
_BLOCK = 8
# For each set of them, as bits, how many belong to it before the first that does not
_UNBROKEN = np.array([(~bits & (bits + 1)).bit_length() - 1 for bits in range(1 << _BLOCK)])


@compiled
def walk(m, events, sides, stored, records, scratch, part, i, end, until):
    """Walk through the events of a partition from i on, until its end or until room is short.

    At the end all windows are closed, or, with `until` before the end of time, those that end by
    then. Returns where it stands and what it needs more of (0: nothing, it is done). What it needs
    is found out before anything of a step is changed, so it goes on as if it had not stopped.
    """
    P, S, L = m.P, m.S, events.by_letter
    due = next_due(P, S)
    while i < end:
        ts = events.ts[i]
        if ts >= due:
            if records.n[0] + S[C_WINDOWS] > S[C_ROOM]:
                return i, ROOM_OUT
            due = roll_all(m, sides, stored, records, part, ts)
        letter = events.letter[i]
        alone = i + 1 >= end or events.tied[i + 1] == 0
        if alone and L[L[L_LAZY] + letter] == 1:
            j = _end_of_run(events, i, end, due)
            take_run(m, events, i, j)
            S[C_STEPS] += j - i
        elif alone and L[L[L_DIRECT] + letter] == 1:
            if S[C_TRACE_ROOM] > 0 and S[C_TRACE] + 2 * P[N_UNITS] > S[C_TRACE_ROOM]:
                return i, ROOM_TRACE
            j = i + 1
            due = min(due, _add_directly(m, events, i, ts))
            S[C_STEPS] += 1
        else:
            j = i + 1
            while j < end and events.tied[j] == 1:
                j += 1
            if S[C_TRACE_ROOM] > 0 and S[C_TRACE] + (j - i) * P[N_UNITS] > S[C_TRACE_ROOM]:
                S[C_WANTED] = (j - i) * P[N_UNITS]
                return i, ROOM_TRACE
            short = _step(m, events, sides, stored, scratch, i, j, ts)
            if short != 0:
                return i, short
            due = min(due, next_due(P, S))
            S[C_STEPS] += 1
        S[C_BURSTS] += 1
        i = j
        if m.err[0] != 0:
            return i, 0
    if records.n[0] + S[C_WINDOWS] > S[C_ROOM]:
        return i, ROOM_OUT
    if until < FAR:
        sync_all(m)
        roll_all(m, sides, stored, records, part, until)
    else:
        close_all(m, sides, stored, records, part)
    return i, 0


@inlined
def _end_of_run(events, i, end, due):
    """Where a run ends: one letter, different times, no window that opens or closes."""
    letter = events.letter[i]
    j = i + 1
    while j + _BLOCK < end and events.ts[j + _BLOCK - 1] < due:
        other = 0
        for k in range(_BLOCK):
            other |= (events.letter[j + k] ^ letter) | events.tied[j + k + 1]
        if other != 0 or events.tied[j] != 0:
            break
        j += _BLOCK
    if j + _BLOCK < end:
        found = 0
        for k in range(_BLOCK):
            is_alone = (events.tied[j + k] | events.tied[j + k + 1]) == 0
            goes_on = is_alone & (events.letter[j + k] == letter) & (events.ts[j + k] < due)
            found |= goes_on << k
        return j + _UNBROKEN[found]
    while (
        j < end
        and events.letter[j] == letter
        and events.ts[j] < due
        and events.tied[j] == 0
        and (j + 1 >= end or events.tied[j + 1] == 0)
    ):
        j += 1
    return j


@inlined
def _add_directly(m, events, i, ts):
    """Add an event alone in its time; when a window of a unit that it made active is due."""
    P, S, L = m.P, m.S, events.by_letter
    letter, due = events.letter[i], FAR
    for k in entries(L, L_REST_P, letter):
        op = L[L[L_REST] + k]
        b = P[P[O_QUICK] + 8 * op + QO_BUNDLE]
        if b >= 0:
            if S[P[S_B_MODE] + b] == SPLIT and S[C_TRACE_ROOM] == 0:
                stay_split(P, S, b, ts)
            else:
                for_some(m, b, ts)
        due = min(due, _add_op(m, events, op, i, ts))
    for k in entries(L, L_FULL_P, letter):
        b, first = L[L[L_FULL] + k], L[L[L_FULL_AT] + k]
        units = P[P[B_P] + b + 1] - P[P[B_P] + b]
        if for_all(m, b, ts):
            units = 1
        for n in range(first, first + units):
            due = min(due, _add_op(m, events, L[L[L_FULL_OPS] + n], i, ts))
    if L[L[L_Z_P] + letter] < L[L[L_Z_P] + letter + 1]:
        take_run(m, events, i, i + 1)
    return due


@inlined
def _add_op(m, events, op, i, ts):
    """Add an event at one state; when a window of its unit is due, if that has become active."""
    P, S, due = m.P, m.S, FAR
    quick = P[O_QUICK] + 8 * op
    u = P[quick + QO_UNIT]
    if S[P[S_WHERE] + u] < 0:
        activate(m, u, ts)
        due = S[P[S_DUE] + u]
    elif P[quick + QO_SYNC] == SYNC_COUNTS:
        sync_counts(m, u)
    elif P[quick + QO_SYNC] == SYNC_LATER:
        sync_numbers(m, u)
    else:
        sync(m, u)
    source, to = P[quick + QO_FROM], P[quick + QO_TO]
    if to >= 0:
        S[P[S_TOUCHED] + u] = S[P[S_HI] + u]
        size, nc = P[quick + QO_W] * P[quick + QO_NC], P[quick + QO_NC]
        for e in range(0, size, nc):
            numbers.add(m.v, to + e, m.v, source + e, m.err)
    else:
        direct(m, events, op, i)
    return due


# The long way


@compiled
def _step(m, events, sides, stored, scratch, i, j, ts):
    """Take in the events from i to j, all of one time; what there is no room for, or 0."""
    P, S, pending = m.P, m.S, scratch.pending
    n_met, n_gops, kept = _meet(m, events, scratch.met, i, j, ts)
    n, size, size_x = _lay_out(m, events, scratch, n_met, i, j)
    short = short_of(P, S, size, size_x, max(n, n_gops), kept, j - i)
    if short != 0:
        for k in range(n_met):
            S[P[S_SEEN] + scratch.met[k]] = -1
        return short
    for k in range(n_met):
        sync(m, scratch.met[k])
        turn_block(P, S, scratch.met[k], ts)
    # What they add, all from the state before the step
    for k in range(n):
        if m.err[STOPPED] != 0:
            return 0  # a step may have any number of events
        op, e = pending[4 * k], pending[4 * k + 1]
        find_value(m, events, sides, stored, op, e, _value_of(P, scratch, k))
    _step_guards(m, events, sides, stored, scratch, i, j, ts)
    for k in range(n):
        op, e = pending[4 * k], pending[4 * k + 1]
        commit(m, stored, op, e, ts, _value_of(P, scratch, k))
    # The units that are not met get the lazy events of the step through the accumulators.
    take_step(m, events, i, j)
    for k in range(n_met):
        stamp(m, scratch.met[k])
    return 0


@compiled
def _meet(m, events, met, i, j, ts):
    """The units that a step touches, made active if need be.

    Returns how many they are, how many guard ops there are, and how much these may put aside.
    """
    P, S, L = m.P, m.S, events.by_letter
    n, n_gops, kept = 0, 0, 0
    if P[N_B] > 0:
        _split_for(m, events, i, j, ts)
    for e in range(i, j):
        for k in entries(L, L_OPS_P, events.letter[e]):
            n = _touch(m, met, n, P[P[O_UNIT] + L[L[L_OPS] + k]], ts)
        for k in entries(L, L_GOPS_P, events.letter[e]):
            g = P[P[GOP_GUARD] + L[L[L_GOPS] + k]]
            u = P[P[G_UNIT] + g]
            n = _touch(m, met, n, u, ts)
            S[P[S_TOUCHED] + u] = S[P[S_HI] + u]
            n_gops += 1
            size, size_x = kept_for(P, g)
            kept += max(size, size_x)
    if j > i + 1 and not numbers.is_float(m.v):
        # Several lazy events of one time multiply by (1 + m), which is no shift.
        for k in range(S[C_ACTIVE]):
            u = S[P[S_ACTIVE] + k]
            z = P[P[U_LAZY] + u]
            if z >= 0 and multiplicity(events, i, j, z) > 1:
                n = _touch(m, met, n, u, ts)
    return n, n_gops, kept


@compiled
def _split_for(m, events, i, j, ts):
    """Split the bundles that events of one time know: these are looked at one by one."""
    P, L = m.P, events.by_letter
    for e in range(i, j):
        for k in entries(L, L_OPS_P, events.letter[e]):
            b = P[P[O_QUICK] + 8 * L[L[L_OPS] + k] + QO_BUNDLE]
            if b >= 0 and (m.S[P[S_B_MODE] + b] != SPLIT or m.S[P[S_B_PARTIAL] + b] != ts):
                for_some(m, b, ts)


@inlined
def _touch(m, met, n, u, ts):
    """Note that a step touches a unit, made active if need be; how many it touches now."""
    P, S = m.P, m.S
    if S[P[S_WHERE] + u] < 0:
        activate(m, u, ts)
    elif S[P[S_SEEN] + u] == S[C_STEPS]:
        return n
    S[P[S_SEEN] + u] = S[C_STEPS]
    met[n] = u
    return n + 1


@compiled
def _lay_out(m, events, scratch, n_met, i, j):
    """List the ops of a step as far as there is room.

    Returns how many they are, and how many numbers and extremes they take.
    """
    P, L = m.P, events.by_letter
    n, at, at_x = 0, 0, 0
    for e in range(i, j):
        for k in entries(L, L_OPS_P, events.letter[e]):
            n, at, at_x = _list(m, scratch, n, at, at_x, L[L[L_OPS] + k], e)
        if j == i + 1:
            continue  # a lazy event alone in its time goes through the accumulators
        for k in range(n_met):
            u = scratch.met[k]
            z = P[P[U_LAZY] + u]
            if z >= 0 and has_lazy(events, e, z):
                n, at, at_x = _list(m, scratch, n, at, at_x, P[P[U_LOP] + u], e)
    return n, at, at_x


@inlined
def _list(m, scratch, n, at, at_x, op, e):
    """List an op of a step."""
    if n < m.S[C_PENDING]:
        scratch.pending[4 * n], scratch.pending[4 * n + 1] = op, e
        scratch.pending[4 * n + 2], scratch.pending[4 * n + 3] = at, at_x
    w, nc, nx = shape(m.P, m.P[m.P[O_UNIT] + op])
    return n + 1, at + w * nc, at_x + w * nx


@inlined
def _value_of(P, scratch, k):
    """Where the value of the op that was listed as number k goes."""
    pending = scratch.pending
    w, nc, nx = shape(P, P[P[O_UNIT] + pending[4 * k]])
    at, at_x = pending[4 * k + 2], pending[4 * k + 3]
    return Row(scratch.v, scratch.x, at, at_x, w * nc, w * nx)


@compiled
def _step_guards(m, events, sides, stored, scratch, i, j, ts):
    """Complete guards, or go on with them."""
    L, n = events.by_letter, 0
    for e in range(i, j):
        for k in entries(L, L_GOPS_P, events.letter[e]):
            find_match(m.P, m.S, sides, stored, scratch.gops, n, L[L[L_GOPS] + k], e, ts)
            n += 1
    if n > 0:
        complete_guards(m, stored, scratch, n)
