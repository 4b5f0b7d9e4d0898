"""MATCH NEXT with a comparison over longer streams, against its recurrence written down plainly.

Would catch a stored event that is taken twice, or never, or from the wrong end of the order; events
of one time of which one takes away what another goes on with; null, zero and its negative; what no
open window has that is counted, or never forgotten.
"""

from __future__ import annotations

import operator
from itertools import groupby
from random import Random
from typing import Any

import pytest

from hamlet import Workload

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
WITHIN, SLIDE = 60, 20
Trends = list[tuple[float | None, int, float]]  # by the last event: its side, how many, their sum


def drawn(chance: Random, count: int) -> list[dict[str, Any]]:
    """Long stretches that mostly fall or mostly rise, now and then many events of one time."""
    events: list[dict[str, Any]] = []
    time, level, trend = 0, 0, 1
    while len(events) < count:
        trend = chance.choice((-1, -1, 1)) if chance.random() < 0.05 else trend
        time += chance.choice((1, 1, 1, 2))
        for _ in range(chance.choice((1, 1, 1, 1, 2, 9))):
            level += trend * chance.choice((0, 1, 1, 2, -1))
            x = None if chance.random() < 0.05 else chance.choice((level, -0.0, level / 2, level))
            y = None if chance.random() < 0.05 else chance.choice((level, level + 1, 0))
            kind = chance.choice("TTTTTTTTTTTTAAB")
            events.append({"type": kind, "time": time, "x": x, "y": y})
    return events


def answered(
    events: list[dict[str, Any]], parts: str, symbol: str, sides: tuple[str, str]
) -> dict[int, tuple[int, float]]:
    """How many trends there are in each window, and the sum of x over their Ts."""
    found = {}
    last = events[-1]["time"] // SLIDE
    for start in range((-WITHIN // SLIDE + 1) * SLIDE, (last + 1) * SLIDE, SLIDE):
        some = [event for event in events if start <= event["time"] < start + WITHIN]
        total = of_window(some, parts, symbol, sides)
        if total[0]:
            found[start] = total
    return found


def of_window(
    events: list[dict[str, Any]], parts: str, symbol: str, sides: tuple[str, str]
) -> tuple[int, float]:
    """The same in one window; parts are A, T and B, of which the first and the last may lack."""
    begun, waiting, ended = 0, Trends(), (0, 0.0)
    for _, simultaneous in groupby(events, lambda event: event["time"]):
        taken: set[int] = set()
        some, after, begins, has_taken = list(simultaneous), Trends(), 0, False
        for event in some:
            if event["type"] == "A":
                begins += "A" in parts
                continue
            side, x = event[sides[1]], event["x"] or 0
            if event["type"] == "B":
                own = list(range(len(waiting))) if "B" in parts else []
            else:
                own = [
                    n
                    for n, (before, _, _) in enumerate(waiting)
                    if None not in (before, side) and COMPARE[symbol](before, side)
                ]
            taken |= set(own)
            count, total = (sum(waiting[n][k] for n in own) for k in (1, 2))
            if event["type"] == "B":
                ended = ended[0] + count, ended[1] + total
                continue
            count += begun if "A" in parts else 1
            has_taken = True
            after.append((event[sides[0]], count, total + count * x))
            if "B" not in parts:
                ended = ended[0] + count, ended[1] + total + count * x
        begun = begins if has_taken else begun + begins
        waiting = [each for n, each in enumerate(waiting) if n not in taken]
        waiting += [each for each in after if each[1]]
    return ended


@pytest.mark.parametrize("numbers", ["exact", "float"])
@pytest.mark.parametrize("seed", range(16))
def test_what_goes_on_is_taken_once(seed: int, numbers: str) -> None:
    chance = Random(seed)
    parts, symbol = chance.choice(("T", "AT", "TB", "ATB")), chance.choice(list(COMPARE))
    sides = chance.choice((("x", "x"), ("x", "x"), ("x", "y")))
    events = drawn(chance, 700)
    places = ", ".join("T t+" if part == "T" else part for part in parts)
    text = (
        f"RETURN COUNT(*) AS n, SUM(t.x) AS s PATTERN SEQ({places}) MATCH NEXT "
        f"WHERE t.{sides[0]} {symbol} NEXT(t).{sides[1]} WITHIN {WITHIN} s SLIDE {SLIDE} s"
    )

    rows = Workload.parse(text).run(events, numbers=numbers).table.to_pylist()

    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(int(row["window_start"]), {})[row["aggregate"]] = row["value"]
    expected = answered(events, parts, symbol, sides)
    assert {start: each["n"] for start, each in found.items()} == {
        start: count for start, (count, _) in expected.items()
    }
    for start, (_, total) in expected.items():
        assert (found[start]["s"] or 0) == pytest.approx(total, rel=1e-9, abs=1e-6)
