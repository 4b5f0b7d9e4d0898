"""Texts as numbers, times and truth values in expressions of Spark, by the rules of `reading`.

A pair of columns comes of each: the values, null where there are none, and whether a text is not
what it should be. ISO 8601 text is taken apart by the places of its digits, so that the time zone
of the session has no part in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.spark.kinds import DAY_US

if TYPE_CHECKING:
    from pyspark.sql import Column

# What Unicode calls white space.
_SPACES = "".join(map(chr, [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203)]))
_SPACES += "\u2028\u2029\u202f\u205f\u3000"
INTEGER = r"\A[+-]?[0-9]+\z"
NUMBER = r"\A[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
MISSING_NUMBERS = ("", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None")
_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?"
ISO = rf"{_DATE}({_CLOCK})?(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?\z"
ONLY_DATE = rf"{_DATE}\z"
ZONELESS = rf"{_DATE}{_CLOCK}\z"
# A date alone has no zone.
_READABLE = rf"{_DATE}({_CLOCK}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?)?\z"
_OFFSET = r"[+-]([0-9]{2}):?([0-9]{2})?\z"
_TRUE, _FALSE = ("true", "1"), ("false", "0")


class Read(NamedTuple):
    """What texts were read as, and which of them could not be."""

    values: Column
    faulty: Column


def trimmed(text: Column) -> Column:
    """Text without white space around it."""
    return F.btrim(text, F.lit(_SPACES))


def known_number(text: Column) -> Column:
    """The trimmed text of a number; null for what stands for a missing one."""
    words = trimmed(text)
    return F.when(~words.isin(*MISSING_NUMBERS), words)


def numbers(text: Column, kind: T.DataType) -> Read:
    """Texts as numbers of one type."""
    known = known_number(text)
    values = F.when(known.rlike(NUMBER), known).try_cast(kind)
    return Read(values, known.isNotNull() & ~known.rlike(NUMBER))


def booleans(text: Column) -> Read:
    """Texts as truth values."""
    words = F.lower(trimmed(text))
    values = F.when(words.isin(*_TRUE), F.lit(True)).when(words.isin(*_FALSE), F.lit(False))
    return Read(values, words.isNotNull() & values.isNull() & (words != ""))


def iso_times(text: Column) -> Read:
    """ISO 8601 texts as microseconds since 1970, UTC where they have no zone."""
    words = trimmed(text)
    values = _iso_microseconds(F.when(words.rlike(_READABLE), words))
    return Read(values, words.isNotNull() & values.isNull() & (words != ""))


def _iso_microseconds(text: Column) -> Column:
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
