"""What sharing did, in sentences: what was measured, what was counted, and what was not measured.

A count of the plan is not time: queries that share may be slower together than apart. So time is
told only where runs with and without sharing lie beside each other, also where sharing lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet.errors import counted, listed
from hamlet.explain.sharers import known_sharing
from hamlet.plan.program import compile_set
from hamlet.share.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hamlet.report.saved import Run
    from hamlet.share.summary import Summary

# Policies with which nothing is shared
_UNSHARED = ("never", "apart")
# Stages that do not depend on sharing, and vary more than what does.
_NOT_WORK = ("start", "read", "kernels")
# A single measurement is no benchmark: what is within a tenth is not told as a difference.
_NOISE = 0.1
_MOST_LOOPS = 6


def sharing_told(run: Run, beside: Sequence[Run]) -> list[str]:
    """What sharing did in a run, and what it took beside other runs."""
    runs = [run, *beside]
    if not any(one.shared for one in run.workload.plan.sets):
        return [
            "No two queries repeat a type in common and partition the stream by the same "
            "attributes, so there was nothing to share."
        ]
    measured = list(_measured(runs))
    return [*(measured or [_not_measured(run)]), *_counted(run), *_decided(runs)]


def work_s(run: Run) -> float:
    """Seconds of the stages that sharing can change."""
    seconds = run.statistics.seconds
    return sum(took for stage, took in seconds.items() if stage not in _NOT_WORK)


def _policy(run: Run) -> str:
    return run.options.get("sharing") or "dynamic"


# Measured


def _measured(runs: Sequence[Run]) -> Iterator[str]:
    """Runs with and without sharing on the same engine, if there are any."""
    for alone in (run for run in runs if _policy(run) in _UNSHARED):
        for other in runs:
            if other.engine == alone.engine and _policy(other) not in _UNSHARED:
                yield _with_and_without(other, alone)


def _with_and_without(shared: Run, alone: Run) -> str:
    took, took_alone = work_s(shared), work_s(alone)
    times = (
        f"With sharing {_policy(shared)} the {shared.engine} engine took {took:.2f} s, and with "
        f"sharing {_policy(alone)} {took_alone:.2f} s, measured once each, without reading and "
        "compiling"
    )
    longest = max(took, took_alone)
    if not longest or abs(took - took_alone) <= _NOISE * longest:
        return f"{times}: no difference that one measurement can tell."
    if took < took_alone:
        return f"{times}: sharing was {_factor(took_alone, took)} times as fast."
    return f"{times}: sharing was slower, and took {_factor(took, took_alone)} times as long."


def _factor(more: float, less: float) -> str:
    return f"{more / less:.1f}" if less else "many"


def _not_measured(run: Run) -> str:
    again = "without --sharing" if _policy(run) in _UNSHARED else "with --sharing never"
    return (
        "What sharing saves or costs in time was not measured. To know it, run the workload "
        f"{again} too, keep both runs (--save), and put one beside the other (--beside)."
    )


# Counted


def _counted(run: Run) -> Iterator[str]:
    """Whose work on repeated events is one, by the plan."""
    plan = run.workload.plan
    programs = [compile_set(plan, sharable) for sharable in plan.sets]
    loops = known_sharing(plan, programs, _policy(run))  # type: ignore[arg-type]
    shown = sorted(loops, key=lambda loop: not loop["shared"])[:_MOST_LOOPS]
    yield from (_loop(loop) for loop in shown)
    if len(loops) > _MOST_LOOPS:
        yield f"{counted(len(loops) - _MOST_LOOPS, 'more line')}: hamlet explain --stage sharing."


def _loop(each: dict[str, Any]) -> str:
    names, events = each["queries"], f"{each['type']}+"
    who = listed(names, 5)
    if each["shared"]:
        return f"Counted in the plan: {events} of {who} is worked on once."
    whose = "each query" if len(names) > 1 else "that query"
    return f"Counted in the plan: {events} of {who} is worked on for {whose} alone: {each['why']}."


def _decided(runs: Sequence[Run]) -> list[str]:
    """What was decided in the first run that kept a trace."""
    traced = [run for run in runs if run.trace is not None and run.trace.num_rows]
    if not traced:
        return []
    parts = summarise(traced[0].trace)
    return [*_told_touches(parts), *_told_bursts(parts)]


def _told_touches(parts: Sequence[Summary]) -> Iterator[str]:
    """What bundles did in all."""
    touched = [one for one in parts if one.about == "touch"]
    if touched:
        cost, alone = (
            sum(getattr(one, name) * one.decisions for one in touched)
            for name in ("cost", "cost_alone")
        )
        as_one, for_all = sum(one.as_one for one in touched), sum(one.pays for one in touched)
        yield (
            f"Queries that differ only in the events that enter them were one for {as_one:,} of "
            f"{for_all:,} events that concern all of them. By the cost model, which is an "
            f"estimate, that took {cost / 1e6:.2f} ms in place of {alone / 1e6:.2f} ms."
        )


def _told_bursts(parts: Sequence[Summary]) -> Iterator[str]:
    """What was decided about each loop with an edge predicate."""
    for one in parts:
        if one.about == "burst":
            yield (
                f"{one.type}+ with an edge predicate: {one.as_one:,} of "
                f"{counted(one.decisions, 'burst')} shared, {counted(one.snapshots, 'snapshot')}, "
                f"{counted(one.decided['split'], 'split')}, "
                f"{counted(one.decided['merge'], 'merge')}; {one.why}."
            )
