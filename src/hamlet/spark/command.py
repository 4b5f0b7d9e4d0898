"""What `hamlet run` does on Spark: start a session, read files, run, and bring results home."""

from __future__ import annotations

import logging
import re
import signal
import threading
import time as clock
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from pyarrow import dataset
from pyspark.errors import PySparkException

from hamlet import errors
from hamlet.engine.examples import Origin
from hamlet.errors import HamletError, RunError
from hamlet.io.whole import put_whole
from hamlet.io.writers import write_parts
from hamlet.spark import session, storage
from hamlet.spark.batch import answer
from hamlet.spark.collecting import Collecting
from hamlet.spark.events import events_of
from hamlet.spark.examples import origin_of
from hamlet.spark.files.reading import read_files
from hamlet.spark.remote import Py4JError, cancel, stage_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hamlet.engine import Options, Progress
    from hamlet.engine.examples import Examples, Row
    from hamlet.engine.statistics import RunStatistics
    from hamlet.events.table import EventTable
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.results import Results
    from hamlet.spark.results import SparkResults
    from hamlet.spark.wide import Also

_LOOK_EVERY_S = 0.2
# Sessions that were begun here for a workload that Spark reads; the run that follows ends them.
_begun: list[SparkSession] = []


@dataclass(frozen=True, slots=True)
class Run:
    """A run of files on Spark.

    events: The path of the events.
    master: Where to run it; see `session.start`.
    remote: Or where the server of Spark Connect is that runs it.
    counts: Whether rows that are left out are counted.
    """

    plan: WorkloadPlan
    events: str
    options: Options
    master: str | None
    progress: Progress
    remote: str | None = None
    counts: bool | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    begun: float = field(default_factory=clock.perf_counter)

    def collect(self, *, draws: bool = False) -> Results:
        """All results, on this machine.

        Args:
            draws: Whether examples for a report are drawn, while Spark can be asked for events.
        """
        with self._results() as answers:
            results = answers.collected()
            self._timed("run")
            # As long as Spark can be asked
            if results.notes:
                self._timed("notes")
            if draws and results.drawn:
                self._timed("examples")
        results.statistics.seconds = self.seconds
        return results

    def examples(self, query: str, **which: Any) -> Examples:
        """Some of the trends behind a row of results; see `SparkResults.examples`."""
        with self._results() as answers:
            return answers.examples(query, **which)

    def write_parts(self, folder: Path) -> tuple[RunStatistics, list[str]]:
        """Write the long form to a folder of Parquet parts, which appears whole or not at all.

        Returns also what may be a mistake, and why queries have no rows.
        """
        with self._results() as answers:
            # Before what there is of it is removed, nobody may write on.
            session = answers.table.sparkSession
            with put_whole(folder) as partial, _cancelled_by_interrupts(session):
                self._put_parts(answers, partial)
            self._timed("run")
            statistics = answers.statistics()
            notes = answers.notes(_queries_in(folder, answers.queries))
            if notes:
                self._timed("notes")
        statistics.seconds = self.seconds
        return statistics, notes

    def _put_parts(self, answers: SparkResults, folder: Path) -> None:
        if not storage.is_of_this_machine(answers.table.sparkSession):
            # Tasks would write to the disks of their own machines.
            write_parts(answers.collected().table, folder)
            return
        answers.table.write.parquet(str(folder))
        for file in folder.iterdir():
            if not file.match("part-*.parquet"):
                file.unlink()

    def write_to(self, url: str, wide: bool, overwrite: bool) -> RunStatistics:
        """Have tasks write results to a URL: the long form, or the wide form of each query."""
        with self._results() as answers:
            if wide:
                is_exact = self.options.numbers == "exact"
                also: tuple[Also, ...] = ("log10", "exact") if is_exact else ("log10",)
                storage.write_wide(answers, url, overwrite=overwrite, also=also)
            else:
                storage.write_long(answers, url, overwrite=overwrite)
            self._timed("run")
            statistics = answers.statistics()
        statistics.seconds = self.seconds
        return statistics

    @contextmanager
    def _results(self) -> Iterator[SparkResults]:
        """Results that have not been computed yet."""
        self.progress("starting Spark", 0.0)
        with _told(), _session(self.master, self.remote) as (spark, is_ours):
            self._timed("start")
            with _watched(spark, self.progress):
                source = read_files(spark, self.events, self.plan, self.options)
                if is_ours and source.size:
                    session.cut_into_tasks(spark, source.size)
                answers = answer(
                    self.plan,
                    source.frame,
                    self.options,
                    name=source.name,
                    reasons=source.reasons,
                    rows=source.rows,
                    counts=self.counts,
                )
                answers.origin = self._origin(spark)
                answers.notes_of_files = source.notes
                self._timed("read")
                yield answers

    def _origin(self, spark: SparkSession) -> Origin:
        """What results came from: the files, of which all columns are read for examples."""

        def collected(rows: Mapping[int, Sequence[Row]]) -> EventTable:
            source = read_files(spark, self.events, self.plan, self.options, has_all=True)
            events = events_of(
                source.frame, self.plan, self.options, name=source.name, reasons=source.reasons
            )
            every = Collecting(source.frame, events, self.plan, self.options, bool(source.reasons))
            return origin_of(every).events(rows)

        return Origin(self.plan, self.options, collected)

    def _timed(self, stage: str) -> None:
        self.seconds[stage] = clock.perf_counter() - self.begun - sum(self.seconds.values())


def _queries_in(folder: Path, queries: Sequence[str]) -> set[str]:
    """Which queries have rows in a folder of parts; it is read only until all are found."""
    named: set[str] = set()
    for batch in dataset.dataset(folder, format="parquet").to_batches(columns=["query"]):
        named |= set(pc.unique(batch.column(0)).to_pylist())
        if len(named) == len(queries):
            break
    return named


def text_at(url: str, master: str | None, remote: str | None) -> str:
    """A file that only Spark can read; the session is there for what follows."""
    settings = session.QUICK_WORKERS if remote is None else {}
    with _told():
        is_new = session.running() is None
        spark = session.start(master, remote=remote, settings=settings, quiet=True)
        if is_new:
            _begun.append(spark)
        return storage.read_text(spark, url)


@contextmanager
def _session(master: str | None, remote: str | None) -> Iterator[tuple[SparkSession, bool]]:
    """A session, and whether it is ours; then it is stopped in the end."""
    is_ours = session.running() in (None, *_begun)
    # A server has workers of its own.
    settings = session.QUICK_WORKERS if remote is None else {}
    spark = session.start(master, remote=remote, settings=settings, quiet=True)
    with _plain_interrupts(), _quiet_bridge():
        try:
            with _cancelled_by_interrupts(spark):
                yield spark, is_ours
        finally:
            if is_ours:
                _elsewhere(spark.stop)


# Ctrl-C


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Have Ctrl-C raise KeyboardInterrupt, and do nothing else.

    Spark would cancel its jobs first, from this thread. But this thread waits for the answer to
    something else, and would take that for the answer to this.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _quiet_bridge() -> Iterator[None]:
    """Have the bridge to Java keep quiet about being interrupted: what is wrong, it raises."""
    root, bridge = logging.getLogger(), logging.getLogger("py4j")
    level = bridge.level
    root.addFilter(_is_no_interrupt)
    bridge.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        bridge.setLevel(level)
        root.removeFilter(_is_no_interrupt)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a line for the log says something else than that the bridge was interrupted."""
    return not record.getMessage().startswith("KeyboardInterrupt while sending command")


@contextmanager
def _cancelled_by_interrupts(spark: SparkSession) -> Iterator[None]:
    """Cancel the jobs of Spark, and wait until they are gone, where Ctrl-C ends what goes on."""
    try:
        yield
    except KeyboardInterrupt:
        _elsewhere(lambda: cancel(spark))
        raise


def _elsewhere(work: Callable[[], None]) -> None:
    """Do something in another thread, whose connection to Java nobody else waits at."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()


# Errors

JAVA_IS_GONE = (ConnectionRefusedError, ConnectionResetError)


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong in Spark, as one sentence."""
    try:
        yield
    except (PySparkException, Py4JError, *JAVA_IS_GONE) as error:
        raise explained(error) from error


def explained(error: Exception) -> HamletError:
    """An error of Hamlet that a task has had, or what Spark itself says."""
    if isinstance(error, JAVA_IS_GONE):
        return RunError("Spark", "its Java process has ended, and nobody here has asked it to")
    text = str(error)
    match = re.search(r"hamlet\.errors\.(\w+): (.*)", text)
    if match and match[1] != errors.InternalError.__name__:
        return RunError("in a task of Spark", match[2])
    if "OutOfMemoryError" in text:
        remedy = "give it more memory, for example with PYSPARK_SUBMIT_ARGS='--driver-memory 4g"
        return RunError("Spark", f"it ran out of memory; {remedy} pyspark-shell'")
    lines = [line for line in text.splitlines() if line.strip()] or [type(error).__name__]
    return RunError("Spark", _last_of_traceback(lines) or lines[0].strip())


def _last_of_traceback(lines: Sequence[str]) -> str:
    """What a Python of Spark's says in the end of what went wrong; empty where it is none."""
    first = "Traceback (most recent call last):"
    begun = [n for n, line in enumerate(lines) if line.endswith(first)]
    after = lines[begun[0] + 1 :] if begun else []
    return next((line for line in after if not line.startswith(" ")), "")


# Progress


@contextmanager
def _watched(spark: SparkSession, progress: Progress) -> Iterator[None]:
    """Tell how many tasks are done while something runs."""
    is_over = threading.Event()
    farthest = 0.0

    def tell(begun: dict[Any, tuple[int, int]]) -> None:
        nonlocal farthest
        done = sum(completed for completed, _ in begun.values())
        tasks = sum(of_stage for _, of_stage in begun.values())
        # There may be another stage after those that have begun.
        farthest = max(farthest, done / (tasks + 1))
        progress(f"{done} of {tasks} tasks", farthest)

    def look() -> None:
        while not is_over.wait(_LOOK_EVERY_S):
            if begun := stages():
                tell(begun)

    with stage_progress(spark) as stages:
        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
