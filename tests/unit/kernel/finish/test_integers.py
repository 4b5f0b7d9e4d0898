"""Columns of integers of any length: their digits and logarithms.

Would catch a wrong or missing digit, a change of Python's own limit on digits, and a number whose
logarithm depends on the column it stands in.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.kernel.finish import integers
from hamlet.kernel.finish.integers import Integers, digits_of
from hamlet.kernel.finish.quotients import quotient
from hamlet.kernel.finish.wides import Wides

# Logarithms

magnitudes = st.integers(1, 62).flatmap(lambda bits: st.integers(2 ** (bits - 1), 2**bits))


@random_sample(120)
@given(st.lists(magnitudes | st.integers(-5, 0), min_size=1, max_size=9))
def test_a_logarithm_does_not_depend_on_how_its_number_is_held(values: list[int]) -> None:
    small, large = Integers(np.array(values, np.int64)), Integers(np.array(values, object))
    among_longer = Integers(np.array([*values, 2**2000], object))

    logarithms = small.log10().tobytes()

    assert large.log10().tobytes() == logarithms
    assert among_longer.log10()[:-1].tobytes() == logarithms
    for dtype in (np.int64, object):
        one = Integers(np.array([1], dtype))
        _, of_quotients = quotient([(Integers(np.array(values, dtype)), 0)], one)
        assert of_quotients.tobytes() == logarithms


def test_thousands_of_logarithms_are_the_same_to_the_last_bit() -> None:
    """NumPy and Python differ in one of some hundreds, on machines where they differ at all."""
    values = np.random.default_rng(0).integers(1, 2**62, 20_000)

    small, large = Integers(values), Integers(values.astype(object))

    assert small.log10().tobytes() == large.log10().tobytes()


@pytest.mark.parametrize("bits", [998, 999, 1000, 1001, 1023, 1024, 1025, 5000])
def test_logarithms_have_no_step_where_doubles_end(bits: int) -> None:
    around = [2**bits - 1, 2**bits, 2**bits + 2 ** (bits - 40)]

    found = Integers(np.array(around, object)).log10()

    assert found.tolist() == pytest.approx([bits * math.log10(2)] * 3, rel=1e-15)
    assert found[0] <= found[1] <= found[2]
    wide = Wides.of(np.array([1.0]), np.zeros(1)).shifted(bits)
    assert wide.log10()[0] == pytest.approx(found[1], rel=1e-15)


# Digits


@pytest.mark.parametrize("has_gmpy2", [True, False])
@pytest.mark.parametrize(
    ("base", "power"), [(0, 1), (-1, 1), (10, 600), (2, 2000), (-2, 2001), (10, 5000), (3, 200_000)]
)
def test_digits_of_long_integers(
    base: int, power: int, has_gmpy2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_gmpy2:
        pytest.importorskip("gmpy2")
    else:
        monkeypatch.setattr(integers, "_gmpy2", lambda: None)
    number, before = base**power, sys.get_int_max_str_digits()

    digits = digits_of(number)

    assert sys.get_int_max_str_digits() == before
    try:
        sys.set_int_max_str_digits(0)
        assert digits == str(number)
    finally:
        sys.set_int_max_str_digits(before)
