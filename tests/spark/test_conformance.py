"""Workloads on Spark against the conformance cases, many of them in one job.

Would catch a letter, a filter or a column that Spark makes otherwise than the engine, a partition
that is cut by a shuffle, partial answers that are added up wrong, and a row that comes twice. All
cases are run as workloads of many cases each, whose types have names of their own: at once, in
order of time as a task does that has too many rows, and cut into slices of time shorter and longer
than windows. So it would also catch a window that closes too early, late, twice or never, and one
that two slices give, or none.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conformance import Case, differences, load_cases
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hamlet import Workload
from hamlet.events.untyped import column_of_values
from hamlet.spark import shuffle_plan
from hamlet.spark.skew import Slices

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


# All cases, many in one workload

# So many have more types than letters have numbers for; half as many have fewer.
TOGETHER = 84
# Rows in memory, and the length of slices in seconds
MANY = 1_000_000
WAYS_OF_SOME = [("float", MANY, None), ("exact", 7, None), ("float", MANY, 90), ("exact", 5, 31)]


def joined(some: list[Case]) -> Case:
    """Some cases as one; each has types and query names of its own."""
    texts, events, expected = [], [], []
    for case in some:
        mark = f"_{case.id}"
        text = re.sub(r"\b([A-Z])\b", rf"\1{mark}", case.workload)
        texts.append(re.sub(r"(?m)^(q\d+):", rf"\1{mark}:", text))
        events += [event | {"type": event["type"] + mark} for event in case.events]
        expected += [row | {"query": row["query"] + mark} for row in case.expected]
    about = f"{some[0].id} to {some[-1].id}"
    return Case(some[0].id, about, some[0].order, ";\n".join(texts), events, expected)


def all_cases(size: int) -> list[Case]:
    found = []
    for order in (None, "seq"):
        some = [case for case in load_cases() if case.order == order]
        found += [joined(some[start : start + size]) for start in range(0, len(some), size)]
    return found


def without_mark(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the name of its aggregate as it is in the case."""
    return row | {"aggregate": re.sub(r"\b([A-Z])_\d+\b", r"\1", row["aggregate"])}


def wrong_rows(some: list[Case], found: dict[int, list[Any]], numbers: str) -> list[str]:
    return [
        f"cases {case.about}: {line}"
        for case in some
        for line in differences(case.expected, map(without_mark, found[case.id]), numbers)
    ]


@pytest.mark.usefixtures("generated_code")
def test_all_cases(spark: SparkSession):
    some = all_cases(TOGETHER)

    found = answers(spark, some)

    assert not wrong_rows(some, found, "exact")
    assert sum(map(len, found.values())) == sum(len(case.expected) for case in load_cases())


@pytest.mark.parametrize("way", range(len(WAYS_OF_SOME)))
def test_some_cases_in_other_ways(
    spark: SparkSession,
    settings: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    way: int,
):
    numbers, rows_in_memory, slice_s = WAYS_OF_SOME[way]
    settings(shuffle__partitions=1 + way % 2, hamlet__rowsInMemory=rows_in_memory)
    some = all_cases(TOGETHER // 2)[way :: 2 * len(WAYS_OF_SOME)]
    if slice_s is not None:

        def cut(_: Any, reach_us: int) -> Slices:
            return Slices(slice_s * 10**6, reach_us, None)

        monkeypatch.setattr(shuffle_plan, "slices_of", cut)

    found = answers(spark, some, numbers=numbers)

    assert not wrong_rows(some, found, numbers)
    assert sum(map(len, found.values())) > 100
