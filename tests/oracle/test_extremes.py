"""Extremes and sums of long streams, against what they are by definition.

In SEQ(X, T+) every T after an X of its window belongs to some trend, so the extremes of a window
are those of these Ts. Would catch extremes that are brought up to date too late, for events before
a window has trends, or not at all; enumeration cannot reach streams in which they wait.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from hamlet import Workload

WITHIN, SLIDE, QUERIES = 40, 10, 3


def stream(seed: int, events: int = 400) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    rows, time = [], 0
    for _ in range(events):
        time += chance.choice([1, 1, 1, 1, 2, 2, 30 if chance.random() < 0.1 else 1])
        kind = f"X{chance.randrange(QUERIES)}" if chance.random() < 0.4 else "T"
        value = None if chance.random() < 0.1 else chance.randrange(-50, 50)
        rows.append({"type": kind, "time": time, "v": value})
    return rows


def by_definition(rows: list[dict[str, Any]], query: int) -> dict[int, tuple[Any, ...]]:
    """For each window with trends: their number, and the extremes and sum of v over them."""
    found = {}
    last = rows[-1]["time"]
    for start in range(-WITHIN + SLIDE, last + 1, SLIDE):
        starts = count = total = 0
        values = []
        for row in rows:
            if not start <= row["time"] < start + WITHIN:
                continue
            if row["type"] == f"X{query}":
                starts += 1
            elif row["type"] == "T" and starts:
                new = starts + count
                total += total + new * (row["v"] or 0)
                count += new
                values += [] if row["v"] is None else [row["v"]]
        if count:
            found[start] = (count, min(values, default=None), max(values, default=None),
                            total if values else None)  # fmt: skip
    return found


@pytest.mark.parametrize(
    "returns", ["COUNT(*), MIN(T.v), MAX(T.v)", "COUNT(*), MIN(T.v), MAX(T.v), SUM(T.v)"]
)
@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_extremes_are_those_of_all_events_that_can_belong(numbers: str, returns: str) -> None:
    text = ";".join(
        f"q{q}: RETURN {returns} PATTERN SEQ(X{q}, T+) WITHIN {WITHIN} s SLIDE {SLIDE} s"
        for q in range(QUERIES)
    )
    seen = 0
    for seed in range(25):
        rows = stream(seed)
        table = Workload.parse(text).run(rows, numbers=numbers).table.to_pylist()
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for row in table:
            at = found.setdefault((row["query"], int(row["window_start"])), {})
            at[row["aggregate"]] = row["value"]
        for q in range(QUERIES):
            expected = by_definition(rows, q)
            assert {start for name, start in found if name == f"q{q}"} == set(expected)
            for start, values in expected.items():
                actual = tuple(found[f"q{q}", start].values())
                assert len(actual) == returns.count("(")
                for mine, theirs in zip(actual, values, strict=False):
                    assert (mine is None) == (theirs is None)
                    assert mine is None or math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-9)
                seen += 1
    assert seen > 1000
