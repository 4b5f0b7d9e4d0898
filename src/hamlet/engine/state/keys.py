"""Which partition has which key: a table of keys, found by their hashes.

Hashes are kept in order, so keys are looked up by binary search, all at once; keys with equal
hashes stand side by side and are compared, so that a collision costs time and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.engine.state.hashing import hashes_of
from hamlet.events.columns import numpy_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

_MOST_CHUNKS = 32


class KeyTable:
    """The keys of partitions, by slot.

    Attributes:
        hashes: The hash of each key.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.hashes = np.zeros(0, np.uint64)
        self._table = schema.empty_table()
        self._sorted = np.zeros(0, np.uint64)
        self._slots = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.hashes)

    def slots_of(self, keys: pa.Table, count: int) -> Longs:
        """The slots of some different keys; those not known yet get the next ones.

        Args:
            keys: A column for each attribute; there may be no attribute at all.
            count: The number of keys.
        """
        hashes = hashes_of(keys.columns, count)
        low = np.searchsorted(self._sorted, hashes, "left")
        high = np.searchsorted(self._sorted, hashes, "right")
        slots = np.full(count, -1, np.int64)
        open_rows = np.flatnonzero(low < high)
        while len(open_rows):
            candidates = self._slots[low[open_rows]]
            is_same = self._are(candidates, keys, open_rows)
            slots[open_rows[is_same]] = candidates[is_same]
            open_rows = open_rows[~is_same]
            low[open_rows] += 1
            open_rows = open_rows[low[open_rows] < high[open_rows]]
        new = np.flatnonzero(slots < 0)
        if len(new):
            slots[new] = self._add(_taken(keys, new), hashes[new])
        return slots

    def add(self, keys: pa.Table, count: int) -> Longs:
        """Slots for some keys, none of which is known."""
        return self._add(keys, hashes_of(keys.columns, count))

    def taken(self, slots: Longs) -> pa.Table:
        """The keys of some slots."""
        return _taken(self._table, slots)

    def renumber(self, slots: Longs) -> None:
        """Have only some slots, in the order given."""
        self._table = _taken(self._table, slots)
        self.hashes = self.hashes[slots]
        self._slots = np.argsort(self.hashes, kind="stable")
        self._sorted = self.hashes[self._slots]

    def _are(self, slots: Longs, keys: pa.Table, rows: Longs) -> NDArray[np.bool_]:
        """Whether slots have the keys of some rows, pair by pair."""
        known, asked = _taken(self._table, slots), _taken(keys, rows)
        is_same = np.ones(len(slots), np.bool_)
        for one, other in zip(known.columns, asked.columns, strict=True):
            is_same &= numpy_of(pc.equal(one, other))
        return is_same

    def _add(self, keys: pa.Table, hashes: NDArray[np.uint64]) -> Longs:
        slots = np.arange(len(self), len(self) + len(hashes))
        order = np.argsort(hashes, kind="stable")
        places = np.searchsorted(self._sorted, hashes[order])
        self._sorted = np.insert(self._sorted, places, hashes[order])
        self._slots = np.insert(self._slots, places, slots[order])
        self.hashes = np.append(self.hashes, hashes)
        self._table = pa.concat_tables([self._table, keys])
        if keys.num_columns and self._table.column(0).num_chunks > _MOST_CHUNKS:
            self._table = self._table.combine_chunks()
        return slots


def _taken(table: pa.Table, rows: Longs) -> pa.Table:
    """Some rows of a table, which may have no columns and then no length."""
    return table.take(pa.array(rows)) if table.num_columns else table
