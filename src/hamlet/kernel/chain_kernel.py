"""The compiled part of chains.py: the windows of a group of chains, each from its end.

A *member* is an event of E in the window at hand. A tree over the members, in the order of
g(next), has the sums of the chains that begin at those seen so far; with it the chains that begin
at one more member are found in logarithmic time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.cache_key import digest
from hamlet.kernel.code import ONE
from hamlet.kernel.growth import longer, longer_numbers
from hamlet.kernel.jit import compiled, inlined, kept_on_disk
from hamlet.kernel.numbers import pointer, raw_pointer
from hamlet.kernel.stopping import STOPPED


class ChainEvents(NamedTuple):
    """Events in time order, one entry for each; arrays, or their addresses."""

    ts: Any
    tied: Any  # 1 where the event before it has the same time
    letter: Any
    is_member: Any  # 1 for an event of E
    keys: Any  # f(previous)
    bounds: Any  # g(next); null never follows anything
    weights: Any  # by weight, then event
    extremes: Any  # by attribute, then event; NaN for null
    n: int


class ChainCode(NamedTuple):
    """What the chains of a group ask for; arrays, or their addresses.

    Tables by chain have `most` - 1 weights or `most_x` extremes for each.
    """

    operator: int
    within: int
    slide: int
    chains: int
    most: int  # components of a result
    most_x: int
    width: int  # components of chains that begin at an event: the distinct ones of all results
    width_x: int
    scale: float  # of doubles
    entry_p: Any  # by letter: pointers to the chains that its events are an X of
    entry: Any
    is_alone: Any  # by chain: whether there is no X
    weights: Any  # the distinct weights of E
    weight_of: Any  # by chain: which of them, -1 for none
    entry_weights: Any  # by chain: of X
    extremes: Any  # the distinct extremes of E: twice the attribute, and 1 more for MAX
    extreme_of: Any
    entry_extremes: Any
    signs: Any  # by chain: 1 for MIN, -1 for MAX


class _Window(NamedTuple):
    """Addresses of what is known of the window at hand."""

    members: Any
    place: Any  # of each member in the order of g(next)
    ordered: Any  # g(next) in that order, null last
    valid: int  # how many are not null
    leaves: int
    tree: Any
    tree_x: Any
    begun: Any  # by member: the chains that begin there
    begun_x: Any


class _Sums(NamedTuple):
    """Addresses of what is added up over a window."""

    later: Any  # all chains that begin later than the step at hand
    later_x: Any
    results: Any  # by chain
    results_x: Any


@inlined
def _addresses(events, code):
    """The addresses of events and code."""
    return (
        ChainEvents(
            raw_pointer(events.ts),
            raw_pointer(events.tied),
            raw_pointer(events.letter),
            raw_pointer(events.is_member),
            raw_pointer(events.keys),
            raw_pointer(events.bounds),
            raw_pointer(events.weights),
            raw_pointer(events.extremes),
            events.n,
        ),
        ChainCode(
            code.operator,
            code.within,
            code.slide,
            code.chains,
            code.most,
            code.most_x,
            code.width,
            code.width_x,
            code.scale,
            raw_pointer(code.entry_p),
            raw_pointer(code.entry),
            raw_pointer(code.is_alone),
            raw_pointer(code.weights),
            raw_pointer(code.weight_of),
            raw_pointer(code.entry_weights),
            raw_pointer(code.extremes),
            raw_pointer(code.extreme_of),
            raw_pointer(code.entry_extremes),
            raw_pointer(code.signs),
        ),
    )


@compiled
def _run(event_arrays, code_arrays, ranges, zero, err_array):
    """Every window of every partition of `ranges`."""
    events, code = _addresses(event_arrays, code_arrays)
    ts, most, most_x = events.ts, code.most, code.most_x
    err = raw_pointer(err_array)
    redo = np.empty(ranges.shape[0], np.int32)
    redone = 0
    capacity = 256
    records = np.empty(3 * capacity, np.int64)
    out_v, out_x = numbers.room(zero, capacity * most), np.empty(capacity * most_x)
    n = 0
    later, later_x = numbers.room(zero, code.width), np.empty(code.width_x)
    results, results_x = numbers.room(zero, code.chains * most), np.empty(code.chains * most_x)
    sums = _Sums(pointer(later), raw_pointer(later_x), pointer(results), raw_pointer(results_x))
    for r in range(ranges.shape[0]):
        part, first, end = ranges[r, 0], ranges[r, 1], ranges[r, 2]
        begun = n
        err[0] = 0
        if err[STOPPED] != 0:
            break
        low, high = first, first
        if first == end:
            continue
        window = (ts[first] - code.within) // code.slide + 1
        last = ts[end - 1] // code.slide
        while window <= last and err[0] == 0:
            start = window * code.slide
            while low < end and ts[low] < start:
                low += 1
            high = max(high, low)
            while high < end and ts[high] < start + code.within:
                high += 1
            if low == high:
                # Nothing for a while: go to the first window that has the next event.
                if low == end:
                    break
                window = max(window + 1, (ts[low] - code.within) // code.slide + 1)
                continue
            if _run_window(events, code, low, high, sums, zero, err):
                if n + code.chains > capacity:
                    capacity = 2 * (n + code.chains)
                    records = longer(records, 3 * n, 3 * capacity)
                    out_v = longer_numbers(out_v, n * most, capacity * most)
                    out_x = longer(out_x, n * most_x, capacity * most_x)
                out = raw_pointer(records), pointer(out_v), raw_pointer(out_x)
                n = _write(code, sums, part, window, out, n, err)
            window += 1
        if err[0] != 0:
            n = begun
            redo[redone] = part
            redone += 1
    # An array lives until its last use by name, which must be after that of its address.
    alive = err_array.size + later.size + later_x.size + results.size + results_x.size
    return records[: 3 * n], out_v[: n * most], out_x[: n * most_x], redo[:redone], alive


@inlined
def _write(code, sums, part, window, out, n, err):
    """Write the results of a window that are not zero as records from n on; how many there are."""
    records, out_v, out_x = out
    for c in range(code.chains):
        if numbers.is_zero(sums.results, c * code.most):
            continue
        for k in range(code.most):
            numbers.copy(out_v, n * code.most + k, sums.results, c * code.most + k)
            if not numbers.is_safe(sums.results, c * code.most + k):
                err[0] = 1
        for k in range(code.most_x):
            result = sums.results_x[c * code.most_x + k]
            out_x[n * code.most_x + k] = result * code.signs[c * code.most_x + k]
        records[3 * n], records[3 * n + 1], records[3 * n + 2] = part, c, window
        n += 1
    return n


@compiled
def _run_window(events, code, low, high, sums, zero, err):
    """One window, from its last event to its first; whether any chain can have a trend in it."""
    m = 0
    for i in range(low, high):
        m += events.is_member[i]
    if m == 0:
        return False
    members, place, ordered, valid = _in_order(events, low, high, m)
    leaves = 1
    while leaves < m:
        leaves *= 2
    tree = numbers.room(zero, 2 * leaves * code.width)
    tree_x = np.full(2 * leaves * code.width_x, np.inf)
    begun = numbers.room(zero, m * code.width)
    begun_x = np.full(m * code.width_x, np.inf)
    window = _Window(
        raw_pointer(members),
        raw_pointer(place),
        raw_pointer(ordered),
        valid,
        leaves,
        pointer(tree),
        raw_pointer(tree_x),
        pointer(begun),
        raw_pointer(begun_x),
    )
    for k in range(2 * leaves * code.width):
        numbers.set_zero(window.tree, k)
    _begin_sums(code, sums)
    is_safe = _walk_back(events, code, window, m, low, high, sums, err)
    # Pointers do not keep their arrays alive: a look at each at the end does.
    alive = members.size + place.size + ordered.size + tree.size + tree_x.size
    return alive + begun.size + begun_x.size > 0 and is_safe


@compiled
def _in_order(events, low, high, m):
    """The m members of a window, their places in the order of g(next), which, and how many."""
    members = np.empty(m, np.int64)
    bounds = np.empty(m, np.float64)
    k = 0
    for i in range(low, high):
        if events.is_member[i]:
            members[k] = i
            bounds[k] = events.bounds[i]
            k += 1
    order = np.argsort(bounds, kind="mergesort")  # NaN last, where no search comes
    place = np.empty(m, np.int64)
    valid = 0
    for k in range(m):
        place[order[k]] = k
        if bounds[k] == bounds[k]:
            valid += 1
    return members, place, bounds[order], valid


@inlined
def _begin_sums(code, sums):
    """Have nothing added up yet."""
    for k in range(code.width):
        numbers.set_zero(sums.later, k)
    for k in range(code.width_x):
        sums.later_x[k] = np.inf
    for k in range(code.chains * code.most):
        numbers.set_zero(sums.results, k)
    for k in range(code.chains * code.most_x):
        sums.results_x[k] = np.inf


@inlined
def _walk_back(events, code, window, m, low, high, sums, err):
    """Go through the steps of a window from its end; false where numbers have not fitted."""
    stop, next_member = high, m
    while stop > low:
        begin = stop - 1
        while begin > low and events.tied[begin] == 1:
            begin -= 1
        # Chains that begin at the events of this step, from what follows it
        last_member = next_member
        while next_member > 0 and window.members[next_member - 1] >= begin:
            if err[STOPPED] != 0:
                return False
            next_member -= 1
            _begin_chains(events, code, window, next_member, err)
        # Trends that begin with an X of this step: all chains that begin later
        if not numbers.is_zero(sums.later, 0):
            for i in range(begin, stop):
                for e in range(code.entry_p[events.letter[i]], code.entry_p[events.letter[i] + 1]):
                    _enter(events, code, sums, code.entry[e], i, err)
        for k in range(next_member, last_member):
            if err[STOPPED] != 0:
                return False
            _add_chains(code, window, k, sums, err)
        stop = begin
        if err[0] != 0 or not numbers.is_safe(sums.later, 0):
            err[0] = 1
            return False
    for c in range(code.chains):
        if code.is_alone[c]:
            _enter(events, code, sums, c, -1, err)
    return True


@inlined
def _begin_chains(events, code, window, k, err):
    """Find the chains that begin at member k: alone, or before a chain that may follow it."""
    i, own, own_x = window.members[k], k * code.width, k * code.width_x
    begun, begun_x = window.begun, window.begun_x
    for c in range(code.width):
        numbers.set_zero(begun, own + c)
    _add_followers(code, window, events.keys[i], own, own_x, err)
    numbers.set_scaled_one(window.tree, 0, code.scale)  # node 0 is no part of the tree
    numbers.add(begun, own, window.tree, 0, err)
    numbers.set_zero(window.tree, 0)
    for c in range(code.width - 1):
        if code.weights[c] >= 0:
            weight = events.weights[code.weights[c] * events.n + i]
            numbers.add_times(begun, own + 1 + c, begun, own, weight, err)
        else:
            numbers.add(begun, own + 1 + c, begun, own, err)
    for c in range(code.width_x):
        value = events.extremes[(code.extremes[c] >> 1) * events.n + i]
        if value == value:
            value = -value if code.extremes[c] & 1 else value
            begun_x[own_x + c] = min(begun_x[own_x + c], value)


@inlined
def _add_chains(code, window, k, sums, err):
    """Add the chains that begin at member k to those that begin later, and to the tree."""
    own, own_x = k * code.width, k * code.width_x
    begun, begun_x = window.begun, window.begun_x
    for c in range(code.width):
        numbers.add(sums.later, c, begun, own + c, err)
    for c in range(code.width_x):
        sums.later_x[c] = min(sums.later_x[c], begun_x[own_x + c])
    if window.place[k] >= window.valid:
        return
    node = window.place[k] + window.leaves
    while node > 0:
        for c in range(code.width):
            numbers.add(window.tree, node * code.width + c, begun, own + c, err)
        for c in range(code.width_x):
            cell = node * code.width_x + c
            window.tree_x[cell] = min(window.tree_x[cell], begun_x[own_x + c])
        node //= 2


@compiled
def _enter(events, code, sums, c, i, err):
    """Add to chain c all that begin later than its X, event i, or -1 for the window's start."""
    results, later = sums.results, sums.later
    first, table = c * code.most, c * (code.most - 1)
    numbers.add(results, first, later, 0, err)
    for k in range(code.most - 1):
        of_later = code.weight_of[table + k]
        if of_later >= 0:
            numbers.add(results, first + 1 + k, later, 1 + of_later, err)
        if i >= 0:
            weight = code.entry_weights[table + k]
            if weight >= 0:
                factor = events.weights[weight * events.n + i]
                numbers.add_times(results, first + 1 + k, later, 0, factor, err)
            elif weight == ONE:
                numbers.add(results, first + 1 + k, later, 0, err)
    for k in range(c * code.most_x, (c + 1) * code.most_x):
        of_later = code.extreme_of[k]
        if of_later >= 0:
            sums.results_x[k] = min(sums.results_x[k], sums.later_x[of_later])
        if i >= 0 and code.entry_extremes[k] >= 0:
            value = events.extremes[code.entry_extremes[k] * events.n + i] * code.signs[k]
            if value == value:
                sums.results_x[k] = min(sums.results_x[k], value)


@compiled
def _add_followers(code, window, key, own, own_x, err):
    """Add up the chains that begin at members which may follow one with a key f(previous)."""
    if key != key:
        return
    n = window.valid
    below = _position(window.ordered, n, key, False)
    upto = _position(window.ordered, n, key, True)
    # f op g, seen from g
    if code.operator == 0:
        first, last = upto, n
    elif code.operator == 1:
        first, last = below, n
    elif code.operator == 2:
        first, last = 0, below
    elif code.operator == 3:
        first, last = 0, upto
    elif code.operator == 4:
        first, last = below, upto
    else:
        first, last = 0, below
        _add_range(code, window, upto, n, own, own_x, err)
    _add_range(code, window, first, last, own, own_x, err)


@compiled
def _position(ordered, n, key, after):
    """How many of n ordered values are below a key, or up to it."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < key or (after and ordered[middle] == key):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _add_range(code, window, first, last, own, own_x, err):
    """Add up the leaves from first to last, exclusive."""
    left, right = first + window.leaves, last + window.leaves
    while left < right:
        if left & 1:
            _add_node(code, window, left, own, own_x, err)
            left += 1
        if right & 1:
            right -= 1
            _add_node(code, window, right, own, own_x, err)
        left //= 2
        right //= 2


@inlined
def _add_node(code, window, node, own, own_x, err):
    """Add a node of the tree to the chains that begin at a member."""
    for c in range(code.width):
        numbers.add(window.begun, own + c, window.tree, node * code.width + c, err)
    for c in range(code.width_x):
        least = window.tree_x[node * code.width_x + c]
        window.begun_x[own_x + c] = min(window.begun_x[own_x + c], least)


run = kept_on_disk(_run, digest("chain_kernel.py", "code.py"))
