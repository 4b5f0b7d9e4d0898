"""One CSV file as texts: the names of the columns in its first line, a row on each of the others.

Arrow takes a quote that is never closed for the beginning of a long value, and the rows after it
are gone without a word. So its result is believed only where every line of the file is accounted
for; if not, the file is read line by line, where a quoted value may go over several lines only if
what comes out is a row. What the texts are is decided when all files have been read (`typing.py`).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from hamlet.events.formats import check_separated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRONG_FIELDS = "wrong number of fields"
NOT_UTF8 = "not UTF-8 text"
_QUOTE, _NEWLINE = ord('"'), ord("\n")
_STRETCH = 1 << 24
# A quoted value of more lines than this is taken for a quote that was never closed.
_MOST_LINES = 1000
# Rows of a piece of a file that is read line by line.
_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Texts:
    """Some columns of a file as texts, null where a field has nothing in it.

    name: What to call the file in a message.
    columns: The names of all its columns.
    malformed: Rows that could not be read, by reason.
    """

    name: str
    table: pa.Table
    columns: tuple[str, ...]
    malformed: Counter[str] = field(default_factory=Counter)


def read_texts(
    path: Path,
    content: pa.Buffer,
    separator: str,
    among: Callable[[list[str]], list[str]],
    types: str | None = None,
) -> Texts:
    """Columns of a CSV file as texts.

    Args:
        path: The file.
        content: What is in it.
        separator: What stands between columns.
        among: Which of its columns to read.
        types: The column with types of events: few texts, each on many rows.

    Raises:
        ReadError: It plainly has another separator.
    """
    beginning = bytes(content[: 1 << 20]).split(b"\n", 1)[0]
    names = header_of(str(path), beginning, separator)
    present = among(names)
    malformed: Counter[str] = Counter()
    table = _by_arrow(content, separator, names, present, types, malformed)
    if table is None:
        malformed.clear()
        table = _by_line(content, separator, names, present, malformed)
    return Texts(path.name, table, tuple(names), malformed)


def header_of(path: str, line: bytes, separator: str) -> list[str]:
    """The names in the first line of a file.

    Raises:
        ReadError: It plainly has another separator.
    """
    first = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    names = next(csv.reader([first], delimiter=separator), []) if first.strip() else []
    check_separated(path, names, separator)
    return names


# By Arrow


def _by_arrow(
    content: pa.Buffer,
    separator: str,
    names: list[str],
    present: list[str],
    types: str | None,
    malformed: Counter[str],
) -> pa.Table | None:
    """The table, or None where a row might have been lost."""
    if not present or len(set(names)) < len(names):
        return None
    has_quotes = _count(content, _QUOTE, at_most=1) > 0
    kinds: dict[str, pa.DataType] = dict.fromkeys(present, pa.string())
    if types in kinds:
        kinds[types] = pa.dictionary(pa.int32(), pa.string())

    def skip(row: Any) -> str:
        malformed[WRONG_FIELDS] += bool(row.text.strip())
        return "skip"

    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator, invalid_row_handler=skip, newlines_in_values=has_quotes
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=present,
                column_types=kinds,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    if has_quotes and not _is_complete(content, table.num_rows + malformed[WRONG_FIELDS] + 1):
        return None
    return table


def _count(content: pa.Buffer, byte: int, at_most: int | None = None) -> int:
    count, everything = 0, np.frombuffer(content, np.uint8)
    for start in range(0, len(everything), _STRETCH):
        count += int(np.count_nonzero(everything[start : start + _STRETCH] == byte))
        if at_most is not None and count >= at_most:
            break
    return count


def _is_complete(content: pa.Buffer, rows: int) -> bool:
    """Whether there are as many lines as rows: then none has gone into another."""
    ends_open = len(content) > 0 and bytes(content[-1:]) != b"\n"
    return rows == _count(content, _NEWLINE) + ends_open


# Line by line


def _by_line(
    content: pa.Buffer,
    separator: str,
    names: list[str],
    present: list[str],
    malformed: Counter[str],
) -> pa.Table:
    """The same columns, read in Python."""
    text = content.to_pybytes().decode("utf-8-sig", "surrogateescape")
    lines = [line.rstrip("\r") for line in text.split("\n")][1:]
    places = [names.index(name) for name in present]
    columns: list[list[str | None]] = [[] for _ in present]
    records = _Records(separator, len(names))
    position = 0
    while position < len(lines):
        fields, taken = records.at(lines, position)
        position += taken
        if fields is None:
            malformed[WRONG_FIELDS] += 1
        elif fields:
            values = [fields[place] for place in places]
            if any(value is not None and not _is_utf8(value) for value in values):
                malformed[NOT_UTF8] += 1
                continue
            for column, value in zip(columns, values, strict=True):
                column.append(value)
    arrays = [
        pa.chunked_array(
            [pa.array(column[at : at + _ROWS], pa.large_string()) for at in _starts(column)],
            pa.large_string(),
        )
        for column in columns
    ]
    return pa.table(arrays, names=present)


def _starts(column: list[str | None]) -> range:
    return range(0, len(column), _ROWS)


class _Records:
    """Rows of so many fields, in lines of text."""

    def __init__(self, separator: str, width: int) -> None:
        self._separator, self._width = separator, width
        between = re.escape(separator)
        quoted, bare = r'"((?:[^"]|"")*)"', rf'([^{between}"\n][^{between}\n]*)?'
        self._field = re.compile(rf"(?:{quoted}|{bare})({between}|\Z)")

    def at(self, lines: list[str], first: int) -> tuple[list[str | None] | None, int]:
        """The fields of the row that begins at a line and how many lines it takes.

        No fields for an empty line, None for a line that is not (the beginning of) a row.
        """
        line = lines[first]
        if not line.strip():
            return [], 1
        if '"' not in line:
            fields = line.split(self._separator)
            return ([f or None for f in fields] if len(fields) == self._width else None), 1
        quotes = 0
        for last in range(first, min(first + _MOST_LINES, len(lines))):
            quotes += lines[last].count('"')
            if quotes % 2 == 0:
                values = self._fields("\n".join(lines[first : last + 1]))
                if values is not None and len(values) == self._width:
                    return values, last + 1 - first
                return None, 1
        return None, 1

    def _fields(self, record: str) -> list[str | None] | None:
        """The fields of a row; None where a quote is not closed at the end of its field.

        Nothing in quotes is a text without letters, and nothing at all is null.
        """
        fields: list[str | None] = []
        position = 0
        while True:
            match = self._field.match(record, position)
            if match is None:
                return None
            quoted, bare, end = match.groups()
            fields.append(bare if quoted is None else quoted.replace('""', '"'))
            position = match.end()
            if not end:
                return fields


def _is_utf8(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
