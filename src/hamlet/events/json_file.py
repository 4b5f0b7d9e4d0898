"""One file of JSON lines as a table: an object on each line, a column for each name in them.

Arrow reads all of it, or, where it cannot, all but the lines that it cannot read: those are looked
for in short pieces of the file, and only pieces with such a line are read line by line. Where a
column has several kinds of values and no query says which is right, Python reads everything.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from hamlet.errors import ReadError
from hamlet.events.columns import EXACT, kind_of
from hamlet.events.source import NOT_A_TIME, Sieve, SourceTable, Wanted, one_piece
from hamlet.events.texts import times_of_texts
from hamlet.events.untyped import (
    column_of_values,
    is_used_as,
    kind_of_value,
    mixed_note,
    times_of_values,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

NOT_JSON, NOT_AN_OBJECT = "not JSON", "not a JSON object"
_BLOCK = 1 << 23
_PIECE = 1 << 18
_FIRST_LINE = 1 << 16


def read_json(path: Path, content: pa.Buffer, wanted: Wanted) -> SourceTable:
    """The wanted columns of a file of JSON lines."""
    beginning = bytes(content[:4096]).lstrip(b"\xef\xbb\xbf \t\r\n")
    if beginning.startswith(b"["):
        raise ReadError(str(path), "it is one JSON list; write one object on each line")
    sieve = Sieve()
    if not beginning and len(content) <= 4096:
        return SourceTable(path.name, pa.table({}), ())
    table = _by_arrow(content, wanted)
    if table is None:
        cleaned = _Cleaner(wanted).cleaned(content)
        if cleaned is not None:
            table = _by_arrow(pa.py_buffer(cleaned[0]), wanted) if cleaned[0] else None
            sieve.malformed.update(cleaned[1] if table is not None else {})
    if table is None:
        return found_rows(path.name, _by_line(content, sieve.malformed), wanted, sieve)
    names = tuple(table.schema.names)
    table = _timed(table.select(wanted.among(names)), wanted, sieve)
    return SourceTable(path.name, table, names, sieve.malformed)


def _by_arrow(content: pa.Buffer, wanted: Wanted) -> pa.Table | None:
    """The table, or None where Arrow cannot read it or might have changed a value."""
    texts = {name for name in wanted.columns if wanted.needs.kinds.get(name) == "text"}
    texts.add(wanted.type)
    if _begins_with_text(content, wanted.time):
        texts.add(wanted.time)
    while True:
        try:
            table = arrow_json.read_json(
                pa.BufferReader(content),
                read_options=arrow_json.ReadOptions(block_size=_BLOCK),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=pa.schema([(name, pa.string()) for name in sorted(texts)])
                ),
            )
            table.select(wanted.among(table.schema.names)).validate(full=True)
        except pa.ArrowInvalid:
            return None
        # Text that looks like a time is still text; and of the time itself Arrow does not say
        # whether it has a zone.
        dates = {f.name for f in table.schema if pa.types.is_timestamp(f.type)}
        if not dates:
            break
        texts |= dates
    is_given = [name for name in table.schema.names if table.column(name).null_count < len(table)]
    table = table.select([n for n in table.schema.names if n not in texts or n in is_given])
    for name in wanted.needs.partition.intersection(table.schema.names):
        column = table.column(name)
        largest = pc.max(pc.abs(column)).as_py() if pa.types.is_floating(column.type) else 0
        if (largest or 0) >= EXACT:
            return None
    return table


def _begins_with_text(content: pa.Buffer, name: str) -> bool:
    """Whether a value is text on the first line: then it is, most likely, on all others."""
    line = bytes(content[:_FIRST_LINE]).removeprefix(b"\xef\xbb\xbf").split(b"\n")[0]
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and isinstance(row.get(name), str)


def _timed(table: pa.Table, wanted: Wanted, sieve: Sieve) -> pa.Table:
    """The good rows of a table, with its time read, where that is text."""
    index = table.schema.get_field_index(wanted.time)
    if index < 0 or kind_of(table.schema.field(index).type) != "text":
        return table
    read, faulty = times_of_texts(one_piece(table.column(index)))
    sieve.fault(faulty, NOT_A_TIME)
    return sieve.kept(table.set_column(index, wanted.time, read))


def _by_line(content: pa.Buffer, malformed: Counter[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in content.to_pybytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if not line.strip():
            continue
        row = _object(line, malformed)
        if row is not None:
            rows.append(row)
    return rows


def _object(line: bytes, malformed: Counter[str]) -> dict[str, Any] | None:
    """The object on a line, or None and a reason."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        malformed[NOT_JSON] += 1
        return None
    if isinstance(row, dict):
        return row
    malformed[NOT_AN_OBJECT] += 1
    return None


class _Cleaner:
    """Takes out the lines that are no JSON object, or have a value of a kind not asked for."""

    def __init__(self, wanted: Wanted) -> None:
        self.kinds: dict[str, str] = {
            name: kind for name, kind in wanted.needs.kinds.items() if name != wanted.time
        }
        self.kinds[wanted.type] = "text"
        self.malformed: Counter[str] = Counter()
        self.good: Counter[str] = Counter()  # values of the right kind, by column
        self.bad: Counter[str] = Counter()

    def cleaned(self, content: pa.Buffer) -> tuple[bytes, Counter[str]] | None:
        """The other lines, and why the rest was taken out; None where a column is all wrong."""
        pieces = [self._clean(piece) for piece in _pieces(content.to_pybytes())]
        for column in self.bad:
            kind = self.kinds[column]
            if not is_used_as(kind, Counter({kind: self.good[column], "": self.bad[column]})):
                return None
        return b"".join(pieces), self.malformed

    def _clean(self, piece: bytes) -> bytes:
        if not piece.strip():
            return b""
        try:
            table = arrow_json.read_json(
                pa.BufferReader(piece),
                read_options=arrow_json.ReadOptions(block_size=2 * len(piece), use_threads=False),
            )
            table.validate(full=True)
            if all(self._fits(table, column) for column in self.kinds):
                return piece
        except pa.ArrowInvalid:
            pass
        return b"".join(line + b"\n" for line in piece.split(b"\n") if self._is_good(line))

    def _fits(self, table: pa.Table, column: str) -> bool:
        """Whether a column of a piece is of the kind asked for; times there are text."""
        if column not in table.schema.names:
            return True
        kind = kind_of(table.schema.field(column).type)
        fits = kind is None or ("text" if kind == "time" else kind) == self.kinds[column]
        if fits and kind is not None:
            self.good[column] += table.num_rows - table.column(column).null_count
        return fits

    def _is_good(self, line: bytes) -> bool:
        if not line.strip():
            return False
        row = _object(line, self.malformed)
        if row is None:
            return False
        for column, kind in self.kinds.items():
            value = row.get(column)
            if value is None or kind_of_value(value) == kind:
                self.good[column] += value is not None
            else:
                self.bad[column] += 1
                self.malformed[f"{column} is not {_CALLED.get(kind, 'text')}"] += 1
                return False
        return True


def _pieces(content: bytes) -> Iterator[bytes]:
    """The content in pieces of whole lines."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + _PIECE)
        end = len(content) if end < 0 else end + 1
        yield content[start:end]
        start = end


def found_rows(
    name: str, rows: Iterable[Mapping[str, Any]], wanted: Wanted, sieve: Sieve
) -> SourceTable:
    """Rows of Python values; what no row has is no column."""
    rows = list(rows)
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    columns: dict[str, pa.Array] = {}
    notes: list[str] = []
    for column in wanted.among(list(names)):
        values = [row.get(column) for row in rows]
        if column == wanted.time:
            columns[column], faulty = times_of_values(values)
            sieve.fault(faulty, NOT_A_TIME)
        else:
            kind = "text" if column == wanted.type else wanted.needs.kinds.get(column)
            columns[column], faulty = column_of_values(values, kind)
            sieve.fault(faulty, f"{column} is not {_CALLED.get(str(kind), 'text')}")
            kinds = Counter(map(kind_of_value, values))
            if faulty is None and len(kinds - Counter(null=len(values))) > 1:
                notes.append(mixed_note(column, kinds))
    kept = sieve.kept(pa.table(columns))
    return SourceTable(name, kept, tuple(names), sieve.malformed, notes=tuple(notes))


_CALLED = {"number": "a number", "boolean": "a truth value", "time": "a time"}
