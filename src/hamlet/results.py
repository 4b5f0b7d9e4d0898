"""Results as tables: long and wide, for Arrow, pandas and Polars, on screen and in files.

The long form has a row for each query, window, group and aggregate, in the order of the workload,
of time, of the values of the grouping attributes, and of the RETURN clause: the same run writes the
same bytes. Types never depend on the values: text is `large_string`, and a time that came as a
number of seconds leaves as `double`, whole or not, so that two runs can be put together.
"""

from __future__ import annotations

import html
import json
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.errors import PlanError, UnknownName, WriteError, counted, did_you_mean, listed
from hamlet.io.targets import check_file, check_folder, is_folder
from hamlet.io.whole import put_whole
from hamlet.kernel.finish import TEXT
from hamlet.reading.formats import WRITTEN, function
from hamlet.screen import HEADINGS, long_sheet
from hamlet.statistics import RunStatistics
from hamlet.times import Times, given_times, time_type

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from hamlet.kernel.finish import Answer
    from hamlet.plan.query import Aggregate, Query
    from hamlet.report.record import RunRecord
    from hamlet.share.bundles import BundleReport
    from hamlet.workload import Workload

COLUMNS = (
    "query",
    "window_start",
    "window_end",
    "group",
    "aggregate",
    "value",
    "log10",
    "exact",
)
_UTC = pa.timestamp("us", "UTC")
_LONG_INTEGER = pa.decimal128(38, 0)
_ROWS_SHOWN = 10
_ROWS_OF_PART = 1_000_000


class Results:
    """What a workload returned.

    Attributes:
        table: The long form, an Arrow table: query, window_start, window_end, group, aggregate,
            value, log10, exact. Times are what they were in the events: timestamps in microseconds
            of the same zone, or without one, or doubles in seconds where the events had numbers.
        statistics: What the run did.
        trace: What was decided about sharing, an Arrow table, if the run was asked to keep it; its
            columns are told by `hamlet.share.trace.trace_schema`.
        bundles: With a trace, the queries that could be one while they behave alike.
        record: How the run came about; None for results that were not made by a run.
        notes: What may be a mistake, such as a type that no event has.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        answers: Iterable[Answer],
        *,
        times: Times = "timestamps",
        statistics: RunStatistics | None = None,
    ) -> None:
        """Put answers together.

        Args:
            queries: All queries of the workload, in order.
            answers: Their rows, in any order and any number of pieces.
            times: What the times of events were given in: see `hamlet.times.times_of`.
            statistics: What the run did.
        """
        self._queries = tuple(queries)
        self._times: Times = times
        self._rows = _rows_by_query(self._queries, answers)
        pieces = [long_table(q, self._rows[i], times) for i, q in enumerate(self._queries)]
        self.table: Any = pa.concat_tables([_schema(times).empty_table(), *pieces])
        self.statistics = RunStatistics() if statistics is None else statistics
        self.statistics.windows = self._different("window_start")
        self.statistics.groups = self._different("group")
        self.trace: Any = None
        self.bundles: tuple[BundleReport, ...] = ()
        self.record: RunRecord | None = None
        self.notes: tuple[str, ...] = ()

    def _different(self, column: str) -> int:
        """How many different values a column has among the rows of each query, added up."""
        return sum(len(pc.unique(rows[column])) for rows in self._rows if rows is not None)

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in the order of the workload."""
        return tuple(query.name for query in self._queries)

    def grouping(self, query: str) -> tuple[str, ...]:
        """The attributes that a query groups by."""
        return self._queries[self._number(query)].group_by

    @property
    def has_same_columns(self) -> bool:
        """Whether the wide forms of all queries have the same columns."""
        asked = {(q.group_by, tuple(a.name for a in q.aggregates)) for q in self._queries}
        return len(asked) == 1

    def __len__(self) -> int:
        """The number of rows of the long form."""
        return int(self.table.num_rows)

    def wide(self, query: str, *, also: Collection[Literal["log10", "exact"]] = ()) -> Any:
        """One query as an Arrow table with one row for each window and group.

        Columns are window_start, window_end, each grouping attribute with the type it had in the
        events, and each aggregate under its name. Exact counts and sums of whole numbers are int64
        where all of a column fit, else decimal128(38, 0), else text: all their digits, in the first
        type that holds them. Everything else is a double, the `value` of the long form. "exact" in
        `also` adds `NAME__exact`, which is text whatever the magnitude, and "log10" adds
        `NAME__log10`, right after the aggregate. A name that is taken gets `_2`.

        Args:
            query: The name of the query.
            also: Which further columns each aggregate gets.
        """
        number = self._number(query)
        asked, rows = self._queries[number], self._rows[number]
        columns: dict[str, Any] = {}

        def add(name: str, column: Any) -> None:
            columns[_free_name(name, columns)] = column

        if rows is None:
            rows = _no_rows(asked)
        for name, column in zip(
            ("window_start", "window_end"), _window(asked, rows, self._times), strict=True
        ):
            add(name, column)
        for i, attribute in enumerate(asked.group_by):
            add(attribute, rows[f"key.{i}"])
        for i, aggregate in enumerate(asked.aggregates):
            add(aggregate.name, _number(aggregate, rows[f"value.{i}"], rows[f"exact.{i}"]))
            for kind in ("exact", "log10"):
                if kind in also:
                    add(f"{aggregate.name}__{kind}", rows[f"{kind}.{i}"])
        return pa.table(columns)

    def _number(self, query: str) -> int:
        if query not in self.queries:
            known = f"Queries are {listed(self.queries)}.{did_you_mean(query, self.queries)}"
            raise UnknownName("query", query, known)
        return self.queries.index(query)

    def to_pandas(self) -> Any:
        """The long form as a pandas data frame."""
        _needed("pandas")
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The long form as a Polars data frame."""
        return _needed("polars").from_arrow(self.table)

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the long form: one file by its ending, or a folder of Parquet parts without one.

        What is written appears whole or not at all. A .csv file has nothing for null and inf beyond
        doubles. In a .jsonl file times are ISO 8601 text, and what is beyond doubles is Infinity,
        as Python, pandas, Arrow and Spark write and read it. A folder has part-00000.parquet and
        so on; if it exists it must be empty, or with `overwrite` hold nothing but such parts.

        Args:
            path: A .csv, .jsonl or .parquet file, or a folder.
            overwrite: Whether to replace what is there.

        Raises:
            WriteError: It is there already, or cannot be written.
        """
        path = Path(path)
        check_target(path, overwrite=overwrite)
        write = _write_parts if is_folder(path) else _writer(path)
        with put_whole(path) as partial:
            write(self.table, partial)
        return path

    def write_wide(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        also: Collection[Literal["log10", "exact"]] = ("log10", "exact"),
    ) -> Path:
        """Write the wide form: a folder with a Parquet file for each query, named after it.

        The folder appears whole or not at all. If it exists it must be empty, or with `overwrite`
        hold nothing but the files of these queries.

        Args:
            folder: Where to write.
            overwrite: Whether to replace what is there.
            also: Which further columns each aggregate gets; see `wide`.

        Raises:
            WriteError: It is there already, or cannot be written.
        """
        folder = Path(folder)
        check_target(folder, overwrite=overwrite, wide=self.queries)
        with put_whole(folder) as partial:
            partial.mkdir()
            for query in self.queries:
                write_parquet(self.wide(query, also=also), partial / _file_name(query))
        return folder

    def write_trace(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the trace of a run that kept one; the file appears whole or not at all.

        Args:
            path: A .csv, .jsonl or .parquet file.
            overwrite: Whether to replace what is there.

        Raises:
            PlanError: The run kept no trace.
            WriteError: It is there already, or cannot be written.
        """
        path = Path(path)
        if self.trace is None:
            raise PlanError("the run kept no trace", "Run with trace=True, or with --trace.")
        check_trace_target(path, overwrite=overwrite)
        text = (
            pa.field(f.name, TEXT) if pa.types.is_dictionary(f.type) else f
            for f in self.trace.schema
        )
        table = self.trace.cast(pa.schema(text))
        with put_whole(path) as partial:
            _writer(path)(table, partial)
        return path

    def save(
        self, folder: str | Path, *, workload: Workload | None = None, overwrite: bool = False
    ) -> Path:
        """Write the whole run to a folder, which `hamlet report` makes a page of.

        Args:
            folder: Where to write. It appears whole or not at all.
            workload: What was asked, for results that do not know it: those of `Workload.run` do.
            overwrite: Whether to replace a run that is there.

        Raises:
            PlanError: What was asked is not known.
            WriteError: It is there already, or cannot be written.
        """
        from hamlet.report.saved import Run

        return Run.of(self, workload).save(folder, overwrite=overwrite)

    def report(
        self, path: str | Path, *, workload: Workload | None = None, overwrite: bool = False
    ) -> Path:
        """Write a report of the run: one HTML file that opens offline.

        What was decided about sharing is in it if the run was asked to keep its trace.

        Args:
            path: A file that ends with .html. It appears whole or not at all.
            workload: What was asked, for results that do not know it: those of `Workload.run` do.
            overwrite: Whether to replace what is there.

        Raises:
            PlanError: What was asked is not known.
            WriteError: It is there already, or cannot be written.
        """
        from hamlet.report.page import write_report
        from hamlet.report.saved import Run

        return write_report(Run.of(self, workload), path, overwrite=overwrite)

    def write_lines(self, stream: BinaryIO, *, wide: bool = False) -> None:
        """Write the long form, or the wide form of each query, as JSON lines to an open stream."""
        if not wide:
            _write_lines(self.table, stream)
            return
        for name in self.queries:
            table = self.wide(name, also=("log10", "exact"))
            names = pa.repeat(pa.scalar(name, TEXT), table.num_rows)
            _write_lines(
                table.add_column(0, _free_name("query", table.column_names), names), stream
            )

    def __repr__(self) -> str:
        """The first rows as a table of text, and what may be a mistake.

        >>> Results((), ())
        <Results: 0 rows of 0 queries>
        """
        rows, queries = counted(len(self), "row"), len(self.queries)
        heading = f"<Results: {rows} of {counted(queries, 'query', 'queries')}>"
        rows_shown = long_sheet(self.table, _ROWS_SHOWN).lines() if len(self) else []
        return "\n".join([heading, *rows_shown, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """The first rows as a small HTML table, and what may be a mistake."""
        sheet = long_sheet(self.table, _ROWS_SHOWN)
        head = "".join(f"<th>{name}</th>" for name in HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in sheet.rows
        )
        said = [*filter(None, [sheet.note]), *(f"Note: {note}" for note in self.notes)]
        notes = "".join(f"<p>{html.escape(each)}</p>" for each in said)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


# Answers to tables


def long_table(query: Query, rows: Any, times: Times = "timestamps") -> Any:
    """The rows of one query in long form; `rows` as an `Answer` has them, None for none."""
    if rows is None or not rows.num_rows or not query.aggregates:
        return _schema(times).empty_table()
    size, width = rows.num_rows, len(query.aggregates)
    each = pa.array(np.repeat(np.arange(size), width))
    # Rows of one aggregate stand together in a concatenation; the long form takes them in turn.
    turns = pa.array((np.arange(width) * size + np.arange(size)[:, None]).ravel())

    def in_turn(kind: str) -> Any:
        chunks = [c for i in range(width) for c in rows[f"{kind}.{i}"].chunks]
        return pa.concat_arrays(chunks).take(turns)

    start, end = _window(query, rows, times)
    names = pa.array([aggregate.name for aggregate in query.aggregates], TEXT)
    columns = [
        pa.repeat(pa.scalar(query.name, TEXT), size * width),
        start.take(each),
        end.take(each),
        rows["group"].take(each),
        names.take(pa.array(np.tile(np.arange(width), size))),
        *(in_turn(kind) for kind in ("value", "log10", "exact")),
    ]
    return pa.table(columns, schema=_schema(times))


def _schema(times: Times) -> Any:
    time = time_type(times)
    types = (TEXT, time, time, TEXT, TEXT, pa.float64(), pa.float64(), TEXT)
    return pa.schema(list(zip(COLUMNS, types, strict=True)))


def _window(query: Query, rows: Any, times: Times) -> tuple[Any, Any]:
    """Start and end of the window of each row."""
    start = rows["window_start"].to_numpy()
    return given_times(start, times), given_times(start + query.window.within_us, times)


def _rows_by_query(queries: Sequence[Query], answers: Iterable[Answer]) -> list[Any]:
    """For each query its rows in order, or None where there is no answer."""
    found: list[list[Any]] = [[] for _ in queries]
    for answer in answers:
        found[answer.query].append(answer.rows)
    return [_sorted(query, tables) for query, tables in zip(queries, found, strict=True)]


def _sorted(query: Query, tables: list[Any]) -> Any:
    if not tables:
        return None
    # A column that is all null in one piece has no type there.
    rows = pa.concat_tables(tables, promote_options="permissive")
    keys = [f"key.{i}" for i in range(len(query.group_by))]
    by = [(name, "ascending") for name in ("window_start", *keys, "group")]
    return rows.sort_by(by).combine_chunks()


def _no_rows(query: Query) -> Any:
    """The table of an answer without rows; the types of grouping attributes are not known."""
    fields = [("window_start", pa.int64()), ("group", TEXT)]
    fields += [(f"key.{i}", pa.null()) for i in range(len(query.group_by))]
    for i in range(len(query.aggregates)):
        fields += [
            (f"value.{i}", pa.float64()),
            (f"log10.{i}", pa.float64()),
            (f"exact.{i}", TEXT),
        ]
    return pa.schema(fields).empty_table()


def _number(aggregate: Aggregate, value: Any, exact: Any) -> Any:
    """An aggregate as a column of numbers: whole where it has digits, else doubles."""
    if not len(value):
        return exact.cast(pa.int64()) if aggregate.function == "COUNT" else value
    has_digits = exact.null_count == value.null_count < len(value)
    if not has_digits:
        return value
    # Arrow makes other numbers of digits that a decimal cannot hold, and may not say so.
    length = pc.max(pc.binary_length(pc.utf8_ltrim(exact, "-"))).as_py()
    if length > _LONG_INTEGER.precision:
        return exact
    try:
        return exact.cast(pa.int64())
    except pa.ArrowInvalid:
        return exact.cast(_LONG_INTEGER)


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is free."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _needed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        message = f"{package} is not installed; run: python -m pip install {package}"
        raise ImportError(message, name=package) from error


# In files


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
    names = {_file_name(query) for query in wide}

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


def _file_name(query: str) -> str:
    """A file name for a query; what systems do not allow in one is written as %XX.

    >>> _file_name("calm"), _file_name("a/b"), _file_name(".x")
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
        _write_lines(table, lines)


def _write_lines(table: Any, lines: BinaryIO) -> None:
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


def _write_parts(table: Any, folder: Path) -> None:
    folder.mkdir()
    for number, start in enumerate(range(0, max(1, table.num_rows), _ROWS_OF_PART)):
        part = table.slice(start, _ROWS_OF_PART)
        write_parquet(part, folder / f"part-{number:05d}.parquet")


def _writer(path: Path) -> Callable[[Any, Path], None]:
    """What writes a table to a file of this ending."""
    format_ = WRITTEN[path.suffix.lower()]
    write: Callable[..., None] = function(format_.write)
    if format_.separator is None:
        return write
    return lambda table, place: write(table, place, format_.separator)
