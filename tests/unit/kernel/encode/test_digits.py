"""Digits on a grid that grows: would catch a bit lost, a digit too long, or an exponent gone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.events.columns import Values
from hamlet.kernel.encode.digits import digits_within

doubles = st.floats(allow_nan=False, allow_infinity=False)
tenths = st.integers(-2000, 2000).map(lambda tenth: tenth / 10)
halves = st.integers(-50, 50).map(lambda half: half / 2)
batches = st.one_of(*(st.lists(kind, max_size=4) for kind in (doubles, tenths, halves)))
integers = st.one_of(
    *(st.lists(st.integers(-(2**n), 2**n), max_size=4) for n in (4, 40, 61, 62, 64, 100, 300))
)

# The first example may have to wait for functions to be compiled.
unhurried = settings(deadline=None)


def check(column: Values, grid: tuple[int, ...] | None) -> tuple[int, ...]:
    exponents, digits = digits_within(column, grid)
    assert {*(grid or ())} <= {*exponents}
    assert list(exponents) == sorted(exponents)
    for row, value in enumerate(column.data):
        parts = [int(digit[row]) for digit in digits]
        total = sum(part * Fraction(2) ** e for part, e in zip(parts, exponents, strict=True))
        assert total == Fraction(value if isinstance(value, int) else value.item())
        assert all(abs(part) < 2**62 for part in parts)
        assert len({part > 0 for part in parts if part}) <= 1
    return exponents


@unhurried
@given(st.lists(batches, max_size=6))
def test_fractions_are_exact_on_every_grid_that_comes_before(found: list[list[float]]) -> None:
    grid = None
    for values in found:
        grid = check(Values("number", np.array(values, np.float64)), grid)


@unhurried
@given(st.lists(integers, max_size=6))
def test_integers_are_exact_on_every_grid_that_comes_before(found: list[list[int]]) -> None:
    grid = None
    for values in found:
        data: Any = np.array(values, np.int64 if all(_is_long(v) for v in values) else object)
        grid = check(Values("number", data), grid)
        assert all(exponent % 32 == 0 for exponent in grid)


def _is_long(value: int) -> bool:
    return -(2**63) <= value < 2**63


def test_the_least_of_all_integers_has_a_size() -> None:
    check(Values("number", np.array([-(2**63), 2**63 - 1])), (0, 32))


@pytest.mark.parametrize("grid", [(0,), (-7,), (-120, -40, 900)])
def test_zeros_and_nulls_fit_every_grid(grid: tuple[int, ...]) -> None:
    zeros = Values("number", np.array([0.0, -0.0, 3.0]), np.array([True, True, False]))

    for column in (zeros, Values(None, np.zeros(3, np.int64))):
        exponents, digits = digits_within(column, grid)

        assert exponents == grid
        assert not any(digit.any() for digit in digits)


def test_what_fits_a_grid_leaves_it_as_it_is() -> None:
    """Else code would be compiled, and state converted, with every table."""
    prices = Values("number", np.array([0.25, 1000.5]))

    assert digits_within(prices, (-2,))[0] == (-2,)
    assert digits_within(prices, (-4,))[0] == (-4,)
    assert digits_within(prices, (-60, -20))[0] == (-60, -20)


def test_a_grid_has_no_digits_where_no_value_has_a_bit() -> None:
    far_apart = Values("number", np.array([2.0**1000, 2.0**-1000]))

    assert len(digits_within(far_apart, None)[0]) == 2
    assert len(digits_within(far_apart, (0,))[0]) == 3


def test_a_few_bits_more_below_take_one_digit_more() -> None:
    first = digits_within(Values("number", np.array([12.3])), None)[0]

    assert len(first) == 1
    assert len(digits_within(Values("number", np.array([12.3, 0.7])), first)[0]) == 2
