"""What `hamlet stream` does: start a session, run a stream, tell how it goes, end it cleanly."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from hamlet.engine import options_for
from hamlet.engine.session import workload_digest
from hamlet.engine.statistics import RunStatistics
from hamlet.errors import HamletError, PlanError, WriteError, counted
from hamlet.events.source import Wanted
from hamlet.explain.planned import PlannedWorkload, read_text
from hamlet.io.targets import check_reachable
from hamlet.report.live import LiveFigures
from hamlet.report.serving import LivePage
from hamlet.spark import session
from hamlet.spark.command import JAVA_IS_GONE, explained
from hamlet.spark.stream.answers import EVENTS, JSON, ROWS, USED, WITHOUT, WORK, answer_stream
from hamlet.spark.stream.boundary import wait_for_boundary
from hamlet.spark.stream.bucket import LATE, WINDOWS
from hamlet.spark.stream.checkpoint import Checkpoint, spread_over
from hamlet.spark.stream.course import plan_to_read
from hamlet.spark.stream.form import Form, Topic, form_of
from hamlet.spark.stream.generations import differences, shown_moment
from hamlet.spark.stream.reading import read_stream
from hamlet.spark.stream.settings import StreamSettings, duration_us
from hamlet.spark.stream.topics import Topics
from hamlet.spark.stream.watching import Showing, figures_of, queries_of, shown_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from hamlet.engine import Options
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.stream.generations import Generation
    from hamlet.spark.stream.settings import Emit

CONSOLE = "console"
CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
_LOOK_EVERY_S = 0.2
_SETTINGS = {
    # What is written with each batch is what has changed.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


@dataclass(frozen=True, slots=True)
class StreamRun:
    """A stream of files or of a topic, to files, to a topic or to the screen.

    workload: What to answer.
    source: A folder, or kafka:HOST:PORT/TOPIC.
    out: A folder, kafka:HOST:PORT/TOPIC, or console.
    format: Of files: parquet or jsonl.
    checkpoint: The folder with the state.
    trigger_ms: How often a batch begins, at most; None for as often as can be.
    once: Whether to end when all that is there has been read.
    flush: Whether to close all windows then.
    schema: A file that shows what columns are.
    files: How many files are read at a time.
    master: Where to run it; see `session.start`.
    packages: What Spark has to download, for Kafka.
    tell: Is given lines about how it goes.
    watched: The file of the workload, whose changes are taken over; None to look at it once.
    topics: How topics are read and written.
    wide: A query whose results are wanted alone, in the wide form.
    figures: What a page about the stream is told.
    """

    workload: PlannedWorkload
    options: Options
    settings: StreamSettings
    source: str
    out: str
    format: str
    checkpoint: str
    trigger_ms: int | None
    once: bool
    flush: bool
    schema: str | None
    files: int
    master: str | None
    packages: str | None
    tell: Callable[[str], None]
    watched: WatchedFile | None
    topics: Topics
    wide: str | None = None
    figures: LiveFigures | None = None
    totals: Counter[str] = field(default_factory=Counter)

    def run(self) -> dict[str, Any]:
        """Run it until it ends, or until it is interrupted; what was read and written."""
        self._check_places()
        with _told(), self._session() as spark:
            checkpoint = Checkpoint(spark, _absolute(self.checkpoint))
            if not checkpoint.generations():
                self._check_out()
            self._spread_anew(spark, checkpoint)
            with _interruptible() as is_over:
                turn: StreamRun | None = self
                while turn is not None:
                    last, turn = turn, turn._run(spark, checkpoint, is_over, flush=False)
                if self.flush and not is_over.is_set():
                    last._run(spark, checkpoint, is_over, flush=True)
                is_done = not is_over.is_set()
            return self._tell_totals(is_done)

    # Before it begins

    def _check_places(self) -> None:
        places = {"source": self.source, "out": self.out, "checkpoint": self.checkpoint}
        folders = {
            name: Path(place).resolve()
            for name, place in places.items()
            if "://" not in place and Topic.of(place) is None and place != CONSOLE
        }
        for name, folder in folders.items():
            for other, its_folder in folders.items():
                if name != other and (folder == its_folder or folder in its_folder.parents):
                    reason = f"it is in the {name}" if folder != its_folder else f"it is the {name}"
                    raise WriteError(places[other], f"{reason}; choose another folder")
        for name in folders.keys() & {"out", "checkpoint"}:
            check_reachable(Path(places[name]))

    def _check_out(self) -> None:
        """Refuse a folder with results that this stream has not written."""
        folder = Path(self.out)
        if "://" in self.out or Topic.of(self.out) is not None or self.out == CONSOLE:
            return
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            reason = "it is not empty, and the checkpoint knows nothing of it; choose another place"
            raise WriteError(self.out, reason)

    @contextmanager
    def _session(self) -> Iterator[SparkSession]:
        is_ours = session.running() is None
        settings = _SETTINGS | session.QUICK_WORKERS
        if not session.is_chosen("spark.ui.enabled"):
            settings["spark.ui.enabled"] = "false"
        packages = self.packages
        if packages is None and (Topic.of(self.source) or Topic.of(self.out)):
            packages = CONNECTOR
        if packages:
            settings["spark.jars.packages"] = packages
        self.tell("starting Spark")
        spark = session.start(self.master, settings=settings, quiet=True)
        if spark.sparkContext.uiWebUrl is not None and is_ours:
            self.tell(f"Spark's own page is at {spark.sparkContext.uiWebUrl}")
        try:
            yield spark
        finally:
            if is_ours:
                spark.stop()

    # While it goes

    def _run(
        self,
        spark: SparkSession,
        checkpoint: Checkpoint,
        is_over: threading.Event,
        *,
        flush: bool,
    ) -> StreamRun | None:
        """Run a stream until it ends, or its workload changes: then give what is to go on."""
        history = checkpoint.generations()
        read = plan_to_read(checkpoint, self.workload.plan)
        form = self._form(history, read)
        limits = {"maxFilesPerTrigger": str(self.files)}
        if Topic.of(self.source):
            limits = self.topics.reading()
        source = read_stream(spark, _absolute(self.source), form, read, self.options, limits)
        results = answer_stream(
            self.workload.plan,
            source.frame,
            self.options,
            self.settings,
            checkpoint=checkpoint,
            flush=flush,
            name=source.name,
            reasons=source.reasons,
            text=self.workload.text,
            source=form.described(),
            output=self._described_out(),
            wide=self.wide,
            showing=self._showing(spark),
        )
        self._tell_change(history, checkpoint)
        if self.figures is not None:
            self.figures.queries(queries_of(checkpoint.noted()))
        query = self._started(results)
        seen, changed = -1, None
        try:
            while query.isActive and changed is None and not is_over.wait(_LOOK_EVERY_S):
                seen = self._tell_progress(query, seen)
                changed = self._changed()
            if changed is not None:
                wait_for_boundary(query, is_over)
        finally:
            query.stop()
        self._tell_progress(query, seen)
        failure = query.exception()
        if failure is not None and not is_over.is_set():
            raise failure
        return None if is_over.is_set() else changed

    def _form(self, history: Sequence[Generation], plan: WorkloadPlan) -> Form:
        """What the rows of the source are: as it was, and what a changed workload needs besides."""
        known = history[-1].source if history else None
        before = None if known is None else Form(**known)
        wanted = Wanted.of(plan, self.options)
        if before is not None and all(
            before.columns[n] for n in wanted.among(list(before.columns))
        ):
            return before
        found = form_of(self.source, self.schema, plan, self.options)
        if before is None:
            return found
        columns = {
            name: kind or found.columns.get(name, "") for name, kind in before.columns.items()
        }
        return replace(before, columns=columns)

    def _changed(self) -> StreamRun | None:
        """What is to go on, where the file of the workload has changed; a mistake in it is told."""
        if self.watched is None:
            return None
        try:
            found = self.watched.changed()
        except HamletError as error:
            self._say(f"{error}\nThe stream goes on as it was.")
            return None
        if found is None or workload_digest(found.plan) == workload_digest(self.workload.plan):
            return None
        options = options_for(found.plan, **self.watched.options)
        return replace(self, workload=found, options=options)

    def _tell_change(self, history: Sequence[Generation], checkpoint: Checkpoint) -> None:
        """Tell what a workload that was just noted changes, and from when on."""
        now = checkpoint.generations()
        if not history or len(now) == len(history):
            return
        changes = differences(history[-1].meanings(), now[-1].meanings())
        parts = [f"{len(names)} {what}" for what, names in changes.items()]
        named = ", ".join((*changes["added"], *changes["removed"]))
        moment = shown_moment(now[-1].since_us)
        self._say(f"workload  {', '.join(parts)} ({named}), from {moment} on")

    def _say(self, text: str) -> None:
        """Tell of what has happened, on the page as well."""
        self.tell(text)
        if self.figures is not None:
            self.figures.say(text)

    def _showing(self, spark: SparkSession) -> Callable[[Any], Any] | None:
        """What shows rows of results to the page; None where there is none."""
        if self.figures is None:
            return None
        shown = shown_to(self.figures, spark)
        return lambda unpacked: Showing(unpacked, shown)

    def _spread_anew(self, spark: SparkSession, checkpoint: Checkpoint) -> None:
        """Spread the state over another number of tasks, which Spark does between two runs."""
        before, tasks = checkpoint.tasks(), self.settings.tasks
        if tasks is None or before is None or before == tasks:
            return
        self.tell(f"spreading the state over {tasks} tasks, not {before}")
        spread_over(spark, checkpoint.folder, tasks)

    def _described_out(self) -> str:
        wide = "" if self.wide is None else f", {self.wide} alone"
        where = self.out if self._is_elsewhere() else f"{_absolute(self.out)} ({self.format})"
        return f"{where}{wide}"

    def _is_elsewhere(self) -> bool:
        return self.out == CONSOLE or Topic.of(self.out) is not None

    def _started(self, results: DataFrame) -> StreamingQuery:
        topic = Topic.of(self.out)
        if topic is not None:
            results = self.topics.written(results)
        writer = results.writeStream.outputMode("append")
        # What Spark calls its jobs on its own page.
        count = counted(len(self.workload.queries), "query", "queries")
        writer = writer.queryName(f"hamlet stream {self.workload.name}: {count}")
        writer = writer.option("checkpointLocation", _absolute(self.checkpoint))
        if topic is not None:
            writer = writer.format("kafka").option("kafka.bootstrap.servers", topic.servers)
            writer = writer.option("topic", topic.name).options(**self.topics.client)
        elif self.out == CONSOLE:
            writer = writer.format("console").option("truncate", "false").option("numRows", "50")
        else:
            writer = writer.format("json" if self.format == "jsonl" else "parquet")
            writer = writer.option("path", _absolute(self.out)).options(**JSON)
        if self.once:
            writer = writer.trigger(availableNow=True)
        elif self.trigger_ms is not None:
            writer = writer.trigger(processingTime=f"{self.trigger_ms} milliseconds")
        return writer.start()

    def _tell_progress(self, query: StreamingQuery, seen: int) -> int:
        """Tell of the batches that have been done since; the last of them."""
        for each in query.recentProgress:
            found: Any = json.loads(each.json) if hasattr(each, "json") else each
            if found["batchId"] <= seen or "addBatch" not in found.get("durationMs", {}):
                continue
            seen = found["batchId"]
            observed = found.get("observedMetrics") or {}
            rows, work = observed.get(EVENTS) or {}, observed.get(WORK) or {}
            self.totals.update({f"in {k}": v for k, v in rows.items()})
            self.totals.update({f"out {k}": v for k, v in work.items()})
            self.tell(_line(found, rows, work))
            if self.figures is not None:
                self.figures.batch(figures_of(found))
        return seen

    def _tell_totals(self, is_done: bool) -> dict[str, Any]:
        count = self.totals
        others = {
            name[3:]: number
            for name, number in count.items()
            if name.startswith("in ") and name[3:] not in {ROWS, USED} and number
        }
        without = {
            name.removeprefix(WITHOUT): number
            for name, number in others.items()
            if name.startswith(WITHOUT)
        }
        malformed = {n: number for n, number in others.items() if not n.startswith(WITHOUT)}
        self.tell(
            f"events    {count[f'in {ROWS}']:,} in, {count[f'in {USED}']:,} used, "
            f"{sum(malformed.values()):,} malformed, {count[f'out {LATE}']:,} late"
        )
        for reason, number in malformed.items():
            self.tell(f"malformed {number:,} {reason}")
        for line in RunStatistics(without_key=without).left_out():
            self.tell(line)
        results = counted(count["out results"], "row"), counted(count[f"out {WINDOWS}"], "window")
        self.tell(f"results   {', '.join(results)}")
        if not is_done:
            self.tell("stopped; the same command goes on from here")
        elif not self._is_elsewhere():
            self.tell(f"wrote {self.out}")
        return {
            "source": self.source,
            "out": self.out,
            "checkpoint": self.checkpoint,
            "ended": is_done,
            "events": {
                "in": count[f"in {ROWS}"],
                "used": count[f"in {USED}"],
                "malformed": malformed,
                "without_key": without,
                "late": count[f"out {LATE}"],
            },
            "results": {"rows": count["out results"], "windows": count[f"out {WINDOWS}"]},
        }


def stream_run(
    workload: PlannedWorkload,
    lateness: str,
    trigger: str | None,
    *,
    source: str,
    out: str,
    checkpoint: str,
    once: bool,
    flush: bool,
    schema: str | None,
    file_format: str,
    files: int,
    buckets: int | None,
    master: str | None,
    packages: str | None,
    tell: Callable[[str], None],
    watch: str | None = None,
    late_rows: str | None = None,
    emit: Emit = "final",
    wide: str | None = None,
    page: str | None = None,
    tasks: int | None = None,
    topics: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Run a stream as the command line says; see `StreamRun`."""
    known = None if page is None else LiveFigures(workload.name)
    run = StreamRun(
        workload=workload,
        options=options_for(workload.plan, **options),
        settings=StreamSettings(
            duration_us(lateness),
            buckets,
            emit=emit,
            late_rows=None if late_rows is None else _absolute(late_rows),
            tasks=tasks,
        ),
        source=source,
        out=out,
        format=file_format,
        checkpoint=checkpoint,
        trigger_ms=None if trigger is None else max(1, duration_us(trigger, "trigger") // 1000),
        once=once,
        flush=flush,
        schema=schema,
        files=files,
        master=master,
        packages=packages,
        tell=tell,
        watched=None if watch is None else WatchedFile(Path(watch), workload.text, options),
        topics=Topics.of(**(topics or {})),
        wide=wide,
        figures=known,
    )
    if known is None or page is None:
        return run.run()
    served = LivePage(known, page)
    tell(f"page      {served.url}")
    try:
        return run.run()
    finally:
        served.close()


class WatchedFile:
    """The file of a workload, and what was read of it last.

    options: How the workload is run.
    """

    def __init__(self, path: Path, text: str, options: Mapping[str, Any]) -> None:
        self.path = path
        self.options = options
        self._text = text

    def changed(self) -> PlannedWorkload | None:
        """The workload, if it is another one than before; each change is told once.

        Raises:
            ReadError: The file cannot be read.
            QueryError: There is a mistake in it.
        """
        text = read_text(self.path)
        if text == self._text:
            return None
        self._text = text
        return PlannedWorkload.parse(text, name=self.path.name)


def _absolute(place: str) -> str:
    """A place as it is called from anywhere: Spark may run in another folder than we do."""
    if "://" in place or Topic.of(place) is not None:
        return place
    return str(Path(place).resolve())


def _line(found: Any, rows: dict[str, int], work: dict[str, int]) -> str:
    """One batch in a line."""
    took = found["durationMs"]["triggerExecution"] / 1000
    read = rows.get(ROWS, 0)
    speed = f"{read / took:,.0f} rows/s" if took else ""
    watermark = found.get("eventTime", {}).get("watermark", "")
    since = "none" if watermark.startswith("1970-01-01T00:00:00.000") else watermark
    return (
        f"batch {found['batchId']}  {read:,} rows, {speed}, watermark {since}, "
        f"{work.get(LATE, 0):,} late, {work.get('results', 0):,} rows out"
    )


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, instead of breaking whatever goes on."""
    is_over = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield is_over
        return
    before = {
        each: signal.signal(each, lambda *_: is_over.set())
        for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield is_over
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong in Spark, as one sentence."""
    try:
        yield
    except (PySparkException, Py4JError, *JAVA_IS_GONE) as error:
        text = str(error)
        if "Failed to find data source: kafka" in text or "unresolved dependency" in text:
            remedy = f"Pass --packages {CONNECTOR}, or another version of it."
            raise PlanError("Spark has no connector for Kafka", remedy) from error
        raise explained(error) from error
