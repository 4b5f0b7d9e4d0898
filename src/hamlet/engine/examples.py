"""Examples of a row of results: some of the trends that its numbers are about, with their events.

The events of the window are read once more, this time with all their columns, and trends are drawn
from those of the group: see `kernel/drawing.py`.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.engine.groups import groups_of
from hamlet.engine.options import events_of
from hamlet.engine.pipeline import Pipelines
from hamlet.errors import PlanError, UnknownName, counted, listed
from hamlet.events.times import given_times
from hamlet.kernel import drawing
from hamlet.kernel.drawing import Choice, Trellis
from hamlet.kernel.encode.arranging import moments_of
from hamlet.kernel.jit import interpreted
from hamlet.plan.aggregates import DURATION, LENGTH
from hamlet.plan.query import OTHER, Match, asked_types
from hamlet.plan.workload import plan_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hamlet.engine.options import Options
    from hamlet.events.table import EventTable
    from hamlet.events.times import Times
    from hamlet.plan.query import Aggregate, Query
    from hamlet.plan.workload import WorkloadPlan

    # Events, each a dict with all its columns
    Trend = list[dict[str, Any]]
    # A trend, or a pair of them where the pattern is AND
    Example = Trend | tuple[Trend, Trend]

# So many events are gone through; where conditions look at both of two, pairs of them.
_MOST_EVENTS = 200_000
_MOST_COMPARED = 5_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WAYS = ("random", "longest", "shortest", "first")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of results: a window, from and up to a time in microseconds, and a group as JSON."""

    start: int
    end: int
    group: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What results came from, for examples of them.

    plan: The workload.
    options: How it was run.
    events: The events of some rows of queries, by the number of the query, with all their columns;
        where it is easier, of others as well.
    """

    plan: WorkloadPlan
    options: Options
    events: Callable[[Mapping[int, Sequence[Row]]], EventTable]

    @staticmethod
    def of(plan: WorkloadPlan, source: Any, options: Options) -> Origin:
        """That of results over a source that can be read again: see `EventTable.of`."""
        return Origin(plan, options, lambda rows: events_of(source, plan, options, has_all=True))


@dataclass(frozen=True, slots=True)
class Examples:
    """Trends of one row of results.

    Attributes:
        query: The name of the query.
        window: From when to when, in what the times of events are.
        group: The group, as JSON text.
        how: How they were chosen.
        count: How many trends there were to choose from; pairs of trends where the pattern is AND.
        trends: Each a list of events, an event a dict with all its columns; where the pattern is
            AND each a pair of such lists, one of each side.
    """

    query: str
    window: tuple[Any, Any]
    group: str
    how: str
    count: int
    trends: list[Example]

    def __len__(self) -> int:
        return len(self.trends)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.trends)

    def __getitem__(self, place: int) -> Any:
        return self.trends[place]

    @property
    def heading(self) -> str:
        """What these are, in a line."""
        window = f"[{self.window[0]}, {self.window[1]})"
        there = _magnitude(self.count, "pair" if self._are_pairs else "trend")
        return f"{self.query} {window} {self.group}: {len(self)} of {there}, {self.how}"

    def as_data(self) -> dict[str, Any]:
        """Plain data; times are ISO 8601 text, and a pair is a list of two trends."""
        return {
            "query": self.query,
            "window": [_plain(each) for each in self.window],
            "group": self.group,
            "how": self.how,
            "count": str(self.count),
            "trends": [_plain_example(each) for each in self.trends],
        }

    @property
    def _are_pairs(self) -> bool:
        return any(isinstance(each, tuple) for each in self.trends)

    def __repr__(self) -> str:
        """A line for each event."""
        lines = [self.heading]
        for number, example in enumerate(self.trends, 1):
            sides = sides_of(example)
            lines.append(f"{number}. " + " and ".join(counted(len(t), "event") for t in sides))
            for place, trend in enumerate(sides):
                lines += ["   and"] if place else []
                lines += [f"   {_shown(event)}" for event in trend]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A table for each trend."""
        tables = "".join(
            "<p>and</p>".join(map(_html_table, sides_of(example))) for example in self.trends
        )
        return f"<p>{html.escape(self.heading)}</p>{tables}"


def sides_of(example: Example) -> tuple[Trend, ...]:
    """The trends of an example: itself, or the two of a pair."""
    return example if isinstance(example, tuple) else (example,)


def _plain_example(example: Example) -> list[Any]:
    sides = [[{k: _plain(v) for k, v in e.items()} for e in trend] for trend in sides_of(example)]
    return sides[0] if isinstance(example, list) else sides


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool | None) else str(value)


def _magnitude(count: int, what: str) -> str:
    return counted(count, what) if count < 10**15 else f"about 10^{len(str(count)) - 1} {what}s"


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

    passed: drawing.Pass | drawing.Pairs
    events: EventTable
    rows: Any

    @property
    def count(self) -> int:
        """How many there are."""
        return self.passed.count

    def draw(self, random: Random) -> tuple[tuple[int, ...], ...]:
        """One of them as the rows of its events, or the two of a pair; each is equally likely."""
        drawn = self.passed.draw(random)
        return tuple(tuple(int(self.rows[place]) for place in trend) for trend in drawn)

    def different(self, n: int, random: Random) -> list[tuple[tuple[int, ...], ...]]:
        """Some of them, none twice."""
        examples: dict[tuple[tuple[int, ...], ...], None] = {}
        while len(examples) < min(n, self.count):
            examples[self.draw(random)] = None
        return list(examples)

    def shown(self, drawn: tuple[tuple[int, ...], ...]) -> Example:
        """The events of a trend, or of the two of a pair, with all their columns."""
        trends = [self.events.table.take(list(trend)).to_pylist() for trend in drawn]
        return trends[0] if len(trends) == 1 else (trends[0], trends[1])


def examples_of(
    origin: Origin, number: int, table: EventTable, row: Row, *, n: int, how: str, seed: int
) -> Examples:
    """Some of the trends of a row of results.

    Args:
        origin: What the results came from.
        number: Of the query.
        table: The events of the row: see `Origin`.
        row: The row of results.
        n: How many.
        how: One of `WAYS`, or the name of a MIN or MAX of the query, which they attain.
        seed: Of what is drawn.

    Raises:
        PlanError: It cannot be told for this query, or there are too many events.
    """
    urn = urn_of(origin, number, table, row, how)
    trends = [urn.shown(trend) for trend in urn.different(n, Random(seed))]
    start, end = given_times(np.array([row.start, row.end]), table.times).to_pylist()
    name = origin.plan.queries[number].query.name
    return Examples(name, (start, end), row.group, how, urn.count, trends)


def urn_of(origin: Origin, number: int, table: EventTable, row: Row, how: str) -> Urn:
    """The trends of a row of results.

    Args:
        origin: What the results came from.
        number: Of the query.
        table: The events of the row: see `Origin`.
        row: The row of results.
        how: One of `WAYS`, or the name of a MIN or MAX of the query, which they attain.

    Raises:
        PlanError: It cannot be told for this query, or there are too many events.
    """
    plan, options = origin.plan, origin.options
    query = plan.queries[number].query
    events = events_of_row(table, query, row)
    alone = plan_workload([plan.queries[number]])
    pipeline = Pipelines(alone).of(replace(options, trace=False, system="hamlet"))[0]
    with interpreted(True):
        encoded = pipeline.encode(events)
        moments = moments_of(events)[encoded.rows].tolist()
    check_size(query, len(encoded.batch))
    names = groups_of(encoded.keys, encoded.groupings[0]).texts.to_pylist()
    of_partition = encoded.groupings[0].of_partition
    trellis = Trellis(
        query,
        pipeline.program,
        encoded,
        query.window.clock.time(row.start),
        lambda partition: names[of_partition[partition]] == row.group,
    )
    return Urn(trellis.trends(_choice(query, trellis, moments, how)), events, encoded.rows)


def events_of_row(table: EventTable, query: Query, row: Row) -> EventTable:
    """The events that may be in a trend of a row; those of other groups are left out in part."""
    is_in = (table.ts >= row.start) & (table.ts < row.end)
    asked = asked_types([query])
    if OTHER not in asked and table.types.words is not None:
        is_asked = np.array([word in asked for word in table.types.words.to_pylist()], np.bool_)
        is_in &= is_asked[table.types.data]
    values = json.loads(row.group, parse_float=Decimal)
    rows = np.flatnonzero(is_in)
    for attribute in query.group_by:
        column = table.table[attribute].take(rows)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not any(is_kind(kind) for is_kind in _COMPARED):
            continue
        same = pc.equal(column.cast(kind), pa.scalar(values[attribute], kind))
        rows = rows[same.fill_null(False).to_numpy()]
    return table.take(rows)


# Kinds of keys whose text in a group is their value; others are told apart by their text.
_COMPARED = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_boolean,
)


def asked_start(window: Any, times: Times, zone: str | None) -> int | None:
    """When a window begins that is asked for, in microseconds; None where that is no time.

    >>> asked_start("2026-03-01", "naive", None) == asked_start(1772323200, "seconds", None)
    True

    Args:
        window: Seconds, a time, or the text of either. A time without a zone is one of the zone of
            the windows, in UTC where they have none.
        times: What times of events are given in.
        zone: The zone of the windows.
    """
    try:
        if times == "seconds":
            return round(Fraction(str(window)) * 10**6)
        moment = window if isinstance(window, datetime) else datetime.fromisoformat(str(window))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC if zone is None else ZoneInfo(zone))
    return (moment - _EPOCH) // timedelta(microseconds=1)


def compares(query: Query) -> bool:
    """Whether pairs of events are looked at for examples of a query, and not only each of them."""
    return bool(query.edge_predicates or query.negations) or query.match != Match.ANY


def most_events(query: Query) -> int:
    """How many events of a window are gone through for examples of a query."""
    return _MOST_COMPARED if compares(query) else _MOST_EVENTS


def check_size(query: Query, events: int) -> None:
    """Refuse to go through too many events.

    Raises:
        PlanError: They are too many.
    """
    most = most_events(query)
    if events > most:
        reason = f"the window has {events:,} events for {query.name}, more than {most:,}"
        raise PlanError(reason, "Ask for a shorter window, or for more grouping attributes.")


def _choice(query: Query, trellis: Trellis, moments: list[int], how: str) -> Choice:
    ways = {"random": Choice, "longest": drawing.longest, "shortest": drawing.shortest}
    if how in ways:
        return ways[how]()
    if how == "first":
        return drawing.first_to_end(moments)
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

    best = trellis.least_rank(drawing.least(rank_of))
    return drawing.having(lambda event, state: best < 0 and rank_of(event, state) == best)
