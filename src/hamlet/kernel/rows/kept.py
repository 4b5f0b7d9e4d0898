"""All partitions of a batch of a stream, compiled: each goes on from what was kept of it.

What is kept of a partition lies in three arrays that many partitions have in common: integers,
doubles and numbers. It begins with a *head* in the integers, which says where all else is: running
totals, and runs of stored events (runs.py). A batch adds runs and a head at the end of the arrays;
runs that it leaves as they are stay where they are. What is no longer told of by any head is a gap,
and whoever has the arrays closes gaps now and then: `moved` is for that.

Rows have own columns here, and tables are trees within a batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.cache_key import digest
from hamlet.kernel.growth import longer, longer_numbers
from hamlet.kernel.jit import apart, inlined, kept_on_disk
from hamlet.kernel.numbers import pointer, raw_pointer
from hamlet.kernel.rows import layout as at
from hamlet.kernel.rows.blocks import turn_block
from hamlet.kernel.rows.cells import copy_cells
from hamlet.kernel.rows.decision import COUNTERS
from hamlet.kernel.rows.kernel import COMPILED, addresses_of_basis, addresses_of_ranks
from hamlet.kernel.rows.memory import Events, Records, Rows, Table, row_size, shape_of
from hamlet.kernel.rows.partitions import begin_basis, begin_partition
from hamlet.kernel.rows.ranking import COUNTS
from hamlet.kernel.rows.runs import (
    MOST_RUNS,
    R_DOUBLES,
    R_EXTREMES,
    R_INTS,
    R_KEYS,
    R_NEWEST,
    R_NUMBERS,
    RUN,
    merges,
    move_run,
    run_of_nodes,
    run_of_two,
)
from hamlet.kernel.rows.survey import survey_own
from hamlet.kernel.rows.tree import add_up, node_of
from hamlet.kernel.rows.walk import ROOM_OUT, ROOM_SCRATCH, step
from hamlet.kernel.rows.windows import close_all, empty_all, roll
from hamlet.kernel.stopping import STOPPED

# The head: how much all of it takes, the first and the last window that are open, the time of the
# last event, where running totals are and how many, the size of a row, lengths of windows and runs.
# After it come, by length and slide of windows, the first that has not been closed, and the runs.
(
    H_INTS,
    H_DOUBLES,
    H_NUMBERS,
    H_LO,
    H_HI,
    H_LAST,
    H_AT_DOUBLES,
    H_AT_NUMBERS,
    H_OWN_DOUBLES,
    H_OWN_NUMBERS,
    H_WHOLE,
    H_WHOLE_X,
    H_WINDOWS,
    H_RUNS,
    HEAD,
) = range(15)
_FIRST_RECORDS = 256
# There is too little room for what is kept.
_ROOM_KEPT = 6
# Instead of a deadline, and of a head: there is none
NEVER = 2**63 - 1
NOTHING = -1
# Of times: the end of the stream.
_FAR = 1 << 61


@inlined
def _load(m, table, head):
    """Take up a partition where `_put_away` has left it."""
    P, S, ints = m.P, m.S, table.kept_ints
    whole, whole_x = row_size(m)
    S[at.S_LO], S[at.S_HI], S[at.S_OWN_HI] = ints[head + H_LO], ints[head + H_HI], ints[head + H_HI]
    copy_cells(m.v, 0, table.kept_numbers, ints[head + H_AT_NUMBERS], (P[at.ROWS] + 1) * whole)
    for k in range(P[at.ROWS] * whole_x):
        m.x[k] = table.kept_doubles[ints[head + H_AT_DOUBLES] + k]
    for kind in range(P[at.WINDOWS]):
        m.begins[m.z.overlap + kind] = ints[head + HEAD + kind]
    S[at.S_RUNS] = ints[head + H_RUNS]
    for k in range(S[at.S_RUNS] * RUN):
        table.runs[k] = ints[head + HEAD + P[at.WINDOWS] + k]


@apart
def _walk(m, b, events, table, ranks, out, part, i, end, last):
    """Walk through the events of a partition from i on, until its end or until room is short.

    Returns where it stands, what it needs more of, and the time of the last event that mattered.
    """
    P, S, z = m.P, m.S, m.z
    while i < end:
        j = i + 1
        known = P[P[at.KNOWN] + events.letter[i]]
        while j < end and events.tied[j] == 1:
            known |= P[P[at.KNOWN] + events.letter[j]]
            j += 1
        if known == 0:
            i = j
            continue
        ts = events.ts[i]
        if ts >= S[at.S_DUE]:
            if S[at.S_OUT] + z.overlap * z.units > S[at.S_OUT_ROOM]:
                return i, ROOM_OUT, last
            roll(m, b, out, part, ts)
            _drop_runs(m, table)
        if (j - i) * z.layers > S[at.S_SCRATCH]:
            S[at.S_WANTED] = (j - i) * z.layers
            return i, ROOM_SCRATCH, last
        if known & at.LOOPS and ts >= S[at.S_BLOCK_END]:
            turn_block(m, b, events, table, ranks, i, ts)
        step(m, b, events, table, ranks, i, j, known)
        if m.err[0] != 0:
            return i, 0, last
        last = ts
        i = j
    return i, 0, last


@inlined
def _drop_runs(m, table):
    """Drop runs that have nothing of an open window."""
    S, runs, n = m.S, table.runs, 0
    for run in range(0, S[at.S_RUNS] * RUN, RUN):
        if runs[run + R_NEWEST] >= S[at.S_LO]:
            for k in range(RUN):
                runs[n * RUN + k] = runs[run + k]
            n += 1
    S[at.S_RUNS] = n


@inlined
def _deadline(m, last):
    """When the first window ends that may hold something; NEVER where there is none."""
    P, found = m.P, NEVER
    for kind in range(P[at.WINDOWS]):
        step, first = P[P[at.WINDOW_STEP] + kind], P[P[at.WINDOW_FROM] + kind]
        window = m.begins[m.z.overlap + kind]
        window += (first - window) % step
        if window * m.z.slide <= last:
            found = min(found, window * m.z.slide + P[P[at.WINDOW_WITHIN] + kind])
    return found


@inlined
def _room_for_kept(m, table):
    """How many keys of runs, all that are made on the way, and how much of all it may take."""
    S, runs = m.S, table.runs
    count = S[at.S_RUNS]
    keys = S[at.S_LEAVES] + S[at.S_LEAVES_BEFORE]
    most = 3 * keys
    merged = merges(runs, count, keys) if keys > 0 else 0
    for k in range(merged):
        keys += runs[(count - 1 - k) * RUN + R_KEYS]
        most += keys
    return most


@apart
def _put_away(m, table, ranks, events, first, end, last, used):
    """Keep what there is of a partition: a head, or NOTHING where all is over."""
    P, S, runs, ints = m.P, m.S, table.runs, table.kept_ints
    if _deadline(m, last) == NEVER:
        return NOTHING
    _keep_stored(m, table, ranks, events, first, end, used)
    whole, whole_x = row_size(m)
    own, own_x = (P[at.ROWS] + 1) * whole, P[at.ROWS] * whole_x
    head, n = used[0], S[at.S_RUNS]
    size = HEAD + P[at.WINDOWS] + n * RUN
    total, total_x, total_v = size, own_x, own
    for run in range(0, n * RUN, RUN):
        total += 2 * runs[run + R_KEYS]
        total_x += runs[run + R_KEYS] * (1 + whole_x)
        total_v += runs[run + R_KEYS] * whole
    ints[head + H_INTS], ints[head + H_DOUBLES], ints[head + H_NUMBERS] = total, total_x, total_v
    ints[head + H_LO], ints[head + H_HI], ints[head + H_LAST] = S[at.S_LO], S[at.S_HI], last
    ints[head + H_AT_DOUBLES], ints[head + H_AT_NUMBERS] = used[1], used[2]
    ints[head + H_OWN_DOUBLES], ints[head + H_OWN_NUMBERS] = own_x, own
    ints[head + H_WHOLE], ints[head + H_WHOLE_X] = whole, whole_x
    ints[head + H_WINDOWS], ints[head + H_RUNS] = P[at.WINDOWS], n
    for kind in range(P[at.WINDOWS]):
        ints[head + HEAD + kind] = m.begins[m.z.overlap + kind]
    for k in range(n * RUN):
        ints[head + HEAD + P[at.WINDOWS] + k] = runs[k]
    for k in range(own):
        if not numbers.is_safe(m.v, k):
            m.err[0] = 1
    copy_cells(table.kept_numbers, used[2], m.v, 0, own)
    for k in range(own_x):
        table.kept_doubles[used[1] + k] = m.x[k]
    used[0] += size
    used[1] += own_x
    used[2] += own
    return head


@inlined
def _keep_stored(m, table, ranks, events, first, end, used):
    """Make a run of the events that the batch has stored, with those runs that it outgrows."""
    S, runs, z = m.S, table.runs, m.z
    count, half = S[at.S_RUNS], S[at.S_HALF]
    keys = S[at.S_LEAVES] + S[at.S_LEAVES_BEFORE]
    if S[at.S_BLOCK] == at.NO_BLOCK or keys == 0:
        return
    merged = merges(runs, count, keys)
    begin0, begin1, begin2 = used[0], used[1], used[2]
    # What is made on the way is told of after all runs.
    made, spare = count * RUN, (count + 1) * RUN
    if z.operator != at.EQUAL:
        add_up(m, table, half, 0, S[at.S_LEAVES])
    last = ranks.spare_items
    _last_windows(m, ranks, events, first, end, last)
    run_of_nodes(
        m,
        table,
        runs,
        made,
        ranks.keys,
        ranks.same,
        half * ranks.room,
        S[at.S_LEAVES],
        last,
        node_of(m, half, 0, 0),
        used,
    )
    if S[at.S_LEAVES_BEFORE] > 0:
        # Which window each event of the block before is last in is not known any more: as its sum.
        n, nodes = S[at.S_LEAVES_BEFORE], node_of(m, 1 - half, 0, 0)
        for k in range(n):
            last[k] = table.newest[nodes + k + 1]
        run_of_nodes(
            m,
            table,
            runs,
            spare,
            ranks.keys,
            ranks.same,
            (1 - half) * ranks.room,
            n,
            last,
            nodes,
            used,
        )
        run_of_two(m, table, runs, spare + RUN, made, spare, used)
        _copy_run(runs, made, spare + RUN)
    for k in range(merged):
        run_of_two(m, table, runs, spare, (count - 1 - k) * RUN, made, used)
        _copy_run(runs, made, spare)
    used[0], used[1], used[2] = begin0, begin1, begin2
    if runs[made + R_KEYS] > 0:
        move_run(m, table, runs, made, used)
        for k in range(runs[made + R_KEYS] * z.whole):
            if not numbers.is_safe(table.kept_numbers, runs[made + R_NUMBERS] + k):
                m.err[0] = 1
        _copy_run(runs, (count - merged) * RUN, made)
        S[at.S_RUNS] = count - merged + 1
    else:
        S[at.S_RUNS] = count - merged


@inlined
def _copy_run(runs, to, source):
    for k in range(RUN):
        runs[to + k] = runs[source + k]


@inlined
def _last_windows(m, ranks, events, first, end, last):
    """Find for each place of the block at hand the last window that its event is in."""
    P, S, q = m.P, m.S, 0
    for k in range(S[at.S_LEAVES]):
        last[k] = S[at.S_LO] - 1
    begin = S[at.S_BLOCK] * m.z.within
    for i in range(first, end):
        if events.ts[i] >= begin and P[P[at.IS_LOOP] + events.letter[i]] == 1:
            place = ranks.place[q]
            if place >= 0:
                last[place] = max(last[place], events.ts[i] // m.z.slide)
            q += 1


@apart
def _run_kept(
    P_array,
    ts,
    tied,
    letter,
    f,
    g,
    weights,
    extremes,
    ranges,
    heads,
    until,
    zero,
    single,
    scale,
    kept_ints,
    kept_doubles,
    kept_numbers,
    used_array,
    err_array,
):
    """Go on with each partition of `ranges` from its head, and close what ends by a time.

    Heads are written anew, and `ranges` gets deadlines and, in the columns after, how much is kept.
    """
    P, err, used = raw_pointer(P_array), raw_pointer(err_array), raw_pointer(used_array)
    z = shape_of(P)
    nc, nx = P[at.COMPONENTS], P[at.EXTREMES]
    size = P[at.OVERLAP] * P[at.COLUMNS] * nc
    size_x = P[at.OVERLAP] * P[at.COLUMNS] * nx
    state = np.zeros(at.STATES, np.int64)
    S = raw_pointer(state)
    rows_v, rows_x = numbers.room(zero, (P[at.ROWS] + 1) * size), np.empty(P[at.ROWS] * size_x)
    begins = np.zeros(P[at.OVERLAP] + P[at.WINDOWS], np.int64)
    S[at.S_SCRATCH] = P[at.LAYERS]
    scratch, scratch_x = (
        numbers.room(zero, (P[at.LAYERS] + 1) * size),
        np.empty(P[at.LAYERS] * size_x),
    )
    capacity = _FIRST_RECORDS + P[at.OVERLAP] * P[at.UNITS]
    S[at.S_OUT_ROOM] = capacity
    parts, units = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    windows = np.empty(capacity, np.int64)
    out_v, out_x = numbers.room(zero, capacity * nc), np.empty(capacity * nx)
    table_v, table_x = numbers.room(zero, 1), np.empty(1)
    table_room, table_room_x = 1, 1
    keys, newest, born = np.empty(1), np.empty(1, np.int64), np.empty(1, np.int64)
    doubles, ints, ranked = np.empty(8), np.empty(12, np.int64), 1
    redo = np.empty(ranges.shape[0], np.int32)
    redone = 0
    basis_v = numbers.room(single, 1)
    basis_rows = numbers.room(single, (P[at.LAYERS] + 3) * nc)
    basis_ints, none = np.empty(3, np.int64), np.empty(1)
    counters = np.zeros(COUNTERS)
    decided = np.empty(at.DECIDED, np.int64)
    log, amounts = np.empty(8, np.int64), numbers.room(zero, 1)
    counts = np.empty(COUNTS, np.int64)
    runs = np.empty((MOST_RUNS + 4) * RUN, np.int64)
    ranks = addresses_of_ranks(doubles, ints, counts, ranked)
    basis = addresses_of_basis(
        (basis_v, born, basis_rows, basis_ints, log, amounts), (none, none, none), (1, nc, 0)
    )
    for r in range(ranges.shape[0]):
        part, i, end = ranges[r, 0], ranges[r, 1], ranges[r, 2]
        begin, of_block = i, 0
        if end > i:
            of_block = survey_own(P, raw_pointer(ts), raw_pointer(letter), i, end).of_block
        cells = 2 * (of_block + 1)
        if cells > newest.shape[0]:
            newest, born = np.empty(2 * cells, np.int64), np.empty(2 * cells, np.int64)
            basis = addresses_of_basis(
                (basis_v, born, basis_rows, basis_ints, log, amounts),
                (none, none, none),
                (1, nc, 0),
            )
        if of_block > ranked:
            ranked = 2 * of_block
            doubles = np.empty(8 * ranked)
            ints = np.empty(12 * ranked, np.int64)
            ranks = addresses_of_ranks(doubles, ints, counts, ranked)
        if cells * size > table_room:
            table_room = cells * size + cells * size // 4
            table_v = numbers.room(zero, table_room)
        if cells * size_x > table_room_x:
            table_room_x = cells * size_x + cells * size_x // 4
            table_x = np.empty(table_room_x)
        begin_partition(S, 1, 0, of_block, end)
        begins[P[at.OVERLAP] :] = at.NO_BLOCK + 1
        begin_basis(S, 0, 1, 0)
        begun = S[at.S_OUT]
        free0, free1, free2 = used[0], used[1], used[2]
        err[0] = 0
        if err[STOPPED] != 0:
            break
        head, last, short, is_begun = heads[r], at.NO_BLOCK, -1, False
        is_over = False
        while short != 0:
            m = Rows(
                P,
                z,
                S,
                pointer(rows_v),
                raw_pointer(rows_x),
                pointer(scratch),
                raw_pointer(scratch_x),
                raw_pointer(begins),
                err,
                scale,
                raw_pointer(counters),
                raw_pointer(decided),
                raw_pointer(begins),  # nothing is surveyed
            )
            events = Events(
                raw_pointer(ts),
                raw_pointer(tied),
                raw_pointer(letter),
                raw_pointer(f),
                raw_pointer(g),
                raw_pointer(weights),
                raw_pointer(extremes),
            )
            table = Table(
                pointer(table_v),
                raw_pointer(table_x),
                raw_pointer(keys),
                raw_pointer(newest),
                raw_pointer(runs),
                raw_pointer(kept_ints),
                raw_pointer(kept_doubles),
                pointer(kept_numbers),
            )
            out = Records(
                raw_pointer(parts),
                raw_pointer(units),
                raw_pointer(windows),
                pointer(out_v),
                raw_pointer(out_x),
            )
            if not is_begun:
                is_begun = True
                if head >= 0:
                    _load(m, table, head)
                    last = kept_ints[head + H_LAST]
                else:
                    empty_all(m)
            if i < end:
                i, short, last = _walk(m, basis, events, table, ranks, out, part, i, end, last)
            else:
                short = 0
            if short == 0 and err[0] == 0 and not is_over and last > at.NO_BLOCK:
                if S[at.S_OUT] + z.overlap * z.units > S[at.S_OUT_ROOM]:
                    short = ROOM_OUT
                elif until >= _FAR:
                    close_all(m, basis, out, part)
                    is_over = True
                elif until >= S[at.S_DUE]:
                    roll(m, basis, out, part, until)
                    is_over = True
            if short == 0 and err[0] == 0 and last > at.NO_BLOCK:
                is_over = True
                heads[r] = NOTHING
                if until < _FAR:
                    _drop_runs(m, table)
                    most = _room_for_kept(m, table)
                    wanted0 = used[0] + 2 * most + HEAD + P[at.WINDOWS] + (MOST_RUNS + 4) * RUN
                    wanted1 = used[1] + most * (1 + size_x) + P[at.ROWS] * size_x
                    wanted2 = used[2] + most * size + (P[at.ROWS] + 1) * size
                    if wanted0 > kept_ints.shape[0]:
                        kept_ints = longer(kept_ints, used[0], 2 * wanted0)
                        short = _ROOM_KEPT
                    if wanted1 > kept_doubles.shape[0]:
                        kept_doubles = longer(kept_doubles, used[1], 2 * wanted1)
                        short = _ROOM_KEPT
                    if wanted2 > kept_numbers.shape[0]:
                        kept_numbers = longer_numbers(kept_numbers, used[2], 2 * wanted2)
                        short = _ROOM_KEPT
                    if short == 0:
                        heads[r] = _put_away(m, table, ranks, events, begin, end, last, used)
            if short == ROOM_OUT:
                n, capacity = S[at.S_OUT], 2 * S[at.S_OUT_ROOM]
                parts, units = longer(parts, n, capacity), longer(units, n, capacity)
                windows = longer(windows, n, capacity)
                out_v = longer_numbers(out_v, n * nc, capacity * nc)
                out_x = longer(out_x, n * nx, capacity * nx)
                S[at.S_OUT_ROOM] = capacity
            elif short == ROOM_SCRATCH:
                S[at.S_SCRATCH] = 2 * S[at.S_WANTED]
                scratch = numbers.room(zero, (S[at.S_SCRATCH] + 1) * size)
                scratch_x = np.empty(S[at.S_SCRATCH] * size_x)
        for k in range(3, 7):
            ranges[r, k] = 0
        ranges[r, 3] = NEVER
        if err[0] != 0:
            S[at.S_OUT] = begun
            used[0], used[1], used[2] = free0, free1, free2
            redo[redone] = r
            redone += 1
        elif heads[r] >= 0 and last > at.NO_BLOCK:
            m = Rows(
                P,
                z,
                S,
                pointer(rows_v),
                raw_pointer(rows_x),
                pointer(scratch),
                raw_pointer(scratch_x),
                raw_pointer(begins),
                err,
                scale,
                raw_pointer(counters),
                raw_pointer(decided),
                raw_pointer(begins),  # nothing is surveyed
            )
            ranges[r, 3] = _deadline(m, last)
            for k in range(3):
                ranges[r, 4 + k] = kept_ints[heads[r] + k]
    n = S[at.S_OUT]
    # An array lives until its last use by name, which must be after that of its address.
    alive = rows_v.size + rows_x.size + begins.size + scratch.size + scratch_x.size + table_v.size
    alive += table_x.size + keys.size + newest.size + doubles.size + ints.size + state.size
    alive += P_array.size + err_array.size + weights.size + extremes.size + f.size + g.size
    alive += ts.size + tied.size + letter.size + counters.size + decided.size + born.size
    alive += counts.size + basis_v.size + basis_rows.size + basis_ints.size + log.size
    alive += none.size
    alive += (
        amounts.size
        + runs.size
        + used_array.size
        + kept_ints.size
        + kept_doubles.size
        + kept_numbers.size
    )
    again = redo[: redone if alive > 0 else 0]
    records = parts[:n], units[:n], windows[:n], out_v[: n * nc], out_x[: n * nx]
    return records, again, (kept_ints, kept_doubles, kept_numbers)


@apart
def _moved(ints, doubles, values, words, heads, to_ints, to_doubles, to_values, used, new_heads):
    """Copy what some heads tell of to the end of other arrays, without gaps.

    Numbers are given as integers of 64 bits, so many words each.
    """
    for k in range(len(heads)):
        head = heads[k]
        runs = head + HEAD + ints[head + H_WINDOWS]
        size = HEAD + ints[head + H_WINDOWS] + ints[head + H_RUNS] * RUN
        to, to_x, to_v = used[0], used[1], used[2]
        new_heads[k] = to
        for i in range(size):
            to_ints[to + i] = ints[head + i]
        own_x, own = ints[head + H_OWN_DOUBLES], ints[head + H_OWN_NUMBERS]
        for i in range(own_x):
            to_doubles[to_x + i] = doubles[ints[head + H_AT_DOUBLES] + i]
        for i in range(own * words):
            to_values[to_v * words + i] = values[ints[head + H_AT_NUMBERS] * words + i]
        to_ints[to + H_AT_DOUBLES], to_ints[to + H_AT_NUMBERS] = to_x, to_v
        at_i, at_x, at_v = to + size, to_x + own_x, to_v + own
        whole, whole_x = ints[head + H_WHOLE], ints[head + H_WHOLE_X]
        for r in range(ints[head + H_RUNS]):
            run = runs + r * RUN
            new = to + (run - head)
            n = ints[run + R_KEYS]
            to_ints[new + R_INTS], to_ints[new + R_DOUBLES] = at_i, at_x
            to_ints[new + R_EXTREMES], to_ints[new + R_NUMBERS] = at_x + n, at_v
            for i in range(2 * n):
                to_ints[at_i + i] = ints[ints[run + R_INTS] + i]
            for i in range(n):
                to_doubles[at_x + i] = doubles[ints[run + R_DOUBLES] + i]
            for i in range(n * whole_x):
                to_doubles[at_x + n + i] = doubles[ints[run + R_EXTREMES] + i]
            for i in range(n * whole * words):
                to_values[at_v * words + i] = values[ints[run + R_NUMBERS] * words + i]
            at_i, at_x, at_v = at_i + 2 * n, at_x + n * (1 + whole_x), at_v + n * whole
        used[0], used[1], used[2] = at_i, at_x, at_v


_KEY = digest("code.py", *COMPILED, Path(__file__))
run_kept = kept_on_disk(_run_kept, _KEY)
moved = kept_on_disk(_moved, _KEY)
