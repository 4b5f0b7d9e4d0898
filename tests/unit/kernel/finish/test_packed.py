"""Integers in bytes against Python's own.

Lengths are drawn around the ends of bytes, words and digits. Would catch a sign byte too many or
too few, a carry that is lost, a shift that drops bits, memory that is too short, and rows of a
slice taken for those of the whole.
"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.kernel.finish import packed
from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.packed import PACKED, Packed, bytes_of, cut_alike

LENGTHS = (0, 1, 7, 8, 15, 16, 31, 32, 39, 40, 63, 64, 79, 80, 127, 128, 255, 600)
near_powers = st.builds(
    lambda length, more, sign: sign * (2**length + more),
    st.sampled_from(LENGTHS),
    st.integers(-2, 2),
    st.sampled_from((1, -1)),
)
numbers = near_powers | st.integers(-(2**70), 2**70) | st.integers(-300, 300)
longs = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
shifts = st.sampled_from((0, 0, 1, 7, 8, 31, 32, 33, 40, 500))


def packed_of(values: list[int]) -> Packed:
    return Packed.of_arrow(pa.array([bytes_of(value) for value in values], PACKED))


def numbers_of(column: Packed) -> list[int]:
    return [int.from_bytes(each, "little", signed=True) for each in column.to_arrow().to_pylist()]


@given(numbers)
def test_bytes_are_as_few_as_can_be_and_give_the_number_back(number: int) -> None:
    found = bytes_of(number)

    assert int.from_bytes(found, "little", signed=True) == number
    assert (len(found) == 0) == (number == 0)
    if len(found) > 1:
        with pytest.raises(OverflowError):
            number.to_bytes(len(found) - 1, "little", signed=True)


@random_sample(100)
@given(st.lists(st.tuples(longs, longs, longs), max_size=8), st.lists(shifts, max_size=3))
def test_digits_become_one_number(rows: list[tuple[int, ...]], exponents: list[int]) -> None:
    exponents = exponents or [0]
    wanted = [
        bytes_of(sum(digit << e for digit, e in zip(row, exponents, strict=False))) for row in rows
    ]

    for dtype in (np.int64, object):
        parts = [
            (Integers(np.array([row[place] for row in rows], dtype)), exponent)
            for place, exponent in enumerate(exponents)
        ]
        found = Packed.of_digits(parts)

        assert found.to_arrow().to_pylist() == wanted
        assert found.to_arrow().type == PACKED


@random_sample(120)
@given(st.lists(st.lists(st.tuples(numbers, shifts), min_size=1, max_size=6), max_size=5))
def test_sums_are_those_of_python(lots: list[list[tuple[int, int]]]) -> None:
    rows = [row for lot in lots for row in lot]
    mixed = list(range(len(rows)))
    random.Random(len(rows)).shuffle(mixed)
    order = np.argsort(mixed).astype(np.int32)  # row `order[k]` of the column is the k-th of `rows`
    column = packed_of([rows[place][0] for place in mixed])
    starts = np.cumsum([0, *(len(lot) for lot in lots)], dtype=np.int64)[:-1]

    found = column.added_up(order, starts, np.array([shift for _, shift in rows], np.int64))

    wanted = [bytes_of(sum(value << shift for value, shift in lot)) for lot in lots]
    assert found.to_arrow().to_pylist() == wanted


def test_carries_do_not_wait_too_long() -> None:
    """More rows than scratch takes at once, each with all bits set."""
    count = 3 * packed._MANY + 5
    value = 2**63 - 1
    column = Packed.of_digits([(Integers(np.full(count, value)), 0)])
    order, start = np.arange(count, dtype=np.int32), np.zeros(1, np.int64)

    for shift in (0, 31):
        found = column.added_up(order, start, np.full(count, shift, np.int64))

        assert numbers_of(found) == [count * value << shift]


@random_sample(100)
@given(st.lists(st.tuples(numbers, shifts), max_size=8), st.lists(st.tuples(numbers, shifts)))
def test_digits_are_cut_at_the_same_places_and_lose_nothing(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    columns = [packed_of([value for value, _ in rows]) for rows in (one, other)]
    by = [np.array([shift for _, shift in rows], np.int64) for rows in (one, other)]

    exponents, cut = cut_alike(columns, by)

    for rows, digits in zip((one, other), cut, strict=True):
        assert len(digits) == len(exponents)
        for row, (value, shift) in enumerate(rows):
            parts = zip(digits, exponents, strict=True)
            assert sum(int(d.values[row]) << e for d, e in parts) == value << shift


@given(st.lists(numbers, min_size=3, max_size=9))
def test_a_slice_with_nulls_is_read_from_its_own_rows(values: list[int]) -> None:
    texts = [None if row % 3 == 2 else bytes_of(value) for row, value in enumerate(values)]

    found = Packed.of_arrow(pa.array(texts, PACKED).slice(1, len(values) - 2))

    wanted = [0 if row % 3 == 2 else value for row, value in enumerate(values)]
    assert found.integers().values.tolist() == wanted[1:-1]


def test_integers_are_64_bits_where_all_fit() -> None:
    ends = [-(2**63), -1, 0, 2**63 - 1]

    assert packed_of(ends).integers().is_small
    assert packed_of(ends).integers().values.tolist() == ends
    assert packed_of([*ends, 2**63]).integers().values.tolist() == [*ends, 2**63]
