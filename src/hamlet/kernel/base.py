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

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.jit import interpretable
from hamlet.plan.aggregates import DURATION, LENGTH
from hamlet.plan.remembered import remembered
from hamlet.plan.template import Part

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
_INFINITE, _SIZE = np.float64(np.inf).view(np.int64), np.int64(2**63 - 1)


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
    values = np.empty(codes.shape)
    bits = np.ascontiguousarray(codes).reshape(-1).view(np.int64)
    bits.flags.writeable = False  # so that the function is compiled for one kind
    _find_values(bits, values.reshape(-1))
    return values


@interpretable
def _find_values(codes, values):  # type: ignore[no-untyped-def]
    """The values of codes, which are given by their bits."""
    bits = values.view(np.int64)
    for number in range(len(codes)):
        code = codes[number]
        size = code & _SIZE
        bits[number] = code + np.int64(size >= _MOVED - 1)
        if size >= _INFINITE:
            values[number] = np.nan


def _with_size(values: Doubles, size: NDArray[np.int64]) -> Doubles:
    return np.copysign(size.view(np.float64), values)


@dataclass(frozen=True, slots=True)
class Weight:
    """What a component adds up.

    1 for each event ("one"), 1 where an attribute is not null ("present"), or one digit of the
    attribute itself ("value") or of its square ("square"), which counts 2**exponent times.

    How long trends take is added up at their first and last events alone: the time of the last is
    added, that of the first taken off. Times since 1970 would make long numbers, and inexact
    doubles. So time is cut into stretches of `span_us`, which no window is longer than: it has
    parts of two at most. Of an event, "time" is the time since its stretch began, and "turn" is 1
    in every other stretch. Trends that reach from one stretch to the next have each their "turn"
    1, or each -1, so the sum of durations is that of times, and `span_us` for each turn.
    """

    kind: WeightKind
    attribute: str | None = None
    digit: int = 0
    exponent: int = 0
    span_us: int = 0
    is_taken_off: bool = False

    @property
    def is_timed(self) -> bool:
        """Whether it is of the first and last events of trends alone."""
        return self.kind in ("time", "turn")

    @property
    def signs(self) -> tuple[Weight, ...]:
        """All that it takes: where something is taken off, that too."""
        return (self, replace(self, is_taken_off=True)) if self.is_timed else (self,)

    def at(self, part: Part | None) -> Weight | None:
        """What an event adds that is some part of a trend; None for nothing."""
        if not self.is_timed:
            return self
        ends = {Part.FIRST: replace(self, is_taken_off=True), Part.LAST: self}
        return None if part is None else ends.get(part)


def weights_of(components: Iterable[Component]) -> tuple[Weight, ...]:
    """What some components take, each once."""
    return tuple(dict.fromkeys(weight for each in components for weight in each.weight.signs))


class ExtremeRow(StrEnum):
    """What extremes of measures are made of, for each event; else they are of an attribute."""

    ONE = "\0one"
    NOTHING = "\0nothing"
    TIME = "\0time"
    BACK = "\0time back"


class ExtremeAt(NamedTuple):
    """What an event at a state does to an extreme: it has a value of its own, or adds to trends."""

    row: str
    is_added: bool = False


def extreme_rows(aggregate: Aggregate) -> tuple[str, ...]:
    """What an extreme is made of: an attribute, or quantities that every event has."""
    if aggregate.measure == LENGTH:
        return (ExtremeRow.ONE,)
    if aggregate.measure == DURATION:
        return (ExtremeRow.NOTHING, ExtremeRow.TIME, ExtremeRow.BACK)
    return (str(aggregate.attribute),)


def extreme_at(aggregate: Aggregate, part: Part | None) -> ExtremeAt | None:
    """What an event that some aggregate counts does to it; None for nothing.

    A trend of which the first event has a value of its own has that, and what others add to it:
    1 for each, or to its time, negative, the time of the last.
    """
    if aggregate.measure == LENGTH:
        return ExtremeAt(ExtremeRow.ONE, part not in (Part.FIRST, Part.ONLY))
    if aggregate.measure == DURATION:
        return None if part is None else _DURATION_AT.get(part)
    return ExtremeAt(str(aggregate.attribute))


_DURATION_AT = {
    Part.FIRST: ExtremeAt(ExtremeRow.BACK),
    Part.LAST: ExtremeAt(ExtremeRow.TIME, True),
    Part.ONLY: ExtremeAt(ExtremeRow.NOTHING),
}


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
        extreme_attributes: What the rows of `extremes` are: see `extreme_rows`.
        extremes: [attributes of MIN and MAX, n], NaN where null, infinite values as
            `finite_codes` has them.
        previous: [edge predicates, n]: f of an ordered predicate f(previous) op g(next), NaN where
            null; zeros for general ones.
        next: The same for g; the two are comparable as they are.
        column_names: What the rows of `columns` are.
        columns: [columns used by general predicates, n], NaN where null.
        after_others: 1 where events that are left out come strictly between it and the moment
            before; None where none are left out.
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
    after_others: NDArray[np.uint8] | None = None

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
                span = aggregate.span_us if kind in ("time", "turn") else 0
                weight = Weight(kind, attribute, digit, exponent, span)
                components.append(Component(number, weight))
    return tuple(components)
