"""Guards: patterns whose match bars the trends that span it.

Of each state of a guard the latest start of a partial match is kept, because a later start bars
fewer trends. A completed match empties the rows that it bars. Where a guard has several events,
each such row has a copy for each state of the guard: what the row will be if the partial match at
that state is completed, that is, only trends that began to be counted after its start.

Cost: O(rows x windows) for each event that a guard knows.
"""

from __future__ import annotations

from hamlet.kernel import layout as at
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.conditions import atoms_fit, edge_open
from hamlet.kernel.machine.memory import NO_STEP, entries, shape
from hamlet.kernel.machine.rows import Row, copy_row, empty_row, row_of
from hamlet.kernel.machine.tree_sums import empty_trees

# Instead of the state whose partial match is gone on with: the event begins one, or there is none.
_BEGINS, _NONE = -1, -2


@compiled
def begin_guards(P, S, u):
    """Forget all matches of the guards of a unit."""
    for g in entries(P, at.U_G_P, u):
        for k in range(P[P[at.G_SBASE] + g], P[P[at.G_SBASE] + g] + P[P[at.G_N] + g]):
            S[P[at.S_G_L] + k] = NO_STEP
        S[P[at.S_G_DONE] + g] = NO_STEP
    for k in entries(P, at.U_GLOG_P, u):
        S[P[at.S_GLOG_LEN] + k] = 0


@compiled
def _latest_start(P, S, sides, stored, gop, i, ts):
    """The latest start of a match of a guard that event i ends or goes on: source, step, time."""
    base = P[P[at.G_SBASE] + P[P[at.GOP_GUARD] + gop]]
    best, best_t, source = NO_STEP, 0, _NONE
    for k in entries(P, at.GS_IN_P, base + P[P[at.GOP_STATE] + gop]):
        s, cond = P[P[at.GS_IN_SOURCE] + k], P[P[at.GS_IN_COND] + k]
        if P[P[at.GS_IN_SCAN] + k] == 0:
            if cond >= 0 and not atoms_fit(P, S, sides, cond, i):
                continue
            start = S[at.C_STEPS] if s < 0 else S[P[at.S_G_L] + base + s]
            start_t = ts if s < 0 else S[P[at.S_G_LT] + base + s]
            if start > best:
                best, best_t, source = start, start_t, s
        else:
            log = P[P[at.GS_LOG] + base + s]
            for pos in range(S[P[at.S_GLOG_LEN] + log]):
                entry = 3 * (log * S[at.C_GLOG] + pos)
                j, start = stored.guard_entries[entry], stored.guard_entries[entry + 1]
                if start > best and edge_open(P, S, sides, cond, 0, 0, j, i):
                    best, best_t, source = start, stored.guard_entries[entry + 2], s
    return source, best, best_t


@compiled
def find_match(P, S, sides, stored, gops, n, gop, i, ts):
    """Note as number n of a step what event i does to a guard, from the state before the step."""
    source, start, start_t = _latest_start(P, S, sides, stored, gop, i, ts)
    gops[5 * n], gops[5 * n + 1], gops[5 * n + 2] = gop, i, source
    gops[5 * n + 3], gops[5 * n + 4] = start, start_t


@compiled
def complete_guards(m, stored, scratch, n):
    """Apply what the n events of one step did to guards.

    Copies that are gone on with are put aside first, because another event of the step may change
    them. Guards of one event come last: what they empty stays empty, whatever else was put back.
    """
    aside, aside_x = 0, 0
    for k in range(n):
        size, size_x = _kept_by(m.P, scratch.gops, k)
        if size + size_x > 0:
            _put_aside(m, scratch, k, aside, aside_x)
        aside += size
        aside_x += size_x
    aside, aside_x = 0, 0
    for k in range(n):
        if scratch.gops[5 * k + 2] != _NONE and not _has_one_event(m.P, scratch.gops, k):
            _apply(m, stored, scratch, k, aside, aside_x)
        size, size_x = _kept_by(m.P, scratch.gops, k)
        aside += size
        aside_x += size_x
    for k in range(n):
        if scratch.gops[5 * k + 2] != _NONE and _has_one_event(m.P, scratch.gops, k):
            _apply(m, stored, scratch, k, 0, 0)


@inlined
def _has_one_event(P, gops, k):
    """Whether the guard of number k of a step is a single event."""
    return P[P[at.G_N] + P[P[at.GOP_GUARD] + gops[5 * k]]] == 1


@compiled
def _kept_by(P, gops, k):
    """How many numbers and extremes are put aside for number k of a step."""
    if gops[5 * k + 2] < 0:
        return 0, 0
    return kept_for(P, P[P[at.GOP_GUARD] + gops[5 * k]])


@compiled
def kept_for(P, g):
    """How many numbers and extremes the copies for one state of a guard have."""
    w, nc, nx = shape(P, P[P[at.G_UNIT] + g])
    mains = P[P[at.G_MAIN_P] + g + 1] - P[P[at.G_MAIN_P] + g]
    return mains * w * nc, mains * w * nx


@inlined
def _copy_of(m, g, main, state):
    """The copy of a row for a state of a guard."""
    P = m.P
    first = P[P[at.G_COPY_P] + g] + (main - P[P[at.G_MAIN_P] + g]) * P[P[at.G_N] + g]
    return row_of(m, P[P[at.G_UNIT] + g], P[P[at.G_COPY_ROW] + first + state])


@compiled
def _put_aside(m, scratch, k, aside, aside_x):
    """Keep the copies that the match of number k goes on with."""
    g = m.P[m.P[at.GOP_GUARD] + scratch.gops[5 * k]]
    for main in entries(m.P, at.G_MAIN_P, g):
        copy = _copy_of(m, g, main, scratch.gops[5 * k + 2])
        kept = Row(scratch.kept, scratch.kept_x, aside, aside_x, copy.size, copy.size_x)
        copy_row(kept, copy)
        aside += copy.size
        aside_x += copy.size_x


@compiled
def _apply(m, stored, scratch, k, aside, aside_x):
    """Apply what number k of a step does; copies it goes on with were put aside from `aside` on."""
    P, S = m.P, m.S
    gop, i, source = scratch.gops[5 * k], scratch.gops[5 * k + 1], scratch.gops[5 * k + 2]
    start, start_t = scratch.gops[5 * k + 3], scratch.gops[5 * k + 4]
    g, state = P[P[at.GOP_GUARD] + gop], P[P[at.GOP_STATE] + gop]
    u, gs = P[P[at.G_UNIT] + g], P[P[at.G_SBASE] + g] + state
    if P[P[at.GS_LOG] + gs] >= 0:
        _append(P, S, stored, P[P[at.GS_LOG] + gs], i, start, start_t)
    ends = P[P[at.GS_END] + gs] == 1 and start > S[P[at.S_G_DONE] + g]
    if ends:
        S[P[at.S_G_DONE] + g] = start
        S[P[at.S_G_DONE_T] + g] = start_t
        for r in entries(P, at.G_RESET_P, g):
            empty_row(row_of(m, u, P[P[at.G_RESET_ROW] + r]))
        empty_trees(P, S, g)
    if start <= S[P[at.S_G_L] + gs]:
        return
    S[P[at.S_G_L] + gs] = start
    S[P[at.S_G_LT] + gs] = start_t
    for main in entries(P, at.G_MAIN_P, g):
        copy = _copy_of(m, g, main, state)
        if source == _BEGINS:
            empty_row(copy)
        else:
            copy_row(
                copy, Row(scratch.kept, scratch.kept_x, aside, aside_x, copy.size, copy.size_x)
            )
            aside += copy.size
            aside_x += copy.size_x
        if ends:
            copy_row(row_of(m, u, P[P[at.G_MAIN_ROW] + main]), copy)


@compiled
def _append(P, S, stored, log, i, start, start_t):
    """Store an event of a guard with the start of its match."""
    entry = 3 * (log * S[at.C_GLOG] + S[P[at.S_GLOG_LEN] + log])
    stored.guard_entries[entry] = i
    stored.guard_entries[entry + 1] = start
    stored.guard_entries[entry + 2] = start_t
    S[P[at.S_GLOG_LEN] + log] += 1
