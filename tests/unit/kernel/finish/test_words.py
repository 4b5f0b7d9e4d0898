"""Long integers in words, and the records of groups added up, against Python's own arithmetic.

Would catch a carry that is lost, a sign that is not extended, a double that is rounded twice or the
wrong way at half, a missing zero among decimal digits, and a sum that passes 64 bits unseen.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.quotients import quotient, recombined
from hamlet.kernel.finish.rounding import nearest
from hamlet.kernel.finish.sums import Lots, summed
from hamlet.kernel.finish.words import Words
from hamlet.kernel.number_table import NumberTable

# Near powers of two, where words and doubles end; near powers of ten, where digits do.
edges = st.builds(
    lambda base, power, more: base**power + more,
    st.sampled_from([2, 10]),
    st.integers(0, 400),
    st.integers(-2, 2),
)
halves = st.builds(
    lambda first, zeros, last: ((2**52 + first) * 2 + 1) * 2**zeros + last,
    st.integers(0, 2**52 - 1),
    st.integers(0, 200),
    st.integers(-1, 1),
)
sizes = st.integers(0, 300).flatmap(lambda bits: st.integers(0, 2**bits))
numbers = st.builds(lambda n, sign: sign * n, edges | halves | sizes, st.sampled_from([1, -1]))
columns = st.lists(numbers, min_size=1, max_size=12)


def words_of(values: list[int]) -> Words:
    table = NumberTable.of(np.array(values, object).reshape(-1, 1))
    each = np.arange(len(values))
    return Words.summed(table, 0, Lots.of(each.astype(np.int32), each.astype(np.int64)))


@random_sample(150)
@given(columns)
def test_words_are_what_python_says_of_them(values: list[int]) -> None:
    words = words_of(values)
    column = Integers(words)

    assert words.objects().tolist() == values
    assert words.count.tolist() == [
        max((v if v >= 0 else ~v).bit_length() // 64 + 1, 1) for v in values
    ]
    assert words.value().tolist() == [nearest(value) for value in values]
    assert column.text().to_pylist() == [str(value) for value in values]
    assert column.is_some().tolist() == [value > 0 for value in values]
    held = Integers(np.array(values, object))
    assert column.log10().tobytes() == held.log10().tobytes()


@random_sample(150)
@given(st.lists(st.tuples(numbers, st.integers(0, 3)), min_size=1, max_size=12))
def test_sums_of_lots_are_what_python_adds_up(rows: list[tuple[int, int]]) -> None:
    table = NumberTable.of(np.array([[value] for value, _ in rows], object))
    lots = sorted({lot for _, lot in rows})
    order = sorted(range(len(rows)), key=lambda row: rows[row][1])
    begins = [[rows[row][1] for row in order].index(lot) for lot in lots]

    words = Words.summed(table, 0, Lots.of(np.array(order, np.int32), np.array(begins)))

    expected = [sum(value for value, each in rows if each == lot) for lot in lots]
    assert words.objects().tolist() == expected
    sizes = [max((v if v >= 0 else ~v).bit_length() // 64 + 1, 1) for v in expected]
    assert words.count.tolist() == sizes


def test_digits_of_numbers_beyond_those_that_are_divided_stand_in_their_rows() -> None:
    values = [2**5000, -7, 0, -(10**1000), 10**19]

    found = Integers(words_of(values)).text().to_pylist()

    assert found == [str(value) for value in values]


@random_sample(120)
@given(st.lists(columns, min_size=1, max_size=4))
def test_sums_of_words(lots: list[list[int]]) -> None:
    starts = np.cumsum([0, *map(len, lots)])[:-1]

    found = Integers(words_of([each for lot in lots for each in lot])).added_up(starts)

    assert found.objects().tolist() == [sum(lot) for lot in lots]


@random_sample(120)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8), st.integers(0, 200))
def test_digits_are_put_together(pairs: list[tuple[int, int]], shift: int) -> None:
    one, other = (Integers(words_of(list(column))) for column in zip(*pairs, strict=True))

    found = recombined([(one, 0), (other, shift)])

    assert found.objects().tolist() == [a + (b << shift) for a, b in pairs]


@random_sample(150)
@given(
    st.lists(st.tuples(numbers, numbers, numbers.map(abs)), min_size=1, max_size=8),
    st.integers(-300, 300),
    st.integers(-300, 300),
)
def test_quotients_of_long_numbers_are_rounded_correctly(
    rows: list[tuple[int, int, int]], low: int, high: int
) -> None:
    one, other, over = (Integers(words_of(list(column))) for column in zip(*rows, strict=True))

    value, logs = quotient([(one, low), (other, high)], over)

    for number, (a, b, divisor) in enumerate(rows):
        if not divisor:
            assert math.isnan(value[number])
            continue
        exact = (a * Fraction(2) ** low + b * Fraction(2) ** high) / divisor
        assert value[number] == nearest(exact.numerator, exact.denominator)
        assert math.isnan(logs[number]) == (exact <= 0)


@pytest.mark.parametrize("divisor", [2**53 + 1, 2**62 + 3, 3**60])
def test_an_average_halfway_between_two_doubles_goes_to_the_even_one(divisor: int) -> None:
    halfway = (2**53 + 1) * divisor
    values = [halfway - 1, halfway, halfway + 1, 3 * halfway]

    found, _ = quotient([(Integers(words_of(values)), 0)], Integers(words_of([divisor] * 4)))

    assert found.tolist() == [2.0**53, 2.0**53, 2.0**53 + 2, nearest(3 * (2**53 + 1))]


# Records of several kinds in one table

small = st.integers(-(2**62), 2**62)


@st.composite
def tables(draw: Any) -> tuple[NumberTable, list[list[int]]]:
    """Tables of different widths and lengths of numbers, joined; and what they hold."""
    pieces, rows = [], []
    for _ in range(draw(st.integers(1, 3))):
        width = draw(st.integers(1, 3))
        number = draw(st.sampled_from([small, numbers]))
        held = draw(st.lists(st.lists(number, min_size=width, max_size=width), max_size=5))
        dtype = np.int64 if number is small else object
        pieces.append(NumberTable.of(np.array(held, dtype).reshape(len(held), width)))
        rows += [[*row, 0, 0, 0][:3] for row in held]
    return NumberTable.joined(pieces), rows


@random_sample(120)
@given(tables(), st.data())
def test_records_of_any_kinds_are_added_up(
    held: tuple[NumberTable, list[list[int]]], data: st.DataObject
) -> None:
    table, rows = held
    order = data.draw(st.permutations(range(len(rows))))
    cuts = data.draw(st.sets(st.integers(1, max(len(rows) - 1, 1))))
    starts = sorted({0, *(cut for cut in cuts if cut < len(rows))}) if rows else []

    lots = Lots.of(np.array(order, np.int32), np.array(starts, np.int64))

    for component, found in enumerate(summed(table, 4, lots)):
        expected = [
            sum(rows[row][component] if component < 3 else 0 for row in order[low:high])
            for low, high in pairwise([*starts, len(rows)])
        ]
        assert found.objects().tolist() == expected


def test_a_component_that_a_record_does_not_have_is_zero_and_one_asked_twice_is_there_twice() -> (
    None
):
    v = np.array([[1, 2], [3, 4]], np.int64)
    columns, kind = np.array([[0, -1, 1], [0, 1, 1]]), np.array([1, 0], np.int32)
    table = NumberTable.of_kernel(v, columns, kind)

    assert [table.column(number) for number in range(3)] == [[1, 3], [2, 0], [2, 4]]
    picked = NumberTable.joined([table, table]).where(np.array([False, True, True, False]))
    assert [picked.column(number) for number in range(3)] == [[3, 1], [0, 2], [4, 2]]


@random_sample(120)
@given(
    st.lists(
        st.tuples(st.floats(-1e60, 1e60, allow_subnormal=False), st.integers(-3, 3)),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_doubles_with_and_without_exponents_are_added_up(
    held: list[tuple[float, int]], has_exponents: bool
) -> None:
    exponents = [e if has_exponents else 0 for _, e in held]
    pairs = np.array([[[m, e]] for (m, _), e in zip(held, exponents, strict=True)], float)
    tables = [NumberTable.of_kernel(pairs), NumberTable.of_kernel(np.array([[1.5]]))]
    order = np.arange(len(held) + 1, dtype=np.int32)

    (found,) = summed(NumberTable.joined(tables), 1, Lots.of(order, np.zeros(1, np.int64)))

    exact = [
        Fraction(m) * Fraction(2) ** (512 * e) for (m, _), e in zip(held, exponents, strict=True)
    ]
    mantissa, exponent = float(found.mantissa[0]), int(found.exponent[0])
    total, size = sum(exact) + Fraction(3, 2), sum(map(abs, exact)) + Fraction(3, 2)
    made = Fraction(mantissa) * Fraction(2) ** exponent if mantissa else 0
    assert abs(made - total) <= size * Fraction(1, 2**50)
