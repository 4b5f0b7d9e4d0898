"""The column contract on Spark: any DataFrame as type, time, order and the attributes queries need.

Columns are taken by place and not by name, so that names with dots, and names that differ only in
their case, are names like others. What a column is follows from its type; only a text with times
has to be looked at first, which takes a job of its own. Rows that cannot take part have a fault,
for the same reasons and in the same order as in `events.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.errors import SchemaError
from hamlet.events.source import Wanted
from hamlet.events.table import NO_TYPE, EventTable
from hamlet.events.times import FARTHEST_US, MISSING, OUT_OF_RANGE, REASONS, times_of
from hamlet.plan.local_times import DAY_US
from hamlet.plan.predicates import EVENT_TIME
from hamlet.plan.query import OTHER, asked_types
from hamlet.spark.files.infer_types import TypeSurvey
from hamlet.spark.files.untyped import Typed, look_at, time_column
from hamlet.spark.kinds import (
    FLOATING,
    TEXT,
    Term,
    arrow_type,
    plain_text,
    term_of,
    time_term,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from hamlet.engine import Options
    from hamlet.events.times import Times
    from hamlet.plan.workload import WorkloadPlan

    # A condition that rows should not meet, and what is wrong with those that do.
    Fault = tuple[Column, str]

# What columns are called that say whether a row has no value for an attribute, with a number.
LACKING = "lacking"
_FARTHEST_S = FARTHEST_US // 10**6
# No time attribute of Spark needs more, and every year in between is in range.
_FARTHEST_YEARS = (-144_167, 148_107)


@dataclass(frozen=True, slots=True)
class EventFrame:
    """A DataFrame that fits a workload.

    name: What to call the events in a message.
    frame: The DataFrame.
    types: The types of events, as plain text.
    time: Their times.
    time_kind: The type of their times.
    times: What windows are given in.
    order: What orders events of equal time.
    schema: For each attribute its column and its type.
    faults: What can be wrong with a row; the first that is counts.
    time_term: Their times as a term of expressions; None where Spark has none.
    """

    name: str
    frame: DataFrame
    types: Column
    time: Column
    time_kind: T.DataType
    times: Times
    order: Column | None
    schema: Mapping[str, tuple[Column, T.DataType]]
    faults: Sequence[Fault]
    time_term: Term | None = None

    def expressible(self, attribute: str) -> Term | None:
        """An attribute, or the time, as a term of expressions; None where Spark has none."""
        return self.time_term if attribute == EVENT_TIME else self.term(attribute)

    def term(self, attribute: str) -> Term:
        """An attribute as a term of expressions."""
        column, kind = self.schema[attribute]
        return term_of(column, kind)

    def shipped(self, attribute: str, *, is_key: bool) -> Column:
        """An attribute as workers get it; one whose values name groups is left as it is."""
        column, kind = self.schema[attribute]
        if isinstance(kind, TEXT):
            return plain_text(column, kind)
        if isinstance(kind, T.DecimalType) and not is_key:
            return self.term(attribute).column
        return column

    def arrow_schema(self) -> pa.Schema:
        """The attributes and their types, as Arrow has them."""
        return pa.schema([(name, arrow_type(kind)) for name, (_, kind) in self.schema.items()])


def events_of(
    frame: DataFrame,
    plan: WorkloadPlan,
    options: Options,
    *,
    name: str = "events",
    reasons: Sequence[str] = (),
) -> EventFrame:
    """The events of a DataFrame, as a workload needs them.

    Args:
        frame: The events.
        plan: The workload.
        options: Which columns have the type, the time and the order.
        name: What to call the events in a message.
        reasons: What was wrong with rows when they were read. If there are any, the last column of
            the frame has, for each row that something is wrong with, the number of the reason.

    Raises:
        SchemaError: A column is missing, or is not what the workload uses it for.
    """
    wanted = Wanted.of(plan, options)
    by_place = [f"c{place}" for place in range(len(frame.columns))]
    names = frame.columns[:-1] if reasons else frame.columns
    for asked in wanted.among(names):
        if names.count(asked) > 1:
            raise SchemaError(name, f"there are {names.count(asked)} columns '{asked}'")
    renamed = frame.toDF(*by_place)
    columns = {column: F.col(place) for column, place in zip(names, by_place, strict=False)}
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    texts = _texts_of_times(renamed, columns, kinds, wanted)
    if texts is not None:
        columns[wanted.time] = texts.column
        kinds[wanted.time] = renamed.select(texts.column).schema.fields[0].dataType
    example: str | None = None
    if texts is None and isinstance(kinds.get(wanted.time), TEXT) and not frame.isStreaming:
        first = renamed.select(columns[wanted.time]).first()
        example = None if first is None else first[0]
    _check(plan, {column: kinds[column] for column in names}, wanted, name, example)
    attributes = {a: (F.col(by_place[names.index(a)]), kinds[a]) for a in wanted.needs.attributes}
    types = plain_text(columns[wanted.type], kinds[wanted.type])
    time, kind = columns[wanted.time], kinds[wanted.time]
    faults: list[Fault] = [(F.col(by_place[-1]) == n, reason) for n, reason in enumerate(reasons)]
    faults += [texts.fault] if texts is not None and texts.fault else []
    faults += [*_time_faults(time, kind), (types.isNull(), NO_TYPE)]
    for attribute in sorted(wanted.needs.summed):
        column, its_kind = attributes[attribute]
        if isinstance(its_kind, FLOATING):
            faults.append((column.isin(float("inf"), float("-inf")), f"{attribute} is infinite"))
    return EventFrame(
        name=name,
        frame=renamed,
        types=_as_asked(types, plan),
        time=time,
        time_kind=kind,
        times=times_of(arrow_type(kind)),
        order=None if wanted.order is None else columns[wanted.order],
        schema=attributes,
        faults=faults,
        time_term=time_term(time, kind),
    )


def _as_asked(types: Column, plan: WorkloadPlan) -> Column:
    """Types, with one for all that nobody mentions where somebody asks for that."""
    asked = asked_types(planned.query for planned in plan.queries)
    if OTHER not in asked:
        return types
    named = sorted(asked - {OTHER})
    return F.when(types.isin(*named), types).otherwise(F.lit(OTHER)) if named else F.lit(OTHER)


def _check(
    plan: WorkloadPlan,
    kinds: Mapping[str, T.DataType],
    wanted: Wanted,
    name: str,
    time: str | None,
) -> None:
    """Refuse what the engine refuses on one machine, with the same words.

    A text that is no time, if there is one, is shown in these words.
    """
    schema = pa.schema([(column, arrow_type(kind)) for column, kind in kinds.items()])
    rows = [] if time is None else [{wanted.time: time}]
    nothing = pa.Table.from_pylist(rows, schema)
    try:
        EventTable.of(nothing, plan, type=wanted.type, time=wanted.time, order=wanted.order)
    except SchemaError as error:
        raise SchemaError(name, error.reason) from None


# What has to be looked at


def _texts_of_times(
    frame: DataFrame,
    columns: Mapping[str, Column],
    kinds: Mapping[str, T.DataType],
    wanted: Wanted,
) -> Typed | None:
    """What texts of times are; None where they are nothing, or times are no texts."""
    if frame.isStreaming or not isinstance(kinds.get(wanted.time), TEXT):
        return None
    column = columns[wanted.time]
    facts = look_at(frame.select(column), TypeSurvey(wanted, (wanted.time,)))
    return time_column(column, facts.get(0, Counter()))


# Times


def _time_faults(column: Column, kind: T.DataType) -> list[Fault]:
    """What can be wrong with times."""
    is_missing = column.isNull()
    if isinstance(kind, FLOATING):
        is_missing |= F.isnan(column)
    faults = [(is_missing, REASONS[MISSING])]
    outside = _is_outside(column, kind)
    return faults if outside is None else [*faults, (outside, REASONS[OUT_OF_RANGE])]


def _is_outside(column: Column, kind: T.DataType) -> Column | None:
    """Whether times are further away than the engine reckons with; None where none can be."""
    if isinstance(kind, T.DateType):
        return ~F.unix_date(column).between(-(FARTHEST_US // DAY_US), FARTHEST_US // DAY_US)
    if isinstance(kind, T.TimestampType):
        return ~F.unix_micros(column).between(-FARTHEST_US, FARTHEST_US)
    if isinstance(kind, T.TimestampNTZType):
        return ~F.year(column).between(*_FARTHEST_YEARS)
    if isinstance(kind, FLOATING):
        return ~column.between(-FARTHEST_US / 10**6, FARTHEST_US / 10**6)
    if isinstance(kind, T.LongType | T.DecimalType):
        return ~column.between(-_FARTHEST_S, _FARTHEST_S)
    return None


def lacking(events: EventFrame, attributes: Iterable[str]) -> list[Column]:
    """Whether a row has no value for each of some attributes."""
    return [~are_given([events.schema[attribute]]) for attribute in attributes]


def are_given(columns: Sequence[tuple[Column, T.DataType]]) -> Column:
    """Whether a row has values in some columns."""
    missing = [
        column.isNull() | F.isnan(column) if isinstance(kind, FLOATING) else column.isNull()
        for column, kind in columns
    ]
    return ~reduce(or_, missing) if missing else F.lit(True)
