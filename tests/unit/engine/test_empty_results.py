"""Results without rows say why.

Would catch a query whose rows were all left out by one condition and which blames another, a
sentence about a query that has rows, and names and times that are odd without a word about it.
"""

from __future__ import annotations

import pytest

from hamlet import Workload
from hamlet.engine import empty_results
from hamlet.testing import stream

EVENTS = "1 A x=1 k=1, 2 B x=5 k=2, 3 A x=3 k=1, 40 C k=1"


def notes(query: str, events: str = EVENTS) -> tuple[str, ...]:
    return Workload.parse(f"RETURN COUNT(*) PATTERN {query}").run(stream(events)).notes


def reasons(query: str, events: str = EVENTS) -> list[str]:
    found = [each for each in notes(query, events) if " has no rows: " in each]
    return [each.partition(" has no rows: ")[2] for each in found]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("A WHERE A.x > 5 WITHIN 10 s", "none of 2 events of type A satisfies x > 5"),
        (
            "A WHERE A.x > 0 AND A.x < 0 WITHIN 10 s",
            "none of 2 events of type A satisfies x < 0",
        ),
        (
            "A WHERE A.x > 2 AND A.x < 3 WITHIN 10 s",
            "none of 2 events of type A satisfies x < 3 AND x > 2 (x < 3: 1, x > 2: 1)",
        ),
        (
            "SEQ(A, B) WHERE A.x > B.x WITHIN 10 s",
            "without A.x > B.x it would have 1 row",
        ),
        (
            "A t{2} WHERE t.x > NEXT(t).x + 9 WITHIN 10 s",
            "without t.x > NEXT(t).x + 9 it would have 1 row",
        ),
        (
            "SEQ(A, A) MATCH CONTIGUOUS WITHIN 10 s",
            "without MATCH CONTIGUOUS it would have 1 row",
        ),
        ("SEQ(A, NOT B, A) WITHIN 10 s", "without NOT B it would have 1 row"),
        ("SEQ(A, B) WHERE [k] WITHIN 10 s", "without [k] it would have 1 row"),
        ("A HAVING COUNT(*) > 5 WITHIN 10 s", "without HAVING COUNT(*) > 5 it would have 1 row"),
        (
            "SEQ(A, C) WITHIN 10 s",
            "windows of 10 s are too short for any trend; the events span 39 s",
        ),
        (
            "SEQ(C, A) WITHIN 10 s",
            "no events stand in the order that the pattern asks for, in windows of any length",
        ),
    ],
)
def test_what_stood_in_the_way_is_named(query: str, reason: str) -> None:
    assert reasons(query) == [reason]


def test_events_of_one_time_are_named() -> None:
    (reason,) = reasons("SEQ(A, B) WITHIN 10 s", "1 A, 1 B")

    assert reason == "all events have the same time, and simultaneous events are never in one trend"


def test_a_key_that_no_event_has_is_named() -> None:
    (reason,) = reasons("A+ GROUPBY g WITHIN 10 s", "1 A g=null, 2 A, 3 B g=1")

    assert reason == "none of 2 events of type A that are left has a value for g"


def test_a_query_with_rows_is_not_explained_and_many_are_named_together() -> None:
    text = ";".join(f"RETURN COUNT(*) PATTERN A WHERE A.x > {n} WITHIN 10 s" for n in range(5, 10))

    found = (
        Workload.parse(f"RETURN COUNT(*) PATTERN A WITHIN 1 s; {text}").run(stream(EVENTS)).notes
    )

    assert not [each for each in found if each.startswith("q1 ")]
    assert [each.split(" ")[0] for each in found[:3]] == ["q2", "q3", "q4"]
    assert found[3] == "no rows either: q5, q6"


def test_an_alias_that_is_a_type_of_the_events_is_noted() -> None:
    (note,) = notes("SEQ(A B) WITHIN 10 s")

    assert note.startswith("q1: A B is one event of type A that is called B")


def test_times_that_look_like_milliseconds_are_noted() -> None:
    (note,) = notes("A WITHIN 10 s", "1772400000000 A")

    assert "divide them by 1000" in note


def test_of_many_events_the_earliest_answer_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(empty_results, "_MOST_EVENTS", 3)

    (reason,) = reasons("SEQ(A, NOT B, A) WITHIN 10 s")

    assert reason == "without NOT B it would have 1 row (over the first 3 events)"


def test_no_events_at_all() -> None:
    assert notes("A WITHIN 1 s", "") == ("there are no events",)


def test_notes_are_part_of_what_is_printed() -> None:
    results = Workload.parse("RETURN COUNT(*) PATTERN SEQ(C, A) WITHIN 1 s").run(stream(EVENTS))

    assert "note: q1 has no rows: no events stand in the order" in repr(results)
    assert "q1 has no rows: no events stand in the order" in results._repr_html_()


def test_a_type_that_no_event_has_is_noted_once() -> None:
    assert notes("SEQ(A, D) WITHIN 1 s") == ("no event has type D; there are A, B, C.",)
