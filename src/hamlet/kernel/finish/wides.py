"""Columns of doubles with exponents of any size: the numbers of float mode."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.finish.rounding import FAR, log10_of
from hamlet.kernel.sizes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_LOG10_2 = math.log10(2)
_GREATEST = sys.float_info.max
_INSIDE = 2.0**500
_TOP = sys.float_info.max_exp  # all doubles are below 2 to this
_ERROR = 1e-9  # how far, relative to itself, a result of float mode may be from the true one
NO_EXPONENT = -(1 << 60)  # of zero: below every other, and two of them still add up in 64 bits


class Wides:
    """A column of numbers mantissa * 2**exponent, mantissas in [0.5, 1) or (-1, -0.5] or 0.

    Most are doubles, and are not taken apart before somebody computes with them.
    """

    __slots__ = ("_exponent", "_mantissa", "_plain")

    def __init__(
        self, mantissa: Doubles | None, exponent: Longs | None, plain: Doubles | None = None
    ) -> None:
        """Numbers by mantissa and exponent, or doubles as they are."""
        self._mantissa, self._exponent, self._plain = mantissa, exponent, plain

    @property
    def mantissa(self) -> Doubles:
        """The mantissas."""
        return self._parts()[0]

    @property
    def exponent(self) -> Longs:
        """The exponents, NO_EXPONENT of zero."""
        return self._parts()[1]

    def _parts(self) -> tuple[Doubles, Longs]:
        if self._mantissa is None or self._exponent is None:
            assert self._plain is not None
            self._mantissa, self._exponent = _taken_apart(self._plain)
        return self._mantissa, self._exponent

    @staticmethod
    def of(mantissa: Doubles, exponents: Doubles) -> Wides:
        """From numbers mantissa * 2**(512 * exponent), as kernels have them."""
        return _normal(mantissa, np.where(mantissa == 0, 0, exponents).astype(np.int64) * 512)

    @staticmethod
    def of_doubles(values: Doubles) -> Wides:
        """From finite doubles."""
        return Wides(None, None, values)

    def __len__(self) -> int:
        return len(self.mantissa if self._plain is None else self._plain)

    def concatenated(self, columns: Sequence[Wides]) -> Wides:
        """Columns one below the other."""
        plain = [column._plain for column in columns if column._plain is not None]
        if len(plain) == len(columns):
            return Wides.of_doubles(np.concatenate(plain))
        return Wides(
            np.concatenate([column.mantissa for column in columns]),
            np.concatenate([column.exponent for column in columns]),
        )

    def constant(self, value: int) -> Wides:
        """One number, which goes with columns of any length."""
        return _normal(np.array([value], np.float64), np.zeros(1, np.int64))

    def take(self, chosen: Bools | NDArray[np.intp] | slice) -> Wides:
        """Some of the rows."""
        if self._plain is not None:
            return Wides.of_doubles(self._plain[chosen])
        return Wides(self.mantissa[chosen], self.exponent[chosen])

    def take_or_zero(self, chosen: NDArray[np.intp]) -> Wides:
        """Some of the rows; 0 for row number -1."""
        return Wides(
            np.append(self.mantissa, 0.0)[chosen], np.append(self.exponent, NO_EXPONENT)[chosen]
        )

    def added_up(self, starts: NDArray[np.intp]) -> Wides:
        """The sums of consecutive rows, from each start to the next."""
        if len(starts) == len(self.mantissa):
            return self
        exponent = np.maximum.reduceat(self.exponent, starts)
        lengths = np.diff(starts, append=len(self.mantissa))
        aligned = _aligned_to(self, np.repeat(exponent, lengths))
        return _normal(np.add.reduceat(aligned, starts), exponent)

    def __add__(self, other: Wides) -> Wides:
        exponent = np.maximum(self.exponent, other.exponent)
        return _normal(_aligned_to(self, exponent) + _aligned_to(other, exponent), exponent)

    def __sub__(self, other: Wides) -> Wides:
        return self + Wides(-other.mantissa, other.exponent)

    def __mul__(self, other: Wides) -> Wides:
        return _normal(self.mantissa * other.mantissa, self.exponent + other.exponent)

    def over(self, other: Wides) -> Wides:
        """The quotient; 0 where the divisor is 0."""
        one, by = self._plain, other._plain
        if one is not None and by is not None and _are_inside(one) and _are_inside(by):
            shape = np.broadcast_shapes(one.shape, by.shape)
            return Wides.of_doubles(np.divide(one, by, out=np.zeros(shape), where=by != 0))
        is_zero = other.mantissa == 0
        mantissa = self.mantissa / np.where(is_zero, 1.0, other.mantissa)
        return _normal(np.where(is_zero, 0.0, mantissa), self.exponent - other.exponent)

    def divided_by(self, other: Wides) -> Wides:
        """The same by the name that fractions have for it."""
        return self.over(other)

    def remainder(self, other: Wides) -> Wides:
        """The remainder, with the sign of the dividend; 0 where the divisor is 0.

        Of numbers that are as far from exact as these it is one only where the quotient is not
        large; it is that of the doubles that they are.
        """
        pairs = np.broadcast_arrays(self.mantissa, self.exponent, other.mantissa, other.exponent)
        rests = [_remainder(*numbers) for numbers in zip(*(p.tolist() for p in pairs), strict=True)]
        mantissa, exponent = np.array(rests, np.float64).reshape(-1, 2).T
        return _normal(mantissa, exponent.astype(np.int64))

    def root(self) -> Wides:
        """The square roots of numbers that are not negative."""
        odd = self.exponent & 1
        return _normal(np.sqrt(np.ldexp(self.mantissa, odd)), (self.exponent - odd) >> 1)

    def size(self) -> Wides:
        """Without signs."""
        return Wides(np.abs(self.mantissa), self.exponent)

    def sign(self) -> NDArray[np.int8]:
        """-1, 0 or 1."""
        return np.sign(self.mantissa).astype(np.int8)

    def results(self) -> tuple[Doubles, Doubles]:
        """The nearest doubles, and their logarithms."""
        value = self.value()
        return value, self.log10(value)

    def shifted(self, exponent: int) -> Wides:
        """Times a power of two."""
        return _normal(self.mantissa, self.exponent + exponent)

    def half(self) -> Wides:
        """Half of each number."""
        return self.shifted(-1)

    def is_some(self) -> Bools:
        """Where a count, which would be whole but for rounding, is not zero."""
        return self.value() > 0.5

    def value(self) -> Doubles:
        """The nearest doubles; infinite beyond their range.

        What is beyond it by no more than these numbers may be wrong is the greatest double: the
        true value may be in range, and is as close to that as results have to be.
        """
        if self._plain is not None:
            return self._plain
        with np.errstate(over="ignore"):
            doubles = np.ldexp(self.mantissa, np.clip(self.exponent, -3000, 3000).astype(np.int32))
        far = np.flatnonzero(np.isinf(doubles) & (self.exponent <= _TOP + 1))
        reach = np.ldexp(self.mantissa[far], (self.exponent[far] - _TOP).astype(np.int32))
        near = far[np.abs(reach) <= 1 + _ERROR]
        doubles[near] = np.copysign(_GREATEST, self.mantissa[near])
        return doubles

    def log10(self, value: Doubles | None = None) -> Doubles:
        """Logarithms of positive numbers at any magnitude, NaN for others.

        Args:
            value: The nearest doubles, where they are known already.
        """
        logs = log10_of(self.value() if value is None else value)
        if self._plain is not None and _are_near(self._plain):
            return logs
        far = np.flatnonzero(np.abs(self.exponent) > 1000)
        logs[far] = log10_of(self.mantissa[far]) + self.exponent[far] * _LOG10_2
        return logs

    def text(self) -> None:
        """No digits: these numbers are not exact."""


def _remainder(
    mantissa: float, exponent: int, by_mantissa: float, by_exponent: int
) -> tuple[float, int]:
    """The remainder of two numbers, again as a mantissa and an exponent."""
    if mantissa == 0 or by_mantissa == 0:
        return 0.0, 0
    number, by = int(math.ldexp(abs(mantissa), 53)), int(math.ldexp(abs(by_mantissa), 53))
    above = exponent - by_exponent
    if above < -1:
        return mantissa, exponent  # it is less than the divisor
    if above < 0:
        rest, unit = number % (by << 1), exponent
    else:
        rest, unit = number * pow(2, above, by) % by, by_exponent
    return math.copysign(math.ldexp(rest, -53), mantissa), unit


def _normal(mantissa: Doubles, exponent: Longs) -> Wides:
    fraction, shift = np.frexp(mantissa)
    return Wides(fraction, np.where(fraction == 0, NO_EXPONENT, exponent + shift))


def _taken_apart(values: Doubles) -> tuple[Doubles, Longs]:
    fraction, shift = np.frexp(values)
    return fraction, np.where(fraction == 0, NO_EXPONENT, shift.astype(np.int64))


def _are_near(values: Doubles) -> bool:
    """Whether all but 0 are well inside the range of doubles."""
    least, greatest = sizes_of(values)
    return bool(least > 1 / FAR and greatest < FAR)


def _are_inside(values: Doubles) -> bool:
    """Whether all but 0 are so far inside the range of doubles that their quotients are, too."""
    least, greatest = sizes_of(values)
    return bool(least > _INSIDE**-1 and greatest < _INSIDE)


def _aligned_to(number: Wides, exponent: Longs) -> Doubles:
    """Mantissas for greater exponents; what is too small to matter becomes 0."""
    shift = np.maximum(number.exponent - exponent, -3000).astype(np.int32)
    aligned: Doubles = np.ldexp(number.mantissa, shift)
    return aligned
