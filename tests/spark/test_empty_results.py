"""Queries without rows say why on Spark as they do in a local run, and only then ask again.

Would catch a job that nobody asked for, a reason that differs from that of a local run, and a
reason found in some events that is told of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hamlet import Workload
from hamlet.engine import Options
from hamlet.spark import empty_results
from hamlet.spark.batch import answer

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

TABLE = pa.table(
    {
        "type": ["A", "B", "A", "C"],
        "time": [1, 2, 3, 40],
        "x": [1, 5, 3, None],
        "k": [1, 2, 1, 1],
    }
)
TEXT = """
some: RETURN COUNT(*) PATTERN A+ WITHIN 10 s;
low: RETURN COUNT(*) PATTERN A WHERE A.x > 5 WITHIN 10 s;
keyed: RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] WITHIN 10 s;
short: RETURN COUNT(*) PATTERN SEQ(A, C) WITHIN 10 s;
absent: RETURN COUNT(*) PATTERN SEQ(A, Bb) WITHIN 10 s
"""


def notes_of(spark: SparkSession, text: str, table: Any = TABLE) -> tuple[str, ...]:
    frame = spark.createDataFrame(table)
    return answer(Workload.parse(text).plan, frame, Options()).collected().notes


def test_they_are_those_of_a_local_run(spark: SparkSession) -> None:
    expected = Workload.parse(TEXT).run(TABLE).notes

    assert set(notes_of(spark, TEXT)) == {each for each in expected if "compiled code" not in each}
    assert any(each.startswith("keyed has no rows: without [k]") for each in expected)


def test_a_reason_found_in_the_first_events_says_so(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(empty_results, "_MOST_EVENTS", 1)

    (note,) = notes_of(spark, "RETURN COUNT(*) PATTERN A WHERE A.x > 5 WITHIN 10 s")

    assert note == (
        "q1 has no rows: none of 1 event of type A satisfies x > 5 (over the first 1 events)"
    )


def test_where_all_queries_have_rows_nothing_is_asked(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(empty_results, "_seen", None)

    assert notes_of(spark, "RETURN COUNT(*) PATTERN A WITHIN 10 s") == ()


def test_no_events_are_said_to_be_none(spark: SparkSession) -> None:
    assert notes_of(spark, "RETURN COUNT(*) PATTERN A WITHIN 10 s", TABLE[:0]) == (
        "there are no events",
    )
