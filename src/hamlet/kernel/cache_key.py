"""A key for compiled functions that are kept on disk: it changes with any source of theirs.

Numba looks at the file of the function that it keeps alone, and would go on with code compiled from
other files after they have changed; but what a function closes over is part of its key.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_HERE = Path(__file__).parent
# What most kernels are made of
_COMMON = ("cache_key.py", "growth.py", "jit.py", "limbs.py", "stopping.py")


def digest(*paths: Path | str) -> int:
    """A number that stands for some modules, and those of the kernel that most others use.

    Args:
        paths: Of each its path, or its name in this folder.
    """
    sources = hashlib.sha256()
    used = {*_HERE.glob("numbers/*.py"), *(_HERE / path for path in (*_COMMON, *paths))}
    for path in sorted(used):
        sources.update(path.read_bytes())
    return int.from_bytes(sources.digest()[:7], "little")
