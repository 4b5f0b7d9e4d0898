"""Templates in which the first events of trends, and the last, have states of their own.

How many events a trend has is told from its first event on: there is 1, and each further event is
one more. How long it takes is the time of its last event less that of its first. So where the least
or greatest length is asked for, no state has both a trend that begins and one that goes on; and
where durations are, none has both trends that end and trends that go on either. A state that had
both becomes two, between which the edges are parted. Each trend still has one run, and no edge is
taken that was not before, so what steps do (matching.py) stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hamlet.plan.template import END, START, Edge, Part, QueryTemplates, Template, edge_order

if TYPE_CHECKING:
    from hamlet.plan.query import Query


def measured_templates(query: Query, templates: QueryTemplates) -> QueryTemplates:
    """The templates of a query, those of its pattern with parts where it measures trends."""
    if not (query.asks_lengths or query.asks_durations):
        return templates
    branches = tuple(_parted(branch, query.asks_durations) for branch in templates.branches)
    return replace(templates, branches=branches)


def _parted(template: Template, has_ends: bool) -> Template:
    apart = _beginning_apart(template)
    if has_ends:
        apart = _ending_apart(apart)
    into, out = _neighbours(apart)
    states = tuple(
        replace(state, part=_part(into[number], out[number] if has_ends else set()))
        for number, state in enumerate(apart.states)
    )
    return replace(apart, states=states, edges=tuple(sorted(apart.edges, key=edge_order)))


def _part(into: set[int], out: set[int]) -> Part:
    begins, ends = into == {START}, out == {END}
    if begins:
        return Part.ONLY if ends else Part.FIRST
    return Part.LAST if ends else Part.MIDDLE


def _neighbours(template: Template) -> tuple[list[set[int]], list[set[int]]]:
    """For each state the sources of the edges into it, and the targets of those out of it."""
    into: list[set[int]] = [set() for _ in template.states]
    out: list[set[int]] = [set() for _ in template.states]
    for edge in template.edges:
        if edge.target != END:
            into[edge.target].add(edge.source)
        if edge.source != START:
            out[edge.source].add(edge.target)
    return into, out


def _beginning_apart(template: Template) -> Template:
    """States at which trends begin and go on, in two: the new ones have the edges from START."""
    into, _ = _neighbours(template)
    mixed = [number for number, some in enumerate(into) if START in some and len(some) > 1]
    begun = {number: len(template.states) + place for place, number in enumerate(mixed)}
    edges: list[Edge] = []
    for edge in template.edges:
        is_begun = edge.source == START and edge.target in begun
        edges.append(replace(edge, target=begun[edge.target]) if is_begun else edge)
        if edge.source in begun:
            edges.append(replace(edge, source=begun[edge.source]))
    return _with_copies(template, mixed, edges)


def _ending_apart(template: Template) -> Template:
    """States at which trends end and go on, in two: the new ones have the edges to END."""
    _, out = _neighbours(template)
    mixed = [number for number, some in enumerate(out) if END in some and len(some) > 1]
    ended = {number: len(template.states) + place for place, number in enumerate(mixed)}
    edges: list[Edge] = []
    for edge in template.edges:
        is_ended = edge.target == END and edge.source in ended
        edges.append(replace(edge, source=ended[edge.source]) if is_ended else edge)
        if edge.target in ended:
            edges.append(replace(edge, target=ended[edge.target]))
    return _with_copies(template, mixed, edges)


def _with_copies(template: Template, copied: list[int], edges: list[Edge]) -> Template:
    copies = tuple(template.states[number] for number in copied)
    return replace(template, states=(*template.states, *copies), edges=tuple(edges))
