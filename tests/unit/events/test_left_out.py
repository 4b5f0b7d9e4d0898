"""Events without a value for a grouping or equivalence attribute take no part, and are counted.

These would catch a count that forgets an attribute, counts types that nobody asks for, or differs
between a run and a stream.
"""

from __future__ import annotations

import math

import pyarrow as pa

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.session import Session

WORKLOAD = Workload.parse("""
    a: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [driver] GROUPBY district WITHIN 10 s;
    b: RETURN COUNT(*) PATTERN SEQ(A, C+) GROUPBY speed WITHIN 10 s;
    c: RETURN COUNT(*) PATTERN D+ WITHIN 10 s
""")
EVENTS = pa.table(
    {
        "type": ["A", "B", "B", "C", "D", "E", "A", None],
        "time": [1, 2, 3, 4, 5, 6, 7, 8],
        "driver": ["x", None, None, None, None, None, "x", None],
        "district": pa.array([7, 7, None, None, None, None, 7, None], pa.int64()),
        "speed": [1.0, math.nan, None, math.nan, None, None, None, 1.0],
    }
)
# B has no driver twice, once no district; C and the last A have no speed.
LEFT_OUT = {"district": 1, "driver": 2, "speed": 2}


def test_a_run_says_how_many_events_have_no_key_by_attribute() -> None:
    done = WORKLOAD.run(EVENTS).statistics

    assert done.without_key == LEFT_OUT
    assert "left out  2 without a value for driver" in str(done)
    assert done.malformed == {"no type": 1}


def test_nothing_is_said_where_every_event_has_its_keys() -> None:
    done = WORKLOAD.run(EVENTS.slice(0, 1)).statistics

    assert done.without_key == {}
    assert "left out" not in str(done)


def test_a_session_counts_the_same_in_any_number_of_tables() -> None:
    session = Session(WORKLOAD.plan, Options(), EVENTS.schema)
    for begin in range(0, len(EVENTS), 3):
        session.feed(EVENTS.slice(begin, 3))
    restored = Session(WORKLOAD.plan, Options(), EVENTS.schema)
    restored.restore(session.snapshot())

    assert session.statistics.without_key == LEFT_OUT
    assert restored.statistics.without_key == LEFT_OUT


def test_late_rows_are_late_and_nothing_else() -> None:
    session = Session(WORKLOAD.plan, Options(), EVENTS.schema)
    session.close_until(100_000_000)

    session.feed(EVENTS)

    assert session.statistics.without_key == {}
    assert session.late == 6
