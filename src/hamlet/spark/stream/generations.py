"""Generations of a workload on one stream: the law by which queries come and go.

A stream that goes on with another workload begins a *generation* at a moment of its events, the
*change*: after all events that have been taken in until then. From there on

- a window that begins at or after a change is answered by the generation of that change, whole;
- a window that began before is answered by the generation it began in, whole, and digit for digit
  as if nothing had changed;
- a query that a change takes away gives no rows for windows that end after it.

A query is the same as before if it means the same, whatever its name and its place. One that is
called otherwise goes on: its windows have the name that it had when they began.

Each generation has sessions of its own, so that none depends on which queries others have, or how
they share. For the length of a window two of them take in the events; then the older is over.
Nothing here knows of Spark.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.engine.session import query_digest
from hamlet.engine.state.emitted import picked
from hamlet.errors import RunError
from hamlet.explain.planned import PlannedWorkload
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_query, print_workload
from hamlet.lang.tree import WorkloadTree
from hamlet.plan.local_times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.engine.state.closed import Closed
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.share.policy import Policy

    Longs = NDArray[np.int64]

# Numbers of buckets leave room for as many generations.
MOST_GENERATIONS = 2047
EVER_US = 1 << 62


@dataclass(frozen=True, slots=True)
class Span:
    """The windows that a generation answers for.

    begins_us, ends_us: They begin in between.
    removed_us: For each query the end of its last window.
    last_us: Events from then on are in none of them.
    """

    begins_us: int = -EVER_US
    ends_us: int = EVER_US
    removed_us: tuple[int, ...] = ()
    last_us: int = EVER_US

    @property
    def is_whole(self) -> bool:
        """Whether it has every window."""
        return self.begins_us == -EVER_US and self.ends_us == EVER_US

    def is_over(self, watermark_us: int | None) -> bool:
        """Whether all of its windows have been answered."""
        return watermark_us is not None and watermark_us >= self.last_us

    def events(self, ts: Longs, is_oldest: bool = False) -> NDArray[np.bool_]:
        """Which events may be in a window, by their times, or are late and nobody else's."""
        may_be = ts < self.last_us
        return may_be if is_oldest else may_be & (ts >= self.begins_us)

    def counts(self, ts: Longs) -> NDArray[np.bool_]:
        """Which late events are counted here, and not by the generation after it."""
        return ts < self.ends_us

    def of(self, closed: Closed, numbers: Sequence[int]) -> Closed:
        """Those of some closed windows that the generation answers for.

        Args:
            closed: The windows.
            numbers: For each query of theirs its number in the workload.
        """
        if self.is_whole:
            return closed
        sets = []
        for each in closed.sets:
            emission = each.emission
            query_of = each.program.template_query[emission.unit]
            is_wanted = np.zeros(len(emission.part), np.bool_)
            for place, number in enumerate(each.program.queries):
                mine = np.flatnonzero(query_of == place)
                window = closed.plan.queries[number].query.window
                starts = window.starts(emission.window[mine])
                is_wanted[mine] = self._has(numbers[number], starts, window.ends(starts))
            if is_wanted.any():
                sets.append(replace(each, emission=picked(emission, is_wanted)))
        return replace(closed, sets=tuple(sets))

    def _has(self, number: int, starts: Longs, ends: Longs) -> NDArray[np.bool_]:
        is_here = (starts >= self.begins_us) & (starts < self.ends_us)
        return is_here & (ends <= self.removed_us[number]) if self.removed_us else is_here


EVERYTHING = Span()


@dataclass(frozen=True, slots=True)
class Generation:
    """A workload of a stream, as the checkpoint has it.

    number: 0 for the one that the stream was begun with.
    text: Its queries; empty where nobody knows how they were written.
    workload: What they mean, in a digest.
    sharing: The policy they are run with.
    buckets: Over how many parts groups are spread.
    state: What the bytes of states depend on, in a digest.
    column: The types of the columns that it looks at.
    source: What the rows of the source are.
    since_us: The moment of the events that it began with; None for the first.
    at: When that was, by the clock of the machine.
    """

    number: int
    text: str
    workload: str
    sharing: Policy
    buckets: int
    state: str = ""
    column: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, Any] | None = None
    since_us: int | None = None
    at: str | None = None

    def described(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)

    @staticmethod
    def of(data: Mapping[str, Any]) -> Generation:
        """A generation of plain data; what a later version has noted beside it is left out."""
        known = Generation.__dataclass_fields__
        return Generation(**{name: value for name, value in data.items() if name in known})

    @property
    def change_us(self) -> int:
        """The moment that it began with; the first has always been there."""
        return -EVER_US if self.since_us is None else self.since_us

    def plan(self) -> WorkloadPlan:
        """What its queries are."""
        return PlannedWorkload.parse(self.text, name="the workload of the checkpoint").plan

    def texts(self) -> dict[str, str]:
        """How its queries are written, by name."""
        trees = parse_tree(self.text).queries
        names = [planned.query.name for planned in self.plan().queries]
        return {name: print_query(tree) for name, tree in zip(names, trees, strict=True)}

    def meanings(self) -> tuple[Meaning, ...]:
        """What its queries mean."""
        return meanings_of(self.text)


def history_of(
    begun: Mapping[str, Any], changes: Iterable[Mapping[str, Any]]
) -> tuple[Generation, ...]:
    """All generations, from what a stream was begun with and what was noted of its changes.

    Streams that were begun by an earlier version have not noted how their queries are written.
    """
    return (Generation.of({"number": 0, "text": "", **begun}), *map(Generation.of, changes))


class Meaning(NamedTuple):
    """A query: what it is called, and what it says, in a digest."""

    name: str
    digest: str


def meanings_of(text: str) -> tuple[Meaning, ...]:
    """What the queries of a workload mean, each by itself.

    What a query says of types that it does not mention depends on which others mention: so each is
    understood alone.
    """
    workload = PlannedWorkload.parse(text)
    trees = parse_tree(text)
    meanings = []
    for query, tree in zip(workload.queries, trees.queries, strict=True):
        alone = print_workload(WorkloadTree((tree,), trees.definitions))
        meanings.append(Meaning(query.name, query_digest(PlannedWorkload.parse(alone).queries[0])))
    return tuple(meanings)


@dataclass(frozen=True, slots=True)
class Live:
    """A generation that may still answer, and the windows it answers for."""

    generation: Generation
    plan: WorkloadPlan
    span: Span


def live_ones(
    history: Sequence[Generation], plan: WorkloadPlan, closed_us: int | None
) -> tuple[Live, ...]:
    """The generations of a stream that may still have something to answer, the newest last.

    Args:
        history: All generations.
        plan: The workload of the last.
        closed_us: All windows that end by then have been answered; None where none has been.
    """
    newest = Live(history[-1], plan, Span(history[-1].change_us))
    if len(history) == 1:
        return (newest,)
    meanings = [each.meanings() for each in history]
    live = []
    for place, generation in enumerate(history[:-1]):
        own = generation.plan()
        later = [(each.change_us, m) for each, m in zip(history, meanings, strict=True)]
        span = span_of(generation.change_us, own, meanings[place], later[place + 1 :])
        if span.begins_us < span.ends_us and not span.is_over(closed_us):
            live.append(Live(generation, own, span))
    return (*live, newest)


def span_of(
    begins: int,
    plan: WorkloadPlan,
    meanings: Sequence[Meaning],
    later: Sequence[tuple[int, Sequence[Meaning]]],
) -> Span:
    """The windows that a generation answers for which is not the newest.

    Args:
        begins: The change it began with.
        plan: Its queries.
        meanings: What they mean.
        later: All changes after it, and what queries mean from then on.
    """
    removed = [EVER_US] * len(meanings)
    # By their numbers here, what those are called now that are still there.
    there = dict(enumerate(meanings))
    for change, others in later:
        there = successors(there, others)
        for number in range(len(meanings)):
            if number not in there:
                removed[number] = min(removed[number], change)
    ends = later[0][0]
    queries = [planned.query for planned in plan.queries]
    last = max(min(ends + _longest_us(q), end) for q, end in zip(queries, removed, strict=True))
    return Span(begins, ends, tuple(removed), last)


def successors(before: Mapping[int, Meaning], after: Sequence[Meaning]) -> dict[int, Meaning]:
    """By the same keys, which queries of a later workload are the same ones.

    Those of the same name first, so that of two that mean the same the right one goes.
    """
    left = list(after)
    successor_of: dict[int, Meaning] = {}
    for is_named in (True, False):
        for key, one in before.items():
            same = [each for each in left if each.digest == one.digest]
            match = [each for each in same if each.name == one.name or not is_named]
            if key not in successor_of and match:
                left.remove(match[0])
                successor_of[key] = match[0]
    return successor_of


def _longest_us(query: Query) -> int:
    """At most as long are the windows of a query; no shift of a clock is longer than a day."""
    within = query.window.lengths_us[0]
    return within if query.window.clock.zone is None else within + 2 * DAY_US


def next_number(history: Sequence[Generation]) -> int:
    """The number of the generation after some.

    Raises:
        RunError: There have been too many.
    """
    if len(history) > MOST_GENERATIONS:
        reason = f"its workload has changed {MOST_GENERATIONS:,} times; begin a new checkpoint"
        raise RunError("the stream", reason)
    return len(history)


def change_us(watermark_ms: int, lateness_us: int) -> int:
    """The moment after all events that were taken in, by the watermark that came of them."""
    return (watermark_ms + -(-lateness_us // 1000) + 1) * 1000


def differences(before: Sequence[Meaning], after: Sequence[Meaning]) -> dict[str, tuple[str, ...]]:
    """The names of queries that came, that went, and that go on."""
    old = dict(enumerate(before))
    kept = successors(old, after)
    return {
        "added": tuple(each.name for each in after if each not in kept.values()),
        "removed": tuple(each.name for number, each in old.items() if number not in kept),
        "unchanged": tuple(each.name for each in kept.values()),
    }


def shown_moment(moment_us: int | None) -> str:
    """A moment of a stream for people; nothing was taken in before the first change."""
    if moment_us is None or moment_us <= -EVER_US:
        return "the beginning"
    return f"{np.datetime64(moment_us, 'us')}Z"


def generation_json(generation: Generation) -> str:
    """A generation as it is written."""
    return json.dumps(generation.described(), indent=2) + "\n"
