"""Which kinds of values may meet in arithmetic and in functions, and what comes of it.

A kind is "number", "text", "boolean", "time" or "duration"; "any" where it is not known, and
"amount" where it is not known which of number, time and duration it is. Times and durations are
whole microseconds. Binding asks this table with what a query says, reading with what columns are.
"""

from __future__ import annotations

from dataclasses import dataclass

ANY = "any"
AMOUNT = "amount"
SAME = "same"
_AMOUNTS = ("number", "time", "duration")
ARITHMETIC = ("+", "-", "*", "/", "%")

_SUMS = {
    ("+", "number", "number"): "number",
    ("+", "time", "duration"): "time",
    ("+", "duration", "time"): "time",
    ("+", "duration", "duration"): "duration",
    ("-", "number", "number"): "number",
    ("-", "time", "time"): "duration",
    ("-", "time", "duration"): "time",
    ("-", "duration", "duration"): "duration",
    ("*", "number", "number"): "number",
    ("/", "number", "number"): "number",
    ("/", "duration", "duration"): "number",
    ("%", "number", "number"): "number",
}


def arithmetic_kind(symbol: str, left: str, right: str) -> str | None:
    """What an operator makes of two kinds; None where they do not go together.

    >>> arithmetic_kind("-", "time", "time"), arithmetic_kind("/", "duration", "duration")
    ('duration', 'number')
    >>> arithmetic_kind("-", "any", "time"), arithmetic_kind("-", "any", "any")
    ('duration', 'amount')
    >>> arithmetic_kind("+", "time", "time") is None
    True
    """
    possible = {
        kind
        for (operator, one, other), kind in _SUMS.items()
        if operator == symbol and _may_be(left, one) and _may_be(right, other)
    }
    if len(possible) > 1:
        return AMOUNT
    return next(iter(possible), None)


def _may_be(kind: str, one: str) -> bool:
    return kind in (one, ANY) or (kind == AMOUNT and one in _AMOUNTS)


def may_meet(left: str, right: str) -> bool:
    """Whether values of two kinds can be compared.

    >>> may_meet("amount", "duration"), may_meet("amount", "text"), may_meet("time", "number")
    (True, False, False)
    """
    return _may_be(left, right) or _may_be(right, left)


def one_of(kinds: tuple[str, ...]) -> str:
    """What is known of a value that is of one of some kinds.

    >>> one_of(("number", "duration")), one_of(("number", "text"))
    ('amount', 'any')
    """
    if len(kinds) == 1:
        return kinds[0]
    return AMOUNT if set(kinds) <= set(_AMOUNTS) else ANY


@dataclass(frozen=True, slots=True)
class Function:
    """What a function of one event's values takes and gives.

    takes: The kinds that its first value may have; with `is_list` all of its values, all of one.
    gives: A kind, or that of its values.
    has_zone: Whether the name of a time zone may stand behind the value.
    example: How it is written.
    """

    takes: tuple[str, ...]
    gives: str
    example: str
    has_zone: bool = False
    is_list: bool = False


_EVERY = ("number", "text", "boolean", "time", "duration")
FUNCTIONS = {
    "ABS": Function(("number", "duration"), SAME, "ABS(T.change)"),
    "ROUND": Function(("number",), "number", "ROUND(T.price)"),
    "LOWER": Function(("text",), "text", "LOWER(T.city)"),
    "UPPER": Function(("text",), "text", "UPPER(T.city)"),
    "COALESCE": Function(_EVERY, SAME, "COALESCE(T.price, 0)", is_list=True),
    "HOUR": Function(("time",), "number", "HOUR(T.time, 'Europe/Berlin')", has_zone=True),
    "MINUTE": Function(("time",), "number", "MINUTE(T.time)", has_zone=True),
    "WEEKDAY": Function(("time",), "number", "WEEKDAY(T.time, 'Europe/Berlin')", has_zone=True),
    "DATE": Function(("time",), "time", "DATE(T.time, 'Europe/Berlin')", has_zone=True),
}
CALLED = {
    "number": "a number",
    "text": "text",
    "boolean": "a truth value",
    "time": "a time",
    "duration": "a duration",
    AMOUNT: "a number",
}


def called(kind: str) -> str:
    """A kind in a sentence."""
    return CALLED.get(kind, "of unknown kind")
