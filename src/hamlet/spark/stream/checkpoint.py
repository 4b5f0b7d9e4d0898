"""What Hamlet remembers next to Spark's checkpoint of a stream, and how the stream is ended.

State in a checkpoint can only be gone on with by the workload that made it, run in the same way.
Spark does not know, and some changes, as of the number of buckets, would give wrong results without
a word. So a file in the checkpoint says what the stream was begun with, and one more for each
change of the workload, from when on which queries answer (`generations.py`). They are written
before Spark begins, never changed, and whoever goes on with the stream is compared with them.

The folder `ends` is a second source of the stream. A file in it has the numbers of all buckets,
each of which then closes all of its windows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from hamlet._version import __version__
from hamlet.errors import PlanError, ReadError
from hamlet.spark.stream.frames import set_for_a_moment
from hamlet.spark.stream.generations import generation_json, history_of
from hamlet.spark.stream.settings import PROVIDER, ROCKSDB
from hamlet.spark.stream.store import numbers_in, store_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from hamlet.spark.stream.generations import Generation

FORMAT = 1
_FOLDER, _ENDS = "hamlet", "ends"
BEGUN, CHANGES = (_FOLDER, "begun.json"), (_FOLDER, "changes")
_AS_IT_WAS = "Leave the number of tasks as it was."
_AGAIN = "go on with the stream as it was begun, or choose an empty folder"


class Checkpoint:
    """The folder of a checkpoint, wherever Spark can write."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.folder = str(folder)
        self._spark = spark
        self._store = store_of(spark, self.folder)

    def check_is_idle(self) -> None:
        """Refuse to go on with a stream that is running in this session.

        What it has taken in would be known to nobody.

        Raises:
            PlanError: It is.
        """
        if any(self._store.is_written_by(query) for query in self._spark.streams.active):
            reason = "the workload of a stream that is running cannot be changed"
            raise PlanError(reason, "Stop it first: its query has a method stop.")

    # What was begun

    def begun_with(self) -> dict[str, Any] | None:
        """What the stream was begun with; None where none has begun.

        Raises:
            ReadError: There is something else.
        """
        has_begun = self._store.exists("offsets")
        if not self._store.exists(*BEGUN):
            if has_begun:
                reason = "it is the checkpoint of something else; choose an empty folder"
                raise ReadError(self.folder, reason)
            return None
        if not has_begun:
            return None  # Spark has never started, so nothing depends on it
        begun = self._read_json(*BEGUN)
        if begun.get("format") != FORMAT:
            reason = f"it has format {begun.get('format')}, not {FORMAT}; choose an empty folder"
            raise ReadError(self.folder, reason)
        return begun

    def generations(self) -> tuple[Generation, ...]:
        """All workloads that the stream has had, in order; none where it has not begun."""
        begun = self.begun_with()
        return () if begun is None else self.noted(begun)

    def noted(self, begun: Mapping[str, Any] | None = None) -> tuple[Generation, ...]:
        """The same of a stream that has been noted and is about to begin."""
        begun = self._read_json(*BEGUN) if begun is None else begun
        names = sorted(self._store.names(*CHANGES))
        return history_of(begun, [self._read_json(*CHANGES, name) for name in names])

    def change(self, generation: Generation) -> None:
        """Note another workload, which is not noted yet.

        Raises:
            WriteError: It cannot be noted.
        """
        name = f"{generation.number:06d}.json"
        self._store.make_folder(*CHANGES)
        self._store.write(generation_json(generation), *CHANGES, name)

    def watermarks(self) -> tuple[int | None, int | None]:
        """How far the batches have come that are done, in milliseconds; None before the first.

        Returns:
            Up to where the last of them has closed windows, and the watermark of the next, which
            comes of all rows that were taken in.
        """
        done = [int(name) for name in self._store.names("commits") if name.isdigit()]
        if not done:
            return None, None
        last = str(max(done))
        _, offsets, *_ = self._store.read("offsets", last).splitlines()
        _, commit, *_ = self._store.read("commits", last).splitlines()
        closed, following = json.loads(offsets), json.loads(commit)
        return closed["batchWatermarkMs"], following["nextBatchWatermarkMs"]

    def tasks(self) -> int | None:
        """Over how many tasks Spark has spread the state; None where no batch has begun."""
        begun = [int(name) for name in self._store.names("offsets") if name.isdigit()]
        if not begun:
            return None
        _, facts, *_ = self._store.read("offsets", str(max(begun))).splitlines()
        found = json.loads(facts).get("conf", {}).get("spark.sql.shuffle.partitions")
        return None if found is None else int(found)

    def _read_json(self, *names: str) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(self._store.read(*names))
        except ValueError as error:
            raise ReadError(self.folder, f"{'/'.join(names)} in it is damaged") from error
        return content

    def begin(self, facts: Mapping[str, Any], first: Generation) -> None:
        """Note what a stream is begun with.

        Args:
            facts: What can never change, by what to call it in a message.
            first: The workload that it is begun with.

        Raises:
            WriteError: It cannot be noted.
        """
        whole = {"format": FORMAT, "hamlet": __version__, **facts, **first.described()}
        self._store.write(json.dumps(whole, indent=2) + "\n", *BEGUN)

    def compare(self, before: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Make sure that things are what they were.

        Args:
            before: What they were, by what to call it in a message.
            facts: What they are.

        Raises:
            ReadError: Something is something else.
        """
        for what, value in facts.items():
            if before.get(what) != value:
                raise ReadError(self.folder, _difference(what, before.get(what), value))

    # The end

    def check_was_read(self) -> None:
        """Refuse to end a stream that has read nothing yet.

        Its first batch would be its last: how much of the events is in that, their source decides.

        Raises:
            PlanError: No batch has been written.
        """
        if self._store.names("commits"):
            return
        reason = "flush=True ends a stream with its next batch, and this one has read nothing yet"
        remedy = (
            "Run it without flush first, for example with trigger(availableNow=True), and when it"
            " has ended with flush."
        )
        raise PlanError(reason, remedy)

    def ends(self) -> DataFrame:
        """Numbers of buckets that are to close everything, as a stream."""
        self._store.make_folder(_FOLDER, _ENDS)
        return numbers_in(self._spark, f"{self.folder.rstrip('/')}/{_FOLDER}/{_ENDS}")

    def is_ended(self) -> bool:
        """Whether the stream has been told to end."""
        return bool(self._store.names(_FOLDER, _ENDS))

    def end(self, buckets: Sequence[int]) -> None:
        """Tell all buckets to close everything with the next batch, once for all."""
        if not self.is_ended():
            self._store.write("".join(f"{bucket}\n" for bucket in buckets), _FOLDER, _ENDS, "all")


def spread_over(spark: SparkSession, folder: str, tasks: int) -> None:
    """Spread the state of a stream that is stopped over another number of tasks.

    Raises:
        PlanError: Spark cannot.
    """
    manager = getattr(spark, "_streamingCheckpointManager", None)
    if manager is None:
        reason = f"Spark {spark.version} cannot spread the state of a stream anew"
        raise PlanError(reason, f"{_AS_IT_WAS} Spark 4.2 can.")
    try:
        with set_for_a_moment(spark, {PROVIDER: ROCKSDB}):
            manager.repartition(folder, tasks)
    except (Py4JJavaError, PySparkException) as error:
        java: Any = getattr(error, "java_exception", None)
        said = str(error) if java is None else str(java.getMessage())
        if "enforceExactlyOnceSink" in said:
            reason = "the last batch of the stream was not finished"
            raise PlanError(reason, "Go on once with as many tasks as before.") from error
        reason = f"the state cannot be spread over {tasks} tasks: {said}"
        raise PlanError(reason, _AS_IT_WAS) from error


def _difference(what: str, before: Any, now: Any) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        name = next(each for each in [*before, *now] if before.get(each) != now.get(each))
        what, before, now = f"{what} {name}", before.get(name, "nothing"), now.get(name, "nothing")
    if len(str(before)) + len(str(now)) > 80:
        return f"its stream was begun with another {what}; {_AGAIN}"
    return f"its stream was begun with {what} {before}, not {now}; {_AGAIN}"
