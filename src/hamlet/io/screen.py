"""Results as text that a person reads: short times, short numbers, aligned columns.

Nothing here changes a number: what is too long is shortened to its first digits and its magnitude,
never rounded up to another power of ten.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DAY = len("2026-03-02 ")

HEADINGS = ("query", "window", "group", "aggregate", "value")


class Sheet(NamedTuple):
    """The first rows of a table as text, and how many more there are.

    numeric: How many of the last columns are numbers, which are aligned to the right.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: int
    left_out: int

    @property
    def note(self) -> str | None:
        """What is said of rows that are not shown."""
        if not self.left_out:
            return None
        return f"... and {counted(self.left_out, 'more row')}"

    def lines(self) -> list[str]:
        """Plain aligned text."""
        everything = [self.headings, *self.rows]
        widths = [max(len(row[i]) for row in everything) for i in range(len(self.headings))]
        text_columns = len(widths) - self.numeric
        lines = [
            "  ".join(
                cell.rjust(width) if i >= text_columns else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in everything
        ]
        return lines if self.note is None else [*lines, self.note]


def rows_of_each(table: Any, most: int) -> Any:
    """The first rows of each query of the long form; all of them, where there are no more.

    However many queries there are, each has a row.
    """
    if table.num_rows <= most:
        return table
    number = table["query"].combine_chunks().dictionary_encode().indices.to_numpy()
    begins = np.flatnonzero(np.diff(number, prepend=-1))
    rank = np.arange(len(number)) - begins[np.cumsum(np.diff(number, prepend=-1) != 0) - 1]
    return table.take(np.flatnonzero(rank < max(1, most // len(begins))))


def long_sheet(table: Any, most: int) -> Sheet:
    """The first rows of the long form; of each query, where there are more rows than that."""
    first = rows_of_each(table, most)
    windows = _windows(first["window_start"], first["window_end"])
    kinds = (first[kind].to_pylist() for kind in ("value", "log10", "exact"))
    texts = (map(printable, first[name].to_pylist()) for name in ("query", "group", "aggregate"))
    query, group, aggregate = texts
    numbers = map(show_number, *kinds)
    rows = list(zip(query, windows, group, aggregate, numbers, strict=True))
    return Sheet(HEADINGS, rows, 1, table.num_rows - len(rows))


def wide_sheet(table: Any, keys: int, most: int) -> Sheet:
    """The first rows of the wide form of one query, made with log10 and exact.

    Args:
        table: start and end, the keys, then for each aggregate value, exact and log10.
        keys: The number of grouping attributes.
        most: How many rows to show.
    """
    first = table.slice(0, most)
    columns = [_windows(first.column(0), first.column(1))]
    headings = ["window", *table.column_names[2 : 2 + keys]]
    columns += [[_cell(v) for v in first.column(2 + i).to_pylist()] for i in range(keys)]
    for at in range(2 + keys, table.num_columns, 3):
        found, exact, log10 = (first.column(at + i).to_pylist() for i in range(3))
        value = [None if number is None else float(number) for number in found]
        headings.append(table.column_names[at])
        columns.append(list(map(show_number, value, log10, exact)))
    rows = list(zip(*columns, strict=True))
    numeric = len(columns) - 1 - keys
    shown = list(map(printable, headings))
    return Sheet(shown, rows, numeric, max(0, table.num_rows - most))


def show_number(value: float | None, log10: float | None, exact: str | None) -> str:
    """A result as a person reads it, at any magnitude.

    >>> show_number(30.0, 1.47, "30"), show_number(2.5, 0.4, None), show_number(None, None, None)
    ('30', '2.5', 'null')
    >>> show_number(math.inf, 30102.9995664, None)
    '9.99e+30102'
    """
    if value is None:
        return "null"
    if exact is not None and len(exact) <= 16:
        return exact
    if math.isfinite(value):
        return f"{value:.6g}"
    if exact is not None:
        digits = exact.lstrip("-")
        return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:3]}e+{len(digits) - 1}"
    if log10 is None or not math.isfinite(log10):
        return str(value)
    exponent = math.floor(log10)
    # Cut, not rounded, like the digits above: 9.999 must not become 10.00.
    return f"{math.floor(10 ** (log10 - exponent) * 100) / 100:.2f}e+{exponent}"


def printable(text: str) -> str:
    r"""Text without what a terminal would take for a command.

    >>> printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cell(value: Any) -> str:
    return "null" if value is None else printable(str(value))


def _windows(start: Any, end: Any) -> list[str]:
    """Start and end of each window; a day that both have in common is written once."""
    has_days = pa.types.is_timestamp(start.type)
    pairs = zip(_times(start), _times(end), strict=True)
    return [f"[{a}, {b.removeprefix(a[:_DAY]) if has_days and a[_DAY:] else b})" for a, b in pairs]


def _times(times: Any) -> Iterable[str]:
    """Times as short text: without fractions of seconds where there are none."""
    if pa.types.is_floating(times.type):
        return [f"{second:.15g}" for second in times.to_pylist()]
    text = pc.strftime(times, format="%Y-%m-%d %H:%M:%S")
    return list(pc.replace_substring_regex(text, r"\.0+$", "").to_pylist())
