"""Partition after partition of a batch, on addresses alone.

Arrays that stand in the way of a loop are counted in and out of each round, which for small
partitions took as long as their events. So the loop is here, and batch.py, which has the arrays,
is asked for more room where one runs short.
"""

from __future__ import annotations

from hamlet.kernel.inner import compiled, inlined
from hamlet.kernel.layout import (
    C_ACTIVE,
    C_MERGED,
    C_PART,
    C_SHARED,
    C_SPLIT,
    C_STACK,
    C_TRACE,
    C_WANTED,
    HAS_ALWAYS,
    N_UNITS,
    N_Z,
    S_ACTIVE,
    S_SEEN,
    S_WHERE,
    U_ALWAYS,
    ZX_P,
)
from hamlet.kernel.machine.keep import Keep, load
from hamlet.kernel.machine.lazy import begin
from hamlet.kernel.machine.memory import FAR
from hamlet.kernel.machine.room import ROOM_STACKS, ROOM_STATE
from hamlet.kernel.machine.walk import walk
from hamlet.kernel.machine.windows import activate
from hamlet.kernel.stopping import STOPPED

# Where a batch stands: the partition; its next event, -1 before it has begun; how many have to be
# run again; and what there was before the partition: records, rows of the trace, and decisions
(
    AT_PARTITION,
    AT_EVENT,
    AT_REDONE,
    AT_RECORDS,
    AT_TRACE,
    AT_SHARED,
    AT_SPLIT,
    AT_MERGED,
) = range(8)
# Entries of a range: partition, first event and the one after its last, and its state
_RANGE = 6


@compiled
def run_partitions(
    m, events, sides, stored, records, scratch, kept, ranges, n_ranges, redo, at, until
):
    """Run partitions from where a batch stands on; what there is no room for.

    0 at its end, or where it was stopped.
    """
    P, S = m.P, m.S
    stacks = P[P[ZX_P] + P[N_Z]]
    while at[AT_PARTITION] < n_ranges and m.err[STOPPED] == 0:
        row = _RANGE * at[AT_PARTITION]
        first, end = ranges[row + 1], ranges[row + 2]
        if at[AT_EVENT] < 0:
            if stacks > 0 and S[C_STACK] < end - first:
                S[C_WANTED] = end - first
                return ROOM_STACKS
            _begin(m, events, records, kept, ranges, row, at)
        at[AT_EVENT], short = walk(
            m, events, sides, stored, records, scratch, ranges[row], at[AT_EVENT], end, until
        )
        if short != 0:
            return short
        if until < FAR and m.err[0] == 0 and S[C_ACTIVE] > 0:
            return ROOM_STATE
        end_partition(m, records, redo, at)
    return 0


@inlined
def _begin(m, events, records, kept, ranges, row, at):
    """Begin a partition, or take it up where it was left."""
    P, S = m.P, m.S
    at[AT_RECORDS], at[AT_TRACE] = records.n[0], S[C_TRACE]
    at[AT_SHARED], at[AT_SPLIT], at[AT_MERGED] = S[C_SHARED], S[C_SPLIT], S[C_MERGED]
    at[AT_EVENT] = ranges[row + 1]
    m.err[0] = 0
    S[C_PART] = ranges[row]
    begin(m)
    if ranges[row + 3] >= 0:
        ints, v, x = kept
        load(m, Keep(ints, v, x, ranges[row + 3], ranges[row + 4], ranges[row + 5]))
    if P[HAS_ALWAYS] == 1 and ranges[row + 1] < ranges[row + 2]:
        # What may hold trends before anything touches it
        for u in range(P[N_UNITS]):
            if P[P[U_ALWAYS] + u] == 1 and S[P[S_WHERE] + u] < 0:
                activate(m, u, events.ts[ranges[row + 1]])


@compiled
def end_partition(m, records, redo, at):
    """Have no unit active; if numbers have not fitted, have nothing of the partition."""
    P, S = m.P, m.S
    for k in range(S[C_ACTIVE]):
        u = S[P[S_ACTIVE] + k]
        S[P[S_WHERE] + u] = -1
        S[P[S_SEEN] + u] = -1
    if m.err[0] != 0:
        records.n[0], S[C_TRACE] = at[AT_RECORDS], at[AT_TRACE]
        S[C_SHARED], S[C_SPLIT], S[C_MERGED] = at[AT_SHARED], at[AT_SPLIT], at[AT_MERGED]
        redo[at[AT_REDONE]] = S[C_PART]
        at[AT_REDONE] += 1
    at[AT_PARTITION] += 1
    at[AT_EVENT] = -1
