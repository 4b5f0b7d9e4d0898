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
from hamlet.kernel.growth import longer_numbers
from hamlet.kernel.jit import compiled, kept_on_disk
from hamlet.kernel.numbers import raw_pointer
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.kernel.windowing import first_window
from hamlet.paper.systems.caching import digest
from hamlet.paper.systems.conditions import NO_EVENT, is_open, looked_at
from hamlet.paper.systems.records import ClosedWindows, alive, longer
from hamlet.paper.systems.tables import NO_EDGE, ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.paper.systems.tables import SystemEvents, Tables, Unit

SYSTEM = "mcep"
# Matches of Kleene parts held at once (16 bytes each), and trends put together in one window.
MOST_HELD = 1 << 24  # a power of two, as room for them is
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
        *parts, full = stoppable(
            run, family.joins, tables.rules, events, ranges, zero, MOST_HELD, MOST_TRENDS
        )
        if full == 1:
            reason = f"a window has more than {MOST_HELD:,} matches of Kleene patterns to hold"
            raise SystemLimit(SYSTEM, reason)
        if full == 2:
            raise SystemLimit(SYSTEM, f"a window has more than {MOST_TRENDS:,} trends")
        closed.append(ClosedWindows(family.templates, 1 + family.joins.weights.shape[1], *parts))
    return closed


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
def _run(q, rules, events, ranges, zero, most_held, most_trends, err_array):
    """Every window of every partition, and which limit was passed: 0 for none."""
    ts, slide, within = events.ts, q.slide, q.within
    nc, nx = 1 + q.weights.shape[1], q.extremes.shape[1]
    units, states, kinds = q.unit_p.shape[0] - 1, q.kind.shape[0], q.kind_rule.shape[0]
    longest = 1
    for r in range(ranges.shape[0]):
        longest = max(longest, ranges[r, 2] - ranges[r, 1])
    # Chains: the last event, by its place among those of its kind, and the chain before it
    chain, before = np.empty(1024, np.int64), np.empty(1024, np.int64)
    # Of a window: the events of each state and kind, and for each event of a kind its chains
    of_state, of_kind = np.empty((states, 64), np.int64), np.empty((kinds, 64), np.int64)
    chains_p = np.empty((kinds, 65), np.int64)
    n_state, n_kind = np.empty(states, np.int64), np.empty(kinds, np.int64)
    # A trend while it is put together, level by level: edge, place of the event, chain, state
    edge, place = np.empty(64, np.int64), np.empty(64, np.int64)
    held, state, last = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    total_v, total_x = numbers.room(zero, nc + 1), np.empty(nx)
    total = numbers.pointer(total_v)
    one = nc
    numbers.set_one(total, one)
    err = raw_pointer(err_array)
    capacity, n, full = 256, 0, 0
    records, out_x = np.empty((capacity, 3), np.int64), np.empty(capacity * nx)
    out_v = numbers.room(zero, capacity * nc)
    redo, redone = np.empty(ranges.shape[0], np.int32), 0
    for r in range(ranges.shape[0]):
        part, first, end, begun = ranges[r, 0], ranges[r, 1], ranges[r, 2], n
        err[0] = 0
        if err[STOPPED] != 0:
            break
        low = first
        window = first_window(ts[first], within, slide)
        while low < end and err[0] == 0 and full == 0:
            start = window * slide
            while low < end and ts[low] < start:
                low += 1
            if low == end:
                break
            if ts[low] >= start + within:
                window = first_window(ts[low], within, slide)
                continue
            high = low
            while high < end and ts[high] < start + within:
                high += 1
            at_end = high if high < end else ranges[r, 3]
            if high - low > of_state.shape[1]:
                wide = 2 * (high - low)
                of_state, of_kind = (
                    np.empty((states, wide), np.int64),
                    np.empty((kinds, wide), np.int64),
                )
                chains_p = np.empty((kinds, wide + 1), np.int64)
            if high - low + 1 > edge.shape[0]:
                wide = 2 * (high - low + 1)
                edge, place = np.empty(wide, np.int64), np.empty(wide, np.int64)
                held, state = np.empty(wide, np.int64), np.empty(wide, np.int64)
                last = np.empty(wide, np.int64)
            n_state[:], n_kind[:] = 0, 0
            for i in range(low, high):
                for s in range(states):
                    if q.letters[s, events.letter[i]]:
                        of_state[s, n_state[s]] = i
                        n_state[s] += 1
                for k in range(kinds):
                    if q.kind_letters[k, events.letter[i]]:
                        of_kind[k, n_kind[k]] = i
                        n_kind[k] += 1
            # All matches of Kleene parts, those that begin with the same event together
            chains = 0
            for k in range(kinds):
                rule = q.kind_rule[k]
                for p in range(n_kind[k]):
                    chains_p[k, p] = chains
                    if chains == chain.shape[0]:
                        chain, before = longer(chain, 2 * chains), longer(before, 2 * chains)
                    chain[chains], before[chains] = p, -1
                    chains += 1
                    c = chains - 1
                    while c < chains and full == 0 and err[0] == 0:
                        j = of_kind[k, chain[c]]
                        for p2 in range(chain[c] + 1, n_kind[k]):
                            i = of_kind[k, p2]
                            if events.step[i] > events.step[j] and is_open(
                                rules, events, rule, j, i, i, start
                            ):
                                if chains == chain.shape[0]:
                                    if chains >= most_held:
                                        full = 1
                                        break
                                    chain = longer(chain, 2 * chains)
                                    before = longer(before, 2 * chains)
                                chain[chains], before[chains] = p2, c
                                chains += 1
                        c += 1
                    if full != 0:
                        break
                chains_p[k, n_kind[k]] = chains
            for u in range(units):
                if full != 0:
                    break
                for c in range(nc):
                    numbers.set_zero(total, c)
                total_x[:] = np.inf
                trends = 0
                level = 0
                edge[0], place[0], held[0] = q.out_p[u], -1, -1
                while level >= 0 and full == 0 and err[0] == 0:
                    # The next event or match at this level, along an edge from the level before
                    row = u if level == 0 else units + state[level - 1]
                    j = NO_EVENT if level == 0 else last[level - 1]
                    is_found = False
                    while edge[level] < q.out_p[row + 1]:
                        s, rule = q.out_state[edge[level]], q.out_rule[edge[level]]
                        k = q.kind[s]
                        if held[level] >= 0:
                            held[level] += 1
                            if held[level] < chains_p[k, place[level] + 1]:
                                is_found = True
                                break
                            held[level] = -1
                        if place[level] < 0:
                            place[level] = (
                                0
                                if j == NO_EVENT
                                else _first_after(
                                    of_state[s], 0, n_state[s], events.step[j], events
                                )
                            )
                        else:
                            place[level] += 1
                        while place[level] < n_state[s]:
                            i = of_state[s, place[level]]
                            if is_open(rules, events, rule, j, i, i, start):
                                is_found = True
                                break
                            place[level] += 1
                        if is_found:
                            # Events of a Kleene state are those of its kind, in the same order.
                            held[level] = chains_p[k, place[level]] if k >= 0 else -1
                            break
                        edge[level] += 1
                        place[level] = -1
                    if not is_found:
                        level -= 1
                        continue
                    s = q.out_state[edge[level]]
                    state[level] = s
                    if held[level] >= 0:
                        last[level] = of_kind[q.kind[s], chain[held[level]]]
                    else:
                        last[level] = of_state[s, place[level]]
                    if q.end_rule[s] == 0 or (
                        q.end_rule[s] != NO_EDGE
                        and looked_at(
                            rules, events, q.end_rule[s], last[level], NO_EVENT, at_end, start
                        )
                    ):
                        trends += 1
                        if trends > most_trends:
                            full = 2
                        numbers.add(total, 0, total, one, err)
                        if nc > 1 or nx > 0:
                            for d in range(level + 1):
                                at = held[d]
                                while True:
                                    if held[d] >= 0:
                                        i = of_kind[q.kind[state[d]], chain[at]]
                                    else:
                                        i = last[d]
                                    for c in range(1, nc):
                                        weight = q.weights[state[d], c - 1]
                                        if weight >= 0:
                                            numbers.add_times(
                                                total, c, total, one, events.weights[weight, i], err
                                            )
                                        elif weight == ONE:
                                            numbers.add(total, c, total, one, err)
                                    for x in range(nx):
                                        attribute = q.extremes[state[d], x]
                                        if attribute >= 0:
                                            own = events.extremes[attribute, i]
                                            if own == own:
                                                total_x[x] = min(total_x[x], own * q.signs[x])
                                    if held[d] < 0 or before[at] < 0:
                                        break
                                    at = before[at]
                    level += 1
                    edge[level], place[level], held[level] = q.out_p[units + s], -1, -1
                if trends > 0:
                    if n == capacity:
                        capacity *= 2
                        records = longer(records, capacity)
                        out_x = longer(out_x, capacity * nx)
                        out_v = longer_numbers(out_v, n * nc, capacity * nc)
                    out = numbers.pointer(out_v)
                    records[n, 0], records[n, 1], records[n, 2] = part, u, window
                    for c in range(nc):
                        numbers.copy(out, n * nc + c, total, c)
                        if not numbers.is_safe(total, c):
                            err[0] = 1
                    for x in range(nx):
                        out_x[n * nx + x] = total_x[x] * q.signs[x]
                    n += 1
            window += 1
        if err[0] != 0:
            n = begun
            redo[redone] = part
            redone += 1
        if full != 0:
            break
    alive(total_v, total_v, total_v, err_array)
    found_x = out_x[: n * nx].copy().reshape((n, nx))
    return records[:n], out_v[: n * nc], found_x, redo[:redone], full


run = kept_on_disk(_run, digest("mcep.py", "records.py"))
