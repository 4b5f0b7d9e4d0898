"""What the second edition of the language has on Spark, against the readable cases of the language.

Would catch a type that Spark drops because no query mentions it, though one asks for any; a
condition of a defined type that is found on some types only; and copies of a place whose conditions
Spark takes for different ones.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from case_files import FOLDER, ReadableCase, read_cases, shown
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hamlet import Workload
from hamlet.events.untyped import column_of_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Each case is a job of its own inside the one that all are.
EVERY = 6
FILES = (
    "counted_repetition",
    "any_type",
    "defined_types",
    "having",
    "computed_results",
    "deviation",
    "length",
    "duration",
    "shifted_windows",
    "time_conditions",
    "functions",
    "like",
    "match_next",
    "match_contiguous",
)


def table_of(case: ReadableCase) -> pa.Table:
    """The events of a case, with the types that the engine finds for rows of Python values."""
    names = dict.fromkeys(name for event in case.events for name in event)
    columns = {
        name: column_of_values([event.get(name) for event in case.events], None)[0]
        for name in names
    }
    return pa.table({name: in_utc(column) for name, column in columns.items()})


def in_utc(column: pa.Array) -> pa.Array:
    """A column; Spark would else put times without a zone into that of the session."""
    return column.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(column.type) else column


def test_readable_cases_are_answered_on_spark(spark: SparkSession) -> None:
    cases = [case for name in FILES for case in read_cases(FOLDER / f"{name}.case")][::EVERY]
    tables = [
        Workload.parse(case.workload)
        .run(spark.createDataFrame(table_of(case)), order=case.order)
        .select(F.lit(number).alias("case"), "*")
        for number, case in enumerate(cases)
    ]

    found: list[list[dict[str, object]]] = [[] for _ in cases]
    for row in reduce(DataFrame.union, tables).toArrow().to_pylist():
        found[row["case"]].append(row)

    for case, rows in zip(cases, found, strict=True):
        assert shown(rows) == case.expected, case.title
