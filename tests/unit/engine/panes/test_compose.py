"""Windows from panes where counting by hand, or the engine, says what must come out.

Would catch numbers beyond 64 bits that are cut off, panes without events that end a trend, windows
in a gap, sums of fractions that lose digits, and a heavy overlap of windows.
"""

from __future__ import annotations

from typing import Any

import pytest
from conformance import differences, engine_rows
from pane_runs import pane_rows

from hamlet.testing import stream


def test_counts_far_beyond_64_bits_are_exact():
    events = [{"type": "B" if i else "A", "time": i} for i in range(1001)]
    text = "RETURN COUNT(*), COUNT(B) PATTERN SEQ(A, B+) WITHIN 2000 s"

    rows = pane_rows(text, events, parts=20)

    assert [row["exact"] for row in rows] == [str(2**1000 - 1), str(1000 * 2**999)]


def test_trends_go_on_over_panes_without_events_and_guards_end_them():
    text = "RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) GROUPBY g WITHIN 100 s"
    events = stream(
        "1 A g=1, 95 B g=1, 1 A g=2, 50 C g=2, 95 B g=2, 1 A g=3, 2 C g=3, 50 A g=3, 99 B g=3"
    )

    rows = pane_rows(text, events, parts=10)

    assert [(row["group"], row["exact"]) for row in rows] == [('{"g": 1}', "1"), ('{"g": 3}', "1")]


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_windows_that_overlap_much_with_gaps_between(numbers: Any):
    text = """
    a: RETURN COUNT(*), AVG(B.x), MIN(B.x), MAX(B.x) PATTERN SEQ(A, B+) GROUPBY g
       WITHIN 40 s SLIDE 1 s;
    b: RETURN SUM(B.x), COUNT(B) PATTERN (A OR B)+ WHERE [h] GROUPBY g WITHIN 7 s SLIDE 2 s
    """
    events = [
        {
            "type": "AB"[i % 3 > 0],
            "time": (i * 7) % 60 + 1000 * (i % 2),
            "x": 0.1 * (i % 9),
            "g": i % 2,
            "h": i % 5,
        }
        for i in range(200)
    ]

    rows = pane_rows(text, events, numbers=numbers)

    assert not differences(engine_rows(text, events), rows, numbers)
    assert len(rows) > 500


def test_sums_of_numbers_of_every_size_have_all_their_digits():
    text = "RETURN SUM(B.x), AVG(B.x) PATTERN SEQ(A, B+) WITHIN 100 s"
    events = [{"type": "A", "time": 0, "x": None}]
    values = [1e-300, 1e300, -1e300, 2**53 + 1.0, 0.1, None, -0.3]
    events += [{"type": "B", "time": 9 * i + 1, "x": value} for i, value in enumerate(values)]

    rows = pane_rows(text, events, parts=10)

    assert not differences(engine_rows(text, events), rows)
    assert {row["aggregate"] for row in rows} == {"SUM(B.x)", "AVG(B.x)"}
