"""The reference against answers worked out elsewhere: conformance cases and numbers by hand.

Every other kernel is compared with the reference, so a mistake here would be copied everywhere.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from conformance import as_row, bound_queries, check_case, load_cases, reference_rows

from hamlet.kernel.reference import ResultRow, run_reference
from hamlet.testing import stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALL_CASES = load_cases()


@pytest.mark.parametrize("about", sorted({case.about for case in ALL_CASES}))
def test_conformance_cases(about: str) -> None:
    for case in ALL_CASES:
        if case.about == about:
            check_case(case, reference_rows(case.workload, case.events, case.order))


def test_all_conformance_cases_are_there() -> None:
    assert len(ALL_CASES) == 500


# One query, written as its pattern and what follows, and its COUNT(*) by start of window


def run(
    query: str, events: str | Iterable[Mapping[str, Any]], order: str | None = None
) -> list[ResultRow]:
    rows = stream(events) if isinstance(events, str) else events
    return run_reference(bound_queries(query), rows, order_column=order)


def counts(rest: str, events: str, order: str | None = None) -> dict[float, Any]:
    window = "" if "WITHIN" in rest else " WITHIN 10 s"
    rows = run(f"RETURN COUNT(*) PATTERN {rest}{window}", events, order)
    return {row.window_start_us / 10**6: row.value for row in rows}


def values(items: str, rest: str, events: str) -> dict[str, Any]:
    rows = run(f"RETURN {items} PATTERN {rest} WITHIN 10 s", events)
    return {row.aggregate: row.value for row in rows}


# Worked numbers

BURST = "1 A, 2 A, 3 C, 4 B x=0, 5 B x=1, 6 B x=0, 7 B x=1"
MORE = BURST + ", 8 A, 9 A, 10 C, 11 C, 12 C, 13 B x=1"


@pytest.mark.parametrize(
    ("pattern", "burst", "snapshot"),
    [
        ("SEQ(A, B+)", 30, 34),
        ("SEQ(C, B+)", 15, 19),
        # The edge from the second to the third B does not hold.
        ("SEQ(C, B+) WHERE B.x <= NEXT(B).x", 11, 15),
    ],
)
def test_worked_numbers(pattern: str, burst: int, snapshot: int) -> None:
    assert counts(f"{pattern} WITHIN 20 s", BURST) == {0: burst}
    # The trends that end at a further B are as many as the snapshot it carries.
    assert counts(f"{pattern} WITHIN 20 s", MORE) == {0: burst + snapshot}


# Order


def test_simultaneous_events_are_never_both_in_one_trend() -> None:
    assert counts("SEQ(A, B)", "1 A, 1 B") == {}
    assert counts("B+", "1 B, 1 B, 2 B") == {0: 5}


def test_order_column_decides_between_equal_times() -> None:
    assert counts("SEQ(A, B)", "1 A seq=1, 1 B seq=2", "seq") == {0: 1}
    assert counts("SEQ(A, B)", "1 A seq=2, 1 B seq=1", "seq") == {}
    assert counts("SEQ(A, B)", "1 A seq=2, 2 B seq=1", "seq") == {0: 1}


def test_equal_time_and_order_is_simultaneous() -> None:
    assert counts("SEQ(A, B)", "1 A seq=1, 1 B seq=1", "seq") == {}


def test_arrival_order_does_not_matter() -> None:
    events = stream("1 A x=1, 1 B x=2, 2 B x=5, 3 C, 4 B x=7, 4 A x=4, 5 B, 12 A x=1, 13 B x=9")
    query = "RETURN COUNT(*), SUM(B.x) PATTERN (SEQ(A, NOT C, B+))+ WITHIN 10 s SLIDE 3 s"
    rows = run(query, events)

    for seed in range(5):
        shuffled = random.Random(seed).sample(events, len(events))
        assert run(query, shuffled) == rows


# Time and windows


def test_windows_reach_below_the_epoch() -> None:
    assert counts("SEQ(A, B)", "-10 A, -0.5 B") == {-10: 1}
    assert counts("A WITHIN 10 s SLIDE 4 s", "-1 A") == {-8: 1, -4: 1}


def test_a_window_has_its_start_but_not_its_end() -> None:
    assert counts("A", "0 A, 10 A, 10 A") == {0: 1, 10: 2}


def test_a_trend_counts_in_every_window_that_has_all_of_it() -> None:
    assert counts("SEQ(A, B) WITHIN 10 s SLIDE 5 s", "6 A, 12 B") == {5: 1}
    assert counts("SEQ(A, B) WITHIN 10 s SLIDE 5 s", "6 A, 9 B") == {0: 1, 5: 1}


@pytest.mark.parametrize(
    "time",
    [
        1.5,
        Decimal("1.5"),
        datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC),
        datetime(1970, 1, 1, 2, 0, 1, 500_000, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_time_is_seconds_or_a_timestamp(time: Any) -> None:
    (row,) = run("RETURN COUNT(*) PATTERN A WITHIN 100 ms", [{"type": "A", "time": time}])

    assert (row.window_start_us, row.window_end_us) == (1_500_000, 1_600_000)


# Trends


def test_a_sequence_that_matches_in_two_ways_is_one_trend() -> None:
    assert counts("SEQ(A a+, A b+)", "1 A, 2 A, 3 A") == {0: 4}
    assert counts("(A OR A+)+", "1 A, 2 A, 3 A") == {0: 7}
    assert counts("(A+)+", "1 A, 2 A, 3 A") == {0: 7}


def test_one_way_of_matching_has_to_satisfy_all_predicates() -> None:
    up_then_down = "SEQ(A a+, A b+) WHERE a.x < NEXT(a).x AND b.x > NEXT(b).x"
    assert counts(up_then_down, "1 A x=1, 2 A x=2, 3 A x=1, 4 A x=0") == {0: 11}
    # Of all eleven of two or more: not 1 0 1, not 1 0 0 and not the whole.
    assert counts(up_then_down, "1 A x=1, 2 A x=0, 3 A x=1, 4 A x=0") == {0: 8}


def test_a_plain_edge_predicate_looks_both_ways() -> None:
    assert counts("(SEQ(A, B))+ WHERE A.x < B.x", "1 A x=1, 2 B x=2, 3 A x=2, 4 B x=3") == {0: 3}


def test_equivalence_and_grouping_make_partitions() -> None:
    events = "1 A g=u d=1, 2 A g=u d=2, 3 B g=u d=1, 4 B g=v d=1, 5 A g=v d=1"
    query = "RETURN COUNT(*), g PATTERN (A OR B)+ WHERE [d] GROUPBY g WITHIN 10 s"

    assert [(row.group, row.value) for row in run(query, events)] == [
        ((("g", "u"),), 4),
        ((("g", "v"),), 3),
    ]


# NOT


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        ("SEQ(A, NOT C, B)", "1 A, 2 C, 3 B", {}),
        ("SEQ(A, NOT C, B)", "1 A, 2 C, 3 A, 4 B", {0: 1}),
        ("SEQ(A, NOT C, B)", "1 A, 1 C, 3 C, 3 B", {0: 1}),
        ("SEQ(NOT C, A)", "1 C, 2 A", {}),
        ("SEQ(NOT C, A)", "2 C, 2 A", {0: 1}),
        ("SEQ(NOT C, A)", "9 C, 12 A", {10: 1}),
        ("SEQ(NOT C, A) WITHIN 10 s SLIDE 5 s", "4 C, 6 A", {5: 1}),
        ("SEQ(A, NOT C)", "2 A, 9.999999 C", {}),
        ("SEQ(A, NOT C)", "2 A, 10 C", {0: 1}),
        ("SEQ(A, NOT C) WITHIN 10 s SLIDE 5 s", "6 A, 12 C", {0: 1}),
        ("SEQ(A, NOT SEQ(C, D), B)", "1 A, 2 D, 3 C, 4 B", {0: 1}),
        ("SEQ(A, NOT SEQ(C, D), B)", "1 A, 2 C, 3 D, 4 B", {}),
        ("SEQ(A, NOT SEQ(C, D), B)", "1 A, 2 C, 3 B, 4 D", {0: 1}),
        ("SEQ(A, NOT C, NOT D, B)", "1 A, 2 D, 3 B", {}),
        ("SEQ(A, NOT (C OR D), B)", "1 A, 2 D, 3 B", {}),
    ],
)
def test_not(pattern: str, events: str, expected: dict[float, int]) -> None:
    assert counts(pattern, events) == expected


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        # a1 begins the window; a3 and a1 a3 have c2 before a3.
        ("(SEQ(NOT C, A))+", "1 A, 2 C, 3 A", {0: 1}),
        # a3 ends the window; a1 and a1 a3 have c2 after a1.
        ("(SEQ(A, NOT C))+", "1 A, 2 C, 3 A", {0: 1}),
        # The inner repetition does not cross the NOT, so c2 bars only what begins with a3.
        ("(SEQ(NOT C, A+))+", "1 A, 2 C, 3 A", {0: 2}),
        # After a1 only b2 has no c before it: a1 b2 (b4) (b6), a1 b2 (b4) a5 b6, a5 b6.
        ("(SEQ(A, NOT C, B+))+", "1 A, 2 B, 3 C, 4 B, 5 A, 6 B", {0: 7}),
    ],
)
def test_not_in_a_repetition_is_crossed_each_time(
    pattern: str, events: str, expected: dict[float, int]
) -> None:
    assert counts(pattern, events) == expected


def test_not_looks_at_its_predicates_and_partition_only() -> None:
    assert counts("SEQ(A, NOT C, B) WHERE C.x > 5", "1 A, 2 C x=5, 3 B") == {0: 1}
    assert counts("SEQ(A, NOT C, B) WHERE C.x > 5", "1 A, 2 C x=null, 3 B") == {0: 1}
    rising = "SEQ(A, NOT SEQ(C, C c), B) WHERE C.x < NEXT(C).x"
    assert counts(rising, "1 A, 2 C x=3, 3 C x=2, 4 B") == {0: 1}
    assert counts(rising, "1 A, 2 C x=2, 3 C x=3, 4 B") == {}
    assert counts("SEQ(A, NOT C, B) WHERE [d]", "1 A d=1, 2 C d=2, 3 C, 4 B d=1") == {0: 1}


# Nulls


def test_rows_without_type_time_or_partition_take_no_part() -> None:
    rows = [{"type": "A", "time": None}, {"type": None, "time": 1}, {"time": 1}, {"type": "A"}]
    assert run("RETURN COUNT(*) PATTERN A WITHIN 10 s", rows) == []
    assert counts("A+ WHERE [d]", "1 A, 2 A d=null, 3 A d=0") == {0: 1}
    assert counts("A+ GROUPBY g", "1 A, 2 A g=null, 3 A g=u") == {0: 1}


def test_a_comparison_with_null_is_not_satisfied() -> None:
    assert counts("A WHERE A.x = 1 OR A.x != 1", "1 A, 2 A x=1") == {0: 1}
    assert counts("A WHERE NOT A.x = 1", "1 A, 2 A x=null, 3 A x=2") == {0: 1}
    assert counts("A WHERE A.x IS NULL", "1 A, 2 A x=1") == {0: 1}
    assert counts("A+ WHERE A.x <= NEXT(A).x", "1 A x=1, 2 A, 3 A x=1") == {0: 4}


def test_aggregates_leave_nulls_out() -> None:
    items = "COUNT(A), SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x)"

    some, none = values(items, "A", "1 A x=1, 2 A, 3 A x=4"), values(items, "A", "1 A, 2 A x=null")

    assert list(some.values()) == [3, 5, Fraction(5, 2), 1, 4]
    assert list(none.values()) == [2, None, None, None, None]


# Aggregates


def test_an_aggregate_without_its_event_in_any_trend_is_null() -> None:
    assert values("COUNT(B), SUM(B.x), MIN(B.x)", "(A OR B)", "1 A x=1") == {
        "COUNT(B)": 0,
        "SUM(B.x)": None,
        "MIN(B.x)": None,
    }


def test_an_alias_is_its_place_and_a_type_all_its_places() -> None:
    items = "COUNT(a), SUM(b.x), SUM(A.x)"

    assert values(items, "SEQ(A a, B, A b)", "1 A x=1, 2 A x=10, 3 B, 4 A x=100, 5 A x=1000") == {
        "COUNT(a)": 4,
        "SUM(b.x)": 2200,
        "SUM(A.x)": 2222,
    }


def test_min_and_max_look_only_at_events_in_trends() -> None:
    items = "MIN(A.x), MAX(A.x)"
    assert list(values(items, "SEQ(A, B)", "1 A x=5, 2 A x=3, 3 B, 4 A x=9").values()) == [3, 5]


def test_sums_are_exact() -> None:
    whole = run("RETURN SUM(A.x) PATTERN A+ WITHIN 10 s", f"1 A x={2**62}, 2 A x={2**62 + 1}")
    fractional = run("RETURN SUM(A.x) PATTERN A+ WITHIN 10 s", "1 A x=0.1, 2 A x=0.2")
    mixed = run("RETURN SUM(A.x) PATTERN A+ WITHIN 10 s", "1 A x=1, 2 B x=0.5")

    assert [(row.value, row.exact) for row in whole] == [(2**64 + 2, str(2**64 + 2))]
    assert fractional[0].value == 2 * (Fraction(0.1) + Fraction(0.2))
    assert [row.exact for row in fractional + mixed] == [None, None]


def test_only_counts_and_integer_sums_have_digits() -> None:
    items = "COUNT(*), COUNT(A), SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x)"
    rows = run(f"RETURN {items} PATTERN A WITHIN 10 s", "1 A x=2")

    assert [row.exact for row in rows] == ["1", "1", "2", None, None, None]
    assert as_row(rows[0])["window_end"] == 10


# AND


def test_and_makes_unordered_pairs_of_different_trends() -> None:
    # A+ has a1, a2, a1 a2; A has a1, a2: the pairs are {a1, a2}, {a1 a2, a1}, {a1 a2, a2}.
    items = "COUNT(*), COUNT(A), SUM(A.x), AVG(A.x), MAX(A.x)"

    assert values(items, "A+ AND A", "1 A x=1, 2 A x=10") == {
        "COUNT(*)": 3,
        "COUNT(A)": 8,
        "SUM(A.x)": 44,
        "AVG(A.x)": Fraction(44, 8),
        "MAX(A.x)": 10,
    }


def test_and_needs_two_different_trends() -> None:
    assert counts("A AND A", "1 A") == {}
    assert counts("A AND B", "1 A, 12 B") == {}


def test_and_leaves_out_trends_without_a_partner() -> None:
    assert values("COUNT(*), MAX(A.x)", "(A OR B) AND B", "1 A x=1, 2 B") == {
        "COUNT(*)": 1,
        "MAX(A.x)": 1,
    }
    assert counts("(A OR B) AND C", "1 A, 2 B") == {}


def test_and_pairs_partitions_of_one_group_but_not_groups() -> None:
    assert counts("A AND B WHERE [d]", "1 A d=1, 2 B d=2") == {0: 1}
    assert counts("A AND B GROUPBY d", "1 A d=1, 2 B d=2") == {}


def test_and_follows_the_formula_for_overlapping_sides() -> None:
    # Both have a1 b3, a1 b4 and a1 b3 b4; one alone has c2, the other alone a1 c2.
    events = "1 A, 2 C, 3 B, 4 B"
    only_one, only_other, both = 1, 1, 3

    assert counts("(SEQ(A, B+) OR C)", events) == {0: only_one + both}
    assert counts("(SEQ(A, B+) OR SEQ(A, C))", events) == {0: only_other + both}
    assert counts("(SEQ(A, B+) OR C) AND (SEQ(A, B+) OR SEQ(A, C))", events) == {
        0: only_one * only_other + only_one * both + only_other * both + both * (both - 1) // 2
    }
