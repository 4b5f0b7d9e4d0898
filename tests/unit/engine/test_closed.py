"""Sets whose results are made in one go: the same rows as each by itself.

Would catch a record that is taken for one of another set, digits of one set that are used for
another, and a statistic that counts a window or group twice.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from hamlet import Workload
from hamlet.engine import closed

# Sets of different partitions, with and without AND, HAVING, MIN and fractions.
WORKLOAD = Workload.parse("""
    a: RETURN g, COUNT(*), SUM(b.x) PATTERN SEQ(A, B b+) GROUPBY g WITHIN 8 s SLIDE 4 s;
    b: RETURN COUNT(*), AVG(b.y), MIN(b.y) PATTERN SEQ(A, B b+) AND SEQ(C, B c+) WITHIN 9 s;
    c: RETURN h, COUNT(*), AVG(c.y) PATTERN C c+ GROUPBY h HAVING COUNT(*) > 1 WITHIN 6 s;
    d: RETURN g, h, MAX(d.y), COUNT(d) PATTERN SEQ(A, D d+) WHERE d.y < NEXT(d).y
       GROUPBY g, h WITHIN 12 s SLIDE 6 s;
    e: RETURN COUNT(*), SUM(d.y) PATTERN SEQ(C, D d+) WHERE [h] WITHIN 20 s
""")


def drawn(random: Random, n: int) -> list[dict[str, Any]]:
    return [
        {
            "type": random.choice("ABBCDD"),
            "time": time,
            "g": random.choice((1, 2, None)),
            "h": random.choice(('u"', "v", "w")),
            "x": random.choice((None, -3, 4)),
            "y": random.choice((None, 0.1, 1e9, -2.5)),
        }
        for time in range(n)
    ]


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_results_made_in_one_go_are_those_of_each_set(
    numbers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(3)
    for n in (1, 7, 40, 40, 90):
        events = drawn(random, n)
        together = WORKLOAD.run(events, numbers=numbers)
        with monkeypatch.context() as patch:
            patch.setattr(closed, "_FEW_RECORDS", -1)
            apart = WORKLOAD.run(events, numbers=numbers)

        assert together.table.equals(apart.table)
        assert together.statistics.windows == apart.statistics.windows
        assert together.statistics.groups == apart.statistics.groups


def test_statistics_count_the_windows_and_groups_that_have_rows() -> None:
    results = WORKLOAD.run(drawn(Random(5), 80))

    rows = results.table.to_pylist()
    assert results.statistics.windows == len({(r["query"], r["window_start"]) for r in rows})
    assert results.statistics.groups == len({(r["query"], r["group"]) for r in rows})
