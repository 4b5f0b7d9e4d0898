"""What is known of the events before they are read: attributes and their kinds, by type or for all.

A schema is optional. With one, a workload that mentions an attribute that is not there, or uses it
as something it is not, is refused before the first event is read. It is taken from a file of
events (its columns), or from a JSON file that says it in words:

    {"attributes": {"district": "number", "driver": "text"},
     "types": {"Travel": {"speed": "number"}, "Request": {"pool": "boolean"}}}

`attributes` are those of every event. Where `types` is given, no other type exists; where it is
not, any type may occur. The types of a file of events are those that its events have, all of which
are looked at unless there are very many.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from hamlet.errors import ReadError, SchemaError, did_you_mean, listed, reason_of
from hamlet.events.formats import ENDINGS, ending_of, format_of, separator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

# A duration is what comes of times; no attribute is one.
Kind = Literal["number", "text", "boolean", "time", "any", "duration"]
KINDS: tuple[str, ...] = get_args(Kind)[:-1]


@dataclass(frozen=True)
class Schema:
    """Kinds of attributes: of every event, and of single types (None: types unknown)."""

    attributes: Mapping[str, Kind] = field(default_factory=dict)
    types: Mapping[str, Mapping[str, Kind]] | None = None
    # Why types are not known, of a file that should have told.
    note: str = field(default="", compare=False)

    def of(self, event_type: str) -> dict[str, Kind]:
        """Every attribute of events of a type.

        >>> Schema({"district": "number"}, {"Travel": {"speed": "number"}}).of("Travel")
        {'district': 'number', 'speed': 'number'}
        """
        return {**self.attributes, **(self.types or {}).get(event_type, {})}

    @staticmethod
    def load(path: str | Path, *, type: str = "type", separator: str | None = None) -> Schema:
        """Read a schema from a JSON description, or from a file of events.

        Args:
            path: A .json file that says it, or a file of events.
            type: Of events, the column with their types.
            separator: What stands between columns of text; None for what the ending says.

        Raises:
            ReadError: It cannot be read.
            SchemaError: The description is not one.
        """
        path = Path(path)
        if path.is_dir():
            raise ReadError(str(path), "is a directory")
        try:
            if path.suffix == ".json":
                return _described(path)
            return _of_events(path, type, separator)
        except OSError as error:
            raise ReadError(str(path), reason_of(error)) from error
        except UnicodeDecodeError as error:
            raise ReadError(str(path), "it is not UTF-8 text") from error

    @staticmethod
    def from_arrow(columns: pa.Schema) -> Schema:
        """The kinds of the columns of a table; columns of other kinds cannot be used in a query."""
        kinds = {column.name: _kind_of(column.type) for column in columns}
        return Schema({name: kind for name, kind in kinds.items() if kind is not None})


def _described(path: Path) -> Schema:
    text = path.read_text(encoding="utf-8")
    try:
        described = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(str(path), f"it is not JSON ({error})") from error
    if not isinstance(described, dict):
        raise SchemaError(str(path), 'expected an object with "attributes" and "types"')
    unknown = set(described) - {"attributes", "types"}
    if unknown:
        reason = f'unknown entry "{min(unknown)}"; a schema has "attributes" and "types"'
        raise SchemaError(str(path), reason)
    types = described.get("types")
    if types is not None and not isinstance(types, dict):
        raise SchemaError(str(path), '"types" must be an object from type to attributes')
    attributes = _checked(path, "attributes", described.get("attributes", {}))
    by_type = {name: _checked(path, name, described) for name, described in (types or {}).items()}
    return Schema(attributes, None if types is None else by_type)


def _checked(path: Path, where: str, described: Any) -> dict[str, Kind]:
    if not isinstance(described, dict):
        raise SchemaError(str(path), f'"{where}" must be an object from attribute to kind')
    for name, kind in described.items():
        if kind not in KINDS:
            guess = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
            reason = f'attribute "{name}" has kind {kind!r}; kinds are {listed(KINDS)}.'
            raise SchemaError(str(path), reason + guess)
    return described


# Files of events

# A second or two, in any format.
_MOST_ROWS = 10_000_000
_MOST_BYTES = 256 << 20


class _Look(NamedTuple):
    """A first look at a file: its columns, the types of its events in pieces, if it is all."""

    columns: pa.Schema
    types: Iterator[Any]
    is_whole: bool = True


def _of_events(path: Path, type: str, separator: str | None) -> Schema:
    """The columns of a file of events, and the types that its events have."""
    import pyarrow as pa

    if ending_of(path) not in ENDINGS:
        raise ReadError(str(path), f"a schema is a .json file, or one of {listed(ENDINGS)}")
    try:
        look = _LOOKS[format_of(path).name](path, type, separator_of(separator))
        attributes = Schema.from_arrow(look.columns).attributes
        if type not in look.columns.names:
            return Schema(attributes)
        names, rows = set[str](), 0
        for piece in look.types:
            names |= set(piece.unique().cast(pa.string()).to_pylist()) - {None, ""}
            rows += len(piece)
            if rows >= _MOST_ROWS:
                break
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ReadError(str(path), str(error)) from error
    if rows >= _MOST_ROWS or not look.is_whole:
        note = f"only the first {rows:,} events of {path} were looked at: types are not checked"
        return Schema(attributes, note=note)
    # Without any event there is none to tell what types there are.
    return Schema(attributes, {name: {} for name in sorted(names)} or None)


def _of_parquet(path: Path, type: str, separator: str | None) -> _Look:
    from pyarrow import parquet

    columns = parquet.read_schema(path)

    def pieces() -> Iterator[Any]:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(1 << 20, columns=[type]):
                yield batch.column(0)

    return _Look(columns, pieces())


def _of_csv(path: Path, type: str, separator: str | None) -> _Look:
    """The kinds that columns of text have by their values.

    What is text because of some of its values, and has numbers or truth values too, may be used as
    either: rows with the others are left out then.
    """
    import pyarrow as pa

    from hamlet.events import text_rules as rules
    from hamlet.events.files import contents, texts_in
    from hamlet.events.infer_types import facts_of_column
    from hamlet.events.texts import TYPES

    path.stat()  # what is not there is told as everywhere
    content = contents(path)
    is_whole = len(content) <= _MOST_BYTES
    texts = texts_in(path, content if is_whole else _first_lines(content), separator)
    if not texts.columns:
        raise ReadError(str(path), "it has no line with the names of columns")
    if any("\ufffd" in name for name in texts.columns):
        raise ReadError(str(path), "it is not UTF-8 text")
    columns = []
    for name in texts.table.column_names:
        facts = facts_of_column(texts, name)
        sort = rules.sort_of(facts, None)
        is_open = sort == "text" and rules.is_mixed(facts)
        columns.append((name, pa.null() if is_open else TYPES[sort]))
    types = texts.table[type].chunks if type in texts.table.column_names else []
    return _Look(pa.schema(columns), iter(types), is_whole)


def _first_lines(content: Any) -> Any:
    """As much of a large file as is looked at, up to the end of a line."""
    last = max(0, _MOST_BYTES - (1 << 20))
    return content[: last + bytes(content[last:_MOST_BYTES]).rfind(b"\n") + 1]


def _of_json(path: Path, type: str, separator: str | None) -> _Look:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    with pa.input_stream(str(path)) as stream:
        first = stream.read(_MOST_BYTES)
    is_whole = len(first) < _MOST_BYTES
    lines = first if is_whole else first[: first.rfind(b"\n")]
    table = arrow_json.read_json(pa.BufferReader(lines))
    types = table[type].chunks if type in table.column_names else []
    # Text that looks like a time is still text.
    is_time = pa.types.is_timestamp
    columns = pa.schema(
        [(f.name, pa.string() if is_time(f.type) else f.type) for f in table.schema]
    )
    return _Look(columns, iter(types), is_whole)


_LOOKS: dict[str, Callable[[Path, str, str | None], _Look]] = {
    "parquet": _of_parquet,
    "csv": _of_csv,
    "tsv": _of_csv,
    "json": _of_json,
}


def _kind_of(column: pa.DataType) -> Kind | None:
    from pyarrow import types

    if types.is_dictionary(column):
        column = column.value_type
    if types.is_null(column):
        return "any"  # no value has shown yet what it is
    if types.is_boolean(column):
        return "boolean"
    if types.is_integer(column) or types.is_floating(column) or types.is_decimal(column):
        return "number"
    if types.is_string(column) or types.is_large_string(column) or types.is_string_view(column):
        return "text"
    if types.is_timestamp(column) or types.is_date(column):
        return "time"
    return None
