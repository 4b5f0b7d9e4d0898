"""Places of events in the order of a side of the edge predicate, block by block.

Time is cut into blocks as long as the window, so what may precede an event is in its own block or
in the one before. For each event of the loop this gives its place among those of its block, in the
order of f, and how many of that block and of the one before its g lets in.

Cost: O(n log n) for the n events of a block: runs of eight are sorted by insertion, then merged.
Many are sorted digit by digit, in O(n): a thousand keys take half the time of merging, and thirty
thousand an eighth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.layout import EQUAL, OPERATOR, SAME_SIDES, UNEQUAL, UP_TO

_RUN = 8
# From so many keys on digits are sorted by: so many of so many bits
_MANY, _DIGITS, _BITS = 1024, 6, 11
_VALUES = 1 << _BITS
# What is counted for that
COUNTS = _DIGITS * _VALUES
_SIGN = np.int64(-(1 << 63))


@intrinsic
def _bits(context: Any, value: Any) -> Any:
    """The bits of a double as an integer."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


@inlined
def _digit(key, digit):
    """A digit of a key, and where it is counted: keys stand in the order of their digits."""
    bits = _bits(key)
    bits ^= (bits >> 63) | _SIGN
    return digit * _VALUES + ((bits >> (_BITS * digit)) & (_VALUES - 1))


@apart
def _sort_by_digits(keys, at, items, spare, spare_items, counts, n):
    """Sort n keys by their digits, from the last one on; a digit that all have is passed over."""
    for k in range(COUNTS):
        counts[k] = 0
    for k in range(n):
        for digit in range(_DIGITS):
            counts[_digit(keys[at + k], digit)] += 1
    is_spare = False
    for digit in range(_DIGITS):
        if counts[_digit(spare[0] if is_spare else keys[at], digit)] == n:
            continue
        _add_up_counts(counts, digit)
        if is_spare:
            _put_by_digit(keys, at, items, spare, 0, spare_items, counts, digit, n)
        else:
            _put_by_digit(spare, 0, spare_items, keys, at, items, counts, digit, n)
        is_spare = not is_spare
    if is_spare:
        for k in range(n):
            keys[at + k], items[k] = spare[k], spare_items[k]


@inlined
def _add_up_counts(counts, digit):
    """Have for each value of a digit how many keys have a lesser one."""
    total = 0
    for value in range(digit * _VALUES, (digit + 1) * _VALUES):
        count = counts[value]
        counts[value] = total
        total += count


@apart
def _put_by_digit(to, to_at, to_items, keys, at, items, counts, digit, n):
    """Put keys in the order of a digit; those that have the same stay in their order."""
    for k in range(n):
        key = keys[at + k]
        value = _digit(key, digit)
        place = counts[value]
        counts[value] = place + 1
        to[to_at + place], to_items[place] = key, items[k]


@apart
def sort_pairs(keys, at, items, spare, spare_items, counts, n):
    """Sort n keys, from keys[at] on, with what belongs to them."""
    if n >= _MANY:
        _sort_by_digits(keys, at, items, spare, spare_items, counts, n)
        return
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
    sort_pairs(r.keys, own, r.items, r.spare, r.spare_items, r.counts, valid)
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
        sort_pairs(r.bounds, 0, r.bound_items, r.spare, r.spare_items, r.counts, asking)
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
