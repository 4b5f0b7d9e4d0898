"""A standalone cluster of Spark on this machine: a master, two workers, and the package as a wheel.

Run by `make test-cluster`, and not with the other tests: it takes minutes. The workers have a
Python of their own, in which only the wheel is installed; HAMLET_CLUSTER_PYTHON says where. Would
catch what travels to workers and cannot be read there, a module that the wheel lacks, results that
depend on which worker has what, and a worker that is lost while it works.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conformance import differences, load_cases
from pyarrow import parquet

from hamlet import Workload
from hamlet.data import generate_table
from hamlet.data.workloads import first
from hamlet.engine import Options
from hamlet.io.long_form import COLUMNS
from hamlet.spark.batch import answer
from hamlet.spark.session import find_java, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

PYTHON = Path(os.environ["HAMLET_CLUSTER_PYTHON"])
HOST = "127.0.0.1"
WAIT_S = 300.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end, "waited for nothing"
        time.sleep(0.2)


class Cluster:
    """The processes of a master and two workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.page = free_port(), free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.started = 0
        home = subprocess.run(
            [PYTHON, "-c", "import pyspark; print(pyspark.__path__[0])"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.home = home.stdout.strip()

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def start(self) -> None:
        place = ["--host", HOST, "--port", str(self.port), "--webui-port", str(self.page)]
        self._start("master", "org.apache.spark.deploy.master.Master", *place)
        wait_until(lambda: self._state() is not None)
        self.have_workers(2)

    def have_workers(self, count: int) -> None:
        """Start workers until there are so many."""
        for _ in range(count - len(self.workers)):
            name = f"worker{self.started}"
            work = ["--work-dir", str(self.folder / name), "--webui-port", "0"]
            size = ["--cores", "1", "--memory", "2g", "--host", HOST]
            self._start(name, "org.apache.spark.deploy.worker.Worker", *size, *work, self.url)
            self.started += 1
        wait_until(lambda: self.alive() == count)

    @property
    def workers(self) -> list[str]:
        """The names of the workers that there are."""
        return [name for name in self.processes if name.startswith("worker")]

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [f"{self.home}/bin/spark-class", *command],
                env={**os.environ, "SPARK_HOME": self.home, "PYSPARK_PYTHON": str(PYTHON)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _state(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.page}/json/", timeout=5) as page:
                return dict(json.load(page))
        except OSError:
            return None

    def alive(self) -> int:
        """How many workers the master knows of."""
        return int((self._state() or {}).get("aliveworkers", 0))

    def kill(self, name: str) -> None:
        """End a process and those that it has started, at once."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for name in reversed(list(self.processes)):
            self.kill(name)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    find_java()
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def spark(cluster: Cluster) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = str(PYTHON)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = start(
        cluster.url,
        settings={
            "spark.driver.bindAddress": HOST,
            "spark.driver.host": HOST,
            "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.adaptive.coalescePartitions.enabled": "false",
            "spark.ui.enabled": "false",
        },
        quiet=True,
    )
    yield session
    session.stop()


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in COLUMNS) for row in table.to_pylist()), key=repr)


# Batch


def where_hamlet_is(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import os

    import hamlet

    for _ in batches:
        yield pa.record_batch({"path": [hamlet.__file__], "process": [os.getppid()]})


# A module that workers do not have is not to be imported there.
where_hamlet_is.__module__ = "__main__"


def test_workers_have_the_wheel(spark: SparkSession):
    rows = spark.range(0, 1000, 1, 8).mapInArrow(where_hamlet_is, "path string, process long")
    found = rows.collect()

    assert {row["path"] for row in found} == {
        str(next(PYTHON.parents[1].glob("lib/*/site-packages/hamlet/__init__.py")))
    }
    assert len({row["process"] for row in found}) == 2


def test_cases_give_the_same_rows(spark: SparkSession):
    cases = load_cases()[::25]

    for case in cases:
        frame = spark.createDataFrame(pa.Table.from_pylist(case.events)).repartition(4)
        found = Workload.parse(case.workload).run(frame, order=case.order).toArrow().to_pylist()
        assert not differences(case.expected, found, "exact"), case


def test_a_large_group_is_the_same(spark: SparkSession):
    events = generate_table("ridesharing", events=100_000, seed=3, groups=5)
    workload = Workload.parse(first("ridesharing", queries=5, seed=3))
    spark.conf.set("spark.hamlet.slices", "on")
    spark.conf.set("spark.hamlet.sliceRows", "1000")
    try:
        found = answer(workload.plan, spark.createDataFrame(events), Options()).table.toArrow()
    finally:
        spark.conf.unset("spark.hamlet.slices")
        spark.conf.unset("spark.hamlet.sliceRows")

    assert as_rows(found) == as_rows(workload.run(events).table)


def test_a_worker_that_is_lost_changes_nothing(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
):
    have_executors(spark, cluster, 2)
    events = generate_table("ridesharing", events=400_000, seed=1, groups=50)
    workload = Workload.parse(first("ridesharing", queries=10, seed=1))
    path = str(tmp_path / "events")
    spark.createDataFrame(events).repartition(8).write.parquet(path)
    results = answer(workload.plan, spark.read.parquet(path), Options())
    tracker = spark.sparkContext.statusTracker()
    is_lost: list[bool] = []

    def lose_one() -> None:
        # While the first tasks of the job work, or a moment after
        wait_until(lambda: bool(tracker.getActiveStageIds()))
        wait_until(lambda: done_tasks(tracker) > 0 or not tracker.getActiveStageIds())
        is_lost.append(bool(tracker.getActiveStageIds()))
        cluster.kill(cluster.workers[0])

    thread = threading.Thread(target=lose_one)
    thread.start()
    found = results.table.toArrow()
    thread.join()

    assert is_lost == [True]
    wait_until(lambda: cluster.alive() == 1)
    assert as_rows(found) == as_rows(workload.run(events).table)


def done_tasks(tracker: Any) -> int:
    """How many tasks of the stages that are running are done."""
    stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)


def have_executors(spark: SparkSession, cluster: Cluster, count: int) -> None:
    """Have so many workers, each with an executor of the session."""
    cluster.have_workers(count)
    # The driver's own block manager is among them.
    known = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    wait_until(lambda: known().size() == count + 1)


# Streams


def write_in_order(folder: Path, events: pa.Table, files: int) -> None:
    """Files that Spark reads in this order."""
    folder.mkdir()
    size = -(-len(events) // files)
    for number in range(files):
        path = folder / f"{number:04d}.parquet"
        parquet.write_table(events.slice(number * size, size), path)
        os.utime(path, (10**9 + number, 10**9 + number))


def begin_stream(
    spark: SparkSession, workload: Workload, folder: Path, *, flush: bool = False
) -> StreamingQuery:
    """Go on with a stream, a file in each batch, until all that is there has been read."""
    schema = spark.read.parquet(str(folder / "in")).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    checkpoint = str(folder / "checkpoint")
    results = workload.run(
        reader.parquet(str(folder / "in")), lateness="1 min", checkpoint=checkpoint, flush=flush
    )
    writer = results.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()


def test_a_stream_gives_the_rows_of_a_batch_also_when_a_worker_is_lost(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
):
    have_executors(spark, cluster, 2)
    events = generate_table("ridesharing", events=30_000, seed=2, groups=20)
    workload = Workload.parse(first("ridesharing", queries=5, seed=2))
    write_in_order(tmp_path / "in", events, files=8)

    query = begin_stream(spark, workload, tmp_path)
    wait_until(lambda: len(query.recentProgress) >= 3 or not query.isActive)
    is_lost = query.isActive
    cluster.kill(cluster.workers[0])
    query.awaitTermination()
    begin_stream(spark, workload, tmp_path, flush=True).awaitTermination()

    assert is_lost
    found = spark.read.parquet(str(tmp_path / "out")).toArrow()
    assert len(found) > 300
    assert as_rows(found) == as_rows(workload.run(events).table)
