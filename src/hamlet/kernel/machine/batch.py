"""One call for a batch with many partitions: the entry from Python, compiled once, kept on disk.

Arrays come in here and leave as addresses; where the walk is short of room, larger arrays are made
and it is called again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.cache_key import digest
from hamlet.kernel.growth import longer, longer_numbers
from hamlet.kernel.jit import compiled, inlined, kept_on_disk
from hamlet.kernel.machine.bundles import TRACED
from hamlet.kernel.machine.capacity import (
    ROOM_GUARD_LOGS,
    ROOM_KEPT,
    ROOM_LOGS,
    ROOM_OUT,
    ROOM_PENDING,
    ROOM_SCRATCH,
    ROOM_SCRATCH_X,
    ROOM_STACKS,
    ROOM_STATE,
    ROOM_TRACE,
    more_guard_logs,
    more_logs,
)
from hamlet.kernel.machine.checkpoint import Checkpoint, save, size_of_checkpoint
from hamlet.kernel.machine.memory import FAR, Events, Memory, Records, Scratch, Sides, Stored
from hamlet.kernel.machine.partitions import AT_EVENT, AT_REDONE, end_partition, run_partitions
from hamlet.kernel.numbers import pointer, raw_pointer

# Modules outside this folder whose functions or constants are compiled in
_USED = ("code.py", "layout.py", "stack_code.py", "stack_machine.py", "trees.py")


@compiled
def _begin_batch(P, S, room):
    """Sizes that the machine finds its way by, and no unit active."""
    S[at.C_WINDOWS] = 0
    for u in range(P[at.N_UNITS]):
        S[at.C_WINDOWS] += P[P[at.U_W] + u]
        S[P[at.S_WHERE] + u] = -1
        S[P[at.S_SEEN] + u] = -1
    S[at.C_ROOM] = room
    S[at.C_SCRATCH], S[at.C_SCRATCH_X], S[at.C_PENDING], S[at.C_KEPT] = 256, 256, 64, 16


@inlined
def _bundle(memory, spos, sval, trace):
    """The addresses of what all parts of the machine work on."""
    return Memory(
        raw_pointer(memory.P),
        raw_pointer(memory.S),
        pointer(memory.v),
        raw_pointer(memory.x),
        raw_pointer(memory.zf),
        raw_pointer(memory.zs),
        raw_pointer(spos),
        raw_pointer(sval),
        raw_pointer(memory.err),
        raw_pointer(trace),
    )


@compiled
def _run(memory, events, sides, stored, records, until, ranges, kept, redo):
    P, S = raw_pointer(memory.P), raw_pointer(memory.S)
    spos, sval, trace = memory.spos, memory.sval, memory.trace
    log_entries, log_v, log_x = stored.entries, stored.v, stored.x
    guard_entries = stored.guard_entries
    parts, units, windows = records.part, records.unit, records.window
    out_v, out_x, out_n = records.v, records.x, raw_pointer(records.n)
    _begin_batch(P, S, parts.shape[0])
    scratch_v, scratch_x = numbers.room(memory.v, S[at.C_SCRATCH]), np.empty(S[at.C_SCRATCH_X])
    kept_v, kept_x = numbers.room(memory.v, S[at.C_KEPT]), np.empty(S[at.C_KEPT])
    pending, gops = np.empty(4 * S[at.C_PENDING], np.int64), np.empty(5 * S[at.C_PENDING], np.int64)
    met = np.empty(P[at.N_UNITS], np.int64)
    stacks = P[P[at.ZX_P] + P[at.N_Z]]
    new_ints, new_v, new_x = np.empty(1024, np.int64), numbers.room(memory.v, 1024), np.empty(1024)
    new_ranges = np.empty((ranges.shape[0] if until < FAR else 0, 6), np.int64)
    n_ints, n_v, n_x, n_kept = 0, 0, 0, 0
    progress_array = np.zeros(8, np.int64)
    progress = raw_pointer(progress_array)
    progress[AT_EVENT] = -1
    short = -1
    while short != 0:
        m = _bundle(memory, spos, sval, trace)
        results = Records(
            raw_pointer(parts),
            raw_pointer(units),
            raw_pointer(windows),
            pointer(out_v),
            raw_pointer(out_x),
            out_n,
        )
        short = run_partitions(
            m,
            Events(
                raw_pointer(events.ts),
                raw_pointer(events.tied),
                raw_pointer(events.letter),
                raw_pointer(events.weights),
                raw_pointer(events.extremes),
                raw_pointer(events.by_letter),
            ),
            Sides(
                raw_pointer(sides.letter),
                raw_pointer(sides.letters),
                raw_pointer(sides.previous),
                raw_pointer(sides.next),
                raw_pointer(sides.columns),
                raw_pointer(sides.arguments),
            ),
            Stored(
                raw_pointer(log_entries),
                pointer(log_v),
                raw_pointer(log_x),
                raw_pointer(guard_entries),
                pointer(stored.tree_v),
                raw_pointer(stored.tree_x),
                raw_pointer(stored.places),
            ),
            results,
            Scratch(
                pointer(scratch_v),
                raw_pointer(scratch_x),
                pointer(kept_v),
                raw_pointer(kept_x),
                raw_pointer(pending),
                raw_pointer(met),
                raw_pointer(gops),
            ),
            (raw_pointer(kept[0]), pointer(kept[1]), raw_pointer(kept[2])),
            raw_pointer(ranges),
            ranges.shape[0],
            raw_pointer(redo),
            progress,
            until,
        )
        if short == ROOM_OUT:
            n, size = out_n[0], 2 * (S[at.C_ROOM] + S[at.C_WINDOWS])
            parts, units = longer(parts, n, size), longer(units, n, size)
            windows = longer(windows, n, size)
            out_v = longer_numbers(out_v, n * S[at.C_MOST], size * S[at.C_MOST])
            out_x = longer(out_x, n * S[at.C_MOST_X], size * S[at.C_MOST_X])
            S[at.C_ROOM] = size
        elif short == ROOM_SCRATCH:
            scratch_v = numbers.room(memory.v, S[at.C_SCRATCH])
        elif short == ROOM_SCRATCH_X:
            scratch_x = np.empty(S[at.C_SCRATCH_X])
        elif short == ROOM_PENDING:
            pending = np.empty(4 * S[at.C_PENDING], np.int64)
            gops = np.empty(5 * S[at.C_PENDING], np.int64)
        elif short == ROOM_KEPT:
            kept_v, kept_x = numbers.room(memory.v, S[at.C_KEPT]), np.empty(S[at.C_KEPT])
        elif short == ROOM_LOGS:
            log_entries, log_v, log_x = more_logs(P, S, log_entries, log_v, log_x)
        elif short == ROOM_GUARD_LOGS:
            guard_entries = more_guard_logs(P, S, guard_entries)
        elif short == ROOM_TRACE:
            size = 2 * (S[at.C_TRACE_ROOM] + 2 * P[at.N_UNITS] + S[at.C_WANTED])
            trace = longer(trace, TRACED * S[at.C_TRACE], TRACED * size)
            S[at.C_TRACE_ROOM] = size
        elif short == ROOM_STACKS:
            S[at.C_STACK] = 2 * S[at.C_WANTED]
            spos = np.empty(stacks * S[at.C_STACK], np.int64)
            sval = np.empty(stacks * S[at.C_STACK])
        elif short == ROOM_STATE:
            ints, values, extremes = size_of_checkpoint(m)
            if n_ints + ints > new_ints.shape[0]:
                new_ints = longer(new_ints, n_ints, 2 * (n_ints + ints))
            if n_v + values > new_v.shape[0]:
                new_v = longer_numbers(new_v, n_v, 2 * (n_v + values))
            if n_x + extremes > new_x.shape[0]:
                new_x = longer(new_x, n_x, 2 * (n_x + extremes))
            to = raw_pointer(new_ints), pointer(new_v), raw_pointer(new_x)
            save(m, Checkpoint(to[0], to[1], to[2], n_ints, n_v, n_x))
            new_ranges[n_kept, 0] = S[at.C_PART]
            new_ranges[n_kept, 3] = n_ints
            new_ranges[n_kept, 4] = n_v
            new_ranges[n_kept, 5] = n_x
            n_kept += 1
            n_ints += ints
            n_v += values
            n_x += extremes
            end_partition(m, results, raw_pointer(redo), progress)
    after = new_ranges[:n_kept], new_ints[:n_ints], new_v[:n_v], new_x[:n_x]
    found = parts, units, windows, out_v, out_x
    # An array lives until its last use by name, which must be after that of its address.
    return found, progress_array[AT_REDONE], after, trace[: TRACED * S[at.C_TRACE]]


run = kept_on_disk(_run, digest(*_USED, *Path(__file__).parent.glob("*.py")))
