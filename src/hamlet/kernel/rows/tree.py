"""The table where windows are large: sums over ranges of the order in logarithmic time.

Node i of a Fenwick tree, from 1 on, has the sum of the rows of the last i & -i of the first i
events in the order of f. Blocks are as long as the window: the one at hand is such a tree,
the one before has been turned once into sums over all first i events, so it costs one row. For
f = g there is a row for each different key instead. For f != g a second tree has the opposite
order; nothing is ever subtracted, which doubles would not forgive.

A node knows the last window that it has numbers of: what windows before had at the same place is
overwritten when it is next added to, and never read.

Cost: O(row x log events) for each event.
"""

from __future__ import annotations

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cells import (
    copy_cells,
    fill_cells,
    least_cells,
    sum_cells,
    zero_cells,
)
from hamlet.kernel.rows.layout import (
    EQUAL,
    NO_BLOCK,
    S_BLOCK,
    S_HALF,
    S_HI,
    S_LEAVES,
    S_LEAVES_BEFORE,
    S_LO,
    S_MOST,
    S_OWN_HI,
    S_OWN_OPEN,
    S_PLACE,
    S_RUNS,
    UNEQUAL,
)
from hamlet.kernel.rows.memory import row_size, window_size
from hamlet.kernel.rows.runs import look_up_in_runs

# Of a node: it has no numbers.
NOTHING = -(1 << 62)


@inlined
def sides_of(z):
    """How many trees each half has."""
    return 2 if z.operator == UNEQUAL else 1


@inlined
def sides(m):
    """The same."""
    return sides_of(m.z)


@inlined
def node_of(m, half, side, i):
    """The number of node i of one side of a half."""
    return (sides(m) * half + side) * (m.S[S_MOST] + 1) + i


@apart
def forget_half(m, b, table, half, leaves):
    """Have nothing in the nodes of a half."""
    for side in range(sides(m)):
        first = node_of(m, half, side, 0)
        for node in range(first, first + leaves + 1):
            table.newest[node] = NOTHING
            b.born[node] = NOTHING


@apart
def forget_trees(m, b, table):
    """Forget all stored events."""
    S = m.S
    S[S_RUNS] = 0
    if S[S_BLOCK] == NO_BLOCK:
        return
    forget_half(m, b, table, S[S_HALF], S[S_LEAVES])
    forget_half(m, b, table, 1 - S[S_HALF], S[S_LEAVES_BEFORE])


@apart
def add_up(m, table, half, side, leaves):
    """Turn a tree into sums over all first i events."""
    for i in range(1, leaves + 1):
        if i & (i - 1) > 0:
            _addnode_of(m, table, node_of(m, half, side, i), node_of(m, half, side, i & (i - 1)))


@apart
def _addnode_of(m, table, to, source):
    """Add one node to another; windows that only the second has are copied."""
    S = m.S
    lo = S[S_LO]
    size, size_x = window_size(m)
    whole, whole_x = row_size(m)
    newest, more = table.newest[to], table.newest[source]
    if more < lo:
        return
    if newest == more and S[S_OWN_HI] == more:
        sum_cells(table.v, to * whole, table.v, source * whole, whole, m.err)
        least_cells(table.x, to * whole_x, table.x, source * whole_x, whole_x)
        return
    for window in range(lo, more + 1):
        d, dx = window % m.z.overlap * size, window % m.z.overlap * size_x
        if window <= newest:
            sum_cells(table.v, to * whole + d, table.v, source * whole + d, size, m.err)
            least_cells(table.x, to * whole_x + dx, table.x, source * whole_x + dx, size_x)
        else:
            copy_cells(table.v, to * whole + d, table.v, source * whole + d, size)
            for c in range(dx, dx + size_x):
                table.x[to * whole_x + c] = table.x[source * whole_x + c]
    table.newest[to] = max(newest, more)


@inlined
def _read(m, table, node, at, at_x):
    """Add a node to a row of scratch."""
    S = m.S
    whole, whole_x = row_size(m)
    newest = table.newest[node]
    if newest == S[S_OWN_HI]:
        sum_cells(m.scratch, at, table.v, node * whole, whole, m.err)
        least_cells(m.scratch_x, at_x, table.x, node * whole_x, whole_x)
    elif newest >= S[S_LO]:
        _read_part(m, table, node, newest, at, at_x)


@apart
def _read_part(m, table, node, newest, at, at_x):
    """Add the windows of a node up to its newest one to a row of scratch."""
    S = m.S
    size, size_x = window_size(m)
    whole, whole_x = row_size(m)
    # Places from the first window's on, which may go round
    first, windows = S[S_PLACE], newest - S[S_LO] + 1
    n = min(windows, m.z.overlap - first)
    sum_cells(m.scratch, at + first * size, table.v, node * whole + first * size, n * size, m.err)
    sum_cells(m.scratch, at, table.v, node * whole, (windows - n) * size, m.err)
    least_cells(
        m.scratch_x, at_x + first * size_x, table.x, node * whole_x + first * size_x, n * size_x
    )
    least_cells(m.scratch_x, at_x, table.x, node * whole_x, (windows - n) * size_x)


@inlined
def _write(m, table, node, at, at_x):
    """Add a row of scratch to a node."""
    S = m.S
    whole, whole_x = row_size(m)
    newest = table.newest[node]
    if newest < S[S_LO]:
        copy_cells(table.v, node * whole, m.scratch, at, whole)
        for c in range(whole_x):
            table.x[node * whole_x + c] = m.scratch_x[at_x + c]
    else:
        if newest < S[S_OWN_HI]:
            _clear_newer(m, table, node, newest, S[S_OWN_HI])
        sum_cells(table.v, node * whole, m.scratch, at, whole, m.err)
        least_cells(table.x, node * whole_x, m.scratch_x, at_x, whole_x)
    table.newest[node] = S[S_OWN_HI]


@apart
def open_up_node(m, table, node):
    """Have a node with numbers of all open windows, none where it had none."""
    S, z = m.S, m.z
    newest = table.newest[node]
    if newest < S[S_LO]:
        zero_cells(table.v, node * z.whole, z.whole)
        fill_cells(table.x, node * z.whole_x, z.whole_x, float("inf"))
    else:
        _clear_newer(m, table, node, newest, S[S_HI])
    table.newest[node] = S[S_HI]


@apart
def _clear_newer(m, table, node, newest, last):
    """Have nothing at the places of windows that are newer than those of a node."""
    size, size_x = window_size(m)
    whole, whole_x = row_size(m)
    for window in range(newest + 1, last + 1):
        place = window % m.z.overlap
        zero_cells(table.v, node * whole + place * size, size)
        fill_cells(table.x, node * whole_x + place * size_x, size_x, float("inf"))


@inlined
def _read_nodes(m, table, first, i, is_tree, at, at_x):
    """Add node i, and where it is of a tree the nodes that complete it."""
    while i > 0:
        _read(m, table, first + i, at, at_x)
        i = i & (i - 1) if is_tree else 0


@apart
def look_up(m, table, ranks, q, at, at_x):
    """What stored events add to event q of the block, as a row of scratch."""
    S = m.S
    half, is_tree = S[S_HALF], m.z.operator != EQUAL
    zero_cells(m.scratch, at, m.z.whole)
    fill_cells(m.scratch_x, at_x, m.z.whole_x, float("inf"))
    _read_nodes(m, table, node_of(m, 1 - half, 0, 0), ranks.low_before[q], False, at, at_x)
    _read_nodes(m, table, node_of(m, half, 0, 0), ranks.low[q], is_tree, at, at_x)
    if m.z.operator == UNEQUAL:
        _read_nodes(m, table, node_of(m, 1 - half, 1, 0), ranks.high_before[q], False, at, at_x)
        _read_nodes(m, table, node_of(m, half, 1, 0), ranks.high[q], True, at, at_x)
    if S[S_RUNS] > 0:
        look_up_in_runs(m, table, ranks.g[q], at, at_x)
    if S[S_OWN_OPEN] < m.z.overlap:
        clear_others(m, at, at_x)


@apart
def clear_others(m, at, at_x):
    """Have nothing in a row of scratch at places of no window with own columns."""
    S = m.S
    size, size_x = window_size(m)
    for k in range(S[S_OWN_OPEN], m.z.overlap):
        place = (S[S_PLACE] + k) % m.z.overlap
        zero_cells(m.scratch, at + place * size, size)
        fill_cells(m.scratch_x, at_x + place * size_x, size_x, float("inf"))


@apart
def put_in(m, table, ranks, q, at, at_x):
    """Store event q of the block with its row of scratch."""
    S = m.S
    half, place, leaves = S[S_HALF], ranks.place[q], S[S_LEAVES]
    if place < 0:
        return
    if m.z.operator == EQUAL:
        _write(m, table, node_of(m, half, 0, place + 1), at, at_x)
        return
    _write_nodes(m, table, node_of(m, half, 0, 0), place + 1, leaves, at, at_x)
    if m.z.operator == UNEQUAL:
        _write_nodes(m, table, node_of(m, half, 1, 0), leaves - place, leaves, at, at_x)


@inlined
def _write_nodes(m, table, first, i, leaves, at, at_x):
    """Add a row of scratch to node i, and to those of its tree that have it too."""
    while i <= leaves:
        _write(m, table, first + i, at, at_x)
        i += i & -i
