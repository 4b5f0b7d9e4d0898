"""Rows over snapshots: sums of the coefficients of stored events, scanned or in trees.

The two tables are those of scan.py and tree.py, with a column for each snapshot in place of one for
each unit and window. In a scanned table snapshots stand in turn at as many places as there is room
for; in a tree by their distance from the first one of the block.

Where extremes are asked for, they stand beside the coefficients: see extremes.py.

Cost: O(snapshots x log events) for each event of the loop.
"""

from __future__ import annotations

from hamlet.kernel import numbers
from hamlet.kernel.code import ONE
from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cells import (
    copy_cells,
    grow_sizes,
    least_cells,
    sum_cells,
    sum_open,
    zero_cells,
)
from hamlet.kernel.rows.extremes import (
    end_extremes,
    extend_extremes,
    least_few,
    look_up_extremes,
    move_extremes_down,
    store_extremes,
)
from hamlet.kernel.rows.layout import (
    EQUAL,
    OP_WEIGHT,
    ROW_EXTREMES,
    S_BASE,
    S_BASE_BEFORE,
    S_BIRTHS,
    S_BLOCK_BIRTHS,
    S_COLUMN_ROOM,
    S_FIRST_COLUMN,
    S_FORCED,
    S_HALF,
    S_HAND,
    S_LEAVES,
    S_OLDEST,
    S_ROOM,
    S_STORED,
    S_STRIDE,
    S_STRIDE_BEFORE,
    S_UNSETTLED,
    UNEQUAL,
)
from hamlet.kernel.rows.snapshots import live, place_in_node, snapshot_place
from hamlet.kernel.rows.tree import node_of, sides

# Numbers that are added where they are needed, four at a time
_FEW = 16
# Snapshots that a node of a tree has room for, besides those that are expected
_SPARE = 2


@inlined
def find_row(m, b, table, ranks, q, bound, is_tree, row):
    """The coefficients of an event of the loop that stored events give it."""
    S = m.S
    if m.P[ROW_EXTREMES] > 0:
        look_up_extremes(m, b, table, bound, is_tree, row)
    nc = m.z.components
    begin, end = live(m)
    at = row * S[S_COLUMN_ROOM] * nc
    if bound != bound or begin == end:
        zero_cells(b.scratch, at + begin * nc, (end - begin) * nc)
    elif is_tree:
        zero_cells(b.scratch, at + begin * nc, (end - begin) * nc)
        _read_tree(m, b, ranks, q, row)
    else:
        room, stored = S[S_ROOM], S[S_STORED]
        place, places = column_place(m, begin), S[S_COLUMN_ROOM] * nc
        for k in range(begin, end):
            for c in range(nc):
                sum_open(
                    b.scratch,
                    at + k * nc + c,
                    b.v,
                    (place + c) * room,
                    table.keys,
                    b.begins[k],
                    stored,
                    bound,
                    m.z.operator,
                    m.err,
                )
            place = _place_after(place, nc, places)


@inlined
def column_place(m, k):
    """Where the numbers of live snapshot k begin in a scanned table, counted in places."""
    return snapshot_place(m, k) * m.z.components


@inlined
def _place_after(place, nc, places):
    """Where the numbers of the next snapshot begin: a division for each would take longer."""
    return place + nc if place + nc < places else 0


@inlined
def lengthen_row(m, b, events, op, e, row):
    """Add the snapshot at hand, and the weights and extremes of the event itself."""
    P, nc = m.P, m.z.components
    begin, end = live(m)
    at, hand = row * m.S[S_COLUMN_ROOM] * nc, m.S[S_HAND] - m.S[S_FIRST_COLUMN]
    if hand >= begin:  # else nothing has come in since the open windows began
        b.scratch[at + hand * nc] += 1
    for c in range(1, nc):
        weight = P[P[OP_WEIGHT] + op * (nc - 1) + c - 1]
        if weight == ONE:
            for k in range(begin, end):
                numbers.add(b.scratch, at + k * nc + c, b.scratch, at + k * nc, m.err)
        elif weight >= 0:
            factor = events.weights[weight * m.z.n_events + e]
            for k in range(begin, end):
                numbers.add_times(b.scratch, at + k * nc + c, b.scratch, at + k * nc, factor, m.err)
    if m.P[ROW_EXTREMES] > 0:
        extend_extremes(m, b, events, e, row)


@inlined
def end_row(m, b, row):
    """Take the row of an event into what has ended and not been settled; whether it has numbers."""
    S, nc = m.S, m.z.components
    begin, end = live(m)
    if begin == end:
        return False
    S[S_UNSETTLED] = 1
    at, n = (row * S[S_COLUMN_ROOM] + begin) * nc, (end - begin) * nc
    if grow_sizes(b.sizes, begin * nc, b.scratch, at, n, m.err):
        S[S_FORCED] = 1
    sum_cells(b.ended, begin * nc, b.scratch, at, n, m.err)
    if m.P[ROW_EXTREMES] > 0:
        end_extremes(m, b, row)
    return True


@inlined
def store_row(m, b, row):
    """Have the row of an event in a scanned table, as the last one."""
    S, nc = m.S, m.z.components
    begin, end = live(m)
    room, at = S[S_ROOM], row * S[S_COLUMN_ROOM] * nc
    place, places = column_place(m, begin), S[S_COLUMN_ROOM] * nc
    for k in range(begin, end):
        for c in range(nc):
            b.v[(place + c) * room + S[S_STORED]] = b.scratch[at + k * nc + c]
        place = _place_after(place, nc, places)
    if m.P[ROW_EXTREMES] > 0:
        store_extremes(m, b, row)


@apart
def move_down(m, b, gone):
    """Move the coefficients of a scanned table down by so many events."""
    S, nc = m.S, m.z.components
    room, stored = S[S_ROOM], S[S_STORED]
    begin, end = live(m)
    if m.P[ROW_EXTREMES] > 0:
        move_extremes_down(m, b, gone)
    for k in range(begin, end):
        place = column_place(m, k)
        for c in range(place, place + nc):
            for e in range(b.begins[k], stored):
                b.v[c * room + e - gone] = b.v[c * room + e]
        b.begins[k] -= gone


@apart
def forget_coefficients(m, b):
    """Forget the coefficients of all stored events of a scanned table, and their sizes."""
    begin, end = live(m)
    for k in range(begin, end):
        b.begins[k] = m.S[S_STORED]
    zero_cells(b.sizes, begin * m.z.components, (end - begin) * m.z.components)


# Trees


@apart
def begin_half(m):
    """Have the tree of a new block, with room in its nodes for as many snapshots as there may be.

    Nodes that stand close to each other are read sooner; there may be more room later on.
    """
    S = m.S
    S[S_BASE_BEFORE], S[S_BASE] = S[S_BASE], S[S_OLDEST]
    S[S_STRIDE_BEFORE] = S[S_STRIDE]
    births = S[S_BIRTHS] - S[S_BLOCK_BIRTHS]
    wanted = S[S_BIRTHS] - S[S_OLDEST] + births + births // 4 + _SPARE
    S[S_STRIDE], S[S_BLOCK_BIRTHS] = min(wanted, S[S_COLUMN_ROOM]), S[S_BIRTHS]


@apart
def has_node_room(m, b, n):
    """Whether there is room for n more snapshots in nodes, moved apart where need be."""
    S, nc, nx = m.S, m.z.components, m.P[ROW_EXTREMES]
    wanted = S[S_BIRTHS] - S[S_BASE] + n
    if wanted <= S[S_STRIDE]:
        return True
    old, new = S[S_STRIDE], min(max(2 * S[S_STRIDE], wanted), S[S_COLUMN_ROOM])
    if new < wanted:
        return False
    half = S[S_HALF]
    for side in range(sides(m) - 1, -1, -1):
        for i in range(S[S_LEAVES], 0, -1):
            n = max(0, b.born[node_of(m, half, side, i)] - S[S_BASE])
            S[S_STRIDE] = old
            source = place_in_node(m, half, side, i, S[S_BASE])
            S[S_STRIDE] = new
            to = place_in_node(m, half, side, i, S[S_BASE])
            for c in range(n * nc - 1, -1, -1):
                b.v[to * nc + c] = b.v[source * nc + c]
            for c in range(n * nx - 1, -1, -1):
                b.x[to * nx + c] = b.x[source * nx + c]
    S[S_STRIDE] = new
    return True


@inlined
def _sum_few(v, d, w, s, n, err):
    """Add one range to another: most are so short that a call would be the most of it."""
    if n > _FEW:
        sum_cells(v, d, w, s, n, err)
        return
    while n > 3:
        # All are read before any is written, so that they may be added at once.
        one, two, three, four = v[d], v[d + 1], v[d + 2], v[d + 3]
        one += w[s]
        two += w[s + 1]
        three += w[s + 2]
        four += w[s + 3]
        v[d], v[d + 1], v[d + 2], v[d + 3] = one, two, three, four
        d, s, n = d + 4, s + 4, n - 4
    if n > 0:
        v[d] += w[s]
    if n > 1:
        v[d + 1] += w[s + 1]
    if n > 2:
        v[d + 2] += w[s + 2]


@inlined
def _copy_few(v, d, w, s, n):
    """Copy one range to another, without a call where it is short."""
    if n > _FEW // 4:
        copy_cells(v, d, w, s, n)
        return
    while n > 0:
        v[d] = w[s]
        d, s, n = d + 1, s + 1, n - 1


@inlined
def _read(m, b, half, side, i, is_tree, at):
    """Add node i, and where it is of a tree the nodes that complete it, from a snapshot on."""
    S, nc, nx, oldest = m.S, m.z.components, m.P[ROW_EXTREMES], m.S[S_OLDEST]
    first, node = place_in_node(m, half, side, 0, oldest), node_of(m, half, side, 0)
    step = S[S_STRIDE] if half == S[S_HALF] else S[S_STRIDE_BEFORE]
    while i > 0:
        n = b.born[node + i] - oldest
        if n > 0:
            source = first + i * step
            _sum_few(b.scratch, at * nc, b.v, source * nc, n * nc, m.err)
            if nx > 0:
                least_few(b.scratch_x, at * nx, b.x, source * nx, n * nx)
        i = i & (i - 1) if is_tree else 0


@inlined
def _read_tree(m, b, ranks, q, row):
    half, is_tree = m.S[S_HALF], m.z.operator != EQUAL
    at = row * m.S[S_COLUMN_ROOM] + m.S[S_OLDEST] - m.S[S_FIRST_COLUMN]
    _read(m, b, 1 - half, 0, ranks.low_before[q], False, at)
    _read(m, b, half, 0, ranks.low[q], is_tree, at)
    if m.z.operator == UNEQUAL:
        _read(m, b, 1 - half, 1, ranks.high_before[q], False, at)
        _read(m, b, half, 1, ranks.high[q], True, at)


@apart
def add_up_shared(m, b, half, side, leaves):
    """Turn the tree at hand into sums over all first i events."""
    S, nc, nx = m.S, m.z.components, m.P[ROW_EXTREMES]
    for i in range(1, leaves + 1):
        if i & (i - 1) == 0:
            continue
        to, source = node_of(m, half, side, i), node_of(m, half, side, i & (i - 1))
        own, more = max(0, b.born[to] - S[S_OLDEST]), max(0, b.born[source] - S[S_OLDEST])
        at = place_in_node(m, half, side, i, S[S_OLDEST])
        at2 = place_in_node(m, half, side, i & (i - 1), S[S_OLDEST])
        n = min(own, more)
        sum_cells(b.v, at * nc, b.v, at2 * nc, n * nc, m.err)
        least_cells(b.x, at * nx, b.x, at2 * nx, n * nx)
        if more > own:
            at, at2 = at + own, at2 + own
            copy_cells(b.v, at * nc, b.v, at2 * nc, (more - own) * nc)
            copy_cells(b.x, at * nx, b.x, at2 * nx, (more - own) * nx)
            b.born[to] = b.born[source]


@inlined
def _write(m, b, half, side, i, end, at, n):
    """Add a row of n snapshots to node i, and to those of a tree up to `end` that have it too."""
    S, nc, nx = m.S, m.z.components, m.P[ROW_EXTREMES]
    oldest, births, step = S[S_OLDEST], S[S_BIRTHS], S[S_STRIDE]
    first, node = place_in_node(m, half, side, 0, oldest), node_of(m, half, side, 0)
    while i <= end:
        to, own = first + i * step, min(max(0, b.born[node + i] - oldest), n)
        _sum_few(b.v, to * nc, b.scratch, at * nc, own * nc, m.err)
        if nx > 0:
            least_few(b.x, to * nx, b.scratch_x, at * nx, own * nx)
        if own < n:
            _copy_few(b.v, (to + own) * nc, b.scratch, (at + own) * nc, (n - own) * nc)
            if nx > 0:
                copy_cells(b.x, (to + own) * nx, b.scratch_x, (at + own) * nx, (n - own) * nx)
            b.born[node + i] = births
        i += i & -i


@inlined
def put_in_row(m, b, ranks, q, row):
    """Store event q of the block with its row."""
    S = m.S
    begin, end = live(m)
    at, n = row * S[S_COLUMN_ROOM] + begin, end - begin
    half, place, leaves = S[S_HALF], ranks.place[q], S[S_LEAVES]
    if place < 0:
        return
    if m.z.operator == EQUAL:
        _write(m, b, half, 0, place + 1, place + 1, at, n)
        return
    _write(m, b, half, 0, place + 1, leaves, at, n)
    if m.z.operator == UNEQUAL:
        _write(m, b, half, 1, leaves - place, leaves, at, n)


# Most events go the short way, and have these in line (plain.py); others call them.
look_up_shared = apart(find_row.py_func)
extend_row = apart(lengthen_row.py_func)
end_at = apart(end_row.py_func)
store_scanned = apart(store_row.py_func)
put_in_shared = apart(put_in_row.py_func)
