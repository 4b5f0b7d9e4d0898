"""Workloads over files in SQL alone, by the data source `hamlet` that Spark finds by itself.

Would catch a package that Spark does not find, columns without the types of the files, rows that
are not those of one machine, and a mistake in a query that is not told when the view is made.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import types as T

from hamlet import Workload

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BEGIN = datetime(2026, 3, 8, 6, 30)
ONE = "RETURN COUNT(*) AS trends, AVG(b.x) PATTERN SEQ(A, B b+) GROUPBY g WITHIN 10 min"
TWO = f"p: {ONE}; q: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) GROUPBY g WITHIN 20 min"
TABLE = pa.table(
    {
        "type": ["ABBCB"[i % 5] for i in range(300)],
        "ts": [BEGIN + timedelta(seconds=37 * i) for i in range(300)],
        "g": pa.array([i % 7 for i in range(300)], pa.int32()),
        "x": [i / 4 for i in range(300)],
    }
)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A folder of two files."""
    for number in range(2):
        parquet.write_table(TABLE.slice(number * 150, 150), tmp_path / f"{number}.parquet")
    return tmp_path


def view(path: Any, workload: str, **options: str) -> str:
    quoted = {"path": str(path), "workload": workload.replace("'", "''"), **options}
    given = ", ".join(f"{name} '{text}'" for name, text in quoted.items())
    return f"CREATE OR REPLACE TEMPORARY VIEW found USING hamlet OPTIONS ({given})"


def test_a_view_over_files_has_typed_columns_and_the_rows_of_one_machine(
    spark: SparkSession, events: Path, tmp_path: Path
):
    (tmp_path / "one.hql").write_text(ONE)

    spark.sql(view(events, str(tmp_path / "one.hql"), time="ts"))

    found = spark.table("found")
    kinds = [T.TimestampNTZType()] * 2 + [
        T.IntegerType(),
        T.DecimalType(38, 0),
        T.DoubleType(),
    ]
    assert [field.dataType for field in found.schema.fields] == kinds
    expected = Workload.parse(ONE).run(TABLE, time="ts")
    rows = sorted(expected.wide(expected.queries[0]).to_pylist(), key=repr)
    assert [row["g"] for row in rows] == [
        row["g"] for row in sorted(found.toArrow().to_pylist(), key=repr)
    ]
    total = spark.sql("SELECT sum(trends) FROM found WHERE g > 2").collect()[0][0]
    assert int(total) == sum(int(row["trends"]) for row in rows if row["g"] > 2) > 0


def test_several_queries_over_text_are_long(spark: SparkSession, tmp_path: Path):
    lines = (f"{kind},{i},{i % 7},{i}\n" for i, kind in enumerate("ABBCB" * 20))
    (tmp_path / "events.csv").write_text("type,time,g,x\n" + "".join(lines))

    spark.sql(view(tmp_path / "events.csv", TWO))

    expected = Workload.parse(TWO).run(tmp_path / "events.csv").table
    found = spark.table("found").toArrow()
    assert found.column_names == expected.column_names
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert expected.num_rows > 10


@pytest.mark.parametrize(
    ("workload", "options", "message"),
    [
        ("RETURN COUNT(*) PATTER A+ WITHIN 1 s", {"time": "ts"}, "PATTER"),
        (ONE, {}, "column 'time' not found"),
        (ONE, {"time": "ts", "size": "x"}, "there is no argument 'size'"),
        (TWO, {"time": "ts", "form": "wide"}, "these are 2"),
        ("none.hql", {}, "none.hql"),
    ],
)
def test_a_mistake_is_told_when_the_view_is_made(
    spark: SparkSession, events: Path, workload: str, options: dict[str, str], message: str
):
    with pytest.raises(PySparkException) as caught:
        spark.sql(view(events, workload, **options))

    assert message in str(caught.value)
