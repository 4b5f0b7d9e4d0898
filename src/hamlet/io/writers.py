"""Tables of results to files: .csv, .tsv, .jsonl, .parquet, or a folder of parts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import pyarrow as pa
from pyarrow import compute as pc

from hamlet.errors import WriteError, listed
from hamlet.events.formats import WRITTEN, function
from hamlet.io.targets import check_file, check_folder, is_folder
from hamlet.kernel.finish import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path


_ROWS_OF_PART = 1_000_000
_UTC = pa.timestamp("us", "UTC")


def check_target(path: Path, *, overwrite: bool, wide: Collection[str] = ()) -> None:
    """Refuse a path that results cannot, or may not, be written to.

    Of folders, only those are replaced that hold nothing but results.

    Args:
        path: A file or a folder.
        overwrite: Whether to replace what is there.
        wide: The queries whose wide form is to be written.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    if re.match(r"\w\w+:/", str(path)) and not path.parent.is_dir():
        raise WriteError(str(path), "results are written on this machine; choose a path")
    if wide and not is_folder(path):
        raise WriteError(str(path), "the wide form has a file for each query; name a folder")
    if not is_folder(path) and path.suffix.lower() not in WRITTEN:
        reason = f"the ending is none of {listed(WRITTEN)}; without one it is a folder"
        raise WriteError(str(path), reason)
    if not is_folder(path):
        check_file(path, overwrite=overwrite)
        return
    names = {wide_file_name(query) for query in wide}

    def is_ours(each: Path) -> bool:
        return each.name in names if wide else _is_part(each)

    check_folder(path, overwrite=overwrite, holds="results", is_ours=is_ours)


def check_trace_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a path that a trace cannot, or may not, be written to.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    if is_folder(path):
        raise WriteError(str(path), f"a trace is one file, with one of {listed(WRITTEN)}")
    check_target(path, overwrite=overwrite)


def wide_file_name(query: str) -> str:
    """A file name for a query; what systems do not allow in one is written as %XX.

    >>> wide_file_name("calm"), wide_file_name("a/b"), wide_file_name(".x")
    ('calm.parquet', 'a%2Fb.parquet', '%2Ex.parquet')
    """
    safe = "".join(c if c.isalnum() or c in " -_.,()" else quote(c, safe="") for c in query)
    hidden = f"%{ord(safe[0]):02X}{safe[1:]}" if safe[:1] in (".", "_") else safe
    return f"{hidden}.parquet"


def _is_part(path: Path) -> bool:
    return path.is_file() and path.match("part-*.parquet")


def write_csv(table: Any, path: Path, separator: str) -> None:
    """Write a table to a file of text, columns separated."""
    from pyarrow import csv

    csv.write_csv(_with_iso_times(table), path, csv.WriteOptions(delimiter=separator))


def write_jsonl(table: Any, path: Path) -> None:
    """Write a table to a file of JSON lines."""
    with path.open("wb") as lines:
        write_lines(table, lines)


def write_lines(table: Any, lines: BinaryIO) -> None:
    """Whole columns are made text and joined: 4 s for 1.7 million rows, against 22 s one by one."""
    for batch in _with_iso_times(table).to_batches(max_chunksize=10_000):
        tokens: list[Any] = []
        for name in batch.schema.names:
            opening = ("{" if not tokens else ", ") + json.dumps(name, ensure_ascii=False)
            tokens += [pa.scalar(f"{opening}: ", TEXT), _json_tokens(batch[name])]
        joined = pc.binary_join_element_wise(
            *tokens, *(pa.scalar(each, TEXT) for each in ("}\n", ""))
        )
        lines.write("".join(joined.to_pylist()).encode())


def _json_tokens(column: Any) -> Any:
    """Values as JSON text."""
    if pa.types.is_floating(column.type):
        text = column.cast(TEXT)
        text = pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
        text = pc.replace_substring(text, "inf", "Infinity")
    elif pa.types.is_decimal(column.type) and not column.type.scale:
        text = column.cast(TEXT)
    else:
        known = column.dictionary_encode()
        values = known.dictionary.to_pylist()
        dumped = [json.dumps(each, ensure_ascii=False, default=str) for each in values]
        text = pa.array(dumped, TEXT).take(known.indices)
    return pc.fill_null(text, "null")


def _with_iso_times(table: Any) -> Any:
    """The table with timestamps as text, instants in UTC with a Z, others as they are.

    Each is written once, however many rows have it.
    """
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            known = table[field.name].combine_chunks().dictionary_encode()
            zone = "" if field.type.tz is None else "Z"
            times = known.dictionary if not zone else known.dictionary.cast(_UTC)
            text = pc.strftime(times, format=f"%Y-%m-%dT%H:%M:%S{zone}").cast(TEXT)
            table = table.set_column(at, field.name, text.take(known.indices))
    return table


def write_parquet(table: Any, path: Path) -> None:
    """Write a table to a file, compressed."""
    from pyarrow import parquet

    parquet.write_table(table, path, compression="zstd")


def write_parts(table: Any, folder: Path) -> None:
    """Write a folder of Parquet parts, of at most a million rows each."""
    folder.mkdir()
    for number, start in enumerate(range(0, max(1, table.num_rows), _ROWS_OF_PART)):
        part = table.slice(start, _ROWS_OF_PART)
        write_parquet(part, folder / f"part-{number:05d}.parquet")


def writer_of(path: Path) -> Callable[[Any, Path], None]:
    """What writes a table to a file of this ending."""
    format_ = WRITTEN[path.suffix.lower()]
    write: Callable[..., None] = function(format_.write)
    if format_.separator is None:
        return write
    return lambda table, place: write(table, place, format_.separator)
