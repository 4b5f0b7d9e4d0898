"""`hamlet run --save` and `--report` on Spark.

Would catch a folder of a run on Spark that differs from one of the local engine in its results, and
a page that is silent about the trace that such a run does not keep.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hamlet.cli import run as run_cli
from hamlet.report.saved import FILES, Run

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

QUERIES = """\
q1: RETURN COUNT(*), MAX(B.x) AS top PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s;
q2: RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10 s
"""
EVENTS = "time,type,g,x\n" + "".join(f"{t},{k},u,{t}\n" for t, k in enumerate("AACBBBB"))


def test_a_run_on_spark_is_kept_like_one_of_the_local_engine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("w.hql").write_text(QUERIES, encoding="utf-8")
    Path("events.csv").write_text(EVENTS, encoding="utf-8")
    given = ["run", "w.hql", "--events", "events.csv", "--engine", "spark"]

    # The results go to a folder, which Spark would write by itself if nothing were kept.
    status = run_cli([*given, "--save", "kept", "--out", "parts", "--report", "page.html"])
    run_cli([*given, "--save", "local", "--engine", "local"])

    found, local = Run.load("kept"), Run.load("local")
    assert status == 0
    assert (found.engine, local.engine) == ("spark", "local")
    assert found.table.to_pylist() == local.table.to_pylist()
    assert [each["query"] for each in found.examples] == ["q1", "q2"]
    assert [each["count"] for each in found.examples] == ["30", "15"]
    assert sorted(p.name for p in Path("kept").iterdir()) == sorted(set(FILES) - {"trace.parquet"})
    assert "pyspark" in found.circumstances["versions"]
    assert Path("parts").is_dir()
    page = Path("page.html").read_text(encoding="utf-8")
    assert "A run on Spark keeps no trace of its decisions." in page
