"""Events that are alone at their time, in a scanned table over own columns: taken in at once.

Where windows are small most of what an event costs is not the sums over stored events but all that
is around them. The operations of such an event are done one after the other, each column by column:
what stored events give, what its sources have, its own weights; then the column is stored, and
added where it goes. Nothing is put aside first: no other event of its time could see it too early,
and no operation reads what one before it has added (letters.py looks after that).

Most queries ask for a count and one or two things more. These have numbers of one word each, which
never leave the registers until they are stored, and all of them are had from the stored events in
one pass (`look_back`). Other columns go number by number.

Cost: O(columns x events) for each window that is open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from hamlet.kernel import numbers
from hamlet.kernel.code import ONE
from hamlet.kernel.jit import INLINED, apart, inlined
from hamlet.kernel.numbers.kinds import is_one
from hamlet.kernel.rows import layout as at
from hamlet.kernel.rows.cells import (
    PAD,
    add_sizes,
    grow_size,
    least_open,
    look_back,
    multiple,
    note,
    nothing_of,
    sum_open,
)
from hamlet.kernel.rows.scan import make_room

# Components and extremes of columns that are had in one pass, at most
_MOST_COMPONENTS, _MOST_EXTREMES = 2, 2
# Stored events that are many
_MANY = 8


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
        if not do_narrow(m, events, table, doing):
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


def do_narrow(m: Any, events: Any, table: Any, o: Any) -> bool:
    """Do an operation in all open windows where columns have few numbers, of one word each.

    Returns whether that is so.
    """
    raise NotImplementedError


@overload(do_narrow, jit_options=INLINED)
def _do_narrow(m: Any, events: Any, table: Any, o: Any) -> Any:
    if not is_one(m.types[m.fields.index("v")]):

        def no(m: Any, events: Any, table: Any, o: Any) -> bool:
            return False

        return no

    def narrow(m: Any, events: Any, table: Any, o: Any) -> bool:
        z = m.z
        if z.components > _MOST_COMPONENTS or z.extremes > _MOST_EXTREMES:
            return False
        if z.operator == at.UNEQUAL or z.components + z.extremes > 3:
            return False
        # A count alone over many stored events is a sum that vectors are faster at.
        many = o.stored - m.begins[m.S[at.S_PLACE]] > _MANY
        if many and z.components == 1 and z.extremes == 0:
            return False
        # The numbers are given as constants, so that each has code of its own: nothing is asked
        # of them for each column. Rows of small partitions take a fifth less time by that.
        if z.components == 1 and z.extremes == 0:
            _do_in_registers(m, events, table, o, 1, 0)
        elif z.components == 1 and z.extremes == 1:
            _do_in_registers(m, events, table, o, 1, 1)
        elif z.components == 2 and z.extremes == 0:
            _do_in_registers(m, events, table, o, 2, 0)
        else:
            _do_in_registers(m, events, table, o, z.components, z.extremes)
        return True

    return narrow


@inlined
def _do_in_registers(m, events, table, o, nc, nx):
    """Do an operation in all open windows: a count, another component, two extremes at most."""
    P, S, z, v, x = m.P, m.S, m.z, m.v, m.x
    columns = z.columns
    n = P[P[at.OP_N] + o.op]
    below = -np.inf if z.operator == at.EQUAL else o.bound
    same = np.nan if z.operator == at.BELOW else o.bound
    source_at, source_at_x = P[at.SOURCE_AT], P[at.SOURCE_AT_X]
    target_at, target_at_x = P[at.TARGET_AT], P[at.TARGET_AT_X]
    zero = nothing_of(v)
    factor, one, two = zero, np.nan, np.nan
    if nc == 2:
        factor = _factor(m, events, o)
    if nx > 0:
        one = _own_extreme(m, events, o, 0)
    if nx > 1:
        two = _own_extreme(m, events, o, 1)
    over, sizes, place = 0, z.rows * z.whole + o.first, S[at.S_PLACE]
    for _ in range(S[at.S_OPEN]):
        first = m.begins[place]
        for q in range(n):
            d, d_x = place * z.size + q, place * z.size_x + q
            row, row_x = (d + o.first) * o.room, (d_x + o.first) * o.room
            count, total, least, second = zero, zero, np.inf, np.inf
            if o.is_loop and first < o.stored:
                count, total, least, second = look_back(
                    table.v,
                    row,
                    row + columns * o.room,
                    table.x,
                    row_x,
                    row_x + columns * o.room,
                    table.keys,
                    first,
                    o.stored,
                    below,
                    same,
                    nc,
                    nx,
                )
            for k in range(o.sources, o.sources_end):
                source = P[source_at + k] + d
                count += v[source]
                over = note(over, count)
                if nc == 2:
                    total += v[source + columns]
                    over = note(over, total)
                if nx > 0:
                    source_x = P[source_at_x + k] + d_x
                    least = min(least, x[source_x])
                    if nx > 1:
                        second = min(second, x[source_x + columns])
            if nc == 2:
                more, over = multiple(over, count, factor)
                total += more
                over = note(over, total)
            # Null is less than nothing; where no trend ends, nothing is.
            if one < least and count != zero:
                least = one
            if two < second and count != zero:
                second = two
            if o.is_loop:
                table.v[row + o.stored] = count
                over = grow_size(over, v, sizes + d, count)
                if nc == 2:
                    table.v[row + columns * o.room + o.stored] = total
                    over = grow_size(over, v, sizes + d + columns, total)
                if nx > 0:
                    table.x[row_x + o.stored] = least
                if nx > 1:
                    table.x[row_x + columns * o.room + o.stored] = second
            for k in range(o.targets, o.targets_end):
                target = P[target_at + k] + d
                sum_of_counts = v[target] + count
                v[target] = sum_of_counts
                over = note(over, sum_of_counts)
                if nc == 2:
                    sum_of_totals = v[target + columns] + total
                    v[target + columns] = sum_of_totals
                    over = note(over, sum_of_totals)
                if nx > 0:
                    target_x = P[target_at_x + k] + d_x
                    x[target_x] = min(x[target_x], least)
                    if nx > 1:
                        x[target_x + columns] = min(x[target_x + columns], second)
        place += 1
        if place == z.overlap:
            place = 0
    if over < 0:
        m.err[0] = 1


@inlined
def _factor(m, events, o):
    """What an event adds to the second component for each trend that ends at it."""
    weight, zero = m.P[m.P[at.OP_WEIGHT] + o.op], nothing_of(m.v)
    if weight >= 0:
        return zero + events.weights[weight * m.z.n_events + o.event]
    return zero + 1 if weight == ONE else zero


@inlined
def _own_extreme(m, events, o, c):
    """The value of an event for an extreme, of MAX with the sign changed; NaN for none."""
    attribute = m.P[m.P[at.OP_EXTREME] + o.op * m.z.extremes + c]
    if attribute < 0:
        return np.nan
    value = events.extremes[(attribute >> 1) * m.z.n_events + o.event]
    return -value if attribute & 1 else value


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
