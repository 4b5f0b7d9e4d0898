"""Columns of integers of any length in words, as kernels write them: compiled.

Each number has as few words of 64 bits as it needs, in two's complement, least significant first.
Sums, doubles and decimal digits are made of the words themselves. Python's own integers are for
what is rare: numbers so long that its arithmetic is faster, and products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.jit import compiled, interpretable
from hamlet.kernel.numbers import integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.finish.sums import Lots
    from hamlet.kernel.number_table import NumberTable

    Doubles = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Rows = NDArray[np.int32]

# Numbers of so few words are added up in the order they were written in: each sum has the room of
# the longest of all.
_FEW_WORDS = 4
# Digits of longer numbers are had faster by other means than dividing again and again.
_MOST_DIVIDED = 32
# Decimal digits that a word has at most, and one more for the sign
_DIGITS_OF_WORD = 20

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_WORD_BITS, _HALF_BITS, _TOP_BIT = np.uint64(64), np.uint64(32), np.uint64(63)
_HALF = np.uint64((1 << 32) - 1)
_BILLION = np.uint64(10**9)
_TEN = np.uint64(10)


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A column of integers: where each begins in `data`, and how many words it has."""

    data: NDArray[np.uint64]
    first: Longs
    count: Longs

    @staticmethod
    def of_small(values: Longs) -> Words:
        """Integers of one word each."""
        size = len(values)
        data = np.ascontiguousarray(values).view(np.uint64)
        return Words(data, np.arange(size, dtype=np.int64), np.ones(size, np.int64))

    @staticmethod
    def summed(table: NumberTable, component: int, lots: Lots) -> Words:
        """One component of records, over those of each lot."""
        place, words = table.places(component), table.words
        if words.max(initial=1) <= _FEW_WORDS:
            return _summed_as_written(table.data, place, words, lots)
        return _summed(table.data, place, words, lots.order, lots.starts, np.zeros(1, np.int64))

    @staticmethod
    def combined(parts: Sequence[tuple[Words, int]]) -> Words:
        """Sums of number * 2**shift over columns, row by row; shifts are not negative."""
        before = np.cumsum([0, *(len(each.data) for each, _ in parts)])
        place = np.concatenate([w.first + b for (w, _), b in zip(parts, before, strict=False)])
        words = np.concatenate([each.count for each, _ in parts])
        rows, columns = len(parts[0][0]), len(parts)
        order = np.arange(rows * columns, dtype=np.int32).reshape(columns, rows).T.ravel()
        starts = np.arange(rows, dtype=np.int64) * columns
        shifts = np.array([shift for _, shift in parts], np.int64)
        data = np.concatenate([each.data for each, _ in parts])
        return _summed(data, place, words, order, starts, shifts)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def is_small(self) -> bool:
        """Whether every number is one word."""
        return bool((self.count == 1).all())

    def small(self) -> Longs:
        """Numbers that are one word each."""
        return self.data[self.first].view(np.int64)

    def take(self, chosen: Bools | NDArray[Any] | slice) -> Words:
        """Some of the rows."""
        return Words(self.data, self.first[chosen], self.count[chosen])

    def concatenated(self, columns: Sequence[Words]) -> Words:
        """Columns one below the other."""
        before = np.cumsum([0, *(len(each.data) for each in columns)])
        return Words(
            np.concatenate([each.data for each in columns]),
            np.concatenate([c.first + b for c, b in zip(columns, before, strict=False)]),
            np.concatenate([each.count for each in columns]),
        )

    def added_up(self, starts: NDArray[np.intp]) -> Words:
        """The sums of consecutive rows, from each start to the next."""
        order, nothing = np.arange(len(self), dtype=np.int32), np.zeros(1, np.int64)
        return _summed(self.data, self.first, self.count, order, starts.astype(np.int64), nothing)

    def objects(self) -> NDArray[np.object_]:
        """Python's integers."""
        numbers = np.empty(len(self), np.object_)
        for size in np.unique(self.count).tolist():
            here = np.flatnonzero(self.count == size)
            numbers[here] = integers(self.data[self.first[here][:, None] + np.arange(size)])
        return numbers

    def is_positive(self) -> Bools:
        """Which are above zero."""
        top = self.data[self.first + self.count - 1]
        is_zero = (top == 0) & (self.count == 1)
        above: Bools = (top >> _TOP_BIT == 0) & ~is_zero
        return above

    def value(self) -> Doubles:
        """The nearest doubles; infinite beyond their range."""
        high, low, exponent = self.leading()
        with np.errstate(over="ignore"):
            return np.ldexp(high + low, np.minimum(exponent, 3000).astype(np.int32))

    def leading(self) -> tuple[Doubles, Doubles, Longs]:
        """Numbers as (high + low) * 2**exponent, which has 106 bits of each.

        `high` has the first 53, and is a whole number of so many bits; `low` has the next ones and
        is below 1. The last bit of it is 1 where any after it is, so that high + low rounds as the
        number does.
        """
        high, low = np.empty(len(self)), np.empty(len(self))
        exponent = np.empty(len(self), np.int64)
        _lead(_fixed(self.data), self.first, self.count, high, low, exponent)
        return high, low, exponent

    def is_divided(self) -> Bools:
        """Which are short enough for `digits`."""
        return self.count <= _MOST_DIVIDED

    def digits(self) -> tuple[Longs, NDArray[np.uint8]]:
        """Decimal digits one after the other, and where those of each row begin and end."""
        offsets = np.zeros(len(self) + 1, np.int64)
        words = int(self.count.max(initial=1))
        text = np.empty(int((_DIGITS_OF_WORD * self.count + 1).sum()), np.uint8)
        halves = np.empty(2 * words, np.uint64)
        billions = np.empty(3 * words, np.uint64)
        data = _fixed(self.data)
        _write_digits(data, self.first, self.count, halves, billions, offsets, text)
        return offsets, text[: offsets[-1]]


def _fixed(data: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The same, read-only, so that functions are compiled for one kind."""
    view = data.view()
    view.flags.writeable = False
    return view


def _summed(
    data: NDArray[np.uint64],
    place: Longs,
    words: Longs,
    order: Rows,
    starts: Longs,
    shifts: Longs,
) -> Words:
    """Sums of number * 2**shift; those of one sum have shifts in turn, or all the only one."""
    if not len(starts):
        return Words(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))
    # One word for what is carried of up to 2**32 numbers
    more = int(shifts.max()) // 64 + 2
    longest = np.maximum.reduceat(words[order], starts) + more
    out = np.empty(int(longest.sum()), np.uint64)
    first, count = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    scratch = np.empty(int(longest.max()), np.uint64)
    used = _sum_words(
        _fixed(data), place, words, shifts, order, starts, longest, scratch, out, first, count
    )
    return Words(out[:used], first, count)


def _summed_as_written(data: NDArray[np.uint64], place: Longs, words: Longs, lots: Lots) -> Words:
    """Sums of numbers over lots, in the order of the numbers, which is how they lie in memory."""
    count = len(lots.starts)
    size = int(words.max(initial=1)) + 1  # one for what is carried
    out = np.zeros(count * size, np.uint64)
    used = np.empty(count, np.int64)
    _add_as_written(_fixed(data), place, words, lots.of_record, size, out, used)
    return Words(out, np.arange(count, dtype=np.int64) * size, used)


@interpretable
def _add_as_written(data, place, words, of_record, size, out, used):  # type: ignore[no-untyped-def]
    """Add each number to the sum of its lot; fill in how many words each sum takes."""
    for row in range(len(place)):
        at, first = place[row], size * np.int64(of_record[row])
        if at < 0:
            continue
        count, carry = words[row], _ZERO
        fill = _ZERO - (data[at + count - 1] >> _TOP_BIT)
        for k in range(size):
            word = data[at + k] if k < count else fill
            total = out[first + k] + word
            over = _ONE if total < word else _ZERO
            out[first + k] = total + carry
            carry = over + (_ONE if out[first + k] < carry else _ZERO)
    for number in range(len(used)):
        first, count = size * number, size
        while count > 1 and out[first + count - 1] == _ZERO - (out[first + count - 2] >> _TOP_BIT):
            count -= 1
        used[number] = count


@interpretable
def _sum_words(data, place, words, shifts, order, starts, longest, scratch, out, first, count):  # type: ignore[no-untyped-def]
    at = 0
    for number in range(len(starts)):
        size = longest[number]
        scratch[:size] = _ZERO
        end = starts[number + 1] if number + 1 < len(starts) else len(order)
        for entry in range(starts[number], end):
            row = order[entry]
            if place[row] >= 0:
                shift = shifts[entry - starts[number]] if len(shifts) > 1 else shifts[0]
                _add(scratch, size, data, place[row], words[row], shift)
        while size > 1 and scratch[size - 1] == _ZERO - (scratch[size - 2] >> _TOP_BIT):
            size -= 1
        first[number], count[number] = at, size
        for word in range(size):
            out[at] = scratch[word]
            at += 1
    return at


@compiled
def _add(scratch, size, data, place, words, shift):  # type: ignore[no-untyped-def]
    """Add a number * 2**shift to one of `size` words."""
    fill = _ZERO - (data[place + words - 1] >> _TOP_BIT)
    skip, left = shift // 64, np.uint64(shift % 64)
    before = carry = _ZERO
    for k in range(skip, size):
        word = data[place + k - skip] if k - skip < words else fill
        moved = word
        if left != _ZERO:
            moved = (word << left) | (before >> (_WORD_BITS - left))
        before = word
        total = scratch[k] + moved
        over = _ONE if total < moved else _ZERO
        scratch[k] = total + carry
        carry = over + (_ONE if scratch[k] < carry else _ZERO)


@compiled
def _word_of_size(data, first, k, lowest, is_negative):  # type: ignore[no-untyped-def]
    """A word of the absolute value of a number, whose lowest word that is not 0 is known."""
    if k < 0:
        return _ZERO
    word = data[first + k]
    if not is_negative or k < lowest:
        return word
    return _ZERO - word if k == lowest else ~word


@compiled
def _bit_length(word):  # type: ignore[no-untyped-def]
    bits = 0
    for half in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(half) != _ZERO:
            word >>= np.uint64(half)
            bits += half
    return bits + 1


@interpretable
def _lead(data, first, count, high, low, exponent):  # type: ignore[no-untyped-def]
    for row in range(len(first)):
        at, top = first[row], count[row] - 1
        is_negative = data[at + top] >> _TOP_BIT != _ZERO
        lowest = 0
        while lowest < top and data[at + lowest] == _ZERO:
            lowest += 1
        while top > 0 and _word_of_size(data, at, top, lowest, is_negative) == _ZERO:
            top -= 1
        one = _word_of_size(data, at, top, lowest, is_negative)
        if one == _ZERO:
            high[row], low[row], exponent[row] = 0.0, 0.0, 0
            continue
        two = _word_of_size(data, at, top - 1, lowest, is_negative)
        three = _word_of_size(data, at, top - 2, lowest, is_negative)
        bits = _bit_length(one)
        left = np.uint64(64 - bits)
        if left != _ZERO:
            one = (one << left) | (two >> (_WORD_BITS - left))
            two = (two << left) | (three >> (_WORD_BITS - left))
        is_more = three << left != _ZERO or (top > 2 and lowest < top - 2)
        rest = ((one & np.uint64(0x7FF)) << np.uint64(42)) | (two >> np.uint64(22))
        if is_more or two & np.uint64(0x3FFFFF) != _ZERO:
            rest |= _ONE
        sign = -1.0 if is_negative else 1.0
        high[row] = sign * np.float64(one >> np.uint64(11))
        low[row] = sign * np.float64(rest) * 2.0**-53
        exponent[row] = 64 * top + bits - 53


@interpretable
def _write_digits(data, first, count, halves, billions, offsets, text):  # type: ignore[no-untyped-def]
    """The absolute value in halves of words is divided by a billion until nothing is left."""
    at = 0
    for row in range(len(first)):
        words = count[row]
        is_negative = data[first[row] + words - 1] >> _TOP_BIT != _ZERO
        lowest = 0
        while lowest < words - 1 and data[first[row] + lowest] == _ZERO:
            lowest += 1
        for k in range(words):
            word = _word_of_size(data, first[row], k, lowest, is_negative)
            halves[2 * k], halves[2 * k + 1] = word & _HALF, word >> _HALF_BITS
        size, parts = 2 * words, 0
        while size > 0 and halves[size - 1] == _ZERO:
            size -= 1
        while size > 0 or parts == 0:
            rest = _ZERO
            for k in range(size - 1, -1, -1):
                dividend = (rest << _HALF_BITS) | halves[k]
                halves[k] = dividend // _BILLION
                rest = dividend - halves[k] * _BILLION
            billions[parts] = rest
            parts += 1
            while size > 0 and halves[size - 1] == _ZERO:
                size -= 1
        if is_negative:
            text[at] = 45
            at += 1
        length = 1
        power = _TEN
        while power <= billions[parts - 1]:
            power *= _TEN
            length += 1
        for part in range(parts - 1, -1, -1):
            rest = billions[part]
            for place in range(at + length - 1, at - 1, -1):
                text[place] = 48 + rest % _TEN
                rest //= _TEN
            at += length
            length = 9
        offsets[row + 1] = at
