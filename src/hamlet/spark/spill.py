"""The rows of one task, which may be more than fit into memory.

Rows are held as they come. Where they become too many, or too long, they are put into a file,
sorted by time: a *run*, cut into blocks. Files are spread over the folders that Spark has for such
things. All runs together are then read once more, in stretches of time that have about as many rows
as was asked for: of each run the blocks that begin in the stretch.

Rows of different slices (see skew.py) are kept apart.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from hamlet.kernel.encode.sorting import sort_by_value
from hamlet.kernel.machine import FAR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    # The times of the rows of a table, in microseconds.
    Clock = Callable[[pa.Table], Longs]

_BLOCK_ROWS = 1 << 14
# Where a task of Spark may write, as Spark tells it.
_FOLDERS = "SPARK_LOCAL_DIRS"


@dataclass(slots=True)
class _Run:
    """A file of rows in order of time.

    firsts: The time of the first row of each block.
    at: The block that is read next.
    rest: What is left of the block before.
    """

    file: ipc.RecordBatchFileReader
    firsts: Longs
    clock: Clock
    at: int = 0
    rest: pa.Table | None = None

    def before(self, ts: int) -> list[pa.Table]:
        """The rows before a time that have not been read yet."""
        tables = [] if self.rest is None else [self.rest]
        end = int(np.searchsorted(self.firsts, ts))
        batches = [self.file.get_batch(number) for number in range(self.at, end)]
        tables += [pa.Table.from_batches([batch]) for batch in batches]
        self.at, self.rest = max(self.at, end), None
        if tables:
            last = tables.pop()
            middle = int(np.searchsorted(self.clock(last), ts))
            tables.append(last.slice(0, middle))
            self.rest = last.slice(middle) if middle < last.num_rows else None
        return [table for table in tables if table.num_rows]


@dataclass(slots=True)
class Runs:
    """All rows of one slice, in files."""

    clock: Clock
    rows: int = 0
    size: int = 0
    runs: list[_Run] = field(default_factory=list)

    def add(self, table: pa.Table, path: Path) -> None:
        """Put rows into a new file."""
        ts = self.clock(table)
        order = sort_by_value(ts)
        arranged = table.take(pa.array(order)).combine_chunks()
        with ipc.new_file(str(path), table.schema) as file:
            file.write_table(arranged, max_chunksize=_BLOCK_ROWS)
        firsts = ts[order[::_BLOCK_ROWS]]
        self.runs.append(_Run(ipc.open_file(pa.memory_map(str(path))), firsts, self.clock))
        self.rows += len(table)
        self.size += table.nbytes

    def all(self) -> pa.Table:
        """All rows at once."""
        return pa.concat_tables([run.file.read_all() for run in self.runs])

    def in_order(self, rows: int) -> Iterator[tuple[pa.Table, int]]:
        """Stretches of about as many rows, and the time before which each of them ends."""
        firsts = np.sort(np.concatenate([run.firsts for run in self.runs]))
        cuts = np.unique(firsts[:: max(rows // _BLOCK_ROWS, 1)])[1:].tolist()
        for until in [*cuts, FAR]:
            ts = until if until < FAR else FAR + 1
            tables = [table for run in self.runs for table in run.before(ts)]
            # Each cut is the time of some row, so no stretch is empty, the last one included.
            yield pa.concat_tables(tables), until


class Pool:
    """The rows of one task.

    >>> with Pool(2, lambda table: table["time"].to_numpy()) as pool:
    ...     for times in ([5, 1, 3], [2, 4]):
    ...         pool.add(pa.record_batch({"time": times}))
    ...     ((_, runs),) = pool.slices()
    ...     print(runs.rows, [(table["time"].to_pylist()) for table, _ in runs.in_order(1)])
    5 [[1], [3, 5, 2, 4]]
    """

    def __init__(
        self,
        most: int,
        clock: Clock,
        slice_column: str | None = None,
        most_bytes: int = 1 << 62,
    ) -> None:
        """Begin without rows.

        Args:
            most: How many rows are held in memory.
            clock: The times of the rows of a table, in microseconds.
            slice_column: Which column has the number of the slice.
            most_bytes: How many bytes of rows are held.
        """
        self._most, self._most_bytes = most, most_bytes
        self._clock = clock
        self._slice_column = slice_column
        self._held: list[pa.RecordBatch] = []
        self._count = self._size = 0
        self._files = 0
        self._runs: dict[int | None, Runs] = {}
        self._folders: list[tempfile.TemporaryDirectory[str]] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._runs = {}
        for folder in self._folders:
            folder.cleanup()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in some rows."""
        if batch.num_rows:
            self._held.append(batch)
            self._count += batch.num_rows
            self._size += batch.nbytes
        if self._count > self._most or self._size > self._most_bytes:
            self._put_away()

    def _put_away(self) -> None:
        """Put what is held into files."""
        if not self._folders:
            folders = os.environ.get(_FOLDERS, "").split(",")
            there: list[str | None] = [each for each in folders if each and Path(each).is_dir()]
            self._folders = [
                tempfile.TemporaryDirectory(prefix="hamlet-", dir=each) for each in there or [None]
            ]
        for number, table in self._parted():
            folder = self._folders[self._files % len(self._folders)]
            self._files += 1
            path = Path(folder.name) / f"{self._files}.arrow"
            self._runs.setdefault(number, Runs(self._clock)).add(table, path)

    def _parted(self) -> Iterator[tuple[int | None, pa.Table]]:
        """What is held, by slice; nothing is held any more."""
        if not self._held:
            return
        table = pa.Table.from_batches(self._held)
        self._held, self._count, self._size = [], 0, 0
        if self._slice_column is None:
            yield None, table
            return
        column = table[self._slice_column]
        for number in pc.unique(column).to_pylist():
            is_it = pc.is_null(column) if number is None else pc.equal(column, number)
            yield number, table.filter(is_it)

    def slices(self) -> Iterator[tuple[int | None, pa.Table | Runs]]:
        """All rows by slice: a table where they are few, runs where they are many."""
        if not self._runs:
            yield from self._parted()
            return
        self._put_away()
        for number in list(self._runs):
            runs = self._runs.pop(number)
            is_small = runs.rows <= self._most and runs.size <= self._most_bytes
            yield number, runs.all() if is_small else runs
