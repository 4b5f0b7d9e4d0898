"""A workload over a DataFrame: one shuffle for each partitioning, a second where groups need it.

All partitions of a group are in one task where queries group by all that partitions them; then the
task gives finished rows. Otherwise tasks give partial answers, which are brought together by query,
window and group, added up and finished: so a workload without GROUPBY runs in parallel too. Where
large partitions are cut into panes, partial answers are brought together by query and partition
before that, and panes become windows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet.engine.pipeline import shared_plan
from hamlet.errors import PlanError
from hamlet.io.long_form import long_table
from hamlet.kernel.finish.partial import partial_schema
from hamlet.spark.collecting import Collecting
from hamlet.spark.events import events_of
from hamlet.spark.results import SparkResults
from hamlet.spark.settings import Settings
from hamlet.spark.shuffle_plan import prepare
from hamlet.spark.task import TOLD, TOLD_PARTIAL, Job, without_large
from hamlet.spark.versions import check_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import StructType

    from hamlet.engine import Options
    from hamlet.engine.panes.derive import Panes
    from hamlet.plan.workload import SharableSet, WorkloadPlan
    from hamlet.spark.events import EventFrame
    from hamlet.spark.shuffle_plan import Shuffle

    # Rows of results, and what is told of the work when they are there.
    Piece = tuple[DataFrame, list[Observation]]


# The logarithm of how much a sketch holds: its counts are right to one in a hundred.
_SKETCH = 14


def answer(
    plan: WorkloadPlan,
    frame: DataFrame,
    options: Options,
    *,
    name: str = "events",
    reasons: Sequence[str] = (),
    rows: int | None = None,
    counts: bool | None = None,
) -> SparkResults:
    """The results of every query over the events of a DataFrame; computed when they are asked for.

    Args:
        plan: The workload.
        frame: The events.
        options: How to run it.
        name: What to call the events in a message.
        reasons: What was wrong with rows when they were read; see `events_of`.
        rows: How many rows there are, where that is known; else they are counted where it matters.
        counts: Whether rows that are left out are counted; else the session says. Without, rows of
            types that no query asks for need not be read.

    Raises:
        SchemaError: A column is missing, or is not what the workload uses it for.
        PlanError: The DataFrame is a stream, or a setting of the session is wrong.
    """
    options.check()
    check_version(frame.sparkSession.version)
    if frame.isStreaming:
        remedy = "A batch needs all events: read them with spark.read, not spark.readStream."
        raise PlanError("a streaming DataFrame has no end", remedy)
    shared = shared_plan(plan, options)
    events = events_of(frame, plan, options, name=name, reasons=reasons)
    settings = Settings.of(frame.sparkSession)
    if counts is not None:
        settings = replace(settings, counts=counts)
    prepared = prepare(events, shared, settings, options.numbers, rows)
    pieces: list[Piece] = []
    for shuffle in prepared.shuffles:
        job = Job(
            name,
            prepared.plan,
            shuffle.sets,
            options,
            shuffle.layout,
            events.times,
            settings.rows_in_memory,
            settings.bytes_in_memory,
        )
        pieces += _run(shuffle, job, events)
    return SparkResults(
        table=reduce(DataFrame.union, (rows for rows, _ in pieces)),
        queries=[planned.query for planned in plan.queries],
        kinds={attribute: kind for attribute, (_, kind) in events.schema.items()},
        counts=prepared.counts,
        told=[observation for _, some in pieces for observation in some],
        numbers=options.numbers,
        collecting=Collecting(frame, events, plan, options, bool(reasons)),
    )


def _run(shuffle: Shuffle, job: Job, events: EventFrame) -> Iterator[Piece]:
    """Run the sets of one shuffle: those whose groups are whole in a task, and the others."""
    # With nothing to partition by there is one partition.
    moved = shuffle.frame.repartition(*(shuffle.keys or (1,)))
    if shuffle.panes is not None:
        yield _finished_later(moved, replace(job, plan=shuffle.panes.plan), events, shuffle.panes)
        return
    whole = tuple(each for each in job.sets if _groups_are_whole(job.plan, each, shuffle.by))
    others = tuple(each for each in job.sets if each not in whole)
    if whole:
        yield _finished_at_once(moved, replace(job, sets=whole))
    if others:
        yield _finished_later(moved, replace(job, sets=others), events)


def _groups_are_whole(plan: WorkloadPlan, sharable: SharableSet, by: Sequence[str]) -> bool:
    """Whether each query of a set groups by all that its rows are brought together by."""
    grouped = [set(plan.queries[number].query.group_by) for number in sharable.queries]
    return all(each >= set(by) for each in grouped)


def _finished_at_once(moved: DataFrame, job: Job) -> Piece:
    rows = moved.mapInArrow(job.answered, _long_schema(job))
    told = Observation()
    numbers = {
        name: F.when(F.col("query").isNull() & (F.col("aggregate") == name), F.col("value"))
        for name in TOLD
    }
    is_result = F.col("query").isNotNull()
    watched = rows.observe(
        told, *_sums(numbers), _groups(is_result, "about"), _windows(is_result, "different")
    )
    return watched.where(F.col("query").isNotNull()), [told]


def _finished_later(
    moved: DataFrame, job: Job, events: EventFrame, panes: Panes | None = None
) -> Piece:
    schema = partial_schema(job.plan, _key_schema(events), job.options.numbers)
    job = replace(job, partial=schema, panes=panes)
    partial = moved.mapInArrow(job.answered, _spark_schema(schema))
    if panes is not None:
        together = partial.repartition(*_by_partition(panes))
        partial = together.mapInArrow(job.composed, _spark_schema(schema))
    told, groups = Observation(), Observation()
    numbers = {
        name: F.when((F.col("query") == -1) & (F.col("role") == role), F.col("window"))
        for role, name in enumerate(TOLD_PARTIAL)
    }
    watched = partial.observe(told, *_sums(numbers)).where(F.col("query") >= 0)
    together = watched.repartition("query", "window", "group")
    rows = together.mapInArrow(job.finished, _long_schema(job))
    numbers_of = (_groups(F.lit(True), "groups"), _windows(F.lit(True), "different"))
    return rows.observe(groups, *numbers_of), [told, groups]


def _by_partition(panes: Panes) -> list[Column]:
    """What is the same for all panes of a query and partition; other rows are where they may be."""
    number, first = F.col("query"), F.lit(panes.first)
    origins = F.array(*(F.lit(origin) for origin in panes.origins))
    of_pane = F.element_at(origins, (number - first + 1).cast("int"))
    origin = F.when(number >= first, of_pane).otherwise(number)
    return [origin, F.when(number < first, F.col("window")), F.col("group")]


def _groups(is_result: Column, name: str) -> Column:
    """About how many groups there are; one may have windows in many tasks, so nobody sees all."""
    return _different(is_result, "group").alias(name)


def _windows(is_result: Column, name: str) -> Column:
    """About how many windows have a result, in whatever tasks their groups are."""
    return _different(is_result, "window_start").alias(name)


def _different(is_result: Column, column: str) -> Column:
    """About how many values of a column the queries have, each by itself.

    Every task sends what it has counted with. A sketch is a few bytes as long as there is little in
    it; the thousands of numbers of `approx_count_distinct` would take a small task longer than all
    else that it does.
    """
    values = F.when(is_result, F.xxhash64("query", column))
    return F.hll_sketch_estimate(F.hll_sketch_agg(values, _SKETCH))


def _sums(numbers: dict[str, Column]) -> list[Column]:
    return [F.coalesce(F.sum(each), F.lit(0)).alias(name) for name, each in numbers.items()]


# Schemas


def _long_schema(job: Job) -> StructType:
    return _spark_schema(long_table(job.plan.queries[0].query, None, job.times).schema)


def _spark_schema(schema: pa.Schema) -> StructType:
    made: Any = from_arrow_schema(without_large(schema), prefer_timestamp_ntz=True)
    return made  # type: ignore[no-any-return]


def _key_schema(events: EventFrame) -> pa.Schema:
    """The types of attributes; what is always null never gets into an answer, and may be text."""
    known = events.arrow_schema()
    kinds = [pa.string() if pa.types.is_null(field.type) else field.type for field in known]
    return pa.schema(list(zip(known.names, kinds, strict=True)))
