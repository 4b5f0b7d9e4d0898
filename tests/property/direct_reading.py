"""Two ways to decide whether a sequence of events is a trend, made to be compared.

`Reading` follows the definition of a trend word by word, on the syntax tree: it tries every way to
cut the sequence and knows nothing of automata. `accepting_runs` walks a template. Between the
events stand gaps: what a gap holds is the set of negations that have a match there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hamlet.lang import tree
from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.lang.printer import print_pattern
from hamlet.plan.predicates import holds
from hamlet.plan.template import END, START

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.errors import Problem
    from hamlet.plan.query import Query
    from hamlet.plan.template import Alternative, Condition, PlannedQuery, Template

Event = dict[str, Any]
Gap = frozenset[int]
Binding = tuple[str, ...]


@dataclass(frozen=True)
class Local:
    """`variable.attribute = 1`."""

    variable: str
    attribute: str

    @property
    def text(self) -> str:
        """The predicate in the query language."""
        return f"{self.variable}.{self.attribute} = 1"


@dataclass(frozen=True)
class Adjacent:
    """`one.out <= NEXT(other).into`, or without NEXT, and then in either order."""

    one: str
    other: str
    out: str
    into: str
    has_next: bool

    @property
    def text(self) -> str:
        """The predicate in the query language."""
        other = f"NEXT({self.other})" if self.has_next else self.other
        return f"{self.one}.{self.out} <= {other}.{self.into}"

    def is_true(self, one: Event, other: Event) -> bool:
        """Whether it holds of two events, null being neither more nor less than anything."""
        left, right = one[self.out], other[self.into]
        return left is not None and right is not None and left <= right


@dataclass
class Reading:
    """The definition of a trend for one pattern, whose places all have aliases."""

    pattern: tree.Pattern
    local: tuple[Local, ...] = ()
    adjacent: tuple[Adjacent, ...] = ()
    types: dict[str, str] = field(init=False)
    negations: list[tree.NotPattern] = field(init=False)

    def __post_init__(self) -> None:
        self.types = {n.alias.text: n.type.text for n in nodes(self.pattern, tree.TypePattern)}
        self.negations = list(nodes(self.pattern, tree.NotPattern))

    def bindings(
        self, events: list[Event], gaps: list[Gap], part: tree.Pattern | None = None
    ) -> set[Binding]:
        """Every way to bind the events to aliases; none where they are no trend."""
        part = self.pattern if part is None else part
        found = self._matches(part, events, gaps, 0, len(events))
        return {binding for binding in found if self._is_joined(binding, events)}

    def variables(self) -> list[str]:
        """Aliases and types."""
        return [*self.types, *dict.fromkeys(self.types.values())]

    def is_bound(self, alias: str, variable: str) -> bool:
        """Whether an event at an alias is an event of a variable."""
        return variable in (alias, self.types[alias])

    def _matches(
        self, part: tree.Pattern, events: list[Event], gaps: list[Gap], start: int, end: int
    ) -> set[Binding]:
        """Bindings of events[start:end] to a part of the pattern, edge predicates left aside."""
        match part:
            case tree.TypePattern():
                alone = end - start == 1 and self._fits(part, events[start])
                return {(part.alias.text,)} if alone else set()
            case tree.NotPattern():
                clear = start == end and self.negations.index(part) not in gaps[start]
                return {()} if clear else set()
            case tree.OrPattern(items=items):
                return {b for item in items for b in self._matches(item, events, gaps, start, end)}
            case tree.SeqPattern(items=(item,)):
                return self._matches(item, events, gaps, start, end)
            case tree.SeqPattern(items=(item, *rest)):
                tail = tree.SeqPattern(tuple(rest))
                cuts = range(start, end + 1)
            case tree.KleenePattern(body=item):
                tail = part
                cuts = range(start + 1, end)
        whole = set() if tail is not part else self._matches(item, events, gaps, start, end)
        for cut in cuts:
            for head in self._matches(item, events, gaps, start, cut):
                whole |= {head + more for more in self._matches(tail, events, gaps, cut, end)}
        return whole

    def _fits(self, place: tree.TypePattern, event: Event) -> bool:
        alias = place.alias.text
        own = [local for local in self.local if self.is_bound(alias, local.variable)]
        return event["type"] == place.type.text and all(event[p.attribute] == 1 for p in own)

    def _is_joined(self, binding: Binding, events: list[Event]) -> bool:
        """Whether every two adjacent events satisfy the edge predicates between them."""
        for k in range(len(binding) - 1):
            first, second = binding[k], binding[k + 1]
            for p in self.adjacent:
                forth = self.is_bound(first, p.one) and self.is_bound(second, p.other)
                back = self.is_bound(first, p.other) and self.is_bound(second, p.one)
                if forth and not p.is_true(events[k], events[k + 1]):
                    return False
                if back and not p.has_next and not p.is_true(events[k + 1], events[k]):
                    return False
        return True


def nodes(pattern: tree.Pattern, kind: type) -> Iterator[Any]:
    """The nodes of a kind in a pattern, from left to right."""
    if isinstance(pattern, kind):
        yield pattern
    inner = getattr(pattern, "items", None) or [getattr(pattern, "body", None)]
    for item in inner:
        if item is not None:
            yield from nodes(item, kind)


# Through the package


def bound_of(
    pattern: tree.Pattern | str,
    predicates: tuple[Local | Adjacent, ...] = (),
    returned: str = "COUNT(*)",
) -> tuple[PlannedQuery | None, list[Problem]]:
    """The query with a pattern and predicates, and its problems."""
    shown = pattern if isinstance(pattern, str) else print_pattern(pattern)
    where = f"WHERE {' AND '.join(p.text for p in predicates)}" if predicates else ""
    trees, problems = read(f"RETURN {returned} PATTERN {shown} {where} WITHIN 10 s")
    bound, more = bind(trees)
    return (bound[0] if bound else None), problems + more


def accepting_runs(
    query: Query, template: Template, events: list[Event], gaps: list[Gap]
) -> list[tuple[int, ...]]:
    """Every path START -> ... -> END along which a template takes the events."""
    runs: list[tuple[int, ...]] = [(START,)]
    for k, event in enumerate(events):
        previous = events[k - 1] if k else None
        runs = [
            (*run, edge.target)
            for run in runs
            for edge in template.edges
            if edge.source == run[-1]
            and edge.target != END
            and _takes(template, edge.target, event)
            and is_open(query, edge.condition, gaps[k], previous, event)
        ]
    return [
        run[1:]
        for run in runs
        for edge in template.edges
        if edge.source == run[-1]
        and edge.target == END
        and is_open(query, edge.condition, gaps[-1], events[-1], None)
    ]


def _takes(template: Template, number: int, event: Event) -> bool:
    state = template.states[number]
    if state.type != event["type"]:
        return False
    return state.atom is None or holds(state.atom, {"this": event})


def is_open(
    query: Query, condition: Condition, gap: Gap, previous: Event | None, event: Event | None
) -> bool:
    """Whether an edge is taken: one way of each need, no forbidden way, and the second event."""

    def is_way(way: Alternative) -> bool:
        pair = {"previous": previous, "next": event}
        true = (holds(query.edge_predicates[n].condition, pair) for n in way.predicates)
        return not way.guards & gap and all(true)

    return (
        all(any(is_way(way) for way in need) for need in condition.needs)
        and not any(is_way(way) for way in condition.forbids)
        and all(holds(atom, {"this": event}) for atom in condition.holds)
        and not any(holds(atom, {"this": event}) for atom in condition.fails)
    )
