"""Sums of weights over the events of a run, in two parts so that nothing is lost.

A running sum and, beside it, the sum of what it was after each event are a *ladder*: what trends
have summed up that end at each event of a run. The sums of a ladder stand one after the other, each
in two parts.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from hamlet.kernel.jit import INLINED, inlined
from hamlet.kernel.numbers.kinds import kind_of


def add_to_sum(zs: Any, s: int, value: Any, together: int) -> None:
    """Add the weight of one of some events of one time to a sum in two parts.

    In floats value / (1 + together), what is lost in rounding kept in the second part; in integers
    the value, its lower 32 bits in the first part and the others in the second, so that neither
    wraps around in 2^31 events.
    """


@overload(add_to_sum, jit_options=INLINED)
def _add_to_sum(zs: Any, s: int, value: Any, together: int) -> Any:
    if kind_of(zs) == "plain":

        def plain(zs: Any, s: int, value: Any, together: int) -> None:
            value = value / (1.0 + together)
            before = zs[2 * s]
            total = before + value
            zs[2 * s] = total
            back = total - before
            zs[2 * s + 1] += (before - (total - back)) + (value - back)

        return plain

    def ints(zs: Any, s: int, value: Any, together: int) -> None:
        zs[2 * s] += value & 0xFFFFFFFF
        zs[2 * s + 1] += value >> 32

    return ints


def add_run_to_sum(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
    """Add the weights of events of different times to a sum."""


@overload(add_run_to_sum, jit_options=INLINED)
def _add_run_to_sum(zs: Any, s: int, weights: Any, first: int, end: int) -> Any:
    if kind_of(zs) == "plain":

        def plain(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
            # Four sums side by side, in variables, because what is pointed to may overlap, as far
            # as the compiler knows. What is lost inside a run is little beside the run's own sum.
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            i = first
            while i + 4 <= end:
                a += weights[i]
                b += weights[i + 1]
                c += weights[i + 2]
                d += weights[i + 3]
                i += 4
            while i < end:
                a += weights[i]
                i += 1
            add_to_sum(zs, s, (a + b) + (c + d), 1)

        return plain

    def ints(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
        low, high = zs[2 * s], zs[2 * s + 1]
        for i in range(first, end):
            low += weights[i] & 0xFFFFFFFF
            high += weights[i] >> 32
        zs[2 * s], zs[2 * s + 1] = low, high

    return ints


def add_some_to_sum(
    zs: Any, s: int, events: Any, bits: int, z: int, row: int, first: int, end: int
) -> None:
    """Add the weights of those of some events of different times that an accumulator takes in.

    Their letters have a bit for it, in numbers that begin at `bits`.
    """


@overload(add_some_to_sum, jit_options=INLINED)
def _add_some_to_sum(
    zs: Any, s: int, events: Any, bits: int, z: int, row: int, first: int, end: int
) -> Any:
    if kind_of(zs) == "plain":

        def plain(
            zs: Any, s: int, events: Any, bits: int, z: int, row: int, first: int, end: int
        ) -> None:
            a, b = 0.0, 0.0
            for i in range(first, end - 1, 2):
                # Chosen, not jumped over, because letters change all the time
                value, other = events.weights[row + i], events.weights[row + i + 1]
                a += value if events.by_letter[bits + events.letter[i]] >> z & 1 else 0.0
                b += other if events.by_letter[bits + events.letter[i + 1]] >> z & 1 else 0.0
            if (end - first) & 1:
                value = events.weights[row + end - 1]
                a += value if events.by_letter[bits + events.letter[end - 1]] >> z & 1 else 0.0
            add_to_sum(zs, s, a + b, 1)

        return plain

    def ints(
        zs: Any, s: int, events: Any, bits: int, z: int, row: int, first: int, end: int
    ) -> None:
        low, high = zs[2 * s], zs[2 * s + 1]
        for i in range(first, end):
            value = events.weights[row + i]
            value = value if events.by_letter[bits + events.letter[i]] >> z & 1 else 0
            low += value & 0xFFFFFFFF
            high += value >> 32
        zs[2 * s], zs[2 * s + 1] = low, high

    return ints


def sum_since(zs: Any, s: int, stamp: int) -> Any:
    """The difference of two sums: a float, or the two parts of an integer."""


@overload(sum_since, jit_options=INLINED)
def _sum_since(zs: Any, s: int, stamp: int) -> Any:
    if kind_of(zs) == "plain":

        def plain(zs: Any, s: int, stamp: int) -> float:
            return float((zs[2 * s] - zs[2 * stamp]) + (zs[2 * s + 1] - zs[2 * stamp + 1]))

        return plain

    def ints(zs: Any, s: int, stamp: int) -> tuple[int, int]:
        return zs[2 * s] - zs[2 * stamp], zs[2 * s + 1] - zs[2 * stamp + 1]

    return ints


def sum_as_double(zs: Any, s: int, stamp: int) -> float:
    """The difference of two sums, of doubles only."""
    raise NotImplementedError


@overload(sum_as_double, jit_options=INLINED)
def _sum_as_double(zs: Any, s: int, stamp: int) -> Any:
    if kind_of(zs) == "plain":

        def plain(zs: Any, s: int, stamp: int) -> float:
            return float((zs[2 * s] - zs[2 * stamp]) + (zs[2 * s + 1] - zs[2 * stamp + 1]))

        return plain

    def integers(zs: Any, s: int, stamp: int) -> float:
        return 0.0  # as above

    return integers


# Ladders

_LOW = 0xFFFFFFFF
_SPLIT = 134217729.0  # 2^27 + 1: cuts a double into two halves whose products are exact


def climb(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
    """Add the weights of events of different times to a ladder."""


@overload(climb, jit_options=INLINED)
def _climb(zs: Any, s: int, weights: Any, first: int, end: int) -> Any:
    if kind_of(zs) == "plain":

        def plain(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
            total, of_totals = 0.0, 0.0
            for i in range(first, end):
                total += weights[i]
                of_totals += total
            _climb_doubles(zs, s, end - first, 0.5 * total, 0.5 * of_totals)

        return plain

    def ints(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
        for i in range(first, end):
            _climb_integer(zs, s, weights[i])

    return ints


def climb_by_one(zs: Any, s: int, n: int) -> None:
    """Add 1 for each of n events of different times to a ladder."""


@overload(climb_by_one, jit_options=INLINED)
def _climb_by_one(zs: Any, s: int, n: int) -> Any:
    if kind_of(zs) == "plain":

        def plain(zs: Any, s: int, n: int) -> None:
            _climb_doubles(zs, s, n, 0.5 * n, 0.25 * n * (n + 1))

        return plain

    def ints(zs: Any, s: int, n: int) -> None:
        for _ in range(n):
            _climb_integer(zs, s, 1)

    return ints


@inlined
def _climb_integer(zs, s, weight):
    """Add one integer to a ladder. The lower part of the running sum stays below 2^32."""
    low = zs[2 * s] + (weight & _LOW)
    zs[2 * s] = low & _LOW
    zs[2 * s + 1] += (weight >> 32) + (low >> 32)
    zs[2 * s + 2] += zs[2 * s]
    zs[2 * s + 3] += zs[2 * s + 1]


@inlined
def _climb_doubles(zs, s, n, total, of_totals):
    """Add n events to a ladder, given their sum and that of their running sums."""
    high, low = _product(float(n), zs[2 * s])
    low += n * zs[2 * s + 1]
    _add_to_two(zs, s + 1, high)
    _add_to_two(zs, s + 1, of_totals)
    zs[2 * s + 3] += low
    _add_to_two(zs, s, total)


@inlined
def _add_to_two(zs, s, value):
    """Add to a double in two parts."""
    before = zs[2 * s]
    total = before + value
    back = total - before
    zs[2 * s] = total
    zs[2 * s + 1] += (before - (total - back)) + (value - back)


@inlined
def _product(a, b):
    """The product of two doubles, and what is lost of it in rounding."""
    product = a * b
    high = _SPLIT * a - (_SPLIT * a - a)
    other = _SPLIT * b - (_SPLIT * b - b)
    low, less = a - high, b - other
    return product, ((high * other - product) + high * less + low * other) + low * less


def climbed_since(zs: Any, s: int, stamp: int, n: int) -> Any:
    """What a ladder has come to in n events, as if it had been empty; as `sum_since` has it."""


@overload(climbed_since, jit_options=INLINED)
def _climbed_since(zs: Any, s: int, stamp: int, n: int) -> Any:
    if kind_of(zs) == "plain":

        def plain(zs: Any, s: int, stamp: int, n: int) -> float:
            before, lost = _product(float(n), zs[2 * stamp])
            lost += n * zs[2 * stamp + 1]
            total = (zs[2 * s + 2] - zs[2 * stamp + 2]) - before
            return float(total + ((zs[2 * s + 3] - zs[2 * stamp + 3]) - lost))

        return plain

    def ints(zs: Any, s: int, stamp: int, n: int) -> tuple[int, int]:
        low = zs[2 * s + 2] - zs[2 * stamp + 2] - n * zs[2 * stamp]
        return low, zs[2 * s + 3] - zs[2 * stamp + 3] - n * zs[2 * stamp + 1]

    return ints
