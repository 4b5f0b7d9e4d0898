"""Events that a session has and will look at again, as raw rows: no codes, no ranks, no digits.

Rows that are fed wait here until they are released in order of time, and units that keep events one
by one have the rows of their open windows here. Raw rows can be encoded together with any others,
today or in another process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, types

from hamlet.engine.state.bits import bit_of
from hamlet.events.columns import Values, fractions, numpy_of
from hamlet.events.table import EventTable, Statistics
from hamlet.events.times import NAIVE
from hamlet.kernel.encode.sorting import sort_by_code
from hamlet.plan.predicates import EVENT_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Codes = NDArray[np.int32]

# Rows stand in as many pieces before they are put together.
_MOST_CHUNKS = 64


@dataclass(frozen=True, slots=True)
class RawRows:
    """Some rows.

    ts: Their times, in microseconds.
    types: Their types, as numbers that a session has for them.
    page: The pages that their partitions are on.
    table: Their attributes; without a length where there are none.
    is_lent: Which of them the host keeps as well, and lends again; None where it keeps none.
    """

    ts: Longs
    types: Codes
    page: Codes
    table: pa.Table
    is_lent: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.ts)

    def taken(self, which: NDArray[Any]) -> RawRows:
        """Some of the rows, by number or by whether they are wanted."""
        if which.dtype == np.bool_:
            if which.all():
                return self
            which = np.flatnonzero(which)
        table = self.table
        if table.num_columns:
            table = table.take(pa.array(which)).combine_chunks()
        is_lent = None if self.is_lent is None else self.is_lent[which]
        return RawRows(self.ts[which], self.types[which], self.page[which], table, is_lent)

    def own(self) -> RawRows:
        """Those that nobody else keeps."""
        return self if self.is_lent is None else self.taken(~self.is_lent)

    def cut(self, start: int, stop: int) -> RawRows:
        """A stretch of the rows, without a copy."""
        table = self.table.slice(start, stop - start) if self.table.num_columns else self.table
        ts, codes, page = self.ts[start:stop], self.types[start:stop], self.page[start:stop]
        is_lent = None if self.is_lent is None else self.is_lent[start:stop]
        return RawRows(ts, codes, page, table, is_lent)

    @staticmethod
    def joined(parts: Sequence[RawRows], schema: pa.Schema) -> RawRows:
        """Rows one after another; their attributes have a schema."""
        if len(parts) == 1:
            return parts[0]
        empty = np.zeros(0, np.int32)
        return RawRows(
            np.concatenate([np.zeros(0, np.int64), *(part.ts for part in parts)]),
            np.concatenate([empty, *(part.types for part in parts)]),
            np.concatenate([empty, *(part.page for part in parts)]),
            pa.concat_tables([schema.empty_table(), *(part.table for part in parts)]),
            _joined_lent(parts),
        )

    def selected(self, names: Sequence[str]) -> RawRows:
        """The rows with some of the attributes."""
        table = self.table.select(list(names))
        return RawRows(self.ts, self.types, self.page, table, self.is_lent)

    def event_table(self, types: Sequence[str], order: str | None) -> EventTable:
        """The rows as events; `types` are the names of the types."""
        words = pa.array(types, pa.large_string())
        return _StreamTable(
            "events",
            self.table,
            self.ts,
            Values("text", self.types, None, words),
            order,
            NAIVE,
            Statistics(len(self)),
        )

    # Pages and bytes

    def by_page(self) -> Iterator[tuple[int, RawRows]]:
        """The rows of each page that has some."""
        if not len(self):
            return
        if int(self.page.min()) == int(self.page.max()):
            yield int(self.page[0]), self
            return
        order, starts = sort_by_code(self.page, int(self.page.max()) + 1)
        arranged = self.taken(order)
        for page in np.flatnonzero(np.diff(starts)).tolist():
            yield page, arranged.cut(int(starts[page]), int(starts[page + 1]))

    def pieces(self) -> list[Any]:
        """Three pieces that `of_pieces` makes the same rows of, but for their page."""
        return [np.asarray(self.ts), np.asarray(self.types), table_bytes(self.table)]

    @staticmethod
    def of_pieces(pieces: Sequence[Any], page: int, schema: pa.Schema) -> RawRows:
        """Rows of one page."""
        ts, codes, data = pieces
        return RawRows(ts, codes, np.full(len(ts), page, np.int32), table_of(data, schema))


def _joined_lent(parts: Sequence[RawRows]) -> NDArray[np.bool_] | None:
    """Which rows are lent, of parts one after another."""
    if all(part.is_lent is None for part in parts):
        return None
    return np.concatenate(
        [np.zeros(len(p), np.bool_) if p.is_lent is None else p.is_lent for p in parts]
    )


def table_bytes(table: pa.Table) -> bytes:
    """A table as bytes of Arrow's format, without its schema; a table without rows as none."""
    if not table.num_rows:
        return b""
    (batch,) = table.combine_chunks().to_batches()
    return batch.serialize().to_pybytes()  # type: ignore[no-any-return]


def table_of(data: Any, schema: pa.Schema) -> pa.Table:
    """The table of some bytes."""
    if not len(data):
        return schema.empty_table()
    batch = ipc.read_record_batch(pa.py_buffer(bytes(data)), schema)
    return pa.Table.from_batches([batch])


class _StreamTable(EventTable):
    """Events of a stream, in which what a column is does not depend on its values."""

    def column(self, attribute: str) -> Values:
        """An attribute of all rows; decimals that may have fractions are taken for doubles."""
        bit = bit_of(attribute)
        if bit is not None:
            integers = numpy_of(self.table.column(bit[0]))
            return Values("boolean", (integers & (1 << bit[1])) != 0)
        if attribute == EVENT_TIME:
            return super().column(attribute)
        kind = self.table.schema.field(attribute).type
        if types.is_decimal(kind) and kind.scale > 0 and attribute not in self._values:
            column = self.table.column(attribute)
            valid = numpy_of(column.is_valid()) if column.null_count else None
            doubles = column.cast(pa.string()).cast(pa.float64())
            self._values[attribute] = fractions(numpy_of(doubles.fill_null(0.0)), valid)
        return super().column(attribute)


class Waiting:
    """Rows that are not released yet, in pieces as they were fed."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._chunks: list[RawRows] = []

    def add(self, rows: RawRows) -> None:
        """Let rows wait."""
        if len(rows):
            self._chunks.append(rows)
        if len(self._chunks) > _MOST_CHUNKS:
            self._chunks = [self.all()]

    def all(self) -> RawRows:
        """All rows that wait."""
        return RawRows.joined(self._chunks, self.schema)

    def release(self, ts: int) -> RawRows:
        """Take out the rows before a time."""
        now: list[RawRows] = []
        later: list[RawRows] = []
        for rows in self._chunks:
            if int(rows.ts[-1]) < ts and int(rows.ts.max()) < ts:
                now.append(rows)
            elif int(rows.ts.min()) >= ts:
                later.append(rows)
            else:
                # In order of time, so that the next release of the same rows only cuts.
                arranged = rows
                if (np.diff(rows.ts) < 0).any():
                    arranged = rows.taken(np.argsort(rows.ts, kind="stable"))
                middle = int(np.searchsorted(arranged.ts, ts))
                now.append(arranged.cut(0, middle))
                rest = arranged.cut(middle, len(arranged))
                # A few rows should not keep the memory of many.
                is_short = 4 * len(rest) < len(arranged)
                later.append(rest.taken(np.arange(len(rest))) if is_short else rest)
        self._chunks = later
        return RawRows.joined(now, self.schema)

    def forget(self) -> None:
        """Let no row wait any more."""
        self._chunks = []

    def first_by_page(self, found: Longs) -> None:
        """Lower what was found for each page to the first time that waits there."""
        for rows in self._chunks:
            np.minimum.at(found, rows.page, rows.ts)
