"""Totals to result rows: AVG, and numbers of any size as doubles, logarithms and digits.

All of it runs on whole columns. Work is O(records log records); Python looks at single records only
where numbers do not fit 64 bits, or where two doubles cannot tell which way an average rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.kernel.base import components_of
from hamlet.kernel.finish.integers import TEXT
from hamlet.kernel.finish.quotients import quotient, recombined
from hamlet.kernel.finish.rounding import log10_of
from hamlet.kernel.finish.totals import Records, Totals, joined, sides_of
from hamlet.kernel.finish.wides import Wides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish.totals import Column, Groups
    from hamlet.plan.aggregates import Finisher
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan

    Doubles = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    # The sums of one digit, and its exponent
    _Digit = tuple[Column, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of one query, given by its number in the workload: one for each window and group.

    `rows` is an Arrow table in any order: `window_start` in microseconds, `group` as JSON text,
    `key.i` for each grouping attribute, and `value.i`, `log10.i`, `exact.i` for each aggregate.
    """

    query: int
    rows: Any


def finish(
    plan: WorkloadPlan,
    program: Program,
    emission: Emission,
    *,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
    groups: Sequence[Groups],
    only_found: bool = False,
) -> tuple[Answer, ...]:
    """What a kernel emitted for one sharable set, as rows: an answer for each query of the set.

    Args:
        plan: The workload.
        program: The program of the set.
        emission: What its kernel gave back; exact where it has no exponents.
        digits: For each attribute of SUM and AVG the exponents of its digits.
        is_integer: Whether sums of an attribute are whole, and so have exact digits.
        groups: The groups of each query of the set, in the order of `program.queries`.
        only_found: Whether to leave out queries of which nothing was emitted.
    """
    records = Records(emission)
    answers = []
    answered = set(program.template_query[np.unique(emission.unit)].tolist())
    for local, number in enumerate(program.queries):
        if only_found and local not in answered:
            continue
        query = plan.queries[number].query
        totals = joined(query, sides_of(query, records, program, local, groups[local], digits))
        answers.append(answer_of(number, query, totals, groups[local], digits, is_integer))
    return tuple(answers)


def answer_of(
    number: int,
    query: Query,
    totals: Totals,
    groups: Groups,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
) -> Answer:
    """The rows of one query from its totals; the arguments are those of `finish`."""
    cells = list(_cells(query, totals, digits, is_integer))
    return Answer(number, _rows(query, totals, groups, cells))


@dataclass(frozen=True, slots=True)
class Cells:
    """One aggregate of every row: NaN stands for null in value and log10."""

    value: Doubles
    log10: Doubles
    exact: Any = None

    def only(self, is_known: Bools) -> Cells:
        """Null in all other rows."""
        if is_known.all():
            return self
        exact = self.exact
        if exact is not None:
            exact = pc.if_else(pa.array(is_known), exact, pa.scalar(None, TEXT))
        return Cells(
            np.where(is_known, self.value, np.nan), np.where(is_known, self.log10, np.nan), exact
        )


def _cells(
    query: Query,
    totals: Totals,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
) -> Iterator[Cells]:
    """The cells of each aggregate of a query."""
    layout = components_of(query.aggregates, digits)
    extremes = iter(totals.extremes)
    for number, aggregate in enumerate(query.aggregates):
        mine = [
            (totals.components[1 + place], component.weight.exponent)
            for place, component in enumerate(layout)
            if component.aggregate == number
        ]
        if aggregate.finisher == "extreme":
            values = next(extremes)
            yield Cells(values, log10_of(values))
        elif aggregate.finisher == "count":
            yield _whole(mine[0][0] if mine else totals.components[0])
        else:
            (present, _), *parts = mine
            is_whole = is_integer.get(str(aggregate.attribute), False)
            cells = _OF_ATTRIBUTE[aggregate.finisher](present, parts, is_whole)
            yield cells.only(present.is_some())


def _whole(number: Column) -> Cells:
    return Cells(number.value(), number.log10(), number.text())


# Results from the number of occurrences, and the sums of digits with their exponents


def _sum(present: Column, parts: list[_Digit], is_whole: bool) -> Cells:
    if isinstance(present, Wides):
        total = _total(present, parts)
        return Cells(total.value(), total.log10())
    if is_whole:
        return _whole(recombined(parts))
    return Cells(*quotient(parts, present.constant(1)))


def _mean(present: Column, parts: list[_Digit], is_whole: bool) -> Cells:
    if isinstance(present, Wides):
        mean = _total(present, parts).over(present)
        return Cells(mean.value(), mean.log10())
    return Cells(*quotient(parts, present))


def _total(present: Wides, parts: list[_Digit]) -> Wides:
    total = present.constant(0)
    for part, exponent in parts:
        total = total + part.shifted(exponent)
    return total


_OF_ATTRIBUTE: dict[Finisher, Callable[[Column, list[_Digit], bool], Cells]] = {
    "sum": _sum,
    "mean": _mean,
}


def _rows(query: Query, totals: Totals, groups: Groups, cells: list[Cells]) -> Any:
    """The table of an answer."""
    group = pa.array(totals.group)
    columns = {
        "window_start": pa.array(totals.window * query.window.slide_us),
        "group": pa.array(groups.json, TEXT).take(group),
    }
    for number, attribute in enumerate(query.group_by):
        values = groups.values[attribute]
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        columns[f"key.{number}"] = values.take(group)
    for number, each in enumerate(cells):
        columns[f"value.{number}"] = pa.array(each.value, pa.float64(), from_pandas=True)
        columns[f"log10.{number}"] = pa.array(each.log10, pa.float64(), from_pandas=True)
        exact = pa.nulls(len(totals.window), TEXT) if each.exact is None else each.exact
        columns[f"exact.{number}"] = exact
    return pa.table(columns)
