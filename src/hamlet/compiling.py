"""The first run on a machine compiles kernels, which takes a while: it says so, and how long."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMPILING = "compiling kernels for this machine, once: about half a minute"


@contextmanager
def when_compiling(tell: Callable[[], None] | None = None) -> Iterator[None]:
    """Tell, once, when Numba compiles something instead of loading it from its cache.

    Without anybody to tell, the logger "hamlet" is told, which shows warnings where logging has not
    been set up.
    """
    from numba.core import event

    class Teller(event.Listener):
        has_told = False

        def on_start(self, event: Any) -> None:
            if not self.has_told:
                self.has_told = True
                tell() if tell else logging.getLogger("hamlet").warning(COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Teller()):
        yield


@dataclass(slots=True)
class KernelTime:
    """How long Numba has compiled, or loaded what it compiled before, in seconds."""

    seconds: float = 0.0


@contextmanager
def timed_kernels() -> Iterator[KernelTime]:
    """Find out how long Numba compiles and loads: it holds a lock meanwhile."""
    from numba.core import event

    found = KernelTime()

    class Watch(event.Listener):
        # What a function calls is compiled while the function is: the outermost lock counts.
        depth = 0
        begun = 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.begun = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                found.seconds += time.perf_counter() - self.begun

    with event.install_listener("numba:compiler_lock", Watch()):
        yield found
