"""Compilation is told of: would catch a first run that is silent for a minute, or a repetition."""

from __future__ import annotations

import logging

from numba import njit
from numba.core import event

from hamlet import Workload, engine
from hamlet.compiling import COMPILING, when_compiling
from hamlet.engine.local import timed
from hamlet.statistics import RunStatistics


def compile_something() -> None:
    event.start_event("numba:compile", {})
    event.end_event("numba:compile", {})


def test_it_is_told_once():
    told = []

    with when_compiling(lambda: told.append(1)):
        assert told == []
        compile_something()
        compile_something()

    assert told == [1]


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

    assert caplog.messages == [COMPILING]


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
