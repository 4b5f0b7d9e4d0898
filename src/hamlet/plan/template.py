"""Templates: the finite automaton of a pattern, in which every trend has exactly one run.

States stand for places of the pattern; START and END are virtual. An edge carries the condition
under which an event may follow another: guards (no match of a negated pattern in between) and edge
predicates. Where a sequence could run through the places in two ways, states become sets of
places, as in the subset construction, and the conditions of an edge say exactly which places of
the set are reached; so each trend still has one run and is counted once. (Section "Workload
Analysis" of the paper; the subset construction is ours.)

Name here        in the paper
State            a type in the template; predecessor types are the sources of its edges
START, END       start and end types are the targets and sources of their edges
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from hamlet.plan.positions import MOST_PAIRS, Positions, TooComplex, twins
from hamlet.plan.predicates import Expression, all_of, show
from hamlet.plan.query import Match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.plan.positions import Ways
    from hamlet.plan.query import Query

START, END = -1, -2
MOST_SETS = MOST_PAIRS // 40  # states that are sets of places


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way along an edge: all guards clear and all edge predicates (by number) true."""

    guards: frozenset[int] = frozenset()
    predicates: frozenset[int] = frozenset()

    @property
    def is_free(self) -> bool:
        """Whether nothing can bar this way."""
        return not self.guards and not self.predicates

    def implies(self, other: Alternative) -> bool:
        """Whether the other way is open wherever this one is."""
        return other.guards <= self.guards and other.predicates <= self.predicates


class Step(StrEnum):
    """What becomes of the trends at the source of an edge when an event goes on with them."""

    STAY = "stay"  # they wait for others
    MOVE = "move"  # all are gone: whatever may go on with one of them may with each
    TAKE = "take"  # those are gone that the event goes on with
    PASS = "pass"  # all are gone with any event, whether it goes on with them or not


@dataclass(frozen=True, slots=True)
class Condition:
    """When an edge is taken: one way of each of `needs`, no way of `forbids`.

    `holds` and `fails` are further conditions on the second event alone; like `forbids` they occur
    only where states are sets of places. `step` is no condition, but what taking the edge does.
    """

    needs: frozenset[frozenset[Alternative]] = frozenset()
    forbids: frozenset[Alternative] = frozenset()
    holds: frozenset[Expression] = frozenset()
    fails: frozenset[Expression] = frozenset()
    step: Step = Step.STAY

    @property
    def is_free(self) -> bool:
        """Whether the edge is always taken."""
        return self == FREE

    @property
    def is_contradiction(self) -> bool:
        """Whether it can never be met: every way of some need implies a forbidden one."""
        return any(
            all(any(way.implies(barred) for barred in self.forbids) for way in need)
            for need in self.needs
        )

    @property
    def alternatives(self) -> Iterator[Alternative]:
        """Every way that is mentioned."""
        for need in self.needs:
            yield from need
        yield from self.forbids

    @property
    def guards(self) -> frozenset[int]:
        """The negations that the edge looks at."""
        return frozenset(guard for way in self.alternatives for guard in way.guards)

    @property
    def predicates(self) -> frozenset[int]:
        """The edge predicates that the edge looks at."""
        return frozenset(number for way in self.alternatives for number in way.predicates)

    @property
    def is_simple(self) -> bool:
        """Whether all guards must be clear and all predicates true, and nothing else matters."""
        one_way = all(len(need) == 1 for need in self.needs)
        return one_way and not (self.forbids or self.holds or self.fails)

    def joined(self, other: Condition) -> Condition:
        """The condition that both hold."""
        return Condition(
            self.needs | other.needs,
            self.forbids | other.forbids,
            self.holds | other.holds,
            self.fails | other.fails,
        )


FREE = Condition()


class Part(StrEnum):
    """Which part of a trend events at a state are, where that is known: see measuring.py."""

    FIRST = "first"
    MIDDLE = "middle"  # neither, or not known to be the last
    LAST = "last"
    ONLY = "only"  # the first and the last


@dataclass(frozen=True, slots=True)
class State:
    """One place, or a set of places of one type; `atom` is what its events themselves satisfy."""

    type: str
    places: tuple[int, ...]
    atom: Expression | None
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """From a state or START to a state or END, by their numbers."""

    source: int
    target: int
    condition: Condition = FREE


@dataclass(frozen=True, slots=True)
class Template:
    """States and edges; `is_determinised` where states are sets of places."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    is_determinised: bool = False

    @property
    def kleene_types(self) -> frozenset[str]:
        """The types E with a loop on one state: where the pattern has E+, in whatever form."""
        return frozenset(
            self.states[edge.source].type for edge in self.edges if edge.source == edge.target
        )


@dataclass(frozen=True, slots=True)
class QueryTemplates:
    """All templates of a query: for its pattern (or P, Q, and both at once) and for each NOT."""

    branches: tuple[Template, ...]
    both: Template | None
    guards: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query together with its templates."""

    query: Query
    templates: QueryTemplates

    @property
    def kleene_types(self) -> frozenset[str]:
        """The types E whose E+ the query could share with others."""
        return frozenset().union(*(branch.kleene_types for branch in self.templates.branches))


def templates_of(query: Query, positions: list[Positions]) -> QueryTemplates:
    """Every template that a query needs, from the positions of its branches and negations."""
    # What is kept of the trends of a NOT does not depend on MATCH.
    are_begun = [query.match == Match.NEXT] * len(query.branches)
    are_begun += [False] * len(query.negations)
    templates = [
        template_of(query, branch, are_begun=is_begun)
        for branch, is_begun in zip(positions, are_begun, strict=True)
    ]
    branches = tuple(templates[: len(query.branches)])
    both = intersection(*branches) if query.is_conjunction else None
    return QueryTemplates(branches, both, tuple(templates[len(query.branches) :]))


def template_of(query: Query, positions: Positions, *, are_begun: bool = False) -> Template:
    """The template of a position automaton with the predicates of a query.

    A trend has one run. Where it matters what the beginning of one may go on with, as with MATCH
    NEXT, that has one run too, at a state from which all that may follow is seen.
    """
    types = tuple(place.type for place in query.places)
    if twins(positions, positions, types, are_begun=are_begun):
        return _determinised(query, positions)
    return _direct(query, positions)


def _direct(query: Query, positions: Positions) -> Template:
    """One state for each place."""
    places = sorted(positions.places)
    number = {place: state for state, place in enumerate(places)}
    predicates = dict(query.adjacent)
    edges = [Edge(START, number[p], one_of(_alternatives(w))) for p, w in positions.first.items()]
    edges += [
        Edge(number[p], number[q], one_of(_alternatives(alternatives, predicates.get((p, q), ()))))
        for (p, q), alternatives in positions.follow.items()
    ]
    edges += [Edge(number[p], END, one_of(_alternatives(w))) for p, w in positions.last.items()]
    states = tuple(State(query.places[p].type, (p,), query.local[p]) for p in places)
    return Template(states, tuple(sorted(edges, key=edge_order)))


def _alternatives(ways: Ways, predicates: tuple[int, ...] = ()) -> set[Alternative]:
    """The ways along a step, on each of which some edge predicates hold."""
    return {Alternative(guards, frozenset(predicates)) for guards in ways}


def edge_order(edge: Edge) -> tuple[int, int, list[str]]:
    """START edges first, END edges last, otherwise by state."""
    big = 1 << 30
    target = big if edge.target == END else edge.target
    return edge.source, target, sorted(map(show, edge.condition.holds))


# Sets of places

# For START and each place, the places that may come next, each with the ways there.
Steps = dict[int, dict[int, set["Alternative"]]]
Reached = dict[int, set["Alternative"]]


def _determinised(query: Query, positions: Positions) -> Template:
    """States as sets of places of one type that every aggregate treats alike."""
    ways = ways_of(query, positions)
    kinds = [(place.type, query.mark(place.index)) for place in query.places]
    numbers: dict[tuple[int, ...], int] = {}
    sets: list[tuple[int, ...]] = []
    edges: list[Edge] = []

    def number_of(places: tuple[int, ...]) -> int:
        if places not in numbers:
            numbers[places] = len(sets)
            sets.append(places)
            if len(sets) > MOST_SETS:
                raise TooComplex
        return numbers[places]

    def expand(source: int, places: tuple[int, ...]) -> None:
        for target, condition in _targets(query, ways, kinds, places):
            edges.append(Edge(source, number_of(target), condition))
            if len(edges) > MOST_PAIRS:
                raise TooComplex

    expand(START, (START,))
    done = 0
    while done < len(sets):
        expand(done, sets[done])
        edges += edges_to_end(done, sets[done], positions)
        done += 1
    states = tuple(set_state(query, places) for places in sets)
    return Template(states, tuple(sorted(edges, key=edge_order)), is_determinised=True)


def edges_to_end(source: int, places: tuple[int, ...], positions: Positions) -> list[Edge]:
    """The edge to END from a state that is a set of places, if a match may end at one of them."""
    last = (positions.last[place] for place in places if place in positions.last)
    ends = set[Alternative]().union(*map(_alternatives, last))
    return [Edge(source, END, one_of(ends))] if ends else []


def ways_of(query: Query, positions: Positions) -> Steps:
    """For START and each place, the places that may come next and the ways there."""
    predicates = dict(query.adjacent)
    ways = {START: {place: _alternatives(guards) for place, guards in positions.first.items()}}
    for (p, q), guards in positions.follow.items():
        ways.setdefault(p, {})[q] = _alternatives(guards, predicates.get((p, q), ()))
    return ways


def reachable(ways: Steps, places: tuple[int, ...]) -> Reached:
    """The places that may follow some places, and all ways there."""
    reached: Reached = {}
    for place in places:
        for target, alternatives in ways.get(place, {}).items():
            reached.setdefault(target, set()).update(alternatives)
    return reached


def _targets(
    query: Query,
    ways: Steps,
    kinds: list[tuple[str, tuple[int, ...]]],
    places: tuple[int, ...],
) -> Iterator[tuple[tuple[int, ...], Condition]]:
    """All sets of places that one event may lead to, with the conditions that tell them apart."""
    reached = reachable(ways, places)
    alike: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for target in sorted(reached):
        alike.setdefault(kinds[target], []).append(target)
    for candidates in alike.values():
        if len(candidates) == 1:
            yield tuple(candidates), one_of(reached[candidates[0]])
        else:
            for subset, _, condition in splits(query, reached, reached, candidates):
                yield subset, condition


def splits(
    query: Query, whole: Reached, own: Reached, candidates: list[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Condition]]:
    """Which candidates an event may reach exactly, those of them along own ways, and when it does.

    At least one is reached. First it is fixed which local conditions the event satisfies; then each
    place whose condition is satisfied is reached for certain where a way to it is free, and
    otherwise reached or not.
    """
    atoms = sorted({a for a in (query.local[c] for c in candidates) if a is not None}, key=show)
    choices = {c: list(_ways_into(whole[c], own.get(c, set()))) for c in candidates}
    if 2 ** (len(atoms) + len(candidates)) > MOST_PAIRS:
        raise TooComplex
    if prod(map(len, choices.values())) > MOST_PAIRS:
        raise TooComplex
    for truths in product((True, False), repeat=len(atoms)):
        true = {None, *(a for a, t in zip(atoms, truths, strict=True) if t)}
        open_to = [c for c in candidates if query.local[c] in true]
        for chosen in product(*(choices[c] for c in open_to)):
            taken = list(zip(open_to, chosen, strict=True))
            reached = tuple(c for c, into in taken if into.is_reached)
            if not reached:
                continue
            said = {query.local[place] for place in reached}
            condition = Condition(
                needs=frozenset().union(*(into.needs for _, into in taken)),
                forbids=frozenset().union(*(into.forbids for _, into in taken)),
                holds=frozenset(a for a in atoms if a in true and a not in said),
                fails=frozenset(a for a in atoms if a not in true),
            )
            if not condition.is_contradiction:
                yield reached, tuple(c for c, into in taken if into.is_own), condition


@dataclass(frozen=True, slots=True)
class _Into:
    """One of the things that may be so of a place: it is reached, along own ways or not, or not."""

    is_reached: bool
    is_own: bool
    needs: frozenset[frozenset[Alternative]] = frozenset()
    forbids: frozenset[Alternative] = frozenset()


def _ways_into(whole: set[Alternative], own: set[Alternative]) -> Iterator[_Into]:
    if own:
        yield _Into(True, True, needs=one_of(own).needs)
    if whole != own and not _is_free(own):
        yield _Into(True, False, needs=one_of(whole).needs, forbids=frozenset(own))
    if not _is_free(whole):
        yield _Into(False, False, forbids=frozenset(whole))


def one_of(ways: set[Alternative]) -> Condition:
    """That one of some ways is open; nothing is needed where one of them is free."""
    if _is_free(ways):
        return FREE
    return Condition(frozenset({frozenset(ways)}))


def _is_free(ways: set[Alternative]) -> bool:
    return any(way.is_free for way in ways)


def set_state(query: Query, places: tuple[int, ...]) -> State:
    """The state of a set of places of one type."""
    conditions = [c for c in (query.local[place] for place in places) if c is not None]
    return State(query.places[places[0]].type, places, all_of(conditions))


# P AND Q


def intersection(one: Template, other: Template) -> Template:
    """The template of what both accept: pairs of states of one type, taken in step.

    Each of the two has one run for a trend, so their product has one run too.
    """
    numbers: dict[tuple[int, int], int] = {}
    pairs: list[tuple[int, int]] = []
    edges: list[Edge] = []
    after_one, after_other = _leaving(one), _leaving(other)

    def expand(source: int, pair: tuple[int, int]) -> None:
        for a, b in product(after_one.get(pair[0], ()), after_other.get(pair[1], ())):
            condition = a.condition.joined(b.condition)
            if a.target == END and b.target == END:
                edges.append(Edge(source, END, condition))
            elif a.target != END and b.target != END:
                target = (a.target, b.target)
                if one.states[target[0]].type != other.states[target[1]].type:
                    continue
                if target not in numbers:
                    numbers[target] = len(pairs)
                    pairs.append(target)
                edges.append(Edge(source, numbers[target], condition))
        if len(edges) > MOST_PAIRS:
            raise TooComplex

    expand(START, (START, START))
    done = 0
    while done < len(pairs):
        expand(done, pairs[done])
        done += 1
    states = tuple(_pair_state(one.states[a], other.states[b]) for a, b in pairs)
    return _trimmed(Template(states, tuple(sorted(edges, key=edge_order)), is_determinised=True))


def _leaving(template: Template) -> dict[int, list[Edge]]:
    leaving: dict[int, list[Edge]] = {}
    for edge in template.edges:
        leaving.setdefault(edge.source, []).append(edge)
    return leaving


def _pair_state(one: State, other: State) -> State:
    atoms = [atom for atom in (one.atom, other.atom) if atom is not None]
    return State(one.type, one.places + other.places, all_of(atoms))


def _trimmed(template: Template) -> Template:
    """Without the states from which END cannot be reached."""
    useful = {END}
    grew = True
    while grew:
        more = {e.source for e in template.edges if e.target in useful} - useful
        grew = bool(more)
        useful |= more
    kept = [number for number in range(len(template.states)) if number in useful]
    renumbered = {START: START, END: END} | {old: new for new, old in enumerate(kept)}
    edges = tuple(
        Edge(renumbered[e.source], renumbered[e.target], e.condition)
        for e in template.edges
        if e.source in renumbered and e.target in renumbered
    )
    return Template(tuple(template.states[n] for n in kept), edges, template.is_determinised)
