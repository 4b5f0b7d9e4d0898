"""Rows as they came: each batch of a bucket is written once, and lies there as long as needed.

Where there are more than a few, a bucket keeps what comes with a batch in a place of its own,
whatever its pages are, and reads it when the watermark has come to its first row. So what a batch
writes is what came with it, however many rows wait. What it has of earlier rows, by their pages, is
not touched by that.

Rows that have been taken in stay where they are as long as they are in an open window, where a
session may ask for them again (`Session.lent_us`): these it does not keep itself. Where a window
has very many batches, what has been taken in of some of them is put together.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.machine import NEVER
from hamlet.kernel.packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.spark.stream.pages import Places

    Longs = NDArray[np.int64]

_ROWS = "rows that wait"
# Of a batch: the number of its place, the time of the first row that waits and of the last, the
# watermark that it came after, until when it is kept for those that ask again, and how often it has
# been put together with others.
_NUMBER, _FIRST, _LAST, _AFTER, _UNTIL, _LEVEL, _WIDTH = range(7)
# So many are put together.
_MANY = 64
# Rows of earlier versions are not kept for anybody.
_NOT_LENT = -NEVER


class Came(NamedTuple):
    """A batch of the log.

    at: Its place among the others; batches that were put together have one.
    data: Its rows, as they came.
    extras: Columns that they came with, as `StreamJob.extras`; None where that was not noted.
    after_us: The watermark at that time: rows before it were late.
    is_lent: Whether it is kept for as long as somebody may ask for it again.
    """

    at: int
    data: list[bytes]
    extras: list[str] | None
    after_us: int
    is_lent: bool


class WaitingLog:
    """What waits, batch by batch, and what has waited and may be asked for again.

    Attributes:
        entries: [batches, 6]: see above.
        written: How many bytes have been written.
    """

    def __init__(self, places: Places, entries: Longs) -> None:
        self._places = places
        if entries.shape[1] < _WIDTH:
            # As earlier versions had them.
            more = np.array([_NOT_LENT, _NOT_LENT, 0], np.int64)
            entries = np.append(entries, np.tile(more, (len(entries), 1)), axis=1)
        self.entries = entries
        self.written = 0

    @staticmethod
    def nothing(places: Places) -> WaitingLog:
        """Nothing that waits."""
        return WaitingLog(places, np.zeros((0, _WIDTH), np.int64))

    @property
    def deadline(self) -> int:
        """When something is to be done: the moment after the first row that waits, or an end."""
        is_waiting = self.entries[:, _FIRST] < NEVER
        first = int(self.entries[is_waiting, _FIRST].min(initial=NEVER - 1)) + 1
        return min(first, int(self.entries[~is_waiting, _UNTIL].min(initial=NEVER)))

    def add(
        self,
        data: Sequence[bytes],
        extras: Sequence[str],
        times: Longs,
        after_us: int,
        lent_us: int,
    ) -> None:
        """Let the rows of a batch wait.

        Args:
            data: The rows.
            extras: Columns that they come with.
            times: The times of those that are not late.
            after_us: The watermark, before which rows are late.
            lent_us: So long after a row it may be asked for again; 0 where it is not.
        """
        last = int(times.max())
        until = last + lent_us if lent_us else _NOT_LENT
        parts = [Came(0, list(data), list(extras), after_us, is_lent=lent_us > 0)]
        self._put(parts, int(times.min()), last, until, 0)

    def _put(self, parts: Sequence[Came], first: int, last: int, until: int, level: int) -> None:
        number = int(self.entries[:, _NUMBER].max(initial=-1)) + 1
        header = {"parts": [[part.after_us, len(part.data), part.extras] for part in parts]}
        rows = pack(_ROWS, header, [piece for part in parts for piece in part.data])
        self._places.put_page(_place(number), rows)
        self.written += len(rows)
        entry = [number, first, last, parts[0].after_us, until, level]
        self.entries = np.append(self.entries, [entry], axis=0)

    def due(self, before_us: int) -> Iterator[Came]:
        """The batches that have a row before a time which waits."""
        yield from self._read(np.flatnonzero(self.entries[:, _FIRST] < before_us))

    def lent(self) -> Iterator[Came]:
        """The batches that are kept for those that ask again."""
        yield from self._read(np.flatnonzero(self.entries[:, _UNTIL] != _NOT_LENT))

    def _read(self, which: Longs) -> Iterator[Came]:
        for at in which.tolist():
            number, _, _, after, until, _ = self.entries[at].tolist()
            data = self._places.page(_place(number))
            if data is not None:
                header, views = unpack(_ROWS, data)
                pieces = iter([bytes(view) for view in views])
                for after_us, count, extras in header.get("parts", [[after, len(views), None]]):
                    some = list(islice(pieces, count))
                    yield Came(at, some, extras, after_us, until != _NOT_LENT)

    def begin_from(self, firsts: dict[int, int]) -> None:
        """Have only later rows of some batches wait: the first of each, NEVER where none does."""
        for at, first in firsts.items():
            self.entries[at, _FIRST] = first

    def drop(self, released_us: int) -> None:
        """Drop the batches that nobody asks for again, now that time has come so far."""
        is_taken_in = self.entries[:, _FIRST] == NEVER
        self._remove(is_taken_in & (self.entries[:, _UNTIL] <= released_us))
        for level in range(int(self.entries[:, _LEVEL].max(initial=-1)) + 1):
            self._put_together(level)

    def _put_together(self, level: int) -> None:
        """Have what has been taken in of many batches in one place."""
        is_taken_in = self.entries[:, _FIRST] == NEVER
        some = np.flatnonzero(is_taken_in & (self.entries[:, _LEVEL] == level))[:_MANY]
        if len(some) == _MANY:
            parts = list(self._read(some))
            last, until = self.entries[some][:, [_LAST, _UNTIL]].max(axis=0).tolist()
            is_one = np.zeros(len(self.entries), np.bool_)
            is_one[some] = True
            self._remove(is_one)
            self._put(parts, NEVER, last, until, level + 1)

    def _remove(self, which: NDArray[np.bool_]) -> None:
        for number in self.entries[which, _NUMBER].tolist():
            self._places.remove_page(_place(number))
        self.entries = self.entries[~which]


def _place(number: int) -> int:
    """Where a batch is: pages have numbers from 0 on."""
    return -1 - number
