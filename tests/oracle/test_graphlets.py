"""The paper's worked examples, through the engine: snapshots, coefficients and counts of events.

Would catch a shared graphlet whose snapshot misses what comes in from outside, a coefficient that
counts a predecessor twice, and queries that are told to share what they do not.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from conformance import reference_rows

from hamlet import Workload
from hamlet.engine import options_for
from hamlet.engine.graphlets import MOST_EVENTS, executed
from hamlet.errors import PlanError
from hamlet.explain.graphlets import (
    Execution,
    LoopExecution,
    graphlets_text,
    shown_expression,
)
from hamlet.testing import stream

FIRST = "1 A x=0, 2 A x=0, 3 C x=0, 4 B x=1, 5 B x=9, 6 B x=2, 7 B x=20"
SECOND = "8 A x=0, 9 A x=0, 10 C x=0, 11 C x=0, 12 C x=0, 13 B x=30"
BOTH = f"{FIRST}, {SECOND}"
# Holds between all Bs of these streams but the second and the third.
RISING = "WHERE B.x < NEXT(B).x"
# Holds between all.
UNEQUAL = "WHERE B.x != NEXT(B).x"


def two(first: str = "", second: str = "", ends: tuple[str, str] = ("", "")) -> Workload:
    """The two queries of the paper, with conditions, and what comes after B+."""
    return Workload.parse(
        f"q1: RETURN COUNT(*) PATTERN SEQ(A, B+{ends[0]}) {first} WITHIN 1 h;"
        f"q2: RETURN COUNT(*) PATTERN SEQ(C, B+{ends[1]}) {second} WITHIN 1 h"
    )


def shown(workload: Workload, events: Any, **options: Any) -> Execution:
    rows = stream(events) if isinstance(events, str) else events
    return executed(workload.plan, "w", rows, options_for(workload.plan, **options))


def expressions(loop: LoopExecution) -> list[list[str]]:
    return [[shown_expression(e.expression or {}) for e in g.events] for g in loop.graphlets]


def counts(loop: LoopExecution, query: str) -> list[int]:
    return [event.counts[query] for graphlet in loop.graphlets for event in graphlet.events]


def results(found: Execution) -> dict[str, str]:
    return {query: value for query, _, _, value in found.results}


def test_a_burst_of_four_carries_one_snapshot_and_doubles() -> None:
    found = shown(two(), FIRST)

    (loop,) = found.loops
    (graphlet,) = loop.graphlets
    assert loop.queries == ("q1", "q2")
    assert (graphlet.snapshot, graphlet.values) == ("x", {"q1": 2, "q2": 1})
    assert expressions(loop) == [["x", "2x", "4x", "8x"]]
    assert results(found) == {"q1": "30", "q2": "15"}


def test_trends_that_move_have_no_graphlets() -> None:
    text = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) MATCH NEXT WITHIN 1 min"
    found = shown(Workload.parse(text), FIRST)

    assert found.loops == []
    assert results(found) == {"q": "8"}


def test_the_next_burst_starts_from_all_that_came_before() -> None:
    (loop,) = shown(two(), BOTH).loops

    assert [graphlet.snapshot for graphlet in loop.graphlets] == ["x", "y"]
    assert loop.graphlets[1].values == {"q1": 34, "q2": 19}
    assert expressions(loop)[1] == ["y"]


def test_an_event_on_which_predicates_disagree_is_the_snapshot_of_the_paper() -> None:
    """Of the edge from the second to the third B: z is 8 and 2, and then there are 34 and 15."""
    workload = two("WHERE B.x < NEXT(B).x + 10", RISING, ends=(", D", ", F"))

    found = shown(workload, f"{BOTH}, 20 D x=0, 21 F x=0", sharing="always")

    (loop,) = found.loops
    assert loop.queries == ("q1", "q2")
    assert loop.graphlets[0].values == {"q1": 2, "q2": 1}
    assert expressions(loop) == [["x", "2x", "z1", "4x + z1"], ["7x + y + 2z1"]]
    third = loop.graphlets[0].events[2]
    assert (third.snapshot, third.counts) == ("z1", {"q1": 8, "q2": 2})
    assert (counts(loop, "q1")[-1], counts(loop, "q2")[-1]) == (34, 15)
    assert results(found) == {"q1": "64", "q2": "26"}


def test_the_engine_takes_the_snapshots_that_are_shown() -> None:
    workload = two("WHERE B.x < NEXT(B).x + 10", RISING, ends=(", D", ", F"))
    events = stream(f"{BOTH}, 20 D x=0, 21 F x=0")

    taken = {s: workload.run(events, sharing=s).statistics.snapshots for s in ("always", "never")}

    assert taken == {"always": 3, "never": 0}  # x, z1, y


def test_predicates_that_a_run_has_apart_are_shown_apart() -> None:
    workload = two("WHERE B.x < NEXT(B).x + 10", RISING, ends=(", D", ", F"))

    first, second = shown(workload, f"{BOTH}, 20 D x=0, 21 F x=0", sharing="dynamic").loops

    assert (first.queries, second.queries) == (("q1",), ("q2",))
    assert first.how == "a table of its own in this run, apart from q2"
    assert (counts(first, "q1")[-1], counts(second, "q2")[-1]) == (34, 15)


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_of_disputed_events_give_the_counts(seed: int) -> None:
    """Else there would be an error: counts are asked for one by one, and have to agree."""
    random = Random(seed)
    workload = two("WHERE B.x <= NEXT(B).x + 2 AND B.x < 8", RISING, ends=(", D", ", F"))
    times = sorted(random.choices(range(25), k=12))
    rows = [
        {"type": random.choice("ABBBBC"), "time": time, "x": random.randrange(9)} for time in times
    ]

    (loop,) = shown(workload, rows, sharing="always").loops

    assert any(event.snapshot for graphlet in loop.graphlets for event in graphlet.events)


def test_a_query_with_and_one_without_an_edge_predicate_have_nothing_in_common() -> None:
    """The one without is a map for each burst, which no row is as good as."""
    first, second = shown(two(second=RISING), BOTH).loops

    assert (first.queries, second.queries) == (("q1",), ("q2",))
    assert all(
        loop.how.startswith("per query: no other query has such a loop") for loop in (first, second)
    )
    assert (counts(first, "q1")[2], counts(second, "q2")[2]) == (8, 2)
    assert (counts(first, "q1")[-1], counts(second, "q2")[-1]) == (34, 15)


def test_with_an_edge_predicate_a_row_is_over_all_snapshots() -> None:
    workload = two(UNEQUAL, UNEQUAL, ends=(", D", ", F"))

    found = shown(workload, f"{BOTH}, 20 D x=0, 21 F x=0", sharing="always")

    (loop,) = found.loops
    assert [graphlet.decided for graphlet in loop.graphlets] == ["share", "share"]
    assert expressions(loop) == [["x", "2x", "4x", "8x"], ["15x + y"]]
    assert [graphlet.values for graphlet in loop.graphlets] == [
        {"q1": 2, "q2": 1},
        {"q1": 4, "q2": 4},
    ]
    assert (counts(loop, "q1")[-1], counts(loop, "q2")[-1]) == (34, 19)
    assert results(found) == {"q1": "64", "q2": "34"}


def test_an_event_that_one_query_admits_is_a_snapshot_by_itself() -> None:
    workload = two(UNEQUAL, f"{UNEQUAL} AND B.x != 9", ends=(", D", ", F"))

    found = shown(workload, f"{BOTH}, 20 D x=0, 21 F x=0", sharing="always")

    (loop,) = found.loops
    assert expressions(loop) == [["x", "z1", "2x + z1", "4x + 2z1"], ["7x + y + 4z1"]]
    second = loop.graphlets[0].events[1]
    assert (second.snapshot, second.counts) == ("z1", {"q1": 4, "q2": 0})
    assert counts(loop, "q1") == [2, 4, 8, 16, 34]
    assert counts(loop, "q2") == [1, 0, 2, 4, 11]
    assert results(found) == {"q1": "64", "q2": "18"}
    told = [" ".join(line.split()) for line in graphlets_text(found).splitlines()]
    assert told[told.index("z1 q1 4 q2 0") + 1] == "B 5 z1 q1 4 q2 0"


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_of_events_for_some_give_the_counts(seed: int) -> None:
    """Else there would be an error: counts are asked for one by one, and have to agree."""
    random = Random(seed)
    workload = two(f"{RISING} AND B.x < 7", f"{RISING} AND B.x > 2", ends=(", D", ", F"))
    times = sorted(random.choices(range(25), k=12))
    rows = [
        {"type": random.choice("ABBBBC"), "time": time, "x": random.randrange(9)} for time in times
    ]

    (loop,) = shown(workload, rows, sharing="always").loops

    assert any(event.snapshot for graphlet in loop.graphlets for event in graphlet.events)


def test_queries_of_one_table_are_shown_by_windows() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ({0}, B+, D{0}) WHERE B.x != NEXT(B).x WITHIN {1} s"
    pairs = [("A", 10), ("C", 10), ("A", 20), ("C", 20)]
    workload = Workload.parse(";".join(text.format(*pair) for pair in pairs))

    found = shown(workload, f"{BOTH}, 14 DA x=0, 15 DC x=0", sharing="always")

    assert [loop.window for loop in found.loops] == ["[0, 10) s", "[0, 20) s"]
    assert [len(loop.queries) for loop in found.loops] == [2, 2]
    assert {g.decided for loop in found.loops for g in loop.graphlets} == {"share"}
    assert expressions(found.loops[1]) == [["x", "2x", "4x", "8x"], ["15x + y"]]


def test_what_is_not_shared_has_counts_alone() -> None:
    workload = two(UNEQUAL, UNEQUAL, ends=(", D", ", F"))

    (loop,) = shown(workload, BOTH, sharing="dynamic").loops
    one, other = shown(workload, BOTH, sharing="never").loops

    assert {graphlet.decided for graphlet in loop.graphlets} == {"alone"}
    assert all(e.expression is None for g in loop.graphlets for e in g.events)
    assert counts(one, "q1") == counts(loop, "q1") == [2, 4, 8, 16, 34]
    assert counts(other, "q2") == counts(loop, "q2") == [1, 2, 4, 8, 19]


def test_queries_that_end_alike_are_said_to_be_run_from_the_end() -> None:
    (loop,) = shown(two(UNEQUAL, UNEQUAL), BOTH).loops

    assert loop.how == "shared from the last event to the first: these queries end alike"
    assert counts(loop, "q1") == [2, 4, 8, 16, 34]


def test_groups_and_windows_are_shown_by_themselves() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ({}, B+) GROUPBY g WITHIN 10 s SLIDE 5 s"
    workload = Workload.parse(";".join(text.format(start) for start in "AC"))
    rows = [
        {"type": kind, "time": time, "g": group}
        for time, kind, group in zip(range(20), "ACBBACBBBBACBBACBBBB", "ab" * 10, strict=True)
    ]

    found = shown(workload, rows)

    assert [loop.group for loop in found.loops] == ["g = a", "g = b"]
    assert {loop.window for loop in found.loops} == {"[0, 10) s"}
    assert sum(len(g.events) for loop in found.loops for g in loop.graphlets) == 6


@pytest.mark.parametrize("where", ["", UNEQUAL, RISING])
@pytest.mark.parametrize("seed", range(4))
def test_counts_of_events_add_up_to_what_the_definition_says(seed: int, where: str) -> None:
    """Of queries that end with E+, all that has come as far as any E is the answer."""
    random = Random(seed)
    workload = two(where, where)
    times = sorted(random.choices(range(30), k=12))
    rows = [
        {"type": random.choice("AABBBBC"), "time": time, "x": random.randrange(9)} for time in times
    ]

    found = shown(workload, rows, sharing=random.choice(["always", "dynamic", "never"]))

    texts = (
        f"q1: RETURN COUNT(*) PATTERN SEQ(A, B+) {where} WITHIN 1 h;"
        f"q2: RETURN COUNT(*) PATTERN SEQ(C, B+) {where} WITHIN 1 h"
    )
    expected = {row["query"]: int(row["exact"]) for row in reference_rows(texts, rows)}
    for loop in found.loops:
        for query in loop.queries:
            assert sum(counts(loop, query)) == expected.get(query, 0)


def test_too_many_events_are_refused() -> None:
    rows = [{"type": "B", "time": time, "x": 0} for time in range(MOST_EVENTS + 1)]

    with pytest.raises(PlanError, match="up to 200 events"):
        shown(two(), rows)
    with pytest.raises(PlanError, match="order column"):
        shown(two(), rows[:3], order="x")
