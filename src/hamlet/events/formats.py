"""Formats of files: the one table that says what each is called, and who reads and writes it.

Functions are named and not imported, since some need Arrow or Spark, which are loaded when a file
is read. Text files may be compressed with gzip (`.gz`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hamlet.errors import PlanError, ReadError, listed

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    name: What it is called in options and in checkpoints.
    endings: Of files; the first is the one that we write.
    separator: What stands between columns, where that can be chosen.
    read: Reads events on one machine.
    read_on_spark: Reads events as a DataFrame.
    read_stream: Reads events as a stream.
    write: Writes a table of results.
    write_lines: Writes batches of events as text; None for what is not text.
    """

    name: str
    endings: tuple[str, ...]
    separator: str | None
    read: str
    read_on_spark: str
    read_stream: str
    write: str
    write_lines: str | None


_CSV = {
    "read": "hamlet.events.files:read_csvs",
    "read_on_spark": "hamlet.spark.files.reading:read_csvs",
    "read_stream": "hamlet.spark.stream.reading:read_csvs",
    "write": "hamlet.io.writers:write_csv",
    "write_lines": "hamlet.data.files:csv_lines",
}
TABLE = (
    Format(
        "parquet",
        (".parquet",),
        None,
        read="hamlet.events.files:read_parquets",
        read_on_spark="hamlet.spark.files.reading:read_parquets",
        read_stream="hamlet.spark.stream.reading:read_parquets",
        write="hamlet.io.writers:write_parquet",
        write_lines=None,
    ),
    Format("csv", (".csv",), ",", **_CSV),
    Format("tsv", (".tsv",), "\t", **_CSV),
    Format(
        "json",
        (".jsonl", ".ndjson", ".json"),
        None,
        read="hamlet.events.files:read_jsons",
        read_on_spark="hamlet.spark.files.reading:read_jsons",
        read_stream="hamlet.spark.stream.reading:read_jsons",
        write="hamlet.io.writers:write_jsonl",
        write_lines="hamlet.data.files:json_lines",
    ),
)
ENDINGS = tuple(ending for format_ in TABLE for ending in format_.endings)
# What we write, by ending.
WRITTEN = {format_.endings[0]: format_ for format_ in TABLE}
GZIP = ".gz"


def function(name: str) -> Any:
    """A function that the table names.

    >>> function("hamlet.events.formats:ending_of").__name__
    'ending_of'
    """
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def ending_of(path: Path) -> str:
    """The ending of a file that says what its format is, in lower case, without that of gzip.

    >>> from pathlib import Path
    >>> ending_of(Path("a.b/Rides.2026.CSV.gz"))
    '.csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [GZIP]:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_of(path: Path) -> Format:
    """The format of a file of events, by its ending."""
    ending = ending_of(path)
    for format_ in TABLE:
        if ending in format_.endings:
            return format_
    what = f"{ending} is not a format of events" if ending else "its name has no ending"
    raise ReadError(str(path), f"{what}; use {listed(ENDINGS)}, with or without {GZIP}")


def format_named(name: str) -> Format:
    """The format of a name."""
    return next(format_ for format_ in TABLE if format_.name == name)


# Separators

# What files are known to use, and how to write it on a command line.
_SHOWN = {",": "','", ";": "';'", "\t": "'\\t'", "|": "'|'"}
_WRITTEN = {"\\t": "\t", "tab": "\t"}


def separator_of(written: str | None) -> str | None:
    r"""A separator as it is; a backslash with a t, and tab, stand for a tab.

    >>> separator_of("tab"), separator_of(";")
    ('\t', ';')

    Raises:
        PlanError: It cannot separate anything.
    """
    if written is None:
        return None
    separator = _WRITTEN.get(written, written)
    if (
        len(separator) != 1
        or ord(separator) > 127
        or separator.isalnum()
        or separator in '\r\n"\\ \0+-.'
    ):
        remedy = "It is one character, such as ';', '|' or '\\t'."
        reason = f"{written!r} cannot be a separator"
        raise PlanError(reason, remedy)
    return separator


def check_separated(path: str, names: list[str], separator: str) -> None:
    """Refuse a header that plainly has another separator: it is one column with others in it."""
    others = [each for each in _SHOWN if each != separator and each in names[0]] if names else []
    if len(names) != 1 or not others:
        return
    likely = max(others, key=names[0].count)
    how = f"pass --separator {_SHOWN[likely]}, or separator={likely!r} in Python"
    reason = f"its header is one column, {names[0]!r}: {_called(likely)} separates it; {how}"
    raise ReadError(path, reason)


def _called(separator: str) -> str:
    return "a tab" if separator == "\t" else f"'{separator}'"
