"""Counts written in the snapshots and coefficients of the paper's shared execution.

Slow and plain: for looking at and for tests, where the machine keeps the same numbers in closed
form. It writes what Section "Shared Online Trend Aggregation" of the paper writes, for COUNT(*)
over one window and one partition. A burst of events of one Kleene type is a graphlet; what the
events before it carry into it is a snapshot, one value for each query; the count of each of its
events is a sum of coefficients times snapshots, the same for all queries. An event on which the
queries disagree, because an edge predicate holds for some of them only, gets a snapshot of its own.

It is not the paper's algorithm: here each count is worked out for each query alone, from all events
before it, and then an expression is taken where it gives that count. Every burst of a sharable type
is shared, nothing is decided, and graphlets that are not shared are not listed. Snapshots are
numbered x1, x2, ... where the paper calls them x, y and z.

Name here       in the paper
Graphlet        G_E, shared by the queries Q_E
snapshot        x, y (graphlet level), z (event level)
expression      count(e) as coefficients of snapshots
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from hamlet.errors import PlanError
from hamlet.plan.predicates import holds
from hamlet.plan.template import END, START, Edge, PlannedQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hamlet.plan.workload import SharableSet, WorkloadPlan

    Event = Mapping[str, Any]
    Expression = Counter[str]


@dataclass(slots=True)
class Graphlet:
    """A burst of one type: snapshots with their values by query, and its events' expressions."""

    type: str
    queries: tuple[str, ...]
    snapshots: dict[str, dict[str, int]] = field(default_factory=dict)
    expressions: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Trace:
    """All graphlets in order, and the number of trends of each query."""

    graphlets: list[Graphlet] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Node:
    """An event in the graph: its count for each query, and as a shared expression if it has one."""

    event: Event
    step: int
    counts: dict[tuple[int, int], int]  # by query and state
    expression: Expression | None = None


def trace_graphlets(
    plan: WorkloadPlan,
    sharable: SharableSet,
    events: Sequence[Event],
    type_column: str = "type",
    time_column: str = "time",
) -> Trace:
    """Run the COUNT(*) of a sharable set over the events of one window and partition.

    Raises:
        PlanError: A query has NOT, AND or an ambiguous pattern, which the paper's algorithm for
            shared graphlets does not cover.
    """
    tracer = _Tracer(plan, sharable, type_column)
    steps = sorted({event[time_column] for event in events})
    for step, moment in enumerate(steps):
        for event in events:
            if event[time_column] == moment:
                tracer.take(event, step)
    return tracer.finish()


class _Tracer:
    """The graph while it grows."""

    def __init__(self, plan: WorkloadPlan, sharable: SharableSet, type_column: str) -> None:
        self.queries = {number: plan.queries[number] for number in sharable.queries}
        self.shared = {name: set(numbers) for name, numbers in sharable.shared}
        self.type_column = type_column
        self.nodes: list[_Node] = []
        self.burst: list[_Node] = []
        self.trace = Trace()
        self.names = (f"x{number}" for number in count(1))
        for planned in self.queries.values():
            if planned.query.negations or planned.query.is_conjunction:
                raise _untraced(planned.query.name, "it has NOT or AND")
            if planned.templates.branches[0].is_determinised:
                raise _untraced(planned.query.name, "its pattern is ambiguous")

    def take(self, event: Event, step: int) -> None:
        """Add an event to the graph."""
        node = _Node(event, step, {})
        for number, planned in self.queries.items():
            for state, edges in _incoming(planned, event, self.type_column).items():
                node.counts[number, state] = self._count(number, planned, edges, node)
        if not node.counts:
            return
        event_type = event[self.type_column]
        if event_type in self.shared:
            self._share(event_type, node)
        else:
            self.burst = []
        self.nodes.append(node)

    def _count(self, number: int, planned: PlannedQuery, edges: list[Edge], node: _Node) -> int:
        """How many trends of a query end at an event: those that begin with it or go on to it."""
        total = 0
        for edge in edges:
            if edge.source == START:
                total += 1
                continue
            for before in self.nodes:
                if before.step < node.step and _is_open(planned, edge, before.event, node.event):
                    total += before.counts.get((number, edge.source), 0)
        return total

    # Graphlets

    def _share(self, event_type: str, node: _Node) -> None:
        """Write the count of an event of a shared type as an expression."""
        queries = tuple(q for q in self.queries if q in self.shared[event_type])
        if not self.burst or self.burst[0].event[self.type_column] != event_type:
            self._begin(event_type, queries, node)
        graphlet = self.trace.graphlets[-1]
        expression = self._expression(queries, node)
        if expression is None:
            name = next(self.names)
            graphlet.snapshots[name] = {
                self.queries[q].query.name: self._value(q, node) for q in queries
            }
            expression = Counter({name: 1})
        node.expression = expression
        graphlet.expressions.append(_show(expression))
        self.burst.append(node)

    def _begin(self, event_type: str, queries: tuple[int, ...], first: _Node) -> None:
        """Begin a graphlet: what comes into it from before is its first snapshot."""
        names = tuple(self.queries[q].query.name for q in queries)
        graphlet = Graphlet(event_type, names)
        graphlet.snapshots[next(self.names)] = {
            self.queries[q].query.name: self._value(q, first) for q in queries
        }
        self.trace.graphlets.append(graphlet)
        self.burst = []

    def _value(self, query: int, node: _Node) -> int:
        return sum(trends for (number, _), trends in node.counts.items() if number == query)

    def _expression(self, queries: tuple[int, ...], node: _Node) -> Expression | None:
        """The snapshot of the graphlet and the expressions of predecessors inside it.

        None where queries disagree on who they are.
        """
        predecessors = {q: self._inside(q, node) for q in queries}
        agreed = predecessors[queries[0]]
        if any(found != agreed for found in predecessors.values()):
            return None
        snapshot = next(iter(self.trace.graphlets[-1].snapshots))
        total: Expression = Counter({snapshot: 1})
        for before in agreed:
            total += self.burst[before].expression or Counter()
        values = self.trace.graphlets[-1].snapshots
        names = {q: self.queries[q].query.name for q in queries}
        fits = all(
            self._value(q, node) == sum(c * values[s][names[q]] for s, c in total.items())
            for q in queries
        )
        # An event may also enter the graphlet on a predicate that holds for some queries only.
        return total if fits else None

    def _inside(self, query: int, node: _Node) -> list[int]:
        """The positions in the burst of an event's predecessors for a query."""
        planned = self.queries[query]
        found = []
        for edges in _incoming(planned, node.event, self.type_column).values():
            for position, before in enumerate(self.burst):
                for edge in edges:
                    if (
                        before.step < node.step
                        and (query, edge.source) in before.counts
                        and _is_open(planned, edge, before.event, node.event)
                    ):
                        found.append(position)
        return found

    def finish(self) -> Trace:
        """The trace, with the counts of all trends."""
        for number, planned in self.queries.items():
            ends = {e.source for e in planned.templates.branches[0].edges if e.target == END}
            self.trace.counts[planned.query.name] = sum(
                trends
                for node in self.nodes
                for (query, state), trends in node.counts.items()
                if query == number and state in ends
            )
        return self.trace


def _incoming(planned: PlannedQuery, event: Event, type_column: str) -> dict[int, list[Edge]]:
    """The edges into each state that an event can be at."""
    template = planned.templates.branches[0]
    found: dict[int, list[Edge]] = {}
    for number, state in enumerate(template.states):
        fits = state.atom is None or holds(state.atom, {"this": event})
        if state.type == event[type_column] and fits:
            found[number] = [edge for edge in template.edges if edge.target == number]
    return found


def _is_open(planned: PlannedQuery, edge: Edge, before: Event, after: Event) -> bool:
    """Whether the edge predicates hold between two events."""
    return all(
        holds(planned.query.edge_predicates[n].condition, {"previous": before, "next": after})
        for n in edge.condition.predicates
    )


def _show(expression: Expression) -> str:
    """An expression as text.

    >>> _show(Counter({"x1": 4, "x2": 1}))
    '4 x1 + x2'
    """
    return " + ".join(name if c == 1 else f"{c} {name}" for name, c in sorted(expression.items()))


def _untraced(query: str, reason: str) -> PlanError:
    return PlanError(f"{query} has no trace: {reason}", "Leave it out.")
