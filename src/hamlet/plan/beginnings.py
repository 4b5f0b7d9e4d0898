"""MATCH NEXT where aggregates tell apart in which way a trend has begun.

A trend waits no longer once an event has gone on with its beginning, in whichever way that can be
read: of `SEQ(C a, A) OR SEQ(C b, C)` what waits as an `a` is gone with the next C. So a state is a
pair: all places that the last event of a beginning may have, from which is seen what may follow,
and those of them that aggregates count alike, from which the trend goes on. An event that goes on
with the beginning, but not from these, leads to a pair without any, and no trend comes from there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hamlet.plan.positions import MOST_PAIRS, TooComplex, twins
from hamlet.plan.template import (
    MOST_SETS,
    START,
    Edge,
    Step,
    Template,
    edge_order,
    edges_to_end,
    reachable,
    set_state,
    splits,
    ways_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hamlet.plan.positions import Positions
    from hamlet.plan.query import Query
    from hamlet.plan.template import Condition, Reached

Places = tuple[int, ...]


def are_told_apart(query: Query, positions: Positions) -> bool:
    """Whether aggregates treat places differently that one event of a beginning may have."""
    types = tuple(place.type for place in query.places)
    pairs = twins(positions, positions, types, query.local, are_begun=True)
    return any(query.mark(p) != query.mark(q) for p, q in pairs)


def beginnings(query: Query, positions: Positions, step_of: Callable[[Places], Step]) -> Template:
    """The template of pairs; `step_of` says what an event does that goes on from some places."""
    ways = ways_of(query, positions)
    numbers: dict[tuple[Places, Places], int] = {}
    pairs: list[tuple[Places, Places]] = []
    edges: list[Edge] = []

    def expand(source: int, whole: Places, own: Places) -> None:
        step = Step.STAY if source == START else step_of(whole)
        for pair, condition in _targets(query, reachable(ways, whole), reachable(ways, own)):
            if pair not in numbers:
                numbers[pair] = len(pairs)
                pairs.append(pair)
            edges.append(Edge(source, numbers[pair], replace(condition, step=step)))
        if len(edges) > MOST_PAIRS or len(pairs) > MOST_SETS:
            raise TooComplex

    expand(START, (START,), (START,))
    done = 0
    while done < len(pairs):
        whole, own = pairs[done]
        if own:
            expand(done, whole, own)
        edges += edges_to_end(done, own, positions)
        done += 1
    states = tuple(replace(set_state(query, whole), places=own) for whole, own in pairs)
    return Template(states, tuple(sorted(edges, key=edge_order)), is_determinised=True)


def _targets(
    query: Query, whole: Reached, own: Reached
) -> Iterator[tuple[tuple[Places, Places], Condition]]:
    """All pairs that one event may lead to, with the conditions that tell them apart."""
    by_type: dict[str, list[int]] = {}
    for target in sorted(whole):
        by_type.setdefault(query.places[target].type, []).append(target)
    for candidates in by_type.values():
        for reached, places, condition in splits(query, whole, own, candidates):
            by_mark: dict[tuple[int, ...], list[int]] = {}
            for place in places:
                by_mark.setdefault(query.mark(place), []).append(place)
            for alike in by_mark.values() or [[]]:
                yield (reached, tuple(alike)), condition
