"""Window arithmetic for compiled functions: that of plan/windows.py, inlined where it is called."""

from __future__ import annotations

from hamlet.kernel.jit import inlined
from hamlet.plan import windows

first_window = inlined(windows.first_window)
last_window = inlined(windows.last_window)
overlap = inlined(windows.overlap)
