"""Examples of rows of results on Spark: the events of these rows are collected, and no others.

What a row is about is a window, a group and the types that its query asks for: all three are
filters on the columns as they are, so that they reach the files where these can be asked. Trends
are drawn on this machine, as those of a local run are.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.engine.examples import Origin, check_size, most_events
from hamlet.plan.query import OTHER, asked_types
from hamlet.spark.kinds import FLOATING, arrow_type, naive_moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

    from hamlet.engine.examples import Row
    from hamlet.events.table import EventTable
    from hamlet.plan.query import Query
    from hamlet.spark.collecting import Collecting
    from hamlet.spark.events import EventFrame

# Times of events are compared with a second to spare: who draws compares them exactly.
_SPARE_US = 1_000_000


def origin_of(collecting: Collecting) -> Origin:
    """What results over a DataFrame came from."""
    plan, events = collecting.plan, collecting.events

    def collected(rows: Mapping[int, Sequence[Row]]) -> EventTable:
        queries = {number: plan.queries[number].query for number in rows}
        is_asked = [
            _is_of(events, queries[number], row)
            for number, some in rows.items()
            for row in _joined(some)
        ]
        most = max(most_events(query) for query in queries.values())
        chosen = collecting.good.where(reduce(or_, is_asked, F.lit(False)))
        table = collecting.table(chosen.limit(most + 1))
        if len(table) > most:
            check_size(queries[next(iter(queries))], len(table))
        return table

    return Origin(plan, collecting.options, collected)


def _joined(rows: Sequence[Row]) -> list[Row]:
    """Rows of one query, those of a group whose windows overlap as one: fewer conditions do.

    >>> from hamlet.engine.examples import Row
    >>> _joined([Row(5, 15, "a"), Row(0, 10, "a"), Row(0, 10, "b")])
    [Row(start=0, end=15, group='a'), Row(start=0, end=10, group='b')]
    """
    joined: list[Row] = []
    for row in sorted(rows, key=lambda each: (each.group, each.start)):
        last = joined[-1] if joined else None
        if last is None or last.group != row.group or last.end < row.start:
            joined.append(row)
        else:
            joined[-1] = replace(last, end=max(last.end, row.end))
    return joined


def _is_of(events: EventFrame, query: Query, row: Row) -> Column:
    """Whether an event may be in a trend of a row."""
    asked = sorted(asked_types([query]))
    needed = [
        events.time >= moment_column(row.start - _SPARE_US, events.time_kind),
        events.time <= moment_column(row.end + _SPARE_US, events.time_kind),
    ]
    if OTHER not in asked:
        needed.append(events.types.isin(*asked))
    values = json.loads(row.group, parse_float=Decimal)
    for attribute in query.group_by:
        column, its_kind = events.schema[attribute]
        value = read_value(values[attribute], arrow_type(its_kind))
        needed.append(column == F.lit(value).cast(its_kind))
    return reduce(and_, needed)


def moment_column(us: int, kind: T.DataType) -> Column:
    """A time as a column of some type can be compared with; whole days and seconds around it."""
    if isinstance(kind, T.TimestampType):
        return F.timestamp_micros(F.lit(us))
    if isinstance(kind, T.TimestampNTZType):
        return naive_moment(F.lit(us))
    if isinstance(kind, T.DateType):
        return naive_moment(F.lit(us)).cast("date")
    return F.lit(us / 10**6) if isinstance(kind, FLOATING) else F.lit(us // 10**6)


def read_value(value: Any, kind: pa.DataType) -> Any:
    """A value of a group that was written as JSON."""
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value)
    return date.fromisoformat(value) if pa.types.is_date(kind) else value
