"""Sums and averages of attributes from the sums of their digits, correctly rounded.

Two doubles hold a sum to about 106 bits, and nearly always tell which way it rounds. Python's
integers decide the rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import InternalError
from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.rounding import FAR, doubles, log10_of, log10_of_ratios, nearest
from hamlet.kernel.finish.words import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Bools = NDArray[np.bool_]


# Bits between the digits of one sum beyond which Python's integers add them up.
_FAR_APART = 4096


def recombined(parts: list[tuple[Integers, int]]) -> Integers:
    """The integer that digits stand for."""
    if parts[0][1] == 0 and len(parts) == 1:
        return parts[0][0]
    if min(exponent for _, exponent in parts) < 0:
        raise InternalError("a digit of an integer attribute has a negative exponent")
    words = [(part.words(), exponent) for part, exponent in parts]
    known = [(each, shift) for each, shift in words if each is not None and shift < _FAR_APART]
    if len(known) == len(words):
        return Integers.of_words(Words.combined(known))
    total = parts[0][0].constant(0)
    for part, exponent in parts:
        total = total + part * part.constant(1 << exponent)
    return total


def quotient(parts: list[tuple[Integers, int]], over: Integers) -> tuple[Doubles, Doubles]:
    """Sums of digit * 2**exponent, divided by integers, as correctly rounded doubles.

    Returns:
        Values, NaN where the divisor is 0, and their logarithms.
    """
    # In this range nothing below over- or underflows, error terms included.
    is_moderate = all(-800 <= exponent <= 800 for _, exponent in parts)
    if not is_moderate or not over.is_small or not all(part.is_small for part, _ in parts):
        return _long_quotient(parts, over)
    high, low = _sum_exactly([(part.values, exponent) for part, exponent in parts])
    divisor = np.broadcast_to(over.values, high.shape)
    value, is_sure = _divide(high, low, divisor.astype(np.float64), np.zeros(1))
    is_sure &= divisor <= 2**53
    if not is_sure.all():
        unsure = np.flatnonzero(~is_sure)
        some = [(part.take(unsure), exponent) for part, exponent in parts]
        value[unsure], _ = _long_quotient(some, Integers(divisor[unsure]))
    return value, log10_of(value)


def _long_quotient(parts: list[tuple[Integers, int]], over: Integers) -> tuple[Doubles, Doubles]:
    """The same where numbers are longer than 64 bits, or divisors than 53."""
    base = min(exponent for _, exponent in parts)
    words = [(part.words(), exponent - base) for part, exponent in parts]
    known = [(each, shift) for each, shift in words if each is not None and shift < _FAR_APART]
    divisor = over.words()
    if len(known) < len(words) or divisor is None:
        return slow_quotient(parts, over)
    total = known[0][0] if len(known) == 1 and not known[0][1] else Words.combined(known)
    if len(divisor) < len(total):  # one number for all
        divisor = divisor.take(np.zeros(len(total), np.int64))
    high, low, exponent = _two_doubles(total)
    over_high, over_low, over_exponent = _two_doubles(divisor)
    value, is_sure = _divide(high, low, over_high, over_low)
    shift = exponent - over_exponent + base
    with np.errstate(over="ignore"):
        value = np.ldexp(value, np.clip(shift, -3000, 3000).astype(np.int32))
    # Where it is rounded once more, or lost, it is not sure; 0 and NaN are what they are.
    size = np.abs(value)
    is_sure &= ((size > 1 / FAR) & (size < FAR)) | (high == 0) | (over_high == 0)
    logs = log10_of(value)
    if not is_sure.all():
        unsure = np.flatnonzero(~is_sure)
        some = [(part.take(unsure), exponent) for part, exponent in parts]
        value[unsure], logs[unsure] = slow_quotient(some, Integers(divisor.take(unsure)))
    return value, logs


def _two_doubles(words: Words) -> tuple[Doubles, Doubles, NDArray[np.int64]]:
    """Numbers as (high + low) * 2**exponent, high the nearest double to the sum."""
    first, rest, exponent = words.leading()
    high = first + rest
    return high, (first - high) + rest, exponent


def slow_quotient(parts: list[tuple[Integers, int]], over: Integers) -> tuple[Doubles, Doubles]:
    """The same with Python's integers, whose division rounds correctly at any length."""
    base = min(exponent for _, exponent in parts)
    total = recombined([(part, exponent - base) for part, exponent in parts])
    size = len(total)
    up, down = 1 << max(base, 0), 1 << max(-base, 0)
    fractions = [
        (int(number) * up, int(divisor) * down)
        for number, divisor in zip(
            total.objects(), np.broadcast_to(over.objects(), size), strict=True
        )
    ]
    value = doubles(nearest(*fraction) if fraction[1] else math.nan for fraction in fractions)
    return value, log10_of_ratios(value, lambda rows: (fractions[row] for row in rows))


def _sum_exactly(parts: list[tuple[Any, int]]) -> tuple[Doubles, Doubles]:
    """Sums of digit * 2**exponent: the nearest doubles, and what is left to about 106 bits.

    Halves of the digits are added to an expansion without error (Shewchuk, "Adaptive Precision
    Floating-Point Arithmetic", grow-expansion), which is then read from the top.
    """
    partials: list[Doubles] = []
    for values, exponent in parts:
        low = values & 0xFFFF_FFFF
        for half in (values - low, low):
            rest = np.ldexp(half.astype(np.float64), exponent)
            for i, partial in enumerate(partials):
                rest, partials[i] = _two_sum(rest, partial)
            partials.append(rest)
    high = partials[-1]
    low_part, tail = np.zeros_like(high), np.zeros_like(high)
    for partial in reversed(partials[:-1]):
        is_settled = low_part != 0
        total, error = _two_sum(high, partial)
        tail = np.where(is_settled, tail + partial, tail)
        high = np.where(is_settled, high, total)
        low_part = np.where(is_settled, low_part, error)
    # Halfway between two doubles as far as `low_part` knows: the tail decides.
    twice = low_part * 2
    is_halfway = ((high + twice) - high == twice) & (low_part * np.sign(tail) > 0)
    high = np.where(is_halfway, high + twice, high)
    return high, np.where(is_halfway, -low_part, low_part) + tail


def _divide(high: Doubles, low: Doubles, divisor: Doubles, rest: Doubles) -> tuple[Doubles, Bools]:
    """(high + low) / (divisor + rest), and where it is sure to be rounded correctly.

    All are given to 2**-105 of themselves, `low` and `rest` below the last bit of the others. The
    quotient and its correction are within 2**-103 of the truth, so that adding a little more
    or less than that to the correction may not change the result. NaN where the divisor is 0.
    """
    is_zero = divisor == 0
    divisor = np.where(is_zero, 1.0, divisor)
    quotient = high / divisor
    product, error = _two_product(quotient, divisor)
    correction = ((((high - product) - error) - quotient * rest) + low) / divisor
    margin = np.abs(quotient) * 2.0**-100
    value, more = quotient + (correction - margin), quotient + (correction + margin)
    return np.where(is_zero, np.nan, value), (value == more) | is_zero


def _two_sum(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """A sum and its rounding error (Knuth)."""
    total = a + b
    kept = total - a
    return total, (a - (total - kept)) + (b - kept)


def _two_product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """A product and its rounding error (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(a: Doubles) -> tuple[Doubles, Doubles]:
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high
