"""What is computed from aggregates, against Python's fractions.

Would catch a result that is rounded on the way, or lost where numbers pass a double; a null or an
infinity that becomes a number; and a remainder of another sign.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet import Workload
from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.quantities import Quantities, Ratios
from hamlet.kernel.finish.wides import Wides
from hamlet.plan.predicates import Constant, Operation, evaluate

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**400), 10**400),
    st.fractions(max_denominator=10**30),
)


def ratios(values: list[Fraction]) -> Quantities:
    numbers = [np.array([getattr(v, side) for v in values], np.object_) for side in
               ("numerator", "denominator")]  # fmt: skip
    return Quantities.of(Ratios(*map(Integers, numbers)))


def meant(symbol: str, left: Any, right: Any) -> Any:
    given = tuple(Constant(each, "fraction") for each in (left, right))
    return evaluate(Operation(symbol, given), {})


def shown(value: Any) -> float:
    if value is None:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@pytest.mark.parametrize("symbol", OPERATORS)
@random_sample(100)
@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_fractions_are_computed_exactly(symbol: str, pairs: list[tuple[Any, Any]]) -> None:
    left, right = ([Fraction(pair[i]) for pair in pairs] for i in (0, 1))

    value, _, is_known = OPERATORS[symbol](ratios(left), ratios(right)).results()

    expected = [meant(symbol, *pair) for pair in zip(left, right, strict=True)]
    assert is_known.tolist() == [each is not None for each in expected]
    for found, each in zip(value.tolist(), expected, strict=True):
        assert each is None or found == shown(each)


DOUBLES = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan, 1e300, -1e-300]),
    st.floats(-1e6, 1e6),
)


@pytest.mark.parametrize("has_exponents", [False, True])
@pytest.mark.parametrize("symbol", OPERATORS)
@random_sample(100)
@given(pairs=st.lists(st.tuples(DOUBLES, DOUBLES), min_size=1, max_size=5))
def test_infinities_and_nulls_are_those_of_conditions(
    symbol: str, has_exponents: bool, pairs: list[tuple[float, float]]
) -> None:
    left, right = (np.array([pair[i] for pair in pairs]) for i in (0, 1))

    one, other = (Quantities.of_doubles(side, has_exponents) for side in (left, right))
    value, _, is_known = OPERATORS[symbol](one, other).results()

    for pair, found, known in zip(pairs, value.tolist(), is_known.tolist(), strict=True):
        given = [None if math.isnan(v) else v if math.isinf(v) else Fraction(v) for v in pair]
        expected = None if None in given else meant(symbol, *given)
        assert known == (expected is not None)
        if expected is None:
            continue
        # Sums and differences of doubles of both signs may lose what they have in common.
        scale = max(abs(v) for v in pair) if symbol in "+-" and has_exponents else 0.0
        near = math.isclose(found, shown(expected), rel_tol=1e-12, abs_tol=1e-12 * scale)
        assert near or (has_exponents and found == shown(expected)), (pair, symbol)


def test_the_remainder_of_numbers_with_exponents() -> None:
    exponents = np.array([5000, 5000, 3, -5000, 4])
    one = Wides(np.array([0.75, -0.75, 0.875, 0.5, 0.625]), exponents)
    other = Wides(np.array([0.625, 0.625, 0.75, 0.5, 0.0]), np.array([3, 3, 2, 9, 0]))

    rest = one.remainder(other)

    by = 5  # 0.625 * 2**3
    first = 3 * 2**4998 % by
    assert rest.value().tolist() == [first, -first, 1.0, 0.0, 0.0]
    assert rest.exponent.tolist()[3] == -5000


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_what_is_computed_from_numbers_beyond_doubles(numbers: Any) -> None:
    text = """RETURN COUNT(A) / COUNT(*) AS mean, COUNT(*) * COUNT(*) AS squared,
        COUNT(*) / 0 AS none, (COUNT(*) + 1) % 2 AS rest
        PATTERN A+ HAVING COUNT(*) > 1e300 WITHIN 10000 s"""
    events = [{"type": "A", "time": n} for n in range(1, 2001)]

    rows = Workload.parse(text).run(events, numbers=numbers).table.to_pylist()

    found = {row["aggregate"]: row for row in rows}
    assert found["mean"]["value"] == pytest.approx(1000, rel=1e-9)
    assert found["squared"]["value"] == math.inf
    assert found["squared"]["log10"] == pytest.approx(4000 * math.log10(2))
    assert found["none"]["value"] is None
    if numbers == "exact":
        assert found["squared"]["exact"] == str((2**2000 - 1) ** 2)
        assert found["rest"]["value"] == 0.0


def test_rows_that_having_leaves_out_are_not_counted_as_windows() -> None:
    text = "RETURN COUNT(*) PATTERN A HAVING COUNT(*) > 1 WITHIN 10 s"
    events = [{"type": "A", "time": n} for n in (1, 2, 11)]

    results = Workload.parse(text).run(events)

    assert results.statistics.windows == 1
    assert results.wide("q1").num_rows == 1
