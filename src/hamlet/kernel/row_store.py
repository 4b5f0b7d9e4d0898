"""The rows of many partitions between two batches: state that does not grow with the events.

Each partition has a number, its *slot*. What the machine saves of it (machine/checkpoint.py) lies
in arrays that many partitions have in common, one set of arrays for each kind of numbers. What a
run saves is appended, what it replaces becomes a gap, and where gaps take up more than half of the
arrays they are closed. So a batch costs what the partitions that it touches cost, whatever the
number of others.

A partition is touched when it has events, or when a window ends that may hold something. The
others are not even looked at: the machine catches up when it has them in hand again. A partition
all of whose windows with events have closed is not kept.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.machine import FAR, NEVER
from hamlet.kernel.machine.bundles import FOREVER
from hamlet.kernel.machine.checkpoint import find_deadlines, forget_alike
from hamlet.kernel.numbers import next_words
from hamlet.kernel.row_pieces import Piece, Shape, as_longs, by_need, gather, reshaped, widened
from hamlet.kernel.run import Kept, partition_ranges, run_once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission, EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.run import Counters
    from hamlet.plan.number_mode import NumberMode

    Longs = NDArray[np.int64]

# Gaps are closed where they take up more than half, but not in arrays as short as this.
_SHORT = 1 << 14


class RowStore:
    """What is kept of partitions, by slot.

    Attributes:
        words: How many words the numbers have; 0 where nothing is kept.
        last: The time of the last event.
        deadline: When the first window ends that may hold something; NEVER where nothing is kept.
    """

    def __init__(self, mode: NumberMode) -> None:
        self.mode = mode
        self.words = np.zeros(0, np.int64)
        self.last = np.zeros(0, np.int64)
        self.deadline = np.zeros(0, np.int64)
        self._at = np.zeros((0, 3), np.int64)
        self._size = np.zeros((0, 3), np.int64)
        self._heaps: dict[int, _Heap] = {}
        # The bundles of the code that has written what is kept, and what it has learnt of them
        self._bundles: str | None = None
        self._learnt = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.words)

    def grow(self, count: int) -> None:
        """Add empty slots until there are `count`."""
        more = count - len(self)
        if more > 0:
            self.words = np.append(self.words, np.zeros(more, np.int64))
            self.last = np.append(self.last, np.full(more, -FAR, np.int64))
            self.deadline = np.append(self.deadline, np.full(more, NEVER, np.int64))
            self._at = np.append(self._at, np.zeros((more, 3), np.int64), axis=0)
            self._size = np.append(self._size, np.zeros((more, 3), np.int64), axis=0)

    def due(self, until: int) -> Longs:
        """The slots in which a window ends by a time that may hold something."""
        return np.flatnonzero((self.words > 0) & ((self.deadline <= until) | (until >= FAR)))

    # Running

    def advance(
        self,
        compiled: Compiled,
        events: EventBatch,
        slots: Longs,
        until: int,
        counters: Counters,
    ) -> tuple[list[Emission], Longs]:
        """Take in a batch, and close what ends by a time.

        Args:
            compiled: The units.
            events: The batch.
            slots: The slot of each partition of the batch.
            until: The time; FAR closes everything.
            counters: Where what is done is counted.

        Returns:
            What is emitted, with slots for partitions, and the slots that were touched.
        """
        self._go_on_with(compiled)
        ranges = partition_ranges(events)
        ranges[:, 0] = slots
        self.last[slots] = events.ts[ranges[:, 2] - 1]
        idle = np.setdiff1d(self.due(until), slots)
        ranges = np.concatenate([ranges, np.zeros((len(idle), 6), np.int64)])
        ranges[len(slots) :, 0] = idle
        touched = ranges[:, 0].copy()
        emissions: list[Emission] = []
        kinds = np.maximum(self.words[touched], 1)
        while len(ranges):
            words = int(kinds.min())
            now = ranges[kinds == words]
            emission, redo = self._run(compiled, events, now, until, words, counters)
            emissions.append(emission)
            counters.partitions_redone += len(redo)
            again = np.isin(ranges[:, 0], redo)
            kinds[again] = next_words(words)
            left = (kinds > words) | again
            ranges, kinds = ranges[left], kinds[left]
        self._close_gaps()
        return emissions, touched

    # Sharing

    @property
    def sharing(self) -> tuple[str | None, list[int]]:
        """The bundles that what is kept knows of, in a digest, and what was learnt of them."""
        return self._bundles, self._learnt.tolist()

    def go_on_sharing(self, bundles: str | None, learnt: list[int]) -> None:
        """Go on from what another has learnt."""
        self._bundles, self._learnt = bundles, np.array(learnt, np.int64)

    def _go_on_with(self, compiled: Compiled) -> None:
        """Where code has other bundles than that before, nothing is known of which are alike."""
        if not compiled.bundles:
            return  # It says of nothing that it is alike.
        bundles = _digest(compiled)
        if bundles == self._bundles:
            return
        if self._bundles is not None:
            lengths = Shape.of(compiled).ints
            for words, heap in self._heaps.items():
                forget_alike(heap.ints, self._at[self.words == words, 0], lengths)
        self._bundles = bundles
        self._learnt = np.array([p % FOREVER for p in compiled.patience], np.int64)

    def _run(
        self,
        compiled: Compiled,
        events: EventBatch,
        ranges: Longs,
        until: int,
        words: int,
        counters: Counters,
    ) -> tuple[Emission, Longs]:
        """Run partitions with numbers of one kind; what they emit, and those that need a wider."""
        slots = ranges[:, 0]
        has_state = self.words[slots] > 0
        ranges[:, 3:] = np.where(has_state[:, None], self._at[slots], -1)
        heap = self._heap(words)
        nothing = Kept.nothing(self.mode, words)
        kept = Kept(nothing.ranges, heap.ints, heap.numbers, heap.extremes)
        learnt = self._learnt if compiled.bundles else None
        emission, redo, after = run_once(
            compiled, events, ranges, kept, until, self.mode, words, counters, learnt=learnt
        )
        outgrown = redo[:, 0]
        stateful = outgrown[self.words[outgrown] > 0]
        done = slots[~np.isin(slots, outgrown)]
        self.words[done] = 0
        self.deadline[done] = NEVER
        if len(stateful):
            wider = widened(self._taken(stateful, words), self.mode, words)
            self._put(stateful, wider, next_words(words))
        if not (self.words == words).any():
            del self._heaps[words]
        if len(after.ranges):
            self._keep(after, Shape.of(compiled), words)
        return emission, outgrown

    def _keep(self, after: Kept, shape: Shape, words: int) -> None:
        """Keep what a run has saved, as far as it will be needed."""
        slots, starts = after.ranges[:, 0], after.ranges[:, 3:]
        ends = [len(after.ints), len(after.numbers), len(after.extremes)]
        sizes = np.diff(np.concatenate([starts, [ends]]), axis=0)
        piece = Piece(sizes, after.ints, after.numbers, after.extremes)
        for kind, which, part in by_need(piece, self.mode, words):
            self.put(slots[which], part, shape, kind, self.last[slots[which]])

    def put(self, slots: Longs, piece: Piece, shape: Shape, words: int, last: Longs) -> None:
        """Keep something in slots that have nothing, unless it is all over."""
        self.last[slots] = last
        deadline = np.empty(len(slots), np.int64)
        find_deadlines(
            piece.ints,
            piece.starts[:, 0],
            shape.ints,
            last,
            shape.slide,
            shape.within,
            shape.always,
            deadline,
        )
        self._put(slots, piece, words)
        self.deadline[slots] = deadline
        self.words[slots[deadline == NEVER]] = 0

    def _put(self, slots: Longs, piece: Piece, words: int) -> None:
        self._at[slots] = piece.starts + self._heap(words).append(piece)
        self._size[slots] = piece.sizes
        self.words[slots] = words

    def _heap(self, words: int) -> _Heap:
        if words not in self._heaps:
            self._heaps[words] = _Heap(self.mode, words)
        return self._heaps[words]

    def _close_gaps(self) -> None:
        for words, heap in list(self._heaps.items()):
            slots = np.flatnonzero(self.words == words)
            live = int(self._size[slots].sum())
            if not live:
                del self._heaps[words]
            elif heap.used.sum() > 2 * live + _SHORT:
                piece = self._taken(slots, words)
                del self._heaps[words]
                self._put(slots, piece, words)

    # Taking out

    def taken(self, slots: Longs) -> dict[int, tuple[Longs, Piece]]:
        """What is kept in some slots: by kind of numbers where in `slots` they stand, and what."""
        kinds = self.words[slots]
        by_kind = {}
        for words in np.unique(kinds[kinds > 0]).tolist():
            which = np.flatnonzero(kinds == words)
            by_kind[words] = which, self._taken(slots[which], words)
        return by_kind

    def _taken(self, slots: Longs, words: int) -> Piece:
        heap, at, size = self._heaps[words], self._at[slots], self._size[slots]
        ints, numbers, extremes = size.sum(axis=0).tolist()
        piece = Piece(
            size,
            np.empty(ints, np.int64),
            self.mode.array(numbers, words),
            np.empty(extremes),
        )
        pairs = (heap.ints, piece.ints), (heap.numbers, piece.numbers)
        for column, (source, out) in enumerate([*pairs, (heap.extremes, piece.extremes)]):
            wide = words if column == 1 else 1
            starts, sizes = wide * at[:, column], wide * size[:, column]
            gather(as_longs(source), starts, sizes, as_longs(out))
        return piece

    def forget(self, slots: Longs) -> None:
        """Keep nothing of some partitions any more."""
        self.words[slots] = 0
        self.deadline[slots] = NEVER
        self._close_gaps()

    def renumber(self, slots: Longs) -> None:
        """Keep some slots only, numbered anew in the order given."""
        for name in ("words", "last", "deadline", "_at", "_size"):
            setattr(self, name, getattr(self, name)[slots])

    def reshape(self, old: Shape, new: Shape, sources: Mapping[int, Longs]) -> None:
        """Give units other components; see `reshaped`."""
        slots = np.flatnonzero(self.words > 0)
        taken = self.taken(slots)
        self._heaps = {}
        for words, (which, piece) in taken.items():
            self._put(slots[which], reshaped(piece, old, new, sources, words), words)


def _digest(compiled: Compiled) -> str:
    """Which units are in which bundle."""
    units = repr([bundle.units for bundle in compiled.bundles])
    return hashlib.sha256(units.encode()).hexdigest()[:16]


class _Heap:
    """Arrays that are appended to: as they are, and how much of each is used."""

    def __init__(self, mode: NumberMode, words: int) -> None:
        self.ints = np.empty(0, np.int64)
        self.numbers = mode.array(0, words)
        self.extremes = np.empty(0)
        self.used = np.zeros(3, np.int64)

    def append(self, piece: Piece) -> Longs:
        """Add something at the end, which may become part of this; where it begins."""
        begins = self.used.copy()
        if not begins.any():
            self.ints, self.numbers, self.extremes = piece.ints, piece.numbers, piece.extremes
            self.used[:] = piece.ends
            return begins
        for column, name in enumerate(("ints", "numbers", "extremes")):
            new, old = getattr(piece, name), getattr(self, name)
            begin, end = int(begins[column]), int(begins[column]) + len(new)
            if end > len(old):
                longer = np.empty((2 * end, *old.shape[1:]), old.dtype)
                longer[:begin] = old[:begin]
                setattr(self, name, longer)
                old = longer
            old[begin:end] = new
            self.used[column] = end
        return begins
