"""Blocks of time as long as the window: where one ends, the trees of the table are turned."""

from __future__ import annotations

from hamlet.kernel.jit import apart
from hamlet.kernel.rows.basis import add_up_shared, begin_half
from hamlet.kernel.rows.layout import (
    EQUAL,
    IS_LOOP,
    S_BIRTHS,
    S_BLOCK,
    S_BLOCK_END,
    S_END,
    S_HALF,
    S_LEAVES,
    S_LEAVES_BEFORE,
    S_NEXT,
    S_OLDEST,
    S_OWN_OPEN,
)
from hamlet.kernel.rows.ranking import rank_block
from hamlet.kernel.rows.tree import add_up, forget_half, sides


@apart
def turn_block(m, b, events, table, ranks, i, ts):
    """Have the tree stand at the block of event i."""
    P, S = m.P, m.S
    block, half = ts // m.z.within, S[S_HALF]
    before = S[S_LEAVES] if block == S[S_BLOCK] + 1 else 0
    if before > 0 and m.z.operator != EQUAL:
        for side in range(sides(m)):
            if S[S_OLDEST] < S[S_BIRTHS]:
                add_up_shared(m, b, half, side, before)
            if S[S_OWN_OPEN] > 0:
                add_up(m, table, half, side, before)
    half = 1 - half
    S[S_BLOCK], S[S_BLOCK_END] = block, (block + 1) * m.z.within
    S[S_HALF], S[S_NEXT] = half, 0
    S[S_LEAVES_BEFORE] = before
    begin_half(m)
    n = 0
    while i < S[S_END] and events.ts[i] < S[S_BLOCK_END]:
        if P[P[IS_LOOP] + events.letter[i]] == 1:
            ranks.f[n], ranks.g[n] = events.f[i], events.g[i]
            n += 1
        i += 1
    S[S_LEAVES] = rank_block(P, ranks, half, n, before)
    forget_half(m, b, table, half, S[S_LEAVES])
