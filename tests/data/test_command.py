"""`hamlet generate` as a user meets it: files, standard output, messages and exit status.

Would catch talk on standard output, a stack trace for a user's mistake, something half-written
after Ctrl-C, and an option that is not passed on.
"""

from __future__ import annotations

import gzip
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from hamlet import Workload
from hamlet.cli import run
from hamlet.data import generate_table, live
from hamlet.data.settings import DATA_SETS
from hamlet.data.workloads import first, second

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CABS = "time,cab,latitude,longitude,occupancy,event\n1212735600,ab,37.7,-122.4,0,CRUISE\n"


@pytest.fixture(autouse=True)
def _no_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAMLET_DATA", raising=False)


def one_sentence(text: str) -> bool:
    """Whether a message is one line that says who speaks, without a stack trace."""
    return text.startswith("hamlet: ") and text.count("\n") == 1 and "Traceback" not in text


# Streams


@pytest.mark.parametrize("name", DATA_SETS)
def test_events_go_to_a_file_and_talk_to_standard_error(hamlet, name: str, tmp_path: Path):
    path = tmp_path / "events.parquet"

    left = hamlet("generate", name, "--events", 1000, "--seed", 5, "--out", path)

    assert left == (0, "", f"wrote 1,000 events to {path}\n")
    assert parquet.read_table(path).equals(generate_table(name, events=1000, seed=5))


def test_every_option_is_passed_on(hamlet, tmp_path: Path):
    path = tmp_path / "events.parquet"
    options = "--rate 3/group --burst 4 --burst Wait=2 --burst Stop=3 --groups 7 --skew 1.5"
    more = "--drivers 2 --riders 3 --start 2030-01-02T03:04:05Z"

    left = hamlet(
        *("generate", "ridesharing", "--events", 500, "--out", path),
        *options.split(),
        *more.split(),
    )

    assert left.status == 0
    expected = generate_table(
        "ridesharing",
        events=500,
        rate=21,
        burst=4,
        bursts={"Wait": 2, "Stop": 3},
        groups=7,
        skew=1.5,
        drivers=2,
        riders=3,
        start=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    assert parquet.read_table(path).equals(expected)


@pytest.mark.parametrize("out", [[], ["--out", "-"]])
def test_without_a_place_events_are_json_lines_on_standard_output(hamlet, out: list[str]):
    status, text, err = hamlet("generate", "taxi", "--events", 3, "--seed", 1, *out)

    assert (status, err) == (0, "wrote 3 events\n")
    drivers = [json.loads(line)["driver"] for line in text.splitlines()]
    assert drivers == generate_table("taxi", events=3, seed=1)["driver"].to_pylist()


def test_a_folder_may_have_another_format(hamlet, tmp_path: Path):
    left = hamlet(
        *("generate", "taxi", "--events", 3, "--out", tmp_path / "events"),
        *("--file-format", "jsonl"),
    )

    assert left.status == 0
    assert [each.name for each in (tmp_path / "events").iterdir()] == ["part-00000.jsonl"]


def test_what_was_made_is_one_document(hamlet, tmp_path: Path):
    place = tmp_path / "events"
    options = ("--seed", 5, "--rate", "3/group", "--groups", 7, "--burst", "Travel=2")

    status, out, err = hamlet(
        *("generate", "taxi", "--events", 3, *options, "--out", place, "--format", "json"),
        *("--file-format", "csv", "--start", "2030-01-02"),
    )

    assert (status, err) == (0, f"wrote 3 events to {place}\n")
    assert json.loads(out) == {
        "data_set": "taxi",
        "events": 3,
        "seed": 5,
        "settings": {
            "rate": 21.0,
            "burst": 10,
            "groups": 7,
            "bursts": {"Travel": 2.0},
            "skew": 0.0,
            "start": "2030-01-02T00:00:00+00:00",
        },
        "out": str(place),
        "file_format": "csv",
        "paths": [str(place / "part-00000.csv")],
    }


def test_the_document_has_the_format_of_a_file(hamlet, tmp_path: Path):
    path = tmp_path / "events.csv.gz"

    _, out, _ = hamlet("generate", "taxi", "--events", 3, "--out", path, "--format", "json")

    document = json.loads(out)
    assert (document["file_format"], document["paths"]) == ("csv.gz", [str(path)])


def test_nothing_is_overwritten_unless_told(hamlet, tmp_path: Path):
    path = tmp_path / "events.csv"
    path.write_text("mine", encoding="utf-8")

    refused = hamlet("generate", "taxi", "--events", 3, "--out", path)

    assert (refused.status, refused.out) == (2, "")
    assert one_sentence(refused.err)
    assert "it is there already; pass overwrite=True, or --overwrite" in refused.err
    assert path.read_text(encoding="utf-8") == "mine"
    assert hamlet("generate", "taxi", "--events", 3, "--out", path, "--overwrite").status == 0
    assert path.read_text(encoding="utf-8").count("\n") == 4


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("taxi --events 3 --out {}/e.txt", "the ending is none of .parquet, .csv"),
        ("taxi --events 3 --out {}/none/e.csv", "there is no folder"),
        ("taxi --events -3", "taxi: events must be at least 0, not -3"),
        ("taxi --events 3 --seed -1", "taxi: seed must be at least 0, not -1"),
        ("taxi --events 3 --rate fast", "taxi: rate must be a number of events in a minute"),
        ("taxi --events 3 --rate 0", "taxi: rate must be between 0.001 and 6e+07, not 0"),
        ("taxi --events 3 --burst long", "taxi: burst must be a number or TYPE=NUMBER, not 'long'"),
        ("taxi --events 3 --burst Fly=3", "there is no event type 'Fly'. taxi has Cruise"),
        ("taxi --events 3 --groups 0", "taxi: groups must be between 1 and 1e+06, not 0"),
        ("taxi --events 3 --start soon", "taxi: start must be ISO 8601 or now, not 'soon'"),
        ("taxi --live 0", "events in a second must be more than 0"),
        ("taxi --live 5 --out {}/e.csv", "a live stream goes into a folder, or to - as JSON lines"),
        ("cabs", "cannot read cabs.csv.gz: no folder is given; pass --data"),
        ("cabs --data {}/none", "there is no such folder; pass --data"),
        ("workload taxis", "there is no data set 'taxis'. There are workloads for ridesharing"),
        ("workload taxi --queries 1001", "taxi: queries must be between 1 and 1,000, not 1001"),
        ("workload taxi --within 5", "taxi: WITHIN has a number without a unit"),
        ("workload taxi --out {}", "is a directory"),
        ("workload taxi --out {}/none/w.hql", "there is no folder"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(
    hamlet, arguments: str, reason: str, tmp_path: Path
):
    status, out, err = hamlet("generate", *arguments.format(tmp_path).split())

    assert (status, out) == (2, "")
    assert one_sentence(err)
    assert reason in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("taxi", "say how many events with --events, or --live for a stream without an end"),
        ("taxi --events 3 --format json", "standard output are JSON lines already"),
        ("cabs --out - --format json", "standard output are JSON lines already"),
        ("taxi --events many", "'many' is not a valid integer"),
        ("taxy --events 3", "No such command 'taxy'"),
        ("workload taxi --kind third", "'third' is not one of 'first', 'second'"),
        ("workload taxi --kind second --slide 1", "the second kind has windows of its own"),
    ],
)
def test_wrong_use_is_said_with_the_usage(hamlet, arguments: str, reason: str):
    status, out, err = hamlet("generate", *arguments.split())

    assert (status, out) == (2, "")
    assert err.startswith("Usage: hamlet generate ")
    assert reason in err


# Live


def test_live_files_come_with_event_times_of_the_same_pace(
    hamlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    slept: list[float] = []
    monkeypatch.setattr(live.play, "__kwdefaults__", {"clock": lambda: 0.0, "sleep": slept.append})

    left = hamlet(*("generate", "taxi", "--live", 50, "--events", 120, "--out", tmp_path / "live"))

    assert left == (0, "", f"wrote 120 events to {tmp_path / 'live'}\n")
    assert sorted(each.name for each in (tmp_path / "live").iterdir()) == [
        f"part-0000{i}.parquet" for i in range(3)
    ]
    assert slept == [1.0, 2.0]
    assert parquet.read_table(tmp_path / "live").equals(
        generate_table("taxi", events=120, rate=3000)
    )


def test_a_live_stream_without_an_end_ends_well_with_ctrl_c(
    hamlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(live.play, "__kwdefaults__", {"clock": lambda: 0.0, "sleep": stop})

    endless = hamlet("generate", "taxi", "--live", 10, "--out", tmp_path / "endless")
    ending = hamlet("generate", "taxi", "--live", 10, "--events", 50, "--out", tmp_path / "ending")

    assert endless == (0, "", f"wrote 10 events to {tmp_path / 'endless'}\n")
    assert (ending.status, ending.err) == (130, "interrupted\n")
    for folder in ("endless", "ending"):
        assert [each.name for each in (tmp_path / folder).iterdir()] == ["part-00000.parquet"]


# As a process


def process(*arguments: str, **more) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hamlet", "generate", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        **more,
    )


def until(is_true: Callable[[], bool]) -> None:
    """Wait for something that will happen, but not for ever."""
    for _ in range(3000):
        if is_true():
            return
        time.sleep(0.01)
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("place", ["events.parquet", "events.csv", "folder"])
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")],
)
def test_ctrl_c_and_sigterm_leave_nothing(
    place: str, number: int, status: int, said: str, tmp_path: Path
):
    # As many events take minutes: it is stopped when the first bytes are there.
    with process(
        "ridesharing", "--events", "1000000000", "--out", str(tmp_path / place)
    ) as working:
        until(lambda: any(tmp_path.iterdir()))
        working.send_signal(number)
        _, err = working.communicate(timeout=60)

    assert (working.returncode, err) == (status, said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_reader_that_had_enough_ends_the_command_quietly():
    with process("taxi", "--events", "100000000") as working:
        assert json.loads(working.stdout.readline())["driver"] >= 0
        working.stdout.close()
        err = working.stderr.read()
        working.wait(timeout=60)

    assert (working.returncode, err) == (0, "")


@pytest.mark.slow
def test_live_lines_come_one_by_one():
    with process("taxi", "--live", "1000") as working:
        ready, _, _ = select.select([working.stdout], [], [], 60)
        line = working.stdout.readline() if ready else ""
        working.send_signal(signal.SIGINT)
        _, err = working.communicate(timeout=60)

    assert json.loads(line)["type"]
    assert working.returncode == 0
    assert err.startswith("wrote ")


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(tmp_path: Path):
    """On a terminal the bar is drawn and wiped; what stays is the last line."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "hamlet", "generate", "taxi", "--events", "300000"]

    left = subprocess.run(
        [*command, "--out", str(tmp_path / "e.parquet")], stderr=theirs, check=True
    )
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 0)[0]:
        try:
            shown += os.read(ours, 1 << 16)
        except OSError:  # the other end is closed, and all is read
            break
    os.close(ours)

    assert left.returncode == 0
    assert b"events" in shown.split(b"wrote")[0]
    assert shown.rstrip().endswith(b"e.parquet")


# Real data


def test_real_data_are_written_like_generated_ones(
    hamlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "cabs.csv.gz").write_bytes(gzip.compress(CABS.encode()))
    out = tmp_path / "out.csv"

    left = hamlet("generate", "cabs", "--data", tmp_path, "--out", out)
    monkeypatch.setenv("HAMLET_DATA", str(tmp_path))
    lines = hamlet("generate", "cabs")

    assert left == (0, "", f"wrote 1 event to {out}\n")
    assert out.read_text(encoding="utf-8") == (
        "time,type,cab,latitude,longitude,occupied\n"
        "2008-06-06T07:00:00.000000Z,CRUISE,ab,37.7,-122.4,false\n"
    )
    assert json.loads(lines.out)["occupied"] is False


def test_what_was_read_of_real_data_is_one_document(hamlet, tmp_path: Path):
    (tmp_path / "cabs.csv.gz").write_bytes(gzip.compress(CABS.encode()))
    path = tmp_path / "out.jsonl"

    status, out, _ = hamlet(
        *("generate", "cabs", "--data", tmp_path, "--out", path, "--format", "json")
    )

    assert status == 0
    assert json.loads(out) == {
        "data_set": "cabs",
        "events": 1,
        "out": str(path),
        "file_format": "jsonl",
        "paths": [str(path)],
    }


def test_a_place_is_refused_before_real_data_are_read(hamlet, tmp_path: Path):
    out = tmp_path / "out.csv"
    out.write_text("mine", encoding="utf-8")

    left = hamlet("generate", "cabs", "--data", tmp_path / "none", "--out", out)

    assert left.status == 2
    assert "it is there already" in left.err


# Workloads


def test_a_workload_is_printed_or_written(hamlet, tmp_path: Path):
    path = tmp_path / "w.hql"

    printed = hamlet("generate", "workload", "taxi", "--queries", 4, "--seed", 3)
    written = hamlet(
        *("generate", "workload", "stock", "--kind", "second", "--queries", 1, "--out", path)
    )
    again = hamlet("generate", "workload", "stock", "--out", path)
    over = hamlet(
        *("generate", "workload", "stock", "--within", "1 h", "--slide", "1 min"),
        *("--out", path, "--overwrite"),
    )

    assert printed == (0, first("taxi", 4, 3), "")
    assert written == (0, "", f"wrote 1 query to {path}\n")
    assert again.status == 2
    assert "it is there already" in again.err
    assert over.status == 0
    assert path.read_text(encoding="utf-8") == first("stock", 50, within="1 h", slide="1 min")
    assert len(Workload.load(path).queries) == 50


def test_a_workload_is_one_document(hamlet, tmp_path: Path):
    path = tmp_path / "w.hql"
    options = ("--queries", 2, "--seed", 3, "--within", "1 h", "--format", "json")

    printed = hamlet("generate", "workload", "taxi", *options)
    written = hamlet("generate", "workload", "taxi", *options, "--out", path)

    document = {
        "data_set": "taxi",
        "kind": "first",
        "queries": 2,
        "seed": 3,
        "settings": {"within": "1 h", "slide": "5 min"},
        "paths": [],
        "text": first("taxi", 2, 3, within="1 h"),
    }
    assert (printed.status, json.loads(printed.out), printed.err) == (0, document, "")
    assert json.loads(written.out) == {**document, "paths": [str(path)]}
    assert written.err == f"wrote 2 queries to {path}\n"
    assert path.read_text(encoding="utf-8") == document["text"]


def test_a_second_workload_is_that_of_the_library(hamlet):
    left = hamlet("generate", "workload", "smarthome", "--kind", "second", "--seed", 2)

    assert left.out == second("smarthome", 50, 2)


# Help


@pytest.mark.parametrize(
    "command", ["", "ridesharing", "stock", "cabs", "workload"], ids=lambda name: name or "generate"
)
def test_help_is_complete_and_short(
    hamlet, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, command: str
):
    monkeypatch.setenv("COLUMNS", "100")

    left = hamlet("generate", *command.split(), "--help")

    assert (left.status, left.err) == (0, "")
    assert len(left.out.splitlines()) <= 25
    assert all(len(line) <= 100 for line in left.out.splitlines())
    golden(f"cli/help_generate{'_' * bool(command)}{command}.txt", left.out)


@pytest.mark.parametrize("name", ["ridesharing", "taxi", "smarthome", "stock"])
def test_every_setting_has_an_option(name: str, capsys: pytest.CaptureFixture[str]):
    assert run(["generate", name, "--help"]) == 0
    shown = capsys.readouterr().out

    for setting in fields(DATA_SETS[name]):
        assert f"--{setting.name}" in shown or setting.name == "bursts"
