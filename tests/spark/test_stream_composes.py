"""Results of streams as other parts of Spark see them: would catch a stream that stalls silently.

Windows that are aggregated again by event time, a session whose settings are others afterwards, a
second watermark that waits for ever, late rows that are lost, early results that do not become the
last ones, and wide rows that are put together of two windows.
"""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import functions as F

from hamlet import Workload
from hamlet.errors import HamletError, PlanError
from hamlet.spark.stream.answers import WORK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow
TEXT = """
pairs: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s;
whole: RETURN COUNT(*), AVG(B.x), MAX(B.x) PATTERN SEQ(A, B+) WHERE [k] WITHIN 20 s SLIDE 10 s
"""
WORKLOAD = Workload.parse(TEXT)
NEEDED = (
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
)


def rows(seconds: range, seed: int) -> pa.Table:
    """A row for each second, in an order that is nearly that of time."""
    chance = random.Random(seed)
    order = sorted(seconds, key=lambda second: second + chance.random() * 3)
    columns = {
        "type": [chance.choice("ABB") for _ in order],
        "time": pa.array([(1_000_000 + s) * 10**6 for s in order], pa.timestamp("us", "UTC")),
        "k": [chance.choice(["u", "v"]) for _ in order],
        "x": [chance.randrange(5) for _ in order],
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    """Six batches, of which the last brings rows of the first again: they are late."""
    folder = tmp_path_factory.mktemp("composed")
    pieces = [rows(range(20 * n, 20 * n + 20), n) for n in range(5)]
    pieces.append(pa.concat_tables([rows(range(100, 120), 5), rows(range(7), 6)]))
    for number, piece in enumerate(pieces):
        parquet.write_table(piece, folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (10**9 + number, 10**9 + number))
    in_time = pa.concat_tables([*pieces[:5], pieces[5].slice(0, 20)])
    return folder, in_time


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    schema = "type string, time timestamp, k string, x long"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def written(frame: DataFrame, name: str, checkpoint: Path, **options: Any) -> list[dict[str, Any]]:
    """What a query over a frame gives, as soon as it has read all there is."""
    writer = frame.writeStream.format("memory").queryName(name).options(**options)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    written.progress = query.recentProgress  # type: ignore[attr-defined]
    return frame.sparkSession.table(name).toArrow().to_pylist()


def plain(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    keys = ("query", "window_start", "group", "aggregate")
    return sorted((*(str(row[key]) for key in keys), row["value"], row["exact"]) for row in found)


def test_results_are_aggregated_by_event_time_and_the_session_is_as_it_was(
    spark: SparkSession, files: tuple[Path, pa.Table], tmp_path: Path, settings: Callable[..., None]
) -> None:
    folder, in_time = files
    settings(**{name.removeprefix("spark.sql.").replace(".", "__"): None for name in NEEDED})
    before = {name: spark.conf.get(name, None) for name in NEEDED}
    batch = WORKLOAD.run(in_time).table.to_pylist()

    results = WORKLOAD.run(stream(spark, folder), lateness="4 s", late=tmp_path / "late")
    own = results.where("aggregate = 'COUNT(*)'").withWatermark("window_end", "1 minute")
    hours = own.groupBy(F.window("window_end", "30 seconds"), "query").agg(
        F.sum("value").alias("trends"), F.count("*").alias("windows")
    )
    # Two workloads in one application, of which one reads a stream with a watermark of its own.
    other = Workload.parse("late: RETURN COUNT(*) PATTERN A+ GROUPBY k WITHIN 10 s")
    marked = stream(spark, folder).withWatermark("time", "4 seconds")
    beside = other.run(marked)
    found = written(hours, "hours", tmp_path / "hours")
    late = sum(p["observedMetrics"][WORK]["late"] for p in map(dict, map(_data, progress())))
    alone = written(beside, "beside", tmp_path / "beside")

    wanted: dict[tuple[Any, str], float] = {}
    for row in batch:
        if row["aggregate"] == "COUNT(*)":
            end = row["window_end"].timestamp()
            key = (end - end % 30, row["query"])
            wanted[key] = wanted.get(key, 0) + row["value"]
    got = {(row["window"]["start"].timestamp(), row["query"]): row["trends"] for row in found}
    assert got
    assert got == {key: wanted[key] for key in got}
    # All that the watermark has passed is there: it came to 115 s.
    assert {key for key in wanted if key[0] + 30 <= 1_000_115} == set(got)
    assert {name: spark.conf.get(name, None) for name in NEEDED} == before
    last = max(row["window_end"] for row in alone)
    same = [r for r in other.run(in_time).table.to_pylist() if r["window_end"] <= last]
    assert plain(alone) == plain(same)
    # Late rows are there as they came, once.
    texts = [file.read_text() for file in (tmp_path / "late").iterdir()]
    kept = [json.loads(line) for text in texts for line in text.splitlines()]
    assert len(kept) == late == 7
    assert {row["time"] for row in kept} == {f"1970-01-12T13:46:4{s}.000000Z" for s in range(7)}
    assert Workload.parse(TEXT).run(str(tmp_path / "late")).statistics.events_in == 7


def progress() -> list[Any]:
    found: list[Any] = written.progress  # type: ignore[attr-defined]
    return found


def _data(each: Any) -> Any:
    return json.loads(each.json) if hasattr(each, "json") else each


def test_early_results_become_the_last_ones_and_wide_rows_are_those_of_a_batch(
    spark: SparkSession, files: tuple[Path, pa.Table], tmp_path: Path
) -> None:
    folder, in_time = files
    results = WORKLOAD.run(in_time)

    early = WORKLOAD.run(stream(spark, folder), lateness="4 s", emit="update")
    found = written(early, "early", tmp_path / "early")
    wide = WORKLOAD.run(stream(spark, folder), lateness="4 s", wide="pairs")
    rows_of = written(wide, "wide", tmp_path / "wide")

    final = [row for row in found if row["final"]]
    last = max(row["window_end"] for row in final)
    batch = [row for row in results.table.to_pylist() if row["window_end"] <= last]
    assert plain(final) == plain(batch)
    not_final = [row for row in found if not row["final"]]
    # Each open window is told of before it is over, and what is told last is what it came to.
    by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(not_final, key=lambda row: row["batch"]):
        by_key[tuple(row[k] for k in ("query", "window_start", "group", "aggregate"))] = row
    assert len(not_final) > len(by_key) > len(final) / 2
    for row in final:
        told = by_key.get(tuple(row[k] for k in ("query", "window_start", "group", "aggregate")))
        assert told is None or (told["value"], told["exact"]) == (row["value"], row["exact"])
    names = ["window_start", "window_end", "k", "COUNT(*)", "SUM(B.x)"]
    assert wide.columns == names
    table = results.wide("pairs").to_pylist()
    ours = sorted(tuple(map(str, row.values())) for row in rows_of)
    assert ours
    assert ours == sorted(
        tuple(map(str, row.values())) for row in table if row["window_end"] <= last
    )


def test_watermarks_that_cannot_be_gone_on_with_are_refused_before_the_stream_begins(
    spark: SparkSession, files: tuple[Path, pa.Table]
) -> None:
    events = stream(spark, files[0])
    marked = events.withWatermark("time", "4 seconds")
    twice = events.withColumn("other", F.col("time")).withWatermark("other", "1 second")

    refused: list[tuple[DataFrame, dict[str, Any], str]] = [
        (marked, {"lateness": "5 s"}, "delay of 4 s, not of 5 s"),
        (twice, {}, "of its column 'other'"),
        (twice.drop("other"), {}, "of a column that it has no more"),
        (events, {"emit": "sometimes"}, "one of final, update"),
        (events, {"wide": "pair"}, "pairs"),
    ]

    for frame, options, sentence in refused:
        with pytest.raises(HamletError, match=sentence):
            WORKLOAD.run(frame, **options)
    with pytest.raises(PlanError, match="window_end"):
        WORKLOAD.run(events).withWatermark("window_start", "1 second")
