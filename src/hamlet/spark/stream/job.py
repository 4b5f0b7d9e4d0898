"""What the tasks of a stream send to one another: rows packed by bucket, results packed as rows.

Nothing here knows of Spark. A task packs the rows of a batch, as bytes, by bucket
(`stream_lanes.py`). Where the bucket is, its session answers them (`stream_bucket.py`), and gives
rows of results as bytes again, of which a third task makes rows: so Python sees no row by itself.

A group with partitions in several buckets has no rows yet when its windows close, but a partial
answer in each of them. The third task gets these by query, window and group, adds them up and
finishes them. It has all there are in one batch, and keeps nothing: buckets close a window in the
first batch whose watermark has come to its end, which is the same batch for all of them, and the
end of the stream comes to all in one batch too.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from hamlet.engine import Options
from hamlet.engine.session import Session, workload_digest
from hamlet.engine.state.rows import table_bytes, table_of
from hamlet.errors import ReadError
from hamlet.events.columns import numpy_of
from hamlet.events.times import microseconds
from hamlet.io.long_form import long_table, long_table_of_set
from hamlet.kernel.encode.sorting import sort_by_code
from hamlet.kernel.finish.partial import answers_of
from hamlet.plan.letters import alphabet_of
from hamlet.spark.letters import LONG, lettering_of, letters_column
from hamlet.spark.settled import settle
from hamlet.spark.stream.generations import EVERYTHING
from hamlet.spark.stream.lanes import lanes_of, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.engine.state.closed import Closed
    from hamlet.events.times import Times
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.letters import Lettering
    from hamlet.spark.stream.generations import Span
    from hamlet.spark.stream.lanes import Lane
    from hamlet.spark.stream.settings import StreamSettings

# Which lanes a row is in is told by the bits of longs, without the sign.
LANES_OF_LONG = LONG
TYPE, TIME, ORDER = "\0type", "\0time", "\0order"
_FIRST, _ROW = "\0first", "\0row"
_EXTRAS = {_ROW: pa.string(), _FIRST: pa.bool_()}
# What rows may have had of these, where nobody has noted it: a column too many cannot be read.
_ANY_EXTRAS = ((_ROW, _FIRST), (_ROW,), (_FIRST,), ())
# Whether results of a window are the last, and the batch that they came with.
FINAL, BATCH = "final", "batch"
_UTC = pa.timestamp("us", "UTC")
_ROWS_PACKED = 1 << 18
_BYTES_PACKED = 1 << 25

PACKED = pa.schema([("bucket", pa.int32()), ("data", pa.binary())])
# Stands for no lane, where rows of results are finished.
FINISHED = -1


class Answered(NamedTuple):
    """What a bucket gives: rows of results, or a part of the partial answer of a lane.

    place: What goes to one place meets there.
    lane: The lane of a partial answer, by its number; FINISHED for rows of results.
    """

    place: int
    lane: int
    data: bytes


class Fed(NamedTuple):
    """Rows of a bucket.

    table: As a session takes them.
    is_first: Which are counted in this lane; None where all are.
    texts: What they were; None where nobody keeps late ones.
    """

    table: pa.Table
    is_first: NDArray[np.bool_] | None
    texts: pa.ChunkedArray | None


@dataclass(frozen=True)
class StreamJob:
    """What every task of a stream does.

    lanes: The queries, by what their rows are spread by.
    options: How to run them.
    lettering: What the integers say that come with a row.
    schema: The attributes that come in, in this order; last the order column, if there is one.
    times: What windows are given in.
    pages: How many pages a bucket has.
    buckets: The numbers under which buckets are known.
    settings: What the bytes of states depend on, in a digest.
    span: The windows that are answered; rows that are in none of them are not packed.
    first_lane: The number of its first lane, where there are several jobs.
    is_oldest: Whether no earlier generation is live: what comes from before it is late, and
        counted by it.
    is_only: Whether there is no other generation, so that every row is for this one.
    is_early: Whether open windows give results too, as far as they are.
    late_rows: Where rows go that are late; None where they are only counted.
    """

    lanes: tuple[Lane, ...]
    options: Options
    lettering: Lettering
    schema: pa.Schema
    times: Times
    pages: int
    buckets: tuple[int, ...] = ()
    settings: str = ""
    span: Span = EVERYTHING
    first_lane: int = 0
    is_oldest: bool = True
    is_only: bool = True
    is_early: bool = False
    late_rows: str | None = None

    def without_templates(self) -> StreamJob:
        """The same for tasks that pack and unpack, which each batch sends to Python anew."""
        return replace(self, lanes=tuple(lane.without_templates() for lane in self.lanes))

    @property
    def has_partial(self) -> bool:
        """Whether buckets give partial answers."""
        return any(lane.later for lane in self.lanes)

    @property
    def width(self) -> int:
        """How many columns the rows have that are packed."""
        text = int(self.lettering.is_text)
        return self.lane_longs + self.lettering.longs + text + 1 + len(self.schema) + self.keeps

    # Packing

    def packed(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Rows as bytes, by bucket."""
        columns = iter(table.columns)
        lanes = [numpy_of(next(columns)) for _ in range(self.lane_longs)]
        found: dict[str, Any] = {
            letters_column(number): next(columns) for number in range(self.lettering.longs)
        }
        if self.lettering.is_text:
            found[TYPE] = self.lettering.codes((), next(columns), table.num_rows)
        found[TIME] = microseconds(next(columns))[0]
        if self.options.order is not None:
            found[ORDER] = _plain(next(columns))
        # The order column, which is last in the schema, has come before.
        names = [name for name in self.schema.names if name != ORDER]
        if self.keeps:
            names.append(_ROW)
        found |= {name: _plain(each) for name, each in zip(names, columns, strict=True)}
        everything = pa.table(found)
        if not self.span.is_whole:
            is_here = self.span.events(numpy_of(everything.column(TIME)), self.is_oldest)
            everything = everything.filter(pa.array(is_here))
            lanes = [each[is_here] for each in lanes]
        taken = np.zeros(everything.num_rows, np.bool_)
        for number, lane in enumerate(self.lanes):
            schema = self.packed_schema(lane)
            rows = everything.select([name for name in schema.names if name != _FIRST])
            if lanes:
                at, bit = divmod(number, LANES_OF_LONG)
                is_here = (lanes[at] >> bit) & 1 == 1
                # A row in several lanes is counted in the first.
                rows = rows.append_column(_FIRST, pa.array(~taken)).filter(pa.array(is_here))
                taken |= is_here
            if rows.num_rows:
                keys = [rows.column(name) for name in lane.keys]
                places = lane.buckets_of(keys, rows.num_rows)
                for bucket, data in self._by_place(lane, rows.cast(schema), places):
                    one = [pa.array([bucket], pa.int32()), pa.array([data], pa.binary())]
                    yield pa.RecordBatch.from_arrays(one, schema=PACKED)

    def _by_place(
        self, lane: Lane, rows: pa.Table, places: NDArray[np.int32]
    ) -> Iterator[tuple[int, bytes]]:
        """The bytes of the rows of each bucket of a lane that has some, and its number."""
        order, starts = sort_by_code(places, lane.count)
        arranged = rows.take(pa.array(order))
        for place in np.flatnonzero(np.diff(starts)).tolist():
            some = arranged.slice(int(starts[place]), int(starts[place + 1] - starts[place]))
            yield self.buckets[lane.first + place], table_bytes(some)

    @property
    def keeps(self) -> bool:
        """Whether rows travel with what they were, so that those which are late can be kept."""
        return self.late_rows is not None

    @property
    def lane_longs(self) -> int:
        """How many longs say which lanes a row is in."""
        is_one = len(self.lanes) == 1 and self.is_only
        return 0 if is_one else -(-len(self.lanes) // LANES_OF_LONG)

    @property
    def extras(self) -> tuple[str, ...]:
        """Columns that rows come with now, and may come without after another start.

        That depends on whether there are other generations, and on whether late rows are kept.
        """
        return (_ROW,) * self.keeps + (_FIRST,) * (self.lane_longs > 0)

    def packed_schema(self, lane: Lane, extras: Sequence[str] | None = None) -> pa.Schema:
        """The columns of packed rows; those that come now where none are named."""
        fields = [self._letters_field(number) for number in range(self.lettering.longs)]
        fields += [pa.field(TYPE, pa.int32())] if self.lettering.is_text else []
        fields += [pa.field(TIME, pa.int64()), *self._order_field(), *lane.schema]
        extras = self.extras if extras is None else extras
        return pa.schema([*fields, *(pa.field(name, _EXTRAS[name]) for name in extras)])

    def _letters_field(self, number: int) -> pa.Field:
        """The column of an integer, as short as its bits allow."""
        bits = self.lettering.type_bits + self.lettering.condition_bits - number * LONG
        return pa.field(letters_column(number), _integer(min(bits, LONG)))

    def _order_field(self) -> list[pa.Field]:
        return [] if self.options.order is None else [self.schema.field(ORDER)]

    # Sessions

    def lane_of(self, bucket: int) -> Lane:
        """The lane of a bucket, by its number."""
        place = self.buckets.index(bucket)
        return next(lane for lane in self.lanes if place < lane.first + lane.count)

    def session(self, lane: Lane) -> Session:
        """A session for the queries of a lane."""
        order = None if self.options.order is None else ORDER
        options = Options(
            TYPE,
            TIME,
            order,
            numbers=self.options.numbers,
            sharing=self.options.sharing,
            fixed=self.options.fixed,
        )
        fields = [pa.field(TYPE, pa.string()), pa.field(TIME, pa.timestamp("us"))]
        fields += [*self._order_field(), *lane.schema, *map(self._letters_field, lane.letters)]
        return Session(lane.plan, options, pa.schema(fields), self.pages)

    def fed(self, lane: Lane, data: Sequence[bytes]) -> Fed:
        """Packed rows that have come now, as a session takes them."""
        table = self._unpacked(lane, data, self.extras)
        is_first = numpy_of(table.column(_FIRST)) if self.lane_longs else None
        return Fed(
            self._taken_in(lane, table), is_first, table.column(_ROW) if self.keeps else None
        )

    def fed_later(
        self, lane: Lane, data: Sequence[bytes], extras: Sequence[str] | None
    ) -> pa.Table:
        """Packed rows of an earlier batch, as a session takes them.

        Args:
            lane: The lane that they are in.
            data: The rows.
            extras: What they came with (see `extras`); None where that was not noted.
        """
        if extras is not None:
            return self._taken_in(lane, self._unpacked(lane, data, extras))
        for some in _ANY_EXTRAS:
            try:
                return self._taken_in(lane, self._unpacked(lane, data, some))
            except (pa.ArrowInvalid, OSError):
                continue
        raise ReadError("the state of a stream", "rows that wait in it cannot be read")

    def _unpacked(self, lane: Lane, data: Sequence[bytes], extras: Sequence[str]) -> pa.Table:
        schema = self.packed_schema(lane, extras)
        table = pa.concat_tables([schema.empty_table(), *(table_of(d, schema) for d in data)])
        return table.combine_chunks()

    def _taken_in(self, lane: Lane, table: pa.Table) -> pa.Table:
        """The columns of rows that a session looks at."""
        if self.lettering.is_text:
            codes = numpy_of(table.column(TYPE))
        else:
            longs = [numpy_of(table.column(0))] if self.lettering.longs else []
            codes = self.lettering.codes(longs, None, table.num_rows)
        words = pa.array(self.lettering.types, pa.string())
        columns: dict[str, Any] = {
            TYPE: pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words),
            TIME: table.column(TIME).cast(pa.timestamp("us")),
        }
        others = [*(each.name for each in self._order_field()), *lane.schema.names]
        others += map(letters_column, lane.letters)
        columns |= {name: table.column(name) for name in others}
        return pa.table(columns)

    # Results

    @cached_property
    def long_schema(self) -> pa.Schema:
        """The columns of results."""
        nothing: Any = None  # of no rows it does not matter of which query
        schema = _small(long_table(nothing, None, self.times).schema)
        if self.is_early:
            schema = schema.append(pa.field(FINAL, pa.bool_())).append(pa.field(BATCH, pa.int64()))
        return schema

    def answered(self, lane: Lane, bucket: int, closed: Closed, batch: int) -> Iterator[Answered]:
        """What a bucket gives for windows that have closed, and that the span has."""
        whole, later = closed.apart(lane.later)
        for piece in self._results(whole, batch):
            yield Answered(bucket, FINISHED, table_bytes(piece))
        if later.sets:
            partial = later.partial()
            names = [partial.column(name) for name in ("query", "window", "group")]
            places = lane.buckets_of(names, partial.num_rows)
            for place, data in self._by_place(lane, partial, places):
                yield Answered(place, self.first_lane + self.lanes.index(lane), data)

    def updated(
        self, lane: Lane, bucket: int, before: Closed, after: Closed, batch: int
    ) -> Iterator[Answered]:
        """What a batch has changed of open windows: results that are others than before.

        One that is no longer there comes without values.
        """
        old, new = (results_of(list(self._results(each))) for each in (before, after))
        changed = [(key, values) for key, values in new.items() if old.get(key) != values]
        changed += [
            (key, [(name, None, None, None) for name, *_ in values])
            for key, values in old.items()
            if key not in new
        ]
        rows = [(*key, *values, False, batch) for key, some in changed for values in some]
        if rows:
            columns = zip(*rows, strict=True)
            fields = zip(columns, self.long_schema, strict=True)
            arrays = [pa.array(column, field.type) for column, field in fields]
            table = pa.Table.from_arrays(arrays, schema=self.long_schema)
            yield Answered(bucket, FINISHED, table_bytes(table))

    def _results(self, closed: Closed, batch: int = 0) -> Iterator[pa.Table]:
        """Rows of results, in pieces that are not too large; those of a window are in one."""
        for answers in closed.of_sets():
            table, ends = long_table_of_set(answers, self.times)
            if table.nbytes <= _BYTES_PACKED:
                yield from self._long([table] if table.num_rows else [], batch)
                continue
            for query, (begin, end) in zip(answers.queries, pairwise(ends.tolist()), strict=True):
                yield from self._long(_pieces(query, table.slice(begin, end - begin)), batch)

    def _long(self, pieces: Iterable[pa.Table], batch: int) -> Iterator[pa.Table]:
        """Final results as they travel."""
        for piece in pieces:
            table = piece
            if self.is_early:
                table = table.append_column(FINAL, pa.repeat(pa.scalar(True), table.num_rows))
                table = table.append_column(BATCH, pa.repeat(pa.scalar(batch), table.num_rows))
            yield table.cast(self.long_schema)

    def told(self, bucket: int, numbers: dict[str, int]) -> Answered:
        """Rows that tell what was done: they have no query."""
        known: dict[str, Any] = {"aggregate": list(numbers), "value": list(numbers.values())}
        arrays = [
            pa.array(known[field.name], pa.float64() if field.name == "value" else field.type)
            if field.name in known
            else pa.nulls(len(numbers), field.type)
            for field in self.long_schema
        ]
        told = pa.Table.from_arrays(arrays, schema=self.long_schema)
        return Answered(bucket, FINISHED, table_bytes(told))

    def finished(self, lane: Lane, partial: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        """Rows of results of partial answers of a lane, of which all that meets is there."""
        whole = pa.concat_tables([table_of(data, lane.partial) for data in partial])
        for answer in answers_of(lane.plan, whole, lane.later):
            query = lane.plan.queries[answer.query].query
            table = long_table(query, answer.rows, self.times)
            for piece in self._long(_pieces(query, table), 0):
                yield from piece.to_batches()


@dataclass(frozen=True)
class StreamJobs:
    """The jobs of all generations that are live, the newest last: mostly there is one."""

    jobs: tuple[StreamJob, ...]

    @staticmethod
    def of(jobs: Iterable[StreamJob]) -> StreamJobs:
        """Jobs, whose lanes are numbered one after another."""
        given = list(jobs)
        numbered: list[StreamJob] = []
        for place, job in enumerate(given):
            first = sum(len(each.lanes) for each in numbered)
            is_oldest, is_only = place == 0, len(given) == 1
            numbered.append(replace(job, first_lane=first, is_oldest=is_oldest, is_only=is_only))
        return StreamJobs(tuple(numbered))

    @cached_property
    def settings(self) -> str:
        """What all of them depend on."""
        return " ".join(f"{job.settings} {job.span}" for job in self.jobs)

    def without_templates(self) -> StreamJobs:
        """The same for tasks that pack and unpack."""
        return StreamJobs(tuple(job.without_templates() for job in self.jobs))

    @property
    def has_partial(self) -> bool:
        """Whether buckets give partial answers."""
        return any(job.has_partial for job in self.jobs)

    @property
    def buckets(self) -> tuple[int, ...]:
        """The numbers of all buckets."""
        return tuple(bucket for job in self.jobs for bucket in job.buckets)

    @property
    def long_schema(self) -> pa.Schema:
        """The columns of results."""
        return self.jobs[-1].long_schema

    def job_of(self, bucket: int) -> StreamJob | None:
        """The job of a bucket; None where that is of a generation which is over."""
        return next((job for job in self.jobs if bucket in job.buckets), None)

    def packed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows as bytes, by bucket; the columns of one job stand after those of another."""
        for table in _many_rows(batches):
            first = 0
            for job in self.jobs:
                yield from job.packed(table.select(list(range(first, first + job.width))))
                first += job.width
        settle()

    def unpacked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of results of what buckets gave, of which all that meets is there."""
        partial: dict[int, list[Any]] = {}
        for batch in batches:
            _, lanes, data = batch.columns
            for number, each in zip(lanes.to_pylist(), data, strict=True):
                if number == FINISHED:
                    yield from table_of(each.as_buffer(), self.long_schema).to_batches()
                else:
                    partial.setdefault(number, []).append(each.as_buffer())
        for job in self.jobs:
            for number, lane in enumerate(job.lanes, job.first_lane):
                if number in partial:
                    yield from job.finished(lane, partial[number])
        settle()


def _pieces(query: Query, table: pa.Table) -> Iterator[pa.Table]:
    """Rows of the long form of a query in pieces, without a cut inside a window and group."""
    width = max(1, len(query.returned))
    some = width * max(1, _BYTES_PACKED * table.num_rows // max(table.nbytes, 1) // width)
    for begin in range(0, table.num_rows, some):
        yield table.slice(begin, some)


def _many_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of batches in tables that are worth packing."""
    some: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        some.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _ROWS_PACKED or size >= _BYTES_PACKED:
            yield pa.Table.from_batches(some)
            some, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(some)


def job_of(
    plan: WorkloadPlan,
    schema: pa.Schema,
    options: Options,
    settings: StreamSettings,
    *,
    lettering: Lettering | None = None,
    order: pa.DataType | None = None,
    times: Times = "timestamps",
    generation: int = 0,
    span: Span | None = None,
) -> StreamJob:
    """What the tasks of a stream do.

    Args:
        plan: The workload.
        schema: The attributes that it looks at.
        options: How to run it.
        settings: How to run it as a stream.
        lettering: Which conditions come as bits; none where left out.
        order: The type of the column that orders events of equal time.
        times: What windows are given in.
        generation: Which one of the stream it is.
        span: The windows that it answers for; all where left out.

    Raises:
        SchemaError: An attribute is not what the workload uses it for.
    """
    if lettering is None:
        lettering = lettering_of(alphabet_of(plan.queries), ())
    lanes = lanes_of(plan, schema, options, settings, lettering)
    travels = {name for lane in lanes for name in lane.schema.names}
    fields = [field for field in schema if field.name in travels]
    job = StreamJob(
        lanes=lanes,
        options=Options(
            options.type,
            options.time,
            options.order,
            options.numbers,
            options.sharing,
            fixed=options.fixed,
        ),
        lettering=lettering,
        schema=pa.schema(fields if order is None else [*fields, pa.field(ORDER, order)]),
        times=times,
        pages=settings.pages,
        buckets=spread(sum(lane.count for lane in lanes), generation),
        span=span or EVERYTHING,
        is_early=settings.is_early,
        late_rows=settings.late_rows,
    )
    # Sessions know conditions by their bits alone: what these mean belongs to the state too.
    bits = [[str(atom), bit] for atom, bit in lettering.bits.items()]
    meaning = [lettering.types, lettering.is_text, bits]
    laid_out = [
        [job.session(lane).code, lane.keys, lane.later, lane.first, lane.count] for lane in lanes
    ]
    plain = json.dumps([workload_digest(plan), meaning, laid_out, settings.lateness_us, times])
    return replace(job, settings=hashlib.sha256(plain.encode()).hexdigest())


def results_of(tables: Sequence[pa.Table]) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    """By query, window and group, the names and values of all that is returned."""
    results: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for table in tables:
        columns = [table.column(place).to_pylist() for place in range(8)]
        for row in zip(*columns, strict=True):
            results.setdefault(row[:4], []).append(row[4:])
    return results


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in the form it has everywhere: times in UTC, whatever the zone of the session."""
    kind = column.type
    is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return column.cast(_UTC) if is_zoned else column


def _integer(bits: int) -> pa.DataType:
    """The shortest integer that has so many bits besides the sign."""
    kinds = {7: pa.int8(), 15: pa.int16(), 31: pa.int32()}
    return next((kind for most, kind in kinds.items() if bits <= most), pa.int64())


def _small(schema: pa.Schema) -> pa.Schema:
    """A schema with the kind of text that Spark has."""
    kinds = [pa.string() if pa.types.is_large_string(f.type) else f.type for f in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))
