"""Predicate expressions over whole columns; the same answers as `predicates.evaluate`, row by row.

Truth has three values. Integers stay exact: where a result may pass 64 bits the operation is done
again with Python integers, and an integer is compared with a double by value and not by its nearest
double. Bounds of whole columns decide that, so ordinary data pays one look at each column for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.errors import InternalError
from hamlet.events.columns import EXACT, LARGEST, Values, joint_words, nothing
from hamlet.kernel.encode import functions
from hamlet.plan.predicates import (
    COMPARISONS,
    FUNCTIONS,
    Column,
    Constant,
    Expression,
    Operation,
    show,
)
from hamlet.plan.value_kinds import arithmetic_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hamlet.schema import Kind

    Lookup = Callable[[Column], Values]
    Mask = NDArray[np.bool_] | None

_COMPARE: dict[str, Any] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_COMPARE_TEXT = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def holds(expression: Expression, lookup: Lookup, length: int) -> NDArray[np.bool_]:
    """On which rows an expression is true."""
    values = evaluate(expression, lookup, length)
    if values.kind is None:
        return np.zeros(length, np.bool_)
    truth: NDArray[np.bool_] = values.data
    return truth if values.valid is None else truth & values.valid


def evaluate(expression: Expression, lookup: Lookup, length: int) -> Values:
    """The value of an expression on each row.

    Args:
        expression: What to evaluate.
        lookup: Gives the column of an attribute in a role, with `length` rows.
        length: The number of rows.
    """
    with np.errstate(all="ignore"):
        return _evaluate(expression, lookup, length)


def _evaluate(expression: Expression, lookup: Lookup, length: int) -> Values:
    if isinstance(expression, Column):
        return lookup(expression)
    if isinstance(expression, Constant):
        return constant(expression, length)
    operands = [_evaluate(operand, lookup, length) for operand in expression.operands]
    symbol = expression.operator
    if symbol in COMPARISONS:
        return _compare(symbol, operands[0], operands[1], expression)
    if symbol == "-" and len(operands) == 1:
        return _arithmetic("-", _zero(operands[0]), operands[0])
    if symbol in "+-*/%":
        return _arithmetic(symbol, operands[0], operands[1])
    if symbol in ("and", "or"):
        return _logic(symbol == "or", operands)
    if symbol == "not":
        return _not(operands[0])
    if symbol in ("in", "not in"):
        equal = [_compare("=", operands[0], other, expression) for other in operands[1:]]
        is_one = _logic(True, equal)
        return is_one if symbol == "in" else _not(is_one)
    if symbol in ("like", "not like"):
        fits = functions.like(operands[0], str(expression.operands[1].value))  # type: ignore[union-attr]
        return fits if symbol == "like" else _not(fits)
    if symbol in FUNCTIONS:
        return functions.function(symbol, operands)
    known = operands[0].valid
    is_null = np.zeros(length, np.bool_) if known is None else ~known
    return Values("boolean", is_null if symbol == "is null" else ~is_null)


def constant(expression: Constant, length: int) -> Values:
    """A constant on every row."""
    value = expression.value
    if value is None:
        return nothing(length)
    if isinstance(value, str):
        words = pa.array([value], pa.large_string())
        return Values("text", np.broadcast_to(np.int32(0), (length,)), None, words)
    if isinstance(value, bool):
        return Values("boolean", np.full(length, value))
    if expression.kind in ("time", "duration"):
        kind = cast("Kind", expression.kind)
        return Values(kind, np.broadcast_to(np.array(value, np.int64), (length,)))
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        return Values("number", np.full(length, value, object))
    return Values("number", np.broadcast_to(np.array(value), (length,)))


def _zero(values: Values) -> Values:
    """Nothing, of the kind of some values, which subtracted from it become negative."""
    kind = "int" if values.kind in ("number", None) else str(values.kind)
    return constant(Constant(0, kind), len(values))


def _both(one: Mask, other: Mask) -> Mask:
    if one is None or other is None:
        return other if one is None else one
    return one & other


# Numbers


def bound(data: NDArray[Any]) -> int:
    """The greatest absolute value among integers."""
    return max(int(data.max()), -int(data.min())) if len(data) else 0


def _arithmetic(symbol: str, left: Values, right: Values) -> Values:
    if left.kind is None or right.kind is None:
        return nothing(len(left))
    valid = _both(left.valid, right.valid)
    a, b = left.data, right.data
    if symbol in "/%":
        nonzero = b != 0
        if not nonzero.all():
            valid = _both(valid, nonzero.astype(np.bool_))
            b = np.where(nonzero, b, 1)
    if left.is_integer and right.is_integer:
        # Terms that were moved across a comparison may be sums of times, which only count together.
        kind = arithmetic_kind(symbol, left.kind, right.kind) or "duration"
        return Values(cast("Kind", kind), _of_integers(symbol, a, b), valid)
    result = _of_doubles(symbol, doubles(a), doubles(b))
    # What is no number, as infinity minus infinity, is null.
    is_number = ~np.isnan(result)
    return Values("number", result, valid if is_number.all() else _both(valid, is_number))


def doubles(data: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as the nearest doubles."""
    nearest: NDArray[np.float64] = data.astype(np.float64, copy=False)
    return nearest


def _of_doubles(symbol: str, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[Any]:
    match symbol:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
        case _:
            return np.fmod(a, b)


def _of_integers(symbol: str, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Exact results: 64-bit where the bounds of both sides allow, else Python integers."""
    most_a, most_b = bound(a), bound(b)
    is_small = max(most_a, most_b) <= LARGEST
    match symbol:
        case "/":
            if max(most_a, most_b) <= EXACT:
                return doubles(a) / doubles(b)
            return doubles(a.astype(object) / b.astype(object))
        case "%":
            if is_small:
                return np.fmod(a.astype(np.int64), b.astype(np.int64))
            rest = np.abs(a.astype(object)) % np.abs(b.astype(object))
            return narrow(np.where(np.less(a, 0), -rest, rest))
        case "*":
            is_small = is_small and most_a * most_b <= LARGEST
        case _:
            is_small = is_small and most_a + most_b <= LARGEST
    if not is_small:
        a, b = a.astype(object), b.astype(object)
    result = a + b if symbol == "+" else a - b if symbol == "-" else a * b
    return narrow(result)


def narrow(data: NDArray[Any]) -> NDArray[Any]:
    """Python integers as 64-bit ones, where they fit."""
    if data.dtype == object and bound(data) <= LARGEST:
        return data.astype(np.int64)
    return data


# Comparisons


def _compare(symbol: str, left: Values, right: Values, whole: Operation) -> Values:
    if left.kind is None or right.kind is None:
        return nothing(len(left))
    if left.kind != right.kind:
        reason = f"{left.kind} and {right.kind} meet in {show(whole)}"
        raise InternalError(reason)
    valid = _both(left.valid, right.valid)
    if left.kind == "text":
        return _compare_text(symbol, left, right, valid)
    return Values("boolean", _compare_data(symbol, left.data, right.data), valid)


def _compare_text(symbol: str, left: Values, right: Values, valid: Mask) -> Values:
    if not len(left.words) or not len(right.words):  # type: ignore[arg-type]
        return nothing(len(left))
    if len(right.words) == 1:  # type: ignore[arg-type]
        # One answer for each word.
        word = right.words[0].as_py()  # type: ignore[index]
        truth = _COMPARE_TEXT[symbol](left.words, word).to_numpy(zero_copy_only=False)
        return Values("boolean", truth.take(left.data), valid)
    (one, other), _ = joint_words([left, right])
    return Values("boolean", _COMPARE[symbol](one[left.data], other[right.data]), valid)


def _compare_data(symbol: str, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    kinds = {a.dtype.kind, b.dtype.kind}
    if "O" in kinds:
        truth: NDArray[Any] = _COMPARE[symbol](a.astype(object), b.astype(object))
        return truth.astype(np.bool_)
    if kinds == {"i", "f"}:
        whole, fraction = (a, b) if a.dtype.kind == "i" else (b, a)
        if bound(whole) > EXACT:
            order = _order(whole, fraction)
            signs = order if whole is a else -order
            return _COMPARE[symbol](signs, 0)  # type: ignore[no-any-return]
    return _COMPARE[symbol](a, b)  # type: ignore[no-any-return]


def _order(whole: NDArray[np.int64], fraction: NDArray[np.float64]) -> NDArray[np.int8]:
    """-1, 0 or 1 as an integer is less than, equal to or greater than a double, exactly."""
    floor = np.floor(fraction)
    inside = (floor >= -(2.0**63)) & (floor < 2.0**63)
    low = np.where(inside, floor, 0.0).astype(np.int64)
    order = (whole > low).astype(np.int8) - (whole < low)
    order = np.where((order == 0) & (fraction > floor), -1, order)
    return np.where(inside, order, np.where(fraction > 0, -1, 1)).astype(np.int8)


# Logic


def _logic(is_or: bool, operands: list[Values]) -> Values:
    """AND, or OR: decided by any operand that is false (true), unknown if any other is unknown."""
    length = len(operands[0])
    decided = np.zeros(length, np.bool_)
    known: Mask = None
    for operand in operands:
        if operand.kind is not None:
            decides = operand.data if is_or else ~operand.data
            decided |= decides if operand.valid is None else decides & operand.valid
        known = _both(known, operand.valid)
    valid = None if known is None else known | decided
    return Values("boolean", decided if is_or else ~decided, valid)


def _not(values: Values) -> Values:
    return values if values.kind is None else Values("boolean", ~values.data, values.valid)
