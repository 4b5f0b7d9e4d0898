"""What a newcomer gets wrong at the command line, and what is said about it.

Would catch a mistake that passes without a word, a message that does not say where it is or what
to do about it, more than one sentence, and a file that is lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest

QUERIES = "q1: RETURN COUNT(*) PATTERN SEQ(Request, Travel T+) WHERE [rider] WITHIN 10 min"
EVENTS = "time,type,rider\n1,Request,ann\n2,Travel,ann\n3,Travel,ann\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.hql").write_text(QUERIES, encoding="utf-8")
    (tmp_path / "rides.csv").write_text(EVENTS, encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "queries.hql --events ride.csv",
            "cannot read ride.csv: no such file or folder. Did you mean 'rides.csv'?",
        ),
        (
            "query.hql --events rides.csv",
            "cannot read query.hql: no such file or directory. Did you mean 'queries.hql'?",
        ),
        ("queries.hql --events other.csv", "cannot read other.csv: no such file or folder"),
        ("queries.hql --events none/e.csv", "cannot read none/e.csv: no such file or folder"),
        (
            "rides.csv --events queries.hql",
            "cannot read rides.csv: by its name it has events; queries come first, as in "
            "hamlet run FILE --events FILE",
        ),
    ],
)
def test_a_wrong_file_is_named_with_the_right_one_where_it_is_known(hamlet, arguments, said):
    left = hamlet("run", *arguments.split())

    assert left == (2, "", f"hamlet: {said}\n")


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            "time,type,rider\n02/03/2026 08:00,Request,ann\n",
            "column 'time' is text, such as '02/03/2026 08:00'; time must be a timestamp, a date, "
            "a number of seconds or ISO 8601 text like 2026-03-02T08:00:00",
        ),
        (
            "time,type,rider\n08:00:00,Request,ann\n",
            "column 'time' is text, such as '08:00:00'; time must be a timestamp, a date, "
            "a number of seconds or ISO 8601 text like 2026-03-02T08:00:00",
        ),
        (
            "when,type,rider\n1,Request,ann\n",
            "column 'time' not found; it has: when, type, rider; pass time='...', or --time on "
            "the command line.",
        ),
    ],
    ids=["odd time", "time of day", "no time"],
)
def test_events_that_do_not_fit_are_shown_and_what_would(hamlet, tmp_path, events, said):
    (tmp_path / "rides.csv").write_text(events, encoding="utf-8")

    left = hamlet("run", "queries.hql", "--events", "rides.csv")

    assert left == (2, "", f"hamlet: rides.csv: {said}\n")


def test_another_separator_is_answered_with_the_option(hamlet, tmp_path):
    (tmp_path / "rides.csv").write_text("time;type;rider\n1;Request;ann\n", encoding="utf-8")

    left = hamlet("run", "queries.hql", "--events", "rides.csv")
    other = hamlet("run", "queries.hql", "--events", "rides.csv", "--separator", ";")

    header = "cannot read rides.csv: its header is one column, 'time;type;rider'"
    how = "pass --separator ';', or separator=';' in Python"
    assert left == (2, "", f"hamlet: {header}: ';' separates it; {how}\n")
    assert other.status == 0


# Types


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("SEQ(Request, Travle+)", "type Travle; there are Request, Travel. Did you mean 'Travel'?"),
        ("SEQ(Request, Travel+, NOT Pickup)", "type Pickup; there are Request, Travel."),
        ("SEQ(Pickup, Dropoff+)", "type Pickup, Dropoff; there are Request, Travel."),
    ],
)
def test_a_type_that_no_event_has_is_noted(hamlet, pattern, said):
    text = f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10 min"

    left = hamlet("run", "-", "--events", "rides.csv", stdin=text.encode())

    assert left.status == 0
    assert left.err.splitlines()[0] == f"note      no event has {said}"
    assert left.err.count("note ") == 1


def test_nothing_is_noted_where_types_fit(hamlet, tmp_path):
    (tmp_path / "rides.csv").write_text(EVENTS, encoding="utf-8")

    left = hamlet("run", "queries.hql", "--events", "rides.csv")

    assert left.status == 0
    assert "note" not in left.err


@pytest.mark.parametrize("events", [EVENTS.splitlines()[0] + "\n", ""])
def test_without_events_nothing_else_is_noted(hamlet, tmp_path, events):
    (tmp_path / "rides.csv").write_text(events, encoding="utf-8")

    left = hamlet("run", "queries.hql", "--events", "rides.csv")

    assert left.status == 0
    assert [line for line in left.err.splitlines() if "note" in line] == [
        "note      there are no events"
    ]


# Names


def test_two_queries_of_one_name_are_refused_at_the_second(hamlet):
    text = f"{QUERIES};\n{QUERIES}"

    status, out, err = hamlet("check", "-", stdin=text.encode())

    assert (status, out) == (1, "")
    assert err.startswith("<stdin>:2:1: two queries are called q1  [duplicate-query]\n")
    assert "    Give this one another name.\n" in err


def test_a_name_that_a_query_has_by_its_place_is_explained(hamlet):
    text = f"{QUERIES.removeprefix('q1: ')};\n{QUERIES}"

    status, _, err = hamlet("check", "-", stdin=text.encode())

    assert status == 1
    assert "Queries without one are called by their places: q1, q2, ...\n" in err


# Places


@pytest.mark.parametrize(
    ("options", "out", "what"),
    [
        ([], "queries.hql", "workload is"),
        (["--schema", "rides.csv"], "./rides.csv", "schema is"),
        (["--analyze", "--events", "rides.csv"], "rides.csv", "events are"),
    ],
)
def test_explain_does_not_write_over_what_it_reads(hamlet, tmp_path, options, out, what):
    left = hamlet("explain", "queries.hql", *options, "--out", out)

    assert left == (
        2,
        "",
        f"hamlet: cannot write {out}: the {what} there; choose another place\n",
    )
    assert (tmp_path / "queries.hql").read_text(encoding="utf-8") == QUERIES
    assert (tmp_path / "rides.csv").read_text(encoding="utf-8") == EVENTS


# Places

_PROC = "/proc/hamlet"  # where nobody can write, not even root


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "queries.hql", "--events", "none.csv", "--out", f"{_PROC}.csv"],
        ["run", "queries.hql", "--events", "none.csv", "--out", _PROC],
        ["run", "queries.hql", "--events", "none.csv", "--save", _PROC],
        ["run", "queries.hql", "--events", "none.csv", "--report", f"{_PROC}.html"],
        ["run", "queries.hql", "--events", "none.csv", "--trace", f"{_PROC}.csv"],
        ["explain", "queries.hql", "--out", f"{_PROC}.txt"],
        ["generate", "taxi", "--events", "9", "--out", f"{_PROC}.csv"],
        ["generate", "workload", "taxi", "--out", f"{_PROC}.hql"],
        ["report", "none", "--out", f"{_PROC}.html"],
        ["bench", "engine", "--quick", "--out", f"{_PROC}.json"],
        ["bench", "peers", "--quick", "--out", f"{_PROC}.json"],
        ["bench", "spark", "--quick", "--out", f"{_PROC}.json"],
        ["bench", "sharing", "--quick", "--out", _PROC],
        ["bench", "paper", "--quick", "--out", _PROC],
        ["calibrate", "--quick", "--out", f"{_PROC}.json"],
        ["stream", "queries.hql", "--source", "in", "--checkpoint", "c", "--out", _PROC],
        ["stream", "queries.hql", "--source", "in", "--out", "console", "--checkpoint", _PROC],
    ],
    ids=lambda arguments: " ".join(each for each in arguments if each != "none.csv"),
)
def test_a_place_that_cannot_be_written_is_named_before_the_work(hamlet, arguments: list[str]):
    left = hamlet(*arguments)

    assert left == (
        2,
        "",
        f"hamlet: cannot write {arguments[-1]}: no such file or directory\n",
    )


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["explain", "queries.hql", "--out"], "there.txt"),
        (["bench", "engine", "--quick", "--out"], "there.json"),
        (["bench", "peers", "--quick", "--out"], "there.json"),
        (["bench", "spark", "--quick", "--out"], "there.json"),
        (["calibrate", "--quick", "--out"], "there.json"),
        (["generate", "workload", "taxi", "--out"], "there.hql"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_command_replaces_a_file_unasked(hamlet, arguments: list[str], path: str):
    Path(path).write_text("mine", encoding="utf-8")

    status, out, err = hamlet(*arguments, path)

    assert (status, out) == (2, "")
    assert f"cannot write {path}: it is there already" in err
    assert Path(path).read_text(encoding="utf-8") == "mine"


def test_a_schema_from_a_file_knows_which_types_there_are(hamlet):
    text = QUERIES.replace("Travel", "Travle").encode()

    status, out, err = hamlet("check", "-", "--schema", "rides.csv", stdin=text)

    assert (status, out) == (1, "")
    assert "no event has type Travle  [unknown-type]" in err
    assert "Types are Request, Travel. Did you mean 'Travel'?" in err
