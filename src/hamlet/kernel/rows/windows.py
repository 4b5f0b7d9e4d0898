"""Windows: they open with one empty trend where trends begin, and close with records of units.

Window n is [n * slide, n * slide + within); those from S_LO to S_HI are open. Units may have other
lengths and slides: the table has windows as far apart as the least slide and as long as the longest
of them. A unit with a longer slide begins trends in some of these only. One with shorter windows
has its record written before the window of the table closes: what the table has for it after that
is never read.

Where partitions are small, what opens and closes windows is most of what an event costs. So it is
one piece of code, but for what snapshots need, which is called where there may be some.

Cost: O(rows) for each window that opens, O(units) for each that closes.
"""

from __future__ import annotations

from hamlet.kernel import numbers
from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cells import fill_cells, set_one, zero_cells
from hamlet.kernel.rows.decision import begin_pane
from hamlet.kernel.rows.evaluation import settle
from hamlet.kernel.rows.layout import (
    END_AT,
    END_AT_X,
    END_P,
    FAR,
    OWN,
    S_DIRTY,
    S_DUE,
    S_FIRST,
    S_HI,
    S_LAST,
    S_LO,
    S_MODE,
    S_OPEN,
    S_OUT,
    S_OWN_HI,
    S_OWN_OPEN,
    S_PLACE,
    S_POLICY,
    S_STORED,
    S_UNSETTLED,
    SIGN,
    START_AT,
    START_FROM,
    START_STEP,
    START_TIMES,
    STARTS,
    STARTS_LOOP,
    WINDOW_FROM,
    WINDOW_OF,
    WINDOW_STEP,
    WINDOW_WITHIN,
    WINDOWS,
)
from hamlet.kernel.rows.memory import entries, row_size, window_size
from hamlet.kernel.rows.snapshots import enter, forget_closed


@apart
def roll(m, b, out, part, ts):
    """Close the windows that have ended by a time, and open those that have begun."""
    P, S = m.P, m.S
    slide, within, can_share = m.z.slide, m.z.within, S[S_POLICY] != OWN
    lo, hi = max((ts - within) // slide + 1, S[S_FIRST]), min(ts // slide, S[S_LAST])
    for kind in range(P[WINDOWS]):
        _close_ended(m, b, out, part, kind, (ts - P[P[WINDOW_WITHIN] + kind]) // slide + 1)
    for window in range(S[S_LO], min(S[S_HI], lo - 1) + 1):
        _empty(m, window % m.z.overlap)
    if can_share and hi > S[S_HI]:
        begin_pane(m, lo, hi)
    if S[S_MODE] == 0:
        S[S_OWN_HI] = hi
    for window in range(max(S[S_HI] + 1, lo), hi + 1):
        _open(m, window)
        if P[STARTS_LOOP] == 1:
            S[S_DIRTY] = 1
            if can_share and window > S[S_OWN_HI]:
                enter(m, b, m.v, 0, m.x, 0, 0, m.z.columns, window, window)
    S[S_LO], S[S_HI] = lo, hi
    S[S_OPEN], S[S_PLACE] = hi - lo + 1, lo % m.z.overlap
    S[S_OWN_OPEN] = max(0, S[S_OWN_HI] - lo + 1)
    S[S_DUE] = (hi + 1) * slide if hi < S[S_LAST] else FAR
    for kind in range(P[WINDOWS]):
        ends = m.begins[m.z.overlap + kind] * slide + P[P[WINDOW_WITHIN] + kind]
        S[S_DUE] = min(S[S_DUE], ends)
    if can_share:
        forget_closed(m, b)


@apart
def close_all(m, b, out, part):
    """Close all windows."""
    for kind in range(m.P[WINDOWS]):
        _close_ended(m, b, out, part, kind, m.S[S_HI] + 1)


@inlined
def _close_ended(m, b, out, part, kind, end):
    """Write the records of units of one length and slide, of windows before `end`."""
    P, S = m.P, m.S
    begin, step = m.begins[m.z.overlap + kind], P[P[WINDOW_STEP] + kind]
    first = P[P[WINDOW_FROM] + kind]
    last = min(S[S_HI], end - 1)
    if S[S_UNSETTLED] == 1 and begin <= last:
        settle(m, b)
    for window in range(begin, last + 1):
        if (window - first) % step == 0:
            _close(m, out, part, window, kind)
    m.begins[m.z.overlap + kind] = max(begin, end, S[S_FIRST])


@apart
def empty_all(m):
    """Have nothing in any window."""
    whole, whole_x = row_size(m)
    zero_cells(m.v, 0, (m.z.rows + 1) * whole)
    fill_cells(m.x, 0, m.z.rows * whole_x, float("inf"))


@inlined
def _empty(m, place):
    """Have nothing in a window: so what is not open can be added to as well, to no effect."""
    size, size_x = window_size(m)
    whole, whole_x = row_size(m)
    for row in range(m.z.rows + 1):
        zero_cells(m.v, row * whole + place * size, size)
    for row in range(m.z.rows):
        fill_cells(m.x, row * whole_x + place * size_x, size_x, float("inf"))


@inlined
def _open(m, window):
    """Have the empty trends in a window that it begins with."""
    P, place = m.P, window % m.z.overlap
    size, _ = window_size(m)
    for k in range(P[STARTS]):
        if (window - P[P[START_FROM] + k]) % P[P[START_STEP] + k] == 0:
            set_one(m.v, P[P[START_AT] + k] + place * size, P[P[START_TIMES] + k], m.scale)
    m.begins[place] = m.S[S_STORED]


@inlined
def _close(m, out, part, window, kind):
    """Write a record for each unit of one length and slide that has trends in a window."""
    P = m.P
    size, size_x = window_size(m)
    at, at_x = window % m.z.overlap * size, window % m.z.overlap * size_x
    for unit in range(m.z.units):
        if P[P[WINDOW_OF] + unit] != kind:
            continue
        for k in entries(P, END_P, unit):
            if not numbers.is_zero(m.v, P[P[END_AT] + k] + at):
                _record(m, out, part, unit, window, at, at_x)
                break


@inlined
def _record(m, out, part, unit, window, at, at_x):
    P, S = m.P, m.S
    nc, nx, columns = m.z.components, m.z.extremes, m.z.columns
    n = S[S_OUT]
    kind = P[P[WINDOW_OF] + unit]
    number = (window - P[P[WINDOW_FROM] + kind]) // P[P[WINDOW_STEP] + kind]
    out.part[n], out.unit[n], out.window[n] = part, unit, number
    for c in range(nc):
        numbers.set_zero(out.v, n * nc + c)
        for k in entries(P, END_P, unit):
            numbers.add(out.v, n * nc + c, m.v, P[P[END_AT] + k] + at + c * columns, m.err)
        if not numbers.is_safe(out.v, n * nc + c):
            m.err[0] = 1
    for e in range(nx):
        least = float("inf")
        for k in entries(P, END_P, unit):
            least = min(least, m.x[P[P[END_AT_X] + k] + at_x + e * columns])
        out.x[n * nx + e] = least * P[P[SIGN] + unit * nx + e]
    S[S_OUT] = n + 1
