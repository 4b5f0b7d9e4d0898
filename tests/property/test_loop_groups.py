"""Loops with an edge predicate, many queries on one: the engine against the definition.

Would catch a state of one query that is taken for another's, a column or window of a row that is
read after it has closed, events of one time that see each other, a guard that empties too much or
too little, a null that compares, a comparison that a tree decides differently from a look at every
event, and numbers that outgrow their kind in silence.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from conformance import differences, engine_rows, scaled_reference_rows
from loop_groups import (
    LoopSample,
    long_stream,
    sample,
    sample_of_conditions,
    sample_of_extremes,
    sample_of_predicates,
)

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import SetPipeline
from hamlet.events.table import EventTable
from hamlet.kernel.rows import batch
from hamlet.kernel.rows.batch import all_windows, run_rows
from hamlet.kernel.rows.layout import (
    BY_COIN,
    KEEP_OWN,
    KEEP_SHARED,
    MERGE,
    SCANNED,
    SPLIT,
    T_CLASS,
    T_COLUMNS,
    T_DECISION,
    T_EVENTS,
    TREE,
)
from hamlet.kernel.run import partition_ranges

if TYPE_CHECKING:
    from hamlet.kernel.rows import RowGroup, RowRecords

SLOW = pytest.mark.slow
KINDS = {"scanned": SCANNED, "tree": TREE}


def check(drawn: LoopSample, sharings: tuple[str, ...] = ("dynamic", "always", "never")) -> None:
    expected = scaled_reference_rows(drawn.workload, drawn.events, drawn.order)
    wrong = []
    for numbers in ("exact", "float"):
        for sharing in sharings:
            options = {"numbers": numbers, "sharing": sharing}
            rows = engine_rows(drawn.workload, drawn.events, drawn.order, **options)
            wrong += [
                f"{numbers}, {sharing}: {line}" for line in differences(expected, rows, numbers)
            ]
    assert not wrong, "\n".join([str(drawn), *wrong])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=SLOW) for seed in range(1, 5))])
def test_many_queries_on_one_loop_equal_the_reference(
    seed: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    random = Random(seed)
    for _ in range(15):
        check(sample(random))


@pytest.mark.parametrize("kind", KINDS)
def test_splits_and_merges_by_a_coin_equal_the_reference(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    monkeypatch.setitem(batch.SHARING, "dynamic", BY_COIN)
    random = Random(99)
    for seed in range(20):
        monkeypatch.setattr(batch, "SEED", seed)
        check(sample(random), ("dynamic",))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=SLOW) for seed in range(1, 5))])
@pytest.mark.parametrize(
    "drawing", [sample_of_conditions, sample_of_predicates, sample_of_extremes]
)
def test_queries_that_ask_different_things_of_the_loop_equal_the_reference(
    drawing: Any, seed: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    random = Random(seed)
    for number in range(12):
        drawn = drawing(random)
        with monkeypatch.context() as patch:
            check(drawn, ("always", "never"))
            patch.setitem(batch.SHARING, "dynamic", BY_COIN)
            patch.setattr(batch, "SEED", number)
            check(drawn, ("dynamic",))


def groups_of(workload: str, events: Any, order: str | None = None) -> list[RowGroup]:
    """The groups that a workload is run in."""
    plan = Workload.parse(workload).plan
    table = EventTable.of(list(events), plan, order=order)
    found: list[RowGroup] = []
    for sharable in plan.sets:
        pipeline = SetPipeline.of(plan, sharable, Options())
        compiled = pipeline.compile(pipeline.encode(table))
        found += [each.group for each in compiled.row_groups]
    return found


def test_what_is_drawn_has_groups_of_all_sorts() -> None:
    """Else the test above would be about less than it says."""
    random = Random(0)
    found = []
    for _ in range(200):
        drawn = sample(random)
        found += groups_of(drawn.workload, drawn.events, drawn.order)

    assert len(found) > 200
    assert sum(len(group.units) > 2 for group in found) > 20
    assert sum(group.is_backward for group in found) > 4
    assert sum(bool(group.guards) for group in found) > 5
    assert {p.operator for group in found for p in group.predicates} == set(range(6))
    assert sum(group.extremes > 0 for group in found) > 20
    assert sum(sum(s.is_loop for s in u.states) > 1 for g in found for u in g.units) > 5


def test_what_always_shares_takes_snapshots_and_never_takes_none() -> None:
    workload = ";".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ({x}, T+, {y}) WHERE T.v < NEXT(T).v WITHIN 40 s"
        for i, (x, y) in enumerate(("AC", "AD", "BC", "BD"))
    )
    types = "ATTTBTTCTTDATTTTBTTTTCD"
    events = [{"type": t, "time": i, "v": i * 7 % 11} for i, t in enumerate(types)]
    parsed = Workload.parse(workload)
    found = {
        sharing: parsed.run(events, sharing=sharing).statistics for sharing in ("always", "never")
    }

    # One for each T that finds an A or a B since the T before
    assert found["always"].snapshots == 4
    assert found["never"].snapshots == 0


@pytest.mark.parametrize("kind", KINDS)
def test_more_extremes_than_numbers_are_all_taken_along(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries for different events of the loop: an event is of some columns of a row alone."""
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    workload = ";".join(
        f"q{i}: RETURN COUNT(*), MIN(T.v), MAX(T.v), MIN(A.v) PATTERN SEQ(A, T+, {end}) "
        f"WHERE T.v != NEXT(T).v AND T.v < {most} WITHIN 9 s SLIDE 3 s"
        for i, (end, most) in enumerate([("C", 9), ("D", 6), ("C", 4), ("D", 99)])
    )
    events = [
        {"type": t, "time": i // 2, "v": i * 7 % 11} for i, t in enumerate("ATTADTTCTTATCDTT")
    ]
    check(LoopSample(workload, tuple(events), None))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("floor", [-900_000, -2_000_000], ids=["singles", "splits"])
def test_least_and_greatest_values_are_had_over_snapshots(
    floor: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked for; and rows split, where coefficients outgrow a word in rising runs."""
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    items = ("MIN(T.y)", "MAX(T.y)", "MAX(T.x)", "MIN(X.y)")
    workload = ";".join(
        f"q{i}{j}: RETURN COUNT(*), {items[i]} PATTERN SEQ(X, T+, {end}) WHERE T.x <= NEXT(T).x "
        f"AND T.y > {floor + j} WITHIN 120 s SLIDE 40 s"
        for i in range(4)
        for j, end in enumerate(("Y", "X"))
    )
    events = long_stream(Random(5), 400, rising=0.98)

    found = Workload.parse(workload).run(events, sharing="always", trace=True)

    assert found.statistics.snapshots > 10
    assert ("split" in found.trace.column("decided").to_pylist()) is (floor < -(10**6))
    rows = {way: engine_rows(workload, events, sharing=way) for way in ("always", "apart")}
    assert rows["always"] == rows["apart"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_of_more_than_a_thousand_events_counts_as_a_plain_sum_does(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many keys are sorted in another way than few: of both signs, equal ones, zeros of both."""
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    random = Random(8)
    drawn = (lambda: random.uniform(-1, 1), lambda: random.randrange(-9, 9) / 2, lambda: -0.0)
    values = [random.choice(drawn)() * random.choice([1, 1, 1e-9, 1e9]) for _ in range(1_500)]
    events = [{"type": "T", "time": i, "v": v} for i, v in enumerate(values)]
    ending: list[int] = []
    for i, v in enumerate(values):
        ending.append(1 + sum(ending[j] for j in range(i) if values[j] < v))

    rows = engine_rows("q: RETURN COUNT(*) PATTERN T+ WHERE T.v < NEXT(T).v WITHIN 2000 s", events)

    assert [int(row["exact"]) for row in rows] == [sum(ending)]


# Edge predicates that differ


def apart_by(margins: list[int], window: str) -> str:
    """Queries with one loop and different ends, which compare neighbours with margins."""
    return ";".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X{i}, T+, Y{i}) WHERE T.v < NEXT(T).v + {margin} "
        f"WITHIN {window}"
        for i, margin in enumerate(margins)
    )


def bursts_of(random: Random, queries: int, n: int, values: int) -> list[dict[str, Any]]:
    """Long bursts of T, each begun by an X and ended by a Y, with values that are far apart."""
    found, query = [], 0
    for time in range(n):
        place = time % 40
        query = random.randrange(queries) if place == 0 else query
        kind = "T" if 0 < place < 39 else f"{'XY'[place > 0]}{query}"
        found.append({"type": kind, "time": time, "v": 100 * random.randrange(values)})
    return found


@pytest.mark.parametrize(
    ("margins", "classes"),
    [([1, 2, 3, 4, 1, 2, 3, 4], 1), ([1, 1, 1, 1, 250, 250, 250, 250], 2)],
    ids=["agree", "disagree"],
)
def test_predicates_that_agree_on_most_events_have_one_table(
    margins: list[int], classes: int
) -> None:
    """Values are multiples of a hundred, so margins below that are all the same."""
    events = bursts_of(Random(3), len(margins), 4_000, 9)
    workload = apart_by(margins, "60 s SLIDE 15 s")

    trace = Workload.parse(workload).run(events, trace=True).trace

    assert len({row["class"] for row in trace.to_pylist()}) == classes
    expected = engine_rows(workload, events, sharing="apart")
    assert engine_rows(workload, events) == expected


@pytest.mark.parametrize(
    ("margins", "classes"),
    [([1, 2, 3, 4, 1, 2, 3, 4], 1), ([1, 250, 1, 250, 1, 250], 2)],
    ids=["agree", "disagree"],
)
@pytest.mark.parametrize("sharing", ["always", "dynamic"])
def test_so_have_those_of_long_windows(margins: list[int], classes: int, sharing: str) -> None:
    events = bursts_of(Random(3), len(margins), 4_000, 9)
    workload = apart_by(margins, "240 s SLIDE 60 s")

    trace = Workload.parse(workload).run(events, sharing=sharing, trace=True).trace

    assert len({row["class"] for row in trace.to_pylist()}) == classes
    expected = engine_rows(workload, events, sharing="apart")
    assert engine_rows(workload, events, sharing=sharing) == expected


def test_shorter_windows_apart_from_longer_ones_are_right_from_the_end() -> None:
    """Queries that end alike, with other windows for each predicate."""
    text = "RETURN COUNT(*) PATTERN SEQ(X{0}, T+, Y0) WHERE T.v < NEXT(T).v + {1} WITHIN {2}"
    asked = [(0, 1, "8 s SLIDE 4 s"), (1, 1, "8 s SLIDE 4 s"), (2, 250, "18 s SLIDE 2 s")]
    asked += [(3, 250, "18 s SLIDE 2 s")]
    workload = ";".join(text.format(*each) for each in asked)
    events = [
        {**e, "type": e["type"].replace("Y1", "Y0").replace("Y2", "Y0").replace("Y3", "Y0")}
        for e in bursts_of(Random(5), 4, 3_000, 9)
    ]
    events += [{"type": "Y0", "time": t + 0.5, "v": 0} for t in range(3, 3_000, 7)]

    found = engine_rows(workload, events)

    assert found == engine_rows(workload, events, sharing="apart")
    assert [group.is_backward for group in groups_of(workload, events)] == [True]


# Conditions on the events of the loop that differ


def thresholds(queries: int, window: str, spread: float) -> str:
    """Queries with one loop, no two with the same ends or the same condition on its events."""
    return ";".join(
        f"q{i}: RETURN COUNT(*), SUM(T.y) PATTERN SEQ(X{i % 4}, T+, Y{i // 4}) "
        f"WHERE T.x < NEXT(T).x AND T.u < {1 - spread * i / queries} WITHIN {window}"
        for i in range(queries)
    )


def stream_of_thresholds(n: int, burst: int, ties: float) -> list[Any]:
    """Bursts of T, keys that mostly go up, some equal times."""
    random, time, found = Random(n), 0, []
    for i in range(n):
        time += 0 if random.random() < ties else 1
        kind = random.choice(["X", "Y"]) + str(random.randrange(4)) if i % burst == 0 else "T"
        x = i % 50 if random.random() < 0.5 else random.randrange(60)
        row = {"type": kind, "time": time, "x": x, "y": random.randrange(-9, 10)}
        found.append({**row, "u": random.random()})
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("spread", "ties"), [(0.04, 0.0), (0.3, 0.2)])
def test_events_for_some_are_snapshots_by_themselves(
    spread: float, ties: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    workload, events = thresholds(12, "90 s SLIDE 30 s", spread), stream_of_thresholds(700, 9, ties)
    (group,) = groups_of(workload, events)
    expected = engine_rows(workload, events, sharing="apart")

    monkeypatch.setitem(batch.SHARING, "always", BY_COIN)
    for seed in range(3):
        monkeypatch.setattr(batch, "SEED", seed)
        assert engine_rows(workload, events, sharing="always") == expected
    monkeypatch.undo()
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    parsed, for_all = Workload.parse(workload), [{**event, "u": 0.0} for event in events]
    taken, of_bursts = (
        parsed.run(some, sharing="always").statistics.snapshots for some in (events, for_all)
    )
    for_some = sum(e["type"] == "T" and e["u"] >= 1 - spread * 11 / 12 for e in events)

    assert len(group.atoms) == len(group.units) == 12
    if spread < 0.1:  # All of them share: an event is a snapshot where anything has come in.
        assert of_bursts + 0.8 * for_some < taken <= of_bursts + for_some
    assert parsed.run(events, sharing="never").statistics.snapshots == 0
    for sharing in ("always", "never", "dynamic"):
        assert engine_rows(workload, events, sharing=sharing) == expected


@pytest.mark.slow
def test_queries_for_other_events_have_other_tables() -> None:
    conditions = [f"T.carrier = {i} AND T.u < 0.9" for i in range(40)]
    workload = ";".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X{i % 4}, T+, Y{i % 3}) "
        f"WHERE T.x < NEXT(T).x AND {condition} WITHIN 2000 s SLIDE 500 s"
        for i, condition in enumerate(conditions)
    )
    random = Random(5)
    events = [
        {**event, "carrier": random.randrange(40)}
        for event in stream_of_thresholds(10_000, 40, 0.0)
    ]

    found = decided(workload, events, is_traced=True)

    (group,) = groups_of(workload, events)
    assert len(group.units) == len(conditions)
    assert 1 < len(set(found.decisions[:, T_CLASS].tolist())) < len(conditions)
    rows, expected = (
        engine_rows(workload, events, numbers="float", sharing=way) for way in ("dynamic", "apart")
    )
    assert [row["log10"] for row in rows] == pytest.approx([row["log10"] for row in expected])


# Windows that differ


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("pattern", "is_backward"), [("X{}, T+, Y{}", False), ("X{}, T+", True)])
def test_queries_with_different_windows_have_one_table(
    pattern: str, is_backward: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    windows = ("40 s SLIDE 10 s", "90 s SLIDE 10 s", "60 s SLIDE 20 s", "30 s", "20 s")
    workload = ";".join(
        f"q{i}{j}: RETURN COUNT(*), SUM(T.y) PATTERN SEQ({pattern.format(i, i)}) "
        f"WHERE T.x < NEXT(T).x WITHIN {window}"
        for i in range(4)
        for j, window in enumerate(windows)
    )
    events = stream_of_thresholds(500, 8, ties=0.1)
    events = [{**event, "time": event["time"] - 95} for event in events]
    expected = engine_rows(workload, events, sharing="apart")

    (group,) = groups_of(workload, events)
    assert len(group.windows) == len(windows)
    assert group.is_backward is is_backward
    assert {row["query"][2] for row in expected} == set("01234")
    assert_no_decision_matters(workload, events, expected, monkeypatch)


def assert_no_decision_matters(
    workload: str,
    events: list[dict[str, Any]],
    expected: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results are those expected under each policy, and where a coin decides."""
    for sharing in ("always", "never", "dynamic"):
        assert engine_rows(workload, events, sharing=sharing) == expected
    monkeypatch.setitem(batch.SHARING, "dynamic", BY_COIN)
    for seed in range(3):
        monkeypatch.setattr(batch, "SEED", seed)
        assert engine_rows(workload, events) == expected


# Streams whose bursts are now long and now short


def changing_stream(queries: int, phase: int, bursts: tuple[int, int], n: int) -> list[Any]:
    """Bursts of T that an X begins and a Y ends, of one length for a while and then of another."""
    random, found = Random(7), []
    while len(found) < n:
        found.append(f"X{random.randrange(queries)}")
        found += ["T"] * bursts[len(found) // phase % 2]
        found.append(f"Y{random.randrange(queries)}")
    return [{"type": t, "time": i, "v": random.randrange(50)} for i, t in enumerate(found)]


def between(queries: int, window: str) -> str:
    """Queries with one loop, of which no two begin or end alike."""
    return ";".join(
        f"q{i}: RETURN COUNT(*), SUM(T.v) PATTERN SEQ(X{i}, T+, Y{i}) "
        f"WHERE T.v < NEXT(T).v WITHIN {window}"
        for i in range(queries)
    )


def decided(workload: str, events: list[Any], is_traced: bool) -> RowRecords:
    """What the rows of a workload come to in floats, under the dynamic policy."""
    plan = Workload.parse(workload).plan
    pipeline = SetPipeline.of(plan, plan.sets[0], Options(numbers="float"))
    encoded = pipeline.encode(EventTable.of(events, plan))
    made = pipeline.compile(encoded).row_groups[0]
    ranges = all_windows(partition_ranges(encoded.batch))
    zero = np.empty(0, np.float64)
    return run_rows(made, encoded.batch, ranges, zero, "dynamic", is_traced)


@pytest.mark.parametrize(
    ("kind", "window", "queries"),
    [
        ("scanned", "60 s", 8),
        ("tree", "60 s", 30),
        ("scanned", "60 s SLIDE 15 s", 3),
        ("tree", "60 s SLIDE 15 s", 30),
    ],
)
def test_bursts_split_and_windows_merge_as_the_stream_changes(
    window: str, kind: str, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    workload, events = between(queries, window), changing_stream(queries, 600, (25, 1), 4000)

    found = decided(workload, events, is_traced=True)

    taken = found.decisions[:, T_DECISION].tolist()
    assert {KEEP_OWN, KEEP_SHARED, SPLIT, MERGE} == set(taken)
    assert found.split == taken.count(SPLIT)
    assert found.bursts == len(taken)
    assert found.shared == taken.count(KEEP_SHARED) + taken.count(MERGE)
    # All but the last burst of each partition have been closed
    assert found.decisions[:, T_EVENTS].sum() == sum(e["type"] == "T" for e in events)
    rows = {
        sharing: engine_rows(workload, events, sharing=sharing) for sharing in ("dynamic", "never")
    }
    assert rows["dynamic"] == rows["never"]


def test_what_is_written_down_changes_no_decision() -> None:
    workload, events = between(25, "60 s SLIDE 15 s"), changing_stream(25, 600, (25, 1), 3000)

    seen = decided(workload, events, is_traced=True)
    unseen = decided(workload, events, is_traced=False)

    assert len(seen.decisions) == seen.bursts > 0
    assert len(unseen.decisions) == 0
    assert (seen.shared, seen.snapshots, seen.split) == (
        unseen.shared,
        unseen.snapshots,
        unseen.split,
    )


def test_a_query_that_alone_begins_bursts_leaves_the_others() -> None:
    """By kernel/rows/cost.py an event is 670 ns to all, 480 to 39 and one: 1627 events in a window.

    Together there are 290 snapshots in a window, or 320 own numbers, in a tree: 610 ns, and 60 for
    an event. Apart there are 3 snapshots, and 8 own numbers: 180 ns each, and 120.
    """
    random, queries = Random(3), 40
    workload = between(queries, "2000 s SLIDE 500 s")
    events = []
    for i in range(6000):
        q = 0 if random.random() < 0.99 else random.randrange(1, queries)
        kind = f"X{q}" if i % 6 == 0 else f"Y{random.randrange(queries)}" if i % 50 == 1 else "T"
        events.append({"type": kind, "time": i, "v": random.randrange(100)})

    found = decided(workload, events, is_traced=True)

    assert len(set(found.decisions[:, T_CLASS].tolist())) == 2
    assert set(found.decisions[:, T_COLUMNS].tolist()) == {queries - 1, 1}
    rows = {
        sharing: engine_rows(workload, events, sharing=sharing) for sharing in ("dynamic", "never")
    }
    assert rows["dynamic"] == rows["never"]


# Long streams, against a plain recurrence over integers of any size

HOLDS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def by_recurrence(events: list[dict[str, Any]], operator: str, within: int, slide: int) -> Any:
    """For SEQ(X, T+, Y): by window the number of trends, and the sum of y over their Ts."""
    holds, found = HOLDS[operator], {}
    last = events[-1]["time"]
    for start in range(-within // slide * slide, last + 1, slide):
        inside = [e for e in events if start <= e["time"] < start + within]
        rows: list[tuple[int, Any, int, int]] = []  # time, key, trends and sums that end with a T
        trends = total = 0
        for e in inside:
            if e["type"] == "T":
                begun = sum(x["type"] == "X" and x["time"] < e["time"] for x in inside)
                before = [
                    (n, s)
                    for time, key, n, s in rows
                    if time < e["time"]
                    and key is not None
                    and e["x"] is not None
                    and holds(key, e["x"])
                ]
                n = begun + sum(n for n, _ in before)
                rows.append((e["time"], e["x"], n, sum(s for _, s in before) + n * e["y"]))
            elif e["type"] == "Y":
                trends += sum(n for time, _, n, _ in rows if time < e["time"])
                total += sum(s for time, _, _, s in rows if time < e["time"])
        if trends:
            found[start] = (str(trends), str(total))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operator", HOLDS)
@pytest.mark.parametrize("rising", [0.2, 0.95])
def test_long_streams_equal_a_recurrence(
    rising: float, operator: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of hundreds of bits; windows that overlap, and one in which nothing ever closes."""
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    random = Random(f"{operator} {rising}")
    events = long_stream(random, 220, rising)
    for within, slide in ((70, 20), (400, 400), (9, 2)):
        workload = (
            f"q: RETURN COUNT(*), SUM(T.y) PATTERN SEQ(X, T+, Y) "
            f"WHERE T.x {operator} NEXT(T).x WITHIN {within} s SLIDE {slide} s"
        )
        expected = by_recurrence(events, operator, within, slide)

        rows = engine_rows(workload, events, sharing="always")

        found: dict[float, tuple[str, str]] = {}
        for one, other in zip(rows[::2], rows[1::2], strict=True):
            found[one["window_start"]] = (one["exact"], other["exact"])
        assert found == expected
        doubles = engine_rows(workload, events, numbers="float")
        for row, exact in zip(doubles, rows, strict=True):
            if row["aggregate"] == "COUNT(*)" and exact["log10"] is not None:
                assert row["log10"] == pytest.approx(exact["log10"], abs=1e-9)


# Queries that begin to go their own way


@pytest.mark.parametrize(
    ("windows", "shorter"), [("90 s SLIDE 30 s", "30 s"), ("40 s", "20 s")], ids=["three", "one"]
)
def test_a_query_that_begins_to_go_its_own_way_leaves_and_comes_back(
    windows: str, shorter: str
) -> None:
    """In the second of three thirds it admits half of the events, and before and after it all."""
    workload = ";".join(
        f"q{i}: RETURN COUNT(*), SUM(T.x) PATTERN SEQ(X{i}, T+, Y{i}) WHERE T.x < NEXT(T).x "
        f"{'AND T.u < 5' if i == 5 else ''} WITHIN {shorter if i == 4 else windows}"
        for i in range(6)
    )
    random, third = Random(2), 10_000
    events = [
        {
            "type": random.choice("XY") + str(random.randrange(6)) if i % 30 == 0 else "T",
            "time": i,
            "x": random.randrange(40),
            "u": 9 if third <= i < 2 * third and i % 2 else 0,
        }
        for i in range(3 * third)
    ]

    rest, together = named = ("q0, q1, q2, q3, q4", "q0, q1, q2, q3, q4, q5")

    trace = Workload.parse(workload).run(events, numbers="float", trace=True).trace

    # Of a table that is never shared there are no bursts, so q5 alone is seen by its absence.
    times = {name: [r["time"] for r in trace.to_pylist() if r["class"] == name] for name in named}
    assert min(times[together]) < min(times[rest]) < 2 * third
    assert third < max(times[rest]) < max(times[together])
    rows, expected = (
        engine_rows(workload, events, numbers="float", sharing=way) for way in ("dynamic", "apart")
    )
    assert [row["log10"] for row in rows] == pytest.approx([row["log10"] for row in expected])


# Partitions beside others


def of_character(random: Random, group: str, part: float, step: int, n: int) -> list[Any]:
    """Bursts of T of one partition: a part of them is not for q5, and values are so far apart."""
    return [
        {
            "type": random.choice("XY") + str(random.randrange(8)) if i % 40 == 0 else "T",
            "time": i,
            "x": step * random.randrange(40),
            "u": 9 if random.random() < part else 0,
            "g": group,
        }
        for i in range(n)
    ]


def test_what_is_decided_in_a_partition_depends_on_no_other() -> None:
    """One where q5 leaves, one where comparisons agree, one where they do not, and a small one.

    Each has the decisions that it has by itself beside the others, in whatever order these come.
    """
    workload = ";".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X{i}, T+, Y{i}) "
        f"WHERE T.x < NEXT(T).x + {1 + i % 4} {'AND T.u < 5' if i == 5 else ''} GROUPBY g "
        f"WITHIN 60 s SLIDE 15 s"
        for i in range(8)
    )
    random = Random(6)
    parts = [
        of_character(random, "a", 0.5, 10, 6_000),
        of_character(random, "b", 0.0, 10, 6_000),
        of_character(random, "c", 0.0, 1, 6_000),
        of_character(random, "d", 0.0, 10, 200),
    ]

    def traced(*some: list[Any]) -> dict[str, list[Any]]:
        events = [event for part in some for event in part]
        trace = Workload.parse(workload).run(events, numbers="float", trace=True).trace
        rows: dict[str, list[Any]] = {}
        for row in trace.to_pylist():
            rows.setdefault(json.loads(row["group"])["g"], []).append(row)
        return {group: sorted(some, key=by_time) for group, some in rows.items()}

    def by_time(row: dict[str, Any]) -> tuple[float, str]:
        return row["time"], row["class"]

    alone = {group: rows for part in parts for group, rows in traced(part).items()}

    assert len({frozenset(row["class"] for row in rows) for rows in alone.values()}) > 2
    for order in (parts, parts[::-1], parts[2:] + parts[:2], parts[1:3]):
        for group, rows in traced(*order).items():
            assert rows == alone[group]


# Numbers of many words


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rising", [0.1, 0.95], ids=["stay small", "outgrow"])
def test_long_numbers_are_over_snapshots_while_coefficients_are_small(
    rising: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many Zs before an X make counts of three words and more; rising Ts make coefficients long."""
    monkeypatch.setattr(batch, "KIND", KINDS[kind])
    workload = ";".join(
        f"q{i}: RETURN COUNT(*), SUM(T.y) PATTERN SEQ(Z+, X, T+, {end}) WHERE T.x < NEXT(T).x "
        f"AND T.y > {-(10**6) + i} WITHIN 300 s SLIDE 150 s"
        for i, end in enumerate(("Y", "X", "Y"))
    )
    events = [
        {**event, "type": "Z" if i % 200 < 150 else event["type"]}
        for i, event in enumerate(long_stream(Random(11), 600, rising))
    ]
    expected = engine_rows(workload, events, sharing="apart")
    # Of three words: 2**128 has 39 digits.
    assert max(len(row["exact"]) for row in expected if row["exact"]) > 39

    shared = Workload.parse(workload).run(events, sharing="always", trace=True)

    assert shared.statistics.snapshots > 5
    assert "share" in shared.trace.column("decided").to_pylist()
    assert_no_decision_matters(workload, events, expected, monkeypatch)
