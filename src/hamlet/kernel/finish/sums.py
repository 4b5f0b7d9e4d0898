"""The records of each group added up, component by component, in one compiled pass for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.encode.sorting import all_read_only, read_only, sort_by_code
from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.wides import NO_EXPONENT, Wides
from hamlet.kernel.finish.words import Words
from hamlet.kernel.jit import compiled, interpretable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.number_table import NumberTable, Piece

    Longs = NDArray[np.int64]
    Rows = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Lots:
    """Which records are added up.

    size: How many sums there are.
    of_record: The lot of each record, so that they can be taken in the order they were written in,
        which is several times as fast where there are many.
    """

    size: int
    of_record: Rows

    @cached_property
    def _sorted(self) -> tuple[Rows, Longs]:
        return sort_by_code(self.of_record, self.size)

    @property
    def order(self) -> Rows:
        """The records lot by lot, in the order they were written in."""
        return self._sorted[0]

    @property
    def starts(self) -> Longs:
        """Where in this order each lot begins."""
        return self._sorted[1][:-1]

    @staticmethod
    def of(order: Rows, starts: Longs) -> Lots:
        """Every record is in one lot: those of an order from each start to the next."""
        of_record = np.empty(len(order), np.int32)
        _number_lots(order, starts, of_record)
        return Lots(len(starts), of_record)


def summed(table: NumberTable, component: int, lots: Lots) -> Integers | Wides:
    """One component of records, over those of each lot.

    Args:
        table: The numbers of all records.
        component: Which of them; 0 where there are not so many.
        lots: The records of each sum.
    """
    size = lots.size
    if table.mode.has_exponents:
        return _summed_doubles(table, component, lots)
    if all(piece.words == 1 for piece in table.pieces):
        small = np.zeros(size, np.int64)
        if all(
            _sum_small(*_numbers_of(piece, component, np.int64), lots.of_record[some], small)
            for piece, some in table.parts()
        ):
            return Integers(small)
    return Integers.of_words(Words.summed(table, component, lots))


def _summed_doubles(table: NumberTable, component: int, lots: Lots) -> Wides:
    """Sums of doubles; where one has an exponent lot by lot, aligned to the largest of each."""
    size = lots.size
    totals = np.zeros((size, 2))
    if all(
        _sum_plain(
            *_numbers_of(piece, component, np.float64),
            piece.words == 1,
            lots.of_record[some],
            totals,
        )
        for piece, some in table.parts()
    ):
        return Wides.of_doubles(totals[:, 0] + totals[:, 1])
    mantissa, exponent = np.empty(size), np.empty(size, np.int64)
    numbers = (table.data, table.places(component), table.words)
    _sum_aligned(*numbers, lots.order, lots.starts, mantissa, exponent)
    return Wides(mantissa, exponent)


def _numbers_of(piece: Piece, component: int, kind: Any) -> tuple[Any, ...]:
    """A component of the records of a piece, as the passes below take it."""
    data = piece.data.reshape(-1).view(kind)
    offsets = piece.offsets_of(component)
    return (read_only(data), piece.data.shape[1], *all_read_only(offsets, piece.kind))


@interpretable
def _number_lots(order, starts, of_record):  # type: ignore[no-untyped-def]
    for number in range(len(starts)):
        end = starts[number + 1] if number + 1 < len(starts) else len(order)
        for entry in range(starts[number], end):
            of_record[order[entry]] = number


@interpretable
def _sum_small(data, room, offsets, kind, of_record, out):  # type: ignore[no-untyped-def]
    """Sums of integers of one word; whether they all are one word."""
    for row in range(len(kind)):
        offset = offsets[kind[row]]
        if offset < 0:
            continue
        total, value = out[of_record[row]], data[row * room + offset]
        more = total + value
        if (total ^ more) & (value ^ more) < 0:
            return False
        out[of_record[row]] = more
    return True


@interpretable
def _sum_plain(data, room, offsets, kind, is_plain, of_record, totals):  # type: ignore[no-untyped-def]
    """Sums of doubles, each with what rounding took from it; False where one has an exponent.

    `is_plain` says that none has, so that nothing is looked at but the doubles.
    """
    for row in range(len(kind)):
        offset, lot = offsets[kind[row]], of_record[row]
        if offset < 0:
            continue
        at = row * room + offset
        value, total = data[at], totals[lot, 0]
        if not is_plain and data[at + 1] != 0.0 and value != 0.0:
            return False
        more = total + value
        kept = more - total
        totals[lot, 0] = more
        totals[lot, 1] += (total - (more - kept)) + (value - kept)
    return True


@interpretable
def _sum_aligned(data, place, words, order, starts, mantissa, exponent):  # type: ignore[no-untyped-def]
    """Sums of doubles with exponents; what is too small to matter in one becomes 0."""
    for number in range(len(starts)):
        end = starts[number + 1] if number + 1 < len(starts) else len(order)
        top = _largest_exponent(data, place, words, order, starts[number], end)
        total = lost = 0.0
        for entry in range(starts[number], end):
            row = order[entry]
            at = place[row]
            if at < 0 or data[at] == 0.0:
                continue
            fraction, shift = math.frexp(data[at])
            if words[row] > 1:
                shift += 512 * int(data[at + 1])
            value = math.ldexp(fraction, max(shift - top, -3000))
            more = total + value
            kept = more - total
            lost += (total - (more - kept)) + (value - kept)
            total = more
        fraction, shift = math.frexp(total + lost)
        mantissa[number] = fraction
        exponent[number] = NO_EXPONENT if fraction == 0.0 else shift + top


@compiled
def _largest_exponent(data, place, words, order, start, end):  # type: ignore[no-untyped-def]
    largest = NO_EXPONENT
    for entry in range(start, end):
        row = order[entry]
        at = place[row]
        if at >= 0 and data[at] != 0.0:
            shift = math.frexp(data[at])[1]
            if words[row] > 1:
                shift += 512 * int(data[at + 1])
            largest = max(largest, shift)
    return largest
