"""Places of events in the order of a side of the edge predicate, block by block.

Time is cut into blocks as long as the window, so what may precede an event is in its own block or
in the one before. For each event of the loop this gives its place among those of its block, in the
order of f, and how many of that block and of the one before its g lets in.

Cost: O(n log n) for the n events of a block: runs of eight are sorted by insertion, then merged.
"""

from __future__ import annotations

from hamlet.kernel.jit import apart
from hamlet.kernel.rows.layout import EQUAL, OPERATOR, SAME_SIDES, UNEQUAL, UP_TO

_RUN = 8


@apart
def sort_pairs(keys, at, items, spare, spare_items, n):
    """Sort n keys, from keys[at] on, with what belongs to them."""
    for begin in range(0, n, _RUN):
        for i in range(begin + 1, min(begin + _RUN, n)):
            key, item, k = keys[at + i], items[i], i
            while k > begin and keys[at + k - 1] > key:
                keys[at + k], items[k] = keys[at + k - 1], items[k - 1]
                k -= 1
            keys[at + k], items[k] = key, item
    width = _RUN
    while width < n:
        for begin in range(0, n, 2 * width):
            _merge(keys, at, items, spare, spare_items, begin, width, n)
        for k in range(n):
            keys[at + k], items[k] = spare[k], spare_items[k]
        width *= 2


@apart
def _merge(keys, at, items, spare, spare_items, begin, width, n):
    """Merge two runs that stand side by side into the spare arrays."""
    middle, end = min(begin + width, n), min(begin + 2 * width, n)
    a, b, k = begin, middle, begin
    while a < middle and b < end:
        takes_first = keys[at + a] <= keys[at + b]
        taken = a if takes_first else b
        spare[k], spare_items[k] = keys[at + taken], items[taken]
        a += takes_first
        b += not takes_first
        k += 1
    while a < middle:
        spare[k], spare_items[k] = keys[at + a], items[a]
        a += 1
        k += 1
    while b < end:
        spare[k], spare_items[k] = keys[at + b], items[b]
        b += 1
        k += 1


@apart
def rank_block(P, r, half, n, before):
    """Find the places of the n events of a block whose sides have been collected.

    Args:
        P: The code.
        r: Ranks; their f and g have been filled in.
        half: Which half the block is in; the sorted keys of the block before are in the other.
        n: How many events there are.
        before: How many keys the block before has.

    Returns:
        How many have a key.
    """
    own, other = half * r.room, (1 - half) * r.room
    valid = _collect(r.f, r.keys, own, r.items, n)
    sort_pairs(r.keys, own, r.items, r.spare, r.spare_items, valid)
    for q in range(n):
        r.place[q] = -1
    different = -1
    for k in range(valid):
        different += k == 0 or r.keys[own + k] != r.keys[own + k - 1]
        r.same[own + k] = different
        r.place[r.items[k]] = different if P[OPERATOR] == EQUAL else k
    for q in range(n):
        r.low[q], r.high[q], r.low_before[q], r.high_before[q] = 0, 0, 0, 0
    if P[SAME_SIDES] == 1:
        asking = valid
        for k in range(valid):
            r.bounds[k], r.bound_items[k] = r.keys[own + k], r.items[k]
    else:
        asking = _collect(r.g, r.bounds, 0, r.bound_items, n)
        sort_pairs(r.bounds, 0, r.bound_items, r.spare, r.spare_items, asking)
    _count(P[OPERATOR], r, own, valid, asking, r.low, r.high)
    _count(P[OPERATOR], r, other, before, asking, r.low_before, r.high_before)
    return valid


@apart
def _collect(values, keys, at, items, n):
    """Those of n values that are not null, with their numbers; how many they are."""
    valid = 0
    for q in range(n):
        if values[q] == values[q]:
            keys[at + valid], items[valid] = values[q], q
            valid += 1
    return valid


@apart
def _count(operator, r, at, n, asking, low, high):
    """For each bound how many of n sorted keys it lets in, from the least and from the greatest on.

    Where it lets in equal ones alone: which of the different keys it is, counted from 1.
    """
    below, upto = 0, 0
    for k in range(asking):
        bound, q = r.bounds[k], r.bound_items[k]
        while below < n and r.keys[at + below] < bound:
            below += 1
        upto = max(upto, below)
        while upto < n and r.keys[at + upto] <= bound:
            upto += 1
        if operator == EQUAL:
            low[q] = r.same[at + below] + 1 if below < upto else 0
        else:
            low[q] = upto if operator == UP_TO else below
        if operator == UNEQUAL:
            high[q] = n - upto
