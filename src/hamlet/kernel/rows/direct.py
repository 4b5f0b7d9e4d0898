"""Events that are alone at their time, in a scanned table over own columns: taken in at once.

Where windows are small most of what an event costs is not the sums over stored events but all that
is around them. The operations of such an event are done one after the other, each column by column:
what stored events give, what its sources have, its own weights; then the column is stored, and
added where it goes. Nothing is put aside first: no other event of its time could see it too early,
and no operation reads what one before it has added (letters.py looks after that).

Cost: O(columns x events) for each window that is open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.code import ONE
from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows import layout as at
from hamlet.kernel.rows.cells import PAD, add_sizes, least_open, sum_open
from hamlet.kernel.rows.scan import make_room


class _Doing(NamedTuple):
    """An operation and the event that does it: by value, so that they are read once."""

    op: Any
    first: Any  # its first column in the table, where it is of the loop
    event: Any
    is_loop: Any
    bound: Any
    sources: Any  # where they begin and end in the code, as the targets
    sources_end: Any
    targets: Any
    targets_end: Any
    stored: Any
    room: Any


@inlined
def take_in(m, b, events, table, e, letter):
    """Take in event e."""
    P, S = m.P, m.S
    is_stored = P[P[at.IS_LOOP] + letter] == 1 and events.f[e] == events.f[e]
    if is_stored and S[at.S_STORED] == S[at.S_ROOM] - PAD:
        make_room(m, b, table)
    for op in range(P[P[at.OPS_P] + letter], P[P[at.OPS_P] + letter + 1]):
        is_loop = P[P[at.OP_IS_LOOP] + op] == 1
        stored, first, first_to = S[at.S_STORED], P[at.OP_SOURCES_P] + op, P[at.OP_TARGETS_P] + op
        doing = _Doing(
            op,
            P[P[at.OP_FIRST] + op],
            e,
            is_loop,
            events.g[e],
            P[first],
            P[first + 1],
            P[first_to],
            P[first_to + 1],
            stored,
            S[at.S_ROOM],
        )
        _do(m, events, table, doing)
    if is_stored:
        stored = S[at.S_STORED]
        if P[P[at.SKIPS_P] + letter] < P[P[at.SKIPS_P] + letter + 1]:
            _skip(m, table, letter, stored)
        table.keys[stored], table.keys[stored + PAD] = events.f[e], np.nan
        S[at.S_STORED] = stored + 1


@apart
def _skip(m, table, letter, stored):
    """Have nothing in the columns that do not admit an event of a letter."""
    P, z, room = m.P, m.z, m.S[at.S_ROOM]
    for k in range(P[P[at.SKIPS_P] + letter], P[P[at.SKIPS_P] + letter + 1]):
        first, n = P[P[at.SKIP_FIRST] + k], P[P[at.SKIP_N] + k]
        for block in range(z.blocks):
            for c in range(block * z.columns + first, block * z.columns + first + n):
                numbers.set_zero(table.v, c * room + stored)
        for block in range(z.blocks_x):
            for c in range(block * z.columns + first, block * z.columns + first + n):
                table.x[c * room + stored] = np.inf


@inlined
def _do(m, events, table, o):
    """Do an operation in all open windows."""
    S, z, n = m.S, m.z, m.P[m.P[at.OP_N] + o.op]
    place = S[at.S_PLACE]
    for _ in range(S[at.S_OPEN]):
        first = m.begins[place]
        for c in range(z.components):
            d = place * z.size + c * z.columns
            for to in range(d, d + n):
                _take_number(m, events, table, o, first, c, to)
        for c in range(z.extremes):
            d = place * z.size_x + c * z.columns
            for q in range(n):
                _take_extreme(m, events, table, o, first, c, d + q, place * z.size + q)
        place += 1
        if place == z.overlap:
            place = 0


@inlined
def _take_number(m, events, table, o, first, c, d):
    """Take in component c of a window, at distance d from the begin of sources and targets.

    Of an op of the loop its first column is their place in the table, too.
    """
    P, z, row = m.P, m.z, (d + o.first) * o.room
    if o.is_loop:
        sum_open(
            m.scratch, d, table.v, row, table.keys, first, o.stored, o.bound, z.operator, m.err
        )
    else:
        numbers.set_zero(m.scratch, d)
    for k in range(o.sources, o.sources_end):
        numbers.add(m.scratch, d, m.v, P[P[at.SOURCE_AT] + k] + d, m.err)
    if c > 0:
        weight, count = P[P[at.OP_WEIGHT] + o.op * (z.components - 1) + c - 1], d - c * z.columns
        if weight >= 0:
            factor = events.weights[weight * z.n_events + o.event]
            numbers.add_times(m.scratch, d, m.scratch, count, factor, m.err)
        elif weight == ONE:
            numbers.add(m.scratch, d, m.scratch, count, m.err)
    if o.is_loop:
        numbers.copy(table.v, row + o.stored, m.scratch, d)
        add_sizes(m.v, z.rows * z.whole + d + o.first, m.scratch, d, 1, m.err)
    for k in range(o.targets, o.targets_end):
        numbers.add(m.v, P[P[at.TARGET_AT] + k] + d, m.scratch, d, m.err)


@inlined
def _take_extreme(m, events, table, o, first, c, d, count):
    """Take in extreme c of a window, at distance d; its number of trends is at `count`."""
    P, z, row = m.P, m.z, (d + o.first) * o.room
    least = np.inf
    if o.is_loop:
        least = least_open(table.x, row, table.keys, first, o.stored, o.bound, z.operator)
    for k in range(o.sources, o.sources_end):
        least = min(least, m.x[P[P[at.SOURCE_AT_X] + k] + d])
    attribute = P[P[at.OP_EXTREME] + o.op * z.extremes + c]
    if attribute >= 0:
        value = events.extremes[(attribute >> 1) * z.n_events + o.event]
        value = -value if attribute & 1 else value
        if value < least and not numbers.is_zero(m.scratch, count):  # null is less than nothing
            least = value
    if o.is_loop:
        table.x[row + o.stored] = least
    for k in range(o.targets, o.targets_end):
        to = P[P[at.TARGET_AT_X] + k] + d
        m.x[to] = min(m.x[to], least)
