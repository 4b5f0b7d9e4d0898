"""Partition after partition of a batch, on addresses alone.

Arrays that stand in the way of a loop are counted in and out of each round, which for partitions of
a few events takes longer than these. So the loop is here, and kernel.py, which has the arrays, is
asked for more room where there is too little.
"""

from __future__ import annotations

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows import layout as at
from hamlet.kernel.rows.cells import PAD
from hamlet.kernel.rows.decision import begin_counting, begin_stretch
from hamlet.kernel.rows.redoing import RANGE, give_up, note_firm
from hamlet.kernel.rows.scan import end_keys
from hamlet.kernel.rows.stretches import (
    A_TREE,
    FIRST,
    FROM,
    LAST,
    OVER_SNAPSHOTS,
    STRETCH,
    WAY,
    event_from,
    only_stretch,
    stretches,
    tossed_stretches,
    way_of,
)
from hamlet.kernel.rows.survey import (
    column_room,
    has_few,
    of_few,
    panes_of,
    survey,
    survey_own,
)
from hamlet.kernel.rows.tree import sides_of
from hamlet.kernel.rows.walk import walk
from hamlet.kernel.rows.windows import empty_all
from hamlet.kernel.stopping import STOPPED

# What there is too little room for, besides what the walk may be short of: what a survey notes of
# panes, and what a stretch of windows is run in
ROOM_PANES, ROOM_STRETCH, ROOM_REDO = 6, 7, 8
# Where a batch stands: its partition; how many stretches that has, 0 before it has begun; which of
# them is run, and its next event, -1 before it has begun; what was surveyed; the records and bursts
# that there were before the partition; and how many have to be run again
(
    AT_PARTITION,
    AT_STRETCHES,
    AT_STRETCH,
    AT_EVENT,
    AT_LIVE,
    AT_OF_BLOCK,
    AT_OF_THREE,
    AT_RECORDS,
    AT_BURSTS,
    AT_REDONE,
    # Of a stretch that windows were given up of, the event to go on with, or -1; the range of which
    # windows were given up last; and the room for what has to be run again
    AT_RESUMED,
    AT_GIVEN_UP,
    REDO_ROOM,
    # The room there is for panes and stretches; for nodes of a tree, events of a block, keys,
    # snapshots, their numbers in the table, and own numbers and extremes there
    PANES_ROOM,
    NODES_ROOM,
    BLOCK_ROOM,
    KEYS_ROOM,
    COLUMNS_ROOM,
    SHARED_ROOM,
    TABLE_ROOM,
    TABLE_ROOM_X,
    # And as much as is wanted
    WANTED,
) = range(22)
ROOMS = WANTED - PANES_ROOM
PROGRESS = WANTED + ROOMS


@apart
def run_partitions(m, b, events, table, ranks, out, ranges, n_ranges, cuts, redo, progress):
    """Run partitions from where a batch stands on; what there is no room for.

    0 at its end, or where it was stopped.
    """
    S = m.S
    while progress[AT_PARTITION] < n_ranges and m.err[STOPPED] == 0:
        row = RANGE * progress[AT_PARTITION]
        part = ranges[row]
        if progress[AT_REDONE] == progress[REDO_ROOM]:
            return ROOM_REDO
        if progress[AT_STRETCHES] == 0:
            _choose_policy(m, events, ranges, row)
            if S[at.S_POLICY] != at.OWN and not _has_panes_room(m, events, ranges, row, progress):
                return ROOM_PANES
            _begin(m, events, ranges, row, cuts, progress)
        while progress[AT_STRETCH] < progress[AT_STRETCHES]:
            if m.err[0] != 0 or m.err[STOPPED] != 0:
                break
            if progress[AT_EVENT] < 0 and not _begin_run(
                m, table, ranges, row, cuts, progress, part
            ):
                return ROOM_STRETCH
            progress[AT_EVENT], short = walk(
                m, b, events, table, ranks, out, part, progress[AT_EVENT], S[at.S_END]
            )
            if short != 0:
                return short
            # What is decided is told of whole partitions.
            if m.err[0] != 0 and m.P[at.WINDOWS] == 1 and S[at.S_DECIDED_ROOM] == 0:
                _give_up(m, events, ranges, row, cuts, redo, progress)
                if progress[AT_REDONE] == progress[REDO_ROOM]:
                    return ROOM_REDO
                continue
            progress[AT_STRETCH] += 1
            progress[AT_EVENT] = progress[AT_RESUMED] = -1
        if m.err[0] != 0:
            S[at.S_OUT], S[at.C_BURSTS] = progress[AT_RECORDS], progress[AT_BURSTS]
            for k in range(RANGE):
                redo[RANGE * progress[AT_REDONE] + k] = ranges[row + k]
            progress[AT_REDONE] += 1
        progress[AT_PARTITION] += 1
        progress[AT_STRETCHES] = 0
    return 0


@inlined
def _give_up(m, events, ranges, row, cuts, redo, progress):
    """Give up the windows that are open, and begin a stretch anew with those to come."""
    goes_on = progress[AT_GIVEN_UP] == progress[AT_PARTITION]
    n, following = give_up(
        m, events, ranges, row, redo, progress[AT_REDONE], goes_on, progress[AT_EVENT]
    )
    progress[AT_REDONE], progress[AT_GIVEN_UP] = n, progress[AT_PARTITION]
    cut = STRETCH * progress[AT_STRETCH]
    cuts[cut + FIRST] = m.S[at.S_FIRM_HI] + 1
    progress[AT_EVENT], progress[AT_RESUMED] = -1, following
    if cuts[cut + FIRST] > cuts[cut + LAST]:
        progress[AT_STRETCH] += 1
        progress[AT_RESUMED] = -1


@inlined
def _choose_policy(m, events, ranges, row):
    """Have own columns where nothing else can be cheaper; that is not looked for then."""
    S, first, end = m.S, ranges[row + 1], ranges[row + 2]
    S[at.S_POLICY] = m.P[at.SHARING]
    if S[at.S_FEW] > 0 and has_few(m.P, events.ts, first, end, S[at.S_FEW]):
        S[at.S_POLICY] = at.OWN


@inlined
def _has_panes_room(m, events, ranges, row, progress):
    """Whether there is room for what a survey notes of the panes of a partition."""
    wanted = panes_of(m.P, events.ts, ranges[row + 1], ranges[row + 2])
    progress[WANTED] = wanted
    return wanted <= progress[PANES_ROOM]


@inlined
def _begin(m, events, ranges, row, cuts, progress):
    """Look through a partition, and cut it into stretches."""
    P, S = m.P, m.S
    part, first_event, end_event = ranges[row], ranges[row + 1], ranges[row + 2]
    first, last = ranges[row + 3], ranges[row + 4]
    can_share, P[at.DISPUTED] = S[at.S_POLICY] != at.OWN, ranges[row + 5]
    progress[AT_RECORDS], progress[AT_BURSTS] = S[at.S_OUT], S[at.C_BURSTS]
    if can_share:
        found = survey(
            P, events.ts, events.tied, events.letter, first_event, end_event, m.panes, last
        )
        S[at.C_BURSTS] += found.births
    elif P[at.SHARING] != at.OWN:
        found = of_few(end_event - first_event, S[at.S_FEW])
    else:
        found = survey_own(P, events.ts, events.letter, first_event, end_event)
    if S[at.S_POLICY] == at.BY_BENEFIT:
        n = stretches(P, m.panes, found.panes, first, last, cuts)
    elif S[at.S_POLICY] == at.BY_COIN:
        n = tossed_stretches(P, m.panes, found.panes, first, last, part + P[at.SEED], cuts)
    else:
        n = only_stretch(first, last, way_of(P, found, can_share, part), cuts)
    progress[AT_STRETCHES], progress[AT_STRETCH], progress[AT_EVENT] = n, 0, -1
    progress[AT_RESUMED] = -1
    progress[AT_LIVE], progress[AT_OF_BLOCK] = found.live, found.of_block
    progress[AT_OF_THREE] = found.of_three
    m.err[0] = 0


@inlined
def _begin_run(m, table, ranges, row, cuts, progress, part):
    """Begin a stretch, unless there is no room to run it in: False."""
    P, S, c = m.P, m.S, progress[AT_STRETCH]
    cut, following = STRETCH * c, STRETCH * (c + 1)
    way = cuts[cut + WAY]
    is_tree, is_shared = way & A_TREE != 0, way & OVER_SNAPSHOTS != 0
    i, end, tail = ranges[row + 1], ranges[row + 2], at.FAR
    if c > 0:
        i = m.panes[at.SURVEYED * cuts[cut + FROM] + at.FIRST_EVENT]
    if c + 1 < progress[AT_STRETCHES]:
        tail = cuts[following + FIRST] * P[at.SLIDE]
        end = event_from(P, m.panes, cuts[following + FROM], cuts[cut + LAST] + 1)
    i = min(max(i, progress[AT_RESUMED]), end)
    # Where all of a partition fits there is no need to ever make room.
    room = min(end - i, 2 * progress[AT_LIVE]) + 1 + PAD
    wide = _wants(m, is_tree, room, progress)
    if wide < 0:
        return False
    begin_partition(S, int(is_tree), room, progress[AT_OF_BLOCK], end)
    S[at.S_FIRST], S[at.S_LAST] = cuts[cut + FIRST], cuts[cut + LAST]
    note_firm(S)
    for kind in range(P[at.WINDOWS]):
        m.begins[P[at.OVERLAP] + kind] = at.NO_BLOCK + 1
    begin_basis(S, int(is_shared), wide, part + P[at.SEED])
    if not is_tree:
        end_keys(S, table.keys, P[at.PREDICATES])
    empty_all(m)
    if S[at.S_POLICY] != at.OWN and c == 0:
        begin_counting(m)
    begin_stretch(m, cuts[cut + FROM], int(is_shared), tail)
    progress[AT_EVENT] = i
    return True


@inlined
def _wants(m, is_tree, room, progress):
    """Note what a stretch needs to be run in; how many snapshots have room, -1 if that is short."""
    P, z, nc = m.P, m.z, m.z.components
    of_block, cells = progress[AT_OF_BLOCK], room
    nodes, block, keys, shared, wide = 0, 0, 0, 0, 1
    if is_tree:
        cells = 2 * sides_of(z) * (of_block + 1)
        nodes, block = cells, of_block
    else:
        keys = P[at.PREDICATES] * room
    if m.S[at.S_POLICY] != at.OWN:
        wide = column_room(P, progress[AT_OF_THREE], cells)
        shared = cells * wide * nc
    progress[NODES_ROOM + ROOMS], progress[BLOCK_ROOM + ROOMS] = nodes, block
    progress[KEYS_ROOM + ROOMS], progress[COLUMNS_ROOM + ROOMS] = keys, wide
    progress[SHARED_ROOM + ROOMS] = shared
    progress[TABLE_ROOM + ROOMS], progress[TABLE_ROOM_X + ROOMS] = (
        cells * z.whole,
        cells * z.whole_x,
    )
    is_short = False
    for which in range(NODES_ROOM, WANTED):
        is_short |= progress[which + ROOMS] > progress[which]
    return -1 if is_short else wide


@inlined
def begin_partition(S, is_tree, room, most, end):
    """No window open, nothing stored."""
    S[at.S_LO], S[at.S_HI], S[at.S_DUE] = at.NO_BLOCK + 1, at.NO_BLOCK, at.NO_BLOCK
    S[at.S_IS_TREE], S[at.S_STORED], S[at.S_ROOM] = is_tree, 0, room
    S[at.S_BLOCK], S[at.S_BLOCK_END], S[at.S_HALF], S[at.S_NEXT] = at.NO_BLOCK, at.NO_BLOCK, 0, 0
    S[at.S_OPEN], S[at.S_PLACE] = 0, 0
    S[at.S_LEAVES], S[at.S_LEAVES_BEFORE], S[at.S_MOST] = 0, 0, most
    S[at.S_END], S[at.S_RUNS] = end, 0
    S[at.S_FIRST], S[at.S_LAST], S[at.S_TAIL], S[at.S_PLANNED] = -at.FAR, at.FAR, at.FAR, 0


@inlined
def begin_basis(S, mode, columns, coin):
    """No snapshot, and nothing that came in."""
    S[at.S_MODE], S[at.S_COLUMN_ROOM], S[at.S_COIN] = mode, columns, coin
    S[at.S_OWN_HI], S[at.S_OWN_OPEN] = at.NO_BLOCK, 0
    S[at.S_DIRTY], S[at.S_READABLE], S[at.S_FORCED] = 0, 0, 0
    S[at.S_OLDEST], S[at.S_BIRTHS], S[at.S_FIRST_COLUMN], S[at.S_UNSETTLED] = 0, 0, 0, 0
    S[at.S_HAND] = -1
    S[at.S_BASE], S[at.S_BASE_BEFORE], S[at.S_BLOCK_BIRTHS] = 0, 0, 0
    S[at.S_STRIDE], S[at.S_STRIDE_BEFORE] = 0, 0
    S[at.S_FIRST_ENTRY], S[at.S_DATED], S[at.S_ENTRIES], S[at.S_AMOUNTS] = 0, 0, 0, 0
