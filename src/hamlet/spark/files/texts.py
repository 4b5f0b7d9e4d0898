"""Texts as typed columns in expressions of Spark, by the rule of `hamlet/reading/rules.py`.

A pair of columns comes of texts: the values, null where there are none, and whether a text is not
what it should be. ISO 8601 text is taken apart by the places of its digits, so that the time zone
of the session has no part in it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.events import text_rules as rules
from hamlet.plan.local_times import DAY_US
from hamlet.spark.kinds import naive_moment

if TYPE_CHECKING:
    from pyspark.sql import Column

    from hamlet.events.text_rules import Sort

TYPES: dict[Sort, T.DataType] = {
    "nothing": T.NullType(),
    "long": T.LongType(),
    "unsigned": T.DecimalType(20, 0),
    "double": T.DoubleType(),
    "boolean": T.BooleanType(),
    "date": T.DateType(),
    "clock": T.TimestampNTZType(),
    "moment": T.TimestampType(),
    "text": T.StringType(),
}
# Sorts by their types as Spark writes them.
KNOWN = {kind.simpleString(): sort for sort, kind in TYPES.items()}
_OFFSET = r"[+-]([0-9]{2}):?([0-9]{2})?\z"


class Read(NamedTuple):
    """What texts were read as, and which of them could not be."""

    values: Column
    faulty: Column


def sort_named(kind: str) -> Sort:
    """The sort of texts that a type, as Spark writes it, is for."""
    return KNOWN[kind]


def values_of_texts(text: Column, sort: Sort, *, is_plain: bool = False) -> Read:
    """Texts as values of a sort; what is none and not missing either is faulty.

    Args:
        text: The texts.
        sort: What they are.
        is_plain: Whether all of them are known to be values of it, with nothing around them.
    """
    if sort in ("nothing", "text"):
        return Read(F.lit(None) if sort == "nothing" else text, F.lit(False))
    if is_plain and sort != "moment":
        clock = _with_minutes(text) if sort == "clock" else text
        values = clock.try_cast(TYPES[sort])
        return Read(_one_zero(values) if sort == "double" else values, F.lit(False))
    known = known_text(text)
    values = _values(known, sort)
    return Read(values, known.isNotNull() & values.isNull())


def known_text(text: Column) -> Column:
    """Trimmed text; null for what stands for a missing value."""
    words = F.btrim(text, F.lit(rules.SPACES))
    return F.when(~_matches(words, rules.MISSING), words)


def _matches(text: Column, pattern: str) -> Column:
    return text.rlike(rules.whole(pattern))


def _values(known: Column, sort: Sort) -> Column:
    if sort in rules.NUMBERS:
        return _numbers(known, sort)
    if sort == "boolean":
        is_true = F.when(_matches(known, rules.TRUE), F.lit(True))
        return is_true.when(_matches(known, rules.FALSE), F.lit(False))
    if sort == "date":
        return F.when(_matches(known, rules.DATE), known).try_cast("date")
    micros = _microseconds(F.when(_matches(known, rules.ISO), known))
    return F.timestamp_micros(micros) if sort == "moment" else naive_moment(micros)


def _numbers(known: Column, sort: Sort) -> Column:
    """Finite numbers as doubles, or whole numbers that fit as such."""
    if sort == "double":
        doubles = F.when(_matches(known, rules.NUMBER), known).try_cast("double")
        return F.when(F.abs(doubles) < F.lit(float("inf")), _one_zero(doubles))
    values = F.when(_matches(known, rules.INTEGER), known).try_cast(TYPES[sort])
    if sort == "long":
        return values
    return F.when(values.between(F.lit(0), F.lit(Decimal(rules.UNSIGNED[-1]))), values)


def _one_zero(doubles: Column) -> Column:
    """The same numbers, with one zero, however it is signed."""
    return doubles + F.lit(0.0)


def _with_minutes(clock: Column) -> Column:
    """A plain date, perhaps with a time of day, as Spark reads it: with minutes."""
    return F.when(F.length(clock) == 13, F.concat(clock, F.lit(":00"))).otherwise(clock)


def _microseconds(text: Column) -> Column:
    """Microseconds of text that has the form; null where there is no such day or hour."""
    days = F.unix_date(F.substring(text, 1, 10).try_cast("date")).cast("long")
    hours, minutes, seconds = (_two_digits(text, at) for at in (12, 15, 18))
    is_time = hours.between(0, 23) & minutes.between(0, 59) & seconds.between(0, 59)
    fraction = F.rpad(F.regexp_extract(text, r"\.([0-9]{1,6})", 1), 6, "0").try_cast("long")
    time = (hours * F.lit(3600) + minutes * F.lit(60) + seconds) * F.lit(1_000_000) + fraction
    return F.when(is_time, days * F.lit(DAY_US) + time - _offset(text))


def _two_digits(text: Column, at: int) -> Column:
    """The number of two digits at a place; 0 where the text ends before, or its zone begins."""
    pair = F.substring(text, at, 2)
    before = F.substring(text, at - 1, 1)
    is_there = before.isin("T", " ", ":") & pair.rlike(r"\A[0-9]{2}\z")
    # The minutes of a zone stand where seconds might.
    in_zone = F.substring(text, 14, at - 14).rlike("[+-]") if at > 14 else F.lit(False)
    return F.when(is_there & ~in_zone, pair.try_cast("long")).otherwise(F.lit(0))


def _offset(text: Column) -> Column:
    """What the zone of a text is before UTC, in microseconds."""
    clock = F.substring(text, 11, 60)
    hours, minutes = (F.regexp_extract(clock, _OFFSET, n).try_cast("long") for n in (1, 2))
    fits = (hours.isNull() | hours.between(0, 23)) & (minutes.isNull() | minutes.between(0, 59))
    size = F.coalesce(hours, F.lit(0)) * F.lit(60) + F.coalesce(minutes, F.lit(0))
    signed = F.when(clock.contains("-"), -size).otherwise(size) * F.lit(60_000_000)
    return F.when(fits, signed)
