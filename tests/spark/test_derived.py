"""What edge predicates compute of one event, derived by Spark, against the engine on one machine.

Would catch a derived number that is another, a NaN that is not null, a predicate
whose terms are moved without a derived column for them, columns that travel although nobody needs
them, more columns than before, a partition or an aggregate whose attribute has stayed behind, two
expressions that have one name, and a stream that goes on with rows of other columns.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from hamlet import Workload
from hamlet.engine import Options
from hamlet.errors import ReadError
from hamlet.spark import derived
from hamlet.spark.derived import Derived, derived_name, with_derived
from hamlet.spark.events import events_of
from hamlet.spark.letter_columns import letters_of
from hamlet.spark.shuffle_plan import prepare
from hamlet.spark.stream import answers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

INF, NAN = float("inf"), float("nan")
pytestmark = pytest.mark.usefixtures("generated_code")

DOUBLES = [0.0, -0.0, 0.1, 0.2, 0.3, -2.5, 3.0, 1e300, -1e300, 2.0**53, 2.0**63, INF, -INF, NAN]
LONGS = [0, 1, -1, 7, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
INTS = [0, 1, -1, 7, -(2**31), 2**31 - 1]
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "k": (pa.string(), ["a", "b", "c", "d", None]),
    "n": (pa.int32(), [0, 1, 2, 3, -2, None]),
    "m": (pa.int16(), [0, 1, 5, -3, None]),
    "i": (pa.int32(), [*INTS, None]),
    "j": (pa.int32(), [*INTS, None]),
    "l": (pa.int64(), [*LONGS, None]),
    "o": (pa.int64(), [*LONGS, None]),
    "f": (pa.float32(), [0.0, 0.1, -2.5, 3.0, INF, NAN, None]),
    "x": (pa.float64(), [*DOUBLES, None, None]),
    "y": (pa.float64(), [*DOUBLES, None, None]),
    "c": (pa.decimal128(9, 2), [Decimal("0.10"), Decimal("-2.50"), Decimal("3.00"), None]),
    "w": (pa.decimal128(9, 0), [Decimal(0), Decimal(7), Decimal(-3), None]),
}
SIGNS = ["<", "<=", ">", ">=", "=", "!="]


class Edges:
    """Random conditions on two adjacent events, in the words of the language."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def number(self, of: str, names: str, depth: int = 2, symbols: str = "+-*/%") -> str:
        pick = self.chance.choice
        if depth == 0 or self.chance.random() < 0.15:
            is_constant = self.chance.random() < 0.25
            return pick(["2", "3", "0.5", "0"]) if is_constant else f"{of}.{pick(names)}"
        if self.chance.random() < 0.1:
            return f"(-{self.number(of, names, depth - 1)})"
        one, other = (self.number(of, names, depth - 1) for _ in range(2))
        return f"({one} {pick(symbols)} {other})"

    def whole(self, one: str, other: str) -> str:
        """Integers up to where only Python has them; no sum of them is NaN."""
        sides = [self.number(each, "ijlonw").replace("0.5", "5") for each in (one, other)]
        return f"{one}.i + {sides[0]} {self.sign()} {other}.l % 3 - {sides[1]}"

    def fraction(self, one: str, other: str) -> str:
        """Doubles, made of all kinds of numbers."""
        sides = [self.number(each, "nijlxyfcw") for each in (one, other)]
        return (
            f"{one}.x {self.chance.choice('+-*')} {sides[0]} {self.sign()} {other}.y - {sides[1]}"
        )

    def general(self, one: str, other: str) -> str:
        """Without an order, or with one that takes moving terms."""
        a, b, c, d = (self.number(each, "nmxyfcw", 1) for each in (one, other, one, other))
        x, y = f"({one}.x - {a})", f"({other}.y * {b})"
        return self.chance.choice(
            [
                f"{x} + {y} {self.sign()} {self.chance.choice(['2', '0.5', d])}",
                f"{y} - {x} {self.sign()} 0.3",
                f"{x} * {y} {self.sign()} {c}",
                f"({x} IS NULL OR {y} {self.sign()} {c} + 1)",
                f"({x} != {c} + 0 OR {y} IS NOT NULL AND {one}.n + 1 > {other}.n - 1)",
                f"NOT ({x} {self.sign()} {c} + {one}.m AND {y} {self.sign()} {d})",
                f"({x} NOT IN (3, 0.1) OR {y} = {c} + 3)",
            ]
        )

    def sign(self) -> str:
        return self.chance.choice(SIGNS)


def random_workload(seed: int, count: int) -> Workload:
    """Queries with every kind of condition, on one type and on two."""
    chance = random.Random(seed)
    edges = Edges(chance)
    texts = []
    for number in range(count):
        kind = [edges.whole, edges.fraction, edges.general][number % 3]
        pattern, pair = [("A+", ("A", "NEXT(A)")), ("SEQ(A p, B q+)", ("p", "q"))][number % 2]
        ending = ["GROUPBY k", "AND [k]"][number // 2 % 2]
        texts.append(f"q{number}: RETURN COUNT(*) PATTERN {pattern} WHERE {kind(*pair)} {ending}")
        texts[-1] += " WITHIN 12 s SLIDE 6 s"
    return Workload.parse(";\n".join(texts))


def random_table(seed: int, count: int) -> pa.Table:
    chance = random.Random(seed)
    columns = {n: pa.array(chance.choices(v, k=count), kind) for n, (kind, v) in COLUMNS.items()}
    columns |= {"type": pa.array(chance.choices("AAB", k=count))}
    return pa.table(columns | {"time": pa.array([1 + number / 4 for number in range(count)])})


def rows_of(table: pa.Table) -> list[str]:
    """Rows in an order of their own, but for the last digit of a logarithm."""
    rounded = [
        {**row, "log10": row["log10"] and round(row["log10"], 12)} for row in table.to_pylist()
    ]
    return sorted(map(str, rounded))


def attributes_of(frame: DataFrame, text: str) -> list[set[str]]:
    """The attributes that travel, for each shuffle."""
    plan = Workload.parse(text).plan
    prepared = prepare(events_of(frame, plan, Options()), plan)
    for shuffle in prepared.shuffles:
        names = shuffle.frame.schema.names
        assert sum(name.startswith("attribute") for name in names) == len(shuffle.layout.attributes)
    return [set(shuffle.layout.attributes) for shuffle in prepared.shuffles]


def frame_of(spark: SparkSession, **kinds: str) -> DataFrame:
    """Nothing, but with columns."""
    known = {"type": "string", "time": "double", "k": "string"}
    columns = dict.fromkeys("abcdxy", "int") | {"x": "double", "y": "double"} | known | kinds
    return spark.createDataFrame([], ", ".join(f"`{n}` {kind}" for n, kind in columns.items()))


def asked(where: str, *, returned: str = "COUNT(*)") -> str:
    return f"RETURN {returned} PATTERN T+ WHERE {where} GROUPBY k WITHIN 10 s"


# Meaning


def test_random_predicates_mean_the_same(spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    # So many queries have more expressions than there are columns: derive them all the same.
    monkeypatch.setattr(derived, "_paying", lambda candidates, others: set(candidates))
    workload, table = random_workload(1, 24), random_table(2, 260)
    frame = spark.createDataFrame(table)

    found = workload.run(frame).toArrow()

    wanted = workload.run(table).table
    assert rows_of(found.cast(wanted.schema)) == rows_of(wanted)
    assert len({row["query"] for row in wanted.to_pylist()}) > 15
    letters = letters_of(events_of(frame, workload.plan, Options()), workload.plan)
    terms = with_derived(workload.plan, letters, [range(24)]).terms
    assert len(terms) > 30
    assert {term.is_integer for term in terms.values()} == {True, False}


def test_what_is_no_number_is_null(spark: SparkSession):
    # inf - inf is NaN: null as in a column, on Spark as in the kernel and in the reference.
    ways = "T.x - T.y IS NULL", "T.x - T.y != T.x - T.y"
    texts = [asked(f"({way} OR NEXT(T).a + NEXT(T).b > 5)") for way in ways]
    text = f"absent: {texts[0]}; different: {texts[1]}"
    values = {
        "x": [INF, INF, NAN, 1.0, None],
        "y": [INF, -INF, 1.0, 0.0, 1.0],
        "a": [1, 1, 2, 3, 4],
        "b": [0, 2, 1, 4, None],
    }
    rows: dict[str, list[Any]] = {name: [] for name in ("type", "time", "k", *values)}
    for before in range(5):
        for after in range(5):
            rows["type"] += "TT"
            rows["time"] += [1.0, 2.0]
            rows["k"] += [f"{before} {after}"] * 2
            for name, each in values.items():
                rows[name] += [each[before], each[after]]
    table = pa.table(rows).cast(
        pa.schema(
            [
                ("type", pa.string()),
                ("time", pa.float64()),
                ("k", pa.string()),
                ("x", pa.float64()),
                ("y", pa.float64()),
                ("a", pa.int32()),
                ("b", pa.int32()),
            ]
        )
    )
    frame, workload = spark.createDataFrame(table), Workload.parse(text)

    found = workload.run(frame).toArrow()

    assert attributes_of(frame, text) == [
        {"k", derived_name("`x` - `y`"), derived_name("`a` + `b`")}
    ]
    wanted = workload.run(table).table
    assert rows_of(found.cast(wanted.schema)) == rows_of(wanted)
    # Three trends where the pair is one, and else the two events by themselves.
    counts = {(r["query"], json.loads(r["group"])["k"]): r["value"] for r in found.to_pylist()}
    assert (counts["absent", "0 0"], counts["different", "0 0"]) == (3, 2)
    assert (counts["absent", "1 0"], counts["different", "1 0"]) == (2, 2)
    assert (counts["absent", "2 0"], counts["different", "2 0"]) == (3, 2)
    assert (counts["absent", "4 0"], counts["different", "4 0"]) == (3, 2)


# What travels


def test_only_derived_attributes_travel(spark: SparkSession):
    text = asked("T.a + 2 * T.b < NEXT(T).c - NEXT(T).d")
    frame = frame_of(spark)

    assert attributes_of(frame, text) == [
        {"k", derived_name("`a` + 2 * `b`"), derived_name("`c` - `d`")}
    ]

    # What Python gets, as Spark says itself: the time, the key and two numbers.
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        Workload.parse(text).run(frame).explain()
    (given,) = re.findall(r"answered\(([^)]*)\)", printed.getvalue())
    names = re.findall(r"(\w+)#\d+", given)
    assert names == ["time", "attribute0", "attribute1", "attribute2"]


def test_expressions_of_both_events_and_of_all_queries_are_one(spark: SparkSession):
    one = asked("T.a + T.b < NEXT(T).a + NEXT(T).b")
    other = asked("T.c < NEXT(T).a + NEXT(T).b").replace("T+", "SEQ(S, T+)")

    found = attributes_of(frame_of(spark), f"{one}; {other}")

    assert found == [{"k", "c", derived_name("`a` + `b`")}]


def test_names_with_operators_in_them_are_no_sums(spark: SparkSession):
    frame = frame_of(spark, **{"a + b": "int"})

    found = attributes_of(frame, asked("T.`a + b` * 2 < NEXT(T).a + NEXT(T).b * 2"))

    assert found == [{"k", derived_name("`a + b` * 2"), derived_name("`a` + `b` * 2")}]


def test_rearranged_predicates_are_about_derived_attributes_or_left_as_they_are(
    spark: SparkSession,
):
    frame = frame_of(spark, a="double", b="double", c="double", d="double")
    served = asked("NEXT(T).a + NEXT(T).b - (T.c - T.d) < 0.3")
    # Terms of both events in one sum: what is compared and what is written have other columns.
    mixed = asked("T.a + NEXT(T).b < T.c + NEXT(T).d")

    assert attributes_of(frame, served) == [
        {"k", derived_name("`a` + `b`"), derived_name("`c` - `d`")}
    ]
    assert attributes_of(frame, mixed) == [set("kabcd")]
    plan = Workload.parse(served).plan
    over = with_derived(plan, letters_of(events_of(frame, plan, Options()), plan), [[0]]).plan
    (before,), (after,) = (p.queries[0].query.edge_predicates for p in (plan, over))
    assert before.is_rearranged
    assert after.is_rearranged
    assert after.operator == before.operator


def test_there_are_never_more_columns_than_before(spark: SparkSession):
    frame = frame_of(spark)
    three = "T.a + T.b < NEXT(T).a - NEXT(T).b AND T.a * T.b < NEXT(T).x"
    # Of a and b there would be three, and of c and d there is one.
    assert attributes_of(frame, asked(three)) == [set("kabx")]
    both = attributes_of(frame, asked(f"{three} AND T.c + T.d < NEXT(T).y"))
    assert both == [{*"kabxy", derived_name("`c` + `d`")}]
    # Where a travels for another reason it is no gain to have it in a sum alone, unless b stays.
    assert attributes_of(frame, asked("T.a + 1 < NEXT(T).a")) == [set("ka")]
    sums = attributes_of(frame, asked("T.a + T.b < NEXT(T).a"))
    assert sums == [{"k", "a", derived_name("`a` + `b`")}]


def test_partitions_and_aggregates_keep_their_attributes(spark: SparkSession):
    frame = frame_of(spark)
    text = asked("T.a + T.b < NEXT(T).c * NEXT(T).d AND [b]", returned="SUM(T.a), MAX(T.c)")

    (found,) = attributes_of(frame, text)

    # Of a + b both travel anyhow; of c * d only d is left behind.
    assert found == {*"kabc", derived_name("`c` * `d`")}


def test_what_spark_cannot_say_exactly_is_left_to_python(spark: SparkSession):
    frame = frame_of(spark, a="bigint", b="bigint", c="bigint", d="decimal(30, 0)")
    # A sum of longs may be too long for one, and a quotient is one of doubles.
    assert attributes_of(frame, asked("T.a + T.b < NEXT(T).c / NEXT(T).d")) == [set("kabcd")]
    # A remainder is never longer than what it is of; and doubles are doubles.
    found = attributes_of(frame, asked("T.a % T.b < NEXT(T).x * NEXT(T).c - NEXT(T).y"))
    names = derived_name("`a` % `b`"), derived_name("`x` * `c` - `y`")
    assert found == [{"k", *names}]
    # Of what Spark cannot say it says the parts that it can.
    found = attributes_of(frame, asked("(T.a % T.b) * T.c < NEXT(T).x"))
    assert found == [{*"kcx", derived_name("`a` % `b`")}]


def test_a_decimal_is_derived_from_whether_it_partitions_or_not(spark: SparkSession):
    frame = frame_of(spark, a="decimal(9, 2)", b="decimal(9, 2)")
    text = asked("T.a + T.b < NEXT(T).x AND [{}]")

    assert attributes_of(frame, text.format("a")) == [{*"kax", derived_name("`a` + `b`")}]
    assert attributes_of(frame, text.format("c")) == [{*"kcx", derived_name("`a` + `b`")}]


def test_each_shuffle_has_what_its_queries_need(spark: SparkSession):
    where = "T.a + T.b < NEXT(T).x"
    one, other = asked(where), asked(f"{where} AND [b]", returned="SUM(T.a)")

    found = attributes_of(frame_of(spark), f"{one}; {other}")

    assert sorted(found, key=len) == [{*"kx", derived_name("`a` + `b`")}, set("kabx")]


# Streams


def write(folder: Path, table: pa.Table, cuts: Sequence[int], begin: int) -> None:
    """Rows in files, which Spark reads in this order."""
    folder.mkdir(exist_ok=True)
    for number, (start, stop) in enumerate(pairwise(cuts), begin):
        path = folder / f"{number:04d}.parquet"
        parquet.write_table(table.slice(start, stop - start), path)
        os.utime(path, (10**9 + number, 10**9 + number))


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run(results: DataFrame, folder: Path) -> None:
    writer = results.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    writer = writer.format("parquet").option("path", str(folder / "out"))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_random_predicates_mean_the_same_in_a_stream_also_across_a_restart(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(derived, "_paying", lambda candidates, others: set(candidates))
    workload, table = random_workload(3, 12), random_table(4, 200)
    checkpoint = tmp_path / "checkpoint"
    for part, cuts in enumerate([(0, 50, 90), (90, 200)]):
        write(tmp_path / "in", table, cuts, 5 * part)
        stream = stream_of(spark, tmp_path / "in")
        run(workload.run(stream, checkpoint=checkpoint, flush=bool(part)), tmp_path)

    found, wanted = parquet.read_table(tmp_path / "out"), workload.run(table).table
    assert rows_of(found) == rows_of(wanted)
    assert len(found) > 100


def test_a_stream_that_was_begun_with_other_columns_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    where = "T.n + T.m < NEXT(T).x - NEXT(T).y"
    # Of a decimal that is summed the stream has a long.
    text = asked(where, returned="COUNT(*), SUM(T.w), MAX(T.w)").replace("T+", "A T+")
    workload = Workload.parse(text)
    table, checkpoint = random_table(5, 60), tmp_path / "checkpoint"
    write(tmp_path / "in", table, (0, 60), 0)
    stream = stream_of(spark, tmp_path / "in")
    with monkeypatch.context() as before:
        # As it was when nothing was derived.
        before.setattr(answers, "with_derived", lambda plan, letters, together: Derived(plan, {}))
        for flush in (False, True):
            run(workload.run(stream, checkpoint=checkpoint, flush=flush), tmp_path)
        workload.run(stream, checkpoint=checkpoint)

    found = parquet.read_table(tmp_path / "out")
    assert rows_of(found) == rows_of(workload.run(table).table)
    with pytest.raises(ReadError, match="begun with another state"):
        workload.run(stream, checkpoint=checkpoint)
