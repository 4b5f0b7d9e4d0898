"""MATCH: which events may be skipped between two neighbours of a trend, as what steps do.

A sequence that matches is one run of a template, whose last event waits at a state for the next.
With MATCH NEXT it waits no longer once an event has gone on with it, and that event may be any that
an edge leads to; so to take an edge moves trends instead of copying them. Where every step out of
a state asks the same of what lies between two events, and nothing of the two events together, what
goes on with one of the trends there goes on with all: the state's total moves. Else each event
takes those trends away that it goes on with.

With MATCH CONTIGUOUS the next event there is, whatever it is, ends the wait. Nothing lies between
two neighbours, so NOT between them says nothing.

Trends of P AND Q that both sides match have to be kept by both: what goes on with one side alone
leads to a state of its own, from which there is no end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hamlet.plan.beginnings import are_told_apart, beginnings
from hamlet.plan.measuring import measured_templates
from hamlet.plan.positions import FREE_WAY
from hamlet.plan.query import BETWEEN, OTHER, Match, Place
from hamlet.plan.template import (
    END,
    START,
    Alternative,
    Edge,
    QueryTemplates,
    State,
    Step,
    Template,
    edge_order,
    templates_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hamlet.plan.positions import Guards, Positions
    from hamlet.plan.query import Query


def with_bystanders(query: Query, types: tuple[str, ...]) -> Query:
    """The query with a place for every type of the workload, and for all others, between events."""
    first = len(query.places)
    places = tuple(
        Place(first + number, event_type, None, BETWEEN)
        for number, event_type in enumerate((*types, OTHER))
    )
    return replace(
        query, places=(*query.places, *places), local=(*query.local, *(None for _ in places))
    )


def matched_templates(query: Query, positions: list[Positions]) -> QueryTemplates:
    """Every template that a query needs, with what its steps do, and parts where it measures."""
    return measured_templates(query, _matched(query, positions))


def _matched(query: Query, positions: list[Positions]) -> QueryTemplates:
    count = len(query.branches)
    branches, negations = positions[:count], positions[count:]
    if query.match == Match.ANY:
        return templates_of(query, positions)
    if query.match == Match.CONTIGUOUS:
        free = [
            replace(branch, follow=dict.fromkeys(branch.follow, FREE_WAY)) for branch in branches
        ]
        plain = templates_of(query, [*free, *negations])
        both = None if plain.both is None else _passing(plain.both)
        return QueryTemplates(tuple(map(_passing, plain.branches)), both, plain.guards)
    plain = templates_of(query, positions)
    steps = [_Steps(query, branch) for branch in branches]
    both = None if plain.both is None else _both_moving(plain, steps)
    moving = [_moving(branch, own) for branch, own in zip(plain.branches, steps, strict=True)]
    if both is None and are_told_apart(query, branches[0]):
        moving = [beginnings(query, branches[0], steps[0].of)]
    return QueryTemplates(tuple(moving), both, plain.guards)


def _passing(template: Template) -> Template:
    """A template whose trends wait for one event only."""
    return _stepping(template, lambda _: Step.PASS)


def _moving(template: Template, steps: _Steps) -> Template:
    """A template whose trends wait until an event goes on with them."""
    return _stepping(template, lambda state: steps.of(template.states[state].places))


def _stepping(template: Template, step_of: Callable[[int], Step]) -> Template:
    """A template with a step for each state that trends wait at."""
    edges = [
        replace(edge, condition=replace(edge.condition, step=step_of(edge.source)))
        if edge.source != START and edge.target != END
        else edge
        for edge in template.edges
    ]
    return replace(template, edges=tuple(edges))


@dataclass(frozen=True, slots=True)
class _Steps:
    """What the steps of a pattern ask for."""

    query: Query
    positions: Positions

    def of(self, places: tuple[int, ...]) -> Step:
        """What an event does that goes on with trends which wait at a set of places."""
        return Step.TAKE if self.guards(places) is None else Step.MOVE

    def guards(self, places: tuple[int, ...]) -> Guards | None:
        """What every step out of a set of places needs to be clear; None where they differ."""
        asking = dict(self.query.adjacent)
        ways: set[Guards] = set()
        for (source, target), alternatives in self.positions.follow.items():
            if source in places:
                if len(alternatives) > 1 or asking.get((source, target)):
                    return None
                ways |= alternatives
        if len(ways) > 1:
            return None
        return next(iter(ways), frozenset())


# P AND Q


def _both_moving(plain: QueryTemplates, steps: list[_Steps]) -> Template:
    """The template of what both sides match, which what goes on with one of them takes away."""
    both, sides = plain.both, plain.branches
    assert both is not None
    states, edges = list(both.states), []
    dead: dict[tuple[str, object], int] = {}

    def dead_end(like: State) -> int:
        key = (like.type, like.atom)
        if key not in dead:
            dead[key] = len(states)
            states.append(State(like.type, (), like.atom))
        return dead[key]

    for edge in both.edges:
        if edge.source == START or edge.target == END:
            edges.append(edge)
    for number, state in enumerate(both.states):
        inner = [edge for edge in both.edges if edge.source == number and edge.target != END]
        if not inner:
            continue
        parts = [tuple(p for p in state.places if p in own.positions.places) for own in steps]
        asked = [own.guards(part) for own, part in zip(steps, parts, strict=True)]
        guards = frozenset().union(*(wanted or () for wanted in asked))
        step = Step.TAKE if None in asked else Step.MOVE
        edges += [replace(e, condition=replace(e.condition, step=step)) for e in inner]
        for side, part in zip(sides, parts, strict=True):
            for alone in _steps_from(side, part):
                condition = replace(alone.condition, step=step)
                if step == Step.MOVE:
                    condition = replace(condition, needs=_clear(guards))
                edges.append(Edge(number, dead_end(side.states[alone.target]), condition))
    return Template(tuple(states), tuple(sorted(set(edges), key=edge_order)), both.is_determinised)


def _steps_from(template: Template, places: tuple[int, ...]) -> list[Edge]:
    """The edges to other states from that of a set of places."""
    (source,) = (n for n, state in enumerate(template.states) if state.places == places)
    return [edge for edge in template.edges if edge.source == source and edge.target != END]


def _clear(guards: Guards) -> frozenset[frozenset[Alternative]]:
    """The need that all of some guards are clear."""
    return frozenset({frozenset({Alternative(guards)})}) if guards else frozenset()
