"""Trends of one window drawn from all that there are, without writing all of them down.

Forwards, each event gets at each state the number of trends that end with it there, in Python's
integers. Backwards, a trend is drawn from its end: of the events that may come before, each is
chosen as often as trends end with it. So every trend is drawn equally often, however many there
are. A template has one run for each trend, so no trend is drawn as two.

Which trends are counted is said by labels: what a partial trend is known by, such as its length.
Cost: events times edges; where a condition looks at both of two events, the square of the events.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from hamlet.kernel.base import ExtremeRow
from hamlet.kernel.interpreted import (
    WalkedEvents,
    is_open,
    latest_matches,
    partition_ranges,
    steps_of,
    templates_of,
)
from hamlet.plan.template import START, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.kernel.interpreted import Latest, Rule, RuledState
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query

    Label = int
    # A label after an event, from that before it, by the place of the event and its state
    Labelling = Callable[[Label, int, int], Label]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which trends are drawn from.

    step: How labels go on; a trend begins with label 0.
    best: Of the labels of an event at a state those that are kept.
    ends: Of the labels of complete trends, by label and place of the last event, what is drawn
        from: the least of what this gives; None where it is not drawn from.
    """

    step: Labelling = lambda label, event, state: 0
    best: Callable[[list[Label]], list[Label]] = lambda labels: labels
    ends: Callable[[Label, int], int | None] = lambda label, event: 0


def longest() -> Choice:
    """Only the longest trends."""
    return Choice(
        lambda label, event, state: label + 1,
        lambda labels: [max(labels)],
        lambda label, event: -label,
    )


def shortest() -> Choice:
    """Only the shortest trends."""
    return Choice(
        lambda label, event, state: label + 1,
        lambda labels: [min(labels)],
        lambda label, event: label,
    )


def slowest(times: Sequence[float]) -> Choice:
    """Only the trends that take the most time, given the time of each event.

    A label is the time of the first event, counted so that none is 0.
    """
    before = min(times, default=0) - 1
    return Choice(
        lambda label, event, state: label or int(times[event] - before),
        lambda labels: [min(labels)],
        lambda label, event: label - int(times[event] - before),
    )


def quickest(times: Sequence[float]) -> Choice:
    """Only the trends that take the least time: see `slowest`."""
    before = min(times, default=0) - 1
    return Choice(
        lambda label, event, state: label or int(times[event] - before),
        lambda labels: [max(labels)],
        lambda label, event: int(times[event] - before) - label,
    )


def first_to_end(steps: Sequence[int]) -> Choice:
    """Only trends whose last event is the first that any trend ends with."""
    return Choice(ends=lambda label, event: steps[event])


def least(rank: Callable[[int, int], int]) -> Choice:
    """Only trends by whose events the least rank is reached; `ends` tells which that is."""
    return Choice(
        lambda label, event, state: min(label, rank(event, state)),
        lambda labels: [min(labels)],
        lambda label, event: label,
    )


def having(is_one: Callable[[int, int], bool]) -> Choice:
    """Only trends that have an event, at a state, of which something is true."""
    return Choice(
        lambda label, event, state: int(label or is_one(event, state)),
        ends=lambda label, event: 0 if label else None,
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
        (self.template,) = (each for each in templates.values() if not each.is_guard)
        self.start = start
        self._rows = encoded.batch.extreme_attributes
        self.ranges = [
            (low, high)
            for low, high in partition_ranges(encoded.batch.part)
            if partitions(int(encoded.batch.part[low]))
        ]

    @property
    def steps(self) -> list[int]:
        """For each event the number of its moment."""
        return self.events.step

    @property
    def times(self) -> list[float]:
        """For each event its time, where durations are asked for."""
        return self.events.extremes[self._rows.index(ExtremeRow.TIME)]

    def state_of(self, number: int) -> RuledState:
        """A state of the template."""
        return self.template.states[number]

    def extremes_of(self, place: int) -> dict[tuple[int, int], float]:
        """What events at states give to an extreme of the query, the least the best.

        By event and state; those that give nothing are left out.
        """
        found: dict[tuple[int, int], float] = {}
        for low, high in self.ranges:
            for i in range(low, high):
                for s in self.template.enter[self.events.letter[i]]:
                    extreme = self.state_of(s).extremes[place]
                    value = self.events.extremes[extreme[0]][i] if extreme else float("nan")
                    if extreme and value == value:
                        found[i, s] = value * extreme[1]
        return found

    def pass_over(self, choice: Choice) -> Pass:
        """Count the trends that a choice is about."""
        return Pass(self, choice)


class Pass:
    """Counts of partial trends by event, state and label, and draws from them."""

    def __init__(self, trellis: Trellis, choice: Choice) -> None:
        self.trellis, self.choice = trellis, choice
        self.columns: dict[tuple[int, int], dict[int, _Column]] = {}
        self._latest: dict[int, dict[int, Latest]] = {}
        # Events at states that were gone on with, by partition: in the step now, and when first
        self._taken: set[tuple[int, int, int]] = set()
        self._left: dict[tuple[int, int, int], int] = {}
        # The last events of trends: partition, event, state, label, and how many trends
        self.ends: list[tuple[int, int, int, int, int]] = []
        for part, (low, high) in enumerate(trellis.ranges):
            self._forwards(part, low, high)
        ranks = [choice.ends(label, event) for _, event, _, label, _ in self.ends]
        least = min((rank for rank in ranks if rank is not None), default=None)
        self.ends = [
            end
            for end, rank in zip(self.ends, ranks, strict=True)
            if rank is not None and rank == least
        ]

    @property
    def count(self) -> int:
        """How many trends there are to draw from."""
        return sum(end[-1] for end in self.ends)

    def draw(self, random: Random) -> tuple[int, ...]:
        """One of the trends, as the places of its events; each is as likely as any other."""
        pick = random.randrange(self.count)
        sums = list(accumulate(end[-1] for end in self.ends))
        place = bisect_right(sums, pick)
        part, event, state, label, count = self.ends[place]
        pick -= sums[place] - count
        trend = [event]
        while (before := self._before(part, event, state, label, pick)) is not None:
            event, state, label, pick = before
            trend.append(event)
        return tuple(reversed(trend))

    # Forwards

    def _forwards(self, part: int, low: int, high: int) -> None:
        trellis = self.trellis
        latest = {
            number: (low, latest_matches(guard, trellis.events, low, high))
            for number, guard in trellis.guards.items()
        }
        self._latest[part] = latest
        columns: dict[int, dict[int, _Column]] = {
            s: defaultdict(_Column) for s in trellis.template.states
        }
        self.columns |= {(part, s): each for s, each in columns.items()}
        template, events = trellis.template, trellis.events
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
                        self.ends.append((part, i, s, label, count))

    def _labels(self, part: int, i: int, s: int) -> dict[int, int]:
        """How many partial trends of each label end with an event at a state."""
        found: dict[int, int] = defaultdict(int)
        for _, _, label, count in self._ways(part, i, s):
            found[label] += count
        if not found:
            return {}
        return {label: found[label] for label in self.choice.best(list(found))}

    def _ways(self, part: int, i: int, s: int) -> Iterator[tuple[Any, int, int, int]]:
        """Where partial trends come from: a column and how much of it, or one event, or START.

        Gives what comes before, the state, the label that comes of it, and how many there are.
        """
        step = self.trellis.events.step[i]
        for source, rule in self.trellis.state_of(s).into:
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
