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

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, kept_on_disk
from hamlet.kernel.kept_code import kept
from hamlet.kernel.numbers import raw_pointer
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.kernel.windowing import first_window, last_window, overlap
from hamlet.paper.systems.caching import digest
from hamlet.paper.systems.flatten import flattened
from hamlet.paper.systems.middles import (
    add_combined,
    add_exits,
    advance,
    note_entries,
    note_starts,
)
from hamlet.paper.systems.records import (
    ClosedWindows,
    add_all,
    alive,
    empty,
    extend,
    no_records,
    records_of,
    table_of,
    with_room,
    write,
)
from hamlet.paper.systems.sharon_plan import choose_middles, rates_of, starts_at_most
from hamlet.paper.systems.sharon_tables import Family, sequences_of

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


class _Places(NamedTuple):
    """Where records are: each window has as many as `width`, from its slot times that on.

    First come those of prefixes (0 is the empty one), then from `feeds`, `pending`, `totals` and
    `exits` on those of feeds, what a step adds to feeds, those of units, and those that exits of
    middles make. Behind all windows come starts of middles, and `record`, where one is made.
    """

    windows: int
    width: int
    feeds: int
    pending: int
    totals: int
    exits: int
    record: int
    size: int
    size_x: int


class _State(NamedTuple):
    """What is known of a partition beside its records.

    reached: The longest prefix with a match, by window; -1 where the window has not begun.
    starts, ring: Those of middles, see middles.py.
    is_hit: Whether a step has an event of some guards.
    """

    reached: Any
    starts: Any
    ring: Any
    is_hit: Any


@compiled
def _places(q):
    windows, feeds = overlap(q.within, q.slide), q.feed_unit.shape[0]
    first = q.parent.shape[0]
    totals = first + 2 * feeds
    exits = totals + q.units
    width = exits + q.middles.exits.shape[0]
    size, size_x = 1 + q.weights.shape[1], q.extremes.shape[1]
    record = windows * width + q.middles.records
    return _Places(windows, width, first, first + feeds, totals, exits, record, size, size_x)


@compiled
def _run(q, events, ranges, zero, err_array):
    """Every window of every partition: partition, unit, window; numbers; extremes; redo."""
    at = _places(q)
    v_array, x_array = records_of(zero, at.record + 2, at.size, at.size_x)
    v, x, err = numbers.pointer(v_array), raw_pointer(x_array), raw_pointer(err_array)
    state = _State(
        np.empty(at.windows, np.int64),
        np.zeros((q.middles.each.shape[0], 4), np.int64),
        np.empty((q.middles.ring, 2), np.int64),
        np.empty(q.hits.shape[0], np.bool_),
    )
    records, n = no_records(zero, at.size, at.size_x), 0
    redo, redone = np.empty(ranges.shape[0], np.int32), 0
    for r in range(ranges.shape[0]):
        err[0] = 0
        if err[STOPPED] != 0:
            break
        records, after = _run_partition(q, events, ranges[r], at, state, v, x, records, n, err)
        if err[0] == 0:
            n = after
        else:
            redo[redone] = ranges[r, 0]
            redone += 1
    alive(v_array, x_array, err_array)
    found_x = table_of(records.extremes, n, at.size_x)
    return records.keys[:n], records.numbers[: n * at.size], found_x, redo[:redone]


@compiled
def _run_partition(q, events, bounds, at, state, v, x, records, n, err):
    """Every window of one partition: the records, and how many there are then."""
    part, first, end = bounds[0], bounds[1], bounds[2]
    ts, within, slide = events.ts, q.within, q.slide
    state.reached[:] = -1
    state.starts[:] = 0
    low, i = first_window(ts[first], within, slide), first
    while i < end and err[0] == 0:
        until = first_window(ts[i], within, slide)
        if i > first:
            closed = min(until, last_window(ts[i - 1], slide) + 1)
            records, n = _close(q, part, low, closed, at, state, v, x, records, n, err)
        low, after = until, i
        while after < end and events.step[after] == events.step[i]:
            after += 1
        _do_step(q, events, i, after, low, at, state, v, x, err)
        i = after
    closed = last_window(ts[end - 1], slide) + 1
    return _close(q, part, low, closed, at, state, v, x, records, n, err)


@compiled
def _close(q, part, low, closed, at, state, v, x, records, n, err):
    """Write what the queries have found in windows that end."""
    m = q.middles
    for w in range(low, closed):
        slot = w % at.windows
        here = slot * at.width
        if state.reached[slot] < 0:
            continue
        state.reached[slot] = -1
        for f in range(q.feed_unit.shape[0]):
            if q.feed_unit[f] >= 0:
                to, source = here + at.totals + q.feed_unit[f], here + at.feeds + f
                add_all(v, to, source, at.size, x, at.size_x, err)
        for j in range(m.ends.shape[0]):
            to = here + at.totals + m.ends[j, 3]
            add_combined(
                m.each, state.starts, state.ring, m.ends[j], w, q.slide, at.windows, v, to, at.size,
                x, at.size_x, err,
            )  # fmt: skip
        records = with_room(records, n, q.units, at.size, at.size_x)
        for u in range(q.units):
            total = here + at.totals + u
            if not numbers.is_zero(v, total * at.size):
                write(records, n, part, u, w, v, total, at.size, x, at.size_x, q.signs, err)
                n += 1
    return records, n


@compiled
def _do_step(q, events, first, after, low, at, state, v, x, err):
    """What the events of one step add to each open window."""
    m, has_starts, high = q.middles, False, last_window(events.ts[first], q.slide)
    if m.each.shape[0] > 0:
        has_starts = note_starts(
            m.each, m.places, state.starts, state.ring, low * q.slide, events.letter, first, after
        )
    for w in range(low, high + 1):
        slot = w % at.windows
        here = slot * at.width
        if state.reached[slot] < 0:
            _begin(q, here, at, v, x)
            state.reached[slot] = 0
        if has_starts:
            note_entries(
                m.each, m.entries, state.starts, here, at.feeds, slot, v, at.size, x, at.size_x
            )
        if m.each.shape[0] > 0:
            add_exits(
                m, state.starts, state.ring, events.letter, first, after, w, q.slide, at.windows, v,
                here + at.exits, at.size, x, at.size_x, err,
            )  # fmt: skip
        _grow_prefixes(q, events, first, after, slot, at, state, v, x, err)
        if q.feed_unit.shape[0] > 0:
            _move_feeds(q, events, first, after, here, at, state, v, x, err)
    if m.each.shape[0] > 0:
        longest = advance(
            m.each, m.places, state.starts, state.ring, events.ts, events.letter, events.weights,
            events.extremes, q.signs, first, after, v, at.record, at.size, x, at.size_x, err,
        )  # fmt: skip
        for w in range(low, high + 1):
            slot = w % at.windows
            state.reached[slot] = max(state.reached[slot], longest)


@compiled
def _begin(q, here, at, v, x):
    """Begin a window with the empty prefix, also where a feed is to follow it."""
    for record in range(here, here + at.width):
        empty(v, record, at.size, x, at.size_x)
    numbers.set_one(v, here * at.size)
    for f in range(q.feed_source.shape[0]):
        if q.feed_source[f] == 0:
            numbers.set_one(v, (here + at.feeds + f) * at.size)


@compiled
def _grow_prefixes(q, events, first, after, slot, at, state, v, x, err):
    """Add to the prefixes of a window what the events of a step make of shorter ones.

    Longer prefixes first: what is read of a shorter one is from before this step.
    """
    here, deepest = slot * at.width, q.depth[q.depth.shape[0] - 1]
    for depth in range(min(state.reached[slot] + 1, deepest), 0, -1):
        for e in range(first, after):
            group = events.letter[e] * (deepest + 1) + depth
            for k in range(q.by_letter_p[group], q.by_letter_p[group + 1]):
                prefix = q.by_letter[k]
                feed = q.feed[prefix]
                source = here + (at.feeds + feed if feed >= 0 else q.parent[prefix])
                if numbers.is_zero(v, source * at.size):
                    continue
                extend(
                    v, at.record, source, at.size, x, at.size_x, q.weights, 0, q.extremes, 0,
                    prefix, events.weights, events.extremes, q.signs, e, err,
                )  # fmt: skip
                add_all(v, here + prefix, at.record, at.size, x, at.size_x, err)
                for j in range(q.end_p[prefix], q.end_p[prefix + 1]):
                    total = here + at.totals + q.end[j]
                    add_all(v, total, at.record, at.size, x, at.size_x, err)
                for j in range(q.feeding_p[prefix], q.feeding_p[prefix + 1]):
                    pending = here + at.pending + q.feeding[j]
                    add_all(v, pending, at.record, at.size, x, at.size_x, err)
                state.reached[slot] = max(state.reached[slot], depth)


@compiled
def _move_feeds(q, events, first, after, here, at, state, v, x, err):
    """Cancel feeds by the events of a step, then add to them what the step has found."""
    for g in range(state.is_hit.shape[0]):
        state.is_hit[g] = False
        for e in range(first, after):
            if q.hits[g, events.letter[e]]:
                state.is_hit[g] = True
    for f in range(q.feed_unit.shape[0]):
        feed, pending = here + at.feeds + f, here + at.pending + f
        if state.is_hit[q.feed_guards[f]]:
            empty(v, feed, at.size, x, at.size_x)
        add_all(v, feed, pending, at.size, x, at.size_x, err)
        empty(v, pending, at.size, x, at.size_x)


run = kept_on_disk(_run, digest("sharon.py", "middles.py", "records.py"))
