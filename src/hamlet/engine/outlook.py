"""What a run over some events will meet, told before it: `hamlet check --events`.

Events are read and encoded as for a run, and counted: by type, by place of each pattern and by what
its condition leaves, by window. So what a query will find nothing at, and what it will wait for, is
known without running it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.engine.empty_results import Seen, holding, odd_events
from hamlet.engine.options import events_of
from hamlet.engine.pipeline import Pipelines
from hamlet.engine.slow_loops import SlowLoop, earlier_of_query, undecided_predicates
from hamlet.errors import counted
from hamlet.events.times import given_times
from hamlet.plan.predicates import show, show_edge
from hamlet.plan.query import OTHER
from hamlet.plan.windows import first_window, last_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.engine.options import Options
    from hamlet.engine.pipeline import SetPipeline
    from hamlet.events.table import EventTable
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.predicates import EdgePredicate
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan

_TYPES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class PlaceOutlook:
    """A place of a pattern: how many events of its type there are, and pass its condition."""

    place: str
    events: int
    condition: str
    passing: int

    @property
    def told(self) -> str:
        """It in words."""
        events = f"{self.place}: {counted(self.events, 'event')}"
        return f"{events}, {self.passing:,} with {self.condition}" if self.condition else events


@dataclass(frozen=True, slots=True)
class LoopOutlook:
    """A condition on neighbours: whether an order decides it, else the pairs that are looked at."""

    condition: str
    is_ordered: bool
    pairs: int = 0
    cost: str = ""

    @property
    def told(self) -> str:
        """It in words."""
        if self.is_ordered:
            return f"{self.condition}: answered by an ordered index"
        return f"{self.condition}: no order decides it, so {self.cost}"


@dataclass(frozen=True, slots=True)
class QueryOutlook:
    """What a query will meet.

    windows: Windows that have an event of the query.
    partitions: Partitions that have one.
    most_events: The most of one partition that are in one window.
    """

    query: str
    windows: int
    partitions: int
    most_events: int
    places: tuple[PlaceOutlook, ...]
    loops: tuple[LoopOutlook, ...]

    @property
    def told(self) -> list[str]:
        """It in words, a line each."""
        first = (
            f"{counted(self.windows, 'window')} with events, "
            f"{counted(self.partitions, 'partition')}, "
            f"at most {counted(self.most_events, 'event')} of one in a window"
        )
        places, loops = (each.told for each in self.places), (each.told for each in self.loops)
        return [first, *places, *loops]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a run will meet.

    rows: Rows of the events.
    malformed: Those that cannot be read, by reason.
    span: When the first and the last happened; None where there is none.
    types: How many events of each type there are, those that queries ask for first.
    asked: How many of these types they ask for.
    queries: What each query will meet.
    notes: What may be a mistake.
    """

    rows: int
    malformed: dict[str, int]
    span: tuple[Any, Any] | None
    types: dict[str, int]
    asked: int
    queries: tuple[QueryOutlook, ...]
    notes: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """Plain data; times are text."""
        data = asdict(self)
        data["span"] = None if self.span is None else [_plain(each) for each in self.span]
        return data

    @property
    def lines(self) -> list[str]:
        """It as text."""
        span = "" if self.span is None else f", from {self.span[0]} to {self.span[1]}"
        left = sum(self.malformed.values())
        bad = f", {left:,} of them malformed" if left else ""
        lines = [f"events    {counted(self.rows, 'row')}{bad}{span}"]
        names = list(self.types)
        for what, some in (("types", names[: self.asked]), ("others", names[self.asked :])):
            if some:
                lines.append(f"{what:<10}{_listed(some, self.types)}")
        for query in self.queries:
            lines += [query.query, *(f"  {line}" for line in query.told)]
        return [*lines, *(f"note      {note}" for note in self.notes)]


def _listed(names: Sequence[str], counts: dict[str, int]) -> str:
    more = len(names) - _TYPES_SHOWN
    shown = ", ".join(f"{name} {counts[name]:,}" for name in names[:_TYPES_SHOWN])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float) else str(value)


def outlook(plan: WorkloadPlan, source: Any, options: Options) -> Outlook:
    """What a run of a workload over some events will meet.

    Args:
        plan: The workload.
        source: The events: see `EventTable.of`.
        options: How it would be run.

    Raises:
        ReadError: A file cannot be read.
        SchemaError: A column is missing, or is not what the workload uses it for.
    """
    table = events_of(source, plan, options)
    queries: dict[int, QueryOutlook] = {}
    for pipeline in Pipelines(plan).of(options):
        encoded = pipeline.encode(table)
        for local, number in enumerate(pipeline.sharable.queries):
            queries[number] = _of_query(pipeline, local, table, encoded)
    types, asked = _types(plan, table)
    ends = (
        given_times(np.array([table.ts.min(), table.ts.max()]), table.times) if len(table) else ()
    )
    return Outlook(
        rows=table.statistics.rows,
        malformed=dict(table.statistics.malformed),
        span=tuple(each.as_py() for each in ends) or None,
        types=types,
        asked=asked,
        queries=tuple(queries[number] for number in sorted(queries)),
        notes=tuple(dict.fromkeys([*table.statistics.notes, *odd_events(plan, Seen.of(table))])),
    )


def _types(plan: WorkloadPlan, table: EventTable) -> tuple[dict[str, int], int]:
    """How many events of each type there are, most first, and how many types are asked for."""
    words = [] if table.types.words is None else table.types.words.to_pylist()
    counts = np.bincount(table.types.data, minlength=len(words)).tolist() if words else []
    seen = {word: count for word, count in zip(words, counts, strict=True) if count}
    asked = {place.type for planned in plan.queries for place in planned.query.places}
    by_size = sorted(seen, key=lambda word: (word not in asked, -seen[word]))
    # Where queries ask for no type by its name, all are one.
    name = {OTHER: "of any type"} if asked == {OTHER} else {}
    return {name.get(word, word): seen[word] for word in by_size}, sum(w in asked for w in seen)


def _of_query(
    pipeline: SetPipeline, local: int, table: EventTable, encoded: EncodedSet
) -> QueryOutlook:
    query, batch = pipeline.queries[local], encoded.batch
    earlier, is_asked = earlier_of_query(query, local, pipeline.program, encoded)
    times = np.sort(batch.ts[is_asked])
    undecided = undecided_predicates(query, pipeline.program, encoded)
    return QueryOutlook(
        query=query.name,
        windows=windows_with(times, query.window.within_us, query.window.slide_us),
        partitions=len(np.unique(batch.part[is_asked])),
        most_events=int(earlier.max(initial=-1)) + 1 if is_asked.any() else 0,
        places=tuple(_places(query, table)),
        loops=tuple(
            _loop(query, each, earlier if each in undecided else None)
            for each in dict.fromkeys(query.edge_predicates)
        ),
    )


def _loop(query: Query, predicate: EdgePredicate, earlier: NDArray[np.int64] | None) -> LoopOutlook:
    """A condition on neighbours, with the pairs that are looked at where no order decides it."""
    text = show_edge(predicate)
    if earlier is None:
        return LoopOutlook(text, is_ordered=True)
    slow = SlowLoop(query.name, text, earlier)
    return LoopOutlook(text, is_ordered=False, pairs=slow.pairs, cost=slow.cost)


def windows_with(times: NDArray[np.int64], within: int, slide: int) -> int:
    """How many windows have one of some times, which are sorted, in them.

    >>> windows_with(np.array([0, 1, 100]), within=10, slide=5)
    4
    """
    if not len(times):
        return 0
    first, last = first_window(times, within, slide), last_window(times, slide)
    # Each time counts the windows that none before it is in.
    new = np.maximum(first[1:], last[:-1] + 1)
    return int(last[0] - first[0] + 1 + np.maximum(last[1:] - new + 1, 0).sum())


def _places(query: Query, table: EventTable) -> list[PlaceOutlook]:
    """The places of a pattern, alike ones once."""
    words = [] if table.types.words is None else table.types.words.to_pylist()
    # What stands for several types has a place for each, and as often as it is counted.
    counts: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for place, condition in zip(query.places, query.local, strict=True):
        code = words.index(place.type) if place.type in words else -1
        rows = np.flatnonzero(table.types.data == code)
        text = "" if condition is None else show(condition)
        passing = len(rows) if condition is None else len(holding(condition, table, rows))
        counts.setdefault((place.label, text), {})[place.type] = len(rows), passing
    return [
        PlaceOutlook(label, sum(n for n, _ in some), text, sum(n for _, n in some))
        for (label, text), of_type in counts.items()
        for some in [of_type.values()]
    ]
