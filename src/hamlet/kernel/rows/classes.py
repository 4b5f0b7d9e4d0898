"""Which units of a group share, and which have a table together: classes.

Units of a group may ask different things of the events of the loop, and have different windows,
which makes rows over own columns wider for all. An event that some of a class
alone admit is a snapshot by itself, or a row of which a part is empty; so units whose conditions
mostly agree are one class, and those that are for other events are not. Units with different edge
predicates are one class where that pays although the events are snapshots by themselves on which
these disagree (disputes.py). And every burst that begins
costs all units of a class a snapshot: units that begin more bursts alone in a window than they
would need own columns leave the others. Each class is a group with rows of its own, and bursts are
decided about in each.

All this is found of each partition from how that begins (finding.py), by the costs of
kernel/rows/cost.py. Those of too few events for that have one table, or where edge predicates
differ one for each of these.

What events are like may change as they go: where letters have another part of the events of a
stretch than before, classes are found anew, for the windows that begin from there on. Those that
are open are run to their end in the classes that they began in (`spans`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.rows.finding import LEAST, NOTHING, SAMPLE, Asked, Seen, changes, find
from hamlet.kernel.rows.layout import ALWAYS, BY_BENEFIT, BY_COIN, FAR
from hamlet.kernel.rows.letters import PlacedGroup, laid_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from hamlet.kernel.rows.group import RowGroup

    Ints = NDArray[np.int64]
    Doubles = NDArray[np.float64]
    Units = tuple[int, ...]
    # Two times, and the classes of windows that begin between them
    Episode = tuple[int, int, list["Class"]]

# Groups that are made of the units of one: more are not kept.
_MOST_KEPT = 64
# Where windows are longer, edge predicates that differ have no table together: it is scanned, and
# where coefficients of one word no longer serve over own columns.
_MOST_LIVE, _MOST_LIVE_OF_INTEGERS = 512, 256


class Class(NamedTuple):
    """Units with a table together, and of a thousand events those on which they disagree."""

    units: Units
    disputed: int


class Sampled(NamedTuple):
    """The events of a batch in the order that a group takes them in.

    `f` and `g` are the sides of each edge predicate.
    """

    ts: Ints
    letter: NDArray[np.int32]
    f: Doubles
    g: Doubles
    ranges: Ints


class Deciding(NamedTuple):
    """How classes are found: under which policy, and whether tables are to be trees."""

    policy: int
    only_trees: bool = False
    seed: int = 0  # of a coin
    is_float: bool = True


class Span(NamedTuple):
    """Units that have a table together, and of which windows: a row for each part of a partition.

    `ranges` has the partition, its first event and the one after its last, the first and the last
    window that are asked for, and of a thousand events those on which edge predicates disagree.
    """

    units: Units
    ranges: Ints


def spans(
    made: PlacedGroup, letters: NDArray[np.uint8], sampled: Sampled, how: Deciding
) -> list[Span]:
    """All classes that there are in a run, with the windows in which they are."""
    ranges, usual = sampled.ranges, usual_classes(made, how)
    # Some windows that are run again are not cut any further.
    if how.policy == BY_COIN and not _are_parts(ranges).any():
        return _tossed(made, sampled, usual, Random(how.seed))
    is_long = ranges[:, 2] - ranges[:, 1] >= LEAST
    if made.columns < 2 or not is_long.any():
        return [Span(each.units, ranges) for each in usual]
    finder = _Finder.of(made, letters, sampled, how)
    found: dict[Units, list[Ints]] = {}
    _put(found, usual, ranges[~is_long])
    for some, classes in finder.alike(ranges[is_long]):
        is_changing = finder.may_change(some)
        _put(found, classes or usual, some[~is_changing])
        for partition in some[is_changing]:
            episodes = finder.episodes(partition, classes or usual)
            if len(episodes) == 1:
                _put(found, classes or usual, partition[None])
            else:
                _put_episodes(found, made, sampled, partition, episodes)
    return [_span(units, rows) for units, rows in found.items()]


def _are_parts(ranges: Ints) -> NDArray[np.bool_]:
    """Whether not all windows of a partition are asked for."""
    are_parts: NDArray[np.bool_] = ranges[:, 3] > -FAR
    return are_parts


def most_usual(
    made: PlacedGroup, letters: NDArray[np.uint8], sampled: Sampled, how: Deciding
) -> tuple[Units, ...]:
    """The classes that most events of some partitions are in, as these begin."""
    finder = _Finder.of(made, letters, sampled, how)
    events: Counter[tuple[Units, ...]] = Counter()
    usual = tuple(units for units, _ in usual_classes(made, how))
    for some, classes in finder.alike(sampled.ranges) if made.columns > 1 else ():
        units = tuple(one.units for one in classes) if classes else usual
        events[units] += int((some[:, 2] - some[:, 1]).sum())
    return max(events, key=lambda units: events[units], default=usual)


def _put(found: dict[Units, list[Ints]], classes: list[Class], ranges: Ints) -> None:
    """Have some partitions in some classes."""
    for units, disputed in classes if len(ranges) else ():
        some = ranges.copy()
        some[:, -1] = disputed
        found.setdefault(units, []).append(some)


def _span(units: Units, rows: list[Ints]) -> Span:
    """A class with its partitions, in the order of events."""
    if len(rows) == 1:
        return Span(units, rows[0])
    ranges = np.concatenate(rows)
    return Span(units, ranges[np.argsort(ranges[:, 1], kind="stable")])


def usual_classes(made: PlacedGroup, how: Deciding) -> list[Class]:
    """The classes where nothing is known of events.

    Over own columns units with different edge predicates have nothing of one table.
    """
    everyone, predicates = list(enumerate(made.group.units)), made.group.predicates
    is_mixed = how.policy in (ALWAYS, BY_COIN) and not how.only_trees
    if is_mixed or len(predicates) == 1:
        return [Class(tuple(u for u, _ in everyone), 0)]
    return [
        Class(tuple(u for u, unit in everyone if unit.predicate == each), 0) for each in predicates
    ]


class _Finder(NamedTuple):
    """Finds the classes of partitions of a batch."""

    made: PlacedGroup
    seen: Seen
    asked: Asked

    @staticmethod
    def of(
        made: PlacedGroup, letters: NDArray[np.uint8], sampled: Sampled, how: Deciding
    ) -> _Finder:
        """That of a group."""
        group, laid = made.group, laid_for(made, letters)
        window, predicate, within, slide, operators = made.asked_of_neighbours
        most_live = _MOST_LIVE if how.is_float else _MOST_LIVE_OF_INTEGERS
        asked = Asked(
            laid.is_loop,
            laid.admits,
            laid.feeds,
            laid.enters,
            window,
            predicate,
            within,
            slide,
            operators,
            group.components + group.extremes,
            how.policy,
            int(made.is_sharable),
            0 if how.only_trees else most_live,
        )
        seen = Seen(sampled.ts, sampled.letter, sampled.f, sampled.g)
        return _Finder(made, seen, asked)

    def alike(self, ranges: Ints) -> Iterator[tuple[Ints, list[Class] | None]]:
        """Partitions that have the same classes, with these; None where they are as usual."""
        labels, disputed = np.empty((2, len(ranges), self.made.columns), np.int32)
        find(self.seen, self.asked, ranges, labels, disputed)
        is_usual = labels[:, 0] == NOTHING
        if is_usual.any():
            yield ranges[is_usual], None
        places: dict[bytes, list[int]] = {}
        for place in np.flatnonzero(~is_usual).tolist():
            key = labels[place].tobytes() + disputed[place].tobytes()
            places.setdefault(key, []).append(place)
        for some in places.values():
            units = self._units(labels[some[0]].tolist())
            columns = [self.made.column_of_unit[one[0]] for one in units]
            parts = disputed[some[0], columns].tolist()
            yield ranges[some], [Class(*one) for one in zip(units, parts, strict=True)]

    def _units(self, label: list[int]) -> list[Units]:
        """The units of each class, by their numbers in the group."""
        classes: dict[int, list[int]] = {}
        for unit, column in enumerate(self.made.column_of_unit):
            classes.setdefault(label[column], []).append(unit)
        return [tuple(units) for units in classes.values()]

    def _each(self, ranges: Ints) -> Iterator[tuple[int, list[Class]]]:
        """The first events of partitions of which something is found, and their classes."""
        for some, classes in self.alike(ranges) if len(ranges) else ():
            for begin in some[:, 1].tolist() if classes else ():
                yield begin, classes or []

    def may_change(self, ranges: Ints) -> NDArray[np.bool_]:
        """Which partitions are so long that their classes may change."""
        can_change = self.asked.policy == BY_BENEFIT and self.made.columns > 2
        is_long = ranges[:, 2] - ranges[:, 1] >= 2 * SAMPLE
        return is_long & can_change & ~_are_parts(ranges)

    def episodes(self, partition: Ints, classes: list[Class]) -> list[Episode]:
        """Times between which the windows of a partition begin that have the same classes."""
        episodes: list[Episode] = [(-FAR, FAR, classes)]
        first, end, ts = int(partition[1]), int(partition[2]), self.seen.ts
        lasts = int(ts[end - 1] - ts[first]) + 1
        step = max(SAMPLE, 2 * ((end - first) * self.made.group.within_us // max(lasts, 1)))
        is_mixed = len(self.made.group.predicates) > 1
        places = np.empty((end - first) // step + 1, np.int64)
        asked, letter = self.asked, self.seen.letter
        n = changes(letter, asked.is_loop, asked.enters, first, end, step, is_mixed, places)
        rest = np.repeat(partition[None], n, axis=0)
        rest[:, 1] = places[:n]
        for begin, anew in sorted(self._each(rest)):
            if {one.units for one in anew} != {one.units for one in classes}:
                at = int(ts[begin])
                episodes[-1] = (episodes[-1][0], at, classes)
                episodes.append((at, FAR, anew))
                classes = anew
        return [each for each in episodes if each[0] < each[1]]


def _put_episodes(
    found: dict[Units, list[Ints]],
    made: PlacedGroup,
    sampled: Sampled,
    partition: Ints,
    episodes: Iterable[Episode],
) -> None:
    """Add the windows of each class, from the classes that a partition has from time to time."""
    for begin, end, classes in episodes:
        for one in classes:
            group = class_group(made, one.units).group
            row = _windows_between(made.group, group, sampled.ts, partition, (begin, end))
            if row[1] < row[2] and row[3] <= row[4]:
                row[-1] = one.disputed
                found.setdefault(one.units, []).append(row[None])


def _tossed(made: PlacedGroup, sampled: Sampled, usual: list[Class], random: Random) -> list[Span]:
    """Classes by a coin, for tests: parted or not from some event of a partition on."""
    parted = [
        Class(tuple(some), 0)
        for units, _ in usual
        for side in [set(random.sample(units, random.randint(0, len(units))))]
        for some in ([u for u in units if u in side], [u for u in units if u not in side])
        if some
    ]
    found: dict[Units, list[Ints]] = {}
    for partition in sampled.ranges:
        at = int(sampled.ts[random.randrange(int(partition[1]), int(partition[2]))])
        parts = random.choice([[usual], [usual, parted], [parted, usual]])
        times = [-FAR, *[at] * (len(parts) - 1), FAR]
        between = list(zip(times[:-1], times[1:], parts, strict=True))
        _put_episodes(found, made, sampled, partition, between)
    return [_span(units, rows) for units, rows in found.items()]


def _windows_between(
    group: RowGroup, some: RowGroup, ts: Ints, partition: Ints, times: tuple[int, int]
) -> Ints:
    """What a class is run over, for windows that begin between two times.

    Times of one that is run from the end are counted from the end of its own windows.
    """
    part, first, end = (int(each) for each in partition[:3])
    begin, until, last = -FAR, FAR, end
    shift = group.within_us - some.within_us if some.is_backward else 0
    if times[0] > -FAR:
        begin = -((shift - times[0]) // some.slide_us)
        first += int(np.searchsorted(ts[first:end], begin * some.slide_us + shift))
    if times[1] < FAR:
        until = -((shift - times[1]) // some.slide_us) - 1
        closed = until * some.slide_us + some.within_us + shift
        last = int(partition[1]) + int(np.searchsorted(ts[int(partition[1]) : end], closed))
    return np.array([part, first, last, begin, until, 0], np.int64)


def class_group(made: PlacedGroup, units: Units) -> PlacedGroup:
    """The group of a class; made once, while there are few."""
    if len(units) == len(made.group.units):
        return made
    known = made.classes.get(units)
    if known is None:
        kept = [each for each, group in made.classes.items() if group is not None]
        if len(kept) >= _MOST_KEPT:
            made.classes[kept[0]] = None
        chosen = tuple(made.group.units[u] for u in units)
        known = PlacedGroup.of(replace(made.group, units=chosen))
        made.classes[units] = known
    return known


def class_number(made: PlacedGroup, units: Units) -> int:
    """The number of a class among those of a group: 0 for all units."""
    return 0 if len(units) == len(made.group.units) else 1 + list(made.classes).index(units)
