"""Loops without edge predicates against the reference, and each way of running them with others.

Would catch a run of events that is applied to the wrong rows, twice or not at all: where a query
has several loops, where queries ask different things of the events of one loop, where a guard or
another place knows the same type, where events have equal times, and where counts outgrow 64 bits.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from conformance import differences, engine_rows, scaled_reference_rows
from loops_of_queries import stream, workload

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.session import Session
from hamlet.kernel.compile import counters
from hamlet.results import Results

# What may stand behind a pattern: mostly what moves trends, which loops may wait for, too
MOVING = (" MATCH NEXT", " MATCH NEXT", " MATCH NEXT", "", " MATCH CONTIGUOUS")


@pytest.mark.parametrize("seed", range(60))
def test_loops_equal_the_reference(seed: int) -> None:
    chance = random.Random(seed)
    text, events = workload(chance), stream(chance, chance.randint(3, 13))

    check_against_the_reference(text, events)


@pytest.mark.parametrize("seed", range(60))
def test_loops_that_move_trends_equal_the_reference(seed: int) -> None:
    chance = random.Random(seed)
    text, events = workload(chance, matches=MOVING), stream(chance, chance.randint(3, 20))

    check_against_the_reference(text, events)


@pytest.mark.parametrize("seed", range(60))
def test_loops_without_gaps_equal_the_reference(seed: int) -> None:
    chance = random.Random(seed)
    text = workload(chance, matches=(" MATCH CONTIGUOUS",))
    events = stream(chance, chance.randint(3, 24), bursts=6)

    check_against_the_reference(text, events)


def check_against_the_reference(text: str, events: list[dict[str, Any]]) -> None:
    expected = scaled_reference_rows(text, events)

    for numbers in ("exact", "float"):
        for sharing in ("dynamic", "never"):
            rows = engine_rows(text, events, numbers=numbers, sharing=sharing)
            wrong = differences(expected, rows, numbers)
            assert not wrong, "\n".join([f"{numbers}, {sharing}", text, str(events), *wrong])


@pytest.mark.parametrize("matches", [("",), MOVING])
@pytest.mark.parametrize("seed", range(12))
def test_long_streams_are_the_same_however_they_are_run(
    seed: int, matches: tuple[str, ...]
) -> None:
    chance = random.Random(seed)
    text, events = workload(chance, most=9, matches=matches), stream(chance, 300, bursts=30)

    expected = rows_of(Workload.parse(text).run(events, sharing="never"))

    counts = [row | {"exact": None} for row in expected if not is_sum(row)]
    for sharing in ("always", "dynamic"):
        rows = rows_of(Workload.parse(text).run(events, sharing=sharing))
        assert not differences(expected, rows), (text, sharing)
        doubles = rows_of(Workload.parse(text).run(events, sharing=sharing, numbers="float"))
        doubles = [row for row in doubles if not is_sum(row)]
        assert not differences(counts, doubles, "float"), (text, sharing)
    cut = chance.randrange(1, 299)
    assert not differences(expected, in_pieces(text, events, cut)), (text, cut)


@pytest.mark.parametrize("numbers", ["exact", "float"])
@pytest.mark.parametrize("seed", range(6))
def test_few_accumulators_are_added_up_as_many_are(
    seed: int, numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    text, events = workload(chance, most=9), stream(chance, 300, bursts=9)
    found = []

    for most in (0, 1000):  # no accumulators are few, or all are
        monkeypatch.setattr(counters, "_FEW", most)
        found.append(rows_of(Workload.parse(text).run(events, numbers=numbers)))

    assert not differences(*found, numbers), text


def is_sum(row: dict[str, Any]) -> bool:
    return row["aggregate"].startswith(("SUM", "AVG"))


def rows_of(results: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = results.table.to_pylist()
    return rows


def in_pieces(text: str, events: list[dict[str, Any]], cut: int) -> list[dict[str, Any]]:
    """The rows of a session that is kept and taken up again after some events."""
    parsed, table = Workload.parse(text), pa.Table.from_pylist(events)
    first, second = (Session(parsed.plan, Options(), table.schema) for _ in range(2))
    first.feed(table[:cut])
    found = [*first.close_until(int(events[cut]["time"] * 1_000_000)).answers()]
    second.restore(first.snapshot())
    second.feed(table[cut:])
    found += second.close_all().answers()
    return rows_of(Results(parsed.queries, found, times="seconds"))
