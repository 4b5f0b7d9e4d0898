"""What is known at plan time of each E+: whether the work on its events is shared, and why.

How loops are executed is decided in plan/execution.py. What only data can tell is taken for granted
there; where it is not so, work is done for each query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet.plan.execution import Execution
from hamlet.share.policy import choose_at_plan_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.plan.execution import Grain
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.share.policy import Policy


def loop_sharing(
    plan: WorkloadPlan, programs: Sequence[Program], policy: Policy = "dynamic"
) -> list[dict[str, Any]]:
    """For each set and each E+ that queries could share, what becomes of it, with its queries."""
    loops: list[dict[str, Any]] = []
    for number, (sharable, program) in enumerate(zip(plan.sets, programs, strict=True), 1):
        grains = _loop_grains(program)
        for name, queries in sharable.shared:
            by_grain: dict[Grain, list[str]] = {}
            for query in queries:
                for grain in sorted(grains[query, name]):
                    by_grain.setdefault(grain, []).append(plan.queries[query].query.name)
            for grain, names in by_grain.items():
                choice = choose_at_plan_time(policy, grain)
                loops.append(
                    {
                        "set": f"s{number}",
                        "type": name,
                        "kind": grain.value,
                        "shared": choice.shared,
                        "queries": names,
                        "why": choice.why,
                    }
                )
    return loops


def _loop_grains(program: Program) -> dict[tuple[int, str], set[Grain]]:
    """How the loops of each query of the workload on events of each type are executed."""
    execution = Execution(program)
    grains: dict[tuple[int, str], set[Grain]] = {}
    for unit, loops in execution.loops().items():
        query = program.queries[program.template_query[unit]]
        for state, grain in loops.items():
            grains.setdefault((query, execution.type_of(state)), set()).add(grain)
    return grains
