"""`hamlet bench paper`, `peers` and `compare`, and `hamlet run --system`.

Would catch an experiment that no longer fits the engine, systems whose answers differ and that are
timed all the same, a system that is left out instead of shown as over its limit or refused, a
process that is left running, figures that are measured again though they are there, and a
comparison that calls noise a change.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hamlet.bench import paper, peers
from hamlet.bench.compare import changes
from hamlet.bench.paper_plot import LOOKS, PICTURES, XS, draw
from hamlet.bench.paper_points import ALL, FULL, POLICIES, QUICK, SWEEPS, SweepPoint
from hamlet.bench.paper_streams import stored_stream, stream_of, write_stream
from hamlet.bench.paper_worker import measured
from hamlet.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Experiments are small here, but they are run.
pytestmark = pytest.mark.slow

TINY = replace(QUICK, name="tiny", repeat=2, limit_s=10, stock_minutes=4, growth_seconds=(0.5, 10))


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    kept = []
    found = paper.measure(["growth"], scale=TINY, keep=lambda r: kept.append(len(r["points"])))
    assert kept == [1, 2]
    return found


def test_every_system_is_measured_or_shown_as_refused(report: dict[str, Any]):
    status = [{n: f["status"] for n, f in p["found"].items()} for p in report["points"]]

    assert status[0] == dict.fromkeys(ALL, "measured")
    assert status[1] == status[0] | {"mcep": "refused"}
    for point in report["points"]:
        for found in point["found"].values():
            if found["status"] == "measured":
                for name in {"latency_s", "kernel_s", "events_per_s"} & set(found):
                    assert 0 < found[name]["low"] <= found[name]["median"] <= found[name]["high"]
                assert found["peak_mib"]["low"] >= 0
                assert "latency_s" in found
            else:
                assert found["code"] == "system-limit"


def test_the_report_says_what_was_measured_and_on_what(report: dict[str, Any]):
    text = paper.as_text(report)

    wanted = {"command", "machine", "python", "versions", "commit", "repeat", "seed", "limit_s"}
    assert wanted <= set(report)
    for point in report["points"]:
        assert f"growth {point['x']:g}" in text
    assert "refused: mcep gave up" in text


def test_what_is_known_is_not_measured_again(report: dict[str, Any]):
    again = paper.measure(["growth"], scale=TINY, known=report, keep=lambda r: pytest.fail("again"))

    assert again["points"] == report["points"]


def test_the_command_prints_the_document_that_it_writes(
    hamlet: Callable[..., Any],
    report: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(paper, "QUICK", TINY)
    # All of it is known, so nothing is measured again.
    (tmp_path / "paper.json").write_text(json.dumps(report), encoding="utf-8")

    arguments = ["bench", "paper", "--only", "growth", "--out", tmp_path, "--format", "json"]
    status, out, err = hamlet(*arguments)

    written = json.loads((tmp_path / "paper.json").read_text(encoding="utf-8"))
    assert status == 0
    assert json.loads(out) == written
    assert written["points"] == json.loads(json.dumps(report["points"]))
    assert f"wrote {tmp_path / 'paper.json'}\n" in err


def test_figures_of_other_sources_are_not_gone_on_with(report: dict[str, Any]):
    points = [point for point in SWEEPS["growth"](TINY)]

    assert len(paper._still_right(report, TINY, points)) == len(points)
    assert paper._still_right(report | {"sources": "other"}, TINY, points) == []
    assert paper._still_right(report, FULL, points) == []


def test_pictures_are_drawn_of_what_there_is(report: dict[str, Any], tmp_path: Path):
    written = draw(report, tmp_path)

    assert [path.name for path in written] == ["paper-growth.png", "paper-growth.svg"]
    assert all(path.stat().st_size > 10_000 for path in written)
    assert set(SWEEPS) == set(XS) == {sweep for sweeps in PICTURES.values() for sweep in sweeps}
    assert len({look.colour for look in LOOKS.values()}) == len(LOOKS)


def test_a_system_over_its_limit_is_ended_and_shown_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paper, "_LOOK_S", 0.001)
    point = next(SWEEPS["growth"](TINY))
    with paper._Workers() as workers:
        process = workers.of("greta").process
        found = paper.measure_point(
            replace(point, series=("greta",)), replace(TINY, limit_s=1e-6), workers, print
        )
        assert workers.running == {}

    assert found["found"]["greta"]["status"] == "over limit"
    assert process.poll() is not None


def test_the_limit_is_for_answers_and_not_for_counting():
    said = {"rows": 1, "events": 1, "counts": {}, "analysis_s": 0.0}
    figures = {"latency_s": 1.0, "total_s": 1.0, "is_last": True}
    waited: list[float] = []

    class Worker:
        replies = iter([{"ready": True}, {"answered": True}, said, figures])

        def send(self, task: dict[str, Any]) -> None:
            pass

        def receive(self, seconds: float) -> dict[str, Any]:
            waited.append(seconds)
            return next(self.replies)

    class Workers:
        def of(self, name: str) -> Worker:
            return Worker()

    scale = replace(TINY, repeat=1, limit_s=2.0)
    task = {"name": "never", "pieces": 3, "repeat": 1}
    found = paper._measure_series(Workers(), task, scale)

    assert found["status"] == "measured"
    assert waited == [paper._START_S, 6.0, paper._START_S, 6.0]


def test_real_files_that_are_not_there_are_left_out_or_told_of(
    hamlet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paper, "measure_point", lambda point, *_: point.as_dict())
    report = paper.measure(scale=TINY, data=str(tmp_path))
    asked = hamlet("bench", "paper", "--only", "cabs-groups", "--data", tmp_path)

    assert {"trades-queries", "cabs-groups"} < set(report["left_out"])
    assert {p["sweep"] for p in report["points"]} == set(SWEEPS) - set(report["left_out"])
    assert asked.status == 2
    assert "there is no such file" in asked.err


def test_a_process_that_is_refused_before_it_begins_is_not_waited_for():
    point = next(SWEEPS["cabs-groups"](TINY))
    with paper._Workers(data="nowhere") as workers:
        found = paper.measure_point(replace(point, series=("never",)), TINY, workers, print)

    assert found["found"]["never"]["status"] == "refused"
    assert "there is no such folder" in found["found"]["never"]["why"]


def test_all_processes_get_the_stream_that_was_made_once(tmp_path: Path):
    point = replace(next(SWEEPS["stock-twins"](TINY)), pieces=11, minutes=0.5).as_dict()
    write_stream(point, tmp_path)
    made, stored = stream_of(point), stored_stream(tmp_path)

    assert len(stored[1]) == 11
    assert stored[0] == made[0].combine_chunks()
    assert [piece.to_pylist() for piece in stored[1]] == [piece.to_pylist() for piece in made[1]]


def test_every_sweep_has_points_of_both_scales():
    for scale in (QUICK, FULL):
        for name, sweep in SWEEPS.items():
            points = list(sweep(scale))
            assert [p.sweep for p in points] == [name] * len(points)
            assert len(points) >= (1 if name == "paced" else 2) + (scale is FULL)


@pytest.mark.parametrize("sweep", ["stock-edges-queries", "stock-twins"])
def test_policies_have_the_same_answers_and_count_what_they_decide(sweep: str, tmp_path: Path):
    point = next(SWEEPS[sweep](TINY))
    assert point.series == POLICIES
    counts = {}
    write_stream(point.as_dict(), tmp_path)
    for policy in POLICIES:
        task = {**point.as_dict(), "name": policy, "repeat": 5, "are_policies": True}
        task["enough_s"] = 0.0  # so once is enough
        task["stream"] = str(tmp_path)
        path = str(tmp_path / f"{policy}.arrow")
        ready, answered, did, figures = measured(task | {"answers": path})
        assert (ready, answered) == ({"ready": True}, {"answered": True})
        counts[policy] = did["counts"]
        assert figures["total_s"] > 0
        mine, first = (paper._read(tmp_path / f"{name}.arrow") for name in (policy, "dynamic"))
        paper.check_equal(point, policy, mine, first)
    about = "burst" if sweep == "stock-edges-queries" else "touch"
    assert counts["dynamic"]["decisions"] > 0
    assert any(name.startswith(about) for name in counts["dynamic"])
    assert counts["never"].get("decisions", 0) == 0
    assert all(each["state_bytes"] > 0 for each in counts.values())


def test_answers_that_differ_are_refused():
    point = SweepPoint("taxi-events", 1, "taxi", 100, 2, 1, 1, ("hamlet", "greta"))
    columns = {name: ["a", "b"] for name in ("query", "group", "aggregate")}
    columns |= {"window_start": [0, 1], "window_end": [1, 2]}
    one = pa.table(columns | {"value": [1.0, None], "log10": [0.0, None]})
    other = pa.table(columns | {"value": [1.0 + 1e-8, None], "log10": [0.0, None]})

    paper.check_equal(point, "greta", one, one)
    with pytest.raises(InternalError, match="greta and hamlet differ in their values"):
        paper.check_equal(point, "greta", other, one)
    with pytest.raises(InternalError, match="differ in their rows"):
        paper.check_equal(point, "greta", one.slice(0, 1), one)


def test_names_are_listed_and_unknown_ones_refused(hamlet: Callable[..., Any]):
    assert hamlet("bench", "paper", "--only", "list").out.split() == list(SWEEPS)
    unknown = hamlet("bench", "paper", "--only", "speed")
    assert unknown.status == 2
    assert "there is no experiment 'speed'" in unknown.err
    assert hamlet("bench", "peers", "--only", "speed").status == 2


# Peers


@pytest.mark.parametrize("name", ["count", "sum", "many", "edge"])
def test_peers_give_the_answers_of_the_engine(name: str):
    (case,) = [case for case in peers.cases(quick=True) if case.name == name]
    found = peers.measure_case(replace(case, events=900), repeat=2)

    assert found["answers"] > 30
    for peer in peers.NAMES:
        assert found["found"][peer]["status"] == "measured"
        assert found["found"][peer]["seconds"]["low"] > 0


def test_peers_that_differ_are_refused():
    with pytest.raises(InternalError, match="in the windows"):
        peers.check_equal("python", {}, {("q0", 0): 1.0})
    with pytest.raises(InternalError, match="duckdb and hamlet differ in"):
        peers.check_equal("duckdb", {("q0", 0): 1.0}, {("q0", 0): 1.1})


def test_peers_are_told_from_the_command_line(hamlet: Callable[..., Any], tmp_path: Path):
    out = tmp_path / "peers.json"
    left = hamlet("bench", "peers", "--quick", "--only", "edge", "--out", out)

    assert left.status == 0
    assert "edge: COUNT(*) where v rises" in left.out
    assert json.loads(out.read_text())["points"][0]["name"] == "edge"


# Compare


def spread(middle: float) -> dict[str, float]:
    return {"median": middle, "low": 0.99 * middle, "high": 1.01 * middle}


def figures(latency: float, rate: float) -> dict[str, Any]:
    found = {"greta": {"latency_s": spread(latency), "events_per_s": spread(rate)}}
    return {"points": [{"sweep": "growth", "x": 8.0, "found": found}]}


def test_compare_tells_better_from_worse_and_both_from_noise(
    hamlet: Callable[..., Any], tmp_path: Path
):
    def told(old: dict[str, Any], new: dict[str, Any], *more: str) -> Any:
        for name, each in (("old.json", old), ("new.json", new)):
            (tmp_path / name).write_text(json.dumps(each))
        return hamlet("bench", "compare", tmp_path / "old.json", tmp_path / "new.json", *more)

    slower = told(figures(1.0, 100.0), figures(2.0, 100.0))
    assert slower.status == 1
    assert "growth 8 found greta latency_s" in slower.out
    assert "0 better, 1 worse, 1 no change" in slower.out
    faster = told(figures(1.0, 100.0), figures(0.5, 200.0))
    assert faster.status == 0
    assert "2 better, 0 worse" in faster.out
    assert told(figures(1.0, 100.0), figures(1.08, 95.0)).status == 0
    assert told(figures(1.0, 100.0), figures(1.08, 95.0), "--band", "0.01").status == 1
    nothing = told(figures(1.0, 1.0), {"points": []})
    assert nothing.status == 2
    assert "no figure in common" in nothing.err
    assert hamlet("bench", "compare", tmp_path / "old.json", tmp_path / "none.json").status == 2


def test_compare_reads_what_experiments_write(report: dict[str, Any]):
    found, alone = changes(report, report)

    assert not alone
    names = [change.what for change in found]
    assert len(names) == len(set(names)) > 40
    assert {change.verdict(0.0) for change in found} == {"no change"}


# Systems


def test_run_takes_a_system(hamlet: Callable[..., Any], tmp_path: Path):
    workload, events = tmp_path / "q.hql", tmp_path / "e.jsonl"
    workload.write_text("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s")
    events.write_text("".join(f'{{"time": {t}, "type": "{k}"}}\n' for t, k in enumerate("AACBBBB")))

    def run(*more: str) -> Any:
        return hamlet("run", workload, "--events", events, "--format", "json", *more)

    expected = run().out
    assert '"exact":"30"' in expected.replace(" ", "")
    for system in ("greta", "sharon", "mcep"):
        assert run("--system", system).out == expected
    refused = run("--system", "greta", "--engine", "spark")
    assert refused.status == 2
    assert "greta does not run on Spark. Pass --engine local." in refused.err
