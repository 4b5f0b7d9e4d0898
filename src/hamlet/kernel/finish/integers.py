"""Columns of whole numbers of any length, and their decimal digits."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.kernel.finish.rounding import doubles, log10_of, log10_of_ratios, nearest
from hamlet.kernel.finish.words import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Bools = NDArray[np.bool_]

_MOST = 2**63 - 1
TEXT = pa.large_string()  # 64-bit offsets: the digits of a large result pass 2 GiB


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """A column of integers: int64 while that is proved to be enough.

    Longer ones are words where they come from kernels, and Python's own after products.
    """

    values: Any  # an array of int64 or of Python's integers, or Words

    @staticmethod
    def of_words(words: Words) -> Integers:
        """From words, which are not kept where one is enough for each."""
        return Integers(words.small() if words.is_small else words)

    @property
    def is_small(self) -> bool:
        """Whether all are int64."""
        return not self.is_words and self.values.dtype != np.object_

    @property
    def is_words(self) -> bool:
        """Whether they are words."""
        return isinstance(self.values, Words)

    def words(self) -> Words | None:
        """The numbers in words; None where Python holds them."""
        if self.is_words:
            return self.values  # type: ignore[no-any-return]
        return Words.of_small(self.values) if self.is_small else None

    def objects(self) -> NDArray[np.object_]:
        """Python's integers."""
        if self.is_words:
            return self.values.objects()  # type: ignore[no-any-return]
        return self.values.astype(np.object_)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.values)

    def concatenated(self, columns: Sequence[Integers]) -> Integers:
        """Columns one below the other."""
        if not any(column.is_words for column in columns):
            return Integers(np.concatenate([column.values for column in columns]))
        words = [column.words() for column in columns]
        known = [each for each in words if each is not None]
        if len(known) < len(words):
            return Integers(np.concatenate([column.objects() for column in columns]))
        return Integers(known[0].concatenated(known))

    def constant(self, value: int) -> Integers:
        """One number, which goes with columns of any length."""
        return Integers(np.array([value], np.int64 if abs(value) <= _MOST else np.object_))

    def take(self, chosen: Bools | NDArray[Any] | slice) -> Integers:
        """Some of the rows."""
        return Integers(self.values.take(chosen) if self.is_words else self.values[chosen])

    def take_or_zero(self, chosen: NDArray[np.intp]) -> Integers:
        """Some of the rows; 0 for row number -1."""
        return self.concatenated([self, self.constant(0)]).take(chosen)

    def added_up(self, starts: NDArray[np.intp]) -> Integers:
        """The sums of consecutive rows, from each start to the next."""
        if len(starts) == len(self.values):
            return self
        values = self.values
        if self.is_words:
            return Integers.of_words(values.added_up(starts))
        # Doubles are within a factor of 2 of the true sums of absolute values, at any length.
        if self.is_small:
            reach = np.add.reduceat(np.abs(values.astype(np.float64)), starts).max()
            values = values if reach < 2.0**62 else values.astype(np.object_)
        return Integers(np.add.reduceat(values, starts))

    def __add__(self, other: Integers) -> Integers:
        one, two = self._operands(other, lambda a, b: a + b)
        return Integers(one + two)

    def __sub__(self, other: Integers) -> Integers:
        one, two = self._operands(other, lambda a, b: a + b)
        return Integers(one - two)

    def __mul__(self, other: Integers) -> Integers:
        one, two = self._operands(other, lambda a, b: a * b)
        return Integers(one * two)

    def _operands(self, other: Integers, reach: Callable[[int, int], int]) -> tuple[Any, Any]:
        """The two columns, as int64 only if no result can pass it."""
        if self.is_small and other.is_small and reach(self._largest(), other._largest()) <= _MOST:
            return self.values, other.values
        return self.objects(), other.objects()

    def _largest(self) -> int:
        if not len(self.values):
            return 0
        return max(abs(int(self.values.min())), abs(int(self.values.max())))

    def remainder(self, other: Integers) -> Integers:
        """The remainder by positive numbers, with the sign of the dividend."""
        one, two = self._operands(other, max)
        return Integers(np.abs(one) % two * np.where(one < 0, -1, 1))

    def size(self) -> Integers:
        """Without signs."""
        return self * Integers(np.where(self.sign() < 0, np.int64(-1), np.int64(1)))

    def sign(self) -> NDArray[np.int8]:
        """-1, 0 or 1."""
        values = self.objects() if self.is_words else self.values
        is_more, is_less = (np.asarray(each, np.int8) for each in (values > 0, values < 0))
        return is_more - is_less

    def half(self) -> Integers:
        """Half of numbers that are even."""
        return Integers((self.objects() if self.is_words else self.values) // 2)

    def is_some(self) -> Bools:
        """Where a count is not zero."""
        if self.is_words:
            return self.values.is_positive()  # type: ignore[no-any-return]
        return np.asarray(self.values > 0, dtype=np.bool_)

    def value(self) -> Doubles:
        """The nearest doubles; infinite beyond their range."""
        if self.is_small:
            return self.values.astype(np.float64)  # type: ignore[no-any-return]
        if self.is_words:
            return self.values.value()  # type: ignore[no-any-return]
        return doubles(nearest(value) for value in self.values)

    def log10(self, value: Doubles | None = None) -> Doubles:
        """Logarithms of positive numbers, NaN for others; `value` where it is known already."""
        value = self.value() if value is None else value
        if self.is_small:
            return log10_of(value)
        return log10_of_ratios(value, lambda rows: [(n, 1) for n in self.take(rows).objects()])

    def text(self) -> Any:
        """Decimal digits, as an Arrow array."""
        if self.is_small:
            return pa.array(self.values).cast(TEXT)
        if self.is_words:
            return _text_of_words(self.values)
        return pa.array([digits_of(value) for value in self.values], TEXT)


def _text_of_words(words: Words) -> Any:
    """Decimal digits; those of very long numbers by way of Python's integers."""
    is_divided = words.is_divided()
    if not is_divided.all():
        short, long = np.flatnonzero(is_divided), np.flatnonzero(~is_divided)
        texts = [_text_of_words(words.take(short))]
        texts.append(pa.array([digits_of(each) for each in words.take(long).objects()], TEXT))
        place = np.empty(len(words), np.int64)
        place[np.concatenate([short, long])] = np.arange(len(words))
        return pa.concat_arrays(texts).take(pa.array(place))
    offsets, text = words.digits()
    return pa.Array.from_buffers(
        TEXT, len(words), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text))]
    )


def digits_of(number: int) -> str:
    """The decimal digits of an integer of any length, whatever limit Python has for them.

    >>> digits_of(-(10**40)) == "-1" + "0" * 40, len(digits_of(2**100_000))
    (True, 30103)
    """
    if number.bit_length() <= 2000:  # 603 digits; Python's limit is at least 640
        return str(number)
    gmpy2 = _gmpy2()
    if gmpy2 is not None:
        return str(gmpy2.mpz(number).digits())
    return ("-" if number < 0 else "") + _decimal_digits(abs(number))


@cache
def _gmpy2() -> Any:
    try:
        return import_module("gmpy2")
    except ImportError:
        return None


def _decimal_digits(number: int) -> str:
    """Digits by halving: decimal's multiplication is fast at any length, its conversion is not."""
    powers: dict[int, decimal.Decimal] = {}

    def power(bits: int) -> decimal.Decimal:
        if bits not in powers:
            low = bits // 2
            is_short = bits <= 1000
            powers[bits] = (
                decimal.Decimal(1 << bits) if is_short else power(low) * power(bits - low)
            )
        return powers[bits]

    def convert(value: int, bits: int) -> decimal.Decimal:
        if bits <= 1000:
            return decimal.Decimal(value)
        low = bits // 2
        high_part, low_part = value >> low, value & ((1 << low) - 1)
        return convert(high_part, bits - low) * power(low) + convert(low_part, low)

    with decimal.localcontext() as context:
        context.prec = decimal.MAX_PREC
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        context.traps[decimal.Inexact] = True
        return str(convert(number, number.bit_length()))
