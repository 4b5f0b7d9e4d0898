"""Records to totals: the partitions of a group added up, and the pairs of AND.

A kernel emits a record for each partition, unit and window. Here all of them become one row for
each window and group, on whole columns: `Integers` in exact mode, `Wides` in float mode.

AND, with P, Q and B the numbers of trends matched by P, by Q, and by both:

    pairs       P*Q - B*(B+1)/2
    sums        S_P*Q + S_Q*P - S_B*(B+1)        S_P: the sum over the trends that P matches, ...

These equal the formulas of the specification with C1 = P - B and C2 = Q - B, but subtract only once
and never cancel: B <= P and B <= Q, so at B >= 2 the products on the left are at least 4/3 of what
is taken away (at B = 1 there is no pair, or they are at least 3/2 of it), and relative errors in
what a kernel gave grow by a factor of 14 at most. For sums of both signs the same holds of errors
against the sum of absolute values. So float mode needs nothing special for AND.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import components_of
from hamlet.kernel.finish.integers import Integers
from hamlet.kernel.finish.wides import Wides
from hamlet.plan.program import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query

    Doubles = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Column = Any  # Integers or, in float mode, Wides; all of one emission are of one kind


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one query.

    of_partition: group number of each partition number.
    json: JSON text of each group.
    values: for each grouping attribute, an Arrow array with the value of each group.
    """

    of_partition: NDArray[np.int32]
    json: Sequence[str]
    values: Mapping[str, Any]


class Records:
    """The records of an emission, by unit."""

    def __init__(self, emission: Emission) -> None:
        self.emission = emission
        self._order = np.argsort(emission.unit, kind="stable")
        self._units = emission.unit[self._order]

    def of(self, unit: int) -> NDArray[np.intp]:
        """The numbers of the records of a unit."""
        low, high = np.searchsorted(self._units, [unit, unit + 1])
        return self._order[low:high]

    def columns(self, chosen: NDArray[np.intp], width: int) -> list[Column]:
        """The first components of some records."""
        parts = _columns(self.emission.components, chosen, width)
        if self.emission.exponents is None:
            return [Integers(part) for part in parts]
        exponents = _columns(self.emission.exponents, chosen, width)
        return [Wides.of(m, e) for m, e in zip(parts, exponents, strict=True)]


def _columns(array: NDArray[Any], chosen: NDArray[np.intp], width: int) -> list[NDArray[Any]]:
    """The first columns of some rows; of no rows any number, since an array may lack them then."""
    if not len(chosen):
        return [array[:0].reshape(-1)] * width
    return [array[chosen, column] for column in range(width)]


@dataclass(frozen=True, slots=True)
class Totals:
    """One row for each window and group with a trend; component 0 is the number of trends."""

    window: Longs
    group: Longs
    components: list[Column]
    extremes: list[Doubles]

    def where(self, chosen: Bools | NDArray[np.intp] | slice) -> Totals:
        """Some of the rows."""
        return Totals(
            self.window[chosen],
            self.group[chosen],
            [component.take(chosen) for component in self.components],
            [extreme[chosen] for extreme in self.extremes],
        )


def sides_of(
    query: Query,
    records: Records,
    program: Program,
    local: int,
    groups: Groups,
    digits: Mapping[str, tuple[int, ...]],
) -> dict[Role, Totals]:
    """The totals of each template of a query, given by its number in the set; guards have none."""
    width = 1 + len(components_of(query.aggregates, digits))
    return {
        Role(int(program.template_role[unit])): _unit_totals(query, records, unit, groups, width)
        for unit in np.flatnonzero(program.template_query == local).tolist()
        if program.template_role[unit] != Role.GUARD
    }


def joined(query: Query, sides: Mapping[Role, Totals]) -> Totals:
    """The totals of a query from those of its templates."""
    if not query.is_conjunction:
        totals = sides[Role.PATTERN]
    else:
        totals = _pairs(query, sides[Role.PATTERN], sides[Role.SECOND], sides[Role.BOTH])
    return totals.where(totals.components[0].is_some())


def _unit_totals(query: Query, records: Records, unit: int, groups: Groups, width: int) -> Totals:
    """The records of one unit, those of one window and group added up."""
    emission = records.emission
    chosen = records.of(unit)
    window = emission.window[chosen]
    group = groups.of_partition[emission.part[chosen]].astype(np.int64)
    order = np.lexsort((group, window))
    chosen, window, group = chosen[order], window[order], group[order]
    is_first = np.ones(len(chosen), dtype=np.bool_)
    is_first[1:] = (window[1:] != window[:-1]) | (group[1:] != group[:-1])
    starts = np.flatnonzero(is_first)
    picks = picks_of(query)
    extremes = _columns(emission.extremes, chosen, len(picks))
    return Totals(
        window[starts],
        group[starts],
        [column.added_up(starts) for column in records.columns(chosen, width)],
        [_extreme(*one, starts) for one in zip(picks, extremes, strict=True)],
    )


def _extreme(pick: np.ufunc, values: Doubles, starts: NDArray[np.intp]) -> Doubles:
    values = values + 0.0  # makes -0.0 and 0.0 one, else the order of records would choose
    if len(starts) == len(values):
        return values
    extremes: Doubles = pick.reduceat(values, starts)
    return extremes


def picks_of(query: Query) -> list[np.ufunc]:
    """Which of two each MIN and MAX of a query keeps; NaN, which stands for none, only of two."""
    return [np.fmin if aggregate.sign > 0 else np.fmax for aggregate in query.extremes]


# AND


def _pairs(query: Query, one: Totals, other: Totals, both: Totals) -> Totals:
    """Totals over pairs of different trends, one matched by each side; see the top of the file."""
    in_one, in_other, in_both = _aligned(one, other, both)
    one, other = one.where(in_one), other.where(in_other)
    shared = [column.take_or_zero(in_both) for column in both.components]
    (p, *sums_p), (q, *sums_q), (b, *sums_b) = one.components, other.components, shared
    b_and_one = b + b.constant(1)
    pairs = p * q - (b * b_and_one).half()
    sums = [
        s_p * q + s_q * p - s_b * b_and_one
        for s_p, s_q, s_b in zip(sums_p, sums_q, sums_b, strict=True)
    ]
    # Where there is a pair at all, every trend of either side is in one.
    extremes = [
        pick(x, y) for pick, x, y in zip(picks_of(query), one.extremes, other.extremes, strict=True)
    ]
    return Totals(one.window, one.group, [pairs, *sums], extremes)


def _aligned(
    one: Totals, other: Totals, both: Totals
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The rows of each window and group that both sides have; -1 where `both` has none."""
    window = np.concatenate([one.window, other.window, both.window])
    group = np.concatenate([one.group, other.group, both.group])
    _, rank = np.unique(window, return_inverse=True)
    key = rank * (int(group.max(initial=0)) + 1) + group  # ranks and groups have 31 bits each
    first, second = len(one.window), len(one.window) + len(other.window)
    common, in_one, in_other = np.intersect1d(
        key[:first], key[first:second], assume_unique=True, return_indices=True
    )
    of_both = key[second:]
    order = np.argsort(of_both, kind="stable")
    place = np.append(order, -1)[np.searchsorted(of_both, common, sorter=order)]
    is_there = np.append(of_both, -1)[place] == common
    return in_one, in_other, np.where(is_there, place, -1)
