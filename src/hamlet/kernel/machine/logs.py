"""Logs: events stored one by one, each with what ends at it, for those that may go on with it.

Cost: O(windows) for each stored event that is read or appended.
"""

from __future__ import annotations

from hamlet.kernel import layout as at
from hamlet.kernel.code import LAST_STEP
from hamlet.kernel.jit import inlined
from hamlet.kernel.machine.memory import ENTRY, FAR, shape
from hamlet.kernel.machine.rows import Row, add_row, copy_row, one_window


@inlined
def log_entry(S, stored, log, pos):
    """A stored event: its number, step and time."""
    entry = ENTRY * (log * S[at.C_LOG] + pos)
    return stored.entries[entry], stored.entries[entry + 1], stored.entries[entry + 2]


@inlined
def logged(P, S, stored, log, pos, size, size_x):
    """The value of a stored event."""
    first = P[P[at.LOG_VBASE] + log] * S[at.C_LOG] + pos * size
    first_x = P[P[at.LOG_XBASE] + log] * S[at.C_LOG] + pos * size_x
    return Row(stored.v, stored.x, first, first_x, size, size_x)


@inlined
def first_open(P, S, stored, log):
    """The first stored event of a log that an open window has."""
    start = start_of_open(P, S, log)
    head, end = S[P[at.S_LOG_HEAD] + log], S[P[at.S_LOG_LEN] + log]
    while head < end and log_entry(S, stored, log, head)[2] < start:
        head += 1
    S[P[at.S_LOG_HEAD] + log] = head
    return head


@inlined
def start_of_open(P, S, log):
    """When the first open window of a log's unit has begun."""
    u = P[P[at.LOG_UNIT] + log]
    return S[P[at.S_LO] + u] * P[P[at.U_SLIDE] + u]


@inlined
def add_stored(m, stored, log, pos, ts, total):
    """Add what a stored event of a time carries, in the windows that it is in."""
    P, S = m.P, m.S
    u = P[P[at.LOG_UNIT] + log]
    w, nc, nx = shape(P, u)
    slide = P[P[at.U_SLIDE] + u]
    value = logged(P, S, stored, log, pos, total.size, total.size_x)
    for window in range(S[P[at.S_LO] + u], S[P[at.S_HI] + u] + 1):
        if ts < window * slide:
            break
        slot = window % w
        add_row(one_window(total, slot, nc, nx), one_window(value, slot, nc, nx), m.err)


@inlined
def append(P, S, stored, log, i, ts, value):
    """Store an event with its value in a log that is in the order of time."""
    pos = S[P[at.S_LOG_LEN] + log]
    is_brief = P[P[at.LOG_KIND] + log] == LAST_STEP and pos > 0
    if is_brief and log_entry(S, stored, log, pos - 1)[1] != S[at.C_STEPS]:
        pos = S[P[at.S_LOG_HEAD] + log] = 0
    S[P[at.S_LOG_LEN] + log] = pos + 1
    write_entry(S, stored, log, pos, i, ts)
    copy_row(logged(P, S, stored, log, pos, value.size, value.size_x), value)


@inlined
def write_entry(S, stored, log, pos, i, ts):
    """Write a stored event, but for its value."""
    entry = ENTRY * (log * S[at.C_LOG] + pos)
    stored.entries[entry] = i
    stored.entries[entry + 1] = S[at.C_STEPS]
    stored.entries[entry + 2] = ts
    stored.entries[entry + 3] = FAR
