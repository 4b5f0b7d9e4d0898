"""`hamlet run` on Spark that is ended while it runs, as a process of its own.

Would catch what Java or its bridge has to say about it, a stack trace, another status than shells
expect, a job that goes on, and a folder that is left behind.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Takes hours, in one task.
QUERIES = "q: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x * NEXT(B).x > 9 WITHIN 1000000 s"
RUN = "run w.hql --events events.csv --out parts --engine spark --master local[1] --numbers float"


def until(is_true: object, seconds: float = 300) -> None:
    """Wait for something that will happen, but not for ever."""
    begun = time.monotonic()
    while not is_true():
        assert time.monotonic() < begun + seconds
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")],
)
def test_a_run_on_spark_that_is_ended_says_so_in_a_line_and_leaves_nothing(
    tmp_path: Path, number: int, status: int, said: str
):
    (tmp_path / "w.hql").write_text(QUERIES)
    lines = [f"{t},{'AB'[t % 50 > 0]},{t % 997}" for t in range(400_000)]
    (tmp_path / "events.csv").write_text("\n".join(["time,type,x", *lines]))
    with subprocess.Popen(
        [sys.executable, "-m", "hamlet", *RUN.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as working:
        until(lambda: any("parts" in each.name for each in tmp_path.iterdir()))
        time.sleep(2)
        working.send_signal(number)
        printed, told = working.communicate(timeout=120)

    assert (working.returncode, printed, told) == (status, "", said)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["events.csv", "w.hql"]
