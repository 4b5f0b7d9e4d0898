"""Commands that are ended while they run, as processes of their own.

Would catch a stack trace, more than one line, another status than shells expect, a command that
goes on, and a file that is left behind.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hamlet.kernel.compiling import COMPILING

if TYPE_CHECKING:
    from pathlib import Path

# Takes hours, with any of them.
QUERIES = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x * NEXT(B).x > 9 WITHIN 1000000 s"
# It says when all is imported: what comes before is Python's own.
COMMAND = "from hamlet.cli import main; print('ready', flush=True); main()"
ENDINGS = [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status", "said"), ENDINGS)
@pytest.mark.parametrize("out", ["out.csv", "parts"])
@pytest.mark.parametrize("system", ["hamlet", "greta"])
def test_a_run_that_is_ended_says_so_in_a_line_and_leaves_nothing(
    tmp_path: Path, number: int, status: int, said: str, out: str, system: str
):
    (tmp_path / "w.hql").write_text(QUERIES)
    lines = [f"{t},{'AB'[t % 50 > 0]},{t % 997}" for t in range(400_000)]
    (tmp_path / "events.csv").write_text("\n".join(["time,type,x", *lines]))
    given = ["run", "w.hql", "--events", "events.csv", "--out", out, "--engine", "local"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *given, "--numbers", "float", "--system", system],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as working:
        assert working.stdout.readline() == "ready\n"
        time.sleep(2 * random.Random(f"{number} {out} {system}").random())
        working.send_signal(number)
        printed, told = working.communicate(timeout=60)

    assert (working.returncode, printed) == (status, "")
    assert told.removeprefix(COMPILING + "\n") == said
    assert sorted(each.name for each in tmp_path.iterdir()) == ["events.csv", "w.hql"]
