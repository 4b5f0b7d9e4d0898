"""Examples of rows of results on Spark: those of a local run, from the events of the row alone.

Would catch a trend that a local run does not draw, a group of a kind that is not found again, times
in the zone of the session, events of other rows that are collected, and columns that are lost.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hamlet import PlanError, Workload
from hamlet.cli import run
from hamlet.engine import Options
from hamlet.engine.examples import Row
from hamlet.spark.batch import answer
from hamlet.testing import stream

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hamlet.engine.examples import Examples

RISING = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x GROUPBY g WITHIN 10 s"
EVENTS = stream(
    "1 A g=u note=first, 2 B x=3 g=u, 3 B x=5 g=u, 3 B x=2 g=v, 4 B x=4 g=u, 5 C g=u, "
    "12 A g=u, 13 B x=1 g=u, 14 B x=2 g=u, 15 B x=9 g=v"
)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def frame_of(spark: SparkSession, rows: list[dict[str, Any]]) -> Any:
    return spark.createDataFrame(table_of(rows))


def times(found: Examples) -> set[tuple[Any, ...]]:
    return {tuple(event["time"] for event in trend) for trend in found}


def test_they_are_those_of_a_local_run_with_all_columns(spark: SparkSession) -> None:
    workload = Workload.parse(RISING)
    answers = answer(workload.plan, frame_of(spark, EVENTS), Options())

    found = answers.examples("q1", window=0, group={"g": "u"}, n=50)

    local = workload.run(table_of(EVENTS)).examples("q1", window=0, group={"g": "u"}, n=50)
    assert sorted(map(repr, found.trends)) == sorted(map(repr, local.trends))
    assert (found.window, found.group, found.count) == (local.window, local.group, local.count)
    assert found[0][0]["note"] == "first"


def test_only_the_events_of_the_row_are_collected(spark: SparkSession) -> None:
    workload = Workload.parse(RISING)
    answers = answer(workload.plan, frame_of(spark, EVENTS), Options())
    assert answers.origin is not None

    events = answers.origin.events({0: [Row(12_000_000, 14_000_000, '{"g": "u"}')]})

    assert events.table["time"].to_pylist() == [12, 13, 14]


def test_the_first_row_is_found_where_none_is_named(spark: SparkSession) -> None:
    answers = answer(Workload.parse(RISING).plan, frame_of(spark, EVENTS), Options())

    assert answers.examples("q1").window == (0.0, 10.0)
    with pytest.raises(PlanError, match="q1 has no row 20"):
        answers.examples("q1", window=20, group={"g": "u"})
    with pytest.raises(PlanError, match="q1 has no row 3"):
        answers.examples("q1", window=3, group={"g": "u"})


KEYS = {
    "whole": 2**60 + 1,
    "real": 0.1,
    "decimal": Decimal("1.50"),
    "text": 'a "b" \u00e4',
    "day": date(2026, 3, 1),
    "moment": datetime(2026, 3, 8, 7, 30, tzinfo=UTC),
    "is_it": True,
}


def test_groups_and_times_of_every_kind_are_found_again(spark: SparkSession) -> None:
    """A row for each kind of key, in windows of calendar days, with CONTIGUOUS."""
    begin = datetime(2026, 3, 8, 6, 59, 57, tzinfo=UTC)
    rows = [{"type": t, "time": begin.replace(second=57 + i), **KEYS} for i, t in enumerate("AXA")]
    text = "; ".join(
        f"{name}: RETURN COUNT(*) PATTERN SEQ(A, A?) MATCH CONTIGUOUS GROUPBY {name} "
        "WITHIN 1 d IN 'America/New_York'"
        for name in KEYS
    )
    workload = Workload.parse(text)
    local = workload.run(table_of(rows))
    answers = answer(workload.plan, frame_of(spark, rows), Options())

    for name in KEYS:
        expected = local.examples(name, n=9)
        found = answers.examples(
            name, window=expected.window[0].isoformat(), group=expected.group, n=9
        )

        assert found.count == expected.count == 2
        assert (found.window, found.group) == (expected.window, expected.group)
        assert times(found) == times(expected)


LINES = {
    "events.csv": "time,type,g,x,note\n1,A,u,,yes\n2,B,u,3,\nbad,B,u,4,\n4,B,u,4,no\n14,B,u,4,\n",
    "events.jsonl": """\
{"time": 1, "type": "A", "g": "u", "note": "yes"}
{"time": 2, "type": "B", "g": "u", "x": 3}
{"time": "bad", "type": "B", "g": "u", "x": 4}
{"time": 4, "type": "B", "g": "u", "x": 4, "note": "no"}
{"time": 14, "type": "B", "g": "u", "x": 4}
""",
}


@pytest.mark.parametrize("name", LINES)
def test_from_the_command_line(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.hql").write_text(RISING, encoding="utf-8")
    (tmp_path / name).write_text(LINES[name], encoding="utf-8")
    said = []
    for engine in ("spark", "local"):
        command = ["examples", "w.hql", "--events", name, "--engine", engine]

        assert run([*command, "-n", "9", "--window", "0", "--group", '{"g": "u"}']) == 0

        said.append(sorted(capsys.readouterr().out.splitlines()))
    assert said[0] == said[1]
    assert any("note=no" in line for line in said[0])
