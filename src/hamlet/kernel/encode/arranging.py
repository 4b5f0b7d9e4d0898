"""Rows by partition, then time, then order: those of one set, or once for all sets that share it.

Sets that partition the stream alike differ in which rows take part. Where those are many, the whole
table is arranged once, each column is gathered once in that order, and a set leaves rows out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hamlet.events.columns import Values, ranks_of
from hamlet.kernel.encode.partitions import Partitions, partitions_of, present_rows
from hamlet.kernel.encode.sorting import (
    gathered,
    is_sorted,
    is_sorted_inside,
    sort_by_code,
    sort_by_value,
    take,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.events.table import EventTable

    Rows = NDArray[np.int32]

# A set of which less than this share of the rows takes part is arranged by itself.
MANY = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """Rows of a table in the order of a batch, with their partitions, times and order values.

    Attributes:
        table: The events.
        rows: The row of the table that each event was.
        part: Its partition.
        ts: Its time.
        order: What orders events of equal time.
        partitions: Them.
        among: The rows that these were chosen from, which have columns for all who choose.
        chosen: Which of those these are; None for all.
    """

    table: EventTable
    rows: Rows
    part: NDArray[np.int32]
    ts: NDArray[np.int64]
    order: NDArray[np.int64] | None
    partitions: Partitions
    among: Arranged | None = None
    chosen: Rows | None = None
    _columns: dict[str, Values] = field(default_factory=dict)

    def column(self, attribute: str) -> Values:
        """An attribute of these rows, gathered once."""
        if attribute not in self._columns:
            self._columns[attribute] = self._gathered(attribute)
        return self._columns[attribute]

    def _gathered(self, attribute: str) -> Values:
        if self.among is None:
            return gathered(self.table.column(attribute), self.rows)
        return gathered(self.among.column(attribute), self.chosen)  # type: ignore[arg-type]

    def where(self, chosen: Rows) -> Arranged:
        """Some of the rows, which stay in order; partitions without any are left out."""
        part = take(self.part, chosen)
        is_new = np.ones(len(part), np.bool_)
        np.not_equal(part[1:], part[:-1], out=is_new[1:])
        used, partitions = part[is_new], self.partitions
        if len(used) < partitions.count:
            part, partitions = (
                np.cumsum(is_new, dtype=np.int32) - np.int32(1),
                partitions.some(used),
            )
        return Arranged(
            self.table,
            take(self.rows, chosen),
            part,
            take(self.ts, chosen),
            None if self.order is None else take(self.order, chosen),
            partitions,
            self,
            chosen,
        )


def arranged(
    table: EventTable, attributes: tuple[str, ...], taking_part: NDArray[np.bool_], is_shared: bool
) -> tuple[Arranged, NDArray[np.bool_]]:
    """The rows of a set in order, and which rows of the table they are.

    Args:
        table: The events.
        attributes: Those by which they are partitioned; rows without any of them have no part.
        taking_part: Which rows the set asks for.
        is_shared: Whether there are other sets with these attributes.
    """
    complete = present_rows(table, attributes)
    wanted = taking_part if complete is None else taking_part & complete
    count = int(np.count_nonzero(wanted))
    if not is_shared or count < MANY * len(table):
        rows = None if count == len(table) else np.flatnonzero(wanted).astype(np.int32)
        return _placed(table, attributes, rows), wanted
    if attributes not in table.arranged:
        every = None if complete is None else np.flatnonzero(complete).astype(np.int32)
        table.arranged[attributes] = _placed(table, attributes, every)
    whole: Arranged = table.arranged[attributes]
    if count == len(whole.rows):
        return whole, wanted
    return whole.where(np.flatnonzero(take(wanted, whole.rows)).astype(np.int32)), wanted


def _placed(table: EventTable, attributes: tuple[str, ...], rows: Rows | None) -> Arranged:
    """Rows by partition, then time, then order."""
    ts = table.ts if rows is None else take(table.ts, rows)
    order = None if table.order is None else _order_values(table.order)
    if order is not None and rows is not None:
        order = take(order, rows)
    partitions = partitions_of(table, attributes, rows)
    codes, count = partitions.of_row, partitions.count
    placed, starts = sort_by_code(codes, count)
    part = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
    if not is_sorted(ts, order):
        there = take(ts, placed)
        then = None if order is None else take(order, placed)
        if not is_sorted_inside(part, there, then):
            by_order = None if order is None else sort_by_value(order)
            placed, _ = sort_by_code(codes, count, sort_by_value(ts, by_order))
    return Arranged(
        table,
        rows=placed if rows is None else take(rows, placed),
        part=part,
        ts=take(ts, placed),
        order=None if order is None else take(order, placed),
        partitions=partitions,
    )


def _order_values(values: Values) -> NDArray[np.int64]:
    """Integers with the order of the values; null comes first."""
    if values.kind is None:
        return np.zeros(len(values), np.int64)
    if values.kind == "text":
        ranks = ranks_of(values.words)
        whole = ranks[values.data] if len(ranks) else np.zeros(len(values), np.int64)
    elif values.data.dtype == object:
        whole = np.unique(values.data, return_inverse=True)[1].astype(np.int64)
    elif values.data.dtype == np.float64:
        bits = (values.data + 0.0).view(np.int64)
        whole = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    else:
        whole = values.data.astype(np.int64)
    if values.valid is None:
        return whole
    known = np.zeros(len(values), np.int64)
    known[values.valid] = np.unique(whole[values.valid], return_inverse=True)[1] + 1
    return known
