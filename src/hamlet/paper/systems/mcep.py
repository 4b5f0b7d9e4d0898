"""MCEP: all trends are constructed, shared between queries, and aggregated afterwards.

The matches of each Kleene part E+ of a window are built once, for every query that has it under the
same conditions, and held. A query then joins its other events to them: each trend is put together,
one by one, and walked through to be aggregated. That takes as many steps as there are trends, and
holds as many matches of E+ as there are: both double with every event. A window is done when it
closes; one that overlaps another is done anew. (I. Kolchinsky and A. Schuster, "Real-Time
Multi-Pattern Detection over Event Streams", 2019, for construction; aggregation is as in the
paper.)

Name here        in that paper
chain            a match of a sub-pattern that several patterns have
kind             the sub-pattern

Cost: O(trends x their length) time and O(matches of Kleene parts) memory, for each window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.errors import SystemLimit
from hamlet.kernel import numbers
from hamlet.kernel.compile.parts import RaggedLists
from hamlet.kernel.jit import compiled, inlined, kept_on_disk
from hamlet.kernel.numbers import raw_pointer
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.kernel.windowing import first_window
from hamlet.paper.systems.caching import digest
from hamlet.paper.systems.conditions import NO_EVENT, is_open, looked_at
from hamlet.paper.systems.records import (
    ClosedWindows,
    alive,
    empty,
    longer,
    no_records,
    records_of,
    table_of,
    with_room,
    write,
)
from hamlet.paper.systems.tables import NO_EDGE, ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.paper.systems.tables import SystemEvents, Tables, Unit

SYSTEM = "mcep"
# Matches of Kleene parts held at once (16 bytes each), and trends put together in one window.
MOST_HELD = 1 << 24
MOST_TRENDS = 20_000_000_000


class Joins(NamedTuple):
    """The templates of some units with the same window; states are numbered through all of them.

    kind: The Kleene part that a state takes a match of, -1 where it takes one event.
    kind_rule: The condition between two events of a Kleene part.
    letters: [states, letters] and kind_letters: whether an event of a letter is one of theirs.
    out_p, out_state, out_rule: The edges from START of each unit, then from each state, other than
        to itself.
    """

    within: int
    slide: int
    unit_p: Any
    kind: Any
    kind_rule: Any
    letters: Any
    kind_letters: Any
    out_p: Any
    out_state: Any
    out_rule: Any
    end_rule: Any
    weights: Any
    extremes: Any
    signs: Any


@dataclass(frozen=True, slots=True)
class Family:
    """Units with the same windows and numbers of aggregates."""

    templates: NDArray[np.int32]
    joins: Joins


def families_of(tables: Tables) -> list[Family]:
    """The units of a set, those together that can share matches."""
    groups: dict[tuple[Any, ...], list[Unit]] = {}
    for unit in tables.units:
        graph = unit.graph
        shape = (graph.weights.shape[1], graph.signs.tobytes())
        groups.setdefault((graph.within, graph.slide, *shape), []).append(unit)
    return [_family(tables, units) for units in groups.values()]


def _family(tables: Tables, units: list[Unit]) -> Family:
    kinds: dict[tuple[int, int], int] = {}
    first = np.cumsum([0, *(len(unit.atoms) for unit in units)])
    kind: list[int] = []
    starts = RaggedLists([[] for _ in units])
    edges = RaggedLists([[] for _ in range(int(first[-1]))])
    for number, unit in enumerate(units):
        graph = unit.graph
        for state, atom in enumerate(unit.atoms):
            loops = []
            for e in range(graph.in_p[state], graph.in_p[state + 1]):
                source, rule = int(graph.in_source[e]), int(graph.in_rule[e])
                entry = (int(first[number]) + state, rule)
                if source == state:
                    loops.append((entry, rule))
                elif source < 0:
                    starts.lists[number].append(entry)
                else:
                    edges.lists[int(first[number]) + source].append(entry)
            if len(loops) == 1:
                kind.append(kinds.setdefault((atom, loops[0][1]), len(kinds)))
            else:
                # Several ways from a state to itself: its events are joined one by one.
                kind.append(-1)
                edges.lists[int(first[number]) + state] += [entry for entry, _ in loops]
    letters = tables.encoded.batch.letters
    atoms = [atom for unit in units for atom in unit.atoms]
    out = RaggedLists([*starts.lists, *edges.lists])
    joins = Joins(
        units[0].graph.within,
        units[0].graph.slide,
        first.astype(np.int64),
        np.array(kind, np.int64),
        np.array([rule for _, rule in kinds], np.int64),
        np.ascontiguousarray(letters[:, atoms].T),
        np.ascontiguousarray(letters[:, [atom for atom, _ in kinds]].T),
        out.pointers(),
        out.flat(0),
        out.flat(1),
        np.concatenate([unit.graph.end_rule for unit in units]),
        np.concatenate([unit.graph.weights for unit in units]),
        np.concatenate([unit.graph.extremes for unit in units]),
        units[0].graph.signs,
    )
    return Family(np.array([unit.template for unit in units], np.int32), joins)


def run_mcep(
    families: list[Family],
    tables: Tables,
    events: SystemEvents,
    ranges: NDArray[np.int64],
    zero: NDArray[Any],
) -> list[ClosedWindows]:
    """All windows of all families; the arguments are those of `run_greta`.

    Raises:
        SystemLimit: There are too many trends.
    """
    closed = []
    for family in families:
        *parts, passed = stoppable(
            run, family.joins, tables.rules, events, ranges, zero, MOST_HELD, MOST_TRENDS
        )
        if passed == _HELD:
            reason = f"a window has more than {MOST_HELD:,} matches of Kleene patterns to hold"
            raise SystemLimit(SYSTEM, reason)
        if passed == _TRENDS:
            raise SystemLimit(SYSTEM, f"a window has more than {MOST_TRENDS:,} trends")
        closed.append(ClosedWindows(family.templates, 1 + family.joins.weights.shape[1], *parts))
    return closed


class _Window(NamedTuple):
    """The events of a window, by their numbers, in room for those of any.

    of_state, n_state: Those that each state takes, and how many these are.
    of_kind, n_kind: Those of each Kleene part.
    chains_p: Where the chains are that begin with each of these.
    """

    of_state: Any
    n_state: Any
    of_kind: Any
    n_kind: Any
    chains_p: Any


class _Chains(NamedTuple):
    """Matches of Kleene parts; room for them grows.

    last: The last event, by its place among those of its kind.
    before: The chain that it was joined to, -1 where it is the only event.
    """

    last: Any
    before: Any


class _Trend(NamedTuple):
    """A trend while it is put together, level by level.

    edge, state: The edge to this level, and the state that it leads to.
    place, held: Which event of that state it takes, and which chain that begins with it, if any.
    last: The last event of both.
    """

    edge: Any
    state: Any
    place: Any
    held: Any
    last: Any


# Which limit is passed
_NONE, _HELD, _TRENDS = range(3)


@compiled
def _run(q, rules, events, ranges, zero, most_held, most_trends, err_array):
    """Every window of every partition, and which limit was passed."""
    size, size_x = 1 + q.weights.shape[1], q.extremes.shape[1]
    # What a window has found, and a record of one trend
    v_array, x_array = records_of(zero, 2, size, size_x)
    v, x, err = numbers.pointer(v_array), raw_pointer(x_array), raw_pointer(err_array)
    numbers.set_one(v, size)
    most = _most_in_window(q, events, ranges)
    window, trend = _no_events(q, most), _no_trend(most + 1)
    chains = _Chains(np.empty(1024, np.int64), np.empty(1024, np.int64))
    records, n, passed = no_records(zero, size, size_x), 0, _NONE
    redo, redone = np.empty(ranges.shape[0], np.int32), 0
    for r in range(ranges.shape[0]):
        err[0] = 0
        if err[STOPPED] != 0 or passed != _NONE:
            break
        records, after, chains, passed = _run_partition(
            q, rules, events, ranges[r], window, chains, trend, most_held, most_trends, v, x, size,
            size_x, records, n, err,
        )  # fmt: skip
        if err[0] == 0:
            n = after
        else:
            redo[redone] = ranges[r, 0]
            redone += 1
    alive(v_array, x_array, err_array)
    found_x = table_of(records.extremes, n, size_x)
    return records.keys[:n], records.numbers[: n * size], found_x, redo[:redone], passed


@compiled
def _most_in_window(q, events, ranges):
    """The most events of any window."""
    most = 1
    for r in range(ranges.shape[0]):
        high = ranges[r, 1]
        for low in range(ranges[r, 1], ranges[r, 2]):
            while high < ranges[r, 2] and events.ts[high] < events.ts[low] + q.within:
                high += 1
            most = max(most, high - low)
    return most


@compiled
def _no_events(q, most):
    states, kinds = q.kind.shape[0], q.kind_rule.shape[0]
    return _Window(
        np.empty((states, most), np.int64),
        np.empty(states, np.int64),
        np.empty((kinds, most), np.int64),
        np.empty(kinds, np.int64),
        np.empty((kinds, most + 1), np.int64),
    )


@compiled
def _no_trend(levels):
    return _Trend(
        np.empty(levels, np.int64),
        np.empty(levels, np.int64),
        np.empty(levels, np.int64),
        np.empty(levels, np.int64),
        np.empty(levels, np.int64),
    )


@compiled
def _run_partition(
    q, rules, events, bounds, window, chains, trend, most_held, most_trends, v, x, size, size_x,
    records, n, err,
):  # fmt: skip
    """Every window of one partition: the records, how many, the chains, and the limit passed."""
    ts, low, end, passed = events.ts, bounds[1], bounds[2], _NONE
    w = first_window(ts[low], q.within, q.slide)
    while err[0] == 0 and passed == _NONE:
        start = w * q.slide
        while low < end and ts[low] < start:
            low += 1
        if low == end:
            break
        if ts[low] >= start + q.within:
            w = first_window(ts[low], q.within, q.slide)
            continue
        high = low
        while high < end and ts[high] < start + q.within:
            high += 1
        _take_events(q, events, low, high, window)
        chains, passed = _build_chains(q, rules, events, start, window, chains, most_held, err)
        moment = high if high < end else bounds[3]
        for u in range(q.unit_p.shape[0] - 1):
            if passed != _NONE:
                break
            trends = _join(
                q, rules, events, u, start, moment, window, chains, trend, most_trends, v, x, size,
                size_x, err,
            )  # fmt: skip
            if trends > most_trends:
                passed = _TRENDS
            elif trends > 0:
                records = with_room(records, n, 1, size, size_x)
                write(records, n, bounds[0], u, w, v, 0, size, x, size_x, q.signs, err)
                n += 1
        w += 1
    return records, n, chains, passed


@compiled
def _take_events(q, events, low, high, window):
    """Find the events of a window that each state and each Kleene part takes."""
    window.n_state[:], window.n_kind[:] = 0, 0
    for i in range(low, high):
        for s in range(q.kind.shape[0]):
            if q.letters[s, events.letter[i]]:
                window.of_state[s, window.n_state[s]] = i
                window.n_state[s] += 1
        for k in range(q.kind_rule.shape[0]):
            if q.kind_letters[k, events.letter[i]]:
                window.of_kind[k, window.n_kind[k]] = i
                window.n_kind[k] += 1


@compiled
def _build_chains(q, rules, events, start, window, chains, most_held, err):
    """All matches of Kleene parts, those that begin with one event together; the limit passed."""
    n = 0
    for k in range(q.kind_rule.shape[0]):
        for p in range(window.n_kind[k]):
            window.chains_p[k, p] = n
            chains, n = _build_from(
                q, rules, events, k, p, start, window, chains, n, most_held, err
            )
            if n > most_held:
                return chains, _HELD
        window.chains_p[k, window.n_kind[k]] = n
    return chains, _NONE


@compiled
def _build_from(q, rules, events, k, p, start, window, chains, n, most_held, err):
    """The matches of a Kleene part that begin with one event, after n others; or one too many."""
    rule, c = q.kind_rule[k], n
    if n == most_held:
        return chains, n + 1
    chains = _with_room(chains, n)
    chains.last[n], chains.before[n] = p, -1
    n += 1
    while c < n and err[0] == 0:
        j = window.of_kind[k, chains.last[c]]
        for p2 in range(chains.last[c] + 1, window.n_kind[k]):
            i = window.of_kind[k, p2]
            if events.step[i] > events.step[j] and is_open(rules, events, rule, j, i, i, start):
                if n == most_held:
                    return chains, n + 1
                chains = _with_room(chains, n)
                chains.last[n], chains.before[n] = p2, c
                n += 1
        c += 1
    return chains, n


@compiled
def _with_room(chains, n):
    """The same n chains, with room for one more."""
    if n < chains.last.shape[0]:
        return chains
    return _Chains(longer(chains.last, 2 * n), longer(chains.before, 2 * n))


@compiled
def _join(
    q, rules, events, u, start, moment, window, chains, trend, most_trends, v, x, size, size_x, err
):  # fmt: skip
    """Put all trends of a unit together, one by one, and aggregate them; how many there are."""
    empty(v, 0, size, x, size_x)
    states = q.unit_p.shape[0] - 1
    trends, level = 0, 0
    trend.edge[0], trend.place[0], trend.held[0] = q.out_p[u], -1, -1
    while level >= 0 and trends <= most_trends and err[0] == 0:
        row = u if level == 0 else states + trend.state[level - 1]
        if not _advance(q, rules, events, row, level, start, window, trend):
            level -= 1
            continue
        s, held = q.out_state[trend.edge[level]], trend.held[level]
        trend.state[level] = s
        if held >= 0:
            trend.last[level] = window.of_kind[q.kind[s], chains.last[held]]
        else:
            trend.last[level] = window.of_state[s, trend.place[level]]
        rule = q.end_rule[s]
        if rule == 0 or (
            rule != NO_EDGE
            and looked_at(rules, events, rule, trend.last[level], NO_EVENT, moment, start)
        ):
            trends += 1
            numbers.add(v, 0, v, size, err)
            if size > 1 or size_x > 0:
                _aggregate(q, events, level, window, chains, trend, v, x, size, size_x, err)
        level += 1
        trend.edge[level], trend.place[level], trend.held[level] = q.out_p[states + s], -1, -1
    return trends


@inlined
def _advance(q, rules, events, row, level, start, window, trend):
    """Go on to the next event or chain at a level, along an edge from the one before.

    Returns whether there is one.
    """
    j = NO_EVENT if level == 0 else trend.last[level - 1]
    while trend.edge[level] < q.out_p[row + 1]:
        s, rule = q.out_state[trend.edge[level]], q.out_rule[trend.edge[level]]
        k = q.kind[s]
        if trend.held[level] >= 0:
            trend.held[level] += 1
            if trend.held[level] < window.chains_p[k, trend.place[level] + 1]:
                return True
        place = trend.place[level] + 1
        if place == 0 and j != NO_EVENT:
            place = _first_after(window.of_state[s], 0, window.n_state[s], events.step[j], events)
        while place < window.n_state[s]:
            i = window.of_state[s, place]
            if is_open(rules, events, rule, j, i, i, start):
                # Events of a Kleene state are those of its kind, in the same order.
                trend.place[level] = place
                trend.held[level] = window.chains_p[k, place] if k >= 0 else -1
                return True
            place += 1
        trend.edge[level] += 1
        trend.place[level], trend.held[level] = -1, -1
    return False


@compiled
def _first_after(items, low, high, step, events):
    """The first of some events, in order, that comes after a step."""
    while low < high:
        middle = (low + high) // 2
        if events.step[items[middle]] > step:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _aggregate(q, events, level, window, chains, trend, v, x, size, size_x, err):
    """Walk through a trend, and add its events to what a window has found."""
    for d in range(level + 1):
        s, at = trend.state[d], trend.held[d]
        while True:
            i = window.of_kind[q.kind[s], chains.last[at]] if at >= 0 else trend.last[d]
            for c in range(1, size):
                weight = q.weights[s, c - 1]
                if weight >= 0:
                    numbers.add_times(v, c, v, size, events.weights[weight, i], err)
                elif weight == ONE:
                    numbers.add(v, c, v, size, err)
            for k in range(size_x):
                attribute = q.extremes[s, k]
                if attribute >= 0:
                    own = events.extremes[attribute, i]
                    if own == own:
                        x[k] = min(x[k], own * q.signs[k])
            if at < 0 or chains.before[at] < 0:
                break
            at = chains.before[at]


run = kept_on_disk(_run, digest("mcep.py", "records.py"))
