"""Linear maps of panes and their products, as columns: a row for each pane, or for each window.

A *cell* is an entry of a map. It counts the ways from one row of a template to another, and with
the count go sums over these ways, of what their events weigh, and the extremes of their events. Of
two ways, one after the other:

    count    n1 * n2
    sums     s1 * n2 + n1 * s2
    extremes the lesser, or greater, of both; none unless there is a way in both

and of ways side by side counts and sums are added up. What is not in a map is zero. Counts and sums
are `Integers` of any length, or `Wides` in float mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Doubles = NDArray[np.float64]
    Column = Any  # Integers or, in float mode, Wides; all of one map are of one kind
    # From a row of a template to another.
    Map = dict[tuple[int, int], "Cell"]


@dataclass(frozen=True, slots=True)
class Cell:
    """An entry of many maps: the number of ways, sums over them, and extremes (NaN for none)."""

    count: Column
    sums: tuple[Column, ...]
    extremes: tuple[Doubles, ...]

    def take(self, chosen: Longs) -> Cell:
        """Some of the maps."""
        return Cell(
            self.count.take(chosen),
            tuple(each.take(chosen) for each in self.sums),
            tuple(each[chosen] for each in self.extremes),
        )

    def then(self, other: Cell, picks: Sequence[np.ufunc]) -> Cell:
        """First this, then the other."""
        is_some = self.count.is_some() & other.count.is_some()
        return Cell(
            self.count * other.count,
            tuple(
                one * other.count + self.count * two
                for one, two in zip(self.sums, other.sums, strict=True)
            ),
            tuple(
                np.where(is_some, pick(one, two), np.nan)
                for pick, one, two in zip(picks, self.extremes, other.extremes, strict=True)
            ),
        )

    def beside(self, other: Cell, picks: Sequence[np.ufunc]) -> Cell:
        """Either this or the other."""
        return Cell(
            self.count + other.count,
            tuple(one + two for one, two in zip(self.sums, other.sums, strict=True)),
            tuple(
                pick(one, two)
                for pick, one, two in zip(picks, self.extremes, other.extremes, strict=True)
            ),
        )


def taken(maps: Map, chosen: Longs) -> Map:
    """Some of the rows of all cells."""
    return {place: cell.take(chosen) for place, cell in maps.items()}


def product(first: Map, second: Map, picks: Sequence[np.ufunc]) -> Map:
    """First one map, then another, row by row.

    Args:
        first: Maps.
        second: As many.
        picks: For each extreme `np.fmin` or `np.fmax`.
    """
    leaving: dict[int, list[int]] = {}
    for source, target in second:
        leaving.setdefault(source, []).append(target)
    entries: Map = {}
    for (source, middle), one in first.items():
        for target in leaving.get(middle, ()):
            way = one.then(second[middle, target], picks)
            so_far = entries.get((source, target))
            entries[source, target] = way if so_far is None else so_far.beside(way, picks)
    return entries


def applied(begin: Map, maps: Map, low: Longs, high: Longs, picks: Sequence[np.ufunc]) -> Map:
    """What windows begin with, put through the maps of their panes in order.

    Maps of 1, 2, 4, ... panes are made by squaring, where some window needs them, and a window
    takes those that its length is made of. That is O(panes) products of two maps where windows do
    not overlap, and O(panes * log(panes of a window)) however much they do; for each window there
    are O(log(panes of a window)) products of a row and a map. All of one size are done at once, and
    factors are about equally long, which is what multiplication of long integers asks for: going
    from pane to pane takes more than ten times as long for a thousand panes of a thousand events.

    Args:
        begin: What each window begins with; one source is enough.
        maps: By pane, in order, and at the end that of an empty pane, which changes nothing.
        low: The first pane of each window.
        high: The pane after its last.
        picks: For each extreme `np.fmin` or `np.fmax`.
    """
    lengths = high - low
    sizes = [1 << bit for bit in range(int(lengths.max(initial=0)).bit_length())]
    # The parts of a window, from the shortest to the longest: where each begins, -1 for none.
    parts = [np.where(lengths & size, low + (lengths & (size - 1)), -1) for size in sizes]
    state = begin
    needed = _needed(parts, sizes)
    known = np.arange(_height(maps) - 1)
    for size, part, wanted in zip(sizes, parts, needed, strict=True):
        if size > 1:
            half = size // 2
            firsts, seconds = _places(known, wanted), _places(known, wanted + half)
            # The empty pane stays where it is, at the end.
            firsts, seconds = np.append(firsts, -1), np.append(seconds, -1)
            maps, known = product(taken(maps, firsts), taken(maps, seconds), picks), wanted
        state = product(state, taken(maps, _places(known, part)), picks)
    return state


def _needed(parts: list[Longs], sizes: list[int]) -> list[Longs]:
    """Where maps of each size begin that windows take, or that longer maps are made of."""
    needed: list[Longs] = []
    longer = np.zeros(0, np.int64)
    for part, size in zip(reversed(parts), reversed(sizes), strict=True):
        here = np.unique(np.concatenate([part[part >= 0], longer, longer + size]))
        needed.append(here)
        longer = here
    return needed[::-1]


def _places(known: Longs, wanted: Longs) -> Longs:
    """Where maps are that begin at some panes; -1, where the empty pane is, for none."""
    return np.where(wanted < 0, -1, np.searchsorted(known, wanted))


def _height(maps: Map) -> int:
    """How many rows a map has."""
    return len(next(iter(maps.values())).count.is_some())
