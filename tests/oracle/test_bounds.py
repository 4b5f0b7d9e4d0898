"""The kernel with bounds checked: would catch an access outside of the array that it is meant for.

Kernels work on addresses, which know no bounds; with NUMBA_BOUNDSCHECK they are made for arrays.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_every_access_is_within_its_array(tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "within_bounds.py")],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=1800,
    )

    assert ended.stdout == "within bounds\n", ended.stderr[-3000:]
