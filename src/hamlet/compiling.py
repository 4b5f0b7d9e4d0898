"""The first run on a machine compiles kernels, which takes a while: it says so."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMPILING = "compiling kernels for this machine, once: about a minute"


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
