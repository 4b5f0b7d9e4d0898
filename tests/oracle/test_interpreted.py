"""Runs without compiled code against the conformance cases, the reference and compiled runs.

Would catch a first answer, given while nothing is compiled, that differs from later ones; one that
waits for the compiler all the same; and one that is interpreted though it would take long.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
from numba.core import event
from random_workloads import Sample, samples
from sampling import random_sample

from hamlet import Workload
from hamlet.engine import first_answer
from hamlet.engine.first_answer import NOTE, VARIABLE
from hamlet.kernel import compiling
from hamlet.kernel.interpreted import interpret
from hamlet.kernel.jit import interpreted

ALL_CASES = load_cases()
ROOT = Path(__file__).parents[2]
QUICK = random_sample(60, suppress_health_check=[HealthCheck.too_slow])


class Compilations(event.Listener):
    """Counts what Numba compiles or loads."""

    count = 0

    def on_start(self, event: event.Event) -> None:
        self.count += 1

    def on_end(self, event: event.Event) -> None:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("numbers", ["exact", "float"])
@pytest.mark.parametrize("about", sorted({case.about for case in ALL_CASES}))
def test_conformance_cases(about: str, numbers: str) -> None:
    with interpreted():
        for case in ALL_CASES:
            if case.about == about:
                rows = engine_rows(case.workload, case.events, case.order, numbers=numbers)
                check_case(case, rows, numbers)


@QUICK
@given(samples())
def test_random_workloads_equal_the_reference(sample: Sample) -> None:
    try:
        bound_queries(sample.workload)
    except AssertionError:
        assume(False)
    expected = scaled_reference_rows(sample.workload, sample.events, sample.order)
    with interpreted():
        for numbers in ("exact", "float"):
            rows = engine_rows(sample.workload, sample.events, sample.order, numbers=numbers)
            assert not list(differences(expected, rows, numbers)), str(sample)


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_numbers_grow_as_long_as_they_like(numbers: str) -> None:
    """2**1500 - 1 trends: beyond doubles, and beyond any word."""
    events = [{"type": "A", "time": t, "x": 0.25 + t} for t in range(1500)]
    workload = "q: RETURN COUNT(*), SUM(A.x), AVG(A.x) PATTERN A+ WITHIN 2000 s"
    compiled = engine_rows(workload, events, numbers=numbers)

    with interpreted():
        rows = engine_rows(workload, events, numbers=numbers)

    assert not list(differences(compiled, rows, numbers))
    assert numbers == "float" or rows[0]["exact"] == str(2**1500 - 1)


@pytest.fixture
def without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing has been compiled, as far as runs can tell."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(first_answer, "has_code", lambda function, zero: False)


@pytest.mark.usefixtures("without_code")
def test_a_small_run_compiles_nothing_and_says_so() -> None:
    workload = Workload.load(ROOT / "examples" / "ridesharing.hql")
    compilations = Compilations()

    with event.install_listener("numba:compiler_lock", compilations):
        results = workload.run(ROOT / "examples" / "rides.csv")

    assert compilations.count == 0
    assert results.notes == (NOTE,)
    assert results.statistics.interpreted == 1
    plain = Workload.load(ROOT / "examples" / "ridesharing.hql")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_answer, "has_code", lambda function, zero: True)
        assert plain.run(ROOT / "examples" / "rides.csv").table.equals(results.table)


@pytest.mark.usefixtures("without_code")
@pytest.mark.parametrize(
    ("count", "asked"),
    [(6_000, "A+"), (4_000, "A+ WHERE A.x <= NEXT(A).x")],
    ids=["many rows", "many pairs"],
)
def test_what_takes_long_is_compiled(count: int, asked: str) -> None:
    events = [{"type": "A", "time": t, "x": 1.0} for t in range(count)]
    workload = Workload.parse(f"RETURN COUNT(*), SUM(A.x) PATTERN {asked} WITHIN 4000 s")

    results = workload.run(events, numbers="float")

    assert results.statistics.interpreted == 0
    assert results.notes == ()


@pytest.mark.usefixtures("without_code")
def test_a_trace_needs_the_engine_that_decides() -> None:
    results = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 9 s").run(
        [{"type": "A", "time": 1}], trace=True
    )

    assert results.statistics.interpreted == 0
    assert results.trace is not None


def test_what_has_been_compiled_is_known() -> None:
    """After a run there is code for its numbers, in this process and for the next."""
    from hamlet.kernel.machine.batch import run
    from hamlet.plan.number_mode import NumberMode

    Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 9 s").run(
        [{"type": "A", "time": 1}], trace=True
    )

    assert compiling.has_code(run, NumberMode.EXACT.array(0, 1))
    script = (
        "from hamlet.kernel.machine.batch import run\n"
        "from hamlet.kernel.compiling import has_code\n"
        "from hamlet.plan.number_mode import NumberMode\n"
        "print(has_code(run, NumberMode.EXACT.array(0, 1)), len(run.signatures))"
    )
    assert _python(script) == "True 0\n"


@pytest.mark.slow
def test_a_fresh_machine_answers_without_compiling(tmp_path: Path) -> None:
    script = (
        "from hamlet import Workload\n"
        "found = Workload.parse('RETURN COUNT(*) PATTERN A+ WITHIN 9 s').run("
        "[{'type': 'A', 'time': t} for t in range(3)])\n"
        "print(found.table['exact'].to_pylist(), found.statistics.interpreted)"
    )
    # Code for other processors lies beside the sources, and is of no use.
    fresh = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": "generic", VARIABLE: ""}
    assert _python(script, **fresh) == "['7'] 1\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def _python(script: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_interpreting_is_no_detour_through_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above would compare the engine with itself."""
    called = []
    monkeypatch.setattr(
        "hamlet.engine.pipeline.interpret",
        lambda *arguments: called.append(1) or interpret(*arguments),
    )

    with interpreted():
        engine_rows("q: RETURN COUNT(*) PATTERN A+ WITHIN 9 s", [{"type": "A", "time": 1}])

    assert called == [1]
