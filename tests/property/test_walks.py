"""Units that walk through the events by themselves, against the definition.

Would catch a unit that no walk has, or two; events, or what shortens the way for them, that belong
to another walk; and events that are left out, of which it is only known where they come between.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from conformance import differences, engine_rows, scaled_reference_rows

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import Pipelines
from hamlet.events.table import EventTable
from hamlet.kernel import walks
from hamlet.kernel.encode.arranging import used_rows
from hamlet.kernel.walks import walks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

PATTERNS = ("SEQ(A, T t+)", "SEQ(A, T t+, B)", "T t+", "SEQ(T t+, B)", "SEQ(A, T t+, NOT B)")
CONDITIONS = ("", "", "t.x < NEXT(t).x", "t.x > NEXT(t).y", "t.y <= NEXT(t).x", "t.x = NEXT(t).y",
    "t.x < NEXT(t).x AND t.y < NEXT(t).y", "t.x > 0 AND t.x >= NEXT(t).x", "t.x < 2")  # fmt: skip
MATCHES = ("", " MATCH NEXT", " MATCH NEXT", " MATCH CONTIGUOUS")
RETURNS = ("COUNT(*)", "COUNT(*), SUM(t.x)", "COUNT(*), MAX(t.y), MIN(t.x)", "AVG(t.x)")
WINDOWS = ("8 s", "12 s SLIDE 4 s", "30 s SLIDE 5 s")


def drawn(chance: Random) -> tuple[str, list[dict[str, Any]]]:
    """Queries that count the events of a loop and such that store them, and events."""
    queries = []
    for number in range(chance.randint(1, 5)):
        condition = chance.choice(CONDITIONS)
        queries.append(
            f"q{number}: RETURN {chance.choice(RETURNS)} PATTERN {chance.choice(PATTERNS)}"
            f"{chance.choice(MATCHES)} {f'WHERE {condition}' if condition else ''} "
            f"WITHIN {chance.choice(WINDOWS)}"
        )
    events, time, ties = [], 0, chance.choice((0.0, 0.0, 0.4))
    for _ in range(chance.randint(2, 24)):
        time += 0 if chance.random() < ties else chance.choice((1, 1, 2))
        x, y = (chance.choice((None, -2, 0, 0.5, 1, 2, 3)) for _ in range(2))
        events.append({"type": chance.choice("AABTTTTTTCO"), "time": time, "x": x, "y": y})
    return ";\n".join(queries), events


def test_events_of_one_time_are_one_step_where_stored_events_alone_wait() -> None:
    waits = "w: RETURN COUNT(*) PATTERN SEQ(A a, T t) MATCH CONTIGUOUS WHERE a.x < t.x WITHIN 8 s"
    beside = "b: RETURN COUNT(*) PATTERN SEQ(A, T t+, B) WITHIN 8 s"
    events = [
        {"type": "A", "time": 4, "x": 2},
        {"type": "B", "time": 4, "x": 0},
        {"type": "T", "time": 5, "x": 3},
    ]

    results = Workload.parse(f"{waits};\n{beside}").run(events)

    assert [(row["query"], row["value"]) for row in results.table.to_pylist()] == [("w", 1.0)]


@pytest.mark.parametrize("seed", range(120))
def test_walks_equal_the_reference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "_MANY_EVENTS", 0)
    monkeypatch.setattr(walks, "_PART", 1 << 30)
    text, events = drawn(Random(seed))
    expected = scaled_reference_rows(text, events)

    for numbers in ("exact", "float"):
        wrong = differences(expected, engine_rows(text, events, numbers=numbers), numbers)
        assert not wrong, "\n".join([numbers, text, str(events), *wrong])


def parts_of(queries: Sequence[str], types: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many units walk together, where some events are enough."""
    monkeypatch.setattr(walks, "_MANY_EVENTS", 0)
    events = [{"type": kind, "time": float(n), "x": n} for n, kind in enumerate(types)]
    plan = Workload.parse(";".join(f"RETURN COUNT(*) PATTERN {each}" for each in queries)).plan
    table = EventTable.of(events, plan)
    (pipeline,) = Pipelines(plan).of(Options(), len(table))
    encoded = pipeline.encode(table)
    compiled = pipeline.compile(encoded)
    every = frozenset(compiled.code.u_template.tolist())
    return [len(some) for some in walks_of(compiled, encoded.batch, every)]


COUNTING = "SEQ(A, T+) WITHIN 9 s"
STORING = "SEQ(A, T t+) MATCH NEXT WHERE t.x < NEXT(t).x WITHIN 9 s"


def test_who_stores_events_walks_apart_from_who_counts_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert parts_of([COUNTING, STORING], "ATTTTT", monkeypatch) == [1, 1]
    assert parts_of([STORING], "ATTTTT", monkeypatch) == [1]
    assert parts_of([COUNTING, COUNTING], "ATTTTT", monkeypatch) == [2]


def test_who_stores_few_of_the_events_walks_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = "SEQ(A, U u+) MATCH NEXT WHERE u.x < NEXT(u).x WITHIN 9 s"

    assert parts_of([COUNTING, other], "ATTTU", monkeypatch) == [2]


def test_events_that_no_query_mentions_leave_where_they_come_between() -> None:
    rows = [
        ("O", 0),
        ("A", 1),
        ("O", 1),
        ("T", 2),
        ("T", 3),
        ("O", 4),
        ("O", 5),
        ("T", 5),
        ("T", 5),
    ]
    rows += [("O", 5), ("A", 6), ("O", 7)]
    events = [{"type": kind, "time": float(time), "x": 0} for kind, time in rows]
    plan = Workload.parse(
        f"RETURN COUNT(*) PATTERN {COUNTING.replace('W', 'MATCH CONTIGUOUS W')}"
    ).plan
    table = EventTable.of(events, plan)
    (pipeline,) = Pipelines(plan).of(Options(), len(table))

    batch, whole = pipeline.encode(table).batch, pipeline.encode(table, is_whole=True).batch

    assert (len(batch), batch.after_others) == (12, None)
    assert whole.ts.tolist() == [1_000_000 * t for t in (1, 2, 3, 5, 5, 6)]
    # The event at 4 comes between those at 3 and 5; those at 1 and 5 are of their times.
    assert whole.after_others is not None
    assert whole.after_others.tolist() == [1, 0, 0, 1, 0, 0]
    assert used_rows(table) == 12
