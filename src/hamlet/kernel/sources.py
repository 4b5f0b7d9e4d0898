"""A key for compiled functions that are kept on disk: it changes with any source of theirs.

Numba looks at the file of the function that it keeps alone, and would go on with code compiled from
other files after they have changed; but what a function closes over is part of its key.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_HERE = Path(__file__).parent
# What most kernels are made of
_COMMON = ("arrays.py", "inner.py", "numbers.py", "sources.py", "stopping.py", "words.py")


def digest(*paths: Path | str) -> int:
    """A number that stands for some modules, and those of the kernel that most others use.

    Args:
        paths: Of each its path, or its name in this folder.
    """
    found = hashlib.sha256()
    for path in sorted({_HERE / path for path in (*_COMMON, *paths)}):
        found.update(path.read_bytes())
    return int.from_bytes(found.digest()[:7], "little")
