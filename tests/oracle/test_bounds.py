"""The kernel with bounds checked: would catch an access outside of the array that it is meant for.

Kernels work on addresses, which know no bounds; with NUMBA_BOUNDSCHECK they are made for arrays.
What is compiled for that, which takes minutes, is kept in pytest's cache until the sources change.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hamlet.kernel.cache_key import digest

SOURCES = Path(sys.modules[digest.__module__].__file__ or "").parent


def compiled_folder(cache: pytest.Cache) -> Path:
    """Where kernels with checked bounds are kept; those of other sources are removed."""
    name = f"bounds-{digest(*SOURCES.rglob('*.py')):x}"
    folder = cache.mkdir(name)
    for other in folder.parent.glob("bounds-*"):
        if other.name != name:
            shutil.rmtree(other, ignore_errors=True)
    return folder


@pytest.mark.slow
def test_every_access_is_within_its_array(cache: pytest.Cache):
    compiled = compiled_folder(cache)

    ended = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "within_bounds.py")],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(compiled)},
        capture_output=True,
        encoding="utf-8",
        timeout=1800,
    )

    assert ended.stdout == "within bounds\n", ended.stderr[-3000:]
