"""What is worth saying first: what was run over what, and what each query found that is unusual.

Nothing is guessed: every sentence is made of counts of this run, or of times that were measured.
Counts of different patterns say little beside each other, so what a query found is compared with
its own other results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import counted
from hamlet.io.screen import long_sheet
from hamlet.report.columns import parts_of
from hamlet.report.shared import sharing_told
from hamlet.report.words import group_name, grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.plan.query import Query
    from hamlet.report.columns import Part
    from hamlet.report.saved import Run

_ENGINES = {"local": "with the local engine", "spark": "on Spark"}
# Of more queries, those with the most unusual results are told of first.
MOST_TOLD = 8


@dataclass(frozen=True, slots=True)
class QueryFinding:
    """What one query found.

    Attributes:
        name: The query.
        rows: Pairs of a window and a group with a result.
        windows: Windows with a result in any group.
        groups: Groups with a result in any window.
        aggregate: The aggregate that `most` is about.
        most: The greatest result as texts: query, window, group, aggregate, value; None for none.
        median: The result that half of all are at most, as text; of an even number the lower.
        ratio: The logarithm, to base 10, of how many times the median the greatest is; 0 where
            that says nothing, as for negative numbers.
        group: The group of the greatest result, as a number of the part.
    """

    name: str
    rows: int
    windows: int
    groups: int
    aggregate: int
    most: Sequence[str] | None = None
    median: str = ""
    ratio: float = 0.0
    group: int = 0

    @property
    def told(self) -> str:
        """The most notable of it, in a sentence without the name of the query."""
        if not self.rows:
            return "found nothing."
        if self.most is None:
            return f"has {counted(self.rows, 'result')}, none of which is a number."
        _, window, group, aggregate, value = self.most
        where = "" if group == "{}" else f" of {group_name(group)}"
        peak = f"{aggregate} is greatest in {window}{where}: {grouped(value)}"
        if self.rows == 1:
            return f"{peak}. It is the only result."
        if self.ratio < math.log10(2):
            return f"{peak}. The median of its {self.rows:,} results is {self.median}."
        times = f"{_times(self.ratio)} times the median of its {self.rows:,} results"
        return f"{peak}, {times} ({self.median})."


def _times(log10: float) -> str:
    """How many times, with as many digits as it is worth.

    >>> _times(0.5), _times(2.0), _times(400.25)
    ('3.2', '100', '1.8e+400')
    """
    if log10 > 6:
        return f"{10.0 ** (log10 % 1):.1f}e+{log10 // 1:.0f}"
    times = 10.0**log10
    return f"{times:.1f}" if times < 10 else f"{times:,.0f}"


def found_by(part: Part) -> QueryFinding:
    """What a query found."""
    aggregate = leading(part.query)
    rows, windows = len(part.start_us), len(np.unique(part.window))
    facts = (part.query.name, rows, windows, len(part.groups), aggregate)
    if not rows or not part.width:
        return QueryFinding(*facts)
    value, size = (_doubles(part.column(kind, aggregate)) for kind in ("value", "log10"))
    is_number = ~np.isnan(value)
    at = np.flatnonzero(is_number)
    if not len(at):
        return QueryFinding(*facts)
    # By value, what no double holds by its magnitude; of equal ones the first is the greatest.
    magnitude = np.where(value < 0, -size, size)[at]
    ranked = at[np.lexsort((-at, magnitude, value[at]))]
    greatest, median = int(ranked[-1]), int(ranked[(len(ranked) - 1) // 2])
    shown = [
        long_sheet(part.rows.slice(one * part.width + aggregate, 1), 1).rows[0]
        for one in (greatest, median)
    ]
    ratio = _ratio((value[greatest], size[greatest]), (value[median], size[median]))
    return QueryFinding(*facts, shown[0], grouped(shown[1][4]), ratio, int(part.group[greatest]))


def _ratio(greatest: tuple[float, float], median: tuple[float, float]) -> float:
    if greatest[0] <= 0 or median[0] <= 0:
        return 0.0
    if math.isfinite(greatest[0]):
        return math.log10(greatest[0]) - math.log10(median[0])
    below = median[1] if not math.isfinite(median[0]) else math.log10(median[0])
    return float(greatest[1] - below)


def leading(query: Query) -> int:
    """The aggregate a query is judged by: its COUNT(*), or the first one."""
    columns = [result.aggregate_of(query) for result in query.returned]
    stars = [i for i, one in enumerate(columns) if one is not None and one.counts_trends]
    return stars[0] if stars else 0


def _doubles(column: Any) -> NDArray[np.float64]:
    """A column as doubles, NaN where there is nothing."""
    doubles: NDArray[np.float64] = column.fill_null(np.nan).to_numpy()
    return doubles


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that is said of a run, before it is put into words for a page or a terminal.

    Attributes:
        run: The run.
        parts: Its results, query by query.
        queries: What each query found.
        others: Other runs of the same workload and events.
        description: The plan as plain data.
    """

    run: Run
    parts: Sequence[Part]
    queries: Sequence[QueryFinding]
    others: Sequence[Compared]
    description: dict[str, Any]

    @staticmethod
    def of(run: Run, beside: Sequence[Run] = ()) -> Findings:
        """What there is to say of a run."""
        parts = parts_of(run.table, run.workload.queries)
        return Findings(
            run,
            parts,
            [found_by(part) for part in parts],
            compared(run, beside),
            run.workload.describe(),
        )

    @property
    def rows(self) -> int:
        """Pairs of a window and a group with a result, of all queries."""
        return sum(one.rows for one in self.queries)

    @property
    def is_grouped(self) -> bool:
        """Whether any query has groups."""
        return any(part.query.group_by for part in self.parts)

    @property
    def windows(self) -> int:
        """Windows with a result, counted for each query, as a run counts them."""
        return sum(one.windows for one in self.queries)

    @property
    def groups(self) -> int:
        """Groups with a result, counted for each query, as a run counts them."""
        return sum(one.groups for one in self.queries)

    @property
    def first(self) -> str:
        """The run in one sentence."""
        done = self.run.statistics
        of = f" of {self.run.events}" if self.run.events else ""
        groups = f" and {counted(self.groups, 'group')}" if self.is_grouped else ""
        asked = counted(len(self.queries), "query", "queries")
        seconds = f"{sum(done.seconds.values()):,.1f} s"
        return (
            f"{asked} over {counted(done.events_in, 'event')}{of} gave "
            f"{counted(self.rows, 'result')} in {counted(self.windows, 'window')}{groups} with "
            f"results, in {seconds} {_ENGINES.get(self.run.engine, '')}."
        )

    @property
    def unusual(self) -> list[int]:
        """Queries by how far their greatest result is from their others, the farthest first."""
        order = range(len(self.queries))
        return sorted(order, key=lambda i: (-self.queries[i].ratio, -self.queries[i].rows))

    @property
    def told_of(self) -> list[QueryFinding]:
        """The queries that are told of first: all of few, or the most unusual, in their order."""
        with_results = [i for i in self.unusual if self.queries[i].rows]
        return [self.queries[i] for i in sorted(with_results[:MOST_TOLD])]

    @property
    def sharing(self) -> list[str]:
        """What sharing did, in sentences: as measured, as counted in the plan, as decided."""
        return sharing_told(self.run, [one.run for one in self.others])


# Runs beside each other


@dataclass(frozen=True, slots=True)
class Compared:
    """Another run of the same workload and events, beside the one that is told of.

    Attributes:
        run: The other run.
        differing: Rows of results that are not the same in both.
    """

    run: Run
    differing: int


def compared(run: Run, others: Sequence[Run]) -> list[Compared]:
    """How the results of other runs compare."""
    return [Compared(other, _differing(run.table, other.table)) for other in others]


def _differing(one: Any, other: Any) -> int:
    """Rows that are not the same; both are in the order of the results."""
    if one.num_rows != other.num_rows:
        return int(max(one.num_rows, other.num_rows))
    differs = np.zeros(one.num_rows, np.bool_)
    for name in ("query", "window_start", "group", "aggregate", "value", "exact"):
        left, right = (table[name].combine_chunks() for table in (one, other))
        if left.equals(right):
            continue
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        differs |= np.array([a != b for a, b in pairs], np.bool_)
    return int(differs.sum())
