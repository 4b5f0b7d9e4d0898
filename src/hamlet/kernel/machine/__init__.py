"""The compiled machine: an interpreter of code over events, compiled once and cached on disk.

Read in this order: memory.py and rows.py (what there is), accumulators.py, catch_up.py, values.py,
guards.py and windows.py (what is done with it), walk.py (when), partitions.py and batch.py (for how
many partitions).

Cost: an event that only lazy ops know costs a few instructions, whatever the number of queries and
windows. Any other costs O(windows) for each query it touches, and for logs O(stored events) more.
When a window opens or closes, O(rows) for each query active in the partition. State does not grow
with events, except for logs, whose events are dropped when no open window has them, and trees,
which have those of two windows.

Numbers: see numbers/. When an integer outgrows its words the partition is given up and reported
in `redo`; the caller runs it again with more words. Nothing ever wraps around.
"""

from __future__ import annotations

from hamlet.kernel.machine.batch import run
from hamlet.kernel.machine.checkpoint import NEVER
from hamlet.kernel.machine.memory import FAR, EventArrays, Memory, Records, Sides, Stored

__all__ = ["FAR", "NEVER", "EventArrays", "Memory", "Records", "Sides", "Stored", "run"]
