"""Some events of a DataFrame brought to this machine, as a local run reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.engine import options as engine_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from hamlet.engine import Options
    from hamlet.events.table import EventTable
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.events import EventFrame


@dataclass(frozen=True, slots=True)
class Collecting:
    """The events of a DataFrame for a workload.

    frame: The DataFrame as it was given.
    events: The same as the workload needs it.
    plan: The workload.
    options: How it is run.
    has_faults: Whether the last column of the frame says what is wrong with a row.
    """

    frame: DataFrame
    events: EventFrame
    plan: WorkloadPlan
    options: Options
    has_faults: bool

    @property
    def good(self) -> DataFrame:
        """The rows that nothing is wrong with, with columns as `events` has them."""
        faults = [F.when(is_faulty, F.lit(1)) for is_faulty, _ in self.events.faults]
        return self.events.frame.where(F.coalesce(*faults, F.lit(None)).isNull())

    def table(self, chosen: DataFrame) -> EventTable:
        """Some of the rows, with all their columns."""
        rows = chosen.select(*self._columns()).toArrow()
        return engine_options.events_of(_in_utc(rows), self.plan, self.options, has_all=True)

    def _columns(self) -> list[Column]:
        """All columns by their names; of those with the same name the first."""
        names = self.frame.columns[:-1] if self.has_faults else self.frame.columns
        places = {name: place for place, name in reversed(list(enumerate(names)))}
        return [
            (self.events.time if name == self.options.time else self._readable(place)).alias(name)
            for name, place in sorted(places.items(), key=lambda pair: pair[1])
        ]

    def _readable(self, place: int) -> Column:
        """A column as it can be collected: what Arrow does not have is text."""
        column, kind = F.col(f"c{place}"), self.frame.schema.fields[place].dataType
        is_odd = isinstance(kind, T.VariantType | T.CalendarIntervalType)
        return column.cast("string") if is_odd else column


def _in_utc(table: pa.Table) -> pa.Table:
    """A table whose instants are in UTC, whatever the zone of the session."""
    kinds = [
        pa.field(each.name, pa.timestamp("us", "UTC"))
        if pa.types.is_timestamp(each.type) and each.type.tz is not None
        else each
        for each in table.schema
    ]
    return table.cast(pa.schema(kinds))
