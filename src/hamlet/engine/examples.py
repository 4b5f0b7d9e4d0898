"""Examples of a row of results: some of the trends that its numbers are about, with their events.

The events of the window are read once more, this time with all their columns, and trends are drawn
from those of the group: see `kernel/drawing.py`.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.engine.groups import groups_of
from hamlet.engine.options import events_of
from hamlet.engine.pipeline import Pipelines
from hamlet.errors import PlanError, UnknownName, counted, listed
from hamlet.kernel import drawing
from hamlet.kernel.drawing import Choice, Trellis
from hamlet.kernel.jit import interpreted
from hamlet.plan.aggregates import DURATION, LENGTH
from hamlet.plan.query import Match
from hamlet.plan.workload import plan_workload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from hamlet.engine.options import Options
    from hamlet.events.table import EventTable
    from hamlet.plan.query import Aggregate, Query
    from hamlet.plan.workload import WorkloadPlan

# So many events are gone through; where conditions look at both of two, pairs of them.
_MOST_EVENTS = 200_000
_MOST_COMPARED = 5_000
WAYS = ("random", "longest", "shortest", "first")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of results: a window, from and up to a time in microseconds, and a group as JSON."""

    start: int
    end: int
    group: str


@dataclass(frozen=True, slots=True)
class Examples:
    """Trends of one row of results.

    Attributes:
        query: The name of the query.
        window: From when to when, in what the times of events are.
        group: The group, as JSON text.
        how: How they were chosen.
        count: How many trends there were to choose from.
        trends: Each a list of events, an event a dict with all its columns.
    """

    query: str
    window: tuple[Any, Any]
    group: str
    how: str
    count: int
    trends: list[list[dict[str, Any]]]

    def __len__(self) -> int:
        return len(self.trends)

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        return iter(self.trends)

    def __getitem__(self, place: int) -> list[dict[str, Any]]:
        return self.trends[place]

    @property
    def heading(self) -> str:
        """What these are, in a line."""
        window = f"[{self.window[0]}, {self.window[1]})"
        there = _magnitude(self.count)
        return f"{self.query} {window} {self.group}: {len(self)} of {there}, {self.how}"

    def __repr__(self) -> str:
        """A line for each event."""
        lines = [self.heading]
        for number, trend in enumerate(self.trends, 1):
            lines.append(f"{number}. {counted(len(trend), 'event')}")
            lines += [f"   {_shown(event)}" for event in trend]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A table for each trend."""
        tables = "".join(_html_table(trend) for trend in self.trends)
        return f"<p>{html.escape(self.heading)}</p>{tables}"


def _magnitude(count: int) -> str:
    return counted(count, "trend") if count < 10**15 else f"about 10^{len(str(count)) - 1} trends"


def _shown(event: dict[str, Any]) -> str:
    return "  ".join(f"{name}={value}" for name, value in event.items() if value is not None)


def _html_table(trend: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for event in trend for name in event))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(e.get(name)))}</td>" for name in names) + "</tr>"
        for e in trend
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Urn:
    """The trends of a row that examples are drawn from."""

    passed: drawing.Pass
    events: EventTable
    rows: Any

    @property
    def count(self) -> int:
        """How many there are."""
        return self.passed.count

    def draw(self, random: Random) -> tuple[int, ...]:
        """One of them, as the rows of its events; each is as likely as any other."""
        return tuple(int(self.rows[place]) for place in self.passed.draw(random))

    def different(self, n: int, random: Random) -> list[tuple[int, ...]]:
        """Some of them, none twice."""
        found: dict[tuple[int, ...], None] = {}
        while len(found) < min(n, self.count):
            found[self.draw(random)] = None
        return list(found)

    def shown(self, trend: tuple[int, ...]) -> list[dict[str, Any]]:
        """The events of a trend with all their columns."""
        found: list[dict[str, Any]] = self.events.table.take(list(trend)).to_pylist()
        return found


def urn_of(
    plan: WorkloadPlan, number: int, source: Any, options: Options, row: Row, how: str
) -> Urn:
    """The trends of a row of results.

    Args:
        plan: The workload.
        number: Of the query in it.
        source: The events: see `EventTable.of`.
        options: How the workload was run.
        row: The row of results.
        how: One of `WAYS`, or the name of a MIN or MAX of the query, which they attain.

    Raises:
        PlanError: It cannot be told for this query, or there are too many events.
    """
    query = plan.queries[number].query
    if query.is_conjunction:
        reason = f"{query.name} has pairs of trends, of which no examples are drawn"
        raise PlanError(reason, "Ask for each side of AND by itself.")
    table = events_of(source, plan, options, has_all=True)
    events = table.take(np.flatnonzero((table.ts >= row.start) & (table.ts < row.end)))
    alone = plan_workload([plan.queries[number]])
    pipeline = Pipelines(alone).of(replace(options, trace=False, system="hamlet"))[0]
    with interpreted(True):
        encoded = pipeline.encode(events)
    _check_size(query, len(encoded.batch))
    names = groups_of(encoded.keys, encoded.groupings[0]).texts.to_pylist()
    of_partition = encoded.groupings[0].of_partition
    trellis = Trellis(
        query,
        pipeline.program,
        encoded,
        query.window.clock.time(row.start),
        lambda partition: names[of_partition[partition]] == row.group,
    )
    return Urn(trellis.pass_over(_choice(query, trellis, how)), events, encoded.rows)


def _check_size(query: Query, events: int) -> None:
    compares = query.edge_predicates or query.negations or query.match != Match.ANY
    most = _MOST_COMPARED if compares else _MOST_EVENTS
    if events > most:
        reason = f"the window has {events:,} events for {query.name}, more than {most:,}"
        raise PlanError(reason, "Ask for a shorter window, or for more grouping attributes.")


def _choice(query: Query, trellis: Trellis, how: str) -> Choice:
    ways = {"random": Choice, "longest": drawing.longest, "shortest": drawing.shortest}
    if how in ways:
        return ways[how]()
    if how == "first":
        return drawing.first_to_end(trellis.steps)
    for place, aggregate in enumerate(query.extremes):
        if aggregate.name == how:
            return _attaining(trellis, place, aggregate)
    named = [*WAYS, *(aggregate.name for aggregate in query.extremes)]
    raise UnknownName("way to choose examples", how, f"Ways are {listed(named)}.")


def _attaining(trellis: Trellis, place: int, aggregate: Aggregate) -> Choice:
    """Trends that a least or greatest value is of: those that have an event with that value."""
    if aggregate.measure == LENGTH:
        return drawing.shortest() if aggregate.sign > 0 else drawing.longest()
    if aggregate.measure == DURATION:
        return (drawing.quickest if aggregate.sign > 0 else drawing.slowest)(trellis.times)
    values = trellis.extremes_of(place)
    ordered = sorted({value for value in values.values()})
    rank = {value: number - len(ordered) for number, value in enumerate(ordered)}

    def rank_of(event: int, state: int) -> int:
        value = values.get((event, state))
        return 0 if value is None else rank[value]

    best = min(
        (label for *_, label, _ in trellis.pass_over(drawing.least(rank_of)).ends), default=0
    )
    return drawing.having(lambda event, state: best < 0 and rank_of(event, state) == best)
