"""How fast streams are on Spark, against the least that any Python in a stream costs.

The same files, one for each batch, go through a stateless task that gives back what it gets, and
through a workload. Small batches are measured against a stateful operator that does nothing: that
is what Spark takes for a batch with state. The first batches, in which Python is started and code
compiled, are left out. Answers are compared with those of one machine before.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyspark
from pyarrow import parquet
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from hamlet.bench import streams
from hamlet.bench.timing import Spread
from hamlet.engine import Options
from hamlet.errors import InternalError
from hamlet.io.circumstances import circumstances
from hamlet.spark.session import running, start
from hamlet.spark.settings import parallelism
from hamlet.spark.stream.answers import WORK, answer_stream, default_buckets
from hamlet.spark.stream.handle import StreamingWorkload
from hamlet.spark.stream.settings import ROCKSDB, StreamSettings
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

GROUPS = 1_000
QUERIES = 50
# One X and then Ts, one burst in each window: counts stay below 2^62.
BURST = 60
FLOOR, EDGE_FLOOR, CEILING = 0.5, 0.3, 1.3
RISING = "T.v < NEXT(T).v"
# To take over a workload of so many queries that has changed takes at most so many seconds.
CHANGED, CHANGE_S = 100, 3.0
# Batches that are left out: some seconds of work for large ones, and of small ones more, since
# Java compiles what has been run often enough.
_WARM, _WARM_SHORT = 2, 10
_SCHEMA = "type string, time long, g string, v long"
_CHECKED_GROUPS = 20


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How much is measured: rows and batches for throughput, rows and batches for latency."""

    rows: int
    batches: int
    few_rows: int
    short_batches: int

    @staticmethod
    def of(quick: bool) -> _Sizes:
        return _Sizes(60_000, 3, 1_000, 5) if quick else _Sizes(1_000_000, 6, 1_000, 30)


def measure_streaming(
    quick: bool, tell: Callable[[str], None], master: str | None = None
) -> dict[str, Any]:
    """Measure streams and report everything as plain data.

    Args:
        quick: Small sizes: shows that it works, measures little.
        tell: Is told what is being done.
        master: Where to run; all cores of this machine when left out.
    """
    sizes = _Sizes.of(quick)
    is_ours = running() is None
    cores = os.cpu_count() or 1
    settings = {
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    spark = start(master, settings=settings, quiet=True)
    try:
        with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as folder:
            bench = _Bench(spark, Path(folder), tell)
            bench.check()
            figures = [
                *bench.throughput(sizes.rows, sizes.batches),
                *bench.latency(sizes.few_rows, sizes.short_batches),
                bench.change(sizes.few_rows, 2 if quick else 5),
            ]
    finally:
        if is_ours:
            spark.stop()
    described = circumstances()
    described["machine"]["cores_used"] = cores
    described["versions"]["pyspark"] = pyspark.__version__
    return {
        **described,
        "quick": quick,
        "kept": quick or all(figure["ok"] for figure in figures),
        "figures": figures,
    }


class _Nothing(StatefulProcessor):
    """A stateful operator that reads and writes a value, and gives nothing."""

    def init(self, handle: Any) -> None:
        self._value = handle.getValueState("value", "number long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        for _ in rows:
            pass
        before = self._value.get()
        self._value.update(((before[0] if before else 0) + 1,))
        return iter(())

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Bench:
    spark: SparkSession
    folder: Path
    tell: Callable[[str], None]

    # What is compared

    def throughput(self, rows: int, batches: int) -> Iterator[dict[str, Any]]:
        self.tell(f"writing {batches + _WARM} files of {rows:,} events")
        source = self._write("large", rows, batches + _WARM, GROUPS)
        self.tell("measuring a stateless stream")
        bare = self._run("bare", self._read(source).mapInArrow(_same, _SCHEMA))
        cases = [("exact", "", FLOOR), ("float", "", FLOOR), ("exact", RISING, EDGE_FLOOR)]
        for numbers, where, floor in cases:
            text = streams.workload(QUERIES, BURST, BURST, where=where, group_by="g")
            asked = f"{numbers}, {where}" if where else numbers
            self.tell(f"measuring {QUERIES} queries, {asked}")
            name = f"ours-{numbers}-{'edge' if where else 'plain'}"
            ours = self._run(name, self._answers(source, text, numbers))
            taken = [_seconds(each) for each in ours]
            without = [_seconds(each) for each in bare]
            ratio = Spread.of([b / o for b, o in zip(without, taken, strict=False)])
            figure = {
                "case": "stream",
                "what": f"{QUERIES} queries, {GROUPS:,} groups, {rows:,} rows a batch, {asked}",
                "bare_rows_per_s": Spread.of([rows / each for each in without])._asdict(),
                "rows_per_s": Spread.of([rows / each for each in taken])._asdict(),
                "found": ratio._asdict(),
                "floor": floor,
                "ok": ratio.median >= floor,
                "state_bytes": _state_bytes(ours[-1]),
                "pages_written": ours[-1]["observedMetrics"][WORK]["pages_written"],
            }
            self.tell(f"  {ratio.median:.3g} of the speed of a stateless stream: {figure['what']}")
            yield figure

    def latency(self, rows: int, batches: int) -> Iterator[dict[str, Any]]:
        self.tell(f"writing {batches + _WARM_SHORT} files of {rows:,} events")
        groups = max(1, rows // BURST)
        source = self._write("small", rows, batches + _WARM_SHORT, groups)
        text = streams.workload(QUERIES, BURST, BURST, group_by="g")
        self.tell("measuring a stateful stream that does nothing")
        keyed = self._read(source).select((F.hash("g") % 2).alias("key"), "time")
        nothing = keyed.groupBy("key").transformWithState(_Nothing(), "key int", "Append", "None")
        bare = [_seconds(each) for each in self._run("nothing", nothing, _WARM_SHORT)]
        self.tell("measuring small batches")
        found = self._run("small", self._answers(source, text, "exact"), _WARM_SHORT)
        ours = [_seconds(each) for each in found]
        ratio = Spread.of(ours).median / Spread.of(bare).median
        both = [one + other for one, other in pairwise(ours)]
        figure = {
            "case": "stream latency",
            "what": f"{QUERIES} queries, {groups} groups, {rows:,} rows a batch",
            "bare_s": Spread.of(bare)._asdict(),
            "batch_s": Spread.of(ours)._asdict(),
            # The batch with the last row of a window, and the next, whose watermark passes it.
            "row_to_result_s": Spread.of(both or ours)._asdict(),
            "found": ratio,
            "ceiling": CEILING,
            "ok": ratio <= CEILING,
            "state_bytes": _state_bytes(found[-1]),
        }
        self.tell(f"  {ratio:.3g} times the batch of an empty stateful stream: {figure['what']}")
        yield figure

    def change(self, rows: int, times: int) -> dict[str, Any]:
        """How long it takes to take over a changed workload, from the change to the next batch."""
        self.tell(f"measuring changes of a workload of {CHANGED} queries")
        source = self._write("changed", rows, 4, max(1, rows // BURST))
        text = streams.workload(CHANGED, BURST, BURST, group_by="g")
        folder = str(self.folder / "checkpoint-changed")

        def write(results: DataFrame) -> Any:
            return results.writeStream.format("noop").option("checkpointLocation", folder).start()

        live = StreamingWorkload(
            Workload.parse(text), self._read(source), write, checkpoint=folder, lateness=BURST
        )
        live.start().processAllAvailable()
        taken = []
        for number in range(times):
            begun = time.perf_counter()
            live.replace(f"q0: RETURN COUNT(*) PATTERN SEQ(X0, T+) GROUPBY g WITHIN {number + 2} s")
            taken.append(time.perf_counter() - begun)
            assert live.query is not None
            live.query.processAllAvailable()
        live.stop()
        spread = Spread.of(taken)
        self.tell(f"  {spread.median:.3g} s to take over a change of {CHANGED} queries")
        return {
            "case": "stream change",
            "what": f"a change of {CHANGED} queries",
            "found": spread._asdict(),
            "ceiling": CHANGE_S,
            "ok": spread.median <= CHANGE_S,
        }

    def check(self) -> None:
        """Some groups have the same answers as on one machine."""
        self.tell("comparing answers with one machine")
        source = self._write("checked", 6_000, 2, _CHECKED_GROUPS)
        text = streams.workload(QUERIES, BURST, BURST, group_by="g")
        writer = self._answers(source, text, "exact").writeStream.format("memory")
        query = writer.queryName("hamlet_checked").trigger(availableNow=True).start()
        query.awaitTermination()
        rows = self.spark.table("hamlet_checked").toArrow().to_pylist()
        table = Workload.parse(text).run(str(source)).table
        last = max(row["window_end"] for row in rows)
        wanted = [row for row in table.to_pylist() if row["window_end"] <= last]
        if _exact(rows) != _exact(wanted):
            raise InternalError("a stream and one machine differ")

    # Streams

    def _write(self, name: str, rows: int, files: int, groups: int) -> Path:
        folder = self.folder / name
        folder.mkdir()
        table = streams.grouped(groups, -(-rows * files // groups), BURST - 1, QUERIES, span=BURST)
        events = table.table()
        names = pa.array([f"group {number}" for number in range(groups)])
        types = events["type"].cast(pa.string())
        columns = {"type": types, "time": events["time"]}
        columns["g"] = names.take(pa.array(np.asarray(events["g"])))
        columns["v"] = pa.array(np.random.default_rng(1).integers(0, 2**20, len(events)))
        whole = pa.table(columns)
        for number in range(files):
            path = folder / f"{number:04d}.parquet"
            parquet.write_table(whole.slice(number * rows, rows), path)
            os.utime(path, (10**9 + number, 10**9 + number))
        return folder

    def _read(self, source: Path) -> DataFrame:
        reader = self.spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(source))

    def _answers(self, source: Path, text: str, numbers: Any) -> DataFrame:
        options, plan = Options(numbers=numbers), Workload.parse(text).plan
        cores = parallelism(self.spark)
        settings = StreamSettings(BURST * 10**6, default_buckets(cores))
        return answer_stream(plan, self._read(source), options, settings)

    def _run(self, name: str, frame: DataFrame, warm: int = _WARM) -> list[dict[str, Any]]:
        """The progress of each batch with rows, but for the first."""
        writer = frame.writeStream.format("noop").trigger(availableNow=True)
        checkpoint = self.folder / f"checkpoint-{name}"
        query = writer.option("checkpointLocation", str(checkpoint)).start()
        query.awaitTermination()
        batches = [json.loads(each.json) for each in query.recentProgress]
        return [each for each in batches if each["numInputRows"]][warm:]


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _seconds(progress: dict[str, Any]) -> float:
    return float(progress["durationMs"]["triggerExecution"]) / 1000


def _state_bytes(progress: dict[str, Any]) -> int:
    """What RocksDB has on disk."""
    metrics = progress["stateOperators"][0]["customMetrics"]
    return int(metrics.get("rocksdbSstFileSize", 0)) or int(
        metrics.get("rocksdbTotalBytesWritten", 0)
    )


def _exact(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("query", "window_start", "group", "aggregate", "exact")
    return sorted(tuple(row[name] for name in names) for row in rows)


def as_text(report: dict[str, Any]) -> str:
    """A report as lines of text."""
    lines = ["", "streams"]
    for figure in report["figures"]:
        state = "ok" if figure["ok"] else "short"
        if figure["case"] == "stream change":
            wanted = f"{figure['found']['median']:.2f} s, at most {figure['ceiling']:g}"
            lines.append(f"{figure['what']}: {wanted}  {state}")
            continue
        if figure["case"] == "stream":
            speeds = [figure[each]["median"] / 1e6 for each in ("rows_per_s", "bare_rows_per_s")]
            shown = "{:.3g} M rows/s, {:.3g} without state".format(*speeds)
            wanted = f"{figure['found']['median']:.2f}, at least {figure['floor']:g}"
        else:
            shown = (
                f"{figure['batch_s']['median']:.2f} s a batch, {figure['bare_s']['median']:.2f} s "
                f"with nothing to do, {figure['row_to_result_s']['median']:.2f} s to a result"
            )
            wanted = f"{figure['found']:.2f} times, at most {figure['ceiling']:g}"
        size = f"state {figure['state_bytes'] / 2**20:.1f} MiB"
        lines.append(f"{figure['what']}: {shown}, {size}: {wanted}  {state}")
    return "\n".join(lines) + "\n"
