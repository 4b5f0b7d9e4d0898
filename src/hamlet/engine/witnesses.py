"""Queries that are asked to learn what an engine holds in the middle of a stream.

A *witness* of a query is the query up to its E+, with an end of its own: what it counts is how many
trends have come as far as the events that the end comes after. A *probe* is a witness that enters
where it is told to: what it counts, one entry, is a coefficient. They have the loop of the queries
they are made of, so kernels run them with one loop, and each has its own end, as queries that share
mostly have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hamlet.plan.positions import positions_of
from hamlet.plan.query import Aggregate, Match, Place, Query, Repeat, Sequence, Single, Window
from hamlet.plan.template import PlannedQuery, templates_of

if TYPE_CHECKING:
    from hamlet.plan.query import Absence, Pattern

_COUNT = (Aggregate("COUNT(*)", "COUNT"),)


def end_of(name: str) -> str:
    """The type of the event that ends a witness."""
    return f"<end of {name}>"


def entry_of(name: str) -> str:
    """The type of the event that enters a probe."""
    return f"<entry of {name}>"


def can_be_witnessed(query: Query, event_type: str) -> bool:
    """Whether a query has E+ by itself in one sequence, or nothing else, and skips any events.

    Where events move trends there are no graphlets: each event goes on with what is there.
    """
    is_plain = len(query.branches) == 1 and query.match == Match.ANY
    return is_plain and _cut(query, event_type) is not None


def witness(query: Query, event_type: str, window: Window) -> PlannedQuery:
    """A query up to its E+."""
    items = _cut(query, event_type) or ()
    return _planned(query, query.name, items, (), window)


def probe(query: Query, event_type: str, name: str, window: Window) -> PlannedQuery:
    """The E+ of a query, entered by events of a type of its own."""
    loop = (_cut(query, event_type) or ())[-1]
    place = Place(len(query.places), entry_of(name))
    return _planned(query, name, (Single(place.index), loop), (place,), window)


def _cut(query: Query, event_type: str) -> tuple[Pattern | Absence, ...] | None:
    """The pattern up to its first E+."""
    pattern = query.branches[0]
    items = pattern.items if isinstance(pattern, Sequence) else (pattern,)
    for number, item in enumerate(items):
        match item:
            case Repeat(body=Single(place=place)) if query.places[place].type == event_type:
                return items[: number + 1]
    return None


def _planned(
    query: Query,
    name: str,
    items: tuple[Pattern | Absence, ...],
    more: tuple[Place, ...],
    window: Window,
) -> PlannedQuery:
    end = Place(len(query.places) + len(more), end_of(name))
    made = replace(
        query,
        name=name,
        aggregates=_COUNT,
        results=(),
        having=None,
        places=(*query.places, *more, end),
        branches=(Sequence((*items, Single(end.index))),),
        local=(*query.local, *(None for _ in more), None),
        window=window,
    )
    positions = [positions_of(pattern) for pattern in (*made.branches, *made.negations)]
    return PlannedQuery(made, templates_of(made, positions))
