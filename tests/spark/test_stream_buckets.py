"""Buckets without Spark against the conformance cases: would catch whatever a batch can lose.

Rows are packed, spread over buckets, kept in pages, closed by timers and ended as on Spark, in
batches that are cut at random, with rows out of order as far as they may be late.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from conformance import differences, load_cases
from stream_host import Host

from hamlet import Workload
from hamlet.engine import Options
from hamlet.errors import ReadError
from hamlet.spark.stream_bucket import LATE, PAGES_READ, PAGES_WRITTEN, step
from hamlet.spark.stream_job import job_of
from hamlet.spark.stream_lanes import spread
from hamlet.spark.stream_settings import StreamSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 10**6
BY_K = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s"
EVERY = 4


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_conformance_cases_in_buckets(numbers: str):
    chance = random.Random(numbers)
    wrong, rows, lanes = [], 0, Counter()
    for case in load_cases()[numbers == "float" :: EVERY]:
        lateness = chance.choice([0, 1, 3, 20]) * SECOND
        settings = StreamSettings(lateness, chance.choice([1, 3]), chance.choice([1, 4]))
        sharing = chance.choice(["dynamic", "never"])
        host = Host(
            case.workload,
            case.events,
            settings,
            has_bits=chance.random() < 0.7,
            order=case.order,
            numbers=numbers,
            sharing=sharing,
        )
        found = host.run(chance)
        rows += len(found)
        lanes[len(host.job.lanes)] += 1
        assert host.told[LATE] == 0, case
        wrong += [f"{case}: {line}" for line in differences(case.expected, found, numbers)]
    assert not wrong, "\n".join(wrong)
    assert rows > 150
    assert len(lanes) > 1


def test_rows_before_the_watermark_are_late_and_counted_once():
    # Two lanes, both of which ask for every row.
    text = f"{BY_K}; r: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s"
    events = [{"type": "AB"[t % 2], "time": t, "k": 1} for t in (40, 41, 42, 5, 6, 35, 36, 60)]
    host = Host(text, events, StreamSettings(5 * SECOND, 2, 4))

    assert len(host.job.lanes) == 2
    for row in range(len(events)):
        host.batch([row])
    host.batch([], is_end=True)

    # The watermark is at 37 when the rest come: 5, 6, 35 and 36 are before it.
    assert host.told[LATE] == 4
    assert {(r["query"], r["window_start"], r["exact"]) for r in host.rows} == {
        ("q", 40.0, "1"),
        ("r", 40.0, "1"),
    }


def test_a_row_as_late_as_it_may_be_counts_and_so_does_time_zero():
    events = [{"type": kind, "time": t, "k": 1} for kind, t in [("B", 5), ("A", 0), ("B", 11)]]
    host = Host(BY_K, events, StreamSettings(5 * SECOND, 1, 1))

    for row in range(len(events)):
        host.batch([row])
    host.batch([], is_end=True)

    assert host.told[LATE] == 0
    assert [(r["window_start"], r["exact"]) for r in host.rows] == [(0.0, "1")]


def test_a_window_closes_by_its_timer_when_its_bucket_gets_no_rows():
    events = [{"type": "AB"[t], "time": t, "k": 1} for t in (0, 1)]
    events += [{"type": "A", "time": t, "k": 7} for t in (30, 31)]
    host = Host(BY_K, events, StreamSettings(0, 16, 4))

    host.batch([0, 1])
    host.batch([2])
    assert not host.rows
    host.batch([])

    assert [(r["window_start"], r["group"]) for r in host.rows] == [(0.0, '{"k": 1}')]


def test_what_comes_after_the_end_is_late():
    events = [{"type": "AB"[t % 2], "time": t, "k": 1} for t in range(40)]
    host = Host(BY_K, events, StreamSettings(0, 2, 4))

    host.batch(range(12))
    host.batch([], is_end=True)
    before = list(host.rows)
    host.batch(range(12, 40))
    host.batch([], is_end=True)

    assert host.rows == before
    assert host.told[LATE] == 28


def test_idle_groups_are_neither_read_nor_written():
    text = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 1 h"
    many = [{"type": "A", "time": 1, "k": k} for k in range(20_000)]
    few = [{"type": "B", "time": 10 + t, "k": 5} for t in range(10)]
    host = Host(text, many + few, StreamSettings(0, 4, 256))

    host.batch(range(20_000))
    host.batch([20_000])
    # By now every group has been taken in.
    host.batch([20_001])
    host.told.update(dict.fromkeys(host.told, 0))
    for row in range(20_002, 20_010):
        host.batch([row])

    assert sum(len(store.pages) for store in host.stores) == 4 * 256
    assert host.told[PAGES_READ] <= 8
    assert host.told[PAGES_WRITTEN] <= 8


def test_groups_whose_partitions_have_other_keys_are_whole_in_a_bucket():
    text = """
        p: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [x, y] GROUPBY k WITHIN 10 s;
        q: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [x] GROUPBY k, y WITHIN 10 s;
        r: RETURN COUNT(*) PATTERN SEQ(A, C+) GROUPBY y WITHIN 10 s
    """
    schema = pa.schema([(name, pa.int64()) for name in "kxy"])

    job = job_of(Workload.parse(text).plan, schema, Options(), StreamSettings(0, 8, 4))

    # p and q share B+ and partition by k, x and y: what they have in common to group by is k.
    assert [(lane.keys, lane.first, lane.count) for lane in job.lanes] == [
        (("k",), 0, 8),
        (("y",), 8, 8),
    ]


def test_the_state_of_another_workload_is_refused():
    events = [{"type": "A", "time": 1, "k": 1}]
    one = Host(BY_K, events, StreamSettings(0, 1, 4))
    one.batch([0])
    settings = {
        "another lateness": Host(BY_K, events, StreamSettings(SECOND, 1, 4)),
        "other buckets": Host(BY_K, events, StreamSettings(0, 2, 4)),
        "another workload": Host(BY_K.replace("10", "20"), events, StreamSettings(0, 1, 4)),
    }

    for what, other in settings.items():
        with pytest.raises(ReadError, match="another workload, or with other options"):
            list(step(other.job, other.job.buckets[0], one.stores[0], [], None))
        assert one.stores[0].pages, what


@pytest.mark.parametrize("tasks", [2, 3, 4, 8])
def test_buckets_are_spread_evenly_as_spark_hashes_them(spark: SparkSession, tasks: int):
    numbers = spark.createDataFrame([(each,) for each in spread(24)], "bucket int")

    rows = numbers.selectExpr(f"pmod(hash(bucket), {tasks}) AS task").collect()

    assert set(Counter(row["task"] for row in rows).values()) == {24 // tasks}
