"""Digits of squares: would catch one that is rounded, lost at the ends of doubles or off a grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet import PlanError, Workload
from hamlet.events.columns import Values
from hamlet.kernel.encode.digits import digits_of_squares

DOUBLES = st.one_of(
    st.sampled_from([0.0, 1.0, -3.5, 5e-324, 1.7e308, 2.0**-400, 2.0**500, 1e-200, 0.1, 1e16]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
)
INTEGERS = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1), st.just(-(2**31)))


def squares(exponents: tuple[int, ...], digits: list[np.ndarray]) -> list[Fraction]:
    columns = zip(*(digit.tolist() for digit in digits), strict=True)
    powers = [Fraction(2) ** exponent for exponent in exponents]
    return [sum(d * p for d, p in zip(row, powers, strict=True)) for row in columns]


@random_sample(200)
@given(st.lists(DOUBLES, min_size=1, max_size=6), st.lists(DOUBLES, min_size=1, max_size=6))
def test_squares_of_doubles_are_exact_also_on_a_grid_that_is_there(first, later):
    grid, digits = digits_of_squares(Values("number", np.array(first)), None)

    assert squares(grid, digits) == [Fraction(x) ** 2 for x in first]

    wider, digits = digits_of_squares(Values("number", np.array(later)), grid)

    assert set(grid) <= set(wider)
    assert squares(wider, digits) == [Fraction(x) ** 2 for x in later]


@random_sample(100)
@given(st.lists(INTEGERS, min_size=1, max_size=6), st.booleans())
def test_squares_of_integers_are_exact_and_null_is_0(values, has_null):
    valid = np.array([not has_null or i > 0 for i in range(len(values))])

    grid, digits = digits_of_squares(Values("number", np.array(values, np.int64), valid), None)

    expected = [x**2 if is_there else 0 for x, is_there in zip(values, valid, strict=True)]
    assert squares(grid, digits) == expected


def test_squares_beyond_doubles_need_exact_numbers():
    workload = Workload.parse("RETURN STDDEV(A.x) PATTERN A WITHIN 10 s")
    events = [{"type": "A", "time": n, "x": x} for n, x in ((1, 1e200), (2, 3e200))]

    (row,) = workload.run(events).table.to_pylist()

    assert row["value"] == pytest.approx(2**0.5 * 1e200)
    with pytest.raises(PlanError, match="beyond doubles"):
        workload.run(events, numbers="float")


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_what_never_varies_has_no_variance(numbers):
    text = "RETURN VARIANCE(A.x), STDDEV(A.x) PATTERN A+ WITHIN 1000 s"
    events = [{"type": "A", "time": n, "x": 0.1} for n in range(200)]

    rows = Workload.parse(text).run(events, numbers=numbers).table.to_pylist()

    assert [row["value"] for row in rows] == [0.0, 0.0]
