"""Extremes of rows over snapshots.

Beside each coefficient of an event stands the least value among the events of the loop on the ways
from that snapshot to it, for every extreme that any E+ of the group asks for; greatest ones with
the sign changed. No way is no value: infinity stands where the coefficient is 0. Where coefficients
are added up, of these the least is taken. An entry has the extremes of what came in, and what a
unit asks for is the lesser of the two wherever trends came in and the coefficient is not 0
(evaluation.py).

Cost: as that of coefficients, where there are any; nothing elsewhere.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cells import fill_cells, least_cells, least_open, lesser
from hamlet.kernel.rows.layout import (
    ROW_EXTREME,
    ROW_EXTREMES,
    S_COLUMN_ROOM,
    S_ROOM,
    S_STORED,
)
from hamlet.kernel.rows.snapshots import live, snapshot_place

# Extremes that are looked at one by one
_FEW = 3


@inlined
def _row_at(m, row):
    """Where the extremes of the snapshots that matter begin in a row of scratch, and how many."""
    begin, end = live(m)
    nx = m.P[ROW_EXTREMES]
    return (row * m.S[S_COLUMN_ROOM] + begin) * nx, (end - begin) * nx


@apart
def look_up_extremes(m, b, table, bound, is_tree, row):
    """The extremes of an event that stored events give it; a tree gives them as it is read."""
    if is_tree or bound != bound:
        at, n = _row_at(m, row)
        fill_cells(b.scratch_x, at, n, np.inf)
    else:
        scan_extremes(m, b, table, bound, m.z.operator, 0, row)


@apart
def scan_extremes(m, b, table, bound, op, before, row):
    """The same from a scanned table, by the edge predicate whose keys stand from one on."""
    S, nx = m.S, m.P[ROW_EXTREMES]
    begin, end = live(m)
    at, room, last = row * S[S_COLUMN_ROOM] * nx, S[S_ROOM], before + S[S_STORED]
    for k in range(begin, end):
        first = before + b.begins[k]
        for c in range(nx):
            s = (snapshot_place(m, k) * nx + c) * room - before
            b.scratch_x[at + k * nx + c] = least_open(b.x, s, table.keys, first, last, bound, op)


@apart
def extend_extremes(m, b, events, e, row):
    """Take in the values of the event itself, where any way leads to it."""
    P, nc, nx = m.P, m.z.components, m.P[ROW_EXTREMES]
    begin, end = live(m)
    first = row * m.S[S_COLUMN_ROOM]
    for c in range(nx):
        attribute = P[P[ROW_EXTREME] + c]
        value = events.extremes[(attribute >> 1) * m.z.n_events + e]
        if value != value:
            continue
        value = -value if attribute & 1 else value
        for k in range(first + begin, first + end):
            if b.scratch[k * nc] != 0 and value < b.scratch_x[k * nx + c]:
                b.scratch_x[k * nx + c] = value


@apart
def end_extremes(m, b, row):
    """Take the extremes of an event into what has ended and not been settled."""
    at, n = _row_at(m, row)
    begin, _ = live(m)
    least_cells(b.ended_x, begin * m.P[ROW_EXTREMES], b.scratch_x, at, n)


@apart
def store_extremes(m, b, row):
    """Have the extremes of an event in a scanned table, as those of the last one."""
    S, nx = m.S, m.P[ROW_EXTREMES]
    begin, end = live(m)
    at = row * S[S_COLUMN_ROOM] * nx
    for k in range(begin, end):
        place = snapshot_place(m, k) * nx
        for c in range(nx):
            b.x[(place + c) * S[S_ROOM] + S[S_STORED]] = b.scratch_x[at + k * nx + c]


@apart
def move_extremes_down(m, b, gone):
    """Move the extremes of a scanned table down by so many events."""
    S, nx = m.S, m.P[ROW_EXTREMES]
    begin, end = live(m)
    for k in range(begin, end):
        place = snapshot_place(m, k) * nx
        for c in range(place * S[S_ROOM], (place + nx) * S[S_ROOM], S[S_ROOM]):
            for e in range(b.begins[k], S[S_STORED]):
                b.x[c + e - gone] = b.x[c + e]


@inlined
def least_few(x, d, y, s, n):
    """The lesser of two ranges: most are so short that a call would be the most of it."""
    if n > _FEW:
        least_cells(x, d, y, s, n)
        return
    for c in range(n):
        x[d + c] = lesser(y[s + c], x[d + c])
