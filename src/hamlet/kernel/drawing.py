"""Trends of one window drawn from all that there are, without writing all of them down.

Forwards, each event gets at each state the number of trends that end with it there, in Python's
integers. Backwards, a trend is drawn from its end: of the events that may come before, each is
chosen as often as trends end with it. So every trend is drawn equally often, however many there
are. A template has one run for each trend, so no trend is drawn as two.

Which trends are counted is said by labels: what a partial trend is known by, such as its length.
Of `P AND Q` pairs are drawn: a trend of each side, again until they are two, and of those that both
sides match in one order only. More than a quarter of such draws is a pair.
Cost: events times edges; where a condition looks at both of two events, the square of the events.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from hamlet.kernel.base import ExtremeRow
from hamlet.kernel.interpreted import (
    WalkedEvents,
    is_open,
    latest_matches,
    steps_of,
    templates_of,
)
from hamlet.kernel.pairs import ranges_of_partitions
from hamlet.plan.program import Role
from hamlet.plan.template import START, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.kernel.interpreted import Latest, Rule, WalkedTemplate
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query

    Label = int
    # The places of the events of a trend
    Trend = tuple[int, ...]
    # A label after an event, from that before it, by the place of the event and its state
    Labelling = Callable[[Label, int, int], Label]

# The best length may be that of one trend alone, which makes no pair with itself.
_BEST = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """Which trends are drawn from.

    step: How labels go on; a trend begins with label 0.
    best: Of the labels of an event at a state those that are kept.
    rank: The rank of a complete trend, by its label and the place of its last event: those of the
        least rank are drawn from.
    together: The rank of a pair from those of its two trends; never less when one of them is more.
    most: Trends, or pairs, of a greater rank are not drawn from.
    """

    step: Labelling = lambda label, event, state: 0
    best: Callable[[list[Label]], list[Label]] = lambda labels: labels
    rank: Callable[[Label, int], int] = lambda label, event: 0
    together: Callable[[int, int], int] = operator.add
    most: int | None = None


def longest() -> Choice:
    """Only the longest trends."""
    return Choice(
        lambda label, event, state: label + 1,
        lambda labels: sorted(labels)[-_BEST:],
        lambda label, event: -label,
    )


def shortest() -> Choice:
    """Only the shortest trends."""
    return Choice(
        lambda label, event, state: label + 1,
        lambda labels: sorted(labels)[:_BEST],
        lambda label, event: label,
    )


def slowest(times: Sequence[float]) -> Choice:
    """Only the trends that take the most time, given the time of each event.

    A label is the time of the first event, counted so that none is 0.
    """
    before = min(times, default=0) - 1
    return Choice(
        lambda label, event, state: label or int(times[event] - before),
        lambda labels: sorted(labels)[:_BEST],
        lambda label, event: label - int(times[event] - before),
    )


def quickest(times: Sequence[float]) -> Choice:
    """Only the trends that take the least time: see `slowest`."""
    before = min(times, default=0) - 1
    return Choice(
        lambda label, event, state: label or int(times[event] - before),
        lambda labels: sorted(labels)[-_BEST:],
        lambda label, event: int(times[event] - before) - label,
    )


def first_to_end(moments: Sequence[int]) -> Choice:
    """Only trends whose last event is the first that any trend ends with.

    Given the number of the moment of each event, which is the same in all partitions.
    """
    return Choice(rank=lambda label, event: moments[event], together=max)


def least(rank: Callable[[int, int], int]) -> Choice:
    """Only trends by whose events the least rank is reached."""
    return Choice(
        lambda label, event, state: min(label, rank(event, state)),
        lambda labels: [min(labels)],
        lambda label, event: label,
    )


def having(is_one: Callable[[int, int], bool]) -> Choice:
    """Only trends that have an event, at a state, of which something is true."""
    return Choice(
        lambda label, event, state: int(label or is_one(event, state)),
        rank=lambda label, event: 1 - label,
        together=min,
        most=0,
    )


@dataclass(slots=True)
class _Column:
    """The events at a state whose partial trends have a label, in time order."""

    steps: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)

    def add(self, step: int, event: int, count: int) -> None:
        self.steps.append(step)
        self.events.append(event)
        self.counts.append(count)
        self.sums.append(count + (self.sums[-1] if self.sums else 0))

    def before(self, step: int) -> int:
        """How many of them come strictly before a step."""
        return bisect_left(self.steps, step)


class Trellis:
    """The trends of a query over the events of one window, all partitions of one group."""

    def __init__(
        self,
        query: Query,
        program: Program,
        encoded: EncodedSet,
        start: int,
        partitions: Callable[[int], bool],
    ) -> None:
        """Lay out.

        Args:
            query: The query, which is alone in its set.
            program: Its program.
            encoded: The events of the window.
            start: When the window begins.
            partitions: Which partitions are of the group.
        """
        self.events = WalkedEvents.of(program, encoded)
        templates = templates_of([query], program, encoded, self.events.shift)
        self.guards = {n: each for n, each in templates.items() if each.is_guard}
        self.templates = {
            Role(program.template_role[n]): each
            for n, each in templates.items()
            if not each.is_guard
        }
        self.start = start
        self._rows = encoded.batch.extreme_attributes
        self.ranges = [
            (low, high)
            for low, high in ranges_of_partitions(encoded.batch.part)
            if partitions(int(encoded.batch.part[low]))
        ]

    @property
    def times(self) -> list[float]:
        """For each event its time, where durations are asked for."""
        return self.events.extremes[self._rows.index(ExtremeRow.TIME)]

    def extremes_of(self, place: int) -> dict[tuple[int, int], float]:
        """What events at states give to an extreme of the query, the least the best.

        By event and state; those that give nothing are left out.
        """
        extremes: dict[tuple[int, int], float] = {}
        for template in self.templates.values():
            for low, high in self.ranges:
                for i in range(low, high):
                    for s in template.enter[self.events.letter[i]]:
                        extreme = template.states[s].extremes[place]
                        value = self.events.extremes[extreme[0]][i] if extreme else float("nan")
                        if extreme and value == value:
                            extremes[i, s] = value * extreme[1]
        return extremes

    def trends(self, choice: Choice) -> Pass | Pairs:
        """Count the trends, or pairs of trends, that a choice is about."""
        passed = {role: Pass(self, each, choice) for role, each in self.templates.items()}
        if Role.SECOND not in passed:
            return passed[Role.PATTERN]
        return Pairs(passed[Role.PATTERN], passed[Role.SECOND], passed.get(Role.BOTH), choice)

    def least_rank(self, choice: Choice) -> int:
        """The least rank of all trends, of either side; 0 where there is none."""
        passed = (Pass(self, each, choice) for each in self.templates.values())
        return min((rank for each in passed for rank in each.ranks), default=0)


class _Ends:
    """The last events of some trends: partition, event, state, label, and how many trends."""

    def __init__(self, ends: list[tuple[int, int, int, int, int]]) -> None:
        self.ends = ends
        self.sums = list(accumulate(end[-1] for end in ends))

    @property
    def count(self) -> int:
        """How many trends there are."""
        return self.sums[-1] if self.sums else 0

    def pick(self, number: int) -> tuple[int, int, int, int, int]:
        """The end of a trend by its number, with its number among those of this end."""
        place = bisect_right(self.sums, number)
        part, event, state, label, count = self.ends[place]
        return part, event, state, label, number - (self.sums[place] - count)


class Pass:
    """Counts of partial trends by event, state and label, and draws from them."""

    def __init__(self, trellis: Trellis, template: WalkedTemplate, choice: Choice) -> None:
        self.trellis, self.template, self.choice = trellis, template, choice
        self.columns: dict[tuple[int, int], dict[int, _Column]] = {}
        self._latest: dict[int, dict[int, Latest]] = {}
        # Events at states that were gone on with, by partition: in the step now, and when first
        self._taken: set[tuple[int, int, int]] = set()
        self._left: dict[tuple[int, int, int], int] = {}
        self._ends: dict[int, list[tuple[int, int, int, int, int]]] = defaultdict(list)
        for part, (low, high) in enumerate(trellis.ranges):
            self._forwards(part, low, high)
        self.ranks = sorted(self._ends)

    @cached_property
    def chosen(self) -> _Ends:
        """The trends of the least rank, where that may be drawn from."""
        most = self.choice.most
        return self.of_ranks([rank for rank in self.ranks[:1] if most is None or rank <= most])

    def of_ranks(self, ranks: Sequence[int]) -> _Ends:
        """The trends of some ranks."""
        return _Ends([end for rank in ranks for end in self._ends[rank]])

    def count_of(self, ranks: Sequence[int]) -> int:
        """How many trends of some ranks there are."""
        return sum(end[-1] for rank in ranks for end in self._ends[rank])

    @property
    def count(self) -> int:
        """How many trends there are to draw from."""
        return self.chosen.count

    def draw(self, random: Random) -> tuple[Trend, ...]:
        """One of the trends; each is as likely as any other."""
        return (self.drawn_from(self.chosen, random),)

    def drawn_from(self, ends: _Ends, random: Random) -> Trend:
        """One of the trends with some ends."""
        part, event, state, label, pick = ends.pick(random.randrange(ends.count))
        trend = [event]
        while (before := self._before(part, event, state, label, pick)) is not None:
            event, state, label, pick = before
            trend.append(event)
        return tuple(reversed(trend))

    def has(self, trend: Trend) -> bool:
        """Whether a sequence of events of one partition is one of all trends."""
        place = bisect_right([low for low, _ in self.trellis.ranges], trend[0]) - 1
        at: set[int] = {START}
        before: int | None = None
        for i in trend:
            at = {
                s
                for s in self.template.enter[self.trellis.events.letter[i]]
                for source, rule in self.template.states[s].into
                if source in at and self._leads(place, source, before, rule, i)
            }
            before = i
        high = self.trellis.ranges[place][1]
        ends = [end for s in at if (end := self.template.states[s].end) is not None]
        return any(self._is_open(place, end, before, None, high) for end in ends)

    def _leads(self, part: int, source: int, j: int | None, rule: Rule, i: int) -> bool:
        """Whether a trend goes on from an event at a state, or START, to another event."""
        if j is not None and not self._waits(part, source, j, rule, self.trellis.events.step[i]):
            return False
        return self._is_open(part, rule, j, i, i)

    # Forwards

    def _forwards(self, part: int, low: int, high: int) -> None:
        trellis = self.trellis
        latest = {
            number: (low, latest_matches(guard, trellis.events, low, high))
            for number, guard in trellis.guards.items()
        }
        self._latest[part] = latest
        columns: dict[int, dict[int, _Column]] = {
            s: defaultdict(_Column) for s in self.template.states
        }
        self.columns |= {(part, s): each for s, each in columns.items()}
        template, events = self.template, trellis.events
        for tied in steps_of(events, range(low, high)):
            reached = [
                (s, i, label, count)
                for i in tied
                for s in template.enter[events.letter[i]]
                for label, count in self._labels(part, i, s).items()
            ]
            # What was gone on with at this step has left it for later ones: see `Step`.
            for taken in self._taken:
                self._left.setdefault(taken, events.step[tied[0]])
            self._taken.clear()
            for s, i, label, count in reached:
                columns[s][label].add(events.step[i], i, count)
        for s, state in template.states.items():
            if state.end is None:
                continue
            for label, column in columns[s].items():
                for i, count in zip(column.events, column.counts, strict=True):
                    if self._is_open(part, state.end, i, None, high):
                        rank = self.choice.rank(label, i)
                        self._ends[rank].append((part, i, s, label, count))

    def _labels(self, part: int, i: int, s: int) -> dict[int, int]:
        """How many partial trends of each label end with an event at a state."""
        counts: dict[int, int] = defaultdict(int)
        for _, _, label, count in self._ways(part, i, s):
            counts[label] += count
        if not counts:
            return {}
        return {label: counts[label] for label in self.choice.best(list(counts))}

    def _ways(self, part: int, i: int, s: int) -> Iterator[tuple[Any, int, int, int]]:
        """Where partial trends come from: a column and how much of it, or one event, or START.

        Gives what comes before, the state, the label that comes of it, and how many there are.
        """
        step = self.trellis.events.step[i]
        for source, rule in self.template.states[s].into:
            if source == START:
                if self._is_open(part, rule, None, i, i):
                    yield None, START, self.choice.step(0, i, s), 1
                continue
            for earlier, column in self.columns[part, source].items():
                end = column.before(step)
                label = self.choice.step(earlier, i, s)
                if rule.is_free:
                    if end:
                        yield (earlier, end), source, label, column.sums[end - 1]
                    continue
                for place in range(end):
                    j = column.events[place]
                    if self._waits(part, source, j, rule, step) and self._is_open(
                        part, rule, j, i, i
                    ):
                        self._taken.add((part, source, j))
                        yield (earlier, place, place + 1), source, label, column.counts[place]

    def _waits(self, part: int, source: int, j: int, rule: Rule, step: int) -> bool:
        """Whether an event can still be gone on with, where it waits for one step only."""
        kind = rule.condition.step
        if kind == Step.STAY:
            return True
        if kind == Step.PASS and step > self.trellis.events.step[j] + 1:
            return False
        return self._left.get((part, source, j), step) >= step

    def _is_open(self, part: int, rule: Rule, j: int | None, i: int | None, at: int) -> bool:
        return is_open(rule, self.trellis.events, self._latest[part], j, i, at, self.trellis.start)

    # Backwards

    def _before(
        self, part: int, event: int, state: int, label: int, pick: int
    ) -> tuple[int, int, int, int] | None:
        """The event before, with its state and label and which of its trends; None for none."""
        for way, source, made, count in self._ways(part, event, state):
            if made != label:
                continue
            if pick >= count:
                pick -= count
                continue
            if way is None:
                return None
            column = self.columns[part, source][way[0]]
            if len(way) == 3:
                return column.events[way[1]], source, way[0], pick
            place = bisect_left(column.sums, pick + 1)
            return (
                column.events[place],
                source,
                way[0],
                pick - (column.sums[place - 1] if place else 0),
            )
        raise AssertionError  # the counts of an event are those of what comes before it


class Pairs:
    """Pairs of two different trends, one of each side of AND, and draws from them."""

    def __init__(self, one: Pass, other: Pass, both: Pass | None, choice: Choice) -> None:
        """Find the pairs of the least rank.

        Args:
            one: The trends of the first side.
            other: Those of the second.
            both: Those of both; None where there can be none.
            choice: What they were counted for.
        """
        self.one, self.other, self.both = one, other, both
        self.count = 0
        near = {choice.together(p, q) for p in one.ranks[:2] for q in other.ranks[:2]}
        for rank in sorted(near):
            if self.count or (choice.most is not None and rank > choice.most):
                break
            self.rank = rank
            self.count = self._count(choice)
        if self.count:
            self._blocks = [
                (one.of_ranks(p), other.of_ranks(q)) for p, q in self._products(one, other, choice)
            ]
            sizes = (mine.count * theirs.count for mine, theirs in self._blocks)
            self._sums = list(accumulate(sizes))

    def _products(
        self, one: Pass, other: Pass, choice: Choice
    ) -> list[tuple[list[int], list[int]]]:
        """Ranks of the two sides whose pairs all have at most the rank."""
        ranks: dict[int, list[int]] = defaultdict(list)
        for p in one.ranks:
            ranks[bisect_right(other.ranks, self.rank, key=partial(choice.together, p))].append(p)
        return [(p, other.ranks[:end]) for end, p in ranks.items() if end]

    def _count(self, choice: Choice) -> int:
        """How many pairs there are of at most the rank."""
        ordered = self._ordered(self.one, self.other, choice)
        if self.both is None:
            return ordered
        alike = [rank for rank in self.both.ranks if choice.together(rank, rank) <= self.rank]
        same = self.both.count_of(alike)
        twice = (self._ordered(self.both, self.both, choice) - same) // 2
        return ordered - same - twice

    def _ordered(self, one: Pass, other: Pass, choice: Choice) -> int:
        products = self._products(one, other, choice)
        return sum(one.count_of(p) * other.count_of(q) for p, q in products)

    def draw(self, random: Random) -> tuple[Trend, ...]:
        """One of the pairs; each is as likely as any other."""
        while True:
            mine, theirs = self._blocks[bisect_right(self._sums, random.randrange(self._sums[-1]))]
            pair = self.one.drawn_from(mine, random), self.other.drawn_from(theirs, random)
            if pair[0] < pair[1] or (pair[0] != pair[1] and not self._is_of_both(pair)):
                return pair

    def _is_of_both(self, pair: tuple[Trend, Trend]) -> bool:
        """Whether each side matches both of two trends, so that they are drawn in either order."""
        return self.both is not None and all(map(self.both.has, pair))
