"""Types of Spark: what each is to a query, as Arrow has it, and as terms of expressions.

What a column is follows from its type alone, so that every task reads it alike. A decimal without
decimal places is an integer, with decimal places it is a double. NaN is null, as everywhere in
Hamlet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.events.times import FARTHEST_US
from hamlet.plan.local_times import DAY_US

if TYPE_CHECKING:
    from pyspark.sql import Column

    from hamlet.plan.predicates import Scalar
    from hamlet.schema import Kind

WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
FLOATING = (T.FloatType, T.DoubleType)
NUMBERS = (*WHOLE, *FLOATING, T.DecimalType)
TEXT = (T.StringType, T.CharType, T.VarcharType)
_BITS = {T.ByteType: 7, T.ShortType: 15, T.IntegerType: 31, T.LongType: 63}
_ARROW = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
    T.NullType: pa.null(),
}


def arrow_type(spark: T.DataType) -> pa.DataType:
    """A type as Arrow has it; one that queries cannot use as a type that they cannot use either."""
    if isinstance(spark, TEXT):
        return pa.string()
    if isinstance(spark, T.DecimalType):
        return pa.decimal128(spark.precision, spark.scale)
    return _ARROW.get(type(spark), pa.binary())


@dataclass(frozen=True, slots=True)
class Term:
    """An expression as a column of Spark, and what is known of its values.

    kind: None where they are all null.
    column: Integers as long or decimal, other numbers as double, times as long microseconds.
    most: Of integers, times and durations the greatest absolute value that there can be; None for
        everything else.
    is_long: Whether integers are long and not decimal.
    value: What a constant is.
    """

    kind: Kind | None
    column: Column
    most: int | None = None
    is_long: bool = True
    value: Scalar = None

    @property
    def is_integer(self) -> bool:
        """Whether these are whole numbers, exact however large."""
        return self.most is not None


def number_or_null(column: Column) -> Column:
    """Doubles, null where they are NaN."""
    return F.nanvl(column, F.lit(None).cast("double"))


def nothing() -> Term:
    """Null on every row."""
    return Term(None, F.lit(None).cast("boolean"))


def term_of(column: Column, spark: T.DataType) -> Term:
    """A column of events, of a type that queries can use, as a term."""
    if isinstance(spark, WHOLE):
        return Term("number", column.cast("long"), most=1 << _BITS[type(spark)])
    if isinstance(spark, T.DecimalType):
        return _decimal(column, spark)
    if isinstance(spark, FLOATING):
        return Term("number", number_or_null(column.cast("double")))
    if isinstance(spark, TEXT):
        return Term("text", plain_text(column, spark))
    if isinstance(spark, T.BooleanType):
        return Term("boolean", column)
    if isinstance(spark, T.NullType):
        return nothing()
    return Term("time", microseconds(column, spark), most=FARTHEST_US)


def time_term(column: Column, spark: T.DataType) -> Term | None:
    """The time of events as a term; None where Spark does not round as the engine does."""
    if isinstance(spark, WHOLE):
        seconds = _inside(column.cast("long"), FARTHEST_US // 10**6)
        return Term("time", seconds * F.lit(1_000_000), most=FARTHEST_US)
    if isinstance(spark, T.DateType | T.TimestampType | T.TimestampNTZType):
        return term_of(column, spark)
    return None


def _decimal(column: Column, spark: T.DecimalType) -> Term:
    if spark.scale > 0:
        return Term("number", column.cast("double"))
    digits = max(spark.precision - spark.scale, 1)
    is_long = digits <= 18
    whole = column.cast("long" if is_long else T.DecimalType(digits, 0))
    return Term("number", whole, most=10**digits - 1, is_long=is_long)


def plain_text(column: Column, spark: T.DataType) -> Column:
    """Text that compares code point by code point, whatever its own collation says."""
    is_plain = not isinstance(spark, T.StringType) or spark.collation == "UTF8_BINARY"
    return column if is_plain else F.collate(column, "UTF8_BINARY")


def as_key(column: Column, spark: T.DataType) -> Column:
    """A column that is the same on all rows of a partition: 0.0 and -0.0 are one."""
    return column + F.lit(0.0).cast(spark) if isinstance(spark, FLOATING) else column


def microseconds(column: Column, spark: T.DataType) -> Column:
    """A column of times as microseconds since 1970; null where they are out of range.

    Nothing here depends on the time zone of the session: a time without a zone is in UTC.
    """
    if isinstance(spark, T.DateType):
        return _inside(F.unix_date(column).cast("long"), FARTHEST_US // DAY_US) * F.lit(DAY_US)
    if isinstance(spark, T.TimestampType):
        return _inside(F.unix_micros(column), FARTHEST_US)
    days = _inside(F.unix_date(column.cast("date")).cast("long"), FARTHEST_US // DAY_US - 1)
    second = (F.extract(F.lit("SECOND"), column) * F.lit(1_000_000)).cast("long")
    minutes = F.hour(column).cast("long") * F.lit(60) + F.minute(column)
    return days * F.lit(DAY_US) + minutes * F.lit(60_000_000) + second


def naive_moment(micros: Column) -> Column:
    """Microseconds since 1970 as times without a zone, whatever the zone of the session."""
    days = F.floor(micros / F.lit(DAY_US).cast("decimal(20,0)")).cast("int")
    rest = F.pmod(micros, F.lit(DAY_US)).cast("decimal(18,6)") / F.lit(1_000_000)
    epoch = F.lit("1970-01-01").cast("timestamp_ntz")
    return epoch + F.make_dt_interval(days, secs=rest.cast("decimal(18,6)"))


def _inside(number: Column, farthest: int) -> Column:
    return F.when(number.between(-farthest, farthest), number)
