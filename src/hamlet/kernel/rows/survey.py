"""What a partition is like, and what its rows cost over either basis and in either table.

A partition is looked through once before it is run: how many events of the loop a window has, how
often they find that something has come into E+ (these are its bursts), how often something reads
what E+ has given. From these the kind of table is chosen, and how its first windows begin; costs
are in nanoseconds for each event of the loop. Answers do not depend on any of it.

Where no window has more than a few events there is nothing to find out: own columns cost least
whatever these are like (`has_few`). That is known from a look at some of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cost import (
    AT_HAND,
    SCAN_COLUMN,
    SCAN_EVENT,
    SETTLE_COLUMN,
    SETTLE_ENTRY,
    SETTLE_OWN,
    SNAPSHOT,
    SNAPSHOT_LIVE,
    SNAPSHOT_WIDE,
    STEP,
    TREE,
    in_words,
    less_ns,
    scan_ns,
    tree_ns,
)
from hamlet.kernel.rows.layout import (
    ALWAYS,
    BY_BENEFIT,
    BY_COIN,
    BY_SURVEY,
    CAME_IN,
    CHOSEN,
    COLUMNS,
    COMES_IN,
    COMPONENTS,
    DISPUTED,
    ENTERS,
    EXTREMES,
    FAR,
    FIRST_EVENT,
    IS_LOOP,
    KIND,
    KNOWN,
    LOOPS,
    N_BURSTS,
    N_ENTRIES,
    N_EVENTS_OF,
    N_PARTS,
    N_READS,
    NO_BLOCK,
    OVERLAP,
    PANE,
    PARTS,
    PREDICATES,
    READS,
    ROW_EXTREMES,
    SCANNED,
    SEED,
    SHARING,
    SLIDE,
    STARTS_LOOP,
    SURVEYED,
    WITHIN,
    WORDS,
)
from hamlet.kernel.rows.layout import TREE as IN_TREE

# A table of coefficients has no more cells than this.
MOST_CELLS = 1 << 25


class Survey(NamedTuple):
    """What a partition is like.

    Attributes:
        loops: Events of the loop.
        live: The most of them in any window's length.
        of_block: And in any block.
        births: How often one finds that something has come in: bursts, and snapshots.
        of_three: The most snapshots in any three blocks.
        entries: Ranges of columns that events come into.
        parts: Events of the loop that are snapshots by themselves: that some E+ alone admit, and
            those on which edge predicates are expected to disagree.
        settles: How often something reads what E+ has given since the last time.
        usual: How many events of the loop one of them finds in a window's length, on average.
        panes: How many were noted.
    """

    loops: Any
    live: Any
    of_block: Any
    births: Any
    of_three: Any
    entries: Any
    parts: Any
    settles: Any
    usual: Any
    panes: Any


@apart
def survey(P, ts, tied, letter, first, end, panes, last):
    """Look through a partition, and note what each pane is like; windows open up to the last."""
    within, slide, what, enters = P[WITHIN], P[SLIDE], P[KNOWN], P[ENTERS]
    begins_loop = P[STARTS_LOOP] == 1
    loops, most, most_of_block, live, of_block = 0, 0, 0, 0, 0
    births, births_one, births_two, births_three, of_three = 0, 0, 0, 0, 0
    entries, parts, settles, noted = 0, 0, 0, 0
    oldest, block_end, pane_end, found_live = first, NO_BLOCK, NO_BLOCK, 0.0
    is_dirty, is_unsettled = False, False
    i = first
    while i < end:
        known = P[what + letter[i]]
        fed = P[enters + letter[i]] if known & COMES_IN else 0
        found, some, j = (known & LOOPS) // LOOPS, (known & PARTS) // PARTS, i + 1
        while j < end and tied[j] == 1:
            more = P[what + letter[j]]
            fed += P[enters + letter[j]]
            found += (more & LOOPS) // LOOPS
            some += (more & PARTS) // PARTS
            known |= more
            j += 1
        if known == 0:
            i = j
            continue
        if ts[i] >= pane_end:
            pane = ts[i] // slide
            pane_end = (pane + 1) * slide
            is_dirty = is_dirty or (begins_loop and pane <= last)
            _note(panes, noted, pane, loops, births, settles, entries, parts, i)
            panes[SURVEYED * noted + CAME_IN] = int(is_dirty)
            noted += 1
        if known & READS and is_unsettled:
            settles += 1
            is_unsettled = False
        if found > 0:
            if ts[i] >= block_end:
                block = ts[i] // within
                ahead = 3 if block_end == NO_BLOCK else block - (block_end // within - 1)
                births_three = births_two if ahead == 1 else births_one if ahead == 2 else 0
                births_two = births_one if ahead == 1 else 0
                births_one, of_block = 0, 0
                block_end = (block + 1) * within
            if is_dirty:
                births += 1
                births_one += 1
                is_dirty = False
            is_unsettled = True
            births_one += some
            parts += some
            loops += found
            of_block += found
            live += found
            while ts[oldest] <= ts[i] - within:
                live -= (P[what + letter[oldest]] & LOOPS) // LOOPS
                oldest += 1
            found_live += found * live
            most, most_of_block = max(most, live), max(most_of_block, of_block)
            of_three = max(of_three, births_one + births_two + births_three)
        is_dirty = is_dirty or fed > 0
        entries += fed
        i = j
    _note(panes, noted, FAR, loops, births, settles, entries, parts, end)
    usual = found_live / max(loops, 1)
    if P[PREDICATES] > 1:
        parts = min(loops, parts + loops * P[DISPUTED] // 1000)
        of_three += min(loops, 3 * most_of_block)
    return Survey(
        loops, most, most_of_block, births, of_three, entries, parts, settles, usual, noted
    )


@inlined
def _note(panes, n, pane, loops, births, settles, entries, parts, i):
    """What there was before a pane."""
    panes[SURVEYED * n + PANE] = pane
    panes[SURVEYED * n + N_EVENTS_OF], panes[SURVEYED * n + N_BURSTS] = loops, births
    panes[SURVEYED * n + N_READS], panes[SURVEYED * n + N_ENTRIES] = settles, entries
    panes[SURVEYED * n + N_PARTS], panes[SURVEYED * n + FIRST_EVENT] = parts, i


@apart
def panes_of(P, ts, first, end):
    """How many panes a partition has at most, and what comes after the last one."""
    return min(end - first, ts[end - 1] // P[SLIDE] - ts[first] // P[SLIDE] + 1) + 1


@apart
def few_of(P):
    """Up to how many events of a window own columns are sure to cost least.

    There a scan of them costs less than a step over snapshots does, whatever it finds, and less
    than anything in a tree.
    """
    if P[SHARING] != BY_BENEFIT or P[KIND] == IN_TREE:
        return 0
    columns = own_numbers(P)
    few = (STEP / columns - SCAN_COLUMN) / (0.5 * SCAN_EVENT)
    return max(0, int(few))


@apart
def has_few(P, ts, first, end, few):
    """Whether no window of a partition has more events than are few; a look at some of them."""
    stride = few // 4
    if stride == 0:
        return end - first <= few
    for i in range(first, end - few + stride, stride):
        if ts[i + few - stride] - ts[i] < P[WITHIN]:
            return False
    return True


@inlined
def of_few(n, live):
    """What a partition of n events is like that has no more than these in a window."""
    live = min(n, live)
    return Survey(n, live, live, 0, 0, 0, 0, 0, float(live), 0)


@apart
def survey_own(P, ts, letter, first, end):
    """The same where nothing can be shared: events of the loop alone are of interest.

    Few are not looked at: where all of them are cheaper scanned, so are those of a window.
    """
    n = end - first
    if P[KIND] == SCANNED or (P[KIND] == CHOSEN and not is_tree_cheaper(P, n)):
        return of_few(n, n)
    within = P[WITHIN]
    loops, most, most_of_block, live, of_block, found_live = 0, 0, 0, 0, 0, 0.0
    oldest, block_end = first, NO_BLOCK
    for i in range(first, end):
        if P[P[IS_LOOP] + letter[i]] == 0:
            continue
        if ts[i] >= block_end:
            of_block, block_end = 0, (ts[i] // within + 1) * within
        loops += 1
        of_block += 1
        live += 1
        while ts[oldest] <= ts[i] - within:
            live -= P[P[IS_LOOP] + letter[oldest]]
            oldest += 1
        found_live += live
        most, most_of_block = max(most, live), max(most_of_block, of_block)
    return Survey(loops, most, most_of_block, 0, 0, 0, 0, 0, found_live / max(loops, 1), 0)


# The arithmetic of kernel/rows/cost.py, compiled
scan_cost, tree_cost = apart(scan_ns), apart(tree_ns)
less_cost, word_cost = apart(less_ns), apart(in_words)


@inlined
def row_ns_of(is_tree, columns, live):
    """Of a row in one table or the other."""
    return tree_cost(columns, live) if is_tree else scan_cost(columns, live)


@inlined
def shared_tree_cost(columns, live):
    """Of a row over snapshots in a tree."""
    return tree_cost(SNAPSHOT_WIDE * columns, live) - less_cost(columns)


@inlined
def is_tree_cheaper(P, live):
    """Whether rows over own columns are cheaper in a tree, with so many events in a window."""
    columns = own_columns(P)
    return TREE + tree_cost(columns, float(live)) < scan_cost(columns, float(live))


@apart
def is_tree_chosen(P, s):
    """Whether a partition has its rows in a tree: a burst of events is no reason to have one."""
    columns = own_columns(P)
    return TREE + tree_cost(columns, float(s.live)) < scan_cost(columns, float(s.usual))


@apart
def is_shared_tree_chosen(P, s):
    """The same of rows over snapshots."""
    columns = shared_columns(P, s)
    in_tree = TREE + shared_tree_cost(columns, float(s.live))
    return in_tree < STEP + scan_cost(columns, SNAPSHOT_LIVE * s.usual)


@apart
def own_columns(P):
    """The width of a row over own columns."""
    return float(P[COLUMNS] * P[OVERLAP] * (P[COMPONENTS] + P[EXTREMES]))


@apart
def own_numbers(P):
    """The same in numbers of one word."""
    return float(P[OVERLAP] * P[COLUMNS]) * of_column(P)


@inlined
def of_column(P):
    """How many numbers of one word a window of a column has."""
    return P[COMPONENTS] * word_cost(P[WORDS]) + P[EXTREMES]


@apart
def shared_columns(P, s):
    """The width of a row over snapshots, on average."""
    return (P[COMPONENTS] + P[ROW_EXTREMES]) * (_snapshots(P, s) + AT_HAND)


@inlined
def _snapshots(P, s):
    """How many snapshots a row has coefficients of, on average."""
    of_window = float(s.births + s.parts) * s.live / max(s.loops, 1)
    return of_window * (1.0 - 0.5 / P[OVERLAP])


@apart
def own_event_ns(P, is_tree, live):
    """Of an event of the loop, over own columns."""
    return row_ns_of(is_tree, own_numbers(P), live)


@apart
def shared_event_ns(P, is_tree, live, wide, bursts, reads, entries, closes, singles):
    """Of an event of the loop, over so many snapshots; with so many of these for each event.

    A snapshot of a single event is a read and a row for each edge predicate.
    """
    columns = (wide + AT_HAND) * (P[COMPONENTS] + P[ROW_EXTREMES])
    cells = entries * P[OVERLAP] * of_column(P)
    settle = SETTLE_COLUMN * columns + SETTLE_ENTRY * cells + SETTLE_OWN * own_numbers(P)
    if is_tree:
        row = shared_tree_cost(columns, live)
    else:
        row = STEP + scan_cost(columns, SNAPSHOT_LIVE * live)
    again = row * singles * (P[PREDICATES] - 1)
    settles = reads + closes + singles * P[PREDICATES]
    return row + again + SNAPSHOT * bursts + settle * settles


@apart
def survey_costs(P, s):
    """Of an event of the loop of a partition: over own columns, and over snapshots."""
    loops = float(max(s.loops, 1))
    wide = _snapshots(P, s)
    bursts, closes = s.births / loops, P[OVERLAP] / max(s.live, 1.0)
    reads, singles = s.settles / loops, s.parts / loops
    entries = (s.entries + s.parts * P[COLUMNS]) * s.live / loops
    own = min(own_event_ns(P, False, s.live), TREE + own_event_ns(P, True, s.live))
    in_tree = shared_event_ns(P, True, s.live, wide, bursts, reads, entries, closes, singles)
    scanned = shared_event_ns(P, False, s.live, wide, bursts, reads, entries, closes, singles)
    return own, min(scanned, TREE + in_tree)


@apart
def begins_shared(P, s, part):
    """Whether the first windows of a partition are over snapshots."""
    if P[SHARING] == ALWAYS:
        return True
    if P[SHARING] == BY_BENEFIT or P[SHARING] == BY_SURVEY:
        own, shared = survey_costs(P, s)
        return shared < own
    return P[SHARING] == BY_COIN and ((part + P[SEED]) * 2654435761 >> 7) % 2 == 0


@apart
def column_room(P, of_three, cells):
    """How many snapshots there is room for, in a table of so many rows or nodes.

    `of_three` is the most of them in any three blocks.

    Where bursts are decided about, no more than would ever be kept; where room runs out, rows have
    own columns from there on.
    """
    wanted, numbers = of_three + 3, P[COMPONENTS] + P[ROW_EXTREMES]
    if P[SHARING] == BY_BENEFIT:
        wanted = min(wanted, 64 + 4 * P[COLUMNS] * P[OVERLAP])
    return max(2, min(wanted, MOST_CELLS // (cells * numbers)))
