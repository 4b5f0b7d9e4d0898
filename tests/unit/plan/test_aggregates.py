"""The table of aggregates: would catch a second one, and a line that the rest cannot work with."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import hamlet
from hamlet import Workload
from hamlet.plan.aggregates import FUNCTIONS

# Where aggregates are named: the table, functions that write them, the definition to test with, and
# queries that count what is before and after an event
_NAMED_IN = {
    "plan/aggregates.py",
    "lang/builder/aggregates.py",
    "kernel/reference.py",
    "engine/panes/derive.py",
    "engine/witnesses.py",
}


def test_names_of_aggregates_are_nowhere_but_in_the_table() -> None:
    root = Path(hamlet.__file__).parent
    named = re.compile("|".join(f'"{name}"' for name in FUNCTIONS))

    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if named.search(path.read_text(encoding="utf-8"))
    }

    assert found == _NAMED_IN


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_aggregate_can_be_asked_for(name: str) -> None:
    argument = "B.x" if FUNCTIONS[name].takes_attribute else "B"
    workload = Workload.parse(f"RETURN {name}({argument}) PATTERN SEQ(A, B+) WITHIN 1 h")
    events = [{"type": "A", "time": 1}, *({"type": "B", "time": t, "x": t} for t in (2, 3))]

    (row,) = workload.run(events).table.to_pylist()

    # Trends are A B(2), A B(3) and A B(2) B(3).
    expected = {"COUNT": 4, "SUM": 10, "AVG": 2.5, "MIN": 2, "MAX": 3}
    expected |= {"VARIANCE": 1 / 3, "STDDEV": math.sqrt(1 / 3)}
    assert row["value"] == expected[name]


def test_all_trends_are_counted_without_any_weight() -> None:
    text = "RETURN COUNT(*), COUNT(B), SUM(B.x), MIN(B.x), MAX(B.x) PATTERN B+ WITHIN 1 h"
    (planned,) = Workload.parse(text).plan.queries

    weights = [aggregate.weights for aggregate in planned.query.aggregates]

    assert weights == [(), ("one",), ("present", "value"), (), ()]
    assert [aggregate.sign for aggregate in planned.query.extremes] == [1, -1]
