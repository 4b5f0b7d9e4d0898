"""Events of batches before, in sorted runs: what a stream keeps of a table from batch to batch.

The ranks of events that are yet to come are not known, so a tree over the ranks of a block cannot
go on from batch to batch. What has been stored by the end of a batch becomes a *run* instead: its
keys in order, and with each the sum of all rows up to it, so that a later event finds what a run
adds to it by one search and one row. A run is never changed. Where one is not twice as long as
those after it together they are merged: the sums of two runs are added, none is worked out again.
So a batch costs what its own events cost, times the logarithm of what is stored, whatever the
window. What no open window has in it any more is left out when runs are merged, and a run of
nothing else is dropped. For f = g a run has a row for each different key instead of sums.

Windows stand in a row of a run where they stand in all rows; those that it has nothing of are 0.
"""

from __future__ import annotations

from hamlet.kernel import numbers
from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.cells import fill_cells, least_cells, sum_cells, zero_cells
from hamlet.kernel.rows.layout import EQUAL, S_HI, S_LO, S_RUNS, UP_TO
from hamlet.kernel.rows.memory import row_size, window_size

# Of a run: how many keys, the last window that it has numbers of, and where it begins in integers
# (by key the last window that its event is in, and the last of its row), doubles (keys, and
# elsewhere extremes by key) and numbers (by key)
R_KEYS, R_NEWEST, R_INTS, R_DOUBLES, R_EXTREMES, R_NUMBERS, RUN = range(7)
# Each is at least twice as long as the next: there are never as many.
MOST_RUNS = 64
# Fewer keys than these are not worth two runs.
_SHORT = 32


@inlined
def _before(keys, at, n, bound, is_upto):
    """How many of n sorted keys come before a bound, or up to it."""
    found = 0
    while n > 0:
        half = n >> 1
        key = keys[at + found + half]
        if key < bound or (is_upto and key == bound):
            found += half + 1
            n -= half + 1
        else:
            n = half
    return found


@apart
def look_up_in_runs(m, table, bound, at, at_x):
    """Add what events of runs add to an event with a bound, to a row of scratch."""
    if bound != bound:
        return
    runs, keys, lo = table.runs, table.kept_doubles, m.S[S_LO]
    for run in range(0, m.S[S_RUNS] * RUN, RUN):
        if runs[run + R_NEWEST] < lo:
            continue
        n, first = runs[run + R_KEYS], runs[run + R_DOUBLES]
        found = _before(keys, first, n, bound, m.z.operator == UP_TO)
        if m.z.operator == EQUAL:
            found = found + 1 if found < n and keys[first + found] == bound else 0
        if found > 0:
            _read(m, table, run, found - 1, at, at_x)


@inlined
def _read(m, table, run, entry, at, at_x):
    """Add a row of a run to a row of scratch."""
    whole, whole_x = row_size(m)
    newest = table.kept_ints[table.runs[run + R_INTS] + 2 * entry + 1]
    v = table.runs[run + R_NUMBERS] + entry * whole
    x = table.runs[run + R_EXTREMES] + entry * whole_x
    if newest == m.S[S_HI]:
        sum_cells(m.scratch, at, table.kept_numbers, v, whole, m.err)
        least_cells(m.scratch_x, at_x, table.kept_doubles, x, whole_x)
    else:
        _add_windows(
            m,
            m.scratch,
            at,
            m.scratch_x,
            at_x,
            table.kept_numbers,
            v,
            table.kept_doubles,
            x,
            newest,
        )


@apart
def _add_windows(m, to, at, to_x, at_x, values, v, doubles, x, newest):
    """Add the windows of a row that are open, up to the last that it has, to another row."""
    size, size_x = window_size(m)
    for window in range(m.S[S_LO], newest + 1):
        place = window % m.z.overlap
        sum_cells(to, at + place * size, values, v + place * size, size, m.err)
        least_cells(to_x, at_x + place * size_x, doubles, x + place * size_x, size_x)


# Making runs


@inlined
def _begin_run(m, runs, run, most, used):
    """Have a run of so many keys at most begin where the arrays are free from."""
    whole, whole_x = row_size(m)
    runs[run + R_KEYS], runs[run + R_NEWEST] = 0, m.S[S_LO] - 1
    runs[run + R_INTS], runs[run + R_DOUBLES], runs[run + R_NUMBERS] = used[0], used[1], used[2]
    runs[run + R_EXTREMES] = used[1] + most
    used[0] += 2 * most
    used[1] += most + most * whole_x
    used[2] += most * whole


@inlined
def _add_key(m, table, runs, run, key, last):
    """Add a key to a run with a row that is still 0: where the row is."""
    whole, whole_x = row_size(m)
    entry = runs[run + R_KEYS]
    table.kept_doubles[runs[run + R_DOUBLES] + entry] = key
    ints = runs[run + R_INTS] + 2 * entry
    table.kept_ints[ints], table.kept_ints[ints + 1] = last, m.S[S_LO] - 1
    v, x = runs[run + R_NUMBERS] + entry * whole, runs[run + R_EXTREMES] + entry * whole_x
    zero_cells(table.kept_numbers, v, whole)
    fill_cells(table.kept_doubles, x, whole_x, float("inf"))
    runs[run + R_KEYS] = entry + 1
    return v, x, ints + 1


@inlined
def _add_row(m, table, runs, run, to, values, v, doubles, x, newest):
    """Add a row with windows up to `newest` to the row of the last key of a run."""
    to_v, to_x, newest_at = to
    _add_windows(
        m, table.kept_numbers, to_v, table.kept_doubles, to_x, values, v, doubles, x, newest
    )
    table.kept_ints[newest_at] = max(table.kept_ints[newest_at], newest)
    runs[run + R_NEWEST] = max(runs[run + R_NEWEST], newest)


@apart
def run_of_nodes(m, table, runs, run, keys, same, at, n, last, nodes, used):
    """Make a run of n sorted keys and nodes, which are sums over all events up to a key.

    Args:
        m: Code and state.
        table: The nodes, and the arrays that runs are in.
        runs: The table of runs.
        run: Where in it the new one is told of.
        keys: The keys, from `at` on.
        same: By key, from `at` on, how many different ones come before it.
        at: See above.
        n: How many keys there are.
        last: By key, or by different key for f = g, the last window that its event is in.
        nodes: The number of the node before the first.
        used: From where on the arrays are free.
    """
    whole, whole_x = row_size(m)
    _begin_run(m, runs, run, n, used)
    for k in range(n):
        number = k
        if m.z.operator == EQUAL:
            number = same[at + k]
            if k > 0 and same[at + k - 1] == number:
                continue
        if last[number] < m.S[S_LO]:
            continue
        node = nodes + number + 1
        to = _add_key(m, table, runs, run, keys[at + k], last[number])
        v, x = node * whole, node * whole_x
        _add_row(m, table, runs, run, to, table.v, v, table.x, x, table.newest[node])


@apart
def run_of_two(m, table, runs, run, one, other, used):
    """Make a run of two, without what no open window has in it."""
    whole, whole_x = row_size(m)
    ints, keys, values = table.kept_ints, table.kept_doubles, table.kept_numbers
    n, o = runs[one + R_KEYS], runs[other + R_KEYS]
    first, second = runs[one + R_DOUBLES], runs[other + R_DOUBLES]
    first_ints, second_ints = runs[one + R_INTS], runs[other + R_INTS]
    is_equal = m.z.operator == EQUAL
    _begin_run(m, runs, run, n + o, used)
    i, j = 0, 0
    while i < n or j < o:
        is_one = j == o or (i < n and keys[first + i] <= keys[second + j])
        is_other = not is_one
        if is_one:
            key, last = keys[first + i], ints[first_ints + 2 * i]
            is_other = is_equal and j < o and keys[second + j] == key
            i += 1
        else:
            key, last = keys[second + j], ints[second_ints + 2 * j]
        if is_other:
            last = max(last, ints[second_ints + 2 * j])
            j += 1
        if last < m.S[S_LO]:
            continue
        to = _add_key(m, table, runs, run, key, last)
        if i > 0 and (is_one or not is_equal):
            v, x = runs[one + R_NUMBERS], runs[one + R_EXTREMES]
            v, x, newest = v + (i - 1) * whole, x + (i - 1) * whole_x, first_ints + 2 * i - 1
            _add_row(m, table, runs, run, to, values, v, keys, x, ints[newest])
        if j > 0 and (is_other or not is_equal):
            v, x = runs[other + R_NUMBERS], runs[other + R_EXTREMES]
            v, x, newest = v + (j - 1) * whole, x + (j - 1) * whole_x, second_ints + 2 * j - 1
            _add_row(m, table, runs, run, to, values, v, keys, x, ints[newest])


@inlined
def merges(runs, count, keys):
    """How many of the last runs are to be merged with those of a batch, which have so many keys."""
    merged = 0
    while merged < count:
        other = runs[(count - 1 - merged) * RUN + R_KEYS]
        if other >= 2 * keys and other + keys > _SHORT and count - merged < MOST_RUNS - 4:
            break
        keys += other
        merged += 1
    return merged


@apart
def move_run(m, table, runs, run, used):
    """Move a run down to where the arrays are free from, and take up no more than it needs."""
    whole, whole_x = row_size(m)
    n = runs[run + R_KEYS]
    for k in range(2 * n):
        table.kept_ints[used[0] + k] = table.kept_ints[runs[run + R_INTS] + k]
    for k in range(n):
        table.kept_doubles[used[1] + k] = table.kept_doubles[runs[run + R_DOUBLES] + k]
    for k in range(n * whole_x):
        table.kept_doubles[used[1] + n + k] = table.kept_doubles[runs[run + R_EXTREMES] + k]
    for k in range(n * whole):
        numbers.copy(table.kept_numbers, used[2] + k, table.kept_numbers, runs[run + R_NUMBERS] + k)
    runs[run + R_INTS], runs[run + R_DOUBLES], runs[run + R_NUMBERS] = used[0], used[1], used[2]
    runs[run + R_EXTREMES] = used[1] + n
    used[0] += 2 * n
    used[1] += n + n * whole_x
    used[2] += n * whole
