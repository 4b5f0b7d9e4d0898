"""Windows whose numbers do not fit: these alone are run again, by longer numbers.

What is busiest in a partition is soon over, and most windows have short numbers. So where a number
does not fit, the windows that are open are given up, and those that begin later go on as if there
had been nothing before them, which to them is so. Given up are a few windows of each unit, which
are described by times, as units have different ones: they begin after one time, at the latest at
another, and end after a third. That is what a run of longer numbers is asked for, and it may give
up some of them in turn.
"""

from __future__ import annotations

from hamlet.kernel import layout as at
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.accumulators import begin
from hamlet.kernel.machine.memory import FAR

# Entries of what is run again: partition, first event and the one after its last; and which windows
# are asked for: those that begin after a time, end after one, and begin by one
AGAIN = 6
LIMITS = 3


@inlined
def asked_for(S, lo, hi, within, slide):
    """Of the windows from one to another those that are asked for, or none of them."""
    after, since = S[at.C_AFTER] // slide + 1, (S[at.C_FROM] - within) // slide + 1
    lo = max(lo, after, since)
    return lo, max(min(hi, S[at.C_TO] // slide), lo - 1)


@compiled
def ask_for(P, S, after, since, to):
    """Ask for the windows that begin after a time, end after one, and begin by one."""
    S[at.C_AFTER], S[at.C_FROM], S[at.C_TO] = after, since, to
    S[at.C_LIMITED] = int(after > -FAR or since > -FAR or to < FAR)
    for grid in range(P[at.N_GRIDS]):
        S[P[at.S_GRID_DUE] + grid] = -FAR  # which windows are open is not known


@compiled
def end_units(m):
    """Have no unit active."""
    P, S = m.P, m.S
    for k in range(S[at.C_ACTIVE]):
        u = S[P[at.S_ACTIVE] + k]
        S[P[at.S_WHERE] + u] = -1
        S[P[at.S_SEEN] + u] = -1


@inlined
def is_near(S, events, redo, n, i):
    """Whether event i is so soon after windows were given up that these have it, too.

    Then to run them again separately would be to run through the same events twice.
    """
    return events.ts[i] - redo[AGAIN * (n - 1) + 5] < S[at.C_LONGEST]


@compiled
def give_up(m, events, redo, n, goes_on, i, first, end):
    """Give up the windows that are open at event i, and go on after it with those to come.

    They are listed as row n of what is run again, or with those that were given up last, if that
    `goes_on`, and then with all that have begun since. Returns the event to go on with.
    """
    P, S, ts = m.P, m.S, events.ts
    t, to = ts[i], min(ts[i], S[at.C_TO])
    row = AGAIN * (n - 1 if goes_on else n)
    if not goes_on:
        redo[row] = S[at.C_PART]
        redo[row + 3], redo[row + 4] = S[at.C_AFTER], max(t, S[at.C_FROM])
        begin_at = i
        while begin_at > first and ts[begin_at - 1] > t - S[at.C_LONGEST]:
            begin_at -= 1
        redo[row + 1] = begin_at
    redo[row + 5] = to
    last = i + 1
    while last < end and ts[last] < to + S[at.C_LONGEST]:
        last += 1
    redo[row + 2] = last
    end_units(m)
    m.err[0] = 0
    begin(m)
    ask_for(P, S, t, S[at.C_FROM], S[at.C_TO])
    if t >= S[at.C_TO]:
        return end
    following = i + 1
    while following < end and ts[following] <= t:
        following += 1
    return following
