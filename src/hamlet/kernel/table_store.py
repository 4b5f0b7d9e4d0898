"""Tables of rows of many partitions between two batches: what loops with edge predicates keep.

Each partition has a number, its *slot*. For each group of rows (kernel/rows) there are arrays that
its partitions have in common, one set of them for each kind of numbers, as kernel/rows/kept.py lays
them out. A batch appends to them, what it replaces becomes a gap, and where gaps take up more than
half of the arrays they are closed. So a batch costs what its own events cost, whatever else is
stored.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.emissions import emission_of
from hamlet.kernel.machine import FAR, NEVER
from hamlet.kernel.numbers import next_words
from hamlet.kernel.rows.going_on import (
    NOTHING,
    KeptArrays,
    go_on,
    outgrows_doubles,
    widened,
)
from hamlet.kernel.run import partition_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission, EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.rows import PlacedGroup
    from hamlet.kernel.run import Counters
    from hamlet.plan.number_mode import NumberMode

    Longs = NDArray[np.int64]

# Gaps are closed where they take up more than half, but not in arrays as short as this.
_SHORT = 1 << 14
# Changes with what kernel/rows/kept.py writes: tables of another are made anew from raw rows.
_LAYOUT = 1


class TableStore:
    """What is kept of partitions, by group and slot.

    Attributes:
        groups: What is kept for each group of the code.
        count: How many slots there are.
    """

    def __init__(self, mode: NumberMode) -> None:
        self.mode = mode
        self.groups: list[GroupTables] = []
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def begin(self, compiled: Compiled) -> None:
        """Keep nothing, of the groups of some code."""
        self.groups = [GroupTables(self.mode, made) for made in compiled.row_groups]
        self.count = 0

    def grow(self, count: int) -> None:
        """Add empty slots until there are `count`."""
        self.count = max(self.count, count)
        for group in self.groups:
            group.grow(self.count)

    @property
    def is_live(self) -> NDArray[np.bool_]:
        """Of which slots anything is kept."""
        live = np.zeros(self.count, np.bool_)
        for group in self.groups:
            live |= group.words > 0
        return live

    @property
    def deadline(self) -> Longs:
        """By slot when the first window ends that may hold something; NEVER where none does."""
        deadlines = np.full(self.count, NEVER, np.int64)
        for group in self.groups:
            np.minimum(deadlines, group.deadline, out=deadlines)
        return deadlines

    def is_due(self, until: int) -> bool:
        """Whether a window ends by a time that may hold something."""
        return any(len(group.due(until)) for group in self.groups)

    def advance(
        self, compiled: Compiled, events: EventBatch, slots: Longs, until: int, counters: Counters
    ) -> tuple[list[Emission], Longs]:
        """Take in a batch, and close what ends by a time; see `RowStore.advance`."""
        emissions: list[Emission] = []
        touched = [slots]
        for group in self.groups:
            some, more = group.advance(compiled, events, slots, until, counters)
            emissions += some
            touched.append(more)
        return emissions, np.unique(np.concatenate(touched))

    def renumber(self, slots: Longs) -> None:
        """Keep some slots only, numbered anew in the order given."""
        self.count = len(slots)
        for group in self.groups:
            group.renumber(slots)


class GroupTables:
    """The tables of one group, by slot.

    Attributes:
        words: How many words numbers have; 0 where nothing is kept.
        deadline: When the first window ends that may hold something; NEVER where nothing is kept.
    """

    def __init__(self, mode: NumberMode, made: PlacedGroup) -> None:
        self.mode = mode
        self.made = made
        self.words = np.zeros(0, np.int64)
        self.deadline = np.zeros(0, np.int64)
        self._head = np.zeros(0, np.int64)
        self._size = np.zeros((0, 3), np.int64)
        self._arrays: dict[int, KeptArrays] = {}
        self._templates = np.array([unit.template for unit in made.group.units], np.int32)

    def __len__(self) -> int:
        return len(self.words)

    def grow(self, count: int) -> None:
        """Add empty slots until there are `count`."""
        more = count - len(self)
        if more > 0:
            self.words = np.append(self.words, np.zeros(more, np.int64))
            self.deadline = np.append(self.deadline, np.full(more, NEVER, np.int64))
            self._head = np.append(self._head, np.full(more, NOTHING, np.int64))
            self._size = np.append(self._size, np.zeros((more, 3), np.int64), axis=0)

    def renumber(self, slots: Longs) -> None:
        """Keep some slots only, numbered anew in the order given."""
        for name in ("words", "deadline", "_head", "_size"):
            setattr(self, name, getattr(self, name)[slots])

    def due(self, until: int) -> Longs:
        """The slots in which a window ends by a time that may hold something."""
        return np.flatnonzero((self.words > 0) & ((self.deadline <= until) | (until >= FAR)))

    # Running

    def advance(
        self, compiled: Compiled, events: EventBatch, slots: Longs, until: int, counters: Counters
    ) -> tuple[list[Emission], Longs]:
        """Take in a batch, and close what ends by a time; what is emitted, and slots touched."""
        ranges = partition_ranges(events)[:, :3]
        idle = np.setdiff1d(self.due(until), slots)
        ranges = np.concatenate([ranges, np.zeros((len(idle), 3), np.int64)])
        ranges[: len(slots), 0], ranges[len(slots) :, 0] = slots, idle
        kinds = np.maximum(self.words[ranges[:, 0]], 1)
        emissions = []
        while len(ranges):
            words = int(kinds.min())
            is_now = kinds == words
            emission, is_outgrown = self._run(compiled, events, ranges[is_now], until, words)
            counters.windows += len(emission.part)
            emissions.append(emission)
            again = np.zeros(len(ranges), np.bool_)
            again[np.flatnonzero(is_now)[is_outgrown]] = True
            counters.partitions_redone += int(again.sum())
            kinds[again] = next_words(words)
            left = (kinds > words) | again
            ranges, kinds = ranges[left], kinds[left]
        self._close_gaps()
        return emissions, idle

    def _run(
        self, compiled: Compiled, events: EventBatch, ranges: Longs, until: int, words: int
    ) -> tuple[Emission, NDArray[np.bool_]]:
        """Run partitions with numbers of one kind; what they emit, and which need a wider."""
        slots, arrays = ranges[:, 0], self._of(words)
        is_done = np.ones(len(ranges), np.bool_)
        if outgrows_doubles(self.made, events, arrays):
            is_done[:] = False
        done = go_on(self.made, events, ranges[is_done], self._head[slots[is_done]], until, arrays)
        is_done[np.flatnonzero(is_done)[done.redo]] = False
        self._widen(slots[~is_done], words)
        went_on = np.ones(len(done.heads), np.bool_)
        went_on[done.redo] = False
        kept, heads = slots[is_done], done.heads[went_on]
        self._head[kept], self.deadline[kept] = heads, done.deadlines[went_on]
        self._size[kept] = done.sizes[went_on]
        self.words[kept] = np.where(heads == NOTHING, 0, words)
        template = self._templates[done.unit]
        emission = emission_of(
            compiled, done.part, template, done.window, done.components, done.extremes
        )
        return emission, ~is_done

    def _widen(self, slots: Longs, words: int) -> None:
        """Have the numbers of some slots in the next wider kind."""
        slots = slots[self.words[slots] > 0]
        if not len(slots):
            return
        wide = next_words(words)
        taken, heads = self._of(words).of(self._head[slots], self._size[slots])
        self.put(slots, widened(taken, wide), heads, self._size[slots], self.deadline[slots])

    def _of(self, words: int) -> KeptArrays:
        if words not in self._arrays:
            self._arrays[words] = KeptArrays.nothing(self.mode, words)
        return self._arrays[words]

    def _close_gaps(self) -> None:
        for words, arrays in list(self._arrays.items()):
            slots = np.flatnonzero(self.words == words)
            size = self._size[slots]
            if not len(slots):
                del self._arrays[words]
            elif (arrays.used > 2 * size.sum(axis=0) + _SHORT).any():
                self._arrays[words], self._head[slots] = arrays.of(self._head[slots], size)

    # Taking out and putting in

    def taken(self, slots: Longs) -> dict[int, tuple[Longs, KeptArrays, Longs]]:
        """What is kept in some slots: by kind of numbers where in `slots` they stand, and what."""
        by_kind = {}
        for words in np.unique(self.words[slots][self.words[slots] > 0]).tolist():
            which = np.flatnonzero(self.words[slots] == words)
            some = slots[which]
            by_kind[words] = which, *self._arrays[words].of(self._head[some], self._size[some])
        return by_kind

    def described(self, slots: Longs) -> Longs:
        """Deadlines and sizes of some slots, in four columns."""
        return np.column_stack([self.deadline[slots], self._size[slots]])

    def put(
        self, slots: Longs, arrays: KeptArrays, heads: Longs, sizes: Longs, deadline: Longs
    ) -> None:
        """Keep something in slots that have nothing, or something else."""
        own = self._of(arrays.words)
        own.make_room(sizes.sum(axis=0))
        self._head[slots] = own.take(arrays, heads)
        self._size[slots], self.deadline[slots] = sizes, deadline
        self.words[slots] = arrays.words


def layout_of(groups: Sequence[PlacedGroup], digits: Any) -> str:
    """What tables depend on, in a digest: those of another are made anew from raw rows."""
    plain = repr((_LAYOUT, [made.group for made in groups], sorted(digits.items())))
    return hashlib.sha256(plain.encode()).hexdigest()[:16]
