"""What the tests of generated data share: the command line, and runs of equal values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from hamlet.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray


class Left(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def hamlet(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Left]:
    """Run the command line in this process."""

    def call(*arguments: str | Path | int) -> Left:
        status = run([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Left(status, out.decode(), err.decode())

    return call


class Runs(NamedTuple):
    """The values and lengths of runs of equal values within each group."""

    values: NDArray[Any]
    lengths: NDArray[np.int64]

    def mean(self, value: str) -> float:
        """The mean length of the runs of a value."""
        return float(self.lengths[self.values == value].mean())


@pytest.fixture
def runs_of() -> Callable[..., Runs]:
    """Find the runs of a column of a table, in the rows of each group."""

    def find(table: Any, column: str, *group: str) -> Runs:
        values = np.array(table[column].to_pylist())
        keys = [table[name].to_numpy() for name in group]
        order = np.lexsort((np.arange(len(values)), *keys))
        values, keys = values[order], [key[order] for key in keys]
        begins = np.ones(len(values), np.bool_)
        begins[1:] = values[1:] != values[:-1]
        for key in keys:
            begins[1:] |= key[1:] != key[:-1]
        at = np.flatnonzero(begins)
        return Runs(values[at], np.diff(np.append(at, len(values))))

    return find
