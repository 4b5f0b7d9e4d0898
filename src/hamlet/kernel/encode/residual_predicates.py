"""Edge predicates without an order, as small expressions over columns of doubles.

Whatever looks at one of the two events only is worked out ahead, on whole columns, and becomes a
column of its own. What is left for the pairs is arithmetic and comparison of doubles, with NaN for
null: no text, no large integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.errors import SchemaError
from hamlet.events.columns import EXACT
from hamlet.kernel.encode.digits import doubles_or
from hamlet.kernel.encode.evaluate import bound, evaluate
from hamlet.kernel.encode.ranks import comparable, is_plain
from hamlet.plan import predicates
from hamlet.plan.predicates import COMPARISONS, Column, Constant, Operation, roles_of, show

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.encode.evaluate import Lookup
    from hamlet.plan.predicates import Expression


class GeneralColumns:
    """The columns that general predicates need, collected while their conditions are rewritten."""

    def __init__(self, lookup: Lookup, length: int, name: str) -> None:
        self.lookup = lookup
        self.length = length
        self.name = name
        self.columns: dict[str, NDArray[np.float64]] = {}

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The columns, one in each row."""
        matrix = np.empty((len(self.columns), self.length))
        for row, column in enumerate(self.columns.values()):
            matrix[row] = column
        return matrix

    def rewrite(self, expression: Expression) -> Expression:
        """A condition over two events as one over columns of doubles."""
        roles = roles_of(expression)
        if not roles:
            value = predicates.evaluate(expression, {})
            if isinstance(value, int) and int(float(value)) != value:
                self._refuse(expression)
            return _double(value)
        if len(roles) == 1:
            return self._column(expression)
        assert isinstance(expression, Operation)
        symbol, operands = expression.operator, expression.operands
        if symbol in ("in", "not in"):
            equal = tuple(Operation("=", (operands[0], item)) for item in operands[1:])
            either = self.rewrite(equal[0] if len(equal) == 1 else Operation("or", equal))
            return either if symbol == "in" else Operation("not", (either,))
        if symbol in COMPARISONS and all(len(roles_of(operand)) == 1 for operand in operands):
            return self._comparison(expression)
        self._most(expression)
        return Operation(symbol, tuple(self.rewrite(operand) for operand in operands))

    def _column(self, expression: Expression) -> Column:
        """What looks at one event, as a column under the name of its text."""
        (role,) = roles_of(expression)
        name = show(_of_this(expression))
        if name not in self.columns:
            values = evaluate(expression, self.lookup, self.length)
            if not is_plain(values):
                self._refuse(expression)
            self.columns[name] = doubles_or(values, np.nan)
        return Column(role, name)

    def _comparison(self, comparison: Operation) -> Operation:
        """A comparison of the two events; by ranks where doubles would not do."""
        left, right = comparison.operands
        values = [evaluate(side, self.lookup, self.length) for side in (left, right)]
        if all(is_plain(side) for side in values):
            sides = (self._column(left), self._column(right))
            return Operation(comparison.operator, sides)
        among = f"{show(_of_this(left))}, {show(_of_this(right))}"
        ranked = []
        for place, (side, ranks) in enumerate(zip((left, right), comparable(*values), strict=True)):
            (role,) = roles_of(side)
            name = f"rank {place} of {among}"
            self.columns[name] = ranks
            ranked.append(Column(role, name))
        return Operation(comparison.operator, tuple(ranked))

    def _most(self, expression: Expression) -> int | None:
        """The greatest absolute value of an expression of integers; None for other expressions.

        Refuses one that may pass what doubles hold exactly.
        """
        if len(roles_of(expression)) < 2:
            values = evaluate(expression, self.lookup, self.length)
            return bound(values.data) if values.is_integer else None
        assert isinstance(expression, Operation)
        if expression.operator not in ("+", "-", "*", "%"):
            return None
        parts = [self._most(operand) for operand in expression.operands]
        if None in parts:
            return None
        known = [part for part in parts if part is not None]
        most = int(np.prod(known, dtype=object)) if expression.operator == "*" else sum(known)
        if expression.operator == "%":
            most = min(known)
        if most > EXACT:
            self._refuse(expression)
        return most

    def _refuse(self, expression: Expression) -> None:
        reason = "has integers beyond 2**53, which cannot be reckoned with between two events"
        remedy = "compare the attributes as they are, or make them smaller"
        raise SchemaError(self.name, f"{show(expression)} {reason}; {remedy}")


def _of_this(expression: Expression) -> Expression:
    """The expression with all columns those of the event itself."""
    if isinstance(expression, Column):
        return Column("this", expression.attribute)
    if isinstance(expression, Operation):
        return Operation(expression.operator, tuple(_of_this(o) for o in expression.operands))
    return expression


def _double(value: predicates.Scalar) -> Constant:
    return Constant.of(float("nan") if value is None else float(value))
