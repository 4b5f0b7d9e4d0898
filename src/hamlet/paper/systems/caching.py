"""The key under which a system's compiled functions are kept on disk."""

from __future__ import annotations

from pathlib import Path

from hamlet.kernel import cache_key
from hamlet.plan import windows

_HERE = Path(__file__).parent
_OF_ALL = ("caching.py", "conditions.py", "tables.py")


def digest(*names: str) -> int:
    """A number that stands for some modules of this folder, and what they use of the kernel."""
    paths = [_HERE / name for name in (*names, *_OF_ALL)]
    used = ("stack_code.py", "stack_machine.py", "windowing.py", windows.__file__)
    return cache_key.digest(*used, *paths)
