"""The position automaton of a pattern (Glushkov): which place may follow which.

One state for each place; `first` and `last` are the places where a match may begin and end;
`follow` has the pairs of places that may hold adjacent events. `NOT N` puts the guard N on exactly
the pairs, first and last places included, that cross it. A pair that can be had with and without a
guard is free: the loop of an inner repetition is always crossed by no more guards than the outer
one, so the first to make a pair decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from hamlet.plan.query import Absence, Choice, Pattern, Repeat, Sequence, Single

Guards = frozenset[int]
NO_GUARDS: Guards = frozenset()

# Patterns that would need more pairs or steps than this are refused: they are of no use to anyone.
MOST_PAIRS = 40_000
MOST_STEPS = 400_000


class TooComplex(Exception):
    """A pattern that cannot be analysed in reasonable time; the binder turns it into a message."""


@dataclass(frozen=True, slots=True)
class Positions:
    """First places, last places and following pairs, each with the guards that stand there."""

    first: dict[int, Guards]
    last: dict[int, Guards]
    follow: dict[tuple[int, int], Guards]

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


def positions_of(pattern: Pattern) -> Positions:
    """The position automaton of a pattern.

    >>> positions = positions_of(Sequence((Single(0), Absence(0), Repeat(Single(1)))))
    >>> positions.follow
    {(1, 1): frozenset(), (0, 1): frozenset({0})}
    """
    match pattern:
        case Single(place=place):
            return Positions({place: NO_GUARDS}, {place: NO_GUARDS}, {})
        case Choice(items=items):
            return _choice([positions_of(item) for item in items])
        case Repeat(body=body):
            inner = positions_of(body)
            _connect(inner.follow, inner.last, inner.first, NO_GUARDS)
            return inner
        case Sequence(items=items):
            return _sequence(items)


def _choice(parts: list[Positions]) -> Positions:
    whole = Positions({}, {}, {})
    for part in parts:
        whole.first.update(part.first)
        whole.last.update(part.last)
        whole.follow.update(part.follow)
    return whole


def _sequence(items: tuple[Pattern | Absence, ...]) -> Positions:
    first: dict[int, Guards] | None = None
    last: dict[int, Guards] = {}
    follow: dict[tuple[int, int], Guards] = {}
    pending = NO_GUARDS  # of the absences since the last positive item
    for item in items:
        if isinstance(item, Absence):
            pending |= {item.negation}
            continue
        part = positions_of(item)
        follow.update(part.follow)
        if first is None:
            first = _guarded(part.first, pending)
        else:
            _connect(follow, last, part.first, pending)
        last, pending = part.last, NO_GUARDS
    return Positions(first or {}, _guarded(last, pending), follow)


def _guarded(places: dict[int, Guards], guards: Guards) -> dict[int, Guards]:
    return {place: own | guards for place, own in places.items()}


def _connect(
    follow: dict[tuple[int, int], Guards],
    last: dict[int, Guards],
    first: dict[int, Guards],
    between: Guards,
) -> None:
    """Let each of `first` follow each of `last`, unless it already does."""
    if len(follow) + len(last) * len(first) > MOST_PAIRS:
        raise TooComplex
    for source, leaving in last.items():
        for target, entering in first.items():
            follow.setdefault((source, target), leaving | between | entering)


def twins(one: Positions, other: Positions, types: tuple[str, ...]) -> set[tuple[int, int]]:
    """Pairs of different places that may hold the same event of the same sequence.

    A pair is reached when some sequence leads one automaton to the one place and the other
    automaton to the other, and from there both can accept one and the same rest. With one
    automaton given twice, no twins means that every sequence runs through it in at most one way.
    Predicates are not looked at: what they rule out is still a pair here.
    """
    places = one.places | other.places
    if len({types[place] for place in places}) == len(places):
        return set()
    after_one, after_other = one.successors(), other.successors()
    reached = {(p, q) for p in one.first for q in other.first if types[p] == types[q]}
    queue, before, steps = list(reached), dict[tuple[int, int], list[tuple[int, int]]](), 0
    while queue:
        pair = queue.pop()
        for p in after_one.get(pair[0], ()):
            for q in after_other.get(pair[1], ()):
                steps += 1
                if types[p] == types[q]:
                    before.setdefault((p, q), []).append(pair)
                    if (p, q) not in reached:
                        reached.add((p, q))
                        queue.append((p, q))
        if steps > MOST_STEPS:
            raise TooComplex
    useful = {(p, q) for p, q in reached if p in one.last and q in other.last}
    queue = list(useful)
    while queue:
        for pair in before.get(queue.pop(), ()):
            if pair not in useful:
                useful.add(pair)
                queue.append(pair)
    return {(p, q) for p, q in useful if p != q}
