"""The records of each group added up, all components in one compiled pass."""

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


# Sums, each of a component, that are worked out at a time
_MANY_SUMS = 1 << 20


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


def summed(table: NumberTable, width: int, lots: Lots) -> list[Integers | Wides]:
    """The first components of records, over those of each lot.

    Args:
        table: The numbers of all records.
        width: How many of them; records that do not have so many have 0.
        lots: The records of each sum.
    """
    return (
        _in_doubles(table, width, lots) if table.mode.has_exponents else _whole(table, width, lots)
    )


def _in_doubles(table: NumberTable, width: int, lots: Lots) -> list[Integers | Wides]:
    """Sums of doubles; where one has an exponent lot by lot, aligned to the largest of each."""
    # So much memory at a time as it takes no longer to be given than to be used
    step = min(width, max(_MANY_SUMS // max(lots.size, 1), 1))
    found: list[Integers | Wides] = []
    for first in range(0, width, step):
        components = range(first, min(first + step, width))
        sums, is_plain = _plain_sums(table, components, lots)
        found += [
            Wides.of_doubles(np.ascontiguousarray(sums[:, place]))
            if is_plain[place]
            else _aligned(table, component, lots)
            for place, component in enumerate(components)
        ]
    return found


def _plain_sums(
    table: NumberTable, components: range, lots: Lots
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Sums of some components as doubles, and for each whether none of it has an exponent."""
    totals = np.zeros((lots.size, len(components), 2))
    is_plain = np.ones(len(components), np.bool_)
    for piece, some in table.parts():
        numbers, records = _numbers_of(piece, components, np.float64), lots.of_record[some]
        _sum_plain(*numbers, piece.words > 1, records, totals, is_plain)
    return totals[:, :, 0] + totals[:, :, 1], is_plain


def _aligned(table: NumberTable, component: int, lots: Lots) -> Wides:
    mantissa, exponent = np.empty(lots.size), np.empty(lots.size, np.int64)
    numbers = (table.data, table.places(component), table.words)
    _sum_aligned(*numbers, lots.order, lots.starts, mantissa, exponent)
    return Wides(mantissa, exponent)


def _whole(table: NumberTable, width: int, lots: Lots) -> list[Integers | Wides]:
    """Sums of integers."""
    are_small = all(piece.words == 1 for piece in table.pieces)
    small, fits = np.zeros((width, lots.size), np.int64), np.full(width, are_small)
    for piece, some in table.parts() if are_small else ():
        numbers = _numbers_of(piece, range(width), np.int64)
        _sum_small(*numbers, lots.of_record[some], small, fits)
    return [
        Integers(small[component])
        if fits[component]
        else Integers.of_words(Words.summed(table, component, lots))
        for component in range(width)
    ]


def _numbers_of(piece: Piece, components: range, kind: Any) -> tuple[Any, ...]:
    """Some components of the records of a piece, as the passes below take them."""
    data = piece.data.reshape(-1).view(kind)
    offsets = piece.offsets[:, components.start : components.stop]
    return (read_only(data), piece.data.shape[1], *all_read_only(offsets, piece.kind))


@interpretable
def _number_lots(order, starts, of_record):  # type: ignore[no-untyped-def]
    for number in range(len(starts)):
        end = starts[number + 1] if number + 1 < len(starts) else len(order)
        for entry in range(starts[number], end):
            of_record[order[entry]] = number


@interpretable
def _sum_small(data, room, offsets, kind, of_record, out, fits):  # type: ignore[no-untyped-def]
    """Add integers of one word to sums; which components still have sums of one word."""
    for row in range(len(kind)):
        one, lot = kind[row], of_record[row]
        for component in range(offsets.shape[1]):
            offset = offsets[one, component]
            if offset < 0:
                continue
            total, value = out[component, lot], data[row * room + offset]
            more = total + value
            if (total ^ more) & (value ^ more) < 0:
                fits[component] = False
            out[component, lot] = more


@interpretable
def _sum_plain(  # type: ignore[no-untyped-def]
    data, room, offsets, kind, may_have_exponents, of_record, totals, is_plain
):
    """Add doubles to sums, each with what rounding took from it.

    Nothing is said of components of which one has an exponent.
    """
    for row in range(len(kind)):
        one, lot = kind[row], of_record[row]
        for component in range(offsets.shape[1]):
            offset = offsets[one, component]
            if offset < 0:
                continue
            at = row * room + offset
            value, total = data[at], totals[lot, component, 0]
            if may_have_exponents and data[at + 1] != 0.0 and value != 0.0:
                is_plain[component] = False
                continue
            more = total + value
            kept = more - total
            totals[lot, component, 0] = more
            totals[lot, component, 1] += (total - (more - kept)) + (value - kept)


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
