"""Random numbers that are the same on every machine, and sums that go on from block to block.

Sines, logarithms and powers differ in their last digits between processors and libraries, and one
such digit can turn one event into another. So everything here is made of uniform numbers, of which
NumPy promises the bits, and of additions, multiplications and divisions, which are rounded alike
everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Ints = NDArray[np.int64]

_LOG_2 = 0.6931471805599453
# ln((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...); as many terms give ten digits.
_ODD = (1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3)
_LOG_3_4 = -0.2876820724517809


class Draws:
    """Random numbers from one seed, by the bits of PCG64."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def uniform(self, size: int) -> Doubles:
        """Numbers from 0 up to but not including 1."""
        return self._generator.random(size)

    def below(self, limit: int | NDArray[Any], size: int) -> Ints:
        """Integers from 0 up to but not including a limit."""
        # A double holds the product: it never rounds up to the limit, for limits below 2**53.
        return (self._generator.random(size) * limit).astype(np.int64)

    def geometric(self, inverse: float | Doubles, size: int) -> Ints:
        """Lengths from 1 on, geometrically distributed; see `geometric_inverse`."""
        product = log(1.0 - self._generator.random(size))
        product *= inverse
        return product.astype(np.int64) + 1

    def shuffled(self, size: int) -> Ints:
        """The numbers below `size` in any order."""
        return np.argsort(self._generator.random(size), kind="stable")


def geometric_inverse(means: Any) -> Doubles:
    """For the mean of a geometric distribution, what draws are multiplied with; at least 1."""
    mean = np.asarray(means, np.float64)
    several = np.where(mean > 1.0, mean, 2.0)
    return np.where(mean > 1.0, 1.0 / log(1.0 - 1.0 / several), 0.0)


def log(x: Doubles) -> Doubles:
    """Natural logarithms of positive numbers to ten digits, alike on every machine.

    >>> log(np.array([1.0, 10.0])).round(8).tolist()
    [0.0, 2.30258509]
    """
    mantissa, exponent = np.frexp(x)
    s = (mantissa - 0.75) / (mantissa + 0.75)
    squared = s * s
    total = np.zeros_like(s)
    for factor in _ODD:
        total += factor
        total *= squared
    total += 1.0
    total *= 2.0 * s
    total += exponent * _LOG_2 + _LOG_3_4
    return total


def exp(x: Doubles) -> Doubles:
    """Powers of e to ten digits, alike on every machine.

    >>> exp(np.array([0.0, -1.0])).round(8).tolist()
    [1.0, 0.36787944]
    """
    halvings = np.rint(x / _LOG_2)
    rest = x - halvings * _LOG_2
    total = np.ones_like(rest)
    for n in range(12, 0, -1):
        total = 1.0 + total * rest / n
    return np.ldexp(total, halvings.astype(np.int32))


def zipf(size: int, skew: float) -> Doubles:
    """Shares like 1/n**skew that add up to one.

    >>> zipf(3, 1.0).round(6).tolist()
    [0.545455, 0.272727, 0.181818]
    """
    weights = exp(-skew * log(np.arange(1.0, size + 1.0)))
    return shares(weights)


def shares(weights: Doubles) -> Doubles:
    """Weights as parts of their sum."""
    total: float = np.cumsum(weights)[-1]  # a running sum has one order, a sum has many
    return weights / total


class WeightedChoice:
    """Draws of numbers with given shares, in constant time for each (Walker's alias method)."""

    def __init__(self, shares: Doubles) -> None:
        size = len(shares)
        self.shares = shares
        self._is_even = bool((shares == shares[0]).all())
        scaled: list[float] = (shares * size).tolist()
        keep, other = [1.0] * size, list(range(size))
        small = [i for i, share in enumerate(scaled) if share < 1.0]
        large = [i for i, share in enumerate(scaled) if share >= 1.0]
        while small and large and not self._is_even:
            poor, rich = small.pop(), large[-1]
            keep[poor], other[poor] = scaled[poor], rich
            scaled[rich] -= 1.0 - scaled[poor]
            if scaled[rich] < 1.0:
                small.append(large.pop())
        self._keep, self._other = np.array(keep), np.array(other, np.int64)

    def draw(self, draws: Draws, size: int) -> Ints:
        """As many numbers."""
        number = draws.below(len(self._keep), size)
        if self._is_even:
            return number
        return np.where(draws.uniform(size) < self._keep[number], number, self._other[number])


def narrow(keys: Ints, limit: int) -> NDArray[Any]:
    """Keys below a limit in the narrowest type: NumPy sorts 16 bits twenty times as fast as 32."""
    return keys.astype(np.uint16 if limit <= 2**16 else np.uint32)


def running(keys: Ints, steps: Ints, last: Ints) -> Ints:
    """Running sums of steps for each key, in order; `last` has the sums so far and is moved on.

    >>> last = np.array([10, 20])
    >>> running(np.array([0, 1, 0]), np.array([1, 2, 3]), last).tolist(), last.tolist()
    ([11, 22, 14], [14, 22])
    """
    order = np.argsort(narrow(keys, len(last)), kind="stable")
    counts = np.bincount(keys, minlength=len(last))
    ends = np.cumsum(counts)
    sums = np.concatenate(([0], np.cumsum(steps[order])))
    base = last - sums[ends - counts]
    result = np.empty(len(keys), np.int64)
    result[order] = sums[1:]
    result += base[keys]
    last[:] = sums[ends] + base
    return result


class Clock:
    """Distinct times at a given mean distance, from block to block."""

    def __init__(self, start_us: int, rate: float) -> None:
        self._last = start_us - 1
        self._inverse = geometric_inverse(60e6 / rate)

    def next(self, draws: Draws, size: int) -> Ints:
        """The next times, in microseconds."""
        times = self._last + np.cumsum(draws.geometric(self._inverse, size))
        self._last = int(times[-1])
        return times
