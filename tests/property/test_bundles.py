"""Queries that behave alike for a while: would catch state lost or mixed up by a merge or a split.

Workloads are twins: one pattern, asked several times with conditions of its own, so that an event
is for all queries, for some or for none. Answers must be those of each query alone. Of traces it
would catch a touch without a row, a row without a touch, a decision that the rule does not make,
and counts of a run that its trace does not have.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet.engine import Options, options_for, run_workload
from hamlet.engine.pipeline import SetPipeline
from hamlet.engine.session import Session
from hamlet.events.table import EventTable
from hamlet.kernel.run import run_batch
from hamlet.plan.number_mode import NumberMode
from hamlet.results import Results
from hamlet.share.bundles import bundle_rates, split_bundles
from hamlet.share.coefficients import DEFAULTS
from hamlet.share.cost import FOREVER, BundleSize, patience
from hamlet.share.policy import UNTIL_SPLIT
from hamlet.workload import Workload

if TYPE_CHECKING:
    from hamlet.engine.statistics import RunStatistics

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
        for sharing in ("always", "dynamic", "static", "apart"):
            found = rows_of(workload.run(events, numbers=numbers, sharing=sharing))
            assert [(r["query"], r["window_start"], r["group"], r["exact"]) for r in found] == [
                (r["query"], r["window_start"], r["group"], r["exact"]) for r in alone
            ]
            assert [r["value"] for r in found] == pytest.approx([r["value"] for r in alone])


def text_of_five(within: int = 8) -> str:
    return ";\n".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE x.v < 0 OR x.v = {i} "
        f"WITHIN {within} s SLIDE 4 s"
        for i in range(5)
    )


# Two stretches for all queries with one event in between that is for the third alone
ROWS = [{"type": "XT"[t % 2], "time": t, "v": 2 if t == 20 else -1} for t in range(60)]


def encoded(plan: Any, sharing: Any) -> tuple[Any, Any]:
    pipeline = SetPipeline.of(plan, plan.sets[0], Options(sharing=sharing))
    found = pipeline.encode(EventTable.of(ROWS, plan))
    return pipeline.compile(found), found.batch


def encoded_twins(patience: int) -> tuple[Any, Any]:
    compiled, batch = encoded(Workload.parse(text_of_five()).plan, "dynamic")
    assert len(compiled.bundles) == 1
    return replace(compiled, patience=(patience,)), batch


def test_a_bundle_is_split_by_an_event_for_some_and_merged_when_windows_have_turned() -> None:
    compiled, batch = encoded_twins(0)
    emission, counters = run_batch(compiled, batch, NumberMode.EXACT, trace=True)
    assert counters.split == 1
    assert counters.merged == 1
    assert counters.trace is not None
    (trace,) = counters.trace
    decided = trace.rows[:, 7].tolist()
    # Merged from the first event on; split at 20, until only windows are open that began after
    # 20, which are those of 24 and 28; then merged again.
    assert trace.rows[decided.index(3), 1] == 20_000_000
    assert trace.rows[decided.index(2, 1), 1] == 28_000_000
    assert set(trace.rows[:, 4].tolist()) == {5}
    assert len(emission.part) > 0


def test_a_bundle_that_rests_decides_alike_traced_or_not() -> None:
    # Hundreds of events in a row that are for the third query alone, then some for all
    plan = Workload.parse(text_of_five()).plan
    rows = [{"type": "X", "time": t, "v": 2} for t in range(1000)]
    rows += [{"type": "XT"[t % 2], "time": t, "v": -1} for t in range(1000, 1200)]
    pipeline = SetPipeline.of(plan, plan.sets[0], Options(sharing="dynamic"))

    def run(trace: bool) -> tuple[Any, Any]:
        found = pipeline.encode(EventTable.of(rows, plan))
        compiled = replace(pipeline.compile(found), patience=(0,))
        return run_batch(compiled, found.batch, NumberMode.EXACT, trace=trace)

    (plain, untraced), (seen, traced) = run(False), run(True)
    assert untraced.merged == 1
    assert (untraced.shared, untraced.split) == (traced.shared, traced.split)
    assert traced.merged == 1
    assert records(plain) == records(seen)


@pytest.mark.parametrize("patience", [0, 1, 4, 1 << 40])
def test_patience_never_changes_answers(patience: int) -> None:
    compiled, batch = encoded_twins(patience)
    expected, _ = run_batch(encoded_twins(0)[0], batch, NumberMode.EXACT)
    found, counters = run_batch(compiled, batch, NumberMode.EXACT)
    assert records(found) == records(expected)
    assert (counters.shared == 0) == (patience == 1 << 40)


def records(emission: Any) -> list[tuple[int, ...]]:
    columns = map(emission.numbers.column, range(emission.numbers.width))
    return sorted(
        (int(p), int(u), int(w), *c)
        for p, u, w, *c in zip(emission.part, emission.unit, emission.window, *columns, strict=True)
    )


# Streams


def session_of(workload: Workload, **options: Any) -> Session:
    table = pa.Table.from_pylist(ROWS)
    return Session(workload.plan, Options(**options), table.schema)


@pytest.mark.parametrize("sharing", ["dynamic", "static", "always"])
@pytest.mark.parametrize("cut", range(7, 60, 7))
def test_a_merged_bundle_can_be_kept_and_taken_up_again(cut: int, sharing: Any) -> None:
    workload = Workload.parse(text_of_five())
    session, after = (session_of(workload, sharing=sharing) for _ in range(2))
    session.feed(pa.Table.from_pylist(ROWS[:cut]))
    found = [*session.close_until(cut * 1_000_000).answers()]
    after.restore(session.snapshot())
    after.feed(pa.Table.from_pylist(ROWS[cut:]))
    found += after.close_all().answers()

    whole = workload.run(ROWS, sharing=sharing)

    assert rows_of(Results(workload.queries, found, times="seconds")) == rows_of(whole)
    assert (after.statistics.shared > 0) == (sharing != "always")


def done_in_pieces(rows: list[dict[str, Any]], piece: int, **options: Any) -> RunStatistics:
    """What a session does that is fed a stream in pieces of so many seconds."""
    session = session_of(Workload.parse(text_of_five()), **options)
    for second in range(0, len(rows), piece):
        session.feed(pa.Table.from_pylist(rows[second : second + piece]))
        session.close_until((second + piece) * 1_000_000)
    return session.statistics


COSTLY = replace(DEFAULTS, int64=replace(DEFAULTS.int64, copy_cell=1e9))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"sharing": "dynamic"}, id="dynamic"),
        pytest.param(
            {"sharing": "dynamic", "coefficients": COSTLY}, id="dynamic, splits cost much"
        ),
        pytest.param({"sharing": "static"}, id="static"),
        pytest.param({"sharing": "always"}, id="always"),
    ],
)
def test_policies_decide_in_streams_as_in_batches(options: dict[str, Any]) -> None:
    workload = Workload.parse(text_of_five())

    batch = run_workload(workload.plan, ROWS, Options(**options)).statistics
    stream = done_in_pieces(ROWS, 60, **options)

    for counted in ("shared", "splits", "merges"):
        assert getattr(stream, counted) == getattr(batch, counted), counted


def test_static_stays_split_for_the_rest_of_a_stream() -> None:
    # The event for some comes at 20 s: what is released later finds the bundle split for good.
    friendly = [row | {"v": -1} for row in ROWS]

    until_split = done_in_pieces(ROWS, 10, sharing="static").shared

    assert done_in_pieces(ROWS[:20], 10, sharing="static").shared == until_split
    assert done_in_pieces(friendly, 10, sharing="static").shared > until_split > 0


def test_static_is_never_merged_where_earlier_events_speak_against_it() -> None:
    # For one of the five alone, but for the first of them, which is for all
    apart = [row | {"v": row["time"] // 2 % 5 if row["time"] else -1} for row in ROWS]
    plan = Workload.parse(text_of_five()).plan
    fixed = options_for(plan, sharing="static", sample=apart).fixed

    assert done_in_pieces(ROWS, 30, sharing="static", fixed=fixed).shared == 0
    assert done_in_pieces(ROWS, 30, sharing="static").shared > 0


# Policies


def test_patience_of_a_run_is_that_of_the_model() -> None:
    plan = Workload.parse(text_of_five()).plan
    compiled, _ = encoded(plan, "dynamic")
    (bundle,) = compiled.bundles
    unit = bundle.units[0]
    windows, rows = int(compiled.code.u_w[unit]), int(compiled.code.u_nrows[unit])

    size = BundleSize(5, windows, rows, kind="int64")

    assert compiled.patience == (patience(DEFAULTS.int64, size),)
    assert encoded(plan, "always")[0].bundles == ()
    assert encoded(plan, "never")[0].bundles == ()


def split_in(compiled: Any, batch: Any) -> set[tuple[str, ...]]:
    """The bundles that static does not merge, expecting events such as these."""
    plan = Workload.parse(text_of_five()).plan
    program = SetPipeline.of(plan, plan.sets[0], Options()).program
    return split_bundles(compiled, plan, program, batch, NumberMode.EXACT)


def test_static_counts_what_is_for_all_and_for_some() -> None:
    compiled, batch = encoded_twins(0)
    # 30 of the 60 events are X, and that of 20 s is for the third query alone.
    (rates,) = bundle_rates(compiled, batch)
    assert (rates.for_all, rates.for_some) == (29, 1)
    assert split_in(compiled, batch) == set()

    inside = (batch.ts >= 20_000_000) & (batch.ts < 22_000_000)
    alone = replace(batch, letter=batch.letter[inside], tied=batch.tied[inside])
    (rates,) = bundle_rates(compiled, alone)
    assert (rates.for_all, rates.for_some) == (0, 1)
    assert split_in(compiled, alone) == {("q0", "q1", "q2", "q3", "q4")}


def test_events_of_one_time_count_as_for_some() -> None:
    compiled, batch = encoded_twins(0)
    tied = batch.tied.copy()
    tied[2] = 1  # the X of 2 s comes together with the T of 1 s

    (rates,) = bundle_rates(compiled, replace(batch, tied=tied))

    assert (rates.for_all, rates.for_some) == (28, 2)


# Traces


def steps_of(compiled: Any, batch: Any) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Partition and time of every step that touches the only bundle: for all, and for some."""
    (bundle,) = compiled.bundles
    place = {op: i for ops in bundle.ops for i, op in enumerate(ops)}
    whole: list[tuple[int, int]] = []
    some: list[tuple[int, int]] = []
    first = 0
    while first < len(batch):
        last = first + 1
        while last < len(batch) and batch.tied[last]:
            last += 1
        where = (int(batch.part[first]), int(batch.ts[first]))
        places = Counter(
            place[op]
            for event in range(first, last)
            for atom in np.flatnonzero(batch.letters[batch.letter[event]])
            for op in compiled.atom_ops[atom]
            if op in place
        )
        if places and last == first + 1 and set(places.values()) == {len(bundle.units)}:
            whole.append(where)
        elif places:
            some.append(where)
        first = last
    return whole, some


@pytest.mark.parametrize("sharing", ["dynamic", "static"])
@pytest.mark.parametrize("numbers", ["exact", "float"])
@pytest.mark.parametrize("seed", range(12))
def test_every_touch_has_a_row_and_every_row_a_touch(seed: int, numbers: str, sharing: str) -> None:
    chance = random.Random(seed)
    workload = Workload.parse(twins(chance))
    events = stream(chance, 150)
    plan = workload.plan
    pipeline = SetPipeline.of(plan, plan.sets[0], Options(numbers=numbers, sharing=sharing))
    found = pipeline.encode(EventTable.of(events, plan))
    compiled = pipeline.compile(found)
    assert len(plan.sets) == len(compiled.bundles) == 1

    results = workload.run(events, numbers=numbers, sharing=sharing, trace=True)

    whole, some = steps_of(compiled, found.batch)
    rows = results.trace.to_pylist()
    # Only for an event for all is it cheaper to be merged.
    for_all = [row for row in rows if row["cost_shared"] < row["cost_alone"]]
    assert (len(for_all), len(rows)) == ((len(whole), len(whole) + len(some)) if whole else (0, 0))
    for row in rows:
        assert row["queries"] == len(workload.queries)
        is_merged = row["decided"] in ("share", "merge")
        assert row["snapshots_created"] == (1 if is_merged else row["queries"])
        assert not is_merged or row in for_all
        assert row["decided"] != "split" or row not in for_all
    decided = [row["decided"] for row in rows]
    statistics = results.statistics
    if numbers == "float":  # exact ones may be run again, wider
        assert decided.count("merge") == statistics.merges
        assert decided.count("split") == statistics.splits
        assert decided.count("share") + decided.count("merge") == statistics.shared


def test_what_is_decided_in_a_partition_depends_on_no_other() -> None:
    """In one queries agree but once, and rest; in one they always do, in one by turns."""
    workload = Workload.parse(
        ";".join(
            f"q{i}: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE x.v < 0 OR x.v = {i} GROUPBY g "
            "WITHIN 8 s SLIDE 2 s"
            for i in range(3)
        )
    )
    values = {"never": [-1] + [1] * 299, "always": [-1], "in turn": [-1] * 9 + [2] * 3}
    parts = {
        name: [
            {"type": "X" if i % 2 else "T", "time": i, "v": some[i // 2 % len(some)], "g": name}
            for i in range(600)
        ]
        for name, some in values.items()
    }

    def traced(*names: str) -> dict[str, list[Any]]:
        events = [event for name in names for event in parts[name]]
        rows: dict[str, list[Any]] = {}
        for row in workload.run(events, numbers="float", trace=True).trace.to_pylist():
            rows.setdefault(row["group"], []).append(row)
        return rows

    alone = {group: rows for name in parts for group, rows in traced(name).items()}

    assert {row["decided"] for rows in alone.values() for row in rows} > {"merge", "split"}
    for order in (["never", "always", "in turn"], ["in turn", "never", "always"]):
        assert traced(*order) == alone


def test_a_partition_that_is_run_again_is_traced_once() -> None:
    """Seventy events of T make counts beyond 64 bits: the run begins again with more words."""
    workload = Workload.parse(text_of_five(within=200))
    events = [{"type": "XT"[t > 0 and t != 90], "time": t, "v": -1} for t in range(100)]

    exact = workload.run(events, trace=True).trace.to_pylist()
    doubles = workload.run(events, trace=True, numbers="float").trace.to_pylist()

    def without_costs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{k: v for k, v in row.items() if not k.startswith("cost")} for row in rows]

    assert [row["burst"] for row in exact] == [0, 89]
    assert without_costs(exact) == without_costs(doubles)
    assert exact[1]["cost_shared"] > doubles[1]["cost_shared"]


def test_the_rule_decides_every_row_of_a_trace() -> None:
    """One bundle, one partition: modes follow from events for all and for some, and patience."""
    for wait in (0, 1, 4, UNTIL_SPLIT, FOREVER):
        compiled, batch = encoded_twins(wait)
        _, counters = run_batch(compiled, batch, NumberMode.EXACT, trace=True)
        assert counters.trace is not None
        (trace,) = counters.trace
        run, before = wait % FOREVER, 0
        for row in trace.rows.tolist():
            _, time, _, _, units, found, after, decided = row
            is_some = time == 20_000_000
            # Windows of 8 s that slide by 4: from 28 on all have begun after 20.
            are_equal = before == 0 or time >= 28_000_000 or time < 20_000_000
            merges = not is_some and (before == 1 or (run >= wait and are_equal))
            assert found == before
            assert after == (1 if merges else units)
            assert decided == ((0 if before == 1 else 2) if merges else (3 if before == 1 else 1))
            run = 0 if is_some else run + 1
            before = after


def test_a_trace_names_its_groups_in_each_partition() -> None:
    text = ";\n".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE x.v < {i} GROUPBY g, h "
        "WITHIN 8 s SLIDE 4 s"
        for i in (3, 5)
    )
    events = [
        {"type": "XT"[t % 2], "time": t, "v": 1, "g": "a b"[t // 2 % 2 :: 2], "h": 7}
        for t in range(40)
    ]

    trace = Workload.parse(text).run(events, trace=True).trace

    assert set(trace["group"].to_pylist()) == {'{"g": "ab", "h": 7}', '{"g": " ", "h": 7}'}
    assert set(trace["set"].to_pylist()) == {1}
    assert set(trace["type"].to_pylist()) == {"T"}
    assert {start % 4 for start in trace["pane_start"].to_pylist()} == {0}
