"""`hamlet stream` with its page, and state that is spread anew: on Spark, asked by HTTP.

Would catch figures that Spark tells otherwise than they are read, results that do not reach the
page, a query that is added and not shown, and rows that are lost when there are more tasks.
"""

from __future__ import annotations

import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from pyarrow import parquet

from hamlet import Workload
from hamlet.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
PAIRS = "pairs: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s"
MORE = "more: RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x WITHIN 5 s"


def rows(seconds: range) -> list[dict[str, Any]]:
    return [{"type": "AB"[n % 2], "time": 5_000 + n, "k": f"g{n % 5}", "x": n % 7} for n in seconds]


def arrive(folder: Path, number: int, some: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    partial = folder / f".{number}"
    partial.write_text("".join(json.dumps(row) + "\n" for row in some))
    partial.rename(folder / f"{number}.jsonl")


def plain(found: list[dict[str, Any]]) -> list[str]:
    names = ("query", "window_start", "group", "aggregate", "exact")
    return sorted(str([row[name] for name in names]) for row in found)


def ask(url: str, path: str) -> Any:
    with urlopen(url + path, timeout=20) as answer:
        return json.loads(answer.read())


def until(holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 400
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


def test_a_stream_is_watched_and_then_goes_on_with_more_tasks(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.hql").write_text(PAIRS)
    common = ["stream", "w.hql", "--source", "in", "--out", "out", "--checkpoint", "state"]
    common += ["--lateness", "2 s", "--late-rows", "late"]
    told: list[str] = []
    arrive(tmp_path / "in", 0, rows(range(40)))
    monkeypatch.setattr(import_module("hamlet.cli.stream_command"), "tell", told.append)

    def watch() -> dict[str, Any]:
        said = until(lambda: next((re.search("http://[^ ]+/", text) for text in told), None))
        url = said[0]
        until(lambda: ask(url, "figures.json")["totals"]["results"])
        seen = {"figures": ask(url, "figures.json")}
        assert [each["name"] for each in seen["figures"]["queries"]] == ["pairs"]
        seen["results"] = ask(url, "results.json?query=pairs")
        (tmp_path / "w.hql").write_text(f"{PAIRS}; {MORE}")
        until(lambda: len(ask(url, "figures.json")["queries"]) == 2)
        # A row of long ago comes with those that go on.
        arrive(tmp_path / "in", 1, [*rows(range(40, 60)), *rows(range(1))])
        seen["later"] = until(lambda: (f := ask(url, "figures.json"))["totals"]["late"] and f)
        return seen

    is_over = threading.Event()

    def watched() -> dict[str, Any]:
        try:
            return watch()
        finally:
            # One may begin just now, where something went wrong early.
            while not is_over.wait(0.2):
                for query in spark.streams.active:
                    query.stop()

    # Whoever runs the stream has the session; who watches it is somebody else.
    with ThreadPoolExecutor(1) as others:
        watching = others.submit(watched)
        try:
            run([*common, "--page", "0", "--watch"])
        finally:
            is_over.set()
        seen = watching.result()
    figures, results, later = seen["figures"], seen["results"], seen["later"]
    arrive(tmp_path / "in", 2, rows(range(60, 80)))
    # Whoever stops it may stop it in the middle of a batch, which has to be finished before.
    assert run([*common, "--once"]) == 0
    code = run([*common, "--once", "--flush", "--tasks", "3"])

    everything = rows(range(80))
    workload = Workload.parse(PAIRS).run(everything).table.to_pylist()
    found = parquet.read_table(tmp_path / "out").to_pylist()
    assert code == 0
    assert plain([row for row in found if row["query"] == "pairs"]) == plain(workload)
    assert [row["query"] for row in found if row["query"] == "more"]
    assert (figures["totals"]["rows"], figures["totals"]["used"]) == (40, 40)
    assert figures["last"]["watermark"] == 5_037.0
    assert figures["last"]["state_bytes"] > 0
    shown = {each["group"]: each["values"]["COUNT(*)"] for each in results["kept"]}
    first = {
        row["group"]: [row["window_start"] * 10**6, row["window_end"] * 10**6, row["value"]]
        for row in reversed(workload)
        if row["aggregate"] == "COUNT(*)"
    }
    assert {group: values[0] for group, values in shown.items()} == first
    assert (later["totals"]["late"], later["queries"][1]["name"]) == (1, "more")
    kept = "".join(file.read_text() for file in (tmp_path / "late").iterdir())
    assert [json.loads(line)["time"] for line in kept.splitlines()] == [5_000]
    assert any("spreading the state over 3 tasks, not 2" in text for text in told)
    assert json.loads((tmp_path / "state" / "hamlet" / "begun.json").read_text())["buckets"] >= 16
