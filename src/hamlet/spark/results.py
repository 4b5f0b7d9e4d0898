"""Results on Spark: long and wide as DataFrames, what the run did, and results on one machine."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.engine.examples import Row, asked_start, examples_of
from hamlet.engine.statistics import RunStatistics
from hamlet.errors import PlanError
from hamlet.events.times import UTC, from_seconds, time_type, times_of
from hamlet.kernel.finish import Answer
from hamlet.results import Results, group_text, number_of
from hamlet.spark.empty_results import explained
from hamlet.spark.events import LACKING
from hamlet.spark.examples import moment_column, origin_of
from hamlet.spark.kinds import arrow_type
from hamlet.spark.wide import keys_of, wide_form, wide_frame

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import DataFrame, Observation

    from hamlet.engine.examples import Examples
    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.query import Query
    from hamlet.spark.collecting import Collecting
    from hamlet.spark.shuffle_plan import Counts
    from hamlet.spark.wide import Also, WholeAs

_WAIT_S = 20.0


class SparkResults:
    """What a workload returns, as DataFrames that are computed when they are asked for.

    Attributes:
        table: The long form: query, window_start, window_end, group, aggregate, value, log10,
            exact. Times are timestamps, timestamp_ntz where the input had those or dates, or
            doubles in seconds where it had numbers.
        origin: What they came from, for examples; None where that is not known.
        notes_of_files: What may be a mistake in files that were read.
    """

    def __init__(
        self,
        table: DataFrame,
        queries: Sequence[Query],
        kinds: Mapping[str, T.DataType],
        counts: Counts,
        told: Sequence[Observation],
        *,
        numbers: Numbers = "exact",
        collecting: Collecting | None = None,
    ) -> None:
        """Put results together.

        Args:
            table: The long form.
            queries: All queries of the workload, in order.
            kinds: The types of attributes.
            counts: Of the rows of events.
            told: What tasks tell of their work.
            numbers: The kind of numbers.
            collecting: The events they came from, for examples, and for what may be wrong.
        """
        self.table = table
        self._queries = tuple(queries)
        self._kinds = kinds
        self._counts = counts
        self._told = tuple(told)
        self._numbers = numbers
        self._collecting = collecting
        self.origin = None if collecting is None else origin_of(collecting)
        self.notes_of_files: tuple[str, ...] = ()
        self._metrics: list[dict[str, Any]] = []

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in the order of the workload."""
        return tuple(query.name for query in self._queries)

    def wide(
        self,
        query: str,
        *,
        also: Collection[Also] = (),
        whole: WholeAs = "decimal",
    ) -> DataFrame:
        """One query as a DataFrame with one row for each window and group.

        The columns are those of `Results.wide`: window_start, window_end, each grouping attribute
        with the type it had in the events, and each aggregate under its name. Their types do not
        depend on the values: exact counts and sums of whole numbers are decimal(38,0), and the job
        fails where one of them has more digits. Everything else is a double.

        Args:
            query: The name of the query.
            also: Which further columns each aggregate gets.
            whole: What exact counts and sums of whole numbers are: "text" has all their digits,
                "double" those that a double has, at any magnitude that it has.

        Raises:
            PlanError: There is no such query, or no such way to write whole numbers.
        """
        asked = self._query(query)
        time = arrow_type(self.table.schema["window_start"].dataType)
        form = wide_form(asked, self._kinds, time, numbers=self._numbers, also=also, whole=whole)
        return wide_frame(self.table, form, self._kinds)

    def _query(self, name: str) -> Query:
        return self._queries[number_of(name, self.queries)]

    # Examples

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
        """Some of the trends behind a row of results: see `Results.examples`.

        The events of that window and group are collected, and drawn from on this machine. Where
        window or group are left out, or the query has HAVING, the results are computed to find the
        row.

        Raises:
            PlanError: There is no such row, or no examples of it.
        """
        number = number_of(query, self.queries)
        if self.origin is None:
            remedy = "Take the results of hamlet.spark.batch.answer."
            raise PlanError("these results do not know their events", remedy)
        text = group if isinstance(group, str) or group is None else group_text(group)
        row = self._row(self._queries[number], window, text)
        events = self.origin.events({number: [row]})
        examples = examples_of(self.origin, number, events, row, n=n, how=how, seed=seed)
        if not examples.count and how == "random":
            raise self._no_row(query, window, text)
        return examples

    def _row(self, query: Query, window: Any, group: str | None) -> Row:
        """The first row of a query with a window and group."""
        start = None if window is None else self._start(query, window)
        if window is not None and start is None:
            raise self._no_row(query.name, window, group)
        if start is None or group is None or query.having is not None:
            rows = self.table.where(F.col("query") == query.name)
            if start is not None:
                kind = self.table.schema["window_start"].dataType
                rows = rows.where(F.col("window_start") == moment_column(start, kind))
            rows = rows if group is None else rows.where(F.col("group") == group)
            by = ("window_start", "window_end", "group")
            first = rows.select(*by).orderBy(*by).limit(1).toArrow()
            if not first.num_rows:
                raise self._no_row(query.name, window, group)
            start, end = (int(_microseconds(first[name])[0].as_py()) for name in by[:2])
            return Row(start, end, str(first["group"][0]))
        return Row(start, int(query.window.ends(np.array([start]))[0]), group)

    def _start(self, query: Query, window: Any) -> int | None:
        """When a window begins that is asked for, in microseconds; None where none does."""
        kind = self.table.schema["window_start"].dataType
        if isinstance(window, datetime) and window.tzinfo is None and not _is_naive(kind):
            window = window.astimezone()  # so Spark gives times to Python
        start = asked_start(window, times_of(arrow_type(kind)), query.window.clock.zone)
        if start is None or query.window.clock.time(start) % query.window.slide_us:
            return None
        return start

    @staticmethod
    def _no_row(query: str, window: Any, group: str | None) -> PlanError:
        asked = " ".join(str(each) for each in (window, group) if each is not None)
        return PlanError(f"{query} has no row {asked}" if asked else f"{query} has no rows", "")

    # What was done

    def statistics(self, wait_s: float = _WAIT_S) -> RunStatistics:
        """What the first job over all results did.

        Groups are an estimate, as close as one in a hundred, of queries that do not group by all
        that partitions them, and where tasks were large.

        Args:
            wait_s: How long to wait for numbers that are still on their way.

        Raises:
            PlanError: No job over all results has been run yet.
        """
        if not self._metrics:
            self._metrics = self._observed(wait_s)
        (rows, *told), done = self._metrics, RunStatistics()
        done.events_in, done.events_used = rows["rows"], rows["used"]
        for number, reason in enumerate(self._counts.reasons):
            count = rows[f"fault{number}"]
            if count:
                done.malformed[reason] = done.malformed.get(reason, 0) + count
        for number, attribute in enumerate(self._counts.keys):
            if rows[f"{LACKING}{number}"]:
                done.without_key[attribute] = rows[f"{LACKING}{number}"]
        for each in told:
            done.bursts += int(each.get("bursts", 0))
            done.snapshots += int(each.get("snapshots", 0))
            done.windows_closed += int(each.get("windows", 0))
            done.windows += int(each.get("different", 0))
            done.groups += int(each["about"] if each.get("unsure") else each.get("groups", 0))
        return done

    def _observed(self, wait_s: float) -> list[dict[str, Any]]:
        """The numbers that Spark has observed; it would wait for them for ever."""
        observed: list[dict[str, Any]] = []

        def wait() -> None:
            observed.extend(each.get for each in (self._counts.observation, *self._told))

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        thread.join(wait_s)
        if thread.is_alive() or len(observed) <= len(self._told):
            remedy = "Write or collect all results first; they are counted while that is done."
            raise PlanError("results that have not been computed have no statistics", remedy)
        return observed

    def notes(self, known: Collection[str] | None = None) -> list[str]:
        """What may be a mistake, and why queries have no rows: see `Results.notes`.

        Results are computed to know which queries have rows. Where some have none, a job counts
        events by type, and another collects the earliest.

        Args:
            known: The names of the queries that have rows, where that is known.
        """
        if self._collecting is None:
            return list(self.notes_of_files)
        if known is None:
            known = {row[0] for row in self.table.select("query").distinct().collect()}
        sizes = [int(name in known) for name in self.queries]
        return [*self.notes_of_files, *explained(self._collecting, sizes)]

    # On one machine

    def collected(self) -> Results:
        """All results on this machine, in order."""
        long = self.table.toArrow()
        times = times_of(_plain_zone(long["window_start"].type))
        answers = []
        for number, query in enumerate(self._queries):
            rows = long.filter(pc.equal(long["query"], query.name))
            if rows.num_rows:
                answers.append(Answer(number, self._rows(query, rows)))
        results = Results(self._queries, answers, times=times, statistics=self.statistics())
        results.origin = self.origin
        events = self._collecting
        if events is not None:
            known = set(pc.unique(long["query"]).to_pylist())
            sizes = [int(name in known) for name in self.queries]
            results.explain_by(lambda: (*self.notes_of_files, *explained(events, sizes)))
        return results

    def _rows(self, query: Query, long: pa.Table) -> pa.Table:
        """The long form of one query as an answer has it."""
        by = [(name, "ascending") for name in ("window_start", "window_end", "group")]
        columns: dict[str, Any] = {}
        for number, result in enumerate(query.returned):
            mine = long.filter(pc.equal(long["aggregate"], result.name)).sort_by(by)
            if number == 0:
                for name in ("window_start", "window_end"):
                    columns[name] = _microseconds(mine[name])
                columns["group"] = mine["group"].cast(pa.large_string())
                grouping = [(name, arrow_type(self._kinds[name])) for name in query.group_by]
                for place, key in enumerate(keys_of(grouping, mine["group"])):
                    columns[f"key.{place}"] = key
            columns[f"value.{number}"] = mine["value"]
            columns[f"log10.{number}"] = mine["log10"]
            columns[f"exact.{number}"] = mine["exact"].cast(pa.large_string())
        return pa.table(columns)


def _is_naive(kind: T.DataType) -> bool:
    return isinstance(kind, T.TimestampNTZType)


def _plain_zone(kind: pa.DataType) -> pa.DataType:
    """The type of times, instants in UTC whatever the zone of the session."""
    is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return time_type(UTC) if is_zoned else kind


def _microseconds(times: pa.ChunkedArray) -> Any:
    if pa.types.is_timestamp(times.type):
        return times.cast(pa.int64())
    return pa.array(from_seconds(times.to_numpy().astype(np.float64))[0])
