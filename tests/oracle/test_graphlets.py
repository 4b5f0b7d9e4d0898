"""The paper's worked numbers, read from a trace of snapshots and coefficients.

Would catch a shared graphlet whose snapshot misses what comes in from outside, a coefficient that
counts a predecessor twice, or an event on which queries disagree that is shared all the same.
"""

from __future__ import annotations

import pytest

from hamlet import Workload
from hamlet.errors import PlanError
from hamlet.paper.graphlets import Trace, trace_graphlets
from hamlet.testing import stream

TWO_QUERIES = """
    q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1 h;
    q2: RETURN COUNT(*) PATTERN SEQ(C, B+) {where} WITHIN 1 h
"""
FIRST = "1 A x=0, 2 A x=0, 3 C x=0, 4 B x=1, 5 B x=9, 6 B x=2, 7 B x=20"
SECOND = "8 A x=0, 9 A x=0, 10 C x=0, 11 C x=0, 12 C x=0, 13 B x=30"
# Holds between all Bs of these streams but the second and the third.
DISAGREEING = "WHERE B.x < NEXT(B).x"


def traced(events: str, where: str = "") -> Trace:
    plan = Workload.parse(TWO_QUERIES.format(where=where)).plan
    return trace_graphlets(plan, plan.sets[0], stream(events))


def test_a_burst_of_four_carries_one_snapshot_and_doubles() -> None:
    trace = traced(FIRST)

    assert trace.counts == {"q1": 30, "q2": 15}
    assert len(trace.graphlets) == 1
    assert trace.graphlets[0].snapshots == {"x1": {"q1": 2, "q2": 1}}
    assert trace.graphlets[0].expressions == ["x1", "2 x1", "4 x1", "8 x1"]


def test_the_next_burst_starts_from_all_that_came_before() -> None:
    trace = traced(f"{FIRST}, {SECOND}")

    assert trace.graphlets[1].snapshots == {"x2": {"q1": 34, "q2": 19}}
    assert trace.graphlets[1].expressions == ["x2"]


def test_an_event_on_which_queries_disagree_has_its_own_snapshot() -> None:
    trace = traced(f"{FIRST}, {SECOND}", DISAGREEING)

    burst = trace.graphlets[0]
    assert burst.snapshots["x1"] == {"q1": 2, "q2": 1}
    assert burst.snapshots["x2"] == {"q1": 8, "q2": 2}
    assert burst.expressions == ["x1", "2 x1", "x2", "4 x1 + x2"]
    assert trace.graphlets[1].snapshots == {"x3": {"q1": 34, "q2": 15}}


@pytest.mark.parametrize("where", ["", DISAGREEING])
def test_the_trace_counts_what_the_engine_counts(where: str) -> None:
    events = stream(f"{FIRST}, {SECOND}")
    workload = Workload.parse(TWO_QUERIES.format(where=where))

    table = workload.run(events).table

    counted = dict(zip(table["query"].to_pylist(), table["exact"].to_pylist(), strict=True))
    trace = traced(f"{FIRST}, {SECOND}", where)
    assert counted == {name: str(count) for name, count in trace.counts.items()}


def test_what_the_algorithm_does_not_cover_is_refused() -> None:
    plan = Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) WITHIN 1 h").plan

    with pytest.raises(PlanError, match="NOT or AND"):
        trace_graphlets(plan, plan.sets[0], [])
