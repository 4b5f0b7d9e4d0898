"""What is known of the events before they are read: attributes and their kinds, by type or for all.

A schema is optional. With one, a workload that mentions an attribute that is not there, or uses it
as something it is not, is refused before the first event is read. It is taken from a file of
events (its columns), or from a JSON file that says it in words:

    {"attributes": {"district": "number", "driver": "text"},
     "types": {"Travel": {"speed": "number"}, "Request": {"pool": "boolean"}}}

`attributes` are those of every event. Where `types` is given, no other type exists; where it is
not, any type may occur.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from hamlet.errors import ReadError, SchemaError, did_you_mean, listed, reason_of
from hamlet.reading.formats import ENDINGS, ending_of, format_of, separator_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

Kind = Literal["number", "text", "boolean", "time", "any"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Schema:
    """Kinds of attributes: of every event, and of single types (None: types unknown)."""

    attributes: Mapping[str, Kind] = field(default_factory=dict)
    types: Mapping[str, Mapping[str, Kind]] | None = None

    def of(self, event_type: str) -> dict[str, Kind]:
        """Every attribute of events of a type.

        >>> Schema({"district": "number"}, {"Travel": {"speed": "number"}}).of("Travel")
        {'district': 'number', 'speed': 'number'}
        """
        return {**self.attributes, **(self.types or {}).get(event_type, {})}

    @staticmethod
    def load(path: str | Path, *, separator: str | None = None) -> Schema:
        """Read a schema from a JSON description or from the columns of a file of events.

        Args:
            path: The file.
            separator: What stands between columns of text; None for what the ending says.
        """
        path = Path(path)
        if path.is_dir():
            raise ReadError(str(path), "is a directory")
        try:
            if path.suffix == ".json":
                return _described(path)
            if ending_of(path) not in ENDINGS:
                raise ReadError(str(path), f"a schema is a .json file, or one of {listed(ENDINGS)}")
            path.stat()
            if format_of(path).separator is not None:
                return _of_texts(path, separator_of(separator))
            return Schema.from_arrow(_columns(path))
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
    by_type = {name: _checked(path, name, found) for name, found in (types or {}).items()}
    return Schema(attributes, None if types is None else by_type)


def _checked(path: Path, where: str, found: Any) -> dict[str, Kind]:
    if not isinstance(found, dict):
        raise SchemaError(str(path), f'"{where}" must be an object from attribute to kind')
    for name, kind in found.items():
        if kind not in KINDS:
            guess = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
            reason = f'attribute "{name}" has kind {kind!r}; kinds are {listed(KINDS)}.'
            raise SchemaError(str(path), reason + guess)
    return found


def _of_texts(path: Path, separator: str | None) -> Schema:
    """The kinds that the columns of a CSV file have by their values.

    What is text because of some of its values, and has numbers or truth values too, may be used as
    either: rows with the others are left out then.
    """
    from hamlet.reading import rules
    from hamlet.reading.files import texts_of
    from hamlet.reading.texts import TYPES
    from hamlet.reading.typing import facts_of_column

    texts = texts_of(path, separator, lambda names: list(dict.fromkeys(names)))
    if not texts.columns:
        raise ReadError(str(path), "it has no line with the names of columns")
    if any("\ufffd" in name for name in texts.columns):
        raise ReadError(str(path), "it is not UTF-8 text")
    kinds: dict[str, Kind] = {}
    for name in texts.table.schema.names:
        facts = facts_of_column(texts, name)
        sort = rules.sort_of(facts, None)
        is_open = sort == "text" and rules.is_mixed(facts)
        kinds[name] = "any" if is_open else _kind_of(TYPES[sort]) or "any"
    return Schema(kinds)


def _columns(path: Path) -> pa.Schema:
    """The columns of a file of events whose values have types."""
    import pyarrow as pa
    from pyarrow import json as arrow_json
    from pyarrow import parquet

    try:
        if format_of(path).name == "parquet":
            return parquet.read_schema(path)
        with pa.input_stream(str(path)) as stream:
            found = arrow_json.read_json(stream).schema
    except pa.ArrowInvalid as error:
        raise ReadError(str(path), str(error)) from error
    # Text that looks like a time is still text.
    return pa.schema(
        [
            (each.name, pa.string() if pa.types.is_timestamp(each.type) else each.type)
            for each in found
        ]
    )


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
