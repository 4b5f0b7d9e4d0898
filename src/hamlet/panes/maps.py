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

# Windows that have so many panes in common, on average, are worked out with products of two maps.
_MUCH_OVERLAP = 6


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
    found: Map = {}
    for (source, middle), one in first.items():
        for target in leaving.get(middle, ()):
            way = one.then(second[middle, target], picks)
            so_far = found.get((source, target))
            found[source, target] = way if so_far is None else so_far.beside(way, picks)
    return found


def applied(begin: Map, maps: Map, low: Longs, high: Longs, picks: Sequence[np.ufunc]) -> Map:
    """What windows begin with, put through the maps of their panes in order.

    Where windows have few panes in common each goes through its own, one by one, all windows in
    step: O(panes of windows) products of a row and a map. Where they overlap much, maps of 1, 2,
    4, ... panes are made by squaring, and a window takes those that its length is made of: O(panes
    * log(panes of a window)) products of two maps, and O(windows * log(panes of a window)) of a row
    and a map.

    Args:
        begin: What each window begins with; one source is enough.
        maps: By pane, in order, and at the end that of an empty pane, which changes nothing.
        low: The first pane of each window.
        high: The pane after its last.
        picks: For each extreme `np.fmin` or `np.fmax`.
    """
    lengths = high - low
    panes = int(high.max(initial=0))
    if lengths.sum() > _MUCH_OVERLAP * panes:
        return _by_doubling(begin, maps, low, lengths, picks)
    state = begin
    for step in range(int(lengths.max(initial=0))):
        at = np.where(step < lengths, low + step, -1)
        state = product(state, taken(maps, at), picks)
    return state


def _by_doubling(
    begin: Map, maps: Map, low: Longs, lengths: Longs, picks: Sequence[np.ufunc]
) -> Map:
    panes = int((low + lengths).max())
    state, at, size = begin, low.copy(), 1
    # From here on a map for each pane and, last, the one of an empty pane.
    maps = taken(maps, np.append(np.arange(panes), -1))
    while True:
        takes = (lengths & size) != 0
        state = product(state, taken(maps, np.where(takes, at, -1)), picks)
        at = at + np.where(takes, size, 0)
        if size * 2 > lengths.max():
            return state
        later = np.arange(panes + 1) + size
        later[later >= panes] = panes
        maps = product(maps, taken(maps, later), picks)
        size *= 2
