"""Widths of exact numbers that are chosen before a run.

Would catch a query that makes others pay for its long numbers, an expectation that has most
partitions run twice, and a width that changes a digit.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import SetPipeline
from hamlet.events.table import EventTable
from hamlet.kernel import run, widths
from hamlet.kernel.run import partition_ranges

if TYPE_CHECKING:
    from hamlet.kernel.encode.batch import EncodedSet

# One has counts of some bits, one of about a hundred, one sums of these with fractions.
MIXED = """
few:  RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE B.x > 3.5 GROUPBY g WITHIN 1 min;
many: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 min SLIDE 5 min;
sums: RETURN COUNT(*), AVG(B.x), MAX(B.x) PATTERN SEQ(A, B+, C) GROUPBY g WITHIN 10 min SLIDE 5 min
"""


def events(count: int, seed: int) -> list[dict[str, object]]:
    """Events of groups, of which the first has most."""
    chance = random.Random(seed)
    return [
        {
            "type": chance.choice("ABBBBC"),
            "time": float(t),
            "g": min(chance.randrange(6), chance.randrange(6)),
            "x": round(chance.random() * 4, 3),
        }
        for t in range(count)
    ]


def encoded_of(text: str, rows: list[dict[str, object]]) -> tuple[SetPipeline, EncodedSet]:
    workload = Workload.parse(text)
    (sharable,) = workload.plan.sets
    pipeline = SetPipeline.of(workload.plan, sharable, Options())
    return pipeline, pipeline.encode(EventTable.of(rows, workload.plan, type="type", time="time"))


def classes_of(text: str, rows: list[dict[str, object]]) -> tuple[widths.WidthClass, ...]:
    pipeline, encoded = encoded_of(text, rows)
    ranges = partition_ranges(encoded.batch)
    compiled = pipeline.compile(encoded)
    return widths.width_classes(pipeline.program, compiled, encoded.batch, ranges)


def test_units_of_other_lengths_are_run_apart():
    found = classes_of(MIXED, events(4_000, 1))

    assert len(found) > 1
    assert min(one.words.max() for one in found) == 1
    assert max(one.words.max() for one in found) > 1
    assert sorted(t for one in found for t in one.templates) == [0, 1, 2]


@pytest.mark.parametrize("count", [100, 4_000])
def test_units_whose_numbers_all_fit_a_word_are_run_together(count: int):
    text = "; ".join(
        f"q{n}: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN {n} s SLIDE 1 s" for n in (2, 5, 9)
    )

    (found,) = classes_of(text, events(count, 2))

    assert (found.words == 1).all()


def test_numbers_of_trends_that_move_stay_short():
    text = "RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 min"

    (skipping,) = classes_of(text, events(4000, 1))
    (moving,) = classes_of(text.replace("GROUPBY", "MATCH NEXT GROUPBY"), events(4000, 1))

    assert skipping.words.max() > 1
    assert moving.words.max() == 1


@pytest.mark.parametrize("seed", range(3))
def test_digits_do_not_depend_on_expected_widths(seed: int, monkeypatch: pytest.MonkeyPatch):
    workload, rows = Workload.parse(MIXED), events(4_000, seed)
    expected = workload.run(rows)
    assert any(len(text) > 20 for text in expected.table["exact"].to_pylist() if text)

    for shift in (-1e9, -40.0, 40.0):
        with monkeypatch.context() as wrong:
            wrong.setattr(widths, "expected_bits", shifted(shift))
            assert workload.run(rows).table.equals(expected.table)


def shifted(bits: float) -> object:
    """An expectation that is wrong by so many bits, each unit by more than the one before it."""
    right = widths.expected_bits

    def wrong(*arguments: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        found = right(*arguments)
        return found + bits * (1 + np.arange(len(found)))[:, None]

    return wrong


def test_units_are_parted_where_longer_numbers_cost_more_than_another_walk():
    events = np.full(3, 1_000)
    alike, rising = np.full((40, 3), 50.0), np.linspace(10, 300, 40)[:, None] * np.ones(3)

    assert widths._alike(alike, events) == [list(range(40))]
    found = widths._alike(rising, events)

    assert 1 < len(found) <= 4
    assert [unit for some in found for unit in some] == list(range(40))


def test_a_few_events_have_no_words_of_their_own():
    words, events = np.array([1, 2, 1, 3]), np.array([10, 5_000, 20, 5_000])

    assert widths._without_few(words, events).tolist() == [2, 2, 2, 3]


def test_one_partition_shows_how_long_the_numbers_of_loops_with_edges_are(
    monkeypatch: pytest.MonkeyPatch,
):
    text = "RETURN COUNT(*) PATTERN B+ WHERE [g] AND B.x < NEXT(B).x GROUPBY g WITHIN 1 min"
    rows = [
        {"type": "B", "time": t / 10, "g": g, "x": float(t)}
        for t in range(300)
        for g in range(6)
        if t < 30 or g > 1  # the first two have short numbers
    ]
    expected = Workload.parse(text).run(rows)

    monkeypatch.setattr(run, "_MANY_EVENTS", 100)
    pipeline, encoded = encoded_of(text, rows)
    _, counters = pipeline.ready(encoded).run(False)

    # One partition says that it needs longer numbers, not each; then they double until they fit.
    assert counters.partitions_redone == 1 + 4 + 4
    assert Workload.parse(text).run(rows).table.equals(expected.table)


def test_hardly_any_partition_is_run_twice():
    pipeline, encoded = encoded_of(MIXED, events(6_000, 5))

    _, counters = pipeline.ready(encoded).run(False)

    assert counters.partitions_redone == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_busiest_stretch_is_found_among_events_of_the_loop(seed: int) -> None:
    chance = np.random.default_rng(seed)
    letter = chance.integers(0, 4, 1500).astype(np.int32)
    ts = np.sort(chance.integers(0, 3000, 1500))
    counts = np.array([0.0, 1.5, 0.0, 1.5 if seed % 2 else 0.0])
    within = int(chance.integers(1, 200))
    first, end = np.array([0, 200, 210]), np.array([200, 210, 1500])
    begins, ends = first.copy(), end.copy()
    batch: Any = SimpleNamespace(letter=letter, ts=ts)

    widths._Busiest(batch).narrow(counts, within, begins, ends)

    widths._narrow(letter, ts, counts, within, first, end)
    found = [counts[letter[low:high]].sum() for low, high in zip(begins, ends, strict=True)]
    expected = [counts[letter[low:high]].sum() for low, high in zip(first, end, strict=True)]
    assert found[:2] == expected[:2]
    # Of many events of a loop one in four is looked at.
    assert abs(found[2] - expected[2]) <= 3 * 1.5
