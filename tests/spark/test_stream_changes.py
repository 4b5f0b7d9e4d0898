"""Queries that come and go on a stream, by the law that the documentation states.

A query answers for every window that begins at or after its coming and ends by its going, whole and
digit for digit as in a batch: would catch a window that is lost, comes twice, lacks events from
before or after a change, or is different because of what other queries came or went.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from stream_host import ChangingHost, batches
from stream_law import changes_of, comparable, lawful

from hamlet import Workload
from hamlet.engine.state import long_runs
from hamlet.errors import PlanError, QueryError, ReadError, RunError, UnknownName
from hamlet.spark import StreamingWorkload
from hamlet.spark.stream import pages as stream_pages
from hamlet.spark.stream.generations import (
    MOST_GENERATIONS,
    Generation,
    Span,
    differences,
    live_ones,
    meanings_of,
    next_number,
    span_of,
)
from hamlet.spark.stream.settings import StreamSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SECOND = 10**6
# Groups whole and in parts, edge predicates, negation, AND, shifted windows, days of a calendar.
QUERIES = {
    "by_k": "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 20 s SLIDE 5 s",
    "some": "RETURN COUNT(*), COUNT(B) PATTERN SEQ(A, B+, NOT C) WHERE B.x > 2 GROUPBY k"
    " WITHIN 20 s",
    "none": "RETURN COUNT(*), AVG(B.x), MIN(B.x) PATTERN SEQ(A, B+) WHERE [k]"
    " WITHIN 15 s SLIDE 5 s",
    "edge": "RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x GROUPBY k WITHIN 10 s SLIDE 5 s",
    "both": "RETURN COUNT(*) PATTERN A+ AND C+ WHERE [k] WITHIN 10 s",
    "alone": "RETURN COUNT(*) PATTERN SEQ(A, NOT C, D) WITHIN 5 s",
    "later": "RETURN COUNT(*) PATTERN SEQ(A, D) GROUPBY m WITHIN 10 s OFFSET 3 s",
    "day": "RETURN COUNT(*) PATTERN SEQ(A, D) GROUPBY k WITHIN 1 d IN 'America/New_York'",
    "nearest": "RETURN COUNT(*), MAX(B.x) PATTERN SEQ(A, B+) MATCH NEXT GROUPBY k"
    " WITHIN 12 s SLIDE 4 s",
    "runs": "RETURN COUNT(*) PATTERN SEQ(A, B+) MATCH CONTIGUOUS GROUPBY k WITHIN 8 s",
}


def events(count: int, seed: int) -> pa.Table:
    chance = random.Random(seed)
    rows = [
        {
            "type": chance.choice("AABBBCD"),
            "time": 86_400 + (number // 2) / 2,
            "k": chance.choice(["é", "b", None]),
            "m": chance.choice([1, 2]),
            "x": chance.randrange(9),
        }
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows)


def written(names: Sequence[str]) -> str:
    return ";\n".join(f"{name}: {QUERIES[name]}" for name in names)


@pytest.mark.parametrize("seed", range(12))
def test_queries_come_and_go_by_the_law(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(seed)
    # What waits for the watermark is mostly apart, as where many rows come.
    monkeypatch.setattr(stream_pages, "MOST_TOGETHER", chance.choice([0, 0, 1 << 16]))
    monkeypatch.setattr(long_runs, "LONG", chance.choice([1, 1 << 14]))
    table = events(160, seed)
    lateness = chance.choice([0, 1, 4]) * SECOND
    settings = StreamSettings(lateness, chance.choice([1, 3]), chance.choice([1, 4]))

    def some() -> list[str]:
        return chance.sample(list(QUERIES), chance.randint(1, 6))

    names = [some()]
    host = ChangingHost(written(names[0]), table, settings, bits=chance.choice([0.0, 1.0]))
    times = [round(time * SECOND) for time in table["time"].to_pylist()]
    changes_at = set(chance.sample(range(1, 30), 4))
    for number, rows in enumerate(batches(times, lateness, chance, [1, 2, 3, 5, 8])):
        if number in changes_at:
            names.append(some())
            host.change(written(names[-1]))
        elif chance.random() < 0.2:
            host.start(chance.choice([None, str(tmp_path / "late")]))
        host.batch(rows)
    host.batch([], is_end=True)

    changes = [each.since_us / SECOND for each in host.history[1:]]
    assert changes == sorted(changes)
    assert comparable(host.rows) == comparable(lawful(table, QUERIES, names, changes))


def text_of(**queries: str) -> str:
    return ";".join(f"{name}: {text}" for name, text in queries.items())


def span_until(text: str, *later: tuple[int, str]) -> Span:
    known = [(change, meanings_of(other)) for change, other in later]
    return span_of(0, Workload.parse(text).plan, meanings_of(text), known)


SHORT, LONG = "RETURN COUNT(*) PATTERN A+ WITHIN 10 s", "RETURN COUNT(*) PATTERN A+ WITHIN 1 min"


def test_a_query_that_is_called_otherwise_or_stands_elsewhere_goes_on():
    before, after = text_of(a=SHORT, b=LONG), text_of(c=LONG, a=SHORT)

    assert differences(meanings_of(before), meanings_of(after)) == {
        "added": (),
        "removed": (),
        "unchanged": ("a", "c"),
    }
    span = span_until(before, (100, after))
    assert span.ends_us == 100
    assert set(span.removed_us) == {1 << 62}
    assert span.last_us == 100 + 60 * SECOND


def test_of_two_queries_that_mean_the_same_the_one_that_is_missing_goes():
    before, after = text_of(one=SHORT, two=SHORT), text_of(two=SHORT, three=LONG)

    assert differences(meanings_of(before), meanings_of(after)) == {
        "added": ("three",),
        "removed": ("one",),
        "unchanged": ("two",),
    }
    assert span_until(before, (100, after)).removed_us == (100, 1 << 62)


def test_what_a_query_means_does_not_depend_on_others():
    runs = "RETURN COUNT(*) PATTERN SEQ(A, ANY+) MATCH CONTIGUOUS WITHIN 10 s"
    defined = "DEFINE Big AS B WHERE x > 3, Small AS x < 2"
    alone, among = text_of(r=runs), f"{defined}; {text_of(r=runs, b=LONG.replace('A+', 'Big+'))}"

    assert meanings_of(alone)[0] == meanings_of(among)[0]
    assert len({each.digest for each in meanings_of(among)}) == 2


def test_a_query_that_goes_and_comes_again_has_gone():
    plan, other = text_of(a=SHORT, b=LONG), text_of(a=SHORT)

    span = span_until(plan, (100, other), (200, plan))
    assert span.removed_us == (1 << 62, 100)


def test_a_generation_is_over_when_all_of_its_windows_are_answered():
    texts = [f"a: {SHORT}", f"a: {LONG}"]
    history = [
        Generation(number, text, "", "dynamic", 1, since_us=since)
        for number, (text, since) in enumerate(zip(texts, [None, 100 * SECOND], strict=True))
    ]
    newest = Workload.parse(texts[1]).plan

    def live(closed: int | None) -> list[int]:
        return [each.generation.number for each in live_ones(history, newest, closed)]

    assert live(None) == [0, 1]
    # What is removed ends with the change.
    assert live(100 * SECOND - 1) == [0, 1]
    assert live(100 * SECOND) == [1]


def test_there_is_an_end_to_changes():
    one = Generation(0, "", "", "dynamic", 1)
    assert next_number([one] * MOST_GENERATIONS) == MOST_GENERATIONS
    with pytest.raises(RunError, match="has changed 2,047 times; begin a new checkpoint"):
        next_number([one] * (MOST_GENERATIONS + 1))


# On Spark


def write(folder: Path, table: pa.Table, begin: int, end: int) -> None:
    """Some rows in a file that Spark reads after those before."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{begin:04d}.parquet"
    parquet.write_table(table.slice(begin, end - begin), path)
    os.utime(path, (10**9 + begin, 10**9 + begin))


def run(
    spark: SparkSession, folder: Path, names: Sequence[str], flush: bool = False, **options: Any
) -> None:
    """All that is there, with some queries, to a folder of Parquet."""
    schema = spark.read.parquet(str(folder / "in")).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(folder / "in"))
    checkpoint = folder / "checkpoint"
    workload = Workload.parse(written(names))
    results = workload.run(
        stream, lateness="2 s", checkpoint=checkpoint, flush=flush, numbers="exact", **options
    )
    writer = results.writeStream.option("checkpointLocation", str(checkpoint))
    writer = writer.format("parquet").option("path", str(folder / "out"))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_a_stream_on_spark_goes_on_with_other_workloads(spark: SparkSession, tmp_path: Path):
    table = events(360, 3)
    names = [
        ["by_k", "none", "alone", "runs"],
        ["alone", "by_k", "edge", "later", "runs"],
        ["by_k", "some", "nearest", "later", "none"],
    ]
    cuts = [0, 70, 100, 130, 170, 250, 360]
    turns = [(70, 0), (100, 0), (130, 1), (170, 1), (250, 2), (360, 2)]
    begin = 0
    for end, which in turns:
        write(tmp_path / "in", table, begin, end)
        run(spark, tmp_path, names[which])
        begin = end
    run(spark, tmp_path, names[2], flush=True)

    changes = changes_of(tmp_path / "checkpoint")
    # Each is after the last event that was taken in before it.
    times = table["time"].to_pylist()
    assert changes == [times[cuts[2] - 1] + 0.001, times[cuts[4] - 1] + 0.001]
    found = parquet.read_table(tmp_path / "out").to_pylist()
    assert comparable(found) == comparable(lawful(table, QUERIES, names, changes))
    # The state of generations that are over is not kept.
    state = spark.read.format("statestore").option("stateVarName", "core")
    buckets = state.load(str(tmp_path / "checkpoint")).select("key.bucket").distinct().collect()
    assert {row["bucket"] >> 20 for row in buckets} == {2}


def test_the_policy_and_the_number_of_buckets_may_change(spark: SparkSession, tmp_path: Path):
    table = events(200, 4)
    names = ["by_k", "edge"]
    write(tmp_path / "in", table, 0, 90)
    run(spark, tmp_path, names)
    write(tmp_path / "in", table, 90, 150)
    run(spark, tmp_path, list(reversed(names)), sharing="never")
    write(tmp_path / "in", table, 150, 200)
    run(spark, tmp_path, names, sharing="static", rates={"A": 1.0, "B": 1.0})
    run(spark, tmp_path, names, sharing="static", rates={"A": 1.0, "B": 1.0}, flush=True)

    wanted = Workload.parse(written(names)).run(table).table.to_pylist()
    found = parquet.read_table(tmp_path / "out").to_pylist()
    assert comparable(found) == comparable(wanted)
    assert len(changes_of(tmp_path / "checkpoint")) == 2


def test_a_stream_that_runs_or_has_ended_is_not_changed(spark: SparkSession, tmp_path: Path):
    table = events(60, 5)
    write(tmp_path / "in", table, 0, 60)
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    checkpoint = tmp_path / "checkpoint"
    one, other = (Workload.parse(written([name])) for name in ("by_k", "alone"))

    results = one.run(stream, lateness="2 s", checkpoint=checkpoint)
    writer = results.writeStream.option("checkpointLocation", str(checkpoint)).format("noop")
    query = writer.start()
    query.processAllAvailable()
    with pytest.raises(PlanError, match=r"is running cannot be changed\. Stop it first"):
        other.run(stream, lateness="2 s", checkpoint=checkpoint)
    query.stop()
    query.awaitTermination()
    assert not (checkpoint / "hamlet" / "changes").exists()

    run(spark, tmp_path, ["by_k"], flush=True)
    with pytest.raises(ReadError, match="another workload, and ended by flush; choose an empty"):
        other.run(stream, lateness="2 s", checkpoint=checkpoint)


def test_queries_are_added_removed_and_replaced_while_a_stream_runs(
    spark: SparkSession, tmp_path: Path
):
    table = events(240, 6)
    write(tmp_path / "in", table, 0, 60)
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    checkpoint = str(tmp_path / "checkpoint")

    def begin(results: DataFrame) -> StreamingQuery:
        writer = results.writeStream.option("checkpointLocation", checkpoint).format("parquet")
        return writer.option("path", str(tmp_path / "out")).start()

    first = Workload.parse(written(["by_k", "none"]))
    live = StreamingWorkload(first, stream, begin, checkpoint=checkpoint, lateness="1 s")
    live.start().processAllAvailable()
    with pytest.raises(PlanError, match="the stream is running"):
        live.start()
    live.add(written(["edge", "alone"]))
    write(tmp_path / "in", table, 60, 130)
    live.query.processAllAvailable()
    with pytest.raises(UnknownName, match="there is no query 'some'"):
        live.remove("some")
    live.remove("none", "edge")
    shorter = written(["by_k"]).replace("20 s", "10 s")
    write(tmp_path / "in", table, 130, 180)
    live.query.processAllAvailable()
    live.replace(shorter)
    with pytest.raises(QueryError):
        live.add("x: RETURN COUNT(*)")
    write(tmp_path / "in", table, 180, 240)
    live.query.processAllAvailable()
    live.stop()
    assert [query.name for query in live.workload.queries] == ["by_k", "alone"]
    with pytest.raises(PlanError, match="a stream has at least one query"):
        live.remove("by_k", "alone")

    last = live.workload.run(stream, checkpoint=checkpoint, lateness="1 s", flush=True)
    query = begin(last)
    query.processAllAvailable()
    query.stop()
    names = [["by_k", "none"], ["by_k", "none", "edge", "alone"], ["by_k", "alone"], ["alone"]]
    changes = changes_of(tmp_path / "checkpoint")
    wanted = lawful(table, QUERIES, names, changes)
    every = Workload.parse(shorter).run(table).table.to_pylist()
    wanted += [row for row in every if row["window_start"] >= changes[-1]]
    found = parquet.read_table(tmp_path / "out").to_pylist()
    assert comparable(found) == comparable(wanted)
