"""The engine: one pipeline that every host puts sharable sets through, and the host in one process.

Read in this order: options.py (how a workload is run), expected.py (what is fixed before it is),
pipeline.py (encode, compile, run),
closed.py (what comes out, as rows or as a partial answer), groups.py (what groups are called),
local.py (all of it over one table).
"""

from __future__ import annotations

from hamlet.engine.expected import options_for
from hamlet.engine.local import run_workload
from hamlet.engine.options import Options, Progress

__all__ = ["Options", "Progress", "options_for", "run_workload"]
