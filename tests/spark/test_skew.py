"""Groups that are too large for one task, against the same workload on one machine.

Would catch a large group that is not found, or found where there is none; slices that differ from
row to row; a window that two slices give, or none, at times of every kind; and input that is
counted although it is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.engine import Options
from hamlet.errors import PlanError
from hamlet.io.long_form import COLUMNS
from hamlet.spark import shuffle_plan, skew
from hamlet.spark.batch import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from hamlet.spark.skew import Slices

# Guards at both ends of a window, edge predicates, sums, and groups that are put together later
BY_G = """
a: RETURN COUNT(*), SUM(B.x), MAX(B.x) PATTERN SEQ(A, B+) GROUPBY g WITHIN 12 s SLIDE 5 s;
b: RETURN COUNT(*) PATTERN SEQ(NOT C, A, B+) GROUPBY g WITHIN 10 s;
c: RETURN COUNT(*) PATTERN SEQ(A+, NOT C) GROUPBY g WITHIN 7 s SLIDE 7 s;
d: RETURN COUNT(*), AVG(B.x) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x GROUPBY g WITHIN 9 s;
e: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, NOT C, B+) WHERE [g] WITHIN 8 s SLIDE 4 s
"""
OF_ALL = "f: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WITHIN 10 s SLIDE 5 s"
# Times are whole seconds, so many are equal, also where slices and windows begin.
EVENTS, SPAN_S, GROUPS = 1500, 600, 12


def events(time: Callable[[Any], Any], share: float) -> pa.Table:
    """Events of some groups; one of them has a share of all."""
    rng = np.random.default_rng(int(100 * share))
    seconds = rng.integers(-SPAN_S // 2, SPAN_S // 2, EVENTS)
    group = np.where(rng.random(EVENTS) < share, 0, rng.integers(0, GROUPS, EVENTS))
    return pa.table(
        {
            "type": rng.choice(["A", "B", "B", "B", "C"], EVENTS),
            "time": time(seconds),
            "g": pa.array([f"group {number}" for number in group]),
            "x": rng.integers(-9, 10, EVENTS),
        }
    )


TIMES: dict[str, Callable[[Any], Any]] = {
    "seconds": pa.array,
    "fractions": lambda s: pa.array(s + 0.1),
    "stamps": lambda s: pa.array(s * 10**6, pa.timestamp("us", "UTC")),
    "clocks": lambda s: pa.array(s * 10**6, pa.timestamp("us")),
}


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in COLUMNS) for row in table.to_pylist()), key=repr)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Slices | None]:
    """What was found of groups, each time that they were looked for."""
    found: list[Slices | None] = []

    def looked(*args: Any) -> Slices | None:
        found.append(skew.slices_of(*args))
        return found[-1]

    monkeypatch.setattr(shuffle_plan, "slices_of", looked)
    return found


@pytest.mark.parametrize(("time", "text"), [(time, BY_G) for time in TIMES] + [("stamps", OF_ALL)])
def test_a_large_group_is_cut_and_nothing_changes(
    spark: SparkSession,
    settings: Callable[..., None],
    found: list[Slices | None],
    time: str,
    text: str,
):
    settings(hamlet__slices="on", hamlet__sliceRows=200, timestampType="TIMESTAMP_NTZ")
    table = events(TIMES[time], share=0.8)
    workload = Workload.parse(text)

    results = answer(workload.plan, spark.createDataFrame(table), Options())

    alone = workload.run(table)
    assert as_rows(results.table.toArrow()) == as_rows(alone.table)
    (slices,) = found
    assert slices is not None
    assert slices.hashes is None if text == OF_ALL else len(slices.hashes or ()) == 1
    assert slices.reach_us / skew.MOST_OVERLAP <= slices.length_us < SPAN_S * 10**6 / 4
    statistics = results.statistics()
    assert statistics.events_in == alone.statistics.events_in
    assert statistics.events_used == alone.statistics.events_used
    assert statistics.windows_closed == alone.statistics.windows_closed
    assert statistics.groups == alone.statistics.groups


@pytest.mark.parametrize(
    ("share", "within", "rows"), [(0.0, 10, 200), (0.8, 10, 2000), (0.8, 300, 200)]
)
def test_groups_are_whole_where_cutting_would_not_help(
    spark: SparkSession,
    settings: Callable[..., None],
    found: list[Slices | None],
    share: float,
    within: int,
    rows: int,
):
    """No group is large, none has so many rows, or windows are too long."""
    settings(hamlet__slices="on", hamlet__sliceRows=rows)
    frame = spark.createDataFrame(events(TIMES["seconds"], share))
    text = f"RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN {within} s"

    answer(Workload.parse(text).plan, frame, Options())

    assert found == [None]


def test_large_groups_are_found_by_counts_of_rows_of_any_frame(
    spark: SparkSession, settings: Callable[..., None], found: list[Slices | None]
):
    """Also where Spark knows nothing of how large it is: rows of an RDD, and a join with itself."""
    settings(hamlet__sliceRows=200)
    frame = spark.createDataFrame(events(TIMES["seconds"], share=0.8).to_pandas())
    joined = frame.join(frame.select("g").distinct(), "g")
    of_rows = spark.createDataFrame(frame.rdd, frame.schema)
    text = "RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s"

    for each in (joined, of_rows):
        answer(Workload.parse(text).plan, each, Options())

    assert [slices is not None for slices in found] == [True, True]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("hamlet__slices", "maybe", "spark.hamlet.slices is 'maybe'. It is one of auto"),
        ("hamlet__rowsInMemory", "0", "spark.hamlet.rowsInMemory is '0'. It is a number of rows"),
        ("hamlet__sliceRows", "many", "spark.hamlet.sliceRows is 'many'"),
    ],
)
def test_settings_are_checked(
    spark: SparkSession, settings: Callable[..., None], name: str, value: str, message: str
):
    settings(**{name: value})
    frame = spark.createDataFrame(events(TIMES["seconds"], share=0.0))

    with pytest.raises(PlanError, match=message):
        Workload.parse(OF_ALL).run(frame)
