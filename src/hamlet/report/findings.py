"""What is worth saying first: what was found, most of it where, and what sharing saved.

Nothing is guessed: every sentence is made of counts of this run, or of times that were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import counted
from hamlet.report.columns import parts_of
from hamlet.screen import long_sheet
from hamlet.share.trace import summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.plan.query import Query
    from hamlet.report.columns import Part
    from hamlet.report.saved import Run

_ENGINES = {"local": "with the local engine", "spark": "on Spark"}


@dataclass(frozen=True, slots=True)
class Found:
    """What one query found.

    Attributes:
        name: The query.
        rows: Pairs of a window and a group with a result.
        windows: Windows with a result in any group.
        groups: Groups with a result in any window.
        aggregate: The aggregate that `most` is about.
        most: The greatest result as texts: query, window, group, aggregate, value; None for none.
        rank: By what the greatest results of two queries are compared.
        group: The group of the greatest result, as a number of the part.
    """

    name: str
    rows: int
    windows: int
    groups: int
    aggregate: int
    most: Sequence[str] | None
    rank: tuple[float, float]
    group: int


def found_by(part: Part) -> Found:
    """What a query found."""
    aggregate = leading(part.query)
    rows, windows = len(part.start_us), len(np.unique(part.start_us))
    found = (part.query.name, rows, windows, len(part.groups), aggregate)
    if not rows or not part.width:
        return Found(*found, None, (-np.inf, -np.inf), 0)
    value, log10 = (_doubles(part.column(kind, aggregate)) for kind in ("value", "log10"))
    # The first of equal ones.
    at = int(np.lexsort((-np.arange(rows), log10, value))[-1])
    row = part.rows.slice(at * part.width + aggregate, 1)
    if np.isneginf(value[at]):
        return Found(*found, None, (-np.inf, -np.inf), 0)
    shown = long_sheet(row, 1).rows[0]
    rank = (float(value[at]), float(log10[at]))
    return Found(*found, shown, rank, int(part.group[at]))


def leading(query: Query) -> int:
    """The aggregate a query is judged by: its COUNT(*), or the first one."""
    stars = [i for i, one in enumerate(query.aggregates) if _counts_trends(one)]
    return stars[0] if stars else 0


def _counts_trends(aggregate: Any) -> bool:
    return aggregate.function == "COUNT" and not aggregate.places


def _doubles(column: Any) -> Any:
    """A column as doubles, nothing below everything else."""
    return column.fill_null(-np.inf).to_numpy()


def most_of(found: Sequence[Found], queries: Sequence[Query]) -> Found | None:
    """The query that found most trends in one window of one group."""
    counting = [
        one
        for one, query in zip(found, queries, strict=True)
        if one.most is not None and _counts_trends(query.aggregates[one.aggregate])
    ]
    return max(counting, key=lambda one: one.rank) if counting else None


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that is said of a run, before it is put into words for a page or a terminal.

    Attributes:
        run: The run.
        parts: Its results, query by query.
        found: What each query found.
        most: The query that found most trends; None if none counts any.
        others: Other runs of the same workload and events.
        description: The plan as plain data.
    """

    run: Run
    parts: Sequence[Part]
    found: Sequence[Found]
    most: Found | None
    others: Sequence[Compared]
    description: dict[str, Any]

    @staticmethod
    def of(run: Run, beside: Sequence[Run] = ()) -> Findings:
        """What there is to say of a run."""
        queries = run.workload.queries
        parts = parts_of(run.table, queries)
        found = [found_by(part) for part in parts]
        return Findings(
            run,
            parts,
            found,
            most_of(found, queries),
            compared(run, beside),
            run.workload.describe(),
        )

    @property
    def rows(self) -> int:
        """Pairs of a window and a group with a result, of all queries."""
        return sum(one.rows for one in self.found)

    @property
    def windows(self) -> int:
        """Windows with a result, of all queries."""
        return sum(one.windows for one in self.found)

    @property
    def groups(self) -> int:
        """Groups with a result, of all queries."""
        return sum(one.groups for one in self.found)

    @property
    def first(self) -> str:
        """The run in one sentence."""
        done = self.run.statistics
        return (
            f"{counted(len(self.found), 'query', 'queries')} over "
            f"{counted(done.events_in, 'event')} gave {counted(self.rows, 'result')} in "
            f"{counted(self.windows, 'window')}, in "
            f"{sum(done.seconds.values()):,.1f} s {_ENGINES.get(self.run.engine, '')}."
        )

    @property
    def saved(self) -> list[str]:
        """What sharing saved, in sentences: as measured, as decided in the run, in the plan."""
        runs = [self.run, *(one.run for one in self.others)]
        told = [*_measured(runs), *_decided(runs)]
        plan = plan_saves(self.description)
        own, merged = plan["loops"]
        if merged < own:
            told.append(
                f"The merged plan has {counted(merged, 'loop')} over repeated events where the "
                f"queries apart have {own}, and {plan['steps'][1]} steps from one event to the "
                f"next instead of {plan['steps'][0]}."
            )
        return told or ["No two queries repeat a type in common, so there was nothing to share."]


# What sharing saved


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
        left, right = (each[name].combine_chunks() for each in (one, other))
        if left.equals(right):
            continue
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        differs |= np.array([a != b for a, b in pairs], np.bool_)
    return int(differs.sum())


def plan_saves(description: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Loops and steps in the templates of all queries apart, and in the merged plan."""
    templates = {one["name"]: one for one in description["templates"]}
    own = [templates[name] for query in description["queries"] for name in query["templates"]]
    edges = [edge for template in own for edge in template["edges"]]
    merged = [edge for one in description["sets"] for edge in one["edges"]]
    return {
        "loops": (_loops(edges), _loops(merged)),
        "steps": (len(edges), len(merged)),
    }


def _loops(edges: Sequence[dict[str, Any]]) -> int:
    return sum(edge["from"] == edge["to"] for edge in edges)


def _measured(runs: Sequence[Run]) -> list[str]:
    """Runs with and without sharing on the same engine, if there are any."""
    for never in (run for run in runs if run.options.get("sharing") == "never"):
        for other in runs:
            if other.engine == never.engine and other.options.get("sharing") != "never":
                return [_with_and_without(other, never)]
    return []


def _with_and_without(shared: Run, never: Run) -> str:
    bursts = shared.statistics.bursts, never.statistics.bursts
    seconds = [run.statistics.seconds.get("run", 0.0) for run in (shared, never)]
    gain = seconds[1] / seconds[0] if seconds[0] else 1.0
    fewer = f", {bursts[1] / bursts[0]:.1f} times fewer" if 0 < bursts[0] < bursts[1] else ""
    # A single measurement is not a benchmark: what is within a tenth is not told as a difference.
    speed = f"{gain:.1f} times as fast" if abs(gain - 1) > 0.1 else "no difference to speak of"
    return (
        f"The {shared.engine} engine executed {bursts[0]:,} stretches of events with sharing "
        f"{shared.options.get('sharing')} and {bursts[1]:,} with each query alone{fewer}. Its "
        f"kernels took {seconds[0]:.2f} s and {seconds[1]:.2f} s, measured once each: {speed}."
    )


def _decided(runs: Sequence[Run]) -> list[str]:
    """What merged bundles saved in the first run that kept a trace."""
    traced = [run for run in runs if run.trace is not None and run.trace.num_rows]
    if not traced:
        return []
    parts = summarise(traced[0].trace)
    as_one, for_all = (sum(getattr(one, name) for one in parts) for name in ("as_one", "for_all"))
    cost, alone = (sum(getattr(one, name) for one in parts) for name in ("cost", "cost_alone"))
    return [
        f"Queries that differ only in the events that enter them were one for {as_one:,} of "
        f"{for_all:,} events that concern all of them: by the cost model "
        f"{(alone - cost) / 1e6:.2f} ms less work of {alone / 1e6:.2f} ms."
    ]
