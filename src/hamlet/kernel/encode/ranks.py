"""The two sides of a comparison as doubles that compare exactly as the values themselves do.

Doubles, truth values and integers up to 2**53 stand for themselves. Text and larger integers are
replaced by their places in the common order of both sides. A comparison that was rearranged to
f(previous) op g(next) may differ from the condition as written by a rounding. Unless every sum in
it is exact, the values of f are put in order, and the other side is the place in that order where
the condition, evaluated as written, turns from true to false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.events.columns import EXACT, Values, joint_words
from hamlet.kernel.encode.digits import bit_range, doubles_or
from hamlet.kernel.encode.evaluate import bound, doubles, evaluate, holds
from hamlet.kernel.encode.sorting import dense_codes
from hamlet.plan.predicates import Column, Expression, Operation, columns_of, roles_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hamlet.events.table import EventTable
    from hamlet.kernel.encode.evaluate import Lookup
    from hamlet.plan.predicates import EdgePredicate

    Doubles = NDArray[np.float64]
    Sides = tuple[Doubles, Doubles]


def sides_of(predicate: EdgePredicate, lookup: Lookup, length: int) -> tuple[Sides | None, bool]:
    """What each event is worth as the previous one and as the next one, comparable as they are.

    NaN where null; None where the predicate has no such form, or not exactly. With it comes whether
    these are the values themselves, and not places in an order of those that are there.
    """
    if predicate.previous is None or predicate.next is None:
        return None, False
    before = evaluate(predicate.previous, lookup, length)
    after = evaluate(predicate.next, lookup, length)
    if not predicate.is_rearranged or _is_exact(predicate.condition, lookup, length):
        are_plain = _are_plain(before, after)
        return _plain(before, after) if are_plain else _ranked(before, after), are_plain
    return _thresholds(predicate, after, lookup, length), False


def plain_attribute(predicate: EdgePredicate, table: EventTable) -> str | None:
    """The attribute that a predicate compares of both events, as it is; None for anything else."""
    before, after = predicate.previous, predicate.next
    if predicate.is_rearranged or not isinstance(before, Column) or not isinstance(after, Column):
        return None
    if before.attribute != after.attribute or not is_plain(table.column(before.attribute)):
        return None
    return before.attribute


def comparable(left: Values, right: Values) -> Sides:
    """Two columns of one kind as doubles of the same order, NaN where null."""
    return _plain(left, right) if _are_plain(left, right) else _ranked(left, right)


def _are_plain(left: Values, right: Values) -> bool:
    return is_plain(left) and (right is left or is_plain(right))


def _plain(left: Values, right: Values) -> Sides:
    """Two columns that are doubles as they are; most are one and the same."""
    one = doubles_or(left, np.nan)
    return one, one if right is left else doubles_or(right, np.nan)


def _ranked(left: Values, right: Values) -> Sides:
    """Two columns of which the places in their common order are doubles."""
    if None in (left.kind, right.kind):
        return np.full(len(left), np.nan), np.full(len(right), np.nan)
    if left.kind == "text":
        return _text_ranks(left, right)
    one, where_one = np.unique(_known(left), return_inverse=True)
    other, where_other = np.unique(_known(right), return_inverse=True)
    if one.dtype == other.dtype == np.int64:
        every = np.union1d(one, other)
        ranks = np.searchsorted(every, one), np.searchsorted(every, other)
    else:
        # Python compares integers and doubles by value; only distinct ones come here.
        order = {value: rank for rank, value in enumerate(sorted({*one.tolist(), *other.tolist()}))}
        ranks = _looked_up(order, one), _looked_up(order, other)
    return _spread(ranks[0][where_one], left), _spread(ranks[1][where_other], right)


def is_plain(values: Values) -> bool:
    """Whether the values are doubles as they are."""
    if values.kind in (None, "text"):
        return values.kind is None
    kind = values.data.dtype.kind
    return kind in "fb" or (kind == "i" and bound(values.data) <= EXACT)


def _text_ranks(left: Values, right: Values) -> Sides:
    if not len(left.words) or not len(right.words):  # type: ignore[arg-type]
        return np.full(len(left), np.nan), np.full(len(right), np.nan)
    (one, other), _ = joint_words([left, right])
    return (
        doubles_or(Values("number", one[left.data], left.valid), np.nan),
        doubles_or(Values("number", other[right.data], right.valid), np.nan),
    )


def _known(values: Values) -> NDArray[Any]:
    return values.data if values.valid is None else values.data[values.valid]


def _looked_up(order: dict[Any, int], distinct: NDArray[Any]) -> NDArray[np.int64]:
    return np.array([order[value] for value in distinct.tolist()], np.int64)


def _spread(ranks: NDArray[np.int64], values: Values) -> Doubles:
    """Ranks of the rows with a value as doubles of all rows."""
    if values.valid is None:
        return doubles(ranks)
    spread = np.full(len(values), np.nan)
    spread[values.valid] = ranks
    return spread


# Rearranged comparisons


def _terms(expression: Expression, sign: int = 1) -> Iterator[tuple[int, Expression]]:
    """The signed terms of a sum, or of both sides of a comparison of sums."""
    if isinstance(expression, Operation) and len(expression.operands) <= 2:
        operands = expression.operands
        if expression.operator in ("+", "-"):
            yield from _terms(operands[0], sign if len(operands) == 2 else -sign)
            if len(operands) == 2:
                yield from _terms(operands[1], sign if expression.operator == "+" else -sign)
            return
    yield sign, expression


def _signed_terms(comparison: Expression) -> list[tuple[int, Expression]]:
    if not isinstance(comparison, Operation):
        return []
    left, right = comparison.operands
    return [*_terms(left), *_terms(right, -1)]


def _is_exact(comparison: Expression, lookup: Lookup, length: int) -> bool:
    """Whether no sum of the terms can be rounded, in whatever order they are added.

    So it is for integers, and where the sum of the greatest terms and the lowest bit of any term
    lie within the 53 bits of a double.
    """
    terms = [evaluate(term, lookup, length) for _, term in _signed_terms(comparison)]
    if all(term.kind is None or term.is_integer for term in terms):
        return True
    most, lowest = 0.0, 1 << 20
    for term in terms:
        if term.is_integer and bound(term.data) > EXACT:
            return False
        data = doubles_or(term, 0.0)
        most += float(np.abs(data).max(initial=0.0))
        low, high = bit_range(data)
        lowest = min(lowest, low) if high > low else lowest
    return bool(np.isfinite(most)) and (most == 0.0 or np.frexp(most)[1] - lowest <= 53)


_TERM = Column("previous", "\0term")


def _with_term(expression: Expression) -> Expression:
    """The condition with its one term of the previous event replaced by a column."""
    if roles_of(expression) == {"previous"} and next(_terms(expression))[1] is expression:
        return _TERM
    if isinstance(expression, Operation) and "previous" in roles_of(expression):
        operands = tuple(_with_term(operand) for operand in expression.operands)
        return Operation(expression.operator, operands)
    return expression


def _thresholds(
    predicate: EdgePredicate, after: Values, lookup: Lookup, length: int
) -> Sides | None:
    """Ranks of f, and for each next event the rank at which the condition changes.

    Sums of doubles never decrease when a term grows, so for a fixed next event the values of a
    single term that satisfy the condition are the lower, or the upper, end of their order; for =
    they are a stretch, which can be used if it is never longer than one value.
    """
    terms = _signed_terms(predicate.condition)
    own = [(sign, term) for sign, term in terms if "previous" in roles_of(term)]
    if len(own) != 1:
        return None
    values = evaluate(own[0][1], lookup, length)
    known = _known(values)
    if known.dtype == object or not all(_is_finite(term, lookup, length) for _, term in terms):
        return None
    distinct, where = np.unique(known, return_inverse=True)
    ranks = _spread(where, values)
    finder = _Finder(predicate.condition, distinct, after, lookup, length)
    symbol = predicate.operator
    if symbol in ("<", "<="):
        changes = finder.leading(finder.comparison.operator, True)
        return ranks, finder.spread(changes if symbol == "<" else changes - 1)
    if symbol in (">", ">="):
        changes = finder.leading(finder.comparison.operator, False)
        return ranks, finder.spread(changes if symbol == ">=" else changes - 1)
    below, up_to = ("<", "<=") if own[0][0] > 0 else (">", ">=")
    first, end = finder.leading(below, True), finder.leading(up_to, True)
    if len(first) and int((end - first).max()) > 1:
        return None
    return ranks, finder.spread(np.where(end > first, first, -1))


def _is_finite(term: Expression, lookup: Lookup, length: int) -> bool:
    return bool(np.isfinite(doubles_or(evaluate(term, lookup, length), 0.0)).all())


class _Finder:
    """Finds for every distinct next event how many of the ordered values of a term satisfy."""

    def __init__(
        self,
        condition: Expression,
        distinct: NDArray[Any],
        after: Values,
        lookup: Lookup,
        length: int,
    ) -> None:
        replaced = _with_term(condition)
        assert isinstance(replaced, Operation)
        self.comparison = replaced
        self.distinct = distinct
        self.length = length
        rows = np.arange(length) if after.valid is None else np.flatnonzero(after.valid)
        self.rows = rows
        attributes = sorted({c.attribute for c in columns_of(condition) if c.role == "next"})
        columns = {name: lookup(Column("next", name)).take(rows) for name in attributes}
        self.codes, first = _distinct_rows([columns[name] for name in attributes], len(rows))
        guess = doubles(after.data[rows][first])
        # In the order of where the answer is expected, so that looking it up reads memory in order.
        self.order = np.argsort(guess)
        self.guess = guess[self.order]
        self.columns = {name: values.take(first[self.order]) for name, values in columns.items()}

    def leading(self, operator: str, is_true: bool) -> NDArray[np.int64]:
        """How many of the least values make the comparison true (or not true)."""
        everything = np.arange(len(self.guess))
        guessed = np.searchsorted(doubles(self.distinct), self.guess).astype(np.int64)
        low = np.zeros(len(guessed), np.int64)
        high = np.full(len(guessed), len(self.distinct), np.int64)
        # The answer is mostly where real numbers would have it, or next to it.
        for place in (guessed - 1, guessed, guessed + 1):
            inside = everything[(place >= low) & (place < high)]
            self._narrow(operator, is_true, inside, place[inside], low, high)
        while True:
            inside = everything[low < high]
            if not len(inside):
                return low
            middle = (low[inside] + high[inside]) // 2
            self._narrow(operator, is_true, inside, middle, low, high)

    def _narrow(
        self,
        operator: str,
        is_true: bool,
        which: NDArray[np.int64],
        place: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> None:
        """Look at one value for some next events, and move one of their two bounds."""

        def lookup(column: Column) -> Values:
            if column is _TERM:
                return Values("number", self.distinct[place])
            return self.columns[column.attribute].take(which)

        comparison = Operation(operator, self.comparison.operands)
        satisfied = holds(comparison, lookup, len(which)) == is_true
        low[which[satisfied]] = place[satisfied] + 1
        high[which[~satisfied]] = place[~satisfied]

    def spread(self, places: NDArray[np.int64]) -> Doubles:
        """What was found for distinct next events, for all events; NaN where null."""
        by_code = np.empty(len(places))
        by_code[self.order] = places
        spread = np.full(self.length, np.nan)
        spread[self.rows] = by_code[self.codes]
        return spread


def _distinct_rows(columns: list[Values], length: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    codes = np.zeros(length, np.int32)
    first: NDArray[Any] = np.zeros(min(length, 1), np.int32)
    for column in columns:
        data = column.data
        if data.dtype == object:
            data = np.unique(data, return_inverse=True)[1]
        elif data.dtype == np.float64:
            data = data.view(np.int64)
        part, some = dense_codes(data.astype(np.int64, copy=False))
        codes, first = dense_codes(codes.astype(np.int64) * max(len(some), 1) + part)
    return codes, first
