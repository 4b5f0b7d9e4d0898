"""One sharable set over a stream: what it keeps, and how it goes on.

Units without edge predicates keep rows (kernel/row_store.py), by partition. Loops with an edge
predicate that an order decides keep tables of rows (tables.py). Other units with edge predicates
keep the raw rows of their open windows, which are encoded and run again when a window closes: ranks
of text, thresholds and places in trees are found anew each time, so they need not agree from one
time to the next. Digits have to, since sums over them are kept: their grids grow where new values
ask for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import types as kinds

from hamlet.engine.closed import ClosedSet
from hamlet.engine.pipeline import SetPipeline
from hamlet.engine.state.closed import KeyedEmission, groups_of
from hamlet.engine.state.emitted import ends_of, no_events, picked
from hamlet.engine.state.keys import KeyTable
from hamlet.engine.state.layout import Grids, RowLayout, digits_of, united
from hamlet.engine.state.replay_buffer import StoredRows
from hamlet.engine.state.rows import RawRows
from hamlet.engine.state.tables import KeptTables, kept_units
from hamlet.engine.state.window_replay import Layers
from hamlet.events.required_columns import needs_of
from hamlet.kernel.compile import EventForm
from hamlet.kernel.emissions import joined
from hamlet.kernel.machine import FAR, NEVER
from hamlet.kernel.row_pieces import Shape
from hamlet.kernel.row_store import RowStore
from hamlet.kernel.run import partition_ranges
from hamlet.plan.execution import Execution
from hamlet.plan.number_mode import NumberMode
from hamlet.plan.workload import WorkloadPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.kernel.base import Emission
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.kernel.run import Counters
    from hamlet.plan.workload import SharableSet

    Longs = NDArray[np.int64]
    # Gives the rows of some pages that a host keeps.
    Lend = Callable[[set[int]], RawRows]

# Partitions that are over stay in the table of keys until they are as many.
_FEW = 1024
_MOST_COMPILED = 16


class SetState:
    """What is kept of one sharable set, and how it goes on.

    Attributes:
        attributes: What it looks at of an event, the order column included.
        layout: How kept rows are laid out.
        grids: The grids of the digits of summed attributes.
        keys: The keys of the partitions that rows are kept of, by slot.
        store: Those rows.
        stored: The events of open windows of units with edge predicates.
    """

    def __init__(
        self,
        plan: WorkloadPlan,
        sharable: SharableSet,
        options: Options,
        types: Sequence[str],
        schema: pa.Schema,
        plan_apart: WorkloadPlan,
    ) -> None:
        """Begin with nothing.

        Args:
            plan: The workload.
            sharable: The set.
            options: How it is run.
            types: The names of all types of the workload.
            schema: Which attributes events have.
            plan_apart: The workload with windows that do not overlap.
        """
        self.sharable = sharable
        self.options = options
        self.types = types
        self._pipeline = SetPipeline.of(plan, sharable, options)
        self._pipeline_apart = replace(self._pipeline, plan=plan_apart)
        self.program = self._pipeline.program
        members = [plan.queries[number] for number in sharable.queries]
        self.queries = [planned.query for planned in members]
        self._clock = self.queries[0].window.clock
        needs = needs_of(WorkloadPlan(tuple(members), ()))
        order = [] if options.order is None else [options.order]
        self.attributes = tuple(dict.fromkeys([*needs.attributes, *order]))
        self.schema = pa.schema([schema.field(name) for name in self.attributes])
        self.key_schema = pa.schema([schema.field(name) for name in sorted(sharable.partition)])
        self._is_whole = {name: _is_whole(schema.field(name).type) for name in needs.summed}
        sums = {name for query in self.queries for each in query.aggregates for name in each.sums}
        self.grids: Grids = dict.fromkeys(sorted(sums))
        self._compiled: dict[Any, Compiled] = {}
        self._all = self._compile_unseen()
        execution = Execution(self.program)
        self._stored_units = frozenset(filter(execution.keeps_events, execution.units))
        self._row_units = frozenset(execution.units) - self._stored_units
        rows = self._compile_unseen(self._row_units) if self._stored_units else self._all
        query_of = self.program.template_query[sorted(self._row_units)]
        self.layout = RowLayout(self.queries, query_of, Shape.of(rows))
        stored = self._stored_units
        self.stored = StoredRows(self.program, self.queries, stored, types, self.schema)
        kept = kept_units(execution, stored, schema)
        self._replayed_units = stored - kept
        self.tables: KeptTables | None = None
        if kept:
            self.tables = KeptTables(self._pipeline, kept, self.queries, self.key_schema)
        self.begin()

    def begin(self) -> None:
        """Be as at the beginning."""
        self.grids = dict.fromkeys(self.grids)
        self._row_code: Compiled | None = None
        self.forget()
        if self.tables is not None:
            self.tables.set_grids(self.grids, ())

    def forget(self) -> None:
        """Keep nothing of any partition."""
        self.keys = KeyTable(self.key_schema)
        self.store = RowStore(self.options.mode)
        self.stored.parts = []
        self._borrowed: set[int] = set()
        if self.tables is not None:
            self.tables.forget()

    @property
    def lent_us(self) -> int:
        """How long after a row its host has to keep it, where raw rows are hardly looked at again.

        That is where all units with edge predicates have tables; else 0: rows are kept here.
        """
        if self.tables is None or self._replayed_units:
            return 0
        return max(window.longest_us for window in self.stored.windows)

    def fingerprint(self) -> list[Any]:
        """What the bytes of kept rows depend on, apart from the queries."""
        shape = self.layout.plain
        units = [sorted(self._row_units), sorted(self._stored_units)]
        return [*self.sharable.queries, *units, shape.ints.tolist(), shape.rows.tolist()]

    # Going on

    def advance(
        self,
        rows: RawRows,
        until: int,
        closed: Longs,
        is_changed: NDArray[np.bool_],
        counters: Counters,
        lend: Lend | None = None,
    ) -> ClosedSet | None:
        """Take in rows, all before a time, and close the windows that end by it.

        Args:
            rows: The rows, in any order; those of any one time are all among them.
            until: The time; FAR for the end of the stream.
            closed: For each page the time by which windows have been closed before.
            is_changed: For each page whether what is kept of it has changed; set here.
            counters: Where what is done is counted.
            lend: Gives rows again that the host keeps; None where it keeps none.

        Returns:
            What the windows hold, None where no window holds anything.
        """
        until = self._clock.time(until) if until < FAR else until
        closed = self._shown(closed)
        again: RawRows | None = None
        emissions: list[KeyedEmission] = []
        replayed = self._replayed_units
        if self._stored_units:
            self.stored.add(rows)
        if self.tables is not None:
            kept, can_go_on = self._encoded_for_tables(self.tables, rows, lend)
            if can_go_on:
                for each in self.tables.advance(kept, until, closed, is_changed, counters):
                    emissions.append(KeyedEmission(*each))
            else:
                replayed = self._stored_units
        if replayed:
            again = self.stored.take_due(until, closed)
        else:
            self.stored.expire(until)
        encoded, encoded_again = self._encoded(rows, again)
        if encoded is not None or len(self.store.due(until)):
            emissions += self._advance_rows(encoded, until, is_changed, counters)
        if again is not None and encoded_again is not None:
            is_changed[again.page] = True
            emissions += self._run_again(again, encoded_again, until, closed, counters, replayed)
        if self.tables is not None and self.tables.behind:
            # Of the others nothing is left that tables could be made of.
            self.tables.behind &= self.stored.open_pages(closed, until)
        emissions = [keyed for keyed in emissions if len(keyed.emission.part)]
        return self._closed(emissions) if emissions else None

    def _encoded(
        self, rows: RawRows, again: RawRows | None
    ) -> tuple[EncodedSet | None, EncodedSet | None]:
        """New rows for units that keep rows, and those to be run again, on the same grids."""
        is_new = bool(self._row_units) and len(rows) > 0
        while True:
            encoded = self._encode(rows, has_edges=False) if is_new else None
            encoded_again = None if again is None else self._encode(again, has_edges=True)
            if encoded is None or not len(encoded.batch):
                return None, encoded_again
            # Where the second has asked for more than the first, the first is encoded anew.
            if encoded.digits == digits_of(self.grids):
                return encoded, encoded_again

    def _encoded_for_tables(
        self, tables: KeptTables, rows: RawRows, lend: Lend | None
    ) -> tuple[EncodedSet | None, bool]:
        """What tables have to take in, and whether they can: else windows are run again."""
        while True:
            grids = self.grids
            new = self.stored.asked(rows)
            if tables.behind:
                self._borrow(tables.behind, lend)
                is_new = ~np.isin(new.page, sorted(tables.behind))
                raw = self.stored.on_pages(tables.behind)
                new = RawRows.joined([new.taken(is_new), raw], self.schema)
            encoded = self._encode(new, has_edges=True) if len(new) else None
            if self.grids == grids:
                break
        if encoded is None or not len(encoded.batch):
            return None, True
        if tables.can_go_on(encoded):
            return encoded, True
        self._borrow(tables.pages | self.stored.pages(), lend)
        tables.drop(self.stored.pages())
        return None, False

    def _borrow(self, pages: set[int], lend: Lend | None) -> None:
        """Have the rows of some pages that the host keeps, each once."""
        wanted = pages - self._borrowed
        if lend is not None and wanted and self.lent_us:
            self._borrowed |= wanted
            self.stored.add(lend(wanted))

    def _encode(self, rows: RawRows, has_edges: bool) -> EncodedSet:
        table = rows.event_table(self.types, self.options.order)
        encoded = self._pipeline.encode(table, grids=self.grids, has_edges=has_edges)
        if self.options.mode is NumberMode.EXACT:
            digits = encoded.digits
            self._grow({a: None if a in encoded.zeros else digits[a] for a in self.grids})
        return encoded

    # Units that keep rows

    def _advance_rows(
        self,
        encoded: EncodedSet | None,
        until: int,
        is_changed: NDArray[np.bool_],
        counters: Counters,
    ) -> list[KeyedEmission]:
        if encoded is None:
            compiled = self._row_code or self._compile_unseen(self._row_units)
            batch, slots = no_events(compiled), np.zeros(0, np.int64)
        else:
            compiled, batch = self._compile(encoded, self._row_units), encoded.batch
            keys = _key_table(encoded.keys, self.key_schema)
            slots = self.keys.slots_of(keys, len(partition_ranges(batch)))
            self.store.grow(len(self.keys))
        self._row_code = compiled
        emissions, touched = self.store.advance(compiled, batch, slots, until, counters)
        if encoded is not None:
            self._go_on_after(encoded)
        is_changed[self.pages_of(touched, len(is_changed))] = True
        keyed = []
        for emission in emissions:
            is_used = np.zeros(len(self.store), np.bool_)
            is_used[emission.part] = True
            numbers = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
            keys = self.keys.taken(np.flatnonzero(is_used))
            keyed.append(KeyedEmission(replace(emission, part=numbers[emission.part]), keys))
        self._forget_empty()
        return keyed

    def pages_of(self, slots: Longs, pages: int) -> Longs:
        """The pages of some partitions."""
        return (self.keys.hashes[slots] % np.uint64(pages)).astype(np.int64)

    def _forget_empty(self) -> None:
        """Drop the keys of partitions that are over, where there are many of them."""
        live = np.flatnonzero(self.store.words > 0)
        if len(self.store) > 2 * len(live) + _FEW:
            self.keys.renumber(live)
            self.store.renumber(live)

    # Units with edge predicates

    def _run_again(
        self,
        rows: RawRows,
        encoded: EncodedSet,
        until: int,
        closed: Longs,
        counters: Counters,
        units: frozenset[int],
    ) -> list[KeyedEmission]:
        """Run units over the rows of windows that close now; keep those of windows still open."""
        batch = encoded.batch
        if not len(batch):
            return []
        closed = closed[rows.page[encoded.rows]]
        by_window = self.stored.by_window(units)
        layers = [(Layers.of(batch, w, closed, until), some) for w, some in by_window.items()]
        apart = sum(len(some) * layer.cost_apart for layer, some in layers)
        together = sum(len(some) * layer.cost_together for layer, some in layers)
        if apart < together:
            emissions = self._run_apart(encoded, layers, counters)
        else:
            emissions = [self._run_together(encoded, until, closed, counters, units)]
        self.stored.put_back(rows, encoded, until)
        keys = _key_table(encoded.keys, self.key_schema)
        return [KeyedEmission(emission, keys) for emission in emissions]

    def _run_apart(
        self,
        encoded: EncodedSet,
        layers: list[tuple[Layers, frozenset[int]]],
        counters: Counters,
    ) -> list[Emission]:
        """Run each window that closes by itself."""
        emissions = []
        for layer, units in layers:
            compiled = self._compile(encoded, units, is_apart=True)
            for batch, part, window in layer.windows_apart():
                emission, done = self._pipeline_apart.run(compiled, batch)
                _add_counters(counters, done, len(emission.part))
                number = emission.part
                emissions.append(replace(emission, part=part[number], window=window[number]))
        return emissions

    def _run_together(
        self,
        encoded: EncodedSet,
        until: int,
        closed: Longs,
        counters: Counters,
        units: frozenset[int],
    ) -> Emission:
        """Run all windows, of which some close; `closed` is known of each event."""
        compiled = self._compile(encoded, units)
        emission, done = self._pipeline.run(compiled, encoded.batch)
        end = ends_of(emission, self.program, [query.window for query in self.queries])
        before = closed[partition_ranges(encoded.batch)[:, 1]][emission.part]
        emission = picked(emission, (end > before) & ((end <= until) | (until >= FAR)))
        _add_counters(counters, done, len(emission.part))
        return emission

    def lower_deadlines(self, deadlines: Longs, closed: Longs, lend: Lend | None) -> None:
        """Lower what was found for each page to when a window with an event in it ends there."""
        lowered = np.full(len(deadlines), NEVER, np.int64)
        slots = np.flatnonzero(self.store.words > 0)
        np.minimum.at(lowered, self.pages_of(slots, len(lowered)), self.store.deadline[slots])
        if self.tables is not None:
            self.tables.lower_deadlines(lowered)
        if self.tables is not None and self.tables.behind:
            self._borrow(self.tables.behind, lend)
        if self.tables is None or self._replayed_units or self.tables.behind:
            self.stored.lower_deadlines(lowered, self._shown(closed))
        is_some = lowered < NEVER
        lowered[is_some] = self._clock.moments(lowered[is_some])
        np.minimum(deadlines, lowered, out=deadlines)

    def looks_again(self, pages: int) -> NDArray[np.bool_]:
        """The pages whose raw rows may be looked at again."""
        if self.tables is None or self._replayed_units:
            return np.ones(pages, np.bool_)
        return self.tables.live_pages(pages)

    def _shown(self, closed: Longs) -> Longs:
        """Times by which windows have been closed, on the clock of the windows."""
        if self._clock.is_plain:
            return closed
        is_some = closed > -FAR  # before that nothing has been closed
        shown = closed.copy()
        shown[is_some] = self._clock.times(closed[is_some])
        return shown

    def _closed(self, keyed: list[KeyedEmission]) -> ClosedSet:
        emissions, groups = groups_of(keyed, self.queries)
        emission = joined(self._all, emissions, self.options.mode)
        return ClosedSet(self.program, emission, digits_of(self.grids), self._is_whole, groups)

    # Code

    def _compile(
        self, encoded: EncodedSet, only: frozenset[int], is_apart: bool = False
    ) -> Compiled:
        """Some units for encoded events; batches mostly need the same code."""
        form = EventForm.of(encoded)
        needed = (is_apart, only, form)
        if needed not in self._compiled:
            if len(self._compiled) >= _MOST_COMPILED:
                self._compiled.clear()
            pipeline = self._pipeline_apart if is_apart else self._pipeline
            # Which components are equal depends on the events: not where they are kept.
            distinct = only != self._row_units
            self._compiled[needed] = pipeline.compile(
                encoded, form=form, only=only, distinct=distinct
            )
        return self._compiled[needed]

    def _go_on_after(self, encoded: EncodedSet) -> None:
        """Have the code that comes after some events for the next of the same form."""
        for needed, compiled in self._compiled.items():
            self._compiled[needed] = self._pipeline.afterwards(compiled, encoded.batch)

    def _compile_unseen(self, only: frozenset[int] | None = None) -> Compiled:
        """The units where no event is at hand."""
        return self._pipeline.compile_unseen(digits_of(self.grids), only)

    # Grids of digits

    def extend(self, grids: Grids) -> None:
        """Add the exponents of other grids to those of this set, and bring what is kept to them."""
        self._grow(united(self.grids, grids))

    def _grow(self, grids: Grids) -> None:
        if grids == self.grids:
            return
        old, self.grids = self.grids, grids
        self._row_code = None
        if self.tables is not None:
            self.tables.set_grids(grids, self.stored.pages())
        layout = self.layout
        self.store.reshape(layout.shape(old), layout.shape(grids), layout.sources(old, grids))


def _add_counters(counters: Counters, done: Counters, windows: int) -> None:
    counters.snapshots += done.snapshots
    counters.bursts += done.bursts
    counters.partitions_redone += done.partitions_redone
    counters.shared += done.shared
    counters.split += done.split
    counters.merged += done.merged
    counters.windows += windows


def _is_whole(column: pa.DataType) -> bool:
    """Whether sums over a column have exact digits."""
    return bool(kinds.is_integer(column) or (kinds.is_decimal(column) and column.scale <= 0))


def _key_table(keys: Mapping[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """The keys of partitions as a table."""
    return pa.Table.from_arrays([keys[name] for name in schema.names], schema=schema)
