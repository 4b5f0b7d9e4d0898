"""`hamlet run`: tables, files of every kind, exit status, and what is refused.

Would catch a stack trace for a bad file, output that overwrites something or is left half-written,
talk on standard output, and a number that is shortened into another one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hamlet import Workload
from hamlet.cli.console import interruptible
from hamlet.io import writers
from hamlet.kernel.compiling import COMPILING

ROOT = Path(__file__).parents[2]
QUERIES = """\
q1: RETURN COUNT(*), MAX(B.x) AS top PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s;
q2: RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10 s
"""
EVENTS = "time,type,g,x\n" + "".join(
    f"{time},{type},u,{time}\n" for time, type in enumerate("AACBBBB")
)
TABLE = """\
query  window   group       aggregate  value
q1     [0, 10)  {"g": "u"}  COUNT(*)      30
q1     [0, 10)  {"g": "u"}  top            6
q2     [0, 10)  {}          COUNT(*)      15
"""
WIDE = """\
q1
window   g  COUNT(*)  top
[0, 10)  u        30    6

q2
window   COUNT(*)
[0, 10)        15
"""


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "w.hql"
    path.write_text(QUERIES, encoding="utf-8")
    return path


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS, encoding="utf-8")
    return path


def one_sentence(text: str) -> bool:
    """Whether a message is one line that says who speaks, without a stack trace."""
    return text.startswith("hamlet: ") and text.count("\n") == 1 and "Traceback" not in text


def talk(text: str) -> list[str]:
    """The first words of the lines on standard error, except that kernels are compiled."""
    return [line.split()[0] for line in text.splitlines() if not line.startswith(COMPILING)]


# On standard output


def test_a_table_goes_to_standard_output_and_statistics_to_standard_error(hamlet, queries, events):
    status, out, err = hamlet("run", queries, "--events", events)

    assert (status, out) == (0, TABLE)
    assert "events    7 in, 7 used, 0 malformed, 0 late\n" in err
    assert talk(err) == ["events", "results", "seconds", "work"]


def test_wide_prints_a_table_for_each_query(hamlet, queries, events):
    assert hamlet("run", queries, "--events", events, "--wide").out == WIDE


def test_the_workload_may_come_from_standard_input(hamlet, events):
    assert hamlet("run", "-", "--events", events, stdin=QUERIES.encode()).out == TABLE


@pytest.mark.parametrize("sharing", ["dynamic", "always", "never", "static", "apart"])
@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_options_change_how_and_not_what(hamlet, queries, events, sharing: str, numbers: str):
    options = ["--sharing", sharing, "--numbers", numbers, "--engine", "local"]

    assert hamlet("run", queries, "--events", events, *options).out == TABLE


def test_columns_may_have_other_names(hamlet, queries, events, tmp_path: Path):
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(EVENTS.replace("time,type", "at,kind"), encoding="utf-8")

    left = hamlet("run", queries, "--events", renamed, "--type", "kind", "--time", "at")

    assert (left.status, left.out) == (0, TABLE)


def test_an_order_column_decides_between_equal_times(hamlet, tmp_path: Path):
    path = tmp_path / "tied.csv"
    path.write_text("time,type,n\n1,B,2\n1,A,1\n", encoding="utf-8")
    text = b"RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s"

    tied = hamlet("run", "-", "--events", path, "--format", "json", stdin=text)
    ordered = hamlet("run", "-", "--events", path, "--order", "n", "--format", "json", stdin=text)

    assert tied.out == ""
    assert json.loads(ordered.out)["exact"] == "1"


def test_json_prints_every_row_as_a_file_would_have_it(hamlet, queries, events, tmp_path: Path):
    path = tmp_path / "out.jsonl"

    left = hamlet("run", queries, "--events", events, "--format", "json")
    hamlet("run", queries, "--events", events, "--out", path)

    assert left.out == path.read_text(encoding="utf-8")
    assert [json.loads(line)["exact"] for line in left.out.splitlines()] == ["30", None, "15"]


def test_json_has_the_wide_form_too(hamlet, queries, events):
    left = hamlet("run", queries, "--events", events, "--format", "json", "--wide")

    first, second = map(json.loads, left.out.splitlines())
    assert (first["query"], first["g"], first["COUNT(*)"], first["top"]) == ("q1", "u", 30.0, 6.0)
    assert (second["query"], second["COUNT(*)__exact"]) == ("q2", "15")


def test_at_most_fifty_rows_are_shown_and_the_rest_is_counted(hamlet, tmp_path: Path):
    path = tmp_path / "events.csv"
    rows = (f"{time},T\n" for time in range(120))
    path.write_text("time,type\n" + "".join(rows), encoding="utf-8")
    text = b"RETURN COUNT(*) PATTERN T+ WITHIN 1 s"

    lines = hamlet("run", "-", "--events", path, stdin=text).out.splitlines()

    assert len(lines) == 1 + 50 + 1
    assert lines[-1] == "... and 70 more rows"


MANY = """\
q1: RETURN COUNT(*), MAX(B.x) AS top PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s;
q2: RETURN COUNT(*), MAX(B.x) AS top PATTERN B+ GROUPBY g WITHIN 10 s
"""


@pytest.fixture
def many(tmp_path: Path) -> tuple[Path, Path]:
    """Two queries with the same columns, and events that give 40 windows with two groups each."""
    queries, events = tmp_path / "many.hql", tmp_path / "many.csv"
    queries.write_text(MANY, encoding="utf-8")
    rows = [f"{10 * w + t},{'AB'[t > 0]},{g},{t}" for w in range(40) for g in "uv" for t in (0, 1)]
    events.write_text("time,type,g,x\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return queries, events


def test_every_query_has_rows_on_the_screen_however_many_the_first_has(hamlet, many):
    lines = hamlet("run", many[0], "--events", many[1]).out.splitlines()

    assert [line.split()[0] for line in lines[1:-1]] == ["q1"] * 25 + ["q2"] * 25
    assert lines[-1] == "... and 270 more rows"


def test_screen_and_report_count_windows_and_groups_alike(hamlet, many, tmp_path: Path):
    page, folder = tmp_path / "page.html", tmp_path / "kept"

    left = hamlet("run", many[0], "--events", many[1], "--save", folder, "--report", page)

    assert "results   80 windows, 4 groups\n" in left.err
    told = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
    assert (told["windows"], told["groups"]) == (80, 4)
    text = page.read_text(encoding="utf-8")
    assert "<dt>windows</dt><dd><b>80</b> <span>with results, of all queries</span>" in text
    assert "<dt>groups</dt><dd><b>4</b> <span>with results, of all queries</span>" in text


def test_one_of_something_is_not_many(hamlet, queries, events):
    err = hamlet("run", queries, "--events", events).err

    assert "results   2 windows, 2 groups\n" in err
    one = hamlet("run", "-", "--events", events, stdin=QUERIES.splitlines()[0][:-1].encode()).err
    assert "results   1 window, 1 group\n" in one


@pytest.mark.parametrize(
    ("is_terminal", "options", "is_wide"),
    [(True, [], True), (True, ["--long"], False), (False, [], False), (False, ["--wide"], True)],
)
def test_a_terminal_gets_the_wide_form_where_columns_are_the_same(
    hamlet, many, monkeypatch: pytest.MonkeyPatch, is_terminal, options, is_wide
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)

    out = hamlet("run", many[0], "--events", many[1], *options).out

    assert ("aggregate" in out) != is_wide
    assert ("top" in out.splitlines()[1] + out.splitlines()[2]) or not is_wide


def test_queries_with_other_columns_stay_in_one_table_on_a_terminal(
    hamlet, queries, events, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert "aggregate" in hamlet("run", queries, "--events", events).out


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_a_large_count_is_shortened_and_not_rounded_up(hamlet, tmp_path: Path, numbers: str):
    path = tmp_path / "events.csv"
    rows = (f"{time},T\n" for time in range(1500))
    path.write_text("time,type\n" + "".join(rows), encoding="utf-8")
    text = b"RETURN COUNT(*) PATTERN T+ WITHIN 1 h"

    left = hamlet("run", "-", "--events", path, "--numbers", numbers, stdin=text)

    digits = str(2**1500 - 1)
    assert left.out.split()[-1] == f"{digits[0]}.{digits[1:3]}e+{len(digits) - 1}"


def test_no_events_give_no_rows(hamlet, queries, events):
    events.write_text("time,type,g,x\n", encoding="utf-8")

    left = hamlet("run", queries, "--events", events)

    assert left.status == 0
    assert left.out == "query  window  group  aggregate  value\n"


def test_values_cannot_command_the_terminal(hamlet, queries, events):
    events.write_text(EVENTS.replace(",u,", ",\x1b[2Ju,"), encoding="utf-8")

    left = hamlet("run", queries, "--events", events, "--wide")

    assert left.status == 0
    assert "\x1b" not in left.out


def test_a_terminal_gets_a_drawn_table_and_progress(
    hamlet, queries, events, monkeypatch: pytest.MonkeyPatch
):
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")

    status, out, err = hamlet("run", queries, "--events", events)

    assert status == 0
    assert "───" in out
    assert "COUNT(*)" in out
    assert "\x1b[" in err
    assert "events    7 in" in err


def test_progress_tells_what_is_done_and_grows(events):
    told: list[tuple[str, float]] = []

    Workload.parse(QUERIES).run(events, progress=lambda *each: told.append(each))

    assert told[0] == ("reading", 0.0)
    assert ("running set 1 of 2" in [what for what, _ in told]) or (
        "running set 1 of 1" in [what for what, _ in told]
    )
    assert told[-1][1] == 1.0
    assert [done for _, done in told] == sorted(done for _, done in told)


# Files


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_out_writes_one_file_by_its_ending(hamlet, queries, events, tmp_path: Path, ending: str):
    path = tmp_path / f"out.{ending}"

    status, out, err = hamlet("run", queries, "--events", events, "--out", path)

    assert (status, out) == (0, "")
    assert err.endswith(f"wrote {path}\n")
    if ending == "csv":
        values = csv.read_csv(path)["value"].to_pylist()
    elif ending == "jsonl":
        values = [json.loads(line)["value"] for line in path.read_text().splitlines()]
    else:
        values = parquet.read_table(path)["value"].to_pylist()
    assert values == [30, 6, 15]


def test_out_without_an_ending_is_a_folder_of_parts(hamlet, queries, events, tmp_path: Path):
    folder = tmp_path / "out"

    assert hamlet("run", queries, "--events", events, "--out", folder).status == 0

    assert [each.name for each in folder.iterdir()] == ["part-00000.parquet"]
    assert parquet.read_table(folder)["value"].to_pylist() == [30, 6, 15]


def test_wide_writes_a_file_for_each_query(hamlet, queries, events, tmp_path: Path):
    folder = tmp_path / "out"

    assert hamlet("run", queries, "--events", events, "--wide", "--out", folder).status == 0

    assert sorted(each.name for each in folder.iterdir()) == ["q1.parquet", "q2.parquet"]
    (row,) = parquet.read_table(folder / "q1.parquet").to_pylist()
    assert (row["g"], row["COUNT(*)"], row["COUNT(*)__exact"], row["top"]) == ("u", 30, "30", 6)


@pytest.mark.parametrize("name", ["out.csv", "out", "out --wide"])
def test_what_is_there_is_replaced_only_when_asked(
    hamlet, queries, events, tmp_path: Path, name: str
):
    path, *wide = name.split()
    arguments = ["run", queries, "--events", events, "--out", tmp_path / path, *wide]
    hamlet(*arguments)
    was = {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*") if each.is_file()}

    status, out, err = hamlet(*arguments)

    assert (status, out) == (2, "")
    assert one_sentence(err)
    assert "--overwrite" in err
    assert {each: each.stat().st_mtime_ns for each in was} == was
    assert hamlet(*arguments, "--overwrite").status == 0


@pytest.mark.parametrize("make", ["folder", "glob", "gzip", "jsonl", "parquet"])
def test_events_may_be_many_files_of_many_kinds(hamlet, queries, events, tmp_path: Path, make: str):
    table = csv.read_csv(events)
    folder = tmp_path / "parts"
    folder.mkdir()
    where: Path = folder
    if make in ("folder", "glob"):
        parquet.write_table(table.slice(0, 3), folder / "a.parquet")
        parquet.write_table(table.slice(3), folder / "b.parquet")
        where = folder / "*.parquet" if make == "glob" else folder
    elif make == "gzip":
        where = folder / "events.csv.gz"
        with pa.output_stream(where, compression="gzip") as stream:
            stream.write(EVENTS.encode())
    elif make == "jsonl":
        where = folder / "events.jsonl"
        where.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        where = folder / "events.parquet"
        parquet.write_table(table, where)

    assert hamlet("run", queries, "--events", where).out == TABLE


def test_rows_that_cannot_be_read_are_counted_and_the_rest_is_answered(hamlet, queries, events):
    events.write_text(EVENTS + "soon,B,u,1\n7,,u,1\n", encoding="utf-8")

    status, out, err = hamlet("run", queries, "--events", events)

    assert (status, out) == (0, TABLE)
    assert "9 in, 7 used, 2 malformed" in err
    assert "malformed 1 " in err


# What is refused


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (["--events", "none.csv"], "none.csv: no such file or folder"),
        (["--events", "*.jsonl"], "it matches no file"),
        (["--events", "empty"], "there are no events in this folder"),
        (["--events", "notes.txt"], ".txt is not a format of events"),
        (["--events", "broken.parquet"], "not a Parquet file"),
        (["--time", "when"], "column 'when' not found; it has: time, type, g, x; pass time"),
        (["--type", "Type"], "--type on the command line. Did you mean 'type'?"),
        (["--order", "n"], "column 'n' not found"),
        (["--events", "lacking.csv"], "column 'x' not found"),
        (["--events", "words.csv"], "x"),
        (["--out", "out.xlsx"], "the ending is none of .parquet, .csv, .tsv, .jsonl"),
        (["--out", "none/out.csv"], "there is no folder none; make it first"),
        (["--out", "hdfs://host/results", "--engine", "local"], "is not on this machine"),
        (["--out", "events.csv", "--overwrite"], "the events are there"),
        (["--out", "full", "--overwrite"], "the folder holds more than results (notes.txt)"),
        (["--out", "full"], "the folder holds more than results (notes.txt)"),
        (["--out", "parts"], "it is there already"),
        (["--out", "out.csv", "--wide"], "the wide form has a file for each query"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_one_sentence_and_status_2(
    hamlet, queries, events, monkeypatch: pytest.MonkeyPatch, change: list[str], told: str
):
    folder = events.parent
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    (folder / "full").mkdir()
    (folder / "parts").mkdir()
    (folder / "parts" / "part-00000.parquet").touch()
    (folder / "full" / "notes.txt").touch()
    (folder / "notes.txt").touch()
    (folder / "broken.parquet").write_text("not parquet")
    (folder / "lacking.csv").write_text("time,type,g\n1,A,u\n")
    (folder / "words.csv").write_text("time,type,g,x\n" + "1,B,u,high\n" * 3)
    was = sorted(folder.rglob("*"))

    status, out, err = hamlet("run", queries, "--events", "events.csv", *change)

    assert (status, out) == (2, "")
    assert one_sentence(err), err
    assert told in err
    assert sorted(folder.rglob("*")) == was


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "w.hql"], "Missing option '--events'"),
        (["run", "w.hql", "--events", "e.csv", "--engine", "remote"], "'remote' is not"),
        (["run", "w.hql", "--events", "e.csv", "--numbers", "decimal"], "'decimal' is not one of"),
        (["run", "w.hql", "--events", "e.csv", "--sharing", "maybe"], "'maybe' is not one of"),
    ],
)
def test_a_wrong_use_is_told_on_standard_error(hamlet, arguments: list[str], told: str):
    status, out, err = hamlet(*arguments)

    assert (status, out) == (2, "")
    assert told in err


def test_a_format_for_standard_output_and_a_file_are_not_mixed(hamlet, queries, events):
    out = events.with_name("out.csv")

    left = hamlet("run", queries, "--events", events, "--format", "json", "--out", out)

    assert left.status == 2
    assert "--format is for standard output" in left.err


def test_a_wrong_workload_is_refused_before_events_are_looked_at(hamlet, tmp_path: Path):
    text = b"RETURN COUNT(*), MEDIAN(B.x) PATTERN SEQ(A, B+) WITHIN 10 min"

    status, out, err = hamlet("run", "-", "--events", tmp_path / "none.csv", stdin=text)

    assert (status, out) == (1, "")
    assert "[unknown-aggregate]" in err


# Ctrl-C


def test_an_interrupted_write_leaves_nothing(
    hamlet, queries, events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def write_half(table: pa.Table, path: Path, separator: str) -> None:
        path.write_text("query,")
        raise KeyboardInterrupt

    monkeypatch.setattr(writers, "write_csv", write_half)

    status, out, err = hamlet("run", queries, "--events", events, "--out", tmp_path / "out.csv")

    assert (status, out) == (130, "")
    assert err.endswith("interrupted\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["events.csv", "w.hql"]


def test_work_that_does_not_look_at_signals_can_be_interrupted():
    never = threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        never.wait()

    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(work)
    finally:
        never.set()


def test_what_goes_wrong_in_the_thread_comes_out():
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


# Compilation


# Examples


def test_examples_of_a_row_are_printed_as_text_and_json(hamlet, tmp_path):
    events = tmp_path / "events.csv"
    events.write_text("type,time,g,note\nA,1,u,one\nB,2,u,two\nB,3,u,three\nA,4,v,four\n")
    query = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s"
    asked = ["examples", "-", "--events", str(events), "-n", "1", "--how", "longest"]

    text = hamlet(*asked, stdin=query.encode())
    data = json.loads(hamlet(*asked, "--format", "json", stdin=query.encode()).out)

    assert text.out.splitlines()[0] == 'q [0.0, 10.0) {"g": "u"}: 1 of 1 trend, longest'
    assert [event["note"] for event in data["trends"][0]] == ["one", "two", "three"]


def test_examples_of_several_queries_need_a_name(hamlet, tmp_path):
    events = tmp_path / "events.csv"
    events.write_text("type,time\nA,1\n")

    left = hamlet(
        *("examples", "-", "--events", str(events)),
        stdin=b"RETURN COUNT(*) PATTERN A WITHIN 1 s; RETURN COUNT(*) PATTERN B WITHIN 1 s",
    )

    assert left.status == 2
    assert "Pass --query with one of q1, q2" in left.err
