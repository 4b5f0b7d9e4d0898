"""Latency as the paper defines it: from the arrival of a window's last event to its results.

Events are replayed at a pace: so many seconds of them in a second of the clock. In a session what
has come is fed, and time is closed up to the last event, over and over; on Spark files with what
has come appear in a folder that a stream reads. The latency of a window is the time between the
last event in it, when that was due, and its rows, when they were there: waiting for the end of the
window, for a batch, and for what else has to be done is all in it. Times are those of the clock.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.engine import Options
from hamlet.engine.session import Session
from hamlet.errors import InternalError

if TYPE_CHECKING:
    from hamlet.workload import Workload

# How often new events are looked for at most, and how often a file of them is written for Spark.
_TICK_S = 0.005
_FILE_S = 0.25
# How long Spark may take to give what is left after the last event.
_PATIENCE_S = 120.0


class Paced:
    """A workload over one table of events that come at a pace."""

    def __init__(self, workload: Workload, table: Any, host: str, speed: float) -> None:
        self.workload, self.table, self.host, self.speed = workload, table, host, speed
        self.times = table["time"].cast("int64").to_numpy()
        # Windows of such a workload are alike, and do not overlap.
        self.within = workload.queries[0].window.within_us
        window = self.times // self.within
        self.ends = np.unique(window[window < window[-1]])
        last = np.searchsorted(window, self.ends, side="right") - 1
        self.due = (self.times[last] - self.times[0]) / 1e6 / speed

    def warm_up(self) -> None:
        """Answer everything once, at once."""
        self.workload.run(self.table, numbers="float")
        if self.host == "spark":
            os.sched_setaffinity(0, range(os.cpu_count() or 1))

    def answer(self) -> list[Any] | None:
        """Nothing is compared here: tests compare streams with batches."""
        return None

    def counts(self) -> dict[str, int]:
        """How many windows there are."""
        return {"windows": len(self.ends)}

    def measure(self) -> dict[str, float | None]:
        """The latencies of all windows of one replay: the median and the 99th of a hundred."""
        begun = time.perf_counter()
        there = self._in_session() if self.host == "session" else self._on_spark()
        missing = set(self.ends.tolist()) - set(there)
        if missing:
            message = f"{len(missing)} windows of a paced replay had no results"
            raise InternalError(message)
        latencies = np.array([there[end] for end in self.ends.tolist()]) - self.due
        return {
            "latency_s": float(np.median(latencies)),
            "p99_s": float(np.quantile(latencies, 0.99)),
            "total_s": time.perf_counter() - begun,
        }

    def _come(self, since: float) -> int:
        """How many events have come."""
        elapsed = (time.perf_counter() - since) * self.speed
        return int(np.searchsorted(self.times, self.times[0] + elapsed * 1e6, side="right"))

    def _in_session(self) -> dict[int, float]:
        """When each window had its results, in seconds from the beginning, by its number."""
        session = Session(self.workload.plan, Options(numbers="float"), self.table.schema)
        there: dict[int, float] = {}
        before = int(self.times[0])
        taken, since = 0, time.perf_counter()
        while taken < len(self.times):
            come = self._come(since)
            if come == taken:
                time.sleep(_TICK_S)
                continue
            session.feed(self.table.slice(taken, come - taken))
            until = int(self.times[come - 1])
            closed = session.close_until(until)
            if len(closed):
                closed.answers()
            now = time.perf_counter() - since
            for number in range(before // self.within, until // self.within):
                there.setdefault(number, now)
            taken, before = come, until
        return there

    def _on_spark(self) -> dict[int, float]:
        """The same of a stream, whose rows are taken as it gives them."""
        from hamlet.spark.session import start

        there: dict[int, float] = {}
        spark = start(None, settings={"spark.sql.shuffle.partitions": "2"}, quiet=True)
        with tempfile.TemporaryDirectory(prefix="hamlet-paced-") as folder:
            source, schema = Path(folder) / "events", _spark_schema(spark, self.table)
            source.mkdir()
            self._put(source, 0, 1)
            events = spark.readStream.schema(schema).parquet(str(source))
            begun: list[float] = []

            def take(rows: Any, _number: int) -> None:
                ends = rows.select("window_end").distinct().toArrow()["window_end"]
                now = time.perf_counter()
                for end in ends.cast("int64").to_numpy().tolist():
                    if begun:
                        there.setdefault(end // self.within - 1, now - begun[0])

            writer = self.workload.run(events, numbers="float").writeStream.foreachBatch(take)
            query = writer.option("checkpointLocation", f"{folder}/checkpoint").start()
            try:
                query.processAllAvailable()
                begun.append(time.perf_counter())
                self._feed(source, begun[0])
                end = time.perf_counter() + _PATIENCE_S
                while len(there) < len(self.ends) and time.perf_counter() < end:
                    query.awaitTermination(1)
            finally:
                query.stop()
        return there

    def _feed(self, source: Path, since: float) -> None:
        """Write what has come, until all has."""
        taken = 1
        while taken < len(self.times):
            come = self._come(since)
            if come > taken:
                self._put(source, taken, come)
                taken = come
            threading.Event().wait(_FILE_S)

    def _put(self, source: Path, start: int, end: int) -> None:
        """A file of some events, which appears whole."""
        from pyarrow import parquet

        hidden = source.parent / f"{start:012d}.parquet"
        parquet.write_table(self.table.slice(start, end - start), hidden)
        hidden.rename(source / hidden.name)


def _spark_schema(spark: Any, table: Any) -> Any:
    return spark.createDataFrame(table.slice(0, 1)).schema
