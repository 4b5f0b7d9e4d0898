"""Room: what the walk may need more of before it can go on, and how it gets it.

The walk looks for room before it changes anything of a step, stops where there is too little, and
is called again with larger arrays. Sizes at least double, so growing costs O(1) for each entry.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.code import ORDERED
from hamlet.kernel.growth import move, move_numbers
from hamlet.kernel.jit import compiled
from hamlet.kernel.machine.memory import AT_PLACE, ENTRY, shape
from hamlet.kernel.machine.ordered import drop_closed, make_heap


@compiled
def short_of(P, S, scratch, scratch_x, pending, kept, events):
    """What there is not room enough for, 0 if there is; how much is wanted goes to S."""
    if scratch > S[at.C_SCRATCH]:
        S[at.C_SCRATCH] = 2 * scratch
        return at.ROOM_SCRATCH
    if scratch_x > S[at.C_SCRATCH_X]:
        S[at.C_SCRATCH_X] = 2 * scratch_x
        return at.ROOM_SCRATCH_X
    if pending > S[at.C_PENDING]:
        S[at.C_PENDING] = 2 * pending
        return at.ROOM_PENDING
    if kept > S[at.C_KEPT]:
        S[at.C_KEPT] = 2 * kept
        return at.ROOM_KEPT
    for k in range(S[at.C_LOGS]):
        if S[P[at.S_LOG_LEN] + k] + events > S[at.C_LOG]:
            S[at.C_WANTED] = events
            return at.ROOM_LOGS
    for k in range(S[at.C_GUARD_LOGS]):
        if S[P[at.S_GLOG_LEN] + k] + events > S[at.C_GLOG]:
            S[at.C_WANTED] = 2 * (S[P[at.S_GLOG_LEN] + k] + events)
            return at.ROOM_GUARD_LOGS
    return 0


@compiled
def more_guard_logs(P, S, guard_entries):
    """Logs of guards with as much room as is wanted."""
    logs, old, size = S[at.C_GUARD_LOGS], S[at.C_GLOG], S[at.C_WANTED]
    larger = np.empty(3 * logs * size, np.int64)
    for log in range(logs):
        n = 3 * S[P[at.S_GLOG_LEN] + log]
        a, b = 3 * log * size, 3 * log * old
        move(larger, a, guard_entries, b, n)
    S[at.C_GLOG] = size
    return larger


@compiled
def more_logs(P, S, stored):
    """Logs without their dead events, and with room for more."""
    log_entries, v, x = stored
    logs, old = S[at.C_LOGS], S[at.C_LOG]
    fullest = 0
    for log in range(logs):
        if P[P[at.LOG_KIND] + log] == ORDERED:
            live = drop_closed(P, S, log_entries, log)
        else:
            live = S[P[at.S_LOG_LEN] + log] - S[P[at.S_LOG_HEAD] + log]
        fullest = max(fullest, live)
    new = max(2 * (fullest + S[at.C_WANTED]), 64)
    new_entries = np.empty(ENTRY * logs * new, np.int64)
    new_v = numbers.room(v, v.shape[0] // old * new)
    new_x = np.empty(x.shape[0] // old * new)
    for log in range(logs):
        if P[P[at.LOG_KIND] + log] == ORDERED:
            for place in range(S[P[at.S_LOG_HEAP] + log]):
                slot = log_entries[ENTRY * (log * old + place) + AT_PLACE]
                _move_events(
                    P, log, new_entries, new_v, new_x, new, place, log_entries, v, x, old, slot, 1
                )
            continue
        head = S[P[at.S_LOG_HEAD] + log]
        n = S[P[at.S_LOG_LEN] + log] - head
        _move_events(P, log, new_entries, new_v, new_x, new, 0, log_entries, v, x, old, head, n)
        S[P[at.S_LOG_HEAD] + log] = 0
        S[P[at.S_LOG_LEN] + log] = n
    S[at.C_LOG] = new
    for log in range(logs):
        if P[P[at.LOG_KIND] + log] == ORDERED:
            make_heap(P, S, new_entries, log)
    return new_entries, new_v, new_x


@compiled
def _move_events(P, log, to_entries, to_v, to_x, to_room, to, log_entries, v, x, room, first, n):
    """Copy n stored events of a log."""
    w, nc, nx = shape(P, P[P[at.LOG_UNIT] + log])
    base, base_x = P[P[at.LOG_VBASE] + log], P[P[at.LOG_XBASE] + log]
    target, source = ENTRY * (log * to_room + to), ENTRY * (log * room + first)
    move(to_entries, target, log_entries, source, ENTRY * n)
    move_numbers(to_v, base * to_room + to * w * nc, v, base * room + first * w * nc, n * w * nc)
    move(to_x, base_x * to_room + to * w * nx, x, base_x * room + first * w * nx, n * w * nx)
