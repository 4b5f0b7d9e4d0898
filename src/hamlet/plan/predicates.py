"""Predicate expressions without variables or positions, and the shape of each edge predicate.

An expression looks at columns of one event (role "this") or of two adjacent events of a trend
(roles "previous" and "next"). Two predicates that say the same of the same columns are equal
values, however they were written, which is what lets queries share atoms.

Truth has three values, as in SQL: a comparison with null is unknown, and only true satisfies. A
value that is neither true nor false is unknown where a condition is wanted.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from numbers import Rational
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hamlet.plan import local_times, value_kinds
from hamlet.plan.durations import show_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Role = Literal["this", "previous", "next"]
Scalar = int | float | str | bool | None

# The attribute that stands for the time of an event, whatever its column is called.
EVENT_TIME = "\0time"

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
FUNCTIONS = frozenset(name.lower() for name in value_kinds.FUNCTIONS)
FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute of the event in a role."""

    role: Role
    attribute: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value; its kind is part of it, so that 1, 1.0 and TRUE differ.

    Of times ("time") and durations ("duration") the value is microseconds.
    """

    value: Scalar
    kind: str

    @staticmethod
    def of(value: Scalar) -> Constant:
        """A constant of the kind of a Python value."""
        return Constant(value, type(value).__name__)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator over operands: arithmetic, comparison, logic, "in", "like" or "is null".

    Functions are operators called by their names in small letters.
    """

    operator: str
    operands: tuple[Expression, ...]


Expression = Column | Constant | Operation


@dataclass(frozen=True, slots=True)
class EdgePredicate:
    """What must hold between two adjacent events of a trend.

    Where it has the form f(previous) op g(next), an ordered index answers it; otherwise `previous`
    and `next` are None and every earlier event has to be looked at. A rearranged one equals
    `condition` over real numbers; where columns are floating-point, a kernel that uses the form to
    find candidates still decides by `condition`.
    """

    condition: Expression
    operator: str = ""
    previous: Expression | None = None
    next: Expression | None = None
    is_rearranged: bool = False

    @property
    def is_ordered(self) -> bool:
        """Whether it is a comparison f(previous) op g(next)."""
        return self.previous is not None

    @property
    def direction(self) -> str:
        """Which way it goes: < or >, whether or not equals are let in, or its own operator.

        Those that go one way may agree on most events, as with other thresholds they do.
        """
        return {"<=": "<", ">=": ">"}.get(self.operator, self.operator)

    @property
    def is_directed(self) -> bool:
        """Whether with the value of an event all that are less will do as well, or all greater."""
        return self.is_ordered and self.direction in ("<", ">")


def columns_of(expression: Expression) -> Iterator[Column]:
    """Every column an expression looks at, in reading order, with repetitions."""
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Operation):
        for operand in expression.operands:
            yield from columns_of(operand)


def with_columns(expression: Expression, others: Mapping[Column, Column]) -> Expression:
    """An expression with other columns in the place of some."""
    if isinstance(expression, Column):
        return others.get(expression, expression)
    if isinstance(expression, Operation):
        operands = tuple(with_columns(operand, others) for operand in expression.operands)
        return Operation(expression.operator, operands)
    return expression


def roles_of(expression: Expression) -> frozenset[Role]:
    """The roles an expression looks at."""
    return frozenset(column.role for column in columns_of(expression))


def compare(symbol: str, left: Expression, right: Expression) -> Operation:
    """A comparison, with a lone constant on the right so that equal ones are equal values.

    >>> show(compare(">", Constant.of(10), Column("this", "speed")))
    'speed < 10'
    """
    if not roles_of(left) and roles_of(right):
        return Operation(FLIPPED[symbol], (right, left))
    return Operation(symbol, (left, right))


def all_of(parts: list[Expression]) -> Expression | None:
    """The conjunction of some conditions, without repetitions and in a stable order.

    >>> a, b = Column("this", "a"), Column("this", "b")
    >>> all_of([a, b, a]) == all_of([b, a])
    True
    """
    distinct = set(parts)
    if len(distinct) > 1:
        return Operation("and", tuple(sorted(distinct, key=show)))
    return next(iter(distinct), None)


def exclude_each_other(one: Expression | None, other: Expression | None) -> bool:
    """Whether two conditions on an event can be seen never to hold together.

    Seen are comparisons of one column with constants, and a truth value with its negation.

    >>> x = Column("this", "x")
    >>> late, in_time = compare(">", x, Constant.of(15)), compare("<=", x, Constant.of(15))
    >>> exclude_each_other(late, in_time), exclude_each_other(late, late)
    (True, False)
    """
    if one is None or other is None:
        return False
    return any(_exclude(a, b) for a in conjuncts(one) for b in conjuncts(other))


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """What a condition joins by AND."""
    if isinstance(condition, Operation) and condition.operator == "and":
        return tuple(part for operand in condition.operands for part in conjuncts(operand))
    return (condition,)


def _exclude(one: Expression, other: Expression) -> bool:
    if Operation("not", (one,)) == other or Operation("not", (other,)) == one:
        return True
    match one, other:
        case (
            Operation(operator=first, operands=(Column() as column, Constant() as low)),
            Operation(operator=second, operands=(Column() as same, Constant() as high)),
        ) if column == same and first in COMPARISONS and second in COMPARISONS:
            if _kind(low) != _kind(high) or None in (low.value, high.value):
                return False
            one_side, other_side = _Limits.of(first, low.value), _Limits.of(second, high.value)
            return one_side.is_below(other_side) or other_side.is_below(one_side)
    return False


def _kind(constant: Constant) -> str:
    return "number" if constant.kind in ("int", "float") else constant.kind


class _Limits(NamedTuple):
    """From where to where values satisfy a comparison, None for no end, and without which ends."""

    low: Any
    high: Any
    excluded: bool

    @staticmethod
    def of(symbol: str, value: Any) -> _Limits:
        if symbol == "!=":
            return _Limits(None, None, False)
        low = None if symbol in ("<", "<=") else value
        high = None if symbol in (">", ">=") else value
        return _Limits(low, high, symbol in ("<", ">"))

    def is_below(self, other: _Limits) -> bool:
        if self.high is None or other.low is None:
            return False
        are_apart = self.excluded or other.excluded
        return bool(self.high < other.low or (self.high == other.low and are_apart))


# Edge predicates


def edge_predicate(condition: Expression) -> EdgePredicate:
    """Recognise f(previous) op g(next), moving terms across the comparison where that takes it.

    >>> after, before = Column("next", "x"), Column("previous", "x")
    >>> gap = Operation("-", (after, before))
    >>> show_edge(edge_predicate(compare("<", gap, Constant.of(5))))
    'previous.x > next.x - 5'
    """
    if not isinstance(condition, Operation) or condition.operator not in COMPARISONS:
        return EdgePredicate(condition)
    left, right = condition.operands
    symbol = condition.operator
    if roles_of(left) == {"previous"} and roles_of(right) == {"next"}:
        return EdgePredicate(condition, symbol, left, right)
    if roles_of(left) == {"next"} and roles_of(right) == {"previous"}:
        return EdgePredicate(condition, FLIPPED[symbol], right, left)
    return _rearranged(condition)


def _rearranged(condition: Operation) -> EdgePredicate:
    """Collect the terms of the event before on the left and all others on the right."""
    left, right = condition.operands
    terms = [*_terms(left, 1), *_terms(right, -1)]
    before = [(sign, term) for sign, term in terms if roles_of(term) == {"previous"}]
    others = [(sign, term) for sign, term in terms if "previous" not in roles_of(term)]
    if len(before) + len(others) < len(terms) or not before:
        return EdgePredicate(condition)
    if not any(roles_of(term) for _, term in others) or any(_is_not_a_number(t) for _, t in terms):
        return EdgePredicate(condition)
    symbol = condition.operator
    if before[0][0] < 0:
        symbol = FLIPPED[symbol]
        before = [(-sign, term) for sign, term in before]
    else:
        others = [(-sign, term) for sign, term in others]
    return EdgePredicate(condition, symbol, _sum(before), _sum(others), is_rearranged=True)


def _terms(expression: Expression, sign: int) -> Iterator[tuple[int, Expression]]:
    """The signed terms of a sum."""
    if isinstance(expression, Operation) and expression.operator in ("+", "-"):
        operands = expression.operands
        yield from _terms(operands[0], sign if len(operands) == 2 else -sign)
        if len(operands) == 2:
            yield from _terms(operands[1], sign if expression.operator == "+" else -sign)
    else:
        yield sign, expression


def _is_not_a_number(term: Expression) -> bool:
    return isinstance(term, Constant) and term.kind not in ("int", "float", "time", "duration")


def _sum(terms: list[tuple[int, Expression]]) -> Expression:
    """Signed terms as one expression, a positive term first where there is one."""
    terms = sorted(terms, key=lambda pair: (-pair[0], not roles_of(pair[1])))
    sign, total = terms[0]
    if sign < 0:
        total = Operation("-", (total,))
    for sign, term in terms[1:]:
        total = Operation("+" if sign > 0 else "-", (total, term))
    return total


# Text

_LEVELS = {"or": 1, "and": 2, "not": 3, "in": 4, "not in": 4, "is null": 4, "is not null": 4}
_LEVELS |= {"like": 4, "not like": 4}
_LEVELS |= {symbol: 4 for symbol in COMPARISONS} | {"+": 5, "-": 5, "*": 6, "/": 6, "%": 6}


def show(expression: Expression, place: int = 0) -> str:
    """An expression as text; columns of the event itself stand without a role."""
    if isinstance(expression, Column):
        name = "time" if expression.attribute == EVENT_TIME else expression.attribute
        return name if expression.role == "this" else f"{expression.role}.{name}"
    if isinstance(expression, Constant):
        return _show_constant(expression)
    symbol, operands = expression.operator, expression.operands
    if symbol in FUNCTIONS:
        return f"{symbol.upper()}({', '.join(map(show, operands))})"
    level = _LEVELS[symbol]
    if symbol in ("in", "not in"):
        values = ", ".join(show(operand) for operand in operands[1:])
        text = f"{show(operands[0], 5)} {symbol.upper()} ({values})"
    elif symbol in ("is null", "is not null"):
        text = f"{show(operands[0], 5)} {symbol.upper()}"
    elif len(operands) == 1 and symbol in ("not", "-"):
        text = ("NOT " if symbol == "not" else "-") + show(operands[0], 7 if symbol == "-" else 3)
        level = 6 if symbol == "-" else level
    else:
        word = symbol.upper() if symbol in ("and", "or", "like", "not like") else symbol
        first = show(operands[0], level if level > 4 else level + 1)
        text = f" {word} ".join([first, *(show(operand, level + 1) for operand in operands[1:])])
    return f"({text})" if level < place else text


def show_edge(predicate: EdgePredicate) -> str:
    """An edge predicate as text, in the form it will be answered in."""
    if predicate.previous is None or predicate.next is None:
        return show(predicate.condition)
    return f"{show(predicate.previous, 5)} {predicate.operator} {show(predicate.next, 5)}"


def _show_constant(constant: Constant) -> str:
    value = constant.value
    if isinstance(value, int) and constant.kind == "duration":
        return show_duration(value)
    if isinstance(value, int) and constant.kind == "time":
        return show_time(value)
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def show_time(ts: int) -> str:
    """A time as it is written in a query, in UTC where the calendar of Python has it.

    >>> show_time(1_500_000)
    "TIMESTAMP '1970-01-01 00:00:01.500000'"
    """
    shown = (datetime(1970, 1, 1) + timedelta(microseconds=ts)).isoformat(" ")
    return f"TIMESTAMP '{shown}'"


# Meaning


def holds(expression: Expression, events: Mapping[Role, Mapping[str, Any]]) -> bool:
    """Whether an expression is true of some events, one for each role it mentions.

    >>> slow = compare("<", Column("this", "speed"), Constant.of(10))
    >>> holds(slow, {"this": {"speed": 7}}), holds(slow, {"this": {"speed": None}})
    (True, False)
    """
    return evaluate(expression, events) is True


def evaluate(expression: Expression, events: Mapping[Role, Mapping[str, Any]]) -> Any:
    """The value of an expression; None stands for null and for unknown.

    Slow and plain: it is what compiled and vectorised evaluations are tested against.
    """
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Column):
        return events[expression.role].get(expression.attribute)
    values = [evaluate(operand, events) for operand in expression.operands]
    return _MEANINGS[expression.operator](values)


def _strict(function: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """Null where any operand is null."""
    return lambda values: None if any(v is None for v in values) else function(*values)


def _arithmetic(function: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """Null also where the result is no number, as infinity minus infinity."""

    def numeric(*values: Any) -> Any:
        result = function(*values)
        return None if isinstance(result, float) and math.isnan(result) else result

    return _strict(numeric)


def _subtract(left: Any, right: Any = None) -> Any:
    return -left if right is None else left - right


def _divide(left: Any, right: Any) -> Any:
    return None if right == 0 else left / right


def _remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend, as in SQL; null where there is none."""
    if right == 0:
        return None
    if isinstance(left, Rational) and isinstance(right, Rational):
        rest: Any = abs(left) % abs(right)  # type: ignore[operator]
        return -rest if left < 0 else rest
    if math.isinf(left):
        return None
    return math.fmod(left, right)


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _and(values: list[Any]) -> bool | None:
    return _not(_or([_not(value) for value in values]))


def _or(values: list[Any]) -> bool | None:
    truths = [_truth(value) for value in values]
    if True in truths:
        return True
    return None if None in truths else False


def _in(values: list[Any]) -> Any:
    return _or([None if None in (values[0], value) else values[0] == value for value in values[1:]])


def like_pattern(pattern: str) -> re.Pattern[str]:
    """What a whole text has to match: % is any text, _ is one character, all else is itself.

    >>> bool(like_pattern("a_c%").fullmatch("abcd")), bool(like_pattern("a.c").fullmatch("abc"))
    (True, False)
    """
    signs = {"%": ".*", "_": "."}
    return re.compile("".join(signs.get(sign, re.escape(sign)) for sign in pattern), re.DOTALL)


def _like(text: str, pattern: str) -> bool:
    return like_pattern(pattern).fullmatch(text) is not None


def round_half_away(value: float) -> float:
    """The nearest whole number, of two equally near ones the one further from zero.

    >>> round_half_away(2.5), round_half_away(-2.5), round_half_away(0.49999999999999994)
    (3.0, -3.0, 0.0)
    """
    if isinstance(value, int) or math.isinf(value):
        return value
    whole = math.trunc(value)
    away = abs(value - whole) >= 0.5
    return float(whole + int(math.copysign(1, value)) * away)


def _not(value: Any) -> bool | None:
    truth = _truth(value)
    return None if truth is None else not truth


# Texts that are made of one text each, wherever conditions are evaluated
OF_TEXT: Mapping[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}

_MEANINGS: dict[str, Callable[[list[Any]], Any]] = {
    "+": _arithmetic(operator.add),
    "-": _arithmetic(_subtract),
    "*": _arithmetic(operator.mul),
    "/": _arithmetic(_divide),
    "%": _arithmetic(_remainder),
    "=": _strict(operator.eq),
    "!=": _strict(operator.ne),
    "<": _strict(operator.lt),
    "<=": _strict(operator.le),
    ">": _strict(operator.gt),
    ">=": _strict(operator.ge),
    "and": _and,
    "or": _or,
    "not": lambda values: _not(values[0]),
    "in": _in,
    "not in": lambda values: _not(_in(values)),
    "is null": lambda values: values[0] is None,
    "is not null": lambda values: values[0] is not None,
    "like": _strict(_like),
    "not like": lambda values: _not(_strict(_like)(values)),
    "abs": _strict(abs),
    "round": _strict(round_half_away),
    **{name: _strict(function) for name, function in OF_TEXT.items()},
    "coalesce": lambda values: next((value for value in values if value is not None), None),
    "hour": _strict(local_times.hour),
    "minute": _strict(local_times.minute),
    "weekday": _strict(local_times.weekday),
    "date": _strict(local_times.date),
}
