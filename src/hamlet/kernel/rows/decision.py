"""The decision of each burst: whether its rows are over snapshots or over own columns.

A burst begins where an event of the loop finds that something has come into E+ since the one
before. What both ways will cost until the windows that are open have closed is worked out, with
kernel/rows/cost.py, from the snapshots and entries that there are, and from the bursts, reads and
entries that are still to come. The kernel has whole windows of a partition before it, and a look
through these has counted, pane by pane, what is in them (survey.py): nothing of it is guessed.

- Over snapshots, where own columns are cheaper by more than it takes to evaluate every stored
  event, these take over: the burst *splits*.
- Windows that open while all are over own columns are over snapshots where that costs less in what
  they and as many after them will see, the windows that are still over own columns included: they
  *merge*. It cannot be earlier, as no one snapshot stands for the events that are stored.

With a buffer for them, decisions are written down, one row for each burst: its columns are T_PART
to T_CLASS of layout.py, costs in nanoseconds. Without one everything is decided alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.basis import has_node_room
from hamlet.kernel.rows.cost import SPLIT_CELL
from hamlet.kernel.rows.evaluation import split
from hamlet.kernel.rows.layout import (
    ALWAYS,
    BY_BENEFIT,
    BY_COIN,
    C_SHARED,
    C_SPLIT,
    CAME_IN,
    DECIDED,
    DISPUTED,
    KEEP_OWN,
    KEEP_SHARED,
    MERGE,
    N_BURSTS,
    N_ENTRIES,
    N_EVENTS_OF,
    N_PARTS,
    N_READS,
    PANE,
    S_AMOUNTS,
    S_BIRTHS,
    S_COIN,
    S_DATED,
    S_DECIDED,
    S_DECIDED_ROOM,
    S_DIRTY,
    S_ENTRIES,
    S_FIRST_ENTRY,
    S_FORCED,
    S_HI,
    S_IS_TREE,
    S_LEAVES_BEFORE,
    S_MODE,
    S_NEXT,
    S_OLDEST,
    S_OPEN,
    S_OWN_HI,
    S_PANE,
    S_PANE_AHEAD,
    S_PANE_BACK,
    S_PANE_BEYOND,
    S_PLANNED,
    S_TAIL,
    SHARING,
    SPLIT,
    SURVEYED,
    T_CLASS,
    T_COLUMNS,
    T_CREATED,
    T_DECISION,
    T_EVENTS,
    T_LIVE,
    T_OWN_NS,
    T_PART,
    T_SHARED_NS,
    T_SNAPSHOTS,
    T_TIME,
    T_WINDOWS,
)
from hamlet.kernel.rows.snapshots import E_AT, ENTRY, has_column_room, take_snapshot
from hamlet.kernel.rows.survey import (
    of_column,
    own_event_ns,
    own_numbers,
    row_ns_of,
    shared_event_ns,
)

# Counters in doubles. Of the pane at hand: events of the loop, bursts, reads of what E+ has given,
# entries, events of the loop that are not the same to all E+
(
    D_EVENTS,
    D_BURSTS,
    D_READS,
    D_ENTRIES,
    D_PARTS,
    D_TOTAL,  # events of the loop since the partition began, each in one stretch
    D_NUMBER,  # bursts
    D_LAST,  # events of the loop before the burst at hand
    D_WAS_OWN,  # whether the burst before it was over own columns
    D_SPLITS,  # whether it is the first over own columns in a stretch after one over snapshots
    D_IS_OPEN,  # whether the burst that was written down last goes on
    D_CREATED,  # snapshots that were taken before any burst was written down
    COUNTERS,
) = range(13)
_COUNTED = 5
# A split has to save so many times what it costs.
_SURE = 1.2


class Ahead(NamedTuple):
    """What some windows will see: events of the loop, and of these bursts, reads and so on."""

    events: Any
    bursts: Any
    reads: Any
    entries: Any
    parts: Any


@apart
def begin_counting(m):
    """Fresh counters for a partition."""
    for k in range(COUNTERS):
        m.D[k] = 0.0
    m.S[S_PANE_BACK] = 0


@apart
def begin_stretch(m, pane, planned, tail):
    """Stand before the first pane of a stretch, of which nothing is decided from a time on."""
    S, D = m.S, m.D
    S[S_PANE], S[S_PANE_AHEAD], S[S_PANE_BEYOND] = pane, pane, pane
    S[S_PLANNED], S[S_TAIL] = planned, tail
    D[D_SPLITS] = 0.0
    if pane > 0:  # a burst goes on, or begins, as it would have without a stretch
        S[S_DIRTY] = m.panes[SURVEYED * pane + CAME_IN]
    if planned == 0:
        if pane > 0 and D[D_WAS_OWN] == 0.0:
            D[D_SPLITS] = 1.0
            S[C_SPLIT] += 1
        D[D_WAS_OWN] = 1.0


@apart
def begin_burst(m, b, table, part, ts):
    """Decide about the burst that begins with the next event.

    In the windows that a stretch leaves behind nothing is decided any more.
    """
    S, D = m.S, m.D
    S[S_DIRTY] = 0
    D[D_BURSTS] += 1
    D[D_NUMBER] += 1
    decision, created, shared_ns, own_ns = KEEP_OWN, 0, 0.0, 0.0
    is_tail = ts >= S[S_TAIL]
    decides, has_shared = m.P[SHARING] == BY_BENEFIT and not is_tail, S[S_HI] > S[S_OWN_HI]
    is_written = S[S_DECIDED_ROOM] > 0 and not is_tail
    if (decides and has_shared) or is_written:
        shared_ns, own_ns = costs(m, b)
    if has_shared:
        splits = decides and _splits(m, b, shared_ns, own_ns)
        splits = splits or (m.P[SHARING] == BY_COIN and toss(S) == 0)
        if splits or S[S_FORCED] == 1 or not _has_room(m, b, 1):
            decision = SPLIT
            split(m, b, table)
            if m.P[SHARING] != ALWAYS:
                S[S_MODE] = 0
        else:
            decision = MERGE if D[D_WAS_OWN] == 1.0 else KEEP_SHARED
            if S[S_DATED] < S[S_ENTRIES]:
                take_snapshot(m, b, 0)
                created = 1
            S[C_SHARED] += int(not is_tail)
    elif D[D_SPLITS] == 1.0:
        decision = SPLIT
    D[D_SPLITS] = 0.0
    D[D_WAS_OWN] = 1.0 if decision in (KEEP_OWN, SPLIT) else 0.0
    if is_tail:
        note_created(m, created)
    if is_written:
        _write_down(m, part, ts, created, shared_ns, own_ns, decision)


@inlined
def _has_room(m, b, n):
    """Whether there is room for n more snapshots."""
    return has_column_room(m, b, n) and (m.S[S_IS_TREE] == 0 or has_node_room(m, b, n))


@apart
def make_room_for_singles(m, b, table, n):
    """Have room for n snapshots of single events, or own columns from here on."""
    if not _has_room(m, b, n):
        split(m, b, table)
        m.D[D_WAS_OWN] = 1.0
        if m.P[SHARING] != ALWAYS:
            m.S[S_MODE] = 0


@inlined
def toss(S):
    """One of four numbers, by a coin."""
    S[S_COIN] = S[S_COIN] * 6364136223846793005 + 1442695040888963407
    return (S[S_COIN] >> 33) & 3


@inlined
def _between(m, first, end, what):
    """How many there are of something in the panes from one to before another."""
    panes = m.panes
    return float(panes[SURVEYED * end + what] - panes[SURVEYED * first + what])


@inlined
def _seen_by(m, first, end):
    """What is in the panes from one to before another."""
    events = _between(m, first, end, N_EVENTS_OF)
    return Ahead(
        events,
        _between(m, first, end, N_BURSTS),
        _between(m, first, end, N_READS),
        _between(m, first, end, N_ENTRIES),
        _between(m, first, end, N_PARTS) + events * m.P[DISPUTED] * 0.001,
    )


@inlined
def _live(m):
    """How many events of the loop a window has about now."""
    S = m.S
    return 0.5 * _between(m, S[S_PANE_BACK], S[S_PANE_AHEAD], N_EVENTS_OF)


@inlined
def _shared_ns(m, live, wide, ahead, entries, closes):
    """What some events cost over so many snapshots, and with so many entries that matter."""
    events = max(ahead.events, 1.0)
    of_event = shared_event_ns(
        m.P,
        m.S[S_IS_TREE] == 1,
        live,
        wide,
        ahead.bursts / events,
        ahead.reads / events,
        entries,
        closes / events,
        min(1.0, ahead.parts / events),
    )
    return events * of_event


@apart
def costs(m, b):
    """What the events cost that open windows will still see: over snapshots, over own columns."""
    S, D, w = m.S, m.D, float(m.z.overlap)
    ahead = _seen_by(m, S[S_PANE], S[S_PANE_AHEAD])
    left = Ahead(
        max(ahead.events - D[D_EVENTS], 1.0),
        max(ahead.bursts - D[D_BURSTS], 0.0),
        max(ahead.reads - D[D_READS], 0.0),
        max(ahead.entries - D[D_ENTRIES], 0.0),
        max(ahead.parts - D[D_PARTS], 0.0),
    )
    # Of those at hand, those of the first window die soon; half of those to come on average
    remain, live = 0.5 + 0.5 / w, _live(m)
    wide = (S[S_BIRTHS] - S[S_OLDEST]) * remain + 0.5 * (left.bursts + left.parts)
    entries = _entered(m, b) * remain + 0.5 * (left.entries + left.parts * m.z.columns)
    shared = _shared_ns(m, live, wide, left, entries, w)
    return shared, left.events * own_event_ns(m.P, S[S_IS_TREE] == 1, live)


@inlined
def _entered(m, b):
    """How many numbers of one component and window have been noted and matter: of columns of E+."""
    S = m.S
    first = S[S_FIRST_ENTRY]
    gone = b.log[ENTRY * first + E_AT] if first < S[S_ENTRIES] else S[S_AMOUNTS]
    return float(S[S_AMOUNTS] - gone) / (m.z.overlap * m.z.components)


@apart
def _splits(m, b, shared_ns, own_ns):
    """Whether own columns are cheaper by more than it takes to evaluate what is stored."""
    S, w = m.S, float(m.z.overlap)
    if own_ns >= shared_ns:
        return False
    stored = min(m.D[D_TOTAL], 2.0 * _live(m))
    if S[S_IS_TREE] == 1:
        stored = float(S[S_NEXT] + S[S_LEAVES_BEFORE])
    numbers = m.z.components + m.z.extremes
    cells = (S[S_BIRTHS] - S[S_OLDEST]) * numbers + _entered(m, b) * w * of_column(m.P)
    return own_ns + _SURE * SPLIT_CELL * stored * cells < shared_ns


@apart
def begin_pane(m, lo, hi):
    """Decide about the windows up to `hi` that open, where those from `lo` on do not close."""
    S, D, w = m.S, m.D, m.z.overlap
    sharing = m.P[SHARING]
    if sharing == BY_COIN and S[S_MODE] == 0 and toss(S) < 2:
        S[S_MODE] = 1
    if sharing != BY_BENEFIT and S[S_DECIDED_ROOM] == 0:
        return
    S[S_PANE] = _first_from(m, S[S_PANE], hi)
    S[S_PANE_BACK] = _first_from(m, S[S_PANE_BACK], hi - w)
    S[S_PANE_AHEAD] = _first_from(m, S[S_PANE_AHEAD], hi + w)
    S[S_PANE_BEYOND] = _first_from(m, S[S_PANE_BEYOND], hi + 2 * w)
    for k in range(_COUNTED):
        D[k] = 0.0
    # Windows that are over snapshots stay so until a burst splits.
    if sharing == BY_BENEFIT and S[S_PLANNED] == 1 and max(lo, S[S_OWN_HI] + 1) > S[S_HI]:
        S[S_MODE] = int(_merges(m, float(max(0, S[S_OWN_HI] - lo + 1))))


@inlined
def _first_from(m, at, window):
    """The first pane from one on that is not before that of a window."""
    while m.panes[SURVEYED * at + PANE] < window:
        at += 1
    return at


@apart
def _merges(m, still_own):
    """Whether windows that open are over snapshots, where so many are over own columns."""
    S, w = m.S, float(m.z.overlap)
    is_tree, live = S[S_IS_TREE] == 1, _live(m)
    of_own = own_event_ns(m.P, is_tree, live)
    one = _seen_by(m, S[S_PANE], S[S_PANE_AHEAD])
    # Snapshots of windows that open are none at first, and then those of a window on average.
    shared = _from_now_on(m, live, one, 0.5)
    if still_own == 0.0:
        return True
    # Of own columns half are there on average until they have closed.
    part = still_own / w
    tail = part * one.events * row_ns_of(is_tree, 0.5 * part * own_numbers(m.P), live)
    two = _seen_by(m, S[S_PANE_AHEAD], S[S_PANE_BEYOND])
    saved = max(0.0, two.events * of_own - _from_now_on(m, live, two, 1.0 - 0.5 / w))
    return shared + tail < one.events * of_own + saved


@inlined
def _from_now_on(m, live, ahead, part):
    """What a window's events cost over snapshots, of which so large a part is there on average."""
    births = part * (ahead.bursts + ahead.parts)
    entries = part * (ahead.entries + ahead.parts * m.z.columns)
    return _shared_ns(m, live, births, ahead, entries, float(m.z.overlap))


@apart
def _write_down(m, part, ts, created, shared_ns, own_ns, decision):
    """Write a decision down; how long its burst is will be known when the next one begins."""
    S = m.S
    end_decisions(m)
    at = S[S_DECIDED] * DECIDED
    m.decided[at + T_PART], m.decided[at + T_TIME] = part, ts
    m.decided[at + T_EVENTS] = 0
    m.decided[at + T_LIVE] = int(_live(m))
    m.decided[at + T_CREATED] = created + int(m.D[D_CREATED])
    m.D[D_CREATED] = 0.0
    m.decided[at + T_SNAPSHOTS] = S[S_BIRTHS] - S[S_OLDEST]
    m.decided[at + T_COLUMNS], m.decided[at + T_WINDOWS] = m.z.columns, S[S_OPEN]
    m.decided[at + T_SHARED_NS], m.decided[at + T_OWN_NS] = int(shared_ns), int(own_ns)
    m.decided[at + T_DECISION], m.decided[at + T_CLASS] = decision, 0
    S[S_DECIDED] += 1
    m.D[D_IS_OPEN] = 1.0


@inlined
def note_created(m, created):
    """Note snapshots of no burst that is written down: they are the last one's, or the first's."""
    if m.S[S_DECIDED] > 0:
        m.decided[(m.S[S_DECIDED] - 1) * DECIDED + T_CREATED] += created
    else:
        m.D[D_CREATED] += created


@apart
def end_decisions(m):
    """Note how long the burst was that was decided about last."""
    S, D = m.S, m.D
    if D[D_IS_OPEN] == 1.0:
        m.decided[(S[S_DECIDED] - 1) * DECIDED + T_EVENTS] = int(D[D_TOTAL] - D[D_LAST])
    D[D_LAST], D[D_IS_OPEN] = D[D_TOTAL], 0.0
