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
from pyspark.sql import functions as F

from hamlet._version import __version__
from hamlet.errors import PlanError, ReadError, WriteError
from hamlet.spark.stream.generations import generation_json, history_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from hamlet.spark.stream.generations import Generation

FORMAT = 1
_FOLDER, _ENDS = "hamlet", "ends"
BEGUN, CHANGES = (_FOLDER, "begun.json"), (_FOLDER, "changes")
_AGAIN = "go on with the stream as it was begun, or choose an empty folder"


class Checkpoint:
    """The folder of a checkpoint, wherever Spark can write."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.folder = str(folder)
        self._spark = spark
        # There is no other way to Spark's file systems.
        self._jvm: Any = spark.sparkContext._jvm
        java: Any = spark.sparkContext._jsc
        self._system = self._path().getFileSystem(java.hadoopConfiguration())

    def _path(self, *names: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path("/".join([self.folder.rstrip("/"), *names]))

    def check_is_idle(self) -> None:
        """Refuse to go on with a stream that is running in this session.

        What it has taken in would be known to nobody.

        Raises:
            PlanError: It is.
        """
        own = self._system.makeQualified(self._path()).toString()
        for query in self._spark.streams.active:
            java: Any = query._jsq
            root = self._jvm.org.apache.hadoop.fs.Path(
                java.streamingQuery().resolvedCheckpointRoot()
            )
            if self._system.makeQualified(root).toString() == own:
                reason = "the workload of a stream that is running cannot be changed"
                raise PlanError(reason, "Stop it first: its query has a method stop.")

    # What was begun

    def begun_with(self) -> dict[str, Any] | None:
        """What the stream was begun with; None where none has begun.

        Raises:
            ReadError: There is something else.
        """
        has_begun = self._system.exists(self._path("offsets"))
        if not self._system.exists(self._path(*BEGUN)):
            if has_begun:
                reason = "it is the checkpoint of something else; choose an empty folder"
                raise ReadError(self.folder, reason)
            return None
        if not has_begun:
            return None  # Spark has never started, so nothing depends on it
        found = self._read_json(*BEGUN)
        if found.get("format") != FORMAT:
            reason = f"it has format {found.get('format')}, not {FORMAT}; choose an empty folder"
            raise ReadError(self.folder, reason)
        return found

    def generations(self) -> tuple[Generation, ...]:
        """All workloads that the stream has had, in order; none where it has not begun."""
        begun = self.begun_with()
        if begun is None:
            return ()
        names = sorted(self._names(*CHANGES))
        return history_of(begun, [self._read_json(*CHANGES, name) for name in names])

    def change(self, generation: Generation) -> None:
        """Note another workload, which is not noted yet.

        Raises:
            WriteError: It cannot be noted.
        """
        name = f"{generation.number:06d}.json"
        self._system.mkdirs(self._path(*CHANGES))
        self._write(generation_json(generation), *CHANGES, name)

    def watermarks(self) -> tuple[int | None, int | None]:
        """How far the batches have come that are done, in milliseconds; None before the first.

        Returns:
            Up to where the last of them has closed windows, and the watermark of the next, which
            comes of all rows that were taken in.
        """
        done = [int(name) for name in self._names("commits") if name.isdigit()]
        if not done:
            return None, None
        last = str(max(done))
        _, offsets, *_ = self._read_text("offsets", last).splitlines()
        _, commit, *_ = self._read_text("commits", last).splitlines()
        closed, following = json.loads(offsets), json.loads(commit)
        return closed["batchWatermarkMs"], following["nextBatchWatermarkMs"]

    def _names(self, *folders: str) -> list[str]:
        """The names of files in a folder, without those that are being written."""
        folder = self._path(*folders)
        if not self._system.exists(folder):
            return []
        names = [each.getPath().getName() for each in self._system.listStatus(folder)]
        return [name for name in names if not name.startswith(".")]

    def _read_json(self, *names: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._read_text(*names))
        except ValueError as error:
            raise ReadError(self.folder, f"{'/'.join(names)} in it is damaged") from error
        return found

    def _read_text(self, *names: str) -> str:
        stream = self._system.open(self._path(*names))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def begin(self, facts: Mapping[str, Any], first: Generation) -> None:
        """Note what a stream is begun with.

        Args:
            facts: What can never change, by what to call it in a message.
            first: The workload that it is begun with.

        Raises:
            WriteError: It cannot be noted.
        """
        whole = {"format": FORMAT, "hamlet": __version__, **facts, **first.described()}
        self._write(json.dumps(whole, indent=2) + "\n", *BEGUN)

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
        commits = self._path("commits")
        if self._system.exists(commits) and len(self._system.listStatus(commits)):
            return
        reason = "flush=True ends a stream with its next batch, and this one has read nothing yet"
        remedy = (
            "Run it without flush first, for example with trigger(availableNow=True), and when it"
            " has ended with flush."
        )
        raise PlanError(reason, remedy)

    def ends(self) -> DataFrame:
        """Numbers of buckets that are to close everything, as a stream."""
        self._system.mkdirs(self._path(_FOLDER, _ENDS))
        folder = f"{self.folder.rstrip('/')}/{_FOLDER}/{_ENDS}"
        lines = self._spark.readStream.schema("value string").text(folder)
        return lines.select(F.col("value").try_cast("int").alias("bucket")).where("bucket >= 0")

    def is_ended(self) -> bool:
        """Whether the stream has been told to end."""
        return bool(self._system.exists(self._path(_FOLDER, _ENDS, "all")))

    def end(self, buckets: Sequence[int]) -> None:
        """Tell all buckets to close everything with the next batch, once for all."""
        if not self.is_ended():
            self._write("".join(f"{bucket}\n" for bucket in buckets), _FOLDER, _ENDS, "all")

    def _write(self, text: str, *names: str) -> None:
        """Write a file, which is there whole or not at all."""
        partial = self._path(*names[:-1], f".{names[-1]}")
        try:
            out = self._system.create(partial, True)
            out.write(bytearray(text.encode()))
            out.close()
            self._system.delete(self._path(*names), False)
            is_there = self._system.rename(partial, self._path(*names))
        except Py4JJavaError as error:
            raise WriteError(self.folder, str(error.java_exception.getMessage())) from error
        if not is_there:
            raise WriteError(self.folder, "a file in it cannot be renamed")


def _difference(what: str, before: Any, now: Any) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        name = next(each for each in [*before, *now] if before.get(each) != now.get(each))
        what, before, now = f"{what} {name}", before.get(name, "nothing"), now.get(name, "nothing")
    if len(str(before)) + len(str(now)) > 80:
        return f"its stream was begun with another {what}; {_AGAIN}"
    return f"its stream was begun with {what} {before}, not {now}; {_AGAIN}"
