"""What the tasks of a stream send to one another: rows packed by bucket, results packed as rows.

Nothing here knows of Spark. A *lane* is the sets of queries whose groups can be told apart by the
same grouping attributes; its rows are spread over *buckets* by the hash of these, so that a bucket
has all partitions of its groups. A task packs the rows of a batch, as bytes, by bucket. Where the
bucket is, its session answers them (`stream_bucket.py`), and gives rows of results as bytes again,
of which a third task makes rows: so Python sees no row by itself.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.columns import numpy_of
from hamlet.engine import Options
from hamlet.kernel.sorting import sort_by_code
from hamlet.needs import needs_of
from hamlet.plan.workload import WorkloadPlan, plan_alone, plan_workload
from hamlet.results import long_table
from hamlet.session import Session
from hamlet.spark.stream_settings import BUCKETS
from hamlet.state.hashing import hashes_of
from hamlet.state.rows import table_bytes, table_of
from hamlet.times import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.finish import Answer
    from hamlet.results import Times
    from hamlet.spark.stream_settings import StreamSettings

# Which lanes a row is in is told by the bits of longs, without the sign.
LANES_OF_LONG = 63
TYPE, TIME, ORDER = "\0type", "\0time", "\0order"
_FIRST = "\0first"
_UTC = pa.timestamp("us", "UTC")
# Beyond so many types finding the number takes longer than sending the name.
_MOST_TYPES = 64
# Every number from 1 to 10 divides it.
_TASKS = 2520
_MASK = (1 << 32) - 1
_ROWS_PACKED = 1 << 18
_BYTES_PACKED = 1 << 25

PACKED = pa.schema([("bucket", pa.int32()), ("data", pa.binary())])


@dataclass(frozen=True, slots=True)
class Lane:
    """Queries whose groups can be told apart by the same attributes.

    plan: The queries, and no others.
    keys: The attributes that say which bucket a row is in.
    types: Those that the queries ask for, in the order of their names.
    schema: The attributes that the queries look at.
    first: Which bucket of all is its first.
    count: How many buckets there are.
    """

    plan: WorkloadPlan
    keys: tuple[str, ...]
    types: tuple[str, ...]
    schema: pa.Schema
    first: int
    count: int

    @property
    def partition(self) -> frozenset[str]:
        """The attributes that partition the stream for any of the queries."""
        return frozenset(key for sharable in self.plan.sets for key in sharable.partition)

    def buckets_of(self, table: pa.Table) -> NDArray[np.int64]:
        """Which of its buckets each row is in, from 0 on."""
        if self.count == 1:
            return np.zeros(table.num_rows, np.int64)
        hashes = hashes_of([table.column(name) for name in self.keys], table.num_rows)
        # Pages are found by the lower half of the same bits.
        return ((hashes >> np.uint64(32)) % np.uint64(self.count)).astype(np.int64)


@dataclass(frozen=True)
class StreamJob:
    """What every task of a stream does.

    lanes: The queries, by what tells their groups apart.
    options: How to run them.
    types: All types that are asked for; events have the numbers of theirs, or its name.
    has_names: Whether they have the name.
    schema: The attributes that come in, in this order; last the order column, if there is one.
    times: Whether events had timestamps or numbers of seconds.
    pages: How many pages a bucket has.
    buckets: The numbers under which buckets are known.
    settings: What the bytes of states depend on, in a digest.
    """

    lanes: tuple[Lane, ...]
    options: Options
    types: tuple[str, ...]
    has_names: bool
    schema: pa.Schema
    times: Times
    pages: int
    buckets: tuple[int, ...] = ()
    settings: str = ""

    def without_queries(self) -> StreamJob:
        """The same for tasks that pack and unpack, which each batch sends to Python anew."""
        nothing = WorkloadPlan((), ())
        return replace(self, lanes=tuple(replace(lane, plan=nothing) for lane in self.lanes))

    # Packing

    def packed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows as bytes, by bucket."""
        some: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in batches:
            some.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows >= _ROWS_PACKED or size >= _BYTES_PACKED:
                yield from self._packed(pa.Table.from_batches(some))
                some, rows, size = [], 0, 0
        if rows:
            yield from self._packed(pa.Table.from_batches(some))

    def _packed(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        columns = iter(table.columns)
        lanes = [numpy_of(next(columns)) for _ in range(self.lane_longs)]
        codes = self._codes(next(columns))
        found: dict[str, Any] = {TYPE: codes, TIME: microseconds(next(columns))[0]}
        if self.options.order is not None:
            found[ORDER] = _plain(next(columns))
        # The order column, which is last in the schema, has come before.
        names = [name for name in self.schema.names if name != ORDER]
        found |= {name: _plain(each) for name, each in zip(names, columns, strict=True)}
        everything = pa.table(found)
        taken = np.zeros(table.num_rows, np.bool_)
        for number, lane in enumerate(self.lanes):
            rows = everything.select(self._columns(lane))
            if lanes:
                at, bit = divmod(number, LANES_OF_LONG)
                is_here = (lanes[at] >> bit) & 1 == 1
                # A row in several lanes is counted in the first.
                rows = rows.append_column(_FIRST, pa.array(~taken)).filter(pa.array(is_here))
                taken |= is_here
            yield from self._by_bucket(lane, rows)

    def _by_bucket(self, lane: Lane, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        if not rows.num_rows:
            return
        order, starts = sort_by_code(lane.buckets_of(rows).astype(np.int32), lane.count)
        arranged = rows.cast(self.packed_schema(lane)).take(pa.array(order))
        used = np.flatnonzero(np.diff(starts)).tolist()
        data = [
            table_bytes(arranged.slice(int(starts[b]), int(starts[b + 1] - starts[b])))
            for b in used
        ]
        numbers = pa.array([self.buckets[lane.first + b] for b in used], pa.int32())
        for i in range(len(used)):
            one = [numbers.slice(i, 1), pa.array(data[i : i + 1], pa.binary())]
            yield pa.RecordBatch.from_arrays(one, schema=PACKED)

    def _codes(self, column: pa.ChunkedArray) -> NDArray[np.int32]:
        if self.has_names:
            column = pc.index_in(column, value_set=pa.array(self.types, column.type))
        return numpy_of(column).astype(np.int32)

    @property
    def lane_longs(self) -> int:
        """How many longs say which lanes a row is in."""
        return 0 if len(self.lanes) == 1 else -(-len(self.lanes) // LANES_OF_LONG)

    def _columns(self, lane: Lane) -> list[str]:
        order = [] if self.options.order is None else [ORDER]
        return [TYPE, TIME, *order, *lane.schema.names]

    def packed_schema(self, lane: Lane) -> pa.Schema:
        """The columns of packed rows."""
        fields: list[Any] = [(TYPE, pa.int32()), (TIME, pa.int64())]
        if self.options.order is not None:
            fields.append((ORDER, self.schema.field(ORDER).type))
        fields += [(field.name, field.type) for field in lane.schema]
        fields += [(_FIRST, pa.bool_())] if self.lane_longs else []
        return pa.schema(fields)

    # Sessions

    def lane_of(self, bucket: int) -> Lane:
        """The lane of a bucket, by its number."""
        place = self.buckets.index(bucket)
        return next(lane for lane in self.lanes if place < lane.first + lane.count)

    def session(self, lane: Lane) -> Session:
        """A session for the queries of a lane."""
        order = None if self.options.order is None else ORDER
        options = Options(
            TYPE, TIME, order, numbers=self.options.numbers, sharing=self.options.sharing
        )
        return Session(lane.plan, options, self._fed_schema(lane), self.pages)

    def _fed_schema(self, lane: Lane) -> pa.Schema:
        kinds = {field.name: field.type for field in self.packed_schema(lane)}
        kinds |= {TYPE: pa.string(), TIME: pa.timestamp("us")}
        kinds.pop(_FIRST, None)
        return pa.schema(list(kinds.items()))

    def fed(self, lane: Lane, data: Sequence[bytes]) -> tuple[pa.Table, NDArray[np.bool_] | None]:
        """Packed rows as a session takes them, and which are counted in this lane."""
        schema = self.packed_schema(lane)
        table = pa.concat_tables([schema.empty_table(), *(table_of(d, schema) for d in data)])
        table = table.combine_chunks()
        is_first = None
        if self.lane_longs:
            is_first = numpy_of(table.column(_FIRST))
            table = table.drop_columns([_FIRST])
        words = pa.array(self.types, pa.string())
        chunks = [pa.DictionaryArray.from_arrays(c, words) for c in table.column(TYPE).chunks]
        types = pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))
        table = table.set_column(0, TYPE, types)
        return table.set_column(1, TIME, table.column(TIME).cast(pa.timestamp("us"))), is_first

    # Results

    @cached_property
    def long_schema(self) -> pa.Schema:
        """The columns of results."""
        nothing: Any = None  # of no rows it does not matter of which query
        return _small(long_table(nothing, None, self.times).schema)

    def results(self, lane: Lane, answers: Sequence[Answer]) -> Iterator[bytes]:
        """Rows of results as bytes, in pieces that are not too large."""
        if not answers:
            return
        queries = lane.plan.queries
        whole = pa.concat_tables(
            long_table(queries[answer.query].query, answer.rows, self.times) for answer in answers
        )
        rows = max(1, _BYTES_PACKED * whole.num_rows // max(whole.nbytes, 1))
        for begin in range(0, whole.num_rows, rows):
            piece = whole.slice(begin, rows).combine_chunks()
            yield table_bytes(piece.cast(self.long_schema))

    def told(self, numbers: dict[str, int]) -> bytes:
        """Rows that tell what was done: they have no query."""
        known: dict[str, Any] = {"aggregate": list(numbers), "value": list(numbers.values())}
        arrays = [
            pa.array(known[field.name], pa.float64() if field.name == "value" else field.type)
            if field.name in known
            else pa.nulls(len(numbers), field.type)
            for field in self.long_schema
        ]
        return table_bytes(pa.Table.from_arrays(arrays, schema=self.long_schema))

    def unpacked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of results of their bytes."""
        for batch in batches:
            for data in batch.column(0):
                yield from table_of(data.as_buffer(), self.long_schema).to_batches()


def job_of(
    plan: WorkloadPlan,
    schema: pa.Schema,
    options: Options,
    settings: StreamSettings,
    *,
    order: pa.DataType | None = None,
    times: Times = "timestamps",
) -> StreamJob:
    """What the tasks of a stream do.

    Args:
        plan: The workload.
        schema: The attributes that it looks at.
        options: How to run it.
        settings: How to run it as a stream.
        order: The type of the column that orders events of equal time.
        times: Whether events have timestamps or numbers of seconds.

    Raises:
        SchemaError: An attribute is not what the workload uses it for.
    """
    shared = plan_alone(plan) if options.sharing == "never" else plan
    by_keys: dict[tuple[str, ...], list[int]] = {}
    for sharable in shared.sets:
        grouped = [set(plan.queries[number].query.group_by) for number in sharable.queries]
        keys = tuple(sorted(set.intersection(*grouped)))
        by_keys.setdefault(keys, []).extend(sharable.queries)
    lanes: list[Lane] = []
    first = 0
    for keys, numbers in by_keys.items():
        part = plan_workload(plan.queries[number] for number in sorted(numbers))
        types = {place.type for planned in part.queries for place in planned.query.places}
        needed = pa.schema([schema.field(each) for each in needs_of(part).attributes])
        count = (settings.buckets or BUCKETS) if keys else 1
        lanes.append(Lane(part, keys, tuple(sorted(types)), needed, first, count))
        first += count
    all_types = tuple(sorted({each for lane in lanes for each in lane.types}))
    job = StreamJob(
        lanes=tuple(lanes),
        options=Options(
            options.type, options.time, options.order, options.numbers, options.sharing
        ),
        types=all_types,
        has_names=len(all_types) > _MOST_TYPES,
        schema=schema if order is None else schema.append(pa.field(ORDER, order)),
        times=times,
        pages=settings.pages,
        buckets=spread(first),
    )
    codes = [[job.session(lane).code, lane.first, lane.count] for lane in job.lanes]
    plain = json.dumps([codes, settings.lateness_us, times])
    return replace(job, settings=hashlib.sha256(plain.encode()).hexdigest())


def spread(count: int) -> tuple[int, ...]:
    """Numbers that Spark's hash spreads evenly over up to ten tasks, or any number near to it.

    With 0, 1, 2, ... one task might get most of them, and others none.

    >>> spread(4)
    (6397, 2019, 848, 206)
    """
    places: dict[int, list[int]] = {}
    for place in range(count):
        places.setdefault(place % _TASKS, []).append(place)
    found = [-1] * count
    number = 0
    while places:
        wanted = places.get(_spark_hash(number) % _TASKS)
        if wanted:
            found[wanted.pop()] = number
            if not wanted:
                del places[_spark_hash(number) % _TASKS]
        number += 1
    return tuple(found)


def _spark_hash(number: int) -> int:
    """What Spark tells tasks by: Murmur3 of four bytes, with the seed 42."""
    mixed = _rotated(number * 0xCC9E2D51, 15) * 0x1B873593
    found = _rotated(42 ^ (mixed & _MASK), 13) * 5 + 0xE6546B64
    found = (found & _MASK) ^ 4
    found = (found ^ found >> 16) * 0x85EBCA6B & _MASK
    found = (found ^ found >> 13) * 0xC2B2AE35 & _MASK
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found


def _rotated(number: int, by: int) -> int:
    number &= _MASK
    return (number << by | number >> (32 - by)) & _MASK


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in the form it has everywhere: times in UTC, whatever the zone of the session."""
    kind = column.type
    is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return column.cast(_UTC) if is_zoned else column


def _small(schema: pa.Schema) -> pa.Schema:
    """A schema with the kind of text that Spark has."""
    kinds = [pa.string() if pa.types.is_large_string(f.type) else f.type for f in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))
