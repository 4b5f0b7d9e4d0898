"""Events of a loop with an edge predicate that are taken in at once, against the definition.

Would catch a number that is had from the wrong stored events, or from none; an extreme of an event
that no trend ends at; a null that compares; an integer that outgrows its word in silence; and
events of one time that see each other.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from conformance import differences, engine_rows, scaled_reference_rows

from hamlet.kernel.jit import interpreted
from hamlet.kernel.rows.layout import COLUMNS, COMPONENTS, HEADER, OVERLAP
from hamlet.kernel.rows.survey import Survey, is_tree_chosen

AGGREGATES = (
    "COUNT(*)",
    "COUNT(*), MIN(e.x)",
    "COUNT(*), MAX(e.x), MIN(e.y)",
    "COUNT(*), SUM(e.x)",
    "COUNT(e), MAX(e.y)",
    "AVG(e.x), MIN(e.y)",
    "SUM(e.x), MAX(e.x), MIN(e.y)",
    "SUM(e.x), SUM(e.y)",
)
PATTERNS = ("E e+", "SEQ(A, E e+)", "SEQ(E e+, B)", "SEQ(A, E e+, B)", "SEQ(B, E e+, B b)")
OPERATORS = ("<", "<=", ">", ">=", "=", "!=")


def drawn(random: Random, large: bool) -> tuple[str, list[dict[str, Any]]]:
    """A query, and events most of which are alone at their time."""
    operator, slide = random.choice(OPERATORS), random.choice((4, 8, 12))
    text = (
        f"q: RETURN {random.choice(AGGREGATES)} PATTERN {random.choice(PATTERNS)} "
        f"WHERE e.x {operator} NEXT(e).x WITHIN 12 s SLIDE {slide} s"
    )
    events, time = [], 0
    for _ in range(random.randint(1, 22)):
        time += random.choice((0, 1, 1, 1, 2))
        size = 2 ** random.choice((0, 30, 61)) if large else 1
        event = {
            "type": random.choice("AEEEEBC"),
            "time": time,
            "x": random.choice((None, -2, 0, 1, 2, 3)),
            "y": random.choice((None, -1.5, 0.0, 2.5)),
        }
        event["x"] = None if event["x"] is None else event["x"] * size
        events.append(event)
    return text, events


@pytest.mark.parametrize("large", [False, True])
def test_queries_with_few_numbers_equal_the_reference(large: bool) -> None:
    random = Random(7 + large)
    for _ in range(40):
        text, events = drawn(random, large)
        expected = scaled_reference_rows(text, events)

        for numbers in ("exact", "float"):
            rows = engine_rows(text, events, numbers=numbers)
            assert not list(differences(expected, rows, numbers)), (text, events)


def test_a_burst_is_no_reason_to_have_a_tree() -> None:
    four_columns = np.zeros(HEADER, np.int64)
    four_columns[[COLUMNS, OVERLAP, COMPONENTS]] = 4, 1, 1

    with interpreted():
        even, bursty = (
            bool(
                is_tree_chosen(four_columns, Survey(10_000, 3_000, 3_000, 0, 0, 0, 0, 0, usual, 0))
            )
            for usual in (2_500.0, 40.0)
        )

    assert even
    assert not bursty
