"""Conditions and numbers as expressions of Spark, against the engine's own evaluation.

On random values. Would catch a comparison that treats null, NaN, infinity or -0.0 in Spark's way,
an integer compared by its nearest double, an overflow, a division by zero that fails, a remainder
with the wrong sign, text in another order, a time that depends on the zone of the session, and
conditions that are left to Python although Spark could evaluate them; and of numbers another sum, a
NaN that is no null, and an integer that has become a double.
"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from hamlet.events.columns import values_of
from hamlet.kernel.encode.evaluate import evaluate, holds
from hamlet.plan.predicates import (
    COMPARISONS,
    Column,
    Constant,
    Expression,
    Operation,
    columns_of,
    show,
)
from hamlet.spark.expressions import condition_of, number_of
from hamlet.spark.kinds import term_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from hamlet.events.columns import Values

INF, NAN = float("inf"), float("nan")
pytestmark = pytest.mark.usefixtures("generated_code")

LONGS = [0, 1, -1, 2, 3, 7, 10, -10, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1]
LONGS += [2**62, 2**63 - 1, -(2**63), 2**63 - 512, 999_999_999_999_999_999]
DOUBLES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 1e-300, 1e300, 2.0**53, 2.0**53 + 2]
DOUBLES += [2.0**63, -(2.0**63), 9.007199254740993e15, INF, -INF, NAN]
TEXTS = [
    "",
    "a",
    "A",
    "b",
    "\\a",
    "\\",
    "\\%",
    "a\nb",
    "ab",
    "é",
    "e\u0301",
    "z",
    "\uffff",
    "\U0001f600",
    "a ",
    " a",
]
STAMPS = [datetime(2026, 3, 8, 7, 30), datetime(2026, 3, 8, 2, 30), datetime(1969, 12, 31, 23, 59)]
STAMPS += [datetime(2026, 11, 1, 5, 30, 0, 123456), datetime(2026, 3, 2), datetime(1, 1, 1)]
DATES = [date(2026, 3, 2), date(2026, 3, 8), date(1969, 12, 31), date(1, 1, 1)]
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tiny": (pa.int8(), [-128, 127, 0, 1, 3]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, 0, 1, -1, 7]),
    "long": (pa.int64(), LONGS),
    "other": (pa.int64(), LONGS),
    "float": (pa.float32(), [0.0, 1.0, 0.1, -2.5, INF, NAN]),
    "double": (pa.float64(), DOUBLES),
    "second": (pa.float64(), DOUBLES),
    "cents": (pa.decimal128(10, 2), [Decimal("0.10"), Decimal("-2.50"), Decimal("3.00")]),
    "whole": (pa.decimal128(9, 0), [Decimal(0), Decimal(7), Decimal(-999_999_999)]),
    "huge": (pa.decimal128(30, 0), [Decimal(0), Decimal(10**29), Decimal(2**53 + 1)]),
    "text": (pa.string(), TEXTS),
    "word": (pa.string(), TEXTS),
    "flag": (pa.bool_(), [True, False]),
    "stamp": (pa.timestamp("us", "UTC"), [each.replace(tzinfo=UTC) for each in STAMPS]),
    "clock": (pa.timestamp("us"), STAMPS),
    "day": (pa.date32(), DATES),
    "nothing": (pa.null(), []),
}
NUMBERS = ["tiny", "int", "long", "other", "float", "double", "second", "cents", "whole", "huge"]
CONSTANTS = [0, 1, -1, 2, 3, 10, 2**31, 2**53 + 1, 2**63, -(2**63), 10**20, 10**40]
FRACTIONS = [0.0, 0.5, -2.5, 3.0, 1e300, 2.0**53, 2.0**63, -(2.0**63), 1e20]
ROWS = 400
# So many expressions at a time: more make Spark's generated code slow to compile.
TOGETHER = 250


class Maker:
    """Makes random conditions of the right kinds."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def column(self, *names: str) -> Column:
        return Column("this", "nothing" if self.rng.random() < 0.03 else self.rng.choice(names))

    def number(self, depth: int) -> Expression:
        choice = self.rng.random()
        if depth == 0 or choice < 0.4:
            if self.rng.random() < 0.3:
                return Constant.of(self.rng.choice(self.rng.choice([CONSTANTS, FRACTIONS])))
            return self.column(*NUMBERS)
        if choice < 0.5:
            return Operation("-", (self.number(depth - 1),))
        if choice < 0.65:
            return self.function(depth - 1)
        symbol = self.rng.choice("+-*/%")
        return Operation(symbol, (self.number(depth - 1), self.number(depth - 1)))

    def function(self, depth: int) -> Expression:
        """A function that gives a number, or durations divided."""
        name = self.rng.choice(["abs", "round", "hour", "minute", "weekday", "coalesce", "/"])
        if name in ("abs", "round"):
            return Operation(name, (self.number(depth),))
        if name == "coalesce":
            return Operation(name, (self.column("int", "tiny"), self.column("int", "double")))
        if name == "/":
            return Operation(name, (self.duration(depth), self.duration(depth)))
        return Operation(name, (self.time(depth),))

    def time(self, depth: int) -> Expression:
        choice = self.rng.random()
        if depth == 0 or choice < 0.5:
            return self.column("stamp", "clock", "day")
        if choice < 0.6:
            return Constant(1_772_400_000_000_000, "time")
        if choice < 0.8:
            return Operation("date", (self.time(depth - 1),))
        return Operation(self.rng.choice("+-"), (self.time(depth - 1), self.duration(depth - 1)))

    def duration(self, depth: int) -> Expression:
        choice = self.rng.random()
        if depth == 0 or choice < 0.3:
            return Constant(self.rng.choice([0, 1, -(10**6), 6 * 10**7, 10**18]), "duration")
        if choice < 0.8:
            return Operation("-", (self.time(depth - 1), self.time(depth - 1)))
        return Operation("abs", (self.duration(depth - 1),))

    def operand(self, kind: str, depth: int) -> Expression:
        if kind == "number":
            return self.number(depth)
        if kind == "time":
            return self.time(depth)
        if kind == "duration":
            return self.duration(depth)
        if depth and self.rng.random() < 0.2:
            return Operation("coalesce", (self.column("text"), self.operand("text", 0)))
        is_constant = self.rng.random() < 0.4
        return Constant.of(self.rng.choice(TEXTS)) if is_constant else self.column("text", "word")

    def condition(self, depth: int) -> Expression:
        choice = self.rng.random()
        if depth == 0 and choice < 0.2:
            return self.column("flag")
        if depth > 0 and choice < 0.35:
            symbol = self.rng.choice(["and", "or", "not"])
            width = 1 if symbol == "not" else self.rng.choice([2, 3])
            return Operation(symbol, tuple(self.condition(depth - 1) for _ in range(width)))
        if choice < 0.45:
            kind = self.rng.choice(["number", "text", "time"])
            symbol = self.rng.choice(["is null", "is not null"])
            return Operation(symbol, (self.operand(kind, 1),))
        if choice < 0.55:
            kind = self.rng.choice(["number", "text"])
            width = self.rng.choice([2, 3, 4])
            operands = tuple(self.operand(kind, 1) for _ in range(width))
            return Operation(self.rng.choice(["in", "not in"]), operands)
        if choice < 0.6:
            form = Constant.of(self.rng.choice(["a%", "_", "%b", "", "\\%", "\\_", "%", "\\"]))
            symbol = self.rng.choice(["like", "not like"])
            return Operation(symbol, (self.operand("text", 1), form))
        kind = self.rng.choice(["number", "number", "number", "text", "time", "duration"])
        operands = (self.operand(kind, 2), self.operand(kind, 2))
        return Operation(self.rng.choice(COMPARISONS), operands)


def comparisons() -> list[Expression]:
    """Every comparison of each column of numbers with each constant and each other column."""
    numbers = [Column("this", name) for name in NUMBERS]
    constants = [Constant.of(value) for value in [*CONSTANTS, -(10**400), *FRACTIONS, INF]]
    pairs = [(a, b) for a in numbers for b in [*numbers, *constants]]
    rng = random.Random(2)
    chosen = [Operation(symbol, pair) for symbol in COMPARISONS for pair in pairs]
    return rng.sample(chosen, 250)


def random_table(rng: random.Random) -> pa.Table:
    columns = {}
    for name, (kind, values) in COLUMNS.items():
        some = [rng.choice(values) if values and rng.random() > 0.15 else None for _ in range(ROWS)]
        columns[name] = pa.array(some, kind)
    return pa.table(columns)


def spark_truths(
    frame: DataFrame, conditions: list[Expression]
) -> Iterator[tuple[int, list[bool]]]:
    """On which rows the conditions hold that Spark can evaluate, by their numbers."""
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    term = cache(lambda name: term_of(F.col(name), kinds[name]))
    found = {number: condition_of(expression, term) for number, expression in enumerate(conditions)}
    asked = [(str(number), column) for number, column in found.items() if column is not None]
    for start in range(0, len(asked), TOGETHER):
        some = asked[start : start + TOGETHER]
        rows = frame.select("row", *(column.alias(name) for name, column in some)).toArrow()
        rows = rows.sort_by("row")
        yield from ((int(name), rows.column(name).to_pylist()) for name, _ in some)


@pytest.mark.parametrize("ansi", [True, False])
def test_conditions_hold_on_the_same_rows(
    spark: SparkSession, settings: Callable[..., None], ansi: bool
):
    rng = random.Random(ansi)
    table = random_table(rng)
    columns = {name: values_of(table.column(name)) for name in table.column_names}
    # Spark would else put times without a zone into that of the session.
    settings(ansi__enabled=ansi, timestampType="TIMESTAMP_NTZ")
    # Compiling code for so many expressions takes longer than evaluating them without.
    settings(codegen__wholeStage=ansi, codegen__factoryMode="FALLBACK" if ansi else "NO_CODEGEN")
    frame = spark.createDataFrame(table.append_column("row", pa.array(range(ROWS))))
    conditions = [Maker(rng).condition(2) for _ in range(60 if ansi else 400)]
    conditions += [] if ansi else comparisons()

    truths = dict(spark_truths(frame, conditions))

    wrong = []
    for number, truth in truths.items():
        condition = conditions[number]
        expected = holds(condition, lambda column: columns[column.attribute], ROWS).tolist()
        for row, (is_true, should) in enumerate(zip(truth, expected, strict=True)):
            if is_true is not should:
                values = table.slice(row, 1).to_pylist()[0]
                wrong.append(f"{is_true}: {show(condition)} on {values}")
                break
    assert not wrong, "\n".join([f"{len(wrong)} conditions differ", *wrong[:5]])
    assert len(truths) > 0.7 * len(conditions)


def plain(values: Values) -> list[Any]:
    """Values as text, with their kind: None for null, and no sign for zero."""
    valid = [True] * len(values) if values.valid is None else values.valid.tolist()
    data = [number + 0 for number in values.data.tolist()]
    return [str(number) if known else None for number, known in zip(data, valid, strict=True)]


@pytest.mark.parametrize("ansi", [True, False])
def test_numbers_are_the_same_on_every_row(
    spark: SparkSession, settings: Callable[..., None], ansi: bool
):
    rng = random.Random(10 + ansi)
    table = random_table(rng).drop_columns(["nothing"])
    columns = {name: values_of(table.column(name)) for name in table.column_names}
    settings(ansi__enabled=ansi, timestampType="TIMESTAMP_NTZ")
    settings(codegen__wholeStage=ansi, codegen__factoryMode="FALLBACK" if ansi else "NO_CODEGEN")
    frame = spark.createDataFrame(table.append_column("row", pa.array(range(ROWS))))
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    term = cache(lambda name: term_of(F.col(name), kinds[name]))
    maker = Maker(rng)
    maker.column = lambda *names: Column("this", rng.choice(names))  # type: ignore[method-assign]
    numbers = [maker.number(2) for _ in range(80 if ansi else 240)]
    terms = {str(place): number_of(number, term) for place, number in enumerate(numbers)}
    found = {place: each.column for place, each in terms.items() if each is not None}

    rows = frame.select("row", *(column.alias(place) for place, column in found.items()))
    rows = rows.toArrow().sort_by("row")

    wrong, undefined = [], 0
    for place in found:
        number = numbers[int(place)]
        expected = plain(evaluate(number, lambda column: columns[column.attribute], ROWS))
        worth = plain(values_of(rows.column(place)))
        known = [columns[each.attribute].valid for each in columns_of(number)]
        is_given = np.logical_and.reduce(
            [np.ones(ROWS, bool), *(v for v in known if v is not None)]
        )
        undefined += any(given and is_ is None for given, is_ in zip(is_given, worth, strict=True))
        for row, (is_, should) in enumerate(zip(worth, expected, strict=True)):
            if is_ != should:
                values = table.slice(row, 1).to_pylist()[0]
                wrong.append(f"{is_}, not {should}: {show(number)} on {values}")
                break
    assert not wrong, "\n".join([f"{len(wrong)} numbers differ", *wrong[:5]])
    assert len(found) > 0.5 * len(numbers)
    # Also where all values are given: divided by zero, or of infinite numbers
    assert undefined > 3
