"""Numbers of windows in the form in which a kernel emits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import Emission
from hamlet.kernel.number_table import NumberTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.engine.panes.maps import Cell
    from hamlet.kernel.finish.wides import Wides
    from hamlet.plan.number_mode import NumberMode

    Longs = NDArray[np.int64]

# Kernels have exponents of two to this power.
_BITS = 512


class PaneRecords:
    """Records of windows, template by template."""

    def __init__(self, mode: NumberMode) -> None:
        """Begin without any.

        Args:
            mode: Numbers are `Wides` in float mode, else `Integers`.
        """
        self._mode = mode
        self._lots: list[tuple[int, int, Longs, Cell]] = []

    def add(self, part: int, unit: int, window: Longs, cell: Cell) -> None:
        """Take in windows of one partition and template.

        Args:
            part: The partition.
            unit: The template, by its number in the program.
            window: The numbers of windows.
            cell: What each of them has.
        """
        self._lots.append((part, unit, window, cell))

    def emission(self) -> Emission:
        """All of them."""
        sizes = [len(window) for _, _, window, _ in self._lots]
        windows = [window for _, _, window, _ in self._lots]
        numbers = [(cell.count, *cell.sums) for _, _, _, cell in self._lots]
        exponents = None
        if self._mode.has_exponents:
            pairs = [[_for_kernel(each) for each in some] for some in numbers]
            components = _matrix([[m for m, _ in some] for some in pairs], sizes, np.float64)
            exponents = _matrix([[e for _, e in some] for some in pairs], sizes, np.float64)
        else:
            is_small = all(each.is_small for some in numbers for each in some)
            dtype: Any = np.int64 if is_small else np.object_
            held = [[e.values if is_small else e.objects() for e in some] for some in numbers]
            components = _matrix(held, sizes, dtype)
        extremes = [cell.extremes for _, _, _, cell in self._lots]
        return Emission(
            np.repeat(np.array([part for part, _, _, _ in self._lots], np.int32), sizes),
            np.repeat(np.array([unit for _, unit, _, _ in self._lots], np.int32), sizes),
            np.concatenate([np.zeros(0, np.int64), *windows]),
            NumberTable.of(components, exponents),
            _matrix([list(each) for each in extremes], sizes, np.float64),
        )


def _matrix(lots: list[list[NDArray[Any]]], sizes: list[int], dtype: Any) -> NDArray[Any]:
    """Columns of several lots of rows, side by side; 0 where a lot has no such column."""
    width = max((len(columns) for columns in lots), default=0)
    matrix = np.zeros((sum(sizes), width), dtype)
    row = 0
    for columns, size in zip(lots, sizes, strict=True):
        for number, column in enumerate(columns):
            matrix[row : row + size, number] = column
        row += size
    return matrix


def _for_kernel(column: Wides) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mantissas and exponents as kernels have them."""
    exponent = np.where(column.mantissa == 0, 0, column.exponent)
    whole = exponent // _BITS
    mantissa = np.ldexp(column.mantissa, (exponent - whole * _BITS).astype(np.int32))
    return mantissa, whole.astype(np.float64)
