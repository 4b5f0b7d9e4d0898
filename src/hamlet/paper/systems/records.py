"""What a system found, as the emission that results are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import Emission, values_of_codes
from hamlet.kernel.growth import move
from hamlet.kernel.jit import compiled
from hamlet.kernel.number_table import NumberTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.plan.number_mode import NumberMode


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


@compiled
def alive(one, two, three, err):
    """Do nothing, but after everything that used pointers to these arrays."""
    return one.shape[0] + two.shape[0] + three.shape[0] + err.shape[0]


@compiled
def longer(array, rows):
    """A copy of an array with room for more rows."""
    larger = np.empty((rows, *array.shape[1:]), array.dtype)
    move(larger.ravel(), 0, array.ravel(), 0, array.size)
    return larger


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
