"""All partitions of a batch, compiled: arrays come in here and are handed on as addresses.

Where the walk is short of room, larger arrays are made and it is called again.
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
from hamlet.kernel.rows.decision import COUNTERS
from hamlet.kernel.rows.memory import Events, Ranks, Records, Rows, Table, shape_of
from hamlet.kernel.rows.partitions import (
    AT_GIVEN_UP,
    AT_REDONE,
    BLOCK_ROOM,
    COLUMNS_ROOM,
    KEYS_ROOM,
    NODES_ROOM,
    PANES_ROOM,
    PROGRESS,
    REDO_ROOM,
    ROOM_PANES,
    ROOM_REDO,
    ROOM_STRETCH,
    ROOMS,
    SHARED_ROOM,
    TABLE_ROOM,
    TABLE_ROOM_X,
    WANTED,
    run_partitions,
)
from hamlet.kernel.rows.ranking import COUNTS
from hamlet.kernel.rows.redoing import RANGE
from hamlet.kernel.rows.snapshots import ENTRY, Basis
from hamlet.kernel.rows.stretches import STRETCH
from hamlet.kernel.rows.survey import few_of
from hamlet.kernel.rows.walk import ROOM_DECIDED, ROOM_LOG, ROOM_OUT, ROOM_SCRATCH

_FIRST_RECORDS, _FIRST_REDO = 256, 16


@inlined
def addresses_of_basis(of_numbers, of_extremes, room):
    """What the kernel is handed of snapshots.

    There is room for so many of them, of so many components and extremes.
    """
    v, born, rows, ints, log, amounts = of_numbers
    x, rows_x, amounts_x = of_extremes
    columns, components, extremes = room
    stride, stride_x = columns * components, columns * extremes
    return Basis(
        raw_pointer(v),
        raw_pointer(born),
        raw_pointer(rows[3 * stride :]),
        raw_pointer(rows[0:]),
        raw_pointer(rows[stride:]),
        raw_pointer(rows[2 * stride :]),
        raw_pointer(ints[0:]),
        raw_pointer(ints[columns:]),
        raw_pointer(ints[2 * columns :]),
        raw_pointer(log),
        pointer(amounts),
        raw_pointer(x),
        raw_pointer(rows_x[2 * stride_x :]),
        raw_pointer(rows_x[0:]),
        raw_pointer(rows_x[stride_x:]),
        raw_pointer(amounts_x),
    )


@inlined
def addresses_of_ranks(doubles, ints, counts, room):
    """What the kernel is handed of ranks, with room for so many events."""
    return Ranks(
        raw_pointer(doubles[0:]),
        raw_pointer(doubles[room:]),
        raw_pointer(doubles[2 * room :]),
        raw_pointer(ints[0:]),
        raw_pointer(ints[2 * room :]),
        raw_pointer(doubles[4 * room :]),
        raw_pointer(ints[3 * room :]),
        raw_pointer(doubles[5 * room :]),
        raw_pointer(ints[4 * room :]),
        raw_pointer(ints[5 * room :]),
        raw_pointer(ints[6 * room :]),
        raw_pointer(ints[7 * room :]),
        raw_pointer(ints[8 * room :]),
        raw_pointer(ints[9 * room :]),
        raw_pointer(counts),
        room,
    )


@inlined
def grown(progress, which):
    """Whether there has to be more room of a kind; then it is twice as much as is wanted.

    A quarter more where it is for numbers of a table: these are the long ones.
    """
    wanted = progress[which + ROOMS]
    if wanted <= progress[which]:
        return False
    is_long = which >= SHARED_ROOM
    progress[which] = wanted + wanted // 4 if is_long else 2 * wanted
    return True


@apart
def _run(
    P_array,
    ts,
    tied,
    letter,
    f,
    g,
    weights,
    extremes,
    ranges,
    zero,
    single,
    scale,
    is_traced,
    err_array,
):
    """Every window of every partition of `ranges`."""
    P, err = raw_pointer(P_array), raw_pointer(err_array)
    z = shape_of(P)
    nc, nx, row_nx = P[at.COMPONENTS], P[at.EXTREMES], P[at.ROW_EXTREMES]
    size = P[at.OVERLAP] * P[at.COLUMNS] * nc
    size_x = P[at.OVERLAP] * P[at.COLUMNS] * nx
    state = np.zeros(at.STATES, np.int64)
    S = raw_pointer(state)
    rows_v, rows_x = numbers.room(zero, (P[at.ROWS] + 1) * size), np.empty(P[at.ROWS] * size_x)
    begins = np.zeros(P[at.OVERLAP] + P[at.WINDOWS], np.int64)
    S[at.S_SCRATCH] = P[at.LAYERS]
    # One row more, to settle in
    scratch, scratch_x = (
        numbers.room(zero, (P[at.LAYERS] + 1) * size),
        np.empty((P[at.LAYERS] + 1) * size_x),
    )
    capacity = _FIRST_RECORDS + P[at.OVERLAP] * P[at.UNITS]
    S[at.S_OUT_ROOM] = capacity
    parts, units = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    windows = np.empty(capacity, np.int64)
    out_v, out_x = numbers.room(zero, capacity * nc), np.empty(capacity * nx)
    table_v, table_x = numbers.room(zero, 1), np.empty(1)
    keys, newest = np.empty(1), np.empty(1, np.int64)
    doubles, ints = np.empty(8), np.empty(12, np.int64)
    redo = np.empty(RANGE * _FIRST_REDO, np.int64)
    basis_v = numbers.room(single, 1)
    basis_rows = numbers.room(single, (P[at.LAYERS] + 3) * nc)
    basis_ints, born = np.empty(3, np.int64), np.empty(1, np.int64)
    basis_x, basis_rows_x = np.empty(1 + row_nx), np.empty((P[at.LAYERS] + 2) * row_nx)
    S[at.S_FEW] = 0 if is_traced else few_of(P)
    counters = np.zeros(COUNTERS)
    panes, cuts = np.empty(at.SURVEYED, np.int64), np.empty(STRETCH, np.int64)
    S[at.S_DECIDED_ROOM] = _FIRST_RECORDS if is_traced and P[at.SHARING] != at.OWN else 0
    decided = np.empty(at.DECIDED * max(S[at.S_DECIDED_ROOM], 1), np.int64)
    S[at.S_LOG_ROOM] = 64 + 4 * P[at.OVERLAP] * max(P[at.FEEDS], 1)
    S[at.S_AMOUNTS_ROOM] = 64 + 8 * size * max(P[at.OVERLAP], max(P[at.FEEDS], 1))
    log, amounts = (
        np.empty(ENTRY * S[at.S_LOG_ROOM], np.int64),
        numbers.room(zero, S[at.S_AMOUNTS_ROOM]),
    )
    amounts_x = np.empty(S[at.S_AMOUNTS_ROOM] // nc * nx)
    counts = np.empty(COUNTS, np.int64)
    progress_array = np.zeros(PROGRESS, np.int64)
    progress = raw_pointer(progress_array)
    progress[REDO_ROOM], progress[AT_GIVEN_UP] = _FIRST_REDO, -1
    for which in range(PANES_ROOM, WANTED):
        progress[which] = 1
    events = Events(
        raw_pointer(ts),
        raw_pointer(tied),
        raw_pointer(letter),
        raw_pointer(f),
        raw_pointer(g),
        raw_pointer(weights),
        raw_pointer(extremes),
    )
    short = -1
    while short != 0:
        columns, ranked = progress[COLUMNS_ROOM], progress[BLOCK_ROOM]
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
            raw_pointer(panes),
        )
        table = Table(
            pointer(table_v),
            raw_pointer(table_x),
            raw_pointer(keys),
            raw_pointer(newest),
            # No batch came before this one.
            raw_pointer(newest),
            raw_pointer(newest),
            raw_pointer(keys),
            pointer(table_v),
        )
        out = Records(
            raw_pointer(parts),
            raw_pointer(units),
            raw_pointer(windows),
            pointer(out_v),
            raw_pointer(out_x),
        )
        short = run_partitions(
            m,
            addresses_of_basis(
                (basis_v, born, basis_rows, basis_ints, log, amounts),
                (basis_x, basis_rows_x, amounts_x),
                (columns, nc, row_nx),
            ),
            events,
            table,
            addresses_of_ranks(doubles, ints, counts, ranked),
            out,
            raw_pointer(ranges),
            ranges.shape[0],
            raw_pointer(cuts),
            raw_pointer(redo),
            progress,
        )
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
            scratch_x = np.empty((S[at.S_SCRATCH] + 1) * size_x)
            stride = columns * nc
            basis_rows = longer(basis_rows, 3 * stride, (S[at.S_SCRATCH] + 3) * stride)
            stride = columns * row_nx
            basis_rows_x = longer(basis_rows_x, 2 * stride, (S[at.S_SCRATCH] + 2) * stride)
        elif short == ROOM_DECIDED:
            S[at.S_DECIDED_ROOM] = 2 * S[at.S_DECIDED]
            decided = longer(
                decided, S[at.S_DECIDED] * at.DECIDED, S[at.S_DECIDED_ROOM] * at.DECIDED
            )
        elif short == ROOM_LOG:
            n, n_amounts = S[at.S_ENTRIES], S[at.S_AMOUNTS]
            more = S[at.S_WANTED] * max(P[at.FEEDS], 1)
            S[at.S_LOG_ROOM] = 2 * S[at.S_LOG_ROOM] + more
            S[at.S_AMOUNTS_ROOM] = 2 * S[at.S_AMOUNTS_ROOM] + more * size
            log = longer(log, ENTRY * n, ENTRY * S[at.S_LOG_ROOM])
            amounts = longer_numbers(amounts, n_amounts, S[at.S_AMOUNTS_ROOM])
            amounts_x = longer(amounts_x, n_amounts // nc * nx, S[at.S_AMOUNTS_ROOM] // nc * nx)
        elif short == ROOM_REDO:
            n = RANGE * progress[REDO_ROOM]
            progress[REDO_ROOM] *= 2
            redo = longer(redo, n, 2 * n)
        elif short == ROOM_PANES:
            progress[PANES_ROOM] = 2 * progress[WANTED]
            panes = np.empty(at.SURVEYED * progress[PANES_ROOM], np.int64)
            cuts = np.empty(STRETCH * progress[PANES_ROOM], np.int64)
        elif short == ROOM_STRETCH:
            if grown(progress, NODES_ROOM):
                newest = np.empty(progress[NODES_ROOM], np.int64)
                born = np.empty(progress[NODES_ROOM], np.int64)
            if grown(progress, BLOCK_ROOM):
                doubles = np.empty(8 * progress[BLOCK_ROOM])
                ints = np.empty(12 * progress[BLOCK_ROOM], np.int64)
            if grown(progress, KEYS_ROOM):
                keys = np.empty(progress[KEYS_ROOM])
            if grown(progress, COLUMNS_ROOM):
                wide = progress[COLUMNS_ROOM]
                basis_rows = numbers.room(single, (S[at.S_SCRATCH] + 3) * wide * nc)
                basis_ints = np.empty(3 * wide, np.int64)
                basis_rows_x = np.empty((S[at.S_SCRATCH] + 2) * wide * row_nx)
            if grown(progress, SHARED_ROOM):
                basis_v = numbers.room(single, progress[SHARED_ROOM])
                basis_x = np.empty((progress[SHARED_ROOM] // nc + 1) * row_nx)
            if grown(progress, TABLE_ROOM):
                table_v = numbers.room(zero, progress[TABLE_ROOM])
            if grown(progress, TABLE_ROOM_X):
                table_x = np.empty(progress[TABLE_ROOM_X])
    n = S[at.S_OUT]
    # An array lives until its last use by name, which must be after that of its address.
    kept = rows_v.size + rows_x.size + begins.size + scratch.size + scratch_x.size + table_v.size
    kept += table_x.size + keys.size + newest.size + doubles.size + ints.size + state.size
    kept += P_array.size + err_array.size + weights.size + extremes.size + f.size + g.size
    kept += ts.size + tied.size + letter.size
    kept += counters.size + panes.size + cuts.size + decided.size + born.size + counts.size
    kept += ranges.size + progress_array.size
    kept += basis_v.size + basis_rows.size + basis_ints.size + log.size + amounts.size
    kept += basis_x.size + basis_rows_x.size + amounts_x.size
    again = redo[: RANGE * progress[AT_REDONE] if kept > 0 else 0]
    done = S[at.C_BURSTS], S[at.C_SHARED], S[at.C_SNAPSHOTS], S[at.C_SPLIT]
    records = parts[:n], units[:n], windows[:n], out_v[: n * nc], out_x[: n * nx]
    return records, again, done, decided[: S[at.S_DECIDED] * at.DECIDED]


# What is only Python is in no compiled function, and what streams keep is in others.
_OTHERS = (
    "automata.py",
    "batch.py",
    "classes.py",
    "disputes.py",
    "finding.py",
    "going_on.py",
    "group.py",
    "kept.py",
    "letters.py",
    "ops.py",
    "places.py",
)
COMPILED = [path for path in Path(__file__).parent.glob("*.py") if path.name not in _OTHERS]
run = kept_on_disk(_run, digest("code.py", *COMPILED))
