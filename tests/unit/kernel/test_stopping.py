"""Compiled functions that a signal ends.

Would catch a kernel that does not look at whether it is to stop, an exception of a signal that is
lost, an error of the function that is, and a wait for a function that never ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hamlet import Workload
from hamlet.kernel import run, stopping
from hamlet.kernel.rows import batch as rows
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.paper.systems import greta, guards, mcep, sharon
from hamlet.testing import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

SLIDING = "WITHIN 10 s SLIDE 5 s"
EVENTS = stream("1 A x=1, 2 B x=2, 3 B x=1, 4 C x=1, 5 B x=3, 7 A x=4, 8 B x=5")


class Alarm(Exception):
    """What the handler of some signal raises."""


@contextmanager
def handled(number: int, handler: object) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def raise_alarm(*_: object) -> None:
    raise Alarm


def test_the_result_of_a_function_is_returned_and_its_error_raised():
    def divided(one: int, other: int, stop: np.ndarray) -> int:
        assert not stop.any()
        return one // other

    assert stoppable(divided, 6, 2) == 3
    with pytest.raises(ZeroDivisionError):
        stoppable(divided, 6, 0)


SIGNALS = pytest.mark.parametrize(
    ("number", "handler", "raised"),
    [
        (signal.SIGINT, signal.default_int_handler, KeyboardInterrupt),
        (signal.SIGALRM, raise_alarm, Alarm),
    ],
)


@SIGNALS
def test_a_signal_waits_for_a_function_that_is_over_soon(
    number: int, handler: object, raised: type[BaseException]
):
    ended = []

    def brief(stop: np.ndarray) -> None:
        os.kill(os.getpid(), number)
        ended.append(sum(range(1000)))

    with handled(number, handler):
        with pytest.raises(raised):
            stoppable(brief, steps=10)
        assert signal.getsignal(number) is handler
    assert ended == [499_500]


@SIGNALS
def test_a_signal_stops_the_function_and_what_it_raises_comes_out(
    number: int, handler: object, raised: type[BaseException]
):
    ended = []

    def wait(stop: np.ndarray) -> None:
        os.kill(os.getpid(), number)
        while not stop[STOPPED]:
            time.sleep(0.001)
        # Impatience changes nothing.
        os.kill(os.getpid(), number)
        ended.append(True)

    with handled(number, handler), pytest.raises(raised):
        stoppable(wait)

    assert ended


def test_a_function_that_clears_the_first_sign_is_told_again():
    def wait(stop: np.ndarray) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while not stop[0]:
            time.sleep(0.001)
        stop[0] = 0
        while not stop[0]:
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        stoppable(wait)


def test_a_function_that_does_not_stop_is_left_to_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stopping, "_SECONDS_TO_STOP", 0.05)
    never = threading.Event()

    def wait(stop: np.ndarray) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        never.wait()

    with pytest.raises(KeyboardInterrupt):
        stoppable(wait)

    never.set()


_LEFT = """
import os, signal, time
from hamlet.kernel.stopping import stoppable

def compile_(stop):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(2)
    print("ended", flush=True)

stoppable(compile_)
"""


@pytest.mark.slow
def test_what_was_left_to_itself_is_not_cut_off_by_the_end_of_the_process():
    ended = subprocess.run(
        [sys.executable, "-c", _LEFT], capture_output=True, encoding="utf-8", timeout=60
    )

    assert ended.stdout == "ended\n"
    assert ended.stderr.endswith("KeyboardInterrupt\n")


def test_outside_of_the_main_thread_functions_are_called_where_they_are():
    threads = []

    def call() -> None:
        stoppable(lambda stop: threads.append(threading.current_thread()))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()

    assert threads == [thread]


@pytest.mark.parametrize(
    ("module", "system", "pattern"),
    [
        (run, "hamlet", "SEQ(A, B+)"),
        (rows, "hamlet", "B+ WHERE B.x < NEXT(B).x"),
        (greta, "greta", "SEQ(A, B+)"),
        (mcep, "mcep", "SEQ(A, B+)"),
        (sharon, "sharon", "SEQ(A, B+)"),
    ],
)
def test_every_kernel_looks_at_whether_it_is_to_stop(
    monkeypatch: pytest.MonkeyPatch, module: object, system: str, pattern: str
):
    workload = Workload.parse(f"RETURN COUNT(*) PATTERN {pattern} {SLIDING}")
    stops = []

    def stopped(function, *arguments, **_):
        stops.append(function)
        return function(*arguments, np.array([0, 1]))

    assert workload.run(EVENTS, system=system).table.num_rows > 0
    monkeypatch.setattr(module, "stoppable", stopped)

    assert workload.run(EVENTS, system=system).table.num_rows == 0
    assert stops


def test_negation_of_systems_looks_at_whether_it_is_to_stop(monkeypatch: pytest.MonkeyPatch):
    workload = Workload.parse(f"RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) {SLIDING}")
    before = workload.run(EVENTS, system="greta").table
    monkeypatch.setattr(
        guards, "stoppable", lambda function, *rest: function(*rest, np.array([0, 1]))
    )

    # Of no event it is known then where the latest C was.
    assert not workload.run(EVENTS, system="greta").table.equals(before)


def test_what_the_main_thread_calls_directly_returns_nothing_but_numbers():
    """Arrays are made Python objects by a step of Python, in which a signal may raise."""
    from numba import types
    from numba.core.dispatcher import Dispatcher

    from hamlet.engine.state import hashing
    from hamlet.kernel import row_pieces
    from hamlet.kernel.encode import digits, sorting
    from hamlet.kernel.finish import packed
    from hamlet.kernel.machine import checkpoint

    def is_plain(kind: object) -> bool:
        if isinstance(kind, types.BaseTuple):
            return all(is_plain(each) for each in kind)
        return isinstance(kind, types.Number | types.Boolean | types.NoneType)

    Workload.parse("RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY x WITHIN 10 s").run(EVENTS)
    found = [
        kind
        for module in (checkpoint, digits, row_pieces, sorting, packed, hashing)
        for each in vars(module).values()
        if isinstance(each, Dispatcher) and not each.targetoptions.get("no_cpython_wrapper")
        for kind in (signature.return_type for signature in each.nopython_signatures)
    ]

    assert len(found) > 5
    assert all(is_plain(kind) for kind in found), found


def test_a_signal_that_comes_when_all_is_over_leaves_nothing_to_wait_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the process would wait at its end for a function that has ended long ago."""

    class Lock:
        """One of which the main thread is interrupted just after it has got it."""

        def __init__(self) -> None:
            self.lock, self.is_first = Lock.real(), True

        real = threading.Lock

        def acquire(self, timeout: float = -1) -> bool:
            got = self.lock.acquire(timeout=timeout)
            if timeout >= 0 and got and self.is_first:
                self.is_first = False
                raise KeyboardInterrupt
            return got

        def release(self) -> None:
            self.lock.release()

    monkeypatch.setattr(stopping.threading, "Lock", Lock)
    monkeypatch.setattr(stopping, "_left", [])

    with pytest.raises(KeyboardInterrupt):
        stopping.stoppable(lambda stop: 1)

    assert stopping._left == []
