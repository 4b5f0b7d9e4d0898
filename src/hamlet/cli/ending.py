"""How a command ends that somebody ends: by Ctrl-C or SIGTERM, with one line and a status."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


# The thread that does what the main thread waits for: see console.py
WORK = "work of a command"
# From here on a status stands for a signal.
_ENDED = 128


class EndedBySignal(Exception):
    """A command was ended.

    Args:
        status: The exit status, by which a shell knows the signal.
        word: What to say.
    """

    def __init__(self, status: int = 128 + signal.SIGINT, word: str = "interrupted") -> None:
        super().__init__(status, word)
        self.status = status
        self.word = word

    def told(self) -> int:
        """Say so; the exit status."""
        # A terminal shows ^C, and stays on that line.
        click.echo(("\n" if sys.stderr.isatty() else "") + self.word, err=True)
        return self.status


def leave(status: int) -> NoReturn:
    """End the process with a status, whatever was interrupted.

    Python ends itself by a signal where Ctrl-C came while it made code of text, as of a dataclass,
    also if it was handled since. So it is not asked to. Work that still goes on it would cut off
    while it ends, which a compiler does not survive, and abort.
    """
    is_working = any(thread.name == WORK for thread in threading.enumerate())
    if status < _ENDED and not is_working:
        sys.exit(status)
    if not is_working:
        atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: ends whatever goes on as Ctrl-C does."""


class EndedBySignals(click.Group):
    """Commands that say in one line that they were ended."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Terminated as error:
            raise EndedBySignal(128 + signal.SIGTERM, "terminated") from error
        except KeyboardInterrupt as error:
            raise EndedBySignal from error


@contextmanager
def sigterm_ends() -> Iterator[None]:
    """Have SIGTERM end what goes on like Ctrl-C, so that nothing is left half-written."""

    def end(*_: object) -> NoReturn:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
