"""What a run decided about sharing, beside what was known before it: as plain data and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hamlet.errors import counted
from hamlet.explain.describe import summary
from hamlet.explain.sharers import known_sharing
from hamlet.explain.text import sharing_lines, shown_queries, table_lines
from hamlet.plan.program import compile_set
from hamlet.share.cost import FOREVER
from hamlet.share.policy import UNTIL_SPLIT
from hamlet.share.trace import summarise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.plan.workload import WorkloadPlan
    from hamlet.results import Results
    from hamlet.share.policy import Policy
    from hamlet.share.trace import Summary

    Analysis = dict[str, Any]

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
        "run": {
            "events": statistics.events_used,
            "bursts": statistics.bursts,
            "snapshots": statistics.snapshots,
            "shared": statistics.shared,
            "splits": statistics.splits,
            "merges": statistics.merges,
        },
    }


def _summarised(one: Summary) -> Analysis:
    found = asdict(one)
    found["share_for_all"] = one.share_for_all
    return {"set": f"s{found.pop('sharable_set')}", **found}


def analysis_text(found: Analysis) -> str:
    """What a run decided, as text."""
    blocks = [
        f"{found['workload']}: {found['summary']}",
        _block("sharing, known before the run", sharing_lines(found)),
        _block("bundles, queries that are one while they behave alike", _bundles(found)),
        _block(f"decided, {found['policy']}", _decided(found)),
        _block("run", [", ".join(f"{n:,} {name}" for name, n in found["run"].items())]),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _block(heading: str, lines: Iterator[str] | list[str]) -> str:
    shown = [f"  {line}".rstrip() for line in lines]
    return "\n".join([heading, *shown]) if shown else ""


def _bundles(found: Analysis) -> Iterator[str]:
    if found["policy"] in ("always", "never", "apart"):
        return
    sets = {one["name"]: one["queries"] for one in found["sets"]}
    yield from table_lines(
        [
            [
                one["set"],
                f"{one['type']}+",
                shown_queries(one["queries"], sets[one["set"]]),
                f"{counted(one['windows'], 'window')} at once",
                _patience(one["patience"], one["is_ever_merged"]),
            ]
            for one in found["bundles"]
        ]
    )
    if not found["bundles"]:
        yield _NO_BUNDLES


def _patience(patience: int | None, is_ever_merged: bool) -> str:
    if not is_ever_merged:
        return "never merged"
    if patience is None:
        return "merged from the start until an event is for some"
    return f"merged after {counted(patience, 'event')} for all in a row"


def _decided(found: Analysis) -> Iterator[str]:
    for one in found["decided"]:
        taken = ", ".join(f"{count:,} {name}" for name, count in one["decided"].items() if count)
        yield (
            f"{one['set']}  {one['type']}+  {one['touches']:,} touches: {taken}; "
            f"{one['share_for_all']:.0%} for all queries, bursts of {one['mean_burst']:.1f} events"
        )
        yield f"    {one['why']}"
