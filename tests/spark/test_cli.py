"""`hamlet run` on Spark, the default: what it prints and writes, and how it fails.

Would catch an engine that is not the default, output that differs from that of the local engine or
is left half-written, talk of Java on standard error, a stack trace for a task that failed, and a
session of the user that is stopped.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import parquet

from hamlet.bench import spark as bench
from hamlet.cli import run
from hamlet.errors import RunError
from hamlet.spark import session as sessions
from hamlet.spark.command import explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

QUERIES = """\
q1: RETURN COUNT(*), MAX(B.x) AS top PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s;
q2: RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10 s
"""
EVENTS = "time,type,g,x\n" + "".join(f"{t},{k},u,{t}\n" for t, k in enumerate("AACBBBB"))
TABLE = """\
query  window   group       aggregate  value
q1     [0, 10)  {"g": "u"}  COUNT(*)      30
q1     [0, 10)  {"g": "u"}  top            6
q2     [0, 10)  {}          COUNT(*)      15
"""
# Two events whose sides of a general predicate are beyond what doubles hold.
HUGE = "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x > 5 WITHIN 10 s"


class Left(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def hamlet(
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Left]:
    """Run the command line in this process, in the session of all tests, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    Path("w.hql").write_text(QUERIES, encoding="utf-8")
    Path("events.csv").write_text(EVENTS, encoding="utf-8")

    def call(*arguments: str) -> Left:
        return Left(
            run(["run", "w.hql", "--events", "events.csv", "--engine", "spark", *arguments]),
            *capsys.readouterr(),
        )

    return call


def is_one_sentence(text: str) -> bool:
    return text.startswith("hamlet: ") and text.count("\n") == 1 and "Traceback" not in text


def test_spark_answers_and_leaves_the_session_running(
    hamlet: Callable[..., Left], spark: SparkSession
):
    status, out, err = hamlet()

    assert (status, out) == (0, TABLE)
    assert [line.split()[0] for line in err.splitlines()] == [
        "events",
        "results",
        "seconds",
        "work",
    ]
    assert "events    7 in, 7 used, 0 malformed, 0 late\n" in err
    assert "(start " in err
    assert spark.range(3).count() == 3


def test_files_are_those_of_the_local_engine(hamlet: Callable[..., Left]):
    hamlet("--out", "there.jsonl", "--engine", "local")
    hamlet("--out", "wide", "--wide", "--engine", "local")

    assert hamlet("--out", "here.jsonl").status == 0
    assert hamlet("--out", "wide2", "--wide").status == 0

    assert Path("here.jsonl").read_text() == Path("there.jsonl").read_text()
    for name in ("q1.parquet", "q2.parquet"):
        assert parquet.read_table(f"wide2/{name}") == parquet.read_table(f"wide/{name}")


def test_a_folder_gets_parts_whole_or_not_at_all(
    hamlet: Callable[..., Left], monkeypatch: pytest.MonkeyPatch
):
    left = hamlet("--out", "parts")
    first = sorted(path.name for path in Path("parts").iterdir())
    again = hamlet("--out", "parts")
    with Path("w.hql").open("a") as file:
        file.write(";\nq3: RETURN COUNT(*) PATTERN SEQ(B, A) WITHIN 10 s")
    overwritten = hamlet("--out", "parts", "--overwrite")
    second = sorted(path.name for path in Path("parts").iterdir())

    assert (left.status, left.out) == (0, "")
    assert left.err.endswith("wrote parts\n")
    assert "results   2 windows, 2 groups" in left.err
    assert all(Path(name).match("part-*.parquet") for name in first)
    assert again.status == 2
    assert is_one_sentence(again.err)
    assert overwritten.status == 0
    assert "note" not in left.err
    assert "note      q3 has no rows: " in overwritten.err
    assert first != second
    table = pa.concat_tables(parquet.read_table(path) for path in Path("parts").iterdir())
    rows = sorted(row["exact"] or "" for row in table.to_pylist())
    assert rows == ["", "15", "30"]
    assert sorted(path.name for path in Path().iterdir()) == ["events.csv", "parts", "w.hql"]


def test_what_goes_wrong_in_a_task_is_one_sentence_and_leaves_nothing(hamlet: Callable[..., Left]):
    Path("w.hql").write_text(HUGE, encoding="utf-8")
    rows = [{"time": t, "type": "A", "x": 2**62 + t} for t in range(3)]
    Path("events.csv").write_text(
        "time,type,x\n" + "".join(f"{r['time']},A,{r['x']}\n" for r in rows)
    )

    for out in ([], ["--out", "parts"], ["--out", "out.csv"]):
        status, printed, err = hamlet(*out)

        assert (status, printed) == (2, "")
        assert is_one_sentence(err), err
        assert "integers beyond 2**53" in err
    assert sorted(path.name for path in Path().iterdir()) == ["events.csv", "w.hql"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--events", "none.csv"], "none.csv: no such file or folder"),
        (["--time", "when"], "column 'when' not found; it has: time, type, g, x; pass time"),
        (["--master", "local[7]"], "A session is running on local[2]"),
    ],
    ids=["events", "time", "master"],
)
def test_what_cannot_be_done_is_one_sentence(
    hamlet: Callable[..., Left], arguments: list[str], told: str
):
    status, out, err = hamlet(*arguments)

    assert (status, out) == (2, "")
    assert is_one_sentence(err), err
    assert told in err


def test_a_master_for_the_local_engine_is_a_wrong_use(hamlet: Callable[..., Left]):
    left = hamlet("--engine", "local", "--master", "local[2]")

    assert left.status == 2
    assert "--master is for --engine spark" in left.err


def test_without_pyspark_it_says_what_to_install(
    hamlet: Callable[..., Left], monkeypatch: pytest.MonkeyPatch
):
    for name in [each for each in sys.modules if each.startswith("hamlet.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)

    status, out, err = hamlet()

    assert (status, out) == (2, "")
    assert is_one_sentence(err)
    assert "pip install 'hamlet-trends[spark]'" in err
    assert "--engine local" in err


def test_progress_tells_of_tasks_and_grows(hamlet: Callable[..., Left], spark: SparkSession):
    from hamlet.spark.command import _watched

    told: list[tuple[str, float]] = []

    with _watched(spark, lambda what, done: told.append((what, done))):
        # Tasks that last long enough to be looked at, and do nothing.
        sleep = "java_method('java.lang.Thread', 'sleep', 300L + id)"
        spark.range(0, 8, 1, 8).selectExpr(sleep).collect()

    assert told
    assert all(what.endswith(" tasks") for what, _ in told)
    assert [done for _, done in told] == sorted(done for _, done in told)
    assert all(0 <= done <= 1 for _, done in told)


def test_errors_of_spark_are_told_in_its_words():
    oom = explained(Exception("Job aborted\njava.lang.OutOfMemoryError: Java heap space"))
    other = explained(Exception("[PATH_NOT_FOUND] Path does not exist\nat x.y.Z"))
    python = 'thrown: Traceback (most recent call last):\n  File "a.py", line 1\n'
    task = explained(Exception(f"{python}    work()\n    ^^^\nKeyError: 'x'\n SQLSTATE: 38000"))

    assert isinstance(oom, RunError)
    assert "ran out of memory" in str(oom)
    assert str(other) == "Spark: [PATH_NOT_FOUND] Path does not exist"
    gone = explained(ConnectionRefusedError(111, "Connection refused"))
    assert str(gone) == "Spark: its Java process has ended, and nobody here has asked it to"
    assert str(task) == "Spark: KeyError: 'x'"


def test_a_package_that_cannot_be_had_is_told_and_not_the_stack_of_java(
    capfd: pytest.CaptureFixture[str],
):
    said = b"RuntimeException: [unresolved dependency: org.x#kafka_2.13;4.3.0: not found]\n"

    def fail() -> None:
        with sessions._quiet_java():
            os.write(2, said)
            raise RuntimeError

    with pytest.raises(RunError, match=r"cannot download org.x:kafka_2.13:4.3.0; where no"):
        fail()

    assert capfd.readouterr().err == ""


def test_the_first_words_of_java_go_to_a_file(capfd: pytest.CaptureFixture[str]):
    with sessions._quiet_java():
        os.write(2, b"WARNING: Using incubator modules\n")
    os.write(2, b"shown\n")

    assert capfd.readouterr().err == "shown\n"


def test_what_java_says_when_it_does_not_start_is_shown(capfd: pytest.CaptureFixture[str]):
    def start() -> None:
        with sessions._quiet_java():
            os.write(2, b"Error: no room\n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        start()

    assert capfd.readouterr().err == "Error: no room\n"


# Measured


def test_bench_spark_prints_the_document_that_it_writes(
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """As few groups and runs as show that it works: one measurement of four, once."""
    small = {"GROUPS": 20, "QUERIES": 2, "REPEAT": 1, "RETURNS": ("COUNT(*)",), "RIDES": 2000}
    for name, value in {**small, "NUMBERS": ("exact",)}.items():
        monkeypatch.setattr(bench, name, value)
    path = tmp_path / "spark.json"

    options = ["--quick", "--only", "batch", "--events", "1000", "--format", "json"]
    status = run(["bench", "spark", *options, "--out", str(path)])

    out, err = capsys.readouterr()
    document = json.loads(out)
    assert status == 0
    assert document == json.loads(path.read_text(encoding="utf-8"))
    assert [figure["case"] for figure in document["batch"]["figures"]] == ["batch"]
    assert [each["state"] for each in document["batch"]["small"]] == ["cold", "warm"]
    assert err.endswith(f"wrote {path}\n")


def test_values_of_several_kinds_are_what_they_are_in_a_local_run(
    hamlet: Callable[..., Left],
) -> None:
    values = [1, "a", True, None, "b"]
    lines = [json.dumps({"type": "B", "time": t, "g": v, "x": v}) for t, v in enumerate(values)]
    Path("events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ["--events", "events.jsonl"]
    Path("w.hql").write_text("RETURN COUNT(*) PATTERN B+ GROUPBY g WITHIN 9 s", encoding="utf-8")

    ways = [hamlet(*given, *engine) for engine in ((), ("--engine", "local"))]

    assert ways[0].out == ways[1].out
    said = [next(line for line in each.err.splitlines() if "kinds" in line) for each in ways]
    assert said == 2 * [
        "note      g has values of several kinds, 1 number, 2 texts, 1 truth value: all are taken "
        "as text"
    ]
    Path("w.hql").write_text("RETURN SUM(B.x) PATTERN B+ WITHIN 9 s", encoding="utf-8")
    refused = [hamlet(*given, *engine) for engine in ((), ("--engine", "local"))]
    assert refused[0] == refused[1]
    assert "SUM needs numbers, but attribute 'x' is text" in refused[0].err
