"""Events in files: Parquet, CSV and JSON lines, also compressed, and folders of parts.

Batches are written as they come, so a file of any length takes little memory. How a stream was cut
into batches does not show in a file.
"""

from __future__ import annotations

import gzip
import json
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv, parquet

from hamlet.data.places import check_place, ending_of
from hamlet.events.formats import GZIP, WRITTEN, function
from hamlet.io.targets import is_folder
from hamlet.io.whole import put_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

# Rows of a row group of Parquet, and of a part of a folder.
ROWS_OF_GROUP = 1 << 20
ROWS_OF_PART = 1 << 22
_SLICE = 1 << 16


class Sink(Protocol):
    """Something that takes events."""

    def write(self, batch: Any) -> None:
        """Take some events."""

    def close(self) -> None:
        """Write what is left, and no more."""


def write_events(
    batches: Iterable[Any],
    path: Path,
    schema: Any,
    *,
    overwrite: bool = False,
    format: str = "parquet",
    wrote: Callable[[int], None] = lambda rows: None,
) -> int:
    """Write events to a file by its ending, or to a folder of parts without one.

    What is written appears whole or not at all. If a folder exists it must be empty, or with
    `overwrite` hold nothing but parts.

    Args:
        batches: Arrow record batches.
        path: A .parquet, .csv, .tsv or .jsonl file, those of text also with .gz, or a folder.
        schema: The Arrow schema of the batches.
        overwrite: Whether to replace what is there.
        format: Of the parts of a folder: "parquet", "csv", "tsv" or "jsonl".
        wrote: Called now and then with the number of rows so far.

    Returns:
        The number of rows.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    check_place(path, overwrite=overwrite)
    rows = 0
    with put_whole(path) as partial:
        sink: Sink
        if is_folder(path):
            sink = _Parts(partial, schema, f".{format}")
        else:
            sink = open_sink(partial, schema, ending_of(path))
        try:
            for batch in batches:
                sink.write(batch)
                rows += batch.num_rows
                wrote(rows)
        finally:
            sink.close()
    return rows


def open_sink(path: Path, schema: Any, ending: str) -> Sink:
    """A file of the format that an ending stands for, whatever its own name."""
    format_ = WRITTEN[ending.removesuffix(GZIP)]
    if format_.write_lines is None:
        return _ParquetFile(path, schema)
    stream: Any = path.open("wb")
    if ending.endswith(GZIP):
        # No name and no time of its own: the same events are the same bytes.
        stream = _Gzip(stream)
    lines = function(format_.write_lines)
    if format_.separator is None:
        return _TextFile(stream, lines, b"")
    separated = partial(lines, separator=format_.separator)
    return _TextFile(stream, separated, csv_header(schema, format_.separator))


class _ParquetFile:
    """Groups of rows are encoded in a thread of their own, while the next rows are made."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._writer = parquet.ParquetWriter(path, schema, compression="zstd")
        self._encoder = ThreadPoolExecutor(1)
        self._encoding: Future[None] | None = None
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, batch: Any) -> None:
        for piece in _split(batch, self._rows % ROWS_OF_GROUP, ROWS_OF_GROUP):
            self._waiting.append(piece)
            self._rows += piece.num_rows
            if self._rows % ROWS_OF_GROUP == 0:
                self._write_group()

    def _write_group(self) -> None:
        self._wait()
        if self._waiting:
            table = pa.Table.from_batches(self._waiting)
            self._encoding = self._encoder.submit(self._writer.write_table, table, ROWS_OF_GROUP)
            self._waiting = []

    def _wait(self) -> None:
        """Wait until a group is written, or fail as it did."""
        encoding, self._encoding = self._encoding, None
        if encoding is not None:
            encoding.result()

    def close(self) -> None:
        try:
            self._write_group()
            self._wait()
        finally:
            self._encoder.shutdown()
            self._writer.close()


class _TextFile:
    def __init__(self, stream: Any, lines: Callable[[Any], Iterator[Any]], header: bytes) -> None:
        self._stream = stream
        self._lines = lines
        self._stream.write(header)

    def write(self, batch: Any) -> None:
        for text in self._lines(batch):
            self._stream.write(text)

    def close(self) -> None:
        self._stream.close()


class _Gzip(gzip.GzipFile):
    """A compressed stream that closes what it writes to; fast rather than small."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__("", "wb", 3, stream, 0)
        self._stream = stream

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._stream.close()


class _Parts:
    """A folder of files with a limited number of rows each."""

    def __init__(self, folder: Path, schema: Any, ending: str) -> None:
        folder.mkdir()
        self._folder, self._schema, self._ending = folder, schema, ending
        self._rows = 0
        self._part = self._next()

    def _next(self) -> Sink:
        name = part_name(self._rows // ROWS_OF_PART, self._ending)
        return open_sink(self._folder / name, self._schema, self._ending)

    def write(self, batch: Any) -> None:
        for piece in _split(batch, self._rows % ROWS_OF_PART, ROWS_OF_PART):
            if self._rows and self._rows % ROWS_OF_PART == 0:
                self._part.close()
                self._part = self._next()
            self._part.write(piece)
            self._rows += piece.num_rows

    def close(self) -> None:
        self._part.close()


def part_name(number: int, ending: str) -> str:
    """The name of a part; names are in the order of numbers.

    >>> part_name(7, ".csv")
    'part-00007.csv'
    """
    return f"part-{number:05d}{ending}"


def _split(batch: Any, before: int, size: int) -> Iterator[Any]:
    """Pieces of a batch that end where so many rows, those before it included, are full."""
    start = 0
    while start < batch.num_rows:
        piece = batch.slice(start, size - (before + start) % size)
        start += piece.num_rows
        yield piece


# Text


def csv_header(schema: Any, separator: str = ",") -> bytes:
    """The first line of a CSV file; no name of ours needs quotes."""
    return (separator.join(schema.names) + "\n").encode()


def csv_lines(batch: Any, separator: str = ",") -> Iterator[Any]:
    """Lines of CSV, nothing for null, times in ISO 8601."""
    plain = pa.record_batch(list(map(_plain, batch.columns)), names=batch.schema.names)
    try:
        yield _csv(plain, "none", separator)
    except pa.ArrowInvalid:  # something needs quotes
        yield _csv(plain, "needed", separator)


def _csv(batch: Any, quoting: str, separator: str) -> Any:
    sink = pa.BufferOutputStream()
    options = csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=separator)
    csv.write_csv(batch, sink, options)
    return sink.getvalue()


def json_lines(batch: Any) -> Iterator[Any]:
    """Lines of JSON: whole columns are made text and joined, which is fast."""
    for start in range(0, batch.num_rows, _SLICE):
        some = batch.slice(start, _SLICE)
        tokens: list[Any] = []
        for name, column in zip(some.schema.names, some.columns, strict=True):
            opening = ("{" if not tokens else ", ") + json.dumps(name, ensure_ascii=False)
            tokens += [f"{opening}: ", _json_tokens(column)]
        joined = pc.binary_join_element_wise(*tokens, "}\n", "")
        # The text of all rows is one buffer, rows next to each other.
        yield joined.buffers()[2]


def _plain(column: Any) -> Any:
    """A column with times in ISO 8601, and with text as such."""
    if pa.types.is_dictionary(column.type):
        return column.dictionary.take(column.indices)
    if not pa.types.is_timestamp(column.type):
        return column
    # Without its zone, which is UTC, a time is written twenty times as fast.
    text = column.cast(pa.timestamp("us")).cast(pa.string()).cast(pa.binary())
    text = pc.binary_replace_slice(text, 10, 11, b"T").cast(pa.string())
    return pc.binary_join_element_wise(text, "Z", "")


def _json_tokens(column: Any) -> Any:
    """Values as JSON text."""
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_timestamp(column.type):
        text = pc.binary_join_element_wise('"', _plain(column), '"', "")
    elif pa.types.is_dictionary(column.type):
        words = [json.dumps(word, ensure_ascii=False) for word in column.dictionary.to_pylist()]
        text = pa.array(words, pa.string()).take(column.indices)
    else:
        text = column.cast(pa.string())
        if pa.types.is_floating(column.type):
            text = pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    return pc.fill_null(text, "null")
