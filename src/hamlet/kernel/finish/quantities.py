"""Columns of numbers to compute with: what arithmetic over aggregates is done in.

In exact mode a number is a fraction of two integers of any length, and rounded once, when the
result is written; in float mode it has a double and an exponent. Either may be infinite, where an
attribute was, and may be null. Division by zero, and whatever is no number, is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.quotients import quotient
from hamlet.kernel.finish.rounding import FAR, log10_of, nearest
from hamlet.kernel.finish.wides import Wides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Signs = NDArray[np.int8]

_NOISE = 1e-12  # the part of sums in float mode that cannot be told from 0
_WHOLE = 2.0**53  # doubles below are whole numbers that int64 holds too, where they are whole


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """A column of fractions; what they are over is positive, and 1 where it is left out."""

    number: Integers
    over: Integers | None = None

    @staticmethod
    def of_doubles(values: Doubles) -> Ratios:
        """Finite doubles as they are."""
        if (np.abs(values) < _WHOLE).all() and (values == np.rint(values)).all():
            return Ratios(Integers(values.astype(np.int64)))
        pairs = [value.as_integer_ratio() for value in values.tolist()]
        number, over = (np.array([pair[i] for pair in pairs], np.object_) for i in (0, 1))
        return Ratios(Integers(number), Integers(over))

    def __len__(self) -> int:
        return max(len(self.number), 1 if self.over is None else len(self.over))

    def __add__(self, other: Ratios) -> Ratios:
        if self.over is None and other.over is None:
            return Ratios(self.number + other.number)
        number = _times(self.number, other.over) + _times(other.number, self.over)
        return Ratios(number, _product(self.over, other.over))

    def __sub__(self, other: Ratios) -> Ratios:
        return self + Ratios(other.number.constant(0) - other.number, other.over)

    def __mul__(self, other: Ratios) -> Ratios:
        return Ratios(self.number * other.number, _product(self.over, other.over))

    def divided_by(self, other: Ratios) -> Ratios:
        """The quotient; anything where the divisor is 0."""
        sign = other.number.sign()
        flip = Integers(np.where(sign < 0, -1, 1))
        some = other.number * flip + Integers((sign == 0).astype(np.int64))
        return Ratios(_times(self.number, other.over) * flip, _times(some, self.over))

    def remainder(self, other: Ratios) -> Ratios:
        """The remainder, with the sign of the dividend; anything where the divisor is 0."""
        sign = other.number.sign()
        size = other.number * Integers(np.where(sign < 0, -1, 1))
        some = size + Integers((sign == 0).astype(np.int64))
        number = _times(self.number, other.over).remainder(_times(some, self.over))
        return Ratios(number, _product(self.over, other.over))

    def sign(self) -> Signs:
        """-1, 0 or 1."""
        return self.number.sign()

    def root(self) -> Doubles:
        """The square roots of numbers that are not negative, within a rounding of the nearest."""
        value, _ = self.results()
        roots = np.sqrt(value)
        # Beyond the range of doubles, and next to 0, a root may be in it that its square is not in.
        for row in np.flatnonzero((self.sign() > 0) & ~((value > 1 / FAR) & (value < FAR))):
            one = (each.take(np.array([row if len(each) > 1 else 0])) for each in self._sides())
            number, over = (int(each.objects()[0]) for each in one)
            roots[row] = _root(number, over)
        return roots

    def _sides(self) -> tuple[Integers, Integers]:
        return self.number, self.over or self.number.constant(1)

    def results(self) -> tuple[Doubles, Doubles]:
        """The nearest doubles, and their logarithms."""
        return quotient([(self.number, 0)], self.over or self.number.constant(1))


def _root(number: int, over: int) -> float:
    """The square root of a positive fraction."""
    shift = max(0, 200 - number.bit_length() + over.bit_length())
    shift += shift % 2
    return nearest(isqrt((number << shift) // over), 1 << shift // 2)


def variance(count: Any, total: Any, squares: Any) -> Quantities:
    """The variance of a sample from its size, its sum and the sum of its squares; null below two.

    All are `Ratios`, or in float mode `Wides`. These are no closer to the truth than a part of the
    squares, and what is below that is taken for 0, so that what never varies has no variance.
    """
    one = count.constant(1) if isinstance(count, Wides) else Ratios(count.number.constant(1))
    several = count - one
    scaled = count * squares
    above = scaled - total * total
    if isinstance(count, Wides):
        is_none = (above - scaled * Wides.of_doubles(np.array([_NOISE]))).sign() <= 0
        above = above * Wides.of_doubles(np.where(is_none, 0.0, 1.0))
    is_known = several.value() > 0.5 if isinstance(count, Wides) else several.sign() > 0
    return Quantities.of(above.divided_by(count * several), is_known)


def _times(number: Integers, by: Integers | None) -> Integers:
    return number if by is None else number * by


def _product(one: Integers | None, other: Integers | None) -> Integers | None:
    if one is None or other is None:
        return one or other
    return one * other


@dataclass(frozen=True, slots=True, eq=False)
class Quantities:
    """A column of numbers of either mode.

    Attributes:
        finite: The numbers: `Ratios`, or in float mode `Wides`.
        far: 0, or the infinity that a number is instead.
        is_known: Where they are not null.
    """

    finite: Any
    far: Doubles
    is_known: Bools

    @staticmethod
    def of(finite: Ratios | Wides, is_known: Bools | None = None) -> Quantities:
        """Finite numbers."""
        size = len(finite)
        known = np.ones(size, np.bool_) if is_known is None else is_known
        return Quantities(finite, np.zeros(size), known)

    @staticmethod
    def of_doubles(values: Doubles, has_exponents: bool) -> Quantities:
        """Doubles as they are, NaN for null."""
        is_finite = np.isfinite(values)
        finite = np.where(is_finite, values, 0.0)
        far = np.where(np.isinf(values), values, 0.0)
        numbers = Wides.of_doubles(finite) if has_exponents else Ratios.of_doubles(finite)
        return Quantities(numbers, far, ~np.isnan(values))

    def constant(self, value: float) -> Quantities:
        """One number, which goes with columns of any length."""
        if isinstance(self.finite, Ratios) and isinstance(value, int):
            return Quantities.of(Ratios(self.finite.number.constant(value)))
        has_exponents = isinstance(self.finite, Wides)
        return Quantities.of_doubles(np.array([value], np.float64), has_exponents)

    def sign(self) -> Signs:
        """-1, 0 or 1."""
        signs: Signs = np.where(self.far == 0, self.finite.sign(), np.sign(self.far))
        return signs.astype(np.int8)

    def __neg__(self) -> Quantities:
        return self.constant(0) - self

    def __add__(self, other: Quantities) -> Quantities:
        with np.errstate(invalid="ignore"):
            far = self.far + other.far
        return self._made(self.finite + other.finite, far, other)

    def __sub__(self, other: Quantities) -> Quantities:
        with np.errstate(invalid="ignore"):
            far = self.far - other.far
        return self._made(self.finite - other.finite, far, other)

    def __mul__(self, other: Quantities) -> Quantities:
        is_far = (self.far != 0) | (other.far != 0)
        return self._made(self.finite * other.finite, self._far_product(other, is_far), other)

    def __truediv__(self, other: Quantities) -> Quantities:
        far = self._far_product(other, self.far != 0)
        is_none = (other.sign() == 0) | ((self.far != 0) & (other.far != 0))
        # What is divided by an infinity is 0.
        kept = self._where(other.far == 0)
        return self._made(kept.divided_by(other.finite), np.where(is_none, np.nan, far), other)

    def __mod__(self, other: Quantities) -> Quantities:
        is_none = (other.sign() == 0) | (self.far != 0)
        rest = self.finite.remainder(other.finite)
        # Nothing finite reaches an infinity.
        whole = self._where(other.far != 0)
        kept = Quantities.of(rest)._where(other.far == 0)
        return self._made(kept + whole, np.where(is_none, np.nan, 0.0), other)

    def _far_product(self, other: Quantities, is_far: Bools) -> Doubles:
        with np.errstate(invalid="ignore"):
            product = (self.sign() * other.sign()) * np.inf
        return np.where(is_far, product, 0.0)

    def _where(self, chosen: Bools) -> Any:
        """The finite numbers where they are chosen, else 0."""
        ones = chosen.astype(np.int64)
        if isinstance(self.finite, Wides):
            return self.finite * Wides.of_doubles(ones.astype(np.float64))
        return self.finite * Ratios(Integers(ones))

    def _made(self, finite: Any, far: Doubles, other: Quantities) -> Quantities:
        is_known = self.is_known & other.is_known & ~np.isnan(far)
        return Quantities(finite, np.where(np.isnan(far), 0.0, far), is_known)

    def compared(self, other: Quantities) -> tuple[Signs, Bools]:
        """-1 where it is less, 0 where equal, 1 where greater; and where both are known."""
        is_far = (self.far != 0) | (other.far != 0)
        of_far = (self.far > other.far).astype(np.int8) - (self.far < other.far).astype(np.int8)
        near = (self.finite - other.finite).sign()
        return np.where(is_far, of_far, near).astype(np.int8), self.is_known & other.is_known

    def root(self) -> Quantities:
        """The square roots of numbers that are not negative, as doubles if they are exact."""
        roots = self.finite.root()
        finite = roots if isinstance(roots, Wides) else Ratios.of_doubles(roots)
        return Quantities(finite, self.far, self.is_known)

    def results(self) -> tuple[Doubles, Doubles, Bools]:
        """The nearest doubles, their logarithms, and where they are known."""
        value, log10 = self.finite.results()
        is_far = self.far != 0
        value = np.where(is_far, self.far, value)
        log10 = np.where(is_far, log10_of(self.far), log10)
        return value, log10, self.is_known
