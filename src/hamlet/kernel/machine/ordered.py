"""Logs in the order of a comparison: what an event goes on with is at their front.

With MATCH NEXT and one comparison f(previous) op g(next) an event takes all stored events away
whose f is on one side of its g. So a log is a heap by f, from which these are popped: each once.
Those of one time all go on with the same events, which are therefore popped into a second part, in
order, each with the sum of all before it: an event finds its own sum there by its g. What a guard
bars, it bars for all who read the log, and counts for nothing when it is popped.

A log has a list of its entries: first the heap, then what the last step has taken out, the last of
it first, then entries that are free.

Cost: O(log n) for an event that is stored, popped, or finds a sum, with n stored ones; times the
windows for what they carry.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.logs import add_stored, log_entry, logged, start_of_open, write_entry
from hamlet.kernel.machine.memory import AT_PLACE, ENTRY, KEY, entries, shape
from hamlet.kernel.machine.rows import add_row, copy_row, empty_row, one_window

# Bits of doubles: that of the sign, all others, and those that infinity has
_SIGN = np.int64(np.iinfo(np.int64).min)
_REST = np.int64(np.iinfo(np.int64).max)
_INFINITE = np.int64(0x7FF << 52)


@inlined
def key_of(bits, flip):
    """An integer in the order of the double that has some bits, or in the reverse; null is last."""
    if (bits & _REST) > _INFINITE:
        return _REST
    turned = bits ^ flip
    if turned == _SIGN:
        return np.int64(0)
    return turned if turned >= 0 else turned ^ _REST


@inlined
def begin_ordered(P, S, log):
    """Have nothing in a log."""
    S[P[at.S_LOG_HEAP] + log] = S[P[at.S_LOG_OUT] + log] = S[P[at.S_LOG_ALL] + log] = 0
    S[P[at.S_LOG_STEP] + log] = -1


@inlined
def release(P, S, log):
    """Forget what an earlier step has taken away."""
    if S[P[at.S_LOG_STEP] + log] != S[at.C_STEPS]:
        _forget_taken(P, S, log)


@inlined
def _forget_taken(P, S, log):
    S[P[at.S_LOG_OUT] + log] = 0
    if S[P[at.S_LOG_ALL] + log] == 1:
        S[P[at.S_LOG_HEAP] + log] = S[P[at.S_LOG_ALL] + log] = 0


@inlined
def pop_below(m, sides, stored, log, cond, i, total):
    """Take away what event i, alone in its time, goes on with; how many stored events these are.

    What they carry is in `total`, if there are any.
    """
    P, S = m.P, m.S
    release(P, S, log)
    popped, reach = 0, _reach(P, S, sides, log, i)
    while S[P[at.S_LOG_HEAP] + log] > 0 and _key_at(S, stored.entries, log, 0) < reach:
        slot = _pop(P, S, stored.entries, log)
        _, step, ts = log_entry(S, stored, log, slot)
        if not _is_barred(P, S, cond, step):
            if popped == 0:
                empty_row(total)
            add_stored(m, stored, log, slot, ts, total)
            popped += 1
    return popped


@compiled
def take_below(m, sides, stored, log, cond, i, total, is_alone):
    """Add up the stored events that event i goes on with by a comparison, and take them away."""
    P, S = m.P, m.S
    release(P, S, log)
    reach = _reach(P, S, sides, log, i)
    while S[P[at.S_LOG_HEAP] + log] > 0 and _key_at(S, stored.entries, log, 0) < reach:
        slot = _pop(P, S, stored.entries, log)
        _, step, ts = log_entry(S, stored, log, slot)
        is_barred = _is_barred(P, S, cond, step)
        if not is_alone:
            _put_out(m, stored, log, slot, ts, is_barred, total.size, total.size_x)
        elif not is_barred:
            add_stored(m, stored, log, slot, ts, total)
    # What has been taken out is in falling order.
    low = S[P[at.S_LOG_HEAP] + log]
    end = high = low + S[P[at.S_LOG_OUT] + log]
    while low < high:
        middle = (low + high) // 2
        if _key_at(S, stored.entries, log, middle) < reach:
            high = middle
        else:
            low = middle + 1
    if low < end:
        slot = _slot_at(S, stored.entries, log, low)
        add_row(total, logged(P, S, stored, log, slot, total.size, total.size_x), m.err)


@compiled
def take_all(m, stored, log, cond, total, is_alone):
    """Add up all stored events of a log, and take them away."""
    P, S = m.P, m.S
    release(P, S, log)
    heap = S[P[at.S_LOG_HEAP] + log]
    for place in range(heap):
        slot = _slot_at(S, stored.entries, log, place)
        _, step, ts = log_entry(S, stored, log, slot)
        if not _is_barred(P, S, cond, step):
            add_stored(m, stored, log, slot, ts, total)
    if S[P[at.S_LOG_OUT] + log] > 0:
        slot = _slot_at(S, stored.entries, log, heap)
        add_row(total, logged(P, S, stored, log, slot, total.size, total.size_x), m.err)
    if is_alone:
        S[P[at.S_LOG_HEAP] + log] = S[P[at.S_LOG_OUT] + log] = 0
    else:
        S[P[at.S_LOG_ALL] + log] = 1
        S[P[at.S_LOG_STEP] + log] = S[at.C_STEPS]


@compiled
def insert(P, S, sides, stored, log, i, ts, value):
    """Store an event with its value, once all of its step have found what they go on with."""
    _forget_taken(P, S, log)
    slot = enter(P, S, sides, stored, log, i, ts)
    copy_row(logged(P, S, stored, log, slot, value.size, value.size_x), value)


@inlined
def enter(P, S, sides, stored, log, i, ts):
    """Store an event, but for its value; which entry it is."""
    heap = S[P[at.S_LOG_HEAP] + log]
    if heap == S[P[at.S_LOG_LEN] + log]:
        S[P[at.S_LOG_LEN] + log] += 1
        _put(S, stored.entries, log, heap, heap)
    slot = _slot_at(S, stored.entries, log, heap)
    write_entry(S, stored, log, slot, i, ts)
    bits = sides.previous_bits[P[P[at.LOG_PREDICATE] + log] * S[at.C_EVENTS] + i]
    key = key_of(bits, P[P[at.LOG_FLIP] + log])
    stored.entries[ENTRY * (log * S[at.C_LOG] + slot) + KEY] = key
    S[P[at.S_LOG_HEAP] + log] = heap + 1
    place = heap
    while place > 0 and _key_at(S, stored.entries, log, (place - 1) // 2) > key:
        _put(S, stored.entries, log, place, _slot_at(S, stored.entries, log, (place - 1) // 2))
        place = (place - 1) // 2
    _put(S, stored.entries, log, place, slot)
    return slot


@inlined
def _is_barred(P, S, cond, step):
    """Whether a guard was completed since the step of a stored event."""
    for need in entries(P, at.NEED_P, cond):
        way = P[P[at.NEED_ALT] + P[P[at.NEED_ALT_P] + need]]
        for k in entries(P, at.ALT_GUARD_P, way):
            if S[P[at.S_G_DONE] + P[P[at.ALT_GUARD] + k]] > step:
                return True
    return False


@inlined
def _reach(P, S, sides, log, i):
    """Below which keys stored events are that event i goes on with."""
    p = P[P[at.LOG_PREDICATE] + log]
    limit = key_of(sides.next_bits[p * S[at.C_EVENTS] + i], P[P[at.LOG_FLIP] + log])
    if limit == _REST:
        return _SIGN
    return limit + (P[P[at.P_KIND] + p] & 1)  # <= and >= have odd codes


@inlined
def _put_out(m, stored, log, slot, ts, is_barred, size, size_x):
    """Keep what has been popped for others of this step, with the sum of all before it."""
    P, S = m.P, m.S
    u = P[P[at.LOG_UNIT] + log]
    w, nc, nx = shape(P, u)
    value, lo = logged(P, S, stored, log, slot, size, size_x), S[P[at.S_LO] + u]
    for window in range(lo, lo + w):
        is_closed = window > S[P[at.S_HI] + u] or ts < window * P[P[at.U_SLIDE] + u]
        if is_barred or is_closed:
            empty_row(one_window(value, window % w, nc, nx))
    if S[P[at.S_LOG_OUT] + log] > 0:
        before = _slot_at(S, stored.entries, log, S[P[at.S_LOG_HEAP] + log] + 1)
        add_row(value, logged(P, S, stored, log, before, size, size_x), m.err)
    S[P[at.S_LOG_OUT] + log] += 1
    S[P[at.S_LOG_STEP] + log] = S[at.C_STEPS]


# The heap


@inlined
def _slot_at(S, log_entries, log, place):
    """The entry at a place of the list of a log."""
    return log_entries[ENTRY * (log * S[at.C_LOG] + place) + AT_PLACE]


@inlined
def _put(S, log_entries, log, place, slot):
    log_entries[ENTRY * (log * S[at.C_LOG] + place) + AT_PLACE] = slot


@inlined
def _key_at(S, log_entries, log, place):
    """The key of the entry at a place of the list of a log."""
    slot = _slot_at(S, log_entries, log, place)
    return log_entries[ENTRY * (log * S[at.C_LOG] + slot) + KEY]


@inlined
def _pop(P, S, log_entries, log):
    """The entry with the least key of a heap, which comes to stand right after it."""
    slot, last = _slot_at(S, log_entries, log, 0), S[P[at.S_LOG_HEAP] + log] - 1
    _put(S, log_entries, log, 0, _slot_at(S, log_entries, log, last))
    _put(S, log_entries, log, last, slot)
    S[P[at.S_LOG_HEAP] + log] = last
    _sink(S, log_entries, log, 0, last)
    return slot


@compiled
def _sink(S, log_entries, log, place, size):
    """Let the entry at a place sink to where it belongs in a heap of some size."""
    if place >= size:
        return
    slot, key = _slot_at(S, log_entries, log, place), _key_at(S, log_entries, log, place)
    child = 2 * place + 1
    while child < size:
        if child + 1 < size:
            other = _key_at(S, log_entries, log, child + 1)
            child += other < _key_at(S, log_entries, log, child)
        if _key_at(S, log_entries, log, child) >= key:
            break
        _put(S, log_entries, log, place, _slot_at(S, log_entries, log, child))
        place, child = child, 2 * child + 1
    _put(S, log_entries, log, place, slot)


# Room


@compiled
def drop_closed(P, S, log_entries, log):
    """Take out of a heap what no open window has; it is a heap no more. How many are left."""
    _forget_taken(P, S, log)
    kept, start = 0, start_of_open(P, S, log)
    for place in range(S[P[at.S_LOG_HEAP] + log]):
        slot = _slot_at(S, log_entries, log, place)
        if log_entries[ENTRY * (log * S[at.C_LOG] + slot) + 2] >= start:
            _put(S, log_entries, log, place, _slot_at(S, log_entries, log, kept))
            _put(S, log_entries, log, kept, slot)
            kept += 1
    S[P[at.S_LOG_HEAP] + log] = kept
    return kept


@compiled
def make_heap(P, S, log_entries, log):
    """Make a heap of entries that stand one after the other."""
    size = S[P[at.S_LOG_HEAP] + log]
    S[P[at.S_LOG_LEN] + log] = size
    for place in range(size):
        _put(S, log_entries, log, place, place)
    for place in range(size // 2 - 1, -1, -1):
        _sink(S, log_entries, log, place, size)
