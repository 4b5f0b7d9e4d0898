"""Files of events as Arrow tables: all of `formats.py`; a file, a folder or a glob; gzip.

Arrow reads whole files fast but gives up at the first row that it cannot read. So each text format
has two ways: Arrow's, where the result shows that every line of the file became a row or was
reported, and otherwise line by line, where a line that cannot be read is counted by its reason and
the next one is read all the same.
"""

from __future__ import annotations

import glob
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from hamlet.errors import ReadError, SchemaError, listed, near_path
from hamlet.events.columns import is_text, kind_of
from hamlet.events.csv_file import read_texts
from hamlet.events.formats import ENDINGS, GZIP, ending_of, format_of, function
from hamlet.events.infer_types import typed
from hamlet.events.json_file import read_json
from hamlet.events.source import SourceTable, Wanted

if TYPE_CHECKING:
    from hamlet.events.csv_file import Texts


def read_files(source: str | Path, wanted: Wanted) -> SourceTable:
    """The events of a file, of all files in a folder, or of all files that a glob matches."""
    paths = paths_of(source)
    by_reader: dict[str, list[Path]] = {}
    for path in paths:
        by_reader.setdefault(format_of(path).read, []).append(path)
    parts: list[SourceTable] = [function(name)(some, wanted) for name, some in by_reader.items()]
    columns = tuple(dict.fromkeys(column for part in parts for column in part.columns))
    table = joined([part.table for part in parts], _short(source))
    malformed = sum((part.malformed for part in parts), Counter[str]())
    return SourceTable(_short(source), table, columns, malformed, notes=_notes(parts))


def _notes(parts: list[SourceTable]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for part in parts for note in part.notes))


def _short(source: str | Path) -> str:
    return Path(source).name or str(source)


def paths_of(source: str | Path) -> list[Path]:
    """The files that a path stands for, in order of their names."""
    path = Path(source)
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.exists():
            return [path]
    except OSError as error:
        raise ReadError(str(source), error.strerror or str(error)) from error
    if not glob.has_magic(str(source)):
        raise ReadError(str(source), "no such file or folder" + near_path(path))
    matches = [Path(name) for name in sorted(glob.glob(str(source), recursive=True))]  # noqa: PTH207
    files = [m for match in matches for m in (_in_folder(match) if match.is_dir() else [match])]
    if not files:
        raise ReadError(str(source), "it matches no file")
    return files


def _in_folder(folder: Path) -> list[Path]:
    """The files of events below a folder; names that begin with . or _ are not data."""
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and ending_of(path) in ENDINGS
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not files:
        raise ReadError(str(folder), f"there are no events in this folder ({listed(ENDINGS)})")
    return files


def contents(path: Path) -> pa.Buffer:
    """All bytes of a file, unpacked; a plain file is mapped and not copied."""
    try:
        if path.suffix.lower() == GZIP:
            with pa.input_stream(str(path), compression="gzip") as stream:
                return stream.read_buffer()
        if path.stat().st_size == 0:
            return pa.py_buffer(b"")
        with pa.memory_map(str(path)) as mapped:
            return mapped.read_buffer()
    except (OSError, pa.ArrowException) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ReadError(str(path), reason or str(error).split(". ")[0]) from error


# Parquet


def read_parquets(paths: list[Path], wanted: Wanted) -> SourceTable:
    """Parquet files, which have types of their own."""
    tables, names = [], dict[str, None]()
    for path in paths:
        try:
            file = parquet.ParquetFile(pa.BufferReader(contents(path)))
            schema = file.schema_arrow
            names.update(dict.fromkeys(schema.names))
            present = wanted.among(schema.names)
            # Text comes with its dictionary, which saves hashing every row again.
            texts = [name for name in present if is_text(schema.field(name).type)]
            file = parquet.ParquetFile(pa.BufferReader(contents(path)), read_dictionary=texts)
            tables.append(file.read(columns=present))
        except (OSError, pa.ArrowException) as error:
            raise ReadError(str(path), f"not a Parquet file ({error})") from error
    return SourceTable(str(paths[0]), joined(tables, paths[0].name), tuple(names))


# Text


def read_csvs(paths: list[Path], wanted: Wanted) -> SourceTable:
    """CSV files; a column that is text in one and something else in another is text in all."""
    texts = [
        read_texts(
            path, contents(path), _separator(path, wanted.separator), wanted.among, wanted.type
        )
        for path in paths
    ]
    return _together(paths, typed(texts, wanted))


def _separator(path: Path, given: str | None) -> str:
    return given or format_of(path).separator or ","


def texts_in(path: Path, content: pa.Buffer, separator: str | None) -> Texts:
    """All columns of what is in a CSV file as texts."""
    between = _separator(path, separator)
    return read_texts(path, content, between, lambda names: list(dict.fromkeys(names)))


def read_jsons(paths: list[Path], wanted: Wanted) -> SourceTable:
    """Files of JSON lines."""
    return _together(paths, [read_json(path, contents(path), wanted) for path in paths])


def _together(paths: list[Path], parts: list[SourceTable]) -> SourceTable:
    table = joined([part.table for part in parts], paths[0].name)
    columns = tuple(dict.fromkeys(column for part in parts for column in part.columns))
    malformed = sum((part.malformed for part in parts), Counter[str]())
    return SourceTable(paths[0].name, table, columns, malformed, notes=_notes(parts))


# Several tables


def _clashing(tables: list[pa.Table]) -> frozenset[str]:
    """The columns that have different kinds in different tables."""
    kinds: dict[str, set[str]] = {}
    for table in tables:
        for column in table.schema:
            if not pa.types.is_null(column.type):
                kinds.setdefault(column.name, set()).add(str(kind_of(column.type)))
    return frozenset(name for name, found in kinds.items() if len(found) > 1)


def joined(tables: list[pa.Table], name: str) -> pa.Table:
    """Tables one below the other; a column that one of them lacks is null there."""
    if len(tables) == 1:
        return tables[0]
    clashing = _clashing(tables)
    if clashing:
        column = min(clashing)
        fields = [table.schema.field(column) for table in tables if column in table.schema.names]
        kinds = " in one file and ".join(sorted({str(kind_of(field.type)) for field in fields}))
        raise SchemaError(name, f"column '{column}' is {kinds} in another")
    return pa.concat_tables(_alike(tables), promote_options="permissive")


def _alike(tables: list[pa.Table]) -> list[pa.Table]:
    """Tables whose columns of text, and of times, have one type."""
    types: dict[str, set[pa.DataType]] = {}
    for table in tables:
        for column in table.schema:
            types.setdefault(column.name, set()).add(column.type)
    for name, several in types.items():
        if len(several) > 1:
            is_zoned = any(pa.types.is_timestamp(each) and each.tz for each in several)
            time = pa.timestamp("us", "UTC" if is_zoned else None)
            tables = [_plain(table, name, time) for table in tables]
    return tables


def _plain(table: pa.Table, name: str, time: pa.DataType) -> pa.Table:
    if name not in table.schema.names:
        return table
    column = table.column(name)
    kind = kind_of(column.type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == "text":
        column = column.cast(pa.large_string())
    elif kind == "time":
        column = column.cast(time, safe=False)
    return table.set_column(table.schema.get_field_index(name), name, column)
