"""Every policy of sharing, on random workloads: would catch an answer that depends on one.

Digits have to be the same under all five, with a static choice from a sample too, and whether or
not what is decided is kept. A traced run has to decide as one that is not traced.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from loop_groups import long_stream, sample

from hamlet import Workload
from hamlet.kernel.rows import batch
from hamlet.kernel.rows.layout import BY_COIN
from hamlet.share.policy import POLICIES

ROWS = [
    f"q{i}: RETURN {asked} PATTERN SEQ({before}T+{after}) WHERE T.x < NEXT(T).x WITHIN {window}"
    for i, (asked, before, after, window) in enumerate(
        [
            ("COUNT(*)", "X, ", "", "40 s SLIDE 10 s"),
            ("COUNT(*)", "X, ", ", Y", "40 s SLIDE 10 s"),
            ("COUNT(*)", "Y, ", ", X", "40 s SLIDE 10 s"),
            ("COUNT(*)", "", ", Y", "40 s SLIDE 10 s"),
            ("SUM(T.y)", "X, ", ", Y", "40 s SLIDE 10 s"),
            ("SUM(T.y)", "Y, ", ", Y", "40 s SLIDE 10 s"),
        ]
    )
]
# Loops without an edge predicate, which differ in the events that enter them and in their Ts
BURSTS = [
    f"b{i}: RETURN COUNT(*), SUM(T.y) PATTERN SEQ(X x, T+) WHERE {where} WITHIN 30 s SLIDE 6 s"
    for i, where in enumerate(["x.y < 0", "x.y < 1000", "x.y > 0", "T.y > 0", "T.y > -1000"])
]


def answers(text: str, events: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Every row of the results, as digits, in an order of their own."""
    table = Workload.parse(text).run(events, **options).table
    names = [name for name in table.column_names if name not in ("value", "log10")]
    columns = (table[name].to_pylist() for name in names)
    return sorted(zip(*columns, strict=True), key=repr)


def ways(events: Any) -> list[dict[str, Any]]:
    """Each policy, each of them traced too, and static from a sample."""
    found: list[dict[str, Any]] = [{"sharing": policy} for policy in POLICIES]
    found += [{"sharing": policy, "trace": True} for policy in POLICIES]
    return [*found, {"sharing": "static", "sample": events[: len(events) // 3]}]


@pytest.mark.parametrize("seed", range(8))
def test_digits_are_those_of_each_query_by_itself_on_small_streams(seed: int) -> None:
    random = Random(seed)
    for _ in range(4):
        drawn = sample(random)
        options = {} if drawn.order is None else {"order": drawn.order}
        expected = answers(drawn.workload, list(drawn.events), sharing="apart", **options)
        for way in ways(list(drawn.events)):
            found = answers(drawn.workload, list(drawn.events), **options, **way)
            assert found == expected, f"{way}\n{drawn}"


@pytest.mark.parametrize("texts", [ROWS, BURSTS, [*ROWS, *BURSTS]], ids=["rows", "bursts", "both"])
@pytest.mark.parametrize("seed", range(2))
def test_digits_are_those_of_each_query_by_itself_on_long_streams(
    seed: int, texts: list[str]
) -> None:
    random = Random(seed)
    events = long_stream(random, 400, rising=0.7)
    text = ";\n".join(random.sample(texts, random.randint(3, len(texts))))

    expected = answers(text, events, sharing="apart")

    assert len(str(max(int(row[-1]) for row in expected if str(row[-1]).isdigit()))) > 3
    for way in ways(events):
        assert answers(text, events, **way) == expected, f"{way}\n{text}"


COUNTED = ("bursts", "shared_bursts", "snapshots", "shared", "splits", "merges")


@pytest.mark.parametrize("sharing", ["dynamic", "static", "always", "never"])
@pytest.mark.parametrize("seed", range(3))
def test_a_traced_run_decides_as_one_that_is_not(seed: int, sharing: Any) -> None:
    """Also where queries disagree for long, and what they disagree on is no longer looked at."""
    random = Random(seed)
    workload = Workload.parse(";\n".join([*ROWS, *BURSTS]))
    events = long_stream(random, 600, rising=0.7)

    traced, plain = (
        workload.run(events, sharing=sharing, numbers="float", trace=trace).statistics
        for trace in (True, False)
    )

    for name in COUNTED:
        assert getattr(traced, name) == getattr(plain, name), name


def test_the_trace_has_every_burst_that_was_counted() -> None:
    # Loops that trends begin with are not shared, so nothing is decided about them.
    workload = Workload.parse(";\n".join(text for text in ROWS if "SEQ(T+" not in text))
    events = long_stream(Random(5), 600, rising=0.5)
    for sharing in POLICIES:
        results = workload.run(events, sharing=sharing, numbers="float", trace=True)

        rows = results.trace.to_pylist()
        shared = [row for row in rows if row["decided"] in ("share", "merge")]
        assert len(rows) == results.statistics.bursts
        assert (len(rows) > 20) == (sharing != "never")
        assert len(shared) == results.statistics.shared_bursts
        assert sum(row["snapshots_created"] for row in rows) == results.statistics.snapshots
        if sharing == "always":
            assert {row["decided"] for row in rows} <= {"share", "merge"}


def test_bursts_are_counted_as_traced_where_stretches_and_classes_change_by_a_coin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A burst that two stretches see is one, and so is one that begins between them."""
    monkeypatch.setitem(batch.SHARING, "dynamic", BY_COIN)
    for seed in range(12):
        monkeypatch.setattr(batch, "SEED", seed)
        random = Random(seed)
        workload = Workload.parse(";\n".join(random.sample(ROWS, random.randint(3, len(ROWS)))))
        events = long_stream(random, 400, rising=0.5)

        traced, plain = (
            workload.run(events, numbers="float", trace=trace) for trace in (True, False)
        )

        rows, counted = traced.trace.to_pylist(), plain.statistics
        assert len(rows) == counted.bursts > 20
        shared = sum(row["decided"] in ("share", "merge") for row in rows)
        assert shared == counted.shared_bursts
        assert sum(row["snapshots_created"] for row in rows) == counted.snapshots
