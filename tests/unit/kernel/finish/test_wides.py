"""Doubles with exponents of any size.

Would catch a zero that disturbs a sum, an exponent that is lost beyond doubles, and rounding that
makes a trend where there is none.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hamlet.kernel.finish.wides import Wides


def test_rounding_in_float_mode_makes_no_pair_where_there_is_none() -> None:
    counts = Wides.of(np.array([1 + 2.0**-50, 2.0**-50, 1.0, 0.0]), np.zeros(4))

    assert counts.is_some().tolist() == [True, False, True, False]


def test_sums_of_rows_keep_exponents_far_beyond_doubles() -> None:
    column = Wides.of(np.array([1.0, 3.0, 0.0, 0.0, -2.0]), np.array([200.0, 200.0, 9.0, 0.0, 1.0]))

    total = column.added_up(np.array([0, 2, 4]))

    assert total.value().tolist() == [math.inf, 0.0, -(2.0**513)]
    assert total.log10()[0] == pytest.approx((2 + 512 * 200) * math.log10(2), rel=1e-15)
    assert np.isnan(total.log10()[1:]).all()
