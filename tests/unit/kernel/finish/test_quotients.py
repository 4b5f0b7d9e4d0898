"""Sums and averages of digits against Python's fractions, which know the truth.

Would catch a wrong rounding on either path, a division that loses bits of a long divisor, a
logarithm that ends where doubles do, and Python's slow path taken where doubles decide.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.kernel.finish import quotients
from hamlet.kernel.finish.integers import Integers


@random_sample(150)
@given(
    parts=st.lists(
        st.tuples(
            st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9)),
            st.integers(-300, 300),
        ),
        min_size=1,
        max_size=5,
    ),
    divisor=st.one_of(st.integers(1, 10), st.integers(1, 2**63 - 1)),
)
def test_quotients_round_correctly_on_every_path(
    parts: list[tuple[int, int]], divisor: int
) -> None:
    true = sum((digit * Fraction(2) ** exponent for digit, exponent in parts), Fraction()) / divisor

    for dtype in (np.int64, object):
        columns = [(Integers(np.array([digit, 0], dtype)), e) for digit, e in parts]
        value, _ = quotients.quotient(columns, Integers(np.array([divisor, 1], dtype)))

        assert value[0] == float(true)
        assert value[1] == 0


@pytest.mark.parametrize("exponents", [(0, -53, -60), (-1074, 0), (960, -1000)])
def test_a_sum_that_almost_lies_between_two_doubles_rounds_to_the_right_one(
    exponents: tuple[int, ...],
) -> None:
    for tail in (-1, 0, 1):
        digits = [2**53 + 1, 1, tail][: len(exponents)]
        true = sum(d * Fraction(2) ** e for d, e in zip(digits, exponents, strict=True))
        columns = [
            (Integers(np.array([d], np.int64)), e) for d, e in zip(digits, exponents, strict=True)
        ]

        value, _ = quotients.quotient(columns, Integers(np.array([1], np.int64)))

        assert value[0] == float(true)


def quotient(parts: list[tuple[int, int]], divisor: int) -> tuple[float, float]:
    columns = [(Integers(np.array([digit], np.int64)), exponent) for digit, exponent in parts]
    value, log10 = quotients.quotient(columns, Integers(np.array([divisor], np.int64)))
    return value[0], log10[0]


@pytest.mark.parametrize("tail", [-1, 0, 1])
def test_an_average_that_almost_lies_between_two_doubles_rounds_to_the_right_one(tail: int) -> None:
    value, _ = quotient([(3 * (2**54 + 2), 0), (tail, -120)], 3)

    assert value == {-1: 2.0**54, 0: 2.0**54, 1: 2.0**54 + 4}[tail]


@pytest.mark.parametrize("divisor", [2**53 + 1, 2**60 + 64, 2**62 + 257, 2**63 - 513])
def test_divisors_that_no_double_holds_still_divide_exactly(divisor: int) -> None:
    for number in range(2**53 - 50, 2**53):
        assert quotient([(number, 0)], divisor)[0] == number / divisor


def test_logarithms_of_fractional_sums_reach_beyond_doubles() -> None:
    large, small = quotient([(7, 5000)], 1), quotient([(7, -5000)], 2)

    assert (large[0], small[0]) == (math.inf, 0)
    assert large[1] == pytest.approx(math.log10(7) + 5000 * math.log10(2), rel=1e-14)
    assert small[1] == pytest.approx(math.log10(7) - 5001 * math.log10(2), rel=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_common_averages_need_no_python_for_single_records(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    slow = []
    original = quotients.slow_quotient
    monkeypatch.setattr(
        quotients, "slow_quotient", lambda *a: slow.append(len(a[1].values)) or original(*a)
    )
    digits = [random.integers(-(2**62), 2**62, 10_000) for _ in range(3)]
    divisor = random.integers(1, 2**40, 10_000)

    value, _ = quotients.quotient(
        [(Integers(d), e) for d, e in zip(digits, (0, -40, -80), strict=True)], Integers(divisor)
    )

    assert slow == []
    for at in range(0, 10_000, 97):
        parts = zip((int(d[at]) for d in digits), (0, -40, -80), strict=True)
        total = sum(d * Fraction(2) ** e for d, e in parts)
        assert value[at] == float(total / int(divisor[at]))


def test_digits_of_integers_that_are_cut_in_two_are_put_together() -> None:
    parts = [
        (Integers(np.array([3, -1], np.int64)), 62),
        (Integers(np.array([5, 2], np.int64)), 0),
    ]

    total = quotients.recombined(parts)

    assert total.objects().tolist() == [3 * 2**62 + 5, -(2**62) + 2]
