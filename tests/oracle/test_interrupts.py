"""Ctrl-C at any moment of a run: KeyboardInterrupt comes out, and the process is as before.

Would catch an exception of another kind, a crash, a run that goes on, a workload that gives other
results after it was interrupted, and a session that is used half-way.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOST = Path(__file__).parent / "interrupted.py"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_runs_of_every_kind_are_interrupted_at_random_moments(seed: int):
    ended = subprocess.run(
        [sys.executable, str(HOST), str(seed), "10"],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )

    assert ended.returncode == 0, ended.stderr[-3000:]
    told = json.loads(ended.stdout)
    assert len(told["found"]) == 8
    # Half a second on a machine that does nothing else; some of these runs take minutes.
    assert told["worst"] < 15
    assert "SystemError" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
