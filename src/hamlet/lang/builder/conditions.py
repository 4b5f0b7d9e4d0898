"""Conditions: attributes with Python's operators, which make trees instead of values.

`and`, `or`, `not` and `a < b < c` ask for a truth value at once, which only events could give, so
they are refused with what to write instead: `&`, `|`, `~` and brackets around each comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from numbers import Integral, Real
from typing import Any, NoReturn

from hamlet.lang import tree
from hamlet.lang.builder.durations import duration_tree
from hamlet.lang.printer import print_condition, print_item

Value = bool | int | float | str | datetime | date | timedelta | None


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An attribute, or what was made of attributes and values; `str` is its text.

    >>> (attr("T.speed") < 10) | ~(attr("T.zone") == "harbour")
    <expression T.speed < 10 OR NOT T.zone = 'harbour'>
    >>> attr("T.speed") * 2 - 1 >= next_("T.speed")
    <expression T.speed * 2 - 1 >= NEXT(T).speed>
    """

    tree: tree.Expression

    # Comparisons are part of a query, so two expressions are never equal or in one set.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return print_condition(self.tree)

    def __repr__(self) -> str:
        return f"<expression {self}>"

    def __eq__(self, other: Expression | Value) -> Expression:  # type: ignore[override]
        return _compared("=", self, other)

    def __ne__(self, other: Expression | Value) -> Expression:  # type: ignore[override]
        return _compared("!=", self, other)

    def __lt__(self, other: Expression | Value) -> Expression:
        return _compared("<", self, other)

    def __le__(self, other: Expression | Value) -> Expression:
        return _compared("<=", self, other)

    def __gt__(self, other: Expression | Value) -> Expression:
        return _compared(">", self, other)

    def __ge__(self, other: Expression | Value) -> Expression:
        return _compared(">=", self, other)

    def __add__(self, other: Expression | Value) -> Expression:
        return _computed("+", self, other)

    def __radd__(self, other: Value) -> Expression:
        return _computed("+", other, self)

    def __sub__(self, other: Expression | Value) -> Expression:
        return _computed("-", self, other)

    def __rsub__(self, other: Value) -> Expression:
        return _computed("-", other, self)

    def __mul__(self, other: Expression | Value) -> Expression:
        return _computed("*", self, other)

    def __rmul__(self, other: Value) -> Expression:
        return _computed("*", other, self)

    def __truediv__(self, other: Expression | Value) -> Expression:
        return _computed("/", self, other)

    def __rtruediv__(self, other: Value) -> Expression:
        return _computed("/", other, self)

    def __mod__(self, other: Expression | Value) -> Expression:
        return _computed("%", self, other)

    def __rmod__(self, other: Value) -> Expression:
        return _computed("%", other, self)

    def __neg__(self) -> Expression:
        return Expression(tree.Negative(self.tree))

    def __and__(self, other: Expression) -> Expression:
        return all_of(self, _condition(other))

    def __rand__(self, other: object) -> NoReturn:
        _condition(other)
        raise AssertionError  # an expression would have been asked itself

    def __or__(self, other: Expression) -> Expression:
        return Expression(tree.OrCondition(_flat(tree.OrCondition, (self, _condition(other)))))

    __ror__ = __rand__

    def __invert__(self) -> Expression:
        return Expression(tree.NotCondition(self.tree))

    def __bool__(self) -> NoReturn:
        message = (
            f"{self} is true or false of events only; write & for and, | for or, ~ for not, "
            "and each comparison in brackets: (a < b) & (b < c)"
        )
        raise TypeError(message)

    def is_in(self, *values: Value) -> Expression:
        """Whether it equals one of some values: `T.zone IN (1, 2)`.

        >>> attr("T.zone").is_in(1, 2), ~attr("T.kind").is_in("Pool")
        (<expression T.zone IN (1, 2)>, <expression NOT T.kind IN ('Pool')>)
        """
        return self._listed(values, is_negated=False)

    def is_not_in(self, *values: Value) -> Expression:
        """Whether it has a value that is none of these: `T.zone NOT IN (1, 2)`."""
        return self._listed(values, is_negated=True)

    def between(self, low: Expression | Value, high: Expression | Value) -> Expression:
        """Whether it is between two values, both included: `T.x BETWEEN 1 AND 9`.

        >>> attr("T.x").between(1, 9)
        <expression T.x BETWEEN 1 AND 9>
        """
        return Expression(tree.Between(self.tree, expression_tree(low), expression_tree(high)))

    def not_between(self, low: Expression | Value, high: Expression | Value) -> Expression:
        """Whether it has a value below the one or above the other: `T.x NOT BETWEEN 1 AND 9`."""
        limits = expression_tree(low), expression_tree(high)
        return Expression(tree.Between(self.tree, *limits, is_negated=True))

    def like(self, pattern: str) -> Expression:
        """Whether text has a form, in which % is any text and _ one character.

        >>> attr("T.city").like("San%")
        <expression T.city LIKE 'San%'>
        """
        return Expression(tree.Like(self.tree, tree.Literal(pattern)))

    def not_like(self, pattern: str) -> Expression:
        """Whether there is text that has not this form: `T.city NOT LIKE 'San%'`."""
        return Expression(tree.Like(self.tree, tree.Literal(pattern), is_negated=True))

    def __abs__(self) -> Expression:
        return _called("ABS", self)

    def __round__(self) -> Expression:
        return _called("ROUND", self)

    def lower(self) -> Expression:
        """Text in small letters: `LOWER(T.city)`."""
        return _called("LOWER", self)

    def upper(self) -> Expression:
        """Text in capital letters: `UPPER(T.city)`."""
        return _called("UPPER", self)

    def hour(self, zone: str | None = None) -> Expression:
        """The hour of a time, in UTC or a zone.

        >>> attr("T.time").hour("Europe/Berlin") < 6, abs(attr("T.x")) > 2, round(attr("T.x"))
        (<expression HOUR(T.time, 'Europe/Berlin') < 6>, <expression ABS(T.x) > 2>, \
<expression ROUND(T.x)>)
        """
        return _called("HOUR", self, zone)

    def minute(self, zone: str | None = None) -> Expression:
        """The minute of a time, in UTC or a zone."""
        return _called("MINUTE", self, zone)

    def weekday(self, zone: str | None = None) -> Expression:
        """The day of the week of a time, 1 for Monday, in UTC or a zone."""
        return _called("WEEKDAY", self, zone)

    def date(self, zone: str | None = None) -> Expression:
        """The day of a time, in UTC or a zone."""
        return _called("DATE", self, zone)

    def named(self, name: str) -> Named:
        """It as a result of a query, under a name: `AVG(T.speed) AS speed`.

        >>> from hamlet.build import avg
        >>> avg("T.speed").named("speed")
        <result AVG(T.speed) AS speed>
        """
        return Named(tree.ResultItem(self.tree, tree.Name(name)))

    def is_null(self) -> Expression:
        """Whether it has no value: `T.zone IS NULL`."""
        return Expression(tree.IsNull(self.tree))

    def is_not_null(self) -> Expression:
        """Whether it has a value: `T.zone IS NOT NULL`."""
        return Expression(tree.IsNull(self.tree, is_negated=True))

    def _listed(self, values: tuple[Value, ...], is_negated: bool) -> Expression:
        items = tuple(_literal(value) for value in values)
        return Expression(tree.InList(self.tree, items, is_negated))


@dataclass(frozen=True, slots=True)
class Named:
    """What a query returns under a name; `str` is its text."""

    tree: tree.ResultItem

    def named(self, name: str) -> Named:
        """The same under another name."""
        return Named(replace(self.tree, alias=tree.Name(name)))

    def __str__(self) -> str:
        return print_item(self.tree)

    def __repr__(self) -> str:
        return f"<result {self}>"


def attr(name: str, attribute: str | None = None) -> Expression:
    """An attribute of a variable: `T.speed`.

    >>> attr("T.speed"), attr("T", "speed"), attr("order.created", "price")
    (<expression T.speed>, <expression T.speed>, <expression `order.created`.price>)

    Args:
        name: The variable and the attribute with a dot between them, or the variable alone.
        attribute: The attribute, where the variable is given alone.
    """
    return Expression(attribute_tree(name, attribute))


def next_(name: str, attribute: str | None = None) -> Expression:
    """An attribute of the event after: `NEXT(T).speed`; the arguments are those of `attr`.

    >>> attr("T.speed") < next_("T.speed")
    <expression T.speed < NEXT(T).speed>
    """
    bare = attribute_tree(name, attribute)
    if isinstance(bare, tree.BareName):
        message = f"next_ needs a variable and an attribute: next_('T.{name}')"
        raise ValueError(message)
    return Expression(tree.AttributeRef(bare.variable, bare.attribute, is_next=True))


def equal(*attributes: str) -> Expression:
    """Attributes that are equal on all events of a trend: `[driver, rider]`.

    >>> equal("driver", "rider") & (attr("T.speed") < 10)
    <expression [driver, rider] AND T.speed < 10>
    """
    return Expression(tree.Equivalence(tuple(map(tree.Name, attributes))))


def coalesce(first: Expression | Value, *others: Expression | Value) -> Expression:
    """The first of some values that is not null.

    >>> coalesce(attr("T.price"), 0) > 5
    <expression COALESCE(T.price, 0) > 5>
    """
    values = tuple(expression_tree(value) for value in (first, *others))
    return Expression(tree.Call(tree.Name("COALESCE"), values))


def attribute_tree(name: str, attribute: str | None = None) -> tree.AttributeRef | tree.BareName:
    """The tree of an attribute; without a variable it is one that is refused when it is read."""
    if attribute is not None:
        return tree.AttributeRef(tree.Name(name), tree.Name(attribute))
    match name.split("."):
        case [alone]:
            return tree.BareName(tree.Name(alone))
        case [variable, of_it]:
            return tree.AttributeRef(tree.Name(variable), tree.Name(of_it))
    first, _, last = name.rpartition(".")
    message = f"{name!r} has several dots; give two names, such as attr({first!r}, {last!r})"
    raise ValueError(message)


def all_of(first: Expression, *others: Expression) -> Expression:
    """Conditions joined by AND; what is joined by AND already becomes part of the whole."""
    conditions = tuple(map(_condition, (first, *others)))
    if not others:
        return first
    return Expression(tree.AndCondition(_flat(tree.AndCondition, conditions)))


def expression_tree(value: Expression | Value) -> tree.Expression:
    """The tree of an expression or of a value; a minus stands before a number, as in text."""
    if isinstance(value, Expression):
        return value.tree
    if isinstance(value, timedelta) and value < timedelta(0):
        return tree.Negative(_literal(-value))
    if isinstance(value, date | timedelta):
        return _literal(value)
    plain = _plain(value)
    if isinstance(plain, int | float) and not isinstance(plain, bool) and plain < 0:
        return tree.Negative(tree.Literal(-plain))
    return tree.Literal(plain)


def _literal(value: Any) -> tree.Literal | tree.Duration | tree.Moment:
    """A value as it is written out: times, days and durations of Python as those of queries."""
    if isinstance(value, timedelta):
        return duration_tree(value, "a condition")
    if isinstance(value, datetime):
        return tree.Moment(tree.Name("TIMESTAMP"), value.isoformat(" "))
    if isinstance(value, date):
        return tree.Moment(tree.Name("DATE"), value.isoformat())
    return tree.Literal(_plain(value))


def _called(function: str, value: Expression, zone: str | None = None) -> Expression:
    more = () if zone is None else (tree.Literal(zone),)
    return Expression(tree.Call(tree.Name(function), (value.tree, *more)))


def _plain(value: Any) -> bool | int | float | str | None:
    """A value as a literal holds it: numbers of other libraries become Python's own."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value) or 0.0  # there is one zero
    message = (
        f"{value!r} cannot be written in a query; values are numbers, text, times, "
        "durations, True, False, None"
    )
    raise TypeError(message)


def _compared(operator: str, left: Expression, right: Expression | Value) -> Expression:
    return Expression(tree.Comparison(operator, left.tree, expression_tree(right)))


def _computed(operator: str, left: Expression | Value, right: Expression | Value) -> Expression:
    return Expression(tree.Arithmetic(operator, expression_tree(left), expression_tree(right)))


def _condition(value: object) -> Expression:
    if isinstance(value, Expression):
        return value
    message = f"{value!r} is no condition; write brackets around each: (a < 1) & (b < 2)"
    raise TypeError(message)


def _flat(
    kind: type[tree.AndCondition | tree.OrCondition], conditions: tuple[Expression, ...]
) -> tuple[tree.Expression, ...]:
    """Trees of the conditions, those that are of this kind themselves taken apart."""
    items: list[tree.Expression] = []
    for condition in conditions:
        items += condition.tree.items if isinstance(condition.tree, kind) else (condition.tree,)
    return tuple(items)
