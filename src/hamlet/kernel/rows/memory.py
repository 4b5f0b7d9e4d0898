"""What the functions of the row kernel are handed: addresses of arrays, in a few bundles.

See machine/memory.py for why addresses. What they point to must outlive them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet.kernel.jit import inlined
from hamlet.kernel.rows.layout import (
    COLUMNS,
    COMPONENTS,
    EXTREMES,
    LAYERS,
    N_EVENTS,
    OPERATOR,
    OVERLAP,
    ROWS,
    SLIDE,
    UNITS,
    WITHIN,
)


class Shape(NamedTuple):
    """The scalars of the code that every event needs: by value, so they are read once.

    One more has made each call dearer, and events in small windows by half: see P for the others.
    """

    columns: Any
    components: Any
    extremes: Any
    overlap: Any
    size: Any  # numbers, and extremes, of one window of a row
    size_x: Any
    whole: Any  # and of a row
    whole_x: Any
    blocks: Any  # of columns side by side in a row: one for each window and component, or extreme
    blocks_x: Any
    operator: Any
    layers: Any
    rows: Any
    units: Any
    n_events: Any
    within: Any
    slide: Any


class Rows(NamedTuple):
    """Code, state and running totals."""

    P: Any  # code: see layout.py
    z: Any  # Shape
    S: Any  # state in integers: see layout.py
    v: Any  # numbers of rows; after the last row, sizes of all stored numbers
    x: Any  # extremes of rows; those of MAX with the sign changed
    scratch: Any  # rows: what the events of a step add, by event and layer
    scratch_x: Any
    begins: Any  # by place of a window: where its events begin in the scanned table; then by
    # length and slide of units: the first window that has not been closed for them
    err: Any  # err[0] is set where a number may not fit
    scale: Any  # what doubles are scaled by
    D: Any  # counters of decisions: see decision.py
    decided: Any  # decisions that are written down
    panes: Any  # what the survey has noted


class Events(NamedTuple):
    """Events in time order."""

    ts: Any
    tied: Any  # 1 where the event before it has the same time
    letter: Any
    f: Any  # the two sides of the predicate, with the sign that layout.py asks for
    g: Any
    weights: Any  # by weight, then event
    extremes: Any  # by attribute, then event; NaN for null


class Table(NamedTuple):
    """Stored events.

    A scanned table has for each place of a row all stored numbers side by side, from the oldest to
    the newest; a tree has for each node a row, in two halves.
    """

    v: Any
    x: Any
    keys: Any  # of a scanned table
    newest: Any  # by node of a tree: the last window that it has numbers of
    runs: Any  # of events of batches before: where each is in the arrays below, see runs.py
    kept_ints: Any
    kept_doubles: Any
    kept_numbers: Any


class Ranks(NamedTuple):
    """Of the events of the loop in one block: see ranking.py. `room` is for how many."""

    f: Any
    g: Any
    keys: Any  # sorted, in two halves
    same: Any  # by sorted key: the number of different ones before it, in two halves
    items: Any
    bounds: Any  # sorted
    bound_items: Any
    spare: Any
    spare_items: Any
    place: Any  # of each event, from here on
    low: Any
    high: Any
    low_before: Any
    high_before: Any
    counts: Any  # to sort with
    room: Any


class Records(NamedTuple):
    """Results of windows: their numbers are in S."""

    part: Any
    unit: Any
    window: Any
    v: Any
    x: Any


@inlined
def shape_of(P):
    """The scalars of the code."""
    size, size_x = P[COLUMNS] * P[COMPONENTS], P[COLUMNS] * P[EXTREMES]
    return Shape(
        P[COLUMNS],
        P[COMPONENTS],
        P[EXTREMES],
        P[OVERLAP],
        size,
        size_x,
        P[OVERLAP] * size,
        P[OVERLAP] * size_x,
        P[OVERLAP] * P[COMPONENTS],
        P[OVERLAP] * P[EXTREMES],
        P[OPERATOR],
        P[LAYERS],
        P[ROWS],
        P[UNITS],
        P[N_EVENTS],
        P[WITHIN],
        P[SLIDE],
    )


@inlined
def window_size(m):
    """Numbers, and extremes, of one window of a row."""
    return m.z.size, m.z.size_x


@inlined
def row_size(m):
    """Numbers, and extremes, of a row."""
    return m.z.whole, m.z.whole_x


@inlined
def entries(P, pointers, i):
    """The range that belongs to entry i of an array of pointers."""
    return range(P[P[pointers] + i], P[P[pointers] + i + 1])
