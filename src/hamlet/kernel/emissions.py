"""What kernels have computed, as emissions: of any kind of numbers, and several as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import Emission, values_of_codes
from hamlet.kernel.number_table import NumberTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled
    from hamlet.plan.number_mode import NumberMode


def emission_of(
    compiled: Compiled,
    part: NDArray[np.int32],
    template: NDArray[np.int32],
    window: NDArray[np.int64],
    v: NDArray[Any],
    x: NDArray[np.float64],
) -> Emission:
    """Records of a kernel as an emission.

    Args:
        compiled: The code that was run.
        part: The partition of each record.
        template: The template of its unit.
        window: The number of its window.
        v: [records, components]: numbers of any kind, see numbers/.
        x: [records, extremes], infinite where there is none.
    """
    columns = compiled.repeats
    if columns is not None and columns.shape[1] <= 1:
        columns = None
    numbers = NumberTable.of_kernel(v, columns, template)
    return Emission(part, template, window, numbers, values_of_codes(x))


def joined(compiled: Compiled, parts: list[Emission], mode: NumberMode) -> Emission:
    """Several emissions as one."""
    if not parts:
        most = max(int(compiled.code.u_nc.max(initial=1)), 1)
        most_x = int(compiled.code.u_nx.max(initial=0))
        return Emission(
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            NumberTable.nothing(most, mode),
            np.empty((0, most_x)),
        )
    return stacked(parts)


def stacked(parts: Sequence[Emission]) -> Emission:
    """Some emissions, at least one, one below the other."""
    if len(parts) == 1:
        return parts[0]
    return Emission(
        np.concatenate([part.part for part in parts]),
        np.concatenate([part.unit for part in parts]),
        np.concatenate([part.window for part in parts]),
        NumberTable.joined([part.numbers for part in parts]),
        _stacked([part.extremes for part in parts]),
    )


def _stacked(tables: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Extremes one below the other, the narrower ones filled up with NaN."""
    width = max(table.shape[1] for table in tables)
    if all(table.shape[1] == width for table in tables):
        return np.concatenate(tables)
    ends = np.cumsum([0, *(len(table) for table in tables)])
    stacked = np.full((ends[-1], width), np.nan)
    for table, low, high in zip(tables, ends[:-1], ends[1:], strict=True):
        stacked[low:high, : table.shape[1]] = table
    return stacked
