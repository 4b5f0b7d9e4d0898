"""Compilation is told of: would catch a first run that is silent for a minute, or a repetition."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba import njit
from numba.core import event, types
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from hamlet import Workload, engine
from hamlet.engine.local import timed
from hamlet.engine.statistics import RunStatistics
from hamlet.engine.warming import has_edges, steps, warm
from hamlet.kernel.compiling import _NUMBERS, told_of, when_compiling
from hamlet.kernel.machine import batch
from hamlet.kernel.rows import kernel as row_kernel

ASKED = "RETURN COUNT(*) PATTERN A+ WITHIN 5 s"


@pytest.fixture(scope="module")
def warmed() -> None:
    warm(["exact", "float"])


def compile_something() -> None:
    event.start_event("numba:compile", {})
    event.end_event("numba:compile", {})


def function_of(module: str) -> SimpleNamespace:
    """What Numba says that it compiles."""
    return SimpleNamespace(py_func=SimpleNamespace(__module__=module))


def test_each_thing_is_told_once():
    told: list[str] = []

    with when_compiling(told.append):
        assert told == []
        for module in (
            "hamlet.kernel.encode.sorting",
            "hamlet.kernel.row_pieces",
            "hamlet.kernel.encode.sorting",
        ):
            event.start_event("numba:compile", {"dispatcher": function_of(module), "args": ()})
            compile_something()  # what it calls is not a thing of its own
            event.end_event("numba:compile", {})

    assert told == [
        "compiling what sorts events, once on this machine: about 3 s",
        "compiling what keeps the state of streams, once on this machine: about 3 s",
    ]


@pytest.mark.parametrize(
    ("array", "numbers"),
    [
        (types.Array(types.int64, 1, "C"), "64-bit integers"),
        (types.Array(types.uint64, 2, "C"), "long integers"),
        (types.Array(types.float64, 1, "C"), "doubles"),
        (types.Array(types.float64, 2, "C"), "doubles with long exponents"),
    ],
)
def test_a_kernel_is_told_of_with_the_numbers_it_is_for(array, numbers):
    memory = SimpleNamespace(types=[None, None, array])

    line = told_of(function_of(batch.__name__), (SimpleNamespace(types=[memory]),))

    assert line == f"compiling the kernel for {numbers}, once on this machine: about 20 s"


@pytest.mark.parametrize(
    ("kernel", "module"), [(batch.run, batch.__name__), (row_kernel.run, row_kernel.__name__)]
)
@pytest.mark.usefixtures("warmed")
def test_the_numbers_of_a_compiled_kernel_are_where_they_are_looked_for(kernel, module):
    """Would catch a field that moved: all four kinds are told apart, in what was compiled here."""
    told = {told_of(kernel, signature) for signature in kernel.signatures}

    assert kernel.py_func.__module__ == module
    assert len(told) == 4
    assert all(any(f"for {each}," in line for line in told) for each in _NUMBERS.values())


# Runs every conformance case in both kinds of numbers, and a growing count; prints what compiles.
_RUN_EVERYTHING = """
import sys
from numba.core import event
sys.path.insert(0, sys.argv[1])

compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(str(event.data["dispatcher"]))
    def on_end(self, event): pass

with event.install_listener("numba:compile", Listener()):
    from conformance import load_cases
    from hamlet import Workload
    for case in load_cases()[::20]:
        for numbers in ("exact", "float"):
            options = {"numbers": numbers, "order": case.order, "progress": lambda what, done: None}
            assert Workload.parse(case.workload).run(case.events, **options).table is not None
    text = "RETURN COUNT(*), AVG(B.y) PATTERN B+ {} WITHIN 1 h"
    for condition in ("", "WHERE B.y < NEXT(B).y", "GROUPBY g"):
        rows = [{"type": "B", "time": t, "y": t / 7, "g": t % 2} for t in range(3000)]
        for numbers in ("exact", "float"):
            Workload.parse(text.format(condition)).run(rows, numbers=numbers)
print(compiled)
"""


@pytest.mark.slow
def test_after_a_warm_up_no_run_compiles_anything():
    here = Path(__file__).parents[2]
    warmed = subprocess.run(
        [sys.executable, "-m", "hamlet", "warm"], capture_output=True, check=True
    )

    left = subprocess.run(
        [sys.executable, "-c", _RUN_EVERYTHING, str(here / "oracle")],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert b"ready for exact and float numbers" in warmed.stderr
    assert (left.stdout, left.stderr) == ("[]\n", "")


_COMPILED_PARTS = ("hamlet.kernel", "hamlet.engine.state", "hamlet.io")


@pytest.mark.slow
@pytest.mark.usefixtures("warmed")
def test_a_warm_up_leaves_no_function_of_the_engine_to_be_compiled():
    """Would catch a compiled function that no step of the warm-up calls."""
    left = [
        function.py_func.__qualname__
        for function in gc.get_objects()
        # Not isinstance: among all objects there are proxies of what is no longer there.
        if issubclass(type(function), Dispatcher)
        and str(function.py_func.__module__).startswith(_COMPILED_PARTS)
        and type(function._cache) is FunctionCache
        and not function.signatures
    ]

    # Those are parts of others, and loaded with them.
    assert set(left) <= {
        "_parts",
        "_end_of_digit",
        "_has_bits",
        "_part",
        "_add",
        "_carry",
        "_write",
    }


def test_a_workload_without_edge_predicates_needs_fewer_kernels():
    plain, edges = (
        Workload.parse(ASKED),
        Workload.parse(ASKED.replace("W", "WHERE A.x < NEXT(A).x W")),
    )

    assert (has_edges(plain.plan), has_edges(edges.plan)) == (False, True)
    assert not any("edge" in what for what, _ in steps(["exact"], edges=False))


def test_a_run_from_python_says_so_where_nobody_follows_its_progress(caplog, monkeypatch):
    real = engine.run_workload

    def slow(*arguments):
        compile_something()
        return real(*arguments)

    monkeypatch.setattr(engine, "run_workload", slow)
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 5 s")

    with caplog.at_level(logging.WARNING, "hamlet"):
        workload.run([{"type": "A", "time": 1}], progress=lambda what, done: None)
        assert caplog.messages == []
        workload.run([{"type": "A", "time": 1}])

    assert caplog.messages == ["compiling a kernel, once on this machine: about 5 s"]


def test_compilation_is_a_stage_of_its_own():
    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) * 2

    first, second = RunStatistics(), RunStatistics()
    for statistics in (first, second):
        with timed(statistics, "run"):
            assert outer(1) == 4

    # Would catch time that is counted twice, since one function is compiled within the other.
    assert list(first.seconds) == ["run", "kernels"]
    assert min(first.seconds.values()) > 0
    assert list(second.seconds) == ["run"]
