"""Products of maps, against products of matrices of Python's integers.

Would catch a part of a window that is left out, taken twice or out of order, whatever the lengths
of windows and however they overlap; a sum that is not carried along; an extreme of a way that does
not go on; and numbers that wrap around.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

from hamlet.engine.panes.maps import Cell, applied, product, taken
from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.wides import Wides

SIZE, PANES = 3, 11


def random_maps(rng: np.random.Generator, most: int) -> tuple[Any, Any]:
    """Counts and sums by pane, as matrices, and the same as columns; the last is the empty pane."""
    counts = rng.integers(0, most, (PANES + 1, SIZE, SIZE)).astype(object)
    sums = rng.integers(-most, most, (PANES + 1, SIZE, SIZE)).astype(object)
    counts[-1], sums[-1] = np.eye(SIZE, dtype=int), 0
    maps = {
        (r, c): Cell(Integers(counts[:, r, c]), (Integers(sums[:, r, c]),), ())
        for r in range(SIZE)
        for c in range(SIZE)
    }
    return list(zip(counts, sums, strict=True)), maps


def after(one: Any, two: Any) -> Any:
    return one[0] @ two[0], one[1] @ two[0] + one[0] @ two[1]


def begins(windows: int, is_float: bool = False) -> Any:
    one, zero = Integers(np.ones(windows, np.int64)), Integers(np.zeros(windows, np.int64))
    if is_float:
        one, zero = (Wides.of(each.values.astype(float), np.zeros(windows)) for each in (one, zero))
    return {(0, 0): Cell(one, (zero,), ())}


@pytest.mark.parametrize("most", [3, 10**30])
def test_windows_of_any_length_go_through_their_panes_in_order(most: int):
    panes, maps = random_maps(np.random.default_rng(1), min(most, 10**15))
    ranges = [(low, high) for low in range(PANES) for high in range(low + 1, PANES + 1)]
    low, high = np.array(ranges).T

    found = applied(begins(len(ranges)), maps, low, high, [])

    for window, (first, last) in enumerate(ranges):
        counts, sums = reduce(after, panes[first:last])
        for target in range(SIZE):
            cell = found[0, target]
            assert cell.count.values[window] == counts[0, target], (first, last)
            assert cell.sums[0].values[window] == sums[0, target], (first, last)


def test_one_long_window_beside_short_ones():
    panes, maps = random_maps(np.random.default_rng(2), 10)
    low, high = np.array([0, 0, 7]), np.array([PANES, 1, 7])

    found = applied(begins(3), maps, low, high, [])

    everything = reduce(after, panes[:PANES])
    assert found[0, 1].count.values.tolist() == [everything[0][0, 1], panes[0][0][0, 1], 0]
    assert found[0, 0].count.values[2] == 1  # no pane at all


def test_float_numbers_stay_near_far_beyond_doubles():
    panes, maps = random_maps(np.random.default_rng(3), 10**6)
    large = 10**300
    counts = [panes[i][0] * large for i in range(PANES)]
    wide = {
        place: Cell(_wides(cell.count, large), (_wides(cell.sums[0], large),), ())
        for place, cell in maps.items()
    }

    found = applied(begins(1, is_float=True), wide, np.array([0]), np.array([PANES]), [])

    exact = reduce(lambda a, b: a @ b, counts)[0, 2]
    mantissa, exponent = found[0, 2].count.mantissa[0], int(found[0, 2].count.exponent[0])
    assert abs(int(mantissa * 2**53) * 2 ** (exponent - 53) - exact) < exact // 10**12
    assert exact > 10**3000


def _wides(column: Integers, factor: int) -> Wides:
    """Times a factor, all but the empty pane."""
    values = [float(value * factor) for value in column.values[:-1]]
    values.append(float(column.values[-1]))
    return Wides.of(np.array(values), np.zeros(len(values)))


def test_extremes_are_those_of_ways_that_go_on():
    def cell(counts: list[int], least: list[float]) -> Cell:
        return Cell(Integers(np.array(counts)), (), (np.array(least),))

    nan = float("nan")
    first = {(0, 0): cell([1, 1, 0], [3.0, 3.0, nan]), (0, 1): cell([1, 1, 1], [1.0, 1.0, 1.0])}
    second = {(0, 0): cell([1, 1, 1], [nan, 5.0, 2.0]), (1, 0): cell([0, 2, 0], [nan, 4.0, nan])}

    found = product(first, second, [np.fmin])[0, 0]

    # In the first nothing goes on from 1, in the second all does, in the third nothing gets to 0.
    assert found.count.values.tolist() == [1, 3, 0]
    np.testing.assert_array_equal(found.extremes[0], [3.0, 1.0, nan])
    assert taken({(0, 0): found}, np.array([1]))[0, 0].extremes[0].tolist() == [1.0]
