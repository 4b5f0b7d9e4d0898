"""What a task of Spark does: the Arrow batches of its partitions in, rows of results out.

Nothing here knows of Spark: a job is plain data that travels to the workers, and its methods take
and give Arrow batches. `answered` runs the sets of one shuffle, all of whose partitions are
whole in the task. Where a group may have partitions in other tasks, what it gives are partial
answers; these are shuffled again, and `finished` adds them up. Where a partition is cut into panes
(hamlet/panes), its rows are run with queries over panes, and between the two `composed` puts their
answers together.

A task that has few rows encodes and runs them at once. One that has many puts them into files and
runs them in order of time, as a stream whose windows close one after another: what it has in memory
are the rows of a stretch of time and what the engine keeps of open windows. See spill.py.

A task also tells what it has done, in rows without a query, which the host takes out again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.engine.panes.compose import compose
from hamlet.engine.pipeline import SetPipeline
from hamlet.engine.state.emitted import picked
from hamlet.engine.state.rows import RawRows
from hamlet.engine.state.set_state import SetState
from hamlet.engine.state.window_replay import with_single_windows
from hamlet.engine.statistics import RunStatistics
from hamlet.events.columns import Values, numpy_of
from hamlet.events.table import EventTable, Statistics
from hamlet.events.times import microseconds
from hamlet.io.long_form import long_table, long_table_of_set
from hamlet.kernel.finish.partial import answers_of, merged
from hamlet.kernel.machine import FAR
from hamlet.kernel.run import Counters
from hamlet.spark.letters import bit_column
from hamlet.spark.settled import settle
from hamlet.spark.spill import Pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.engine.closed import ClosedSet
    from hamlet.engine.panes.derive import Panes
    from hamlet.events.times import Times
    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish import Answer
    from hamlet.plan.program import Program
    from hamlet.plan.workload import SharableSet, WorkloadPlan
    from hamlet.spark.letters import Lettering
    from hamlet.spark.spill import Runs

# What a task tells of its work, by the name that stands in the column `aggregate`. Its groups are
# those of no other task, and each is counted once, unless it is among the `unsure` tasks.
TOLD = ("bursts", "snapshots", "windows", "groups", "unsure")
# What it tells where groups are put together later.
TOLD_PARTIAL = TOLD[:3]
_ORDER = "\0order"
_UTC = pa.timestamp("us", "UTC")
_SLICE = "slice"
# Rows of a stretch of time that are run together, where a task has more than fit into memory.
_STRETCH_ROWS = 1 << 20
_BATCH_ROWS = 50_000
_BATCH_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class TaskColumns:
    """The columns that a task gets: integers of letters, perhaps the type, time, order, attributes.

    Where there are slices, their numbers are in the last column: see skew.py.

    has_order: Whether there is a column that orders events of equal time.
    attributes: Their names, in the order of their columns.
    slice_us: How long a slice is; 0 where there are none.
    has_joint_time: Whether the time has no column of its own: it is a number of seconds, above the
        letters in the one integer that they have.
    """

    lettering: Lettering
    has_order: bool
    attributes: tuple[str, ...]
    slice_us: int = 0
    has_joint_time: bool = False

    def pool(self, most: int, most_bytes: int) -> Pool:
        """Where rows are gathered, of which some number is held in memory."""
        return Pool(most, self._clock, _SLICE if self.slice_us else None, most_bytes)

    def _clock(self, table: pa.Table) -> NDArray[np.int64]:
        if self.has_joint_time:
            return self._joint_time(numpy_of(table.column(0)))
        place = self.lettering.longs + self.lettering.is_text
        return microseconds(table.column(place))[0]

    def _joint_time(self, joint: NDArray[np.int64]) -> NDArray[np.int64]:
        return (joint >> self.lettering.all_bits) * 1_000_000

    def table(self, name: str, table: pa.Table, times: Times) -> EventTable:
        """Rows as events that can be encoded."""
        columns = iter(table.columns)
        longs = [numpy_of(next(columns)) for _ in range(self.lettering.longs)]
        text = next(columns) if self.lettering.is_text else None
        ts = self._joint_time(longs[0]) if self.has_joint_time else microseconds(next(columns))[0]
        codes = self.lettering.codes(longs, text, len(ts))
        types = Values("text", codes, None, pa.array(self.lettering.types, pa.large_string()))
        columns_by_name: dict[str, Any] = {_ORDER: next(columns)} if self.has_order else {}
        columns_by_name |= {attribute: _plain(next(columns)) for attribute in self.attributes}
        for bit in range(self.lettering.condition_bits):
            number, place = self.lettering.place(bit)
            columns_by_name[bit_column(bit)] = ((longs[number] >> place) & 1).astype(np.bool_)
        order = _ORDER if self.has_order else None
        statistics = Statistics(len(ts))
        return EventTable(name, pa.table(columns_by_name), ts, types, order, times, statistics)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in the form it has everywhere: times in UTC, whatever the zone of the session."""
    kind = column.type
    is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return column.cast(_UTC) if is_zoned else column


@dataclass(frozen=True, slots=True)
class Job:
    """What every task of one shuffle does.

    name: What to call the events in a message.
    plan: The workload, over bits.
    sets: Those that the task runs, all of one partitioning.
    options: How.
    layout: The columns that come in.
    times: What windows are given in.
    rows_in_memory: How many rows a task holds before it puts them into files.
    bytes_in_memory: How many bytes of rows.
    partial: The columns of partial answers, where groups are put together later.
    panes: The queries over panes, where slices are made of panes.
    """

    name: str
    plan: WorkloadPlan
    sets: tuple[SharableSet, ...]
    options: Options
    layout: TaskColumns
    times: Times
    rows_in_memory: int
    bytes_in_memory: int
    partial: pa.Schema | None = None
    panes: Panes | None = None

    def answered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of results, or the partial answers, of the partitions of one task."""
        done, of_panes, is_unsure = RunStatistics(), RunStatistics(), False
        with self.layout.pool(self.rows_in_memory, self.bytes_in_memory) as pool:
            for batch in batches:
                pool.add(batch)
            for number, rows in pool.slices():
                job, work = self, done
                if self.panes is not None and number is not None:
                    job, work = replace(self, sets=self.panes.pane_sets), of_panes
                if isinstance(rows, pa.Table):
                    is_unsure |= number is not None
                    yield from job._at_once(rows, number, work)
                else:
                    is_unsure = True
                    yield from job._in_order(rows, number, work)
        done.bursts += of_panes.bursts
        done.snapshots += of_panes.snapshots
        told = (done.bursts, done.snapshots, done.windows_closed, done.groups, int(is_unsure))
        yield from self._told(dict(zip(TOLD, told, strict=True)))
        settle()

    def _at_once(
        self, rows: pa.Table, number: int | None, done: RunStatistics
    ) -> Iterator[pa.RecordBatch]:
        """Run rows of one slice, or of none, that are all in memory."""
        table = self.layout.table(self.name, rows, self.times)
        for sharable in self.sets:
            yield from self._run(sharable, table, number, done)

    def _run(
        self, sharable: SharableSet, table: EventTable, number: int | None, done: RunStatistics
    ) -> Iterator[pa.RecordBatch]:
        closed, counters = SetPipeline.of(self.plan, sharable, self.options).answered(table)
        yield from self._closed(closed, number, done, counters)

    def _in_order(
        self, runs: Runs, number: int | None, done: RunStatistics
    ) -> Iterator[pa.RecordBatch]:
        """Run rows of one slice, or of none, stretch by stretch."""
        states: list[SetState] = []
        apart = with_single_windows(self.plan)
        options = replace(self.options, order=_ORDER if self.layout.has_order else None)
        types = self.layout.lettering.types
        closed, is_changed = np.full(1, -FAR, np.int64), np.zeros(1, np.bool_)
        fitting = self.bytes_in_memory * runs.rows // max(runs.size, 1)
        of_stretch = max(1, min(self.rows_in_memory, _STRETCH_ROWS, fitting))
        for stretch, until in runs.in_order(of_stretch):
            table = self.layout.table(self.name, stretch, self.times)
            rows = RawRows(
                table.ts,
                table.types.data.astype(np.int32, copy=False),
                np.zeros(len(table), np.int32),
                table.table,
            )
            states = states or [
                SetState(self.plan, sharable, options, types, table.table.schema, apart)
                for sharable in self.sets
            ]
            for state in states:
                counters = Counters()
                results = state.advance(rows, until, closed, is_changed, counters)
                if results is not None:
                    yield from self._closed(results, number, done, counters)
            closed[0] = until

    def _closed(
        self, closed: ClosedSet, number: int | None, done: RunStatistics, counters: Counters
    ) -> Iterator[pa.RecordBatch]:
        """The rows of results, or the partial answer, of windows that have closed."""
        emission = self._of_slice(closed.emission, closed.program, number)
        done.count(counters)
        done.windows_closed -= len(closed.emission.part) - len(emission.part)
        of_slice = replace(closed, emission=emission)
        if self.partial is not None:
            yield from _batches(of_slice.partial(self.plan, self.partial))
            return
        answers = of_slice.answers(self.plan)
        done.groups += answers.different_groups()
        yield from _batches(long_table_of_set(answers, self.times)[0])

    def _of_slice(self, emission: Emission, program: Program, number: int | None) -> Emission:
        """What was emitted for windows that begin in a slice."""
        if number is None:
            return emission
        slides = [self.plan.queries[number].query.window.slide_us for number in program.queries]
        of_template = np.array(slides, np.int64)[program.template_query]
        begin = emission.window * of_template[emission.unit]
        return picked(emission, begin // self.layout.slice_us == number)

    def composed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Partial answers, with those over panes put together; others are as they were.

        All panes of a query and partition are here, or none.
        """
        some = [batch for batch in batches if batch.num_rows]
        if not some or self.panes is None or self.partial is None:
            return
        # Times come back in the zone of the session.
        table = pa.Table.from_batches(some).cast(without_large(self.partial))
        is_of_pane = pc.greater_equal(table["query"], self.panes.first)
        yield from _batches(table.filter(pc.invert(is_of_pane)))
        done = RunStatistics()
        for closed in compose(self.panes, table.filter(is_of_pane)):
            counters = Counters(windows=len(closed.emission.part))
            yield from self._closed(closed, None, done, counters)
        yield from self._told({**dict.fromkeys(TOLD, 0), "windows": done.windows_closed})

    def finished(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of results of partial answers that have all there is of their groups."""
        some = [batch for batch in batches if batch.num_rows]
        if not some:
            return
        table = merged([pa.Table.from_batches(some)])
        del some
        queries = [number for sharable in self.sets for number in sharable.queries]
        for answer in answers_of(self.plan, table, queries):
            yield from self._rows(answer)

    def _rows(self, answer: Answer) -> Iterator[pa.RecordBatch]:
        query = self.plan.queries[answer.query].query
        yield from _batches(long_table(query, answer.rows, self.times))

    def _told(self, numbers: dict[str, int]) -> Iterator[pa.RecordBatch]:
        """Rows that tell what was done: without a query, or with the query -1."""
        schema = self.partial
        if schema is not None:
            numbers = {name: numbers[name] for name in TOLD_PARTIAL}
        names, values = list(numbers), list(numbers.values())
        known: dict[str, Any] = {"aggregate": names, "value": list(map(float, values))}
        if schema is None:
            schema = long_table(self.plan.queries[0].query, None, self.times).schema
        else:
            known = {"query": [-1] * len(names), "role": range(len(names)), "window": values}
        arrays = [
            pa.array(known[field.name], field.type)
            if field.name in known
            else pa.nulls(len(names), field.type)
            for field in schema
        ]
        yield from _batches(pa.Table.from_arrays(arrays, schema=schema))


# Batches


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table as Spark takes it, in batches that are not too large, however long its digits are."""
    if not table.num_rows:
        return
    schema = without_large(table.schema)
    rows = _BATCH_BYTES * table.num_rows // max(table.nbytes, 1)
    for batch in table.to_batches(max_chunksize=min(max(rows, 1), _BATCH_ROWS)):
        yield batch.cast(schema)


def without_large(schema: pa.Schema) -> pa.Schema:
    """A schema with the kinds of text and bytes that Spark has."""
    return pa.schema([(field.name, _small(field.type)) for field in schema])


def _small(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _small(field.type)) for field in kind])
    return kind
