"""Large groups whose windows are long, cut into panes on Spark, against one machine.

Would catch a large group that stays on one core although its queries compose; panes that differ
from row to row, or get a part of their events only, at times of every kind; answers over panes that
do not meet; groups that get lost or come twice beside those that are cut; keys that are spelled
otherwise after a second shuffle; and panes where a query does not compose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from conformance import differences
from pyspark.sql import functions as F

from hamlet import Workload
from hamlet.engine import Options
from hamlet.io.long_form import COLUMNS
from hamlet.spark import shuffle_plan, skew
from hamlet.spark.batch import answer
from hamlet.spark.events import events_of
from hamlet.spark.settings import Settings
from hamlet.spark.skew import SLICE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from hamlet.spark.skew import PaneSlices

# One window over all events, overlapping ones, a guard at each place, AND, and a set of its own
BY_G = """
a: RETURN COUNT(*), SUM(B.x), AVG(B.y), MAX(B.x) PATTERN SEQ(A, B+) GROUPBY g WITHIN 20 min;
b: RETURN COUNT(*), COUNT(B), MIN(B.y) PATTERN SEQ(A, B+) WHERE B.x > -5
   GROUPBY g WITHIN 10 min SLIDE 5 min;
c: RETURN COUNT(*) PATTERN SEQ(NOT C, A, NOT D, B+, NOT C) GROUPBY g WITHIN 20 min;
d: RETURN COUNT(*), SUM(B.x) PATTERN A+ AND SEQ(A, B) GROUPBY g WITHIN 20 min;
e: RETURN COUNT(*), SUM(C.y) PATTERN SEQ(C, D) GROUPBY g WITHIN 5 min
"""
OF_ALL = "f: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WITHIN 20 min SLIDE 10 min"
LATER = "h: RETURN COUNT(*), AVG(B.x) PATTERN SEQ(A, B+) WHERE [g] WITHIN 20 min"
EDGES = "i: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.x < NEXT(B).x GROUPBY g WITHIN 20 min"
SEVERAL = "j: RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B+) GROUPBY g WITHIN 20 min"
# In seconds, all in one of the longest windows; times are whole, so many are equal.
EVENTS, BEGIN_S, SPAN_S, GROUPS = 1500, -1190, 1180, 12

TIMES: dict[str, Callable[[Any], Any]] = {
    "seconds": pa.array,
    "fractions": lambda s: pa.array(s + 0.1),
    "stamps": lambda s: pa.array(s * 10**6, pa.timestamp("us", "UTC")),
}
KEYS: dict[str, Callable[[Any], Any]] = {
    "text": lambda g: pa.array([f"group {number}" for number in g]),
    "stamps": lambda g: pa.array(g * 10**9, pa.timestamp("us", "UTC")),
    # 0.0 and -0.0 are one.
    "floats": lambda g: pa.array(
        np.where(g > 0, g / 4, np.where(np.arange(len(g)) % 2, 0.0, -0.0))
    ),
}


def events(time: str = "seconds", key: str = "text", share: float = 0.8) -> pa.Table:
    """Events of some groups; one of them has a share of all."""
    rng = np.random.default_rng(len(time) + len(key))
    group = rng.integers(1, GROUPS, EVENTS)
    group[: int(share * EVENTS)] = 0
    return pa.table(
        {
            "type": rng.choice(["A", "B", "B", "B", "C", "D"], EVENTS, p=[0.2] * 4 + [0.1] * 2),
            "time": TIMES[time](rng.integers(BEGIN_S, BEGIN_S + SPAN_S, EVENTS)),
            "g": KEYS[key](group),
            "x": rng.integers(-9, 10, EVENTS),
            "y": rng.integers(-9, 10, EVENTS) / 8,
        }
    )


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in COLUMNS) for row in table.to_pylist()), key=repr)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[PaneSlices | None]:
    """The panes that were chosen, each time that they were thought of."""
    found: list[PaneSlices | None] = []

    def looked(*args: Any) -> PaneSlices | None:
        found.append(skew.pane_slices_of(*args))
        return found[-1]

    monkeypatch.setattr(shuffle_plan, "pane_slices_of", looked)
    return found


@pytest.mark.parametrize(
    ("text", "time", "key"),
    [
        (BY_G, "seconds", "text"),
        (BY_G, "fractions", "stamps"),
        (BY_G, "stamps", "floats"),
        (OF_ALL, "seconds", "text"),
        (LATER, "stamps", "stamps"),
    ],
)
def test_a_large_group_with_long_windows_is_cut_and_nothing_changes(
    spark: SparkSession,
    settings: Callable[..., None],
    found: list[PaneSlices | None],
    text: str,
    time: str,
    key: str,
):
    settings(hamlet__slices="on", hamlet__sliceRows=200)
    table, workload = events(time, key), Workload.parse(text)

    results = answer(workload.plan, spark.createDataFrame(table), Options())

    alone = workload.run(table)
    assert as_rows(results.table.toArrow()) == as_rows(alone.table)
    assert max(len(row["exact"] or "") for row in alone.table.to_pylist()) > 40
    (panes,) = found
    assert panes is not None
    assert panes.slices.length_us < SPAN_S * 10**6 / 4
    statistics = results.statistics()
    assert statistics.events_used == alone.statistics.events_used
    assert statistics.windows_closed == alone.statistics.windows_closed
    # An estimate, as close as one in a hundred
    assert statistics.groups == pytest.approx(alone.statistics.groups, rel=0.05)


def test_float_numbers_are_as_near(spark: SparkSession, settings: Callable[..., None]):
    settings(hamlet__slices="on", hamlet__sliceRows=200)
    table, workload = events(), Workload.parse(BY_G)

    results = answer(workload.plan, spark.createDataFrame(table), Options(numbers="float"))

    alone = workload.run(table).table.to_pylist()
    assert not differences(alone, results.table.toArrow().to_pylist(), "float")


def test_slices_of_several_panes_with_more_rows_than_memory_give_the_same(
    spark: SparkSession,
    settings: Callable[..., None],
    found: list[PaneSlices | None],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(skew, "_PANE_ROWS", 30)
    settings(hamlet__slices="on", hamlet__sliceRows=200, hamlet__rowsInMemory=50)
    table, workload = events(), Workload.parse(BY_G)

    results = answer(workload.plan, spark.createDataFrame(table), Options())

    assert as_rows(results.table.toArrow()) == as_rows(workload.run(table).table)
    (panes,) = found
    assert panes is not None
    assert panes.slices.length_us >= 3 * panes.pane_us


def test_several_tasks_have_the_events_of_one_window(
    spark: SparkSession, settings: Callable[..., None]
):
    settings(hamlet__slices="on", hamlet__sliceRows=200, shuffle__partitions=8)
    table, workload, options = events("stamps"), Workload.parse(BY_G), Options()
    frame = spark.createDataFrame(table)
    of_events = events_of(frame, workload.plan, options, name="events")

    (shuffle,) = shuffle_plan.prepare(of_events, workload.plan, Settings.of(spark)).shuffles

    moved = shuffle.frame.repartition(*shuffle.keys).where(F.col(SLICE).isNotNull())
    rows = moved.groupBy(F.spark_partition_id()).count().collect()
    counts = [row["count"] for row in rows]
    assert sum(counts) == 0.8 * EVENTS
    assert len(counts) > 2
    assert max(counts) < 0.6 * sum(counts)


@pytest.mark.parametrize("text", [EDGES, SEVERAL])
@pytest.mark.parametrize("others", ["", BY_G])
def test_what_does_not_compose_is_run_whole(
    spark: SparkSession,
    settings: Callable[..., None],
    found: list[PaneSlices | None],
    text: str,
    others: str,
):
    """The set of the query, that is; it shares B+ with all others but e."""
    settings(hamlet__slices="on", hamlet__sliceRows=200)
    table, workload = events(), Workload.parse(f"{others};{text}" if others else text)

    results = answer(workload.plan, spark.createDataFrame(table), Options())

    alone = workload.run(table)
    assert as_rows(results.table.toArrow()) == as_rows(alone.table)
    assert [panes is not None for panes in found] == ([True] if others else [])
    assert results.statistics().events_in == EVENTS


@pytest.mark.parametrize(
    ("share", "within", "rows"), [(0.0, "20 min", 200), (0.8, "20 min", 2000), (0.8, "10 s", 200)]
)
def test_panes_are_not_made_where_they_would_not_help(
    spark: SparkSession,
    settings: Callable[..., None],
    found: list[PaneSlices | None],
    share: float,
    within: str,
    rows: int,
):
    """No group is large, none has so many rows, or windows are short enough for slices."""
    settings(hamlet__slices="on", hamlet__sliceRows=rows)
    frame = spark.createDataFrame(events(share=share))
    text = f"RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN {within}"

    answer(Workload.parse(text).plan, frame, Options())

    assert found in ([], [None])
