"""What is kept of a workload from run to run: answers never depend on what was run before.

Would catch code that is used for events of another form, for other numbers or another policy, and
memory that grows with every form that was ever met.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from decimal import Decimal
from itertools import product

import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import Pipelines
from hamlet.events.table import EventTable
from hamlet.kernel.recent import Recent

TEXT = """
a: RETURN COUNT(*), SUM(b.x), AVG(b.x) PATTERN SEQ(A, B b+) WITHIN 10 s SLIDE 5 s;
b: RETURN g, COUNT(b), MIN(b.x), MAX(b.x) PATTERN SEQ(C, B b+) GROUPBY g WITHIN 10 s SLIDE 5 s;
c: RETURN COUNT(*), SUM(b.x) PATTERN SEQ(A, B b+) WHERE b.x < NEXT(b).x + 1 WITHIN 10 s;
d: RETURN COUNT(*) PATTERN SEQ(A a, B b+, NOT C) WHERE b.x > 2 AND [g] WITHIN 10 s SLIDE 5 s;
e: RETURN COUNT(*) PATTERN SEQ(C, B b+) WHERE (b.x % 5) * (NEXT(b).x % 5) > 3 WITHIN 10 s SLIDE 5 s
"""
TYPES = list("ABBCBBABCBBACBBBABCB")
TIMES = list(range(20))
GROUPS = [i % 3 for i in range(20)]
# Integers, large ones, fractions of one size and of many, nulls, decimals: all of one workload.
COLUMNS: dict[str, list[object]] = {
    "small": [i % 7 for i in range(20)],
    "large": [(i % 7) << 50 for i in range(20)],
    "fractions": [0.5 + i % 7 for i in range(20)],
    "spread": [float(i % 7) * 10.0 ** (7 * (i % 11) - 30) for i in range(20)],
    "nulls": [None if i % 5 == 0 else i for i in range(20)],
    "ones": [1] * 20,
    "decimals": [Decimal(i % 7) / 4 for i in range(20)],
}
RUNS = [
    (column, numbers, sharing)
    for column, (numbers, sharing) in product(
        COLUMNS,
        [
            ("exact", "dynamic"),
            ("float", "dynamic"),
            ("exact", "never"),
            ("exact", "apart"),
            ("float", "static"),
            ("exact", "always"),
        ],
    )
]


def events(column: str, reverse: bool = False) -> pa.Table:
    table = pa.table({"type": TYPES, "time": TIMES, "g": GROUPS, "x": COLUMNS[column]})
    return table.take(list(reversed(range(20)))) if reverse else table


def test_runs_in_turn_give_what_fresh_workloads_give():
    kept = Workload.parse(TEXT)

    fresh: dict[tuple[str, str, str], pa.Table] = {}

    for column, numbers, sharing in [*RUNS, *RUNS[::-4]]:
        table = events(column)
        again = kept.run(table, numbers=numbers, sharing=sharing)
        run = (column, numbers, sharing)
        if run not in fresh:
            once = Workload.parse(TEXT).run(table, numbers=numbers, sharing=sharing)
            fresh[run] = once.table

        assert again.table.equals(fresh[run]), run


def test_queries_that_are_run_apart_have_sets_of_their_own_after_any_other_run():
    pipelines = Pipelines(Workload.parse(TEXT).plan)

    counts = [len(pipelines.of(Options(sharing=each))) for each in ("dynamic", "apart", "never")]

    assert counts == [2, 5, 2]


def test_code_is_made_once_for_events_of_one_form():
    workload = Workload.parse(TEXT)
    pipelines = Pipelines(workload.plan)
    tables = [EventTable.of(events("small", is_reversed), workload.plan) for is_reversed in (0, 1)]

    first, second = (
        [one.compile(one.encode(table)) for one in pipelines.of(Options())] for table in tables
    )

    assert all(a is b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "other",
    [
        (Options(numbers="float"), "small"),
        (Options(sharing="always"), "small"),
        (Options(), "spread"),
        (Options(), "nulls"),
    ],
)
def test_code_is_not_that_of_other_numbers_policies_or_forms(other: tuple[Options, str]):
    workload = Workload.parse(TEXT)
    pipelines = Pipelines(workload.plan)

    def code(options: Options, column: str) -> object:
        one = pipelines.of(options)[0]
        return one.compile(one.encode(EventTable.of(events(column), workload.plan)))

    assert code(Options(), "small") is not code(*other)
    assert code(Options(), "small") is code(Options(), "small")


def test_code_is_not_that_of_another_plan():
    workload = Workload.parse(TEXT)
    longer = Workload.parse(TEXT.replace("SLIDE 5 s", "SLIDE 2 s"))
    one = Pipelines(workload.plan).of(Options())[0]
    other = replace(one, plan=longer.plan)
    encoded = one.encode(EventTable.of(events("small"), workload.plan))

    assert one.compile(encoded).code.u_slide[0] == 5_000_000
    assert other.compile(encoded).code.u_slide[0] == 2_000_000


def test_a_copy_of_a_workload_that_was_run_begins_afresh():
    workload = Workload.parse(TEXT)
    expected = workload.run(events("small")).table

    for other in (copy.deepcopy(workload), pickle.loads(pickle.dumps(workload))):
        assert other.run(events("small")).table.equals(expected)


def test_what_was_asked_for_longest_ago_is_forgotten():
    recent: Recent[int] = Recent(3)

    for key in range(100):
        recent.get_or_make(key, lambda key=key: key)
        assert recent.get_or_make(0, lambda: -1) == 0

    assert recent.get_or_make(50, lambda: -1) == -1
