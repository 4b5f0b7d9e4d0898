"""Which middle parts of sequences SHARON counts once for all: by a benefit model, greedily.

Sequences that begin alike share their prefixes, whatever the rates are. A chain of steps that
follows different prefixes, its entries, can be shared as well, at the price of numbers for each
event that begins it. The model compares, for each window of a sample, what it takes:

apart     each entry: every event that comes to a place of the chain, once
shared    every event that comes to a place, once for each start before it, in all windows together
          each entry: once for each start, to keep what it has; once for each start whenever an
          event goes on from the chain or the window ends, to put both together
          every event, to look whether it is for the middle

How many events come to a place is known from how many of each type the window has: the third A of
a sequence is none of the first two. Of two events of different types either is the first half of
the time. Entries that gain nothing by it do not take part, and a middle is taken if the others gain
more than its starts cost. The one with the greatest benefit is taken first, and then others that
have no prefix in common with it: neither one that it replaces nor one that it follows. The paper
finds the best set of such candidates; this is its greedy choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hamlet.plan.windows import end_of_window, last_window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.paper.systems.flatten import Tree
    from hamlet.paper.systems.tables import Graph, SystemEvents

    Floats = NDArray[np.float64]

# How many windows are looked at, evenly spread over all.
MOST_WINDOWS = 128
# What it takes to add an event to a record, of a prefix or at a place of a start; to multiply two
# records; to keep one beside a start; and to look for the middles of an event. As measured,
# in the time of the first, some 15 ns: the others are calls that are handed many arrays.
GROWN, ADDED, COMBINED, KEPT, LOOKED = 1.0, 6.0, 8.0, 3.0, 18.0


@dataclass(frozen=True, slots=True)
class Rates:
    """How many events of each letter some windows have, and how many windows an event is in."""

    counts: Floats
    overlap: float


@dataclass(frozen=True, slots=True)
class Middle:
    """A chain that is counted once.

    entries: The prefixes before it.
    paths: For each of them the prefixes that are not counted by themselves, one for each place of
        the chain that it gets to.
    benefit: What is saved in a window on average, in records of prefixes that grow.
    """

    entries: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]
    benefit: float

    @property
    def longest(self) -> tuple[int, ...]:
        """A path through all of the chain."""
        return max(self.paths, key=len)


def rates_of(graph: Graph, events: SystemEvents, ranges: NDArray[np.int64]) -> Rates:
    """Count the events of a sample of windows."""
    ts, letters = events.ts, len(events.letters)
    window = last_window(ts, graph.slide)
    is_first = np.diff(window, prepend=-1) != 0
    is_first[ranges[:, 1]] = True
    firsts = np.flatnonzero(is_first)
    some = np.unique(np.linspace(0, len(firsts) - 1, MOST_WINDOWS).astype(np.int64))
    counts = []
    for low in firsts[some].tolist():
        end = ranges[np.searchsorted(ranges[:, 1], low, side="right") - 1, 2]
        until = end_of_window(window[low], graph.within, graph.slide)
        high = low + np.searchsorted(ts[low:end], until)
        counts.append(np.bincount(events.letter[low:high], minlength=letters))
    return Rates(np.array(counts, np.float64), graph.within / graph.slide)


def starts_at_most(
    takes: NDArray[np.bool_], within: int, events: SystemEvents, ranges: NDArray[np.int64]
) -> int:
    """The most events of some letters that are less than a window apart, in one partition."""
    most = 0
    where = np.flatnonzero(takes[events.letter])
    lows, highs = np.searchsorted(where, ranges[:, 1]), np.searchsorted(where, ranges[:, 2])
    times = events.ts[where]
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        own = times[low:high]
        apart = np.searchsorted(own, own - within, side="right")
        most = max(most, int((np.arange(len(own)) - apart).max(initial=-1)) + 1)
    return most


def choose_middles(tree: Tree, rates: Rates) -> list[Middle]:
    """The middles of a tree of prefixes that are worth sharing, the best first."""
    model = _Model(tree, rates)
    middles: list[Middle] = []
    while True:
        candidates = [model.best_of(step) for step in model.repeated_steps]
        best = max((c for c in candidates if c), key=lambda c: c.benefit, default=None)
        if best is None:
            return middles
        middles.append(best)
        model.take(best)


class _Model:
    """What a tree of prefixes costs, and which of its prefixes can still be replaced."""

    def __init__(self, tree: Tree, rates: Rates) -> None:
        n = len(tree.parent)
        self.tree, self.overlap = tree, rates.overlap
        steps, kinds = dict[object, int](), dict[bytes, int]()
        self.step, self.kind = np.full(n, -1), np.full(n, -1)
        for prefix, step in enumerate(tree.steps):
            if step is not None:
                self.step[prefix] = steps.setdefault(step, len(steps))
                self.kind[prefix] = kinds.setdefault(step.takes, len(kinds))
        takes = np.array([np.frombuffer(each, bool) for each in kinds], np.float64)
        # Events by kind, then window
        self.events = takes.reshape(len(kinds), rates.counts.shape[1]) @ rates.counts.T
        self.parent, depth = np.array(tree.parent), np.array(tree.depth)
        self.children: list[list[int]] = [[] for _ in range(n)]
        for prefix in range(1, n):
            self.children[tree.parent[prefix]].append(prefix)
        order = np.argsort(depth, kind="stable")
        self.levels = np.split(order, np.searchsorted(depth[order], np.arange(1, depth.max() + 1)))
        self.has_match, self.coming = self._coming()
        self.cost_apart = GROWN * self.coming.mean(axis=1, dtype=np.float64)
        self.cost_looked = LOOKED * float(rates.counts.sum(axis=1).mean())
        self.is_free = np.ones(n, bool)
        self.is_free[0] = False
        self.is_free[[prefix for prefix, _, _ in tree.feeds]] = False
        self.is_replaced = np.zeros(n, bool)

    def _coming(self) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """For each prefix and window: whether it may have a match, and events that may end one."""
        n, windows = len(self.parent), self.events.shape[1]
        has_match = np.ones((n, windows), bool)
        coming = np.zeros((n, windows), np.float32)
        used = np.zeros((n, len(self.events)), np.int16)
        for level in self.levels[1:]:
            kind = self.kind[level]
            before = self.parent[level]
            used[level] = used[before]
            earlier = used[level, kind][:, None]
            used[level, kind] += 1
            left = np.maximum(self.events[kind] - earlier, 0)
            coming[level] = left * has_match[before]
            has_match[level] = coming[level] > 0
        return has_match, coming

    @property
    def repeated_steps(self) -> list[int]:
        """The steps that several prefixes may be made longer by."""
        steps, times = np.unique(self.step[self.is_free], return_counts=True)
        return [int(step) for step in steps[times > 1]]

    def best_of(self, step: int) -> Middle | None:
        """The best middle that begins with a step, None if there is none worth it."""
        firsts = self._firsts(step)
        if len(firsts) < 2:
            return None
        starts = self.events[self.kind[firsts[0]]]
        entries = [_Entry(self, first, starts) for first in firsts]
        is_begun = self.has_match[self.parent[firsts]].any(axis=0)
        cost = ADDED * float((starts * is_begun).mean()) / self.overlap + self.cost_looked
        best: Middle | None = None
        used = {int(self.kind[firsts[0]]): 1}
        going = starts > 0
        while True:
            following = self._most_common_next(entries)
            if following is None:
                return best
            kind = 0
            for entry in entries:
                longer = entry.next_by(self, following)
                if longer is not None:
                    kind = int(self.kind[longer])
                    entry.go_on(self, longer)
                else:
                    entry.is_going = False
            left = np.maximum(self.events[kind] - used.get(kind, 0), 0) * going
            used[kind], going = used.get(kind, 0) + 1, left > 0
            cost += ADDED * float((starts * is_begun * left).mean()) / 2 / self.overlap
            gaining = [entry for entry in entries if entry.gain > 0 and len(entry.path) > 1]
            benefit = sum(entry.gain for entry in gaining) - cost
            if len(gaining) > 1 and benefit > (best.benefit if best else 0.0):
                before = tuple(int(self.parent[entry.path[0]]) for entry in gaining)
                best = Middle(before, tuple(tuple(entry.path) for entry in gaining), benefit)

    def _firsts(self, step: int) -> list[int]:
        """Prefixes that end with the first place of a middle, none of them after another."""
        may_be = (self.step == step) & self.is_free & ~self.is_replaced[self.parent]
        is_after = np.zeros(len(may_be), bool)
        for level in self.levels[1:]:
            before = self.parent[level]
            is_after[level] = is_after[before] | may_be[before]
        return [int(prefix) for prefix in np.flatnonzero(may_be & ~is_after)]

    def _most_common_next(self, entries: list[_Entry]) -> int | None:
        """The step that the most events go on by from where entries are."""
        gained: dict[int, float] = {}
        for entry in entries:
            for child in entry.may_go_to(self):
                step = int(self.step[child])
                gained[step] = gained.get(step, 0.0) + entry.cost_apart(self, child)
        return max(gained, key=lambda step: gained[step], default=None)

    def take(self, middle: Middle) -> None:
        """Keep what a middle replaces, and its entries, from being replaced by another."""
        gone = [prefix for path in middle.paths for prefix in path]
        self.is_free[gone] = False
        self.is_replaced[gone] = True
        self.is_free[list(middle.entries)] = False


class _Entry:
    """A prefix before a middle: how far along the chain it gets, and what it gains by it."""

    def __init__(self, model: _Model, first: int, starts: Floats) -> None:
        before = int(model.parent[first])
        # The empty prefix is there before any event.
        self.part_after = 1.0 if before == 0 else 0.5
        self.starts = starts * model.has_match[before] * self.part_after
        self.path: list[int] = []
        self.units: set[int] = set()
        self.is_going = True
        self.gain = -KEPT * float(starts.mean())
        self.go_on(model, first)

    def cost_apart(self, model: _Model, prefix: int) -> float:
        """Records that the events of one place of the chain touch where it is not shared."""
        return float(model.cost_apart[prefix]) * self.part_after

    def _cost_out(self, model: _Model, prefixes: list[int]) -> float:
        """What it takes to go on to prefixes that are no more of the middle."""
        if not prefixes:
            return 0.0
        return COMBINED / 2 * float((model.coming[prefixes] @ self.starts).sum()) / len(self.starts)

    def may_go_to(self, model: _Model) -> list[int]:
        """Prefixes that may be the next place of the chain: no NOT lies between."""
        if not self.is_going:
            return []
        return [
            child
            for child in model.children[self.path[-1]]
            if model.is_free[child] and model.tree.feed[child] < 0
        ]

    def next_by(self, model: _Model, step: int) -> int | None:
        """The prefix that it goes on to by a step."""
        return next((c for c in self.may_go_to(model) if model.step[c] == step), None)

    def go_on(self, model: _Model, prefix: int) -> None:
        """Have one more prefix replaced."""
        if self.path:
            self.gain += self._cost_out(model, [prefix])
        self.path.append(prefix)
        self.gain += self.cost_apart(model, prefix)
        self.gain -= self._cost_out(model, model.children[prefix])
        more = set(model.tree.ends[prefix]) - self.units
        self.units |= more
        self.gain -= len(more) * COMBINED * float(self.starts.mean())
