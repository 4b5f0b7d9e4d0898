"""`hamlet bench scale`: costs that explain runs, and what is worked out from them.

Would catch costs that are negative or that leave out what a run did, and a report that tells
another prediction than its costs make.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hamlet.bench.scale import Costs, Seen, Shape, as_text, seen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def run(events: int, snapshots: int, rows: int) -> Seen:
    """A run that takes 10 ns for an event, 100 for a snapshot and 50 for a row, and 20 around."""
    shape = Shape(events, 10, 100, 20, 5.0)
    kernel = 10 * events + 100 * snapshots
    return Seen(shape, snapshots, rows, 20e-9 * events, 1e-9 * kernel, 50e-9 * rows, 64_000, 6_400)


def test_costs_are_those_that_runs_have():
    costs = Costs.of([run(1000, 30, 7), run(2000, 500, 90), run(9000, 10, 400)])

    assert costs.encode_event == pytest.approx(20)
    assert costs.event == pytest.approx(10)
    assert costs.snapshot == pytest.approx(100)
    assert costs.row == pytest.approx(0, abs=1e-6)
    assert costs.finish_row == pytest.approx(50)
    assert costs.state_bytes == pytest.approx(64)
    assert costs.seconds(100, 10, 2) == pytest.approx(1e-9 * (30 * 100 + 1000 + 100))


def test_no_cost_is_negative():
    # Kernels that are faster the more rows there are.
    some = [Seen(Shape(1000, 10, 10, 20, 5), n, n, 1e-6, 1e-5 / n, 1e-6, 1, 1) for n in (1, 10, 90)]

    costs = Costs.of(some)

    assert min(costs.event, costs.snapshot, costs.row) >= 0


@pytest.mark.slow
def test_a_run_is_looked_at_in_the_middle_of_a_window():
    found = seen(Shape(4000, 3, 50, 40, 5.0))

    assert found.rows > 0
    assert found.state_bytes > 1000
    assert 0 < found.changed_bytes <= found.state_bytes


@pytest.mark.slow
def test_the_command_tells_what_it_writes(
    hamlet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from hamlet.bench import scale

    some = [Shape(3000, q, g, 20, 5.0) for q in (2, 200) for g in (100, 2000)]
    monkeypatch.setattr(scale, "shapes", lambda _: some)
    monkeypatch.setattr(scale, "largest", lambda _: Shape(3000, 50, 150, 20, 5.0))

    left = hamlet("bench", "scale", "--quick", "--out", tmp_path / "scale.json")

    report = json.loads((tmp_path / "scale.json").read_text())
    assert left.status == 0
    assert left.out == as_text(report)
    assert "3,000 events" in left.out
    assert report["asked"]["cores"] > 0
