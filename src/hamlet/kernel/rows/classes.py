"""Which units of a group share, and which have a table together: classes.

Units of a group may ask different things of the events of the loop, and have different windows,
which makes rows over own columns wider for all. An event that some of a class
alone admit is a snapshot by itself, or a row of which a part is empty; so units whose conditions
mostly agree are one class, and those that are for other events are not. Units with different edge
predicates are one class where that pays although the events are snapshots by themselves on which
these disagree (disputes.py). And every burst that begins
costs all units of a class a snapshot: units that begin more bursts alone in a window than they
would need own columns leave the others. Both are found from the beginning of a batch, by the costs
of kernel/rows/cost.py. Each class is a group with rows of its own, and bursts are decided about in
each.

What events are like may change as they go: where letters have another part of the events of a
stretch than before, classes are found anew, for the windows that begin from there on. Those that
are open are run to their end in the classes that they began in (`spans`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import gcd
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.rows.cost import LOOKS, ClassSeen, class_ns, leavers
from hamlet.kernel.rows.disputes import (
    Loops,
    by_keys,
    disputed_part,
    has_small_windows,
    let_precede,
)
from hamlet.kernel.rows.layout import ALWAYS, BY_BENEFIT, BY_COIN, FAR, OWN
from hamlet.kernel.rows.letters import SEVERAL, Laid, PlacedGroup, laid_for
from hamlet.plan.windows import overlap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hamlet.kernel.rows.group import RowGroup

    Ints = NDArray[np.int64]
    Doubles = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    # Two times, and the classes of windows that begin between them
    Episode = tuple[int, int, list[tuple[int, ...]]]

# Events of a batch that are looked at, and of the loop that there have to be among them: where
# conditions or windows differ, which takes some milliseconds to see, and where only entries do
_SAMPLE, _FEW, _LEAST = 8192, 1024, 256
# Where there are more partitions than these among them, they are small and all is cheap.
_MOST_PARTITIONS = 16
# A letter has to have so much more or less of the events of the loop, or of those that come into
# it, for classes to be found anew.
_CHANGED, _ENTERS_CHANGED = 0.02, 0.1
# Of fewer of the latter it cannot be said.
_ENTRIES = 128
# More classes than these are not tried one with another.
_MOST_TRIED = 8
# Groups that are made of the units of one; when there are so many, all are one class.
_MOST_CLASSES = 64


class Sampled(NamedTuple):
    """The events of a batch in the order that a group takes them in: the first of them are seen.

    `f` and `g` are the sides of each edge predicate.
    """

    ts: Ints
    letter: NDArray[np.int32]
    f: Doubles
    g: Doubles
    ranges: Ints

    def some(self, begin: int = 0) -> Sampled:
        """Some of them, those from one on."""
        end = begin + _SAMPLE
        seen = self.ranges[(self.ranges[:, 1] < end) & (self.ranges[:, 2] > begin)].copy()
        seen[:, 1:3] = np.maximum(seen[:, 1:3] - begin, 0)
        f, g = self.f[:, begin:end], self.g[:, begin:end]
        return Sampled(self.ts[begin:end], self.letter[begin:end], f, g, seen)


class Deciding(NamedTuple):
    """How classes are found: under which policy, and whether tables are to be trees."""

    policy: int
    only_trees: bool = False
    seed: int = 0  # of a coin


def classes_of(
    made: PlacedGroup, letters: NDArray[np.uint8], sampled: Sampled, few: Sampled, how: Deciding
) -> list[tuple[int, ...]]:
    """The units of each class, by their numbers in the group, from some of the events.

    Where tables are to be trees, units with different edge predicates have none together.
    """
    policy = how.policy
    classes = [tuple(range(len(made.group.units)))]
    if len(made.group.predicates) > 1:
        is_small = not how.only_trees and _has_small_windows(made, letters, sampled)
        if policy == OWN or not is_small or (policy == BY_BENEFIT and _is_full(made)):
            classes = _by_predicate(made)
    return [
        tuple(units[u] for u in some)
        for units in classes
        for some in _classes_of(class_group(made, units), letters, few, policy)
    ]


def _is_full(made: PlacedGroup) -> bool:
    return len(made.classes) >= _MOST_CLASSES


def _has_small_windows(made: PlacedGroup, letters: NDArray[np.uint8], sampled: Sampled) -> bool:
    is_loop = laid_for(made, letters).is_loop[sampled.letter]
    loops = Loops.of(sampled.ts, is_loop, sampled.ranges)
    return has_small_windows(loops, made.group.within_us)


def _by_predicate(made: PlacedGroup) -> list[tuple[int, ...]]:
    """The units with each edge predicate."""
    units = list(enumerate(made.group.units))
    return [
        tuple(u for u, unit in units if unit.predicate == each) for each in made.group.predicates
    ]


def _classes_of(
    made: PlacedGroup, letters: NDArray[np.uint8], few: Sampled, policy: int
) -> list[tuple[int, ...]]:
    """The units of each class; those with different edge predicates may have one table."""
    everyone, group = tuple(range(len(made.group.units))), made.group
    if policy == BY_COIN or made.columns < 2 or not len(few.ranges) or _is_full(made):
        return [everyone]
    classes = [everyone]
    if len(group.atoms) > 1 or len(group.windows) > 1 or len(group.predicates) > 1:
        classes = _by_conditions(made, letters, few, policy)
    if policy != BY_BENEFIT:
        return classes
    return [
        tuple(units[u] for u in some)
        for units in classes
        for some in _by_entries(class_group(made, units), letters, few)
    ]


class Span(NamedTuple):
    """Units that have a table together, and of which windows: a row for each part of a partition.

    `ranges` has the partition, its first event and the one after its last, and the first and the
    last window that are asked for.
    """

    units: tuple[int, ...]
    ranges: Ints


def spans(
    made: PlacedGroup, letters: NDArray[np.uint8], sampled: Sampled, how: Deciding
) -> list[Span]:
    """All classes that there are in a run, with the windows in which they are."""
    if len(made.group.units) == 1:
        return [Span((0,), sampled.ranges)]
    few = sampled.some()
    first = classes_of(made, letters, sampled, few, how)
    if (sampled.ranges[:, 3] > -FAR).any():  # some windows that are run again, which are few
        return [Span(units, sampled.ranges) for units in first]
    if how.policy == BY_COIN:
        return _tossed(made, sampled, first, Random(how.seed))
    is_long = sampled.ranges[:, 2] - sampled.ranges[:, 1] >= 2 * _SAMPLE
    if how.policy != BY_BENEFIT or made.columns < 3 or not is_long.any():
        return [Span(units, sampled.ranges) for units in first]
    known = (first, Composition.of(few.letter, laid_for(made, letters)))
    episodes = [
        (partition, _episodes(made, letters, (sampled, how), partition, known))
        for partition in sampled.ranges[is_long]
    ]
    if all(len(parts) == 1 for _, parts in episodes):
        return [Span(units, sampled.ranges) for units in first]
    # The others are all in the classes of the first.
    found = {units: list(sampled.ranges[~is_long]) for units in first}
    return _spans_of(made, sampled, episodes, found)


def _spans_of(
    made: PlacedGroup,
    sampled: Sampled,
    episodes: Iterable[tuple[Ints, list[Episode]]],
    found: dict[tuple[int, ...], list[Ints]],
) -> list[Span]:
    """The windows of each class, from the classes that each partition has from time to time."""
    for partition, parts in episodes:
        for begin, end, classes in parts:
            for units in classes:
                group = class_group(made, units).group
                row = _windows_between(made.group, group, sampled.ts, partition, (begin, end))
                if row[1] < row[2] and row[3] <= row[4]:
                    found.setdefault(units, []).append(row)
    return [Span(units, np.array(rows)) for units, rows in found.items() if rows]


def _tossed(
    made: PlacedGroup, sampled: Sampled, classes: list[tuple[int, ...]], random: Random
) -> list[Span]:
    """Classes by a coin, for tests: parted or not from some event of a partition on."""
    if _is_full(made):
        return [Span(units, sampled.ranges) for units in classes]
    parted = [
        tuple(some)
        for units in classes
        for side in [set(random.sample(units, random.randint(0, len(units))))]
        for some in ([u for u in units if u in side], [u for u in units if u not in side])
        if some
    ]
    episodes: list[tuple[Ints, list[Episode]]] = []
    for partition in sampled.ranges:
        at = int(sampled.ts[random.randrange(int(partition[1]), int(partition[2]))])
        parts = random.choice([[classes], [classes, parted], [parted, classes]])
        times = [-FAR, *[at] * (len(parts) - 1), FAR]
        between = list(zip(times[:-1], times[1:], parts, strict=True))
        episodes.append((partition, between))
    return _spans_of(made, sampled, episodes, {})


class Composition(NamedTuple):
    """By letter how many events of the loop there are, and how many that come into it."""

    loops: Ints
    entries: Ints

    @staticmethod
    def of(letter: NDArray[np.int32], laid: Laid) -> Composition:
        """That of some events."""
        counts = np.bincount(letter, minlength=len(laid.is_loop))
        return Composition(counts * laid.is_loop, counts * (laid.fed != -1))

    def differs(self, other: Composition) -> bool:
        """Whether a letter has become another part of them, as far as that can be said."""
        if self.loops.sum() < _FEW:
            return False
        if _most_apart(self.loops, other.loops) > _CHANGED:
            return True
        if self.entries.sum() < _ENTRIES:
            return False
        is_new = other.entries.sum() < _ENTRIES
        return is_new or _most_apart(self.entries, other.entries) > _ENTERS_CHANGED


def _most_apart(one: Ints, other: Ints) -> float:
    """How far parts of two wholes are apart at most."""
    return float(np.abs(one / max(one.sum(), 1) - other / max(other.sum(), 1)).max(initial=0))


def _episodes(
    made: PlacedGroup,
    letters: NDArray[np.uint8],
    known: tuple[Sampled, Deciding],
    partition: Ints,
    before: tuple[list[tuple[int, ...]], Composition],
) -> list[Episode]:
    """Times between which the windows of a partition begin that have the same classes."""
    (sampled, how), (classes, seen) = known, before
    first, end = int(partition[1]), int(partition[2])
    lasts = int(sampled.ts[end - 1] - sampled.ts[first]) + 1
    in_window = (end - first) * made.group.within_us // max(lasts, 1)
    step = max(_SAMPLE, 2 * in_window)
    laid = laid_for(made, letters)
    episodes = [(-FAR, FAR, classes)]
    # What was seen before is how the batch begins.
    seen_until = first + step if first == 0 and step == _SAMPLE else first
    for begin in range(seen_until, end - step // 2, step):
        letter = sampled.letter[begin : min(begin + step, end)]
        now = Composition.of(letter, laid)
        if not now.differs(seen):
            continue
        seen = now
        anew = classes_of(made, letters, sampled, sampled.some(begin), how)
        if set(anew) != set(classes):
            at = int(sampled.ts[begin])
            episodes[-1] = (episodes[-1][0], at, classes)
            episodes.append((at, FAR, anew))
            classes = anew
    return [each for each in episodes if each[0] < each[1]]


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
    return np.array([part, first, last, begin, until], np.int64)


def class_group(made: PlacedGroup, units: tuple[int, ...]) -> PlacedGroup:
    """The group of a class; made once."""
    if len(units) == len(made.group.units):
        return made
    if units not in made.classes:
        chosen = tuple(made.group.units[u] for u in units)
        made.classes[units] = PlacedGroup.of(replace(made.group, units=chosen))
    return made.classes[units]


def class_number(made: PlacedGroup, units: tuple[int, ...]) -> int:
    """The number of a class among those of a group: 0 for all units."""
    return 0 if len(units) == len(made.group.units) else 1 + list(made.classes).index(units)


# By conditions


def disputed_in(
    made: PlacedGroup, units: tuple[int, ...], letters: NDArray[np.uint8], sampled: Sampled
) -> float:
    """The part of the events on which the edge predicates of some units disagree."""
    if len(made.group.predicates) == 1:
        return 0.0
    chosen = {made.group.units[u].predicate for u in units}
    if len(chosen) == 1:
        return 0.0
    numbers = [n for n, each in enumerate(made.group.predicates) if each in chosen]
    return disputed_part(_let(made, letters, sampled.some()), numbers)


def _let(made: PlacedGroup, letters: NDArray[np.uint8], few: Sampled) -> NDArray[np.uint64]:
    """By edge predicate and event of the loop what may precede it; nothing where there is one."""
    if len(made.group.predicates) == 1:
        return np.zeros((1, 0), np.uint64)
    loops = Loops.of(few.ts, laid_for(made, letters).is_loop[few.letter], few.ranges)
    return let_precede(loops, made.group.within_us, made.group.predicates, few.f, few.g)


@dataclass(slots=True, eq=False)
class _Class:
    """Columns that may have one table, with what letters are to them."""

    columns: list[int]
    windows: frozenset[tuple[int, int]]  # lengths and slides
    predicates: frozenset[int]
    by_any: Mask  # whether any column admits events of a letter
    by_all: Mask
    entries: int
    cost: float = 0.0

    def with_other(self, other: _Class) -> _Class:
        """Both."""
        return _Class(
            self.columns + other.columns,
            self.windows | other.windows,
            self.predicates | other.predicates,
            self.by_any | other.by_any,
            self.by_all & other.by_all,
            self.entries + other.entries,
        )


class _Costs(NamedTuple):
    """What the cost of a class depends on besides its columns."""

    group: RowGroup
    events: int
    counts: Ints  # by letter: events of the loop
    live: dict[int, float]  # of them in a window, by its length
    bursts: int
    bases: tuple[bool, bool]
    let: NDArray[np.uint64]  # by edge predicate and event what may precede it: see disputes.py
    keys: list[int]  # by edge predicate: those that differ in bounds only have the same number

    def of(self, one: _Class) -> _Class:
        """A class with its cost."""
        loops = int(self.counts @ one.by_any)
        parts = loops - int(self.counts @ (one.by_any & one.by_all))
        parts += int((loops - parts) * disputed_part(self.let, one.predicates))
        within, slide = max(w for w, _ in one.windows), gcd(*(s for _, s in one.windows))
        live = self.live[within] * loops / max(int(self.counts.sum()), 1)
        bursts, predicates = min(self.bursts, one.entries), len(one.predicates)
        differ = len({self.keys[p] for p in one.predicates}) > 1
        looks = LOOKS * (predicates - 1) if differ else min(predicates - 1, 1)
        seen = ClassSeen(self.events, loops, live, bursts, parts, predicates, looks)
        numbers = self.group.components + self.group.extremes
        open_windows = overlap(within, slide)
        one.cost = class_ns(seen, len(one.columns), open_windows, numbers, self.bases)
        return one


def _by_conditions(
    made: PlacedGroup, letters: NDArray[np.uint8], few: Sampled, policy: int
) -> list[tuple[int, ...]]:
    """Units whose conditions agree on most events are together, those for other events apart.

    So are those whose edge predicates agree about what precedes most events. Those with the same
    condition and predicate stay together. One condition after the other, from that with the
    most events on, joins the class where that costs least, or begins one; then classes join.
    """
    laid = laid_for(made, letters)
    loops = laid.is_loop[few.letter]
    everyone = tuple(range(len(made.group.units)))
    if loops.sum() < _FEW:
        return [everyone] if policy == ALWAYS else _by_predicate(made)
    counts = np.bincount(few.letter[loops], minlength=len(letters))
    alone, several, bursts = _entering(loops, laid.fed[few.letter], made.columns)
    bases = (policy != ALWAYS or not made.is_sharable, policy != OWN and made.is_sharable)
    live = {within: _live(within, loops, few) for within, _ in made.group.windows}
    let, keys = _let(made, letters, few), by_keys(made.group.predicates, few.f)
    costs = _Costs(made.group, len(loops), counts, live, bursts, bases, let, keys)
    classes: list[_Class] = []
    for one in _alike(made, laid.admits, counts, alone, several):
        costs.of(one)
        joined = [costs.of(other.with_other(one)) for other in classes]
        more = [each.cost - other.cost for each, other in zip(joined, classes, strict=True)]
        if more and min(more) <= one.cost:
            classes[more.index(min(more))] = joined[more.index(min(more))]
        else:
            classes.append(one)
    classes = _joined(classes, costs)
    if len(made.group.predicates) > 1:
        # What two cost more by than apart, many may save.
        together = costs.of(reduce(_Class.with_other, classes))
        classes = [together] if together.cost < sum(one.cost for one in classes) else classes
    class_of = {column: number for number, one in enumerate(classes) for column in one.columns}
    numbers = [class_of[column] for column in made.column_of_unit]
    return [tuple(u for u in everyone if numbers[u] == n) for n in sorted(set(numbers))]


def _joined(classes: list[_Class], costs: _Costs) -> list[_Class]:
    """Classes, those made one for which that costs less."""
    while 1 < len(classes) <= _MOST_TRIED:
        pairs = list(combinations(classes, 2))
        joined = [costs.of(one.with_other(other)) for one, other in pairs]
        saved = [
            one.cost + other.cost - both.cost
            for (one, other), both in zip(pairs, joined, strict=True)
        ]
        best = saved.index(max(saved))
        if saved[best] <= 0:
            break
        classes = [one for one in classes if one not in pairs[best]] + [joined[best]]
    return classes


def _alike(
    made: PlacedGroup, admits: Mask, counts: Ints, alone: Ints, several: int
) -> list[_Class]:
    """Columns that ask the same in the same windows, those with the most events first."""
    known: dict[tuple[bytes, tuple[int, int], int], list[int]] = {}
    for column in range(admits.shape[1]):
        node = made.nodes[column]
        predicate = made.group.predicates.index(node.predicate)
        key = (admits[:, column].tobytes(), node.window, predicate)
        known.setdefault(key, []).append(column)
    found = [
        _Class(
            some,
            frozenset([window]),
            frozenset([predicate]),
            admits[:, c],
            admits[:, c],
            several + int(alone[some].sum()),
        )
        for (_, window, predicate), some in known.items()
        for c in some[:1]
    ]
    return sorted(found, key=lambda one: -int(counts @ one.by_any))


def _entering(loops: Mask, fed: Ints, columns: int) -> tuple[Ints, int, int]:
    """The events that come into each column alone, those that come into several, and bursts."""
    at = np.flatnonzero(fed != -1)
    alone = np.bincount(fed[at][fed[at] != SEVERAL], minlength=columns)
    bursts = len(np.unique(np.cumsum(loops)[at]))
    return alone, int((fed == SEVERAL).sum()), bursts


# By entries


def _by_entries(
    made: PlacedGroup, letters: NDArray[np.uint8], few: Sampled
) -> list[tuple[int, ...]]:
    """Units, but for those apart that alone begin too many bursts."""
    everyone = tuple(range(len(made.group.units)))
    if not made.is_sharable or made.columns < 3 or len(few.ranges) > _MOST_PARTITIONS:
        return [everyone]
    laid = laid_for(made, letters)
    counts = np.bincount(few.letter, minlength=len(laid.is_loop))
    group, events, most = made.group, int(counts @ laid.is_loop), _most_entries(counts, laid)
    # A look at the letters says of most loops that no one enters them so often.
    if events < _LEAST or most <= group.overlap:
        return [everyone]
    if len(few.ranges) == 1:
        live = _live_of_one(group.within_us, events, few)
    else:
        live = _live(group.within_us, laid.is_loop[few.letter], few)
    if most * live <= group.overlap * events:
        return [everyone]
    alone, bursts = _alone(few.letter, laid, made.columns)
    numbers = group.components + group.extremes
    gone = set(leavers(alone, bursts, events, live, group.overlap, numbers))
    if not gone:
        return [everyone]
    parted = [c in gone for c in made.column_of_unit]
    return [tuple(u for u in everyone if parted[u] is side) for side in (False, True)]


def _most_entries(counts: Ints, laid: Laid) -> float:
    """How many of the events of these letters come into one column alone, of the one with most."""
    is_one = (laid.fed != -1) & (laid.fed != SEVERAL)
    return float(np.bincount(laid.fed[is_one], counts[is_one]).max(initial=0))


def _alone(letter: NDArray[np.int32], laid: Laid, columns: int) -> tuple[list[int], int]:
    """How many bursts each column begins alone, and how many bursts there are."""
    at = np.flatnonzero((laid.fed != -1)[letter])
    if not len(at):
        return [0] * columns, 0
    fed = laid.fed[letter[at]]
    # What comes in between the same two events of the loop begins one burst.
    burst = np.cumsum(laid.is_loop[letter])[at]
    first = np.flatnonzero(np.concatenate([[True], burst[1:] != burst[:-1]]))
    least, most = np.minimum.reduceat(fed, first), np.maximum.reduceat(fed, first)
    one = least[(least == most) & (least != SEVERAL)]
    return np.bincount(one, minlength=columns).tolist(), len(first)


def _live(within_us: int, loops: Mask, few: Sampled) -> float:
    """How many events of the loop a window has, as most of these events see it."""
    first, end = few.ranges[:, 1], np.minimum(few.ranges[:, 2], len(few.ts))
    pairs = zip(first.tolist(), end.tolist(), strict=True)
    here = np.array([np.count_nonzero(loops[i:j]) for i, j in pairs])
    lasts = few.ts[end - 1] - few.ts[first] + 1
    weighted = here * here * np.minimum(1.0, within_us / lasts)
    return float(weighted.sum() / max(here.sum(), 1))


def _live_of_one(within_us: int, events: int, few: Sampled) -> float:
    """The same where all of these events are of one partition, without a look at them."""
    first, end = int(few.ranges[0, 1]), min(int(few.ranges[0, 2]), len(few.ts))
    return events * min(1.0, within_us / (int(few.ts[end - 1]) - int(few.ts[first]) + 1))
