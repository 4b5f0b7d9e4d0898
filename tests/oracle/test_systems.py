"""The compared systems against the conformance cases and the reference, wherever they apply.

Would catch a system that is fast because it is wrong: an edge, guard, window, tie or aggregate that
it treats differently from the definition, numbers that wrap around or lose their size, sequences
that flattening leaves out or counts twice, and an answer where there should be a refusal.
"""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from conformance import (
    bound_queries,
    check_case,
    differences,
    engine_rows,
    load_cases,
    scaled_reference_rows,
)
from hypothesis import HealthCheck, assume, given
from random_workloads import Sample, samples
from sampling import random_sample

from hamlet import Workload
from hamlet.errors import HamletError, PlanError, SystemCannot, SystemLimit
from hamlet.paper.systems import flatten, mcep
from hamlet.plan.query import Match

# The systems are no part of the engine, and each has kernels of its own to compile.
pytestmark = pytest.mark.slow

SYSTEMS = ("greta", "sharon", "mcep")
ALL_CASES = load_cases()


def stream(letters: str) -> list[dict[str, Any]]:
    return [{"time": t, "type": k, "x": t % 5} for t, k in enumerate(letters)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_conformance_case_is_answered_as_it_must_be_or_refused(system: str) -> None:
    answered = 0
    for number, case in enumerate(ALL_CASES[::4]):
        numbers = ("float", "exact")[number % 2]
        try:
            rows = engine_rows(
                case.workload, case.events, case.order, numbers=numbers, system=system
            )
        except SystemCannot:
            assert system == "sharon"
            continue
        check_case(case, rows, numbers)
        answered += 1
    assert answered == 125 if system != "sharon" else answered > 50


@pytest.mark.parametrize("word", ["NEXT", "CONTIGUOUS"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_what_keeps_some_trends_only_is_refused(system: str, word: str) -> None:
    workload = f"some: RETURN COUNT(*) PATTERN SEQ(A, B+) MATCH {word} WITHIN 10 s"

    with pytest.raises(SystemCannot, match=f"{system} cannot answer some: it has no MATCH {word}"):
        engine_rows(workload, stream("ABB"), system=system)


@pytest.mark.parametrize("measure", ["MIN(LENGTH)", "MAX(LENGTH)", "AVG(DURATION)"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_measures_of_trends_are_refused(system: str, measure: str) -> None:
    workload = f"long: RETURN {measure} PATTERN SEQ(A, B+) WITHIN 10 s"
    reason = re.escape(f"{system} cannot answer long: it has no {measure}")

    with pytest.raises(SystemCannot, match=reason):
        engine_rows(workload, stream("ABB"), system=system)


@random_sample(40, suppress_health_check=list(HealthCheck))
@given(samples(most_events=10))
def test_random_workloads_agree_with_the_reference(sample: Sample) -> None:
    try:
        queries = bound_queries(sample.workload)
    except AssertionError:
        assume(False)
    has_match = any(query.match != Match.ANY for query in queries)
    # The sum of lengths is a sum of counts, which they have.
    measured = [e for query in queries for e in query.aggregates if e.measure is not None]
    has_measure = any(each.weights != ("one",) for each in measured)
    expected = scaled_reference_rows(sample.workload, sample.events, sample.order)
    wrong = []
    for system, numbers in zip(SYSTEMS, ("exact", "float", "exact"), strict=True):
        try:
            rows = engine_rows(
                sample.workload, sample.events, sample.order, numbers=numbers, system=system
            )
        except SystemCannot:
            assert system == "sharon" or has_match or has_measure
            continue
        except HamletError:
            # What no engine reckons with: see the refusals of the engine itself.
            with pytest.raises(HamletError):
                engine_rows(sample.workload, sample.events, sample.order, numbers=numbers)
            continue
        wrong += [f"{system}: {line}" for line in differences(expected, rows, numbers)]
    assert not wrong, "\n".join([str(sample), *wrong])


@pytest.mark.parametrize("system", ["greta", "sharon"])
def test_numbers_outgrow_every_kind_and_stay_right(system: str) -> None:
    workload = Workload.parse("RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WITHIN 1 h")
    events = stream("A" + "B" * 1200)
    exact = workload.run(events, system=system).table
    assert exact["exact"].to_pylist()[0] == str(2**1200 - 1)
    assert exact["exact"].to_pylist() == workload.run(events).table["exact"].to_pylist()
    loose = workload.run(events, system=system, numbers="float").table
    assert loose["value"].to_pylist() == [math.inf, math.inf]
    for mine, true in zip(loose["log10"].to_pylist(), exact["log10"].to_pylist(), strict=True):
        assert mine == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
def test_many_windows_groups_and_queries_agree_with_the_engine(system: str) -> None:
    """Would catch state left over from a closed window, another group or another query."""
    rows = [
        {"time": t, "type": "ABTC"[(t * t + t // 7) % 4], "g": t // 3 % 2, "x": t % 7}
        for t in range(400)
    ]
    workload = Workload.parse(
        """
        q1: RETURN COUNT(*), MIN(T.x), AVG(T.x) PATTERN SEQ(A, T+) GROUPBY g WITHIN 24 s SLIDE 8 s;
        q2: RETURN COUNT(*), MIN(T.x), AVG(T.x) PATTERN SEQ(B, T+) GROUPBY g WITHIN 24 s SLIDE 8 s;
        q3: RETURN COUNT(*), MAX(T.x) PATTERN SEQ(T+, NOT A, C) GROUPBY g WITHIN 30 s SLIDE 7 s;
        q4: RETURN COUNT(*) PATTERN SEQ(A, NOT C, T+, NOT B) WITHIN 20 s
        """
    )
    expected = workload.run(rows).table
    found = workload.run(rows, system=system).table
    assert len(expected) > 200
    assert found.drop_columns(["value", "log10"]) == expected.drop_columns(["value", "log10"])
    assert found["value"].to_pylist() == pytest.approx(expected["value"].to_pylist(), rel=1e-12)


@pytest.mark.parametrize(
    "where",
    ["PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x", "PATTERN SEQ(A, NOT SEQ(C, D), B)"],
)
def test_sharon_refuses_what_it_has_no_way_to_do(where: str) -> None:
    workload = Workload.parse(f"late: RETURN COUNT(*) {where} WITHIN 10 s")
    with pytest.raises(SystemCannot, match="sharon cannot answer late") as refused:
        workload.run(stream("ABCDB"), system="sharon")
    assert refused.value.code == "system-cannot"


def test_systems_that_grow_exponentially_give_up_with_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flatten, "MOST_PREFIXES", 5_000)
    monkeypatch.setattr(mcep, "MOST_HELD", 1 << 12)
    nested = Workload.parse("RETURN COUNT(*) PATTERN (A OR B OR C)+ WITHIN 1 h")
    with pytest.raises(SystemLimit, match=r"sharon gave up: .* more than 5,000") as refused:
        nested.run(stream("ABC" * 10), system="sharon")
    assert refused.value.code == "system-limit"
    with pytest.raises(SystemLimit, match="mcep gave up: a window has more than 4,096"):
        Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 1 h").run(stream("A" * 30), system="mcep")


def test_what_is_no_system_and_what_has_no_trace_is_refused() -> None:
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 10 s")
    with pytest.raises(PlanError, match="Systems are hamlet, greta, sharon, mcep"):
        workload.run(stream("A"), system="cogra")
    with pytest.raises(PlanError, match="greta keeps no trace"):
        workload.run(stream("A"), system="greta", trace=True)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_events_give_no_rows(system: str) -> None:
    workload = Workload.parse("RETURN COUNT(*), MAX(A.x) PATTERN A+ WITHIN 10 s")
    for events in ([], stream("BB")):
        assert len(workload.run(events, system=system)) == 0
