"""Rows that wait for the watermark, as they came: each batch of a bucket is written once.

Where there are more than a few, a bucket keeps what comes with a batch in a place of its own,
whatever its pages are, and reads it when the watermark has come to its first row. So what a batch
writes is what came with it, however many rows wait. What it has of earlier rows, by their pages, is
not touched by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.machine import NEVER
from hamlet.kernel.packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.spark.stream.pages import Places

    Longs = NDArray[np.int64]

_ROWS = "rows that wait"


class WaitingLog:
    """What waits, batch by batch.

    Attributes:
        entries: [batches, 3]: number of the place, and the first and the last time of its rows.
        written: How many bytes have been written.
    """

    def __init__(self, places: Places, entries: Longs) -> None:
        self._places = places
        self.entries = entries
        self.written = 0

    @staticmethod
    def nothing(places: Places) -> WaitingLog:
        """Nothing that waits."""
        return WaitingLog(places, np.zeros((0, 3), np.int64))

    @property
    def first(self) -> int:
        """The time of the first row that waits; NEVER where none does."""
        return int(self.entries[:, 1].min(initial=NEVER))

    def add(self, data: Sequence[bytes], times: Longs) -> None:
        """Let the rows of a batch wait; `times` are those of the rows that are not late."""
        number = int(self.entries[:, 0].max(initial=-1)) + 1
        rows = pack(_ROWS, {}, list(data))
        self._places.put_page(_place(number), rows)
        self.written += len(rows)
        entry = [number, int(times.min()), int(times.max())]
        self.entries = np.append(self.entries, [entry], axis=0)

    def due(self, before_us: int) -> Iterator[tuple[int, list[bytes]]]:
        """Which batches have a row before a time, and their rows as they came."""
        for at in np.flatnonzero(self.entries[:, 1] < before_us).tolist():
            data = self._places.page(_place(int(self.entries[at, 0])))
            if data is not None:
                yield at, [bytes(piece) for piece in unpack(_ROWS, data)[1]]

    def begin_from(self, firsts: dict[int, int]) -> None:
        """Have only later rows of some batches: the first of each, NEVER where all are over."""
        for at, first in firsts.items():
            self.entries[at, 1] = first
        is_over = self.entries[:, 1] == NEVER
        for number in self.entries[is_over, 0].tolist():
            self._places.remove_page(_place(number))
        self.entries = self.entries[~is_over]


def _place(number: int) -> int:
    """Where a batch is: pages have numbers from 0 on."""
    return -1 - number
