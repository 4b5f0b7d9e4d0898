"""Values in and out, on Spark as on one machine: groups, times, whole numbers, events left out.

Would catch a group that Spark writes in another way, a zone that is put on times without one, a
count that is rounded or lost in the wide form, and events without a key that nobody counts.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import types as T

from hamlet import PlanError, Workload
from hamlet.engine import Options
from hamlet.spark.batch import answer
from hamlet.spark.files.reading import read_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

MIDNIGHT = datetime(2023, 10, 29, tzinfo=UTC)
NOON = datetime(2026, 3, 8, 12)
# Each group in a zone, a decimal or a number that could be written in more than one way.
KEYS: dict[str, pa.Array] = {
    "zone": pa.array([MIDNIGHT, MIDNIGHT, None], pa.timestamp("us", "America/New_York")),
    "naive": pa.array([NOON + timedelta(microseconds=5000), NOON, NOON], pa.timestamp("us")),
    "day": pa.array([date(2026, 3, 8)] * 3),
    "fine": pa.array([Decimal("0.5"), Decimal("1E-20"), Decimal(12)], pa.decimal128(38, 30)),
    "cents": pa.array([Decimal("0.50"), Decimal("12.00"), None], pa.decimal128(10, 2)),
    "large": pa.array([2**64 - 1, 5, 5], pa.decimal128(20, 0)),
    "half": pa.array([math.inf, -math.inf, math.nan], pa.float64()),
}
# Of each kind one whose groups are put together after their partitions have been run
LATER = ("zone", "fine", "half")
ALL_KEYS = "; ".join(
    [
        *(f"{key}: RETURN COUNT(*) PATTERN A+ GROUPBY {key} WITHIN 10 s" for key in KEYS),
        *(
            f"{key}_later: RETURN COUNT(*) PATTERN A+ WHERE [n] GROUPBY {key} WITHIN 10 s"
            for key in LATER
        ),
    ]
)
EVENTS = pa.table({"type": ["A"] * 3, "time": [1, 2, 3], "n": [1, 2, 1], **KEYS})


@pytest.fixture(autouse=True)
def _times_without_a_zone_stay_so(settings: Callable[..., None]) -> None:
    settings(timestampType="TIMESTAMP_NTZ")


def test_groups_are_written_as_on_one_machine(spark: SparkSession):
    workload = Workload.parse(ALL_KEYS)

    found = answer(workload.plan, spark.createDataFrame(EVENTS), Options())

    alone, collected = workload.run(EVENTS), found.collected()
    assert collected.table == alone.table
    groups = set(alone.table["group"].to_pylist())
    for text in groups:
        json.loads(text, parse_constant=lambda each: pytest.fail(f"{each} is no JSON"))
    assert '{"zone": "2023-10-29T00:00:00+00:00"}' in groups
    assert '{"fine": 0.00000000000000000001}' in groups
    assert collected.statistics.without_key == alone.statistics.without_key
    assert alone.statistics.without_key == {"cents": 1, "half": 1, "zone": 1}
    for query in ("half", "fine", "cents"):
        rows = [row[query] for row in found.wide(query).orderBy(query).collect()]
        assert rows == alone.wide(query)[query].to_pylist()


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        (pa.array([NOON], pa.timestamp("us")), T.TimestampNTZType()),
        (pa.array([NOON.date()]), T.TimestampNTZType()),
        (pa.array([NOON], pa.timestamp("us", "UTC")), T.TimestampType()),
        (pa.array(["2026-03-08T12:30:00"]), T.TimestampNTZType()),
        (pa.array(["2026-03-08T12:30:00Z"]), T.TimestampType()),
        (pa.array([5]), T.DoubleType()),
    ],
)
def test_windows_have_a_zone_where_events_have_one(
    spark: SparkSession, times: pa.Array, kind: T.DataType
):
    table = pa.table({"type": ["A"], "time": times})
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 1 h")

    found = answer(workload.plan, spark.createDataFrame(table), Options())

    assert found.table.schema["window_start"].dataType == kind
    assert found.collected().table == workload.run(table).table


def written(folder: Path, name: str, moments: list[str]) -> str:
    path = folder / name
    if name.endswith("csv"):
        path.write_text("type,time\n" + "".join(f"A,{each}\n" for each in moments))
    else:
        path.write_text("".join(json.dumps({"type": "A", "time": m}) + "\n" for m in moments))
    return str(path)


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
@pytest.mark.parametrize(
    "moments",
    [
        ["2026-03-08T02:30:00", "2026-03-08 02:40:00.123456", "2026-03-08"],
        ["2026-03-08T02:30:00Z", "2026-03-08T02:40:00+01:00"],
        ["2026-03-08T02:30:00", "2026-03-08T02:40:00Z", "nonsense"],
    ],
)
def test_files_of_text_are_read_as_on_one_machine(
    spark: SparkSession, tmp_path: Path, name: str, moments: list[str]
):
    path = written(tmp_path, name, moments)
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 1 h")

    source = read_files(spark, path, workload.plan, Options())
    found = answer(workload.plan, source.frame, Options(), reasons=source.reasons)

    assert found.collected().table == workload.run(path).table


def test_nanoseconds_without_a_zone_have_none(spark: SparkSession, tmp_path: Path):
    path = tmp_path / "e.parquet"
    early = datetime(1969, 12, 31, 23, 59, 59, 999_999)
    times = pa.array([NOON, early], pa.timestamp("ns"))
    parquet.write_table(pa.table({"type": ["A", "A"], "time": times}), path)
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 1 h")

    source = read_files(spark, str(path), workload.plan, Options())
    found = answer(workload.plan, source.frame, Options()).collected()

    assert found.table == workload.run(path).table
    assert found.table["window_start"][0].as_py() == datetime(1969, 12, 31, 23)


def test_whole_numbers_of_the_wide_form(spark: SparkSession):
    text = "q: RETURN COUNT(*), SUM(A.x), SUM(A.y), AVG(A.x) PATTERN A+ GROUPBY g WITHIN 1000 s"
    rows: list[dict[str, Any]] = [
        {"type": "A", "time": t, "g": g, "x": 1, "y": 0.5}
        for g, size in (("few", 3), ("many", 70))
        for t in range(size)
    ]
    workload, table = Workload.parse(text), pa.Table.from_pylist(rows)

    found = answer(workload.plan, spark.createDataFrame(table), Options())
    wide = found.wide("q")

    kinds = [field.dataType for field in wide.schema.fields[3:]]
    assert kinds == [T.DecimalType(38, 0)] * 2 + [T.DoubleType()] * 2
    assert [int(row["COUNT(*)"]) for row in wide.orderBy("g").collect()] == [7, 2**70 - 1]
    doubles = found.wide("q", whole="double")
    assert [row["COUNT(*)"] for row in doubles.orderBy("g").collect()] == [7.0, 2.0**70]
    loose = answer(workload.plan, spark.createDataFrame(table), Options(numbers="float"))
    assert loose.wide("q").schema["COUNT(*)"].dataType == T.DoubleType()
    with pytest.raises(PlanError, match="decimal, text, double"):
        found.wide("q", whole="long")  # type: ignore[arg-type]


def test_a_count_that_is_too_long_for_a_decimal_is_not_lost(spark: SparkSession):
    table = pa.table({"type": ["A"] * 200, "time": range(200)})
    workload = Workload.parse("q: RETURN COUNT(*) PATTERN A+ WITHIN 1000 s")

    found = answer(workload.plan, spark.createDataFrame(table), Options())

    assert found.wide("q", whole="text").first()["COUNT(*)"] == str(2**200 - 1)
    with pytest.raises(PySparkException, match=r'has more than 38 digits\. Pass whole="text"'):
        found.wide("q").collect()


def test_a_stream_gives_what_a_batch_gives(spark: SparkSession, tmp_path: Path):
    if spark.version.startswith("4.0."):
        pytest.skip("streams need Spark 4.1")
    events = tmp_path / "events"
    events.mkdir()
    table = pa.table(
        {
            "type": ["A", "A", "A"],
            "time": pa.array([NOON, NOON, NOON + timedelta(days=1)], pa.timestamp("us")),
            "k": pa.array([MIDNIGHT, None, MIDNIGHT], pa.timestamp("us", "UTC")),
            "d": pa.array([Decimal("1.50")] * 3, pa.decimal128(20, 10)),
        }
    )
    parquet.write_table(table, events / "e.parquet")
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ GROUPBY k, d WITHIN 1 h")
    stream = spark.readStream.schema(spark.read.parquet(str(events)).schema).parquet(str(events))

    checkpoint = str(tmp_path / "checkpoint")
    progress = []
    # What there is has to be read before a last batch closes every window.
    for flush in (False, True):
        results = workload.run(stream, checkpoint=checkpoint, flush=flush)
        writer = results.writeStream.option("checkpointLocation", checkpoint).format("parquet")
        running = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
        running.awaitTermination()
        progress += running.recentProgress

    found = parquet.read_table(tmp_path / "out", columns=["window_start", "group", "exact"])
    alone = workload.run(table).table.select(["window_start", "group", "exact"])
    assert sorted(found.to_pylist(), key=str) == sorted(alone.to_pylist(), key=str)
    observed = [each["observedMetrics"].get("hamlet_events") for each in progress]
    assert sum(each.asDict()["without k"] for each in observed if each is not None) == 1
