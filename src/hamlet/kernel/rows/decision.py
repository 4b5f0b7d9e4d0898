"""The decision of each burst: whether its rows are over snapshots or over own columns.

A burst begins where an event of the loop finds that something has come into E+ since the one
before. What both ways will cost until the windows that are open have closed is worked out from
what the partition has been like so far (kernel/rows/cost.py has the arithmetic in words):

- over snapshots, where own columns are cheaper by more than it takes to evaluate every stored
  event, these take over: the burst *splits*;
- over own columns, what snapshots would have saved is added up pane by pane; once that is most of
  what a window costs, windows that open are over snapshots: they *merge*. It cannot be earlier, as
  no one snapshot stands for the events that are stored.

A partition begins with what a survey of it says, and with fresh counters. With a buffer for them,
decisions are written down, one row for each burst: its columns are T_PART to T_CLASS of
layout.py, costs in nanoseconds. Without one everything is decided alike.
"""

from __future__ import annotations

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.basis import has_node_room
from hamlet.kernel.rows.cost import RANK, SPLIT_CELL
from hamlet.kernel.rows.evaluation import split
from hamlet.kernel.rows.layout import (
    ALWAYS,
    BY_BENEFIT,
    BY_COIN,
    C_BURSTS,
    C_SHARED,
    DECIDED,
    KEEP_OWN,
    KEEP_SHARED,
    MERGE,
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
    SHARING,
    SPLIT,
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
from hamlet.kernel.rows.survey import own_event_ns, shared_event_ns

# Counters in doubles. Of the pane at hand, and averages of all before: events of the loop, bursts,
# reads of what E+ has given, entries, events of the loop that are not the same to all E+.
(
    D_EVENTS,
    D_BURSTS,
    D_READS,
    D_ENTRIES,
    D_PARTS,
    A_EVENTS,
    A_BURSTS,
    A_READS,
    A_ENTRIES,
    A_PARTS,
    D_REGRET,
    D_TOTAL,  # events of the loop since the partition began, and bursts
    D_NUMBER,
    D_LENGTH,  # of the last bursts, on average
    D_LAST,  # events of the loop before the burst at hand
    D_WAS_OWN,  # whether the burst before it was over own columns
    D_RING,  # the same before the eight bursts before it
) = range(17)
_RECENT, _COUNTED = 8, 5
D_PANES = D_RING + _RECENT  # bursts of the last panes
# The first bursts decide nothing.
_LEARNING = 4
# A split has to save so many times what it costs.
_SURE = 1.2
# Windows merge where this part of what a window costs would have been saved, and snapshots would
# of late have cost less than this part of own columns.
_REGRETTED, _BETTER = 0.3, 0.6


@apart
def begin_counting(m, found):
    """Fresh counters for a partition, with averages from its survey."""
    D, w = m.D, m.z.overlap
    for k in range(D_PANES + w):
        D[k] = 0.0
    of_pane = float(found.live) / max(found.loops, 1) / w
    D[A_EVENTS] = found.live / w
    D[A_BURSTS], D[A_READS] = found.births * of_pane, found.settles * of_pane
    D[A_ENTRIES], D[A_PARTS] = found.entries * of_pane, found.parts * of_pane
    D[D_LENGTH] = float(found.loops) / max(found.births, 1)
    for k in range(w):
        D[D_PANES + k] = D[A_BURSTS]


@apart
def begin_burst(m, b, table, part, ts):
    """Decide about the burst that begins with the next event."""
    S = m.S
    S[S_DIRTY] = 0
    S[C_BURSTS] += 1
    _count_burst(m)
    decision, created, shared_ns, own_ns = KEEP_OWN, 0, 0.0, 0.0
    decides, has_shared = m.P[SHARING] == BY_BENEFIT, S[S_HI] > S[S_OWN_HI]
    if (decides and has_shared) or S[S_DECIDED_ROOM] > 0:
        shared_ns, own_ns = costs(m, b, ts)
    if has_shared:
        splits = decides and _splits(m, b, shared_ns, own_ns)
        splits = splits or (m.P[SHARING] == BY_COIN and toss(S) == 0)
        if splits or S[S_FORCED] == 1 or not _has_room(m, b, 1):
            decision = SPLIT
            split(m, b, table)
            if m.P[SHARING] != ALWAYS:
                S[S_MODE] = 0
        else:
            decision = MERGE if m.D[D_WAS_OWN] == 1.0 else KEEP_SHARED
            if S[S_DATED] < S[S_ENTRIES]:
                take_snapshot(m, b, 0)
                created = 1
            S[C_SHARED] += 1
    m.D[D_WAS_OWN] = 1.0 if decision in (KEEP_OWN, SPLIT) else 0.0
    if S[S_DECIDED_ROOM] > 0:
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
def _count_burst(m):
    """Take a burst into the counters."""
    D = m.D
    D[D_BURSTS] += 1
    number = int(D[D_NUMBER])
    at = D_RING + number % _RECENT
    before, D[at] = D[at], D[D_TOTAL]
    D[D_NUMBER] = number + 1
    if number >= _RECENT:
        D[D_LENGTH] = (D[D_TOTAL] - before) / _RECENT


@inlined
def _rate(m):
    """Bursts for each event of the loop: of late and on average."""
    D = m.D
    return 0.5 * (1.0 / max(1.0, D[D_LENGTH]) + min(1.0, D[A_BURSTS] / max(D[A_EVENTS], 1.0)))


@inlined
def _for_some(m):
    """The part of the events of the loop that are not the same to all E+."""
    return min(1.0, m.D[A_PARTS] / max(m.D[A_EVENTS], 1.0))


@inlined
def _of_burst(m, what):
    """How many reads or entries a burst has, on average."""
    return m.D[what] / max(m.D[A_BURSTS], 1e-3)


@apart
def costs(m, b, ts):
    """What the events cost that open windows will still see: over snapshots, over own columns."""
    S, D, w = m.S, m.D, float(m.z.overlap)
    passed = (ts - S[S_HI] * m.z.slide) / m.z.slide
    left = max(w - passed, 0.1) * D[A_EVENTS]
    n, rate = w * D[A_EVENTS], _rate(m)
    # Of those at hand, those of the first window die soon; half of those to come on average
    some = _for_some(m)
    remain, born = 0.5 + 0.5 / w, 0.5 * rate * left
    wide = (S[S_BIRTHS] - S[S_OLDEST]) * remain + born + 0.5 * some * left
    entries = _entered(m, b) * remain + born * _of_burst(m, A_ENTRIES)
    entries += 0.5 * some * left * m.z.columns
    reads, closes = rate * _of_burst(m, A_READS), 1.0 / max(D[A_EVENTS], 1.0)
    is_tree = S[S_IS_TREE] == 1
    shared = shared_event_ns(m.P, is_tree, n, wide, rate, reads, entries, closes, some)
    return left * shared, left * own_event_ns(m.P, is_tree, n)


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
    S, D, w = m.S, m.D, float(m.z.overlap)
    if D[D_NUMBER] < _LEARNING:
        return False
    entries = _entered(m, b)
    stored = min(D[D_TOTAL], w * D[A_EVENTS])
    if S[S_IS_TREE] == 1:
        stored = float(S[S_NEXT] + S[S_LEAVES_BEFORE])
    cells = S[S_BIRTHS] - S[S_OLDEST] + entries * w
    return own_ns + _SURE * SPLIT_CELL * stored * cells * m.z.components < shared_ns


@apart
def end_pane(m):
    """Take a pane into the averages, and decide about the windows that open."""
    S, D, w = m.S, m.D, m.z.overlap
    sharing = m.P[SHARING]
    if sharing == BY_COIN and S[S_MODE] == 0 and toss(S) < 2:
        S[S_MODE] = 1
    if sharing != BY_BENEFIT or D[D_EVENTS] == 0:
        return
    for k in range(w - 1):
        D[D_PANES + k] = D[D_PANES + k + 1]
    D[D_PANES + w - 1] = D[D_BURSTS]
    for k in range(_COUNTED):
        D[A_EVENTS + k] += (D[D_EVENTS + k] - D[A_EVENTS + k]) / (1.0 + w)
    if S[S_MODE] == 0:
        _regret(m)
    for k in range(_COUNTED):
        D[D_EVENTS + k] = 0.0


@apart
def _regret(m):
    """Add up what snapshots would have saved, and merge where it has become too much."""
    S, D, w = m.S, m.D, float(m.z.overlap)
    is_tree, n = S[S_IS_TREE] == 1, w * D[A_EVENTS]
    births = 0.0
    for k in range(m.z.overlap):
        births += D[D_PANES + k]
    some = _for_some(m)
    rate, wide = births / max(n, 1.0), (births + some * n) * (1.0 - 0.5 / w)
    own = own_event_ns(m.P, is_tree, n)
    reads, entries = rate * _of_burst(m, A_READS), births * _of_burst(m, A_ENTRIES)
    entries += some * n * m.z.columns
    closes = 1.0 / max(D[A_EVENTS], 1.0)
    late = shared_event_ns(m.P, is_tree, n, wide, rate, reads, entries, closes, some)
    D[D_REGRET] = max(0.0, D[D_REGRET] + D[D_EVENTS] * (own - late))
    # What both ways need alike is no reason to stay.
    alike = RANK if is_tree else 0.0
    if D[D_REGRET] > _REGRETTED * n * own and late - alike < _BETTER * (own - alike):
        D[D_REGRET] = 0.0
        S[S_MODE] = 1


@apart
def _write_down(m, part, ts, created, shared_ns, own_ns, decision):
    """Write a decision down; how long its burst is will be known when the next one begins."""
    S, D = m.S, m.D
    end_decisions(m)
    at = S[S_DECIDED] * DECIDED
    m.decided[at + T_PART], m.decided[at + T_TIME] = part, ts
    m.decided[at + T_EVENTS] = 0
    m.decided[at + T_LIVE] = int(m.z.overlap * D[A_EVENTS])
    m.decided[at + T_CREATED] = created
    m.decided[at + T_SNAPSHOTS] = S[S_BIRTHS] - S[S_OLDEST]
    m.decided[at + T_COLUMNS], m.decided[at + T_WINDOWS] = m.z.columns, S[S_OPEN]
    m.decided[at + T_SHARED_NS], m.decided[at + T_OWN_NS] = int(shared_ns), int(own_ns)
    m.decided[at + T_DECISION], m.decided[at + T_CLASS] = decision, 0
    S[S_DECIDED] += 1


@apart
def end_decisions(m):
    """Note how long the burst was that was decided about last."""
    S, D = m.S, m.D
    if S[S_DECIDED] > 0 and D[D_NUMBER] > 1:
        m.decided[(S[S_DECIDED] - 1) * DECIDED + T_EVENTS] = int(D[D_TOTAL] - D[D_LAST])
    D[D_LAST] = D[D_TOTAL]
