"""What rows are brought together by, against the same workload on one machine.

Would catch a group that is in two tasks, a set that sees rows without its key, a shuffle or a scan
more than is needed, and groups that are brought together although they are few, or one is large.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.engine import Options
from hamlet.io.long_form import COLUMNS
from hamlet.spark import bringing
from hamlet.spark.batch import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
# Sets of four partitionings, three of which group by k in common, and one by nothing.
WORKLOAD = """
a: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 20 s SLIDE 5 s;
b: RETURN COUNT(*), AVG(B.x) PATTERN SEQ(A, B+) WHERE [m] GROUPBY k WITHIN 20 s;
c: RETURN COUNT(*), MAX(B.x) PATTERN SEQ(A, NOT C, B+) WHERE [m] GROUPBY k, n WITHIN 15 s;
d: RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x AND [n] GROUPBY k WITHIN 10 s;
e: RETURN COUNT(*) PATTERN SEQ(A, C) GROUPBY k HAVING COUNT(*) > 1 WITHIN 20 s;
f: RETURN COUNT(*) PATTERN A+ AND C+ WHERE [m] GROUPBY k WITHIN 10 s;
g: RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [n] WITHIN 20 s
"""


def events(share: float = 0.0, count: int = 1500) -> pa.Table:
    """Events without some keys; one group of k has a share of all."""
    chance = random.Random(count)
    rows: list[dict[str, Any]] = [
        {
            "type": chance.choice("AABBBBC"),
            "time": number // 3,
            "k": "k0" if chance.random() < share else chance.choice([f"k{i}" for i in range(30)]),
            "m": chance.choice([-0.0, 0.0, 1.5, None]),
            "n": chance.choice(["x", "y", None]),
            "x": chance.randrange(9),
        }
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows)


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in COLUMNS) for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize("shuffle", ["group", "partition"])
@pytest.mark.parametrize("slices", ["auto", "on"])
def test_rows_are_those_of_one_machine_whatever_they_are_brought_together_by(
    spark: SparkSession, settings: Callable[..., None], shuffle: str, slices: str
):
    settings(hamlet__shuffle=shuffle, hamlet__slices=slices, hamlet__sliceRows=200)
    table, workload = events(share=0.6), Workload.parse(WORKLOAD)

    results = answer(workload.plan, spark.createDataFrame(table), Options())

    alone = workload.run(table)
    assert as_rows(results.table.toArrow()) == as_rows(alone.table)
    found, expected = results.statistics(), alone.statistics
    assert (found.events_in, found.events_used) == (expected.events_in, expected.events_used)
    assert found.without_key == expected.without_key
    assert found.windows_closed == expected.windows_closed


def planned(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, share: float
) -> list[tuple[tuple[str, ...], int]]:
    """What rows are brought together by, and for how many sets, where groups are looked at."""
    monkeypatch.setattr(bringing, "_FEW_ROWS", 10)
    found: list[bringing.Brought] = []
    made = bringing._chosen

    def chosen(*args: Any) -> list[bringing.Brought]:
        found.extend(made(*args))
        return found

    monkeypatch.setattr(bringing, "_chosen", chosen)
    answer(Workload.parse(WORKLOAD).plan, spark.createDataFrame(events(share)), Options())
    return [(each.by, len(each.sets)) for each in found]


def test_many_even_groups_are_brought_together_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    assert planned(spark, monkeypatch, share=0.0) == [(("k",), 4), (("n",), 1)]


def test_rows_of_a_large_group_are_brought_together_by_all_that_partitions_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    found = planned(spark, monkeypatch, share=0.6)

    assert sorted(found) == [
        (("k",), 1), (("k", "m"), 1), (("k", "m", "n"), 1), (("k", "n"), 1), (("n",), 1)
    ]  # fmt: skip


def test_one_shuffle_and_one_scan_are_enough_where_queries_group_by_something_in_common(
    spark: SparkSession,
):
    text = WORKLOAD.rsplit(";", 1)[0]
    frame = spark.createDataFrame(events())

    results = answer(Workload.parse(text).plan, frame, Options())

    statement = "EXPLAIN SELECT * FROM {frame}"
    plan = str(spark.sql(statement, frame=results.table).collect()[0][0])
    assert plan.count("Exchange hashpartitioning") == 1
    assert plan.count("MapInArrow") == 1
