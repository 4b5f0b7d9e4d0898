"""Partitions that are run one after another: would catch what one leaves behind for the next.

Streams have gaps in which units stop, and events of equal times, which are taken in steps: a unit
that goes on with the number of a step of another partition misses what came in between.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from hamlet import Workload

TEXT = """
q1: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s SLIDE 5 s;
q2: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s
"""


def stream(partitions: int) -> pa.Table:
    chance = random.Random(5)
    rows = []
    for k in range(partitions):
        time = 0
        for _ in range(chance.randrange(6, 16)):
            time += chance.choice([0, 1, 1, 1, 2, 25])
            rows.append({"type": chance.choice("AABBB"), "time": time, "k": k, "x": time % 9})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_a_partition_is_not_changed_by_those_before_it(numbers: str) -> None:
    workload, events = Workload.parse(TEXT), stream(400)

    together = workload.run(events, numbers=numbers).table
    apart = workload.run(events, numbers=numbers, sharing="never").table

    assert len(together) > 1000
    assert together["value"].to_pylist() == pytest.approx(apart["value"].to_pylist(), rel=1e-9)
    assert together["exact"].equals(apart["exact"])
