"""Which queries compose, and the queries over panes that their maps are read from.

Would catch a query with an edge predicate or a guard of several events that is cut into panes all
the same, and queries over panes that are more than are needed.
"""

from __future__ import annotations

import pytest

from hamlet import Workload
from hamlet.engine.panes.derive import composes, derive
from hamlet.plan.program import Role


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("SEQ(A, B+)", True),
        ("SEQ(A, NOT C, B+, NOT (C OR D))", True),
        ("SEQ(A, NOT C+, B+)", True),
        ("(A OR SEQ(A, B))+", True),
        ("A+ AND SEQ(A, B+)", True),
        ("SEQ(A, NOT SEQ(C, D), B+)", False),
        ("SEQ(A, NOT (C OR SEQ(D, C)), B+)", False),
        ("SEQ(A, B+) WHERE B.x < NEXT(B).x", False),
        ("SEQ(A, B+) WHERE A.x < B.x", False),
        ("SEQ(A, B+) WHERE B.x > 3 AND [g]", True),
    ],
)
def test_queries_compose_where_panes_know_all_that_matters(pattern: str, expected: bool):
    plan = Workload.parse(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 h").plan

    assert composes(plan.queries[0]) is expected


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("A", 1),
        # A; A then B+; and B+ alone, whether after A or after B
        ("SEQ(A, B+)", 3),
        ("A+", 1),
        # As above, but A waits for B as long as there is no C, and whether there is one
        ("SEQ(A, NOT C, B+)", 5),
    ],
)
def test_no_more_queries_than_are_needed(pattern: str, count: int):
    plan = Workload.parse(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 h").plan

    panes = derive(plan, plan.sets, 60_000_000)

    assert len(panes.plan.queries) - panes.first == count
    assert panes.origins == [0] * count
    assert {planned.query.window.within_us for planned in panes.plan.queries[1:]} == {60_000_000}


def test_each_template_of_and_has_its_own_map():
    plan = Workload.parse("RETURN COUNT(*) PATTERN A+ AND SEQ(A, A Z) WITHIN 1 h").plan

    (forms,) = derive(plan, plan.sets, 1).forms

    assert [form.role for form in forms] == [Role.PATTERN, Role.SECOND, Role.BOTH]
