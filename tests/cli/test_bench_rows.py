"""The grid of rows with an edge predicate: answers agree at each point, and all ways are timed."""

from __future__ import annotations

import pytest

from hamlet.bench.sharing_rows import WAYS, RowPoint, measured, points


@pytest.mark.slow
def test_a_point_of_the_grid_is_measured_in_all_ways() -> None:
    times = measured(RowPoint(queries=3, live=30, windows=4, burst=5), events=600, repeat=1)

    assert set(times.took_ns) == set(WAYS)
    assert min(times.took_ns.values()) > 0
    assert times.over_best > 0


def test_the_stream_of_a_point_has_an_x_and_a_y_for_each_burst() -> None:
    types = RowPoint(2, 30, 1, 3).table(10)["type"].to_pylist()

    assert [name[0] for name in types] == list("XTTTYXTTTY")
    assert len(list(points(quick=True))) == 2
    assert 4 * len(list(points(coarse=True))) <= len(list(points()))
    assert set(points(coarse=True)) < set(points())
