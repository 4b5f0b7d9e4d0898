"""Results straight from the definition: every trend is written down, then the trends are added up.

Slow, short and never optimised: it is the answer that everything faster is compared with, so it
uses no template and no plan, only the query itself. A trend grows by one event at a time, in every
way its pattern allows; `steps` says which ways those are and is the whole meaning of a pattern.
Time and memory grow like 2 to the number of events: meant for streams of a score of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hamlet.plan.aggregates import DURATION, LENGTH
from hamlet.plan.predicates import EVENT_TIME, Constant, Operation, evaluate, holds
from hamlet.plan.query import (
    OTHER,
    Absence,
    Aggregate,
    Choice,
    Match,
    Pattern,
    Query,
    Repeat,
    Sequence,
    Single,
    Times,
    asked_types,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Sequence as Listed
    from decimal import Decimal

    from hamlet.plan.predicates import Expression, Role

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One aggregate of a query over one window and group.

    `value` is exact: an integer where the attribute is one, a fraction for averages and other sums,
    for MIN and MAX the attribute itself. `exact` has the digits of counts and of integer sums, and
    of what is computed from these without division.
    """

    query: str
    window_start_us: int
    window_end_us: int
    group: tuple[tuple[str, Any], ...]
    aggregate: str
    value: int | float | Fraction | None
    exact: str | None


def run_reference(
    queries: Listed[Query],
    events: Iterable[Mapping[str, Any]],
    *,
    type_column: str = "type",
    time_column: str = "time",
    order_column: str | None = None,
) -> list[ResultRow]:
    """The rows of every query, by query and window; groups come in the order of the events.

    Args:
        queries: Bound queries.
        events: Rows in any order; an attribute that a row does not have is null.
        type_column: Where a row has its type.
        time_column: Where a row has its time: a number of seconds, or a datetime (UTC where it
            does not say).
        order_column: What orders rows of equal time; a row without a value comes first.
    """
    rows = list(events)
    asked = asked_types(queries)

    def type_of(row: Mapping[str, Any]) -> str:
        name = row[type_column]
        return OTHER if OTHER in asked and name not in asked else name

    known = [
        Event((_microseconds(row[time_column]), _order(row, order_column)), type_of(row), row)
        for row in rows
        if row.get(type_column) is not None and row.get(time_column) is not None
    ]
    fractional = {
        attribute
        for row in rows
        for attribute, value in row.items()
        if value is not None and not isinstance(value, int)
    }
    return [result for query in queries for result in _results(query, known, fractional)]


# Events


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A row and where it stands; two equal rows are still two events."""

    position: tuple[int, tuple[Any, ...]]
    type: str
    row: Mapping[str, Any]

    @property
    def ts(self) -> int:
        """Its time in microseconds."""
        return self.position[0]

    def is_before(self, other: Event) -> bool:
        """Whether it comes strictly before another: neither of two simultaneous events does."""
        return self.position < other.position

    @property
    def known(self) -> Mapping[str, Any]:
        """What conditions see of it: times, its own among them, as microseconds."""
        row = {name: _as_time(value) for name, value in self.row.items()}
        return {**row, EVENT_TIME: self.ts}

    def values(self, attributes: tuple[str, ...]) -> tuple[Any, ...]:
        """Its values of some attributes."""
        return tuple(self.row.get(attribute) for attribute in attributes)


Trend = tuple[Event, ...]


def _microseconds(time: float | Decimal | datetime) -> int:
    """A time as integer microseconds since the epoch.

    >>> _microseconds(-1.5), _microseconds(datetime(1970, 1, 1, 0, 1))
    (-1500000, 60000000)
    """
    if isinstance(time, datetime):
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    return round(Fraction(time) * 1_000_000)


def _as_time(value: Any) -> Any:
    """A value, a timestamp or date as microseconds."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return _microseconds(value) if isinstance(value, datetime) else value


def _order(row: Mapping[str, Any], order_column: str | None) -> tuple[Any, ...]:
    """What decides between rows of equal time: nothing, or the value of the order column."""
    value = None if order_column is None else row.get(order_column)
    return () if value is None else (value,)


# Patterns

# What remains to be matched; and which aggregates count an event, for each event of a trend.
Rest = tuple[Pattern | Absence, ...]
Marks = tuple[tuple[int, ...], ...]
MarkedTrends = dict[Trend, Marks]


@dataclass(frozen=True, slots=True)
class Step:
    """One more event of a match: the absences crossed on the way, its place, and what remains."""

    absences: tuple[int, ...]
    place: int
    rest: Rest


def steps(rest: Rest) -> Iterator[Step]:
    """Every way in which the next event may go on with what remains to be matched.

    It belongs to the first item, or that item takes no event and it belongs to what comes after.
    P+ is P, or P and then P+ again:

    >>> for step in steps((Absence(0), Repeat(Single(5)))):
    ...     print(step.absences, step.place, step.rest)
    (0,) 5 ()
    (0,) 5 (Repeat(body=Single(place=5)),)
    """
    if not rest:
        return
    item, after = rest[0], rest[1:]
    for step in _into(item):
        yield Step(step.absences, step.place, (*step.rest, *after))
    for absences in passes((item,)):
        for step in steps(after):
            yield Step((*absences, *step.absences), step.place, step.rest)


def _into(item: Pattern | Absence) -> Iterator[Step]:
    """Every way in which the next event may be the first of a match of one item."""
    match item:
        case Single(place=place):
            yield Step((), place, ())
        case Sequence(items=items):
            yield from steps(items)
        case Choice(items=items):
            for one in items:
                yield from _into(one)
        case Repeat(body=body):
            for step in _into(body):
                yield step
                yield Step(step.absences, step.place, (*step.rest, item))
        case Times(copies=copies):
            for step in _into(copies[0]):
                yield Step(step.absences, step.place, (*step.rest, *_after_one(item)))
            # A match of nothing at no price stands for any later one: what follows it could have
            # been that match itself, at the places whose neighbours conditions are known for.
            empty = () if len(copies) == 1 else tuple(_passes_of(copies[0]))
            for absences in empty if () not in empty else ():
                for step in steps(_after_one(item)):
                    yield Step((*absences, *step.absences), step.place, step.rest)


def _after_one(item: Times) -> Rest:
    """What remains of a counted repetition after its first match."""
    if len(item.copies) == 1:
        return (Times(item.copies, 0, None),) if item.most is None else ()
    most = None if item.most is None else item.most - 1
    return (Times(item.copies[1:], max(item.least - 1, 0), most),)


def passes(rest: Rest) -> Iterator[tuple[int, ...]]:
    """Every way in which no event at all matches what remains, as the absences that it crosses."""
    if not rest:
        yield ()
        return
    for first in _passes_of(rest[0]):
        for others in passes(rest[1:]):
            yield (*first, *others)


def _passes_of(item: Pattern | Absence) -> Iterator[tuple[int, ...]]:
    match item:
        case Absence(negation=negation):
            yield (negation,)
        case Sequence(items=items):
            yield from passes(items)
        case Choice(items=items):
            for one in items:
                yield from _passes_of(one)
        case Repeat(body=body):
            yield from _passes_of(body)
        case Times(copies=copies, least=least):
            yield from passes(copies[:least])


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a pattern has matched some events so far.

    It knows the place of the last event, what remains to be matched, and for each event which
    aggregates count it at its place.
    """

    marks: Marks
    last: int | None
    rest: Rest


@dataclass(frozen=True, slots=True)
class Partition:
    """The events of one window and partition, and from where to where a NOT is violated.

    `violations` has, for each negation, the first and last event of every match of it.
    """

    query: Query
    events: tuple[Event, ...]
    violations: tuple[frozenset[tuple[Event, Event]], ...] = ()

    def trends(self, pattern: Pattern, match: Match = Match.ANY) -> MarkedTrends:
        """Every trend of a pattern that is kept, with the mark of each of its events.

        All ways of matching one trend are followed side by side, so it is found once.
        """
        marked: MarkedTrends = {}

        def extend(trend: Trend, ways: set[Way]) -> None:
            complete = {way.marks for way in ways if self._is_complete(trend, way)}
            if complete:
                # All ways agree on the marks, or the query would have been refused.
                (marked[trend],) = complete
            going_on: dict[Event, set[Way]] = {}
            for event in self.events:
                if not trend or trend[-1].is_before(event):
                    further = {more for way in ways for more in self._further(trend, way, event)}
                    if further:
                        going_on[event] = further
            for event, further in going_on.items():
                if not trend or self._is_kept(trend[-1], event, match, going_on):
                    extend((*trend, event), further)

        extend((), {Way((), None, (pattern,))})
        return marked

    def _is_kept(
        self, before: Event, after: Event, match: Match, going_on: Iterable[Event]
    ) -> bool:
        """Whether a step skips nothing that must not be: what could go on, or anything."""
        if match == Match.ANY:
            return True
        barring = going_on if match == Match.NEXT else self.events
        return not any(before.is_before(each) and each.is_before(after) for each in barring)

    def _further(self, trend: Trend, way: Way, event: Event) -> Iterator[Way]:
        """The ways on which an event may follow."""
        before = trend[-1] if trend else None
        for step in steps(way.rest):
            if (
                self._fits(event, step.place)
                and self._may_follow(before, way.last, event, step.place)
                and all(self._is_absent(number, before, event) for number in step.absences)
            ):
                marks = (*way.marks, self.query.mark(step.place))
                yield Way(marks, step.place, step.rest)

    def _is_complete(self, trend: Trend, way: Way) -> bool:
        """Whether what remains takes no event, its absences holding up to the end of the window."""
        return bool(trend) and any(
            all(self._is_absent(number, trend[-1], None) for number in absences)
            for absences in passes(way.rest)
        )

    def _fits(self, event: Event, place: int) -> bool:
        """Whether an event has the type and satisfies the local predicates of a place."""
        condition = self.query.local[place]
        return event.type == self.query.places[place].type and (
            condition is None or holds(condition, {"this": event.known})
        )

    def _may_follow(self, before: Event | None, last: int | None, event: Event, place: int) -> bool:
        """Whether all edge predicates hold between two adjacent events at their places."""
        if before is None or last is None:
            return True
        numbers = dict(self.query.adjacent).get((last, place), ())
        return all(
            holds(
                self.query.edge_predicates[number].condition,
                {"previous": before.known, "next": event.known},
            )
            for number in numbers
        )

    def _is_absent(self, negation: int, before: Event | None, after: Event | None) -> bool:
        """Whether no match of a negation lies between two events, or the ends of the window."""
        return not any(
            (before is None or before.is_before(first)) and (after is None or last.is_before(after))
            for first, last in self.violations[negation]
        )


def _partition(query: Query, events: tuple[Event, ...]) -> Partition:
    bare = Partition(query, events)
    matches = [bare.trends(negated) for negated in query.negations]
    return Partition(query, events, tuple(frozenset((t[0], t[-1]) for t in m) for m in matches))


# Windows and groups


def _results(query: Query, events: list[Event], fractional: set[str]) -> Iterator[ResultRow]:
    types = {place.type for place in query.places}
    taking_part = [e for e in events if e.type in types and None not in e.values(query.partition)]
    for start, end in sorted({w for event in taking_part for w in _windows(query, event.ts)}):
        inside = [event for event in taking_part if start <= event.ts < end]
        for group, members in _split(inside, query.group_by).items():
            trends = _weighted_trends(query, members)
            for name, value, exact in _returned(query, trends, fractional) if trends else ():
                yield ResultRow(
                    query=query.name,
                    window_start_us=start,
                    window_end_us=end,
                    group=tuple(zip(query.group_by, group, strict=True)),
                    aggregate=name,
                    value=value,
                    exact=exact,
                )


def _windows(query: Query, ts: int) -> Iterator[tuple[int, int]]:
    """The starts and ends of all windows that a time is in."""
    within, slide, offset = query.window.lengths_us
    zone = query.window.clock.zone
    around = range((ts - offset - within) // slide - 1, (ts - offset) // slide + 3)
    for begin in (offset + i * slide for i in around):
        bounds = begin, begin + within
        start, end = bounds if zone is None else (_midnight(zone, bound) for bound in bounds)
        if start <= ts < end:
            yield start, end


def _midnight(zone: str, bound: int) -> int:
    """Midnight of a day, given as if it were in UTC, in a zone."""
    day = (_EPOCH + timedelta(microseconds=bound)).date()
    return _microseconds(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)))


def _split(events: list[Event], attributes: tuple[str, ...]) -> dict[tuple[Any, ...], list[Event]]:
    """Events by their values of some attributes."""
    parts: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        parts.setdefault(event.values(attributes), []).append(event)
    return parts


@dataclass(frozen=True, slots=True)
class Weighted:
    """A trend, the marks of its events, and how many times it counts."""

    trend: Trend
    marks: Marks
    weight: int


def _weighted_trends(query: Query, members: list[Event]) -> list[Weighted]:
    """The trends of one window and group: each counts once, or with AND once for each pair."""
    partitions = [
        _partition(query, tuple(events)) for events in _split(members, query.partition).values()
    ]
    sides: list[MarkedTrends] = [{} for _ in query.branches]
    for side, branch in zip(sides, query.branches, strict=True):
        for part in partitions:
            side |= part.trends(branch, query.match)
    together = {trend: marks for side in sides for trend, marks in side.items()}
    if query.is_conjunction:
        one, other = sides
        weights = {trend: _partners(trend, one, other, together) for trend in together}
    else:
        weights = dict.fromkeys(together, 1)
    return [Weighted(t, marks, weights[t]) for t, marks in together.items() if weights[t]]


def _partners(trend: Trend, one: MarkedTrends, other: MarkedTrends, together: MarkedTrends) -> int:
    """With how many different trends it makes a pair, one from each side."""
    if trend in one and trend in other:
        return len(together) - 1
    return len(other) if trend in one else len(one)


# Results


def _returned(
    query: Query, trends: list[Weighted], fractional: set[str]
) -> Iterator[tuple[str, int | float | Fraction | None, str | None]]:
    """The name, value and digits of all that is returned for at least one trend, if it is kept."""
    values = {
        each.name: _value(query, number, trends, each.attribute in fractional)
        for number, each in enumerate(query.aggregates)
    }
    row: dict[Role, dict[str, Any]] = {
        "this": {name: _fraction(value) for name, value in values.items()}
    }
    if query.having is not None and not holds(_in_fractions(query.having), row):
        return
    for result in query.returned:
        aggregate = result.aggregate_of(query)
        if aggregate is not None:
            value = values[aggregate.name]
            yield result.name, value, _digits(aggregate, value)
            continue
        value = evaluate(_in_fractions(result.expression), row)
        whole = {str(each.attribute) for each in query.aggregates} - fractional
        if value is None or not query.has_digits(result.expression, whole):
            yield result.name, value, None
        else:
            yield result.name, int(value), str(int(value))


def _fraction(value: int | float | Fraction | None) -> Fraction | float | None:
    """A value to compute with exactly; infinities stay what they are."""
    return value if value is None or value in (math.inf, -math.inf) else Fraction(value)


def _in_fractions(expression: Expression) -> Expression:
    """An expression whose numbers are fractions, so that nothing is rounded."""
    match expression:
        case Constant(value=int() | float() as value) if not isinstance(value, bool):
            return Constant(Fraction(value), "fraction")  # type: ignore[arg-type]
        case Operation(operator=operator, operands=operands):
            return Operation(operator, tuple(map(_in_fractions, operands)))
    return expression


# Aggregates


def _value(
    query: Query, number: int, trends: list[Weighted], is_fractional: bool
) -> int | float | Fraction | None:
    """The value of an aggregate, given by its number, over at least one trend."""
    aggregate = query.aggregates[number]
    if aggregate.function == "COUNT" and not aggregate.places:
        total = sum(one.weight for one in trends)
        return total // 2 if query.is_conjunction else total  # a pair is counted by both its trends
    occurrences = [
        (event, one.weight)
        for one in trends
        for event, mark in zip(one.trend, one.marks, strict=True)
        if number in mark
    ]
    if aggregate.measure is not None:
        measured = [(_measure(aggregate.measure, one.trend), one.weight) for one in trends]
        return _of_attribute(aggregate.function, measured, aggregate.measure == DURATION)
    if aggregate.function == "COUNT":
        return sum(weight for _, weight in occurrences)
    pairs = [(event.row.get(str(aggregate.attribute)), weight) for event, weight in occurrences]
    known = [(value, weight) for value, weight in pairs if value is not None]
    return _of_attribute(aggregate.function, known, is_fractional) if known else None


def _measure(measure: str, trend: Trend) -> int | Fraction:
    """How many events a trend has, or how many seconds it takes."""
    if measure == LENGTH:
        return len(trend)
    return Fraction(trend[-1].ts - trend[0].ts, 10**6)


def _of_attribute(
    function: str, known: list[tuple[Any, int]], is_fractional: bool
) -> int | float | Fraction | None:
    """An aggregate of values, each with the number of times it occurs."""
    if function in ("MIN", "MAX"):
        values: list[int | float] = [value for value, _ in known]
        return min(values) if function == "MIN" else max(values)
    total = sum(Fraction(value) * weight for value, weight in known)
    count = sum(weight for _, weight in known)
    if function == "AVG":
        return Fraction(total) / count
    if function in ("VARIANCE", "STDDEV"):
        if count < 2:
            return None
        mean = Fraction(total) / count
        squares = [(Fraction(value) - mean) ** 2 * weight for value, weight in known]
        variance = sum(squares, start=Fraction(0)) / (count - 1)
        return variance if function == "VARIANCE" else _root(variance)
    return Fraction(total) if is_fractional else int(total)


def _root(number: Fraction) -> float:
    """The square root of a fraction, from one that is close to it."""
    unit = 1 << 400
    return float(Fraction(math.isqrt(int(number * unit * unit)), unit))


def _digits(aggregate: Aggregate, value: int | float | Fraction | None) -> str | None:
    """The digits of a count or an integer sum."""
    is_whole = aggregate.function in ("COUNT", "SUM") and isinstance(value, int)
    return str(value) if is_whole else None
