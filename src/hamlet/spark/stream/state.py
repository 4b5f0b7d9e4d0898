"""Buckets as Spark keeps them: the state store behind `stream_bucket.step`.

What is kept is bytes that Hamlet has written, under names and types that do not change: a core for
each bucket and, by its number, each page.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from hamlet.spark.stream.bucket import step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from hamlet.spark.stream.job import StreamJobs

ANSWERED = "place int, lane int, data binary"
_MOST_JOBS = 16
_jobs: dict[str, StreamJobs] = {}


class BucketProcessor(StatefulProcessor):
    """Answers the rows of buckets, which come packed; a row without data ends the stream."""

    def __init__(self, jobs: StreamJobs) -> None:
        self._settings = jobs.settings
        self._written = pickle.dumps(jobs)

    @property
    def jobs(self) -> StreamJobs:
        """What is done; a worker reads it once for all of its batches."""
        if self._settings not in _jobs:
            if len(_jobs) >= _MOST_JOBS:
                _jobs.clear()
            _jobs[self._settings] = pickle.loads(self._written)
        return _jobs[self._settings]

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
        answers = step(
            job,
            key[0],
            self,
            [bytes(each) for each in data if each is not None],
            _watermark_us(timerValues),
            is_end=None in data,
        )
        return (Row(**answer._asdict()) for answer in answers)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """Close the windows of a bucket that the watermark has passed."""
        job = self.jobs.job_of(key[0])
        if job is None:
            self.clear()
            return iter(())
        answers = step(job, key[0], self, (), _watermark_us(timerValues), is_fired=True)
        return (Row(**answer._asdict()) for answer in answers)

    def close(self) -> None:
        """Nothing is left open."""

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


def _watermark_us(values: Any) -> int | None:
    """The watermark; 0 stands for none, since that is where Spark begins."""
    watermark_ms = values.getCurrentWatermarkInMs()
    return watermark_ms * 1000 if watermark_ms > 0 else None
