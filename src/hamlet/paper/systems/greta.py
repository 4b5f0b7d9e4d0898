"""GRETA: a graph of events for each query, along whose edges aggregates are propagated online.

Every matched event is a node. A new event looks at every earlier node that it may follow, one by
one, and adds up what they carry: its number of trends is the sum of theirs, and 1 more where it may
begin one. No trend is ever built, but each query has its own graph, and an event costs as much as
there are events before it in its windows. A node has one number for each window that it is in, so
overlapping windows share the graph. (O. Poppe and others, "GRETA: Graph-based Real-time Event Trend
Aggregation", 2017.)

Name here        in that paper
node             a vertex: an event at a state of the template
head             where the graph begins after vertices of closed windows were dropped

Cost: O(n) time for each of n events of a window, times windows and components; O(n) memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, kept_on_disk
from hamlet.kernel.numbers import raw_pointer
from hamlet.kernel.stack_machine import compared
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.kernel.windowing import first_window, last_window, overlap
from hamlet.paper.systems.caching import digest
from hamlet.paper.systems.conditions import NO_EVENT, looked_at
from hamlet.paper.systems.records import (
    ClosedWindows,
    add_all,
    alive,
    copy_all,
    empty,
    extend,
    no_records,
    records_of,
    table_of,
    with_room,
    write,
)
from hamlet.paper.systems.tables import COMPARED, FREE_WAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.paper.systems.tables import SystemEvents, Tables


def run_greta(
    tables: Tables, events: SystemEvents, ranges: NDArray[np.int64], zero: NDArray[Any]
) -> list[ClosedWindows]:
    """All windows of all queries, one graph after the other.

    Args:
        tables: The set.
        events: Its events.
        ranges: The partitions to run.
        zero: An empty array of the kind of numbers to compute with.
    """
    return [
        ClosedWindows(
            np.array([unit.template], np.int32),
            1 + unit.graph.weights.shape[1],
            *stoppable(run, unit.graph, tables.rules, events, ranges, zero),
        )
        for unit in tables.units
    ]


class _Nodes(NamedTuple):
    """The nodes of each state, in time order; those that are dropped make room by and by.

    event, last: The event of a node, and the last window that it is in.
    base, room: Where the nodes of a state begin, and how many there may be.
    head: How many of them are known to be in no open window.
    count, seen: How many there are, and were before this step.
    """

    event: Any
    last: Any
    base: Any
    room: Any
    head: Any
    count: Any
    seen: Any


class _Places(NamedTuple):
    """Where records are: a node has one for each of the windows that overlap, by their slots.

    new: Those of a node that is being made.
    total: Those of all trends so far.
    one: A record of one trend.
    size, size_x: How many numbers and extremes a record has.
    """

    windows: int
    new: int
    total: int
    one: int
    size: int
    size_x: int


@compiled
def _most_at_once(graph, events, ranges):
    """For each state the most nodes that can be in open windows at one time."""
    states = graph.end_rule.shape[0]
    most, now = np.zeros(states, np.int64), np.empty(states, np.int64)
    for r in range(ranges.shape[0]):
        now[:] = 0
        oldest = ranges[r, 1]
        for i in range(ranges[r, 1], ranges[r, 2]):
            # Nodes before the first window of this event are dropped only when they are met.
            while events.ts[oldest] <= events.ts[i] - graph.within - graph.slide:
                letter = events.letter[oldest]
                for k in range(graph.enter_p[letter], graph.enter_p[letter + 1]):
                    now[graph.enter[k]] -= 1
                oldest += 1
            letter = events.letter[i]
            for k in range(graph.enter_p[letter], graph.enter_p[letter + 1]):
                s = graph.enter[k]
                now[s] += 1
                most[s] = max(most[s], now[s])
    return most


@compiled
def _no_nodes(graph, events, ranges):
    """Room for the nodes of any partition."""
    most = _most_at_once(graph, events, ranges)
    room = most + most // 4 + 16
    states, nodes = room.shape[0], room.sum()
    return _Nodes(
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.cumsum(room) - room,
        room,
        np.empty(states, np.int64),
        np.empty(states, np.int64),
        np.empty(states, np.int64),
    )


@compiled
def _places(graph, nodes):
    windows = overlap(graph.within, graph.slide)
    new = nodes.event.shape[0] * windows
    size, size_x = 1 + graph.weights.shape[1], graph.extremes.shape[1]
    return _Places(windows, new, new + windows, new + 2 * windows, size, size_x)


@compiled
def _run(graph, rules, events, ranges, zero, err_array):
    """Every window of every partition: partition, unit, window; numbers; extremes; redo."""
    nodes = _no_nodes(graph, events, ranges)
    at = _places(graph, nodes)
    v_array, x_array = records_of(zero, at.one + 1, at.size, at.size_x)
    v, x, err = numbers.pointer(v_array), raw_pointer(x_array), raw_pointer(err_array)
    numbers.set_one(v, at.one * at.size)
    records, n = no_records(zero, at.size, at.size_x), 0
    redo, redone = np.empty(ranges.shape[0], np.int32), 0
    for r in range(ranges.shape[0]):
        err[0] = 0
        if err[STOPPED] != 0:
            break
        records, after = _run_partition(
            graph, rules, events, ranges[r], nodes, at, v, x, records, n, err
        )
        if err[0] == 0:
            n = after
        else:
            redo[redone] = ranges[r, 0]
            redone += 1
    # What pointers point to is named once more, so that it outlives them.
    alive(v_array, x_array, err_array)
    found_x = table_of(records.extremes, n, at.size_x)
    return records.keys[:n], records.numbers[: n * at.size], found_x, redo[:redone]


@compiled
def _run_partition(graph, rules, events, bounds, nodes, at, v, x, records, n, err):
    """Every window of one partition: the records, and how many there are then."""
    part, first, end, moment = bounds[0], bounds[1], bounds[2], bounds[3]
    ts, within, slide = events.ts, graph.within, graph.slide
    nodes.head[:], nodes.count[:] = 0, 0
    for slot in range(at.windows):
        empty(v, at.total + slot, at.size, x, at.size_x)
    low, i = first_window(ts[first], within, slide), first
    while i < end and err[0] == 0:
        until = first_window(ts[i], within, slide)
        if i > first:
            # Windows that end before this event are closed; of some there was none.
            closed = min(until, last_window(ts[i - 1], slide) + 1)
            records, n = _close(
                graph, rules, events, part, low, closed, i, nodes, at, v, x, records, n, err
            )
        low = until
        i = _do_step(graph, rules, events, i, end, low, nodes, at, v, x, err)
    closed = last_window(ts[end - 1], slide) + 1
    return _close(graph, rules, events, part, low, closed, moment, nodes, at, v, x, records, n, err)


@compiled
def _close(graph, rules, events, part, low, closed, moment, nodes, at, v, x, records, n, err):
    """Write what windows have found that end at some moment, by its place in `latest`."""
    for w in range(low, closed):
        total = at.total + w % at.windows
        for s in range(graph.end_rule.shape[0]):
            if graph.end_rule[s] > 0:
                _add_late_ends(graph, rules, events, s, w, moment, nodes, at, v, x, err)
        if numbers.is_zero(v, total * at.size):
            continue
        records = with_room(records, n, 1, at.size, at.size_x)
        write(records, n, part, 0, w, v, total, at.size, x, at.size_x, graph.signs, err)
        empty(v, total, at.size, x, at.size_x)
        n += 1
    return records, n


@compiled
def _add_late_ends(graph, rules, events, s, w, moment, nodes, at, v, x, err):
    """Add what ends with the nodes of a state, where that depends on what came after them."""
    slot, rule = w % at.windows, graph.end_rule[s]
    for p in range(nodes.base[s] + nodes.head[s], nodes.base[s] + nodes.count[s]):
        if nodes.last[p] >= w and looked_at(
            rules, events, rule, nodes.event[p], NO_EVENT, moment, w * graph.slide
        ):
            add_all(v, at.total + slot, p * at.windows + slot, at.size, x, at.size_x, err)


@compiled
def _do_step(graph, rules, events, i, end, low, nodes, at, v, x, err):
    """Make the nodes of all events of one step, and add what ends with them; the event after it."""
    high, step = last_window(events.ts[i], graph.slide), events.step[i]
    nodes.seen[:] = nodes.count
    while i < end and events.step[i] == step and err[0] == 0:
        letter = events.letter[i]
        for k in range(graph.enter_p[letter], graph.enter_p[letter + 1]):
            s = graph.enter[k]
            for slot in range(at.windows):
                empty(v, at.new + slot, at.size, x, at.size_x)
            for e in range(graph.in_p[s], graph.in_p[s + 1]):
                if graph.in_source[e] < 0:
                    _begin(graph, rules, events, e, i, low, high, at, v, err)
                else:
                    _follow(graph, rules, events, e, i, low, nodes, at, v, x, err)
            if _take_in(graph, events, s, i, low, high, at, v, x, err):
                _add_node(s, i, low, high, nodes, at, v, x)
        i += 1
    return i


@compiled
def _begin(graph, rules, events, e, i, low, high, at, v, err):
    """Begin a trend with an event, in each window where nothing before it forbids that."""
    rule = graph.in_rule[e]
    for w in range(low, high + 1):
        if rule == 0 or looked_at(rules, events, rule, NO_EVENT, i, i, w * graph.slide):
            new = (at.new + w % at.windows) * at.size
            numbers.add(v, new, v, at.one * at.size, err)


@compiled
def _follow(graph, rules, events, e, i, low, nodes, at, v, x, err):
    """Add up what the nodes carry that an event may follow by an edge, one by one."""
    s, rule = graph.in_source[e], graph.in_rule[e]
    base, seen = nodes.base[s], nodes.seen[s]
    while nodes.head[s] < seen and nodes.last[base + nodes.head[s]] < low:
        nodes.head[s] += 1
    kind, q = rules.kind[rule], rules.predicate[rule]
    operator, bound = 0, 0.0
    if kind == COMPARED:
        operator, bound = rules.p_kind[q], events.next[q, i]
    for p in range(base + nodes.head[s], base + seen):
        if kind == COMPARED:
            if not compared(operator, events.previous[q, nodes.event[p]], bound):
                continue
        elif kind != FREE_WAY and not looked_at(rules, events, rule, nodes.event[p], i, i, 0):
            continue
        slot = low % at.windows
        for _ in range(nodes.last[p] - low + 1):
            add_all(v, at.new + slot, p * at.windows + slot, at.size, x, at.size_x, err)
            slot = slot + 1 if slot + 1 < at.windows else 0


@compiled
def _take_in(graph, events, s, i, low, high, at, v, x, err):
    """Add the event of a new node to what it carries, and that to what has ended.

    Returns whether it carries anything.
    """
    is_matched = False
    for w in range(low, high + 1):
        new = at.new + w % at.windows
        if numbers.is_zero(v, new * at.size):
            continue
        is_matched = True
        extend(
            v, new, new, at.size, x, at.size_x, graph.weights, 0, graph.extremes, 0, s,
            events.weights, events.extremes, graph.signs, i, err,
        )  # fmt: skip
        if graph.end_rule[s] == 0:
            add_all(v, at.total + w % at.windows, new, at.size, x, at.size_x, err)
    return is_matched


@compiled
def _add_node(s, i, low, high, nodes, at, v, x):
    """Put a new node after those of its state."""
    if nodes.count[s] == nodes.room[s]:
        _drop_nodes(s, low, nodes, at, v, x)
    p = nodes.base[s] + nodes.count[s]
    nodes.event[p], nodes.last[p] = i, high
    for slot in range(at.windows):
        copy_all(v, p * at.windows + slot, at.new + slot, at.size, x, at.size_x)
    nodes.count[s] += 1


@compiled
def _drop_nodes(s, low, nodes, at, v, x):
    """Drop the nodes of a state that no open window has; as many as are left were planned for."""
    base, gone = nodes.base[s], 0
    while gone < nodes.count[s] and nodes.last[base + gone] < low:
        gone += 1
    for p in range(base, base + nodes.count[s] - gone):
        nodes.event[p], nodes.last[p] = nodes.event[p + gone], nodes.last[p + gone]
        for slot in range(at.windows):
            to = p * at.windows + slot
            copy_all(v, to, to + gone * at.windows, at.size, x, at.size_x)
    nodes.count[s] -= gone
    nodes.head[s] = max(nodes.head[s] - gone, 0)
    nodes.seen[s] -= gone


run = kept_on_disk(_run, digest("greta.py", "records.py"))
