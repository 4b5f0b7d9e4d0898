"""The records of each group added up, component by component, in one compiled pass for each."""

from __future__ import annotations

import math
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


def summed(table: NumberTable, component: int, order: Rows, starts: Longs) -> Integers | Wides:
    """One component of records, over those of `order` from each start to the next.

    Args:
        table: The numbers of all records.
        component: Which of them; 0 where there are not so many.
        order: Records, those of one sum side by side.
        starts: Where in `order` the records of each sum begin.
    """
    size = len(starts)
    if component >= len(table.place):
        if table.mode.has_exponents:
            return Wides(np.zeros(size), np.full(size, NO_EXPONENT))
        return Integers(np.zeros(size, np.int64))
    place = table.place[component]
    if table.mode.has_exponents:
        mantissa, exponent = np.empty(size), np.empty(size, np.int64)
        is_plain = bool((table.words == 1).all())
        _sum_doubles(table.data, place, table.words, is_plain, order, starts, mantissa, exponent)
        return Wides(mantissa, exponent)
    if (table.words == 1).all():
        small = np.empty(size, np.int64)
        if _sum_small(table.data.view(np.int64), place, order, starts, small):
            return Integers(small)
    return Integers.of_words(Words.summed(table, component, order, starts))


@interpretable
def _sum_small(data, place, order, starts, out):  # type: ignore[no-untyped-def]
    """Sums of integers of one word; whether they all are one word."""
    for number in range(len(starts)):
        end = starts[number + 1] if number + 1 < len(starts) else len(order)
        total = np.int64(0)
        for entry in range(starts[number], end):
            at = place[order[entry]]
            if at < 0:
                continue
            more = total + data[at]
            if (total ^ more) & (data[at] ^ more) < 0:
                return False
            total = more
        out[number] = total
    return True


@interpretable
def _sum_doubles(data, place, words, is_plain, order, starts, mantissa, exponent):  # type: ignore[no-untyped-def]
    """Sums of doubles, with what rounding takes from them added in the end.

    `is_plain` says that none has an exponent, so that words are not looked at.
    """
    for number in range(len(starts)):
        end = starts[number + 1] if number + 1 < len(starts) else len(order)
        total, top = _sum_plain(data, place, words, is_plain, order, starts[number], end), 0
        if math.isnan(total):
            top = _largest_exponent(data, place, words, order, starts[number], end)
            total = _sum_aligned(data, place, words, order, starts[number], end, top)
        fraction, shift = math.frexp(total)
        mantissa[number] = fraction
        exponent[number] = NO_EXPONENT if fraction == 0.0 else shift + top


@compiled
def _sum_plain(data, place, words, is_plain, order, start, end):  # type: ignore[no-untyped-def]
    """The sum of doubles as they are; NaN where one has an exponent."""
    total = lost = 0.0
    for entry in range(start, end):
        row = order[entry]
        at = place[row]
        if at < 0:
            continue
        value = data[at]
        if not is_plain and words[row] > 1 and data[at + 1] != 0.0 and value != 0.0:
            return math.nan
        more = total + value
        kept = more - total
        lost += (total - (more - kept)) + (value - kept)
        total = more
    return total + lost


@compiled
def _sum_aligned(data, place, words, order, start, end, top):  # type: ignore[no-untyped-def]
    """The sum of doubles with exponents, divided by 2**top; what is too small becomes 0."""
    total = lost = 0.0
    for entry in range(start, end):
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
    return total + lost


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
