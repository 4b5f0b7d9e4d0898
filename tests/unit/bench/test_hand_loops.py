"""Loops written by hand, the yardstick of `hamlet bench real`.

Would catch a loop that answers another question than the query, at windows, at equal times, at
absences, and one that is written for a query it does not fit.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from hamlet import Workload
from hamlet.bench.real import hand_loops, loop_front
from hamlet.bench.real.hand_loops import HandLoop, NotByHand, form_of, sorted_by
from hamlet.bench.real.measure import compare, keyed
from hamlet.bench.real.workloads import workloads
from hamlet.errors import InternalError
from hamlet.events.table import EventTable
from hamlet.plan.query import Match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUERIES = """
ends:  RETURN g, COUNT(*), COUNT(b), SUM(b.x), AVG(b.x), MIN(b.x), MAX(b.x) PATTERN SEQ(A, B b+, C)
       GROUPBY g WITHIN 9 s SLIDE 3 s;
rises: RETURN COUNT(*), MAX(b.x), SUM(b.x) PATTERN SEQ(A, B b+, C) WHERE [g] AND b.x <= NEXT(b).x
       WITHIN 8 s SLIDE 2 s;
first: RETURN g, COUNT(*) PATTERN SEQ(NOT C, A, B+) GROUPBY g WITHIN 6 s SLIDE 3 s;
mid:   RETURN COUNT(*), MIN(b.x) PATTERN SEQ(A+, NOT C, B b+) WHERE b.x > 1 WITHIN 7 s;
last:  RETURN g, COUNT(*), SUM(b.x) PATTERN SEQ(A, B b+, NOT C) GROUPBY g WITHIN 7 s SLIDE 2 s;
twice: RETURN COUNT(*) PATTERN SEQ(A, B+, C, B+) WITHIN 9 s SLIDE 4 s;
alone: RETURN COUNT(*), MAX(b.x) PATTERN B b+ WHERE b.x > NEXT(b).x AND [g] WITHIN 5 s
"""


def events(seed: int) -> list[dict[str, object]]:
    chance = random.Random(seed)
    times = sorted(chance.choice(range(60)) for _ in range(120))
    return [
        {"type": chance.choice("AABBBBC"), "time": t, "g": chance.choice("uv"), "n": n}
        | {"x": chance.randrange(5)}
        for n, t in enumerate(times)
    ]


@pytest.fixture
def as_written(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loops run as Python has them: over few events, to compile them takes longer than all else.

    That they can be compiled is tested where the command that measures them is.
    """

    def left_alone(**options: object) -> Callable[[object], object]:
        return lambda function: function

    monkeypatch.setattr(hand_loops, "njit", left_alone)
    monkeypatch.setattr(loop_front, "njit", left_alone)
    hand_loops._compiled.cache_clear()
    yield
    hand_loops._compiled.cache_clear()


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", [None, "n"])
def test_loops_and_the_engine_answer_alike(seed: int, order: str | None):
    workload, rows = Workload.parse(QUERIES), events(seed)
    results = workload.run(rows, order=order)
    table = EventTable.of(rows, workload.plan, order=order)

    rows_of = {}
    for query in workload.queries:
        found = HandLoop(query).run(sorted_by(table, query.partition))
        expected = {
            (round(start * 1e6), *group): values
            for (start, *group), values in keyed(
                results.wide(query.name), query, "window_start"
            ).items()
        }
        rows_of[query.name] = len(expected)
        compare(query.name, keyed(found, query, "window"), expected)
    assert sum(rows_of.values()) > 50, rows_of
    assert min(sorted(rows_of.values())[1:]) > 0, rows_of


@pytest.mark.parametrize(
    "pattern",
    ["(SEQ(A, B+))+", "A OR B+", "SEQ(A, B) AND SEQ(B, C)", "SEQ(A, NOT SEQ(B, C), C)"],
)
def test_what_has_no_loop_is_said(pattern: str):
    (query,) = Workload.parse(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 5 s").queries

    with pytest.raises(NotByHand):
        form_of(query)


def test_answers_that_differ_are_refused():
    with pytest.raises(InternalError, match="windows and groups"):
        compare("q", {(0,): (1.0,)}, {(1,): (1.0,)})
    with pytest.raises(InternalError, match=r"2\.0 and 1\.0"):
        compare("q", {(0,): (2.0,)}, {(0,): (1.0,)})


def test_every_workload_has_loops_for_all_its_queries():
    for asked in workloads():
        queries = Workload.parse(asked.text).queries
        assert len(queries) >= 4
        for query in queries:
            if query.match == Match.ANY:
                assert form_of(query).steps
            else:  # of which no loop is written by hand
                with pytest.raises(NotByHand, match="some trends only"):
                    form_of(query)
