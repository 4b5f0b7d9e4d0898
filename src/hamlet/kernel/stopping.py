"""Compiled functions that may run for long, called so that Ctrl-C ends them.

Python handles a signal in its main thread, between two steps of Python. While a compiled function
runs there are none, and the first one after it is inside Numba, which makes Python objects of the
arrays that the function returns and does not expect an exception there: what comes out is a
SystemError, or an array made of a null pointer. So the main thread never calls such a function. A
thread of its own does, in which no signal is handled, while the main thread waits. When a signal
ends the wait, as Ctrl-C does, the function is told to stop, and what it returns is dropped.

Functions that are over soon are called directly: a thread would cost more than they do. Signals
that come meanwhile are handled when the function has returned.
"""

from __future__ import annotations

import _signal
import _thread
import atexit
import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Entries of what a function looks at while it runs. The first is its own, and says that numbers do
# not fit in the partition at hand, which is then given up; the second is only written from outside.
GIVEN_UP, STOPPED = range(2)

# A function looks at both often enough. What takes longer is Numba, which compiles it first: that
# is left to go on by itself, for the next run.
_SECONDS_TO_STOP = 0.5
_SECONDS_BETWEEN = 0.01
_SECONDS_TO_LOOK = 0.1
# Steps that are done in some hundredths of a second
_BRIEF = 10_000_000
_SIGNALS = range(1, _signal.NSIG)
_left: list[threading.Lock] = []


@atexit.register
def _wait_for_those_left() -> None:
    """Let what was left to itself end first: Python aborts where a compiler is cut off."""
    for is_running in _left:
        is_running.acquire()


def stoppable(function: Callable[..., Any], *arguments: Any, steps: float = math.inf) -> Any:
    """The result of a compiled function, which may take any time.

    Args:
        function: After its other arguments it is given what it has to look at while it runs.
        arguments: These others.
        steps: How many steps it takes, about, of a few nanoseconds each. What is over before
            anybody could stop it is not worth a thread.

    Raises:
        KeyboardInterrupt: Or whatever else the handler of a signal raises. The function has been
            stopped, and nothing of it is left.
    """
    stop = np.zeros(2, np.int64)
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments, stop)
    if steps < _BRIEF:
        return _undisturbed(lambda: function(*arguments, stop))
    results: list[Any] = []
    errors: list[BaseException] = []
    is_running = threading.Lock()
    is_running.acquire()

    def run() -> None:
        try:
            results.append(function(*arguments, stop))
        except BaseException as error:
            errors.append(error)
        finally:
            is_running.release()

    has_begun = False
    try:
        _thread.start_new_thread(run, ())
        has_begun = True
        # A signal that comes just before the wait does not end it: so it is never a long one.
        while not is_running.acquire(timeout=_SECONDS_TO_LOOK):
            pass
    except BaseException:
        # Where it has only just begun, it stops by itself.
        stop[:] = 1
        # The signal may have come when it was over already, and nothing is left to wait for.
        if has_begun:
            _end(stop, is_running, lambda: bool(results or errors))
        raise
    if errors:
        raise errors[0]
    return results[0]


def _undisturbed(call: Callable[[], Any]) -> Any:
    """The result of a call in the main thread; signals are handled after it."""
    came: list[Callable[[], Any]] = []
    result = _putting_off(_handled_by_python(), came, call)
    for handle in came:
        handle()
    return result


def _handled_by_python() -> list[int]:
    return [number for number in _SIGNALS if callable(_signal.getsignal(number))]


def _putting_off(numbers: list[int], came: list[Callable[[], Any]], call: Callable[[], Any]) -> Any:
    """A call during which signals are only noted; each has its handler back, whatever happens."""
    if not numbers:
        return call()
    number, *others = numbers
    handler = _signal.getsignal(number)
    try:
        _signal.signal(number, lambda *what: came.append(lambda: handler(*what)))
        return _putting_off(others, came, call)
    finally:
        _signal.signal(number, handler)


def _end(stop: NDArray[np.int64], is_running: threading.Lock, is_over: Callable[[], bool]) -> None:
    """Have a function stop, and wait until it has.

    It clears the first entry whenever it begins a partition, so it is told again and again. Who is
    impatient and sends another signal changes nothing.
    """
    begun = time.monotonic()
    while not is_over() and time.monotonic() < begun + _SECONDS_TO_STOP:
        try:
            stop[:] = 1
            if is_running.acquire(timeout=_SECONDS_BETWEEN):
                return
        except BaseException:
            continue  # what the caller is told is the first
    if not is_over():
        _left.append(is_running)
