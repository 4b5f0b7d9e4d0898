"""One call for all partitions of a batch: the entry from Python, compiled once, kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from hamlet.kernel import numbers
from hamlet.kernel.arrays import longer, longer_numbers
from hamlet.kernel.inner import compiled, inlined
from hamlet.kernel.numbers import pointer, raw_pointer
from hamlet.kernel.rows.layout import (
    CHOSEN,
    COLUMNS,
    COMPONENTS,
    EXTREMES,
    IS_LOOP,
    LAYERS,
    NO_BLOCK,
    OVERLAP,
    ROWS,
    S_BLOCK,
    S_BLOCK_END,
    S_DUE,
    S_END,
    S_HALF,
    S_HI,
    S_IS_TREE,
    S_LEAVES,
    S_LEAVES_BEFORE,
    S_LO,
    S_MOST,
    S_NEXT,
    S_OPEN,
    S_OUT,
    S_OUT_ROOM,
    S_PLACE,
    S_ROOM,
    S_SCRATCH,
    S_STORED,
    S_WANTED,
    STATES,
    TREE,
    UNITS,
    WITHIN,
)
from hamlet.kernel.rows.layout import KIND as KIND_OF_TABLE
from hamlet.kernel.rows.letters import COMPARED, lay_out
from hamlet.kernel.rows.memory import Events, Ranks, Records, Rows, Table
from hamlet.kernel.rows.tree import sides
from hamlet.kernel.rows.walk import ROOM_OUT, walk
from hamlet.kernel.rows.windows import empty_all
from hamlet.kernel.sources import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.rows.group import RowGroup
    from hamlet.kernel.rows.letters import PlacedGroup

_SCALE = 2.0**-800
# Of table; tests have one or the other.
KIND = CHOSEN
_FIRST_RECORDS = 256
# What a look at all stored events costs against a look into a tree, in nanoseconds: for each column,
# and for each column and event; for ranking; for each row of a tree, and for each of its columns
SCAN_COLUMN, SCAN_EVENT = 4.0, 0.15
RANK, ROW, ROW_COLUMN = 60.0, 4.0, 0.15


@dataclass(frozen=True, slots=True)
class RowRecords:
    """Closed windows of one group: partition, unit, window, and what they add up to."""

    part: NDArray[np.int32]
    unit: NDArray[np.int32]
    window: NDArray[np.int64]
    components: NDArray[Any]
    extremes: NDArray[np.float64]
    redo: NDArray[np.int32]


def run_rows(
    made: PlacedGroup, events: EventBatch, ranges: NDArray[np.int64], zero: NDArray[Any]
) -> RowRecords:
    """All windows of some partitions; `zero` is an empty array of the kind of numbers to use."""
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
    code = lay_out(made, events.letters, len(events), same, KIND)
    scale = _scale(zero, events, group)
    part, unit, window, v, x, redo = _run_kept(
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
        scale,
        np.zeros(1, np.int64),
    )
    n, most, most_x = len(part), group.components, group.extremes
    components = v.reshape((n, most, *v.shape[1:]))
    if scale != 1.0:
        components = _unscaled(components, scale)
    if group.is_backward:
        window = -window
    return RowRecords(part, unit, window, components, x.reshape(n, most_x), redo)


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


@compiled
def _most_live(P, ts, letter, first, end):
    """The most events of the loop in any window's length of a partition, and in any block."""
    within = P[WITHIN]
    most, most_of_block, live, of_block = 0, 0, 0, 0
    oldest, block_end = first, NO_BLOCK
    for i in range(first, end):
        if P[P[IS_LOOP] + letter[i]] == 0:
            continue
        if ts[i] >= block_end:
            block_end, of_block = (ts[i] // within + 1) * within, 0
        of_block += 1
        live += 1
        while ts[oldest] <= ts[i] - within:
            live -= P[P[IS_LOOP] + letter[oldest]]
            oldest += 1
        most, most_of_block = max(most, live), max(most_of_block, of_block)
    return most, most_of_block


@compiled
def _is_tree(P, live):
    """Whether a tree is cheaper than a look at all stored events."""
    columns = float(P[COLUMNS] * P[OVERLAP] * (P[COMPONENTS] + P[EXTREMES]))
    scanned = columns * (SCAN_COLUMN + SCAN_EVENT * 0.5 * live)
    rows = 2.0 + 1.5 * np.log2(live + 1.0)
    return RANK + rows * (ROW + ROW_COLUMN * columns) < scanned


@inlined
def _begin(S, is_tree, room, most, end):
    """No window open, nothing stored."""
    S[S_LO], S[S_HI], S[S_DUE] = NO_BLOCK + 1, NO_BLOCK, NO_BLOCK
    S[S_IS_TREE], S[S_STORED], S[S_ROOM] = is_tree, 0, room
    S[S_BLOCK], S[S_BLOCK_END], S[S_HALF], S[S_NEXT] = NO_BLOCK, NO_BLOCK, 0, 0
    S[S_OPEN], S[S_PLACE] = 0, 0
    S[S_LEAVES], S[S_LEAVES_BEFORE], S[S_MOST] = 0, 0, most
    S[S_END] = end


@compiled
def _run(P_array, ts, tied, letter, f, g, weights, extremes, ranges, zero, scale, err_array):
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
    scratch, scratch_x = numbers.room(zero, P[LAYERS] * size), np.empty(P[LAYERS] * size_x)
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
    for r in range(ranges.shape[0]):
        part, i, end = ranges[r, 0], ranges[r, 1], ranges[r, 2]
        live, of_block = _most_live(P, raw_pointer(ts), raw_pointer(letter), i, end)
        is_tree = _is_tree(P, live) if P[KIND_OF_TABLE] == CHOSEN else P[KIND_OF_TABLE] == TREE
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
        if cells * size > table_room:
            table_room = cells * size + cells * size // 4
            table_v = numbers.room(zero, table_room)
        if cells * size_x > table_room_x:
            table_room_x = cells * size_x + cells * size_x // 4
            table_x = np.empty(table_room_x)
        _begin(S, int(is_tree), room, of_block, end)
        begun = S[S_OUT]
        err[0] = 0
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
            i, short = walk(m, events, table, ranks, out, part, i, end)
            if short == ROOM_OUT:
                n, capacity = S[S_OUT], 2 * S[S_OUT_ROOM]
                parts, units = longer(parts, n, capacity), longer(units, n, capacity)
                windows = longer(windows, n, capacity)
                out_v = longer_numbers(out_v, n * nc, capacity * nc)
                out_x = longer(out_x, n * nx, capacity * nx)
                S[S_OUT_ROOM] = capacity
            elif short != 0:
                S[S_SCRATCH] = 2 * S[S_WANTED]
                scratch = numbers.room(zero, S[S_SCRATCH] * size)
                scratch_x = np.empty(S[S_SCRATCH] * size_x)
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
    found = redo[: redone if kept > 0 else 0]
    return parts[:n], units[:n], windows[:n], out_v[: n * nc], out_x[: n * nx], found


def _kept_on_disk(sources):
    """The one function that is cached, under a key that changes with any of the sources."""

    @njit(cache=True, nogil=True)
    def run(*arguments):
        _ = sources
        return _run(*arguments)

    return run


_run_kept = _kept_on_disk(digest("code.py", *Path(__file__).parent.glob("*.py")))
