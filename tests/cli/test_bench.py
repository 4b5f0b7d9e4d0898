"""`hamlet bench engine`: that it runs, checks answers, and reports what it measured and on what.

Would catch a case that no longer fits the engine, and a report that leaves something out.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from hamlet.bench import streams
from hamlet.bench.engine import CASES, Figure, _check
from hamlet.bench.timing import Spread
from hamlet.errors import InternalError
from hamlet.workload import Workload

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["exact", "scan", "loop"])
def test_a_case_runs_on_small_sizes(hamlet, name: str):
    status, out, err = hamlet("bench", "engine", "--quick", "--only", name)

    assert status == 0
    assert "sizes are small" in out
    assert out.rstrip().endswith(("ok", "short"))
    assert err.startswith(f"measuring {name}: ")


def test_the_report_says_what_was_measured_and_on_what(hamlet, tmp_path: Path):
    path = tmp_path / "engine.json"
    cores = os.sched_getaffinity(0)

    left = hamlet("bench", "engine", "--quick", "--only", "exact", "--out", path)

    report = json.loads(path.read_text(encoding="utf-8"))
    assert left.status == 0
    assert {"command", "machine", "python", "versions", "commit", "repeat"} <= set(report)
    (figure,) = report["figures"]
    assert figure["case"] == "exact"
    assert figure["found"]["low"] <= figure["found"]["median"] <= figure["found"]["high"]
    assert os.sched_getaffinity(0) == cores


def test_names_are_listed_and_others_are_refused(hamlet):
    listing = hamlet("bench", "engine", "--only", "list")
    unknown = hamlet("bench", "engine", "--only", "speed")

    assert [line.split()[0] for line in listing.out.splitlines()] == list(CASES)
    assert unknown.status == 2
    assert "there is no measurement 'speed'" in unknown.err


def test_a_floor_is_a_least_speed_or_a_most_time():
    found = Spread(2.0, 1.0, 3.0)

    assert Figure("", "", 1.5, "M events/s", found).is_kept
    assert not Figure("", "", 1.5, "x the time", found).is_kept


def test_a_wrong_answer_stops_the_measurement():
    stream = streams.bursts(40, 3, 2)
    counts = streams.count_by_loop(stream.kind.tolist(), 2, 20, 5)
    results = Workload.parse(streams.workload(2, 20, 5)).run(stream.table())

    _check(results, counts)
    counts[next(iter(counts))] += 1

    with pytest.raises(InternalError, match="differ"):
        _check(results, counts)
