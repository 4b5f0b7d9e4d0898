"""Pieces of kept state: what is kept of some partitions, gathered, made wider, narrower or larger.

Numbers of a partition outgrow their kind, shrink when windows close, and get further components
when digits of a sum are added. All of that is done to many partitions at once, between batches, on
the arrays that machine/checkpoint.py has written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.kept_code import kept
from hamlet.kernel.machine.checkpoint import count_numbers, move_components, unit_lengths
from hamlet.kernel.numbers import next_words
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled

    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is kept of each unit.

    ints: How many integers of a record.
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
        return Shape(
            unit_lengths(code),
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
        """How many integers, numbers and extremes there are of all partitions."""
        return len(self.ints), len(self.numbers), len(self.extremes)


def as_longs(array: NDArray[Any]) -> Longs:
    """Numbers of any kind as 64-bit integers, one after the other, in the same memory."""
    return array.reshape(-1).view(np.int64)


# Kinds of numbers


def widened(piece: Piece, mode: NumberMode, words: int) -> Piece:
    """A piece with its numbers in the next wider kind."""
    old = piece.numbers
    new = mode.array(len(old), next_words(words))
    if mode is NumberMode.FLOAT:
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
    """The words that make integers longer: all ones for negative ones, else 0."""
    return np.where(words < 0, ~np.uint64(0), np.uint64(0))


def by_need(piece: Piece, mode: NumberMode, words: int) -> list[tuple[int, Longs, Piece]]:
    """State by the kind of numbers that it needs: the one it has, or the next narrower one.

    Numbers shrink when the windows that hold large ones close. They become narrow again where that
    leaves half of the narrower kind free, so that they do not go to and fro.
    """
    everything = np.arange(len(piece.sizes))
    if words == 1:
        return [(words, everything, piece)]
    is_small = np.empty(len(everything), np.bool_)
    find = _find_small_doubles if mode is NumberMode.FLOAT else _find_small_integers
    find(piece.numbers, piece.starts[:, 1], piece.sizes[:, 1], is_small)
    by_kind = []
    large, small = everything[~is_small], everything[is_small]
    if len(large):
        by_kind.append((words, large, some_of(piece, large, words)))
    if len(small):
        part = some_of(piece, small, words)
        narrow = Piece(part.sizes, part.ints, _narrow(part.numbers, words), part.extremes)
        by_kind.append((words // 2, small, narrow))
    return by_kind


def _narrow(numbers: NDArray[Any], words: int) -> NDArray[Any]:
    narrow = np.ascontiguousarray(numbers[:, : words // 2])
    if words > 2:
        return narrow
    narrow = narrow.reshape(-1)
    return narrow if narrow.dtype == np.float64 else narrow.view(np.int64)


def some_of(piece: Piece, which: Longs, words: int) -> Piece:
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
        gather(as_longs(np.ascontiguousarray(source)), *args, as_longs(out))
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
    count_numbers(piece.ints, starts[:, 0], old.ints, new.rows * new.components, count)
    sizes = piece.sizes.copy()
    sizes[:, 1] = count
    numbers = np.zeros((int(count.sum()), *piece.numbers.shape[1:]), piece.numbers.dtype)
    moved = np.cumsum(count) - count
    move_components(
        piece.ints,
        starts[:, 0],
        old.ints,
        new.rows,
        old.components,
        new.components,
        table,
        words,
        as_longs(np.ascontiguousarray(piece.numbers)),
        starts[:, 1],
        as_longs(numbers),
        moved,
    )
    return Piece(sizes, piece.ints, numbers, piece.extremes)


# Compiled


@kept
def gather(source, starts, sizes, out):  # type: ignore[no-untyped-def]
    """Copy ranges of an array, one after the other."""
    at = 0
    for k in range(len(starts)):
        for i in range(starts[k], starts[k] + sizes[k]):
            out[at] = source[i]
            at += 1


@kept
def _find_small_doubles(numbers, starts, sizes, is_small):  # type: ignore[no-untyped-def]
    """Find the partitions whose numbers leave half of the range of doubles free."""
    for k in range(len(starts)):
        is_small[k] = True
        for i in range(starts[k], starts[k] + sizes[k]):
            mantissa, exponent = numbers[i, 0], numbers[i, 1]
            if mantissa != 0 and (exponent != 0 or abs(mantissa) >= 2.0**100):
                is_small[k] = False
                break


@kept
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
