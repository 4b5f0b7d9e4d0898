"""Aggregates: what a query returns, by the names that the language has for them.

They are computed and compared with like attributes: `max_("T.p") - min_("T.p")`.
"""

from __future__ import annotations

from hamlet.lang import tree
from hamlet.lang.builder.conditions import Expression, attribute_tree
from hamlet.lang.builder.patterns import Pattern


class Aggregate(Expression):
    """An aggregate of a query; `str` is its text.

    >>> count() > 10, (max_("T.p") - min_("T.p")).named("spread")
    (<expression COUNT(*) > 10>, <result MAX(T.p) - MIN(T.p) AS spread>)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<aggregate {self}>"


def count(variable: str | Pattern | None = None) -> Aggregate:
    """How many trends there are; with a variable, how often its events occur in them.

    >>> from hamlet.build import event
    >>> count(), count("T"), count(event("order.created"))
    (<aggregate COUNT(*)>, <aggregate COUNT(T)>, <aggregate COUNT(`order.created`)>)

    Args:
        variable: An alias or a type; as `event(type)` where there is a dot in its name.
    """
    if variable is None:
        return Aggregate(tree.Call(tree.Name("COUNT"), (tree.Star(),)))
    if isinstance(variable, Pattern):
        if not isinstance(variable.tree, tree.TypePattern):
            message = f"COUNT is over one type or alias, not over {variable}"
            raise TypeError(message)
        name = variable.tree.alias or variable.tree.type
        return Aggregate(tree.Call(tree.Name("COUNT"), (tree.BareName(name),)))
    return _aggregate("COUNT", variable)


def sum_(attribute: str | Expression) -> Aggregate:
    """The sum of an attribute over all events of a variable in all trends: `SUM(T.duration)`."""
    return _aggregate("SUM", attribute)


def avg(attribute: str | Expression) -> Aggregate:
    """That sum divided by the number of those events: `AVG(T.speed)`."""
    return _aggregate("AVG", attribute)


def min_(attribute: str | Expression) -> Aggregate:
    """The least value of an attribute of an event that is in a trend: `MIN(T.speed)`."""
    return _aggregate("MIN", attribute)


def max_(attribute: str | Expression) -> Aggregate:
    """The greatest value of an attribute of an event that is in a trend: `MAX(T.speed)`."""
    return _aggregate("MAX", attribute)


def stddev(attribute: str | Expression) -> Aggregate:
    """The standard deviation, as of a sample, over the events that AVG is over: `STDDEV(T.x)`."""
    return _aggregate("STDDEV", attribute)


def variance(attribute: str | Expression) -> Aggregate:
    """The variance, as of a sample, over the events that AVG is over: `VARIANCE(T.x)`."""
    return _aggregate("VARIANCE", attribute)


def _aggregate(function: str, argument: str | Expression) -> Aggregate:
    attribute = argument.tree if isinstance(argument, Expression) else attribute_tree(argument)
    match attribute:
        case tree.BareName() | tree.AttributeRef(is_next=False):
            return Aggregate(tree.Call(tree.Name(function), (attribute,)))
    message = f"{function} is over an attribute such as 'T.speed', not over {argument}"
    raise TypeError(message)
