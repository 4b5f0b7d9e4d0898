"""Integers and their ratios as doubles and logarithms: one way for each, whoever asks.

The logarithm of a number must not depend on how it was held: up to 2**1000 it is that of the
nearest double, taken by NumPy, and beyond that Python's, which knows integers of any length.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

# Between this and one over this, doubles have all their bits and neighbours on both sides.
FAR = 2.0**1000


def nearest(number: int, divisor: int = 1) -> float:
    """The double nearest to a ratio; infinite beyond its range.

    >>> nearest(1, 3), nearest(-(10**400))
    (0.3333333333333333, -inf)
    """
    try:
        return number / divisor
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def doubles(values: Iterable[float]) -> Doubles:
    """An array of doubles that come one by one."""
    return np.fromiter(values, dtype=np.float64)


def log10_of(values: Doubles) -> Doubles:
    """Logarithms of positive numbers, NaN for others."""
    return np.log10(values, out=np.full(len(values), np.nan), where=values > 0)


def log10_of_ratios(
    values: Doubles, fractions: Callable[[NDArray[np.intp]], Iterable[tuple[int, int]]]
) -> Doubles:
    """Logarithms of positive ratios at any magnitude, NaN for others.

    Args:
        values: The double nearest to each.
        fractions: Gives the numbers of some rows, and their divisors, which are not negative.
    """
    logs = log10_of(values)
    far = np.flatnonzero(~((values > 1 / FAR) & (values < FAR)))
    for row, (number, divisor) in zip(far, fractions(far) if len(far) else (), strict=True):
        has_log = number > 0 and divisor != 0
        logs[row] = math.log10(number) - math.log10(divisor) if has_log else math.nan
    return logs
