"""Conditions that no order decides say what they cost before they are waited for.

Would catch a warning about a condition that an index answers, and a long wait without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet import Workload
from hamlet.engine import slow_loops
from hamlet.testing import stream

if TYPE_CHECKING:
    import pytest

EVENTS = stream("1 A x=1, 2 A x=2, 3 A x=3, 14 A x=4")


def noted(where: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """The notes of a run, and what it said that it does."""
    monkeypatch.setattr(slow_loops, "_MANY_PAIRS", 2)
    said: list[str] = []
    workload = Workload.parse(f"RETURN COUNT(*) PATTERN A+ WHERE {where} WITHIN 10 s")
    results = workload.run(EVENTS, progress=lambda what, done: said.append(what))
    return [each for each in results.notes if "no order decides" in each], said


def test_pairs_are_counted_by_window_before_they_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (note,), said = noted("A.x * NEXT(A).x > 1", monkeypatch)

    assert note.startswith("q1: no order decides previous.x * next.x > 1, so each of up to 0 mill")
    assert "looking at 0 million pairs of events in set 1 of 1" in said


def test_a_comparison_that_an_order_decides_needs_no_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert noted("A.x < NEXT(A).x", monkeypatch)[0] == []
