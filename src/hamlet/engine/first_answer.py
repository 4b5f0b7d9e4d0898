"""A first answer without waiting: where nothing is compiled yet, few events need no compiled code.

Kernels are compiled once on a machine, for a minute and more. Who has just installed this and tries
a small file would wait for that first; so as long as there is no code, such a run is interpreted
(kernel/interpreted.py), and says so. Whatever may take long is compiled for and run as ever.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hamlet.kernel.compiling import has_code
from hamlet.kernel.interpreted import steps_needed

if TYPE_CHECKING:
    from hamlet.engine.options import Options
    from hamlet.events.table import EventTable
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan

# "never" for runs that wait for compiled code, however few their events are
VARIABLE = "HAMLET_INTERPRET"
# Rows that are read and encoded by Python in a fraction of a second
MOST_ROWS = 5_000
# Additions that Python makes in about two seconds
MOST_STEPS = 5_000_000
NOTE = (
    "answered without compiled code, because there is none yet and the events are few. The first "
    "larger run compiles it, once on this machine: a minute or two. `hamlet warm` does that now."
)


def may_interpret(plan: WorkloadPlan, table: EventTable, options: Options) -> bool:
    """Whether a run should not wait for code: there is none yet, and there are few events."""
    return (
        options.interprets
        and os.environ.get(VARIABLE) != "never"
        and options.system == "hamlet"
        and not options.trace
        and len(table) <= MOST_ROWS
        and not _has_code(plan, options)
    )


def _has_code(plan: WorkloadPlan, options: Options) -> bool:
    """Whether all kernels that a workload may need have been compiled."""
    from hamlet.kernel.machine.batch import run
    from hamlet.kernel.rows.kernel import run as run_rows

    zero = options.mode.array(0, 1)
    has_edges = any(planned.query.edge_predicates for planned in plan.queries)
    return has_code(run, zero) and (not has_edges or has_code(run_rows, zero))


def is_soon_interpreted(queries: list[Query], program: Program, encoded: EncodedSet) -> bool:
    """Whether a set is soon interpreted."""
    return steps_needed(queries, program, encoded.batch) <= MOST_STEPS
