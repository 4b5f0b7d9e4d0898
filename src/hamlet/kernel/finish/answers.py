"""Totals to rows of results, of all queries of a set side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from hamlet.kernel.emissions import stacked
from hamlet.kernel.encode.sorting import mark
from hamlet.kernel.finish.cells import cells_of, rows_kept
from hamlet.kernel.finish.groups import groups_in_order
from hamlet.kernel.finish.totals import SetTotals, Totals, Units, group_of_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish.cells import Cells
    from hamlet.kernel.finish.groups import Groups
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan

    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of one query, given by its number in the workload: one for each window and group.

    `rows` is an Arrow table in any order: `window_start` and `window_end` in microseconds, `group`
    as JSON text, `key.i` for each grouping attribute, and `value.i`, `log10.i`, `exact.i` for each
    result. `window_end` may be left out where it follows from when windows begin.
    """

    query: int
    rows: Any


@dataclass(frozen=True, slots=True, eq=False)
class SetAnswers:
    """The rows of several queries, those of one after those of the other.

    Inside a query they stand in the order of results: by window, then by group.

    Attributes:
        numbers: The numbers of the queries in the workload.
        queries: The queries.
        starts: Where the rows of each begin, and where the last end.
        window_start: Of each row, in microseconds.
        window_end: Of each row. Where a calendar lacks a day, two windows begin at one moment.
        group: Of each row, the number of its group among those of its query, which are in order.
        groups: The groups of each query.
        cells: By number of the result; rows of queries that have fewer have no value there.
    """

    numbers: Sequence[int]
    queries: Sequence[Query]
    starts: Longs
    window_start: Longs
    window_end: Longs
    group: Longs
    groups: Sequence[Groups]
    cells: Sequence[Cells]

    def __len__(self) -> int:
        """How many queries these are."""
        return len(self.numbers)

    def answers(self, only_found: bool = False) -> tuple[Answer, ...]:
        """A table for each query, or for those that have rows."""
        sizes = np.diff(self.starts).tolist()
        return tuple(
            Answer(number, self.rows(place))
            for place, number in enumerate(self.numbers)
            if sizes[place] or not only_found
        )

    def rows(self, place: int) -> Any:
        """The rows of one of the queries as an `Answer` has them, in order."""
        query, groups = self.queries[place], self.groups[place]
        low, high = int(self.starts[place]), int(self.starts[place + 1])
        group = pa.array(self.group[low:high])
        columns = {
            "window_start": pa.array(self.window_start[low:high]),
            "window_end": pa.array(self.window_end[low:high]),
            "group": groups.texts.take(group),
        }
        for number, attribute in enumerate(query.group_by):
            columns[f"key.{number}"] = groups.values[attribute].take(group)
        for number, _ in enumerate(query.returned):
            cells = self.cells[number]
            for kind, values in (("value", cells.value), ("log10", cells.log10)):
                some = pa.array(values[low:high], pa.float64(), from_pandas=True)
                columns[f"{kind}.{number}"] = some
            columns[f"exact.{number}"] = cells.exact.slice(low, high - low)
        return pa.table(columns)

    def windows(self) -> int:
        """How many windows have a row, counted for each query."""
        # Rows stand in the order of windows, so a window begins where another time does.
        is_new = np.ones(len(self.window_start), np.bool_)
        np.not_equal(self.window_start[1:], self.window_start[:-1], out=is_new[1:])
        is_new[self.starts[:-1][np.diff(self.starts) > 0]] = True
        return int(np.count_nonzero(is_new))

    def different_groups(self) -> int:
        """How many groups have a row, counted for each query."""
        sizes = np.array([groups.count for groups in self.groups], np.int64)
        first = np.cumsum(sizes) - sizes
        has_row = np.zeros(int(sizes.sum()), np.bool_)
        has_row[self.group + np.repeat(first, np.diff(self.starts))] = True
        return int(np.count_nonzero(has_row))


def finish(
    plan: WorkloadPlan,
    program: Program,
    emission: Emission,
    *,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
    groups: Sequence[Groups],
) -> SetAnswers:
    """What a kernel emitted for one sharable set, as rows of each query of the set.

    Args:
        plan: The workload.
        program: The program of the set.
        emission: What its kernel gave back; exact where it has no exponents.
        digits: For each attribute of SUM and AVG the exponents of its digits.
        is_integer: Whether sums of an attribute are whole, and so have exact digits.
        groups: The groups of each query of the set, in the order of `program.queries`.
    """
    return finish_together(plan, [Emitted(program, emission, digits, is_integer, groups)])


class Emitted(NamedTuple):
    """What a kernel emitted for a sharable set, with what it takes to make rows of it.

    The attributes are the arguments of `finish`.
    """

    program: Program
    emission: Emission
    digits: Mapping[str, tuple[int, ...]]
    is_integer: Mapping[str, bool]
    groups: Sequence[Groups]


def finish_together(plan: WorkloadPlan, sets: Sequence[Emitted]) -> SetAnswers:
    """What kernels emitted for several sets, as rows of each of their queries, in one go.

    The sets must have the same digits for the attributes that they have in common.
    """
    numbers = [number for each in sets for number in each.program.queries]
    queries = [plan.queries[number].query for number in numbers]
    groups: list[Groups] = []
    of_records: list[Longs] = []
    records: list[Emission] = []
    first = 0
    for program, emission, _, _, unordered in sets:
        mine = [plan.queries[number].query.group_by for number in program.queries]
        ordered = groups_in_order(unordered, mine, _with_records(emission, unordered))
        groups += ordered
        of_records.append(group_of_record(emission, program, ordered))
        records.append(replace(emission, unit=emission.unit + np.int32(first)))
        first += len(program.template_query)
    digits = {name: known for each in sets for name, known in each.digits.items()}
    is_integer = {name: is_one for each in sets for name, is_one in each.is_integer.items()}
    totals, starts = SetTotals.of_records(
        queries,
        stacked(records),
        Units.joined(
            [Units.of(each.program) for each in sets], [len(each.program.queries) for each in sets]
        ),
        np.concatenate(of_records),
        digits,
    ).joined()
    return answers_from(numbers, queries, starts, totals, groups, digits, is_integer)


def _with_records(emission: Emission, groups: Sequence[Groups]) -> NDArray[np.bool_]:
    """The partitions of which something was emitted: of others nobody asks the name."""
    has_any = np.zeros(max((len(each.of_partition) for each in groups), default=0), np.bool_)
    mark(emission.part, has_any)
    return has_any


def answers_from(
    numbers: Sequence[int],
    queries: Sequence[Query],
    starts: Longs,
    totals: Totals,
    groups: Sequence[Groups],
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
) -> SetAnswers:
    """The rows of some queries from their totals, in the order in which these stand.

    Args:
        numbers: The numbers of the queries in the workload.
        queries: The queries.
        starts: Where the totals of each begin, and where the last end.
        totals: Those of all queries, one after the other.
        groups: The groups of each query, in order.
        digits: For each attribute of SUM and AVG the exponents of its digits.
        is_integer: Whether sums of an attribute are whole, and so have exact digits.
    """
    is_kept = rows_kept(queries, starts, totals, digits, is_integer)
    if is_kept is not None:
        totals, starts = totals.where(is_kept), np.append(0, np.cumsum(is_kept))[starts]
    cells = cells_of(queries, starts, totals, digits, is_integer)
    begins, ends = _windows(queries, starts, totals.window)
    return SetAnswers(numbers, queries, starts, begins, ends, totals.group, groups, cells)


def _windows(queries: Sequence[Query], starts: Longs, window: Longs) -> tuple[Longs, Longs]:
    """When the window of each row begins and ends, by its number."""
    sizes = np.diff(starts)
    lengths = [[query.window.slide_us, query.window.within_us] for query in queries]
    slide, within = np.array(lengths, np.int64).reshape(-1, 2).T
    begins = window * np.repeat(slide, sizes)
    ends = begins + np.repeat(within, sizes)
    for number, query in enumerate(queries):
        if not query.window.clock.is_plain:
            mine = slice(int(starts[number]), int(starts[number + 1]))
            begins[mine] = query.window.clock.moments(begins[mine])
            ends[mine] = query.window.clock.moments(ends[mine])
    return begins, ends
