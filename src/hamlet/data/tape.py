"""For each group an endless row of bursts, read a few events at a time.

Bursts are written in chapters, a ride for example, when a group has too few left for what is to be
read. How much is read at a time changes when chapters are written, and so which random numbers they
get: a stream reads in blocks of one size, whatever its reader asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.data.draws import Draws, WeightedChoice, geometric_inverse, narrow, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hamlet.data.settings import StreamSettings

    Ints = NDArray[np.int64]
    Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Read:
    """What was read: bursts as columns, and for each event its burst and its place in that."""

    bursts: Columns
    burst: Ints
    place: Ints

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column of the bursts, for each event."""
        return self.bursts[name][self.burst]


class Tape:
    """The bursts of all groups.

    write: Gives bursts for some groups, a chapter for each, in their order: columns `group`,
        `length` and any others.
    chapter: The mean number of events of a chapter.
    """

    def __init__(self, groups: int, write: Callable[[Ints], Columns], chapter: float) -> None:
        self._groups = groups
        self._write = write
        self._chapter = chapter
        self._left = self._written(np.zeros(0, np.int64))

    def read(self, groups: Ints) -> Read:
        """The next events of some groups, in their order; a group may be named often."""
        counts = np.bincount(groups, minlength=self._groups)
        bursts = self._enough(counts)
        length, group = bursts["length"], bursts["group"]
        before = np.cumsum(length) - length
        is_first = np.ones(len(group), np.bool_)
        is_first[1:] = group[1:] != group[:-1]
        before -= np.repeat(before[is_first], np.diff(np.flatnonzero(np.append(is_first, True))))
        taken = np.clip(counts[group] - before, 0, length)
        # Events by group; then each goes to where its group was named.
        by_group = np.repeat(np.arange(len(group)), taken)
        places = np.arange(len(by_group)) - np.repeat(np.cumsum(taken) - taken, taken)
        places += bursts["done"][by_group]
        order = np.argsort(narrow(groups, self._groups), kind="stable")
        burst, place = np.empty_like(by_group), np.empty_like(places)
        burst[order], place[order] = by_group, places
        some_left = taken < length
        self._left = {name: column[some_left] for name, column in bursts.items()}
        self._left["length"] = (length - taken)[some_left]
        self._left["done"] = (bursts["done"] + taken)[some_left]
        return Read(bursts, burst, place)

    def _enough(self, counts: Ints) -> Columns:
        """Bursts with at least as many events of each group, in order of groups."""
        bursts, pieces = self._left, [self._left]
        there = np.zeros(self._groups, np.int64)
        while True:
            # Sums of integers in doubles are exact up to 2**53.
            lengths = np.bincount(bursts["group"], bursts["length"], self._groups)
            there += lengths.astype(np.int64)
            missing = counts - there
            short = np.flatnonzero(missing > 0)
            if not len(short):
                break
            chapters = (missing[short] / self._chapter).astype(np.int64) + 1
            bursts = self._written(np.repeat(short, chapters))
            pieces.append(bursts)
        joined = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
        order = np.argsort(narrow(joined["group"], self._groups), kind="stable")
        return {name: column[order] for name, column in joined.items()}

    def _written(self, groups: Ints) -> Columns:
        bursts = self._write(groups)
        return {**bursts, "done": np.zeros(len(bursts["group"]), np.int64)}


class Script(NamedTuple):
    """Types one after another, each a burst, and how often the script is played."""

    weight: float
    types: tuple[str, ...]


class Scripts:
    """Chapters that follow one of some scripts each.

    No type follows itself, in a script or from one to the next: then what is a burst here is the
    longest run of its type in the stream of its group.
    """

    def __init__(self, scripts: Sequence[Script], settings: StreamSettings, draws: Draws) -> None:
        codes = {name: code for code, name in enumerate(settings.types)}
        self._types = np.array([codes[name] for script in scripts for name in script.types])
        self._sizes = np.array([len(script.types) for script in scripts])
        self._starts = np.cumsum(self._sizes) - self._sizes
        weights = np.array([script.weight for script in scripts], np.float64)
        self._choice = WeightedChoice(shares(weights))
        means = np.array([settings.mean_of(name) for name in settings.types])
        self._inverse = geometric_inverse(means)
        events = [sum(settings.mean_of(name) for name in script.types) for script in scripts]
        self.mean = float(np.cumsum(self._choice.shares * events)[-1])
        self._draws = draws

    def write(self, groups: Ints) -> tuple[Columns, Ints, Ints]:
        """Bursts for a chapter of each group, the chapter of each burst, and their scripts."""
        script = self._choice.draw(self._draws, len(groups))
        sizes = self._sizes[script]
        chapter = np.repeat(np.arange(len(groups)), sizes)
        within = np.arange(len(chapter)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        types = self._types[self._starts[script][chapter] + within]
        length = self._draws.geometric(self._inverse[types], len(types))
        return {"group": groups[chapter], "type": types, "length": length}, chapter, script
