"""One CSV file as a table: comma-separated, the names of the columns in its first line.

Arrow takes a quote that is never closed for the beginning of a long value, and the rows after it
are gone without a word. So its result is believed only where every line of the file is accounted
for; if not, the file is read line by line, where a quoted value may go over several lines only if
what comes out is a row.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from hamlet.columns import EXACT, kind_of
from hamlet.reading.found import NOT_A_TIME, Found, Sieve, Wanted, one_piece
from hamlet.reading.untyped import column_of_texts, times_of_texts

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from hamlet.schema import Kind

WRONG_FIELDS = "wrong number of fields"
NOT_UTF8 = "not UTF-8 text"
_QUOTE, _NEWLINE = ord('"'), ord("\n")
_STRETCH = 1 << 24
# A quoted value of more lines than this is taken for a quote that was never closed.
_MOST_LINES = 1000


def read_csv(path: Path, content: pa.Buffer, wanted: Wanted, as_text: frozenset[str]) -> Found:
    """The wanted columns of a CSV file; those of `as_text` as text."""
    names = _header(content)
    present = wanted.among(names)
    sieve = Sieve()
    table = _by_arrow(content, names, present, wanted, as_text, sieve.malformed)
    is_raw = table is None
    if table is None:
        sieve.malformed.clear()
        table = _by_line(content, names, present, sieve.malformed)
    for index, name in enumerate(table.schema.names):
        if name != wanted.type:
            column = _typed(name, table.column(name), wanted, as_text, is_raw, sieve)
            table = table.set_column(index, name, column)
    return Found(path.name, sieve.kept(table), tuple(names), sieve.malformed)


def _header(content: pa.Buffer) -> list[str]:
    first = bytes(content[: 1 << 20]).split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    return next(csv.reader([first.rstrip("\r")]), []) if first.strip() else []


# By Arrow


def _by_arrow(
    content: pa.Buffer,
    names: list[str],
    present: list[str],
    wanted: Wanted,
    as_text: frozenset[str],
    malformed: Counter[str],
) -> pa.Table | None:
    """The table, or None where a row might have been lost."""
    if not present or len(set(names)) < len(names):
        return None
    has_quotes = _count(content, _QUOTE, at_most=1) > 0
    kinds: dict[str, pa.DataType] = {
        name: pa.string()
        for name in present
        if name in as_text or wanted.needs.kinds.get(name) == "text"
    }
    kinds[wanted.type] = pa.dictionary(pa.int32(), pa.string())

    def skip(row: Any) -> str:
        malformed[WRONG_FIELDS] += 1
        return "skip"

    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            parse_options=arrow_csv.ParseOptions(
                invalid_row_handler=skip, newlines_in_values=has_quotes
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=present,
                column_types=kinds,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    if any(pa.types.is_binary(column.type) for column in table.schema):
        return None
    if has_quotes and not _is_complete(content, table.num_rows + malformed[WRONG_FIELDS] + 1):
        return None
    return None if _has_long_keys(table, wanted) else table


def _count(content: pa.Buffer, byte: int, at_most: int | None = None) -> int:
    found, everything = 0, np.frombuffer(content, np.uint8)
    for start in range(0, len(everything), _STRETCH):
        found += int(np.count_nonzero(everything[start : start + _STRETCH] == byte))
        if at_most is not None and found >= at_most:
            break
    return found


def _is_complete(content: pa.Buffer, rows: int) -> bool:
    """Whether there are as many lines as rows: then none has gone into another."""
    ends_open = len(content) > 0 and bytes(content[-1:]) != b"\n"
    return rows == _count(content, _NEWLINE) + ends_open


def _has_long_keys(table: pa.Table, wanted: Wanted) -> bool:
    """Whether different integers of a partition attribute may have become one double."""
    return any(
        pa.types.is_floating(column.type)
        and column.name in wanted.needs.partition
        and (pc.max(pc.abs(table.column(column.name))).as_py() or 0) >= EXACT
        for column in table.schema
    )


# Line by line


def _by_line(
    content: pa.Buffer, names: list[str], present: list[str], malformed: Counter[str]
) -> pa.Table:
    """The wanted columns as text."""
    text = content.to_pybytes().decode("utf-8-sig", "surrogateescape")
    lines = [line.rstrip("\r") for line in text.split("\n")][1:]
    places = [names.index(name) for name in present]
    columns: list[list[str | None]] = [[] for _ in present]
    position = 0
    while position < len(lines):
        fields, taken = _record(lines, position, len(names))
        position += taken
        if fields is None:
            malformed[WRONG_FIELDS] += 1
        elif fields:
            values = [fields[place] for place in places]
            if any(not _is_utf8(value) for value in values):
                malformed[NOT_UTF8] += 1
                continue
            for column, value in zip(columns, values, strict=True):
                column.append(value or None)
    arrays = [pa.array(column, pa.large_string()) for column in columns]
    return pa.table(arrays, names=present)


def _record(lines: list[str], first: int, width: int) -> tuple[list[str] | None, int]:
    """The fields of the row that begins at a line and how many lines it takes.

    No fields for an empty line, None for a line that is not (the beginning of) a row.
    """
    line = lines[first]
    if not line.strip():
        return [], 1
    if '"' not in line:
        fields = line.split(",")
        return (fields if len(fields) == width else None), 1
    quotes = 0
    for last in range(first, min(first + _MOST_LINES, len(lines))):
        quotes += lines[last].count('"')
        if quotes % 2 == 0:
            found = _fields("\n".join(lines[first : last + 1]))
            if found is not None and len(found) == width:
                return found, last + 1 - first
            return None, 1
    return None, 1


def _fields(record: str) -> list[str] | None:
    try:
        rows = (
            list(csv.reader([record], strict=True))
            if "\n" not in record
            else list(csv.reader(record.splitlines(keepends=True), strict=True))
        )
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def _is_utf8(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


# Kinds


def _typed(
    name: str,
    column: pa.ChunkedArray,
    wanted: Wanted,
    as_text: frozenset[str],
    is_raw: bool,
    sieve: Sieve,
) -> pa.ChunkedArray:
    """A column as its use asks for; rows with values that are not that are faulty.

    Args:
        name: Its name.
        column: What was read, by Arrow or, `is_raw`, as text.
        wanted: What is to be read.
        as_text: Columns that stay text.
        is_raw: Whether nobody has tried yet whether its texts are something else.
        sieve: Where faults are put down.
    """
    kind: Kind | None = wanted.needs.kinds.get(name)
    is_flag = kind == "boolean" and pa.types.is_integer(column.type)
    if kind_of(column.type) != "text" and not is_flag:
        return column
    if name == wanted.time:
        read, faulty = times_of_texts(one_piece(column.cast(pa.large_string())))
        sieve.fault(faulty, NOT_A_TIME)
        return pa.chunked_array([read])
    if kind is None and (name in as_text or not is_raw):
        return column
    read, faulty = column_of_texts(one_piece(column.cast(pa.large_string())), kind)
    sieve.fault(faulty, f"{name} is not a {'number' if kind == 'number' else 'truth value'}")
    return pa.chunked_array([read])
