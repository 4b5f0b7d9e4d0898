"""Trees of conditions: what is below a node, and the expression that a tree stands for."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, assert_never

from hamlet.lang import tree
from hamlet.lang.time_literals import duration_us, moment_us
from hamlet.plan import predicates
from hamlet.plan.predicates import EVENT_TIME, Column, Constant, Operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hamlet.plan.predicates import Role

# The attribute of a variable that is its time, whatever the column of times is called.
TIME = "time"


def nodes_of(node: tree.Expression) -> Iterator[tree.Expression]:
    """A node and all below it."""
    yield node
    match node:
        case (
            tree.Negative(operand=operand)
            | tree.NotCondition(operand=operand)
            | tree.IsNull(operand=operand)
            | tree.InList(operand=operand)
            | tree.Like(operand=operand)
        ):
            yield from nodes_of(operand)
        case tree.Call(arguments=arguments):
            for argument in arguments:
                if not isinstance(argument, tree.Star):
                    yield from nodes_of(argument)
        case tree.Arithmetic(left=left, right=right) | tree.Comparison(left=left, right=right):
            yield from nodes_of(left)
            yield from nodes_of(right)
        case tree.Between(operand=operand, low=low, high=high):
            for inner in (operand, low, high):
                yield from nodes_of(inner)
        case tree.AndCondition(items=items) | tree.OrCondition(items=items):
            for item in items:
                yield from nodes_of(item)
        case _:
            pass


def converted(
    node: tree.Expression,
    roles: Mapping[tuple[str, bool], Role],
    known: Mapping[tree.Expression, predicates.Expression] = MappingProxyType({}),
) -> predicates.Expression:
    """An expression over roles instead of variables.

    Args:
        node: The tree.
        roles: By variable and whether it is in NEXT.
        known: What some nodes stand for.
    """

    def convert(inner: tree.Expression) -> predicates.Expression:
        return converted(inner, roles, known)

    if node in known:
        return known[node]
    match node:
        case tree.AttributeRef(variable=variable, attribute=attribute, is_next=is_next):
            name = EVENT_TIME if attribute.text == TIME else attribute.text
            return Column(roles[variable.text, is_next], name)
        case tree.Literal() | tree.Duration() | tree.Moment():
            return _constant(node)
        case tree.Call(function=function, arguments=arguments):
            values = tuple(
                convert(argument) for argument in arguments if not isinstance(argument, tree.Star)
            )
            return Operation(function.text.lower(), values)
        case tree.Like(operand=operand, pattern=pattern, is_negated=is_negated):
            sides = (convert(operand), _constant(pattern))
            return Operation("not like" if is_negated else "like", sides)
        case tree.Negative(operand=tree.Duration() as length):
            return _constant(replace(length, amount=-length.amount))
        case tree.Negative(operand=tree.Literal(value=int() | float() as value)):
            return Constant.of(-value)
        case tree.Negative(operand=operand):
            return Operation("-", (convert(operand),))
        case tree.Arithmetic(operator=symbol, left=left, right=right):
            return Operation(symbol, (convert(left), convert(right)))
        case tree.Comparison(operator=symbol, left=left, right=right):
            return predicates.compare(symbol, convert(left), convert(right))
        case tree.InList(operand=operand, items=items, is_negated=is_negated):
            values = tuple(_constant(item) for item in items)
            return Operation("not in" if is_negated else "in", (convert(operand), *values))
        case tree.IsNull(operand=operand, is_negated=is_negated):
            return Operation("is not null" if is_negated else "is null", (convert(operand),))
        case tree.Between(is_negated=is_negated):
            inside = Operation("and", tuple(convert(comparison) for comparison in node.comparisons))
            return Operation("not", (inside,)) if is_negated else inside
        case tree.NotCondition(operand=operand):
            return Operation("not", (convert(operand),))
        case tree.AndCondition(items=items):
            return Operation("and", tuple(convert(item) for item in items))
        case tree.OrCondition(items=items):
            return Operation("or", tuple(convert(item) for item in items))
        case tree.BareName() | tree.Equivalence():
            raise AssertionError(node)  # reported before
        case _:
            assert_never(node)


def _constant(node: tree.Literal | tree.Duration | tree.Moment) -> Constant:
    if isinstance(node, tree.Literal):
        return Constant.of(node.value)
    kind, us = (
        ("duration", duration_us(node))
        if isinstance(node, tree.Duration)
        else ("time", moment_us(node))
    )
    # Where something is wrong with it, that was reported before, and what comes of it is dropped.
    return Constant(us if isinstance(us, int) else 0, kind)
