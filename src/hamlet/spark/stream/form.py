"""What the rows of a source are: found out once, before a stream begins.

What a column is has to be known before the first row, and cannot change while the stream goes on.
So it is taken from files that are there already, or from a file of examples, by the rules of
`hamlet/reading`; then it is noted in the checkpoint, and taken from there when the stream goes on.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from hamlet.errors import PlanError, ReadError
from hamlet.events.files import paths_of
from hamlet.events.formats import ENDINGS, format_named, format_of, function
from hamlet.events.source import Wanted
from hamlet.schema import Schema
from hamlet.spark.files.reading import stored_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hamlet.engine import Options
    from hamlet.events.source import SourceTable
    from hamlet.plan.workload import WorkloadPlan

KAFKA = "kafka"
# Times that Spark reads as integers.
NANO, NANO_ZONED = "nanoseconds", "nanoseconds of a zone"
# So many files, and bytes, are looked at to find out what columns are.
_MOST_FILES, _MOST_BYTES = 20, 1 << 26
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
        match = re.fullmatch(r"kafka:([^/\s]+:\d+)/([A-Za-z0-9._-]+)", written)
        if match is None:
            reason = f"{written} is not a topic of Kafka"
            raise PlanError(reason, "Write kafka:HOST:PORT/TOPIC.")
        return Topic(match[1], match[2])


@dataclass(frozen=True, slots=True)
class Form:
    """What the rows of a source are.

    format: The name of a format of files, or kafka.
    columns: The type of each column that is there, as Spark writes it; of one that nobody asks for
        nothing.
    separator: What stands between columns of text.
    """

    format: str
    columns: Mapping[str, str]
    separator: str | None = None

    def described(self) -> dict[str, Any]:
        """The same as plain data; a separator is told where it is not that of the format."""
        plain = {"format": self.format, "columns": dict(self.columns)}
        return plain | ({} if self.separator is None else {"separator": self.separator})

    @property
    def between(self) -> str:
        """What stands between columns."""
        return self.separator or format_named(self.format).separator or ","


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
    wanted = Wanted.of(plan, options)
    is_topic = Topic.of(source) is not None
    if sample is not None:
        format_ = KAFKA if is_topic else _format_in(source, sample)
        if Path(sample).suffix == ".json" and _is_schema(Path(sample)):
            return Form(format_, _described(Schema.load(sample), wanted), wanted.separator)
        return Form(format_, _columns([Path(sample)], wanted), wanted.separator)
    if is_topic:
        reason = "what its values are is not known; pass --schema with a file of examples"
        raise ReadError(source, reason)
    paths = _first_files(source)
    formats = {format_of(path).name for path in paths}
    if len(formats) > 1:
        raise ReadError(source, f"it has files of several formats ({', '.join(sorted(formats))})")
    return Form(formats.pop(), _columns(paths, wanted), wanted.separator)


def _is_schema(path: Path) -> bool:
    """Whether a file describes columns, and has no events."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and bool({"attributes", "types"} & set(found))


def _format_in(source: str, sample: str) -> str:
    try:
        return format_of(_first_files(source)[0]).name
    except ReadError:
        if _is_schema(Path(sample)):
            raise
        return format_of(Path(sample)).name


def _first_files(source: str) -> list[Path]:
    folder = Path(source)
    if not folder.is_dir():
        raise ReadError(source, "a source is a folder, or kafka:HOST:PORT/TOPIC")
    try:
        paths = paths_of(folder)
    except ReadError as error:
        reason = f"there are no events in it yet ({', '.join(ENDINGS)}); to begin all the same"
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
    if format_of(paths[0]).name == "parquet":
        return _parquet_types(paths, wanted)
    found: SourceTable = function(format_of(paths[0]).read)(list(paths), wanted)
    columns = dict.fromkeys(found.columns, "")
    for field in found.table.schema:
        if not pa.types.is_null(field.type):
            columns[field.name] = _type_of(field.type)
    # Of a column without a value nothing is known but how it is used.
    for name in wanted.among(list(columns)):
        if not columns[name]:
            columns[name] = _KINDS.get(wanted.needs.kinds.get(name, "text"), "string")
    return columns


def _type_of(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
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
            kind = stored_type(field.type).simpleString() if is_wanted else ""
            if is_nano:
                kind = NANO_ZONED if field.type.tz else NANO
            columns[field.name] = columns.get(field.name) or kind
    return columns
