"""Windows whose numbers do not fit: these alone are run again, by longer numbers.

What is busiest in a partition is soon over, and most windows have short numbers. So where a number
does not fit, the windows that are open are given up, and those that open later go on as if there
had been nothing before them, which to them is so. Where lengths of windows differ a partition is
given up in whole, as some of what is in a window of the table has been recorded before it closes.
"""

from __future__ import annotations

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows import layout as at

# Entries of a range, and of what is run again: partition, first event and the one after its last,
# first and last window, and of a thousand events those on which edge predicates are expected to
# disagree
RANGE = 6


@inlined
def note_firm(S):
    """Note the records that are sure to be right, and the windows that these are not of."""
    S[at.S_FIRM], S[at.S_FIRM_LO], S[at.S_FIRM_HI] = S[at.S_OUT], S[at.S_LO], S[at.S_HI]


@apart
def give_up(m, events, ranges, row, redo, n, goes_on, failed):
    """Give up the windows that were open when a number did not fit, at an event.

    They are listed as number n of what is run again, or with those that were given up last, if
    that `goes_on` and they come after these.

    Returns how many are listed, and the event that the first window to come begins with.
    """
    P, S, ts = m.P, m.S, events.ts
    first, end = ranges[row + 1], ranges[row + 2]
    lo, hi = S[at.S_FIRM_LO], S[at.S_FIRM_HI]
    S[at.S_OUT] = S[at.S_FIRM]
    last = RANGE * (n - 1)
    if not (goes_on and redo[last + 4] + 1 == lo):
        last += RANGE
        n += 1
        begin = failed
        while begin > first and ts[begin - 1] >= lo * P[at.SLIDE]:
            begin -= 1
        redo[last], redo[last + 1], redo[last + 3] = ranges[row], begin, lo
        redo[last + 5] = ranges[row + 5]
    following = failed
    while following < end and ts[following] < (hi + 1) * P[at.SLIDE]:
        following += 1
    stop = failed
    while stop < end and ts[stop] < hi * P[at.SLIDE] + P[at.WITHIN]:
        stop += 1
    redo[last + 2], redo[last + 4] = stop, hi
    m.err[0] = 0
    return n, following
