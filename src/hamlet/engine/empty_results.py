"""Why a query has no rows, found out by asking again without one thing at a time.

The same events answer the query without each of its conditions, without each NOT, without HAVING,
and over longer windows, all of these together as one workload. Whatever gives rows by being left
out is what stood in the way; where nothing alone does, what all conditions leave over says more.
This is done only where a query has no rows, and costs a run or two more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hamlet.errors import HamletError, counted, did_you_mean, listed
from hamlet.events.times import SECONDS
from hamlet.kernel.encode.evaluate import holds
from hamlet.plan.durations import LONGEST_US, show_duration
from hamlet.plan.matching import matched_templates
from hamlet.plan.positions import TooComplex, positions_of
from hamlet.plan.predicates import (
    EVENT_TIME,
    Column,
    all_of,
    columns_of,
    conjuncts,
    show,
    with_columns,
)
from hamlet.plan.query import (
    OTHER,
    Absence,
    Choice,
    Match,
    Repeat,
    Sequence,
    Times,
    Window,
    show_pattern,
)
from hamlet.plan.template import PlannedQuery
from hamlet.plan.workload import plan_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from hamlet.events.columns import Values
    from hamlet.events.table import EventTable
    from hamlet.events.times import Times as GivenTimes
    from hamlet.plan.predicates import EdgePredicate, Expression
    from hamlet.plan.query import Pattern, Query
    from hamlet.plan.workload import WorkloadPlan

    Rows = NDArray[np.intp]
    # How many rows each query of a workload has over some events
    Counting = Callable[[WorkloadPlan, EventTable], list[int]]

# So many empty queries are looked into; others are only named.
_MOST_QUERIES = 3
# So many events, the earliest, answer again: without a condition a query may take very much longer.
_MOST_EVENTS = 20_000
# Numbers of seconds beyond this (the year 4000) are more likely milliseconds.
_LATEST_S = 64_060_588_800


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of all events, of which a table may have some only.

    types: All types that they have.
    events: How many there are.
    first: The earliest time, in microseconds; None where there is none.
    times: What times are given in.
    """

    types: frozenset[str]
    events: int
    first: int | None
    times: GivenTimes

    @staticmethod
    def of(table: EventTable) -> Seen:
        """What a table that has all events tells."""
        words = table.types.words.to_pylist() if table.types.words is not None else ()
        first = int(table.ts.min()) if len(table) else None
        return Seen(frozenset(words), len(table), first, table.times)


def odd_events(plan: WorkloadPlan, seen: Seen) -> list[str]:
    """What is odd about events and names, whatever the results are."""
    return [*absent_types(plan, seen), *_odd_times(seen), *_odd_aliases(plan, seen)]


def absent_types(plan: WorkloadPlan, seen: Seen) -> list[str]:
    """A sentence on types that queries ask for and no event has: they may be misspelt."""
    asked = (place.type for planned in plan.queries for place in planned.query.places)
    absent = [each for each in dict.fromkeys(asked) if each not in seen.types and each != OTHER]
    if not absent or not seen.events:
        return []
    # Where types that no query mentions are all one, their names are not known.
    known = seen.types - {OTHER}
    there = [*sorted(known), *(["others"] if OTHER in seen.types else [])]
    guess = did_you_mean(absent[0], known) if len(absent) == 1 else ""
    return [f"no event has type {listed(absent)}; there are {listed(there)}.{guess}"]


def _odd_times(seen: Seen) -> list[str]:
    if seen.times != SECONDS or seen.first is None or seen.first <= _LATEST_S * 10**6:
        return []
    return [
        f"times are numbers of seconds, and {seen.first // 10**6} is thousands of years away: "
        "if they are milliseconds, divide them by 1000"
    ]


def _odd_aliases(plan: WorkloadPlan, seen: Seen) -> list[str]:
    notes = []
    for planned in plan.queries:
        query = planned.query
        aliases = {place.alias: place.name for place in query.places if place.alias in seen.types}
        for alias, name in aliases.items():
            notes.append(
                f"{query.name}: {name} {alias} is one event of type {name} that is called {alias}, "
                f"and there are events of type {alias}: for one after the other write a comma"
            )
    return notes


def queries_to_explain(plan: WorkloadPlan, sizes: list[int], seen: Seen) -> list[Query]:
    """The queries without rows, but for those of a type that no event has: that is noted once."""
    empty = [planned.query for planned, size in zip(plan.queries, sizes, strict=True) if not size]
    return [each for each in empty if all(_type(each, p) in seen.types for p in _needed(each))]


def why_empty(
    plan: WorkloadPlan,
    table: EventTable,
    sizes: list[int],
    count: Counting,
    seen: Seen | None = None,
) -> list[str]:
    """A sentence for each query without rows.

    Args:
        plan: The workload.
        table: The events, or the earliest of them.
        sizes: How many rows each query has.
        count: Runs another workload over some of the events.
        seen: What is known of all events, where the table has some only.
    """
    seen = seen or Seen.of(table)
    if not seen.events:
        return ["there are no events"] if not all(sizes) else []
    empty = queries_to_explain(plan, sizes, seen)
    reasons = ((query.name, _reason(query, table, count, seen)) for query in empty[:_MOST_QUERIES])
    notes = [f"{name} has no rows: {reason}" for name, reason in reasons]
    more = [query.name for query in empty[_MOST_QUERIES:]]
    return [*notes, f"no rows either: {listed(more)}"] if more else notes


def _reason(query: Query, table: EventTable, count: Counting, seen: Seen) -> str:
    lacking = _lacking(query, table)
    if lacking is not None:
        return lacking + _of_how_many(table, seen)
    some = table.earliest(_MOST_EVENTS)
    try:
        return _blamed(query, some, count) + _of_how_many(some, seen)
    except (HamletError, TooComplex):
        # The query has been answered; another one that cannot be is nobody's mistake.
        return "each of its places has events"


def _of_how_many(some: EventTable, seen: Seen) -> str:
    return f" (over the first {len(some):,} events)" if len(some) < seen.events else ""


def _blamed(query: Query, some: EventTable, count: Counting) -> str:
    blamed = _rows_without(query, some, count)
    blames = [f"without {what} it would have {counted(rows, 'row')}" for what, rows in blamed]
    return "; ".join(blames) or _structure(query, some, count)


# Places that no event comes to


def _lacking(query: Query, table: EventTable) -> str | None:
    """The first place that every trend needs and no event comes to."""
    words = table.types.words.to_pylist() if table.types.words is not None else []
    for place in _needed(query):
        asked = query.places[place]
        if asked.type not in words:
            return f"there is no event of type {asked.name}"
        rows = np.flatnonzero(table.types.data == words.index(asked.type))
        events = f"{counted(len(rows), 'event')} of type {asked.name}"
        condition = query.local[place]
        if condition is not None:
            fits = holding(condition, table, rows)
            if not len(fits):
                return f"none of {events} satisfies {_narrowed(condition, table, rows)}"
            rows = fits
        for key in query.partition:
            valid = table.column(key).valid
            given = rows if valid is None else rows[valid[rows]]
            if table.column(key).kind is None or not len(given):
                return f"none of {events} that are left has a value for {key}"
            rows = given
    return None


def _type(query: Query, place: int) -> str:
    return query.places[place].type


def _needed(query: Query) -> list[int]:
    """The places that every trend has an event at."""
    return [place for branch in query.branches for place in _always(branch)]


def _always(pattern: Pattern | Absence) -> Iterator[int]:
    match pattern:
        case Sequence(items=items):
            for item in items:
                yield from _always(item)
        case Repeat(body=body):
            yield from _always(body)
        case Times(copies=copies, least=least):
            for copy in copies[: min(least, 1)]:
                yield from _always(copy)
        case Absence() | Choice():
            return
        case _:
            yield pattern.place


def holding(condition: Expression, table: EventTable, rows: Rows) -> Rows:
    """Those of some rows whose events satisfy a condition."""

    def lookup(column: Column) -> Values:
        return table.column(column.attribute).take(rows)

    return rows[holds(condition, lookup, len(rows))]


def _narrowed(condition: Expression, table: EventTable, rows: Rows) -> str:
    """The part of a condition that no event satisfies, or all of it."""
    for part in conjuncts(condition):
        if not len(holding(part, table, rows)):
            return show(part)
    parts = conjuncts(condition)
    each = ", ".join(f"{show(part)}: {len(holding(part, table, rows)):,}" for part in parts)
    return f"{show(condition)} ({each})"


# Asking again


def _rows_without(query: Query, table: EventTable, count: Counting) -> list[tuple[str, int]]:
    """What the query would have rows without, and how many."""
    ways = list(_relaxed(query))
    if not ways:
        return []
    rows = count(plan_workload([_planned(each) for _, each in ways]), table)
    return [(what, number) for (what, _), number in zip(ways, rows, strict=True) if number]


def _relaxed(query: Query) -> Iterator[tuple[str, Query]]:
    """The query without one of its parts, and what that part is called."""
    if query.having is not None:
        yield f"HAVING {show(query.having)}", replace(query, having=None)
    if query.match != Match.ANY:
        yield f"MATCH {query.match}", replace(query, match=Match.ANY)
    parts = (part for each in query.local if each is not None for part in conjuncts(each))
    for part in dict.fromkeys(parts):
        yield show(part), replace(query, local=tuple(_left(each, part) for each in query.local))
    for number, predicate in enumerate(query.edge_predicates):
        adjacent = tuple(
            (pair, tuple(each for each in some if each != number)) for pair, some in query.adjacent
        )
        kept = tuple((pair, some) for pair, some in adjacent if some)
        yield _named(query, number, predicate), replace(query, adjacent=kept)
    for number, pattern in enumerate(query.negations):
        branches = tuple(_without(branch, number) for branch in query.branches)
        yield f"NOT {show_pattern(query, pattern)}", replace(query, branches=branches)
    if query.equivalence:
        yield f"[{', '.join(query.equivalence)}]", replace(query, equivalence=())


def _named(query: Query, number: int, predicate: EdgePredicate) -> str:
    """An edge predicate as it may be written, with variables where it is between two only."""
    places = [pair for pair, some in query.adjacent if number in some]
    labels = {
        tuple(query.places[each].alias or query.places[each].name for each in p) for p in places
    }
    if len(labels) != 1:
        return show(predicate.condition)
    ((one, other),) = labels
    other = f"NEXT({other})" if one == other else other
    named = {
        column: Column(
            "this",
            f"{one if column.role == 'previous' else other}."
            f"{'time' if column.attribute == EVENT_TIME else column.attribute}",
        )
        for column in columns_of(predicate.condition)
    }
    return show(with_columns(predicate.condition, named))


def _left(condition: Expression | None, part: Expression) -> Expression | None:
    if condition is None:
        return None
    return all_of([each for each in conjuncts(condition) if each != part])


def _without(pattern: Pattern, negation: int) -> Pattern:
    """A pattern without one of its absences."""
    match pattern:
        case Sequence(items=items):
            kept = (item for item in items if item != Absence(negation))
            return Sequence(
                tuple(i if isinstance(i, Absence) else _without(i, negation) for i in kept)
            )
        case Choice(items=items):
            return Choice(tuple(_without(item, negation) for item in items))
        case Repeat(body=body):
            return Repeat(_without(body, negation))
        case Times(copies=copies):
            return replace(pattern, copies=tuple(_without(copy, negation) for copy in copies))
    return pattern


def _planned(query: Query) -> PlannedQuery:
    positions = [positions_of(each) for each in (*query.branches, *query.negations)]
    return PlannedQuery(query, matched_templates(query, positions))


# Order and time


def _bare(query: Query) -> Query:
    """The pattern alone."""
    branches = query.branches
    for number in range(len(query.negations)):
        branches = tuple(_without(branch, number) for branch in branches)
    return replace(
        query, local=(None,) * len(query.places), adjacent=(), branches=branches, having=None
    )


def _structure(query: Query, table: EventTable, count: Counting) -> str:
    """What to say where no single part stands in the way."""
    bare = _bare(query)
    long = Window(LONGEST_US, LONGEST_US)
    span = int(table.ts.max()) - int(table.ts.min()) + 1
    ways = [replace(query, window=long), bare, replace(bare, window=long)]
    longer, plain, anywhere = count(plan_workload([_planned(each) for each in ways]), table)
    within = show_duration(query.window.lengths_us[0])
    if longer:
        return (
            f"windows of {within} are too short for any trend; the events span "
            f"{show_duration(span // 10**6 * 10**6)}"
        )
    if plain:
        return "each of its conditions is met by some events, all of them by none together"
    if anywhere:
        return f"in windows of {within} no events stand in the order that the pattern asks for"
    if len(np.unique(table.ts)) == 1:
        return "all events have the same time, and simultaneous events are never in one trend"
    return "no events stand in the order that the pattern asks for, in windows of any length"
