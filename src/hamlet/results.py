"""Results as tables: long and wide, for Arrow, pandas and Polars, on screen and in files.

The long form has a row for each query, window, group and aggregate, in the order of the workload,
of time, of the values of the grouping attributes, and of the RETURN clause: the same run writes the
same bytes. Types never depend on the values: text is `large_string`, and a time that came as a
number of seconds leaves as `double`, whole or not, so that two runs can be put together.
"""

from __future__ import annotations

import html
import json
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.engine.statistics import RunStatistics, timed
from hamlet.errors import PlanError, UnknownName, counted, did_you_mean, listed
from hamlet.events.times import given_times
from hamlet.io.long_form import (
    free_name,
    long_schema,
    long_table,
    long_table_of_set,
    no_rows,
    rows_by_query,
    whole_or_double,
    window_columns,
)
from hamlet.io.screen import HEADINGS, long_sheet
from hamlet.io.targets import is_folder
from hamlet.io.whole import put_whole
from hamlet.io.writers import (
    check_target,
    check_trace_target,
    wide_file_name,
    write_lines,
    write_parquet,
    write_parts,
    writer_of,
)
from hamlet.kernel.finish import TEXT, SetAnswers
from hamlet.kernel.jit import interpreted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from hamlet.engine.examples import Examples, Origin, Row
    from hamlet.engine.local import LocalRun
    from hamlet.events.times import Times
    from hamlet.kernel.finish import Answer
    from hamlet.plan.query import Query
    from hamlet.report.record import RunRecord
    from hamlet.share.bundles import BundleReport
    from hamlet.workload import Workload

_ROWS_SHOWN = 10


class Results:
    """What a workload returned.

    Attributes:
        table: The long form, an Arrow table: query, window_start, window_end, group, aggregate,
            value, log10, exact. Times are what they were in the events: timestamps in microseconds
            of the same zone, or without one, or doubles in seconds where the events had numbers.
        trace: What was decided about sharing, an Arrow table, if the run was asked to keep it; its
            columns are told by `hamlet.share.trace.trace_schema`.
        bundles: With a trace, the queries that could be one while they behave alike.
        record: How the run came about; None for results that were not made by a run.
        origin: What they came from, for examples; None where that is not known.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        answers: Iterable[Answer | SetAnswers],
        *,
        times: Times = "timestamps",
        statistics: RunStatistics | None = None,
    ) -> None:
        """Put answers together.

        Args:
            queries: All queries of the workload, in order.
            answers: Their rows, in any order and any number of pieces.
            times: What the times of events were given in: see `hamlet.events.times.times_of`.
            statistics: What the run did.
        """
        self._queries = tuple(queries)
        self._times: Times = times
        every = list(answers)
        self._sets = [each for each in every if isinstance(each, SetAnswers)]
        tables = [each for each in every if not isinstance(each, SetAnswers)]
        self._tables = rows_by_query(self._queries, tables)
        self._statistics = RunStatistics() if statistics is None else statistics
        self.trace: Any = None
        self.bundles: tuple[BundleReport, ...] = ()
        self.record: RunRecord | None = None
        self._notes: tuple[str, ...] = ()
        self._why_empty: Callable[[], Sequence[str]] = tuple
        self.origin: Origin | None = None

    @staticmethod
    def of_run(run: LocalRun) -> Results:
        """The answers of a run put together, which is the last stage of it."""
        with timed(run.statistics, "results"):
            results = Results(run.queries, run.answers, times=run.times, statistics=run.statistics)
        results._notes, results._why_empty = run.notes, run.why_empty
        results.trace, results.bundles = run.trace, run.bundles
        return results

    @cached_property
    def statistics(self) -> RunStatistics:
        """What the run did; windows and groups are counted when somebody asks."""
        done = self._statistics
        done.windows = self._different("window_start")
        done.groups = self._different("group")
        done.windows += sum(each.windows() for each in self._sets)
        done.groups += sum(each.different_groups() for each in self._sets)
        return done

    def explain_by(self, why: Callable[[], Sequence[str]]) -> None:
        """Say how it is found out why queries have no rows, when that is asked for."""
        self._why_empty = why

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What may be a mistake, such as a type that no event has, and why queries have no rows.

        The latter is found out when it is first asked for, which may take as long as the run.
        """
        return (*self._notes, *dict.fromkeys(self._why_empty()))

    @cached_property
    def drawn(self) -> list[dict[str, Any]]:
        """Examples of the rows that a report shows first, drawn when first asked for."""
        from hamlet.report.examples import drawn_for

        return drawn_for(self)

    def _different(self, column: str) -> int:
        """How many different values a column has among the rows of each table, added up."""
        return sum(len(pc.unique(rows[column])) for rows in self._tables if rows is not None)

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        """For each query in a set of answers, by its number, which set and where in it."""
        return {
            number: (which, place)
            for which, each in enumerate(self._sets)
            for place, number in enumerate(each.numbers)
        }

    @cached_property
    def table(self) -> Any:
        """The long form, an Arrow table; put together when it is first asked for."""
        with timed(self._statistics, "results"), interpreted(self._statistics.interpreted > 0):
            return self._table()

    def _table(self) -> Any:
        made = [long_table_of_set(each, self._times) for each in self._sets]
        pieces: list[Any] = []
        waiting: tuple[int, int, int] | None = None  # a set, and rows of it, not yet in pieces
        for number, query in enumerate(self._queries):
            if number not in self._places:
                here = long_table(query, self._tables[number], self._times)
                pieces += _taken(made, waiting)
                pieces.append(here)
                waiting = None
                continue
            which, place = self._places[number]
            low, high = made[which][1][place : place + 2].tolist()
            if waiting is not None and waiting[0] == which and waiting[2] == low:
                waiting = (which, waiting[1], high)
                continue
            pieces += _taken(made, waiting)
            waiting = (which, low, high)
        pieces += _taken(made, waiting)
        return pa.concat_tables(pieces or [long_schema(self._times).empty_table()])

    def _rows(self, number: int) -> Any:
        """The rows of a query as an `Answer` has them, in order; None where there is no answer."""
        if number in self._places:
            which, place = self._places[number]
            return self._sets[which].rows(place)
        return self._tables[number]

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in the order of the workload."""
        return tuple(query.name for query in self._queries)

    def grouping(self, query: str) -> tuple[str, ...]:
        """The attributes that a query groups by."""
        return self._queries[number_of(query, self.queries)].group_by

    @property
    def has_same_columns(self) -> bool:
        """Whether the wide forms of all queries have the same columns."""
        asked = {(q.group_by, tuple(r.name for r in q.returned)) for q in self._queries}
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
        number = number_of(query, self.queries)
        asked, rows = self._queries[number], self._rows(number)
        columns: dict[str, Any] = {}

        def add(name: str, column: Any) -> None:
            columns[free_name(name, columns)] = column

        if rows is None:
            rows = no_rows(asked)
        for name, column in zip(
            ("window_start", "window_end"), window_columns(asked, rows, self._times), strict=True
        ):
            add(name, column)
        for i, attribute in enumerate(asked.group_by):
            add(attribute, rows[f"key.{i}"])
        for i, result in enumerate(asked.returned):
            is_count = asked.has_digits(result.expression, ())
            add(result.name, whole_or_double(is_count, rows[f"value.{i}"], rows[f"exact.{i}"]))
            for kind in ("exact", "log10"):
                if kind in also:
                    add(f"{result.name}__{kind}", rows[f"{kind}.{i}"])
        return pa.table(columns)

    def examples(
        self,
        query: str,
        *,
        window: Any = None,
        group: Mapping[str, Any] | str | None = None,
        n: int = 5,
        how: str = "random",
        seed: int = 0,
    ) -> Examples:
        """Some of the trends behind a row of results, each a list of events with all columns.

        The events are read once more, so what they came from must still be there. Drawn ones are
        equally likely each, however many trends there are, and all different.

        Args:
            query: The name of the query.
            window: When the window begins, as `window_start` has it; the first one where left out.
            group: The values of the grouping attributes, or the JSON text of the group; the first
                one of the window where left out.
            n: How many.
            how: "random", "longest", "shortest", "first" (to end), or the name of a MIN or MAX of
                the query that they attain.
            seed: Of what is drawn.

        Raises:
            PlanError: These results have no events, there is no such row, or no examples of it.
        """
        from hamlet.engine.examples import examples_of

        number = number_of(query, self.queries)
        if self.origin is None:
            remedy = "Take the results of Workload.run over events that can be read again."
            raise PlanError("these results do not know their events", remedy)
        row = self._row(number, window, group)
        events = self.origin.events({number: [row]})
        return examples_of(self.origin, number, events, row, n=n, how=how, seed=seed)

    def _row(self, number: int, window: Any, group: Mapping[str, Any] | str | None) -> Row:
        """The first row of a query with a window and group."""
        from hamlet.engine.examples import Row, asked_start

        query, rows = self._queries[number], self._rows(number)
        rows = no_rows(query) if rows is None else rows
        starts, ends = (rows[name].to_numpy() for name in ("window_start", "window_end"))
        text = group if isinstance(group, str) or group is None else group_text(group)
        zone = query.window.clock.zone
        wanted = None if window is None else asked_start(window, self._times, zone)
        groups: dict[str, None] = {}
        if window is None or wanted is not None:
            names = rows["group"].to_pylist()
            for start, end, name in zip(starts, ends, names, strict=True):
                if wanted in (None, start) and text in (None, name):
                    return Row(int(start), int(end), name)
                groups |= {name: None} if wanted in (None, start) else {}
        asked = " ".join(str(each) for each in (window, text) if each is not None)
        reason = f"{query.name} has no row {asked}" if asked else f"{query.name} has no rows"
        if groups:  # the window is there
            raise PlanError(reason, f"Groups there are {listed(list(groups)[:5])}.")
        shown = given_times(np.unique(starts)[:5], self._times).to_pylist()
        windows = listed([str(each) for each in shown])
        raise PlanError(reason, f"Its windows begin at {windows}." if windows else "")

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
        write = write_parts if is_folder(path) else writer_of(path)
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
                write_parquet(self.wide(query, also=also), partial / wide_file_name(query))
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
            writer_of(path)(table, partial)
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
            write_lines(self.table, stream)
            return
        for name in self.queries:
            table = self.wide(name, also=("log10", "exact"))
            names = pa.repeat(pa.scalar(name, TEXT), table.num_rows)
            write_lines(table.add_column(0, free_name("query", table.column_names), names), stream)

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


def _taken(made: list[tuple[Any, Any]], rows: tuple[int, int, int] | None) -> list[Any]:
    """A stretch of rows of one of some tables, as a list of one; nothing for none."""
    if rows is None:
        return []
    which, low, high = rows
    return [made[which][0].slice(low, high - low)]


def number_of(query: str, queries: Sequence[str]) -> int:
    """Which of some queries one is, by its name.

    Raises:
        UnknownName: There is none of this name.
    """
    if query not in queries:
        known = f"Queries are {listed(queries)}.{did_you_mean(query, queries)}"
        raise UnknownName("query", query, known)
    return queries.index(query)


def group_text(group: Mapping[str, Any]) -> str:
    """The values of grouping attributes as results have them."""
    return json.dumps(dict(group), ensure_ascii=False)


def _needed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        message = f"{package} is not installed; run: python -m pip install {package}"
        raise ImportError(message, name=package) from error
