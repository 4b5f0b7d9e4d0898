"""How many pairs of events are in one window, told without looking at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch


def pairs_in_windows(batch: EventBatch, within: int) -> int:
    """How many pairs of events are in one partition, and less than a window apart."""
    return int(earlier_in_windows(batch.part, batch.ts, within).sum())


def earlier_in_windows(
    part: NDArray[np.int32], ts: NDArray[np.int64], within: int
) -> NDArray[np.int64]:
    """For each event how many come before it in its partition, less than a window apart."""
    earlier = np.zeros(len(part), np.int64)
    for low, high in ranges_of_partitions(part):
        times = ts[low:high]
        earliest = np.searchsorted(times, times - within, side="right")
        earlier[low:high] = np.arange(high - low) - earliest
    return earlier


def ranges_of_partitions(part: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Where the events of each partition are."""
    firsts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    yield from zip(firsts, [*firsts[1:], len(part)], strict=True) if firsts else ()
