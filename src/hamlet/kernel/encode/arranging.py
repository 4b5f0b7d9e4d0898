"""Rows by partition, then time, then order: those of one set, chosen by their letters.

What does not depend on the set is worked out once for a table: the code of each row's partition,
and whether rows are in order of time, as they mostly are. Then a set takes its rows in that order,
counts them by partition, and puts each in its place, from which columns are gathered once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.events.columns import Values, ranks_of
from hamlet.kernel.encode.digits import doubles_or
from hamlet.kernel.encode.partitions import Keys, Partitions, codes_of_rows, present_rows
from hamlet.kernel.encode.sorting import (
    gather_doubles,
    gathered,
    is_sorted,
    is_sorted_inside,
    mark,
    read_only,
    sort_by_value,
    take,
    tied_flags,
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
        letter: Its letter.
        tied: 1 where it is at the same time, and has the same order, as the one before it.
        starts: Where each partition begins.
        partitions: Them.
        is_all: Whether these are all rows of the table in their own order.
        after_others: 1 where others come between it and the moment of the one before it; None
            where none are left out.
    """

    table: EventTable
    rows: Rows
    part: NDArray[np.int32]
    ts: NDArray[np.int64]
    order: NDArray[np.int64] | None
    letter: Rows
    tied: NDArray[np.uint8]
    starts: NDArray[np.int64]
    partitions: Partitions
    is_all: bool = False
    after_others: NDArray[np.uint8] | None = None
    _columns: dict[str, Values] = field(default_factory=dict)
    _doubles: dict[tuple[str, float | None], NDArray[np.float64]] = field(default_factory=dict)

    def column(self, attribute: str) -> Values:
        """An attribute of these rows, gathered once."""
        if attribute not in self._columns:
            column = self.table.column(attribute)
            self._columns[attribute] = column if self.is_all else gathered(column, self.rows)
        return self._columns[attribute]

    def write_doubles(self, attribute: str, null: float, out: NDArray[Any]) -> None:
        """Write an attribute of these rows as doubles, with one for null, in one pass.

        What is written so must not change: who asks for the same again gets a copy.
        """
        column = self.table.column(attribute)
        # Whatever stands for null, it is the same where there is none.
        key = attribute, None if column.valid is None else null
        if key in self._doubles:
            out[:] = self._doubles[key]
            return
        if self.is_all:
            out[:] = doubles_or(column, null)
        else:
            gather_doubles(column, self.rows, null, out)
        self._doubles[key] = out

    def forget_doubles(self) -> None:
        """Do not rely on what was written: it changes."""
        self._doubles.clear()


def arranged(table: EventTable, attributes: tuple[str, ...], letter: Rows) -> Arranged:
    """The rows of a set in order; those without any of the attributes have no part.

    Args:
        table: The events.
        attributes: Those by which they are partitioned.
        letter: For each row its letter, below 0 where the set does not ask for it.
    """
    keyed, in_time = _Keyed.of(table, attributes), _InTime.of(table)
    if keyed.count == 1:
        return _in_one_partition(table, attributes, keyed, letter, in_time)
    in_order = _by_partition(table, attributes, keyed, letter, in_time, None)
    if in_time.is_sorted or is_sorted_inside(in_order.part, in_order.ts, in_order.order):
        return in_order
    rows = in_time.sorted(_all_rows(len(table)), len(table))
    return _by_partition(table, attributes, keyed, letter, in_time, rows)


def arranged_without(
    table: EventTable, attributes: tuple[str, ...], letter: Rows, is_other: NDArray[np.bool_]
) -> Arranged:
    """The same without some rows, of which it is only told where they come between.

    Args:
        table: The events.
        attributes: Those by which they are partitioned.
        letter: For each row its letter, below 0 where the set does not ask for it.
        is_other: For each letter whether its rows are left out.
    """
    kinds = np.arange(len(is_other) + 1, dtype=np.int32)
    kinds[:-1][is_other] = _OTHER
    kinds[-1] = _NO_PART  # the letter of a row that has none is -1, which is the last of them
    letter = take(kinds, letter)
    placed = arranged(table, attributes, letter)
    keyed, in_time, count = _Keyed.of(table, attributes), _InTime.of(table), len(table)
    in_order = _NOTHING if in_time.is_sorted else in_time.sorted(_all_rows(count), count)
    order = _NO_ORDER if in_time.order is None else read_only(in_time.order)
    is_after, used = np.zeros(count, np.uint8), np.empty(count, np.int32)
    known = (read_only(letter), keyed.is_complete, keyed.codes, read_only(in_order))
    found = is_after, used
    if keyed.count == 1:
        n = _find_others_in_one(*known, read_only(table.ts), order, *found)
    else:
        last, other = (np.full(keyed.count, -1, np.int64) for _ in range(2))
        n = _find_others(*known, read_only(table.ts), order, last, other, *found)
    mark_used(table, used[:n])
    return replace(placed, after_others=take(is_after, placed.rows))


def _in_one_partition(
    table: EventTable, attributes: tuple[str, ...], keyed: _Keyed, letter: Rows, in_time: _InTime
) -> Arranged:
    """The rows of a set where all have the same key, if any."""
    rows = np.empty(len(table), np.int32)
    rows = rows[: _choose(read_only(letter), keyed.is_complete, rows)]
    placed = rows if in_time.is_sorted else in_time.sorted(rows, len(table))
    is_all = len(placed) == len(table) and in_time.is_sorted
    # Kernels are compiled for arrays of our own, which can be written.
    ts = table.ts if is_all and table.ts.flags.writeable else take(table.ts, placed)
    letters = letter if is_all else take(letter, placed)
    order = in_time.order
    order = order if order is None or is_all else take(order, placed)
    part, starts = np.zeros(len(placed), np.int32), np.zeros(min(len(placed), 1), np.int64)
    tied = tied_flags(part, ts, order)
    return _arranged(
        table, attributes, keyed, placed, part, ts, letters, order, tied, starts, is_all
    )


def _by_partition(
    table: EventTable,
    attributes: tuple[str, ...],
    keyed: _Keyed,
    letter: Rows,
    in_time: _InTime,
    in_order: Rows | None,
) -> Arranged:
    """The rows of a set by partition, in some order inside each; as they are in the table for None.

    One pass does all that it takes: of small tables, each more would be most of its own time.
    """
    size, most = len(table), min(keyed.count, len(table))
    rows, placed, part, letters = (np.empty(size, np.int32) for _ in range(4))
    ts, tied = np.empty(size, np.int64), np.empty(size, np.uint8)
    starts, ends = np.empty(most, np.int64), np.zeros(keyed.count + 1, np.int64)
    given = _NOTHING if in_order is None else read_only(in_order)
    known = (read_only(letter), keyed.is_complete, keyed.codes, given, read_only(table.ts))
    count, parts = _arrange(*known, rows, ends, starts, placed, part, ts, letters, tied)
    placed, tied, order = placed[:count], tied[:count], in_time.order
    if order is not None:
        order = take(order, placed)
        tied[1:] &= order[1:] == order[:-1]
    return _arranged(
        table,
        attributes,
        keyed,
        placed,
        part[:count],
        ts[:count],
        letters[:count],
        order,
        tied,
        starts[:parts],
        is_all=False,
    )


def _arranged(
    table: EventTable,
    attributes: tuple[str, ...],
    keyed: _Keyed,
    placed: Rows,
    part: NDArray[np.int32],
    ts: NDArray[np.int64],
    letters: Rows,
    order: NDArray[np.int64] | None,
    tied: NDArray[np.uint8],
    starts: NDArray[np.int64],
    is_all: bool,
) -> Arranged:
    firsts = placed[starts]
    codes = {name: codes[firsts] for name, codes in keyed.of_attribute.items()}
    partitions = Partitions(part, len(starts), Keys(table, attributes, firsts), codes)
    return Arranged(table, placed, part, ts, order, letters, tied, starts, partitions, is_all)


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


def mark_used(table: EventTable, rows: Rows) -> None:
    """Note which rows of a table take part in a query, each once; a set that has all is enough."""
    used: list[Rows] = table.kept.setdefault(mark_used, [])
    if len(used) != 1 or len(used[0]) < len(table):
        used[:] = [rows] if len(rows) == len(table) else [*used, rows]


def used_rows(table: EventTable) -> int:
    """How many rows take part in some query; known once every set has been encoded."""
    used: list[Rows] = table.kept.get(mark_used, [])
    if len(used) < 2:
        return sum(map(len, used))
    is_used = np.zeros(len(table), np.bool_)
    for rows in used:
        mark(rows, is_used)
    return int(np.count_nonzero(is_used))


def moments_of(table: EventTable) -> NDArray[np.int64]:
    """For each row of a table the number of its moment: simultaneous events have the same one."""
    in_time, count = _InTime.of(table), len(table)
    rows = in_time.sorted(_all_rows(count), count)
    is_later = np.zeros(count, np.bool_)
    for values in (in_time.ts, in_time.order):
        if values is not None:
            is_later[1:] |= values[rows[1:]] != values[rows[:-1]]
    moments = np.empty(count, np.int64)
    moments[rows] = np.cumsum(is_later)
    return moments


_NOTHING = read_only(np.empty(0, np.int32))
_NO_ORDER = read_only(np.empty(0, np.int64))
# Instead of a letter: the set does not ask for the row, or only for where it comes between others
_NO_PART, _OTHER = -1, -2

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
def _arrange(  # type: ignore[no-untyped-def]
    letter, is_complete, codes, in_order, ts, rows, ends, starts, placed, part, out_ts, out, tied
):
    """Fill in rows by partition with what they have; how many rows and partitions there are.

    `ends` is 0 for each code and one more; where no order is given rows are taken as they come.
    """
    count, is_given, has_gaps = 0, len(in_order) > 0, len(is_complete) > 0
    for place in range(len(letter)):
        row = in_order[place] if is_given else place
        rows[count] = row
        count += int((letter[row] >= 0) & (not has_gaps or is_complete[row]))
    for place in range(count):
        ends[codes[rows[place]] + 1] += 1
    parts = 0
    for code in range(1, len(ends)):
        size, begin = ends[code], ends[code - 1]
        if size > 0:
            starts[parts] = begin
            for place in range(begin, begin + size):
                part[place] = parts
            parts += 1
        ends[code] = begin + size
    for place in range(count):
        code = codes[rows[place]]
        placed[ends[code]] = rows[place]
        ends[code] += 1
    for place in range(count):
        row = placed[place]
        out_ts[place], out[place] = ts[row], letter[row]
    if count > 0:
        tied[0] = 0
    for place in range(1, count):
        is_same = part[place] == part[place - 1]
        tied[place] = np.uint8(is_same) & np.uint8(out_ts[place] == out_ts[place - 1])
    return count, parts


@interpretable
def _find_others(  # type: ignore[no-untyped-def]
    letter, is_complete, codes, in_order, ts, order, last, other, is_after, used
):
    """Fill in which rows have others between them and the moment before in their partition.

    `last` has for each partition the moment of its last row, `other` the first after that with
    others; -1: none. Also the rows that have a part or are others, and how many there are.
    """
    is_given, has_order, has_gaps = len(in_order) > 0, len(order) > 0, len(is_complete) > 0
    moment, before, count = 0, 0, 0
    for place in range(len(letter)):
        row = in_order[place] if is_given else place
        moment += int(ts[row] != ts[before] or (has_order and order[row] != order[before]))
        before = row
        if has_gaps and not is_complete[row]:
            continue
        used[count] = row
        count += int(letter[row] != -1)
        code = codes[row]
        latest, first = last[code], other[code]
        is_one, is_other = letter[row] >= 0, letter[row] == -2
        is_new = latest != moment
        is_after[row] = np.uint8(is_one & is_new & (first >= 0) & (first < moment))
        last[code] = moment if is_one else latest
        first = moment if is_other & is_new & (first < 0) else first
        other[code] = -1 if is_one & is_new else first
    return count


@interpretable
def _find_others_in_one(letter, is_complete, codes, in_order, ts, order, is_after, used):  # type: ignore[no-untyped-def]
    """The same where there is one partition: what is known of it need not be in memory."""
    is_given, has_order, has_gaps = len(in_order) > 0, len(order) > 0, len(is_complete) > 0
    moment, before, count, latest, first = 0, 0, 0, -1, -1
    for place in range(len(letter)):
        row = in_order[place] if is_given else place
        moment += int(ts[row] != ts[before] or (has_order and order[row] != order[before]))
        before = row
        if has_gaps and not is_complete[row]:
            continue
        used[count] = row
        count += int(letter[row] != -1)
        is_one, is_other = letter[row] >= 0, letter[row] == -2
        is_new = latest != moment
        is_after[row] = np.uint8(is_one & is_new & (first >= 0) & (first < moment))
        first = moment if is_other & is_new & (first < 0) else first
        first = -1 if is_one & is_new else first
        latest = moment if is_one else latest
    return count


def _all_rows(count: int) -> Rows:
    return np.arange(count, dtype=np.int32)


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
