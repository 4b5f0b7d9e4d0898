"""Dense codes, counting sorts and gathers, compiled.

Everything here is one or a few passes over flat arrays. Inputs are taken as read-only, whether they
are or not, so that each function is compiled once; memory is allocated by NumPy outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.events.columns import Values
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Rows = NDArray[np.int32]
    Ints = NDArray[np.int64]

_FIRST_TABLE = 1 << 16
# Of a table by hash, which grows as values come: so large it stays in the nearest cache.
_FIRST_SLOTS = 1 << 12
# Bits of a digit that keys are sorted by, and of how many keys longer ones are worth it
_DIGIT, _LONG_DIGIT = 8, 12
_SEVERAL, _MANY = 1 << 11, 1 << 17
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """An array in one piece that is read-only, so that functions are compiled for one kind."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def all_read_only(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """The same of several arrays, to be handed on together."""
    return tuple(read_only(array) for array in arrays)


# Codes


def dense_codes(values: NDArray[np.int64]) -> tuple[Codes, Rows]:
    """A code for each value, numbered as they first appear, and the row of each code's first.

    A table by value where the values are close together, else hashing: about 4 to 10 ns a row.

    >>> codes, first = dense_codes(np.array([7, 5, 7, 9]))
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    n = len(values)
    codes = np.empty(n, np.int32)
    if not n:
        return codes, np.empty(0, np.int32)
    values = read_only(values.astype(np.int64, copy=False))
    low, high = _range(values)
    if high - low < max(4 * n, _FIRST_TABLE):
        first = np.empty(min(n, high - low + 1), np.int32)
        table = np.full(high - low + 1, -1, np.int32)
        count = _codes_by_table(values, np.int64(low), table, codes, first)
        return codes, first[:count]
    return codes, _hashed(values, codes)


def _hashed(values: NDArray[np.int64], codes: Codes) -> Rows:
    size, done, count = _FIRST_SLOTS, 0, 0
    first = np.empty(len(values), np.int32)
    while True:
        slots = np.full(size, -1, np.int32)
        shift = np.uint64(64 - size.bit_length() + 1)
        _insert(values, first, count, slots, shift)
        done, count = _codes_by_hash(values, slots, shift, codes, first, done, count)
        if done == len(values):
            return first[:count].copy()
        size *= 4


@interpretable
def _range(values):  # type: ignore[no-untyped-def]
    low = high = values[0]
    for value in values:
        low = min(low, value)
        high = max(high, value)
    return low, high


@interpretable
def _codes_by_table(values, low, table, codes, first):  # type: ignore[no-untyped-def]
    count = 0
    for row in range(len(values)):
        place = values[row] - low
        code = table[place]
        if code < 0:
            code = count
            table[place] = code
            first[code] = row
            count += 1
        codes[row] = code
    return count


@interpretable
def _insert(values, first, count, slots, shift):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    for code in range(count):
        value = values[first[code]]
        slot = np.int64((np.uint64(value) * _GOLDEN) >> shift)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = code


@interpretable
def _codes_by_hash(values, slots, shift, codes, first, done, count):  # type: ignore[no-untyped-def]
    """Codes from row `done` on; stops where the table is half full."""
    mask = len(slots) - 1
    most = len(slots) // 2
    for row in range(done, len(values)):
        value = values[row]
        slot = np.int64((np.uint64(value) * _GOLDEN) >> shift)
        code = slots[slot]
        while code >= 0 and values[first[code]] != value:
            slot = (slot + 1) & mask
            code = slots[slot]
        if code < 0:
            if count >= most:
                return row, count
            code = np.int32(count)
            slots[slot] = code
            first[count] = row
            count += 1
        codes[row] = code
    return len(values), count


# Sorting


def sort_by_code(codes: Codes, count: int, rows: Rows | None = None) -> tuple[Rows, Ints]:
    """Rows by code, in their given order inside a code, and where each code begins.

    Args:
        codes: A code below `count` for each row.
        count: The number of codes.
        rows: The rows in the order to keep inside each code; as they are when left out.
    """
    starts = np.zeros(count + 1, np.int64)
    _count(read_only(codes), starts)
    np.cumsum(starts, out=starts)
    order = np.empty(len(codes), np.int32)
    if rows is None:
        _place(read_only(codes), starts[:-1].copy(), order)
    else:
        _place_rows(read_only(codes), read_only(rows), starts[:-1].copy(), order)
    return order, starts


def counts_of(codes: Codes, count: int) -> Ints:
    """How many rows have each code."""
    counts = np.zeros(count + 1, np.int64)
    _count(read_only(codes), counts)
    return counts[1:]


@interpretable
def _count(codes, starts):  # type: ignore[no-untyped-def]
    for code in codes:
        starts[code + 1] += 1


@interpretable
def _place(codes, ends, order):  # type: ignore[no-untyped-def]
    for row in range(len(codes)):
        code = codes[row]
        order[ends[code]] = row
        ends[code] += 1


@interpretable
def _place_rows(codes, rows, ends, order):  # type: ignore[no-untyped-def]
    for place in range(len(rows)):
        row = rows[place]
        code = codes[row]
        order[ends[code]] = row
        ends[code] += 1


def sort_by_value(values: NDArray[np.int64], rows: Rows | None = None) -> Rows:
    """Rows by value, in their given order where equal: a radix sort over the bytes that differ."""
    n = len(values)
    order = np.arange(n, dtype=np.int32) if rows is None else rows.copy()
    if not n:
        return order
    low, high = _range(read_only(values))
    keys = take(values, order) - np.int64(low)  # wraps round to the right thing
    return sorted_with(keys, order, int(high) - int(low))[1]


def sorted_with(keys: Ints, order: Rows, highest: int) -> tuple[Ints, Rows]:
    """Keys in order, and what they are of; where equal, in the order given. Both are written over.

    Args:
        keys: None of which is below 0, if they are taken as numbers without a sign.
        order: What they are of.
        highest: None of them is above it.
    """
    unsigned, other_keys, other_order = keys.view(np.uint64), np.empty_like(keys), order.copy()
    others = other_keys.view(np.uint64)
    bits = highest.bit_length()
    # Of few keys longer digits: that is fewer passes, and what they count in stays in the cache.
    most = _LONG_DIGIT if _SEVERAL < len(keys) < _MANY else _DIGIT
    passes = -(-bits // most)
    digit = -(-bits // max(passes, 1))
    ends = np.empty((1 << digit) + 1, np.int64)
    for number in range(passes):
        _radix_pass(unsigned, order, others, other_order, np.uint64(number * digit), ends)
        unsigned, others = others, unsigned
        order, other_order = other_order, order
    return unsigned.view(np.int64), order


@interpretable
def _radix_pass(keys, order, new_keys, new_order, shift, ends):  # type: ignore[no-untyped-def]
    ends[:] = 0
    low = np.uint64(len(ends) - 2)
    for key in keys:
        ends[np.int64((key >> shift) & low) + 1] += 1
    for before in range(len(ends) - 1):
        ends[before + 1] += ends[before]
    for place in range(len(keys)):
        key = keys[place]
        digit = np.int64((key >> shift) & low)
        new_keys[ends[digit]] = key
        new_order[ends[digit]] = order[place]
        ends[digit] += 1


def is_sorted(values: NDArray[np.int64], order: NDArray[np.int64] | None = None) -> bool:
    """Whether values do not decrease (and where equal, those of `order` do not)."""
    if order is None:
        return bool(_is_sorted(read_only(values)))
    return bool(_is_sorted_by_both(read_only(values), read_only(order)))


@interpretable
def _is_sorted(values):  # type: ignore[no-untyped-def]
    for row in range(1, len(values)):  # noqa: SIM110 - compiled, and faster so
        if values[row] < values[row - 1]:
            return False
    return True


@interpretable
def _is_sorted_by_both(values, order):  # type: ignore[no-untyped-def]
    for row in range(1, len(values)):
        if values[row] < values[row - 1]:
            return False
        if values[row] == values[row - 1] and order[row] < order[row - 1]:
            return False
    return True


@interpretable
def _is_sorted_inside(part, ts, order):  # type: ignore[no-untyped-def]
    for row in range(1, len(part)):
        if part[row] == part[row - 1] and (
            ts[row] < ts[row - 1] or (ts[row] == ts[row - 1] and order[row] < order[row - 1])
        ):
            return False
    return True


def is_sorted_inside(part: Codes, ts: Ints, order: Ints | None) -> bool:
    """Whether time (then order) does not decrease inside any partition."""
    given = np.broadcast_to(np.int64(0), len(ts)) if order is None else order
    return bool(_is_sorted_inside(read_only(part), read_only(ts), read_only(given)))


def tied_flags(part: Codes, ts: Ints, order: Ints | None) -> NDArray[np.uint8]:
    """1 where a row is at the same time, and has the same order, as the one before it."""
    tied = np.zeros(len(part), np.uint8)
    _find_tied(read_only(part), read_only(ts), tied)
    if order is not None and len(part) > 1:
        tied[1:] &= order[1:] == order[:-1]
    return tied


@interpretable
def _find_tied(part, ts, tied):  # type: ignore[no-untyped-def]
    for row in range(1, len(part)):
        tied[row] = np.uint8(part[row] == part[row - 1]) & np.uint8(ts[row] == ts[row - 1])


# Gathering


def mark(rows: Rows, is_one: NDArray[np.bool_]) -> None:
    """Set a flag for each of some rows."""
    _mark(read_only(rows), is_one)


@interpretable
def _mark(rows, is_one):  # type: ignore[no-untyped-def]
    for row in rows:
        is_one[row] = True


def gathered(values: Values, rows: Rows) -> Values:
    """A column of some rows."""
    valid = None if values.valid is None else take(values.valid, rows)
    return Values(values.kind, take(values.data, rows), valid, values.words)


def take(values: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """The values of some rows."""
    if values.dtype == object:
        return values[rows]
    out = np.empty(len(rows), values.dtype)
    _take(read_only(values), read_only(rows), out)
    return out


def take_into(values: NDArray[Any], rows: Rows, out: NDArray[Any]) -> None:
    """Write the values of some rows."""
    _take(read_only(values), read_only(rows), out)


def gather_doubles(values: Values, rows: Rows, null: float, out: NDArray[np.float64]) -> None:
    """Write the numbers, truth values or times of some rows as doubles, with one for null."""
    if values.kind is None:
        out.fill(null)
    elif values.data.dtype in (object, np.bool_):
        out[:] = values.data[rows]
        if values.valid is not None:
            out[~values.valid[rows]] = null
    elif values.valid is None:
        _take(read_only(values.data), read_only(rows), out)
    else:
        _take_or(*all_read_only(values.data, values.valid, rows), null, out)


@interpretable
def _take_or(values, valid, rows, null, out):  # type: ignore[no-untyped-def]
    for place in range(len(rows)):
        row = rows[place]
        out[place] = values[row] if valid[row] else null


@interpretable
def _take(values, rows, out):  # type: ignore[no-untyped-def]
    for place in range(len(rows)):
        out[place] = values[rows[place]]
