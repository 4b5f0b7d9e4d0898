"""The engine against the conformance cases: every expected row, and no other.

Each case runs with both kinds of numbers and every kind of sharing. Would catch any mistake between
text and table that a small stream shows: a wrong edge, guard, window, group or aggregate, a result
that sharing changes, digits where there should be none, and a logarithm that is not the value's.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from conformance import (
    Case,
    check_case,
    engine_rows,
    load_cases,
    reference_rows,
    ways_of_running,
)

ALL_CASES = load_cases()
ABOUT = sorted({case.about for case in ALL_CASES})


def check(case: Case, numbers: str, sharing: str) -> None:
    rows = engine_rows(case.workload, case.events, case.order, numbers=numbers, sharing=sharing)
    check_case(case, rows, numbers)


@pytest.mark.parametrize(("numbers", "sharing"), ways_of_running())
@pytest.mark.parametrize("about", ABOUT)
def test_conformance_cases(about: str, numbers: str, sharing: str) -> None:
    for case in ALL_CASES:
        if case.about == about:
            check(case, numbers, sharing)


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_a_wrong_row_is_told(numbers: str) -> None:
    """A comparison that lets everything pass would make this module worthless."""
    case = next(case for case in ALL_CASES if len(case.expected) > 2)
    first, *others = engine_rows(case.workload, case.events, case.order, numbers=numbers)
    moved = first | {"window_start": first["window_start"] + 1}

    for wrong in (others, [first, first, *others], [first | {"value": -1.0}, *others],
                  [first | {"exact": "-1"}, *others], [moved, *others]):  # fmt: skip
        with pytest.raises(AssertionError, match=f"case {case.id}"):
            check_case(case, wrong, numbers)


@pytest.mark.parametrize("sharing", ["dynamic", "never"])
@pytest.mark.parametrize("operator", ["=", "!=", "<", ">="])
@pytest.mark.parametrize(
    "condition",
    [
        "T.x - T.y {} NEXT(T).x",
        "T.x * T.y {} NEXT(T).n",
        "T.n {} NEXT(T).x % 2",
        "T.x - NEXT(T).x {} T.y",
        "T.x - T.y {} NEXT(T).x OR T.x - T.y IS NULL",
    ],
)
def test_what_is_no_number_is_null_between_events_too(
    condition: str, operator: str, sharing: str
) -> None:
    """Infinity minus infinity, and its like; beside integers that are no doubles, too."""
    inf = float("inf")
    x, y = [inf, 1.0, -inf, 0.0, inf, 2.5], [inf, 0.5, inf, inf, 1.0, -inf]
    n = [2**53 + 1, 1, 2**60, 0, -(2**55) - 1, 3]
    rows = zip(x, y, n, strict=True)
    events = [{"type": "T", "time": t, "x": a, "y": b, "n": c} for t, (a, b, c) in enumerate(rows)]
    workload = f"q: RETURN COUNT(*) PATTERN T+ WHERE {condition.format(operator)} WITHIN 9 s"

    found = engine_rows(workload, events, sharing=sharing)

    expected = reference_rows(workload, events)
    assert [row["exact"] for row in found] == [row["exact"] for row in expected]


@pytest.mark.slow
def test_a_deep_condition_is_evaluated_or_refused_but_breaks_nothing() -> None:
    """In a process of its own: what is written past the end of memory may end it much later."""
    script = """
from hamlet import QueryError, Workload
events = [{"time": i % 3, "type": "A", "x": 1} for i in range(300)]
for depth in range(10, 200, 10):
    term = "A.x"
    for i in range(depth):
        term = f"({'A.x' if i % 2 else 'NEXT(A).x'} + {term})"
    condition = f"{term} * NEXT(A).x > {depth}"
    try:
        workload = Workload.parse(f"RETURN COUNT(*) PATTERN A+ WHERE {condition} WITHIN 9 s")
    except QueryError:
        break
    assert workload.run(events).table["exact"].to_pylist() == [str(101**3 - 1)]
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
