"""Rows over a shared basis: coefficients of snapshots, one column for all units together.

What all E+ of the group have in common is how an event follows from those before it. So a stored
event may have, instead of numbers of each unit and window, coefficients of *snapshots*: a snapshot
is what has come into each E+ by some event of the loop, in each window (graphlet-level snapshot of
the paper), and a new one is taken where an event of the loop finds that anything came in since the
one before. The row of an event is 1 for the snapshot at hand, and the sum of the rows of its
predecessors. The width of a row is then the number of snapshots that still matter, however many
units and windows there are.

What came in is a log of entries: columns of E+, windows, numbers. Snapshot s is the sum of all
entries up to it, so an entry is multiplied with the sum of the coefficients of all snapshots from
its own on. That is done where something reads what E+ has given, or a window closes: `settle` adds
what has ended at E+ since the last time to the rows that it goes to, and from there everything is
as with own columns.

Snapshots are numbered by birth. One that was taken while window n was the newest matters until n
closes; so they die in the order of birth.

Cost: O(snapshots x log events) for each event of the loop, O(snapshots + entries x windows) for
each `settle`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types
from numba.extending import overload

from hamlet.kernel import numbers
from hamlet.kernel.code import ONE
from hamlet.kernel.jit import OPTIONS, compiled, inlined
from hamlet.kernel.numbers import SAFE
from hamlet.kernel.rows.cells import (
    add_cells,
    add_product,
    add_sizes,
    copy_cells,
    sum_cells,
    sum_open,
    zero_cells,
)
from hamlet.kernel.rows.layout import (
    C_SNAPSHOTS,
    COLUMNS,
    COMPONENTS,
    EQUAL,
    LOOP_LETTER,
    N_EVENTS,
    OP_FIRST,
    OP_IS_LOOP,
    OP_N,
    OP_TARGETS_P,
    OP_WEIGHT,
    OPERATOR,
    OPS_P,
    OVERLAP,
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
    S_HI,
    S_LEAVES,
    S_LO,
    S_OLDEST,
    S_PLACE,
    S_ROOM,
    S_SCRATCH,
    S_STORED,
    S_UNSETTLED,
    TARGET_AT,
    UNEQUAL,
)
from hamlet.kernel.rows.memory import entries, row_size, window_size
from hamlet.kernel.rows.tree import node_of

_INLINED: Any = {**OPTIONS, "forceinline": True}
# Of an entry: its first snapshot, columns of E+, windows, and where its numbers begin
E_COLUMN, E_FIRST, E_N, E_LO, E_HI, E_AT = range(6)
ENTRY = 6


class Basis(NamedTuple):
    """Snapshots and rows of coefficients; these are single words or doubles in every kind."""

    v: Any  # the table: see scan.py and tree.py
    scratch: Any  # rows of the events of a step
    ended: Any  # by snapshot: the sum of rows since they were last settled
    sizes: Any  # by snapshot: of all coefficients that were stored
    sums: Any  # room for a row
    begins: Any  # by snapshot: how many events had been stored before it
    newest: Any  # and the newest window then
    log: Any  # entries
    amounts: Any  # their numbers, by window, component and column


@inlined
def live(m):
    """Where the snapshots that matter begin and end among those that there is room for."""
    first = m.S[S_FIRST_COLUMN]
    return m.S[S_OLDEST] - first, m.S[S_BIRTHS] - first


@compiled
def enter(m, b, source, at, first, n, lo, hi):
    """Note what comes into n columns of E+ in some windows: numbers of a row, from at on."""
    P, S = m.P, m.S
    k, to = S[S_ENTRIES], S[S_AMOUNTS]
    size, _ = window_size(P)
    b.log[ENTRY * k + E_FIRST], b.log[ENTRY * k + E_N] = first, n
    b.log[ENTRY * k + E_LO], b.log[ENTRY * k + E_HI] = lo, hi
    b.log[ENTRY * k + E_AT] = to
    for place in range(P[OVERLAP]):
        for c in range(P[COMPONENTS]):
            copy_cells(b.amounts, to, source, at + place * size + c * P[COLUMNS], n)
            to += n
    S[S_ENTRIES], S[S_AMOUNTS] = k + 1, to


@compiled
def take_snapshot(m, b):
    """Have a new snapshot, of all that has come in."""
    P, S = m.P, m.S
    if S[S_BIRTHS] - S[S_FIRST_COLUMN] + 1 >= S[S_COLUMN_ROOM]:
        forget_snapshots(m, b)
    nc, at = P[COMPONENTS], S[S_BIRTHS] - S[S_FIRST_COLUMN]
    if at + 1 >= S[S_COLUMN_ROOM]:
        m.err[0] = 1
        return
    for c in range(at * nc, (at + 1) * nc):
        b.ended[c] = 0
        b.sizes[c] = 0
    b.begins[at], b.newest[at] = S[S_STORED], S[S_HI]
    for k in range(S[S_DATED], S[S_ENTRIES]):
        b.log[ENTRY * k + E_COLUMN] = S[S_BIRTHS]
    S[S_DATED] = S[S_ENTRIES]
    S[S_BIRTHS] += 1
    S[C_SNAPSHOTS] += 1


@compiled
def forget_snapshots(m, b):
    """Forget the snapshots and entries of closed windows; and make room for one more."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    begin, end = live(m)
    while begin < end and b.newest[begin] < S[S_LO]:
        begin += 1
    S[S_OLDEST] = S[S_FIRST_COLUMN] + begin
    while S[S_FIRST_ENTRY] < S[S_DATED] and b.log[ENTRY * S[S_FIRST_ENTRY] + E_HI] < S[S_LO]:
        S[S_FIRST_ENTRY] += 1
    if end + 1 < S[S_COLUMN_ROOM]:
        return
    for k in range(begin, end):
        b.begins[k - begin], b.newest[k - begin] = b.begins[k], b.newest[k]
        for c in range(nc):
            b.ended[(k - begin) * nc + c] = b.ended[k * nc + c]
            b.sizes[(k - begin) * nc + c] = b.sizes[k * nc + c]
    S[S_FIRST_COLUMN] += begin


@compiled
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
    S[S_ENTRIES] -= first
    S[S_DATED] -= first
    S[S_AMOUNTS] -= gone
    S[S_FIRST_ENTRY] = 0
    return S[S_ENTRIES] + n <= log_room and S[S_AMOUNTS] + cells <= amounts_room


# Sums over stored events


@compiled
def look_up_shared(m, b, table, ranks, q, bound, is_tree, row):
    """The coefficients of an event of the loop that stored events give it."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    begin, end = live(m)
    at = row * S[S_COLUMN_ROOM] * nc
    if bound != bound or begin == end:
        zero_cells(b.scratch, at + begin * nc, (end - begin) * nc)
    elif is_tree:
        zero_cells(b.scratch, at + begin * nc, (end - begin) * nc)
        _read_tree(m, b, table, ranks, q, at)
    else:
        room, stored = S[S_ROOM], S[S_STORED]
        for k in range(begin, end):
            place = (S[S_FIRST_COLUMN] + k) % S[S_COLUMN_ROOM] * nc
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
                    P[OPERATOR],
                    m.err,
                )


@inlined
def _read(m, b, table, half, side, i, at):
    """Add a node of a tree."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    node = node_of(m, half, side, i)
    base = S[S_BASE] if half == S[S_HALF] else S[S_BASE_BEFORE]
    n = table.newest[node] - S[S_OLDEST]
    if n > 0:
        source = (node * S[S_COLUMN_ROOM] + S[S_OLDEST] - base) * nc
        sum_cells(
            b.scratch, at + (S[S_OLDEST] - S[S_FIRST_COLUMN]) * nc, b.v, source, n * nc, m.err
        )


@inlined
def _read_tree(m, b, table, ranks, q, at):
    P, S = m.P, m.S
    half = S[S_HALF]
    if ranks.low_before[q] > 0:
        _read(m, b, table, 1 - half, 0, ranks.low_before[q], at)
    if P[OPERATOR] == EQUAL:
        if ranks.low[q] > 0:
            _read(m, b, table, half, 0, ranks.low[q], at)
    else:
        i = ranks.low[q]
        while i > 0:
            _read(m, b, table, half, 0, i, at)
            i &= i - 1
    if P[OPERATOR] == UNEQUAL:
        if ranks.high_before[q] > 0:
            _read(m, b, table, 1 - half, 1, ranks.high_before[q], at)
        i = ranks.high[q]
        while i > 0:
            _read(m, b, table, half, 1, i, at)
            i &= i - 1


@compiled
def add_up_shared(m, b, table, half, side, leaves):
    """Turn a tree into sums over all first i events."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    # The half has just been the one at hand.
    begin = (S[S_OLDEST] - S[S_BASE]) * nc
    for i in range(1, leaves + 1):
        if i & (i - 1) == 0:
            continue
        to, source = node_of(m, half, side, i), node_of(m, half, side, i & (i - 1))
        own = (max(table.newest[to], S[S_OLDEST]) - S[S_BASE]) * nc
        more = (max(table.newest[source], S[S_OLDEST]) - S[S_BASE]) * nc
        at, at2 = to * S[S_COLUMN_ROOM] * nc, source * S[S_COLUMN_ROOM] * nc
        if more > begin:
            n = min(own, more) - begin
            sum_cells(b.v, at + begin, b.v, at2 + begin, n, m.err)
            if more > own:
                copy_cells(b.v, at + own, b.v, at2 + own, more - own)
                table.newest[to] = table.newest[source]


@compiled
def extend_row(m, b, events, op, e, row):
    """Add the snapshot at hand, and the weights of the event itself."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    begin, end = live(m)
    at = row * S[S_COLUMN_ROOM] * nc
    if begin < end:
        b.scratch[at + (end - 1) * nc] += 1
    for c in range(1, nc):
        weight = P[P[OP_WEIGHT] + op * (nc - 1) + c - 1]
        if weight == ONE:
            for k in range(begin, end):
                add_cells(b.scratch, at + k * nc + c, b.scratch, at + k * nc, 1, m.err)
        elif weight >= 0:
            factor = events.weights[weight * P[N_EVENTS] + e]
            for k in range(begin, end):
                add_product(b.scratch, at + k * nc + c, b.scratch, at + k * nc, 1, factor, m.err)


@compiled
def store_shared(m, b, table, ranks, q, key, is_tree, row):
    """Store an event of the loop, and note that what ended at it is not settled."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    begin, end = live(m)
    at, n = row * S[S_COLUMN_ROOM] * nc + begin * nc, (end - begin) * nc
    if n == 0:
        return
    S[S_UNSETTLED] = 1
    add_sizes(b.sizes, begin * nc, b.scratch, at, n, m.err)
    sum_cells(b.ended, begin * nc, b.scratch, at, n, m.err)
    if key != key:
        return
    if is_tree:
        _put_in(m, b, table, ranks, q, at, n)
        return
    if S[S_STORED] == S[S_ROOM]:
        _make_room(m, b, table)
    room, stored = S[S_ROOM], S[S_STORED]
    table.keys[stored] = key
    for k in range(begin, end):
        place = (S[S_FIRST_COLUMN] + k) % S[S_COLUMN_ROOM] * nc
        for c in range(nc):
            b.v[(place + c) * room + stored] = b.scratch[at + (k - begin) * nc + c]
    S[S_STORED] = stored + 1


@compiled
def _make_room(m, b, table):
    """Forget the events that came before all snapshots that matter."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    begin, end = live(m)
    room, stored, gone = S[S_ROOM], S[S_STORED], b.begins[begin]
    for k in range(begin, end):
        place = (S[S_FIRST_COLUMN] + k) % S[S_COLUMN_ROOM] * nc
        for c in range(place, place + nc):
            for e in range(b.begins[k], stored):
                b.v[c * room + e - gone] = b.v[c * room + e]
        b.begins[k] -= gone
    for e in range(gone, stored):
        table.keys[e - gone] = table.keys[e]
    S[S_STORED] = stored - gone


@inlined
def _write(m, b, table, half, side, i, at, n):
    """Add a row to a node of a tree."""
    P, S = m.P, m.S
    nc = P[COMPONENTS]
    node = node_of(m, half, side, i)
    to = (node * S[S_COLUMN_ROOM] + S[S_OLDEST] - S[S_BASE]) * nc
    own = min(max(0, table.newest[node] - S[S_OLDEST]) * nc, n)
    sum_cells(b.v, to, b.scratch, at, own, m.err)
    copy_cells(b.v, to + own, b.scratch, at + own, n - own)
    table.newest[node] = S[S_BIRTHS]


@inlined
def _put_in(m, b, table, ranks, q, at, n):
    P, S = m.P, m.S
    half, place, leaves = S[S_HALF], ranks.place[q], S[S_LEAVES]
    if place < 0:
        return
    if P[OPERATOR] == EQUAL:
        _write(m, b, table, half, 0, place + 1, at, n)
        return
    i = place + 1
    while i <= leaves:
        _write(m, b, table, half, 0, i, at, n)
        i += i & -i
    if P[OPERATOR] == UNEQUAL:
        i = leaves - place
        while i <= leaves:
            _write(m, b, table, half, 1, i, at, n)
            i += i & -i


@compiled
def forget_stored(m, b):
    """Forget all stored events of a scanned table."""
    begin, end = live(m)
    for k in range(begin, end):
        b.begins[k] = m.S[S_STORED]
        for c in range(k * m.P[COMPONENTS], (k + 1) * m.P[COMPONENTS]):
            b.sizes[c] = 0


# Out of the basis


def is_in_range(v: Any, d: int) -> bool:
    """Whether a coefficient, or a sum of some, is one that can be trusted."""
    raise NotImplementedError


@overload(is_in_range, jit_options=_INLINED)
def _is_in_range(v: Any, d: int) -> Any:
    if v.dtype == types.int64:

        def ints(v: Any, d: int) -> bool:
            return bool(abs(v[d]) < SAFE)

        return ints

    def doubles(v: Any, d: int) -> bool:
        return bool(abs(v[d]) < 1e300)

    return doubles


@compiled
def settle(m, b):
    """Add what has ended at E+ since the last time to the rows that it goes to."""
    P, S = m.P, m.S
    S[S_UNSETTLED] = 0
    nc = P[COMPONENTS]
    whole, _ = row_size(P)
    begin, end = live(m)
    for c in range(nc):
        total = b.ended[begin * nc + c] * 0
        for k in range(end - 1, begin - 1, -1):
            total += b.ended[k * nc + c]
            b.ended[k * nc + c] = 0
            b.sums[k * nc + c] = total
            if not is_in_range(b.sums, k * nc + c):
                m.err[0] = 1
                return
    row = S[S_SCRATCH] * whole
    zero_cells(m.scratch, row, whole)
    for k in range(S[S_FIRST_ENTRY], S[S_DATED]):
        _settle_entry(m, b, ENTRY * k, row, begin)
    first = P[P[OPS_P] + P[LOOP_LETTER]]
    for op in range(first, P[P[OPS_P] + P[LOOP_LETTER] + 1]):
        if P[P[OP_IS_LOOP] + op] == 1:
            n = P[P[OP_N] + op]
            for k in entries(P, OP_TARGETS_P, op):
                to, at = P[P[TARGET_AT] + k], row + P[P[OP_FIRST] + op]
                for c in range(0, whole, P[COLUMNS]):
                    add_cells(m.v, to + c, m.scratch, at + c, n, m.err)


@inlined
def _settle_entry(m, b, entry, row, begin):
    """Multiply an entry with the coefficients of all snapshots from its own on."""
    P, S = m.P, m.S
    nc, columns = P[COMPONENTS], P[COLUMNS]
    size, _ = window_size(P)
    n = b.log[entry + E_N]
    sums = max(begin, b.log[entry + E_COLUMN] - S[S_FIRST_COLUMN]) * nc
    if b.sums[sums] == 0:
        return
    lo = max(S[S_LO], b.log[entry + E_LO])
    for window in range(lo, b.log[entry + E_HI] + 1):
        place = S[S_PLACE] + window - S[S_LO]
        if place >= P[OVERLAP]:
            place -= P[OVERLAP]
        at = row + place * size + b.log[entry + E_FIRST]
        source = b.log[entry + E_AT] + place * nc * n
        for i in range(n):
            numbers.add_times(m.scratch, at + i, b.amounts, source + i, b.sums[sums], m.err)
            for c in range(1, nc):
                d = at + c * columns + i
                numbers.add_times(m.scratch, d, b.amounts, source + c * n + i, b.sums[sums], m.err)
                numbers.add_times(m.scratch, d, b.amounts, source + i, b.sums[sums + c], m.err)
