"""The position automaton of a pattern (Glushkov): which place may follow which.

One state for each place; `first` and `last` are the places where a match may begin and end;
`follow` has the pairs of places that may hold adjacent events. `NOT N` is a match of no event under
the guard N, so it puts N on exactly the steps, first and last places included, that cross it. What
may be left out is crossed by steps too; where that can be done in several ways, a step has as many,
and needs the guards of one of them. A way whose guards include those of another says nothing more
and is dropped, so a step that can be had free of guards is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hamlet.plan.predicates import exclude_each_other
from hamlet.plan.query import Absence, Choice, Pattern, Repeat, Sequence, Single, Times

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hamlet.plan.predicates import Expression

Guards = frozenset[int]
NO_GUARDS: Guards = frozenset()

# The guards of each way in which a step can be had; none where it cannot.
Ways = frozenset[Guards]
FREE_WAY: Ways = frozenset({NO_GUARDS})
NO_WAY: Ways = frozenset()

# Patterns that would need more pairs or steps than this are refused: they are of no use to anyone.
MOST_PAIRS = 40_000
MOST_STEPS = 400_000
MOST_WAYS = 64


class TooComplex(Exception):
    """A pattern that cannot be analysed in reasonable time; the binder turns it into a message."""


@dataclass(frozen=True, slots=True)
class Positions:
    """First places, last places and following pairs, each with the ways in which it can be had.

    `empty` has the ways in which the pattern matches no event at all.
    """

    first: dict[int, Ways]
    last: dict[int, Ways]
    follow: dict[tuple[int, int], Ways]
    empty: Ways = NO_WAY

    @property
    def places(self) -> set[int]:
        """Every place that a match may have."""
        return {*self.first, *(target for _, target in self.follow)}

    def successors(self) -> dict[int, list[int]]:
        """For each place the places that may come next."""
        after: dict[int, list[int]] = {}
        for source, target in self.follow:
            after.setdefault(source, []).append(target)
        return after


def positions_of(pattern: Pattern | Absence) -> Positions:
    """The position automaton of a pattern.

    >>> positions = positions_of(Sequence((Single(0), Absence(0), Repeat(Single(1)))))
    >>> positions.follow
    {(0, 1): frozenset({frozenset({0})}), (1, 1): frozenset({frozenset()})}
    """
    match pattern:
        case Single(place=place):
            return Positions({place: FREE_WAY}, {place: FREE_WAY}, {})
        case Absence(negation=negation):
            return Positions({}, {}, {}, frozenset({frozenset({negation})}))
        case Choice(items=items):
            return _choice([positions_of(item) for item in items])
        case Repeat(body=body):
            inner = positions_of(body)
            _connect(inner.follow, inner.last, inner.first)
            return inner
        case Times():
            return _times(pattern)
        case Sequence(items=items):
            return _sequence([positions_of(item) for item in items])


def _choice(parts: list[Positions]) -> Positions:
    first, last, follow, empty = {}, {}, {}, NO_WAY
    for part in parts:
        first.update(part.first)
        last.update(part.last)
        follow.update(part.follow)
        empty = _fewest((*empty, *part.empty))
    return Positions(first, last, follow, empty)


def _sequence(parts: list[Positions]) -> Positions:
    first: dict[int, Ways] = {}
    last: dict[int, Ways] = {}
    follow: dict[tuple[int, int], Ways] = {}
    empty = FREE_WAY
    for part in parts:
        _connect(follow, last, part.first)
        follow.update(part.follow)
        first.update(_across(part.first, empty))
        last = _across(last, part.empty) | part.last
        empty = _both(empty, part.empty)
    return Positions(first, last, follow, empty)


def _times(pattern: Times) -> Positions:
    """Copies one after another, those behind the least number of them left out from the end.

    Where a copy matches nothing at no price, so may all: then none of them is needed.
    """
    parts = [positions_of(copy) for copy in pattern.copies]
    least = 0 if NO_GUARDS in parts[0].empty else pattern.least
    whole = _sequence(parts[:least])
    if least == 0:
        whole = Positions(parts[0].first, parts[0].last, parts[0].follow, FREE_WAY)
    last = dict(whole.last)
    before = whole.last if least else parts[0].last
    for part in parts[max(least, 1) :]:
        _connect(whole.follow, before, part.first)
        whole.follow.update(part.follow)
        last |= part.last
        before = part.last
    if pattern.most is None:
        _connect(whole.follow, parts[-1].last, parts[-1].first)
    return Positions(whole.first, last, whole.follow, whole.empty)


def _across(places: dict[int, Ways], crossed: Ways) -> dict[int, Ways]:
    """Places with what has to be crossed to come to them, or from them to the end."""
    if crossed == FREE_WAY:
        return dict(places)
    return {place: _both(own, crossed) for place, own in places.items()} if crossed else {}


def _both(one: Ways, other: Ways) -> Ways:
    """The ways along both of two steps."""
    if FREE_WAY in (one, other):
        return other if one == FREE_WAY else one
    return _fewest(a | b for a in one for b in other)


def _fewest(ways: Iterable[Guards]) -> Ways:
    """Those ways that no other one is open wherever they are."""
    different = frozenset(ways)
    if len(different) > MOST_WAYS:
        raise TooComplex
    return frozenset(way for way in different if not any(other < way for other in different))


def _connect(
    follow: dict[tuple[int, int], Ways], last: dict[int, Ways], first: dict[int, Ways]
) -> None:
    """Let each of `first` follow each of `last`, in more ways where it already does."""
    if len(follow) + len(last) * len(first) > MOST_PAIRS:
        raise TooComplex
    for source, leaving in last.items():
        for target, entering in first.items():
            ways, pair = _both(leaving, entering), (source, target)
            known = follow.get(pair)
            follow[pair] = ways if known is None else _fewest((*known, *ways))


def twins(
    one: Positions,
    other: Positions,
    types: tuple[str, ...],
    local: tuple[Expression | None, ...] = (),
    *,
    are_begun: bool = False,
) -> set[tuple[int, int]]:
    """Pairs of different places that may hold the same event of the same sequence.

    A pair is reached when some sequence leads one automaton to the one place and the other
    automaton to the other, and from there both can accept one and the same rest. With one
    automaton given twice, no twins means that every sequence runs through it in at most one way.
    Predicates are not looked at: what they rule out is still a pair here. But where `local` has
    what events at each place satisfy, places whose conditions exclude each other are no pair.
    Where sequences `are_begun` only, the rest may be another one: no twins means then that also the
    beginning of a sequence runs through the automaton in at most one way.
    """

    @cache
    def may_meet(p: int, q: int) -> bool:
        if types[p] != types[q]:
            return False
        return not (local and p != q and exclude_each_other(local[p], local[q]))

    places = one.places | other.places
    if len({types[place] for place in places}) == len(places):
        return set()
    after_one, after_other = one.successors(), other.successors()
    reached = {(p, q) for p in one.first for q in other.first if may_meet(p, q)}
    queue, before, steps = list(reached), dict[tuple[int, int], list[tuple[int, int]]](), 0
    while queue:
        pair = queue.pop()
        for p in after_one.get(pair[0], ()):
            for q in after_other.get(pair[1], ()):
                steps += 1
                if may_meet(p, q):
                    before.setdefault((p, q), []).append(pair)
                    if (p, q) not in reached:
                        reached.add((p, q))
                        queue.append((p, q))
        if steps > MOST_STEPS:
            raise TooComplex
    if are_begun:
        return {(p, q) for p, q in reached if p != q}
    useful = {(p, q) for p, q in reached if p in one.last and q in other.last}
    queue = list(useful)
    while queue:
        for pair in before.get(queue.pop(), ()):
            if pair not in useful:
                useful.add(pair)
                queue.append(pair)
    return {(p, q) for p, q in useful if p != q}
