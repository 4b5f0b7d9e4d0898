"""Events of the loop that are not the same to all units: what they ask of the loop differs.

Some units alone may admit an event, or their edge predicates may disagree about what precedes it
(predicates.py). Over own columns such an event has nothing in the columns of units that do not
admit it. Over snapshots its row would be another for each unit, so it becomes a snapshot by itself
(event-level snapshot of the paper, section 3.3): what it is worth to each unit that admits it is
worked out, by its own predicate, and noted, as nothing for the others, and its row is 1 for this
snapshot. Later rows refer to it as to any.

Cost: O(columns) for each row over own columns; O(snapshots + entries x windows) for a snapshot and
each predicate.
"""

from __future__ import annotations

from hamlet.kernel.jit import apart
from hamlet.kernel.rows.basis import extend_row
from hamlet.kernel.rows.cells import copy_cells, fill_cells, zero_cells
from hamlet.kernel.rows.decision import note_created
from hamlet.kernel.rows.evaluation import evaluate
from hamlet.kernel.rows.layout import (
    OP_FIRST,
    OP_IS_LOOP,
    OP_N,
    OPS_P,
    PREDICATE_OF,
    PREDICATES,
    ROW_EXTREMES,
    S_COLUMN_ROOM,
    S_HI,
    S_LO,
    S_OWN_HI,
    S_SCRATCH,
    SKIP_FIRST,
    SKIP_N,
    SKIPS_P,
)
from hamlet.kernel.rows.memory import entries
from hamlet.kernel.rows.predicates import look_up_by
from hamlet.kernel.rows.snapshots import enter, live, take_snapshot


@apart
def clear_skipped(m, letter, at, at_x):
    """Have nothing in a row of scratch at the columns that do not admit events of a letter."""
    P, z = m.P, m.z
    for k in entries(P, SKIPS_P, letter):
        first, n = P[P[SKIP_FIRST] + k], P[P[SKIP_N] + k]
        for block in range(z.blocks):
            zero_cells(m.scratch, at + block * z.columns + first, n)
        for block in range(z.blocks_x):
            fill_cells(m.scratch_x, at_x + block * z.columns + first, n, float("inf"))


@apart
def take_single(m, b, events, table, e, row):
    """Have a snapshot of an event, and a row over that alone in place of the one that it has."""
    P, S, z, nc = m.P, m.S, m.z, m.z.components
    begin, end = live(m)
    if begin == end:  # Nothing has come in, so there are no trends to end with it.
        return
    nx, letter = m.P[ROW_EXTREMES], events.letter[e]
    at, n = row * S[S_COLUMN_ROOM] + begin, end - begin
    for p in range(P[PREDICATES]):
        if p > 0:  # the row that it has is by the first
            look_up_by(m, b, events, table, e, p, row)
            extend_row(m, b, events, P[P[OPS_P] + letter], e, row)
        copy_cells(b.sums, 0, b.scratch, at * nc, n * nc)
        copy_cells(b.sums_x, 0, b.scratch_x, at * nx, n * nx)
        evaluate(m, b, n)
        _note_worth(m, b, letter, p)
    take_snapshot(m, b, 1)
    # Rows of the same time that were found before have nothing of it.
    for earlier in range(0, row, z.layers):
        fresh = earlier * S[S_COLUMN_ROOM] + end
        zero_cells(b.scratch, fresh * nc, nc)
        fill_cells(b.scratch_x, fresh * nx, nx, float("inf"))
    zero_cells(b.scratch, at * nc, (n + 1) * nc)
    fill_cells(b.scratch_x, at * nx, (n + 1) * nx, float("inf"))
    b.scratch[(at + n) * nc] = 1
    note_created(m, 1)


@apart
def _note_worth(m, b, letter, p):
    """Note what an event is worth in open windows to those that admit it: the last row.

    It is by edge predicate p, for the columns that have it.
    """
    P, S = m.P, m.S
    at, at_x = S[S_SCRATCH] * m.z.whole, S[S_SCRATCH] * m.z.whole_x
    lo = max(S[S_LO], S[S_OWN_HI] + 1)
    for op in entries(P, OPS_P, letter):
        first = P[P[OP_FIRST] + op]
        if P[P[OP_IS_LOOP] + op] == 1 and P[P[PREDICATE_OF] + first] == p:
            n, source_x = P[P[OP_N] + op], at_x + first
            enter(m, b, m.scratch, at + first, m.scratch_x, source_x, first, n, lo, S[S_HI])
