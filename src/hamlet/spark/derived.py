"""Attributes that Spark derives for edge predicates, so that fewer columns travel.

In `T.a + 2 * T.b < NEXT(T).c - NEXT(T).d` each side looks at one event. Spark computes it before
Python sees a row, and two columns travel instead of four. The plan is rewritten to match: such an
expression becomes a column under a name of its own, the same in all queries and for both events.

A derived column is worth on each row what `kernel/evaluate.py` would make of the expression there.
Integers that may pass 64 bits are left to Python. What is derived never takes more columns than it
replaces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from hamlet.events.required_columns import needs_of
from hamlet.plan.predicates import (
    EVENT_TIME,
    Column,
    Operation,
    columns_of,
    edge_predicate,
    roles_of,
    show,
)
from hamlet.spark.expressions import number_of
from hamlet.spark.letters import is_bit_column, over_bits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Column as SparkColumn

    from hamlet.plan.predicates import EdgePredicate, Expression
    from hamlet.plan.template import PlannedQuery
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.events import EventFrame
    from hamlet.spark.kinds import Term
    from hamlet.spark.letter_columns import LetterColumns

_DERIVED = "\0derived "
_ARITHMETIC = ("+", "-", "*", "/", "%")


@dataclass(frozen=True, slots=True)
class Derived:
    """A plan whose edge predicates look at derived attributes.

    terms: What these are, by their names.
    """

    plan: WorkloadPlan
    terms: Mapping[str, Term]

    def shipped(self, events: EventFrame, attribute: str, *, is_key: bool) -> SparkColumn:
        """An attribute as workers get it, derived or as events have it."""
        term = self.terms.get(attribute)
        return events.shipped(attribute, is_key=is_key) if term is None else term.column

    def fields(self) -> list[pa.Field]:
        """The derived attributes, as Arrow has them."""
        return [
            pa.field(name, pa.int64() if term.is_integer else pa.float64())
            for name, term in self.terms.items()
        ]


def with_derived(
    plan: WorkloadPlan, letters: LetterColumns, together: Iterable[Sequence[int]]
) -> Derived:
    """The same plan, with derived attributes where they make no more columns than there were.

    Args:
        plan: The plan, not yet over bits.
        letters: The letters of the events: conditions that have bits need no columns.
        together: The queries whose rows travel together, by number.
    """
    finder = _Finder(letters.events)
    for planned in plan.queries:
        for predicate in planned.query.edge_predicates:
            finder.look_at(predicate.condition)
    if not finder.terms:
        return Derived(plan, {})
    over = over_bits(plan, letters.lettering)
    queries = list(plan.queries)
    used: set[str] = set()
    for numbers in together:
        everything = tuple(_over(over.queries[number], finder.terms) for number in numbers)
        needed = needs_of(replace(over, queries=everything)).attributes
        others = {name for name in needed if not is_derived(name) and not is_bit_column(name)}
        candidates = {name: finder.columns[name] for name in needed if is_derived(name)}
        chosen = _paying(candidates, others)
        used |= chosen
        for number in numbers:
            queries[number] = _over(queries[number], chosen)
    terms = {name: term for name, term in finder.terms.items() if name in used}
    return Derived(replace(plan, queries=tuple(queries)), terms)


def derived_name(text: str) -> str:
    """The name of the column of an expression.

    >>> is_derived(derived_name("a + b")), is_derived("a + b")
    (True, False)
    """
    return f"{_DERIVED}({text})"


def is_derived(name: str) -> bool:
    """Whether a column is derived."""
    return name.startswith(_DERIVED)


class _Finder:
    """Finds the largest expressions on one event that Spark can compute.

    Attributes:
        terms: By the names that they get.
        columns: The attributes that they look at.
    """

    def __init__(self, events: EventFrame) -> None:
        self._term = cache(events.expressible)
        self.terms: dict[str, Term] = {}
        self.columns: dict[str, frozenset[str]] = {}

    def look_at(self, expression: Expression) -> None:
        """Find those in an expression."""
        if not isinstance(expression, Operation):
            return
        if _is_of_one_event(expression):
            name = _name(expression)
            if name in self.terms:
                return
            # The time of an event travels in any case.
            columns = (column.attribute for column in columns_of(expression))
            attributes = frozenset(name for name in columns if name != EVENT_TIME)
            term = number_of(expression, self._term)
            if term is not None:
                self.terms[name], self.columns[name] = term, attributes
                return
        for operand in expression.operands:
            self.look_at(operand)


def _paying(candidates: Mapping[str, frozenset[str]], others: Collection[str]) -> set[str]:
    """The derived attributes that are no more than the attributes which then stay behind.

    Those that look at a common attribute are taken together, or not at all: it stays behind only if
    none of them needs it.

    Args:
        candidates: For each derived attribute what it is made of.
        others: The attributes that travel all the same.
    """
    chosen: set[str] = set()
    for names, attributes in _linked(candidates, others):
        if len(names) <= len(attributes):
            chosen |= names
    return chosen


def _linked(
    candidates: Mapping[str, frozenset[str]], others: Collection[str]
) -> Iterator[tuple[set[str], set[str]]]:
    """Derived attributes by what links them, and the attributes that only they look at."""
    linked: list[tuple[set[str], set[str]]] = []
    for name, made_of in candidates.items():
        names, attributes = {name}, set(made_of.difference(others))
        apart = []
        for each in linked:
            if attributes & each[1]:
                names |= each[0]
                attributes |= each[1]
            else:
                apart.append(each)
        linked = [*apart, (names, attributes)]
    yield from linked


# Plans over derived attributes


def _over(planned: PlannedQuery, wanted: Collection[str]) -> PlannedQuery:
    query = planned.query
    predicates = tuple(_predicate(each, wanted) for each in query.edge_predicates)
    return replace(planned, query=replace(query, edge_predicates=predicates))


def _predicate(predicate: EdgePredicate, wanted: Collection[str]) -> EdgePredicate:
    """The same predicate; terms are moved anew, so that both of its forms have the same columns."""
    condition = _rewritten(predicate.condition, wanted)
    return predicate if condition == predicate.condition else edge_predicate(condition)


def _rewritten(expression: Expression, wanted: Collection[str]) -> Expression:
    if not isinstance(expression, Operation):
        return expression
    if _is_of_one_event(expression):
        name = _name(expression)
        if name in wanted:
            (role,) = roles_of(expression)
            return Column(role, name)
    operands = tuple(_rewritten(operand, wanted) for operand in expression.operands)
    return Operation(expression.operator, operands)


def _is_of_one_event(expression: Operation) -> bool:
    """Whether it is arithmetic that looks at one of the two events."""
    return expression.operator in _ARITHMETIC and len(roles_of(expression)) == 1


def _name(expression: Expression) -> str:
    return derived_name(show(_of_this(expression)))


def _of_this(expression: Expression) -> Expression:
    """The expression with its columns those of the event itself, their names in quotes.

    Without quotes the product of a column called "a + b" would be called like a sum.
    """
    if isinstance(expression, Column):
        quoted = expression.attribute.replace("`", "``")
        return Column("this", f"`{quoted}`")
    if isinstance(expression, Operation):
        return Operation(expression.operator, tuple(map(_of_this, expression.operands)))
    return expression
