"""Conditions and numbers of one event as expressions of Spark, never by way of SQL text.

On every row an expression is worth what `kernel/evaluate.py` finds there: three truth values,
integers exact and compared with doubles by value, null what is divided by zero or is no number
(NaN, which to Spark is a number, equal to itself and greater than others). What Spark cannot say
exactly so (integers beyond 38 digits, quotients of integers beyond 2**53) is left to Python: then
the functions return None.

No expression can fail, with or without Spark's ANSI mode: whether an integer fits is decided by
what its operands can be at most, before any row is seen.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F
from pyspark.sql import types as T

from hamlet.events.columns import EXACT, LARGEST
from hamlet.plan.predicates import COMPARISONS, FLIPPED, FUNCTIONS, Column, Constant, Expression
from hamlet.plan.value_kinds import arithmetic_kind
from hamlet.spark import functions
from hamlet.spark.kinds import Term, nothing, number_or_null

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column as SparkColumn

    from hamlet.plan.predicates import Operation, Scalar
    from hamlet.schema import Kind

    Lookup = Callable[[str], Term | None]

_DECIMAL = T.DecimalType(38, 0)
_MOST_DECIMAL = 10**38 - 1
# Beyond every long, and a double.
_BEYOND = 2.0**63


class _Inexpressible(Exception):
    """Spark has no expression that is worth the same on every row."""


def condition_of(expression: Expression, lookup: Lookup) -> SparkColumn | None:
    """Whether a condition on one event holds, never null; None where Python has to find out.

    Args:
        expression: The condition.
        lookup: Gives the term of an attribute; None for one that Spark has no term of.
    """
    term = _expressible(expression, lookup)
    if term is None:
        return None
    return F.lit(False) if term.kind is None else F.coalesce(term.column, F.lit(False))


def number_of(expression: Expression, lookup: Lookup) -> Term | None:
    """What arithmetic on one event gives, as long or double; None where Python has to find out.

    Args:
        expression: The arithmetic.
        lookup: Gives the term of an attribute; None for one that Spark has no term of.
    """
    term = _expressible(expression, lookup)
    # Integers that may be longer than a long would travel as decimals, which Python takes apart one
    # by one.
    return term if term is not None and term.kind == "number" and term.is_long else None


def _expressible(expression: Expression, lookup: Lookup) -> Term | None:
    try:
        return _term(expression, lookup)
    except _Inexpressible:
        return None


def _term(expression: Expression, lookup: Lookup) -> Term:
    if isinstance(expression, Column):
        found = lookup(expression.attribute)
        if found is None:
            raise _Inexpressible
        return found
    if isinstance(expression, Constant):
        found = constant(expression.value)
        is_time = expression.kind in ("time", "duration")
        return replace(found, kind=cast("Kind", expression.kind)) if is_time else found
    operands = [_term(operand, lookup) for operand in expression.operands]
    return _operation(expression, operands)


def _operation(expression: Operation, operands: list[Term]) -> Term:
    symbol = expression.operator
    if symbol in COMPARISONS:
        return _compare(symbol, operands[0], operands[1])
    if symbol == "-" and len(operands) == 1:
        zero = replace(constant(0), kind=operands[0].kind)
        return _arithmetic("-", zero, operands[0])
    if symbol in "+-*/%":
        return _arithmetic(symbol, operands[0], operands[1])
    if symbol in ("and", "or"):
        return _logic(symbol, operands)
    if symbol == "not":
        return _not(operands[0])
    if symbol in ("in", "not in"):
        found = _logic("or", [_compare("=", operands[0], other) for other in operands[1:]])
        return found if symbol == "in" else _not(found)
    if symbol in ("like", "not like"):
        found = functions.like(operands[0], str(operands[1].value))
        return found if symbol == "like" else _not(found)
    if symbol in FUNCTIONS:
        made = functions.function(symbol, operands)
        if made is None:
            raise _Inexpressible
        return made
    is_null = F.lit(True) if operands[0].kind is None else operands[0].column.isNull()
    return Term("boolean", is_null if symbol == "is null" else ~is_null)


def constant(value: Scalar) -> Term:
    """A constant on every row."""
    if value is None:
        return nothing()
    if isinstance(value, str):
        return Term("text", F.lit(value), value=value)
    if isinstance(value, bool):
        return Term("boolean", F.lit(value), value=value)
    if isinstance(value, float):
        return Term("number", F.lit(value), value=value)
    if abs(value) <= LARGEST:
        return Term("number", F.lit(value).cast("long"), most=abs(value), value=value)
    # Beyond 38 digits the column only says that it is not null.
    decimal = Decimal(max(-_MOST_DECIMAL, min(value, _MOST_DECIMAL)))
    column = F.lit(decimal).cast(_DECIMAL)
    return Term("number", column, most=abs(value), is_long=False, value=value)


# Logic


def _logic(symbol: str, operands: list[Term]) -> Term:
    return Term("boolean", reduce(or_ if symbol == "or" else and_, (o.column for o in operands)))


def _not(operand: Term) -> Term:
    return operand if operand.kind is None else Term("boolean", ~operand.column)


# Numbers


def _arithmetic(symbol: str, left: Term, right: Term) -> Term:
    if left.kind is None or right.kind is None:
        return nothing()
    if left.most is not None and right.most is not None:
        found = _of_integers(symbol, left, right, left.most, right.most)
        kind = arithmetic_kind(symbol, left.kind, right.kind)
        return replace(found, kind=cast("Kind", kind))
    a, b = _double(left), _double(right)
    # What is no number, as infinity minus infinity, is null.
    return Term("number", number_or_null(_result(symbol, a, b)))


def _result(symbol: str, a: SparkColumn, b: SparkColumn) -> SparkColumn:
    match symbol:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / F.when(b != 0, b)
        case _:
            return a % F.when(b != 0, b)


def _of_integers(symbol: str, left: Term, right: Term, most_a: int, most_b: int) -> Term:
    """Exact results: long, or decimal where long may be too short."""
    if symbol == "/":
        if max(most_a, most_b) > EXACT:
            raise _Inexpressible
        return Term("number", _result("/", _double(left), _double(right)))
    if symbol == "%":
        if not (left.is_long and right.is_long):
            raise _Inexpressible
        most = min(most_a, most_b)
        return Term("number", _result("%", left.column, right.column), most=most)
    most = most_a * most_b if symbol == "*" else most_a + most_b
    if most <= LARGEST:
        return Term("number", _result(symbol, left.column, right.column), most=most)
    if most > _MOST_DECIMAL:
        raise _Inexpressible
    result = _result(symbol, _decimal(left), _decimal(right)).cast(_DECIMAL)
    return Term("number", result, most=most, is_long=False)


def _double(term: Term) -> SparkColumn:
    """Numbers as the nearest doubles."""
    if isinstance(term.value, int):
        try:
            return F.lit(float(term.value))
        except OverflowError:
            return F.lit(math.inf if term.value > 0 else -math.inf)
    return term.column.cast("double") if term.is_integer else term.column


def _decimal(term: Term) -> SparkColumn:
    if term.most is None or term.most > _MOST_DECIMAL:
        raise _Inexpressible
    return term.column.cast(_DECIMAL)


# Comparisons


def _compare(symbol: str, left: Term, right: Term) -> Term:
    if left.kind is None or right.kind is None:
        return nothing()
    if left.most is None and left.kind != "number":
        return Term("boolean", _compared(symbol, left.column, right.column))
    return Term("boolean", _compare_numbers(symbol, left, right))


def _compared(symbol: str, a: SparkColumn, b: SparkColumn) -> SparkColumn:
    match symbol:
        case "=":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case _:
            return a >= b


def _compare_numbers(symbol: str, left: Term, right: Term) -> SparkColumn:
    if left.is_integer and right.is_integer:
        if left.is_long and right.is_long:
            return _compared(symbol, left.column, right.column)
        return _compared(symbol, _decimal(left), _decimal(right))
    if right.is_integer:
        return _compare_numbers(FLIPPED[symbol], right, left)
    if left.most is None or left.most <= EXACT:
        return _compared(symbol, _double(left), _double(right))
    return _compare_mixed(symbol, left, right)


def _compare_mixed(symbol: str, whole: Term, fraction: Term) -> SparkColumn:
    """A large integer with a double, by value and not by its nearest double."""
    if isinstance(whole.value, int):
        near, then = _nearest(FLIPPED[symbol], whole.value)
        if then is None:
            return F.when(fraction.column.isNotNull(), F.lit(symbol == "!="))
        return _compared(then, fraction.column, _double(constant(near)))
    if isinstance(fraction.value, float):
        return _compare_with_double(symbol, whole, fraction.value)
    if not whole.is_long:
        raise _Inexpressible
    nearest = whole.column.cast("double")
    # Rounding keeps the order, so only where the nearest double is equal the integers decide.
    inside = F.when(fraction.column.between(-_BEYOND, _BEYOND), fraction.column)
    low = F.when(inside < _BEYOND, inside).cast("long")
    order = (
        F.when(nearest < fraction.column, F.lit(-1))
        .when(nearest > fraction.column, F.lit(1))
        .when(fraction.column >= _BEYOND, F.lit(-1))
        .when(whole.column < low, F.lit(-1))
        .when(whole.column > low, F.lit(1))
        .when(nearest == fraction.column, F.lit(0))
    )
    truth = _compared(symbol, order, F.lit(0))
    return F.when(whole.column.isNotNull(), truth)


def _nearest(symbol: str, value: int) -> tuple[float, str | None]:
    """A double to compare doubles with instead of an integer, and how; None where none is equal.

    >>> _nearest("<=", 2**53), _nearest("<=", 2**53 + 3), _nearest("=", 2**53 + 1)
    ((9007199254740992.0, '<='), (9007199254740996.0, '<'), (9007199254740992.0, None))
    """
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if near == value:
        return near, symbol
    if symbol in ("=", "!="):
        return near, None
    # No double lies between the integer and its nearest double.
    is_less = symbol in ("<", "<=")
    if near > value:
        return near, "<" if is_less else ">="
    return near, "<=" if is_less else ">"


def _compare_with_double(symbol: str, whole: Term, value: float) -> SparkColumn:
    """Integers with a constant double, as integers with the integer below or above it."""
    always = F.when(whole.column.isNotNull(), F.lit(True))
    never = F.when(whole.column.isNotNull(), F.lit(False))
    if math.isinf(value):
        is_true = symbol == "!=" or (symbol in ("<", "<=")) == (value > 0)
        return always if is_true and symbol != "=" else never
    if symbol in ("=", "!=") and not value.is_integer():
        return always if symbol == "!=" else never
    rounded = math.ceil(value) if symbol in ("<", ">=") else math.floor(value)
    return _compare_numbers(symbol, whole, constant(rounded))
