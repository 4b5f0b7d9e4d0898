"""DataFrames of every kind of column against the same tables on one machine, many in one job.

Would catch times that depend on the zone of the session, a key that Spark hashes or compares in its
own way, a decimal or a large integer that loses digits, counts of rows that are wrong or missing,
and a wide form that differs from that of the engine.
"""

from __future__ import annotations

import contextlib
import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hamlet import Workload
from hamlet.engine import Options
from hamlet.errors import PlanError, SchemaError
from hamlet.events.times import FARTHEST_US
from hamlet.io.long_form import COLUMNS
from hamlet.spark.batch import answer
from hamlet.spark.events import events_of
from hamlet.spark.shuffle_plan import prepare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hamlet.spark.results import SparkResults

INF, NAN = float("inf"), float("nan")
COUNT = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s"
BY_K = "q: RETURN COUNT(*), SUM(B.k) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s"
ALL_OF_K = "q: RETURN k, COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s"
SUMS = """
s1: RETURN COUNT(*), SUM(B.x), AVG(B.x), MIN(B.x), MAX(B.x) PATTERN SEQ(A, B+) WITHIN 10 s;
s2: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE B.x > 1 AND [k] WITHIN 10 s;
s3: RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x GROUPBY k WITHIN 10 s
"""
# Summer time begins in New York while these happen, so that one hour is not there.
BEGIN = datetime(2026, 3, 8, 6, 59, 57)
MOMENTS = [BEGIN + timedelta(seconds=each) for each in (0, 1, 2.5, 3.000001, 9)]
TYPES = ["A", "B", "B", "A", "B"]


def events(time: Any, **columns: Any) -> pa.Table:
    return pa.table({"type": TYPES, "time": time, **columns})


def times() -> dict[str, Any]:
    utc = [each.replace(tzinfo=UTC) for each in MOMENTS]
    iso = [each.isoformat() for each in MOMENTS]
    return {
        "stamps": pa.array(utc, pa.timestamp("us", "UTC")),
        "naive": pa.array(MOMENTS, pa.timestamp("us")),
        "dates": pa.array([date(2026, 3, 7)] * 2 + [date(2026, 3, 8)] * 3, pa.date32()),
        "missing": pa.array([utc[0], None, *utc[2:]], pa.timestamp("us", "UTC")),
        "iso": pa.array(iso),
        "rough iso": pa.array([iso[0], " " + iso[1] + "Z ", "2026-03-08 02:00-05", "", "soon"]),
        "longs": pa.array([0, 1, -2, 2**60, 9], pa.int64()),
        "ints": pa.array([0, 1, 2, None, 9], pa.int32()),
        "doubles": pa.array([0.0000005, 1.0000015, NAN, INF, 4611686018427.3], pa.float64()),
        "floats": pa.array([0, 0.5, 1, 1.5, 2], pa.float32()),
        "decimals": pa.array(
            [Decimal("0.0000005"), Decimal("1.0000015"), Decimal(2), Decimal(10**15), Decimal(3)],
            pa.decimal128(30, 7),
        ),
        "number texts": pa.array(["0", " 1.5", "2e0", "NA", "x"]),
    }


def keys() -> dict[str, Any]:
    utc = [each.replace(tzinfo=UTC) for each in MOMENTS]
    return {
        "longs": pa.array([2**62, 2**62, 2**62 + 1, 2**62 + 1, 2**62 + 1], pa.int64()),
        "tiny": pa.array([1, 1, None, 1, 1], pa.int8()),
        "doubles": pa.array([0.0, -0.0, NAN, 0.5, 0.5], pa.float64()),
        "floats": pa.array([0.1, 0.1, -0.0, 0.0, 0.0], pa.float32()),
        "cents": pa.array([Decimal("1.50")] * 3 + [Decimal("2.00")] * 2, pa.decimal128(9, 2)),
        "whole": pa.array([Decimal(10**30)] * 3 + [Decimal(10**30 + 1)] * 2, pa.decimal128(38, 0)),
        "texts": pa.array(['a"b', 'a"b', "é\n", "", ""]),
        "flags": pa.array([True, True, None, False, False]),
        "stamps": pa.array([utc[0], utc[0], utc[0], utc[2], utc[2]], pa.timestamp("us", "UTC")),
        "naive": pa.array([BEGIN] * 3 + [MOMENTS[2]] * 2, pa.timestamp("us")),
        "dates": pa.array([date(2026, 3, 8)] * 3 + [None, date(1, 1, 1)], pa.date32()),
        "nothing": pa.nulls(5),
    }


def values() -> dict[str, Any]:
    return {
        "longs": pa.array([1, 2**63 - 1, -(2**63), 3, 2**63 - 1], pa.int64()),
        "doubles": pa.array([1, 1e300, NAN, INF, 0.1], pa.float64()),
        "cents": pa.array([Decimal("0.10"), Decimal("2.20"), None, *[Decimal("3.00")] * 2],
                          pa.decimal128(9, 2)),
        "whole cents": pa.array([Decimal("1.00"), Decimal("2.00"), *[Decimal("3.00")] * 3],
                                pa.decimal128(9, 2)),
        "large": pa.array([Decimal(10**30 + n) for n in range(5)], pa.decimal128(38, 0)),
        "nothing": pa.nulls(5),
    }  # fmt: skip


def tables() -> dict[str, tuple[pa.Table, str]]:
    at = range(5)
    found = {f"time {name}": (events(each), COUNT) for name, each in times().items()}
    for name, each in keys().items():
        is_number = pa.types.is_integer(each.type) or pa.types.is_decimal(each.type)
        found[f"key {name}"] = (events(at, k=each), BY_K if is_number else ALL_OF_K)
    k = pa.array(["u", "v", "u", "u", "v"])
    found |= {f"value {name}": (events(at, x=x, k=k), SUMS) for name, x in values().items()}
    return found


TABLES = tables()


def run(
    spark: SparkSession, some: dict[str, tuple[pa.Table, str]], **options: Any
) -> dict[str, SparkResults]:
    return {
        name: answer(Workload.parse(text).plan, frame_of(spark, table), Options(**options))
        for name, (table, text) in some.items()
    }


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A DataFrame whose times without a zone have none there either."""
    return spark.createDataFrame(table)


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = [tuple(row[name] for name in COLUMNS) for row in table.to_pylist()]
    return sorted(rows, key=repr)


@pytest.mark.parametrize(("numbers", "partitions"), [("exact", 1), ("float", 3)])
def test_every_kind_of_column(
    spark: SparkSession, settings: Callable[..., None], numbers: Any, partitions: int
):
    settings(timestampType="TIMESTAMP_NTZ", shuffle__partitions=partitions)
    chosen = {n: t for n, t in TABLES.items() if numbers == "exact" or n.startswith("value")}
    found = run(spark, chosen, numbers=numbers)
    expected = {
        name: Workload.parse(text).run(table, numbers=numbers)
        for name, (table, text) in chosen.items()
    }

    # One job for timestamps, and one for seconds, whose columns have another type.
    rows: dict[str, list[Any]] = {}
    kinds: dict[str, list[str]] = {}
    for name, each in found.items():
        kinds.setdefault(str(each.table.schema["window_start"].dataType), []).append(name)
    for names in kinds.values():
        pieces = [found[name].table.select(F.lit(name).alias("name"), "*") for name in names]
        together = reduce(DataFrame.union, pieces).toArrow()
        for name in names:
            rows[name] = as_rows(together.filter(pa.compute.equal(together["name"], name)))

    for name, alone in expected.items():
        assert rows[name] == as_rows(alone.table), name
        statistics = found[name].statistics()
        statistics.seconds = alone.statistics.seconds
        assert statistics == alone.statistics, name


def test_tables_of_both_kinds_were_compared():
    """A comparison of empty tables would say little."""
    rows = {name: len(Workload.parse(text).run(table)) for name, (table, text) in TABLES.items()}

    assert sum(count > 0 for count in rows.values()) >= len(rows) - 3


# Results


def test_the_wide_form_is_that_of_the_engine(spark: SparkSession, settings: Callable[..., None]):
    settings(timestampType="TIMESTAMP_NTZ")
    named = [each for name, each in keys().items() if name != "nothing"]
    table = events([1] * 5, **{f"k{i}": each for i, each in enumerate(named)})
    grouping = ", ".join(f"k{i}" for i in range(len(named)))
    text = f"q: RETURN COUNT(*), MIN(B.k0) PATTERN B GROUPBY {grouping} WITHIN 9 s"
    workload = Workload.parse(text)

    found = answer(workload.plan, frame_of(spark, table), Options())

    wide = found.wide("q", also=("exact", "log10")).toArrow()
    alone = workload.run(table).wide("q", also=("exact", "log10"))
    assert wide.column_names == alone.column_names
    rows = sorted(map(as_utc, wide.to_pylist()), key=repr)
    assert rows == sorted(alone.to_pylist(), key=repr)
    assert alone.num_rows == 2
    with pytest.raises(PlanError, match="Did you mean 'q'"):
        found.wide("qq")


def as_utc(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the times of Spark, which are in the zone of the session, in UTC."""
    return {
        name: value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
        for name, value in row.items()
    }


def test_collected_results_are_those_of_the_engine_in_order(spark: SparkSession):
    table, _ = TABLES["key cents"]
    workload = Workload.parse(SUMS.replace(".x", ".k").replace("[k]", "[type]"))

    found = answer(workload.plan, spark.createDataFrame(table), Options()).collected()

    alone = workload.run(table)
    assert found.table == alone.table
    assert found.wide("s3").schema == alone.wide("s3").schema
    assert found.wide("s3").to_pylist() == alone.wide("s3").to_pylist()


def test_a_workload_takes_a_dataframe_and_gives_one(spark: SparkSession):
    table, text = TABLES["time longs"]

    found = Workload.parse(text).run(spark.createDataFrame(table))

    assert isinstance(found, DataFrame)
    assert tuple(found.columns) == COLUMNS
    assert [kind for _, kind in found.dtypes] == [
        "string", "double", "double", "string", "string", "double", "double", "string"
    ]  # fmt: skip
    assert [row["exact"] for row in found.collect()] == ["3"]


@pytest.mark.parametrize("conditions", [19, 20])
def test_times_beside_letters_as_far_away_as_times_can_be(spark: SparkSession, conditions: int):
    # Two types take a bit; beside 20 bits of letters a number of seconds has room, beside 21 not.
    far = FARTHEST_US // 10**6
    moments = [-far, -far + 1, -far + 2, -2, -1, 0, 1, far - 2, far - 1, far]
    rows = [
        {"type": kind, "time": moment, "x": number, "k": f"{number % 2}"}
        for number, (moment, kind) in enumerate((m, t) for m in moments for t in ("A", "B"))
    ]
    table = pa.Table.from_pylist(rows)
    text = ";".join(
        f"q{n}: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE B.x != {n} WITHIN 5 s"
        for n in range(conditions)
    )
    workload = Workload.parse(text + ";k: RETURN COUNT(*) PATTERN SEQ(A, A+) GROUPBY k WITHIN 4 s")

    frame = frame_of(spark, table)
    found = workload.run(frame)

    assert sorted(as_rows(found.toArrow())) == sorted(as_rows(workload.run(table).table))
    options = Options()
    prepared = prepare(events_of(frame, workload.plan, options), workload.plan)
    joint = {
        ("time" in each.frame.columns, each.layout.has_joint_time) for each in prepared.shuffles
    }
    assert joint == ({(False, True)} if conditions == 19 else {(True, False)})


def test_one_shuffle_for_each_partitioning(spark: SparkSession):
    table, _ = TABLES["value longs"]
    frame = spark.createDataFrame(table)

    def plan(text: str) -> str:
        return explained(answer(Workload.parse(text).plan, frame, Options()).table)

    apart = plan(SUMS)
    together = plan(
        """a: RETURN COUNT(*) PATTERN A+ GROUPBY k WITHIN 9 s;
        b: RETURN COUNT(*) PATTERN B+ WHERE [k] WITHIN 9 s;
        c: RETURN COUNT(*) PATTERN SEQ(A, B) GROUPBY k WITHIN 9 s"""
    )

    # s1 has no partitions, s2 and s3 those by k; s2 is finished after a second shuffle.
    assert apart.count("Exchange SinglePartition") == 1
    assert apart.count("Exchange hashpartitioning(attribute") == 1
    assert apart.count("Exchange hashpartitioning(query") == 1
    # Rows are shuffled once for what is finished at once and for what is finished later.
    assert together.count("Exchange hashpartitioning(attribute") == 2
    assert together.count("ReusedExchange") == 1


def explained(frame: DataFrame) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain()
    return printed.getvalue()


# Counts


def test_counts_are_those_of_one_machine(spark: SparkSession, settings: Callable[..., None]):
    settings(adaptive__enabled=True)
    rows = [
        {"type": "A", "time": 1.0, "k": 1, "x": 1.0},
        {"type": "B", "time": 2.0, "k": 1, "x": INF},
        {"type": "B", "time": NAN, "k": 1, "x": 1.0},
        {"type": None, "time": 3.0, "k": 1, "x": 1.0},
        {"type": None, "time": 1e30, "k": 1, "x": INF},
        {"type": "Z", "time": 3.0, "k": 1, "x": INF},
        {"type": "B", "time": 3.0, "k": None, "x": 1.0},
        {"type": "B", "time": 3.0, "k": 2, "x": 0.5},
        {"type": "B", "time": 4.0, "k": 1, "x": 2.0},
    ]
    table = pa.Table.from_pylist(rows)
    workload = Workload.parse(SUMS)
    results = answer(workload.plan, spark.createDataFrame(table), Options())

    results.table.write.format("noop").mode("overwrite").save()

    found, alone = results.statistics(), workload.run(table).statistics
    alone.seconds = {}
    assert found == alone
    assert alone.malformed == {
        "no time": 1, "time out of range": 1, "no type": 1, "x is infinite": 2
    }  # fmt: skip


@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("adaptive", [True, False])
def test_rows_are_counted_where_none_takes_part(
    spark: SparkSession, settings: Callable[..., None], is_empty: bool, adaptive: bool
):
    settings(adaptive__enabled=adaptive)
    table = pa.table({"type": ["Z", "A"], "time": [1, 2], "k": pa.nulls(2)})
    table = table.slice(0, 0) if is_empty else table

    results = answer(Workload.parse(ALL_OF_K).plan, spark.createDataFrame(table), Options())

    assert results.table.toArrow().num_rows == 0
    assert results.statistics().events_in == table.num_rows


def test_many_groups_and_windows_are_counted_to_one_in_a_hundred(spark: SparkSession):
    # More than a sketch has a list of, and in several tasks each.
    many = 6000
    numbers = pa.array(range(2 * many))
    table = pa.table(
        {"type": ["A"] * 2 * many, "time": numbers, "k": pc.bit_wise_and(numbers, 4095)}
    )
    text = "q: RETURN COUNT(*) PATTERN A WHERE [h] GROUPBY k WITHIN 2 s"
    table = table.append_column("h", pc.bit_wise_and(numbers, 3))
    workload = Workload.parse(text)
    results = answer(workload.plan, spark.createDataFrame(table), Options())

    results.table.count()
    found, alone = results.statistics(), workload.run(table).statistics

    assert (alone.groups, alone.windows) == (4096, many)
    assert found.groups == pytest.approx(alone.groups, rel=0.01)
    assert found.windows == pytest.approx(alone.windows, rel=0.01)


def test_statistics_of_nothing_are_refused(spark: SparkSession):
    table, text = TABLES["time longs"]
    results = answer(Workload.parse(text).plan, spark.createDataFrame(table), Options())

    with pytest.raises(PlanError, match="Write or collect all results first"):
        results.statistics(wait_s=0.1)


# What is refused


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ({"type": ["A"]}, {}),
        ({"kind": ["A"], "time": [1]}, {}),
        ({"type": [1], "time": [1], "x": [1], "k": [1]}, {}),
        ({"type": ["A"], "time": [True], "x": [1], "k": [1]}, {}),
        ({"type": ["A"], "time": ["soon"], "x": [1], "k": [1]}, {}),
        ({"type": ["A"], "time": [1], "x": ["text"], "k": [1]}, {}),
        ({"type": ["A"], "time": [1], "x": [1], "k": [b"bytes"]}, {}),
        ({"type": ["A"], "time": [1], "x": [1], "k": [1]}, {"order": "n"}),
        ({"type": ["A"], "time": [1], "x": [1], "k": [1]}, {"numbers": "decimal"}),
    ],
    ids=lambda value: ",".join(value),
)
def test_what_does_not_fit_is_refused_with_the_same_words(
    spark: SparkSession, table: dict[str, Any], options: dict[str, Any]
):
    workload, arrow = Workload.parse(SUMS), pa.table(table)
    with pytest.raises((SchemaError, PlanError)) as alone:
        workload.run(arrow, **options)

    with pytest.raises(type(alone.value)) as refused:
        workload.run(spark.createDataFrame(arrow), **options)

    assert str(refused.value) == str(alone.value)


def test_two_columns_of_one_name_are_refused_only_if_they_are_wanted(spark: SparkSession):
    frame = spark.createDataFrame(pa.table({"type": ["A"], "time": [1], "x": [1]}))
    twice = frame.select("type", "time", "x", "x")

    assert Workload.parse(COUNT).run(twice).count() == 0
    with pytest.raises(SchemaError, match="there are 2 columns 'x'"):
        Workload.parse("RETURN SUM(A.x) PATTERN A+ WITHIN 1 s").run(twice)


def test_a_batch_of_a_stream_is_refused_with_what_to_do(spark: SparkSession):
    stream = spark.readStream.format("rate").load()

    with pytest.raises(PlanError, match=r"read them with spark\.read"):
        answer(Workload.parse(COUNT).plan, stream, Options())


def test_without_counts_types_that_no_query_asks_for_are_left_to_the_files(
    spark: SparkSession, settings: Callable[..., None], tmp_path: Path
):
    rows = [("ABCD"[i % 4], i, i % 3) for i in range(60)]
    lake = str(tmp_path / "lake")
    spark.createDataFrame(rows, "type string, time long, k int").write.partitionBy("type").parquet(
        lake
    )
    frame, workload = spark.read.parquet(lake), Workload.parse(BY_K)

    with_counts = answer(workload.plan, frame, Options())
    settings(hamlet__counts="off")
    without = answer(workload.plan, frame, Options())

    scans = [
        next(line for line in explained(each.table).splitlines() if "FileScan" in line)
        for each in (with_counts, without)
    ]
    assert ["type" in scan.split("PartitionFilters: [")[1].split("]")[0] for scan in scans] == [
        False,
        True,
    ]
    found = [sorted(map(str, each.table.collect())) for each in (with_counts, without)]
    assert found[0] == found[1]
    assert len(found[0]) > 5
    statistics = [each.statistics() for each in (with_counts, without)]
    assert [each.events_in for each in statistics] == [60, 30]
    assert statistics[0].events_used == statistics[1].events_used == 30
