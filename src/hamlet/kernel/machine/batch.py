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
from hamlet.kernel.machine.capacity import more_guard_logs, more_logs
from hamlet.kernel.machine.checkpoint import Checkpoint, save, size_of_checkpoint
from hamlet.kernel.machine.memory import FAR, EventArrays, Memory, Records, Scratch, Sides, Stored
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


@inlined
def _event_addresses(events, sides):
    """The addresses of the events and of what conditions are looked up in."""
    return (
        EventArrays(
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
    )


@inlined
def _save(m, saved, row, ints, v, x):
    """Append the state of a partition to arrays that may have to become longer for it.

    `saved` has the row of the partition, and where its state begins, in the order of `ranges` of
    a batch; those of the next row are where it ends.
    """
    first, first_v, first_x = saved[row, 3], saved[row, 4], saved[row, 5]
    size, size_v, size_x = size_of_checkpoint(m)
    if first + size > ints.shape[0]:
        ints = longer(ints, first, 2 * (first + size))
    if first_v + size_v > v.shape[0]:
        v = longer_numbers(v, first_v, 2 * (first_v + size_v))
    if first_x + size_x > x.shape[0]:
        x = longer(x, first_x, 2 * (first_x + size_x))
    to = raw_pointer(ints), pointer(v), raw_pointer(x)
    save(m, Checkpoint(to[0], to[1], to[2], first, first_v, first_x))
    saved[row, 0] = m.S[at.C_PART]
    saved[row + 1, 3], saved[row + 1, 4] = first + size, first_v + size_v
    saved[row + 1, 5] = first_x + size_x
    return ints, v, x


@compiled
def _run(memory, events, sides, stored, records, until, ranges, kept, redo):
    """Run the partitions of a batch; what they write, how many were given up, state, and trace."""
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
    stacks = P[at.N_STACKS]
    new_ints, new_v, new_x = np.empty(1024, np.int64), numbers.room(memory.v, 1024), np.empty(1024)
    saved = np.zeros((1 + (ranges.shape[0] if until < FAR else 0), 6), np.int64)
    n_saved = 0
    events_at, sides_at = _event_addresses(events, sides)
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
            events_at,
            sides_at,
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
        if short == at.ROOM_OUT:
            n, size = out_n[0], 2 * (S[at.C_ROOM] + S[at.C_WINDOWS])
            parts, units = longer(parts, n, size), longer(units, n, size)
            windows = longer(windows, n, size)
            out_v = longer_numbers(out_v, n * S[at.C_MOST], size * S[at.C_MOST])
            out_x = longer(out_x, n * S[at.C_MOST_X], size * S[at.C_MOST_X])
            S[at.C_ROOM] = size
        elif short == at.ROOM_SCRATCH:
            scratch_v = numbers.room(memory.v, S[at.C_SCRATCH])
        elif short == at.ROOM_SCRATCH_X:
            scratch_x = np.empty(S[at.C_SCRATCH_X])
        elif short == at.ROOM_PENDING:
            pending = np.empty(4 * S[at.C_PENDING], np.int64)
            gops = np.empty(5 * S[at.C_PENDING], np.int64)
        elif short == at.ROOM_KEPT:
            kept_v, kept_x = numbers.room(memory.v, S[at.C_KEPT]), np.empty(S[at.C_KEPT])
        elif short == at.ROOM_LOGS:
            log_entries, log_v, log_x = more_logs(P, S, log_entries, log_v, log_x)
        elif short == at.ROOM_GUARD_LOGS:
            guard_entries = more_guard_logs(P, S, guard_entries)
        elif short == at.ROOM_TRACE:
            size = 2 * (S[at.C_TRACE_ROOM] + 2 * P[at.N_UNITS] + S[at.C_WANTED])
            trace = longer(trace, TRACED * S[at.C_TRACE], TRACED * size)
            S[at.C_TRACE_ROOM] = size
        elif short == at.ROOM_STACKS:
            S[at.C_STACK] = 2 * S[at.C_WANTED]
            spos = np.empty(stacks * S[at.C_STACK], np.int64)
            sval = np.empty(stacks * S[at.C_STACK])
        elif short == at.ROOM_STATE:
            new_ints, new_v, new_x = _save(m, saved, n_saved, new_ints, new_v, new_x)
            n_saved += 1
            end_partition(m, results, raw_pointer(redo), progress)
    end, end_v, end_x = saved[n_saved, 3], saved[n_saved, 4], saved[n_saved, 5]
    after = saved[:n_saved], new_ints[:end], new_v[:end_v], new_x[:end_x]
    written = parts, units, windows, out_v, out_x
    # An array lives until its last use by name, which must be after that of its address.
    return written, progress_array[AT_REDONE], after, trace[: TRACED * S[at.C_TRACE]]


run = kept_on_disk(_run, digest(*_USED, *Path(__file__).parent.glob("*.py")))
