"""One call for all partitions of a batch: the entry from Python, compiled once, kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.cache_key import digest
from hamlet.kernel.growth import longer, longer_numbers
from hamlet.kernel.jit import compiled, inlined, kept_on_disk
from hamlet.kernel.numbers import pointer, raw_pointer
from hamlet.kernel.rows.basis import ENTRY, Basis
from hamlet.kernel.rows.decision import (
    is_shared,
    own_columns,
    scan_cost,
    shared_columns,
    survey,
    tree_cost,
)
from hamlet.kernel.rows.layout import (
    ALWAYS,
    BY_BENEFIT,
    BY_COIN,
    C_BURSTS,
    C_SHARED,
    C_SNAPSHOTS,
    CHOSEN,
    COLUMNS,
    COMPONENTS,
    EXTREMES,
    FEEDS,
    LAYERS,
    NO_BLOCK,
    OVERLAP,
    OWN,
    ROWS,
    S_AMOUNTS,
    S_AMOUNTS_ROOM,
    S_BASE,
    S_BASE_BEFORE,
    S_BIRTHS,
    S_BLOCK,
    S_BLOCK_END,
    S_COLUMN_ROOM,
    S_DATED,
    S_DUE,
    S_END,
    S_ENTRIES,
    S_FIRST_COLUMN,
    S_FIRST_ENTRY,
    S_HALF,
    S_HI,
    S_IS_SHARED,
    S_IS_TREE,
    S_LEAVES,
    S_LEAVES_BEFORE,
    S_LO,
    S_LOG_ROOM,
    S_MOST,
    S_NEXT,
    S_OLDEST,
    S_OPEN,
    S_OUT,
    S_OUT_ROOM,
    S_PLACE,
    S_ROOM,
    S_SCRATCH,
    S_STORED,
    S_UNSETTLED,
    S_WANTED,
    STATES,
    TREE,
    UNITS,
)
from hamlet.kernel.rows.layout import KIND as KIND_OF_TABLE
from hamlet.kernel.rows.letters import COMPARED, lay_out
from hamlet.kernel.rows.memory import Events, Ranks, Records, Rows, Table
from hamlet.kernel.rows.tree import sides
from hamlet.kernel.rows.walk import ROOM_LOG, ROOM_OUT, ROOM_SCRATCH, walk
from hamlet.kernel.rows.windows import empty_all
from hamlet.kernel.stopping import STOPPED, stoppable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.rows.group import RowGroup
    from hamlet.kernel.rows.letters import PlacedGroup

_SCALE = 2.0**-800
# Of table; tests have one or the other.
KIND = CHOSEN
_FIRST_RECORDS = 256
# Policies by name
SHARING = {"never": OWN, "always": ALWAYS, "dynamic": BY_BENEFIT, "static": BY_BENEFIT}


@dataclass(frozen=True, slots=True)
class RowRecords:
    """Closed windows of one group: partition, unit, window, and what they add up to."""

    part: NDArray[np.int32]
    unit: NDArray[np.int32]
    window: NDArray[np.int64]
    components: NDArray[Any]
    extremes: NDArray[np.float64]
    redo: NDArray[np.int32]
    bursts: int
    shared: int
    snapshots: int


def run_rows(
    made: PlacedGroup,
    events: EventBatch,
    ranges: NDArray[np.int64],
    zero: NDArray[Any],
    sharing: str = "dynamic",
) -> RowRecords:
    """All windows of some partitions; `zero` is an empty array of the kind of numbers to use.

    Coefficients of snapshots are single words in every kind, so numbers that have outgrown theirs
    have own columns.
    """
    group = made.group
    f, g = events.previous[group.predicate], events.next[group.predicate]
    ts, tied, letter = events.ts, events.tied, events.letter
    weights, extremes = events.weights, events.extremes
    if group.is_backward:
        # A time t is in [a, b) where within - 1 - t is in [within - b, within - a).
        f, g, ts, letter = g[::-1], f[::-1], (group.within_us - 1 - ts)[::-1], letter[::-1]
        tied = np.concatenate([tied[:1], tied[:0:-1]])
        weights, extremes = weights[:, ::-1], extremes[:, ::-1]
        ranges = _from_the_end(ranges, len(events))
    if COMPARED[group.operator][1]:
        f, g = -f, -g
    same = np.array_equal(f, g, equal_nan=True)
    policy = SHARING.get(sharing, BY_COIN) if zero.ndim == 1 else OWN
    code = lay_out(made, events.letters, len(events), same, KIND, policy)
    scale = _scale(zero, events, group)
    part, unit, window, v, x, redo, counts = stoppable(
        run,
        code,
        np.ascontiguousarray(ts),
        np.ascontiguousarray(tied),
        np.ascontiguousarray(letter),
        np.ascontiguousarray(f),
        np.ascontiguousarray(g),
        np.ascontiguousarray(weights).reshape(-1),
        np.ascontiguousarray(extremes).reshape(-1),
        ranges,
        zero,
        np.empty(0, np.float64 if zero.dtype == np.float64 else np.int64),
        scale,
    )
    n, most, most_x = len(part), group.components, group.extremes
    components = v.reshape((n, most, *v.shape[1:]))
    if scale != 1.0:
        components = _unscaled(components, scale)
    if group.is_backward:
        window = -window
    return RowRecords(part, unit, window, components, x.reshape(n, most_x), redo, *map(int, counts))


def _from_the_end(ranges: NDArray[np.int64], events: int) -> NDArray[np.int64]:
    """Where partitions begin and end when all events are turned round."""
    turned = ranges.copy()
    turned[:, 1], turned[:, 2] = events - ranges[:, 2], events - ranges[:, 1]
    return turned


def _scale(zero: NDArray[Any], events: EventBatch, group: RowGroup) -> float:
    """What doubles are scaled by, so that the range below 1 serves for numbers of trends too.

    There are hundreds of bits below it still: weights that need them are not scaled.
    """
    if zero.ndim == 2 or zero.dtype != np.float64:
        return 1.0
    used = {w for unit in group.units for state in unit.states for w in state.weights if w >= 0}
    for weight in used:
        sizes = np.abs(events.weights[weight])
        if np.any((sizes > 0) & (sizes < 2.0**-100)):
            return 1.0
    return _SCALE


def _unscaled(scaled: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Scaled doubles as numbers with an exponent each: see numbers.py."""
    is_large = np.abs(scaled) >= 1.0
    mantissas = scaled * np.where(is_large, 2.0**-1024 / scale, 1.0 / scale)
    return np.stack([mantissas, np.where(is_large, 2.0, 0.0)], axis=-1)


@inlined
def _begin(S, is_tree, room, most, end):
    """No window open, nothing stored."""
    S[S_LO], S[S_HI], S[S_DUE] = NO_BLOCK + 1, NO_BLOCK, NO_BLOCK
    S[S_IS_TREE], S[S_STORED], S[S_ROOM] = is_tree, 0, room
    S[S_BLOCK], S[S_BLOCK_END], S[S_HALF], S[S_NEXT] = NO_BLOCK, NO_BLOCK, 0, 0
    S[S_OPEN], S[S_PLACE] = 0, 0
    S[S_LEAVES], S[S_LEAVES_BEFORE], S[S_MOST] = 0, 0, most
    S[S_END] = end


@inlined
def _begin_basis(S, shared, columns):
    """No snapshot, and nothing that came in."""
    S[S_IS_SHARED], S[S_COLUMN_ROOM] = shared, columns
    S[S_OLDEST], S[S_BIRTHS], S[S_FIRST_COLUMN], S[S_UNSETTLED] = 0, 0, 0, 0
    S[S_BASE], S[S_BASE_BEFORE] = 0, 0
    S[S_FIRST_ENTRY], S[S_DATED], S[S_ENTRIES], S[S_AMOUNTS] = 0, 0, 0, 0


@compiled
def _run(
    P_array, ts, tied, letter, f, g, weights, extremes, ranges, zero, single, scale, err_array
):
    """Every window of every partition of `ranges`."""
    P, err = raw_pointer(P_array), raw_pointer(err_array)
    nc, nx = P[COMPONENTS], P[EXTREMES]
    size = P[OVERLAP] * P[COLUMNS] * nc
    size_x = P[OVERLAP] * P[COLUMNS] * nx
    state = np.zeros(STATES, np.int64)
    S = raw_pointer(state)
    rows_v, rows_x = numbers.room(zero, (P[ROWS] + 1) * size), np.empty(P[ROWS] * size_x)
    begins = np.zeros(P[OVERLAP], np.int64)
    S[S_SCRATCH] = P[LAYERS]
    # One row more, to settle in
    scratch, scratch_x = numbers.room(zero, (P[LAYERS] + 1) * size), np.empty(P[LAYERS] * size_x)
    capacity = _FIRST_RECORDS + P[OVERLAP] * P[UNITS]
    S[S_OUT_ROOM] = capacity
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
    basis_rows, columns = numbers.room(single, (P[LAYERS] + 3) * nc), 1
    basis_ints = np.empty(2, np.int64)
    S[S_LOG_ROOM] = 64 + 4 * P[OVERLAP] * max(P[FEEDS], 1)
    S[S_AMOUNTS_ROOM] = 64 + 8 * size * max(P[OVERLAP], max(P[FEEDS], 1))
    log, amounts = np.empty(ENTRY * S[S_LOG_ROOM], np.int64), numbers.room(zero, S[S_AMOUNTS_ROOM])
    for r in range(ranges.shape[0]):
        part, i, end = ranges[r, 0], ranges[r, 1], ranges[r, 2]
        found = survey(P, raw_pointer(ts), raw_pointer(tied), raw_pointer(letter), i, end)
        live, of_block = found.live, found.of_block
        shared = is_shared(P, found, part)
        width = shared_columns(P, found) if shared else own_columns(P)
        is_tree = tree_cost(width, live) < scan_cost(width, live)
        if P[KIND_OF_TABLE] != CHOSEN:
            is_tree = P[KIND_OF_TABLE] == TREE
        S[C_BURSTS] += found.births
        S[C_SHARED] += found.births if shared else 0
        # Where all of a partition fits there is no need to ever make room.
        room = min(end - i, 2 * live) + 1
        cells = room
        if is_tree:
            cells = 2 * sides(P) * (of_block + 1)
            if cells > newest.shape[0]:
                newest = np.empty(2 * cells, np.int64)
            if of_block > ranked:
                ranked = 2 * of_block
                doubles = np.empty(8 * ranked)
                ints = np.empty(12 * ranked, np.int64)
        elif room > keys.shape[0]:
            keys = np.empty(2 * room)
        if shared:
            if found.of_three + 3 > columns:
                columns = 2 * (found.of_three + 3)
                basis_rows = numbers.room(single, (S[S_SCRATCH] + 3) * columns * nc)
                basis_ints = np.empty(2 * columns, np.int64)
            # No more than it takes: nodes of a tree stand that far apart.
            wide = found.of_three + 3
            if cells * wide * nc > basis_room:
                basis_room = cells * wide * nc + cells * wide * nc // 4
                basis_v = numbers.room(single, basis_room)
        if cells * size > table_room and not shared:
            table_room = cells * size + cells * size // 4
            table_v = numbers.room(zero, table_room)
        if cells * size_x > table_room_x and not shared:
            table_room_x = cells * size_x + cells * size_x // 4
            table_x = np.empty(table_room_x)
        _begin(S, int(is_tree), room, of_block, end)
        _begin_basis(S, int(shared), found.of_three + 3)
        begun = S[S_OUT]
        err[0] = 0
        if err[STOPPED] != 0:
            break
        short = -1
        while short != 0:
            m = Rows(
                P,
                S,
                pointer(rows_v),
                raw_pointer(rows_x),
                pointer(scratch),
                raw_pointer(scratch_x),
                raw_pointer(begins),
                err,
                scale,
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
            wide = columns * nc
            basis = Basis(
                raw_pointer(basis_v),
                raw_pointer(basis_rows[3 * wide :]),
                raw_pointer(basis_rows[0:]),
                raw_pointer(basis_rows[wide:]),
                raw_pointer(basis_rows[2 * wide :]),
                raw_pointer(basis_ints[0:]),
                raw_pointer(basis_ints[columns:]),
                raw_pointer(log),
                pointer(amounts),
            )
            table = Table(
                pointer(table_v), raw_pointer(table_x), raw_pointer(keys), raw_pointer(newest)
            )
            ranks = Ranks(
                raw_pointer(doubles[0:]),
                raw_pointer(doubles[ranked:]),
                raw_pointer(doubles[2 * ranked :]),
                raw_pointer(ints[0:]),
                raw_pointer(ints[2 * ranked :]),
                raw_pointer(doubles[4 * ranked :]),
                raw_pointer(ints[3 * ranked :]),
                raw_pointer(doubles[5 * ranked :]),
                raw_pointer(ints[4 * ranked :]),
                raw_pointer(ints[5 * ranked :]),
                raw_pointer(ints[6 * ranked :]),
                raw_pointer(ints[7 * ranked :]),
                raw_pointer(ints[8 * ranked :]),
                raw_pointer(ints[9 * ranked :]),
                ranked,
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
            i, short = walk(m, basis, events, table, ranks, out, part, i, end)
            if short == ROOM_OUT:
                n, capacity = S[S_OUT], 2 * S[S_OUT_ROOM]
                parts, units = longer(parts, n, capacity), longer(units, n, capacity)
                windows = longer(windows, n, capacity)
                out_v = longer_numbers(out_v, n * nc, capacity * nc)
                out_x = longer(out_x, n * nx, capacity * nx)
                S[S_OUT_ROOM] = capacity
            elif short == ROOM_SCRATCH:
                S[S_SCRATCH] = 2 * S[S_WANTED]
                scratch = numbers.room(zero, (S[S_SCRATCH] + 1) * size)
                scratch_x = np.empty(S[S_SCRATCH] * size_x)
                basis_rows = longer(basis_rows, 3 * wide, (S[S_SCRATCH] + 3) * wide)
            elif short == ROOM_LOG:
                n, n_amounts = S[S_ENTRIES], S[S_AMOUNTS]
                S[S_LOG_ROOM] = 2 * S[S_LOG_ROOM] + S[S_WANTED] * max(P[FEEDS], 1)
                S[S_AMOUNTS_ROOM] = 2 * S[S_AMOUNTS_ROOM] + S[S_WANTED] * size * max(P[FEEDS], 1)
                log = longer(log, ENTRY * n, ENTRY * S[S_LOG_ROOM])
                amounts = longer_numbers(amounts, n_amounts, S[S_AMOUNTS_ROOM])
        if err[0] != 0:
            S[S_OUT] = begun
            redo[redone] = part
            redone += 1
    n = S[S_OUT]
    # An array lives until its last use by name, which must be after that of its address.
    kept = rows_v.size + rows_x.size + begins.size + scratch.size + scratch_x.size + table_v.size
    kept += table_x.size + keys.size + newest.size + doubles.size + ints.size + state.size
    kept += P_array.size + err_array.size + weights.size + extremes.size + f.size + g.size
    kept += ts.size + tied.size + letter.size
    kept += basis_v.size + basis_rows.size + basis_ints.size + log.size + amounts.size
    again = redo[: redone if kept > 0 else 0]
    counts = S[C_BURSTS], S[C_SHARED], S[C_SNAPSHOTS]
    return parts[:n], units[:n], windows[:n], out_v[: n * nc], out_x[: n * nx], again, counts


run = kept_on_disk(_run, digest("code.py", *Path(__file__).parent.glob("*.py")))
