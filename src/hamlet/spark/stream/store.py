"""The files of a checkpoint, wherever Spark can write: by Java's file systems, or by DataFrames.

A classic session reaches the file systems themselves. Over Spark Connect there are only readers and
writers, which make a folder of what is one file elsewhere; each of the two reads what the other has
written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from hamlet.errors import ReadError, WriteError
from hamlet.spark.remote import Py4JError, is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MISSING = "PATH_NOT_FOUND"


def store_of(spark: SparkSession, folder: str) -> JavaStore | FrameStore:
    """What reads and writes the files of a folder."""
    return FrameStore(spark, folder) if is_remote(spark) else JavaStore(spark, folder)


class JavaStore:
    """Files by Hadoop's file systems: there is no public way to them from Python."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._folder, self._spark = folder, spark
        self._jvm: Any = spark.sparkContext._jvm
        java: Any = spark.sparkContext._jsc
        self._system = self._path().getFileSystem(java.hadoopConfiguration())

    def _path(self, *names: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path("/".join([self._folder.rstrip("/"), *names]))

    def is_written_by(self, query: Any) -> bool:
        """Whether a stream that is running has this checkpoint."""
        root = self._jvm.org.apache.hadoop.fs.Path(
            query._jsq.streamingQuery().resolvedCheckpointRoot()
        )
        own = self._system.makeQualified(self._path())
        return bool(self._system.makeQualified(root).toString() == own.toString())

    def exists(self, *names: str) -> bool:
        """Whether there is a file or a folder."""
        return bool(self._system.exists(self._path(*names)))

    def make_folder(self, *names: str) -> None:
        """Make a folder, if there is none."""
        self._system.mkdirs(self._path(*names))

    def names(self, *folders: str) -> list[str]:
        """The names of what is in a folder, without what is hidden."""
        folder = self._path(*folders)
        if not self._system.exists(folder):
            return []
        names = [each.getPath().getName() for each in self._system.listStatus(folder)]
        return [name for name in names if not name.startswith((".", "_"))]

    def read(self, *names: str) -> str:
        """The text of a file."""
        path = self._path(*names)
        if self._system.getFileStatus(path).isDirectory():
            return "".join(self.read(*names, part) for part in sorted(self.names(*names)))
        stream = self._system.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, text: str, *names: str) -> None:
        """Write a file, which is there whole or not at all.

        Raises:
            WriteError: It cannot be written.
        """
        partial = self._path(*names[:-1], f".{names[-1]}")
        try:
            out = self._system.create(partial, True)
            out.write(bytearray(text.encode()))
            out.close()
            self._system.delete(self._path(*names), True)
            is_there = self._system.rename(partial, self._path(*names))
        except Py4JError as error:
            java: Any = getattr(error, "java_exception", None)
            raise WriteError(self._folder, str(java.getMessage() if java else error)) from error
        if not is_there:
            raise WriteError(self._folder, "a file in it cannot be renamed")


class FrameStore:
    """Files by readers and writers of DataFrames."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._folder, self._spark = folder, spark

    def _path(self, *names: str) -> str:
        return "/".join([self._folder.rstrip("/"), *names])

    def is_written_by(self, query: Any) -> bool:
        """Not known here: Spark itself refuses to run two streams over one checkpoint."""
        return False

    def exists(self, *names: str) -> bool:
        """Whether there is a file, or a folder with something in it."""
        return bool(self.names(*names))

    def make_folder(self, *names: str) -> None:
        """Make a folder, if there is none."""
        nothing = self._spark.createDataFrame([], "value string")
        nothing.coalesce(1).write.mode("append").text(self._path(*names))

    def names(self, *folders: str) -> list[str]:
        """The names of what is in a folder, or of a file itself; empty files are nothing."""
        path = self._path(*folders)
        files = self._files(path)
        # Files that are folders to this store have their parts one level below.
        below = [each for each in self._files(f"{path}/*") if each not in files]
        names = [each.rsplit("/", 1)[1] for each in files]
        names += [each.rsplit("/", 2)[1] for each in below]
        return list(dict.fromkeys(names))

    def _files(self, path: str) -> list[str]:
        try:
            files = self._spark.read.format("binaryFile").load(path).where("length > 0")
            return [row[0] for row in files.select("path").collect()]
        except PySparkException as error:
            if _MISSING in str(error):
                return []
            raise ReadError(self._folder, str(error).splitlines()[0]) from error

    def read(self, *names: str) -> str:
        """The text of a file."""
        rows = self._spark.read.text(self._path(*names), wholetext=True).collect()
        return "".join(str(row[0]) for row in rows)

    def write(self, text: str, *names: str) -> None:
        """Write a file: a folder with one part, which is there when the job has ended.

        Raises:
            WriteError: It cannot be written.
        """
        line = self._spark.createDataFrame([(text.rstrip("\n"),)], "value string")
        try:
            line.coalesce(1).write.mode("overwrite").text(self._path(*names))
        except PySparkException as error:
            raise WriteError(self._folder, str(error).splitlines()[0]) from error


def numbers_in(spark: SparkSession, folder: str) -> DataFrame:
    """Numbers that are written into the files of a folder, as a stream."""
    lines = spark.readStream.schema("value string").text(folder, recursiveFileLookup=True)
    return lines.select(F.col("value").try_cast("int").alias("bucket")).where("bucket >= 0")
