"""The choice of a basis for the rows of a partition, and of a table: pure arithmetic.

A partition is looked through once before it is run: how many events of the loop a window has, how
often they find that something has come into E+ (these are its bursts), how often something reads
what E+ has given. From these both ways are costed, in nanoseconds for each event of the loop, and
the cheaper one is taken. Answers do not depend on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hamlet.kernel.jit import compiled
from hamlet.kernel.rows.layout import (
    ALWAYS,
    BY_BENEFIT,
    BY_COIN,
    COLUMNS,
    COMPONENTS,
    EXTREMES,
    IS_FEED,
    IS_LOOP,
    KNOWN,
    NO_BLOCK,
    OVERLAP,
    READS_LOOP,
    SHARING,
    SLIDE,
    STARTS_LOOP,
    WITHIN,
)

# Of a look at all stored events: for each column, and for each column and event
SCAN_COLUMN, SCAN_EVENT = 4.0, 0.15
# Of ranking; for each row of a tree, and for each of its columns
RANK, ROW, ROW_COLUMN = 60.0, 4.0, 0.15
# Of a snapshot; to settle: for each snapshot, for each entry and window, for each own column
SNAPSHOT, SETTLE_COLUMN, SETTLE_ENTRY, SETTLE_OWN = 10.0, 1.0, 2.0, 0.3
# A table of coefficients has no more cells than this.
MOST_CELLS = 1 << 25


class Survey(NamedTuple):
    """What a partition is like.

    Attributes:
        loops: Events of the loop.
        live: The most of them in any window's length.
        of_block: And in any block.
        births: How often one finds that something has come in: bursts, and snapshots.
        of_three: The most of these in any three blocks.
        entries: Events that come in.
        settles: How often something reads what E+ has given since the last time.
    """

    loops: Any
    live: Any
    of_block: Any
    births: Any
    of_three: Any
    entries: Any
    settles: Any


@compiled
def survey(P, ts, tied, letter, first, end):
    """Look through a partition."""
    within, slide = P[WITHIN], P[SLIDE]
    loops, most, most_of_block, live, of_block = 0, 0, 0, 0, 0
    births, births_one, births_two, births_three, of_three = 0, 0, 0, 0, 0
    entries, settles = 0, 0
    oldest, block_end, opens = first, NO_BLOCK, NO_BLOCK
    is_dirty, is_unsettled = False, False
    i = first
    while i < end:
        fed, found, read, known, j = 0, 0, 0, 0, i
        while j == i or (j < end and tied[j] == 1):
            fed += P[P[IS_FEED] + letter[j]]
            found += P[P[IS_LOOP] + letter[j]]
            read += P[P[READS_LOOP] + letter[j]]
            known |= P[P[KNOWN] + letter[j]]
            j += 1
        if known == 0:
            i = j
            continue
        if P[STARTS_LOOP] == 1 and ts[i] >= opens:
            is_dirty, opens = True, (ts[i] // slide + 1) * slide
        if read > 0 and is_unsettled:
            settles += 1
            is_unsettled = False
        if found > 0:
            if ts[i] >= block_end:
                block = ts[i] // within
                ahead = 3 if block_end == NO_BLOCK else block - (block_end // within - 1)
                births_three = births_two if ahead == 1 else births_one if ahead == 2 else 0
                births_two = births_one if ahead == 1 else 0
                births_one, of_block = 0, 0
                block_end = (block + 1) * within
            if is_dirty:
                births += 1
                births_one += 1
                is_dirty = False
            is_unsettled = True
            loops += found
            of_block += found
            live += found
            while ts[oldest] <= ts[i] - within:
                live -= P[P[IS_LOOP] + letter[oldest]]
                oldest += 1
            most, most_of_block = max(most, live), max(most_of_block, of_block)
            of_three = max(of_three, births_one + births_two + births_three)
        is_dirty = is_dirty or fed > 0
        entries += fed
        i = j
    return Survey(loops, most, most_of_block, births, of_three, entries, settles)


@compiled
def scan_cost(columns, live):
    """Of an event of the loop, where all stored events are looked at."""
    return columns * (SCAN_COLUMN + SCAN_EVENT * 0.5 * live)


@compiled
def tree_cost(columns, live):
    """The same where sums over ranges are looked up."""
    return RANK + (2.0 + 1.5 * np.log2(live + 1.0)) * (ROW + ROW_COLUMN * columns)


@compiled
def own_columns(P):
    """The width of a row over own columns."""
    return float(P[COLUMNS] * P[OVERLAP] * (P[COMPONENTS] + P[EXTREMES]))


@compiled
def shared_columns(P, s):
    """The width of a row over snapshots, on average."""
    of_window = float(s.births) * s.live / max(s.loops, 1)
    return P[COMPONENTS] * of_window * (1.0 - 0.5 / P[OVERLAP])


@compiled
def own_cost(P, s):
    """Of an event of the loop, over own columns."""
    columns = own_columns(P)
    return min(scan_cost(columns, s.live), tree_cost(columns, s.live))


@compiled
def shared_cost(P, s):
    """Of an event of the loop, over snapshots."""
    loops, columns = float(max(s.loops, 1)), shared_columns(P, s)
    closes = P[OVERLAP] / max(s.live, 1.0)
    entries = s.entries * s.live / loops * P[OVERLAP] * P[COMPONENTS]
    settle = SETTLE_COLUMN * columns + SETTLE_ENTRY * entries + SETTLE_OWN * own_columns(P)
    row = min(scan_cost(columns, 0.5 * s.live), tree_cost(columns, s.live))
    return row + SNAPSHOT * s.births / loops + settle * (s.settles / loops + closes)


@compiled
def is_shared(P, s, part):
    """Whether the rows of a partition are over snapshots."""
    if P[SHARING] == ALWAYS:
        wanted = True
    elif P[SHARING] == BY_BENEFIT:
        wanted = shared_cost(P, s) < own_cost(P, s)
    else:
        wanted = P[SHARING] == BY_COIN and (part * 2654435761 >> 7) % 2 == 0
    nodes = 4 * (s.of_block + 1)
    return wanted and nodes * (s.of_three + 3) * P[COMPONENTS] < MOST_CELLS
