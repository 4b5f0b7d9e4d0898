"""What a task of Spark does: the Arrow batches of its partitions in, rows of results out.

Nothing here knows of Spark: a job is plain data that travels to the workers, and its two methods
take and give Arrow batches. `answered` runs the sets of one shuffle, all of whose partitions are
whole in the task. Where a group may have partitions in other tasks, what it gives are partial
answers; these are shuffled again, and `finished` adds them up.

A task also tells what it has done, in rows without a query, which the host takes out again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.columns import Values, numpy_of
from hamlet.engine import compile_encoded, groups_of
from hamlet.events import EventTable, Statistics
from hamlet.kernel.encode import encode
from hamlet.kernel.finish import finish
from hamlet.kernel.finish.partial import answers_of, merged, partial_of
from hamlet.kernel.shared import run_batch
from hamlet.plan.program import compile_set
from hamlet.results import long_table
from hamlet.spark.letters import bit_column
from hamlet.statistics import RunStatistics
from hamlet.times import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.kernel.finish import Answer
    from hamlet.plan.workload import SharableSet, WorkloadPlan
    from hamlet.results import Times
    from hamlet.spark.letters import Lettering

# What a task tells of its work, by the name that stands in the column `aggregate`.
TOLD = ("bursts", "snapshots", "windows", "groups")
_ORDER = "\0order"
_UTC = pa.timestamp("us", "UTC")
_BATCH_ROWS = 50_000
_BATCH_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns that a task gets: integers of letters, perhaps the type, time, order, attributes.

    has_order: Whether there is a column that orders events of equal time.
    attributes: Their names, in the order of their columns.
    """

    lettering: Lettering
    has_order: bool
    attributes: tuple[str, ...]

    def table(self, name: str, batches: list[pa.RecordBatch], times: Times) -> EventTable:
        """Batches as events that can be encoded."""
        table = pa.Table.from_batches(batches)
        columns = iter(table.columns)
        longs = [numpy_of(next(columns)) for _ in range(self.lettering.longs)]
        text = next(columns) if self.lettering.is_text else None
        time = next(columns)
        types = self._types(longs, text, len(time))
        ts = microseconds(time)[0]
        found: dict[str, Any] = {_ORDER: next(columns)} if self.has_order else {}
        found |= {attribute: _plain(next(columns)) for attribute in self.attributes}
        for bit in range(self.lettering.condition_bits):
            number, place = self.lettering.place(bit)
            found[bit_column(bit)] = ((longs[number] >> place) & 1).astype(np.bool_)
        order = _ORDER if self.has_order else None
        statistics = Statistics(len(ts))
        is_number = times == "seconds"
        return EventTable(name, pa.table(found), ts, types, order, is_number, statistics)

    def _types(
        self, longs: list[NDArray[Any]], text: pa.ChunkedArray | None, length: int
    ) -> Values:
        words = pa.array(self.lettering.types, pa.large_string())
        if text is not None:
            codes = pc.index_in(text, value_set=words.cast(text.type))
            return Values("text", numpy_of(codes), None, words)
        if not longs:
            return Values("text", np.zeros(length, np.int32), None, words)
        mask = (1 << self.lettering.type_bits) - 1
        return Values("text", (longs[0] & mask).astype(np.int32), None, words)


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
    times: Whether events had timestamps or numbers of seconds.
    partial: The columns of partial answers, where groups are put together later.
    """

    name: str
    plan: WorkloadPlan
    sets: tuple[SharableSet, ...]
    options: Options
    layout: Layout
    times: Times
    partial: pa.Schema | None = None

    def answered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of results, or the partial answers, of the partitions of one task."""
        # Here is where a task that is too large for memory would be run in stretches of time.
        some = [batch for batch in batches if batch.num_rows]
        if not some:
            return
        table = self.layout.table(self.name, some, self.times)
        del some
        done = RunStatistics()
        for sharable in self.sets:
            yield from self._run(sharable, table, done)
        told = (done.bursts, done.snapshots, done.windows_closed, done.groups)
        yield from self._told(dict(zip(TOLD, told, strict=True)))

    def _run(
        self, sharable: SharableSet, table: EventTable, done: RunStatistics
    ) -> Iterator[pa.RecordBatch]:
        plan, options = self.plan, self.options
        program = compile_set(plan, sharable)
        encoded = encode(table, plan, sharable, program, options.numbers)
        compiled = compile_encoded(plan, program, encoded, options)
        emission, counters = run_batch(compiled, encoded.batch, options.numbers == "float")
        done.bursts += counters.bursts
        done.snapshots += counters.snapshots
        done.windows_closed += counters.windows
        finishing: dict[str, Any] = {
            "digits": encoded.digits,
            "is_integer": {a: a in encoded.integers for a in encoded.digits},
            "groups": groups_of(encoded),
        }
        if self.partial is not None:
            yield from _batches(
                partial_of(plan, program, emission, **finishing, schema=self.partial)
            )
            return
        for answer in finish(plan, program, emission, **finishing):
            done.groups += len(pc.unique(answer.rows["group"]))
            yield from self._rows(answer)

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
        names, values = list(numbers), list(numbers.values())
        known: dict[str, Any] = {"aggregate": names, "value": list(map(float, values))}
        schema = self.partial
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
