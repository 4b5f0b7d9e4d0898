"""Tables of rows that go on from batch to batch: any cut of a stream gives the rows of one run.

Would catch a run of stored events that is summed up wrongly when it is merged, an event that no
window has any more and that still counts, a key that is found at the wrong place among equal ones,
and a table that goes on where it has to be made anew: other digits, integers that no double has.
"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from conformance import differences, scaled_reference_rows
from loop_groups import sample
from streaming import Stream, by_a_host, check_equal, in_pieces

SLOW = pytest.mark.slow
SEEDS = [0, *(pytest.param(seed, marks=SLOW) for seed in range(1, 6))]


@pytest.mark.parametrize("numbers", ["exact", "float"])
@pytest.mark.parametrize("seed", SEEDS)
def test_many_queries_on_one_loop_go_on_as_the_reference_says(seed: int, numbers: str) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        drawn = sample(chance, 16)
        stream = Stream(drawn.workload, drawn.events, order=drawn.order, numbers=numbers)
        expected = scaled_reference_rows(drawn.workload, drawn.events, drawn.order)

        results = [in_pieces(stream, chance, 2), by_a_host(stream, chance, 2)]

        for result in results:
            wrong = differences(expected, result.table.to_pylist(), numbers)
            assert not wrong, "\n".join([str(drawn), *wrong])


LONG = """
    lone: RETURN COUNT(*), SUM(T.y), MAX(T.x) PATTERN SEQ(A, T+) WHERE {edge}
          WITHIN 60 s SLIDE 20 s;
    ends: RETURN g, COUNT(*), AVG(T.x) PATTERN SEQ(A, NOT C, T+, C) WHERE {edge} GROUPBY g
          WITHIN 45 s SLIDE 20 s;
    wide: RETURN COUNT(*), MIN(T.y) PATTERN SEQ(A, (SEQ(T, NOT C))+) WHERE {edge} AND [g]
          WITHIN 300 s
"""
EDGES = ("T.x < NEXT(T).x", "T.x >= NEXT(T).y", "T.x = NEXT(T).x", "T.x - NEXT(T).x <= 2")


def events(chance: np.random.Generator, count: int, *, has_huge: bool) -> pa.Table:
    """Fractions need more digits as time goes on; some integers in the middle are no doubles."""
    place = np.arange(count)
    x = chance.integers(0, 12, count)
    if has_huge:
        x = np.where((place > count // 3) & (place < count // 2), x + 2**60, x)
    return pa.table(
        {
            "type": chance.choice(list("TTTTTTTTTTTTTTTTAC"), count),
            "time": np.sort(chance.integers(0, count // 2, count)),
            "x": x,
            "y": (chance.integers(1, 9, count) / 2.0 ** (place // 100)).round(9),
            "g": chance.choice(["u", "v"], count),
        }
    )


@pytest.mark.parametrize("has_huge", [False, True])
@pytest.mark.parametrize("edge", [EDGES[0], *(pytest.param(e, marks=SLOW) for e in EDGES[1:])])
def test_a_long_stream_in_pieces_has_the_very_digits_of_one_run(edge: str, has_huge: bool) -> None:
    table = events(np.random.default_rng(7), 500, has_huge=has_huge)
    stream = Stream(LONG.format(edge=edge), table)

    found = in_pieces(stream, random.Random(3), 3)

    whole = stream.at_once()
    assert whole.table.num_rows > 50
    check_equal(found, whole)


def test_windows_are_not_run_again_where_an_order_decides() -> None:
    stream = Stream(
        LONG.format(edge=EDGES[0]), events(np.random.default_rng(1), 400, has_huge=False)
    )
    session = stream.session()
    session.feed(stream.table.slice(0, 300))
    session.close_until(int(stream.ts[250]))

    states = session._sets

    assert all(state.tables is not None and not state._replayed_units for state in states)
    assert not any(state.tables.behind for state in states if state.tables is not None)
    assert any(len(state.tables.store) for state in states if state.tables is not None)
