"""A query as the steps of a loop that is written by hand for it, or why there is none.

Loops answer sequences of single and repeated types with absences between them, conditions on single
events, one condition on neighbours of a repeated type, and all aggregates of attributes that are
never null. Anything else raises `NotByHand`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hamlet.plan.query import Absence, Match, Repeat, Sequence, Single

if TYPE_CHECKING:
    from hamlet.plan.predicates import EdgePredicate
    from hamlet.plan.query import Aggregate, Query


class NotByHand(Exception):
    """A query that is not of a form that a loop is written for; says why."""


@dataclass(slots=True)
class Step:
    """A place of a sequence: repeated or not, with a condition on neighbours.

    bar: The place of the type that may not come between this step and the next one.
    """

    place: int
    repeats: bool = False
    edge: EdgePredicate | None = None
    bar: int | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """What is added up along trends: 1, or an attribute, at the events of some steps."""

    attribute: str | None
    steps: frozenset[int]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least (sign 1) or greatest (sign -1) value of an attribute at events of some steps."""

    sign: int
    attribute: str
    steps: frozenset[int]


@dataclass(slots=True)
class Form:
    """A query as a list of steps, and what is computed for it."""

    steps: list[Step] = field(default_factory=list)
    first_bar: int | None = None
    totals: list[Total] = field(default_factory=list)
    extremes: list[Extreme] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Numbers of one step in one window: of trends, totals, extremes."""
        return 1 + len(self.totals) + len(self.extremes)

    @property
    def bars(self) -> list[int]:
        """Places of types that may not come in between, each once for each step that has it."""
        bars = [step.bar for step in self.steps if step.bar is not None]
        return bars if self.first_bar is None else [*bars, self.first_bar]


# From query to form


def form_of(query: Query) -> Form:
    """The steps of a query, or the reason why there is no loop for it."""
    if query.is_conjunction:
        raise NotByHand("AND joins two patterns")
    if query.match != Match.ANY:
        raise NotByHand("it keeps some trends only")
    form = Form()
    for item in _items(query.branches[0]):
        _add(form, query, item)
    if sum(step.edge is not None for step in form.steps) > 1:
        raise NotByHand("two conditions on neighbours")
    for aggregate in query.aggregates:
        _add_aggregate(form, aggregate)
    return form


def _items(pattern: Any) -> tuple[Any, ...]:
    return pattern.items if isinstance(pattern, Sequence) else (pattern,)


def _add(form: Form, query: Query, item: Any) -> None:
    if isinstance(item, Absence):
        negated = query.negations[item.negation]
        if not isinstance(negated, Single):
            raise NotByHand("NOT of more than a type")
        if not form.steps:
            form.first_bar = negated.place
        elif form.steps[-1].bar is None:
            form.steps[-1].bar = negated.place
        else:
            raise NotByHand("two NOT in one place")
        return
    body = item.body if isinstance(item, Repeat) else item
    if not isinstance(body, Single):
        raise NotByHand("a pattern inside a pattern")
    form.steps.append(Step(body.place, isinstance(item, Repeat), _edge(query, body.place)))


def _edge(query: Query, place: int) -> EdgePredicate | None:
    """The condition on two neighbours at one place; those between places have no loop."""
    for pair, numbers in query.adjacent:
        if numbers and pair[0] != pair[1]:
            raise NotByHand("a condition on neighbours of two types")
        if numbers and pair == (place, place):
            (number,) = numbers if len(numbers) == 1 else (None,)
            predicate = None if number is None else query.edge_predicates[number]
            if predicate is None or not predicate.is_ordered:
                raise NotByHand("a condition on neighbours that is not f(one) op g(next)")
            return predicate
    return None


def _add_aggregate(form: Form, aggregate: Aggregate) -> None:
    if aggregate.counts_trends:
        return
    if aggregate.measure is not None:
        reason = f"it asks for {aggregate.function}({aggregate.measure})"
        raise NotByHand(reason)
    steps = frozenset(i for i, step in enumerate(form.steps) if step.place in aggregate.places)
    if aggregate.sign:
        _once(form.extremes, Extreme(aggregate.sign, str(aggregate.attribute), steps))
        return
    if aggregate.attribute is None or "present" in aggregate.weights:
        _once(form.totals, Total(None, steps))
    if aggregate.is_summed:
        _once(form.totals, Total(aggregate.attribute, steps))


def _once(entries: list[Any], entry: Any) -> None:
    if entry not in entries:
        entries.append(entry)
