"""What the tests of the command line share: the command itself."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hamlet.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Left(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def hamlet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Left]:
    """Run the command line in this process, without Spark: that is in tests/spark."""

    def call(*arguments: str | Path, stdin: bytes = b"") -> Left:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        given = [str(argument) for argument in arguments]
        if given[:1] == ["run"] and "--engine" not in given:
            given += ["--engine", "local"]
        return Left(run(given), *capsys.readouterr())

    return call
