"""The walk through the events of a partition, step by step: a step is all events of one time.

For each step: windows that have ended are closed, what every event adds is found from the state
before the step, the guards that were completed are applied, and only then is anything added.
Simultaneous events thus never see each other.

Three kinds of steps, from cheap to dear: a run of events that only accumulators know is taken in
at once; an event alone in its time is added directly, op after op, in all units whose ops read
nothing but rows; in other units, and where several events have one time, it goes the long way.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.accumulators import (
    has_lazy,
    multiplicity,
    take_event,
    take_one,
    take_run,
    take_step,
    take_stretch,
)
from hamlet.kernel.machine.bundles import SPLIT, for_all, for_some, stay_split
from hamlet.kernel.machine.capacity import short_of
from hamlet.kernel.machine.catch_up import stamp, sync, sync_numbers
from hamlet.kernel.machine.counts import sync_counts
from hamlet.kernel.machine.guards import complete_guards, find_match, kept_for
from hamlet.kernel.machine.memory import FAR, entries, shape
from hamlet.kernel.machine.rows import Row
from hamlet.kernel.machine.steps import (
    begin_waiting,
    end_runs,
    end_waiting,
    hand_on,
    is_past,
    leave,
    let_pass,
    pass_on,
    renew,
)
from hamlet.kernel.machine.taking import take_and_store
from hamlet.kernel.machine.tree_sums import turn_block
from hamlet.kernel.machine.values import (
    commit,
    direct,
    find_value,
    move_on,
    move_together,
    store_on,
)
from hamlet.kernel.machine.windows import activate, bar, close_all, next_due, roll_all, sync_all
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

    Where a number does not fit, it is one of a window that was open at the event before where it
    stands, and records are to be trusted that there were then (C_FIRM).
    """
    P, S, L = m.P, m.S, events.by_letter
    due = next_due(P, S)
    while i < end:
        ts = events.ts[i]
        if ts >= due:
            if records.n[0] + S[at.C_WINDOWS] > S[at.C_ROOM]:
                return i, at.ROOM_OUT
            due = roll_all(m, sides, stored, records, part, ts)
            if m.err[0] != 0:
                return i, 0
            S[at.C_FIRM] = records.n[0]
        letter = events.letter[i]
        if S[at.C_ASLEEP] > 0:
            due = min(due, _wake(m, events, i, ts))
        if events.tied[i] == at.AFTER_OTHERS:
            let_pass(m, sides)
        if S[at.C_WAITING] > 0 and (i + 1 >= end or events.tied[i + 1] != at.TIED):
            end_runs(m, sides, letter)
        if i + 1 < end and events.tied[i + 1] == at.TIED:
            j = _end_of_step(events, i, end)
            short = _step(m, events, sides, stored, scratch, i, j, ts, at.L_OPS_P, at.L_GOPS_P)
            due = min(due, next_due(P, S))
        elif _is_lazy(S, L, letter):
            j, short = _take_lazy(m, events, sides, i, end, due), 0
            S[at.C_STEPS] -= 1
            S[at.C_BURSTS] -= 1
        else:
            j, short = i + 1, max(_short_of_trace(P, S, 1), _short_of_logs(P, S))
            if short == 0 and L[L[at.L_DIRECT] + letter] == 0:
                long, guards = at.L_LONG_P, at.L_LONG_GOPS_P
                short = _step(m, events, sides, stored, scratch, i, j, ts, long, guards)
                due = min(due, next_due(P, S))
            if short == 0:
                due = min(due, _add_directly(m, events, sides, stored, i, ts))
        if short != 0:
            return i, short
        S[at.C_STEPS] += 1
        S[at.C_BURSTS] += 1
        i = j
        if m.err[0] != 0:
            return i, 0
    if records.n[0] + S[at.C_WINDOWS] > S[at.C_ROOM]:
        return i, at.ROOM_OUT
    if until < FAR:
        sync_all(m)
        roll_all(m, sides, stored, records, part, until)
    else:
        close_all(m, sides, stored, records, part)
    return i, 0


@inlined
def _is_lazy(S, L, letter):
    """Whether an event of a letter needs nothing but accumulators."""
    kind = L[L[at.L_LAZY] + letter]
    return kind == at.ALWAYS_LAZY or (
        kind == at.LAZY_UNLESS_WAITED_FOR and S[at.C_PASSED] != S[at.C_STEPS] - 1
    )


@compiled
def _wake(m, events, i, ts):
    """Make units active in which an event begins trends lazily; when a window of them is due."""
    P, S, L, due = m.P, m.S, events.by_letter, FAR
    for k in entries(L, at.L_WAKES_P, events.letter[i]):
        u = L[L[at.L_WAKES] + k]
        if S[P[at.S_WHERE] + u] < 0:
            activate(m, u, ts)
            due = min(due, S[P[at.S_DUE] + u])
    return due


@inlined
def _short_of_trace(P, S, events):
    """Whether a trace lacks room for what may be decided at some events of one time."""
    S[at.C_WANTED] = 2 * events * P[at.N_UNITS]
    is_short = S[at.C_TRACE_ROOM] > 0 and S[at.C_TRACE] + S[at.C_WANTED] > S[at.C_TRACE_ROOM]
    return at.ROOM_TRACE if is_short else 0


@inlined
def _short_of_logs(P, S):
    """Whether a log may lack room for an event; how full they are is not looked at for each."""
    S[at.C_LOG_LEFT] -= 1
    if S[at.C_LOG_LEFT] >= 0 or S[at.C_LOGS] == 0:
        return 0
    fullest = 0
    for k in range(S[at.C_LOGS]):
        fullest = max(fullest, S[P[at.S_LOG_LEN] + k])
    S[at.C_LOG_LEFT] = S[at.C_LOG] - fullest - 1
    if S[at.C_LOG_LEFT] >= 0:
        return 0
    S[at.C_WANTED] = 1
    return at.ROOM_LOGS


@inlined
def _end_of_step(events, i, end):
    """Where the events of one time end."""
    j = i + 1
    while j < end and events.tied[j] == at.TIED:
        j += 1
    return j


@compiled
def _take_lazy(m, events, sides, i, end, due):
    """Take in runs of events that only accumulators know, one after the other; where they end.

    Afterwards it is the step of the event there.
    """
    S, L, j = m.S, events.by_letter, i
    is_few = m.P[at.IS_FEW] == 1 and S[at.C_ASLEEP] == 0
    while True:
        first, j = j, _end_of_run(events, j, end, due)
        whole = j
        if is_few and S[at.C_WAITING] == 0 and j < first + _BLOCK:
            whole = _end_of_stretch(events, j, end, due)
        if whole > j:
            j = whole
            take_stretch(m, events, first, j)
        elif j == first + 1:
            take_one(m, events, first)
        else:
            take_run(m, events, first, j)
        S[at.C_BURSTS] += 1
        S[at.C_STEPS] += j - first
        if j >= end or events.ts[j] >= due:
            return j
        if L[L[at.L_LAZY] + events.letter[j]] != at.ALWAYS_LAZY:
            return j
        if S[at.C_ASLEEP] > 0 or (j + 1 < end and events.tied[j + 1] == at.TIED):
            return j
        if S[at.C_WAITING] > 0:
            if events.tied[j] == at.AFTER_OTHERS:
                return j
            end_runs(m, sides, events.letter[j])


@inlined
def _end_of_run(events, i, end, due):
    """Where a run ends: one letter, different times, no window that opens or closes."""
    letter = events.letter[i]
    j = i + 1
    if j < end and events.letter[j] != letter:
        return j
    while j + _BLOCK < end and events.ts[j + _BLOCK - 1] < due:
        other = 0
        for k in range(_BLOCK):
            other |= (events.letter[j + k] ^ letter) | events.tied[j + k + 1]
        if other != 0 or events.tied[j] != 0:
            break
        j += _BLOCK
    if j + _BLOCK < end:
        run = 0  # as bits: which of the block go on with it
        for k in range(_BLOCK):
            is_alone = (events.tied[j + k] | events.tied[j + k + 1]) == 0
            goes_on = is_alone & (events.letter[j + k] == letter) & (events.ts[j + k] < due)
            run |= goes_on << k
        return j + _UNBROKEN[run]
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
def _end_of_stretch(events, i, end, due):
    """Where events end that only accumulators know, and that are alone in their time."""
    L, j = events.by_letter, i
    lazy = L[at.L_LAZY]
    while (
        j < end
        and L[lazy + events.letter[j]] == at.ALWAYS_LAZY
        and events.ts[j] < due
        and events.tied[j] == 0
        and (j + 1 >= end or events.tied[j + 1] == 0)
    ):
        j += 1
    return j


@inlined
def _add_directly(m, events, sides, stored, i, ts):
    """Add an event alone in its time; when a window of a unit that it made active is due."""
    P, S, L = m.P, m.S, events.by_letter
    letter, due = events.letter[i], FAR
    for k in entries(L, at.L_REST_P, letter):
        op = L[L[at.L_REST] + k]
        b = P[P[at.O_QUICK] + at.QUICK * op + at.QO_BUNDLE]
        if b >= 0:
            if S[P[at.S_B_MODE] + b] == SPLIT and S[at.C_TRACE_ROOM] == 0:
                stay_split(P, S, b, ts)
            else:
                for_some(m, b, ts)
        due = min(due, _add_op(m, events, sides, stored, op, i, ts))
    decided, is_merged = -1, False
    for k in entries(L, at.L_FULL_P, letter):
        b, first = L[L[at.L_FULL] + k], L[L[at.L_FULL_AT] + k]
        if b != decided:
            decided, is_merged = b, for_all(m, b, ts)
        units = 1 if is_merged else P[P[at.B_P] + b + 1] - P[P[at.B_P] + b]
        for n in range(first, first + units):
            op = L[L[at.L_FULL_OPS] + n]
            due = min(due, _add_op(m, events, sides, stored, op, i, ts))
    for k in entries(L, at.L_BARS_P, letter):
        due = min(due, bar(m, L[L[at.L_BARS] + k], ts))
    if L[L[at.L_Z_P] + letter] < L[L[at.L_Z_P] + letter + 1]:
        take_event(m, events, i)
    return due


@inlined
def _add_op(m, events, sides, stored, op, i, ts):
    """Add an event at one state; when a window of its unit is due, if that has become active."""
    P, S, due = m.P, m.S, FAR
    quick = P[at.O_QUICK] + at.QUICK * op
    u = P[quick + at.QO_UNIT]
    if S[P[at.S_WHERE] + u] < 0:
        if P[quick + at.QO_MOVES] != at.STAYING and P[quick + at.QO_BEGINS] == 0:
            return due  # there is nothing to go on with
        activate(m, u, ts)
        due = S[P[at.S_DUE] + u]
    elif P[quick + at.QO_SYNC] == at.SYNC_COUNTS:
        sync_counts(m, u)
    elif P[quick + at.QO_SYNC] == at.SYNC_LATER:
        sync_numbers(m, u)
    elif P[quick + at.QO_SYNC] == at.SYNC_IF_WAITING:
        has_begun = S[P[at.S_STEP] + u] == S[at.C_STEPS]  # with another op of this event
        if P[quick + at.QO_BEGINS] == 0 and not has_begun and is_past(m, u):
            return due
        sync(m, u)
    else:
        sync(m, u)
    source, to = P[quick + at.QO_FROM], P[quick + at.QO_TO]
    if to >= 0:
        S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
        for e in range(0, P[quick + at.QO_SIZE], P[quick + at.QO_STEP]):
            numbers.add(m.v, to + e, m.v, source + e, m.err)
        source, to = P[quick + at.QO_FROM_X], P[quick + at.QO_TO_X]
        for e in range(P[quick + at.QO_SIZE_X]):
            m.x[to + e] = min(m.x[to + e], m.x[source + e])
    elif P[quick + at.QO_MOVES] == at.MOVING:
        move_on(m, events, op, i)
    elif P[quick + at.QO_MOVES] == at.BEGINNING:
        begin_waiting(m, quick)
    elif P[quick + at.QO_MOVES] == at.ENDING:
        end_waiting(m, quick)
    elif P[quick + at.QO_MOVES] == at.TOGETHER:
        move_together(m, events, op, i)
    elif P[quick + at.QO_MOVES] == at.TAKING:
        take_and_store(m, events, sides, stored, op, i, ts)
    elif P[quick + at.QO_MOVES] == at.STORING:
        store_on(m, events, sides, stored, op, i, ts)
    elif P[quick + at.QO_MOVES] == at.HANDING_ON:
        hand_on(m, quick)
    else:
        direct(m, events, op, i)
    return due


# The long way


@compiled
def _step(m, events, sides, stored, scratch, i, j, ts, ops, gops):
    """Take in the events from i to j, all of one time; what there is no room for, or 0.

    Of their ops and guard ops those in two lists by letter. Accumulators are left to whoever calls
    where it is one event: its ops are not those of units that wait for it.
    """
    P, S, pending = m.P, m.S, scratch.pending
    short = _short_of_trace(P, S, j - i)
    if short != 0:
        return short
    n_met, n_gops, kept = _meet(m, events, scratch.met, i, j, ts, ops, gops)
    n, size, size_x = _lay_out(m, events, scratch, n_met, i, j, ops)
    short = short_of(P, S, size, size_x, max(n, n_gops), kept, j - i)
    if short != 0:
        for k in range(n_met):
            S[P[at.S_SEEN] + scratch.met[k]] = -1
        return short
    S[at.C_LOG_LEFT] -= j - i
    if j > i + 1 and S[at.C_WAITING] > 0:
        end_runs(m, sides, -1)
    for k in range(n_met):
        sync(m, scratch.met[k])
        turn_block(P, S, scratch.met[k], ts)
        renew(m, scratch.met[k])
    # What they add, all from the state before the step
    for k in range(n):
        if m.err[STOPPED] != 0:
            return 0  # a step may have any number of events
        op, e = pending[4 * k], pending[4 * k + 1]
        find_value(m, events, sides, stored, op, e, _value_of(P, scratch, k), False)
    _step_guards(m, events, sides, stored, scratch, i, j, ts, gops)
    for k in range(n_met):
        pass_on(m, scratch.met[k], -1)
    for k in range(n):
        op, e = pending[4 * k], pending[4 * k + 1]
        if P[P[at.U_STEPS] + P[P[at.O_UNIT] + op]] == 1:
            leave(m, sides, op, e)
    for k in range(n):
        op, e = pending[4 * k], pending[4 * k + 1]
        commit(m, sides, stored, op, e, ts, _value_of(P, scratch, k))
    if j > i + 1:
        # The units that are not met get the lazy events of the step through the accumulators.
        take_step(m, events, i, j)
        for k in range(n_met):
            stamp(m, scratch.met[k])
    return 0


@compiled
def _meet(m, events, met, i, j, ts, ops, gops):
    """The units that a step touches, made active if need be.

    Returns how many they are, how many guard ops there are, and how much these may put aside.
    """
    P, S, L = m.P, m.S, events.by_letter
    n, n_gops, kept = 0, 0, 0
    if P[at.N_B] > 0:
        _split_for(m, events, i, j, ts, ops)
    for e in range(i, j):
        if S[at.C_ASLEEP] > 0:
            _wake(m, events, e, ts)
        for k in entries(L, ops, events.letter[e]):
            n = _touch(m, met, n, P[P[at.O_UNIT] + L[L[ops + 1] + k]], ts)
        for k in entries(L, gops, events.letter[e]):
            g = P[P[at.GOP_GUARD] + L[L[gops + 1] + k]]
            u = P[P[at.G_UNIT] + g]
            n = _touch(m, met, n, u, ts)
            S[P[at.S_TOUCHED] + u] = S[P[at.S_HI] + u]
            n_gops += 1
            size, size_x = kept_for(P, g)
            kept += max(size, size_x)
    if j > i + 1:
        for k in range(S[at.C_WAITING]):
            u = S[P[at.S_WAITING] + k]
            if S[P[at.S_WHERE] + u] >= 0:
                n = _touch(m, met, n, u, ts)
    if j > i + 1 and (P[at.N_MOVES] > 0 or not numbers.is_float(m.v)):
        # Several lazy events of one time multiply by (1 + m), which is no shift; and where trends
        # move, each of these events goes on with all of them.
        for k in range(S[at.C_ACTIVE]):
            u = S[P[at.S_ACTIVE] + k]
            if numbers.is_float(m.v) and P[P[at.U_STEPS] + u] == 0:
                continue
            for lazy in entries(P, at.U_LAZY_P, u):
                if multiplicity(events, i, j, P[P[at.LAZIES] + at.LAZY * lazy + at.LZ_Z]) > 1:
                    n = _touch(m, met, n, u, ts)
    return n, n_gops, kept


@compiled
def _split_for(m, events, i, j, ts, ops):
    """Split the bundles that events of one time know: these are looked at one by one."""
    P, L = m.P, events.by_letter
    for e in range(i, j):
        for k in entries(L, ops, events.letter[e]):
            b = P[P[at.O_QUICK] + at.QUICK * L[L[ops + 1] + k] + at.QO_BUNDLE]
            if b >= 0 and (m.S[P[at.S_B_MODE] + b] != SPLIT or m.S[P[at.S_B_PARTIAL] + b] != ts):
                for_some(m, b, ts)


@inlined
def _touch(m, met, n, u, ts):
    """Note that a step touches a unit, made active if need be; how many it touches now."""
    P, S = m.P, m.S
    if S[P[at.S_WHERE] + u] < 0:
        activate(m, u, ts)
    elif S[P[at.S_SEEN] + u] == S[at.C_STEPS]:
        return n
    S[P[at.S_SEEN] + u] = S[at.C_STEPS]
    met[n] = u
    return n + 1


@compiled
def _lay_out(m, events, scratch, n_met, i, j, ops):
    """List the ops of a step as far as there is room.

    Returns how many they are, and how many numbers and extremes they take.
    """
    P, L = m.P, events.by_letter
    n, used, used_x = 0, 0, 0
    for e in range(i, j):
        for k in entries(L, ops, events.letter[e]):
            n, used, used_x = _list(m, scratch, n, used, used_x, L[L[ops + 1] + k], e)
        if j == i + 1:
            continue  # a lazy event alone in its time goes through the accumulators
        for k in range(n_met):
            for lazy in entries(P, at.U_LAZY_P, scratch.met[k]):
                quick = P[at.LAZIES] + at.LAZY * lazy
                if has_lazy(events, e, P[quick + at.LZ_Z]):
                    op = P[quick + at.LZ_OP]
                    n, used, used_x = _list(m, scratch, n, used, used_x, op, e)
    return n, used, used_x


@inlined
def _list(m, scratch, n, used, used_x, op, e):
    """List an op of a step."""
    if n < m.S[at.C_PENDING]:
        scratch.pending[4 * n], scratch.pending[4 * n + 1] = op, e
        scratch.pending[4 * n + 2], scratch.pending[4 * n + 3] = used, used_x
    w, nc, nx = shape(m.P, m.P[m.P[at.O_UNIT] + op])
    return n + 1, used + w * nc, used_x + w * nx


@inlined
def _value_of(P, scratch, k):
    """Where the value of the op that was listed as number k goes."""
    pending = scratch.pending
    w, nc, nx = shape(P, P[P[at.O_UNIT] + pending[4 * k]])
    first, first_x = pending[4 * k + 2], pending[4 * k + 3]
    return Row(scratch.v, scratch.x, first, first_x, w * nc, w * nx)


@compiled
def _step_guards(m, events, sides, stored, scratch, i, j, ts, gops):
    """Complete guards, or go on with them."""
    L, n = events.by_letter, 0
    for e in range(i, j):
        for k in entries(L, gops, events.letter[e]):
            find_match(m.P, m.S, sides, stored, scratch.gops, n, L[L[gops + 1] + k], e, ts)
            n += 1
    if n > 0:
        complete_guards(m, stored, scratch, n)
