"""Files read by Spark against the same files read on one machine: equal rows, equal counts.

Would catch a number, a time or a text that Spark reads otherwise, a row that is lost or counted for
another reason, columns that are mixed up between files, and a zone that finds its way into times.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from hamlet import Workload
from hamlet.engine import Options
from hamlet.errors import ReadError, SchemaError
from hamlet.spark.batch import answer
from hamlet.spark.files.reading import read_files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hamlet.results import Results

QUERIES = """
q1: RETURN COUNT(*), SUM(B.x), MAX(B.y) PATTERN SEQ(A, B+) GROUPBY g WITHIN 4 h;
q2: RETURN COUNT(*), AVG(B.y) PATTERN B+ WHERE B.flag OR B.x > 2 WITHIN 1 h;
q3: RETURN COUNT(B) PATTERN SEQ(A, B+) WHERE B.name != 'b' AND [h] WITHIN 2 h SLIDE 1 h
"""
HEADER = "time,type,g,x,y,flag,name,h"
PLAIN = [
    "2026-03-08T01:59:00,A,1,1,0.5,true,a,2026-03-08",
    "2026-03-08T02:30:00,B,1,2,1.5,false,b,2026-03-08",
    "2026-03-08T02:31:00.5,B,1,3,2.5,true,c,2026-03-08",
    '2026-03-08T03:01:00.123456,B,2,4,,TRUE,"",2026-03-09',
]
ROUGH = [
    '2026-03-08 01:59,A,"one, ""1""",1,0.5,true,a,2026-03-08T00:00:00',
    '2026-03-08T02:30:00Z,B,"one, ""1""", +2 ,1.5e0,0,b,2026-03-08T00:00:00',
    "2026-03-07T21:31:00-05:00,B,two,NA,.5,1,,2026-03-08T00:00:00",
    "2026-03-08T02:32,B,one,4,nan, False ,f,2026-03-08T00:00:00",
    "",
    "   ",
    "2026-03-08T02:33:00,B,one",
    "2026-03-08T02:33:00,B,one,5,5,true,e,2026-03-08T00:00:00,more",
    "2026-02-30T02:33:00,B,one,5,5,true,e,2026-03-08T00:00:00",
    "soon,B,one,5,5,true,e,2026-03-08T00:00:00",
    ",B,one,5,5,true,e,2026-03-08T00:00:00",
    "2026-03-08T02:34:00,,one,5,5,true,e,2026-03-08T00:00:00",
    "2026-03-08T02:34:00,B,one,five,5,true,e,2026-03-08T00:00:00",
    "2026-03-08T02:34:00,B,one,5,5,maybe,e,2026-03-08T00:00:00",
    "2026-03-08T02:34:00,B,,5,5,true,e,2026-03-08T00:00:00",
    "2026-03-08T02:35:00,C,one,5,5,true,e,2026-03-08T00:00:00",
    '2026-03-08T02:36:00,B,"one,5,5,true,e,2026-03-08T00:00:00',
    "2026-03-08T02:37:00,B,one,6,6,true,é \U0001f600,2026-03-08T00:00:00",
]
SECONDS = [
    "0.5,A,x,1,1,1,a,-9223372036854775808",
    "1,B,x,9223372036854775807,1e300,0,b,9223372036854775807",
    "1.0000005,B,x,9223372036854775807,1e-300,1,c,9223372036854775807",
    "-3,A,x,-1,1,0,d,9223372036854775807",
    "1e30,B,x,1,1,0,d,9223372036854775807",
]
LARGE = [
    "1,A,18446744073709551615,1,1,1,a,1",
    "2,B,18446744073709551615,18446744073709551615,1,1,a,123456789012345678901234567890",
    "3,B,18446744073709551615,18446744073709551614,1,1,a,1.5",
]


def objects(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    base = {"time": 1, "type": "B", "g": 1, "x": 1, "y": 0.5, "flag": True, "name": "a", "h": "u"}
    return [base | change for change in changes]


JSON = {
    "plain": objects({"type": "A"}, {"time": 2}, {"time": 3, "x": 4, "g": 2}),
    "kinds": objects(
        {"type": "A"},
        {"time": 2.5, "x": "5"},
        {"time": "3"},
        {"time": 4, "flag": "yes"},
        {"time": 5, "name": 7},
        {"time": 6, "g": "text"},
        {"time": 7, "y": None},
        {"time": 8, "x": 2**70},
        {"time": 9, "h": None},
        {"type": None},
        {"type": 5},
        {"time": None},
    ),
    "iso": objects(
        {"time": "2026-03-08T02:30:00", "type": "A"},
        {"time": "2026-03-08T02:31:00Z"},
        {"time": "later"},
        {"time": 5},
    ),
}


def compare(spark: SparkSession, path: Path, queries: str = QUERIES, **options: Any) -> Results:
    """The results on Spark, after a look at whether they are those of the engine alone."""
    workload, chosen = Workload.parse(queries), Options(**options)
    source = read_files(spark, path, workload.plan, chosen)
    found = answer(workload.plan, source.frame, chosen, name=source.name, reasons=source.reasons)
    results = found.collected()
    alone = workload.run(path, **options)
    assert results.statistics.malformed == alone.statistics.malformed
    assert results.statistics.events_in == alone.statistics.events_in
    assert results.statistics.events_used == alone.statistics.events_used
    assert results.table.to_pylist() == alone.table.to_pylist()
    assert results.table.schema == in_utc(alone.table.schema)
    return results


def in_utc(schema: pa.Schema) -> pa.Schema:
    """A schema with times in UTC instead of another zone: Spark has instants, and no zones."""
    utc = pa.timestamp("us", "UTC")
    is_zoned = [pa.types.is_timestamp(field.type) and field.type.tz for field in schema]
    return pa.schema(
        [field.with_type(utc) if z else field for field, z in zip(schema, is_zoned, strict=True)]
    )


def write(path: Path, lines: list[str], header: str = HEADER) -> Path:
    path.write_text("".join(f"{line}\n" for line in [header, *lines]), encoding="utf-8")
    return path


# CSV


@pytest.mark.parametrize("lines", [PLAIN, ROUGH, SECONDS], ids=["plain", "rough", "seconds"])
def test_csv(spark: SparkSession, tmp_path: Path, lines: list[str]):
    results = compare(spark, write(tmp_path / "events.csv", lines))

    assert len(results)


def test_integers_beyond_64_bits_are_read(spark: SparkSession, tmp_path: Path):
    queries = "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE B.h > 0 WITHIN 1 h"

    results = compare(spark, write(tmp_path / "events.csv", LARGE), queries)

    assert results.table["value"].to_pylist() == [3.0, 2.0**66]


def test_files_of_one_folder_may_differ(spark: SparkSession, tmp_path: Path):
    write(tmp_path / "a[1].csv", PLAIN)
    # Other columns in another order; g is a number in one file and text in this one.
    write(tmp_path / "b.csv", ["B,2026-03-08T02:40:00,u,7"], "type,time,g,x")
    with gzip.open(tmp_path / "c.csv.gz", "wt", encoding="utf-8-sig") as file:
        file.write("\n".join([HEADER, *PLAIN]))
    write(tmp_path / "d.csv", [])

    results = compare(spark, tmp_path)

    assert '{"g": "1"}' in results.table["group"].to_pylist()


def test_no_rows_give_no_results(spark: SparkSession, tmp_path: Path):
    results = compare(spark, write(tmp_path / "events.csv", []))

    assert len(results) == 0


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl"])
def test_a_file_without_a_byte_is_no_events(spark: SparkSession, tmp_path: Path, name: str):
    (tmp_path / name).touch()

    results = compare(spark, tmp_path / name)

    assert len(results) == 0


def test_an_order_column_and_other_names(spark: SparkSession, tmp_path: Path):
    path = write(tmp_path / "e.csv", ["1,B,2,x", "1,A,1,x"], "at,kind,a.b,Kind")
    queries = "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 9 s"

    results = compare(spark, path, queries, type="kind", time="at", order="a.b")

    assert results.table["exact"].to_pylist() == ["1"]


# JSON lines


@pytest.mark.parametrize("name", list(JSON))
def test_json_lines(spark: SparkSession, tmp_path: Path, name: str):
    path = tmp_path / "events.jsonl"
    lines = [json.dumps(row) for row in JSON[name]]
    if name == "kinds":
        lines += ["not json", "[1, 2]", "7", "", '{"time": 8, "type": "B", "y": NaN}', '{"q": 1}']
    path.write_text("\n".join(lines), encoding="utf-8")

    results = compare(spark, path)

    assert len(results)


# Parquet


def parquet_table() -> pa.Table:
    stamps = [datetime(2026, 3, 8, 2, minute, tzinfo=UTC) for minute in (1, 2, 3, 4)]
    return pa.table(
        {
            "time": pa.array(stamps, pa.timestamp("us", "UTC")),
            "type": pa.array(["A", "B", "B", "B"]).dictionary_encode(),
            "g": pa.array([1, 1, 1, 2], pa.uint32()),
            "x": pa.array([1, 2, None, 4], pa.int8()),
            "y": pa.array([1.5, float("nan"), 0.1, 2], pa.float32()),
            "flag": pa.array([True, False, None, True]),
            "name": pa.array(["a", "b", None, "d"], pa.large_string()),
            "h": pa.nulls(4),
        }
    )


TIMES = {
    "nanoseconds": pa.array([1_000_000_001, 2_000_000_999, -1, 5_000_000_000], pa.timestamp("ns")),
    "milliseconds": pa.array([1_000, 2_000, 2_500, 3_000], pa.timestamp("ms", "America/New_York")),
    "naive": pa.array([1_000_000, 2_000_000, 2_500_000, 3_000_000], pa.timestamp("us")),
    "dates": pa.array([date(2026, 3, 8)] * 3 + [date(2026, 3, 7)], pa.date32()),
    "decimals": pa.array([Decimal("1.0000005"), *map(Decimal, (2, 3, 4))], pa.decimal128(20, 7)),
    "doubles": pa.array([1.0000005, 2.5, float("nan"), float("inf")], pa.float64()),
    "integers": pa.array([1, 2, None, 2**62], pa.int64()),
}


@pytest.mark.parametrize("kind", ["plain", *TIMES])
def test_parquet(spark: SparkSession, tmp_path: Path, kind: str):
    table = parquet_table()
    if kind != "plain":
        table = table.set_column(0, "time", TIMES[kind])
    path = tmp_path / "events.parquet"
    parquet.write_table(table, path)

    compare(spark, path)


def test_parquet_files_of_one_folder_may_differ(spark: SparkSession, tmp_path: Path):
    table = parquet_table()
    parquet.write_table(table, tmp_path / "a.parquet")
    other = table.set_column(2, "g", pa.array([1.5, 2, 3, 4])).drop_columns(["flag"])
    other = other.set_column(0, "time", TIMES["dates"])
    parquet.write_table(other, tmp_path / "b.parquet")
    lines = [json.dumps(row) for row in objects({"time": "2026-03-08T02:02:30", "h": None})]
    (tmp_path / "c.jsonl").write_text("\n".join(lines), encoding="utf-8")

    compare(spark, tmp_path)


# What is refused


def test_what_cannot_be_read_is_refused_with_the_same_words(spark: SparkSession, tmp_path: Path):
    for name, content in {
        "none.txt": "",
        "list.json": "[{}]",
        "broken.parquet": "x",
        "words.csv": f"{HEADER}\n1,A,g,x,y,z,n,h\n2,B,g,x,y,z,n,h\n",
        "lacking.csv": "time,kind\n1,A\n",
        "times.csv": f"{HEADER}\nsoon,A,1,1,1,1,1,1\n",
        "lacking.jsonl": '{"time": 1, "kind": "A"}\n',
    }.items():
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        with pytest.raises((ReadError, SchemaError)) as alone:
            Workload.parse(QUERIES).run(path)

        with pytest.raises(type(alone.value)) as refused:
            compare(spark, path)

        assert str(refused.value) == str(alone.value)
    parquet.write_table(parquet_table(), tmp_path / "a.parquet.gz")
    with pytest.raises(ReadError, match="--engine local"):
        compare(spark, tmp_path / "a.parquet.gz")


def test_a_path_with_a_scheme_is_left_to_spark(spark: SparkSession, tmp_path: Path):
    workload = Workload.parse(QUERIES)
    write(tmp_path / "events.csv", PLAIN)
    lines = [json.dumps(row) for row in JSON["plain"]]
    (tmp_path / "events.jsonl").write_text("\n".join(lines), encoding="utf-8")
    parquet.write_table(parquet_table(), tmp_path / "events.parquet")

    for name in ("events.csv", "events.jsonl", "events.parquet"):
        path = tmp_path / name
        source = read_files(spark, path.as_uri(), workload.plan, Options())
        found = answer(workload.plan, source.frame, Options(), reasons=source.reasons)

        assert found.collected().table == workload.run(path).table, name
