"""Timing on one core: repeated, in turn where two things are compared, with median and spread.

Times are those of the processor, so that other processes on the machine are not in them.
"""

from __future__ import annotations

import gc
import os
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Work = Callable[[], object]


class Spread(NamedTuple):
    """The median of repeated measurements, and the least and the greatest."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """The spread of some values."""
        return Spread(median(values), min(values), max(values))


def seconds(work: Work) -> float:
    """How long the processor takes for some work, garbage collected before."""
    gc.collect()
    begun = time.process_time()
    work()
    return time.process_time() - begun


def rate(work: Work, amount: int, repeat: int) -> Spread:
    """How much is done in a second, after a run to warm up."""
    work()
    return Spread.of([amount / seconds(work) for _ in range(repeat)])


def ratio(slow: Work, fast: Work, repeat: int, warm: bool = True) -> Spread:
    """How many times as long the one takes as the other, both measured in turn."""
    if warm:
        slow()
    fast()
    return Spread.of([seconds(slow) / seconds(fast) for _ in range(repeat)])


@contextmanager
def one_core() -> Iterator[None]:
    """Hold this process, and Arrow's threads, to one core.

    What is there already, the compiler above all, is no garbage: it is not looked through before
    each measurement, which took longer than many of them.
    """
    import pyarrow as pa

    threads = pa.cpu_count()
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    pa.set_cpu_count(1)
    if cores:
        os.sched_setaffinity(0, {max(cores)})
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        pa.set_cpu_count(threads)
        if cores:
            os.sched_setaffinity(0, cores)
