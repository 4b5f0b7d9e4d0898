"""Partition after partition of a batch, on addresses alone.

Arrays that stand in the way of a loop are counted in and out of each round, which for small
partitions took as long as their events. So the loop is here, and batch.py, which has the arrays,
is asked for more room where one runs short.
"""

from __future__ import annotations

from hamlet.kernel import layout as at
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.accumulators import begin
from hamlet.kernel.machine.checkpoint import Checkpoint, load
from hamlet.kernel.machine.memory import FAR
from hamlet.kernel.machine.redoing import AGAIN, LIMITS, ask_for, end_units, give_up, is_near
from hamlet.kernel.machine.walk import walk
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
    # The range of which windows were given up last, and the records before those that begin later
    AT_GIVEN_UP,
    AT_FIRM,
    PROGRESS,
) = range(11)
# Entries of a range: partition, first event and the one after its last, and its state
_RANGE = 6


@compiled
def run_partitions(
    m,
    events,
    sides,
    stored,
    records,
    scratch,
    kept,
    ranges,
    n_ranges,
    limits,
    redo,
    redo_room,
    progress,
    until,
):
    """Run partitions from where a batch stands on; what there is no room for.

    0 at its end, or where it was stopped.
    """
    P, S = m.P, m.S
    stacks = P[at.N_STACKS]
    while progress[AT_PARTITION] < n_ranges and m.err[STOPPED] == 0:
        row = _RANGE * progress[AT_PARTITION]
        first, end = ranges[row + 1], ranges[row + 2]
        if progress[AT_REDONE] == redo_room:
            return at.ROOM_REDO
        if progress[AT_EVENT] < 0:
            if stacks > 0 and S[at.C_STACK] < end - first:
                S[at.C_WANTED] = end - first
                return at.ROOM_STACKS
            _begin(m, records, kept, ranges, row, limits, progress)
        progress[AT_EVENT], short = walk(
            m, events, sides, stored, records, scratch, ranges[row], progress[AT_EVENT], end, until
        )
        if short != 0:
            return short
        if m.err[0] != 0 and S[at.C_WHOLE] == 0:
            progress[AT_EVENT] = _give_up(m, events, records, redo, progress, first, end)
            if progress[AT_EVENT] < end:
                continue
        if until < FAR and m.err[0] == 0 and S[at.C_ACTIVE] > 0:
            return at.ROOM_STATE
        end_partition(m, records, ranges, limits, redo, progress)
    return 0


@inlined
def _give_up(m, events, records, redo, progress, first, end):
    """Give up the windows that are open where a number did not fit; the event to go on with."""
    failed, n = progress[AT_EVENT] - 1, progress[AT_REDONE]
    goes_on = progress[AT_GIVEN_UP] == progress[AT_PARTITION] and is_near(
        m.S, events, redo, n, failed
    )
    records.n[0] = progress[AT_FIRM] if goes_on else m.S[at.C_FIRM]
    m.S[at.C_FIRM] = records.n[0]
    following = give_up(m, events, redo, n, goes_on, failed, first, end)
    progress[AT_REDONE] += int(not goes_on)
    progress[AT_GIVEN_UP], progress[AT_FIRM] = progress[AT_PARTITION], records.n[0]
    return following


@inlined
def _begin(m, records, kept, ranges, row, limits, progress):
    """Begin a partition, or take it up where it was left."""
    S = m.S
    progress[AT_RECORDS], progress[AT_TRACE] = records.n[0], S[at.C_TRACE]
    progress[AT_SHARED], progress[AT_SPLIT] = S[at.C_SHARED], S[at.C_SPLIT]
    progress[AT_MERGED] = S[at.C_MERGED]
    progress[AT_EVENT] = ranges[row + 1]
    m.err[0] = 0
    S[at.C_PART], S[at.C_FIRM] = ranges[row], records.n[0]
    begin(m)
    k = LIMITS * progress[AT_PARTITION]
    if S[at.C_LIMITED] == 1 or limits[k] > -FAR or limits[k + 1] > -FAR or limits[k + 2] < FAR:
        ask_for(m.P, S, limits[k], limits[k + 1], limits[k + 2])
    if ranges[row + 3] >= 0:
        ints, v, x = kept
        load(m, Checkpoint(ints, v, x, ranges[row + 3], ranges[row + 4], ranges[row + 5]))


@compiled
def end_partition(m, records, ranges, limits, redo, progress):
    """Have no unit active; if numbers have not fitted, have nothing of the partition."""
    S = m.S
    end_units(m)
    if m.err[0] != 0:
        records.n[0], S[at.C_TRACE] = progress[AT_RECORDS], progress[AT_TRACE]
        S[at.C_SHARED], S[at.C_SPLIT] = progress[AT_SHARED], progress[AT_SPLIT]
        S[at.C_MERGED] = progress[AT_MERGED]
        row, begin_at = AGAIN * progress[AT_REDONE], _RANGE * progress[AT_PARTITION]
        for k in range(3):
            redo[row + k] = ranges[begin_at + k]
            redo[row + 3 + k] = limits[LIMITS * progress[AT_PARTITION] + k]
        progress[AT_REDONE] += 1
    progress[AT_PARTITION] += 1
    progress[AT_EVENT] = -1
