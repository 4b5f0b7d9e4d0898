"""One sharable set over a stream: what it keeps, and how it goes on.

Units without edge predicates keep rows (kernel/kept.py), by partition. Units with edge predicates
keep the raw rows of their open windows, which are encoded and run again when a window closes: ranks
of text, thresholds and places in trees are found anew each time, so they need not agree from one
time to the next. Digits have to: sums over them are kept. Their grids grow where new values ask for
it, and what is kept gets the new components, which are 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import types as kinds

from hamlet.columns import Values
from hamlet.engine import _groups
from hamlet.events import EventTable, Statistics
from hamlet.kernel.base import components_of
from hamlet.kernel.code import all_units, stored_units
from hamlet.kernel.compiler import compile_code
from hamlet.kernel.encode import encode
from hamlet.kernel.finish import finish
from hamlet.kernel.kept import RowStore, Shape
from hamlet.kernel.machine import FAR
from hamlet.kernel.partitions import partitions_of
from hamlet.kernel.session import ends_of, no_events, picked
from hamlet.kernel.shared import Counters, are_of_one_size, joined, partition_ranges, run_batch
from hamlet.needs import needs_of
from hamlet.plan.predicates import Constant
from hamlet.plan.program import Role, compile_set
from hamlet.plan.workload import WorkloadPlan
from hamlet.state.keys import KeyTable
from hamlet.state.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.kernel.base import Component, Emission
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.encode import EncodedSet
    from hamlet.kernel.finish import Answer
    from hamlet.kernel.partitions import Grouping
    from hamlet.plan.query import Query
    from hamlet.plan.workload import SharableSet

    Longs = NDArray[np.int64]
    Grids = dict[str, tuple[int, ...] | None]

# Partitions that are over stay in the table of keys until they are as many.
_FEW = 1024
_MOST_COMPILED = 8
# Stored rows stand in as many pieces before they are put together.
_MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class _StoredUnit:
    """A unit with edge predicates: its windows, and the atoms that it looks at."""

    within_us: int
    slide_us: int
    atoms: NDArray[np.intp]

    def oldest(self, ts: int) -> int:
        """When the oldest window begins that is open at a time."""
        return ((ts - self.within_us) // self.slide_us + 1) * self.slide_us

    def newest_end(self, ts: int) -> int:
        """When the last window ends that has ended by a time."""
        return (ts - self.within_us) // self.slide_us * self.slide_us + self.within_us


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Partitions by number: what engines name groups by."""

    keys: dict[str, pa.Array]
    groupings: tuple[Grouping, ...]


class SetState:
    """What is kept of one sharable set, and how it goes on.

    Attributes:
        attributes: What it looks at of an event, the order column included.
        keys: The keys of the partitions that rows are kept of.
        store: Those rows.
        stored: The events of open windows of units with edge predicates.
        grids: For each summed attribute the exponents of its digits; None while all was 0.
    """

    def __init__(
        self,
        plan: WorkloadPlan,
        sharable: SharableSet,
        options: Options,
        types: Sequence[str],
        schema: pa.Schema,
    ) -> None:
        """Begin with nothing.

        Args:
            plan: The workload.
            sharable: The set.
            options: How it is run.
            types: The names of all types of the workload.
            schema: Which attributes events have.
        """
        self.plan = plan
        self.sharable = sharable
        self.options = options
        self.types = types
        self.is_float = options.numbers == "float"
        self.program = compile_set(plan, sharable)
        self.queries: list[Query] = [plan.queries[n].query for n in sharable.queries]
        needs = needs_of(WorkloadPlan(tuple(plan.queries[n] for n in sharable.queries), ()))
        order = () if options.order is None else (options.order,)
        self.attributes = tuple(dict.fromkeys([*needs.attributes, *order]))
        self.schema = pa.schema([schema.field(name) for name in self.attributes])
        self.key_schema = pa.schema([schema.field(name) for name in sorted(sharable.partition)])
        self.is_whole = {name: _is_whole(schema.field(name).type) for name in sorted(needs.summed)}
        self.grids: Grids = dict.fromkeys(self.is_whole)
        self._all = self._compile_without_events()
        self._stored_units = stored_units(self._all)
        self._row_units = all_units(self._all) - self._stored_units
        self._shape = Shape.of(self._compile_without_events(self._row_units))
        self._windows = self._stored_windows()
        asked = {self.program.alphabet.atoms[a].type for w in self._windows for a in w.atoms}
        self._is_stored_type = np.array([name in asked for name in types], np.bool_)
        self._compiled: dict[Any, Compiled] = {}
        self.forget()

    def forget(self) -> None:
        """Keep nothing."""
        self.keys = KeyTable(self.key_schema)
        self.store = RowStore(self.is_float)
        self.stored: list[Rows] = []

    def _compile_without_events(self, only: frozenset[int] | None = None) -> Compiled:
        """The units where no event is at hand."""
        digits = self._digits(self.grids)
        weights = {
            component.weight: None
            for query in self.queries
            for component in components_of(_functions(query), digits)
        }
        extremes = [a.attribute for q in self.queries for a in q.aggregates if a.attribute]
        count = len(self.program.predicates)
        return compile_code(
            self.plan,
            self.program,
            tuple(weights),
            tuple(dict.fromkeys(extremes)),
            digits,
            [Constant.of(1.0)] * count,
            (),
            [True] * count,
            is_float=self.is_float,
            share=self.options.sharing != "never",
            only=only,
        )

    def _stored_windows(self) -> list[_StoredUnit]:
        program, found = self.program, []
        guards = program.template_role == Role.GUARD
        for unit in sorted(self._stored_units):
            query = int(program.template_query[unit])
            own = np.flatnonzero(guards & (program.template_query == query))
            states = np.isin(program.state_template, [unit, *own])
            window = self.queries[query].window
            atoms = np.unique(program.state_atom[states]).astype(np.intp)
            found.append(_StoredUnit(window.within_us, window.slide_us, atoms))
        return found

    @property
    def layout(self) -> list[list[int]]:
        """What the layout of kept rows depends on, apart from the queries."""
        shape = self._shape
        units = [sorted(self._row_units), sorted(self._stored_units)]
        return [*units, shape.ints.tolist(), shape.rows.tolist(), shape.components.tolist()]

    # Going on

    def advance(
        self,
        rows: Rows,
        until: int,
        closed: Longs,
        is_changed: NDArray[np.bool_],
        counters: Counters,
    ) -> tuple[Answer, ...]:
        """Take in rows, all before a time, and close the windows that end by it.

        Args:
            rows: The rows, in any order; those of any one time are all among them.
            until: The time; FAR for the end of the stream.
            closed: For each page the time by which windows have been closed before.
            is_changed: For each page whether what is kept of it has changed; set here.
            counters: Where what is done is counted.
        """
        again = self._to_run_again(rows, until, closed)
        has_rows = bool(self._row_units) and bool(len(rows))
        encoded, encoded_again = self._encoded(rows if has_rows else None, again)
        found: list[tuple[Emission, pa.Table]] = []
        if encoded is not None or len(self.store.due(until)):
            found += self._advance_rows(encoded, until, is_changed, counters)
        if again is not None and encoded_again is not None:
            found += self._run_again(again, encoded_again, until, closed, is_changed, counters)
        return self._answers(found)

    def _encoded(
        self, rows: Rows | None, again: Rows | None
    ) -> tuple[EncodedSet | None, EncodedSet | None]:
        """New rows for units that keep rows, and those to be run again, on the same grids."""
        while True:
            encoded = None if rows is None else self._encode(rows, has_edges=False)
            encoded_again = None if again is None else self._encode(again, has_edges=True)
            digits = self._digits(self.grids)
            # Where the second has asked for more than the first, the first is encoded anew.
            if encoded is None or encoded.digits == digits:
                return encoded, encoded_again

    def _encode(self, rows: Rows, has_edges: bool) -> EncodedSet:
        table = rows.event_table(self.types, self.options.order)
        encoded = encode(
            table,
            self.plan,
            self.sharable,
            self.program,
            self.options.numbers,
            grids=self.grids,
            has_edges=has_edges,
        )
        known = {a: None if a in encoded.zeros else encoded.digits[a] for a in self.grids}
        self._extend(known)
        return encoded

    # Units that keep rows

    def _advance_rows(
        self,
        encoded: EncodedSet | None,
        until: int,
        is_changed: NDArray[np.bool_],
        counters: Counters,
    ) -> list[tuple[Emission, pa.Table]]:
        if encoded is None:
            compiled = self._compile_without_events(self._row_units)
            batch, slots = no_events(compiled), np.zeros(0, np.int64)
        else:
            batch = encoded.batch
            compiled = self._compile(encoded, self._row_units)
            count = len(partition_ranges(batch))
            slots = self.keys.slots_of(_key_table(encoded.keys, self.key_schema), count)
            self.store.grow(len(self.keys))
        emissions, touched = self.store.advance(compiled, batch, slots, until, counters)
        is_changed[self.pages_of(touched, len(is_changed))] = True
        found = []
        for emission in emissions:
            if len(emission.part):
                used, part = np.unique(emission.part, return_inverse=True)
                numbered = replace(emission, part=part.astype(np.int32))
                found.append((numbered, self.keys.taken(used.astype(np.int64))))
        self._forget_empty()
        return found

    def _compile(self, encoded: EncodedSet, only: frozenset[int]) -> Compiled:
        """The units of a kind for encoded events; what was compiled last is at hand."""
        batch = encoded.batch
        lazy = tuple(are_of_one_size(batch.weights)) if self.is_float else None
        code_for = (
            batch.weight_specs,
            encoded.conditions,
            batch.column_names,
            encoded.ordered_usable,
            lazy,
            only,
        )
        if code_for not in self._compiled:
            if len(self._compiled) >= _MOST_COMPILED:
                self._compiled.clear()
            self._compiled[code_for] = compile_code(
                self.plan,
                self.program,
                batch.weight_specs,
                batch.extreme_attributes,
                encoded.digits,
                encoded.conditions,
                batch.column_names,
                encoded.ordered_usable,
                is_float=self.is_float,
                lazy_weights=lazy,
                share=self.options.sharing != "never",
                only=only,
            )
        return self._compiled[code_for]

    def pages_of(self, slots: Longs, pages: int) -> Longs:
        """The pages of some partitions."""
        return (self.keys.hashes[slots] % np.uint64(pages)).astype(np.int64)

    def _forget_empty(self) -> None:
        """Drop the keys of partitions that are over, where there are many of them."""
        live = np.flatnonzero(self.store.words > 0)
        if len(self.store) > 2 * len(live) + _FEW:
            self.renumber(live)

    def renumber(self, slots: Longs) -> None:
        """Keep only some partitions."""
        self.keys.renumber(slots)
        self.store.renumber(slots)

    # Units with edge predicates

    def _to_run_again(self, rows: Rows, until: int, closed: Longs) -> Rows | None:
        """The rows of windows that close now; the others are put with those of open windows."""
        if not self._windows:
            return None
        if len(rows):
            mine = rows.taken(self._is_stored_type[rows.types])
            if len(mine):
                self.stored.append(mine.selected(self.attributes))
        if not self.stored:
            return None
        before = min(int(closed[part.page].min()) for part in self.stored)
        first = min(unit.oldest(before) for unit in self._windows)
        end = max(unit.newest_end(until) for unit in self._windows) if until < FAR else FAR + 1
        is_due = any(((part.ts >= first) & (part.ts < end)).any() for part in self.stored)
        if is_due or len(self.stored) > _MOST_PARTS:
            self.stored = [Rows.joined(self.stored, self.schema)]
        if not is_due:
            return None
        (rows,) = self.stored
        later = rows.ts >= end
        self.stored = [rows.taken(later)] if later.any() else []
        return rows.taken(~later)

    def _run_again(
        self,
        rows: Rows,
        encoded: EncodedSet,
        until: int,
        closed: Longs,
        is_changed: NDArray[np.bool_],
        counters: Counters,
    ) -> list[tuple[Emission, pa.Table]]:
        """Run over the rows of windows that close now; keep those of windows that are open."""
        batch = encoded.batch
        is_changed[rows.page] = True
        if not len(batch):
            return []
        compiled = self._compile(encoded, self._stored_units)
        emission, done = run_batch(compiled, batch, self.is_float)
        counters.snapshots += done.snapshots
        counters.bursts += done.bursts
        counters.partitions_redone += done.partitions_redone
        page = rows.page[encoded.rows[partition_ranges(batch)[:, 1]]]
        end = ends_of(compiled, emission)
        emission = picked(emission, (end > closed[page[emission.part]]) & (end <= until))
        counters.windows += len(emission.part)
        if until < FAR:
            oldest = np.full(len(batch.letters), FAR, np.int64)
            for unit in self._windows:
                asks = batch.letters[:, unit.atoms].any(axis=1)
                oldest[asks] = np.minimum(oldest[asks], unit.oldest(until))
            kept = rows.taken(encoded.rows[batch.ts >= oldest[batch.letter]])
            self.stored += [kept] if len(kept) else []
        return [(emission, _key_table(encoded.keys, self.key_schema))]

    def lower_deadlines(self, found: Longs, closed: Longs) -> None:
        """Lower what was found for each page to when a window with an event in it ends there."""
        slots = np.flatnonzero(self.store.words > 0)
        np.minimum.at(found, self.pages_of(slots, len(found)), self.store.deadline[slots])
        lengths = {(unit.within_us, unit.slide_us) for unit in self._windows}
        for rows in self.stored:
            for within, slide in lengths:
                # The first window that has the event in it and was not closed yet
                first = np.maximum(rows.ts - within, closed[rows.page] - within) // slide + 1
                is_open = first <= rows.ts // slide
                end = (first * slide + within)[is_open]
                np.minimum.at(found, rows.page[is_open], end)

    # Results

    def _answers(self, found: list[tuple[Emission, pa.Table]]) -> tuple[Answer, ...]:
        """Rows of results from what kernels emitted, each with the keys of its partitions."""
        found = [(emission, keys) for emission, keys in found if len(emission.part)]
        if not found:
            return ()
        counts = [int(emission.part.max()) + 1 for emission, _ in found]
        begins = np.cumsum([0, *counts])
        keys = pa.concat_tables(
            [keys.slice(0, n) for (_, keys), n in zip(found, counts, strict=True)]
        )
        everything = EventTable(
            "events",
            keys,
            np.zeros(int(begins[-1]), np.int64),
            Values("text", np.zeros(0, np.int32)),
            None,
            False,
            Statistics(0),
        )
        partitions = partitions_of(everything, self.sharable.partition, None)
        emission = joined(
            self._all,
            [
                replace(each, part=partitions.of_row[begin + each.part])
                for (each, _), begin in zip(found, begins, strict=False)
            ],
            self.is_float,
        )
        groupings = tuple(partitions.grouped(query.group_by) for query in self.queries)
        groups = _groups(_Keyed(partitions.keys, groupings))  # type: ignore[arg-type]
        return finish(
            self.plan,
            self.program,
            emission,
            digits=self._digits(self.grids),
            is_integer=self.is_whole,
            groups=groups,
        )

    # Grids of digits

    def _digits(self, grids: Grids) -> dict[str, tuple[int, ...]]:
        """The exponents of each summed attribute; one digit where all was 0."""
        return {name: grid or (0,) for name, grid in grids.items()}

    def _components(self, grids: Grids) -> list[tuple[Component, ...]]:
        """The components of each query."""
        digits = self._digits(grids)
        return [components_of(_functions(query), digits) for query in self.queries]

    def shape_of(self, grids: Grids) -> Shape:
        """The shape of what is kept under some grids."""
        counts = np.array([1 + len(each) for each in self._components(grids)], np.int64)
        query = self.program.template_query[sorted(self._row_units)]
        return replace(self._shape, components=counts[query])

    def sources_of(self, old: Grids, new: Grids) -> dict[int, Longs]:
        """By unit, for each component under new grids which it was under old ones."""
        before, after = self._components(old), self._components(new)
        by_query = [
            np.array([0, *(_place(c, one, old) for c in other)], np.int64)
            for one, other in zip(before, after, strict=True)
        ]
        query = self.program.template_query[sorted(self._row_units)]
        return {unit: by_query[number] for unit, number in enumerate(query)}

    def extend(self, grids: Grids) -> None:
        """Have the exponents of other grids in one's own."""
        self._extend(
            {
                name: None if not (grid or self.grids[name]) else _united(grid, self.grids[name])
                for name, grid in grids.items()
            }
        )

    def _extend(self, grids: Grids) -> None:
        if self.is_float or grids == self.grids:
            return
        old, self.grids = self.grids, grids
        self._compiled.clear()
        self.store.reshape(self.shape_of(old), self.shape_of(grids), self.sources_of(old, grids))


def _united(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple(sorted({*(one or ()), *(other or ())}))


def _place(component: Component, before: tuple[Component, ...], old: Grids) -> int:
    """Where a component stood before; -1 where it was not there, or was 0 under a stand-in."""
    for number, known in enumerate(before):
        a, b = component.weight, known.weight
        if (component.aggregate, a.kind, a.exponent) == (known.aggregate, b.kind, b.exponent):
            if a.kind == "value" and old[str(a.attribute)] is None:
                return -1
            return 1 + number
    return -1


def _functions(query: Query) -> list[tuple[str, str | None]]:
    return [
        ("COUNT_OF" if a.function == "COUNT" and a.places else a.function, a.attribute)
        for a in query.aggregates
    ]


def _is_whole(column: pa.DataType) -> bool:
    """Whether sums over a column have exact digits."""
    if kinds.is_dictionary(column):
        column = column.value_type
    return bool(kinds.is_integer(column) or (kinds.is_decimal(column) and column.scale <= 0))


def _key_table(keys: dict[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """The keys of partitions as a table."""
    columns = [keys[name].cast(schema.field(name).type) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)
