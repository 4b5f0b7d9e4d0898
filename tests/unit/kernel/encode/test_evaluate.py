"""Columns at once and rows one by one agree: a wrong null or a lost digit would show here."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet.events.columns import Values, values_of
from hamlet.kernel.encode.evaluate import evaluate, holds
from hamlet.plan import predicates
from hamlet.plan.predicates import COMPARISONS, Column, Constant, Expression, Operation

INTEGERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]),
)
FRACTIONS = st.one_of(
    st.sampled_from([0.0, 0.5, -1.5, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e300]),
    st.floats(allow_nan=False, allow_infinity=False),
)
WORDS = st.sampled_from(["", "a", "B", "b", "ä", "z", "\U0001f600", "￿"])
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int64(), INTEGERS),
    "j": (pa.int64(), INTEGERS),
    "x": (pa.float64(), FRACTIONS),
    "y": (pa.float64(), FRACTIONS),
    "s": (pa.string(), WORDS),
    "t": (pa.string(), WORDS),
    "p": (pa.bool_(), st.booleans()),
}


def numbers() -> st.SearchStrategy[Expression]:
    leaves = st.one_of(
        st.sampled_from("ijxy").map(lambda name: Column("this", name)),
        st.one_of(INTEGERS, FRACTIONS).map(Constant.of),
        st.just(Constant.of(None)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda o, a, b: Operation(o, (a, b)), st.sampled_from("+-*/%"), inner, inner),
            inner.map(lambda a: Operation("-", (a,))),
        ),
        max_leaves=4,
    )


def texts() -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.sampled_from("st").map(lambda name: Column("this", name)), WORDS.map(Constant.of)
    )


def conditions() -> st.SearchStrategy[Expression]:
    def comparison(sides: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        symbols = st.sampled_from(COMPARISONS)
        return st.builds(lambda o, a, b: Operation(o, (a, b)), symbols, sides, sides)

    def listed(
        operand: st.SearchStrategy[Expression], items: st.SearchStrategy[Any]
    ) -> st.SearchStrategy[Expression]:
        several = st.lists(items.map(Constant.of), min_size=1, max_size=3)
        symbols = st.sampled_from(["in", "not in"])
        return st.builds(lambda o, a, b: Operation(o, (a, *b)), symbols, operand, several)

    null = st.sampled_from(["is null", "is not null"])
    leaves = st.one_of(
        st.just(Column("this", "p")),
        comparison(numbers()),
        comparison(texts()),
        listed(numbers(), INTEGERS | FRACTIONS),
        listed(texts(), WORDS),
        st.builds(lambda o, a: Operation(o, (a,)), null, numbers() | texts()),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(lambda a: Operation("not", (a,))),
            st.builds(
                lambda o, parts: Operation(o, tuple(parts)),
                st.sampled_from(["and", "or"]),
                st.lists(inner, min_size=2, max_size=3),
            ),
        ),
        max_leaves=4,
    )


ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, (_, values) in KINDS.items()}),
    min_size=1,
    max_size=8,
)


def columns(rows: list[dict[str, Any]]) -> dict[str, Values]:
    return {
        name: values_of(pa.chunked_array([pa.array([row[name] for row in rows], kind)]))
        for name, (kind, _) in KINDS.items()
    }


def shown(values: Values, row: int) -> Any:
    if values.kind is None or (values.valid is not None and not values.valid[row]):
        return None
    if values.words is not None:
        return values.words[int(values.data[row])].as_py()
    value = values.data[row]
    return value if isinstance(value, int) else value.item()


def by_row(expression: Expression, row: dict[str, Any]) -> Any:
    """The value, or "undefined" where Python's own arithmetic gives up (beyond any double)."""
    try:
        return predicates.evaluate(expression, {"this": row})
    except (OverflowError, ValueError):
        return "undefined"


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other


@given(numbers() | texts() | conditions(), ROWS)
def test_every_expression_has_the_value_it_has_row_by_row(
    expression: Expression, rows: list[dict[str, Any]]
) -> None:
    expected = [by_row(expression, row) for row in rows]
    found = columns(rows)

    values = evaluate(expression, lambda column: found[column.attribute], len(rows))

    for number, value in enumerate(expected):
        if value != "undefined":
            assert is_same(shown(values, number), value)


@given(conditions(), ROWS)
def test_only_true_holds(expression: Expression, rows: list[dict[str, Any]]) -> None:
    found = columns(rows)

    truth = holds(expression, lambda column: found[column.attribute], len(rows))

    for row, is_true in zip(rows, truth.tolist(), strict=True):
        if by_row(expression, row) != "undefined":
            assert is_true is (by_row(expression, row) is True)


@pytest.mark.parametrize(
    ("symbol", "left", "right", "expected"),
    [
        ("+", 2**63 - 1, 1, 2**63),
        ("*", 2**40, 2**40, 2**80),
        ("-", -(2**63), 1, -(2**63) - 1),
        ("%", -7, 3, -1),
        ("%", 7, -3, 1),
        ("/", 2**62 + 1, 3, (2**62 + 1) / 3),
        ("/", 1, 0, None),
        ("%", 1.5, 0, None),
    ],
)
def test_arithmetic_is_exact_and_sql_like(
    symbol: str, left: Any, right: Any, expected: Any
) -> None:
    expression = Operation(symbol, (Column("this", "a"), Column("this", "b")))
    found = {"a": left, "b": right}

    values = evaluate(
        expression, lambda column: values_of(pa.chunked_array([[found[column.attribute]]])), 1
    )

    assert is_same(shown(values, 0), expected)


def test_an_integer_is_compared_with_a_double_by_value() -> None:
    column = values_of(pa.chunked_array([[2**53 + 1, 2**53, -(2**53) - 1]]))
    below = Operation(">", (Column("this", "a"), Constant.of(2.0**53)))

    assert holds(below, lambda _: column, 3).tolist() == [True, False, False]
