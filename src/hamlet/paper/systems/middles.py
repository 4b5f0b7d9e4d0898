"""Middle parts of sequences that are counted once for all: numbers for each event that begins one.

A middle is a chain of steps that several prefixes, its entries, go on with. Each event that begins
it, a start, has the number of ways to go from there to each place of the chain; they depend neither
on the entry nor on the window. What each entry had in each window just before the start is kept
beside them, so that the number of a longer prefix is the sum, over the starts in the window, of
both multiplied. It is made when a later event, or the end of the window, asks for it.

Starts of a middle are a ring in the order of time; their records lie behind those of the windows.

Cost: O(starts x places of the chain) for each event of a middle, O(entries x windows) for a start,
O(starts) whenever a number is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled
from hamlet.kernel.limbs import add_product_shifted
from hamlet.kernel.numbers import (
    add_wide_product,
    fits_product,
    kind_of,
    store_int,
)
from hamlet.paper.systems.tables import ONE

# What is known of a middle: its places; its entries; where its starts are in the ring, the first of
# their records, and how many each has; how many of these are rows; the length of the longest entry.
# Then, for each letter, whether its events come to a place after the first.
PLACE, PLACE_END, ENTRY, ENTRY_END, RING, ROOM, RECORD, SIZE, ROWS, DEEPEST, TOUCHED = range(11)
# What is known of its starts in one partition: where the first is in the ring, and how many there
# are; how many begin now, which count only after this step; and whether any entry has a match.
HEAD, COUNT, FRESH, IS_WANTED = range(4)
# What is known of a start: its time, and the last place of its chain with a match.
TIME, REACHED = range(2)


class Middles(NamedTuple):
    """Some middles, in few arrays: many would take long to compile.

    each: [middles, what is known], see above.
    places: For each letter whether its events come to a place, then the weights and extremes that
        they add there, then for each row after the places whether it adds them up.
    entries: Prefix, and feed or -1.
    exits: Entry, middle and row that prefixes which go on after a middle grow from; then, for each
        letter, whether its events make any of them.
    ends: Entry, middle and row that are added to a unit when a window ends, and the unit.
    ring, records: How many starts there is room for, and how many records they take.
    """

    each: Any
    places: Any
    entries: Any
    exits: Any
    ends: Any
    ring: int
    records: int


@compiled
def _record(each, state, p, k):
    """Where the records of start k of a middle begin: a row for each place, one for each sum.

    After them comes one for each window and entry.
    """
    return each[p, RECORD] + (state[p, HEAD] + k) % each[p, ROOM] * each[p, SIZE]


@compiled
def _at(each, state, p, k):
    """Where start k of a middle is in the ring."""
    return each[p, RING] + (state[p, HEAD] + k) % each[p, ROOM]


# Records


@compiled
def add_all(v, to, source, size, x, size_x, err):
    """Add one record of numbers and extremes to another, both by their number."""
    for c in range(size):
        numbers.add(v, to * size + c, v, source * size + c, err)
    for k in range(size_x):
        x[to * size_x + k] = min(x[to * size_x + k], x[source * size_x + k])


@compiled
def empty(v, at, size, x, size_x):
    """A record of nothing."""
    for c in range(size):
        numbers.set_zero(v, at * size + c)
    for k in range(size_x):
        x[at * size_x + k] = np.inf


@compiled
def copy_all(v, to, source, size, x, size_x):
    """Write one record over another."""
    for c in range(size):
        numbers.copy(v, to * size + c, v, source * size + c)
    for k in range(size_x):
        x[to * size_x + k] = x[source * size_x + k]


@compiled
def extend(
    v, to, source, size, x, size_x, adds, adds_at, least, least_at, row, weights, extremes, signs,
    e, err,
):  # fmt: skip
    """Write what a record becomes with one more event, e, to another.

    What its numbers add and its extremes look at stands in a row of `adds` and `least`, from some
    columns on: numbers of the weights and extremes of events.
    """
    numbers.copy(v, to * size, v, source * size)
    for c in range(1, size):
        numbers.copy(v, to * size + c, v, source * size + c)
        weight = adds[row, adds_at + c - 1]
        if weight >= 0:
            numbers.add_times(v, to * size + c, v, source * size, weights[weight, e], err)
        elif weight == ONE:
            numbers.add(v, to * size + c, v, source * size, err)
    for k in range(size_x):
        best = x[source * size_x + k]
        attribute = least[row, least_at + k]
        if attribute >= 0:
            own = extremes[attribute, e]
            if own == own:
                best = min(best, own * signs[k])
        x[to * size_x + k] = best


def add_product(v: Any, d: int, s: int, count: int, err: Any) -> None:
    """v[d] += v[s] * v[count], where v[count] is not negative."""


@overload(add_product, jit_options={"forceinline": True})
def _add_product(v: Any, d: int, s: int, count: int, err: Any) -> Any:
    kind = kind_of(v)
    if kind == "plain":

        def plain(v: Any, d: int, s: int, count: int, err: Any) -> None:
            v[d] += v[s] * v[count]

        return plain
    if kind == "float":

        def floats(v: Any, d: int, s: int, count: int, err: Any) -> None:
            f, g = v[0][count * v[1] + 0], v[0][count * v[1] + 1]
            add_wide_product(v, d, v[0][s * v[1] + 0], v[0][s * v[1] + 1], f, g)

        return floats
    if kind == "int":

        def ints(v: Any, d: int, s: int, count: int, err: Any) -> None:
            if fits_product(v[s], v[count]):
                store_int(v, d, v[d] + v[s] * v[count], err)
            else:
                err[0] = 1

        return ints

    def limbs(v: Any, d: int, s: int, count: int, err: Any) -> None:
        for k in range(v[1]):
            add_product_shifted(v, d, v, s, v[0][count * v[1] + k], 64 * k, err)

    return limbs


@compiled
def _add_joined(v, to, one, other, size, x, size_x, err):
    """Add to a record all matches of one followed by all of another: their numbers multiplied.

    A sum over them is that of the first as often as there are second ones, and the other way.
    """
    add_product(v, to * size, one * size, other * size, err)
    for c in range(1, size):
        add_product(v, to * size + c, one * size + c, other * size, err)
        add_product(v, to * size + c, other * size + c, one * size, err)
    for k in range(size_x):
        best = min(x[one * size_x + k], x[other * size_x + k])
        x[to * size_x + k] = min(x[to * size_x + k], best)


# Starts


@compiled
def add_combined(each, state, ring, joined, w, slide, windows, v, to, size, x, size_x, err):
    """Add to a record the matches in a window of an entry and what follows it up to a row."""
    entry, p, row = joined[0], joined[1], joined[2]
    entries = each[p, ENTRY_END] - each[p, ENTRY]
    beside = each[p, ROWS] + (w % windows) * entries + entry - each[p, ENTRY]
    for k in range(state[p, COUNT] - 1, -1, -1):
        if ring[_at(each, state, p, k), TIME] < w * slide:
            break
        start = _record(each, state, p, k)
        one, other = start + beside, start + row
        if numbers.is_zero(v, one * size) or numbers.is_zero(v, other * size):
            continue
        _add_joined(v, to, one, other, size, x, size_x, err)


@compiled
def add_exits(
    m, state, ring, letter, first, after, w, slide, windows, v, here, size, x, size_x, err
):  # fmt: skip
    """Make what the events of one step grow from, where that comes out of a middle.

    It is from before this step, as long as no start has advanced.
    """
    for j in range(m.exits.shape[0]):
        is_asked = False
        for e in range(first, after):
            is_asked |= m.exits[j, 3 + letter[e]] == 1
        if is_asked:
            empty(v, here + j, size, x, size_x)
            add_combined(
                m.each, state, ring, m.exits[j], w, slide, windows, v, here + j, size, x, size_x,
                err,
            )  # fmt: skip


@compiled
def note_starts(each, places, state, ring, before, letter, first, after):
    """Count the starts among the events of one step, and drop those before a time.

    Returns whether any begins now.
    """
    is_any = False
    for p in range(each.shape[0]):
        while state[p, COUNT] > 0 and ring[_at(each, state, p, 0), TIME] < before:
            state[p, HEAD] = (state[p, HEAD] + 1) % each[p, ROOM]
            state[p, COUNT] -= 1
        state[p, FRESH] = 0
        state[p, IS_WANTED] = 0
        for e in range(first, after):
            if places[each[p, PLACE], letter[e]]:
                state[p, FRESH] += 1
                is_any = True
    return is_any


@compiled
def note_entries(each, entries, state, here, prefixes, slot, v, size, x, size_x):
    """Keep beside the fresh starts what entries have in a window before this step."""
    for p in range(each.shape[0]):
        width = each[p, ENTRY_END] - each[p, ENTRY]
        for f in range(state[p, FRESH]):
            to = _record(each, state, p, state[p, COUNT] + f) + each[p, ROWS] + slot * width
            for entry in range(each[p, ENTRY], each[p, ENTRY_END]):
                feed = entries[entry, 1]
                source = here + (prefixes + feed if feed >= 0 else entries[entry, 0])
                if not numbers.is_zero(v, source * size):
                    state[p, IS_WANTED] = 1
                copy_all(v, to + entry - each[p, ENTRY], source, size, x, size_x)


@compiled
def advance(
    each, places, state, ring, ts, letter, weights, extremes, signs, first, after, v, record, size,
    x, size_x, err,
):  # fmt: skip
    """The events of one step come to places of middles; the longest prefix they may have reached.

    Later places first, as in the walk: what is read of an earlier one is from before this step.
    There is room for two records.
    """
    longest = 0
    letters = each.shape[1] - TOUCHED
    least = letters + size - 1
    for p in range(each.shape[0]):
        begin, last, rows = each[p, PLACE], each[p, PLACE_END] - each[p, PLACE] - 1, each[p, ROWS]
        old, is_touched = state[p, COUNT], False
        if state[p, IS_WANTED]:
            state[p, COUNT] += state[p, FRESH]
            empty(v, record + 1, size, x, size_x)
            numbers.set_one(v, (record + 1) * size)
        for e in range(first, after):
            is_touched |= each[p, TOUCHED + letter[e]] == 1
        own = first
        for k in range(0 if is_touched else old, state[p, COUNT]):
            at, start = _at(each, state, p, k), _record(each, state, p, k)
            low, high, low_e, high_e = 1, min(ring[at, REACHED] + 1, last), first, after
            if k >= old:
                # One that is fresh comes to its first place, by its own event alone.
                while not places[begin, letter[own]]:
                    own += 1
                low, high, low_e, high_e = 0, 0, own, own + 1
                own += 1
                ring[at, TIME], ring[at, REACHED] = ts[low_e], 0
                for row in range(rows):
                    empty(v, start + row, size, x, size_x)
            for place in range(high, low - 1, -1):
                source = start + place - 1 if place > 0 else record + 1
                if numbers.is_zero(v, source * size):
                    continue
                for e in range(low_e, high_e):
                    if places[begin + place, letter[e]]:
                        ring[at, REACHED] = max(ring[at, REACHED], place)
                        extend(
                            v, record, source, size, x, size_x, places, letters, places, least,
                            begin + place, weights, extremes, signs, e, err,
                        )  # fmt: skip
                        add_all(v, start + place, record, size, x, size_x, err)
                        for row in range(last + 1, rows):
                            if places[begin + place, least + size_x + row]:
                                add_all(v, start + row, record, size, x, size_x, err)
            longest = max(longest, each[p, DEEPEST] + 1 + ring[at, REACHED])
    return longest
