"""Columns of integers of any length as bytes, little end first, in two's complement: compiled.

Each integer has as few bytes as it needs, 0 has none. This is the form in which exact numbers
travel. They are added up in it too, so that a sum beyond 64 bits costs no Python: the sums of an
attribute with a fraction are seldom shorter. Scratch is one word of 64 bits for each 32 bits of a
number, so carries wait until all has been added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

PACKED = pa.large_binary()  # 64-bit offsets, as for text
DIGIT_BITS = 40  # as in digits.py: short enough to be multiplied by counts in 64 bits
_MOST_DIGITS = 8  # beyond these Python's own integers are no slower
_MASK = (1 << 32) - 1
# What is added to a word of scratch is below 2**47, so this many additions are below 2**63.
_MANY = 1 << 16
_SLACK = 8  # whole words are written before bytes are taken back


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A column of integers as bytes; `offsets` has one number more than there are rows."""

    offsets: Longs
    data: NDArray[np.uint8]

    @staticmethod
    def of_digits(parts: list[tuple[Integers, int]]) -> Packed:
        """Sums of digit * 2**exponent; exponents are not negative."""
        if all(part.is_small for part, _ in parts):
            digits = np.stack([part.values for part, _ in parts])
            shifts = np.array([exponent for _, exponent in parts], np.int64)
            return _packed(digits, shifts)
        total = sum(part.objects() << exponent for part, exponent in parts)
        return Packed.of_arrow(pa.array([bytes_of(value) for value in total], PACKED))

    @staticmethod
    def of_arrow(column: Any) -> Packed:
        """From an Arrow array; null becomes 0."""
        column = column.cast(PACKED)
        _, offsets, data = column.buffers()
        here = slice(column.offset, column.offset + len(column) + 1)
        if not len(column):
            return _NOTHING
        return _fixed(
            np.frombuffer(offsets, np.int64)[here],
            np.frombuffer(b"" if data is None else data, np.uint8),
        )

    def to_arrow(self) -> Any:
        """As an Arrow array."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(PACKED, len(self), buffers)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def added_up(
        self, order: NDArray[np.int32], starts: NDArray[np.int64], shifts: Longs
    ) -> Packed:
        """Sums of number * 2**shift, over the rows of `order` from each start to the next.

        Args:
            order: Rows, those of one sum side by side.
            starts: Where in `order` the rows of each sum begin.
            shifts: For each row in the order of `order`; not negative.
        """
        if not len(starts):
            return _NOTHING
        ends = np.append(starts[1:], len(order))
        sizes = np.diff(self.offsets)
        most_rows = int((ends - starts).max())
        if 8 * int(sizes.max()) + most_rows.bit_length() < 64 and not shifts.any():
            # No sum can pass 64 bits: three passes over whole columns, several times faster.
            values = self.integers().values[order]
            return Packed.of_digits([(Integers(np.add.reduceat(values, starts)), 0)])
        # A byte for the rest of the shift, one for the sign, and four for up to 2**32 rows.
        most = np.maximum.reduceat(sizes[order] + (shifts >> 3), starts) + 6
        offsets = np.zeros(len(starts) + 1, np.int64)
        data = np.empty(int(most.sum()) + _SLACK, np.uint8)
        words = most // 4 + 3
        scratch = np.zeros(int(words.max()), np.int64)
        _add_up(self.offsets, self.data, order, starts, ends, shifts, words, scratch, offsets, data)
        return _cut_off(offsets, data)

    def integers(self, shifts: Longs | None = None) -> Integers:
        """Numbers times 2**shift."""
        if shifts is None:
            shifts = np.zeros(len(self), np.int64)
        small = np.empty(len(self), np.int64)
        is_small = np.empty(len(self), np.bool_)
        _unpack(self.offsets, self.data, shifts, small, is_small)
        if is_small.all():
            return Integers(small)
        values = small.astype(np.object_)
        for row in np.flatnonzero(~is_small):
            piece = self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()
            values[row] = int.from_bytes(piece, "little", signed=True) << int(shifts[row])
        return Integers(values)


def cut_alike(columns: list[Packed], shifts: list[Longs]) -> tuple[list[int], list[list[Integers]]]:
    """Numbers times 2**shift in digits, all columns at the same places.

    One digit where 64 bits are enough, several while they are few, else one of Python's integers.

    Returns:
        The exponents of the digits, and for each column its digits.
    """
    pairs = list(zip(columns, shifts, strict=True))
    sizes = [np.diff(column.offsets) * 8 + shift for column, shift in pairs]
    bits = max(int(size.max(initial=0)) for size in sizes)
    if bits <= 64 or bits > DIGIT_BITS * _MOST_DIGITS:
        return [0], [[column.integers(shift)] for column, shift in pairs]
    count = -(-bits // DIGIT_BITS)
    cut = []
    for column, shift in pairs:
        digits = np.empty((count, len(column)), np.int64)
        _cut(column.offsets, column.data, shift, digits)
        cut.append([Integers(digit) for digit in digits])
    return [DIGIT_BITS * place for place in range(count)], cut


def bytes_of(number: int) -> bytes:
    """An integer in as few bytes as it needs.

    >>> [bytes_of(number).hex() for number in (0, 1, -1, 128, -128, -129)]
    ['', '01', 'ff', '8000', '80', '7fff']
    """
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1 if number else 0
    return number.to_bytes(size, "little", signed=True)


def _packed(digits: NDArray[np.int64], shifts: Longs) -> Packed:
    count, length = digits.shape
    offsets = np.zeros(length + 1, np.int64)
    if count == 1 and shifts[0] == 0:
        data = np.empty(8 * length, np.uint8)
        _pack(digits[0], offsets, data)
    else:
        most = (int(shifts.max()) + 64 + 15 + count.bit_length()) // 8
        data = np.empty(most * length + _SLACK, np.uint8)
        _pack_digits(digits, shifts, np.zeros(most // 4 + 3, np.int64), offsets, data)
    return _cut_off(offsets, data)


def _cut_off(offsets: Longs, data: NDArray[np.uint8]) -> Packed:
    """A column without what was not used of its memory."""
    return _fixed(offsets, data[: offsets[-1]].copy())


def _fixed(offsets: Longs, data: NDArray[np.uint8]) -> Packed:
    """A column that is read-only, so that functions are compiled for one kind."""
    offsets.flags.writeable = data.flags.writeable = False
    return Packed(offsets, data)


_NOTHING = _cut_off(np.zeros(1, np.int64), np.zeros(0, np.uint8))


@interpretable
def _pack(values, offsets, data):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(len(values)):
        value = values[row]
        is_written = value == 0
        while not is_written:
            data[at] = value & 255
            at += 1
            is_written = -128 <= value < 128
            value >>= 8
        offsets[row + 1] = at


@interpretable
def _pack_digits(digits, shifts, scratch, offsets, data):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(digits.shape[1]):
        for number in range(len(shifts)):
            _add(scratch, digits[number, row], shifts[number])
        at = _write(scratch, data, at)
        offsets[row + 1] = at


@interpretable
def _add(scratch, value, shift):  # type: ignore[no-untyped-def]
    """Add value * 2**shift, in pieces of 16 bits."""
    is_last = False
    while not is_last:
        is_last = -32768 <= value < 32768
        scratch[shift >> 5] += (value if is_last else value & 65535) << (shift & 31)
        value >>= 16
        shift += 16


@interpretable
def _carry(scratch):  # type: ignore[no-untyped-def]
    """Leave 32 bits in each word but the last, which has the sign."""
    for word in range(len(scratch) - 1):
        scratch[word + 1] += scratch[word] >> 32
        scratch[word] &= _MASK


@interpretable
def _write(scratch, data, at):  # type: ignore[no-untyped-def]
    """Write what scratch holds from `at` on, and clear it; returns where the bytes end."""
    _carry(scratch)
    last = len(scratch) - 1
    sign = -1 if scratch[last] < 0 else 0
    # Words that only repeat the sign are not written.
    while last >= 0 and scratch[last] == (sign if last == len(scratch) - 1 else sign & _MASK):
        scratch[last] = 0
        last -= 1
    start = at
    for word in range(last + 1):
        for place in range(4):
            data[at] = (scratch[word] >> (8 * place)) & 255
            at += 1
        scratch[word] = 0
    if last < 0 and sign < 0:
        data[at] = 255
        return at + 1
    # A byte goes where it only repeats the sign of the one before; where that says otherwise, one
    # more is needed.
    if at > start and (data[at - 1] >= 128) != (sign < 0):
        data[at] = sign & 255
        return at + 1
    while at > start and data[at - 1] == sign & 255:
        if at - 1 == start or (data[at - 2] >= 128) != (sign < 0):
            break
        at -= 1
    return at


@interpretable
def _add_up(offsets, data, order, starts, ends, shifts, words, scratch, sums, out):  # type: ignore[no-untyped-def]
    """Sums of rows, each in as many words of scratch as it may need."""
    at = 0
    for number in range(len(starts)):
        total = scratch[: words[number]]
        added = 0
        for place in range(starts[number], ends[number]):
            row = order[place]
            shift = shifts[place]
            low, high = offsets[row], offsets[row + 1]
            for byte in range(low, high):
                value = np.int64(data[byte])
                if byte == high - 1 and value >= 128:
                    value -= 256
                total[shift >> 5] += value << (shift & 31)
                shift += 8
            added += 1
            if added == _MANY:
                _carry(total)
                added = 0
        at = _write(total, out, at)
        sums[number + 1] = at


@interpretable
def _unpack(offsets, data, shifts, values, is_small):  # type: ignore[no-untyped-def]
    """Numbers times 2**shift where 64 bits hold them; 0 where they do not."""
    for row in range(len(values)):
        low, high = offsets[row], offsets[row + 1]
        size = high - low
        is_small[row] = size == 0 or (size <= 8 and 8 * size + shifts[row] <= 64)
        values[row] = 0
        if size > 0 and is_small[row]:
            value = np.int64(data[high - 1])
            if value >= 128:
                value -= 256
            for byte in range(high - 2, low - 1, -1):
                value = (value << 8) | np.int64(data[byte])
            values[row] = value << shifts[row]


@interpretable
def _cut(offsets, data, shifts, digits):  # type: ignore[no-untyped-def]
    """Numbers times 2**shift in digits of 40 bits, of which the last has the sign."""
    digits[:] = 0
    count = len(digits)
    for row in range(len(shifts)):
        shift = shifts[row]
        low, high = offsets[row], offsets[row + 1]
        for byte in range(low, high):
            value = np.int64(data[byte])
            if byte == high - 1 and value >= 128:
                value -= 256
            digits[shift // 40, row] += value << (shift % 40)
            shift += 8
        for place in range(count - 1):
            digits[place + 1, row] += digits[place, row] >> 40
            digits[place, row] &= (1 << 40) - 1
