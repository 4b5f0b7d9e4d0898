"""The rows of many partitions between two batches: state that does not grow with the events.

Each partition has a number, its *slot*. What the machine saves of it (machine/keep.py) lies in
arrays that many partitions have in common, one set of arrays for each kind of numbers. What a run
saves is appended, what it replaces becomes a gap, and where gaps take up more than half of the
arrays they are closed. So a batch costs what the partitions that it touches cost, whatever the
number of others.

A partition is touched when it has events, or when a window ends that may hold something. The
others are not even looked at: the machine catches up when it has them in hand again. A partition
all of whose windows with events have closed is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from hamlet.kernel.machine import FAR
from hamlet.kernel.shared import Kept, next_words, partition_ranges, room, run_once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission, EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.shared import Counters

    Longs = NDArray[np.int64]

# Instead of a deadline: there is none, not even beyond all times.
NEVER = 2**63 - 1
# Gaps are closed where they take up more than half, but not in arrays as short as this.
_SHORT = 1 << 14
# What is kept of a unit before its guards: its number, lo, hi, touched and due (machine/keep.py).
_UNIT_INTS = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """What is kept of each unit.

    ints: How many integers.
    rows: How many rows, times windows open at once.
    components: How many numbers each of them has.
    """

    ints: Longs
    rows: Longs
    components: Longs
    slide: Longs
    within: Longs
    always: Longs

    @staticmethod
    def of(compiled: Compiled) -> Shape:
        """The shape of what compiled units keep."""
        code = compiled.code
        guards = np.concatenate([[0], np.cumsum(2 + 2 * code.g_n)])
        return Shape(
            _UNIT_INTS + guards[code.u_g_p[1:]] - guards[code.u_g_p[:-1]],
            code.u_nrows * code.u_w,
            code.u_nc,
            code.u_slide,
            code.u_within,
            code.u_always,
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """What is kept of some partitions, all with numbers of one kind, one after the other.

    sizes: [partitions, 3]: how many integers, numbers and extremes of each.
    """

    sizes: Longs
    ints: Longs
    numbers: NDArray[Any]
    extremes: NDArray[np.float64]

    @property
    def starts(self) -> Longs:
        """[partitions, 3]: where each begins."""
        return np.cumsum(self.sizes, axis=0) - self.sizes

    @property
    def ends(self) -> tuple[int, int, int]:
        """How many there are of all."""
        return len(self.ints), len(self.numbers), len(self.extremes)


class RowStore:
    """What is kept of partitions, by slot.

    Attributes:
        words: How many words the numbers have; 0 where nothing is kept.
        last: The time of the last event.
        deadline: When the first window ends that may hold something; NEVER where nothing is kept.
    """

    def __init__(self, is_float: bool) -> None:
        self.is_float = is_float
        self.words = np.zeros(0, np.int64)
        self.last = np.zeros(0, np.int64)
        self.deadline = np.zeros(0, np.int64)
        self._at = np.zeros((0, 3), np.int64)
        self._size = np.zeros((0, 3), np.int64)
        self._heaps: dict[int, _Heap] = {}

    def __len__(self) -> int:
        return len(self.words)

    def grow(self, count: int) -> None:
        """Have at least as many slots."""
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
        nothing = Kept.nothing(self.is_float, words)
        kept = Kept(nothing.ranges, heap.ints, heap.numbers, heap.extremes)
        emission, redo, after = run_once(
            compiled, events, ranges, kept, until, self.is_float, words, counters
        )
        outgrown = redo.astype(np.int64)
        stateful = outgrown[self.words[outgrown] > 0]
        done = slots[~np.isin(slots, outgrown)]
        self.words[done] = 0
        self.deadline[done] = NEVER
        if len(stateful):
            wider = widened(self._taken(stateful, words), self.is_float, words)
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
        for kind, which, part in _by_need(piece, self.is_float, words):
            self.put(slots[which], part, shape, kind, self.last[slots[which]])

    def put(self, slots: Longs, piece: Piece, shape: Shape, words: int, last: Longs) -> None:
        """Keep something in slots that have nothing, unless it is all over."""
        self.last[slots] = last
        deadline = np.empty(len(slots), np.int64)
        _look(
            piece.ints,
            piece.starts[:, 0],
            last,
            shape.ints,
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
            self._heaps[words] = _Heap(self.is_float, words)
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
        found = {}
        for words in np.unique(kinds[kinds > 0]).tolist():
            which = np.flatnonzero(kinds == words)
            found[words] = which, self._taken(slots[which], words)
        return found

    def _taken(self, slots: Longs, words: int) -> Piece:
        heap, at, size = self._heaps[words], self._at[slots], self._size[slots]
        ints, numbers, extremes = size.sum(axis=0).tolist()
        piece = Piece(
            size,
            np.empty(ints, np.int64),
            room(numbers, self.is_float, words),
            np.empty(extremes),
        )
        pairs = (heap.ints, piece.ints), (heap.numbers, piece.numbers)
        for column, (source, out) in enumerate([*pairs, (heap.extremes, piece.extremes)]):
            wide = words if column == 1 else 1
            starts, sizes = wide * at[:, column], wide * size[:, column]
            _gather(_as_longs(source), starts, sizes, _as_longs(out))
        return piece

    def forget(self, slots: Longs) -> None:
        """Keep nothing of some partitions any more."""
        self.words[slots] = 0
        self.deadline[slots] = NEVER
        self._close_gaps()

    def renumber(self, slots: Longs) -> None:
        """Have only some slots, in the order given."""
        for name in ("words", "last", "deadline", "_at", "_size"):
            setattr(self, name, getattr(self, name)[slots])

    def reshape(self, old: Shape, new: Shape, sources: Mapping[int, Longs]) -> None:
        """Give units other components; see `reshaped`."""
        slots = np.flatnonzero(self.words > 0)
        taken = self.taken(slots)
        self._heaps = {}
        for words, (which, piece) in taken.items():
            self._put(slots[which], reshaped(piece, old, new, sources, words), words)


class _Heap:
    """Arrays that are appended to: as they are, and how much of each is used."""

    def __init__(self, is_float: bool, words: int) -> None:
        self.ints = np.empty(0, np.int64)
        self.numbers = room(0, is_float, words)
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


def _as_longs(array: NDArray[Any]) -> Longs:
    """Numbers of any kind as 64-bit integers, one after the other, in the same memory."""
    return array.reshape(-1).view(np.int64)


# Kinds of numbers


def widened(piece: Piece, is_float: bool, words: int) -> Piece:
    """The same with numbers of the next wider kind."""
    old = piece.numbers
    new = room(len(old), is_float, next_words(words))
    if is_float:
        exponent = (np.frexp(old)[1].astype(np.int64) + 255) // 512
        new[:, 0] = np.ldexp(old, (-512 * exponent).astype(np.int32))
        new[:, 1] = exponent
    elif words == 1:
        new[:, 0] = old.view(np.uint64)
        new[:, 1] = _sign(old)
    else:
        new[:, :words] = old
        new[:, words:] = _sign(old[:, -1:].view(np.int64))
    return Piece(piece.sizes, piece.ints, new, piece.extremes)


def _sign(words: Longs) -> NDArray[np.uint64]:
    """What further words of an integer are."""
    return np.where(words < 0, ~np.uint64(0), np.uint64(0))


def _by_need(piece: Piece, is_float: bool, words: int) -> list[tuple[int, Longs, Piece]]:
    """State by the kind of numbers that it needs: the one it has, or the next narrower one.

    Numbers shrink when the windows that hold large ones close. They become narrow again where that
    leaves half of the narrower kind free, so that they do not go to and fro.
    """
    everything = np.arange(len(piece.sizes))
    if words == 1:
        return [(words, everything, piece)]
    is_small = np.empty(len(everything), np.bool_)
    find = _find_small_doubles if is_float else _find_small_integers
    find(piece.numbers, piece.starts[:, 1], piece.sizes[:, 1], is_small)
    found = []
    large, small = everything[~is_small], everything[is_small]
    if len(large):
        found.append((words, large, _some(piece, large, words)))
    if len(small):
        part = _some(piece, small, words)
        narrow = Piece(part.sizes, part.ints, _narrow(part.numbers, words), part.extremes)
        found.append((words // 2, small, narrow))
    return found


def _narrow(numbers: NDArray[Any], words: int) -> NDArray[Any]:
    narrow = np.ascontiguousarray(numbers[:, : words // 2])
    if words > 2:
        return narrow
    narrow = narrow.reshape(-1)
    return narrow if narrow.dtype == np.float64 else narrow.view(np.int64)


def _some(piece: Piece, which: Longs, words: int) -> Piece:
    """Some of the partitions of a piece."""
    if len(which) == len(piece.sizes):
        return piece
    sizes, starts = piece.sizes[which], piece.starts[which]
    parts = []
    for column, (source, wide) in enumerate(
        ((piece.ints, 1), (piece.numbers, words), (piece.extremes, 1))
    ):
        out = np.empty((int(sizes[:, column].sum()), *source.shape[1:]), source.dtype)
        args = wide * starts[:, column], wide * sizes[:, column]
        _gather(_as_longs(np.ascontiguousarray(source)), *args, _as_longs(out))
        parts.append(out)
    return Piece(sizes, *parts)


# Components


def reshaped(
    piece: Piece, old: Shape, new: Shape, sources: Mapping[int, Longs], words: int
) -> Piece:
    """State of units that have got other components.

    Args:
        piece: What is kept.
        old: The units as they were.
        new: The units as they are.
        sources: By unit, for each component now which it was before; -1 for one that begins at 0.
            Other units are as they were.
        words: How many words the numbers have.
    """
    width = int(new.components.max())
    table = np.broadcast_to(np.arange(width), (len(new.components), width)).copy()
    for unit, source in sources.items():
        table[unit, : len(source)] = source
    starts = piece.starts
    count = np.empty(len(piece.sizes), np.int64)
    _count_numbers(piece.ints, starts[:, 0], old.ints, new.rows * new.components, count)
    sizes = piece.sizes.copy()
    sizes[:, 1] = count
    numbers = np.zeros((int(count.sum()), *piece.numbers.shape[1:]), piece.numbers.dtype)
    moved = np.cumsum(count) - count
    _reshape(
        piece.ints,
        starts[:, 0],
        old.ints,
        new.rows,
        old.components,
        new.components,
        table,
        words,
        _as_longs(np.ascontiguousarray(piece.numbers)),
        starts[:, 1],
        _as_longs(numbers),
        moved,
    )
    return Piece(sizes, piece.ints, numbers, piece.extremes)


# Compiled: all of these walk through what machine/keep.py has written.


@njit(cache=True, nogil=True)
def _gather(source, starts, sizes, out):  # type: ignore[no-untyped-def]
    at = 0
    for k in range(len(starts)):
        for i in range(starts[k], starts[k] + sizes[k]):
            out[at] = source[i]
            at += 1


@njit(cache=True, nogil=True)
def _find_small_doubles(numbers, starts, sizes, is_small):  # type: ignore[no-untyped-def]
    """Find the partitions whose numbers leave half of the range of doubles free."""
    for k in range(len(starts)):
        is_small[k] = True
        for i in range(starts[k], starts[k] + sizes[k]):
            mantissa, exponent = numbers[i, 0], numbers[i, 1]
            if mantissa != 0 and (exponent != 0 or abs(mantissa) >= 2.0**100):
                is_small[k] = False
                break


@njit(cache=True, nogil=True)
def _find_small_integers(numbers, starts, sizes, is_small):  # type: ignore[no-untyped-def]
    """Find the partitions whose numbers leave half of half their words free."""
    words = numbers.shape[1]
    for k in range(len(starts)):
        is_small[k] = True
        for i in range(starts[k], starts[k] + sizes[k]):
            if words == 2:
                low = np.int64(numbers[i, 0])
                fits = np.int64(numbers[i, 1]) == low >> 63 and -(1 << 31) <= low < 1 << 31
            else:
                sign = np.int64(numbers[i, words // 4 - 1]) >> 63
                fits = True
                for w in range(words // 4, words):
                    fits &= np.int64(numbers[i, w]) == sign
            if not fits:
                is_small[k] = False
                break


@njit(cache=True, nogil=True)
def _look(ints, starts, last, u_ints, slide, within, always, deadline):  # type: ignore[no-untyped-def]
    """Find when the first window ends that may hold something.

    A window may hold something if it began by the last event, and if it was touched; but units that
    hold trends before anything touches them are not marked as touched, which is made up for here,
    so that other code may go on with them.
    """
    for k in range(len(starts)):
        i = starts[k]
        active = ints[i]
        i += 2
        deadline[k] = NEVER
        for _ in range(active):
            u, lo, hi = ints[i], ints[i + 1], ints[i + 2]
            if always[u] == 1:
                ints[i + 3] = hi
            if lo <= min(ints[i + 3], last[k] // slide[u]):
                deadline[k] = min(deadline[k], lo * slide[u] + within[u])
            i += u_ints[u]


@njit(cache=True, nogil=True)
def _count_numbers(ints, starts, u_ints, u_numbers, count):  # type: ignore[no-untyped-def]
    for k in range(len(starts)):
        i = starts[k]
        active = ints[i]
        i += 2
        count[k] = 0
        for _ in range(active):
            count[k] += u_numbers[ints[i]]
            i += u_ints[ints[i]]


@njit(cache=True, nogil=True)
def _reshape(  # type: ignore[no-untyped-def]
    ints, starts, u_ints, rows, old_nc, new_nc, sources, words, old, old_at, new, new_at
):
    for k in range(len(starts)):
        i, source, target = starts[k], words * old_at[k], words * new_at[k]
        active = ints[i]
        i += 2
        for _ in range(active):
            u = ints[i]
            for _ in range(rows[u]):
                for c in range(new_nc[u]):
                    if sources[u, c] >= 0:
                        at = source + words * sources[u, c]
                        for w in range(words):
                            new[target + w] = old[at + w]
                    target += words
                source += words * old_nc[u]
            i += u_ints[u]
