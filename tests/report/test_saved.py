"""A run as a folder, and the commands that write and read it.

Would catch a folder that does not give the same report again, one that is left half-written or
takes the place of something else, options of the command line that are ignored, and a broken folder
that ends in a stack trace.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hamlet import ReadError, Workload, WriteError
from hamlet.cli import run as run_cli
from hamlet.report.page import render_report
from hamlet.report.saved import FILES, Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    return run.save(tmp_path / "saved")


@pytest.fixture
def hamlet(
    workload: Workload, events: list[dict[str, Any]], tmp_path: Path, monkeypatch, capsys
) -> Callable[..., tuple[int, str, str]]:
    """The command line, in a folder with a workload and events."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.hql").write_text(workload.text, encoding="utf-8")
    csv.write_csv(pa.Table.from_pylist(events), tmp_path / "events.csv")

    def call(*arguments: str) -> tuple[int, str, str]:
        given = [str(each) for each in arguments]
        if given[0] == "run":
            given += ["--events", "events.csv", "--engine", "local"]
        monkeypatch.setattr("sys.argv", ["hamlet", *given])
        return (run_cli(given), *capsys.readouterr())

    return call


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# Folders


def test_a_saved_run_gives_the_same_report(run, folder):
    loaded = Run.load(folder)

    assert render_report(loaded) == render_report(run)
    assert loaded.table.equals(run.table)
    assert loaded.statistics == run.statistics
    assert loaded.workload.text == run.workload.text
    assert names(folder) == sorted(FILES)


def test_a_run_without_a_trace_has_no_file_of_it(workload, events, tmp_path):
    results = workload.run(events)

    folder = results.save(tmp_path / "saved")

    assert names(folder) == sorted(set(FILES) - {"trace.parquet"})
    assert Run.load(folder).trace is None


def test_an_existing_run_is_replaced_only_when_asked(run, folder):
    before = (folder / "run.json").read_text()
    with pytest.raises(WriteError, match="overwrite"):
        run.save(folder)
    assert (folder / "run.json").read_text() == before

    run.save(folder, overwrite=True)

    assert names(folder) == sorted(FILES)
    assert names(folder.parent) == [folder.name]


def test_a_folder_with_other_things_is_never_replaced(run, folder):
    (folder / "thesis.tex").write_text("years of work")

    with pytest.raises(WriteError, match=r"more than a run \(thesis.tex\)"):
        run.save(folder, overwrite=True)
    assert (folder / "thesis.tex").read_text() == "years of work"


def test_a_run_that_cannot_be_written_leaves_nothing(run, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr("hamlet.report.saved._write_json", full)

    with pytest.raises(WriteError, match="no space left"):
        run.save(tmp_path / "saved")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("run.json", None, "there is no run.json in it"),
        ("run.json", "{", "not JSON"),
        ("run.json", "[1]", "not a JSON object"),
        ("run.json", '{"version": 99}', "of version 99"),
        ("run.json", '{"version": 1}', "not what hamlet run --save wrote"),
        ("statistics.json", '{"storms": 1}', "not what hamlet run --save wrote"),
        ("statistics.json", None, "no such file"),
        ("workload.hql", "RETURN", "not a workload"),
        ("workload.hql", None, "no such file"),
        ("results.parquet", "rows", "not a Parquet file"),
        ("results.parquet", None, "no such file"),
        ("trace.parquet", "rows", "not a Parquet file"),
    ],
)
def test_a_broken_folder_is_told_of_by_its_file(folder, file, text, said):
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)

    with pytest.raises(ReadError, match=said):
        Run.load(folder)


def test_results_without_a_column_are_refused(folder):
    table = parquet.read_table(folder / "results.parquet").drop_columns(["log10"])
    parquet.write_table(table, folder / "results.parquet")

    with pytest.raises(ReadError, match="no column log10"):
        Run.load(folder)


# The command line


def test_run_saves_a_folder_and_report_makes_a_page_of_it(hamlet, tmp_path):
    status, out, err = hamlet("run", "w.hql", "--save", "kept")
    assert status == 0
    assert out.startswith("query ")
    assert err.endswith("wrote kept\n")

    status, out, err = hamlet("report", "kept", "--out", "page.html")

    assert (status, err) == (0, "wrote page.html\n")
    assert out.startswith("3 queries over 210 events of events.csv gave ")
    assert "\nsharing\n" in out
    assert "in time was not measured" in " ".join(out.split())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == render_report(Run.load("kept"))
    assert "hamlet run w.hql --save kept --events events.csv --engine local" in page
    assert names(tmp_path) == ["events.csv", "kept", "page.html", "w.hql"]


def test_the_conclusion_is_one_document(hamlet, tmp_path):
    hamlet("run", "w.hql", "--save", "kept")
    hamlet("run", "w.hql", "--save", "alone", "--sharing", "never")
    arguments = ["report", "kept", "--beside", "alone", "--overwrite", "--out", "page.html"]

    _, text, _ = hamlet(*arguments)
    status, out, err = hamlet(*arguments, "--format", "json")

    document = json.loads(out)
    assert (status, err) == (0, "wrote page.html\n")
    assert document["page"] == "page.html"
    assert document["bytes"] == (tmp_path / "page.html").stat().st_size
    assert text.startswith(document["conclusion"])
    told = " ".join(text.split())
    assert document["sharing"]
    assert all(" ".join(sentence.split()) in told for sentence in document["sharing"])
    assert document["differing_rows"] == [0]
    low, _, none = document["queries"]
    assert (low["name"], none["name"]) == ("low", "none")
    assert low["results"] > low["windows"] > 0
    assert set(low["greatest"]) == {"window", "group", "aggregate", "value"}
    assert low["greatest"]["window"] in text
    assert low["greatest"]["group"]["g"] in text
    assert none["greatest"] is None
    greatest, median = low["greatest"], low["median"]
    assert low["told"] == (
        f'COUNT(*) is greatest in {greatest["window"]} of g "{greatest["group"]["g"]}": '
        f"{greatest['value']}. The median of its {low['results']} results is {median}."
    )
    assert none["told"] == "found nothing."
    assert (document["windows"], document["groups"]) == (62, 4)


def test_run_writes_the_same_page_at_once(hamlet, tmp_path):
    status, _, err = hamlet("run", "w.hql", "--save", "kept", "--report", "page.html")

    assert status == 0
    assert err.endswith("wrote kept\nwrote page.html\n")
    assert (tmp_path / "page.html").read_text() == render_report(Run.load("kept"))
    assert Run.load("kept").trace.num_rows > 0


def test_what_was_asked_is_written_down(hamlet):
    hamlet("run", "w.hql", "--save", "kept", "--numbers", "float", "--sharing", "static")

    found = Run.load("kept")

    assert found.options["numbers"] == "float"
    assert found.options["sharing"] == "static"
    assert (found.engine, found.events) == ("local", "events.csv")
    assert {"processor", "cores", "system", "versions"} <= set(found.circumstances)


def test_runs_beside_it_are_read_too(hamlet, tmp_path):
    hamlet("run", "w.hql", "--save", "kept")
    hamlet("run", "w.hql", "--save", "alone", "--sharing", "never")

    _, out, _ = hamlet("report", "kept", "--beside", "alone", "--out", "page.html")

    told = " ".join(out.split())
    assert "and with sharing never" in told
    assert "The results of all 2 runs are the same." in told
    assert "Runs side by side" in (tmp_path / "page.html").read_text()


def test_python_writes_the_same_report(workload, events, tmp_path):
    results = workload.run(events, trace=True)

    path = results.report(tmp_path / "page.html")

    assert path.read_text(encoding="utf-8") == render_report(Run.of(results))
    with pytest.raises(WriteError, match="overwrite"):
        results.report(path)
    results.report(path, overwrite=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--save", "kept.parquet"], "a run is a folder"),
        (["--save", "no/where"], "there is no folder"),
        (["--save", "full"], "more than a run"),
        (["--save", "full", "--overwrite"], "more than a run"),
        (["--save", "same", "--out", "same"], "the place of the results"),
        (["--report", "page.txt"], "ends with .html"),
        (["--report", "there.html"], "overwrite"),
        (["--report", "no/where.html"], "there is no folder"),
        (["--report", "folder.html"], "is a directory"),
        (["--report", "events.csv"], "the events are there"),
    ],
)
def test_a_place_that_will_not_do_is_refused_before_the_run(hamlet, tmp_path, options, said):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    (tmp_path / "there.html").write_text("mine")
    (tmp_path / "folder.html").mkdir()
    before = names(tmp_path)

    status, out, err = hamlet("run", "w.hql", *options)

    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert names(tmp_path) == before
    assert (tmp_path / "there.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "nowhere", "--out", "page.html"], "no such folder; hamlet run --save writes"),
        (["report", "empty", "--out", "page.html"], "there is no run.json in it"),
        (["report", "kept"], "Missing option '--out'"),
        (["report", "kept", "--out", "there.html"], "overwrite"),
        (["report", "kept", "--beside", "nowhere", "--out", "page.html"], "no such folder"),
    ],
)
def test_a_report_that_cannot_be_made_says_why(hamlet, folder, tmp_path, arguments, said):
    shutil.copytree(folder, tmp_path / "kept")
    (tmp_path / "empty").mkdir()
    (tmp_path / "there.html").write_text("mine")

    status, out, err = hamlet(*arguments)

    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "page.html").exists()
    assert (tmp_path / "there.html").read_text() == "mine"


def test_the_folder_can_be_read_without_hamlet(folder):
    statistics = json.loads((folder / "statistics.json").read_text())

    assert statistics["events_in"] == 210
    assert parquet.read_table(folder / "trace.parquet").num_rows > 0


def test_notes_are_kept_and_in_the_report(tmp_path):
    asked = Workload.parse("RETURN COUNT(*) PATTERN A WHERE A.x > 5 WITHIN 1 s")
    results = asked.run([{"type": "A", "time": 1, "x": 1}])

    loaded = Run.load(results.save(tmp_path / "run"))

    assert loaded.notes == ("q1 has no rows: none of 1 event of type A satisfies x > 5",)
    assert "<li>q1 has no rows: none of 1 event of type A satisfies x &gt; 5</li>" in render_report(
        loaded
    )
