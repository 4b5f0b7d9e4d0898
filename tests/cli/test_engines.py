"""Which engine `hamlet run` takes by itself, and what it says about it.

Would catch a small file that waits for Spark, a run that fails for want of pyspark though it fits
into memory, and a machine that runs out of memory where Spark was there.
"""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import pytest

from hamlet.cli import engines, run
from hamlet.cli.engines import by_size, choose_engine, count_events
from hamlet.data import generate_table
from hamlet.data.files import write_events
from hamlet.errors import PlanError

WORKLOAD = "q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s"
EVENTS = "time,type\n1,A\n2,B\n3,B\n"
GB = 1 << 30


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.hql").write_text(WORKLOAD, encoding="utf-8")
    Path("events.csv").write_text(EVENTS, encoding="utf-8")


def choose(events: str = "events.csv", **given: str | None) -> engines.ChosenEngine:
    return choose_engine(events, **{"asked": None, "place": "", "only_local": "", **given})  # type: ignore[arg-type]


def test_a_small_file_is_run_here_without_pyspark_and_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)

    status = run(["run", "w.hql", "--events", "events.csv"])

    out, err = capsys.readouterr()
    assert status == 0
    assert "q1     [0, 10)  {}     COUNT(*)       3" in out
    first = err.splitlines()[0]
    assert first == (
        "engine    local: about 3 events fit into memory (for the other: --engine spark)"
    )


def test_who_asks_for_an_engine_is_told_nothing(capsys: pytest.CaptureFixture[str]):
    assert run(["run", "w.hql", "--events", "events.csv", "--engine", "local"]) == 0

    assert "engine" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("events", "given", "engine"),
    [
        ("events.csv", {}, "local"),
        ("events.csv", {"asked": "spark"}, "spark"),
        ("events.csv", {"place": "--master"}, "spark"),
        ("events.csv", {"place": "--remote"}, "spark"),
        ("s3a://bucket/events", {}, "spark"),
        ("events.csv", {"only_local": "--trace"}, "local"),
    ],
)
def test_the_engine_follows_what_is_asked(events: str, given: dict[str, str], engine: str):
    assert choose(events, **given).engine == engine


def test_many_events_are_for_spark_and_it_says_why():
    chosen = by_size(100_000_000, 16 * GB)

    assert chosen.engine == "spark"
    assert chosen.line == (
        "engine    spark: about 100,000,000 events may take 50.0 GB of memory, 17.2 GB are free "
        "(for the other: --engine local)"
    )


def test_too_many_events_without_pyspark_are_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)

    with pytest.raises(PlanError, match=r"pyspark is not installed\. For Spark run pip install"):
        by_size(100_000_000, 16 * GB)


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.parquet", "e.csv.gz", "parts"])
def test_events_are_counted_without_reading_them_all(name: str):
    table = generate_table("ridesharing", events=50_000, seed=1)
    write_events(table.to_batches(), Path(name), table.schema)

    found = count_events(name)

    # Packed text is not known before it is unpacked.
    assert 0.95 <= found / 50_000 <= (1.05 if not name.endswith(".gz") else 4)


def test_files_that_are_not_what_they_seem_are_left_to_who_reads_them():
    Path("broken.parquet").write_text("no")
    Path("broken.csv.gz").write_bytes(gzip.compress(b"time,type\n" * 50_000)[:100])

    assert count_events("broken.parquet") == 0
    assert count_events("broken.csv.gz") == 0


def test_free_memory_is_known_here():
    assert 10_000_000 < engines.free_memory() < 1 << 50
    assert importlib.util.find_spec("pyspark") is not None
