"""A stream at the pace of the clock: files that appear in a folder, or lines of JSON.

A reader of the folder sees whole files only: each is written under a hidden name first. Event times
are those of the stream; it is the delivery that keeps a pace.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from hamlet.data.files import json_lines, open_sink, part_name
from hamlet.data.places import check_place
from hamlet.errors import SchemaError, WriteError, reason_of
from hamlet.io.targets import is_folder
from hamlet.io.whole import put_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

INTERVAL_S = 1.0


def chunk_of(rate: float) -> int:
    """How many events are delivered at once: those of a second, and at least one.

    >>> chunk_of(5000), chunk_of(0.1)
    (5000, 1)
    """
    if not 0 < rate <= 1e6:  # event times are distinct microseconds
        message = f"events in a second must be more than 0 and at most 1,000,000, not {rate:g}"
        raise SchemaError("--live", message)
    return max(1, round(rate * INTERVAL_S))


class Listener(Protocol):
    """Where a live stream goes.

    rows: How many events have been delivered.
    """

    rows: int

    def deliver(self, batch: Any) -> None:
        """Take some events, at once."""


def play(
    batches: Iterable[Any],
    rate: float,
    listener: Listener,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Deliver batches at so many events a second.

    Whoever is late catches up: the pace is counted from the beginning.
    """
    begin = clock()
    for batch in batches:
        early = begin + listener.rows / rate - clock()
        if early > 0:
            sleep(early)
        listener.deliver(batch)


class LiveFolder:
    """A folder into which each delivery is put as one whole file."""

    def __init__(self, folder: Path, schema: Any, format: str, *, overwrite: bool) -> None:
        if not is_folder(folder):
            raise WriteError(str(folder), "a live stream goes into a folder, or to - as JSON lines")
        check_place(folder, overwrite=overwrite)
        self._folder, self._schema, self._ending = folder, schema, f".{format}"
        self.rows = self.files = 0
        try:
            folder.mkdir(exist_ok=True)
            for old in folder.iterdir():
                old.unlink()
        except OSError as error:
            raise WriteError(str(folder), reason_of(error)) from error

    def deliver(self, batch: Any) -> None:
        """Put some events into the folder."""
        with put_whole(self._folder / part_name(self.files, self._ending)) as partial:
            sink = open_sink(partial, self._schema, self._ending)
            try:
                sink.write(batch)
            finally:
                sink.close()
        self.files += 1
        self.rows += batch.num_rows


class LiveLines:
    """A stream of bytes to which each delivery is written as JSON lines."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.rows = 0

    def deliver(self, batch: Any) -> None:
        """Write some events, at once."""
        for text in json_lines(batch):
            self._stream.write(text)
        self._stream.flush()
        self.rows += batch.num_rows
