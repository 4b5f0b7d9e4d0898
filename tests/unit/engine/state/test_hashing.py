"""Hashes that pages go by: would catch a hash that is not the same for ever.

The numbers below are not to be changed: pages that were put away are found by them.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet.engine.state.hashing import hashes_of

FOR_EVER = [
    (pa.array([0, 1, -1]), [0, 6238072747940578789, 13029008266876403067]),
    (pa.array([0.5, 1.5]), [306524380890059637, 16657480027015623784]),
    (
        pa.array(["", "a", "été", "a longer text than eight bytes"]),
        [17665956581633026203, 198367012849983736, 15590149609731772438, 6031979338980115660],
    ),
    (pa.array([True, False]), [6238072747940578789, 0]),
    (pa.array([Decimal("1.50"), Decimal("-2.25")]), [5972645228442958322, 5227944536595289518]),
    (pa.array([date(2024, 2, 29)]), [13145302684044041696]),
    (pa.array([datetime(2024, 2, 29, 12, 30)]), [7714502888234593891]),
]


@pytest.mark.parametrize(("column", "wanted"), FOR_EVER)
def test_hashes_are_what_they_have_always_been(column: pa.Array, wanted: list[int]) -> None:
    assert hashes_of([column], len(column)).tolist() == wanted


def test_equal_values_hash_alike_however_they_are_stored() -> None:
    words = ["u", "v", None, "u", "é"]
    plain = pa.array(words)
    stored: list[Any] = [
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        plain.dictionary_encode(),
        pa.chunked_array([words[:2], words[2:]]),
        pa.array(["x", *words, "y"]).slice(1, 5),
        pa.array(["x", *words, "y"]).dictionary_encode().slice(1, 5),
    ]
    known = [0, 1, 3, 4]

    for column in stored:
        assert (hashes_of([column], 5) == hashes_of([plain], 5))[known].all()


def test_numbers_hash_by_value() -> None:
    small = hashes_of([pa.array([1, 2], pa.int8())], 2)

    assert (small == hashes_of([pa.array([1, 2], pa.int64())], 2)).all()
    assert (small == hashes_of([pa.array([1, 2], pa.uint64())], 2)).all()
    assert len(set(hashes_of([pa.array([0.0, -0.0])], 2).tolist())) == 1
    decimals = pa.array([Decimal("9.50"), Decimal("7.25"), Decimal("8.75")])
    wide = decimals.cast(pa.decimal256(50, 2))
    for column in (decimals, wide):
        assert (hashes_of([column.slice(1, 2)], 2) == hashes_of([column], 3)[1:]).all()


def test_which_column_is_which_matters() -> None:
    one, other = pa.array([1, 2]), pa.array([2, 1])

    assert (hashes_of([one, other], 2) != hashes_of([other, one], 2)).all()
    assert hashes_of([], 3).tolist() == [0, 0, 0]


def test_keys_are_spread_evenly_over_pages() -> None:
    for column in (pa.array(np.arange(100_000)), pa.array([f"k{i}" for i in range(100_000)])):
        counts = np.bincount((hashes_of([column], 100_000) % 64).astype(int), minlength=64)

        assert counts.min() > 1300
        assert counts.max() < 1850
