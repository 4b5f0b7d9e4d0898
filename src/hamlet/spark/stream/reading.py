"""Sources of a stream: folders of CSV, JSON lines or Parquet, and topics of Kafka.

Spark reads text files and topics as texts. What columns are is known before (`stream_form.py`), and
a value that is something else is a fault of its row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.events.csv_file import WRONG_FIELDS
from hamlet.events.formats import GZIP, format_named, function
from hamlet.events.infer_types import reason_of
from hamlet.events.json_file import NOT_AN_OBJECT, NOT_JSON
from hamlet.events.source import NOT_A_TIME, Wanted
from hamlet.spark.files import texts
from hamlet.spark.files.reading import CSV, NO_TEXT, first_fault, restored
from hamlet.spark.stream.form import NANO, NANO_ZONED, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from hamlet.engine import Options
    from hamlet.events.text_rules import Sort
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.events import Fault
    from hamlet.spark.stream.form import Form

    # Names, values, and what can be wrong with rows.
    _Columns = Iterator[tuple[str, Column | None, Fault | None]]

_NANOS = {NANO: pa.timestamp("ns"), NANO_ZONED: pa.timestamp("ns", "UTC")}
_BAD = "\0bad"


@dataclass(frozen=True, slots=True)
class StreamSource:
    """Events that come in.

    frame: Their columns, and last the number of what is wrong with a row, if anything is.
    reasons: What can be wrong.
    """

    name: str
    frame: DataFrame
    reasons: tuple[str, ...]


def read_stream(
    spark: SparkSession,
    source: str,
    form: Form,
    plan: WorkloadPlan,
    options: Options,
    limits: Mapping[str, str],
) -> StreamSource:
    """A source as a stream.

    Args:
        spark: The session.
        source: A folder, or a topic.
        form: What its rows are.
        plan: The workload.
        options: Which columns have the type, the time and the order.
        limits: How much is read at a time, as options of Spark.
    """
    wanted = Wanted.of(plan, options)
    topic = Topic.of(source)
    if topic is not None:
        frame = _topic_lines(spark, topic, limits)
        return _typed(source, frame, form, _json_columns(form, wanted))
    format_ = format_named(form.format)
    reader = spark.readStream.options(**limits)
    pattern = f"*{{{','.join(format_.endings)}}}{{,{GZIP}}}"
    reader = reader.option("pathGlobFilter", pattern).option("recursiveFileLookup", "true")
    frame, typed = function(format_.read_stream)(reader, source, form, wanted)
    return _typed(source, frame, form, typed)


def _typed(
    source: str,
    frame: DataFrame,
    form: Form,
    typed: _Columns,
) -> StreamSource:
    """The columns of a source that are wanted, with their types, and what is wrong with rows."""
    columns: dict[str, Column] = {}
    faults: list[Fault] = []
    for name, column, fault in typed:
        if column is not None:
            columns[name] = column
        faults += [] if fault is None else [fault]
    reasons = tuple(dict.fromkeys(reason for _, reason in faults))
    first = first_fault([(is_faulty, reasons.index(reason)) for is_faulty, reason in faults])
    found = [columns.get(name, F.lit(None)) for name in form.columns]
    name = Path(source).name or source
    if not reasons:
        return StreamSource(name, frame.select(*found).toDF(*form.columns), ())
    return StreamSource(name, frame.select(*found, first).toDF(*form.columns, "fault"), reasons)


# CSV


def read_csvs(reader: Any, source: str, form: Form, wanted: Wanted) -> tuple[DataFrame, _Columns]:
    """CSV files, whose texts become values of types that are known."""
    return _csv_rows(reader, source, form), _csv_columns(form, wanted)


def _csv_rows(reader: Any, source: str, form: Form) -> DataFrame:
    """All columns as texts, by place; a file whose header is another is an error."""
    fields = [T.StructField(name, T.StringType()) for name in form.columns]
    reader = reader.schema(T.StructType([*fields, T.StructField(_BAD, T.StringType())]))
    reader = reader.option("columnPruning", "false").option("columnNameOfCorruptRecord", _BAD)
    rows: DataFrame = reader.csv(source, sep=form.between, enforceSchema=False, **CSV)
    return rows.toDF(*(f"c{i}" for i in range(len(fields))), _BAD)


def _csv_columns(form: Form, wanted: Wanted) -> _Columns:
    bad = F.col(f"`{_BAD}`").isNotNull()
    yield "", None, (bad | F.col("c0").eqNullSafe(NO_TEXT), WRONG_FIELDS)
    for place, name in enumerate(form.columns):
        if name not in wanted.columns:
            continue
        kind = form.columns[name]
        read = texts.values_of_texts(F.col(f"c{place}"), _sort(name, kind, wanted))
        fault = (read.faulty, _reason(name, kind, wanted))
        yield name, read.values, None if kind == "string" else fault


def _sort(name: str, kind: str, wanted: Wanted) -> Sort:
    """What texts of a column are; dates of events may have a time of day in later files."""
    sort = texts.sort_named(kind)
    return "clock" if sort == "date" and name == wanted.time else sort


def _moment(kind: str) -> Sort:
    """What texts with times of a type are."""
    return "moment" if kind == "timestamp" else "clock"


def _reason(name: str, kind: str, wanted: Wanted) -> str:
    if kind == "string" and name != wanted.time:
        return f"{name} is not text"
    sort = texts.sort_named(kind) if kind in texts.KNOWN else "double"
    return reason_of(name, sort, is_time=name == wanted.time)


# JSON


def read_jsons(reader: Any, source: str, form: Form, wanted: Wanted) -> tuple[DataFrame, _Columns]:
    """JSON lines, whose values have types of their own."""
    lines = reader.schema("value string").text(source).where(F.trim("value") != "")
    return _parsed(lines), _json_columns(form, wanted)


def _topic_lines(spark: SparkSession, topic: Topic, limits: Mapping[str, str]) -> DataFrame:
    reader = spark.readStream.format("kafka").options(**limits)
    reader = reader.option("kafka.bootstrap.servers", topic.servers).option("subscribe", topic.name)
    lines = reader.load()
    return _parsed(lines.select(F.col("value").cast("string").alias("value")))


def _parsed(lines: DataFrame) -> DataFrame:
    row = F.try_parse_json("value").alias("row")
    return lines.select(F.col("value"), row)


def _json_columns(form: Form, wanted: Wanted) -> _Columns:
    row = F.col("row")
    yield "", None, (row.isNull(), NOT_JSON)
    is_object = F.coalesce(F.schema_of_variant(row).startswith("OBJECT"), F.lit(False))
    yield "", None, (~is_object, NOT_AN_OBJECT)
    for name, kind in form.columns.items():
        if name not in wanted.columns:
            continue
        value = F.try_variant_get(row, "$[" + json.dumps(name, ensure_ascii=False) + "]", "variant")
        read, is_given = _of_value(value, kind)
        yield name, read, (is_given & read.isNull(), _reason(name, kind, wanted))


def _of_value(value: Column, kind: str) -> tuple[Column, Column]:
    """Values of JSON as values of a type, and where there is one."""
    shape = F.schema_of_variant(value)
    is_given = value.isNotNull() & (shape != "VOID")
    if kind in ("timestamp", "timestamp_ntz", "date"):
        text = F.when(shape == "STRING", F.try_variant_get(value, "$", "string"))
        return texts.values_of_texts(text, _moment(kind)).values, is_given
    fits = shape.rlike(r"\A(BIGINT|DOUBLE|FLOAT|DECIMAL)")
    if kind in ("string", "boolean"):
        fits = shape == F.lit(kind.upper())
    return F.when(fits, F.try_variant_get(value, "$", kind)), is_given


# Parquet


def read_parquets(
    reader: Any, source: str, form: Form, wanted: Wanted
) -> tuple[DataFrame, _Columns]:
    """Parquet files, which have types of their own; texts may still be no times."""
    names = [name for name in form.columns if name in wanted.columns and form.columns[name]]
    kinds = ["bigint" if form.columns[name] in _NANOS else form.columns[name] for name in names]
    ddl = ", ".join(f"{_quoted(n)} {kind}" for n, kind in zip(names, kinds, strict=True))
    frame = reader.schema(ddl).parquet(source).toDF(*(f"p{i}" for i in range(len(names))))

    def typed() -> _Columns:
        for place, name in enumerate(names):
            column = F.col(f"p{place}")
            if form.columns[name] in _NANOS:
                yield name, restored(column, _NANOS[form.columns[name]]), None
            elif name == wanted.time and form.columns[name] == "string":
                read = texts.values_of_texts(column, "moment")
                yield name, read.values, (read.faulty, NOT_A_TIME)
            else:
                yield name, column, None

    return frame, typed()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
