"""Columns of odd texts on Spark and in streams against the same columns on one machine.

Would catch a text that one host takes for a number, a time or a flag and another does not, a column
that has another type there, a row that is left out here and kept there, and results that differ for
any of these. Columns are drawn at random, with a fixed seed, and stand in every role: attribute,
key and time.
"""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from odd_texts import columns
from pyarrow import parquet
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet import Workload
from hamlet.cli import run
from hamlet.engine import Options
from hamlet.errors import ReadError, SchemaError
from hamlet.events import files
from hamlet.events import text_rules as rules
from hamlet.events.source import Wanted
from hamlet.events.texts import TYPES, look_at, values_of_texts
from hamlet.io.long_form import COLUMNS
from hamlet.spark.batch import answer
from hamlet.spark.files import texts as spark_texts
from hamlet.spark.files.reading import read_files
from hamlet.spark.stream.form import form_of
from hamlet.spark.stream.reading import read_stream

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = 8


def quoted(text: str) -> str:
    return f'"{text}"' if text.strip() != text else text


def write(path: Path, header: list[str], rows: list[list[str]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = [",".join(header), *(",".join(map(quoted, row)) for row in rows)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def plain(column: Any) -> list[Any]:
    """Values that compare whatever type they came in: times as numbers, decimals as integers."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return [
        int(v) if pa.types.is_decimal(column.type) and v is not None else v
        for v in column.to_pylist()
    ]


def rows_of(frame: DataFrame, names: list[str]) -> dict[str, list[Any]]:
    table = frame.select(*(f"`{name}`" for name in names)).toArrow().sort_by(names[0])
    return {name: plain(table.column(name)) for name in names}


# Reading


def test_columns_are_the_same_in_files_and_streams(spark: SparkSession, tmp_path: Path):
    count = 150
    drawn = columns(count, ROWS, seed=16)
    names = [f"c{number}" for number in range(count)]
    rows = [[str(t), "B", *(column[t] for column in drawn)] for t in range(ROWS)]
    path = write(tmp_path / "in" / "odd.csv", ["time", "type", *names], rows)
    text = f"RETURN COUNT(*) PATTERN B+ GROUPBY {', '.join(names)} WITHIN 1 h"
    plan, options = Workload.parse(text).plan, Options()

    here = files.read_files(path, Wanted.of(plan, options)).table
    source = read_files(spark, path, plan, options)
    form = form_of(str(path.parent), None, plan, options)
    stream = read_stream(spark, str(path.parent), form, plan, options, {})
    query = stream.frame.writeStream.format("memory").queryName("odd").trigger(availableNow=True)
    query.start().awaitTermination()

    sorts = {str(kind): sort for sort, kind in TYPES.items()} | {"string": "text"}
    wanted = {name: sorts[str(here.schema.field(name).type)] for name in names}
    assert len(set(wanted.values())) == len(TYPES)
    found = {field.name: field.dataType for field in source.frame.schema}
    assert {name: spark_texts.KNOWN[found[name].simpleString()] for name in names} == wanted
    # A stream takes a column without a value for text.
    kinds = {n: spark_texts.TYPES[sort].simpleString() for n, sort in wanted.items()}
    assert form.columns == {
        "time": "bigint",
        "type": "string",
        **{name: "string" if kind == "void" else kind for name, kind in kinds.items()},
    }
    values = {name: plain(here.column(name)) for name in ["time", *names]}
    assert rows_of(source.frame, ["time", *names]) == values
    assert rows_of(spark.table("odd"), ["time", *names]) == values


@pytest.mark.parametrize("use", ["number", "boolean", "time"])
def test_values_and_faults_are_the_same_for_every_use(spark: SparkSession, use: Any):
    drawn = [pa.array([t or None for t in c], pa.string()) for c in columns(60, ROWS, seed=12)]
    schema = T.StructType([T.StructField(f"c{i}", T.StringType()) for i in range(len(drawn))])
    frame = spark.createDataFrame(list(zip(*(c.to_pylist() for c in drawn), strict=True)), schema)
    asked, wanted = [], []
    for number, column in enumerate(drawn):
        look = look_at(column)
        is_time = use == "time"
        sort = rules.sort_of(look.facts, None if is_time else use, is_time=is_time)
        values, faulty = values_of_texts(column, sort, look)
        wanted += [plain(values), [False] * ROWS if faulty is None else faulty.tolist()]
        is_plain = rules.is_plain(look.facts, sort)
        read = spark_texts.values_of_texts(F.col(f"c{number}"), sort, is_plain=is_plain)
        asked += [read.values.alias(f"v{number}"), read.faulty.alias(f"f{number}")]

    found = frame.coalesce(1).select(*asked).toArrow()

    assert [plain(column) for column in found.columns] == wanted
    assert any(any(faulty) for faulty in wanted[1::2])


# Results


def compared(spark: SparkSession, folder: Path, text: str, **options: Any) -> list[dict[str, Any]]:
    """The results on one machine, after a look at whether they are those of Spark and a stream."""
    workload, chosen = Workload.parse(text), Options(**options)
    alone = workload.run(folder / "in", **options)
    source = read_files(spark, folder / "in", workload.plan, chosen)
    found = answer(workload.plan, source.frame, chosen, name=source.name, reasons=source.reasons)
    there = found.collected()
    assert there.table.to_pylist() == alone.table.to_pylist()
    assert there.statistics.malformed == alone.statistics.malformed
    assert there.statistics.events_used == alone.statistics.events_used
    (folder / "w.hql").write_text(text, encoding="utf-8")
    places = {"source": "in", "out": "out", "checkpoint": "state"} | options
    given = [part for name, place in places.items() for part in (f"--{name}", place)]
    given = [str(folder / part) if part in ("in", "out", "state") else part for part in given]
    assert run(["stream", str(folder / "w.hql"), *given, "--once", "--flush"]) == 0
    streamed = parquet.read_table(folder / "out").to_pylist()
    assert comparable(streamed) == comparable(alone.table.to_pylist())
    for row in alone.table.to_pylist():
        json.loads(row["group"], parse_constant=pytest.fail)
    return alone.table.to_pylist()


def comparable(found: list[dict[str, Any]]) -> list[str]:
    names = [name for name in COLUMNS if name not in ("log10", "window_start", "window_end")]
    return sorted(str([row[name] for name in names]) for row in found)


def test_results_are_the_same_with_odd_keys_and_attributes(spark: SparkSession, tmp_path: Path):
    rows = 30
    drawn = columns(300, rows, seed=13)
    facts = [look_at(pa.array([t or None for t in column])).facts for column in drawn]
    # Keys of every sort, and attributes with many numbers, and others among them.
    keys = {rules.sort_of(seen, None): column for seen, column in zip(facts, drawn, strict=True)}
    some = [c for seen, c in zip(facts, drawn, strict=True) if 20 < seen["numbers"] < rows]
    drawn = [*keys.values(), *some[:3]]
    names = [f"c{number}" for number in range(len(drawn))]
    table = [[str(t), "AB"[t % 2], *(c[t] for c in drawn)] for t in range(rows)]
    write(tmp_path / "in" / "odd.csv", ["time", "type", *names], table)
    queries = [f"RETURN COUNT(*) PATTERN B+ GROUPBY {n} WITHIN 10 s" for n in names[:-3]]
    queries += [
        f"RETURN COUNT(*), MAX(B.{n}) PATTERN B+ WHERE B.{n} < 5 WITHIN 10 s" for n in names[-3:]
    ]

    assert compared(spark, tmp_path, ";\n".join(queries))


@pytest.mark.parametrize("seed", [2, 3])
def test_results_are_the_same_with_odd_times(spark: SparkSession, tmp_path: Path, seed: int):
    times = next(c for c in columns(60, 30, seed) if sum(t.isdigit() or "T" in t for t in c) > 9)
    table = [[times[t], "AB"[t % 2], str(t % 3)] for t in range(30)]
    write(tmp_path / "in" / "odd.csv", ["at", "type", "g"], table)

    assert compared(spark, tmp_path, "RETURN COUNT(*) PATTERN B+ GROUPBY g WITHIN 100 s", time="at")


def test_columns_may_be_separated_otherwise(spark: SparkSession, tmp_path: Path):
    query = "RETURN COUNT(*), SUM(B.x) PATTERN B+ GROUPBY g WITHIN 9 s"
    lines = ["type,time,g,x", 'B,1,"a,b;c\td",1', "B,2,e,2.5", "B,3,e,"]
    for name, separator, options in (("e.tsv", "\t", {}), ("e.csv", ";", {"separator": ";"})):
        folder = tmp_path / name.replace(".", "_")
        (folder / "in").mkdir(parents=True)
        rows = [next(csv.reader([line])) for line in lines]
        text = "\n".join(separator.join(f'"{v}"' if v else "" for v in row) for row in rows)
        (folder / "in" / name).write_text(text + "\n", encoding="utf-8")

        found = compared(spark, folder, query, **options)

        assert {row["group"] for row in found} == {'{"g": "a,b;c\\td"}', '{"g": "e"}'}


def test_another_separator_is_found_and_said(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = "RETURN COUNT(*) PATTERN B+ WITHIN 9 s"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "e.csv").write_text("type;time\nB;1\n")
    (tmp_path / "w.hql").write_text(text)
    places = [f"--{p}={tmp_path / f}" for p, f in (("out", "out"), ("checkpoint", "state"))]

    with pytest.raises(ReadError, match="pass --separator ';'"):
        read_files(spark, tmp_path / "in", Workload.parse(text).plan, Options())
    status = run(["stream", str(tmp_path / "w.hql"), "--source", str(tmp_path / "in"), *places])

    assert status == 2
    assert "pass --separator ';'" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_number_in_quotes_is_refused(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
):
    text = """
        RETURN SUM(B.x) PATTERN B+ WITHIN 9 s;
        RETURN COUNT(*) PATTERN B+ WHERE B.x > '30' WITHIN 9 s
    """
    path = tmp_path / "in" / f"e.{ending}"
    path.parent.mkdir()
    rows = [{"type": "B", "time": 1, "x": 20}, {"type": "B", "time": 2, "x": 100}]
    if ending == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("type,time,x\nB,1,20\nB,2,100\n")
    (tmp_path / "w.hql").write_text(text)
    plan, told = Workload.parse(text).plan, "q2: in x > '30', x is a number and '30' is text"
    places = [f"--{p}={tmp_path / f}" for p, f in (("out", "out"), ("checkpoint", "state"))]

    source = read_files(spark, path, plan, Options())
    with pytest.raises(SchemaError, match=re.escape(told)):
        answer(plan, source.frame, Options(), name=source.name, reasons=source.reasons)
    status = run(["stream", str(tmp_path / "w.hql"), "--source", str(path.parent), *places])

    assert status == 2
    assert told in capsys.readouterr().err
