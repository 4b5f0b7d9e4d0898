"""Rows by partition, then time, then order: those of one set, chosen by their letters.

What does not depend on the set is worked out once for a table: the code of each row's partition,
and whether rows are in order of time, as they mostly are. Then a set takes its rows in that order,
counts them by partition, and puts each in its place, from which columns are gathered once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.events.columns import Values, ranks_of
from hamlet.kernel.encode.partitions import Keys, Partitions, codes_of_rows, present_rows
from hamlet.kernel.encode.sorting import (
    gathered,
    is_sorted,
    is_sorted_inside,
    read_only,
    sort_by_value,
    take,
)
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.events.table import EventTable

    Rows = NDArray[np.int32]


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
        is_all: Whether these are all rows of the table in their own order.
    """

    table: EventTable
    rows: Rows
    part: NDArray[np.int32]
    ts: NDArray[np.int64]
    order: NDArray[np.int64] | None
    partitions: Partitions
    is_all: bool = False
    _columns: dict[str, Values] = field(default_factory=dict)

    def column(self, attribute: str) -> Values:
        """An attribute of these rows, gathered once."""
        if attribute not in self._columns:
            column = self.table.column(attribute)
            self._columns[attribute] = column if self.is_all else gathered(column, self.rows)
        return self._columns[attribute]

    def taken(self, values: NDArray[Any]) -> NDArray[Any]:
        """What these rows have of something that all rows of the table have."""
        return values if self.is_all else take(values, self.rows)


def arranged(table: EventTable, attributes: tuple[str, ...], letter: Rows) -> Arranged:
    """The rows of a set in order; those without any of the attributes have no part.

    Args:
        table: The events.
        attributes: Those by which they are partitioned.
        letter: For each row its letter, below 0 where the set does not ask for it.
    """
    keyed, in_time = _Keyed.of(table, attributes), _InTime.of(table)
    rows = np.empty(len(table), np.int32)
    rows = rows[: _choose(read_only(letter), keyed.is_complete, rows)]
    if keyed.count == 1:
        starts = np.zeros(min(len(rows), 1), np.int64)
        placed = rows if in_time.is_sorted else in_time.sorted(rows, len(table))
        return _of_placed(table, attributes, keyed, placed, starts, in_time)
    counts = np.zeros(keyed.count + 1, np.int64)
    _count(read_only(rows), keyed.codes, counts)
    placed, starts = _placed(rows, keyed.codes, counts)
    if not in_time.is_sorted:
        found = _of_placed(table, attributes, keyed, placed, starts, in_time)
        if is_sorted_inside(found.part, found.ts, found.order):
            return found
        placed, starts = _placed(in_time.sorted(rows, len(table)), keyed.codes, counts)
    return _of_placed(table, attributes, keyed, placed, starts, in_time)


def _placed(rows: Rows, codes: Rows, counts: NDArray[np.int64]) -> tuple[Rows, NDArray[np.int64]]:
    """Rows by code, in their given order inside a code, and where each code with rows begins."""
    ends = np.cumsum(counts)
    placed = np.empty(len(rows), np.int32)
    _place(read_only(rows), codes, ends[:-1].copy(), placed)
    return placed, ends[:-1][counts[1:] > 0]


def _of_placed(
    table: EventTable,
    attributes: tuple[str, ...],
    keyed: _Keyed,
    placed: Rows,
    starts: NDArray[np.int64],
    in_time: _InTime,
) -> Arranged:
    firsts, count = placed[starts], len(starts)
    part = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts, append=len(placed)))
    is_all = keyed.count == 1 and len(placed) == len(table) and in_time.is_sorted
    return Arranged(
        table,
        rows=placed,
        part=part,
        # Kernels are compiled for arrays of our own, which can be written.
        ts=table.ts if is_all and table.ts.flags.writeable else take(table.ts, placed),
        order=None if in_time.order is None else take(in_time.order, placed),
        partitions=Partitions(
            part,
            count,
            Keys(table, attributes, firsts),
            {name: codes[firsts] for name, codes in keyed.of_attribute.items()},
        ),
        is_all=is_all,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Keyed:
    """The partition of each row of a table by some attributes.

    Attributes:
        codes: Its number, of a row without a value anything.
        count: How many there are.
        of_attribute: For each of the attributes a code of its value.
        is_complete: Whether a row has them all; empty where all have.
    """

    codes: Rows
    count: int
    of_attribute: dict[str, Rows]
    is_complete: NDArray[np.bool_]

    @staticmethod
    def of(table: EventTable, attributes: tuple[str, ...]) -> _Keyed:
        """That of a table, worked out once for all sets."""
        key = (_Keyed, attributes)
        if key not in table.kept:
            codes, count, of_attribute = codes_of_rows(table, attributes)
            complete = present_rows(table, attributes)
            is_complete = read_only(np.empty(0, np.bool_) if complete is None else complete)
            table.kept[key] = _Keyed(read_only(codes), count, of_attribute, is_complete)
        found: _Keyed = table.kept[key]
        return found


@dataclass(slots=True, eq=False)
class _InTime:
    """The order of the rows of a table by time, then order.

    Attributes:
        order: What orders events of equal time.
        is_sorted: Whether rows are in this order as they are.
    """

    ts: NDArray[np.int64]
    order: NDArray[np.int64] | None
    is_sorted: bool
    _rows: Rows | None = None

    @staticmethod
    def of(table: EventTable) -> _InTime:
        """That of a table, worked out once for all sets."""
        if _InTime not in table.kept:
            order = None if table.order is None else _order_values(table.order)
            table.kept[_InTime] = _InTime(table.ts, order, is_sorted(table.ts, order))
        found: _InTime = table.kept[_InTime]
        return found

    def sorted(self, rows: Rows, count: int) -> Rows:
        """Some of the rows in this order."""
        if self._rows is None:
            by_order = None if self.order is None else sort_by_value(self.order)
            self._rows = sort_by_value(self.ts, by_order)
        if len(rows) == count:
            return self._rows
        is_one = np.zeros(count, np.bool_)
        is_one[rows] = True
        return self._rows[is_one[self._rows]]


# Rows that take part and others come in no order that could be guessed: so no branch depends on it.


@interpretable
def _choose(letter, is_complete, rows):  # type: ignore[no-untyped-def]
    """Fill in the rows that take part; how many there are."""
    count = 0
    if len(is_complete):
        for row in range(len(letter)):
            rows[count] = row
            count += int((letter[row] >= 0) & is_complete[row])
    else:
        for row in range(len(letter)):
            rows[count] = row
            count += int(letter[row] >= 0)
    return count


@interpretable
def _count(rows, codes, counts):  # type: ignore[no-untyped-def]
    for row in rows:
        counts[codes[row] + 1] += 1


@interpretable
def _place(rows, codes, ends, placed):  # type: ignore[no-untyped-def]
    for row in rows:
        code = codes[row]
        placed[ends[code]] = row
        ends[code] += 1


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
