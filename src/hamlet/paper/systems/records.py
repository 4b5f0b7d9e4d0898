"""Records of numbers and extremes, and those of closed windows as an emission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.base import Emission, values_of_codes
from hamlet.kernel.growth import longer_numbers, move
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.number_table import NumberTable
from hamlet.paper.systems.tables import ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.plan.number_mode import NumberMode


# How many records there is room for at first
_FIRST_ROOM = 256


@dataclass(frozen=True, slots=True)
class ClosedWindows:
    """Closed windows with a trend, as a compiled system returns them.

    templates: The template in the program of each unit of the system.
    components: How many numbers a record has.
    records: Partition, unit and window.
    redo: Partitions whose numbers need a wider kind, of which nothing is here.
    """

    templates: NDArray[np.int32]
    components: int
    records: NDArray[np.int64]
    numbers: NDArray[Any]
    extremes: NDArray[np.float64]
    redo: NDArray[np.int32]


# Records: numbers, and extremes with the sign by which they are least, by their place in two arrays


@compiled
def add_all(v, to, source, size, x, size_x, err):
    """Add one record of numbers and extremes to another, both by their number."""
    for c in range(size):
        numbers.add(v, to * size + c, v, source * size + c, err)
    for k in range(size_x):
        x[to * size_x + k] = min(x[to * size_x + k], x[source * size_x + k])


@compiled
def empty(v, at, size, x, size_x):
    """A record of nothing."""
    for c in range(size):
        numbers.set_zero(v, at * size + c)
    for k in range(size_x):
        x[at * size_x + k] = np.inf


@compiled
def copy_all(v, to, source, size, x, size_x):
    """Write one record over another."""
    for c in range(size):
        numbers.copy(v, to * size + c, v, source * size + c)
    for k in range(size_x):
        x[to * size_x + k] = x[source * size_x + k]


@inlined
def extend(
    v, to, source, size, x, size_x, adds, adds_at, least, least_at, row, weights, extremes, signs,
    e, err,
):  # fmt: skip
    """Write what a record becomes with one more event, e, to another.

    What its numbers add and its extremes look at stands in a row of `adds` and `least`, from some
    columns on: numbers of the weights and extremes of events.
    """
    numbers.copy(v, to * size, v, source * size)
    for c in range(1, size):
        numbers.copy(v, to * size + c, v, source * size + c)
        weight = adds[row, adds_at + c - 1]
        if weight >= 0:
            numbers.add_times(v, to * size + c, v, source * size, weights[weight, e], err)
        elif weight == ONE:
            numbers.add(v, to * size + c, v, source * size, err)
    for k in range(size_x):
        best = x[source * size_x + k]
        attribute = least[row, least_at + k]
        if attribute >= 0:
            own = extremes[attribute, e]
            if own == own:
                best = min(best, own * signs[k])
        x[to * size_x + k] = best


@compiled
def records_of(zero, count, size, size_x):
    """Arrays for so many records."""
    return numbers.room(zero, count * size), np.empty(count * size_x)


# What is found


class Records(NamedTuple):
    """Records of closed windows, with room for more.

    keys: Partition, unit and window.
    """

    keys: Any
    numbers: Any
    extremes: Any


@compiled
def no_records(zero, size, size_x):
    """None as yet, of so many numbers and extremes each."""
    of_numbers, of_extremes = records_of(zero, _FIRST_ROOM, size, size_x)
    return Records(np.empty((_FIRST_ROOM, 3), np.int64), of_numbers, of_extremes)


@compiled
def with_room(records, n, more, size, size_x):
    """The same n records, with room for some more."""
    if n + more <= records.keys.shape[0]:
        return records
    capacity = 2 * (n + more)
    return Records(
        longer(records.keys, capacity),
        longer_numbers(records.numbers, n * size, capacity * size),
        longer(records.extremes, capacity * size_x),
    )


@compiled
def write(records, n, part, unit, window, v, source, size, x, size_x, signs, err):
    """Write what a window has of a unit as the record after n others."""
    records.keys[n, 0], records.keys[n, 1], records.keys[n, 2] = part, unit, window
    out = numbers.pointer(records.numbers)
    for c in range(size):
        numbers.copy(out, n * size + c, v, source * size + c)
        if not numbers.is_safe(v, source * size + c):
            err[0] = 1
    for k in range(size_x):
        records.extremes[n * size_x + k] = x[source * size_x + k] * signs[k]


@compiled
def table_of(extremes, n, size_x):
    """The extremes of n records, a row for each."""
    return extremes[: n * size_x].copy().reshape((n, size_x))


@compiled
def alive(array, extremes, err):
    """Do nothing, but after everything that used pointers to these arrays."""
    return array.shape[0] + extremes.shape[0] + err.shape[0]


@compiled
def longer(array, rows):
    """A copy of an array with room for more rows."""
    larger = np.empty((rows, *array.shape[1:]), array.dtype)
    move(larger.ravel(), 0, array.ravel(), 0, array.size)
    return larger


# For Python


def emission_of(closed: list[ClosedWindows], mode: NumberMode) -> Emission:
    """What was found, possibly with numbers of several kinds, as one emission."""
    most = max((part.components for part in closed), default=1)
    most_x = max((part.extremes.shape[1] for part in closed), default=0)
    tables = [NumberTable.of_kernel(_table(part)) for part in closed]
    return Emission(
        _joined([part.records[:, 0] for part in closed]).astype(np.int32),
        _joined([part.templates[part.records[:, 1]] for part in closed]).astype(np.int32),
        _joined([part.records[:, 2] for part in closed]),
        NumberTable.joined(tables) if tables else NumberTable.nothing(most, mode),
        _extremes([_wider(part.extremes, most_x, np.nan) for part in closed], most_x),
    )


def _joined(arrays: list[NDArray[Any]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *arrays])


def _table(part: ClosedWindows) -> NDArray[Any]:
    """[records, components], and the words of each where there are several."""
    shape = (len(part.records), part.components, *part.numbers.shape[1:])
    return part.numbers.reshape(shape)


def _wider(table: NDArray[Any], width: int, filling: Any) -> NDArray[Any]:
    return np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=filling)


def _extremes(tables: list[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
    """Extremes: NaN where there is none, and infinite ones as they were."""
    return values_of_codes(np.concatenate([np.empty((0, width)), *tables]))
