"""Random workloads of all of the language over random streams on Spark, against the reference.

Would catch what a readable case does not think of: a condition, a function or a defined type that
Spark computes otherwise than the engine, an event that it leaves out though it stands between two
others, a window or a group that is put together wrong. Many samples are one job, each with rows
and a workload of its own.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conformance import differences, scaled_reference_rows
from hypothesis import HealthCheck, Phase, given
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from random_workloads import Sample, samples
from sampling import random_sample
from test_random_workloads import is_valid

from hamlet import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from hamlet.plan.number_mode import Numbers

# What is drawn for one job
TOGETHER = 25
COLUMNS = {
    "type": pa.string(), "time": pa.float64(), "x": pa.int64(), "y": pa.float64(),
    "g": pa.string(), "d": pa.int64(), "seq": pa.int64(), "z": pa.int64(), "s": pa.string(),
    "p": pa.bool_(), "t": pa.timestamp("us", "UTC"),
}  # fmt: skip


def drawn(count: int) -> list[Sample]:
    """Some random samples that are valid; they are not made smaller where they fail."""
    found: list[Sample] = []

    @random_sample(
        count,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(samples())
    def collect(sample: Sample) -> None:
        found.extend([sample] if is_valid(sample) else [])

    collect()
    return found


def table_of(sample: Sample) -> pa.Table:
    """The events of a sample, with all columns that samples have."""
    return pa.table(
        {
            name: pa.array([event.get(name) for event in sample.events], kind)
            for name, kind in COLUMNS.items()
        }
    )


def answers(
    spark: SparkSession, some: Iterable[Sample], numbers: Numbers
) -> list[list[dict[str, Any]]]:
    """The rows of each sample, all computed by one job."""
    tables = [
        Workload.parse(sample.workload)
        .run(spark.createDataFrame(table_of(sample)), order=sample.order, numbers=numbers)
        .select(F.lit(number).alias("sample"), "*")
        for number, sample in enumerate(some)
    ]
    found: list[list[dict[str, Any]]] = [[] for _ in tables]
    for row in reduce(DataFrame.union, tables).toArrow().to_pylist():
        found[row["sample"]].append(row)
    return found


def check(spark: SparkSession, some: list[Sample], numbers: Numbers) -> None:
    wrong = []
    for sample, rows in zip(some, answers(spark, some, numbers), strict=True):
        expected = scaled_reference_rows(sample.workload, sample.events, sample.order)
        lines = differences(expected, rows, numbers)
        wrong += [str(sample), *lines] if lines else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_random_workloads_are_answered_on_spark(spark: SparkSession, numbers: Numbers) -> None:
    check(spark, drawn(TOGETHER), numbers)
