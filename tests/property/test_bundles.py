"""Queries that behave alike for a while: would catch state lost or mixed up by a merge or a split.

Workloads are twins: one pattern, asked several times with conditions of its own, so that an event
is for all queries, for some or for none. Answers must be those of each query alone.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from hamlet.engine import Options, compile_encoded
from hamlet.events import EventTable
from hamlet.kernel.encode import encode
from hamlet.kernel.session import KernelSession, chosen
from hamlet.kernel.shared import run_batch
from hamlet.plan.program import compile_set
from hamlet.workload import Workload

PATTERNS = ("SEQ(X x, T+)", "SEQ(X x, T+, Y y)", "SEQ(W, X x, T+)", "SEQ(X x, T+, X z)")
RETURNS = ("COUNT(*)", "COUNT(*), SUM(T.v), MIN(T.v), MAX(x.v)", "AVG(T.v), COUNT(T)")


def twins(chance: random.Random) -> str:
    pattern, returns = chance.choice(PATTERNS), chance.choice(RETURNS)
    slide = chance.choice([3, 5, 8])
    within = slide * chance.choice([1, 2, 4]) + chance.choice([0, 0, 1])
    group_by = chance.choice(["", "GROUPBY g "])
    return ";\n".join(
        f"q{i}: RETURN {returns} PATTERN {pattern} WHERE x.v < {chance.choice([2, 5, 5, 9])} "
        f"{group_by}WITHIN {within} s SLIDE {slide} s"
        for i in range(chance.randint(2, 6))
    )


def stream(chance: random.Random, events: int) -> list[dict[str, Any]]:
    """Phases in which predicates agree, and others in which they do not; some equal times."""
    rows, time = [], 0
    disagree = False
    for _ in range(events):
        if chance.random() < 0.08:
            disagree = not disagree
        time += chance.choice([0, 1, 1, 1, 1, 1, 2, 7]) if chance.random() < 0.5 else 1
        kind = chance.choices("XTYWZ", [3, 6, 1, 1, 1])[0]
        value = chance.randint(0, 9) if disagree else chance.choice([0, 1])
        rows.append({"type": kind, "time": time, "v": value, "g": chance.randint(0, 2)})
    return rows


def rows_of(results: Any) -> list[dict[str, Any]]:
    return sorted(results.table.to_pylist(), key=lambda row: repr(list(row.values())[:5]))


@pytest.mark.parametrize("seed", range(40))
def test_answers_of_twins_are_those_of_each_query_alone(seed: int) -> None:
    chance = random.Random(seed)
    workload = Workload.parse(twins(chance))
    events = stream(chance, 150)
    for numbers in ("exact", "float"):
        alone = rows_of(workload.run(events, numbers=numbers, sharing="never"))
        for sharing in ("always", "dynamic"):
            found = rows_of(workload.run(events, numbers=numbers, sharing=sharing))
            assert [(r["query"], r["window_start"], r["group"], r["exact"]) for r in found] == [
                (r["query"], r["window_start"], r["group"], r["exact"]) for r in alone
            ]
            assert [r["value"] for r in found] == pytest.approx([r["value"] for r in alone])


def encoded_twins(patience: int) -> tuple[Any, Any]:
    text = ";\n".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE x.v < 0 OR x.v = {i} "
        "WITHIN 8 s SLIDE 4 s"
        for i in range(5)
    )
    plan = Workload.parse(text).plan
    # Two stretches for all queries with one event in between that is for the third alone
    rows = [{"type": "XT"[t % 2], "time": t, "v": 2 if t == 20 else -1} for t in range(60)]
    table = EventTable.of(rows, plan)
    program = compile_set(plan, plan.sets[0])
    encoded = encode(table, plan, plan.sets[0], program, "exact")
    compiled = compile_encoded(plan, program, encoded, Options(sharing="dynamic"))
    assert len(compiled.bundles) == 1
    return replace(compiled, patience=(patience,)), encoded.batch


def test_a_bundle_is_split_by_an_event_for_some_and_merged_when_windows_have_turned() -> None:
    compiled, batch = encoded_twins(0)
    emission, counters = run_batch(compiled, batch, False, trace=True)
    assert counters.split == 1
    assert counters.merged == 1
    assert counters.trace is not None
    (trace,) = counters.trace
    decided = trace[:, 7].tolist()
    # Merged from the first event on; split at 20, until only windows are open that began after
    # 20, which are those of 24 and 28; then merged again.
    assert trace[decided.index(3), 1] == 20_000_000
    assert trace[decided.index(2, 1), 1] == 28_000_000
    assert set(trace[:, 4].tolist()) == {5}
    assert len(emission.part) > 0


@pytest.mark.parametrize("patience", [0, 1, 4, 1 << 40])
def test_patience_never_changes_answers(patience: int) -> None:
    compiled, batch = encoded_twins(patience)
    expected, _ = run_batch(encoded_twins(0)[0], batch, False)
    found, counters = run_batch(compiled, batch, False)
    assert records(found) == records(expected)
    assert (counters.shared == 0) == (patience == 1 << 40)


def records(emission: Any) -> list[tuple[int, ...]]:
    return sorted(
        (int(p), int(u), int(w), *map(int, c))
        for p, u, w, c in zip(
            emission.part, emission.unit, emission.window, emission.components, strict=True
        )
    )


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_merged_bundle_can_be_kept_and_taken_up_again(cut: int) -> None:
    compiled, batch = encoded_twins(0)
    whole = records(run_batch(compiled, batch, False)[0])
    session = KernelSession(compiled, None, False)
    found: list[tuple[int, ...]] = []
    session.feed(chosen(batch, batch.ts < cut * 1_000_000))
    found += records(session.close_until(cut * 1_000_000))
    after = KernelSession(compiled, None, False)
    after.restore(session.snapshot())
    after.feed(chosen(batch, batch.ts >= cut * 1_000_000))
    found += records(after.close_until(10**12))
    assert sorted(found) == whole
