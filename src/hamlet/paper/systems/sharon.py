"""SHARON: sequences of fixed lengths, aggregated online, with common parts computed once.

A count is kept for each prefix of each sequence, and an event adds the count of the prefix before
to that of the prefix that it ends: no match is built. There is no Kleene closure, so E+ is
flattened, as in the paper: to E, (E, E), (E, E, E) and so on, up to the length of the longest match
that the events allow. Sequences of one query or of several that begin alike have those prefixes in
common. Parts in the middle of sequences that begin differently are shared as well, with counts for
each event that begins such a part (`middles.py`), where a model of the cost says that it pays
(`sharon_plan.py`): where there are many more queries than such events in a window. (O. Poppe and
others, "SHARON: Shared Online Event Sequence Aggregation", 2018.)

Name here        in that paper
prefix           a prefix pattern with its aggregate
middle           a pattern that is shared, start: its START event
flattened        a Kleene query as a workload of sequence queries
feed             the part of a count that a negated event has not cancelled

Not shared in the middle: a part with a NOT in it, or right before it ends, and two parts of a
sequence with no event between them. Only queries that the engine has in one sharable set share.

Cost: O(length of the longest match) for each event, query and window, in time and in memory; for
what is shared O(starts in the window) instead of O(queries).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.growth import longer_numbers
from hamlet.kernel.jit import compiled, kept_on_disk
from hamlet.kernel.kept_code import kept
from hamlet.kernel.numbers import raw_pointer
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.kernel.windowing import first_window, last_window, overlap
from hamlet.paper.systems.caching import digest
from hamlet.paper.systems.flatten import flattened
from hamlet.paper.systems.middles import (
    add_all,
    add_combined,
    add_exits,
    advance,
    empty,
    note_entries,
    note_starts,
)
from hamlet.paper.systems.records import ClosedWindows, alive, longer
from hamlet.paper.systems.sharon_plan import choose_middles, rates_of, starts_at_most
from hamlet.paper.systems.sharon_tables import Family, sequences_of
from hamlet.paper.systems.tables import ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.paper.systems.tables import SystemEvents, Tables, Unit


def families_of(tables: Tables, events: SystemEvents, ranges: NDArray[np.int64]) -> list[Family]:
    """The sequences of all queries of a set, those with the same windows and aggregates together.

    Raises:
        SystemCannot: A query has an edge predicate, or a NOT of several events.
        SystemLimit: There are too many sequences.
    """
    groups: dict[tuple[Any, ...], list[Unit]] = {}
    for unit in tables.units:
        graph = unit.graph
        key = (graph.within, graph.slide, graph.weights.shape[1], graph.signs.tobytes())
        groups.setdefault(key, []).append(unit)
    return [_family_of(tables, units, events, ranges) for units in groups.values()]


def _family_of(
    tables: Tables, units: list[Unit], events: SystemEvents, ranges: NDArray[np.int64]
) -> Family:
    """The sequences of units with the same windows and aggregates, and what they share."""
    graph = units[0].graph
    tree = flattened(tables, units, steps_at_most(graph, events, ranges))
    middles = choose_middles(tree, rates_of(graph, events, ranges)) if len(ranges) else []
    sequences = sequences_of(
        tree,
        middles,
        graph,
        len(units),
        lambda takes: starts_at_most(takes, graph.within, events, ranges),
    )
    return Family(np.array([unit.template for unit in units], np.int32), sequences)


def run_sharon(
    families: list[Family], events: SystemEvents, ranges: NDArray[np.int64], zero: NDArray[Any]
) -> list[ClosedWindows]:
    """All windows of all families; the arguments are those of `run_greta`."""
    return [
        ClosedWindows(
            family.templates,
            1 + family.sequences.weights.shape[1],
            *stoppable(run, family.sequences, events, ranges, zero),
        )
        for family in families
    ]


@kept
def _steps_at_most(within, slide, ts, step, letter, letters, ranges, most, stop):
    """Find for each atom the most different times of its events in one window, and for all."""
    atoms = letters.shape[1]
    now = np.empty(atoms + 1, np.int64)
    before = np.empty(atoms + 1, np.int64)
    for r in range(ranges.shape[0]):
        first, end = ranges[r, 1], ranges[r, 2]
        low = first
        window = first_window(ts[first], within, slide)
        while low < end and stop[STOPPED] == 0:
            while low < end and ts[low] < window * slide:
                low += 1
            if low == end:
                break
            window = max(window, first_window(ts[low], within, slide))
            now[:], before[:] = 0, -1
            i = low
            while i < end and ts[i] < window * slide + within:
                for a in range(atoms + 1):
                    if (a == atoms or letters[letter[i], a]) and before[a] != step[i]:
                        now[a] += 1
                        before[a] = step[i]
                i += 1
            for a in range(atoms + 1):
                most[a] = max(most[a], now[a])
            window += 1


def steps_at_most(graph: Any, events: SystemEvents, ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each atom the length of the longest match that windows of a graph have events for.

    The last entry is for all atoms together.
    """
    most = np.zeros(events.letters.shape[1] + 1, np.int64)
    stoppable(
        _steps_at_most,
        graph.within,
        graph.slide,
        events.ts,
        events.step,
        events.letter,
        events.letters,
        ranges,
        most,
    )
    return most


@compiled
def _run(q, events, ranges, zero, err_array):
    """Every window of every partition: partition, unit, window; numbers; extremes; redo."""
    ts, slide, within = events.ts, q.slide, q.within
    windows = overlap(within, slide)
    nc, nx = 1 + q.weights.shape[1], q.extremes.shape[1]
    prefixes, feeds, units = q.parent.shape[0], q.feed_unit.shape[0], q.units
    deepest = q.depth[prefixes - 1]
    # Of each window: prefixes (0 is the empty one), feeds, what is added to feeds, units, exits
    pending, totals = prefixes + feeds, prefixes + 2 * feeds
    width = totals + units + q.middles.exits.shape[0]
    m, has_middles = q.middles, q.middles.each.shape[0] > 0
    # Behind them starts of middles, and where records are put together
    record = windows * width + m.records
    v_array = numbers.room(zero, (record + 2) * nc)
    x = np.empty((record + 2) * nx)
    v = numbers.pointer(v_array)
    reached = np.empty(windows, np.int64)  # the longest prefix with a match, -1: window not begun
    state, ring = np.zeros((m.each.shape[0], 4), np.int64), np.empty((m.ring, 2), np.int64)
    is_hit = np.empty(q.hits.shape[0], np.bool_)
    err = raw_pointer(err_array)
    capacity, n = 256, 0
    records, out_x = np.empty((capacity, 3), np.int64), np.empty(capacity * nx)
    out_v = numbers.room(zero, capacity * nc)
    redo, redone = np.empty(ranges.shape[0], np.int32), 0
    for r in range(ranges.shape[0]):
        part, first, end, begun = ranges[r, 0], ranges[r, 1], ranges[r, 2], n
        err[0] = 0
        if err[STOPPED] != 0:
            break
        reached[:] = -1
        state[:] = 0
        low = first_window(ts[first], within, slide)
        i = first
        while i <= end and err[0] == 0:
            if i < end:
                until = first_window(ts[i], within, slide)
            else:
                until = last_window(ts[end - 1], slide) + 1
            if i > first:
                for w in range(low, min(until, last_window(ts[i - 1], slide) + 1)):
                    slot = w % windows
                    here = slot * width
                    if reached[slot] < 0:
                        continue
                    reached[slot] = -1
                    for f in range(feeds):
                        if q.feed_unit[f] >= 0:
                            add_all(
                                v,
                                here + totals + q.feed_unit[f],
                                here + prefixes + f,
                                nc,
                                x,
                                nx,
                                err,
                            )
                    for j in range(m.ends.shape[0]):
                        to = here + totals + m.ends[j, 3]
                        add_combined(
                            m.each, state, ring, m.ends[j], w, slide, windows, v, to, nc, x, nx, err
                        )
                    if n + units > capacity:
                        capacity = 2 * (n + units)
                        records = longer(records, capacity)
                        out_x = longer(out_x, capacity * nx)
                        out_v = longer_numbers(out_v, n * nc, capacity * nc)
                    out = numbers.pointer(out_v)
                    for u in range(units):
                        at = here + totals + u
                        if numbers.is_zero(v, at * nc):
                            continue
                        records[n, 0], records[n, 1], records[n, 2] = part, u, w
                        for c in range(nc):
                            numbers.copy(out, n * nc + c, v, at * nc + c)
                            if not numbers.is_safe(v, at * nc + c):
                                err[0] = 1
                        for k in range(nx):
                            out_x[n * nx + k] = x[at * nx + k] * q.signs[k]
                        n += 1
            if i == end:
                break
            low = until
            after = i
            while after < end and events.step[after] == events.step[i]:
                after += 1
            has_starts = False
            if has_middles:
                has_starts = note_starts(
                    m.each, m.places, state, ring, low * slide, events.letter, i, after
                )
            for w in range(low, last_window(ts[i], slide) + 1):
                slot = w % windows
                here = slot * width
                if reached[slot] < 0:
                    # A window begins with the empty prefix, also where a feed is to follow it.
                    for at in range(here, here + width):
                        empty(v, at, nc, x, nx)
                    numbers.set_one(v, here * nc)
                    for f in range(feeds):
                        if q.feed_source[f] == 0:
                            numbers.set_one(v, (here + prefixes + f) * nc)
                    reached[slot] = 0
                if has_starts:
                    note_entries(m.each, m.entries, state, here, prefixes, slot, v, nc, x, nx)
                if has_middles:
                    add_exits(
                        m, state, ring, events.letter, i, after, w, slide, windows, v,
                        here + totals + units, nc, x, nx, err,
                    )  # fmt: skip
                # Longer prefixes first: what is read of a shorter one is from before this step.
                for depth in range(min(reached[slot] + 1, deepest), 0, -1):
                    for e in range(i, after):
                        group = events.letter[e] * (deepest + 1) + depth
                        for k in range(q.by_letter_p[group], q.by_letter_p[group + 1]):
                            prefix = q.by_letter[k]
                            feed = q.feed[prefix]
                            source = here + (prefixes + feed if feed >= 0 else q.parent[prefix])
                            if numbers.is_zero(v, source * nc):
                                continue
                            # As in `extend`, but arrays would be counted in and out of it.
                            numbers.copy(v, record * nc, v, source * nc)
                            for c in range(1, nc):
                                numbers.copy(v, record * nc + c, v, source * nc + c)
                                weight = q.weights[prefix, c - 1]
                                if weight >= 0:
                                    numbers.add_times(
                                        v,
                                        record * nc + c,
                                        v,
                                        source * nc,
                                        events.weights[weight, e],
                                        err,
                                    )
                                elif weight == ONE:
                                    numbers.add(v, record * nc + c, v, source * nc, err)
                            for k2 in range(nx):
                                best = x[source * nx + k2]
                                attribute = q.extremes[prefix, k2]
                                if attribute >= 0:
                                    own = events.extremes[attribute, e]
                                    if own == own:
                                        best = min(best, own * q.signs[k2])
                                x[record * nx + k2] = best
                            add_all(v, here + prefix, record, nc, x, nx, err)
                            for j in range(q.end_p[prefix], q.end_p[prefix + 1]):
                                add_all(v, here + totals + q.end[j], record, nc, x, nx, err)
                            for j in range(q.feeding_p[prefix], q.feeding_p[prefix + 1]):
                                add_all(v, here + pending + q.feeding[j], record, nc, x, nx, err)
                            reached[slot] = max(reached[slot], depth)
                if feeds > 0:
                    for g in range(is_hit.shape[0]):
                        is_hit[g] = False
                        for e in range(i, after):
                            if q.hits[g, events.letter[e]]:
                                is_hit[g] = True
                    for f in range(feeds):
                        if is_hit[q.feed_guards[f]]:
                            empty(v, here + prefixes + f, nc, x, nx)
                        add_all(v, here + prefixes + f, here + pending + f, nc, x, nx, err)
                        empty(v, here + pending + f, nc, x, nx)
            if has_middles:
                longest = advance(
                    m.each, m.places, state, ring, ts, events.letter, events.weights,
                    events.extremes, q.signs, i, after, v, record, nc, x, nx, err,
                )  # fmt: skip
                for w in range(low, last_window(ts[i], slide) + 1):
                    reached[w % windows] = max(reached[w % windows], longest)
            i = after
        if err[0] != 0:
            n = begun
            redo[redone] = part
            redone += 1
    alive(v_array, v_array, v_array, err_array)
    return records[:n], out_v[: n * nc], out_x[: n * nx].copy().reshape((n, nx)), redo[:redone]


run = kept_on_disk(_run, digest("sharon.py", "middles.py", "records.py"))
