"""The records of each group added up, component by component, in one compiled pass for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.wides import NO_EXPONENT, Wides
from hamlet.kernel.finish.words import Words
from hamlet.kernel.jit import compiled, interpretable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.number_table import NumberTable

    Longs = NDArray[np.int64]
    Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Lots:
    """Which records are added up: those of `order` from each start to the next.

    of_record: The lot of each record, so that they can be taken in the order they were written in,
        which is several times as fast where there are many.
    """

    order: Rows
    starts: Longs
    of_record: Rows

    @staticmethod
    def of(order: Rows, starts: Longs) -> Lots:
        """Every record is in one lot."""
        of_record = np.empty(len(order), np.int32)
        _number_lots(order, starts, of_record)
        return Lots(order, starts, of_record)


def summed(table: NumberTable, component: int, lots: Lots) -> Integers | Wides:
    """One component of records, over those of each lot.

    Args:
        table: The numbers of all records.
        component: Which of them; 0 where there are not so many.
        lots: The records of each sum.
    """
    size = len(lots.starts)
    if component >= len(table.place):
        if table.mode.has_exponents:
            return Wides.of_doubles(np.zeros(size))
        return Integers(np.zeros(size, np.int64))
    place = table.place[component]
    if table.mode.has_exponents:
        return _summed_doubles(table, place, lots)
    if (table.words == 1).all():
        small = np.zeros(size, np.int64)
        if _sum_small(table.data.view(np.int64), place, lots.of_record, small):
            return Integers(small)
    return Integers.of_words(Words.summed(table, component, lots))


def _summed_doubles(table: NumberTable, place: Longs, lots: Lots) -> Wides:
    """Sums of doubles; where one has an exponent lot by lot, aligned to the largest of each."""
    size = len(lots.starts)
    is_plain = bool((table.words == 1).all())
    totals = np.zeros((size, 2))
    if _sum_plain(table.data, place, table.words, is_plain, lots.of_record, totals):
        return Wides.of_doubles(totals[:, 0] + totals[:, 1])
    mantissa, exponent = np.empty(size), np.empty(size, np.int64)
    _sum_aligned(table.data, place, table.words, lots.order, lots.starts, mantissa, exponent)
    return Wides(mantissa, exponent)


@interpretable
def _number_lots(order, starts, of_record):  # type: ignore[no-untyped-def]
    for number in range(len(starts)):
        end = starts[number + 1] if number + 1 < len(starts) else len(order)
        for entry in range(starts[number], end):
            of_record[order[entry]] = number


@interpretable
def _sum_small(data, place, of_record, out):  # type: ignore[no-untyped-def]
    """Sums of integers of one word; whether they all are one word."""
    for row in range(len(place)):
        if place[row] < 0:
            continue
        total, value = out[of_record[row]], data[place[row]]
        more = total + value
        if (total ^ more) & (value ^ more) < 0:
            return False
        out[of_record[row]] = more
    return True


@interpretable
def _sum_plain(data, place, words, is_plain, of_record, totals):  # type: ignore[no-untyped-def]
    """Sums of doubles, each with what rounding took from it; False where one has an exponent.

    `is_plain` says that none has, so that words are not looked at.
    """
    for row in range(len(place)):
        at, lot = place[row], of_record[row]
        if at < 0:
            continue
        value, total = data[at], totals[lot, 0]
        if not is_plain and words[row] > 1 and data[at + 1] != 0.0 and value != 0.0:
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
