"""The entry from Python for streams: a group over the events of a batch, from what is kept on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.rows.batch import (
    DOUBLES_SCALE,
    needs_small_doubles,
    turned_events,
    unscaled,
)
from hamlet.kernel.rows.kept import NOTHING, moved, run_kept
from hamlet.kernel.rows.layout import OWN, TREE
from hamlet.kernel.rows.letters import lay_out
from hamlet.kernel.stopping import stoppable
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.rows.letters import PlacedGroup

    Longs = NDArray[np.int64]


@dataclass(slots=True)
class KeptArrays:
    """What is kept of many partitions with numbers of one kind: see kept.py.

    used: How much of the integers, doubles and numbers is in use.
    """

    mode: NumberMode
    words: int
    ints: Longs
    doubles: NDArray[np.float64]
    numbers: NDArray[Any]
    used: Longs

    @staticmethod
    def nothing(mode: NumberMode, words: int, room: tuple[int, int, int] = (0, 0, 0)) -> KeptArrays:
        """Nothing, with room for some."""
        ints, doubles, values = room
        used = np.zeros(3, np.int64)
        return KeptArrays(
            mode,
            words,
            np.empty(ints, np.int64),
            np.empty(doubles),
            mode.array(values, words),
            used,
        )

    def of(self, heads: Longs, sizes: Longs) -> tuple[KeptArrays, Longs]:
        """What some heads tell of, without gaps, and the heads there; `sizes` as they are kept."""
        ints, doubles, values = sizes.sum(axis=0).tolist()
        other = KeptArrays.nothing(self.mode, self.words, (ints, doubles, values))
        new = other.take(self, heads)
        return other, new

    def take(self, other: KeptArrays, heads: Longs) -> Longs:
        """Add what some heads of other arrays tell of, for which there is room; its heads here."""
        new = np.empty(len(heads), np.int64)
        moved(
            other.ints,
            other.doubles,
            as_longs(other.numbers),
            self.words,
            heads,
            self.ints,
            self.doubles,
            as_longs(self.numbers),
            self.used,
            new,
        )
        return new

    def make_room(self, more: Longs) -> None:
        """Have room for so many more integers, doubles and numbers."""
        wanted = self.used + more
        for column, name in enumerate(("ints", "doubles", "numbers")):
            array = getattr(self, name)
            if wanted[column] > len(array):
                longer = np.empty((2 * int(wanted[column]), *array.shape[1:]), array.dtype)
                longer[: self.used[column]] = array[: self.used[column]]
                setattr(self, name, longer)


def as_longs(array: NDArray[Any]) -> Longs:
    """Numbers of any kind as integers of 64 bits, in the same memory."""
    return array.reshape(-1).view(np.int64)


@dataclass(frozen=True, slots=True)
class WentOn:
    """Windows that have closed, as `RowRecords` has them, and what is kept of each partition.

    Attributes:
        redo: Of the ranges, those whose numbers have outgrown their kind.
        heads: Of each range, NOTHING where nothing is kept.
        deadlines: And when its first window ends that may hold something.
        sizes: And how many integers, doubles and numbers it takes.
    """

    part: NDArray[np.int32]
    unit: NDArray[np.int32]
    window: Longs
    components: NDArray[Any]
    extremes: NDArray[np.float64]
    redo: NDArray[np.int32]
    heads: Longs
    deadlines: Longs
    sizes: Longs


def go_on(
    made: PlacedGroup,
    events: EventBatch,
    ranges: Longs,
    heads: Longs,
    until: int,
    arrays: KeptArrays,
) -> WentOn:
    """Take in the events of some partitions, and close the windows that end by a time.

    Args:
        made: A group that is run forwards, with one edge predicate.
        events: The events.
        ranges: For each partition its number, its first event and the one after its last.
        heads: What is kept of each, NOTHING where nothing is.
        until: The time.
        arrays: What is kept, to which more is added.
    """
    zero = arrays.mode.array(0, arrays.words)
    inputs = turned_events(made.group, events, ranges)
    same = np.array_equal(inputs.f.view(np.int64), inputs.g.view(np.int64))
    code = lay_out(made, events.letters, len(events), same, TREE, OWN)
    single = np.empty(0, np.float64 if zero.dtype == np.float64 else np.int64)
    is_scaled = zero.ndim == 1 and zero.dtype == np.float64
    described = np.zeros((len(ranges), 7), np.int64)
    described[:, :3] = ranges[:, :3]
    heads = heads.copy()
    (part, unit, window, v, x), redo, kept = stoppable(
        run_kept,
        code,
        inputs.ts,
        inputs.tied,
        inputs.letter,
        inputs.f.reshape(-1),
        inputs.g.reshape(-1),
        inputs.weights,
        inputs.extremes,
        described,
        heads,
        until,
        zero,
        single,
        DOUBLES_SCALE if is_scaled else 1.0,
        arrays.ints,
        arrays.doubles,
        arrays.numbers,
        arrays.used,
    )
    arrays.ints, arrays.doubles, arrays.numbers = kept
    n = len(part)
    components = v.reshape((n, made.group.components, *v.shape[1:]))
    return WentOn(
        part,
        unit,
        window,
        unscaled(components, DOUBLES_SCALE) if is_scaled else components,
        x.reshape(n, made.group.extremes),
        redo,
        heads,
        described[:, 3],
        described[:, 4:],
    )


def outgrows_doubles(made: PlacedGroup, events: EventBatch, arrays: KeptArrays) -> bool:
    """Whether events have weights that scaled doubles have no room for."""
    is_scaled = arrays.mode is NumberMode.FLOAT and arrays.words == 1
    return is_scaled and len(events) > 0 and needs_small_doubles(events, made.group)


def widened(arrays: KeptArrays, words: int) -> KeptArrays:
    """The same with numbers of the next wider kind."""
    old = arrays.numbers
    new = arrays.mode.array(len(old), words)
    if arrays.mode is NumberMode.FLOAT:
        shift = -np.frexp(DOUBLES_SCALE)[1] + 1
        exponent = (np.frexp(old)[1].astype(np.int64) + shift + 255) // 512
        exponent = np.where(old == 0.0, 0, exponent)
        new[:, 0] = np.ldexp(old, (shift - 512 * exponent).astype(np.int32))
        new[:, 1] = exponent
    elif arrays.words == 1:
        new[:, 0] = old.view(np.uint64)
        new[:, 1] = np.where(old < 0, ~np.uint64(0), np.uint64(0))
    else:
        new[:, : arrays.words] = old
        sign = old[:, -1:].view(np.int64) < 0
        new[:, arrays.words :] = np.where(sign, ~np.uint64(0), np.uint64(0))
    return KeptArrays(arrays.mode, words, arrays.ints, arrays.doubles, new, arrays.used)


__all__ = ["NOTHING", "KeptArrays", "WentOn", "as_longs", "go_on", "outgrows_doubles", "widened"]
