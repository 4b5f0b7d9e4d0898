"""Ways to encode a table: sets that are run as one or not, conditions on all rows or on some.

Would catch a row that takes part in a set that does not ask for it, a partition without events that
still has a number, and a condition that is looked up for the wrong type.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet import Workload
from hamlet.engine import pipeline
from hamlet.kernel.encode import lettering

# Two sets that partition alike, of which neither takes all types, and one of another partition.
WORKLOAD = Workload.parse("""
    a: RETURN g, COUNT(*), SUM(b.x) PATTERN SEQ(A, B b+)
       WHERE b.x > 2 GROUPBY g WITHIN 8 s SLIDE 4 s;
    b: RETURN g, COUNT(*), MIN(b.y) PATTERN SEQ(C, B b+)
       WHERE b.x < 6 AND b.w = 'u' GROUPBY g WITHIN 8 s;
    c: RETURN COUNT(*), MAX(d.y) PATTERN SEQ(A a, D d+)
       WHERE [g] AND a.x >= 1 AND d.y < NEXT(d).y WITHIN 9 s;
    d: RETURN COUNT(*), AVG(d.x) PATTERN D d+ WHERE [w] AND d.x != 3 WITHIN 5 s
""")

rows = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["A", "B", "B", "C", "D", "D", "E"]),
            "time": st.integers(0, 20),
            "g": st.sampled_from([1, 2, 3, None]),
            "w": st.sampled_from(["u", "v", None]),
            "x": st.sampled_from([0, 1, 3, 5, 7, None]),
            "y": st.sampled_from([0.5, -1.0, float("inf"), None]),
        }
    ),
    min_size=1,
    max_size=25,
)
SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("time", pa.int64()),
        ("g", pa.int64()),
        ("w", pa.string()),
        ("x", pa.int64()),
        ("y", pa.float64()),
    ]
)


@random_sample(60)
@given(rows)
def test_every_way_gives_the_same_rows(events: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(events, SCHEMA)
    found = []

    for few_events, share_of_type in product((0, 1000), (0.0, 2.0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "_FEW_EVENTS", few_events)
            patch.setattr(lettering, "_MANY_ROWS", share_of_type)
            results = WORKLOAD.run(table)
            found.append((results.table, results.statistics.events_used))

    assert all(each == found[0] for each in found[1:])
