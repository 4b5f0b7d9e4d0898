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

    assert note.startswith(
        "q1: no order decides previous.x * next.x > 1, so each of up to 3 pairs of events is looked"
    )
    assert "running set 1 of 1" in said


def test_progress_is_the_part_of_the_pairs_that_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Halfway through the events of a window a quarter of its pairs has been looked at."""
    monkeypatch.setattr(slow_loops, "_MANY_PAIRS", 2)
    monkeypatch.setattr(slow_loops, "_LOOK_EVERY_S", 0.002)
    rows = [{"type": "A", "time": t % 1500, "g": t // 1500, "x": t % 7} for t in range(3000)]
    text = "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x > 8 GROUPBY g WITHIN 1 h"
    workload = Workload.parse(text)
    workload.run(rows[:4])  # whatever has to be compiled or loaded is

    told: list[tuple[str, float]] = []
    workload.run(rows, numbers="float", progress=lambda what, done: told.append((what, done)))

    looked = [(what, done) for what, done in told if what.startswith("looked at")]
    assert looked == sorted(looked, key=lambda each: each[1])
    assert any(0.7 < done < 0.9 for _, done in looked)
    assert all(what.endswith("of 2 million pairs of events in set 1 of 1") for what, _ in looked)


def test_only_events_of_the_query_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """B is of another query of the same set, and the first A does not satisfy its condition."""
    monkeypatch.setattr(slow_loops, "_MANY_PAIRS", 0)
    workload = Workload.parse(
        "a: RETURN COUNT(*) PATTERN A+ WHERE A.x > 0 AND A.x * NEXT(A).x > 1 WITHIN 10 s;"
        "b: RETURN COUNT(*) PATTERN (A OR B)+ WITHIN 10 s"
    )

    notes = workload.run(stream("1 A x=0, 2 A x=2, 3 B, 4 A x=3, 5 A x=1")).notes

    assert "each of up to 3 pairs of events" in notes[0]


def test_a_comparison_that_an_order_decides_needs_no_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert noted("A.x < NEXT(A).x", monkeypatch)[0] == []
