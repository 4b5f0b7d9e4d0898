"""`hamlet stream` in this process, against what one machine gives.

Would catch a source that is read otherwise than by `hamlet run`, a row that is lost without a word,
a start that is not refused, and a stack trace.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from hamlet import Workload
from hamlet.cli import run
from hamlet.io.long_form import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

WORKLOAD = """
one: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s SLIDE 5 s;
two: RETURN COUNT(*), AVG(B.y) PATTERN B+ WHERE B.ok WITHIN 20 s
"""
BAD_CSV = ["B,2026-11-15T10:00:20,a,many,0.5,true", "B,soon,a,1,0.5,true", "B,2026-11-15"]
BAD_LINES = ['{"type": "B", "time": "soon"}', "[1]", "nothing", '{"type": "B"}']


def rows(count: int) -> list[dict[str, Any]]:
    chance = random.Random(7)
    return [
        {
            "type": chance.choice("ABBC"),
            "time": f"2026-11-15T10:{number // 120:02d}:{number // 2 % 60:02d}",
            "k": chance.choice(["a", "b, c", "é"]),
            "x": chance.randrange(9),
            "y": chance.randrange(9) / 8,
            "ok": chance.random() < 0.7,
        }
        for number in range(count)
    ]


def csv_lines(some: list[dict[str, Any]]) -> list[str]:
    quoted = [{**row, "k": f'"{row["k"]}"', "ok": str(row["ok"]).lower()} for row in some]
    return ["type,time,k,x,y,ok", *(",".join(str(v) for v in row.values()) for row in quoted)]


def write(path: Path, lines: list[str], number: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.utime(path, (10**9 + number, 10**9 + number))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.hql").write_text(WORKLOAD, encoding="utf-8")
    return tmp_path


def stream(*arguments: str, out: str = "out") -> int:
    given = ["stream", "w.hql", "--source", "in", "--out", out, "--checkpoint", "state"]
    return run([*given, "--lateness", "3 s", *arguments])


def comparable(found: list[dict[str, Any]]) -> list[str]:
    """Rows of results, from files of any format, without what is written differently."""
    names = [name for name in COLUMNS if name not in ("log10", "window_start", "window_end")]
    times = [str(row["window_start"])[:19].replace("T", " ") for row in found]
    plain = zip(times, found, strict=True)
    return sorted(str([time, *(row[name] for name in names)]) for time, row in plain)


def test_csv_in_two_starts_gives_what_one_machine_gives(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
):
    events = rows(240)
    write(folder / "in" / "1.csv", csv_lines(events[:100]), 1)

    first = stream("--once")
    before = capsys.readouterr().err
    write(folder / "in" / "2.csv", [*csv_lines(events[100:]), *BAD_CSV], 2)
    second = stream("--once", "--flush")
    after = capsys.readouterr().err

    assert (first, second) == (0, 0)
    assert "events    100 in" in before
    assert "143 in, " in after
    assert "3 malformed, 0 late" in after
    for reason in ("1 x is not a number", "1 not a time", "1 wrong number of fields"):
        assert f"malformed {reason}\n" in after
    found = parquet.read_table("out").to_pylist()
    wanted = Workload.parse(WORKLOAD).run("in").table.to_pylist()
    assert comparable(found) == comparable(wanted)
    assert len(wanted) > 50

    assert stream("--once", "--numbers", "float") == 2
    refused = capsys.readouterr().err
    assert "begun with numbers exact, not float" in refused
    assert "Traceback" not in refused


def test_json_lines_to_json_lines(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
):
    lines = [json.dumps(row) for row in rows(120)]
    write(folder / "in" / "1.jsonl", [*lines[:60], "", *BAD_LINES], 1)
    write(folder / "in" / "2.jsonl", lines[60:], 2)

    options = ("--file-format", "jsonl", "--files", "1", "--format", "json")
    assert stream("--once", "--flush", *options) == 0

    printed, told = capsys.readouterr()
    assert "124 in, " in told
    assert "4 malformed" in told
    counts = json.loads(printed)
    assert (counts["source"], counts["out"], counts["ended"]) == ("in", "out", True)
    assert counts["events"]["in"] == 124
    assert sum(counts["events"]["malformed"].values()) == 4
    assert f"{counts['events']['used']:,} used, " in told
    assert f"results   {counts['results']['rows']:,} rows, " in told
    parts = sorted((folder / "out").glob("part-*.json"))
    found = [json.loads(line) for part in parts for line in part.read_text("utf-8").splitlines()]
    wanted = Workload.parse(WORKLOAD).run("in").table.to_pylist()
    assert list(found[0]) == list(COLUMNS)
    assert comparable(found) == comparable(wanted)
    # The events have no zone, so neither have windows.
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{6}", found[0]["window_start"])


def test_tables_on_the_screen_are_no_document(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert stream("--once", "--format", "json", out="console") == 2

    left = capsys.readouterr()
    assert left.out == ""
    assert "--out console prints tables" in left.err


def test_a_stream_may_begin_before_its_first_file(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "in").mkdir()
    assert stream("--once") == 2
    assert "pass --schema with a file of examples" in capsys.readouterr().err
    write(folder / "sample.csv", csv_lines(rows(3)), 0)

    assert stream("--once", "--flush", "--schema", "sample.csv") == 0

    assert (
        "events    0 in, 0 used, 0 malformed, 0 late\nresults   0 rows" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--flush"], "it goes with --once"),
        (["--once", "--trigger", "5 s"], "not for --once"),
        (["--offsets", "9"], "--offsets is for topics: it goes with --source kafka:"),
        (["--key", "group"], "--key is for topics: it goes with --out kafka:"),
        (["--kafka", "a=b"], "--kafka is for topics: it goes with --source or --out kafka:"),
        (["--trigger", "soon"], "trigger is 'soon'. Write a number and a unit"),
        (["--once", "--source", "nowhere"], "cannot read nowhere: a source is a folder"),
        (["--once", "--source", "kafka:here"], "Write kafka:HOST:PORT/TOPIC"),
        (["--once", "--out", "in"], "cannot write in: it is the source"),
        (["--once", "--checkpoint", "in/state"], "cannot write in/state: it is in the source"),
        (["--once", "--out", "full"], "it is not empty, and the checkpoint knows nothing of it"),
        (["--once", "--buckets", "0"], "number of buckets is 0. There is at least one"),
        (["--once", "--time", "when"], "column 'when' not found"),
    ],
    ids=str,
)
def test_a_mistake_is_one_sentence(
    spark: SparkSession,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
):
    write(folder / "in" / "1.csv", csv_lines(rows(5)), 1)
    write(folder / "full" / "1.csv", csv_lines(rows(5)), 1)

    assert stream(*arguments) == 2

    said = capsys.readouterr().err
    assert told in said
    assert "Traceback" not in said
    assert not (folder / "state" / "offsets").exists()


def test_changes_of_the_file_are_taken_over_while_the_stream_runs(
    folder: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
):
    path = folder / "watched.hql"
    path.write_text(WORKLOAD, encoding="utf-8")
    some = rows(400)
    write(folder / "in" / "0.csv", csv_lines(some[:150]), 0)
    arguments = ["stream", str(path), "--source", str(folder / "in"), "--out", str(folder / "out")]
    arguments += ["--checkpoint", str(folder / "state"), "--lateness", "2 s"]
    added = "three: RETURN COUNT(*), MAX(C.x) PATTERN SEQ(A, C) GROUPBY k WITHIN 10 s"
    told: list[str] = []

    def change_and_stop() -> None:
        try:
            make_changes()
        finally:
            # Also where something has gone wrong: the stream would go on for ever.
            os.kill(os.getpid(), signal.SIGINT)

    def make_changes() -> None:
        """What somebody does beside the stream, step by step as it tells how it goes."""
        wait_until(lambda: sum(line.startswith("batch") for line in told) >= 2)
        path.write_text(WORKLOAD.replace("COUNT(*)", "COUNT(*", 1), encoding="utf-8")
        wait_until(lambda: any("The stream goes on as it was" in line for line in told))
        path.write_text(f"{WORKLOAD.split(';')[0]};{added}", encoding="utf-8")
        wait_until(lambda: any(line.startswith("workload") for line in told))
        before = sum(line.startswith("batch") for line in told)
        write(folder / "in" / "1.csv", csv_lines(some[150:]), 1)
        wait_until(lambda: sum(line.startswith("batch") for line in told) >= before + 2)

    beside = threading.Thread(target=change_and_stop)
    with pytest.MonkeyPatch.context() as patch:
        # The module, of which the package has the command under the same name.
        patch.setattr(sys.modules["hamlet.cli.stream_command"], "tell", told.append)
        beside.start()
        assert run([*arguments, "--watch"]) == 0
        beside.join()

    (change,) = (line for line in told if line.startswith("workload"))
    assert (
        "1 added, 1 removed, 1 unchanged (three, two), from 2026-11-15T10:01:14.001000Z" in change
    )
    last = "; ".join([WORKLOAD.split(";")[0], added])
    (folder / "last.hql").write_text(last, encoding="utf-8")
    arguments[1] = str(folder / "last.hql")
    assert run([*arguments, "--once", "--flush"]) == 0
    found = parquet.read_table(folder / "out").to_pylist()
    moment = datetime(2026, 11, 15, 10, 1, 14, 1000)
    wanted = []
    for text, begins, ends in [
        (WORKLOAD.split(";")[0], datetime.min, datetime.max),
        (WORKLOAD.split(";")[1], datetime.min, moment),
        (added, moment, datetime.max),
    ]:
        for row in Workload.parse(text).run(folder / "in").table.to_pylist():
            if row["window_start"] >= begins and row["window_end"] <= ends:
                wanted.append(row)
    assert sorted(str({**row, "log10": 0}) for row in found) == sorted(
        str({**row, "log10": 0}) for row in wanted
    )

    capsys.readouterr()
    assert run(["stream", "--status", str(folder / "state")]) == 0
    status = capsys.readouterr().out.splitlines()
    assert status[1:4] == ["   2 queries", "   = one", "   = two"]
    assert status[4].startswith("1  windows from 2026-11-15T10:01:14.001000Z on, noted 20")
    assert status[5:] == ["   + three", "   - two", "   1 unchanged"]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_status_of_what_is_no_checkpoint(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["stream", "--status", str(folder)]) == 2
    assert "there is no checkpoint of a stream of hamlet" in capsys.readouterr().err
