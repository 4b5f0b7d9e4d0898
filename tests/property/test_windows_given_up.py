"""Windows whose numbers outgrow their words, in busy spells of streams, are run again alone.

Would catch a window that is recorded twice or not at all where some are given up, one that begins
with something of those before it, and one that is given too few events when it is run again. Runs
that are traced give up whole partitions, so they are what is compared with.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from conformance import differences
from loop_groups import long_stream, sample, sample_of_conditions, sample_of_extremes
from loops_of_queries import stream, workload

from hamlet import Workload
from hamlet.kernel import run, widths

GROUPED = "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY g WITHIN 9 s SLIDE 2 s"


def with_spells(random: Random, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events, closer to each other in some spells than in others; some at one time."""
    time, found = 0.0, []
    for number, each in enumerate(events):
        is_busy = number // 150 % 2
        time += random.choice([0.0, 0.02, 0.05] if is_busy else [0.5, 1.0, 3.0])
        found.append(each | {"time": round(time, 2)})
    return found


@pytest.mark.parametrize("seed", range(24))
def test_loops_in_busy_spells(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    text, events = workload(random, most=7), with_spells(random, stream(random, 700, bursts=30))

    monkeypatch.setattr(widths, "_FEW_EVENTS", 10)
    check(text, events)
    monkeypatch.setattr(widths, "_FEW_EVENTS", 10_000)  # all begin with one word
    check(text, events)


@pytest.mark.parametrize("seed", range(6))
def test_short_windows_that_fit_beside_long_ones_that_do_not(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    windows = ["2 s SLIDE 1 s", "40 s SLIDE 3 s", "90 s SLIDE 30 s", "5 s"]
    text = ";".join(
        f"RETURN COUNT(*), {random.choice(['SUM(B.x)', 'MAX(B.x)', 'COUNT(B)'])} "
        f"PATTERN {random.choice(['SEQ(A, B+)', 'B+', 'SEQ(B+, NOT A)'])} WITHIN {window}"
        for window in windows
    )
    kinds = [{"type": random.choice("ABBBBB"), "x": random.random()} for _ in range(900)]

    monkeypatch.setattr(widths, "_FEW_EVENTS", 10_000)
    check(text, with_spells(random, kinds))


@pytest.mark.parametrize("drawing", [sample, sample_of_conditions, sample_of_extremes])
@pytest.mark.parametrize("seed", range(8))
def test_groups_of_rows_in_busy_spells(seed: int, drawing: Any) -> None:
    random = Random(seed)
    for _ in range(3):
        text = drawing(random).workload
        check(text, with_spells(random, long_stream(random, 600, 0.9)))


def check(text: str, events: list[dict[str, Any]]) -> None:
    """Compare a run with one that gives up whole partitions, digit for digit."""
    expected = Workload.parse(text).run(events, trace=True)
    found = Workload.parse(text).run(events)

    assert not differences(expected.table.to_pylist(), found.table.to_pylist()), text


def test_hardly_more_events_are_run_again_than_busy_windows_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(1)
    kinds = [{"type": random.choice("ABBBBB"), "x": 0.5, "g": 1} for _ in range(3_000)]
    events = with_spells(random, kinds)
    words_of: dict[int, int] = {}
    run_once = run.run_once

    def counted(*arguments: Any, **options: Any) -> Any:
        ranges, words = arguments[2], arguments[6]
        words_of[words] = words_of.get(words, 0) + int((ranges[:, 2] - ranges[:, 1]).sum())
        return run_once(*arguments, **options)

    monkeypatch.setattr(run, "run_once", counted)
    monkeypatch.setattr(widths, "_FEW_EVENTS", 10_000)
    Workload.parse(GROUPED).run(events)

    assert words_of[1] == 3_000
    assert 0 < words_of[2] <= 2_000
