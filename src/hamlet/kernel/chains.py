"""Chains: E+ with one edge predicate between neighbours, computed once for all its queries.

For SEQ(X, E+) or E+ alone, what follows the first E of a trend does not depend on how the trend
came to it. So the numbers of chains that *begin* at each E are computed once, from the last event
of a window to the first, for every query with the same E, predicate and window; a query only adds
up, at each X of its own, the chains that begin later. Fifty queries cost hardly more than one.

With B(e) the number of chains beginning at e, B(e) = 1 + the sum of B over later events that may
follow e, which a tree over the order of g(next) gives in logarithmic time. Sums of weights and
extremes over chains obey the same recurrence. In the paper's words, B is the coefficient of each
event and an X its graphlet-level snapshot, worked out from the other end.

Cost: O(n log n) for each window of n events, O(1) more for each query and X. Numbers that outgrow
their kind are reported like the machine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from hamlet.kernel import numbers
from hamlet.kernel.arrays import longer, longer_numbers
from hamlet.kernel.inner import compiled
from hamlet.kernel.numbers import raw_pointer
from hamlet.kernel.sources import digest
from hamlet.kernel.stopping import STOPPED, stoppable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch


_SCALE = 2.0**-800


@dataclass(frozen=True, slots=True)
class Chain:
    """One unit of the shape SEQ(X, E+) or E+.

    `weights` and `entry_weights` have for each component after the first the weight that an event
    of E, or of X, adds (see code.NO_WEIGHT and code.ONE); `extremes` and `entry_extremes` the
    attribute of each extreme, -1 for none; `entry` is the atom of X, -1 where there is none.
    """

    template: int
    entry: int
    weights: tuple[int, ...]
    entry_weights: tuple[int, ...]
    extremes: tuple[int, ...]
    entry_extremes: tuple[int, ...]
    signs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChainGroup:
    """Chains with the same atom of E, predicate and window."""

    atom: int
    predicate: int
    operator: int
    within_us: int
    slide_us: int
    chains: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class ChainRecords:
    """Closed windows of one group: partition, chain, window, and what they add up to."""

    part: NDArray[np.int64]
    chain: NDArray[np.int64]
    window: NDArray[np.int64]
    components: NDArray[Any]
    extremes: NDArray[np.float64]
    redo: NDArray[np.int32]


def run_chains(
    group: ChainGroup,
    events: EventBatch,
    ranges: NDArray[np.int64],
    zero: NDArray[Any],
) -> ChainRecords:
    """All windows of all partitions; `zero` is an empty array of the kind of numbers to use."""
    weights, weight_of = _distinct([c.weights for c in group.chains], skip=-1)
    signed = [
        tuple(-1 if a < 0 else 2 * a + (s < 0) for a, s in zip(c.extremes, c.signs, strict=True))
        for c in group.chains
    ]
    extremes, extreme_of = _distinct(signed, skip=-1)
    most = 1 + max(len(c.weights) for c in group.chains)
    most_x = max(len(c.extremes) for c in group.chains)
    used = {w for c in group.chains for w in (*c.weights, *c.entry_weights) if w >= 0}
    scale = _scale(zero, events, used)
    records, v, x, redo = stoppable(
        _run_kept,
        events.ts,
        events.tied,
        events.letters[:, group.atom][events.letter],
        _entries(group, events),
        np.array([c.entry < 0 for c in group.chains], np.uint8),
        np.ascontiguousarray(events.previous[group.predicate]),
        np.ascontiguousarray(events.next[group.predicate]),
        group.operator,
        group.within_us,
        group.slide_us,
        np.ascontiguousarray(events.weights),
        np.ascontiguousarray(events.extremes),
        weights,
        weight_of,
        _table([c.entry_weights for c in group.chains], -1),
        extremes,
        extreme_of,
        _table([c.entry_extremes for c in group.chains], -1),
        _table([c.signs for c in group.chains], 1),
        ranges,
        zero,
        most,
        most_x,
        scale,
    )
    n = len(records) // 3
    records, x = records.reshape(n, 3), x.reshape(n, most_x)
    components = v.reshape((n, most, *v.shape[1:]))
    if scale != 1.0:
        components = _unscaled(components, scale)
    return ChainRecords(records[:, 0], records[:, 1], records[:, 2], components, x, redo)


def _scale(zero: NDArray[Any], events: EventBatch, used: set[int]) -> float:
    """What doubles are scaled by, so that the range below 1 serves for numbers of chains too.

    There are hundreds of bits below it still: weights that need them are not scaled.
    """
    if zero.ndim == 2 or zero.dtype != np.float64:
        return 1.0
    for weight in used:
        sizes = np.abs(events.weights[weight])
        if np.any((sizes > 0) & (sizes < 2.0**-100)):
            return 1.0
    return _SCALE


def _unscaled(scaled: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Scaled doubles as numbers with an exponent each: see numbers.py."""
    is_large = np.abs(scaled) >= 1.0
    mantissas = scaled * np.where(is_large, 2.0**-1024 / scale, 1.0 / scale)
    return np.stack([mantissas, np.where(is_large, 2.0, 0.0)], axis=-1)


def _entries(group: ChainGroup, events: EventBatch) -> tuple[NDArray[Any], ...]:
    """For each letter the chains that its events are an X of: pointers, numbers; and letters."""
    by_letter = [
        [i for i, c in enumerate(group.chains) if c.entry >= 0 and letter[c.entry] == 1]
        for letter in events.letters
    ]
    pointers = np.cumsum([0, *(len(each) for each in by_letter)], dtype=np.int64)
    flat = np.array([i for each in by_letter for i in each], dtype=np.int64)
    return pointers, flat, events.letter


def _distinct(
    rows: list[tuple[int, ...]], skip: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values of some rows, and for each row their positions (-1 for `skip`)."""
    values = list(dict.fromkeys(v for row in rows for v in row if v != skip))
    positions = [tuple(-1 if v == skip else values.index(v) for v in row) for row in rows]
    return np.array(values, dtype=np.int64), _table(positions, -1)


def _table(rows: list[tuple[int, ...]], filling: int) -> NDArray[np.int64]:
    width = max(len(row) for row in rows)
    table = np.full((len(rows), width), filling, np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


@compiled
def _run(
    ts,
    tied,
    is_event,
    entries,
    is_alone,
    keys,
    bounds,
    operator,
    within,
    slide,
    weights,
    attributes,
    summed,
    summed_of,
    entry_weights,
    least,
    least_of,
    entry_extremes,
    signs,
    ranges,
    zero,
    most,
    most_x,
    scale,
    err_array,
):
    """Every window of every partition of `ranges`."""
    chains = is_alone.shape[0]
    width, width_x = 1 + summed.shape[0], least.shape[0]
    err = raw_pointer(err_array)
    redo = np.empty(ranges.shape[0], np.int32)
    redone = 0
    capacity = 256
    records = np.empty(3 * capacity, np.int64)
    out_v = numbers.room(zero, capacity * most)
    out_x = np.empty(capacity * most_x)
    n = 0
    # Of one window: totals of all chains that begin later than the step at hand, and results
    totals, totals_x = numbers.room(zero, width), np.empty(width_x)
    sums, sums_x = numbers.room(zero, chains * most), np.empty((chains, most_x))
    for r in range(ranges.shape[0]):
        part, first, end = ranges[r, 0], ranges[r, 1], ranges[r, 2]
        begun = n
        err[0] = 0
        if err[STOPPED] != 0:
            break
        low, high = first, first
        if first == end:
            continue
        window = (ts[first] - within) // slide + 1
        last = ts[end - 1] // slide
        while window <= last and err[0] == 0:
            start = window * slide
            while low < end and ts[low] < start:
                low += 1
            high = max(high, low)
            while high < end and ts[high] < start + within:
                high += 1
            if low == high:
                # Nothing for a while: go to the first window that has the next event.
                if low == end:
                    break
                window = max(window + 1, (ts[low] - within) // slide + 1)
                continue
            if _window(
                tied,
                is_event,
                entries,
                is_alone,
                keys,
                bounds,
                operator,
                weights,
                attributes,
                summed,
                summed_of,
                entry_weights,
                least,
                least_of,
                entry_extremes,
                signs,
                low,
                high,
                totals,
                totals_x,
                sums,
                sums_x,
                most,
                scale,
                err,
            ):
                if n + chains > capacity:
                    capacity = 2 * (n + chains)
                    records = longer(records, 3 * n, 3 * capacity)
                    out_v = longer_numbers(out_v, n * most, capacity * most)
                    out_x = longer(out_x, n * most_x, capacity * most_x)
                sums_p, out_p = numbers.pointer(sums), numbers.pointer(out_v)
                for c in range(chains):
                    if numbers.is_zero(sums_p, c * most):
                        continue
                    for k in range(most):
                        numbers.copy(out_p, n * most + k, sums_p, c * most + k)
                        if not numbers.is_safe(sums_p, c * most + k):
                            err[0] = 1
                    for k in range(most_x):
                        out_x[n * most_x + k] = sums_x[c, k] * signs[c, k]
                    records[3 * n], records[3 * n + 1], records[3 * n + 2] = part, c, window
                    n += 1
            window += 1
        if err[0] != 0:
            n = begun
            redo[redone] = part
            redone += 1
    return records[: 3 * n], out_v[: n * most], out_x[: n * most_x], redo[:redone]


@compiled
def _window(
    tied,
    is_event,
    entries,
    is_alone,
    keys,
    bounds,
    operator,
    weights,
    attributes,
    summed,
    summed_of,
    entry_weights,
    least,
    least_of,
    entry_extremes,
    signs,
    low,
    high,
    totals_array,
    totals_x,
    sums_array,
    sums_x,
    most,
    scale,
    err,
):
    """One window, from its last event to its first; whether any chain can have a trend in it."""
    width, width_x = 1 + summed.shape[0], least.shape[0]
    chains, most_x = is_alone.shape[0], sums_x.shape[1]
    pointers, entered, letter = entries
    m = 0
    for i in range(low, high):
        m += is_event[i]
    if m == 0:
        return False
    events = np.empty(m, np.int64)
    order_of = np.empty(m, np.float64)
    m = 0
    for i in range(low, high):
        if is_event[i]:
            events[m] = i
            # Null never follows anything: it stands behind all others, where no search comes.
            order_of[m] = bounds[i]
            m += 1
    order = np.argsort(order_of, kind="mergesort")  # NaN last
    place = np.empty(m, np.int64)
    valid = 0
    for k in range(m):
        place[order[k]] = k
        if order_of[order[k]] == order_of[order[k]]:
            valid += 1
    ordered_array = order_of[order]
    ordered = raw_pointer(ordered_array)
    leaves = 1
    while leaves < m:
        leaves *= 2
    tree_array = numbers.room(totals_array, 2 * leaves * width)
    tree_x_array = np.full(2 * leaves * width_x, np.inf)
    found_array = numbers.room(totals_array, m * width)
    found_x_array = np.full(m * width_x, np.inf)
    tree_x, found_x = raw_pointer(tree_x_array), raw_pointer(found_x_array)
    tree, found = numbers.pointer(tree_array), numbers.pointer(found_array)
    totals, sums = numbers.pointer(totals_array), numbers.pointer(sums_array)
    for k in range(2 * leaves * width):
        numbers.set_zero(tree, k)
    for k in range(width):
        numbers.set_zero(totals, k)
    totals_x[:] = np.inf
    for k in range(chains * most):
        numbers.set_zero(sums, k)
    sums_x[:] = np.inf
    stop = high
    next_event = m
    while stop > low:
        begin = stop - 1
        while begin > low and tied[begin] == 1:
            begin -= 1
        # Chains that begin at the events of this step, from what follows it
        last_event = next_event
        while next_event > 0 and events[next_event - 1] >= begin:
            if err[STOPPED] != 0:
                return False
            next_event -= 1
            i = events[next_event]
            d = next_event * width
            for k in range(width):
                numbers.set_zero(found, d + k)
            _followers(
                ordered,
                valid,
                keys[i],
                operator,
                leaves,
                tree,
                tree_x,
                found,
                found_x,
                d,
                next_event * width_x,
                width,
                width_x,
                err,
            )
            numbers.set_scaled_one(tree, 0, scale)  # node 0 is no part of the tree
            numbers.add(found, d, tree, 0, err)
            numbers.set_zero(tree, 0)
            for k in range(summed.shape[0]):
                if summed[k] >= 0:
                    numbers.add_times(found, d + 1 + k, found, d, weights[summed[k], i], err)
                else:
                    numbers.add(found, d + 1 + k, found, d, err)
            for k in range(width_x):
                value = attributes[least[k] >> 1, i]
                if value == value:
                    value = -value if least[k] & 1 else value
                    at = next_event * width_x + k
                    found_x[at] = min(found_x[at], value)
        # Trends that begin with an X of this step: all chains that begin later
        for i in range(begin, stop):
            for e in range(pointers[letter[i]], pointers[letter[i] + 1]):
                c = entered[e]
                if not numbers.is_zero(totals, 0):
                    _enter(
                        c,
                        i,
                        weights,
                        attributes,
                        summed_of,
                        entry_weights,
                        least_of,
                        entry_extremes,
                        signs,
                        totals,
                        totals_x,
                        sums,
                        sums_x,
                        most,
                        most_x,
                        err,
                    )
        for k in range(next_event, last_event):
            if err[STOPPED] != 0:
                return False
            for c in range(width):
                numbers.add(totals, c, found, k * width + c, err)
            for c in range(width_x):
                totals_x[c] = min(totals_x[c], found_x[k * width_x + c])
            if order_of[k] == order_of[k]:
                node = place[k] + leaves
                while node > 0:
                    for c in range(width):
                        numbers.add(tree, node * width + c, found, k * width + c, err)
                    for c in range(width_x):
                        at = node * width_x + c
                        tree_x[at] = min(tree_x[at], found_x[k * width_x + c])
                    node //= 2
        stop = begin
        if err[0] != 0 or not numbers.is_safe(totals, 0):
            err[0] = 1
            return False
    for c in range(chains):
        if is_alone[c]:
            _enter(
                c,
                -1,
                weights,
                attributes,
                summed_of,
                entry_weights,
                least_of,
                entry_extremes,
                signs,
                totals,
                totals_x,
                sums,
                sums_x,
                most,
                most_x,
                err,
            )
    # Pointers do not keep their arrays alive: a look at each at the end does.
    kept = ordered_array.size + tree_x_array.size + found_x_array.size
    return kept + tree_array.size + found_array.size > 0


@compiled
def _enter(
    c,
    i,
    weights,
    attributes,
    summed_of,
    entry_weights,
    least_of,
    entry_extremes,
    signs,
    totals,
    totals_x,
    sums,
    sums_x,
    most,
    most_x,
    err,
):
    """Add to a query all chains that begin later than its X (i, or -1 for the window's start)."""
    numbers.add(sums, c * most, totals, 0, err)
    for k in range(most - 1):
        at = summed_of[c, k]
        if at >= 0:
            numbers.add(sums, c * most + 1 + k, totals, 1 + at, err)
        if i >= 0:
            weight = entry_weights[c, k]
            if weight >= 0:
                numbers.add_times(sums, c * most + 1 + k, totals, 0, weights[weight, i], err)
            elif weight == -2:
                numbers.add(sums, c * most + 1 + k, totals, 0, err)
    for k in range(most_x):
        at = least_of[c, k]
        if at >= 0:
            sums_x[c, k] = min(sums_x[c, k], totals_x[at])
        if i >= 0 and entry_extremes[c, k] >= 0:
            value = attributes[entry_extremes[c, k], i] * signs[c, k]
            if value == value:
                sums_x[c, k] = min(sums_x[c, k], value)


@compiled
def _followers(
    ordered, n, key, operator, leaves, tree, tree_x, found, found_x, d, dx, width, width_x, err
):
    """Add up the chains that begin at events which may follow one with a key f(previous)."""
    if key != key:
        return
    below, upto = _position(ordered, n, key, False), _position(ordered, n, key, True)
    # f op g, seen from g
    if operator == 0:
        first, last = upto, n
    elif operator == 1:
        first, last = below, n
    elif operator == 2:
        first, last = 0, below
    elif operator == 3:
        first, last = 0, upto
    elif operator == 4:
        first, last = below, upto
    else:
        first, last = 0, below
        _add_range(tree, tree_x, leaves, upto, n, found, found_x, d, dx, width, width_x, err)
    _add_range(tree, tree_x, leaves, first, last, found, found_x, d, dx, width, width_x, err)


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
def _add_range(tree, tree_x, leaves, first, last, found, found_x, d, dx, width, width_x, err):
    left, right = first + leaves, last + leaves
    while left < right:
        if left & 1:
            for k in range(width):
                numbers.add(found, d + k, tree, left * width + k, err)
            for k in range(width_x):
                found_x[dx + k] = min(found_x[dx + k], tree_x[left * width_x + k])
            left += 1
        if right & 1:
            right -= 1
            for k in range(width):
                numbers.add(found, d + k, tree, right * width + k, err)
            for k in range(width_x):
                found_x[dx + k] = min(found_x[dx + k], tree_x[right * width_x + k])
        left //= 2
        right //= 2


def _kept_on_disk(sources):
    """The one function that is cached, under a key that changes with any of the sources."""

    @njit(cache=True, nogil=True)
    def run(*arguments):
        _ = sources
        return _run(*arguments)

    return run


_run_kept = _kept_on_disk(digest("chains.py"))
