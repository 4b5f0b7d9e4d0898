"""What a run will meet, counted before it.

Would catch a place whose events are miscounted, windows counted twice or not at all, a condition
that an index answers told as a long wait, and one that takes long told as none.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from hamlet import Workload
from hamlet.cli import run
from hamlet.engine import Options
from hamlet.engine.outlook import outlook
from hamlet.testing import stream

EVENTS = stream("1 A x=1 g=u, 2 A x=5 g=u, 3 B x=2 g=u, 12 B x=4 g=v, 31 B x=9 g=u, 32 C, 33 B x=9")


def met(text: str, events: Any = EVENTS) -> Any:
    return outlook(Workload.parse(text).plan, events, Options())


def test_events_are_counted_by_type_and_by_place() -> None:
    found = met("RETURN COUNT(*) PATTERN SEQ(A a, B+) WHERE a.x > 2 AND B.x > 2 WITHIN 10 s")

    assert (found.rows, found.span) == (7, (1.0, 33.0))
    assert found.types == {"B": 4, "A": 2, "C": 1}
    assert found.asked == 2
    (query,) = found.queries
    assert [(p.place, p.events, p.condition, p.passing) for p in query.places] == [
        ("A a", 2, "x > 2", 1),
        ("B", 4, "x > 2", 3),
    ]
    assert (query.windows, query.partitions, query.most_events) == (3, 1, 2)


def test_partitions_are_those_with_a_value_for_every_key() -> None:
    (query,) = met("RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s").queries

    assert (query.windows, query.partitions, query.most_events) == (3, 2, 3)


def test_any_has_the_events_of_all_types() -> None:
    (query,) = met("RETURN COUNT(*) PATTERN SEQ(A, ANY e+) WITHIN 10 s").queries

    assert [(p.place, p.events) for p in query.places] == [("A", 2), ("ANY e", 7)]


def test_events_of_a_defined_type_are_counted_once_however_often_it_may_stand() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A, Large l{2,4}) WITHIN 10 s"

    beside = met(f"DEFINE Large AS x > 2; {text}")
    alone = met("DEFINE Large AS x > 2; RETURN COUNT(*) PATTERN Large+ WITHIN 10 s")

    (query,) = beside.queries
    shown = [(p.place, p.events, p.condition, p.passing) for p in query.places]
    assert shown == [("A", 2, "", 2), ("Large l", 7, "x > 2", 4)]
    assert (alone.types, alone.asked) == ({"of any type": 7}, 1)


def test_conditions_on_neighbours_say_how_they_are_answered() -> None:
    text = "RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x AND B.x * NEXT(B).x > 1 WITHIN 40 s"

    (query,) = met(text).queries

    ordered, slow = query.loops
    assert (ordered.is_ordered, ordered.condition) == (True, "previous.x < next.x")
    assert (slow.is_ordered, slow.pairs) == (False, 6)
    assert slow.told == (
        "previous.x * next.x > 1: no order decides it, so each of up to 6 pairs of events is "
        "looked at"
    )


def test_a_long_wait_is_told_in_time() -> None:
    rows = [{"type": "B", "time": t / 1000, "x": 1} for t in range(20_000)]

    (query,) = met("RETURN COUNT(*) PATTERN B+ WHERE B.x * NEXT(B).x > 1 WITHIN 40 s", rows).queries

    assert query.loops[0].told.endswith("200 million pairs of events is looked at, about 20 s")


def test_what_may_be_a_mistake_is_noted() -> None:
    (note,) = met("RETURN COUNT(*) PATTERN SEQ(A, Bb+) WITHIN 10 s").notes

    assert note.startswith("no event has type Bb; there are A, B, C.")


def test_no_events_are_no_error() -> None:
    found = met("RETURN COUNT(*) PATTERN A+ WITHIN 10 s", EVENTS[:0])

    assert (found.rows, found.span, found.queries[0].windows) == (0, None, 0)


@pytest.mark.parametrize(("within", "slide"), [(10, 10), (10, 3), (7, 2)])
def test_windows_are_those_that_have_an_event(within: int, slide: int) -> None:
    rng = random.Random(within * slide)
    rows = [{"type": "A", "time": rng.randrange(300)} for _ in range(12)]

    text = f"RETURN COUNT(*) PATTERN A WITHIN {within} s SLIDE {slide} s"

    assert met(text, rows).queries[0].windows == len(Workload.parse(text).run(rows))


def test_check_prints_it_and_gives_it_as_json(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.hql").write_text("RETURN COUNT(*) PATTERN A+ WITHIN 10 s", encoding="utf-8")
    (tmp_path / "e.csv").write_text("kind,time\nA,1\nB,2\nA,x\n", encoding="utf-8")
    command = ["check", "w.hql", "--events", "e.csv", "--type", "kind"]

    assert run(command) == 0

    assert capsys.readouterr().out.splitlines()[1:] == [
        "events    3 rows, 1 of them malformed, from 1.0 to 2.0",
        "types     A 1",
        "others    B 1",
        "q1",
        "  1 window with events, 1 partition, at most 1 event of one in a window",
        "  A: 1 event",
    ]
    assert run([*command, "--format", "json"]) == 0
    assert '"malformed": {\n      "not a time": 1' in capsys.readouterr().out
