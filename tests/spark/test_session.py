"""How a session is found or started, and with which Java.

Would catch a session of the user that is replaced, a Java that is too old being taken, the one from
pip being taken although there is another, a setting that the user has chosen being changed, two
sessions that disturb each other, and a package that imports pyspark when it need not.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.errors import PlanError
from hamlet.spark import register
from hamlet.spark import session as sessions
from hamlet.spark.versions import check_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make a Java of some version that only says which it is; none is on PATH otherwise."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(sessions, "_java_from_pip", lambda: None)

    def make(folder: str, version: str) -> Path:
        path = tmp_path / folder / "java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        path.chmod(0o755)
        return path

    return make


def test_the_version_of_a_java_is_read(java, tmp_path: Path):
    assert sessions.java_version(java("a", "17.0.9")) == 17
    assert sessions.java_version(java("b", "1.8.0_402")) == 8
    assert sessions.java_version(java("c", "25-ea")) == 25
    assert sessions.java_version(tmp_path / "none") == 0


def test_java_home_comes_first(java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    java("home/bin", "21.0.1")
    java("path", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))

    sessions.find_java()

    assert os.environ["JAVA_HOME"] == str(tmp_path / "home")


def test_an_old_java_home_gives_way_to_path(java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    java("home/bin", "11.0.2")
    real = java("real/bin", "17.0.9")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "java").symlink_to(real)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))

    sessions.find_java()

    assert os.environ["JAVA_HOME"] == str(tmp_path / "real")


def test_without_any_java_it_says_what_to_do(java):
    with pytest.raises(PlanError, match=r"there is no Java 17 or newer.*--engine local"):
        sessions.find_java()


def test_the_java_from_pip_runs_without_the_argument_it_cannot_take(
    java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    told = tmp_path / "it's a path" / "java"
    told.parent.mkdir()
    told.write_text('#!/bin/sh\nfor each do echo "[$each]"; done\n')
    told.chmod(0o755)
    monkeypatch.setattr(sessions, "_java_from_pip", lambda: told)

    sessions.find_java()

    wrapper = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "Main", "*"]
    left = subprocess.run([wrapper, *arguments], capture_output=True, text=True, check=True)
    assert left.stdout.splitlines() == ["[-cp]", "[a b]", "[]", "[Main]", "[*]"]


def test_an_old_spark_is_refused():
    for version in ("4.0.0", "4.3.0-SNAPSHOT", "10.1"):
        check_version(version)
    check_version("4.1.0", is_stream=True)
    with pytest.raises(PlanError, match=r"Hamlet needs 4\.0 or newer"):
        check_version("3.5.1")
    with pytest.raises(PlanError, match=r"Streams need 4\.1 or newer"):
        check_version("4.0.2", is_stream=True)


def test_the_version_of_the_session_counts(spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spark, "version", "3.5.4")
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 1 s")
    frame = spark.createDataFrame([("A", 1)], "type string, time long")

    with pytest.raises(PlanError, match=r"Spark 3\.5\.4 is too old"):
        workload.run(frame)
    with pytest.raises(PlanError, match=r"Spark 3\.5\.4 is too old"):
        register(spark)


def test_the_session_that_runs_is_taken(spark: SparkSession):
    assert sessions.start() is spark
    assert sessions.start("local[2]") is spark
    with pytest.raises(PlanError, match=r"running on local\[2\]"):
        sessions.start("local[3]")
    with pytest.raises(PlanError, match="none of Spark Connect"):
        sessions.start(remote="sc://host:15002")


def test_what_was_chosen_is_left(spark: SparkSession, new_session: Callable[[], SparkSession]):
    tasks, together = (
        "spark.sql.shuffle.partitions",
        "spark.sql.adaptive.coalescePartitions.enabled",
    )
    other = new_session()
    other.conf.set(together, "true")

    try:
        sessions.cut_into_tasks(other, 1 << 40)
        sessions.cut_into_tasks(spark, 1 << 40)

        # Chosen by the fixture, the second against what a session of ours has
        assert (other.conf.get(tasks), spark.conf.get(tasks)) == ("2", "2")
        assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
        # Chosen while it ran, and not chosen by anybody
        assert (other.conf.get(together), spark.conf.get(together)) == ("true", "false")
        assert spark.conf.get("spark.sql.caseSensitive") == "true"
    finally:
        spark.conf.unset(together)


def test_two_sessions_at_once_have_their_own_settings_and_the_same_results(
    new_session: Callable[[], SparkSession],
):
    others = [new_session(), new_session()]
    for other, partitions in zip(others, ("1", "3"), strict=True):
        other.conf.set("spark.sql.shuffle.partitions", partitions)
        other.conf.set("spark.sql.ansi.enabled", str(partitions == "1").lower())
    others[1].conf.set("spark.hamlet.rowsInMemory", "10")
    rng = random.Random(1)
    events = [{"type": rng.choice("AB"), "time": t, "k": rng.randrange(5)} for t in range(200)]
    text = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.k / A.k = 1 GROUPBY k WITHIN 30 s SLIDE 9 s"
    workload = Workload.parse(text)

    def run(session: SparkSession) -> list[tuple[Any, ...]]:
        frame = session.createDataFrame(pa.Table.from_pylist(events))
        rows = workload.run(frame).select("window_start", "group", "exact").collect()
        return sorted(tuple(row) for row in rows)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(run, others)

    table = workload.run(events).table.select(["window_start", "group", "exact"])
    assert first == second == sorted(tuple(row.values()) for row in table.to_pylist())
    assert len(first) > 50


@pytest.mark.parametrize("statement", ["import hamlet", "import hamlet.cli, hamlet.engine"])
def test_only_the_spark_folder_imports_pyspark(statement: str):
    loaded = "[m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')]"
    script = f"import sys\n{statement}\nassert not {loaded}"

    subprocess.run([sys.executable, "-c", script], check=True)


def test_no_other_folder_mentions_pyspark_in_an_import():
    sources = ROOT / "src" / "hamlet"
    found = {
        str(path.relative_to(sources))
        for path in sources.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.split()[:2] in (["import", "pyspark"], ["from", "pyspark.sql"], ["from", "pyspark"])
    }

    # A type of the public face, which is not imported when it runs, and what measures streams.
    allowed = {"workload.py", "bench/spark_stream.py"}
    assert {each for each in found if not each.startswith("spark/")} <= allowed
