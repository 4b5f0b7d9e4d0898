"""Units with an edge predicate that an order decides: their tables of rows go on with the stream.

What is compared has to be worth the same in every batch: numbers, times and truth values stand for
themselves, while words, and integers that no double has, only have places in the order of those at
hand. A comparison that was rearranged has to be exact, as it is over integers.

Tables are an index over the raw rows of open windows, which are kept as well. Where they cannot go
on they are made anew from these: when digits of a sum are added, when the state is of a version
that kept no tables, when values come that stand for places only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import types as kinds

from hamlet.engine.state.emitted import ends_of, no_events, picked
from hamlet.engine.state.keys import KeyTable
from hamlet.engine.state.layout import digits_of
from hamlet.engine.state.long_runs import OnShelf, RunsOfPage, cut_out, found_on, long_runs, put_in
from hamlet.engine.state.rows import table_bytes, table_of
from hamlet.kernel.compile import compile_code
from hamlet.kernel.machine import NEVER
from hamlet.kernel.rows.going_on import KeptArrays
from hamlet.kernel.run import partition_ranges
from hamlet.kernel.table_store import TableStore, layout_of
from hamlet.plan.execution import Execution
from hamlet.plan.predicates import EVENT_TIME, Column, Constant, Operation, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.engine.pipeline import SetPipeline
    from hamlet.engine.state.layout import Grids
    from hamlet.engine.state.long_runs import Shelf
    from hamlet.kernel.base import Emission
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.kernel.run import Counters
    from hamlet.plan.predicates import EdgePredicate, Expression
    from hamlet.plan.query import Query

    Longs = NDArray[np.int64]
    Mask = NDArray[np.bool_]

# Partitions that are over stay in the table of keys until they are as many.
_FEW = 1024
# What sums of integers may be made of
_WHOLE = ("int", "time", "duration")


def kept_units(execution: Execution, units: Iterable[int], schema: pa.Schema) -> frozenset[int]:
    """Those of some units whose tables can go on; `schema` has the attributes of events."""
    program = execution.program
    shapes = {unit: execution.rows(unit) for unit in units}
    return frozenset(
        unit
        for unit, shape in shapes.items()
        if shape is not None and _can_go_on(program.predicates[shape.predicate], schema)
    )


def _can_go_on(predicate: EdgePredicate, schema: pa.Schema) -> bool:
    """Whether values that are compared may be compared with those of other batches."""
    if predicate.operator == "!=":
        return False
    attributes = {column.attribute for column in columns_of(predicate.condition)} - {EVENT_TIME}
    if not attributes <= set(schema.names):
        return False
    types = [schema.field(name).type for name in attributes]
    if not all(map(_is_plain, types)):
        return False
    return not predicate.is_rearranged or (
        all(map(_is_whole, types)) and _is_sum(predicate.condition)
    )


def _is_plain(kind: pa.DataType) -> bool:
    return bool(
        kinds.is_boolean(kind)
        or kinds.is_integer(kind)
        or kinds.is_floating(kind)
        or kinds.is_timestamp(kind)
        or kinds.is_date(kind)
    )


def _is_whole(kind: pa.DataType) -> bool:
    return _is_plain(kind) and not kinds.is_floating(kind)


def _is_sum(expression: Expression) -> bool:
    """Whether nothing but sums and products of integers is compared."""
    if isinstance(expression, Operation):
        return expression.operator in ("+", "-", "*", "<", "<=", ">", ">=", "=") and all(
            map(_is_sum, expression.operands)
        )
    return isinstance(expression, Column) or (
        isinstance(expression, Constant) and expression.kind in _WHOLE
    )


class KeptTables:
    """The tables of a set, by partition.

    Attributes:
        units: The units that have them, by template.
        keys: The keys of partitions, by slot.
        store: The tables.
        pages: Pages that have had tables since all was forgotten.
        behind: Pages whose tables have to be made anew from raw rows.
    """

    def __init__(
        self,
        pipeline: SetPipeline,
        units: frozenset[int],
        queries: Sequence[Query],
        key_schema: pa.Schema,
    ) -> None:
        self.units = units
        self._pipeline = pipeline
        self._queries = queries
        self._schema = key_schema
        execution = Execution(pipeline.program)
        self._predicates = [execution.rows(unit).predicate for unit in units]  # type: ignore[union-attr]
        self._mode = pipeline.options.mode
        self._compiled: Compiled | None = None
        self._digits: dict[str, tuple[int, ...]] | None = None
        self._layout = ""
        self.forget()

    def forget(self) -> None:
        """Keep nothing of any partition."""
        self.keys = KeyTable(self._schema)
        self.store = TableStore(self._mode)
        if self._compiled is not None:
            self.store.begin(self._compiled)
        self.pages: set[int] = set()
        self.behind: set[int] = set()
        self._on_shelf: dict[int, list[OnShelf]] = {}

    def set_grids(self, grids: Grids, pages: Iterable[int]) -> None:
        """Have the code for some grids; if that is other code, tables of pages are made anew."""
        digits = digits_of(grids)
        if digits == self._digits:
            return
        pipeline = self._pipeline
        self._digits = digits
        form = pipeline.form_unseen(digits)
        self._compiled = compile_code(
            pipeline.plan, pipeline.program, form, only=self.units, forwards=True
        )
        self._layout = layout_of(self._compiled.row_groups, digits)
        self.drop(pages)

    def drop(self, pages: Iterable[int]) -> None:
        """Keep no tables; those of some pages are to be made anew."""
        behind, on_shelf = self.behind | self.pages | set(pages), self._on_shelf
        self.forget()
        self.behind, self._on_shelf = behind, on_shelf

    def can_go_on(self, encoded: EncodedSet) -> bool:
        """Whether what is compared stands for itself."""
        return all(encoded.plain_sides[number] for number in self._predicates)

    def pages_of(self, slots: Longs, pages: int) -> Longs:
        """The pages of some partitions."""
        return (self.keys.hashes[slots] % np.uint64(pages)).astype(np.int64)

    def is_due(self, until: int) -> bool:
        """Whether a window ends by a time that may hold something."""
        return self.store.is_due(until)

    # Going on

    def advance(
        self,
        encoded: EncodedSet | None,
        until: int,
        closed: Longs,
        is_changed: Mask,
        counters: Counters,
    ) -> Iterator[tuple[Emission, pa.Table]]:
        """Take in events, and close the windows that end by a time: what is emitted, and keys.

        Windows that had been closed before are not emitted again, of pages made anew.
        """
        compiled = self._compiled
        assert compiled is not None
        if encoded is None:
            batch, slots = no_events(compiled), np.zeros(0, np.int64)
        else:
            batch = encoded.batch
            keys = pa.Table.from_arrays(
                [encoded.keys[name] for name in self._schema.names], schema=self._schema
            )
            slots = self.keys.slots_of(keys, len(partition_ranges(batch)))
            self.store.grow(len(self.keys))
        emissions, touched = self.store.advance(compiled, batch, slots, until, counters)
        pages = self.pages_of(touched, len(is_changed))
        is_changed[pages] = True
        self.pages |= set(pages.tolist())
        self.behind = set()
        for emission in emissions:
            page = self.pages_of(emission.part.astype(np.int64), len(closed))
            end = ends_of(
                emission, self._pipeline.program, [query.window for query in self._queries]
            )
            found = picked(emission, end > closed[page])
            is_used = np.zeros(len(self.store), np.bool_)
            is_used[found.part] = True
            numbers = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
            keys = self.keys.taken(np.flatnonzero(is_used))
            yield replace(found, part=numbers[found.part]), keys
        self._forget_empty()

    def _forget_empty(self) -> None:
        """Drop the keys of partitions that are over, where there are many of them."""
        live = np.flatnonzero(self.store.is_live)
        if len(self.store) > 2 * len(live) + _FEW:
            self.keys.renumber(live)
            self.store.renumber(live)

    def lower_deadlines(self, found: Longs) -> None:
        """Lower what was found for each page to when a window with an event in it ends there."""
        deadline = self.store.deadline
        slots = np.flatnonzero(deadline < NEVER)
        np.minimum.at(found, self.pages_of(slots, len(found)), deadline[slots])

    def live_pages(self, pages: int) -> Mask:
        """The pages of which something is kept, or has to be made anew."""
        live = np.zeros(pages, np.bool_)
        live[self.pages_of(np.flatnonzero(self.store.is_live), pages)] = True
        live[sorted(self.behind)] = True
        return live

    # Pages

    def by_page(
        self, is_wanted: Mask, shelf: Shelf | None = None
    ) -> Iterator[tuple[int, dict[str, Any], list[Any]]]:
        """What is kept of each page that is wanted: plain data, and pieces.

        Long runs go to a shelf where there is one; what pages have no more is dropped there.
        """
        is_made = is_wanted.copy()
        is_made[sorted(self.behind)] = False
        slots = np.flatnonzero(self.store.is_live)
        page = self.pages_of(slots, len(is_wanted))
        slots, page = slots[is_made[page]], page[is_made[page]]
        had = {number: runs for number, runs in self._on_shelf.items() if is_wanted[number]}
        for number in np.unique(page).tolist():
            runs = None if shelf is None else RunsOfPage(shelf, had.pop(number, []))
            yield number, *self._page(slots[page == number], runs)
            if runs is not None:
                runs.drop_others()
                self._on_shelf[number] = runs.has
        if shelf is not None:
            for number, gone in had.items():
                RunsOfPage(shelf, gone).drop_others()
                self._on_shelf[number] = []

    def _page(self, slots: Longs, runs: RunsOfPage | None) -> tuple[dict[str, Any], list[Any]]:
        """What is kept in the slots of a page: plain data, and pieces."""
        header: dict[str, Any] = {"layout": self._layout, "kinds": []}
        pieces: list[Any] = [table_bytes(self.keys.taken(slots)), np.array([len(slots)])]
        if runs is not None:
            header["runs"] = []
        for at, group in enumerate(self.store.groups):
            for words, (which, arrays, heads) in group.taken(slots).items():
                described = group.described(slots[which])
                header["kinds"].append([at, words])
                pieces += [which, described, heads]
                if runs is None:
                    pieces += [arrays.ints, arrays.doubles, arrays.numbers]
                    continue
                cuts = long_runs(arrays, heads, described[:, 1:])
                *long, others = cut_out(arrays, cuts)
                header["runs"].append([runs.kept(each) for each in long])
                pieces += [*others, cuts]
        return header, pieces

    def add_page(
        self,
        page: int,
        header: dict[str, Any] | None,
        pieces: Iterator[Any],
        shelf: Shelf | None = None,
    ) -> None:
        """Have what was kept of a page; where that cannot be used it is to be made anew."""
        if header is None:
            self.behind.add(page)
            return
        self.pages.add(page)
        keys, count = table_of(next(pieces), self._schema), int(next(pieces)[0])
        is_used = header["layout"] == self._layout
        slots = np.zeros(count, np.int64)
        if is_used:
            slots = self.keys.add(keys, count)
            self.store.grow(len(self.keys))
        else:
            self.behind.add(page)
        # Without a shelf there are none.
        long_ones = header.get("runs") or [None] * len(header["kinds"])
        for (at, words), names in zip(header["kinds"], long_ones, strict=True):
            which, described, heads, *three = (next(pieces) for _ in range(6))
            if names is not None:
                cuts = next(pieces)
                runs = [found_on(shelf if is_used else None, *each) for each in names]
                self._on_shelf.setdefault(page, []).extend(runs)
                three = put_in(three, cuts, runs) if is_used else three
            if is_used:
                ints, doubles, numbers = three
                used = np.array([len(ints), len(doubles), len(numbers)], np.int64)
                arrays = KeptArrays(self._mode, words, ints, doubles, numbers, used)
                deadline, sizes = described[:, 0], np.ascontiguousarray(described[:, 1:])
                self.store.groups[at].put(slots[which], arrays, heads, sizes, deadline)
