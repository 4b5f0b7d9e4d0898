"""Compiled functions kept on disk, under a key that changes with any source they are made from.

Numba looks at the file of the function that it keeps alone, and would go on with code compiled from
other files after they have changed; but what a function closes over is part of its key.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from numba import njit

# Called from compiled functions only: without wrappers for Python, which take time to compile.
compiled = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True)
inlined = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True, forceinline=True)

_HERE = Path(__file__).parent
_USED = ("numbers.py", "stack_code.py", "stack_machine.py", "words.py")


def digest(*names: str) -> int:
    """A number that stands for some modules of this folder, and what they use of the kernel."""
    found = hashlib.sha256()
    paths = [_HERE / name for name in (*names, "caching.py", "conditions.py", "tables.py")]
    for path in [*paths, *(_HERE.parent / "kernel" / name for name in _USED)]:
        found.update(path.read_bytes())
    return int.from_bytes(found.digest()[:7], "little")
