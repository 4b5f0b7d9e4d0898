"""Plain events over snapshots: of the loop, alone at their time, and the same to all E+.

Where bursts are long nearly all events are plain, and most of what one costs was to hand all that
the kernel knows from function to function. So what such an event does is in one piece here, and
part of the walk: its row is found, ends, and is stored. step (walk.py) does the same for any.

Cost: O(snapshots x log events), or in a scanned table O(snapshots x events).
"""

from __future__ import annotations

from hamlet.kernel.jit import inlined
from hamlet.kernel.rows.basis import end_row, find_row, lengthen_row, put_in_row, store_row
from hamlet.kernel.rows.cells import PAD
from hamlet.kernel.rows.decision import D_EVENTS, D_TOTAL
from hamlet.kernel.rows.layout import (
    OPS_P,
    S_IS_TREE,
    S_NEXT,
    S_ROOM,
    S_STORED,
    S_TAIL,
)
from hamlet.kernel.rows.scan import make_room


@inlined
def take_in_plain(m, b, events, table, ranks, e):
    """Take in event e, where all windows that are open are over snapshots."""
    P, S = m.P, m.S
    is_tree = S[S_IS_TREE] == 1
    op = P[P[OPS_P] + events.letter[e]]
    find_row(m, b, table, ranks, S[S_NEXT], events.g[e], is_tree, 0)
    lengthen_row(m, b, events, op, e, 0)
    has_coefficients = end_row(m, b, 0)
    if is_tree:
        if has_coefficients:
            put_in_row(m, b, ranks, S[S_NEXT], 0)
    elif events.f[e] == events.f[e]:
        _store(m, b, table, events.f[e], has_coefficients)
    S[S_NEXT] += 1
    m.D[D_EVENTS] += 1
    if events.ts[e] < S[S_TAIL]:
        m.D[D_TOTAL] += 1


@inlined
def _store(m, b, table, key, has_coefficients):
    """Store an event with its key and its row in a scanned table."""
    S = m.S
    if S[S_STORED] == S[S_ROOM] - PAD:
        make_room(m, b, table)
    n = S[S_STORED]
    table.keys[n], table.keys[n + PAD] = key, float("nan")
    if has_coefficients:
        store_row(m, b, 0)
    S[S_STORED] = n + 1
