"""Workloads in SQL, by the table function `trends`.

Would catch a group that is cut by buckets, a time that a zone has moved, columns without the types
that were told, and a mistake in a query that shows as a failure of a task.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import types as T

from hamlet import Workload
from hamlet.spark import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGIN = datetime(2026, 3, 8, 6, 30, tzinfo=UTC)  # in New York the clocks change in an hour
ONE = "RETURN COUNT(*), AVG(b.x), SUM(b.n) PATTERN SEQ(A, B b+) GROUPBY g WITHIN 10 min SLIDE 5 min"
TWO = f"p: {ONE}; q: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) GROUPBY g WITHIN 20 min"
KINDS = "type string, ts timestamp, g int, x double, n long, `an other` string"


def rows() -> list[dict[str, Any]]:
    return [
        {
            "type": "ABBCB"[i % 5],
            "ts": BEGIN + timedelta(seconds=37 * i),
            "g": i % 7,
            "x": i / 4,
            "n": i,
            "an other": "t",
        }
        for i in range(300)
    ]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> SparkSession:
    """The session, with a view of events and the function."""
    given = [tuple(row.values()) for row in rows()]
    spark.createDataFrame(given, KINDS).createOrReplaceTempView("events")
    register(spark)
    return spark


def as_numbers(table: Any) -> set[tuple[Any, ...]]:
    moved = [
        tuple(int(v) if isinstance(v, Decimal) else v for v in row.values())
        for row in table.to_pylist()
    ]
    return set(moved)


def test_one_query_has_typed_columns_and_the_rows_of_one_machine(events: SparkSession):
    found = events.sql(f"SELECT * FROM trends(TABLE(events), '{ONE}', time => 'ts')")

    kinds = {field.name: field.dataType for field in found.schema.fields}
    assert kinds == {
        "window_start": T.TimestampType(),
        "window_end": T.TimestampType(),
        "g": T.IntegerType(),
        "COUNT(*)": T.DecimalType(38, 0),
        "AVG(b.x)": T.DoubleType(),
        "SUM(b.n)": T.DecimalType(38, 0),
    }
    expected = Workload.parse(ONE).run(rows(), time="ts")
    assert as_numbers(found.toArrow()) == as_numbers(expected.wide(expected.queries[0]))
    assert len(expected.table) > 100


def test_several_queries_are_long_and_can_be_joined_and_filtered(events: SparkSession):
    text = TWO.replace("'", "''")
    statement = f"""
        SELECT query, count(*) AS n, sum(cast(exact AS decimal(38, 0))) AS total
        FROM trends(TABLE(SELECT *, ts AS moment FROM events), '{text}', time => 'moment')
        WHERE aggregate = 'COUNT(*)' GROUP BY query ORDER BY query"""

    found = [(row.query, row.n, int(row.total)) for row in events.sql(statement).collect()]

    expected = Workload.parse(TWO).run(rows(), time="ts").table.to_pylist()
    counts = [row for row in expected if row["aggregate"] == "COUNT(*)"]
    named = {name: [int(r["exact"]) for r in counts if r["query"] == name] for name in ("p", "q")}
    assert found == [(name, len(values), sum(values)) for name, values in named.items()]


def test_queries_without_a_common_group_see_all_rows(events: SparkSession):
    text = "RETURN COUNT(*) AS trends PATTERN SEQ(A, B+, C) WITHIN 5 min"
    statement = f"SELECT sum(trends) AS n FROM trends(TABLE(events), '{text}', time => 'ts')"

    found = events.sql(statement).collect()[0].n

    expected = Workload.parse(text).run(rows(), time="ts").table["exact"].to_pylist()
    assert int(found) == sum(map(int, expected))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("TABLE(events), 'RETURN COUNT(*) PATTER A+ WITHIN 1 s', time => 'ts'", "PATTER"),
        (f"TABLE(events), '{ONE}'", "time"),
        (f"TABLE(events), '{ONE}', time => 'ts', size => 'x'", "there is no argument 'size'"),
        (f"TABLE(events), '{TWO}', time => 'ts', form => 'wide'", "these are 2"),
        ("TABLE(events), 'RETURN SUM(b.z) PATTERN B b+ WITHIN 1 s', time => 'ts'", "z"),
        ("TABLE(events), 5, time => 'ts'", "the second argument is no text"),
    ],
)
def test_a_mistake_is_told_when_the_statement_is_analysed(
    events: SparkSession, arguments: str, message: str
):
    with pytest.raises(PySparkException) as caught:
        events.sql(f"SELECT * FROM trends({arguments})")

    assert message in str(caught.value)


def test_a_count_with_too_many_digits_says_so(spark: SparkSession):
    given = [("B", i) for i in range(150)]
    spark.createDataFrame(given, "type string, time long").createOrReplaceTempView("many")
    register(spark)
    text = "RETURN COUNT(*) PATTERN B+ WITHIN 1000 s"

    with pytest.raises(PySparkException, match="more than 38 digits"):
        spark.sql(f"SELECT * FROM trends(TABLE(many), '{text}')").collect()
    long = spark.sql(f"SELECT exact FROM trends(TABLE(many), '{text}', form => 'long')").collect()
    assert [int(row.exact) for row in long] == [2**150 - 1]
