"""Sums of weights over the events of a run, in two parts so that nothing is lost."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from hamlet.kernel.jit import INLINED
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
