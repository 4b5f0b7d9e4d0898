"""What goes into a kernel and what comes out of it: plain arrays, no Spark, no Arrow, no objects.

A kernel runs the program of one sharable set. It is fed `EventBatch`es, time-ordered inside each
partition, and gives back an `Emission` for windows that have closed. Between the two it knows
nothing of types, attributes, groups or text: events have letters, weights and keys, and results
have numbers.

Linear aggregates are sums over *components*: component 0 of a row is its number of trends, every
other one is a sum of some weight over the occurrences of events in those trends. In exact mode
weights are 64-bit integers; an attribute with fractions is given as several integer *digits*, each
its own component, so that exact sums stay exact (value = sum of digit * 2**exponent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hamlet.plan.remembered import remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from hamlet.kernel.number_table import NumberTable
    from hamlet.plan.aggregates import WeightKind
    from hamlet.plan.query import Aggregate

    Doubles = NDArray[np.float64]

# In a kernel an infinite extreme stands for none, so an infinite value must be a finite one there:
# all doubles from this one on move one place towards zero. They come back where they were, but for
# the one just before this, which is taken for this. Some two neighbours have to be one, since there
# are no codes to spare; these have digits that nobody writes, unlike the greatest double.
_MOVED = np.float64(1.4172389050741863e308).view(np.int64)


def finite_codes(values: Doubles) -> Doubles:
    """Values of MIN and MAX in their order, infinite ones finite; NaN stays.

    >>> from sys import float_info
    >>> values = np.array([-np.inf, -float_info.max, 1.0, float_info.max, np.inf, np.nan])
    >>> codes = finite_codes(values)
    >>> bool(np.isfinite(codes[:5]).all()), bool((np.diff(codes[:5]) > 0).all())
    (True, True)
    >>> np.array_equal(values_of_codes(codes), values, equal_nan=True)
    True
    """
    far = _MOVED.view(np.float64)
    if np.fmin.reduce(values, initial=0.0) > -far and np.fmax.reduce(values, initial=0.0) < far:
        return values
    size = np.abs(values).view(np.int64)
    return np.where(size >= _MOVED, _with_size(values, size - 1), values)


def values_of_codes(codes: Doubles) -> Doubles:
    """What `finite_codes` was given; NaN, for none, where a code is infinite."""
    size = np.abs(codes).view(np.int64)
    found = np.where(size >= _MOVED - 1, _with_size(codes, size + 1), codes)
    return np.where(np.isinf(codes), np.nan, found)


def _with_size(values: Doubles, size: NDArray[np.int64]) -> Doubles:
    return np.copysign(size.view(np.float64), values)


@dataclass(frozen=True, slots=True)
class Weight:
    """What a component adds up.

    1 for each event ("one"), 1 where an attribute is not null ("present"), or one digit of the
    attribute itself ("value") or of its square ("square"), which counts 2**exponent times.
    """

    kind: WeightKind
    attribute: str | None = None
    digit: int = 0
    exponent: int = 0


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events of one sharable set, sorted by partition, then time, then order.

    n events, l letters, a atoms of the set's alphabet (in its order).

    Attributes:
        part: Partition number of each event, not decreasing.
        ts: Time in microseconds, not decreasing inside a partition.
        tied: 1 where an event is simultaneous with the one before it in the same partition.
        letter: The row of `letters` that tells which atoms the event satisfies.
        letters: [l, a] of 0 and 1.
        weight_specs: What the rows of `weights` are.
        weights: [weights, n], int64 in exact mode and float64 in float mode; 0 where null.
        extreme_attributes: What the rows of `extremes` are.
        extremes: [attributes of MIN and MAX, n], NaN where null, infinite values as
            `finite_codes` has them.
        previous: [edge predicates, n]: f of an ordered predicate f(previous) op g(next), NaN where
            null; zeros for general ones.
        next: The same for g; the two are comparable as they are.
        column_names: What the rows of `columns` are.
        columns: [columns used by general predicates, n], NaN where null.
    """

    part: NDArray[np.int32]
    ts: NDArray[np.int64]
    tied: NDArray[np.uint8]
    letter: NDArray[np.int32]
    letters: NDArray[np.uint8]
    weight_specs: tuple[Weight, ...]
    weights: NDArray[np.int64] | NDArray[np.float64]
    extreme_attributes: tuple[str, ...]
    extremes: NDArray[np.float64]
    previous: NDArray[np.float64]
    next: NDArray[np.float64]
    column_names: tuple[str, ...]
    columns: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.part)


@dataclass(frozen=True, slots=True)
class Emission:
    """Closed windows with at least one trend; r records in any order.

    Attributes:
        part: Partition.
        unit: The template of the set, by its number in the program, that is not a guard.
        window: Window number i of [i*slide, i*slide+within).
        numbers: [r, c], c the most components that any unit has.
        extremes: [r, x], by number of the query's MIN and MAX aggregates in order; the greatest is
            given as it is, NaN where there is none.
    """

    part: NDArray[np.int32]
    unit: NDArray[np.int32]
    window: NDArray[np.int64]
    numbers: NumberTable
    extremes: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Component:
    """Which weight a component of a query adds up, and for which of its aggregates."""

    aggregate: int
    weight: Weight


def components_of(
    aggregates: Iterable[Aggregate], digits: Mapping[str, tuple[int, ...]]
) -> tuple[Component, ...]:
    """The components of a query after its number of trends, in the order kernels use.

    Args:
        aggregates: Those of the query.
        digits: For each attribute, or its squares (`Aggregate.sum_of`), the exponents of its
            digits; one exponent, 0, in float mode and for integers.
    """
    return _components_of(tuple(aggregates), tuple(digits.items()))


@remembered
def _components_of(
    aggregates: tuple[Aggregate, ...], digits_of: tuple[tuple[str, tuple[int, ...]], ...]
) -> tuple[Component, ...]:
    components: list[Component] = []
    digits = dict(digits_of)
    for number, aggregate in enumerate(aggregates):
        attribute = aggregate.attribute
        for kind in aggregate.weights:
            places = digits[aggregate.sum_of(kind)] if kind in ("value", "square") else (0,)
            for digit, exponent in enumerate(places):
                components.append(Component(number, Weight(kind, attribute, digit, exponent)))
    return tuple(components)
