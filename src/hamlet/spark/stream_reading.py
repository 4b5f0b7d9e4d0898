"""Sources of a stream: folders of CSV, JSON lines or Parquet, and topics of Kafka.

What a column is has to be known before the first row, and cannot change while the stream goes on.
So it is taken from files that are there already, or from a file of examples, by the rules of
`hamlet/reading`; then it is noted in the checkpoint, and taken from there when the stream goes on.
A value that is something else is a fault of its row.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.errors import PlanError, ReadError
from hamlet.needs import needs_of
from hamlet.reading.csv_file import WRONG_FIELDS
from hamlet.reading.files import FORMATS, format_of, paths_of, read_files
from hamlet.reading.found import NOT_A_TIME, Wanted
from hamlet.reading.json_file import NOT_AN_OBJECT, NOT_JSON
from hamlet.schema import Schema
from hamlet.spark import texts
from hamlet.spark.reading import restored, stored_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from hamlet.engine import Options
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.events import Fault

KAFKA = "kafka"
_BAD = "\0bad"
_NO_TEXT = "\0null"
_NANO = "nanoseconds"
_ENDINGS = {"csv": ".csv", "json": ".{jsonl,ndjson,json}", "parquet": ".parquet"}
# So many files, and bytes, are looked at to find out what columns are.
_MOST_FILES, _MOST_BYTES = 20, 1 << 26
_CALLED = {"boolean": "a truth value", "string": "text"}
_KINDS = {"number": "double", "text": "string", "boolean": "boolean", "time": "timestamp"}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of Kafka.

    servers: Where to ask, as host:port, separated by commas.
    """

    servers: str
    name: str

    @staticmethod
    def of(written: str) -> Topic | None:
        """The topic that is written as kafka:host:port/topic; None where it is something else.

        >>> Topic.of("kafka:one:9092,two:9092/trips")
        Topic(servers='one:9092,two:9092', name='trips')
        """
        if not written.startswith(f"{KAFKA}:"):
            return None
        found = re.fullmatch(r"kafka:([^/\s]+:\d+)/([A-Za-z0-9._-]+)", written)
        if found is None:
            raise PlanError("topic", written, "Write kafka:HOST:PORT/TOPIC.")
        return Topic(found[1], found[2])


@dataclass(frozen=True, slots=True)
class Form:
    """What the rows of a source are.

    format: csv, json, parquet or kafka.
    columns: The type of each column that is there, as Spark writes it; of one that nobody asks for
        nothing.
    """

    format: str
    columns: Mapping[str, str]

    def described(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"format": self.format, "columns": dict(self.columns)}


def form_of(source: str, sample: str | None, plan: WorkloadPlan, options: Options) -> Form:
    """What the rows of a source are, from its first files or from a file of examples.

    Args:
        source: A folder, or a topic.
        sample: A file of events, or a .json schema.
        plan: The workload.
        options: Which columns have the type, the time and the order.

    Raises:
        ReadError: There is nothing to find it out from.
    """
    wanted = Wanted(options.type, options.time, options.order, needs_of(plan))
    is_topic = Topic.of(source) is not None
    if sample is not None:
        format_ = KAFKA if is_topic else _format_in(source, sample)
        if Path(sample).suffix == ".json" and _is_schema(Path(sample)):
            return Form(format_, _described(Schema.load(sample), wanted))
        return Form(format_, _columns([Path(sample)], wanted))
    if is_topic:
        reason = "what its values are is not known; pass --schema with a file of examples"
        raise ReadError(source, reason)
    paths = _first_files(source)
    formats = {format_of(path) for path in paths}
    if len(formats) > 1:
        raise ReadError(source, f"it has files of several formats ({', '.join(sorted(formats))})")
    return Form(formats.pop(), _columns(paths, wanted))


def _is_schema(path: Path) -> bool:
    """Whether a file describes columns, and has no events."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and bool({"attributes", "types"} & set(found))


def _format_in(source: str, sample: str) -> str:
    try:
        return format_of(_first_files(source)[0])
    except ReadError:
        if _is_schema(Path(sample)):
            raise
        return format_of(Path(sample))


def _first_files(source: str) -> list[Path]:
    folder = Path(source)
    if not folder.is_dir():
        raise ReadError(source, "a source is a folder, or kafka:HOST:PORT/TOPIC")
    try:
        paths = paths_of(folder)
    except ReadError as error:
        reason = f"there are no events in it yet ({', '.join(FORMATS)}); to begin all the same"
        raise ReadError(source, f"{reason}, pass --schema with a file of examples") from error
    some: list[Path] = []
    size = 0
    for path in paths[:_MOST_FILES]:
        size += path.stat().st_size
        if some and size > _MOST_BYTES:
            break
        some.append(path)
    return some


def _columns(paths: Sequence[Path], wanted: Wanted) -> dict[str, str]:
    """The types of the columns of files."""
    if format_of(paths[0]) == "parquet":
        return _parquet_types(paths, wanted)
    columns: dict[str, str] = {}
    for path in paths:
        found = read_files(path, wanted)
        for name in found.columns:
            columns.setdefault(name, "")
        for field in found.table.schema:
            if not pa.types.is_null(field.type):
                columns[field.name] = _wider(columns.get(field.name, ""), _type_of(field.type))
    # Of a column without a value nothing is known but how it is used.
    for name in wanted.among(list(columns)):
        if not columns[name]:
            columns[name] = _KINDS.get(wanted.needs.kinds.get(name, "text"), "string")
    return columns


def _wider(one: str, other: str) -> str:
    """The type that holds the values of two."""
    return "double" if {one, other} == {"bigint", "double"} else one or other


def _type_of(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.unit == "ns" or kind.tz else "timestamp_ntz"
    if pa.types.is_integer(kind) and kind not in (pa.uint64(),):
        return "bigint"
    if pa.types.is_floating(kind):
        return "double"
    return stored_type(kind).simpleString()


def _described(schema: Schema, wanted: Wanted) -> dict[str, str]:
    """Types of kinds: a number is a double, since nobody says that it is whole."""
    kinds: dict[str, Any] = dict(schema.attributes)
    for some in (schema.types or {}).values():
        kinds |= some
    kinds.setdefault(wanted.type, "text")
    return {name: _KINDS.get(kind, "string") for name, kind in kinds.items()}


# Streams


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
    wanted = Wanted(options.type, options.time, options.order, needs_of(plan))
    topic = Topic.of(source)
    if topic is not None:
        frame = _topic_lines(spark, topic, limits)
        return _typed(source, frame, form, _json_columns(form, wanted))
    reader = spark.readStream.options(**limits)
    reader = reader.option("pathGlobFilter", f"*{_ENDINGS[form.format]}{{,.gz}}")
    reader = reader.option("recursiveFileLookup", "true")
    if form.format == "parquet":
        frame, typed = _parquet_rows(reader, source, form, wanted)
        return _typed(source, frame, form, typed)
    if form.format == "csv":
        frame = _csv_rows(reader, source, form)
        return _typed(source, frame, form, _csv_columns(form, wanted))
    lines = reader.schema("value string").text(source).where(F.trim("value") != "")
    return _typed(source, _parsed(lines), form, _json_columns(form, wanted))


def _typed(
    source: str,
    frame: DataFrame,
    form: Form,
    typed: Iterator[tuple[str, Column | None, Fault | None]],
) -> StreamSource:
    """The columns of a source that are wanted, with their types, and what is wrong with rows."""
    columns: dict[str, Column] = {}
    faults: list[Fault] = []
    for name, column, fault in typed:
        if column is not None:
            columns[name] = column
        faults += [] if fault is None else [fault]
    reasons = tuple(dict.fromkeys(reason for _, reason in faults))
    first = F.lit(None).cast("int")
    for is_faulty, reason in reversed(faults):
        first = F.when(is_faulty, F.lit(reasons.index(reason))).otherwise(first)
    found = [columns.get(name, F.lit(None)) for name in form.columns]
    name = Path(source).name or source
    if not reasons:
        return StreamSource(name, frame.select(*found).toDF(*form.columns), ())
    return StreamSource(name, frame.select(*found, first).toDF(*form.columns, "fault"), reasons)


# CSV


def _csv_rows(reader: Any, source: str, form: Form) -> DataFrame:
    """All columns as texts, by place; a file whose header is another is an error."""
    fields = [T.StructField(name, T.StringType()) for name in form.columns]
    reader = reader.schema(T.StructType([*fields, T.StructField(_BAD, T.StringType())]))
    reader = reader.option("columnPruning", "false").option("columnNameOfCorruptRecord", _BAD)
    rows: DataFrame = reader.csv(
        source,
        header=True,
        enforceSchema=False,
        mode="PERMISSIVE",
        quote='"',
        escape='"',
        nullValue=_NO_TEXT,
    )
    return rows.toDF(*(f"c{i}" for i in range(len(fields))), _BAD)


def _csv_columns(form: Form, wanted: Wanted) -> Iterator[tuple[str, Column | None, Fault | None]]:
    bad = F.col(f"`{_BAD}`").isNotNull()
    yield "", None, (bad | F.col("c0").eqNullSafe(_NO_TEXT), WRONG_FIELDS)
    for place, name in enumerate(form.columns):
        if name not in wanted.columns:
            continue
        text, kind = F.col(f"c{place}"), form.columns[name]
        value, is_given = _of_text(text, kind)
        yield name, value, (is_given & value.isNull(), _reason(name, kind, wanted))


def _of_text(text: Column, kind: str) -> tuple[Column, Column]:
    """Texts as values of a type, and where there is anything to read."""
    if kind == "string":
        return text, F.lit(False)
    if kind == "boolean":
        read = texts.booleans(text)
        return read.values, read.faulty
    if kind in ("timestamp", "timestamp_ntz", "date"):
        moment = F.timestamp_micros(texts.iso_times(text).values)
        words = texts.trimmed(text)
        return moment, words.isNotNull() & (words != "")
    known = texts.known_number(text)
    return F.when(known.rlike(texts.NUMBER), known).try_cast(kind), known.isNotNull()


def _reason(name: str, kind: str, wanted: Wanted) -> str:
    if name == wanted.time:
        return NOT_A_TIME
    is_time = kind in ("timestamp", "timestamp_ntz", "date")
    return f"{name} is not " + ("a time" if is_time else _CALLED.get(kind, "a number"))


# JSON


def _topic_lines(spark: SparkSession, topic: Topic, limits: Mapping[str, str]) -> DataFrame:
    reader = spark.readStream.format("kafka").options(**limits)
    reader = reader.option("kafka.bootstrap.servers", topic.servers).option("subscribe", topic.name)
    lines = reader.option("startingOffsets", "earliest").load()
    return _parsed(lines.select(F.col("value").cast("string").alias("value")))


def _parsed(lines: DataFrame) -> DataFrame:
    row = F.try_parse_json("value").alias("row")
    return lines.select(F.col("value"), row)


def _json_columns(form: Form, wanted: Wanted) -> Iterator[tuple[str, Column | None, Fault | None]]:
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
        return F.timestamp_micros(texts.iso_times(text).values), is_given
    fits = shape.rlike(r"\A(BIGINT|DOUBLE|FLOAT|DECIMAL)")
    if kind in ("string", "boolean"):
        fits = shape == F.lit(kind.upper())
    return F.when(fits, F.try_variant_get(value, "$", kind)), is_given


# Parquet


def _parquet_types(paths: Sequence[Path], wanted: Wanted) -> dict[str, str]:
    """The types in which Spark reads Parquet files; nanoseconds it does not have."""
    columns: dict[str, str] = {}
    for path in paths:
        try:
            schema = parquet.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            raise ReadError(str(path), f"not a Parquet file ({error})") from error
        for field in schema:
            is_nano = pa.types.is_timestamp(field.type) and field.type.unit == "ns"
            is_wanted = field.name in wanted.columns and not pa.types.is_null(field.type)
            kind = _NANO if is_nano else stored_type(field.type).simpleString() if is_wanted else ""
            columns[field.name] = columns.get(field.name) or kind
    return columns


def _parquet_rows(
    reader: Any, source: str, form: Form, wanted: Wanted
) -> tuple[DataFrame, Iterator[tuple[str, Column | None, Fault | None]]]:
    """Parquet files, which have types of their own; texts may still be no times."""
    names = [name for name in form.columns if name in wanted.columns and form.columns[name]]
    kinds = ["bigint" if form.columns[name] == _NANO else form.columns[name] for name in names]
    ddl = ", ".join(f"{_quoted(n)} {kind}" for n, kind in zip(names, kinds, strict=True))
    frame = reader.schema(ddl).parquet(source).toDF(*(f"p{i}" for i in range(len(names))))

    def typed() -> Iterator[tuple[str, Column | None, Fault | None]]:
        for place, name in enumerate(names):
            column = F.col(f"p{place}")
            if form.columns[name] == _NANO:
                yield name, restored(column, pa.timestamp("ns")), None
            elif name == wanted.time and form.columns[name] == "string":
                value, is_given = _of_text(column, "timestamp")
                yield name, value, (is_given & value.isNull(), NOT_A_TIME)
            else:
                yield name, column, None

    return frame, typed()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
