"""Functions of one event as expressions of Spark, worth on every row what the engine finds there.

Zones are left to Python, whose rules may be of another year than those of Java, and so are small
and capital letters, which differ with the version of Unicode.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.events.columns import EXACT, LARGEST
from hamlet.plan.local_times import DAY_US, HOUR_US
from hamlet.plan.predicates import OF_TEXT
from hamlet.spark.kinds import Term, nothing

if TYPE_CHECKING:
    from pyspark.sql import Column

_DECIMAL = T.DecimalType(38, 0)
_MINUTE_US = 60_000_000


def like(term: Term, pattern: str) -> Term:
    """Whether text has a form; a backslash is no sign of its own."""
    if term.kind is None:
        return nothing()
    return Term("boolean", term.column.like(pattern.replace("\\", "\\\\")))


def function(name: str, operands: list[Term]) -> Term | None:
    """What a function makes of terms; None where Python has to find out."""
    first = operands[0]
    if name == "coalesce":
        return _coalesce(operands)
    if first.kind is None:
        return nothing()
    if name == "abs":
        return _absolute(first)
    if name == "round":
        return first if first.is_integer else Term("number", F.round(first.column, 0))
    if name in OF_TEXT or len(operands) > 1 or not first.is_long:
        return None
    return _calendar(name, first.column)


def _absolute(term: Term) -> Term | None:
    if term.most is None:
        return Term(term.kind, F.abs(term.column))
    if term.most <= LARGEST:
        return replace(term, column=F.abs(term.column), value=None)
    if not term.is_long:
        return None
    return replace(term, column=F.abs(term.column.cast(_DECIMAL)), is_long=False, value=None)


def _calendar(name: str, ts: Column) -> Term:
    """What the calendar says, in UTC."""
    clock = F.pmod(ts, F.lit(DAY_US))
    if name == "hour":
        return Term("number", F.floor(clock / F.lit(HOUR_US)).cast("long"), most=23)
    if name == "minute":
        past = F.pmod(ts, F.lit(HOUR_US))
        return Term("number", F.floor(past / F.lit(_MINUTE_US)).cast("long"), most=59)
    if name == "date":
        return Term("time", ts - clock, most=LARGEST)
    # Whole days, so that the quotient is a whole number but for its rounding.
    days = F.round((ts - clock) / F.lit(DAY_US)).cast("long")
    return Term("number", F.pmod(days + F.lit(3), F.lit(7)) + F.lit(1), most=7)


def _coalesce(operands: list[Term]) -> Term | None:
    known = [each for each in operands if each.kind is not None]
    if not known:
        return nothing()
    mosts = [each.most for each in known if each.most is not None]
    if not mosts:
        return Term(known[0].kind, F.coalesce(*(each.column for each in known)))
    most = max(mosts)
    if len(mosts) == len(known):
        if not all(each.is_long for each in known):
            return None
        return Term(known[0].kind, F.coalesce(*(each.column for each in known)), most=most)
    if most > EXACT:
        return None
    return Term("number", F.coalesce(*(each.column.cast("double") for each in known)))
