"""Files of events as a DataFrame: all of `reading/formats.py`; a file, a folder or a glob; gzip.

Spark reads the files, with the rules of `hamlet/reading` as far as it has them. Text files are read
as texts, and Parquet files with the types that they have, so that Spark guesses nothing. Files with
different columns are read apart and put together by name. Rows that cannot be read have the number
of the reason in the last column.

Where Spark differs: a value in quotes ends with its line, what is not UTF-8 is replaced, and 64-bit
unsigned integers are decimals.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from hamlet.errors import ReadError, SchemaError, reason_of
from hamlet.events.columns import is_text, kind_of
from hamlet.events.csv_file import WRONG_FIELDS, header_of
from hamlet.events.files import paths_of
from hamlet.events.formats import GZIP, check_separated, format_named, format_of, function
from hamlet.events.json_file import NOT_AN_OBJECT, NOT_JSON
from hamlet.events.source import Wanted
from hamlet.spark.files.infer_types import ROWS, TypeSurvey
from hamlet.spark.files.untyped import (
    json_column,
    json_note,
    json_type,
    look_at,
    text_column,
)
from hamlet.spark.kinds import arrow_type, microseconds, naive_moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, SparkSession

    from hamlet.engine import Options
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.events import Fault

    # The names of columns, and what stands between them.
    _Form = tuple[tuple[str, ...], str]

_BAD = "\0bad"
# No text is this, so that only what is empty is null.
NO_TEXT = "\0null"
# How rows of text are read wherever Spark reads them.
CSV: dict[str, Any] = {
    "header": True,
    "mode": "PERMISSIVE",
    "quote": '"',
    "escape": '"',
    "nullValue": NO_TEXT,
}
_HEADER_BYTES = 1 << 20
_LINES_SEEN = 1000


@dataclass(frozen=True, slots=True)
class Source:
    """Events in files.

    name: What to call them in a message.
    frame: Their columns, and last the number of what is wrong with a row, if anything is.
    reasons: What can be wrong.
    size: How many bytes the files have; 0 where nobody knows.
    rows: How many rows they have, where their ends say so.
    notes: What may be a mistake.
    """

    name: str
    frame: DataFrame
    reasons: tuple[str, ...]
    size: int
    notes: tuple[str, ...] = ()
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """Files that were read together.

    columns: Those that are wanted, over the frame.
    names: Of all columns.
    faults: What can be wrong with a row; the first that is counts.
    notes: What may be a mistake.
    """

    frame: DataFrame
    columns: Mapping[str, Column]
    names: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


def read_files(
    spark: SparkSession,
    source: str | Path,
    plan: WorkloadPlan,
    options: Options,
    *,
    has_all: bool = False,
) -> Source:
    """The events of a file, of all files in a folder, or of all files that a glob matches.

    A path with a scheme, such as hdfs://, is left to Spark; it has the ending of its format, or
    none for a folder of Parquet files. With `has_all` columns that no query looks at are read too.

    Raises:
        ReadError: A file cannot be read.
        SchemaError: A column is not the same in all files.
    """
    wanted = Wanted.of(plan, options, has_all=has_all)
    rows: int | None = None
    if "://" in str(source):
        name, size = str(source), 0
        parts = [_read_url(spark, str(source), wanted)]
    else:
        name = Path(source).name or str(source)
        paths = paths_of(source)
        size = sum(path.stat().st_size for path in paths)
        by_reader: dict[str, list[Path]] = {}
        for path in paths:
            by_reader.setdefault(format_of(path).read_on_spark, []).append(path.resolve())
        parts = [
            p for reader, some in by_reader.items() for p in function(reader)(spark, some, wanted)
        ]
        # Files that cannot be read have been refused by now.
        if all(format_of(path).name == "parquet" for path in paths):
            rows = sum(parquet.read_metadata(path).num_rows for path in paths)
    reasons = tuple(dict.fromkeys(reason for part in parts for _, reason in part.faults))
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return Source(name, _joined(parts, wanted, reasons, name), reasons, size, notes, rows)


def _joined(parts: list[_Part], wanted: Wanted, reasons: tuple[str, ...], name: str) -> DataFrame:
    """Parts one below the other; a column that one of them lacks is null there.

    Columns that nobody wants are null too: they are there because a message may name one of them.
    """
    names = list(dict.fromkeys(column for part in parts for column in part.names))
    # Files with nothing in them, not even names of columns, are no events, as on one machine.
    names = names or list(wanted.columns)
    asked = dict.fromkeys([*wanted.columns, *wanted.among(names)])
    present = [name for name in asked if any(name in part.columns for part in parts)]
    kinds = [_kinds(part) for part in parts]
    for column in present:
        _check_alike(column, [each[column] for each in kinds if column in each], name)
    frames = []
    for part, its_kinds in zip(parts, kinds, strict=True):
        columns = [
            _alike(
                part.columns[column], its_kinds[column], [k[column] for k in kinds if column in k]
            )
            if column in part.columns
            else F.lit(None)
            for column in names
        ]
        faults = [(is_faulty, reasons.index(reason)) for is_faulty, reason in part.faults]
        frames.append(part.frame.select(*columns, *([first_fault(faults)] if reasons else [])))
    together = reduce(DataFrame.union, frames)
    return together.toDF(*names, *(["fault"] if reasons else []))


def first_fault(faults: list[tuple[Column, int]]) -> Column:
    """The number of the first fault that a row has; side by side, as there may be hundreds."""
    numbers = [F.when(is_faulty, F.lit(number)) for is_faulty, number in faults]
    return F.coalesce(*numbers, F.lit(None).cast("int"))


def _kinds(part: _Part) -> dict[str, T.DataType]:
    fields = part.frame.select(*part.columns.values()).schema.fields
    return {name: field.dataType for name, field in zip(part.columns, fields, strict=True)}


def _check_alike(column: str, several: list[T.DataType], name: str) -> None:
    kinds = {kind_of(arrow_type(kind)) for kind in several if not isinstance(kind, T.NullType)}
    if len(kinds) > 1:
        called = " in one file and ".join(sorted(str(kind) for kind in kinds))
        raise SchemaError(name, f"column '{column}' is {called} in another")


def _alike(column: Column, kind: T.DataType, several: list[T.DataType]) -> Column:
    """A column that can stand below others: times of several types become timestamps.

    They have no zone where none of the types has one.
    """
    types = {type(kind) for kind in several} - {T.NullType}
    is_time = isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType)
    if len(types) == 1 or not is_time:
        return column
    micros = microseconds(column, kind)
    return F.timestamp_micros(micros) if T.TimestampType in types else naive_moment(micros)


def _spark_path(path: Path) -> str:
    r"""A path as Spark takes it, for which brackets and the like are patterns.

    >>> print(_spark_path(Path("/data/a[1].csv")))
    /data/a\[1\].csv
    """
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", str(path))


# CSV


def read_csvs(spark: SparkSession, paths: list[Path], wanted: Wanted) -> Iterator[_Part]:
    """CSV files; those with the same header and separator are read together."""
    alike: dict[_Form, list[str]] = {}
    for path in paths:
        separator = wanted.separator or format_of(path).separator or ","
        names = header_of(str(path), next(_lines(path, 1), b""), separator)
        alike.setdefault((tuple(names), separator), []).append(_spark_path(path))
    yield _csv_part(spark, alike, wanted)


def _csv_part(spark: SparkSession, alike: Mapping[_Form, list[str]], wanted: Wanted) -> _Part:
    """CSV files, read as texts and put together before it is decided what the texts are."""
    names = tuple(dict.fromkeys(column for header, _ in alike for column in header))
    present = wanted.among(names)
    frames = []
    for (header, separator), some in alike.items():
        texts = [
            F.col(f"c{header.index(column)}") if column in header else F.lit(None).cast("string")
            for column in present
        ]
        frames.append(_texts(spark, len(header), separator, some).select(*texts, _quoted(_BAD)))
    frame = reduce(DataFrame.union, frames).toDF(*(f"t{i}" for i in range(len(present))), _BAD)
    is_bad = _is_bad(F.col("t0")) if present else F.lit(False)
    look = TypeSurvey(wanted, tuple(present))
    facts = look_at(frame.where(~is_bad).drop(_BAD), look) if present else {}
    typed = {
        name: text_column(name, F.col(f"t{i}"), facts.get(i, Counter()), wanted)
        for i, name in enumerate(present)
    }
    faults: list[Fault] = [(is_bad, WRONG_FIELDS)]
    faults += [column.fault for column in typed.values() if column.fault is not None]
    return _Part(frame, {n: each.column for n, each in typed.items()}, names, tuple(faults))


def _texts(spark: SparkSession, width: int, separator: str, paths: list[str]) -> DataFrame:
    fields = [T.StructField(f"c{i}", T.StringType()) for i in range(width)]
    schema = T.StructType([*fields, T.StructField(_BAD, T.StringType())])
    reader = spark.read.schema(schema)
    # Without all columns Spark does not notice that a row has too few or too many.
    reader = reader.option("columnPruning", False).option("columnNameOfCorruptRecord", _BAD)
    return reader.csv(paths, sep=separator, **CSV)


def _lines(path: Path, most: int) -> Iterator[bytes]:
    """The first lines of a file."""
    try:
        with gzip.open(path) if path.suffix.lower() == GZIP else path.open("rb") as file:
            for _ in range(most):
                line = file.readline(_HEADER_BYTES)
                if not line:
                    return
                yield line
    except (OSError, EOFError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise ReadError(str(path), reason) from error


# JSON lines


def read_jsons(spark: SparkSession, paths: list[Path], wanted: Wanted) -> Iterator[_Part]:
    """Files of JSON lines."""
    names: dict[str, None] = {}
    for path in paths:
        lines = list(_lines(path, _LINES_SEEN))
        if b"".join(lines).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise ReadError(str(path), "it is one JSON list; write one object on each line")
        names |= dict.fromkeys(_keys(lines))
    yield _json_part(spark, [_spark_path(path) for path in paths], tuple(names), wanted)


def _keys(lines: list[bytes]) -> Iterator[str]:
    for line in lines:
        with suppress(ValueError):
            row = json.loads(line)
            yield from row if isinstance(row, dict) else ()


def _json_part(
    spark: SparkSession, paths: list[str], names: tuple[str, ...], wanted: Wanted
) -> _Part:
    """JSON lines, in the types of their values, or as values of any type where they have several.

    A column that no line has is not there.
    """
    asked = tuple(dict.fromkeys([*wanted.columns, *wanted.among(names)]))
    facts = look_at(spark.read.text(paths), TypeSurvey(wanted, asked), is_json=True)
    there = {n: facts[i] for i, n in enumerate(asked) if facts.get(i, Counter())["there"]}
    kinds = {name: json_type(name, each, wanted) for name, each in there.items() if each["given"]}
    is_plain = not facts.get(ROWS, Counter())["bad"] and None not in kinds.values()
    stored = {
        name: kinds.get(name) or T.StringType() if is_plain else T.VariantType() for name in there
    }
    if not stored:
        return _Part(spark.read.text(paths).limit(0), {}, names)
    fields = [T.StructField(name, kind) for name, kind in stored.items()]
    schema = T.StructType([*fields, T.StructField(_BAD, T.StringType())])
    reader = spark.read.schema(schema).option("columnNameOfCorruptRecord", _BAD)
    frame = reader.json(paths, mode="PERMISSIVE").toDF(*(f"v{i}" for i in range(len(fields))), _BAD)
    bad = F.col(_quoted(_BAD))
    is_bad = _is_bad(F.schema_of_variant("v0") if not is_plain else F.col("v0").cast("string"))
    typed = {
        name: json_column(name, F.col(f"v{i}"), each, wanted, stored[name])
        for i, (name, each) in enumerate(there.items())
    }
    faults: list[Fault] = [
        (is_bad & F.try_parse_json(bad).isNull(), NOT_JSON),
        (is_bad, NOT_AN_OBJECT),
    ]
    faults += [column.fault for column in typed.values() if column.fault is not None]
    known = tuple(dict.fromkeys([*names, *typed]))
    notes = [note for name in there if (note := json_note(name, there[name], wanted))]
    columns = {n: each.column for n, each in typed.items()}
    return _Part(frame, columns, known, tuple(faults), tuple(notes))


def _quoted(name: str) -> str:
    return f"`{name}`"


def _is_bad(text: Column) -> Column:
    """Whether a line could not be read; looks at a column too, without which Spark refuses."""
    return F.col(_quoted(_BAD)).isNotNull() | text.eqNullSafe(NO_TEXT)


# Parquet


def read_parquets(spark: SparkSession, paths: list[Path], wanted: Wanted) -> Iterator[_Part]:
    """Parquet files; those that have the wanted columns in the same types are read together."""
    by_schema: dict[pa.Schema, list[str]] = {}
    names: dict[str, None] = {}
    for path in paths:
        if path.suffix.lower() == GZIP:
            reason = "Spark reads no Parquet inside gzip; unpack it, or pass --engine local"
            raise ReadError(str(path), reason)
        try:
            schema = parquet.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            raise ReadError(str(path), f"not a Parquet file ({error})") from error
        names |= dict.fromkeys(schema.names)
        some = pa.schema([schema.field(column) for column in wanted.among(schema.names)])
        by_schema.setdefault(some.remove_metadata(), []).append(_spark_path(path))
    for schema, some_paths in by_schema.items():
        fields = [T.StructField(f.name, stored_type(f.type)) for f in schema if _is_stored(f.type)]
        frame = spark.read.schema(T.StructType(fields)).parquet(*some_paths)
        places = {field.name: f"p{i}" for i, field in enumerate(fields)}
        columns = {
            field.name: restored(F.col(places[field.name]), field.type)
            if field.name in places
            else F.lit(None)
            for field in schema
        }
        yield _Part(frame.toDF(*places.values()), columns, tuple(names))


def _is_stored(kind: pa.DataType) -> bool:
    return not pa.types.is_null(kind)


def stored_type(kind: pa.DataType) -> T.DataType:
    """The type in which Spark reads what Arrow has written."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return T.LongType()
    if kind in _UNSIGNED:
        return _UNSIGNED[kind]
    if pa.types.is_date(kind):
        return T.DateType()
    if is_text(kind):
        return T.StringType()
    if kind_of(kind) is None:
        return T.BinaryType()  # which is refused
    return from_arrow_type(kind, prefer_timestamp_ntz=True)


_UNSIGNED = {
    pa.uint8(): T.ShortType(),
    pa.uint16(): T.IntegerType(),
    pa.uint32(): T.LongType(),
    pa.uint64(): T.DecimalType(20, 0),
}


def restored(column: Column, kind: pa.DataType) -> Column:
    """Nanoseconds, which Spark does not have, as timestamps."""
    if not (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return column
    whole = column - F.pmod(column, F.lit(1000))
    micros = F.call_function("div", whole, F.lit(1000))
    return naive_moment(micros) if kind.tz is None else F.timestamp_micros(micros)


# Elsewhere


def _read_url(spark: SparkSession, url: str, wanted: Wanted) -> _Part:
    """Files that only Spark can find."""
    format_ = format_of(Path(url)) if Path(url).suffix else format_named("parquet")
    if format_.separator is not None:
        separator = wanted.separator or format_.separator
        header = spark.read.csv(url, header=True, sep=separator).columns
        check_separated(url, header, separator)
        return _csv_part(spark, {(tuple(header), separator): [url]}, wanted)
    if format_.name == "json":
        lines = spark.read.text(url).limit(_LINES_SEEN).collect() if wanted.has_all else []
        names = tuple(dict.fromkeys(_keys([str(line[0]).encode() for line in lines])))
        return _json_part(spark, [url], names, wanted)
    frame = spark.read.parquet(url)
    names = tuple(frame.columns)
    renamed = frame.toDF(*(f"p{i}" for i in range(len(names))))
    columns = {column: F.col(f"p{names.index(column)}") for column in wanted.among(names)}
    return _Part(renamed, columns, names)
