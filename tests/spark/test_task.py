"""Tasks without Spark: all conformance cases at once, in order of time, and cut into slices.

Would catch a window that closes too early, late, twice or never where a task has too many rows for
memory; one that two slices give, or none; events of equal time that are parted at a border; a guard
at the start or end of a window that does not see an event on the other side of it; and files that
are left behind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from conformance import Case, differences, load_cases

from hamlet import Workload
from hamlet.engine import Options
from hamlet.events.required_columns import needs_of
from hamlet.events.untyped import column_of_values
from hamlet.kernel.finish.partial import partial_schema
from hamlet.plan.letters import alphabet_of
from hamlet.plan.workload import WorkloadPlan
from hamlet.spark.letters import lettering_of
from hamlet.spark.task import Job, TaskColumns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 1_000_000
# Rows in memory and the length of slices in seconds, shorter and longer than windows
WAYS = [(MANY, None), (1, None), (6, None), (MANY, 1), (MANY, 7), (MANY, 90), (3, 13)]
# Each way has other cases: one in so many.
EVERY = {"exact": 7, "float": 21}


def events_of(case: Case) -> pa.Table:
    names = dict.fromkeys(name for event in case.events for name in event)
    return pa.table(
        {name: column_of_values([e.get(name) for e in case.events], None)[0] for name in names}
    )


def sliced(table: pa.Table, slice_s: int, reach_s: int) -> pa.Table:
    """Each row with the numbers of all slices that it belongs to."""
    time = np.asarray(table["time"])
    first, last = (time - reach_s) // slice_s, time // slice_s
    rows = np.repeat(np.arange(len(time)), last - first + 1)
    begins = np.cumsum(last - first + 1) - (last - first + 1)
    number = first[rows] + np.arange(len(rows)) - begins[rows]
    return table.take(rows).append_column("slice", pa.array(number, pa.int64()))


def batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table in batches of a few rows, as Spark gives them."""
    yield from table.combine_chunks().to_batches(max_chunksize=5)


def answers(case: Case, numbers: Any, rows_in_memory: int, slice_s: int | None) -> list[Any]:
    """The rows of a case, as one task gives them that has all partitions."""
    plan, table = Workload.parse(case.workload).plan, events_of(case)
    types = alphabet_of(plan.queries).types
    table = table.filter(pa.compute.is_in(table["type"], pa.array(types)))
    if not table.num_rows:
        return []
    found: list[Any] = []
    for sharable in plan.sets:
        queries = tuple(plan.queries[number] for number in sharable.queries)
        attributes = needs_of(WorkloadPlan(queries, ())).attributes
        codes = pa.compute.index_in(table["type"], pa.array(types)).cast(pa.int64())
        columns = {"bits": codes, "time": table["time"]}
        columns |= {} if case.order is None else {"order": table[case.order]}
        columns |= {f"attribute {name}": table[name] for name in attributes}
        rows = pa.table(columns)
        lettering = lettering_of(alphabet_of(plan.queries), [])
        layout = TaskColumns(lettering, case.order is not None, attributes)
        if lettering.longs == 0:
            rows = rows.drop_columns("bits")
        if slice_s is not None:
            reach = max(planned.query.window.within_us for planned in queries) // 10**6
            rows, layout = sliced(rows, slice_s, reach), replace(layout, slice_us=slice_s * 10**6)
        options = Options(numbers=numbers)
        job = Job("events", plan, (sharable,), options, layout, "seconds", rows_in_memory, 1 << 29)
        is_whole = all(set(p.query.group_by) == set(sharable.partition) for p in queries)
        if is_whole:
            found += [b for b in job.answered(batches(rows)) if b["query"][0].is_valid]
        else:
            job = replace(job, partial=partial_schema(plan, table.schema, numbers))
            partial = pa.Table.from_batches(list(job.answered(batches(rows))))
            partial = partial.filter(pa.compute.greater_equal(partial["query"], 0))
            found += job.finished(batches(partial))
    return [row for batch in found for row in batch.to_pylist()]


@pytest.mark.parametrize("numbers", ["exact", "float"])
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_every_way_gives_the_same_rows(
    numbers: Any, way: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    rows_in_memory, slice_s = WAYS[way]
    cases = load_cases()[way :: EVERY[numbers]]

    wrong, rows = [], 0
    for case in cases:
        found = answers(case, numbers, rows_in_memory, slice_s)
        rows += len(found)
        lines = differences(case.expected, found, numbers)
        wrong += [f"case {case.id}, {case.about}: {line}" for line in lines]

    assert not wrong, "\n".join([f"{len(wrong)} rows are wrong", *wrong[:20]])
    assert rows > 3 * len(cases)
    assert not list(tmp_path.iterdir())
