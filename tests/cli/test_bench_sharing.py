"""`hamlet bench sharing` and `hamlet calibrate`: that they run, check answers and leave files.

Would catch a sweep that no longer fits the engine, policies that differ in answers, a report that
leaves a policy or a point out, a picture that cannot be drawn, and coefficients that do not load.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hamlet.bench import calibrate, sharing, sharing_figures
from hamlet.bench.sharing_kernels import POLICIES, Answers, check_equal, kernel
from hamlet.bench.sharing_plot import PANELS, draw
from hamlet.bench.sharing_streams import CHANGING, changing, steady, twins
from hamlet.errors import InternalError
from hamlet.kernel.machine.bundles import FOREVER
from hamlet.share.coefficients import KINDS, load_coefficients
from hamlet.share.policy import UNTIL_SPLIT

if TYPE_CHECKING:
    from pathlib import Path

# Experiments are small here, but they are run.
pytestmark = pytest.mark.slow

FEW = sharing_figures.Size(events=400, repeat=1, queries=3, is_quick=True)
TINY = sharing.Scale(events=600, repeat=2, careful=2, every=6, figures=FEW)
SMALL = calibrate.Scale(slots=4, repeat=1, queries=(2, 3), windows=(1, 2))


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return sharing.measure(scale=TINY, tell=lambda line: None)


def test_every_point_has_all_policies_with_equal_answers(report: dict[str, Any]):
    planned = [p.sweep for sweep in sharing.SWEEPS.values() for p in sweep(TINY)]

    assert Counter(point["sweep"] for point in report["points"]) == Counter(planned)
    assert set(planned) == set(PANELS)
    for point in report["points"]:
        assert set(POLICIES) <= set(point["seconds"])
        assert point["answers_equal"]
        assert point["answers"] > 0
        for spread in point["seconds"].values():
            assert 0 < spread["low"] <= spread["median"] <= spread["high"]


def test_the_report_says_what_was_measured_and_on_what(report: dict[str, Any]):
    text = sharing.as_text(report)

    wanted = {"command", "machine", "python", "versions", "commit", "repeat", "seed"}
    assert wanted <= set(report)
    assert "sizes are small" in text
    for point in report["points"]:
        assert f"{point['sweep']} {point['x']}" in text
    for each in report["wanted"]:
        assert f"{each['what']}" in text
    assert sum("decisions" in each["what"] for each in report["wanted"]) == 2


def test_what_falls_short_is_said(report: dict[str, Any]):
    points = [json.loads(json.dumps(point)) for point in report["points"]]
    best = points[0]["best_other"]
    points[0]["dynamic_over"][best] = {"median": 1.2, "low": 1.1, "high": 1.3}

    first = next(iter(sharing._wanted(points)))

    assert not first.is_kept
    assert first.found.median == 1.2


def test_the_picture_is_drawn_with_a_panel_for_each_sweep(report: dict[str, Any], tmp_path: Path):
    png, svg, drawn_map = draw(report, tmp_path)

    drawn = svg.read_text(encoding="utf-8")
    assert png.read_bytes().startswith(b"\x89PNG")
    for title in {title for title, _, _ in PANELS.values()}:
        assert title in drawn
    for policy in POLICIES:
        assert policy in drawn
    for point in report["grid"]:
        assert f"{point['queries']} queries" in drawn_map.read_text(encoding="utf-8")


def test_every_figure_has_a_floor_and_the_grid_its_points(report: dict[str, Any]):
    wanted = [each["what"] for each in report["wanted"]]

    for begins in ("SEQ(Xi, T+, Yi)", "SEQ(Xi, T+, D)", "3 rising runs", "changing every", "T.v"):
        assert any(what.startswith(begins) for what in wanted), begins
    assert sum(what.startswith("grid: dynamic against") for what in wanted) == 5
    assert sum(what.startswith("20 queries, one its own way") for what in wanted) == 4
    assert all(set(p["took_ns"]) == {"never", "always", "dynamic"} for p in report["grid"])
    assert len(report["grid"]) == 2


def test_points_that_have_been_measured_are_not_measured_again(tmp_path: Path):
    size = replace(FEW, points=tmp_path / "points.jsonl")
    first = sharing_figures.measure_grid(size, lambda line: None)
    lines = size.points.read_text(encoding="utf-8").splitlines()
    size.points.write_text(lines[0] + "\n", encoding="utf-8")

    again = sharing_figures.measure_grid(size, lambda line: None)

    assert len(lines) == len(first) == 2
    assert again[0] == first[0]
    assert [times.point for times in again] == [times.point for times in first]
    assert size.points.read_text(encoding="utf-8").splitlines()[0] == lines[0]


def test_the_command_writes_figures_and_picture_and_prints_the_document_that_it_writes(
    hamlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sharing, "QUICK", TINY)
    folder = tmp_path / "new"
    arguments = ["bench", "sharing", "--quick", "--only", "windows", "--out", folder]

    status, out, err = hamlet(*arguments, "--format", "json")

    written = json.loads((folder / "sharing.json").read_text(encoding="utf-8"))
    assert json.loads(out) == written
    assert {point["sweep"] for point in written["points"]} == {"windows"}
    assert status == (0 if written["kept"] else 1)
    assert f"wrote {folder / 'sharing.json'}\n" in err
    assert (folder / "sharing.png").exists()
    assert (folder / "sharing.svg").exists()


def test_without_matplotlib_figures_are_written_and_one_sentence_said(
    hamlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in [each for each in sys.modules if each.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "hamlet.bench.sharing_plot", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(sharing, "QUICK", TINY)
    left = hamlet("bench", "sharing", "--quick", "--only", "windows", "--out", tmp_path)

    assert left.status == 0
    assert (tmp_path / "sharing.json").exists()
    assert not (tmp_path / "sharing.png").exists()
    assert "no pictures: they need matplotlib" in left.err


def test_names_are_listed_and_others_are_refused(hamlet):
    listing = hamlet("bench", "sharing", "--only", "list")
    unknown = hamlet("bench", "sharing", "--only", "speed")

    assert listing.out.split() == list(sharing.NAMES)
    assert unknown.status == 2
    assert "there is no measurement 'speed'" in unknown.err


def test_answers_that_differ_stop_the_measurement():
    one = Answers(np.array([0, 1]), np.array([3, 3]), np.array([2.0, 5.0]))

    check_equal(one, one._replace(trends=one.trends + 1e-12))

    with pytest.raises(InternalError, match="counts"):
        check_equal(one, one._replace(trends=one.trends + 1e-6))
    with pytest.raises(InternalError, match="windows"):
        check_equal(one, one._replace(window=np.array([3, 4])))


def test_the_static_policy_follows_the_events_before():
    text, table = twins(4, 24, 2), steady(400, 3, 4, 0.5)

    (agreeing,) = kernel(text, table, "float", "static", steady(400, 3, 4, 0.0)).pieces
    (disagreeing,) = kernel(text, table, "float", "static", steady(400, 3, 4, 0.9)).pieces

    assert agreeing[1].patience == (UNTIL_SPLIT,)
    assert disagreeing[1].patience == (FOREVER,)


def test_a_changing_stream_has_all_its_phases():
    events = changing(100 * len(CHANGING), 100, 5)

    for number, phase in enumerate(CHANGING):
        part = events.slice(100 * number, 100)
        is_start = np.array(part["type"].to_pylist()) == "X"
        named = part["v"].to_numpy()[is_start] >= 0
        assert is_start.sum() == -(-100 // (phase.burst + 1))
        assert named.all() if phase.disagree == 1 else True
        assert not named.any() if phase.disagree == 0 else named.any()


# Coefficients


def test_calibration_writes_a_file_that_loads_again(
    hamlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(calibrate, "QUICK", SMALL)
    path = tmp_path / "coefficients.json"

    left = hamlet("calibrate", "--quick", "--out", path)

    assert left.status == 0
    table = load_coefficients(path)
    for kind in KINDS:
        assert kind in left.out
        assert table.of(kind).event > 0
    assert "100 %" in left.err


def test_calibration_prints_the_document_that_it_writes(
    hamlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(calibrate, "QUICK", SMALL)
    path = tmp_path / "coefficients.json"

    status, out, err = hamlet("calibrate", "--quick", "--out", path, "--format", "json")

    assert status == 0
    assert json.loads(out) == json.loads(path.read_text(encoding="utf-8"))
    assert set(json.loads(out)) == set(KINDS)
    assert err.endswith(f"wrote {path}\n")


def test_least_squares_finds_what_samples_were_made_of():
    samples = [
        calibrate.Sample(w, 2, words, 20 + (3 + 0.5 * words) * 2 * w)
        for w in (1, 4, 12)
        for words in (2, 4)
    ]

    found = calibrate._fitted(samples, [2] * len(samples))

    assert found == pytest.approx((20, 3, 0.5))


def test_no_coefficient_is_below_zero():
    falling = [calibrate.Sample(w, 1, 1, 10.0 - w) for w in (1, 2, 4)]

    fixed, per_number, _ = calibrate._fitted(falling, [1, 1, 1])

    assert fixed > 0
    assert per_number == 0
