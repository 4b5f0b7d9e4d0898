"""Buckets without Spark against the conformance cases: would catch whatever a batch can lose.

Rows are packed, spread over buckets, kept in pages, closed by timers and ended as on Spark, in
batches that are cut at random, with rows out of order as far as they may be late.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from conformance import differences, load_cases
from stream_host import Host, batches

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.state import long_runs
from hamlet.engine.state.set_state import SetState
from hamlet.errors import ReadError, RunError
from hamlet.kernel.packing import pack, unpack
from hamlet.spark.stream import bucket as stream_bucket
from hamlet.spark.stream import pages as stream_pages
from hamlet.spark.stream import waiting as stream_waiting
from hamlet.spark.stream.bucket import BYTES_WRITTEN, LATE, PAGES_READ, PAGES_WRITTEN, step
from hamlet.spark.stream.job import job_of
from hamlet.spark.stream.lanes import spread
from hamlet.spark.stream.settings import StreamSettings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SECOND = 10**6
SLOW = pytest.mark.slow
# Nothing to group by in common: no GROUPBY with an equivalence, and GROUPBY by different attributes
# of one partitioning, next to queries that have their groups whole, and one without partitions.
APART = """
none: RETURN COUNT(*), SUM(B.x), AVG(B.x), MIN(B.x) PATTERN SEQ(A, B+) WHERE [k]
      WITHIN 20 s SLIDE 5 s;
by_k: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE B.x > 2 AND [m] GROUPBY k WITHIN 20 s;
by_m: RETURN COUNT(*), MAX(B.x) PATTERN SEQ(A, B+) WHERE [k] GROUPBY m WITHIN 15 s;
edge: RETURN COUNT(*) PATTERN D+ WHERE D.x < NEXT(D).x AND [k] WITHIN 10 s;
both: RETURN COUNT(*) PATTERN A+ AND C+ WHERE [k] WITHIN 10 s;
whole: RETURN COUNT(*) PATTERN SEQ(D, C) GROUPBY k WITHIN 10 s;
alone: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WITHIN 5 s
"""
BY_K = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s"
EVERY = 4


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_conformance_cases_in_buckets(numbers: str, monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(numbers)
    wrong, rows, lanes, apart = [], 0, Counter(), Counter()
    for case in load_cases()[numbers == "float" :: EVERY]:
        lateness = chance.choice([0, 1, 3, 20]) * SECOND
        settings = StreamSettings(lateness, chance.choice([1, 3]), chance.choice([1, 4]))
        sharing = chance.choice(["dynamic", "never"])
        # Pages by themselves from the beginning, from some batch on, or never.
        monkeypatch.setattr(stream_pages, "MOST_TOGETHER", chance.choice([0, 3000, 1 << 16]))
        host = Host(
            case.workload,
            case.events,
            settings,
            bits=chance.choice([0.0, 0.5, 1.0]),
            is_text=chance.random() < 0.2,
            order=case.order,
            numbers=numbers,
            sharing=sharing,
        )
        found = host.run(chance)
        rows += len(found)
        lanes[len(host.job.lanes)] += 1
        apart.update(bool(store.written) for store in host.stores)
        assert host.told[LATE] == 0, case
        wrong += [f"{case}: {line}" for line in differences(case.expected, found, numbers)]
    assert not wrong, "\n".join(wrong)
    assert rows > 150
    assert len(lanes) > 1
    assert min(apart[False], apart[True]) > 20


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


def test_what_comes_after_the_end_is_refused_unless_it_is_late_anyway():
    events = [{"type": "AB"[t % 2], "time": t, "k": 1} for t in range(40)]
    host = Host(BY_K, events, StreamSettings(0, 2, 4))

    host.batch(range(20, 30))
    host.batch([], is_end=True)
    before = list(host.rows)
    host.batch(range(12))
    with pytest.raises(RunError, match="ended by flush, and more rows came"):
        host.batch(range(30, 40))

    assert host.rows == before
    assert host.told[LATE] == 12


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

    # Rows that wait are apart from pages, at places below 0.
    assert sum(page >= 0 for store in host.stores for page in store.pages) == 4 * 256
    assert host.told[PAGES_READ] <= 8
    assert host.told[PAGES_WRITTEN] <= 8


@pytest.mark.parametrize("edge", ["", "WHERE B.x < NEXT(B).x"])
def test_what_a_batch_writes_does_not_grow_with_the_rows_that_wait(
    edge: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_pages, "MOST_TOGETHER", 0)
    text = f"q: RETURN COUNT(*) PATTERN SEQ(A, B+) {edge} WITHIN 20 s"
    events = [{"type": "ABBB"[t % 4], "time": t / 10, "x": t * 7 % 11} for t in range(4000)]
    host = Host(text, events, StreamSettings(300 * SECOND, 1, 4))
    written = []

    for begin in range(0, 4000, 100):
        before = host.told[BYTES_WRITTEN]
        host.batch(range(begin, begin + 100))
        written.append(host.told[BYTES_WRITTEN] - before)
    host.batch([], is_end=True)

    # Once the first pages are there nothing is released until the lateness has passed.
    assert max(written[2:30]) < 2 * min(written[2:30])
    assert {row["window_start"] for row in host.rows} == {20.0 * n for n in range(20)}


TABLES = """
lone: RETURN COUNT(*), SUM(T.y), MAX(T.x) PATTERN SEQ(A, T+) WHERE {edge} WITHIN 60 s SLIDE 20 s;
ends: RETURN g, COUNT(*), AVG(T.x) PATTERN SEQ(A, NOT C, T+, C) WHERE {edge} GROUPBY g
      WITHIN 45 s SLIDE 20 s;
wide: RETURN COUNT(*), MIN(T.y) PATTERN SEQ(A, (SEQ(T, NOT C))+) WHERE {edge} AND [g] WITHIN 300 s
"""
EDGES = "T.x < NEXT(T).x", "T.x >= NEXT(T).y", "T.x = NEXT(T).x", "T.x - NEXT(T).x <= 2"


def events_of_tables(chance: random.Random, count: int, has_huge: bool) -> list[dict[str, Any]]:
    """Fractions need more digits as time goes on; some integers in the middle are no doubles."""
    return [
        {
            "type": chance.choice("TTTTTTTTTTTTTTTTAC"),
            "time": place // 2,
            "x": chance.randrange(12)
            + (2**60 if has_huge and count // 3 < place < count // 2 else 0),
            "y": chance.randrange(1, 9) / 2.0 ** (place // 100),
            "g": chance.choice("uvw"),
        }
        for place in range(count)
    ]


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=SLOW) for n in range(4, 16))])
def test_tables_go_on_where_their_rows_and_runs_are_apart_from_pages(
    seed: int, monkeypatch: pytest.MonkeyPatch
):
    chance = random.Random(seed)
    # From the first batch on, or from some batch on; now and then a run is not remembered.
    monkeypatch.setattr(stream_pages, "MOST_TOGETHER", chance.choice([0, 0, 4000]))
    monkeypatch.setattr(long_runs, "LONG", chance.choice([1, 1000]))
    monkeypatch.setattr(stream_waiting, "_MANY", chance.choice([3, 64]))
    monkeypatch.setattr(long_runs, "_MOST_REMEMBERED", chance.choice([0, 5000, 1 << 26]))
    has_huge, numbers = seed % 2 == 1, chance.choice(["exact", "float"])
    events = events_of_tables(chance, 400, has_huge)
    settings = StreamSettings(chance.choice([0, 3, 40]) * SECOND, chance.choice([1, 2]), 4)
    text = TABLES.format(edge=EDGES[seed % 4])
    host = Host(text, events, settings, bits=chance.choice([0.0, 1.0]), numbers=numbers)

    for rows in batches(host.ts, settings.lateness_us, chance, [1, 5, 20, 60]):
        host.batch(rows)
    host.batch([], is_end=True)

    wanted = Workload.parse(text).run(host.table, numbers=numbers).table.to_pylist()
    assert len(wanted) > 30
    assert not differences(wanted, host.rows, numbers)
    assert not any(store.pages for store in host.stores)
    # Rows as they came, pages and runs were apart.
    written = [page for store in host.stores for page in store.written]
    assert min(written) < 0 <= min(page for page in written if page >= 0) < 1 << 20 <= max(written)


def test_rows_in_open_windows_are_written_once_and_hardly_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_pages, "MOST_TOGETHER", 0)
    text = "q: RETURN COUNT(*) PATTERN T+ WHERE T.x < NEXT(T).x WITHIN 1000 s"
    events = [{"type": "T", "time": n / 10, "x": n * 7919 % 10007} for n in range(9000)]
    host = Host(text, events, StreamSettings(0, 1, 4), numbers="float")
    written = []

    for begin in range(0, 9000, 100):
        before = host.told[BYTES_WRITTEN]
        host.batch(range(begin, begin + 100))
        written.append(host.told[BYTES_WRITTEN] - before)
    (store,) = host.stores
    read = store.read.copy()
    host.batch([], is_end=True)

    # Half as many more are mostly merged with few others.
    assert sorted(written[60:])[15] < 2 * sorted(written[10:30])[10]
    # A batch of rows is read when the watermark comes to its first row, and to its last;
    # and when batches are put together.
    assert max(Counter(place for place in read if place < 0).values()) == 3
    assert len(host.rows) == 1
    assert not store.pages


def test_a_bucket_as_earlier_versions_have_left_it_goes_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_pages, "MOST_TOGETHER", 0)
    chance = random.Random(5)
    events = events_of_tables(chance, 300, has_huge=False)
    text = TABLES.format(edge=EDGES[0])
    host = Host(text, events, StreamSettings(10 * SECOND, 2, 4))
    # They kept the rows of open windows on pages, and had no shelf.
    with monkeypatch.context() as before:
        before.setattr(SetState, "lent_us", 0)
        before.setattr(long_runs, "LONG", 1 << 40)
        before.setattr(stream_bucket, "_sessions", {})
        for begin in range(0, 200, 20):
            host.batch(range(begin, begin + 20))
    for store in host.stores:
        header, pieces = unpack("the state of a stream", store.data or b"")
        at = next(n for n, piece in enumerate(pieces) if getattr(piece, "ndim", 0) == 2)
        pieces[at] = np.ascontiguousarray(pieces[at][:, :3])
        del pieces[at - 1]
        for name in ("shelf", "what", "pieces"):
            del header[name]
        store.data = pack("the state of a stream", header, pieces)
        for place in [page for page in store.pages if page < 0]:
            # Nor did they note what rows had come with.
            rows = unpack("rows that wait", store.pages[place])[1]
            store.pages[place] = pack("rows that wait", {}, rows)
    assert all(page < 1 << 20 for store in host.stores for page in store.pages)

    for begin in range(200, 300, 20):
        host.batch(range(begin, begin + 20))
    host.batch([], is_end=True)

    wanted = Workload.parse(text).run(host.table).table.to_pylist()
    assert not differences(wanted, host.rows, "exact")
    assert not any(store.pages for store in host.stores)


def test_a_bucket_with_little_state_has_it_in_one_place_until_it_grows():
    text = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 1 h"
    events = [{"type": "AB"[t > 0], "time": t, "k": k} for k in range(3000) for t in (0, 1, 2)]
    events.sort(key=lambda event: (event["k"] >= 5, event["time"]))
    events += [{"type": "A", "time": t, "k": 0} for t in (15, 16)]
    host = Host(text, events, StreamSettings(10 * SECOND, 1, 64))
    (store,) = host.stores

    host.batch(range(10))
    host.batch(range(10, 15))
    assert not store.written
    assert not store.read
    # Many rows wait apart from what is with the core.
    host.batch(range(15, 9000))
    assert set(store.written) == set(store.pages) == {-1}
    # When they are taken in, what was with the core is by itself, and stays so when it is little.
    host.batch([9000])
    host.batch([9001])
    assert {page for page in store.pages if page >= 0} == set(range(64))
    host.batch([], is_end=True)

    assert not store.pages
    assert [row["exact"] for row in host.rows] == ["3"] * 3000


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


def test_queries_with_nothing_to_group_by_in_common_are_spread_by_what_partitions_them():
    schema = pa.schema([("k", pa.string()), ("m", pa.float64()), ("x", pa.int64())])
    plan = Workload.parse(APART).plan

    job = job_of(plan, schema, Options(), StreamSettings(0, 8, 4))
    one = job_of(plan, schema, Options(), StreamSettings(0, 1, 4))

    names = [planned.query.name for planned in plan.queries]
    assert [
        (lane.keys, lane.count, [names[lane.queries[place]] for place in lane.later])
        for lane in job.lanes
    ] == [
        (("k",), 8, ["none", "edge", "both"]),
        (("k", "m"), 8, ["by_k", "by_m"]),
        ((), 1, []),
    ]
    # With one bucket every group is whole.
    assert job.has_partial
    assert not one.has_partial


@pytest.mark.parametrize("seed", range(4))
def test_groups_in_several_buckets_come_out_once_and_whole(seed: int):
    chance = random.Random(seed)
    events = [
        {
            "type": chance.choice("AABBBBCDD"),
            "time": number / 4,
            "k": chance.choice(["a", "é", "c d", "d", "e", "f", None]),
            "m": chance.choice([-0.0, 0.0, 1.5, None]),
            "x": chance.choice([chance.randrange(9), None]),
        }
        for number in range(400)
    ]
    settings = StreamSettings(chance.choice([0, 3, 9]) * SECOND, 5, 4)
    sharing = "never" if seed == 3 else "dynamic"
    host = Host(APART, events, settings, bits=seed % 2, sharing=sharing)

    found = host.run(chance)

    def plain(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(str({name: row[name] for name in row if name != "log10"}) for row in rows)

    assert plain(found) == plain(Workload.parse(APART).run(host.table).table.to_pylist())
    assert len(found) > 100
    assert host.told[LATE] == 0
    for lane in host.job.lanes:
        buckets = host.job.buckets[lane.first : lane.first + lane.count]
        assert not lane.later or len(host.fed.intersection(buckets)) > 2, lane.keys


def test_conditions_that_come_as_bits_are_those_of_the_queries_and_leave_their_columns_behind():
    # p and q may stand for the same event: states are sets of places, with both conditions.
    text = """
    p: RETURN COUNT(*) PATTERN SEQ(B p+, B q+) WHERE p.x > 2 AND q.y < 0.5 GROUPBY k WITHIN 10 s;
    q: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) WHERE C.y > 0.5 AND B.x > 2 WITHIN 10 s;
    r: RETURN COUNT(*), SUM(C.z) PATTERN SEQ(A, C+) WHERE A.y IS NULL AND [k] WITHIN 10 s
    """
    chance = random.Random(6)
    events = [
        {
            "type": chance.choice("ABBBCD"),
            "time": number / 4,
            "k": chance.randrange(3),
            "x": chance.choice([1, 2, 3, 4, None]),
            "y": chance.choice([0.25, 0.5, 0.75, None]),
            "z": chance.randrange(100),
        }
        for number in range(200)
    ]
    # With a bit for p alone, what is asked of p and q together still looks at x.
    travels = {0.0: {"k", "x", "y", "z"}, 0.2: {"k", "x", "y", "z"}, 1.0: {"k", "z"}}
    for share, names in travels.items():
        host = Host(text, events, StreamSettings(2 * SECOND, 3, 4), bits=share)

        found = host.run(chance)

        wanted = Workload.parse(text).run(host.table).table.to_pylist()
        assert not differences(wanted, found, "exact")
        assert len(found) > 20
        assert set(host.job.schema.names) == names


def test_conditions_have_as_many_integers_as_they_need():
    ends = "AND [k] WITHIN 10 s", "GROUPBY k WITHIN 10 s"
    pattern = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE"
    text = ";".join(f"q{i}: {pattern} B.x > {i} {ends[i % 2]}" for i in range(70))
    chance = random.Random(7)
    events = [
        {"type": "ABBB"[t % 4], "time": t, "k": chance.randrange(4), "x": chance.randrange(70)}
        for t in range(100)
    ]
    host = Host(text, events, StreamSettings(0, 3, 4), bits=1.0)

    found = host.run(chance)

    assert host.lettering.longs == 2
    wanted = Workload.parse(text).run(host.table).table.to_pylist()
    assert not differences(wanted, found, "exact")
    # The last query has rows too, or had none to lose.
    assert {row["query"] for row in found} == {row["query"] for row in wanted} > {"q0", "q62"}


def test_the_state_of_another_workload_is_refused():
    events = [{"type": "A", "time": 1, "k": 1}]
    one = Host(BY_K, events, StreamSettings(0, 1, 4))
    one.batch([0])
    before = one.stores[0].data
    settings = {
        "another lateness": Host(BY_K, events, StreamSettings(SECOND, 1, 4)),
        "other buckets": Host(BY_K, events, StreamSettings(0, 2, 4)),
        "another workload": Host(BY_K.replace("10", "20"), events, StreamSettings(0, 1, 4)),
    }
    assert one.job.settings == Host(BY_K, events, StreamSettings(0, 1, 4)).job.settings

    for what, other in settings.items():
        with pytest.raises(ReadError, match="another workload, or with other options"):
            list(step(other.job, other.job.buckets[0], one.stores[0], [], None))
        assert one.stores[0].data == before, what


def test_the_state_of_another_condition_is_refused_although_bits_look_alike():
    text = BY_K.replace("GROUPBY", "WHERE B.x > 2 GROUPBY")
    events = [{"type": "A", "time": 1, "k": 1, "x": 3}]
    one = Host(text, events, StreamSettings(0, 1, 4), bits=1.0)
    other = Host(text.replace("2", "3"), events, StreamSettings(0, 1, 4), bits=1.0)
    one.batch([0])

    # All that a session knows of them is the same.
    lanes = [each.job.lanes[0] for each in (one, other)]
    assert one.job.session(lanes[0]).code == other.job.session(lanes[1]).code
    with pytest.raises(ReadError, match="another workload, or with other options"):
        list(step(other.job, other.job.buckets[0], one.stores[0], [], None))


@pytest.mark.parametrize("tasks", [2, 3, 4, 8])
def test_buckets_are_spread_evenly_as_spark_hashes_them(spark: SparkSession, tasks: int):
    numbers = spark.createDataFrame([(each,) for each in spread(24)], "bucket int")

    rows = numbers.selectExpr(f"pmod(hash(bucket), {tasks}) AS task").collect()

    assert set(Counter(row["task"] for row in rows).values()) == {24 // tasks}


EARLY = """
one: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s SLIDE 5 s;
two: RETURN COUNT(*), MAX(B.x) PATTERN SEQ(A, B+, NOT C) GROUPBY k WITHIN 10 s;
three: RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x AND [k] WITHIN 8 s;
four: RETURN COUNT(*) PATTERN SEQ(A, C) GROUPBY k HAVING COUNT(*) < 3 WITHIN 10 s
"""


@pytest.mark.parametrize("seed", range(4))
def test_the_last_early_result_of_a_window_is_what_it_comes_to(seed: int):
    chance = random.Random(seed)
    events = [
        {"type": chance.choice("AABBC"), "time": t // 2, "k": chance.randrange(4), "x": t * 7 % 11}
        for t in range(90)
    ]
    settings = StreamSettings(3 * SECOND, 3, 4, emit="update")
    host = Host(EARLY, events, settings, bits=chance.choice([0.0, 1.0]))
    names = ("query", "window_start", "group", "aggregate")

    found = host.run(chance)

    told: dict[tuple[Any, ...], Any] = {}
    final: set[tuple[Any, ...]] = set()
    early = 0
    for row in found:
        key = tuple(row[name] for name in names)
        assert key not in final
        early += not row["final"]
        if row["final"]:
            assert told[key] == (row["value"], row["exact"]), key
            final.add(key)
        else:
            told[key] = row["value"], row["exact"]
    plain = Host(EARLY, events, StreamSettings(3 * SECOND, 3, 4)).run(random.Random(seed))
    assert {tuple(row[name] for name in names) for row in plain} == final
    # What was told of and has not come was taken back.
    assert all(value == (None, None) for key, value in told.items() if key not in final)
    assert early >= len(final) > 20


def test_late_rows_are_kept_once_and_a_batch_that_is_done_again_changes_nothing(tmp_path: Path):
    # Two lanes, both of which ask for every row.
    text = f"{BY_K}; r: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s"
    events = [{"type": "AB"[t % 2], "time": t, "k": t % 3} for t in (40, 41, 42, 5, 6, 35, 60)]
    settings = StreamSettings(5 * SECOND, 2, 4, late_rows=str(tmp_path / "late"))

    for _ in range(2):
        host = Host(text, events, settings)
        for some in ([0], [1], [2], [3, 4, 5], [6]):
            host.batch(some)
        host.batch([], is_end=True)

    files = sorted((tmp_path / "late").iterdir())
    kept = [line for file in files for line in file.read_text().splitlines()]
    assert sorted(kept) == ["3", "4", "5"]
    assert host.told[LATE] == 3
    assert all(re.fullmatch(r"00000004-\d+\.jsonl", file.name) for file in files)
