"""Workloads on Spark against the conformance cases, many of them in one job.

Would catch a letter, a filter or a column that Spark makes otherwise than the engine, a partition
that is cut by a shuffle, partial answers that are added up wrong, and a row that comes twice.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conformance import Case, differences, load_cases
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hamlet import Workload
from hamlet.reading.untyped import column_of_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

WAYS = [(n, s) for n in ("exact", "float") for s in ("always", "never")]
# Sets of different partitionings, and every kind of pattern, are among any forty of them.
EVERY = 8


def cases(remainder: int) -> list[Case]:
    found = load_cases()
    return [case for number, case in enumerate(found) if number % (4 * EVERY) == remainder]


def table_of(case: Case) -> pa.Table:
    """The events of a case, with the types that the engine finds for rows of Python values."""
    names = dict.fromkeys(name for event in case.events for name in event)
    columns = {
        name: column_of_values([event.get(name) for event in case.events], None)[0]
        for name in names
    }
    return pa.table(columns)


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table)


def answers(spark: SparkSession, some: list[Case], **options: Any) -> dict[int, list[Any]]:
    """The rows of each case, all computed by one job."""
    tables = [
        Workload.parse(case.workload)
        .run(frame_of(spark, table_of(case)), order=case.order, **options)
        .select(F.lit(case.id).alias("case"), "*")
        for case in some
    ]
    found: dict[int, list[Any]] = {case.id: [] for case in some}
    for row in reduce(DataFrame.union, tables).toArrow().to_pylist():
        found[row["case"]].append(row)
    return found


@pytest.mark.parametrize(("way", "partitions"), list(enumerate([1, 1, 2, 1])))
def test_conformance_cases(
    spark: SparkSession, settings: Callable[..., None], way: int, partitions: int
):
    numbers, sharing = WAYS[way]
    settings(shuffle__partitions=partitions)
    some = cases(way)

    found = answers(spark, some, numbers=numbers, sharing=sharing)

    wrong = [
        f"case {case.id}, {case.about}: {line}"
        for case in some
        for line in differences(case.expected, found[case.id], numbers)
    ]
    assert not wrong, "\n".join(wrong)
    assert sum(map(len, found.values())) > 50
