"""What must hold of streams too long for the reference: closed forms, symmetries, sums of parts.

Would catch what small streams cannot show: numbers that outgrow their words and wrap around or lose
digits, doubles that lose their exponent, memory that is laid out anew while a partition is being
walked, events dropped too early or kept too long when windows slide, and sharing that changes a
result. Where a number is expected it comes from Python's own integers, by a recurrence or by
counting pairs.
"""

from __future__ import annotations

import math
import random
import sys
from bisect import bisect_left, bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_workloads import query_texts
from sampling import random_sample

from hamlet import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Event = dict[str, Any]
    Rows = dict[tuple[Any, ...], dict[str, Any]]

FEW = random_sample(5)
SEEDS = st.integers(0, 10**6)
BOTH = pytest.mark.parametrize("sharing", ["always", "never"])

WORKLOAD = """
q1: RETURN COUNT(*), SUM(B.x), AVG(B.y), MIN(B.x), MAX(B.y)
    PATTERN SEQ(A, B+) WITHIN 400 s SLIDE 150 s;
q2: RETURN COUNT(*), COUNT(B), SUM(B.y) PATTERN SEQ(C, B+) WITHIN 600 s SLIDE 200 s;
q3: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, NOT C, B+, D) WHERE [d] WITHIN 500 s;
q4: RETURN COUNT(*), MAX(B.x) PATTERN B+ WHERE B.x <= NEXT(B).x GROUPBY g WITHIN 200 s SLIDE 100 s;
q5: RETURN COUNT(*), AVG(B.x) PATTERN (SEQ(A, B+))+ WHERE A.x < B.x WITHIN 100 s SLIDE 30 s;
q6: RETURN COUNT(*), COUNT(A), SUM(B.y) PATTERN SEQ(A, B+) AND (B+ OR C+) WITHIN 300 s;
q7: RETURN COUNT(*), SUM(A.y) PATTERN SEQ(A, NOT SEQ(C, D), B) GROUPBY g, d WITHIN 300 s;
q8: RETURN COUNT(*), SUM(B.x) PATTERN (SEQ(NOT D, A, B+) OR SEQ(B, C+))+ WHERE B.x > -40
    WITHIN 250 s SLIDE 50 s;
q9: RETURN COUNT(*), MIN(A.y) PATTERN SEQ(A+, NOT C c+, B) WHERE c.x < NEXT(c).x WITHIN 150 s;
q10: RETURN COUNT(*) PATTERN (A OR B)+ WHERE (A.x < NEXT(B).x OR A.y > NEXT(B).y) WITHIN 300 s
"""


def stream(
    size: int, seed: int, types: str = "AABBBBCD", step: float = 1.0, tied: float = 0.2
) -> list[Event]:
    """Events about `step` seconds apart, some at one time with the one before."""
    drawn = random.Random(seed)
    now, events = 0.0, []
    for _ in range(size):
        now += 0.0 if drawn.random() < tied else math.ceil(drawn.random() * 2 * step * 8) / 8
        event = {"type": drawn.choice(types), "time": now, "x": drawn.randint(-99, 99)}
        event |= {"y": drawn.randint(-999, 999) / 10, "g": drawn.choice("uv")}
        event |= {"z": drawn.randint(-3, 3), "p": drawn.random() < 0.5}
        events.append(event | {"d": drawn.randint(1, 3), "s": drawn.choice("uvw")})
    return events


def run(workload: str, events: list[Event] | pa.Table, **options: Any) -> Rows:
    results = Workload.parse(workload).run(events, **options)
    rows = results.table.to_pylist()
    found = {(r["query"], r["window_start"], r["group"], r["aggregate"]): r for r in rows}
    assert len(found) == len(rows)
    return found


def exact(rows: Rows) -> dict[tuple[Any, ...], int]:
    """The digits of all rows, as integers."""
    return {key: int(row["exact"]) for key, row in rows.items() if row["exact"] is not None}


def only(workload: str, events: list[Event] | pa.Table, **options: Any) -> list[dict[str, Any]]:
    """The rows of the only query, window and group, by aggregate."""
    return list(run(workload, events, **options).values())


@pytest.fixture(autouse=True)
def _long_integers() -> Iterator[None]:
    """Let Python read and write integers of any length."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


def spread_of(key: tuple[Any, ...]) -> float:
    """What a variance is the difference of, for values below five; 0 for what is no difference."""
    return {"VARIANCE": 25.0, "STDDEV": 5.0}.get(key[3].partition("(")[0], 0.0)


def assert_close(
    one: Rows, other: Rows, scale: Rows | None = None, tolerance: float = 1e-9
) -> None:
    assert one.keys() == other.keys()
    for key, row in one.items():
        value, found = row["value"], other[key]["value"]
        if value is None or found is None or math.isinf(value):
            assert value == found, key
        else:
            size = max(abs(value), abs(scale[key]["value"]) if scale else 0.0, spread_of(key))
            assert abs(value - found) <= tolerance * size, (key, value, found)
        if scale is None and row["log10"] is not None and not spread_of(key):
            assert abs(row["log10"] - other[key]["log10"]) <= tolerance * max(1.0, row["log10"]), (
                key
            )


def assert_same(one: Rows, other: Rows) -> None:
    """Equal to the last digit; only logarithms may come from another library."""
    assert one.keys() == other.keys()
    for key, row in one.items():
        found = other[key]
        assert (row["value"], row["exact"]) == (found["value"], found["exact"]), key
        logs = row["log10"], found["log10"]
        assert logs[0] == logs[1] or logs[0] == pytest.approx(logs[1], rel=1e-14), key


# Sharing and kinds of numbers


@FEW
@given(SEEDS, st.sampled_from([200, 1000]), st.sampled_from([0.0, 0.2]))
def test_sharing_changes_no_digit(seed: int, size: int, tied: float) -> None:
    events = stream(size, seed, tied=tied)

    assert_same(run(WORKLOAD, events, sharing="never"), run(WORKLOAD, events, sharing="always"))


@FEW
@given(SEEDS, st.sampled_from([0.0, 0.2]), st.sampled_from(["always", "never"]))
def test_floats_are_close_to_exact_numbers(seed: int, tied: float, sharing: str) -> None:
    # Without negative numbers no sum is smaller than its terms.
    events = [e | {"x": abs(e["x"]), "y": abs(e["y"])} for e in stream(1000, seed, tied=tied)]
    digits = run(WORKLOAD, events, sharing=sharing)
    floats = run(WORKLOAD, events, sharing=sharing, numbers="float")

    assert_close(digits, floats)
    assert not exact(floats)


@FEW
@given(SEEDS, st.sampled_from(["always", "never"]))
def test_floats_of_both_signs_are_close_for_their_size(seed: int, sharing: str) -> None:
    events = [event | {"z": abs(event["y"])} for event in stream(600, seed)]
    query = "RETURN SUM(B.y) AS it, AVG(B.y) AS mean PATTERN SEQ(A, B+) WITHIN 300 s SLIDE 70 s"
    options = {"sharing": sharing}

    sizes = run(query.replace("B.y", "B.z"), events, **options)

    floats = run(query, events, numbers="float", **options)
    assert_close(run(query, events, **options), floats, scale=sizes)


@random_sample(40)
@given(st.lists(query_texts("ABC"), min_size=1, max_size=4), SEEDS, st.sampled_from([0.0, 0.3]))
def test_sharing_and_kinds_of_numbers_agree_on_random_workloads(
    queries: list[str], seed: int, tied: float
) -> None:
    workload = ";".join(queries)
    # Small values, so that predicates hold often; none below zero, so that sums do not cancel.
    events = [
        event | {"x": event["x"] % 5, "y": abs(event["y"]) % 5}
        for event in stream(150, seed, "ABC", step=0.2, tied=tied)
    ]

    never = run(workload, events, sharing="never")

    assert_same(run(workload, events, sharing="always"), never)
    for sharing in ("never", "always"):
        floats = run(workload, events, sharing=sharing, numbers="float")
        assert_close(never, floats, scale=never if "z)" in workload else None)


# Closed forms


def later(events: list[Event], of: str) -> Iterator[int]:
    """For each A how many ways there are to go on with events of a type; none is one of them."""
    times = sorted(event["time"] for event in events if event["type"] == of)
    distinct = sorted(set(times))
    sizes = [bisect_right(times, t) - bisect_left(times, t) for t in distinct]
    ways = [1]
    for size in reversed(sizes):
        ways.append(ways[-1] * (1 + size))
    for event in events:
        if event["type"] == "A":
            yield ways[len(distinct) - bisect_right(distinct, event["time"])]


@BOTH
@pytest.mark.parametrize("tied", [0.0, 0.3])
@pytest.mark.parametrize("size", [200, 5000])
def test_seq_of_a_and_kleene_follows_its_closed_form(size: int, tied: float, sharing: str) -> None:
    events = stream(size, seed=size, types="ABBC", tied=tied)
    query = "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 30 d;" + WORKLOAD.replace("q1:", "r1:")

    found = exact(run(query, events, sharing=sharing))

    assert found["q1", 0.0, "{}", "COUNT(*)"] == sum(ways - 1 for ways in later(events, "B"))


def trends_and_sum(events: list[Event], attribute: str) -> tuple[int, Fraction]:
    """COUNT(*) and the sum over B of SEQ(A, B+), by the recurrence, in Python's own integers."""
    begun, count, total = 0, 0, Fraction(0)
    at: dict[float, list[Event]] = {}
    for event in events:
        at.setdefault(event["time"], []).append(event)
    numbers = [Fraction(event[attribute]) for event in events]
    scale = math.lcm(*(number.denominator for number in numbers))
    whole = 0
    for _, together in sorted(at.items()):
        values = [int(e[attribute] * scale) if scale == 1 else int(Fraction(e[attribute]) * scale)
                  for e in together if e["type"] == "B"]  # fmt: skip
        whole += len(values) * whole + sum(values) * (begun + count)
        count += len(values) * (begun + count)
        begun += sum(event["type"] == "A" for event in together)
    total = Fraction(whole, scale)
    return count, total


@BOTH
@pytest.mark.parametrize("tied", [0.0, 0.3])
def test_sums_over_kleene_follow_their_recurrence(tied: float, sharing: str) -> None:
    query = "RETURN COUNT(*), SUM(B.x), SUM(B.y), AVG(B.y) PATTERN SEQ(A, B+) WITHIN 30 d"
    for size in (40, 300, 3000):
        events = stream(size, seed=size, types="ABBB", tied=tied)
        count, of_x = trends_and_sum(events, "x")
        _, of_y = trends_and_sum(events, "y")

        counted, whole, fractional, _ = only(query, events, sharing=sharing)

        assert int(counted["exact"]) == count
        assert int(whole["exact"]) == of_x
        if size == 40:
            assert fractional["value"] == pytest.approx(float(of_y), rel=1e-12)
        elif of_y > 0:
            digits = math.log10(of_y.numerator) - math.log10(of_y.denominator)
            assert fractional["log10"] == pytest.approx(digits, rel=1e-12)


@pytest.mark.parametrize(("size", "sharing"), [(100_000, "always"), (20_000, "never")])
def test_counts_of_thousands_of_digits(size: int, sharing: str) -> None:
    drawn = np.random.default_rng(7)
    table = pa.table(
        {
            "type": ["A"] + ["B"] * (size - 1),
            "time": np.arange(size),
            "x": drawn.integers(-1000, 1000, size),
            "y": drawn.integers(0, 4000, size) / 8,
        }
    )
    query = "RETURN COUNT(*), SUM(B.x), SUM(B.y), AVG(B.y) PATTERN SEQ(A, B+) WITHIN 30 d"
    trends = 2 ** (size - 1) - 1
    # Every B is in half of the trends there would be with the empty one.
    of_x = sum(table["x"].to_pylist()[1:]) * 2 ** (size - 2)
    of_y = sum(map(Fraction, table["y"].to_pylist()[1:])) * 2 ** (size - 2)

    counted, whole, fractional, mean = only(query, table, sharing=sharing)

    assert len(counted["exact"]) > 0.3 * size
    assert int(counted["exact"]) == trends
    assert int(whole["exact"]) == of_x
    assert fractional["log10"] == pytest.approx(math.log10(of_y.numerator), rel=1e-13)
    occurrences = (size - 1) * 2 ** (size - 2)
    assert mean["value"] == pytest.approx(float(of_y / occurrences), rel=1e-12)

    counted, whole, fractional, mean = only(query, table, sharing=sharing, numbers="float")

    assert counted["log10"] == pytest.approx(math.log10(trends), rel=1e-13)
    assert counted["value"] == math.inf
    assert whole["value"] == (math.inf if of_x > 0 else -math.inf)
    assert fractional["log10"] == pytest.approx(math.log10(of_y.numerator), rel=1e-13)
    assert mean["value"] == pytest.approx(float(of_y / occurrences), rel=1e-9)


@BOTH
@pytest.mark.parametrize("tied", [0.0, 0.5])
@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1],
        [10**12 + 1],
        [2**61 + 1],
        [2**62 - 1, 2**62 - 3],
        [-(2**62) + 1, 2**61],
        [2**63 - 1],
        [-(2**63)],
        [2**63 - 1, -(2**63), 2**62, 1],
    ],
)
@pytest.mark.parametrize(
    "sizes", [(2, 9, 70), pytest.param((10_000,), marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_sums_of_large_integers_keep_every_digit(
    values: list[int], tied: float, sizes: tuple[int, ...], sharing: str
) -> None:
    query = """RETURN SUM(B.x), COUNT(*) PATTERN SEQ(A, B+) WITHIN 30 d;
               RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 30 d"""
    for size in sizes:
        events = stream(size, seed=size, types="BBBBB", tied=tied)
        events = [e | {"x": values[i % len(values)]} for i, e in enumerate(events)]
        events.insert(0, {"type": "A", "time": -1, "x": 0})
        events = [event | {"time": event["time"] + 1} for event in events]

        found = exact(run(query, events, sharing=sharing))

        count, total = trends_and_sum(events, "x")
        assert found["q1", 0.0, "{}", "COUNT(*)"] == count
        assert found["q1", 0.0, "{}", "SUM(B.x)"] == total, size


@BOTH
def test_floats_of_one_window_do_not_disturb_another(sharing: str) -> None:
    events = [{"type": "A", "time": i, "x": 1e25} for i in range(5)]
    events += [{"type": "A", "time": 10 + i, "x": 1e-10} for i in range(3)]
    query = "RETURN SUM(A.x), AVG(A.x) PATTERN A+ WITHIN 10 s SLIDE 5 s"

    assert_close(run(query, events), run(query, events, sharing=sharing, numbers="float"))


@BOTH
@pytest.mark.parametrize("value", [1e308, 1e300, 1e-300, 5e-324])
def test_floats_of_extreme_size_have_sums_and_averages(value: float, sharing: str) -> None:
    events = [{"type": "A", "time": i, "x": value} for i in range(2000)]
    query = "RETURN SUM(A.x), AVG(A.x), MAX(A.x) PATTERN A+ WITHIN 10 h"
    digits = math.log10(value) + math.log10(2000) + 1999 * math.log10(2)

    for numbers in ("exact", "float"):
        total, mean, most = only(query, events, sharing=sharing, numbers=numbers)

        assert total["log10"] == pytest.approx(digits, rel=1e-11)
        assert mean["value"] == pytest.approx(value, rel=1e-9)
        assert most["value"] == value


# Recurrences with predicates


def kleene_count(events: list[Event], may_follow: Callable[[Event, Event], bool]) -> int:
    """The number of trends of B+ with a condition between neighbours."""
    ending: list[tuple[Event, int]] = []
    for event in sorted((e for e in events if e["type"] == "B"), key=lambda e: e["time"]):
        before = (n for e, n in ending if e["time"] < event["time"] and may_follow(e, event))
        ending.append((event, 1 + sum(before)))
    return sum(n for _, n in ending)


CONDITIONS = {
    "B.x < NEXT(B).x": lambda p, q: p["x"] < q["x"],
    "B.x >= NEXT(B).x": lambda p, q: p["x"] >= q["x"],
    "B.x != NEXT(B).x": lambda p, q: p["x"] != q["x"],
    "B.s = NEXT(B).s": lambda p, q: p["s"] == q["s"],
    "B.s < NEXT(B).s": lambda p, q: p["s"] < q["s"],
    "B.y - NEXT(B).y <= 0.3": lambda p, q: p["y"] - q["y"] <= 0.3,
    "B.x + NEXT(B).x = 7": lambda p, q: p["x"] + q["x"] == 7,
    "B.x < NEXT(B).x AND B.y > NEXT(B).y": lambda p, q: p["x"] < q["x"] and p["y"] > q["y"],
    "(B.x < NEXT(B).y OR B.s = NEXT(B).s)": lambda p, q: p["x"] < q["y"] or p["s"] == q["s"],
    "B.x * NEXT(B).x > 100": lambda p, q: p["x"] * q["x"] > 100,
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("condition", CONDITIONS)
def test_kleene_with_a_predicate_follows_its_recurrence(condition: str, sharing: str) -> None:
    events = stream(500, seed=3, types="BBBC")
    query = f"RETURN COUNT(*) PATTERN B+ WHERE {condition} WITHIN 200 s SLIDE 130 s"

    found = exact(run(query, events, sharing=sharing))

    expected = {}
    for start in range(-130, math.ceil(events[-1]["time"]), 130):
        inside = [event for event in events if start <= event["time"] < start + 200]
        count = kleene_count(inside, CONDITIONS[condition])
        if count:
            expected["q1", float(start), "{}", "COUNT(*)"] = count
    assert found == expected


def pairs_without(events: list[Event], barred: Callable[[float, float], bool]) -> int:
    firsts = [event["time"] for event in events if event["type"] == "A"]
    seconds = [event["time"] for event in events if event["type"] == "B"]
    return sum(a < b and not barred(a, b) for a in firsts for b in seconds)


def rising(events: list[Event]) -> list[tuple[float, float]]:
    """Every two Cs of which the second is later and greater."""
    chosen = [event for event in events if event["type"] == "C"]
    return [
        (c["time"], d["time"])
        for c in chosen
        for d in chosen
        if c["time"] < d["time"] and c["x"] < d["x"]
    ]


@BOTH
@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("SEQ(A, NOT C, B)", lambda e: [(c["time"],) * 2 for c in e if c["type"] == "C"]),
        (
            "SEQ(A, NOT SEQ(C, D), B)",
            lambda e: [
                (c["time"], d["time"])
                for c in e
                for d in e
                if (c["type"], d["type"]) == ("C", "D") and c["time"] < d["time"]
            ],
        ),
        ("SEQ(A, NOT SEQ(C, C c), B) WHERE C.x < NEXT(C).x", rising),
    ],
)
def test_not_bars_the_pairs_that_span_a_match(
    pattern: str, matches: Callable[[list[Event]], list[tuple[float, float]]], sharing: str
) -> None:
    events = stream(400, seed=11, types="ABCD" if "D" in pattern else "AAABBBC")
    found = matches(events)
    # Of matches with one start only the shortest matters.
    ends: dict[float, float] = {}
    for first, last in found:
        ends[first] = min(last, ends.get(first, math.inf))

    def barred(a: float, b: float) -> bool:
        return any(a < first and last < b for first, last in ends.items())

    (row,) = only(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 d", events, sharing=sharing)

    assert int(row["exact"]) == pairs_without(events, barred)


# Symmetries


@FEW
@given(SEEDS)
def test_renaming_types_changes_nothing(seed: int) -> None:
    events = stream(500, seed)
    names = {"A": "D", "B": "A", "C": "B", "D": "C"}
    query = "RETURN COUNT(*), SUM({B}.x) AS total PATTERN (SEQ({A}, NOT {C}, {B}+))+ WITHIN 90 s"
    query += ";RETURN COUNT(*) PATTERN SEQ({D}, {B}+) WITHIN 200 s SLIDE 70 s"

    plain = run(query.format(**{name: name for name in names}), events)
    other = run(query.format(**names), [e | {"type": names[e["type"]]} for e in events])

    assert_same(plain, other)


@FEW
@given(SEEDS, st.sampled_from(["exact", "float"]))
def test_an_unrelated_query_changes_nothing(seed: int, numbers: str) -> None:
    events = stream(500, seed)
    queries = [f"q{i}: {q.split(':', 1)[1]}" for i, q in enumerate(WORKLOAD.split(";"), 1)]
    together = run(";".join(queries), events, numbers=numbers)

    for number in (1, 4, 6, 8):
        alone = run(queries[number - 1], events, numbers=numbers)
        among = {key: row for key, row in together.items() if key[0] == f"q{number}"}
        assert_close(alone, among, tolerance=0.0 if numbers == "exact" else 1e-9, scale=among)
        assert exact(alone) == exact(among)


@FEW
@given(SEEDS)
def test_row_order_changes_nothing(seed: int) -> None:
    events = stream(500, seed)
    shuffled = random.Random(seed).sample(events, len(events))

    assert_same(run(WORKLOAD, shuffled), run(WORKLOAD, events))


@FEW
@given(SEEDS, st.sampled_from([-3, 1, 10**6]))
def test_a_stream_moved_in_time_gives_the_same_results_there(seed: int, times: int) -> None:
    events = stream(300, seed)
    moved_by = times * 21_000  # a multiple of every SLIDE
    moved = [event | {"time": event["time"] + moved_by} for event in events]

    there = run(WORKLOAD, moved)

    back = {(q, start - moved_by, g, a): row for (q, start, g, a), row in there.items()}
    assert_same(back, run(WORKLOAD, events))


@FEW
@given(SEEDS)
def test_a_stream_repeated_in_another_group_gives_its_results_again(seed: int) -> None:
    events = stream(400, seed)
    query = """RETURN COUNT(*), SUM(B.y), MIN(B.x) PATTERN SEQ(A, B+) GROUPBY n
               WITHIN 90 s SLIDE 40 s"""
    twice = [event | {"n": n} for event in events for n in range(3)]

    rows = run(query, twice)

    values = {
        n: {(k[1], k[3]): (r["value"], r["exact"]) for k, r in rows.items() if k[2] == group}
        for n, group in enumerate(['{"n": 0}', '{"n": 1}', '{"n": 2}'])
    }
    assert values[0] == values[1] == values[2]
    assert len(rows) == 3 * len(values[0]) > 0


@FEW
@given(SEEDS, st.sampled_from(["always", "never"]))
def test_groups_add_up(seed: int, sharing: str) -> None:
    events = stream(500, seed)
    query = "RETURN COUNT(*), SUM(B.x), COUNT(B) PATTERN SEQ(A, NOT C, B+) WHERE [d] {} WITHIN 99 s"

    whole = exact(run(query.format(""), events, sharing=sharing))
    parts = exact(run(query.format("GROUPBY d"), events, sharing=sharing))

    total: dict[tuple[Any, ...], int] = {}
    for (q, start, _, aggregate), number in parts.items():
        total[q, start, "{}", aggregate] = total.get((q, start, "{}", aggregate), 0) + number
    assert total == whole


# Windows


@FEW
@given(SEEDS, st.sampled_from(["always", "never"]), st.sampled_from(["exact", "float"]))
def test_a_window_knows_only_its_events(seed: int, sharing: str, numbers: str) -> None:
    events = stream(400, seed)
    options = {"sharing": sharing, "numbers": numbers}
    rows = run(WORKLOAD, events, **options)
    chosen = random.Random(seed).sample(sorted({key[:2] for key in rows}), 5)

    for query, start in chosen:
        mine = {key: row for key, row in rows.items() if key[:2] == (query, start)}
        end = next(iter(mine.values()))["window_end"]
        inside = [event for event in events if start <= event["time"] < end]
        alone = {
            k: r for k, r in run(WORKLOAD, inside, **options).items() if k[:2] == (query, start)
        }
        tolerance = 1e-15 if numbers == "exact" else 1e-9
        assert_close(alone, mine, tolerance=tolerance, scale=mine)
        assert exact(alone) == exact(mine)


@BOTH
def test_extremes_of_long_runs_are_those_of_the_window(sharing: str) -> None:
    drawn = np.random.default_rng(5)
    size = 20_000
    times, x = np.sort(drawn.integers(0, 30_000, size)), drawn.normal(size=size)
    is_known = drawn.random(size) < 0.9
    table = pa.table({"type": ["B"] * size, "time": times, "x": pa.array(x, mask=~is_known)})
    query = "RETURN MIN(B.x) AS low, MAX(B.x) AS high PATTERN B+ WITHIN 100 s SLIDE 30 s"

    rows = run(query, table, sharing=sharing)

    assert len(rows) > 1900
    for (_, start, _, aggregate), row in rows.items():
        inside = x[(times >= start) & (times < start + 100) & is_known]
        assert row["value"] == (inside.min() if aggregate == "low" else inside.max())
