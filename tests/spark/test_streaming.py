"""Streams on Spark against the same rows in a batch: would catch what only Spark can do to them.

A watermark that comes too early or is lost on the way, a row that Spark drops, a state that is not
what was written, a timer that does not fire, a condition that means something else to Spark, a
group that comes out once for each bucket, and a start that goes on with what it should not.
"""

from __future__ import annotations

import json
import os
import random
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conformance import differences, load_cases
from pyarrow import parquet
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from stream_host import batches

from hamlet import Workload
from hamlet.engine import Options
from hamlet.errors import PlanError, ReadError, SchemaError
from hamlet.events.times import microseconds
from hamlet.events.untyped import column_of_values
from hamlet.io.long_form import COLUMNS
from hamlet.plan.letters import alphabet_of
from hamlet.spark import letters
from hamlet.spark.events import events_of
from hamlet.spark.letter_columns import letters_of
from hamlet.spark.stream.answers import EVENTS, WORK
from hamlet.spark.stream.job import job_of
from hamlet.spark.stream.settings import StreamSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conformance import Case
    from pyspark.sql import DataFrame, SparkSession

SECOND = 10**6
# Sets of several partitionings, conditions, negation, edge predicates, AND, windows that overlap.
WORKLOAD = """
one: RETURN COUNT(*), SUM(B.x), AVG(B.y), MIN(B.x) PATTERN SEQ(A, B+) GROUPBY k
     WITHIN 20 s SLIDE 5 s;
two: RETURN k, COUNT(*), COUNT(B) PATTERN SEQ(A a, B+, NOT C) WHERE B.x > 2 AND [m] GROUPBY k
     WITHIN 20 s;
three: RETURN COUNT(*), MAX(B.y) PATTERN (SEQ(A, B+))+ WHERE [k] WITHIN 15 s SLIDE 5 s;
four: RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x GROUPBY k, m WITHIN 10 s;
five: RETURN COUNT(*) PATTERN A+ AND C+ GROUPBY m WITHIN 10 s;
six: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WITHIN 10 s;
seven: RETURN SUM(B.x) / COUNT(*) AS each, VARIANCE(B.y), AVG(LENGTH) PATTERN SEQ(A, B+) GROUPBY k
     HAVING COUNT(B) > 4 AND MAX(B.y) > 0.5 WITHIN 20 s SLIDE 5 s;
eight: RETURN COUNT(*) PATTERN SEQ(A, C) GROUPBY k WITHIN 20 s SLIDE 5 s OFFSET 3 s;
nine: RETURN COUNT(*) PATTERN D+ WHERE D.y < NEXT(D).y GROUPBY k WITHIN 10 s OFFSET 7 s;
ten: RETURN COUNT(*) PATTERN SEQ(A, C) GROUPBY k WITHIN 1 d IN 'America/New_York';
nearest: RETURN COUNT(*), SUM(B.x), MIN(B.x) PATTERN SEQ(A, B+) MATCH NEXT GROUPBY k
     WITHIN 20 s SLIDE 5 s;
rising: RETURN COUNT(*) PATTERN B+ MATCH NEXT WHERE B.x < NEXT(B).x GROUPBY k, m WITHIN 10 s;
runs: RETURN COUNT(*), COUNT(B) PATTERN SEQ(A, B+) MATCH CONTIGUOUS GROUPBY k WITHIN 20 s SLIDE 5 s;
lasting: RETURN SUM(DURATION), AVG(DURATION), MIN(DURATION), MAX(DURATION), MAX(LENGTH)
     PATTERN SEQ(A, B+) GROUPBY k WITHIN 20 s SLIDE 5 s
"""
# Queries that have nothing to group by in common, next to one that has its groups whole.
APART = """
none: RETURN COUNT(*), SUM(B.x), AVG(B.y), MIN(B.x) PATTERN SEQ(A, B+) WHERE [k]
      WITHIN 20 s SLIDE 5 s;
by_k: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE B.x > 2 AND [m] GROUPBY k WITHIN 20 s;
by_m: RETURN COUNT(*), MAX(B.y) PATTERN SEQ(A, B+) WHERE [k] GROUPBY m WITHIN 15 s;
edge: RETURN COUNT(*) PATTERN D+ WHERE D.y < NEXT(D).y AND [k] WITHIN 10 s;
both: RETURN COUNT(*) PATTERN A+ AND C+ WHERE [k] WITHIN 10 s;
whole: RETURN COUNT(*) PATTERN SEQ(A, C) GROUPBY k WITHIN 10 s;
alone: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WITHIN 10 s;
kept: RETURN STDDEV(B.y), MAX(B.y) - MIN(B.y) AS spread, SUM(LENGTH) PATTERN SEQ(A, B+) WHERE [k]
      HAVING COUNT(*) > 300 WITHIN 15 s;
lasting: RETURN AVG(DURATION), MIN(DURATION), MAX(DURATION) - MIN(DURATION) AS range, MIN(LENGTH)
      PATTERN SEQ(A, B+) WHERE [k] HAVING SUM(DURATION) > 2 WITHIN 15 s SLIDE 5 s
"""
BY_K = "q: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s"
BEGIN = datetime(2026, 3, 8, 6, 59, 50, tzinfo=UTC)


def events(count: int, seed: int) -> pa.Table:
    """Events of all kinds of columns, some without a key, some of equal times."""
    chance = random.Random(seed)
    rows = [
        {
            "type": chance.choice(["A", "B", "B", "B", "C", "D"]),
            "time": BEGIN + timedelta(milliseconds=250 * (number // 2)),
            "k": chance.choice(["é", "b", "c d", None]),
            "m": chance.choice([-0.0, 0.0, 1.5]),
            "x": chance.choice([chance.randrange(9), None]),
            "y": chance.random(),
            "n": number,
        }
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows).cast(
        pa.schema(
            [
                ("type", pa.string()),
                ("time", pa.timestamp("us", "UTC")),
                ("k", pa.string()),
                ("m", pa.float64()),
                ("x", pa.int64()),
                ("y", pa.float64()),
                ("n", pa.int64()),
            ]
        )
    )


def write(folder: Path, table: pa.Table, pieces: Sequence[Sequence[int]], begin: int = 0) -> None:
    """Rows in files, one for each piece, that Spark reads in this order."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(pieces, begin):
        path = folder / f"{number:04d}.parquet"
        parquet.write_table(table.take(pa.array(rows, pa.int64())), path)
        os.utime(path, (10**9 + number, 10**9 + number))


def pieces_of(table: pa.Table, lateness_us: int, count: int, seed: int) -> list[list[int]]:
    """Rows in so many pieces, shuffled within what they may be late."""
    ts = microseconds(table["time"])[0]
    chance = random.Random(seed)
    rows = [row for some in batches(ts, lateness_us, chance) for row in some]
    arrival = sorted(rows, key=lambda row: int(ts[row]) + chance.randint(0, lateness_us))
    cuts = sorted(chance.sample(range(1, len(rows)), count - 1))
    return [arrival[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def stream_of(spark: SparkSession, folder: Path, files: int = 1) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(folder))


def run(results: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """All that is there, to a folder of Parquet; the progress of each batch."""
    writer = results.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    writer = writer.format("parquet").option("path", str(folder / "out"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [json.loads(each.json) for each in query.recentProgress]


def rows_of(table: pa.Table) -> list[str]:
    """Rows in an order of their own, but for the last digit of a logarithm."""
    rounded = [
        {**row, "log10": row["log10"] and round(row["log10"], 12)} for row in table.to_pylist()
    ]
    return sorted(map(str, rounded))


def total(progress: list[dict[str, Any]], metric: str, name: str) -> int:
    found = [each.get("observedMetrics", {}).get(metric, {}) for each in progress]
    return sum(each.get(name, 0) for each in found)


def test_a_stream_in_pieces_gives_the_rows_of_a_batch_also_across_a_restart(
    spark: SparkSession, tmp_path: Path
):
    workload, table = Workload.parse(WORKLOAD), events(600, 1)
    lateness = 6 * SECOND
    pieces = pieces_of(table, lateness, 5, 2)
    checkpoint = tmp_path / "checkpoint"

    def results(flush: bool = False) -> DataFrame:
        return workload.run(
            stream_of(spark, tmp_path / "in", 2),
            order="n",
            lateness=timedelta(seconds=6),
            checkpoint=checkpoint,
            flush=flush,
        )

    write(tmp_path / "in", table, pieces[:3])
    progress = run(results(), tmp_path)
    written = parquet.read_table(tmp_path / "out")
    write(tmp_path / "in", table, pieces[3:], begin=3)
    # All that is new comes in one batch, and that is the last.
    progress += run(results(flush=True), tmp_path)

    found, wanted = parquet.read_table(tmp_path / "out"), workload.run(table, order="n").table
    assert found.schema.names == list(COLUMNS)
    assert rows_of(found) == rows_of(wanted)
    # Windows come out when the watermark passes them, and not all in the end.
    assert 0 < len(written) < len(found) - 20
    assert total(progress, WORK, "late") == 0
    assert total(progress, EVENTS, "rows") == 600
    assert total(progress, WORK, "results") == len(found)
    # Nothing is left that could come out again.
    assert total(run(results(flush=True), tmp_path), WORK, "results") == 0


def test_groups_in_several_buckets_are_whole_also_across_a_restart(
    spark: SparkSession, tmp_path: Path
):
    workload, table = Workload.parse(APART), events(500, 5)
    pieces = pieces_of(table, 4 * SECOND, 5, 6)
    options = {"order": "n", "lateness": "4 s", "checkpoint": tmp_path / "checkpoint"}

    write(tmp_path / "in", table, pieces[:3])
    stream = stream_of(spark, tmp_path / "in", 2)
    progress = run(workload.run(stream, **options), tmp_path)
    written = parquet.read_table(tmp_path / "out")
    write(tmp_path / "in", table, pieces[3:], begin=3)
    progress += run(workload.run(stream, **options, flush=True), tmp_path)

    found, wanted = parquet.read_table(tmp_path / "out"), workload.run(table, order="n").table
    assert rows_of(found) == rows_of(wanted)
    assert 0 < len(written) < len(found) - 20
    assert total(progress, WORK, "late") == 0
    assert total(progress, WORK, "results") == len(found)
    # One lane by k and one by k and m, of 16 buckets each; the query without partitions has one.
    state = spark.read.format("statestore").option("stateVarName", "core")
    buckets = state.load(str(tmp_path / "checkpoint")).select("key.bucket").distinct().count()
    assert buckets == 33


class Conditions:
    """Random conditions on an event of a variable, in the words of the language."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def number(self, of: str) -> str:
        x, y, c = f"{of}.x", f"{of}.y", f"{of}.c"
        return self.chance.choice([x, y, c, f"({x} + {c})", f"({y} * 2)", f"({x} % 3)", "2", "0.5"])

    def of(self, variable: str, depth: int = 1) -> str:
        pick = self.chance.choice
        if depth and self.chance.random() < 0.4:
            one, other = self.of(variable, 0), self.of(variable, 0)
            return pick([f"NOT ({one})", f"({one} AND {other})", f"({one} OR {other})"])
        sign = pick(["<", "<=", ">", ">=", "=", "!="])
        return pick(
            [
                f"{self.number(variable)} {sign} {self.number(variable)}",
                f"{variable}.s {sign} '{pick(['a', 'é', ''])}'",
                f"{variable}.s {pick(['IN', 'NOT IN'])} ('a', 'b')",
                f"{variable}.{pick('xycstp')} {pick(['IS NULL', 'IS NOT NULL'])}",
                f"{variable}.t {sign} {variable}.u",
                f"{variable}.p",
            ]
        )


def test_conditions_are_evaluated_by_spark_and_mean_the_same(spark: SparkSession, tmp_path: Path):
    chance = random.Random(8)
    conditions, texts = Conditions(chance), []
    for number in range(12):
        where = f"{conditions.of('p')} AND {conditions.of('q')} AND {conditions.of('B')}"
        ending = ["AND [k]", "AND [k] GROUPBY m", "GROUPBY k"][number % 3]
        pattern = "SEQ(A, B p, B q+)" if number % 2 else "SEQ(B p+, B q+)"
        texts.append(f"q{number}: RETURN COUNT(*) PATTERN {pattern} WHERE {where} {ending}")
        texts[-1] += " WITHIN 20 s SLIDE 10 s"
    times = [BEGIN + timedelta(hours=each) for each in range(3)]
    values: dict[str, tuple[pa.DataType, list[Any]]] = {
        "k": (pa.string(), ["a", "b", None]),
        "m": (pa.float64(), [0.0, -0.0, 1.5]),
        "x": (pa.int64(), [0, 1, 2, 2**53 + 1, None]),
        "y": (pa.float64(), [0.0, -0.0, 0.5, float("nan"), float("inf"), None]),
        "c": (pa.decimal128(9, 2), [Decimal("0.50"), Decimal("2.00"), None]),
        "s": (pa.string(), ["", "a", "b", "é", None]),
        "t": (pa.timestamp("us", "UTC"), [*times, None]),
        "u": (pa.timestamp("us", "UTC"), times),
        "p": (pa.bool_(), [True, False, None]),
    }
    columns = {name: pa.array(chance.choices(v, k=400), kind) for name, (kind, v) in values.items()}
    columns |= {"type": pa.array(chance.choices("ABBBC", k=400))}
    columns |= {"time": pa.array([1 + number / 8 for number in range(400)])}
    table, workload = pa.table(columns), Workload.parse(";\n".join(texts))
    write(tmp_path / "in", table, pieces_of(table, SECOND, 2, 9))
    stream = stream_of(spark, tmp_path / "in", 2)

    progress = []
    for flush in (False, True):
        results = workload.run(stream, checkpoint=tmp_path / "checkpoint", flush=flush)
        progress += run(results, tmp_path)

    found, wanted = parquet.read_table(tmp_path / "out"), workload.run(table).table
    assert rows_of(found) == rows_of(wanted)
    assert len(found) > 30
    # Only what partitions travels. Used are rows of types that are asked for, whatever else they
    # are: all of them have an m, which one lane is spread by.
    plan = workload.plan
    taken = events_of(stream, plan, Options())
    letters = letters_of(taken, plan)
    conditional = [a for a in alphabet_of(plan.queries).atoms if a.condition is not None]
    assert set(letters.lettering.bits) == set(conditional)
    job = job_of(
        plan, taken.arrow_schema(), Options(), StreamSettings(), lettering=letters.lettering
    )
    assert job.schema.names == ["k", "m"]
    types = table["type"].to_pylist()
    assert total(progress, EVENTS, "used") == len(types) - types.count("C")


@pytest.mark.parametrize("most_types", [0, 9])
def test_a_row_that_no_condition_lets_in_moves_the_watermark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_types: int
):
    # Whether types travel as text or as numbers
    monkeypatch.setattr(letters, "MOST_TYPES", most_types)
    rows = [("A", 0, 1, 0), ("A", 0, 2, 0), ("B", 1, 1, 9), ("B", 1, 2, 9), ("B", 30, 1, 0)]
    names = ("type", "time", "k", "x")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    write(tmp_path / "in", table, [[0, 1, 2, 3], [4]])
    text = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x > 5 AND [k] WITHIN 10 s"
    stream, checkpoint = stream_of(spark, tmp_path / "in"), tmp_path / "checkpoint"

    progress = run(Workload.parse(text).run(stream, checkpoint=checkpoint), tmp_path)

    found = parquet.read_table(tmp_path / "out").to_pylist()
    assert [(row["window_start"], row["exact"]) for row in found] == [(0.0, "2")]
    assert total(progress, EVENTS, "used") == 5
    # What travels as a bit is a part of what a query means.
    changes = checkpoint / "hamlet" / "changes"
    Workload.parse(text).run(stream, checkpoint=checkpoint)
    assert not changes.exists()
    Workload.parse(text.replace("> 5", "> 6")).run(stream, checkpoint=checkpoint)
    assert [path.name for path in changes.glob("[0-9]*")] == ["000001.json"]


@pytest.mark.parametrize(("last", "closed"), [(12.0, 1), (11.999999, 0)])
def test_a_window_ends_in_all_buckets_with_the_batch_whose_watermark_is_its_end(
    spark: SparkSession, tmp_path: Path, last: float, closed: int
):
    # Were one bucket to close it a batch later, its part of the group would come out by itself.
    rows = [(kind, time, k) for k in range(16) for kind, time in (("A", 0.0), ("B", 9.999999))]
    rows += [("C", last, 0), ("C", 12.5, 1)]
    names = ("type", "time", "k")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    write(tmp_path / "in", table, [range(32), [32]])
    workload = Workload.parse("q: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 10 s")
    stream, checkpoint = stream_of(spark, tmp_path / "in"), tmp_path / "checkpoint"

    run(workload.run(stream, lateness="2 s", checkpoint=checkpoint), tmp_path)
    written = len(parquet.read_table(tmp_path / "out"))
    write(tmp_path / "in", table, [[33]], begin=2)
    run(workload.run(stream, lateness="2 s", checkpoint=checkpoint), tmp_path)

    assert written == closed
    found = parquet.read_table(tmp_path / "out").to_pylist()
    assert [(row["window_start"], row["exact"]) for row in found] == [(0.0, "16")]
    state = spark.read.format("statestore").option("stateVarName", "core")
    assert state.load(str(checkpoint)).select("key.bucket").distinct().count() > 1


def bundled(cases: Sequence[Case]) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """Cases as one: their queries, events and rows, with types and names of their own."""
    texts, rows, expected = [], [], []
    for case in cases:

        def own(text: str, prefix: str = f"c{case.id}_") -> str:
            return re.sub(r"\b(?=[A-Z]\b)", prefix, text)

        texts.append(re.sub(r"(?m)^(?=q\d+:)", f"c{case.id}_", own(case.workload)))
        rows += [{**event, "type": own(event["type"])} for event in case.events]
        expected += [
            {**row, "query": f"c{case.id}_{row['query']}", "aggregate": own(row["aggregate"])}
            for row in case.expected
        ]
    return ";\n".join(text.strip().rstrip(";") for text in texts), rows, expected


def test_conformance_cases_in_one_query(spark: SparkSession, tmp_path: Path):
    cases = [case for case in load_cases() if case.order is None][::9]
    text, rows, expected = bundled(cases)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {n: column_of_values([row.get(n) for row in rows], None)[0] for n in names}
    table, folder = pa.table(columns), tmp_path / "in"
    write(folder, table, pieces_of(table, 2 * SECOND, 3, 3))
    checkpoint = tmp_path / "checkpoint"

    for flush in (False, True):
        results = Workload.parse(text).run(
            stream_of(spark, folder), lateness=2, checkpoint=checkpoint, flush=flush
        )
        run(results, tmp_path)

    found = parquet.read_table(tmp_path / "out").to_pylist()
    wrong = differences(expected, found, "exact")
    assert not wrong, "\n".join(wrong)
    assert len(cases) > 20
    assert len(expected) > 200


def test_flush_is_refused_until_the_files_have_been_read(spark: SparkSession, tmp_path: Path):
    workload, table = Workload.parse(BY_K), events(300, 11)
    write(tmp_path / "in", table, pieces_of(table, 4 * SECOND, 6, 12))

    def results(flush: bool) -> DataFrame:
        return workload.run(
            stream_of(spark, tmp_path / "in", 1),
            order="n",
            lateness="4 s",
            checkpoint=tmp_path / "checkpoint",
            flush=flush,
        )

    with pytest.raises(PlanError, match="this one has read nothing yet"):
        results(flush=True)
    progress = run(results(flush=False), tmp_path)
    progress += run(results(flush=True), tmp_path)

    found, wanted = parquet.read_table(tmp_path / "out"), workload.run(table, order="n").table
    assert rows_of(found) == rows_of(wanted)
    assert total(progress, WORK, "late") == 0
    assert total(progress, EVENTS, "rows") == 300


def test_rows_after_the_batch_that_was_to_be_the_last_fail_the_query(
    spark: SparkSession, tmp_path: Path
):
    workload, table = Workload.parse(BY_K), events(300, 13)
    pieces = pieces_of(table, 0, 4, 14)
    options = {"order": "n", "checkpoint": tmp_path / "checkpoint"}
    write(tmp_path / "in", table, pieces[:1])
    run(workload.run(stream_of(spark, tmp_path / "in"), **options), tmp_path)
    write(tmp_path / "in", table, pieces[1:], begin=1)

    with pytest.raises(StreamingQueryException, match="ended by flush, and more rows came"):
        # A file a batch: the first of three has the end.
        run(workload.run(stream_of(spark, tmp_path / "in"), **options, flush=True), tmp_path)


def test_late_and_malformed_rows_are_counted_and_an_empty_piece_is_nothing(
    spark: SparkSession, tmp_path: Path
):
    rows = [("A", 0.0), ("B", 1.0), ("B", 30.0), ("B", 2.0), ("A", 28.0), ("B", 29.0), ("B", None)]
    rows += [(None, 40.0), ("Z", 41.0), ("B", 1e30)]
    table = pa.table(
        {"type": [t for t, _ in rows], "time": [s for _, s in rows], "k": [1] * len(rows)}
    ).append_column("x", pa.array([1] * len(rows)))
    write(tmp_path / "in", table, [[0, 1, 2], [], [3, 4, 5, 6, 7, 8, 9], []])
    stream = stream_of(spark, tmp_path / "in")
    workload = Workload.parse(BY_K)

    progress = run(
        workload.run(stream, lateness="5 s", checkpoint=tmp_path / "checkpoint"), tmp_path
    )
    progress += run(
        workload.run(stream, lateness="5 s", checkpoint=tmp_path / "checkpoint", flush=True),
        tmp_path,
    )

    found = parquet.read_table(tmp_path / "out").to_pylist()
    counts = {(r["window_start"], r["aggregate"]): r["exact"] for r in found}
    assert counts == {
        (0.0, "COUNT(*)"): "1",
        (0.0, "SUM(B.x)"): "1",
        (20.0, "COUNT(*)"): "1",
        (20.0, "SUM(B.x)"): "1",
    }
    assert total(progress, WORK, "late") == 1
    for name, number in {"rows": 10, "used": 6, "no time": 1, "no type": 1}.items():
        assert total(progress, EVENTS, name) == number, name
    assert total(progress, EVENTS, "time out of range") == 1


def test_idle_groups_are_not_written_with_every_batch(spark: SparkSession, tmp_path: Path):
    groups = 5000
    table = pa.table(
        {
            "type": ["A"] * groups + ["B"] * 4,
            "time": [1] * groups + [10, 20, 30, 40],
            "k": [*range(groups), *[7] * 4],
            "x": [1] * (groups + 4),
        }
    )
    write(tmp_path / "in", table, [list(range(groups)), *([groups + i] for i in range(4))])
    workload = Workload.parse(BY_K.replace("10 s", "1 h"))

    progress = run(workload.run(stream_of(spark, tmp_path / "in")), tmp_path)

    written = [each["observedMetrics"][WORK]["pages_written"] for each in progress]
    assert written[0] == 8 * 64
    # Once all rows of the first batch have been taken in, only the page of one group changes.
    assert all(number <= 2 for number in written[3:]), written


def test_another_start_than_the_first_is_refused(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "in", events(20, 1), [range(20)])
    stream = stream_of(spark, tmp_path / "in")
    workload, checkpoint = Workload.parse(BY_K), tmp_path / "checkpoint"
    results = workload.run(stream, lateness="5 s", checkpoint=checkpoint)

    # As long as Spark has not begun, anything goes.
    workload.run(stream, lateness="6 s", checkpoint=checkpoint)
    results = workload.run(stream, lateness="5 s", checkpoint=checkpoint)
    run(results, tmp_path)

    again = {"lateness": "5 s", "checkpoint": checkpoint}
    workload.run(stream, **again)
    for options, what in [
        (
            again | {"lateness": "6 s"},
            r"begun with lateness 5 s, not 6 s; go on",
        ),
        (again | {"numbers": "float"}, "begun with numbers exact, not float"),
        (again | {"order": "n"}, "begun with order column none, not n"),
    ]:
        with pytest.raises(ReadError, match=what):
            workload.run(stream, **options)
    # Another workload is a change, but not where nobody knows how it is written.
    with pytest.raises(ReadError, match="another workload, and it is not known how that was"):
        Workload(Workload.parse(BY_K.replace("10", "20")).plan).run(stream, **again)
    other = stream.withColumn("x", F.col("x").cast("double"))
    with pytest.raises(ReadError, match="begun with column x bigint, not double"):
        workload.run(other, **again)
    (tmp_path / "else" / "offsets").mkdir(parents=True)
    with pytest.raises(ReadError, match="the checkpoint of something else"):
        workload.run(stream, checkpoint=tmp_path / "else")


def test_what_cannot_be_is_refused_before_anything_starts(spark: SparkSession, tmp_path: Path):
    stream = spark.readStream.format("rate").load()
    events_ = stream.selectExpr("'A' AS type", "value AS time", "1 AS k", "2 AS x")
    workload = Workload.parse(BY_K)

    for options, error, what in [
        ({"lateness": "5 parsecs"}, PlanError, "lateness is '5 parsecs'"),
        ({"lateness": -1}, PlanError, "lateness is -1"),
        ({"flush": True}, PlanError, "flush needs a checkpoint"),
        ({"trace": True}, PlanError, "no trace is kept"),
        ({"time": "type"}, SchemaError, "'type' is text, and in a stream nobody can look"),
        ({"time": "when"}, SchemaError, "column 'when' not found"),
    ]:
        with pytest.raises(error, match=what):
            workload.run(events_, **options)
    for options in ({"lateness": "5 s"}, {"checkpoint": "c"}, {"flush": True}):
        with pytest.raises(PlanError, match="these events are not a stream"):
            workload.run([], **options)
