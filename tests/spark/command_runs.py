"""Several commands in one process: a process with Spark takes seconds to begin.

`python command_runs.py '[[...], ...]'` prints for each how it ended and what it printed, as JSON.
Each begins and ends a session of its own, unless a master is named as well: they share its session.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from hamlet.cli import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Left(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


def in_one_process(*commands: Sequence[str], folder: Path, master: str | None = None) -> list[Left]:
    """How some commands end, one after the other."""
    process = [sys.executable, __file__, json.dumps(commands), *filter(None, [master])]
    done = subprocess.run(process, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return [Left(*json.loads(line)) for line in done.stdout.splitlines()]


def main(commands: str, master: str | None = None) -> None:
    """Run them."""
    if master is not None:
        from hamlet.spark.session import QUICK_WORKERS, start

        # Where others work, their Java is to begin as fast as this one.
        java = {"spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", "")}
        start(master, settings=QUICK_WORKERS | java, quiet=True)
    for arguments in json.loads(commands):
        out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(arguments)
            out.flush()
        print(json.dumps([status, out.buffer.getvalue().decode(), err.getvalue()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
