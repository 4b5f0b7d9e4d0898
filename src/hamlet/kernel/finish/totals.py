"""Records to totals: the partitions of a group added up, and the pairs of AND.

A kernel emits a record for each partition, unit and window. Here all of them, of all queries of a
set, become one row for each unit, window and group: one sort, and sums of whole columns. Those are
`Integers` in exact mode, `Wides` in float mode. Rows come in the order of unit, window and group.

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel.base import components_of
from hamlet.kernel.encode.sorting import all_read_only, is_sorted, read_only, sorted_with
from hamlet.kernel.finish.sums import Lots, summed
from hamlet.kernel.jit import interpretable
from hamlet.plan.program import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish.groups import Groups
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query

    Doubles = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Column = Any  # Integers or, in float mode, Wides; all of one emission are of one kind


# Keys that there could be, for each record, up to which a table by key is faster than to sort
_ROOM, _FEW_KEYS = 4, 1 << 12
_NOTHING = -1


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

    def cut_to(self, width: int, extremes: int) -> Totals:
        """The first components and extremes only."""
        return Totals(self.window, self.group, self.components[:width], self.extremes[:extremes])


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What the units of records are, by number: whose query they are of, and what part of it."""

    query: NDArray[Any]
    role: NDArray[Any]

    @staticmethod
    def of(program: Program) -> Units:
        """Those of a sharable set."""
        return Units(program.template_query, program.template_role)

    @staticmethod
    def joined(every: Sequence[Units], queries: Sequence[int]) -> Units:
        """Those of several sets with so many queries each, one after the other."""
        first = np.cumsum([0, *queries])
        return Units(
            np.concatenate([each.query + low for each, low in zip(every, first, strict=False)]),
            np.concatenate([each.role for each in every]),
        )


@dataclass(frozen=True, slots=True)
class SetTotals:
    """The totals of all units of a set, one unit after the other.

    every: All rows; units have as many components as the one with most of them.
    starts: By number of the unit where its rows begin, and where the last ends.
    widths: For each query of the set the number of its components.
    """

    every: Totals
    starts: Longs
    widths: list[int]
    queries: list[Query]
    units: Units

    @staticmethod
    def of(
        queries: list[Query],
        emission: Emission,
        program: Program,
        groups: Sequence[Groups],
        digits: Mapping[str, tuple[int, ...]],
    ) -> SetTotals:
        """What was emitted added up, window by window and group by group.

        Args:
            queries: Those of the set.
            emission: What its kernel gave back.
            program: The program of the set.
            groups: The groups of each query.
            digits: For each attribute of SUM and AVG the exponents of its digits.
        """
        group = group_of_record(emission, program, groups)
        return SetTotals.of_records(queries, emission, Units.of(program), group, digits)

    @staticmethod
    def of_records(
        queries: list[Query],
        emission: Emission,
        units: Units,
        group: Longs,
        digits: Mapping[str, tuple[int, ...]],
    ) -> SetTotals:
        """The same where the group of each record is known."""
        widths = [1 + len(components_of(query.aggregates, digits)) for query in queries]
        lots, rows = _lots_of(emission, group, len(units.query))
        every = Totals(
            rows.window,
            rows.group,
            summed(emission.numbers, max(widths, default=1), lots),
            _extremes(queries, emission, units, lots),
        )
        return SetTotals(every, rows.bounds, widths, queries, units)

    def sides(self, local: int) -> dict[Role, Totals]:
        """The totals of each template of a query, given by its number in the set, but guards."""
        units, query = self.units, self.queries[local]
        return {
            Role(int(units.role[unit])): self._unit(unit).cut_to(
                self.widths[local], len(query.extremes)
            )
            for unit in np.flatnonzero(units.query == local).tolist()
            if units.role[unit] != Role.GUARD
        }

    def _unit(self, unit: int) -> Totals:
        return self.every.where(slice(int(self.starts[unit]), int(self.starts[unit + 1])))

    def joined(self) -> tuple[Totals, Longs]:
        """The totals of all queries, one after the other, and where those of each begin."""
        is_pattern = self.units.role == Role.PATTERN
        unit_of = np.zeros(len(self.queries), np.int64)
        unit_of[self.units.query[is_pattern]] = np.flatnonzero(is_pattern)
        if not any(query.is_conjunction for query in self.queries):
            # Units other than the patterns are guards, of which nothing is emitted.
            starts = np.append(self.starts[unit_of], self.starts[-1])
            return _with_trends(self.every, starts)
        of_queries = [joined(query, self.sides(local)) for local, query in enumerate(self.queries)]
        sizes = [len(totals.window) for totals in of_queries]
        return _one_after_the_other(of_queries), np.cumsum([0, *sizes])


def _with_trends(every: Totals, starts: Longs) -> tuple[Totals, Longs]:
    """The rows with a trend, and where those of each query begin then."""
    is_some = every.components[0].is_some()
    if is_some.all():
        return every, starts
    before = np.append(0, np.cumsum(is_some))
    return every.where(is_some), before[starts]


def _one_after_the_other(found: list[Totals]) -> Totals:
    """Totals in one; those with fewer components or extremes have others that mean nothing."""
    some = [totals for totals in found if len(totals.window)] or found[:1]
    width = max(len(totals.components) for totals in some)
    most = max(len(totals.extremes) for totals in some)
    empty = [np.full(len(totals.window), np.nan) for totals in some]
    return Totals(
        np.concatenate([totals.window for totals in some]),
        np.concatenate([totals.group for totals in some]),
        [
            some[0]
            .components[0]
            .concatenated([each.components[i if i < len(each.components) else 0] for each in some])
            for i in range(width)
        ],
        [
            np.concatenate(
                [
                    each.extremes[i] if i < len(each.extremes) else nothing
                    for each, nothing in zip(some, empty, strict=True)
                ]
            )
            for i in range(most)
        ],
    )


def joined(query: Query, sides: Mapping[Role, Totals]) -> Totals:
    """The totals of a query from those of its templates."""
    if not query.is_conjunction:
        totals = sides[Role.PATTERN]
    else:
        totals = _pairs(query, sides[Role.PATTERN], sides[Role.SECOND], sides[Role.BOTH])
    return totals.where(totals.components[0].is_some())


# Records


def group_of_record(emission: Emission, program: Program, groups: Sequence[Groups]) -> Longs:
    """The group of each record, numbered among those of its query."""
    different = {id(each): each for each in groups}
    number = {key: place for place, key in enumerate(different)}
    of_query = np.array([number[id(each)] for each in groups], np.int64)
    tables = [each.of_partition for each in different.values()]
    numbers = np.empty(len(emission.part), np.int64)
    known = np.stack(tables) if tables else np.empty((0, 0), np.int32)
    of_unit = of_query[program.template_query]
    _find_groups(*all_read_only(known, of_unit, emission.unit, emission.part), numbers)
    return numbers


@interpretable
def _find_groups(tables, of_unit, unit, part, found):  # type: ignore[no-untyped-def]
    for record in range(len(found)):
        found[record] = tables[of_unit[unit[record]], part[record]]


class _Rows(NamedTuple):
    """What records that are added up have in common, in order, and where those of each unit begin.

    The last of `bounds` is where those of the last unit end.
    """

    window: Longs
    group: Longs
    bounds: Longs


def _lots_of(emission: Emission, group: Longs, units: int) -> tuple[Lots, _Rows]:
    """Which records are added up: those of one unit, window and group, in this order."""
    known = (emission.unit, emission.window, group)
    keys, space = _keys_of(*known, units)
    count = len(keys)
    of_record, bounds = np.empty(count, np.int32), np.zeros(units + 1, np.int64)
    found = (*all_read_only(*known), of_record, *np.empty((2, count), np.int64), bounds)
    window, groups = found[-3:-1]
    if space <= max(_ROOM * count, _FEW_KEYS):
        table = np.full(space, _NOTHING, np.int32)
        size = _number_by_table(read_only(keys), table, *found)
    else:
        order = np.arange(count, dtype=np.int32)
        if not is_sorted(keys):
            keys, order = sorted_with(keys, order, space - 1)
        size = _number_in_order(*all_read_only(keys, order), *found)
    return Lots(size, of_record), _Rows(window[:size], groups[:size], np.cumsum(bounds))


@interpretable
def _number_by_table(  # type: ignore[no-untyped-def]
    keys, table, unit, window, group, of_record, of_window, of_group, bounds
):
    """Fill in lots, and how many each unit has one place further on; how many lots there are.

    The table has room for every key that there could be.
    """
    for record in range(len(keys)):
        table[keys[record]] = record
    size = 0
    for key in range(len(table)):
        record = table[key]
        if record >= 0:
            of_window[size], of_group[size] = window[record], group[record]
            bounds[unit[record] + 1] += 1
            table[key] = size
            size += 1
    for record in range(len(keys)):
        of_record[record] = table[keys[record]]
    return size


@interpretable
def _number_in_order(  # type: ignore[no-untyped-def]
    keys, order, unit, window, group, of_record, of_window, of_group, bounds
):
    """The same, where keys are in order, and which record each is of is known."""
    size = 0
    for place in range(len(keys)):
        record = order[place]
        if place == 0 or keys[place] != keys[place - 1]:
            of_window[size], of_group[size] = window[record], group[record]
            bounds[unit[record] + 1] += 1
            size += 1
        of_record[record] = size - 1
    return size


def _keys_of(unit: NDArray[np.int32], window: Longs, group: Longs, units: int) -> tuple[Longs, int]:
    """Numbers that are equal for records of one unit, window and group, and in the order of these.

    With them comes a number that all are below. Windows of one unit are next to one another; how
    far they are from those of another one says nothing, since each has numbers by its own slide.
    """
    keys = np.empty(len(unit), np.int64)
    known = all_read_only(unit, window, group)
    lowest, windows, groups = np.empty(units, np.int64), *np.zeros((2, units), np.int64)
    _find_limits(*known, lowest, windows, groups)
    sizes = [w * g for w, g in zip(windows.tolist(), groups.tolist(), strict=True)]
    space = sum(sizes)
    # Windows and groups that occur have at most 31 bits each, but not where there are gaps.
    if space >= 2**63:
        ordered = np.lexsort((group, window, unit))
        ranks = np.cumsum(_changes(unit[ordered], window[ordered], group[ordered]))
        keys[ordered] = ranks
        return keys, int(ranks[-1]) + 1
    first = np.cumsum([0, *sizes])[:-1]
    _write_keys(*known, *all_read_only(lowest, groups, first), keys)
    return keys, space


@interpretable
def _find_limits(unit, window, group, lowest, windows, groups):  # type: ignore[no-untyped-def]
    """Fill in the first window of each unit, how many there are up to the last, and groups."""
    for record in range(len(unit)):
        one, number = unit[record], window[record]
        if groups[one] == 0:
            lowest[one] = windows[one] = number  # the last window, to begin with
        lowest[one], windows[one] = min(lowest[one], number), max(windows[one], number)
        groups[one] = max(groups[one], group[record] + 1)
    for one in range(len(groups)):
        if groups[one] > 0:
            windows[one] += 1 - lowest[one]


@interpretable
def _write_keys(unit, window, group, lowest, groups, first, keys):  # type: ignore[no-untyped-def]
    for record in range(len(keys)):
        one = unit[record]
        keys[record] = first[one] + (window[record] - lowest[one]) * groups[one] + group[record]


def _changes(*columns: NDArray[Any]) -> Bools:
    """Where any of some sorted columns differs from the row before."""
    changes = np.zeros(len(columns[0]), np.bool_)
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return changes


def _extremes(queries: list[Query], emission: Emission, units: Units, lots: Lots) -> list[Doubles]:
    """The extremes of all records, of one window and group the least or the greatest."""
    most = max((len(query.extremes) for query in queries), default=0)
    columns = [np.full(lots.size, np.nan) for _ in range(most)]
    # An array may lack those that no record has.
    for number, extremes in enumerate(columns[: emission.extremes.shape[1]]):
        signs = _signs(queries, number)[units.query]
        values = np.ascontiguousarray(emission.extremes[:, number])
        _fold_extremes(*all_read_only(values, emission.unit, lots.of_record, signs), extremes)
    return columns


def _signs(queries: list[Query], number: int) -> Doubles:
    """For each query -1 where one of its extremes is the greatest, else 1."""
    signs = [q.extremes[number].sign if number < len(q.extremes) else 1 for q in queries]
    return np.array(signs, np.float64)


@interpretable
def _fold_extremes(values, unit, of_record, signs, extremes):  # type: ignore[no-untyped-def]
    """The least of values times their signs; NaN, which stands for none, only of none."""
    for record in range(len(values)):
        value = values[record]
        if value == value:
            # Adding 0 makes -0.0 and 0.0 one, else the order of records would choose.
            value, lot = value + 0.0, of_record[record]
            known, sign = extremes[lot], signs[unit[record]]
            if known != known or value * sign < known * sign:
                extremes[lot] = value


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
