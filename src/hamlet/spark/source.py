"""Workloads over files in SQL, where there is no Python that could register a function.

    CREATE TEMPORARY VIEW found USING hamlet OPTIONS (path 'events.parquet', workload 'RETURN ...')

A data source, which Spark finds by itself wherever the package is installed: it looks for those in
packages that are called pyspark_..., and ours is pyspark_hamlet. So it is there in `spark-sql`, in
the Thrift server and over Connect. The engine runs in one task, over files that this task reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.pandas.types import from_arrow_type

from hamlet.engine.options import events_of
from hamlet.errors import HamletError, PlanError
from hamlet.events.files import paths_of
from hamlet.events.formats import format_of
from hamlet.explain.planned import PlannedWorkload
from hamlet.spark.sql import Asked
from hamlet.spark.task import without_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import types as T

Made = TypeVar("Made")

NAME = "hamlet"
# What Spark adds to the options of a table.
_OF_SPARK = ("serialization.format",)


class WorkloadSource(DataSource):
    """`spark.read.format("hamlet")`: options are path, workload, and what `trends` takes."""

    @classmethod
    def name(cls) -> str:
        """What follows USING."""
        return NAME

    def schema(self) -> T.StructType:
        """The columns of the results; where events are no Parquet, they are read for it."""
        return _told(lambda: _schema(self.options))

    def reader(self, schema: T.StructType) -> DataSourceReader:
        """What reads events and answers queries."""
        return _Reader(dict(self.options), schema)


class _Reader(DataSourceReader):
    def __init__(self, options: Mapping[str, str], schema: T.StructType) -> None:
        self._options = dict(options)
        self._schema = schema

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The results; all of them are of one partition."""
        del partition
        asked, path = _asked(self._options)
        table = _told(lambda: asked.answered(path, self._schema))
        yield from table.cast(without_large(table.schema)).to_batches()


def _schema(options: Mapping[str, str]) -> T.StructType:
    asked, path = _asked(options)
    plan = asked.workload.plan
    are_typed = all(format_of(each).name == "parquet" for each in paths_of(path))
    table = parquet.read_schema(paths_of(path)[0]).empty_table() if are_typed else path
    events = events_of(table, plan, asked.options)
    fields = {each.name: from_arrow_type(_plain(each.type), True) for each in events.table.schema}
    return asked.schema(fields, events.times)


def _asked(options: Mapping[str, str]) -> tuple[Asked, str]:
    """What is asked, and the path of the events."""
    given = {name.lower(): text for name, text in options.items() if name not in _OF_SPARK}
    for name in ("workload", "path"):
        if name not in given:
            remedy = "Write OPTIONS (path 'events.parquet', workload 'RETURN ...')."
            reason = f"{NAME} needs the option {name}"
            raise PlanError(reason, remedy)
    text, path = given.pop("workload"), given.pop("path")
    if text.rstrip().endswith(".hql"):
        text = PlannedWorkload.load(text.strip()).text
    return Asked.of(text, given), path.removeprefix("file://")


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type of files as Spark has it."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return without_large(pa.schema([("", kind)])).types[0]


def _told(work: Callable[[], Made]) -> Made:
    """What something gives; Spark shows the message of what it raises."""
    try:
        return work()
    except HamletError as error:
        raise ValueError(str(error)) from None
