"""A host for the buckets of a stream, in this process: what Spark does for them, in plain Python.

Rows arrive shuffled within what they may be late, and are cut into batches at random; the watermark
is that of the batches before, in milliseconds; timers fire after the rows of a batch. Conditions
are evaluated before rows are packed, or in the buckets. What buckets give in one batch meets in as
many tasks as it likes. What it keeps of late rows is their numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.engine import Options
from hamlet.events.required_columns import needs_of
from hamlet.events.table import EventTable
from hamlet.events.untyped import column_of_values
from hamlet.kernel.encode.evaluate import holds
from hamlet.plan.letters import alphabet_of
from hamlet.plan.query import OTHER, asked_types
from hamlet.spark.letters import lettering_of
from hamlet.spark.stream.bucket import TOLD, step
from hamlet.spark.stream.generations import Generation, change_us, live_ones
from hamlet.spark.stream.job import LANES_OF_LONG, StreamJobs, job_of
from hamlet.workload import Workload

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from hamlet.plan.letters import Atom
    from hamlet.spark.stream.job import Answered
    from hamlet.spark.stream.lanes import Lane
    from hamlet.spark.stream.settings import StreamSettings

_ANSWERED = pa.schema([("place", pa.int32()), ("lane", pa.int32()), ("data", pa.binary())])


class Store:
    """The state of one bucket, which counts what is done to it."""

    def __init__(self) -> None:
        self.data: bytes | None = None
        self.pages: dict[int, bytes] = {}
        self.timer: int | None = None
        self.read: list[int] = []
        self.written: list[int] = []

    def core(self) -> bytes | None:
        return self.data

    def put_core(self, data: bytes) -> None:
        self.data = data

    def clear(self) -> None:
        self.data = None
        self.pages = {}

    def page(self, page: int) -> bytes | None:
        self.read.append(page)
        return self.pages.get(page)

    def put_page(self, page: int, data: bytes) -> None:
        self.written.append(page)
        self.pages[page] = data

    def remove_page(self, page: int) -> None:
        self.written.append(page)
        del self.pages[page]

    def set_timer(self, old_ms: int | None, new_ms: int | None) -> None:
        assert old_ms == self.timer
        self.timer = new_ms


class Host:
    """All buckets of a workload."""

    def __init__(
        self,
        text: str,
        events: Sequence[Mapping[str, Any]] | pa.Table,
        settings: StreamSettings,
        *,
        bits: float = 0.0,
        is_text: bool = False,
        **options: Any,
    ) -> None:
        self.workload = Workload.parse(text)
        self.options = Options(**options)
        self.settings = settings
        table = events if isinstance(events, pa.Table) else _table(events)
        found = EventTable.of(table, self.workload.plan, order=self.options.order)
        self.table, self.ts = found.table, found.ts
        self.types = self._as_asked(found.table["type"].to_pylist())
        order = None if self.options.order is None else self.table.schema.field(self.options.order)
        names = [name for name in self.table.schema.names if name not in ("type", "time")]
        kinds = [(n, _kind(self.table.schema.field(n).type)) for n in names]
        alphabet = alphabet_of(self.workload.plan.queries)
        conditional = [each for each in alphabet.atoms if each.condition is not None]
        # The share of conditions that come as bits; the others are left to the buckets.
        some = conditional[: round(bits * len(conditional))]
        lettering = lettering_of(alphabet, some)
        self.lettering = replace(lettering, is_text=is_text or lettering.is_text)
        self.truths = {atom: _truths(atom, found) for atom in self.lettering.bits}
        self.job = job_of(
            self.workload.plan,
            pa.schema([each for each in kinds if each[0] in self._asked()]),
            self.options,
            settings,
            lettering=self.lettering,
            order=None if order is None else order.type,
            times=found.times,
        )
        self.light = StreamJobs.of([self.job]).without_templates()
        self.stores = [Store() for _ in self.job.buckets]
        self.takes_part = [self._takes_part(lane) for lane in self.job.lanes]
        self.letters = self._letters()
        self.fed: set[int] = set()
        self.newest: int | None = None
        self.rows: list[dict[str, Any]] = []
        self.told = dict.fromkeys(TOLD, 0)
        self.batches = 0

    def _as_asked(self, types: list[str]) -> list[str]:
        """Types, with one for all that nobody mentions where somebody asks for that."""
        asked = asked_types(self.workload.queries)
        return [each if each in asked or OTHER not in asked else OTHER for each in types]

    def _asked(self) -> set[str]:
        return set(needs_of(self.workload.plan).attributes)

    @property
    def watermark_us(self) -> int | None:
        if self.newest is None:
            return None
        found = (self.newest // 1000 - -(-self.settings.lateness_us // 1000)) * 1000
        return found if found > 0 else None

    def batch(self, rows: Sequence[int], *, is_end: bool = False) -> None:
        """One batch of rows, by their numbers."""
        self.batches += 1
        data: dict[int, list[bytes]] = {}
        for packed in self.light.packed(self._columns(rows).to_batches(max_chunksize=3)):
            for bucket, each in zip(
                *(column.to_pylist() for column in packed.columns), strict=True
            ):
                data.setdefault(bucket, []).append(each)
        self.fed |= data.keys()
        watermark = self.watermark_us
        given: list[Answered] = []
        for bucket, store in zip(self.job.buckets, self.stores, strict=True):
            if bucket in data or is_end:
                some = data.get(bucket, [])
                how = {"is_end": is_end, "batch": self.batches}
                given += step(self.job, bucket, store, some, watermark, **how)
            if (
                store.timer is not None
                and watermark is not None
                and store.timer * 1000 <= watermark
            ):
                store.timer = None
                given += step(self.job, bucket, store, [], watermark, is_fired=True)
        self._meet(given)
        if len(rows):
            latest = max(int(self.ts[row]) for row in rows)
            self.newest = latest if self.newest is None else max(self.newest, latest)

    def _meet(self, given: list[Answered]) -> None:
        """Finish what buckets have given in one batch, what goes to one place in one task."""
        for place in sorted({each.place for each in given}):
            some = [each for each in given if each.place == place]
            batch = pa.RecordBatch.from_pylist([each._asdict() for each in some], _ANSWERED)
            for found in self.light.unpacked([batch]):
                for row in found.to_pylist():
                    if row["query"] is None:
                        self.told[row["aggregate"]] += int(row["value"])
                    else:
                        self.rows.append(row)

    def _columns(self, rows: Sequence[int]) -> pa.Table:
        """Rows as Spark gives them to the task that packs them."""
        is_kept = np.logical_or.reduce(self.takes_part)
        kept = np.array([row for row in rows if is_kept[row]], np.int64)
        longs = [np.zeros(len(kept), np.int64) for _ in range(self.job.lane_longs)]
        for number, takes_part in enumerate(self.takes_part):
            if longs:
                at, bit = divmod(number, LANES_OF_LONG)
                longs[at] |= takes_part[kept].astype(np.int64) << bit
        part = self.table.take(pa.array(kept))
        types = pa.array([self.types[row] for row in kept], pa.string())
        text = [types] if self.lettering.is_text else []
        order = [] if self.options.order is None else [part[self.options.order]]
        time = pa.array(self.ts[kept], pa.timestamp("us"))
        attributes = [part[n] for n in self.job.schema.names if n in part.schema.names]
        letters = [each[kept] for each in self.letters]
        numbers = [pa.array([str(row) for row in kept], pa.string())] if self.job.keeps else []
        columns = [*map(pa.array, longs + letters), *text, time, *order, *attributes, *numbers]
        return pa.table(columns, names=[f"c{i}" for i in range(len(columns))])

    def _letters(self) -> list[Any]:
        """The integers of all rows."""
        found = [np.zeros(len(self.ts), np.int64) for _ in range(self.lettering.longs)]
        if found and not self.lettering.is_text:
            number = {name: code for code, name in enumerate(self.lettering.types)}
            found[0] |= np.array([number.get(each, 0) for each in self.types], np.int64)
        for atom, bit in self.lettering.bits.items():
            at, place = self.lettering.place(bit)
            is_it = self._is_of(atom.type)
            found[at] |= (is_it & self.truths[atom]).astype(np.int64) << place
        return found

    def _is_of(self, event_type: str) -> Any:
        return np.array([each == event_type for each in self.types], np.bool_)

    def _takes_part(self, lane: Lane) -> Any:
        """Which rows any query of a lane asks for."""
        alphabet = alphabet_of(self.workload.plan.queries[each] for each in lane.queries)
        found = np.zeros(len(self.ts), np.bool_)
        for atom in alphabet.atoms:
            is_it = self._is_of(atom.type)
            found |= is_it & self.truths.get(atom, True)
        for key in lane.keys:
            found &= np.array([v is not None and v == v for v in self.table[key].to_pylist()])
        return found

    def run(self, chance: random.Random) -> list[dict[str, Any]]:
        """All rows, shuffled and cut at random, and the end."""
        for rows in batches(self.ts, self.settings.lateness_us, chance):
            self.batch(rows)
        self.batch([], is_end=True)
        assert all(store.timer is None and not store.pages for store in self.stores)
        return self.rows


class ChangingHost:
    """Buckets of a workload that changes between batches: a host for each generation."""

    def __init__(self, text: str, events: pa.Table, settings: StreamSettings, **how: Any) -> None:
        self.events, self.settings, self.how = events, settings, how
        self.history: list[Generation] = []
        self.hosts: list[Host] = []
        self.rows: list[dict[str, Any]] = []
        self.change(text)

    def change(self, text: str) -> None:
        """Go on with another workload."""
        host = Host(text, self.events, self.settings, **self.how)
        since = None
        if self.hosts:
            before = self.hosts[-1]
            host.newest = before.newest
            since = change_us((before.watermark_us or 0) // 1000, self.settings.lateness_us)
        number = len(self.history)
        self.history.append(
            Generation(number, text, "", "dynamic", self.settings.buckets or 1, since_us=since)
        )
        self.hosts.append(host)
        self.start()

    def start(self, late_rows: str | None = None) -> None:
        """Go on after a stop: generations that are over are no more."""
        closed = self.hosts[-1].watermark_us
        newest = self.hosts[-1].workload.plan
        self.live = [each.generation.number for each in live_ones(self.history, newest, closed)]
        for live in live_ones(self.history, newest, None):
            host = self.hosts[live.generation.number]
            is_only = len(self.live) == 1
            host.job = replace(host.job, span=live.span, is_only=is_only, late_rows=late_rows)
            host.light = StreamJobs((host.job,)).without_templates()

    def batch(self, rows: Sequence[int], *, is_end: bool = False) -> None:
        """One batch of rows, by their numbers, for all generations that are not over."""
        for number, host in enumerate(self.hosts):
            if number in self.live or is_end:
                host.batch(rows, is_end=is_end)
                self.rows += host.rows
                host.rows = []
            elif len(rows):
                latest = max(int(host.ts[row]) for row in rows)
                host.newest = max(host.newest or latest, latest)


def _truths(atom: Atom, events: EventTable) -> Any:
    """Of which events a condition is true."""
    return holds(atom.condition, lambda column: events.column(column.attribute), len(events))


def batches(
    ts: Any, lateness_us: int, chance: random.Random, sizes: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Numbers of rows, out of order within what they may be late, cut at random."""
    arrival = sorted(range(len(ts)), key=lambda row: int(ts[row]) + chance.randint(0, lateness_us))
    while arrival:
        size = chance.choice(sizes or [1, 2, 3, 5, 8, len(arrival)])
        some, arrival = arrival[:size], arrival[size:]
        chance.shuffle(some)
        yield some


def _table(events: Sequence[Mapping[str, Any]]) -> pa.Table:
    names = dict.fromkeys(name for event in events for name in event)
    columns = {n: column_of_values([e.get(n) for e in events], None)[0] for n in names}
    return pa.table({"type": pa.array([], pa.string()), "time": pa.array([], pa.int64())} | columns)


def _kind(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_null(kind) or pa.types.is_large_string(kind) else kind
