"""Snapshots, and what has come into E+ since: a shared basis for the rows of all units.

What all E+ of the group have in common is how an event follows from those before it. So a stored
event may have, instead of numbers of each unit and window, coefficients of *snapshots*: a snapshot
is what has come into each E+ by some event of the loop, in each window (graphlet-level snapshot of
the paper), and a new one is taken where an event of the loop finds that anything came in since the
one before. The row of an event is 1 for the snapshot at hand, and the sum of the rows of its
predecessors (basis.py). The width of a row is then the number of snapshots that still matter,
however many units and windows there are.

What came in is a log of entries: columns of E+, windows, numbers. Snapshot s is the sum of all
entries up to it, so an entry is multiplied with the sum of the coefficients of all snapshots from
its own on (evaluation.py). Windows are in entries alone.

An event that some E+ alone admit is a snapshot by itself (event-level snapshot of the paper, see
singles.py): its entries are what it is worth to those that admit it, and are multiplied with its
own coefficient and no other.

Snapshots are numbered by birth. One that was taken while window n was the newest matters until n
closes; so they die in the order of birth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cells import copy_cells, fill_cells
from hamlet.kernel.rows.layout import (
    C_SNAPSHOTS,
    ROW_EXTREMES,
    S_AMOUNTS,
    S_BASE,
    S_BASE_BEFORE,
    S_BIRTHS,
    S_COLUMN_ROOM,
    S_DATED,
    S_ENTRIES,
    S_FIRST_COLUMN,
    S_FIRST_ENTRY,
    S_HALF,
    S_HAND,
    S_HI,
    S_LO,
    S_MOST,
    S_OLDEST,
    S_STORED,
    S_STRIDE,
    S_STRIDE_BEFORE,
)
from hamlet.kernel.rows.tree import sides

# Of an entry: its first snapshot, columns of E+, windows, and where its numbers begin
E_COLUMN, E_FIRST, E_N, E_LO, E_HI, E_AT = range(6)
ENTRY = 6


class Basis(NamedTuple):
    """Snapshots and rows of coefficients; these are single words or doubles in every kind."""

    v: Any  # the table: see basis.py
    born: Any  # by node of a tree: the number of snapshots that it has coefficients of
    scratch: Any  # rows of the events of a step
    ended: Any  # by snapshot: the sum of rows since they were last settled
    sizes: Any  # by snapshot: of all coefficients that were stored
    sums: Any  # room for a row
    begins: Any  # by snapshot: how many events had been stored before it
    newest: Any  # and the newest window then
    single: Any  # 1 where it is of a single event
    log: Any  # entries
    amounts: Any  # their numbers, by window, component and column
    # And of extremes, in the same order: see extremes.py
    x: Any
    scratch_x: Any
    ended_x: Any
    sums_x: Any
    amounts_x: Any


@inlined
def live(m):
    """Where the snapshots that matter begin and end among those that there is room for."""
    first = m.S[S_FIRST_COLUMN]
    return m.S[S_OLDEST] - first, m.S[S_BIRTHS] - first


@inlined
def snapshot_place(m, k):
    """Where live snapshot k stands in a scanned table, counted in snapshots."""
    return (m.S[S_FIRST_COLUMN] + k) % m.S[S_COLUMN_ROOM]


@inlined
def place_in_node(m, half, side, i, snapshot):
    """Where a snapshot stands in node i of a side of a half, counted in snapshots."""
    S, is_before = m.S, half != m.S[S_HALF]
    base = S[S_BASE_BEFORE] if is_before else S[S_BASE]
    stride = S[S_STRIDE_BEFORE] if is_before else S[S_STRIDE]
    nodes = S[S_MOST] + 1
    first = half * sides(m) * nodes * S[S_COLUMN_ROOM] + (side * nodes + i) * stride
    return first + snapshot - base


@apart
def enter(m, b, source, at, source_x, at_x, first, n, lo, hi):
    """Note what comes into n columns of E+ in some windows: numbers of a row, from at on."""
    S = m.S
    k, to = S[S_ENTRIES], S[S_AMOUNTS]
    b.log[ENTRY * k + E_FIRST], b.log[ENTRY * k + E_N] = first, n
    b.log[ENTRY * k + E_LO], b.log[ENTRY * k + E_HI] = lo, hi
    b.log[ENTRY * k + E_AT] = to
    for place in range(m.z.overlap):
        for c in range(m.z.components):
            copy_cells(b.amounts, to, source, at + place * m.z.size + c * m.z.columns, n)
            to += n
    if m.z.extremes > 0:
        to_x = in_extremes(m, S[S_AMOUNTS])
        for place in range(m.z.overlap):
            for c in range(m.z.extremes):
                d = at_x + place * m.z.size_x + c * m.z.columns
                copy_cells(b.amounts_x, to_x, source_x, d, n)
                to_x += n
    S[S_ENTRIES], S[S_AMOUNTS] = k + 1, to


@inlined
def in_extremes(m, at):
    """Where the extremes are of entries whose numbers begin at a place."""
    return at // m.z.components * m.z.extremes


@apart
def has_column_room(m, b, n):
    """Whether there is room for n more snapshots in rows, old ones forgotten."""
    S = m.S
    if S[S_BIRTHS] - S[S_FIRST_COLUMN] + n > S[S_COLUMN_ROOM]:
        _move_up(m, b)
    return S[S_BIRTHS] - S[S_FIRST_COLUMN] + n <= S[S_COLUMN_ROOM]


@apart
def take_snapshot(m, b, single):
    """Have a new snapshot: of all that has come in, or of a single event whose worth was noted."""
    S = m.S
    nc, at = m.z.components, S[S_BIRTHS] - S[S_FIRST_COLUMN]
    b.single[at] = single
    if single == 0:
        S[S_HAND] = S[S_BIRTHS]
    for c in range(at * nc, (at + 1) * nc):
        b.ended[c] = 0
        b.sizes[c] = 0
    fill_cells(b.ended_x, at * m.P[ROW_EXTREMES], m.P[ROW_EXTREMES], float("inf"))
    b.begins[at], b.newest[at] = S[S_STORED], S[S_HI]
    for k in range(S[S_DATED], S[S_ENTRIES]):
        b.log[ENTRY * k + E_COLUMN] = S[S_BIRTHS]
    S[S_DATED] = S[S_ENTRIES]
    S[S_BIRTHS] += 1
    S[C_SNAPSHOTS] += 1


@apart
def forget_closed(m, b):
    """Forget the snapshots and entries of closed windows."""
    S = m.S
    begin, end = live(m)
    while begin < end and b.newest[begin] < S[S_LO]:
        begin += 1
    S[S_OLDEST] = S[S_FIRST_COLUMN] + begin
    while S[S_FIRST_ENTRY] < S[S_DATED] and b.log[ENTRY * S[S_FIRST_ENTRY] + E_HI] < S[S_LO]:
        S[S_FIRST_ENTRY] += 1


@apart
def forget_all(m):
    """Forget all snapshots and entries."""
    S = m.S
    S[S_OLDEST], S[S_FIRST_COLUMN] = S[S_BIRTHS], S[S_BIRTHS]
    S[S_BASE], S[S_BASE_BEFORE] = S[S_BIRTHS], S[S_BIRTHS]
    S[S_FIRST_ENTRY], S[S_DATED], S[S_ENTRIES], S[S_AMOUNTS] = 0, 0, 0, 0


@apart
def _move_up(m, b):
    """Have what is known of the snapshots that matter from the first place on."""
    nc, nx = m.z.components, m.P[ROW_EXTREMES]
    begin, end = live(m)
    copy_cells(b.ended_x, 0, b.ended_x, begin * nx, (end - begin) * nx)
    for k in range(begin, end):
        b.begins[k - begin], b.newest[k - begin] = b.begins[k], b.newest[k]
        b.single[k - begin] = b.single[k]
        for c in range(nc):
            b.ended[(k - begin) * nc + c] = b.ended[k * nc + c]
            b.sizes[(k - begin) * nc + c] = b.sizes[k * nc + c]
    m.S[S_FIRST_COLUMN] += begin


@apart
def has_log_room(m, b, n, cells, log_room, amounts_room):
    """Whether there is room for n more entries with so many numbers, old ones forgotten."""
    S = m.S
    if S[S_ENTRIES] + n <= log_room and S[S_AMOUNTS] + cells <= amounts_room:
        return True
    first = S[S_FIRST_ENTRY]
    if first == 0:
        return False
    gone = b.log[ENTRY * first + E_AT] if first < S[S_ENTRIES] else S[S_AMOUNTS]
    for k in range(first, S[S_ENTRIES]):
        for field in range(ENTRY):
            b.log[ENTRY * (k - first) + field] = b.log[ENTRY * k + field]
        b.log[ENTRY * (k - first) + E_AT] -= gone
    copy_cells(b.amounts, 0, b.amounts, gone, S[S_AMOUNTS] - gone)
    if m.z.extremes > 0:
        gone_x = in_extremes(m, gone)
        copy_cells(b.amounts_x, 0, b.amounts_x, gone_x, in_extremes(m, S[S_AMOUNTS]) - gone_x)
    S[S_ENTRIES] -= first
    S[S_DATED] -= first
    S[S_AMOUNTS] -= gone
    S[S_FIRST_ENTRY] = 0
    return S[S_ENTRIES] + n <= log_room and S[S_AMOUNTS] + cells <= amounts_room
