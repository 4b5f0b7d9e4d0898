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
from hamlet.kernel.machine.partitions import (
    AT_EVENT,
    AT_GIVEN_UP,
    AT_REDONE,
    PROGRESS,
    end_partition,
    run_partitions,
)
from hamlet.kernel.machine.redoing import AGAIN, ask_for
from hamlet.kernel.numbers import pointer, raw_pointer
from hamlet.plan import windows

_FIRST_REDO = 16
# Modules outside this folder whose functions or constants are compiled in
_USED = ("code.py", "layout.py", "stack_code.py", "stack_machine.py", "trees.py", "windowing.py")


@compiled
def _begin_batch(P, S, room):
    """Sizes that the machine finds its way by, and no unit active."""
    S[at.C_WINDOWS], S[at.C_LONGEST] = 0, 0
    for u in range(P[at.N_UNITS]):
        S[at.C_WINDOWS] += P[P[at.U_W] + u]
        S[P[at.S_WHERE] + u] = -1
        S[P[at.S_SEEN] + u] = -1
        S[at.C_LONGEST] = max(S[at.C_LONGEST], P[P[at.U_WITHIN] + u])
    ask_for(P, S, -FAR, -FAR, FAR)
    S[at.C_ROOM] = room
    S[at.C_SCRATCH], S[at.C_SCRATCH_X], S[at.C_PENDING], S[at.C_KEPT] = 256, 256, 64, 16


@inlined
def _memory_addresses(memory, stacks, trace):
    """The addresses of what all parts of the machine work on."""
    return Memory(
        raw_pointer(memory.P),
        raw_pointer(memory.S),
        pointer(memory.v),
        raw_pointer(memory.x),
        raw_pointer(memory.zf),
        raw_pointer(memory.zs),
        raw_pointer(stacks[0]),
        raw_pointer(stacks[1]),
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
            raw_pointer(sides.previous_bits),
            raw_pointer(sides.next_bits),
            raw_pointer(sides.columns),
            raw_pointer(sides.arguments),
        ),
    )


@inlined
def _stored_addresses(stored, logs, guard_entries):
    """The addresses of events kept one by one."""
    return Stored(
        raw_pointer(logs[0]),
        pointer(logs[1]),
        raw_pointer(logs[2]),
        raw_pointer(guard_entries),
        pointer(stored.tree_v),
        raw_pointer(stored.tree_x),
        raw_pointer(stored.places),
    )


@inlined
def _record_addresses(written, n):
    """The addresses of results."""
    part, unit, window, v, x = written
    return Records(
        raw_pointer(part),
        raw_pointer(unit),
        raw_pointer(window),
        pointer(v),
        raw_pointer(x),
        raw_pointer(n),
    )


@inlined
def _scratch_addresses(scratch):
    """The addresses of room for one step."""
    v, x, kept, kept_x, pending, met, gops = scratch
    return Scratch(
        pointer(v),
        raw_pointer(x),
        pointer(kept),
        raw_pointer(kept_x),
        raw_pointer(pending),
        raw_pointer(met),
        raw_pointer(gops),
    )


# Larger arrays


@inlined
def _new_scratch(P, S, v):
    """Room for one step, as much as is wanted; what it had is of no use any more."""
    return (
        numbers.room(v, S[at.C_SCRATCH]),
        np.empty(S[at.C_SCRATCH_X]),
        numbers.room(v, S[at.C_KEPT]),
        np.empty(S[at.C_KEPT]),
        np.empty(4 * S[at.C_PENDING], np.int64),
        np.empty(P[at.N_UNITS], np.int64),
        np.empty(5 * S[at.C_PENDING], np.int64),
    )


@inlined
def _new_stacks(P, S):
    """Stacks of extremes for a longer partition, before it begins."""
    S[at.C_STACK] = 2 * S[at.C_WANTED]
    size = P[at.N_STACKS] * S[at.C_STACK]
    return np.empty(size, np.int64), np.empty(size)


@inlined
def _more_records(S, written, n):
    """Room for more results, with those that there are."""
    part, unit, window, v, x = written
    size, most, most_x = 2 * (S[at.C_ROOM] + S[at.C_WINDOWS]), S[at.C_MOST], S[at.C_MOST_X]
    S[at.C_ROOM] = size
    return (
        longer(part, n, size),
        longer(unit, n, size),
        longer(window, n, size),
        longer_numbers(v, n * most, size * most),
        longer(x, n * most_x, size * most_x),
    )


@inlined
def _more_trace(P, S, trace):
    """Room for more of what is decided, with what there is."""
    size = 2 * (S[at.C_TRACE_ROOM] + 2 * P[at.N_UNITS] + S[at.C_WANTED])
    S[at.C_TRACE_ROOM] = size
    return longer(trace, TRACED * S[at.C_TRACE], TRACED * size)


@inlined
def _save(m, saved, row, state):
    """Append the state of a partition to arrays that may have to become longer for it.

    `saved` has the row of the partition, and where its state begins, in the order of `ranges` of
    a batch; those of the next row are where it ends.
    """
    ints, v, x = state
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
def _run(memory, events, sides, stored, records, until, ranges, limits, kept):
    """Run the partitions of a batch; what they write, what was given up, state, and trace.

    An array lives until its last use by name, which must be after that of its address.
    """
    P, S = raw_pointer(memory.P), raw_pointer(memory.S)
    _begin_batch(P, S, records.part.shape[0])
    written = records.part, records.unit, records.window, records.v, records.x
    logs, guard_entries = (stored.entries, stored.v, stored.x), stored.guard_entries
    stacks, trace = (memory.spos, memory.sval), memory.trace
    scratch = _new_scratch(P, S, memory.v)
    state = np.empty(1024, np.int64), numbers.room(memory.v, 1024), np.empty(1024)
    saved = np.zeros((1 + (ranges.shape[0] if until < FAR else 0), 6), np.int64)
    redo, redo_room = np.empty(AGAIN * _FIRST_REDO, np.int64), _FIRST_REDO
    progress_array = np.zeros(PROGRESS, np.int64)
    progress_array[AT_EVENT] = progress_array[AT_GIVEN_UP] = -1
    progress = raw_pointer(progress_array)
    events_at, sides_at = _event_addresses(events, sides)
    n_saved, short = 0, -1
    while short != 0:
        m = _memory_addresses(memory, stacks, trace)
        results = _record_addresses(written, records.n)
        short = run_partitions(
            m,
            events_at,
            sides_at,
            _stored_addresses(stored, logs, guard_entries),
            results,
            _scratch_addresses(scratch),
            (raw_pointer(kept[0]), pointer(kept[1]), raw_pointer(kept[2])),
            raw_pointer(ranges),
            ranges.shape[0],
            raw_pointer(limits),
            raw_pointer(redo),
            redo_room,
            progress,
            until,
        )
        if short == at.ROOM_STATE:
            state = _save(m, saved, n_saved, state)
            n_saved += 1
            end_partition(
                m, results, raw_pointer(ranges), raw_pointer(limits), raw_pointer(redo), progress
            )
        elif short == at.ROOM_REDO:
            redo_room *= 2
            redo = longer(redo, redo_room // 2 * AGAIN, redo_room * AGAIN)
        elif short == at.ROOM_OUT:
            written = _more_records(S, written, records.n[0])
        elif short == at.ROOM_LOGS:
            logs = more_logs(P, S, logs)
        elif short == at.ROOM_GUARD_LOGS:
            guard_entries = more_guard_logs(P, S, guard_entries)
        elif short == at.ROOM_STACKS:
            stacks = _new_stacks(P, S)
        elif short == at.ROOM_TRACE:
            trace = _more_trace(P, S, trace)
        elif short != 0:
            scratch = _new_scratch(P, S, memory.v)
    ends = saved[n_saved]
    after = saved[:n_saved], state[0][: ends[3]], state[1][: ends[4]], state[2][: ends[5]]
    given_up = redo[: AGAIN * progress_array[AT_REDONE] + 0 * (ranges.size + limits.size)]
    return written, given_up, after, trace[: TRACED * S[at.C_TRACE]]


run = kept_on_disk(_run, digest(*_USED, windows.__file__, *Path(__file__).parent.glob("*.py")))
