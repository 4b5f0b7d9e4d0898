"""Windows that close, run again from their rows: all at once, or each by itself.

A kernel that is given rows works out all windows that they are in, but only some of these close
now. Where they are few, their rows are laid out window by window instead, each window of each
partition as a partition of its own with one window: a row is then run as often as windows close
that it is in, and no more. With windows that overlap k times, and a close for each, that is k times
less work. Where a long stretch of time closes at once, all of its windows do, and the kernel does
better to work them out together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.encode.sorting import dense_codes, sort_by_code
from hamlet.kernel.machine import FAR
from hamlet.kernel.run import partition_ranges
from hamlet.plan.windows import first_window, last_ended, last_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.plan.query import Window
    from hamlet.plan.workload import WorkloadPlan

    Longs = NDArray[np.int64]

# Rows that are laid out at a time, unless a single partition has more.
_MOST_ROWS = 1 << 22


@dataclass(frozen=True, slots=True)
class Layers:
    """In which windows that close now the events of a batch are, for windows of one length.

    first: Of each event the first such window.
    count: And how many there are.
    """

    batch: EventBatch
    window: Window
    first: Longs
    count: Longs

    @staticmethod
    def of(batch: EventBatch, window: Window, closed: Longs, until: int) -> Layers:
        """Windows that have not been closed by a time of each event, and are closed by another."""
        within, slide = window.within_us, window.slide_us
        first = first_window(np.maximum(batch.ts, closed), within, slide)
        last = last_window(batch.ts, slide)
        if until < FAR:
            last = np.minimum(last, last_ended(until, within, slide))
        return Layers(batch, window, first, np.maximum(last - first + 1, 0))

    @property
    def cost_apart(self) -> int:
        """What it costs to run each window by itself, for one unit."""
        return 2 * int(self.count.sum())

    @property
    def cost_together(self) -> int:
        """What it costs to run all windows at once."""
        return (1 + self.window.overlap) * len(self.count)

    def windows_apart(self) -> Iterator[tuple[EventBatch, NDArray[np.int32], Longs]]:
        """Batches in which each window of a partition is a partition with one window, from 0 on.

        With each batch comes the partition and the window that each of its partitions is.
        """
        ends = partition_ranges(self.batch)[:, 2]
        rows_by = np.cumsum(self.count)[ends - 1]
        begin = 0
        while begin < len(ends):
            before = rows_by[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(rows_by, before + _MOST_ROWS, "right")))
            stretch = np.arange(ends[begin - 1] if begin else 0, ends[end - 1])
            if self.count[stretch].any():
                yield self._laid_out(stretch)
            begin = end

    def _laid_out(self, stretch: Longs) -> tuple[EventBatch, NDArray[np.int32], Longs]:
        batch, count = self.batch, self.count[stretch]
        events = np.repeat(stretch, count)
        number = np.arange(len(events)) - np.repeat(np.cumsum(count) - count, count)
        window = self.first[events] + number
        part = batch.part[events]
        of_window, some = dense_codes(window)
        codes, first = dense_codes(part.astype(np.int64) * len(some) + of_window)
        order, starts = sort_by_code(codes, len(first))
        events, begins = events[order], window[order] * self.window.slide_us
        laid_out = replace(
            batch,
            part=np.repeat(np.arange(len(first), dtype=np.int32), np.diff(starts)),
            ts=batch.ts[events] - begins,
            tied=batch.tied[events],
            letter=batch.letter[events],
            weights=batch.weights[:, events],
            extremes=batch.extremes[:, events],
            previous=batch.previous[:, events],
            next=batch.next[:, events],
            columns=batch.columns[:, events],
        )
        return laid_out, part[first], window[first]


def with_single_windows(plan: WorkloadPlan) -> WorkloadPlan:
    """The same queries with windows that do not overlap."""
    queries = tuple(
        replace(
            planned,
            query=replace(
                planned.query,
                window=replace(planned.query.window, slide_us=planned.query.window.within_us),
            ),
        )
        for planned in plan.queries
    )
    return replace(plan, queries=queries)
