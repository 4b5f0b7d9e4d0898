"""The table where windows are small: every stored event is looked at.

For each column and window the numbers of all stored events stand side by side, so a sum over those
that may precede an event is one pass over two arrays, without a branch. A window has numbers from
its first event on, and these places are taken by another window only after it has closed: nothing
is ever cleared.

Cost: O(columns x events) for each window that is open.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.basis import forget_coefficients, move_down, store_scanned
from hamlet.kernel.rows.cells import PAD, fill_cells, least_open, sum_open, zero_cells
from hamlet.kernel.rows.layout import (
    PREDICATES,
    S_OPEN,
    S_OWN_OPEN,
    S_PLACE,
    S_ROOM,
    S_STORED,
)
from hamlet.kernel.rows.memory import row_size, window_size


@inlined
def scan(m, table, bound, at, at_x):
    """What stored events add to an event with a bound, as a row of scratch."""
    S = m.S
    size, size_x = window_size(m)
    if bound != bound or S[S_OWN_OPEN] < m.z.overlap:
        whole, whole_x = row_size(m)
        zero_cells(m.scratch, at, whole)
        fill_cells(m.scratch_x, at_x, whole_x, np.inf)
        if bound != bound:
            return
    room, end, place = S[S_ROOM], S[S_STORED], S[S_PLACE]
    for _ in range(S[S_OWN_OPEN]):
        first = m.begins[place]
        for c in range(place * size, (place + 1) * size):
            sum_open(
                m.scratch,
                at + c,
                table.v,
                c * room,
                table.keys,
                first,
                end,
                bound,
                m.z.operator,
                m.err,
            )
        for c in range(place * size_x, (place + 1) * size_x):
            m.scratch_x[at_x + c] = least_open(
                table.x, c * room, table.keys, first, end, bound, m.z.operator
            )
        place += 1
        if place == m.z.overlap:
            place = 0


@inlined
def store(m, b, table, key, row, has_coefficients):
    """Store an event with its key and its rows of scratch."""
    S = m.S
    if key != key and m.P[PREDICATES] == 1:
        return
    if S[S_STORED] == S[S_ROOM] - PAD:
        make_room(m, b, table)
    room, n, at, at_x = S[S_ROOM], S[S_STORED], row * m.z.whole, row * m.z.whole_x
    table.keys[n], table.keys[n + PAD] = key, np.nan
    if S[S_OWN_OPEN] > 0:
        for c in range(m.z.whole):
            numbers.copy(table.v, c * room + n, m.scratch, at + c)
        for c in range(m.z.whole_x):
            table.x[c * room + n] = m.scratch_x[at_x + c]
    if has_coefficients:
        store_scanned(m, b, row)
    S[S_STORED] = n + 1


@apart
def make_room(m, b, table):
    """Forget the events before the first open window: there is room for twice as many as matter."""
    S = m.S
    size, size_x = window_size(m)
    room, n = S[S_ROOM], S[S_STORED]
    gone = m.begins[S[S_PLACE]]
    for k in range(S[S_OPEN]):
        place = (S[S_PLACE] + k) % m.z.overlap
        first = m.begins[place]
        m.begins[place] = first - gone
        if k >= S[S_OWN_OPEN]:
            continue
        for c in range(place * size, (place + 1) * size):
            for e in range(first, n):
                numbers.copy(table.v, c * room + e - gone, table.v, c * room + e)
        for c in range(place * size_x, (place + 1) * size_x):
            for e in range(first, n):
                table.x[c * room + e - gone] = table.x[c * room + e]
    move_down(m, b, gone)
    for at in range(0, m.P[PREDICATES] * room, room):
        for e in range(at + gone, at + n):
            table.keys[e - gone] = table.keys[e]
    S[S_STORED] = n - gone
    end_keys(S, table.keys, m.P[PREDICATES])


@inlined
def end_keys(S, keys, predicates):
    """Have keys after the last one of each predicate that no bound lets in."""
    for p in range(predicates):
        last = p * S[S_ROOM] + S[S_STORED]
        for e in range(last, last + PAD):
            keys[e] = np.nan


@apart
def forget_scanned(m, b):
    """Forget all stored events."""
    for place in range(m.z.overlap):
        m.begins[place] = m.S[S_STORED]
    forget_coefficients(m, b)
