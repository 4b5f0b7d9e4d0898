"""Prefixes, and the middles that are shared among them, as the flat arrays that SHARON reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel.compile.parts import RaggedLists, ints
from hamlet.paper.systems.flatten import Step
from hamlet.paper.systems.middles import TOUCHED, Middles
from hamlet.plan.windows import overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hamlet.paper.systems.flatten import Tree
    from hamlet.paper.systems.sharon_plan import Middle
    from hamlet.paper.systems.tables import Graph

    Ints = NDArray[np.int64]


class Sequences(NamedTuple):
    """A tree of prefixes; 0 is the empty one, and shorter ones come first.

    Prefixes that end in a middle are not among them.

    parent: The prefix before, or where an exit of a middle is among the records of a window.
    by_letter_p, by_letter: The prefixes that an event ends, by letter and length.
    end_p, end: The units that have a prefix as a whole sequence.
    feed: The feed that a prefix grows from, -1 where that is the prefix before itself.
    feeding_p, feeding: The feeds that grow with a prefix.
    feed_source: The prefix of a feed, feed_unit: the unit that it ends or -1, feed_guards: the row
        of `hits` that says which letters empty it.
    """

    within: int
    slide: int
    units: int
    parent: Any
    depth: Any
    feed: Any
    by_letter_p: Any
    by_letter: Any
    end_p: Any
    end: Any
    feeding_p: Any
    feeding: Any
    feed_source: Any
    feed_unit: Any
    feed_guards: Any
    hits: Any
    weights: Any
    extremes: Any
    signs: Any
    middles: Middles


@dataclass(frozen=True, slots=True)
class Family:
    """Units with the same windows and aggregates, and the sequences of all of them."""

    templates: NDArray[np.int32]
    sequences: Sequences


def sequences_of(
    tree: Tree,
    middles: list[Middle],
    graph: Graph,
    units: int,
    starts_at_most: Callable[[NDArray[np.bool_]], int],
) -> Sequences:
    """The tree as arrays, shorter prefixes first, and without those that middles replace.

    Args:
        tree: The prefixes.
        middles: What is shared among them.
        graph: The graph of any of the units.
        units: How many there are.
        starts_at_most: How many events of some letters may be less than a window apart.
    """
    gone = {prefix for middle in middles for path in middle.paths for prefix in path}
    order = [int(p) for p in np.argsort(np.array(tree.depth), kind="stable") if int(p) not in gone]
    moved = {old: new for new, old in enumerate(order)}
    deepest = tree.depth[order[-1]]
    by_letter = _by_letter(tree, order, deepest)
    feeding = RaggedLists([[] for _ in order])
    for (prefix, _, _), feed in tree.feeds.items():
        feeding.lists[moved[prefix]].append(feed)
    ends = RaggedLists([tree.ends[old] for old in order])
    hits = np.array([np.frombuffer(hit, bool) for hit in tree.hits], bool)
    nothing = Step(b"", -1, (-1,) * graph.weights.shape[1], (-1,) * graph.extremes.shape[1])
    known = [tree.steps[old] or nothing for old in order]
    shared = _Shared(tree, middles, graph, moved, len(order) + 2 * len(tree.feeds) + units)
    sources = ints(shared.source(old) for old in order)
    return Sequences(
        graph.within,
        graph.slide,
        units,
        sources,
        ints(tree.depth[old] for old in order),
        ints(tree.feed[old] for old in order),
        by_letter.pointers(),
        by_letter.flat(),
        ends.pointers(),
        ends.flat(),
        feeding.pointers(),
        feeding.flat(),
        ints(moved[prefix] for prefix, _, _ in tree.feeds),
        ints(unit for _, _, unit in tree.feeds),
        ints(guards for _, guards, _ in tree.feeds),
        hits.reshape(len(tree.hits), len(tree.letters)),
        _table([step.weights for step in known], graph.weights.shape[1]),
        _table([step.extremes for step in known], graph.extremes.shape[1]),
        graph.signs,
        shared.tables(starts_at_most),
    )


def _by_letter(tree: Tree, order: list[int], deepest: int) -> RaggedLists:
    """The prefixes that an event of a letter goes on to, by letter and by their depth."""
    by_letter = RaggedLists([[] for _ in range(len(tree.letters) * (deepest + 1))])
    letters_of: dict[bytes, list[int]] = {}
    for new, old in enumerate(order):
        step = tree.steps[old]
        if step is None:
            continue
        if step.takes not in letters_of:
            letters_of[step.takes] = np.flatnonzero(np.frombuffer(step.takes, bool)).tolist()
        for letter in letters_of[step.takes]:
            by_letter.lists[letter * (deepest + 1) + tree.depth[old]].append(new)
    return by_letter


class _Shared:
    """Makes tables of middles."""

    def __init__(
        self, tree: Tree, middles: list[Middle], graph: Graph, moved: dict[int, int], width: int
    ) -> None:
        self.tree, self.middles, self.graph = tree, middles, graph
        self.moved, self.width = moved, width
        # What a prefix that is gone is made of: entry, middle and row.
        self.replaced: dict[int, tuple[int, int, int]] = {}
        self.exits: dict[int, int] = {}
        self.asked: list[NDArray[np.bool_]] = []
        entry = 0
        for number, middle in enumerate(middles):
            for path in middle.paths:
                self.replaced |= {p: (entry, number, row) for row, p in enumerate(path)}
                entry += 1

    def source(self, prefix: int) -> int:
        """Where a window has what a prefix makes longer: a prefix, or an exit of a middle."""
        before, step = self.tree.parent[prefix], self.tree.steps[prefix]
        if before in self.moved or step is None:
            return self.moved[before]
        number = self.exits.setdefault(before, len(self.exits))
        takes = np.frombuffer(step.takes, bool)
        if number == len(self.asked):
            self.asked.append(takes)
        self.asked[number] = self.asked[number] | takes
        return self.width + number

    def tables(self, starts_at_most: Callable[[NDArray[np.bool_]], int]) -> Middles:
        """The tables, once all sources are known."""
        letters = len(self.tree.letters)
        windows = overlap(self.graph.within, self.graph.slide)
        each, places = list[tuple[int, ...]](), list[tuple[int, ...]]()
        entries, ends = list[tuple[int, int]](), list[tuple[int, int, int, int]]()
        records = windows * (self.width + len(self.exits))
        ring, record = 0, records
        for number, middle in enumerate(self.middles):
            chain = [self._step(prefix) for prefix in middle.longest]
            takes = np.array([np.frombuffer(step.takes, bool) for step in chain])
            sums = self._ends(number, middle, ends)
            room = max(starts_at_most(takes[0]), 1)
            size = len(chain) + len(sums) + windows * len(middle.entries)
            each.append(
                (
                    *(len(places), len(places) + len(chain)),
                    *(len(entries), len(entries) + len(middle.entries)),
                    *(ring, room, record, size, len(chain) + len(sums)),
                    max(self.tree.depth[prefix] for prefix in middle.entries),
                    *(int(is_any) for is_any in np.any(takes[1:], axis=0)),
                )
            )
            for place, step in enumerate(chain):
                added = [False] * len(chain) + [place in several for several in sums]
                places.append((*takes[place].tolist(), *step.weights, *step.extremes, *added))
            for before, path in zip(middle.entries, middle.paths, strict=True):
                entries.append((self.moved[before], self.tree.feed[path[0]]))
            ring, record = ring + room, record + room * size
        exits = [
            (*self.replaced[prefix], *(int(is_asked) for is_asked in asked))
            for prefix, asked in zip(self.exits, self.asked, strict=True)
        ]
        widest = max((len(row) for row in places), default=0)
        return Middles(
            _table(each, TOUCHED + letters),
            _table([row + (0,) * (widest - len(row)) for row in places], widest),
            _table(entries, 2),
            _table(exits, 3 + letters),
            _table(ends, 4),
            ring,
            record - records,
        )

    def _step(self, prefix: int) -> Step:
        step = self.tree.steps[prefix]
        assert step is not None
        return step

    def _ends(
        self, number: int, middle: Middle, ends: list[tuple[int, int, int, int]]
    ) -> list[tuple[int, ...]]:
        """Find what units get of a middle; the places that are summed up in rows of their own.

        A unit that ends at several places gets their sum.
        """
        sums: dict[tuple[int, ...], int] = {}
        places_of_all = len(middle.longest)
        for path in middle.paths:
            places: dict[int, list[int]] = {}
            for place, prefix in enumerate(path):
                for unit in self.tree.ends[prefix]:
                    places.setdefault(unit, []).append(place)
            for unit, at in places.items():
                row = at[0]
                if len(at) > 1:
                    row = sums.setdefault(tuple(at), places_of_all + len(sums))
                ends.append((self.replaced[path[0]][0], number, row, unit))
        return list(sums)


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, np.int64).reshape(len(rows), width)
