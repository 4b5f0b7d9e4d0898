"""The column contract on Spark: any DataFrame as type, time, order and the attributes queries need.

Columns are taken by place and not by name, so that names with dots, and names that differ only in
their case, are names like others. What a column is follows from its type; only a text with times,
and decimals with decimal places, have to be looked at first, which takes a job of its own. Rows
that cannot take part have a fault, for the same reasons and in the same order as in `events.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.errors import SchemaError
from hamlet.events import NO_TYPE, EventTable
from hamlet.needs import needs_of
from hamlet.reading.found import NOT_A_TIME, Wanted
from hamlet.spark import texts
from hamlet.spark.kinds import (
    DAY_US,
    FLOATING,
    TEXT,
    WHOLE,
    Term,
    arrow_type,
    is_scaled,
    plain_text,
    term_of,
)
from hamlet.times import FARTHEST_US, MISSING, OUT_OF_RANGE, REASONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from hamlet.engine import Options
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.results import Times

    # A condition that rows should not meet, and what is wrong with those that do.
    Fault = tuple[Column, str]

_FARTHEST_S = FARTHEST_US // 10**6
# No time attribute of Spark needs more, and every year in between is in range.
_FARTHEST_YEARS = (-144_167, 148_107)


@dataclass(frozen=True, slots=True)
class Events:
    """A DataFrame that fits a workload.

    name: What to call the events in a message.
    frame: The DataFrame.
    types: The types of events, as plain text.
    time: Their times, as they come or as microseconds.
    is_us: Whether they are microseconds.
    times: What windows are given in.
    order: What orders events of equal time.
    schema: For each attribute its column and its type.
    whole: Decimals with decimal places all of whose values are whole.
    faults: What can be wrong with a row; the first that is counts.
    """

    name: str
    frame: DataFrame
    types: Column
    time: Column
    is_us: bool
    times: Times
    order: Column | None
    schema: Mapping[str, tuple[Column, T.DataType]]
    whole: frozenset[str]
    faults: Sequence[Fault] = field(default=())

    def term(self, attribute: str) -> Term:
        """An attribute as a term of expressions."""
        column, kind = self.schema[attribute]
        return term_of(column, kind, is_whole=attribute in self.whole)

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
    faults: Sequence[Fault] = (),
) -> Events:
    """The events of a DataFrame, as a workload needs them.

    Args:
        frame: The events.
        plan: The workload.
        options: Which columns have the type, the time and the order.
        name: What to call the events in a message.
        faults: What else can be wrong with a row, over the columns of `frame`.

    Raises:
        SchemaError: A column is missing, or is not what the workload uses it for.
    """
    wanted = Wanted(options.type, options.time, options.order, needs_of(plan))
    names = frame.columns
    for each in wanted.among(names):
        if names.count(each) > 1:
            raise SchemaError(name, f"there are {names.count(each)} columns '{each}'")
    kinds = {each.name: each.dataType for each in frame.schema.fields}
    by_place = [f"c{place}" for place in range(len(names))]
    columns = {each: F.col(place) for each, place in zip(names, by_place, strict=True)}
    renamed = frame.toDF(*by_place)
    seen = _seen(renamed, columns, kinds, wanted, options.time)
    _check(plan, kinds, seen, wanted, name)
    time = _time(columns[options.time], kinds[options.time], seen.time)
    attributes = {a: (columns[a], kinds[a]) for a in wanted.needs.attributes}
    types = plain_text(columns[options.type], kinds[options.type])
    found: list[Fault] = [*faults, *time.faults, (types.isNull(), NO_TYPE)]
    for attribute in sorted(wanted.needs.summed):
        column, kind = attributes[attribute]
        if isinstance(kind, FLOATING):
            found.append((column.isin(float("inf"), float("-inf")), f"{attribute} is infinite"))
    return Events(
        name=name,
        frame=renamed,
        types=types,
        time=time.column,
        is_us=time.is_us,
        times=time.times,
        order=None if options.order is None else columns[options.order],
        schema=attributes,
        whole=seen.whole,
        faults=found,
    )


def _check(
    plan: WorkloadPlan,
    kinds: Mapping[str, T.DataType],
    seen: _Seen,
    wanted: Wanted,
    name: str,
) -> None:
    """Refuse what the engine refuses on one machine, with the same words."""
    arrow = {column: arrow_type(kind) for column, kind in kinds.items()}
    if seen.time is not None:
        arrow[wanted.time] = arrow_type(seen.time)
    nothing = pa.schema(list(arrow.items())).empty_table()
    try:
        EventTable.of(nothing, plan, type=wanted.type, time=wanted.time, order=wanted.order)
    except SchemaError as error:
        raise SchemaError(name, error.reason) from None


# What has to be looked at


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a look at the rows has shown.

    time: What texts of times are: timestamps, whole or other numbers; None where they are neither,
        or are no texts.
    whole: Decimals with decimal places all of whose values are whole.
    """

    time: T.DataType | None
    whole: frozenset[str]


def _seen(
    frame: DataFrame,
    columns: Mapping[str, Column],
    kinds: Mapping[str, T.DataType],
    wanted: Wanted,
    time: str,
) -> _Seen:
    asked: dict[str, Column] = {}
    if isinstance(kinds.get(time), TEXT):
        known = texts.known_number(columns[time])
        is_number = known.rlike(texts.NUMBER)
        asked["numbers"] = F.count_if(is_number)
        asked["stamps"] = F.count(texts.iso_times(columns[time]).values)
        fits = known.rlike(texts.INTEGER) & known.try_cast("long").isNotNull()
        asked["integers"] = F.count_if(is_number & fits)
    scaled = [a for a in wanted.needs.attributes if a in kinds and is_scaled(kinds[a])]
    for number, attribute in enumerate(scaled):
        column = columns[attribute]
        asked[f"whole {number}"] = F.bool_and(column == F.floor(column))
    found = one_row(frame, asked)
    whole = {a for n, a in enumerate(scaled) if found[f"whole {n}"] is not False}
    return _Seen(_time_of_texts(found) if "numbers" in asked else None, frozenset(whole))


def one_row(frame: DataFrame, asked: Mapping[str, Column]) -> dict[str, Any]:
    """Some aggregates over all rows; no job where none are asked for."""
    if not asked:
        return {}
    row = frame.agg(*(column.alias(name) for name, column in asked.items())).first()
    return {} if row is None else row.asDict()


def _time_of_texts(found: Mapping[str, Any]) -> T.DataType | None:
    """ISO 8601 or numbers of seconds, whichever are more."""
    if not found["numbers"] and not found["stamps"]:
        return None
    if found["numbers"] <= found["stamps"]:
        return T.TimestampType()
    return T.LongType() if found["integers"] == found["numbers"] else T.DoubleType()


# Times


@dataclass(frozen=True, slots=True)
class _Time:
    column: Column
    is_us: bool
    times: Times
    faults: list[Fault]


def _time(column: Column, kind: T.DataType, seen: T.DataType | None) -> _Time:
    """Times as workers get them, and what can be wrong with them."""
    faults: list[Fault] = []
    if seen is not None:
        read = texts.iso_times(column)
        if not isinstance(seen, T.TimestampType):
            read = texts.numbers(column, seen)
        column, kind = read.values, seen
        faults.append((read.faulty, NOT_A_TIME))
    is_missing = column.isNull()
    if isinstance(kind, FLOATING):
        is_missing |= F.isnan(column)
    faults.append((is_missing, REASONS[MISSING]))
    # What was read from text is within four digits of years.
    if not (isinstance(kind, T.TimestampType) and seen is not None):
        faults.append((_is_outside(column, kind), REASONS[OUT_OF_RANGE]))
    is_number = isinstance(kind, (*WHOLE, *FLOATING, T.DecimalType))
    is_us = seen is not None and not is_number
    return _Time(column, is_us, "seconds" if is_number else "timestamps", faults)


def _is_outside(column: Column, kind: T.DataType) -> Column:
    """Whether times are further away than the engine reckons with."""
    if isinstance(kind, T.DateType):
        return ~F.unix_date(column).between(-(FARTHEST_US // DAY_US), FARTHEST_US // DAY_US)
    if isinstance(kind, T.TimestampType):
        return ~F.unix_micros(column).between(-FARTHEST_US, FARTHEST_US)
    if isinstance(kind, T.TimestampNTZType):
        return ~F.year(column).between(*_FARTHEST_YEARS)
    if isinstance(kind, FLOATING):
        return ~column.between(-FARTHEST_US / 10**6, FARTHEST_US / 10**6)
    if isinstance(kind, (T.ByteType, T.ShortType, T.IntegerType, T.NullType)):
        return F.lit(False)
    return ~column.between(-_FARTHEST_S, _FARTHEST_S)


def fault_of(faults: Sequence[Fault]) -> Column:
    """The number of the first fault of a row; null where it has none."""
    found: Column | None = None
    for number, (is_faulty, _) in enumerate(faults):
        found = F.when(is_faulty, number) if found is None else found.when(is_faulty, number)
    return F.lit(None).cast("int") if found is None else found


def are_given(columns: Sequence[tuple[Column, T.DataType]]) -> Column | None:
    """Whether a row has values in some columns; None where there are no columns."""
    missing = [
        column.isNull() | F.isnan(column) if isinstance(kind, FLOATING) else column.isNull()
        for column, kind in columns
    ]
    return ~reduce(or_, missing) if missing else None
