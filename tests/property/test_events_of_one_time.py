"""Events of one time that are taken in one after the other, against the definition.

Would catch an event that sees another of its time, or bars what that adds; one that is taken in
before what it feeds is read; events that change places without what belongs to them; and a group of
rows that is not given an event that it knows, or a time that it shares.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from conformance import differences, engine_rows, scaled_reference_rows

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import Pipelines
from hamlet.events.table import EventTable
from hamlet.kernel.compile.fast_paths import by_letter
from hamlet.kernel.sifting import in_turn, sifted

PATTERNS = (
    "SEQ(A, E e+)",
    "SEQ(E e+, B)",
    "SEQ(A, E e+, B)",
    "SEQ(B, E e+, A)",
    "SEQ(A, B e+)",
    "SEQ(A e+, B+)",
    "SEQ(A, E e+, NOT B)",
    "SEQ(A, NOT C, E e+)",
    "SEQ(A, E e+, NOT C, B)",
    "SEQ(A, B, E e)",
    "SEQ(C, D, E e+, A)",
    "(SEQ(A, E e+))+",
)
AGGREGATES = ("COUNT(*)", "COUNT(*), SUM(e.x)", "COUNT(*), MAX(e.x), MIN(e.x)", "AVG(e.x)")
CONDITIONS = ("", "", "e.x > 0 AND ", "e.x < NEXT(e).x AND ")
MATCHES = ("", "", " MATCH NEXT", " MATCH CONTIGUOUS")


def drawn(random: Random) -> tuple[str, list[dict[str, Any]]]:
    """Different queries over the same few partitions, and events, many of them of one time."""
    queries, matches = [], random.choice((("",), (" MATCH NEXT",), MATCHES))
    for number in range(random.randint(1, 4)):
        condition = random.choice(CONDITIONS)
        pattern = random.choice(PATTERNS)
        if pattern in ("SEQ(A, B, E e)", "(SEQ(A, E e+))+"):
            condition = condition.replace("e.x < NEXT(e).x AND ", "")
        queries.append(
            f"q{number}: RETURN {random.choice(AGGREGATES)} PATTERN {pattern}"
            f"{random.choice(matches)} WHERE {condition}[k] "
            f"WITHIN {random.choice((6, 12))} s SLIDE 6 s"
        )
    events, time = [], 0
    for _ in range(random.randint(2, 18)):
        time += random.choice((0, 0, 1, 2))
        value = random.choice((None, -2, 1, 2, 3))
        key = random.choice("ppq")
        events.append({"type": random.choice("AABCDEEE"), "time": time, "x": value, "k": key})
    return ";\n".join(queries), events


@pytest.mark.parametrize("seed", range(90))
def test_events_of_one_time_never_see_each_other(seed: int) -> None:
    text, events = drawn(Random(seed))
    expected = scaled_reference_rows(text, events)

    for numbers in ("exact", "float"):
        wrong = differences(expected, engine_rows(text, events, numbers=numbers), numbers)
        assert not wrong, "\n".join([numbers, text, str(events), *wrong])


def test_a_beginning_and_the_loop_after_it_are_put_in_turn() -> None:
    text = "RETURN COUNT(*), SUM(e.x) PATTERN SEQ(A, E e+, B) WITHIN 10 s"
    rows = [("A", 0), ("E", 1), ("A", 2), ("E", 2), ("B", 3), ("E", 3), ("E", 4), ("E", 4)]
    batch, compiled, types = encoded(text, rows)

    turned = in_turn(batch, by_letter(compiled, batch.letters).in_turn)

    # At 2 the loop goes first, as it must not see what begins there; at 3 what ends does.
    assert [types[letter] for letter in turned.letter] == ["A", "E", "E", "A", "B", "E", "E", "E"]
    assert turned.weights[-1].tolist()[:6] == [0, 1, 3, 2, 4, 5]
    assert turned.tied.tolist() == [0] * 7 + [1]


def test_a_guard_stays_at_its_time() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A, NOT B, E e+) WITHIN 10 s"
    batch, compiled, _ = encoded(text, [("A", 0), ("B", 1), ("E", 1)])

    assert in_turn(batch, by_letter(compiled, batch.letters).in_turn).tied.tolist() == [0, 0, 1]


def test_a_group_of_rows_has_the_events_that_it_knows() -> None:
    text = (
        "q: RETURN COUNT(*) PATTERN E e+ WHERE e.x < NEXT(e).x WITHIN 10 s;"
        "r: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s"
    )
    rows = [("E", 0), ("B", 0), ("E", 1), ("A", 1), ("E", 1), ("B", 2)]
    batch, compiled, types = encoded(text, rows)

    some, ranges = sifted(compiled.row_groups[0], batch, np.array([[0, 0, 6, -1, -1, -1]]))

    assert [types[letter] for letter in some.letter] == ["E", "E", "E"]
    assert some.tied.tolist() == [0, 0, 1]
    assert some.previous.tolist() == [[0, 2, 4]]
    assert ranges[:, :3].tolist() == [[0, 0, 3]]


def encoded(text: str, rows: list[tuple[str, int]]) -> tuple[Any, Any, list[str]]:
    """Events whose x is their number, the code for them, and the type of each letter."""
    events = [{"type": k, "time": float(t), "x": x} for x, (k, t) in enumerate(rows)]
    plan = Workload.parse(text).plan
    table = EventTable.of(events, plan)
    (pipeline,) = Pipelines(plan).of(Options(numbers="exact"), len(table))
    found = pipeline.encode(table)
    atoms = pipeline.program.alphabet.atoms
    types = [atoms[int(np.flatnonzero(letter)[0])].type for letter in found.batch.letters]
    return found.batch, pipeline.compile(found), types
