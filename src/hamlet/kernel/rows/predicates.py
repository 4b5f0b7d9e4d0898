"""Units of one table that ask different things of neighbours in the loop: by scans alone.

A stored event has a key for each predicate, and an event a bound. Over own columns each column is
summed by its own predicate. Over snapshots an event is as any other where all predicates let the
same stored events precede it; where they do not it is *disputed*, and becomes a snapshot by itself
(event-level snapshot of the paper, definition 3.5), worked out with each predicate for the units
that have it (singles.py).

Cost: O(columns x events) over own columns; over snapshots O(predicates x events) to see whether an
event is disputed, O(predicates + events) where only bounds differ, and a row for each predicate
where it is.
"""

from __future__ import annotations

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.basis import column_place
from hamlet.kernel.rows.cells import (
    PAD,
    fill_cells,
    is_open,
    least_open,
    sum_open,
    zero_cells,
)
from hamlet.kernel.rows.extremes import scan_extremes
from hamlet.kernel.rows.layout import (
    BELOW,
    COMPARES,
    PREDICATE_OF,
    PREDICATES,
    ROW_EXTREMES,
    S_COLUMN_ROOM,
    S_OWN_OPEN,
    S_PLACE,
    S_ROOM,
    S_STORED,
    SAME_KEYS,
    UP_TO,
)
from hamlet.kernel.rows.snapshots import live


@apart
def is_disputed(m, events, table, e):
    """Whether predicates disagree about which stored events may precede an event."""
    P, S, keys = m.P, m.S, table.keys
    first, bound = m.begins[S[S_PLACE]], events.g[e]
    if P[SAME_KEYS] == 1 and (m.z.operator == BELOW or m.z.operator == UP_TO):
        least, most, nulls = bound, bound, 0
        for p in range(P[PREDICATES]):
            other = events.g[p * m.z.n_events + e]
            nulls += other != other
            least, most = min(least, other), max(most, other)
        if nulls == P[PREDICATES]:
            return False
        if nulls == 0:
            return _has_between(keys, first, S[S_STORED], least, most, m.z.operator)
    for p in range(1, P[PREDICATES]):
        other, before, op = events.g[p * m.z.n_events + e], p * S[S_ROOM], P[P[COMPARES] + p]
        for s in range(first, S[S_STORED]):
            if is_open(keys[s], bound, m.z.operator) != is_open(keys[before + s], other, op):
                return True
    return False


@inlined
def _has_between(keys, first, end, least, most, op):
    """Whether a stored event may precede one with the greater of two bounds alone."""
    found = 0
    if op == BELOW:
        for s in range(first, end):
            found += 1 if (keys[s] >= least) & (keys[s] < most) else 0
    else:
        for s in range(first, end):
            found += 1 if (keys[s] > least) & (keys[s] <= most) else 0
    return found > 0


@apart
def _sum_by(m, v, d, w, s, events, table, e, p, first):
    """v[d] = the sum of w[s + k] over stored events k from the first on that predicate p lets in.

    The keys of a predicate stand after those of the one before.
    """
    before, bound = p * m.S[S_ROOM], events.g[p * m.z.n_events + e]
    end, op = m.S[S_STORED], m.P[m.P[COMPARES] + p]
    sum_open(v, d, w, s - before, table.keys, before + first, before + end, bound, op, m.err)


@apart
def _least_by(m, y, s, events, table, e, p, first):
    """The least of y[s + k] over the same."""
    before, bound = p * m.S[S_ROOM], events.g[p * m.z.n_events + e]
    end, op = m.S[S_STORED], m.P[m.P[COMPARES] + p]
    return least_open(y, s - before, table.keys, before + first, before + end, bound, op)


@apart
def scan_by_column(m, events, table, e, at, at_x):
    """What stored events add to an event, as a row of scratch: each column by its predicate."""
    P, S, z = m.P, m.S, m.z
    if S[S_OWN_OPEN] < z.overlap:
        zero_cells(m.scratch, at, z.whole)
        fill_cells(m.scratch_x, at_x, z.whole_x, float("inf"))
    place = S[S_PLACE]
    for _ in range(S[S_OWN_OPEN]):
        first = m.begins[place]
        for c in range(z.size):
            d, p = place * z.size + c, P[P[PREDICATE_OF] + c % z.columns]
            _sum_by(m, m.scratch, at + d, table.v, d * S[S_ROOM], events, table, e, p, first)
        for c in range(z.size_x):
            d, p = place * z.size_x + c, P[P[PREDICATE_OF] + c % z.columns]
            m.scratch_x[at_x + d] = _least_by(m, table.x, d * S[S_ROOM], events, table, e, p, first)
        place += 1
        if place == z.overlap:
            place = 0


@apart
def look_up_by(m, b, events, table, e, p, row):
    """The coefficients of an event that stored events give it by predicate p."""
    S, nc = m.S, m.z.components
    if m.P[ROW_EXTREMES] > 0:
        op, bound = m.P[m.P[COMPARES] + p], events.g[p * m.z.n_events + e]
        scan_extremes(m, b, table, bound, op, p * S[S_ROOM], row)
    begin, end = live(m)
    at = row * S[S_COLUMN_ROOM] * nc
    for k in range(begin, end):
        place, first = column_place(m, k), b.begins[k]
        for c in range(nc):
            d, s = at + k * nc + c, (place + c) * S[S_ROOM]
            _sum_by(m, b.scratch, d, b.v, s, events, table, e, p, first)


@apart
def store_keys(m, events, table, e):
    """Have the keys of the event that was stored last, of all predicates but the first."""
    room, last = m.S[S_ROOM], m.S[S_STORED] - 1
    for p in range(1, m.P[PREDICATES]):
        table.keys[p * room + last] = events.f[p * m.z.n_events + e]
        table.keys[p * room + last + PAD] = float("nan")
