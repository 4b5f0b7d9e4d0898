"""Buckets as Spark keeps them: the state store behind `bucket.step`.

What is kept is bytes that Hamlet has written, under names and types that do not change: a core for
each bucket and, by its number, each page.
"""

from __future__ import annotations

import hashlib
import pickle
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from hamlet.spark.settled import settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from hamlet.spark.stream.job import StreamJob, StreamJobs

# Nothing is given for a time that the watermark has passed, so what comes after a bucket may count
# on the watermark: no row of it is older than this.
_EVER = datetime(9999, 1, 1, tzinfo=UTC)
ANSWERED = "ever timestamp, place int, lane int, data binary"
EVER = "ever"
_BATCH = "streaming.sql.batchId"
_MOST_JOBS = 16
_jobs: dict[bytes, StreamJobs] = {}


class BucketProcessor(StatefulProcessor):
    """Answers the rows of buckets, which come packed; a row without data ends the stream."""

    def __init__(self, jobs: StreamJobs) -> None:
        self._written = pickle.dumps(jobs)
        # By all that they are: two streams may have state of one form and do different things.
        self._which = hashlib.sha256(self._written).digest()

    @property
    def jobs(self) -> StreamJobs:
        """What is done; a worker reads it once for all of its batches."""
        if self._which not in _jobs:
            if len(_jobs) >= _MOST_JOBS:
                _jobs.clear()
            _jobs[self._which] = pickle.loads(self._written)
        return _jobs[self._which]

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is kept."""
        self._handle = handle
        self._core = handle.getValueState("core", "data binary")
        self._pages = handle.getMapState("pages", "page int", "data binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Answer the rows of a bucket in one batch."""
        data = [row["data"] for row in rows]
        job = self.jobs.job_of(key[0])
        if job is None:
            self.clear()
            return iter(())
        rows_there = [bytes(each) for each in data if each is not None]
        how = {"is_end": None in data, "batch": _batch()}
        return self._stepped(job, key[0], rows_there, timerValues, **how)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """Close the windows of a bucket that the watermark has passed."""
        job = self.jobs.job_of(key[0])
        if job is None:
            self.clear()
            return iter(())
        return self._stepped(job, key[0], (), timerValues, is_fired=True, batch=_batch())

    def _stepped(
        self, job: StreamJob, bucket: int, data: Sequence[bytes], timers: Any, **how: Any
    ) -> Iterator[Row]:
        """What a bucket answers, as rows."""
        # The process that asks a new query for its state imports this module, and never steps: with
        # all that a step needs it would take a second longer until the first batch.
        from hamlet.spark.stream.bucket import step

        answers = step(job, bucket, self, data, _watermark_us(timers), **how)
        return (Row(ever=_EVER, **answer._asdict()) for answer in answers)

    def close(self) -> None:
        """Nothing is left open."""
        settle()

    # What a bucket asks of a place for its state

    def core(self) -> bytes | None:
        """The core."""
        stored = self._core.get()
        return None if stored is None else bytes(stored[0])

    def put_core(self, data: bytes) -> None:
        """Keep the core."""
        self._core.update((data,))

    def clear(self) -> None:
        """Forget a bucket, of a generation that is over."""
        self._core.clear()
        self._pages.clear()

    def page(self, page: int) -> bytes | None:
        """A page."""
        stored = self._pages.getValue((page,))
        return None if stored is None else bytes(stored[0])

    def put_page(self, page: int, data: bytes) -> None:
        """Keep a page."""
        self._pages.updateValue((page,), (data,))

    def remove_page(self, page: int) -> None:
        """Keep a page no longer."""
        self._pages.removeKey((page,))

    def set_timer(self, old_ms: int | None, new_ms: int | None) -> None:
        """Have one timer, or none."""
        if old_ms is not None:
            self._handle.deleteTimer(old_ms)
        if new_ms is not None:
            self._handle.registerTimer(new_ms)


def _batch() -> int:
    """The number of the batch that is under way; a batch that is done again has the same."""
    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty(_BATCH)
    return int(found or 0)


def _watermark_us(values: Any) -> int | None:
    """The watermark; 0 stands for none, since that is where Spark begins."""
    watermark_ms = values.getCurrentWatermarkInMs()
    return watermark_ms * 1000 if watermark_ms > 0 else None
