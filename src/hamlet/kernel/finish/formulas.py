"""Expressions over aggregates: what RETURN computes and HAVING asks, for many rows at once.

Truth has three values, as in conditions on events; a row stays where HAVING is true.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.plan.predicates import COMPARISONS, Column, Constant, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from hamlet.kernel.finish.quantities import Quantities
    from hamlet.plan.predicates import Expression

    Bools = NDArray[np.bool_]

_ARITHMETIC: dict[str, Callable[[Quantities, Quantities], Quantities]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_COMPARED: dict[str, Callable[[Any, int], Bools]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def computed(expression: Expression, aggregates: Mapping[str, Quantities]) -> Quantities:
    """The numbers that an expression over aggregates, given by name, is."""
    match expression:
        case Column(attribute=name):
            return aggregates[name]
        case Constant(value=int() | float() as value):
            return next(iter(aggregates.values())).constant(value)
        case Operation(operator="-", operands=(only,)):
            return -computed(only, aggregates)
        case Operation(operator=symbol, operands=(left, right)):
            return _ARITHMETIC[symbol](computed(left, aggregates), computed(right, aggregates))
    raise AssertionError(expression)  # refused before


class Truth(NamedTuple):
    """Where a condition is true, and where it is false; elsewhere it is unknown."""

    is_true: Bools
    is_false: Bools

    def negated(self) -> Truth:
        """Where it does not hold."""
        return Truth(self.is_false, self.is_true)

    def either(self, other: Truth) -> Truth:
        """Where one of two holds."""
        return Truth(self.is_true | other.is_true, self.is_false & other.is_false)


def truth_of(condition: Expression, aggregates: Mapping[str, Quantities]) -> Truth:
    """Where a condition on aggregates, given by name, holds."""

    def truth(inner: Expression) -> Truth:
        return truth_of(inner, aggregates)

    match condition:
        case Constant(value=value):
            return Truth(np.array([value is True]), np.array([value is False]))
        case Operation(operator="not", operands=(inner,)):
            return truth(inner).negated()
        case Operation(operator="or", operands=(first, *others)):
            truths = truth(first)
            for inner in others:
                truths = truths.either(truth(inner))
            return truths
        case Operation(operator="and", operands=(first, *others)):
            truths = truth(first).negated()
            for inner in others:
                truths = truths.either(truth(inner).negated())
            return truths.negated()
        case Operation(operator="in" | "not in" as symbol, operands=(left, *values)):
            truths, *more = (truth(Operation("=", (left, value))) for value in values)
            for each in more:
                truths = truths.either(each)
            return truths if symbol == "in" else truths.negated()
        case Operation(operator="is null" | "is not null" as symbol, operands=(inner,)):
            is_known = computed(inner, aggregates).is_known
            truths = Truth(~is_known, is_known)
            return truths if symbol == "is null" else truths.negated()
        case Operation(operator=symbol, operands=(left, right)) if symbol in COMPARISONS:
            sign, is_known = computed(left, aggregates).compared(computed(right, aggregates))
            holds = _COMPARED[symbol](sign, 0)
            return Truth(holds & is_known, ~holds & is_known)
    raise AssertionError(condition)  # refused before
