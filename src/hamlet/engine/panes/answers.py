"""The partial answers of queries over panes as columns of numbers, ready to be composed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.engine.panes.maps import Cell
from hamlet.kernel.encode.sorting import dense_codes
from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.packed import Packed
from hamlet.kernel.finish.partial_columns import (
    array_of,
    components_of_query,
    extremes_of_query,
    key_columns,
    mode_of,
    sums_of,
)
from hamlet.kernel.finish.wides import Wides
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.engine.panes.maps import Column
    from hamlet.plan.query import Query
    from hamlet.plan.workload import SharableSet, WorkloadPlan

    Longs = NDArray[np.int64]

_UTC = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class PaneCells:
    """The answers of one query over panes: of each row its pane, its partition, its numbers."""

    pane: Longs
    part: Longs
    cell: Cell

    def panes_of(self, part: int) -> Longs:
        """The panes in which a partition has an answer."""
        panes: Longs = self.pane[self.part == part]
        return panes

    def at(self, panes: Longs, part: int) -> Cell:
        """The numbers of one partition at some panes, in order, and at the end those of none."""
        rows = np.flatnonzero(self.part == part)
        chosen = np.full(len(panes) + 1, -1, np.int64)
        chosen[np.searchsorted(panes, self.pane[rows])] = rows
        return Cell(
            self.cell.count.take_or_zero(chosen),
            tuple(each.take_or_zero(chosen) for each in self.cell.sums),
            tuple(np.append(each, np.nan)[chosen] for each in self.cell.extremes),
        )


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of the queries over panes of one set.

    of: By the number of the query; those without an answer are left out.
    keys: The partition attributes of each partition.
    digits: For each summed attribute the exponent of its sums, as one digit.
    is_integer: Whether its sums are whole.
    """

    of: dict[int, PaneCells]
    keys: pa.Table
    digits: dict[str, tuple[int, ...]]
    is_integer: dict[str, bool]
    mode: NumberMode

    def widths(self, query: Query) -> tuple[int, int]:
        """How many sums and extremes go with each count of a query."""
        return len(components_of_query(query)), len(extremes_of_query(query))


def constant(value: int, mode: NumberMode) -> Column:
    """A column with one row."""
    if mode is NumberMode.FLOAT:
        return Wides(np.zeros(0), np.zeros(0, np.int64)).constant(value)
    return Integers(np.zeros(0, np.int64)).constant(value)


def answers_of_set(plan: WorkloadPlan, pane_set: SharableSet, table: pa.Table) -> Answers | None:
    """The answers of a set, out of those of a workload; None where there is none."""
    query = array_of(table, "query").to_numpy()
    chosen = np.flatnonzero((query >= pane_set.queries[0]) & (query <= pane_set.queries[-1]))
    chosen = chosen[np.argsort(query[chosen], kind="stable")]
    if not len(chosen):
        return None
    query, table = query[chosen], table.take(pa.array(chosen)).combine_chunks()
    part, first = dense_codes(array_of(table, "group").dictionary_encode().indices.to_numpy())
    mode = mode_of(table.schema)
    rows: dict[int, pa.Table] = {}
    for number in np.unique(query).tolist():
        low, high = np.searchsorted(query, [number, number + 1]).tolist()
        rows[number] = table.slice(low, high - low)
    digits, is_integer = _digits(plan, pane_set, rows, mode)
    cells, low = {}, 0
    for number, some in rows.items():
        of_some = part[low : low + some.num_rows].astype(np.int64)
        low += some.num_rows
        cell = _cell(plan.queries[number].query, some, digits, mode)
        cells[number] = PaneCells(array_of(some, "window").to_numpy(), of_some, cell)
    return Answers(cells, _keys(plan, pane_set, table, first), digits, is_integer, mode)


def _keys(plan: WorkloadPlan, pane_set: SharableSet, table: pa.Table, first: Any) -> pa.Table:
    """The partition attributes of each partition, times in UTC wherever they have been."""
    names, columns = key_columns(plan), {}
    for attribute in pane_set.partition:
        column = array_of(table, names[attribute]).take(pa.array(first))
        is_zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
        columns[attribute] = column.cast(_UTC) if is_zoned else column
    return pa.table(columns)


def _digits(
    plan: WorkloadPlan, pane_set: SharableSet, rows: dict[int, pa.Table], mode: NumberMode
) -> tuple[dict[str, tuple[int, ...]], dict[str, bool]]:
    """For each summed attribute the least exponent of any sum, and whether all are whole."""
    least: dict[str, int] = {}
    is_integer: dict[str, bool] = {}
    queries = [plan.queries[number].query for number in pane_set.queries]
    attributes = dict.fromkeys(a for query in queries for a in sums_of(query).values())
    if mode is NumberMode.FLOAT:
        return dict.fromkeys(attributes, (0,)), {}
    for number, some in rows.items():
        for name, attribute in sums_of(plan.queries[number].query).items():
            column = array_of(some, name)
            exponent = pc.min(column.field("exponent")).as_py()
            least[attribute] = min(exponent, least.get(attribute, exponent))
            is_whole = pc.all(column.field("is_whole")).as_py() is not False
            is_integer[attribute] = is_whole and is_integer.get(attribute, True)
    return {a: (least.get(a, 0),) for a in attributes}, is_integer


def _cell(
    query: Query, rows: pa.Table, digits: dict[str, tuple[int, ...]], mode: NumberMode
) -> Cell:
    sums = sums_of(query)
    columns: list[Column] = []
    for name in ("trends", *components_of_query(query)):
        column = array_of(rows, name)
        if mode is NumberMode.FLOAT:
            columns.append(Wides(*(column.field(each).to_numpy() for each in column.type.names)))
        elif name in sums:
            shifts = column.field("exponent").to_numpy().astype(np.int64)
            packed = Packed.of_arrow(column.field("integer"))
            columns.append(packed.integers(shifts - digits[sums[name]][0]))
        else:
            columns.append(Packed.of_arrow(column).integers())
    extremes = [
        array_of(rows, name).to_numpy(zero_copy_only=False) for name in extremes_of_query(query)
    ]
    return Cell(columns[0], tuple(columns[1:]), tuple(extremes))
