"""Stretches of a partition: windows after each other that have one kind of table and one basis.

What a stream is like changes as it goes, and with it what costs least: rows over own columns or
over snapshots, scanned or in a tree. A survey has counted what is in each pane (survey.py), so all
four ways can be costed before anything is run, for the windows that begin in each *spell*, some
panes with enough events. From spell to spell the cheapest way is found, where to change it is paid
for: the windows that are open are run to their end in the way that they began in, beside those that
open, for the length of a window. (dynamic programming; windows depend on nothing but their events)

Within a stretch over snapshots a burst may still split (decision.py).

Cost: O(panes).
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cost import EVENT, TREE
from hamlet.kernel.rows.layout import (
    CHOSEN,
    COLUMNS,
    DISPUTED,
    FIRST_EVENT,
    KIND,
    N_BURSTS,
    N_ENTRIES,
    N_EVENTS_OF,
    N_PARTS,
    N_READS,
    OVERLAP,
    PANE,
    PREDICATES,
    SURVEYED,
)
from hamlet.kernel.rows.layout import TREE as IN_TREE
from hamlet.kernel.rows.survey import (
    begins_shared,
    is_shared_tree_chosen,
    is_tree_chosen,
    own_event_ns,
    shared_event_ns,
)

# Of a stretch: its first and last window, its way, its first pane
FIRST, LAST, WAY, FROM, STRETCH = range(5)
# Ways: in a tree or not, over snapshots or not
A_TREE, OVER_SNAPSHOTS, WAYS = 1, 2, 4
# Events of the loop in a spell, at least
_SPELL = 64
# Of a stretch, whatever is in it
_BEGIN = 4000.0
_NEVER = 1e300


@apart
def only_stretch(first, last, way, cuts):
    """All windows in one way."""
    cuts[FIRST], cuts[LAST], cuts[WAY], cuts[FROM] = first, last, way, 0
    return 1


@apart
def way_of(P, s, can_share, part):
    """The one way of a partition that has been surveyed."""
    shared = can_share and begins_shared(P, s, part)
    is_tree = is_shared_tree_chosen(P, s) if shared else is_tree_chosen(P, s)
    if P[KIND] != CHOSEN:
        is_tree = P[KIND] == IN_TREE
    is_tree = is_tree and P[PREDICATES] == 1
    return (A_TREE if is_tree else 0) | (OVER_SNAPSHOTS if shared else 0)


@apart
def event_from(P, panes, at, window):
    """The first event, in some pane or later, after all windows before one have ended."""
    return panes[SURVEYED * _first_from(panes, at, window - 1 + P[OVERLAP]) + FIRST_EVENT]


@apart
def stretches(P, panes, noted, first, last, cuts):
    """Write the stretches of a partition of which so many panes were noted; how many there are.

    Args:
        P: The code.
        panes: What was noted of panes.
        noted: Of how many.
        first: The first window.
        last: The last window.
        cuts: Where they are written, with room for one for each pane.
    """
    begins = np.empty(noted + 1, np.int64)
    spells = _spells(panes, noted, begins, last)
    if spells == 0:
        return only_stretch(first, last, 0, cuts)
    ns, tails = np.empty((spells, WAYS)), np.empty((spells, WAYS))
    before, beyond = 0, 0
    for s in range(spells):
        before = _first_from(panes, before, panes[SURVEYED * begins[s] + PANE] - P[OVERLAP])
        beyond = _first_from(panes, max(beyond, begins[s]), _pane(panes, begins[s]) + P[OVERLAP])
        _cost_spell(P, panes, (before, begins[s], begins[s + 1], beyond), ns[s], tails[s])
    came_from, way = _cheapest(ns, tails, spells)
    n, end = spells, last
    for s in range(spells - 1, -1, -1):
        if s > 0 and came_from[s, way] == way:
            continue
        n -= 1
        begin = first if s == 0 else max(first, _pane(panes, begins[s]))
        cut = STRETCH * n
        cuts[cut + FIRST], cuts[cut + LAST] = begin, end
        cuts[cut + WAY], cuts[cut + FROM] = way, begins[s]
        end, way = begin - 1, came_from[s, way]
    for k in range(STRETCH * (spells - n)):
        cuts[k] = cuts[STRETCH * n + k]
    return spells - n


@apart
def tossed_stretches(P, panes, noted, first, last, coin, cuts):
    """The same by a coin, for tests: a stretch may begin with any pane."""
    n = 0
    for at in range(noted):
        pane = _pane(panes, at)
        coin = coin * 6364136223846793005 + 1442695040888963407
        toss = (coin >> 33) & 15
        if (at > 0 and (toss > 3 or pane <= first)) or pane > last:
            continue
        is_tree = _can_be(P, True) and (toss & 1 == 1 or not _can_be(P, False))
        cut = STRETCH * n
        cuts[cut + WAY] = (A_TREE if is_tree else 0) | (toss & OVER_SNAPSHOTS)
        cuts[cut + FIRST], cuts[cut + FROM] = pane if n > 0 else first, at
        if n > 0:
            cuts[cut - STRETCH + LAST] = pane - 1
        n += 1
    if n == 0:
        return only_stretch(first, last, 0, cuts)
    cuts[STRETCH * (n - 1) + LAST] = last
    return n


@inlined
def _pane(panes, at):
    return panes[SURVEYED * at + PANE]


@inlined
def _first_from(panes, at, pane):
    while panes[SURVEYED * at + PANE] < pane:
        at += 1
    return at


@apart
def _spells(panes, noted, begins, last):
    """Where spells begin among the panes of windows up to the last, and how many there are."""
    n, events = 0, -_SPELL
    for at in range(noted):
        if _pane(panes, at) > last:
            break
        so_far = panes[SURVEYED * at + N_EVENTS_OF]
        if so_far - events >= _SPELL:
            begins[n], events = at, so_far
            n += 1
    begins[n] = noted
    return n


@inlined
def _between(panes, first, end, what):
    return float(panes[SURVEYED * end + what] - panes[SURVEYED * first + what])


@apart
def _cost_spell(P, panes, places, ns, tails):
    """What the windows that begin in a spell cost in each way, and those before it to their end."""
    before, begin, end, beyond = places
    w = float(P[OVERLAP])
    until = max(end, beyond)
    # A spell of few events may be longer than a window.
    last = panes[SURVEYED * (until - 1) + PANE] + 1
    scale = min(1.0, w / float(max(1, last - _pane(panes, begin))))
    events = max(1.0, scale * _between(panes, begin, until, N_EVENTS_OF))
    bursts = scale * _between(panes, begin, until, N_BURSTS)
    reads = scale * _between(panes, begin, until, N_READS)
    entries = scale * _between(panes, begin, until, N_ENTRIES)
    parts = scale * _between(panes, begin, until, N_PARTS) + events * P[DISPUTED] * 0.001
    parts = min(events, parts)
    live = max(events, 0.5 * (events + _between(panes, before, begin, N_EVENTS_OF)))
    here = _between(panes, begin, end, N_EVENTS_OF)
    wide = (bursts + parts) * (1.0 - 0.5 / w)
    matter = entries + parts * P[COLUMNS]
    for way in range(WAYS):
        is_tree = way & A_TREE != 0
        if not _can_be(P, is_tree):
            ns[way], tails[way] = _NEVER, 0.0
            continue
        of_event = TREE if is_tree else 0.0
        if way & OVER_SNAPSHOTS:
            of_event += shared_event_ns(
                P,
                is_tree,
                live,
                wide,
                bursts / events,
                reads / events,
                matter,
                w / events,
                parts / events,
            )
        else:
            of_event += own_event_ns(P, is_tree, live)
        ns[way] = here * of_event
        # Of the windows that are open half are on average until they have closed.
        tails[way] = (1.0 - 1.0 / w) * events * (EVENT + 0.5 * of_event)


@inlined
def _can_be(P, is_tree):
    """Whether tables may be of a kind."""
    if P[PREDICATES] > 1:
        return not is_tree
    return P[KIND] == CHOSEN or (P[KIND] == IN_TREE) == is_tree


@apart
def _cheapest(ns, tails, spells):
    """By spell and way the way of the spell before it; and the way of the last one."""
    came_from = np.zeros((spells, WAYS), np.int64)
    total, new = np.empty(WAYS), np.empty(WAYS)
    for way in range(WAYS):
        total[way] = ns[0, way]
        came_from[0, way] = way
    for s in range(1, spells):
        for way in range(WAYS):
            best, of = total[way], way
            for other in range(WAYS):
                changed = total[other] + tails[s, other] + _BEGIN
                if other != way and changed < best:
                    best, of = changed, other
            new[way], came_from[s, way] = best + ns[s, way], of
        for way in range(WAYS):
            total[way] = new[way]
    last = 0
    for way in range(WAYS):
        if total[way] < total[last]:
            last = way
    return came_from, last
