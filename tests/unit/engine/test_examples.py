"""Examples of rows of results: trends of the row, drawn uniformly, however many there are.

Would catch a trend that is none, one that is drawn more often than others, a draw that depends on
how many there are, and longest, shortest, first or attaining trends that are not.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from conformance import bound_queries

from hamlet import PlanError, Workload
from hamlet.engine.examples import Row, urn_of
from hamlet.kernel.reference import Event, _microseconds, _partition
from hamlet.plan.query import OTHER
from hamlet.testing import stream

EVENTS = stream(
    "1 A x=1 g=u, 2 B x=3 g=u, 3 B x=5 g=u, 3 B x=2 g=u, 4 B x=4 g=u, 5 C g=u, 6 A x=2 g=u, "
    "7 B x=9 g=u"
)
QUERIES = (
    "SEQ(A, B+)",
    "SEQ(A, B+) WHERE B.x < NEXT(B).x",
    "SEQ(A, NOT C, B+)",
    "SEQ(A a?, B b{1,2}, (B OR C)*)",
    "(A OR B)+ WHERE [g]",
    "SEQ(A, B+, NOT C)",
    "ANY e{2,3}",
    "SEQ(A, B+) MATCH NEXT",
    "SEQ(A, B+) MATCH NEXT WHERE B.x < NEXT(B).x",
    "SEQ(A, NOT C, (B OR A)+) MATCH NEXT",
    "SEQ(A?, B+) MATCH CONTIGUOUS",
    "(A OR B)+ MATCH CONTIGUOUS",
)


def run(pattern: str, events: list[dict[str, Any]] = EVENTS, window: str = "10 s") -> Any:
    text = f"RETURN COUNT(*), MIN(B.x), MAX(B.x) PATTERN {pattern} WITHIN {window}"
    text = text.replace("MIN(B.x), MAX(B.x) PATTERN ANY", "MIN(e.x), MAX(e.x) PATTERN ANY")
    if "b{1,2}" in pattern:
        text = text.replace(", MIN(B.x), MAX(B.x)", "")
    return Workload.parse(text).run(events)


def all_trends(pattern: str) -> set[tuple[tuple[Any, ...], ...]]:
    """Every trend, written down by the reference."""
    return set().union(*trends_of_sides(pattern))


def trends_of_sides(pattern: str) -> list[set[tuple[tuple[Any, ...], ...]]]:
    """Every trend of each side of AND, of a pattern without it all of them."""
    (query,) = bound_queries(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10 s")
    asked = {place.type for place in query.places}
    types = [row["type"] if row["type"] in asked else OTHER for row in EVENTS]
    known = tuple(
        Event((_microseconds(row["time"]), ()), kind, row)
        for row, kind in zip(EVENTS, types, strict=True)
    )
    split: dict[Any, list[Event]] = {}
    for event in known:
        split.setdefault(tuple(event.row.get(a) for a in query.partition), []).append(event)
    partitions = [_partition(query, tuple(events)) for events in split.values()]
    return [
        {
            tuple(tuple(sorted(event.row.items())) for event in trend)
            for partition in partitions
            for trend in partition.trends(branch, query.match)
        }
        for branch in query.branches
    ]


def shown(trends: Any) -> list[tuple[tuple[Any, ...], ...]]:
    return [
        tuple(tuple(sorted((k, v) for k, v in e.items() if v is not None)) for e in trend)
        for trend in trends
    ]


@pytest.mark.parametrize("pattern", QUERIES)
def test_as_many_as_there_are_are_all_of_them(pattern: str) -> None:
    expected = all_trends(pattern)

    found = run(pattern).examples("q1", n=len(expected) + 5)

    assert found.count == len(expected)
    assert len(found) == len(expected)
    assert set(shown(found)) == expected


@pytest.mark.parametrize("pattern", QUERIES)
def test_each_trend_is_drawn_as_often_as_any_other(pattern: str) -> None:
    """Chi square of forty draws for each trend, far above what chance would give."""
    results = run(pattern)
    urn = urn_of_all(results)
    count, rng = urn.count, random.Random(7)
    seen = Counter(urn.draw(rng) for _ in range(40 * count))

    assert is_uniform(seen, count)


def urn_of_all(results: Any) -> Any:
    row = Row(0, 10_000_000, "{}")
    return urn_of(results.origin, 0, results.origin.events({0: [row]}), row, "random")


def is_uniform(seen: Counter[Any], count: int) -> bool:
    """Whether draws, forty for each of some things, are as chance would give them."""
    chi = sum((times - 40) ** 2 / 40 for times in seen.values()) + 40 * (count - len(seen))
    freedom = count - 1
    return chi < freedom + 5 * (2 * freedom) ** 0.5 + 25


@pytest.mark.parametrize("pattern", QUERIES)
@pytest.mark.parametrize(("how", "pick"), [("longest", max), ("shortest", min)])
def test_the_longest_and_the_shortest(pattern: str, how: str, pick: Any) -> None:
    expected = all_trends(pattern)
    length = pick(map(len, expected))

    found = run(pattern).examples("q1", n=1000, how=how)

    assert set(shown(found)) == {trend for trend in expected if len(trend) == length}


@pytest.mark.parametrize("pattern", QUERIES)
def test_the_first_to_end(pattern: str) -> None:
    expected = all_trends(pattern)
    first = min(dict(trend[-1])["time"] for trend in expected)

    found = run(pattern).examples("q1", n=1000, how="first")

    assert set(shown(found)) == {t for t in expected if dict(t[-1])["time"] == first}


@pytest.mark.parametrize(("order", "ends"), [(None, [3, 3]), ("n", [3])])
def test_the_first_to_end_of_all_partitions_of_a_group(order: str | None, ends: list[int]) -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] WITHIN 10 s"
    events = stream("1 A k=1, 2 A k=1, 5 B k=1, 1 A k=3, 3 B k=3 n=2, 2 A k=2, 3 B k=2 n=1")

    found = Workload.parse(text).run(events, order=order).examples("q1", n=9, how="first")

    assert [trend[-1]["time"] for trend in found] == ends
    assert {trend[-1]["k"] for trend in found} == ({2, 3} if order is None else {2})


@pytest.mark.parametrize(("how", "pick"), [("MIN(B.x)", min), ("MAX(B.x)", max)])
@pytest.mark.parametrize("pattern", [q for q in QUERIES if "b{" not in q and "ANY" not in q])
def test_those_that_attain_an_extreme(pattern: str, how: str, pick: Any) -> None:
    expected = all_trends(pattern)
    values = [dict(e)["x"] for trend in expected for e in trend if dict(e)["type"] == "B"]
    best = pick(values)

    found = run(pattern).examples("q1", n=1000, how=how)

    assert set(shown(found)) == {
        trend
        for trend in expected
        if any(dict(e)["type"] == "B" and dict(e)["x"] == best for e in trend)
    }


def measured(pattern: str, asked: str) -> Any:
    return Workload.parse(f"RETURN COUNT(*), {asked} PATTERN {pattern} WITHIN 10 s").run(EVENTS)


def seconds(trend: tuple[tuple[Any, ...], ...]) -> float:
    return float(dict(trend[-1])["time"] - dict(trend[0])["time"])


@pytest.mark.parametrize(("function", "pick"), [("MIN", min), ("MAX", max)])
@pytest.mark.parametrize(("measure", "of"), [("DURATION", seconds), ("LENGTH", len)])
@pytest.mark.parametrize("pattern", QUERIES)
def test_those_that_attain_a_measure(
    pattern: str, measure: str, of: Any, function: str, pick: Any
) -> None:
    expected, asked = all_trends(pattern), f"{function}({measure})"
    best = pick(map(of, expected))

    found = measured(pattern, asked).examples("q1", n=1000, how=asked)

    assert set(shown(found)) == {trend for trend in expected if of(trend) == best}


def test_of_very_many_trends_some_are_drawn_at_once() -> None:
    rng = random.Random(1)
    events = [{"type": "AB"[i % 2], "time": i / 100, "x": rng.random()} for i in range(600)]

    found = run("(A OR B)+", events).examples("q1", n=20, seed=3)

    assert found.count == 2**600 - 1
    lengths = [len(trend) for trend in found]
    assert 270 < sum(lengths) / len(lengths) < 330
    assert "of about 10^180 trends" in repr(found)


def test_the_row_is_chosen_by_window_and_group() -> None:
    events = stream("1 A g=u, 2 A g=v, 11 A g=v, 12 A g=v, 13 A g=u")
    results = Workload.parse("RETURN COUNT(*) PATTERN A+ GROUPBY g WITHIN 10 s").run(events)

    found = results.examples("q1", window=10, group={"g": "v"}, n=9)

    assert found.window == (10.0, 20.0)
    assert sorted([e["time"] for e in trend] for trend in found) == [[11], [11, 12], [12]]


def test_groups_are_named_where_the_window_is_there_and_the_group_is_not() -> None:
    text = "q1: RETURN k, COUNT(*) PATTERN A+ GROUPBY k WITHIN 10 s"
    results = Workload.parse(text).run(stream("1 A k=1, 2 A k=5, 11 A k=2"))

    with pytest.raises(PlanError, match=r'no row 0 {"k": 2}\. Groups there are {"k": 1}, {"k": 5}'):
        results.examples("q1", window=0, group={"k": 2})


@pytest.mark.parametrize(
    ("how", "said"),
    [({"window": 20}, "has no row 20"), ({"how": "widest"}, "there is no way to choose examples")],
)
def test_what_is_not_there_is_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        run("SEQ(A, B+)").examples("q1", **how)


PAIRS = (
    "SEQ(A, B) AND B+",
    "A AND B{1,2}",
    "B+ AND (A OR B){1,2}",
    "B AND B",
    "(A OR B) AND (B OR C)",
    "SEQ(A, B+) AND (A OR B)+ WHERE B.x < NEXT(B).x",
    "SEQ(A, NOT C, B) AND SEQ(A, B)",
    "(A OR B)+ AND (B OR C)+ MATCH NEXT",
    "A AND SEQ(A?, B?) WHERE B.x > 8",
    "(A OR B)+ AND B WHERE [x]",
)


def all_pairs(pattern: str) -> set[frozenset[tuple[tuple[Any, ...], ...]]]:
    one, other = trends_of_sides(pattern)
    return {frozenset((s, t)) for s in one for t in other if s != t}


def shown_pairs(found: Any) -> list[frozenset[tuple[tuple[Any, ...], ...]]]:
    return [frozenset(shown(pair)) for pair in found]


@pytest.mark.parametrize("pattern", PAIRS)
def test_all_pairs_are_drawn_and_equally_often(pattern: str) -> None:
    expected = all_pairs(pattern)
    results = run_pairs(pattern)

    found = results.examples("q1", n=len(expected) + 5)

    assert found.count == len(expected) == int(results.table["exact"][0].as_py())
    assert len(found) == len(expected)
    assert set(shown_pairs(found)) == expected
    urn = urn_of_all(results)
    assert is_uniform(Counter(map(urn.draw, [random.Random(5)] * (40 * urn.count))), urn.count)


@pytest.mark.parametrize("pattern", PAIRS)
@pytest.mark.parametrize(
    ("how", "value"),
    [
        ("longest", lambda pair: -sum(map(len, pair))),
        ("shortest", lambda pair: sum(map(len, pair))),
        ("first", lambda pair: max(dict(trend[-1])["time"] for trend in pair)),
        ("MAX(B.x)", lambda pair: -max(values_of(pair), default=0)),
        ("MIN(B.x)", lambda pair: min(values_of(pair), default=99)),
    ],
)
def test_chosen_pairs(pattern: str, how: str, value: Any) -> None:
    expected = all_pairs(pattern)
    best = min(map(value, expected))

    found = run_pairs(pattern).examples("q1", n=1000, how=how)

    assert set(shown_pairs(found)) == {pair for pair in expected if value(pair) == best}
    assert found.count == len(found)


def values_of(pair: Any) -> list[float]:
    return [dict(e)["x"] for trend in pair for e in trend if dict(e)["type"] == "B"]


def run_pairs(pattern: str) -> Any:
    return Workload.parse(f"RETURN COUNT(*), MIN(B.x), MAX(B.x) PATTERN {pattern} WITHIN 10 s").run(
        EVENTS
    )


def test_a_pair_is_shown_as_two_trends() -> None:
    results = Workload.parse("RETURN COUNT(*) PATTERN A AND C WITHIN 5 s").run(
        stream("1 A x=1, 2 C")
    )

    found = results.examples("q1")

    one, other = found[0]
    assert ([e["type"] for e in one], [e["type"] for e in other]) == (["A"], ["C"])
    assert repr(found).splitlines() == [
        "q1 [0.0, 5.0) {}: 1 of 1 pair, random",
        "1. 1 event and 1 event",
        "   type=A  time=1  x=1",
        "   and",
        "   type=C  time=2",
    ]
    assert "<p>and</p>" in found._repr_html_()
    assert found.as_data()["trends"] == [
        [[{"type": "A", "time": 1, "x": 1}], [{"type": "C", "time": 2, "x": None}]]
    ]


@pytest.mark.parametrize("shift", ["10 s OFFSET 5 s", "1 d OFFSET 1 d IN 'Asia/Tokyo'"])
def test_an_event_at_the_beginning_of_a_shifted_window_bars_what_it_should(shift: str) -> None:
    events = stream("6 A x=1, 7 C, 8 A x=2, 9 B x=1")

    found = run("SEQ(NOT C, A, B+)", events, shift).examples("q1", n=9)

    assert [[event["time"] for event in trend] for trend in found] == [[6, 9]]
