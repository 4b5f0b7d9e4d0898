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
from hamlet.kernel.rows.cells import PAD
from hamlet.kernel.rows.decision import COUNTERS, begin_counting, begin_stretch
from hamlet.kernel.rows.memory import Events, Ranks, Records, Rows, Table, shape_of
from hamlet.kernel.rows.ranking import COUNTS
from hamlet.kernel.rows.scan import end_keys
from hamlet.kernel.rows.snapshots import ENTRY, Basis
from hamlet.kernel.rows.stretches import (
    A_TREE,
    FIRST,
    FROM,
    LAST,
    OVER_SNAPSHOTS,
    WAY,
    event_from,
    only_stretch,
    stretches,
    tossed_stretches,
    way_of,
)
from hamlet.kernel.rows.survey import column_room, panes_of, survey, survey_own
from hamlet.kernel.rows.tree import sides_of
from hamlet.kernel.rows.walk import ROOM_DECIDED, ROOM_LOG, ROOM_OUT, ROOM_SCRATCH, walk
from hamlet.kernel.rows.windows import empty_all
from hamlet.kernel.stopping import STOPPED

_FIRST_RECORDS = 256


@inlined
def begin_partition(S, is_tree, room, most, end):
    """No window open, nothing stored."""
    S[at.S_LO], S[at.S_HI], S[at.S_DUE] = at.NO_BLOCK + 1, at.NO_BLOCK, at.NO_BLOCK
    S[at.S_IS_TREE], S[at.S_STORED], S[at.S_ROOM] = is_tree, 0, room
    S[at.S_BLOCK], S[at.S_BLOCK_END], S[at.S_HALF], S[at.S_NEXT] = at.NO_BLOCK, at.NO_BLOCK, 0, 0
    S[at.S_OPEN], S[at.S_PLACE] = 0, 0
    S[at.S_LEAVES], S[at.S_LEAVES_BEFORE], S[at.S_MOST] = 0, 0, most
    S[at.S_END], S[at.S_RUNS] = end, 0
    S[at.S_FIRST], S[at.S_LAST], S[at.S_TAIL], S[at.S_PLANNED] = -at.FAR, at.FAR, at.FAR, 0


@inlined
def begin_basis(S, mode, columns, coin):
    """No snapshot, and nothing that came in."""
    S[at.S_MODE], S[at.S_COLUMN_ROOM], S[at.S_COIN] = mode, columns, coin
    S[at.S_OWN_HI], S[at.S_OWN_OPEN] = at.NO_BLOCK, 0
    S[at.S_DIRTY], S[at.S_READABLE], S[at.S_FORCED] = 0, 0, 0
    S[at.S_OLDEST], S[at.S_BIRTHS], S[at.S_FIRST_COLUMN], S[at.S_UNSETTLED] = 0, 0, 0, 0
    S[at.S_HAND] = -1
    S[at.S_BASE], S[at.S_BASE_BEFORE], S[at.S_BLOCK_BIRTHS] = 0, 0, 0
    S[at.S_STRIDE], S[at.S_STRIDE_BEFORE] = 0, 0
    S[at.S_FIRST_ENTRY], S[at.S_DATED], S[at.S_ENTRIES], S[at.S_AMOUNTS] = 0, 0, 0, 0


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
    table_room, table_room_x = 1, 1
    keys, newest = np.empty(1), np.empty(1, np.int64)
    doubles, ints, ranked = np.empty(8), np.empty(12, np.int64), 1
    redo = np.empty(ranges.shape[0], np.int32)
    redone = 0
    basis_v, basis_room = numbers.room(single, 1), 1
    basis_rows, columns = numbers.room(single, (P[at.LAYERS] + 3) * nc), 1
    basis_ints, born = np.empty(3, np.int64), np.empty(1, np.int64)
    basis_x, basis_rows_x = np.empty(1), np.empty((P[at.LAYERS] + 2) * row_nx)
    can_share = P[at.SHARING] != at.OWN
    counters = np.zeros(COUNTERS)
    panes = np.empty(at.SURVEYED, np.int64)
    S[at.S_DECIDED_ROOM] = _FIRST_RECORDS if is_traced and can_share else 0
    decided = np.empty(at.DECIDED * max(S[at.S_DECIDED_ROOM], 1), np.int64)
    S[at.S_LOG_ROOM] = 64 + 4 * P[at.OVERLAP] * max(P[at.FEEDS], 1)
    S[at.S_AMOUNTS_ROOM] = 64 + 8 * size * max(P[at.OVERLAP], max(P[at.FEEDS], 1))
    log, amounts = (
        np.empty(ENTRY * S[at.S_LOG_ROOM], np.int64),
        numbers.room(zero, S[at.S_AMOUNTS_ROOM]),
    )
    amounts_x = np.empty(S[at.S_AMOUNTS_ROOM] // nc * nx)
    basis = addresses_of_basis(
        (basis_v, born, basis_rows, basis_ints, log, amounts),
        (basis_x, basis_rows_x, amounts_x),
        (columns, nc, row_nx),
    )
    counts = np.empty(COUNTS, np.int64)
    ranks = addresses_of_ranks(doubles, ints, counts, ranked)
    for r in range(ranges.shape[0]):
        part, first_event, end_event = ranges[r, 0], ranges[r, 1], ranges[r, 2]
        if err[STOPPED] != 0:
            break
        if can_share:
            wanted = at.SURVEYED * panes_of(P, raw_pointer(ts), first_event, end_event)
            if wanted > panes.shape[0]:
                panes = np.empty(2 * wanted, np.int64)
            found = survey(
                P,
                raw_pointer(ts),
                raw_pointer(tied),
                raw_pointer(letter),
                first_event,
                end_event,
                raw_pointer(panes),
                ranges[r, 4],
            )
            S[at.C_BURSTS] += found.births
        else:
            found = survey_own(P, raw_pointer(ts), raw_pointer(letter), first_event, end_event)
        live, of_block = found.live, found.of_block
        first, last = ranges[r, 3], ranges[r, 4]
        if P[at.SHARING] == at.BY_BENEFIT:
            cuts = stretches(P, raw_pointer(panes), found.panes, first, last)
        elif P[at.SHARING] == at.BY_COIN:
            coin = part + P[at.SEED]
            cuts = tossed_stretches(P, raw_pointer(panes), found.panes, first, last, coin)
        else:
            cuts = only_stretch(first, last, way_of(P, found, can_share, part))
        begun = S[at.S_OUT]
        err[0] = 0
        for c in range(cuts.shape[0]):
            if err[STOPPED] != 0 or err[0] != 0:
                break
            is_tree, shared = cuts[c, WAY] & A_TREE != 0, cuts[c, WAY] & OVER_SNAPSHOTS != 0
            i, end, tail = first_event, end_event, at.FAR
            if c > 0:
                i = panes[at.SURVEYED * cuts[c, FROM] + at.FIRST_EVENT]
            if c + 1 < cuts.shape[0]:
                tail = cuts[c + 1, FIRST] * P[at.SLIDE]
                end = event_from(P, raw_pointer(panes), cuts[c + 1, FROM], cuts[c, LAST] + 1)
            # Where all of a partition fits there is no need to ever make room.
            room = min(end - i, 2 * live) + 1 + PAD
            cells = room
            if is_tree:
                cells = 2 * sides_of(z) * (of_block + 1)
                if cells > newest.shape[0]:
                    newest, born = np.empty(2 * cells, np.int64), np.empty(2 * cells, np.int64)
                if of_block > ranked:
                    ranked = 2 * of_block
                    doubles = np.empty(8 * ranked)
                    ints = np.empty(12 * ranked, np.int64)
                    ranks = addresses_of_ranks(doubles, ints, counts, ranked)
            elif P[at.PREDICATES] * room > keys.shape[0]:
                keys = np.empty(2 * P[at.PREDICATES] * room)
            wide = 1
            if can_share:
                wide = column_room(P, found, cells)
                if wide > columns:
                    columns = 2 * wide
                    basis_rows = numbers.room(single, (S[at.S_SCRATCH] + 3) * columns * nc)
                    basis_ints = np.empty(3 * columns, np.int64)
                    basis_rows_x = np.empty((S[at.S_SCRATCH] + 2) * columns * row_nx)
                # No more than it takes: nodes of a tree stand that far apart.
                if cells * wide * nc > basis_room:
                    basis_room = cells * wide * nc + cells * wide * nc // 4
                    basis_v = numbers.room(single, basis_room)
                    basis_x = np.empty(basis_room // nc * row_nx + row_nx)
            if can_share or is_tree:
                basis = addresses_of_basis(
                    (basis_v, born, basis_rows, basis_ints, log, amounts),
                    (basis_x, basis_rows_x, amounts_x),
                    (columns, nc, row_nx),
                )
            if cells * size > table_room:
                table_room = cells * size + cells * size // 4
                table_v = numbers.room(zero, table_room)
            if cells * size_x > table_room_x:
                table_room_x = cells * size_x + cells * size_x // 4
                table_x = np.empty(table_room_x)
            begin_partition(S, int(is_tree), room, of_block, end)
            S[at.S_FIRST], S[at.S_LAST] = cuts[c, FIRST], cuts[c, LAST]
            begins[P[at.OVERLAP] :] = at.NO_BLOCK + 1
            begin_basis(S, int(shared), wide, part + P[at.SEED])
            if not is_tree:
                end_keys(S, keys, P[at.PREDICATES])
            short = -1
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
                    raw_pointer(panes),
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
                if short < 0:
                    empty_all(m)
                    if can_share and c == 0:
                        begin_counting(m)
                    begin_stretch(m, cuts[c, FROM], int(shared), tail)
                i, short = walk(m, basis, events, table, ranks, out, part, i, end)
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
                    S[at.S_LOG_ROOM] = 2 * S[at.S_LOG_ROOM] + S[at.S_WANTED] * max(P[at.FEEDS], 1)
                    S[at.S_AMOUNTS_ROOM] = 2 * S[at.S_AMOUNTS_ROOM] + S[at.S_WANTED] * size * max(
                        P[at.FEEDS], 1
                    )
                    log = longer(log, ENTRY * n, ENTRY * S[at.S_LOG_ROOM])
                    amounts = longer_numbers(amounts, n_amounts, S[at.S_AMOUNTS_ROOM])
                    amounts_x = longer(
                        amounts_x, n_amounts // nc * nx, S[at.S_AMOUNTS_ROOM] // nc * nx
                    )
                if short in (ROOM_SCRATCH, ROOM_LOG):
                    basis = addresses_of_basis(
                        (basis_v, born, basis_rows, basis_ints, log, amounts),
                        (basis_x, basis_rows_x, amounts_x),
                        (columns, nc, row_nx),
                    )
        if err[0] != 0:
            S[at.S_OUT] = begun
            S[at.C_BURSTS] -= found.births
            redo[redone] = part
            redone += 1
    n = S[at.S_OUT]
    # An array lives until its last use by name, which must be after that of its address.
    kept = rows_v.size + rows_x.size + begins.size + scratch.size + scratch_x.size + table_v.size
    kept += table_x.size + keys.size + newest.size + doubles.size + ints.size + state.size
    kept += P_array.size + err_array.size + weights.size + extremes.size + f.size + g.size
    kept += ts.size + tied.size + letter.size
    kept += counters.size + panes.size + decided.size + born.size + counts.size
    kept += basis_v.size + basis_rows.size + basis_ints.size + log.size + amounts.size
    kept += basis_x.size + basis_rows_x.size + amounts_x.size
    again = redo[: redone if kept > 0 else 0]
    done = S[at.C_BURSTS], S[at.C_SHARED], S[at.C_SNAPSHOTS], S[at.C_SPLIT]
    records = parts[:n], units[:n], windows[:n], out_v[: n * nc], out_x[: n * nx]
    return records, again, done, decided[: S[at.S_DECIDED] * at.DECIDED]


# What is only Python is in no compiled function, and what streams keep is in others.
_OTHERS = (
    "automata.py",
    "batch.py",
    "classes.py",
    "disputes.py",
    "going_on.py",
    "group.py",
    "kept.py",
    "letters.py",
)
COMPILED = [path for path in Path(__file__).parent.glob("*.py") if path.name not in _OTHERS]
run = kept_on_disk(_run, digest("code.py", *COMPILED))
