"""What a run decided about sharing, beside what was known before it: as plain data and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hamlet.errors import counted
from hamlet.explain.describe import summary
from hamlet.explain.sharers import known_sharing
from hamlet.explain.text import sharing_lines, shown_queries, table_lines
from hamlet.plan.program import compile_set
from hamlet.share.cost import FOREVER
from hamlet.share.policy import UNTIL_SPLIT
from hamlet.share.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.plan.workload import WorkloadPlan
    from hamlet.results import Results
    from hamlet.share.policy import Policy
    from hamlet.share.summary import Summary

    Analysis = dict[str, Any]

# Of a burst: its columns in a trace, and what they are called here
_SHOWN = {
    "type": "E+",
    "burst": "b",
    "live": "n",
    "queries": "k",
    "windows": "w",
    "snapshots_created": "s_c",
    "snapshots_propagated": "s_p",
    "cost_shared": "shared µs",
    "cost_alone": "alone µs",
    "decided": "decided",
}
# Bursts that are given as data, and shown as text
_MOST_BURSTS, _SHORT = 1000, 12
_NO_BUNDLES = "no two queries differ in nothing but the events that enter them"


def analysis(plan: WorkloadPlan, name: str, policy: Policy, results: Results) -> Analysis:
    """What was known at plan time, which queries could be one, and what was decided, why.

    Args:
        plan: The workload.
        name: What it is called.
        policy: The policy of the run.
        results: What the run returned, with its trace.
    """
    statistics = results.statistics
    return {
        "workload": name,
        "summary": summary(plan),
        "policy": policy,
        "sets": [
            {"name": f"s{number}", "queries": [plan.queries[n].query.name for n in one.queries]}
            for number, one in enumerate(plan.sets, 1)
        ],
        "sharing": known_sharing(plan, [compile_set(plan, one) for one in plan.sets], policy),
        "bundles": [
            {
                "set": f"s{one.sharable_set}",
                "type": one.type,
                "queries": list(one.queries),
                "windows": one.size.windows,
                "patience": one.patience if one.patience < UNTIL_SPLIT else None,
                "is_ever_merged": one.patience < FOREVER,
            }
            for one in results.bundles
        ],
        "decided": [_summarised(one) for one in summarise(results.trace)],
        "bursts": [
            {name: burst[name] for name in ("set", "start", *_SHOWN)}
            for burst in decided_bursts(results.trace, _MOST_BURSTS)
        ],
        "run": {
            "events": statistics.events_used,
            "graphlets": statistics.bursts,
            "shared graphlets": statistics.shared_bursts,
            "snapshots": statistics.snapshots,
            "shared": statistics.shared,
            "splits": statistics.splits,
            "merges": statistics.merges,
        },
    }


def _summarised(one: Summary) -> Analysis:
    described = asdict(one)
    return {"set": f"s{described.pop('sharable_set')}", **described}


def decided_bursts(trace: Any, most: int) -> list[Analysis]:
    """The first bursts of a trace, each with what it was decided from."""
    is_burst = pc.equal(trace["about"].cast(pa.string()), "burst")
    rows = trace.filter(is_burst).slice(0, most).to_pylist()
    return [{"set": f"s{row.pop('set')}", "start": str(row.pop("time")), **row} for row in rows]


def analysis_text(described: Analysis) -> str:
    """What a run decided, as text."""
    blocks = [
        f"{described['workload']}: {described['summary']}",
        _block("sharing, known before the run", sharing_lines(described)),
        _block("bundles, queries that are one while they behave alike", _bundles(described)),
        _block(f"decided, {described['policy']}", _decided(described)),
        _block("bursts of loops with an edge predicate", _bursts(described)),
        _block("run", [", ".join(f"{n:,} {name}" for name, n in described["run"].items())]),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _block(heading: str, lines: Iterator[str] | list[str]) -> str:
    shown = [f"  {line}".rstrip() for line in lines]
    return "\n".join([heading, *shown]) if shown else ""


def _bundles(described: Analysis) -> Iterator[str]:
    if described["policy"] in ("always", "never", "apart"):
        return
    sets = {one["name"]: one["queries"] for one in described["sets"]}
    yield from table_lines(
        [
            [
                one["set"],
                f"{one['type']}+",
                shown_queries(one["queries"], sets[one["set"]]),
                f"{counted(one['windows'], 'window')} at once",
                _patience(one["patience"], one["is_ever_merged"]),
            ]
            for one in described["bundles"]
        ]
    )
    if not described["bundles"]:
        yield _NO_BUNDLES


def _patience(patience: int | None, is_ever_merged: bool) -> str:
    if not is_ever_merged:
        return "never merged"
    if patience is None:
        return "merged from the start until an event is for some"
    return f"merged after {counted(patience, 'event')} for all in a row"


def _decided(described: Analysis) -> Iterator[str]:
    for one in described["decided"]:
        taken = ", ".join(f"{count:,} {name}" for name, count in one["decided"].items() if count)
        begins = f"{one['set']}  {one['type']}+  "
        if one["about"] == "touch":
            part = one["pays"] / one["decisions"]
            yield (
                f"{begins}{counted(one['decisions'], 'touch', 'touches')}: {taken}; "
                f"{part:.0%} for all queries, bursts of {one['mean_burst']:.1f} events"
            )
        else:
            yield (
                f"{begins}{counted(one['decisions'], 'burst')}: {taken}; on average "
                f"b = {one['mean_burst']:,.1f}, n = {one['mean_live']:,.0f}, "
                f"k = {one['mean_queries']:,.0f}, w = {one['mean_windows']:.1f}; "
                f"{counted(one['snapshots'], 'snapshot')}, {one['mean_snapshots']:,.1f} at a time"
            )
        yield f"    {one['why']}"


def _bursts(described: Analysis) -> Iterator[str]:
    """A line for each of the first bursts; costs in microseconds."""
    bursts = described["bursts"]
    if not bursts:
        return
    heads = ["set", "begins", *_SHOWN.values()]
    lines = [
        [one["set"], one["start"], *(_cell(name, one[name]) for name in _SHOWN)]
        for one in bursts[:_SHORT]
    ]
    yield from table_lines([heads, *lines])
    more = sum(one["decisions"] for one in described["decided"] if one["about"] == "burst") - _SHORT
    if more > 0:
        yield f"and {counted(more, 'more burst')}: hamlet run --trace writes them all"


def _cell(name: str, value: Any) -> str:
    """A number of a burst as text."""
    if name.startswith("cost"):
        return f"{value / 1e3:,.1f}"
    return value if isinstance(value, str) else f"{value:,}"
