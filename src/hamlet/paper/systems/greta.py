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

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.growth import longer_numbers
from hamlet.kernel.jit import compiled, kept_on_disk
from hamlet.kernel.numbers import raw_pointer
from hamlet.kernel.stack_machine import compared
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.kernel.windowing import first_window, last_window, overlap
from hamlet.paper.systems.caching import digest
from hamlet.paper.systems.conditions import NO_EVENT, looked_at
from hamlet.paper.systems.records import ClosedWindows, alive, longer
from hamlet.paper.systems.tables import COMPARED, FREE_WAY, ONE

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
def _run(graph, rules, events, ranges, zero, err_array):
    """Every window of every partition: partition, unit, window; numbers; extremes; redo."""
    ts, slide, within = events.ts, graph.slide, graph.within
    windows = overlap(within, slide)
    nc, nx = 1 + graph.weights.shape[1], graph.extremes.shape[1]
    size, size_x = windows * nc, windows * nx
    states = graph.end_rule.shape[0]
    most = _most_at_once(graph, events, ranges)
    # The nodes of each state stand together in time order; what is dropped makes room by and by.
    room_of = most + most // 4 + 16
    base = np.cumsum(room_of) - room_of
    total_room = room_of.sum()
    node, node_last = np.empty(total_room, np.int64), np.empty(total_room, np.int64)
    node_v, node_x = numbers.room(zero, total_room * size), np.empty(total_room * size_x)
    head, count = np.empty(states, np.int64), np.empty(states, np.int64)
    seen = np.empty(states, np.int64)
    acc_v, acc_x = numbers.room(zero, size + 1), np.empty(size_x)
    total_v, total_x = numbers.room(zero, size), np.empty(size_x)
    v, acc, total = numbers.pointer(node_v), numbers.pointer(acc_v), numbers.pointer(total_v)
    one = size
    numbers.set_one(acc, one)
    err = raw_pointer(err_array)
    has_late_ends = False
    for s in range(states):
        if graph.end_rule[s] > 0:
            has_late_ends = True
    capacity, n = 256, 0
    records, out_x = np.empty((capacity, 3), np.int64), np.empty(capacity * nx)
    out_v = numbers.room(zero, capacity * nc)
    redo, redone = np.empty(ranges.shape[0], np.int32), 0
    for r in range(ranges.shape[0]):
        part, first, end, begun = ranges[r, 0], ranges[r, 1], ranges[r, 2], n
        err[0] = 0
        if err[STOPPED] != 0:
            break
        head[:], count[:] = 0, 0
        for k in range(size):
            numbers.set_zero(total, k)
        total_x[:] = np.inf
        low = first_window(ts[first], within, slide)
        i = first
        while i <= end and err[0] == 0:
            # Windows that end before this event, or with the partition, are closed.
            at = i if i < end else ranges[r, 3]
            if i < end:
                until = first_window(ts[i], within, slide)
            else:
                until = last_window(ts[end - 1], slide) + 1
            if i > first:
                for w in range(low, min(until, last_window(ts[i - 1], slide) + 1)):
                    slot = w % windows
                    if has_late_ends:
                        for s in range(states):
                            rule = graph.end_rule[s]
                            if rule <= 0:
                                continue
                            for p in range(base[s] + head[s], base[s] + count[s]):
                                if node_last[p] >= w and looked_at(
                                    rules, events, rule, node[p], NO_EVENT, at, w * slide
                                ):
                                    for c in range(nc):
                                        numbers.add(
                                            total,
                                            slot * nc + c,
                                            v,
                                            p * size + slot * nc + c,
                                            err,
                                        )
                                    for x in range(nx):
                                        total_x[slot * nx + x] = min(
                                            total_x[slot * nx + x],
                                            node_x[p * size_x + slot * nx + x],
                                        )
                    if not numbers.is_zero(total, slot * nc):
                        if n == capacity:
                            capacity *= 2
                            records = longer(records, capacity)
                            out_x = longer(out_x, capacity * nx)
                            out_v = longer_numbers(out_v, n * nc, capacity * nc)
                        out = numbers.pointer(out_v)
                        records[n, 0], records[n, 1], records[n, 2] = part, 0, w
                        for c in range(nc):
                            numbers.copy(out, n * nc + c, total, slot * nc + c)
                            if not numbers.is_safe(total, slot * nc + c):
                                err[0] = 1
                            numbers.set_zero(total, slot * nc + c)
                        for x in range(nx):
                            out_x[n * nx + x] = total_x[slot * nx + x] * graph.signs[x]
                            total_x[slot * nx + x] = np.inf
                        n += 1
            if i == end:
                break
            low = until
            high = last_window(ts[i], slide)
            first_slot = low % windows
            seen[:] = count
            step = events.step[i]
            while i < end and events.step[i] == step and err[0] == 0:
                letter = events.letter[i]
                for k in range(graph.enter_p[letter], graph.enter_p[letter + 1]):
                    s = graph.enter[k]
                    for c in range(size):
                        numbers.set_zero(acc, c)
                    acc_x[:] = np.inf
                    for e in range(graph.in_p[s], graph.in_p[s + 1]):
                        source, rule = graph.in_source[e], graph.in_rule[e]
                        if source < 0:
                            for w in range(low, high + 1):
                                if rule == 0 or looked_at(
                                    rules, events, rule, NO_EVENT, i, i, w * slide
                                ):
                                    numbers.add(acc, (w % windows) * nc, acc, one, err)
                            continue
                        while (
                            head[source] < seen[source]
                            and node_last[base[source] + head[source]] < low
                        ):
                            head[source] += 1
                        kind, q = rules.kind[rule], rules.predicate[rule]
                        if kind == COMPARED:
                            operator, bound = rules.p_kind[q], events.next[q, i]
                        else:
                            operator, bound = 0, 0.0
                        for p in range(base[source] + head[source], base[source] + seen[source]):
                            if kind == COMPARED:
                                if not compared(operator, events.previous[q, node[p]], bound):
                                    continue
                            elif kind != FREE_WAY and not looked_at(
                                rules, events, rule, node[p], i, i, 0
                            ):
                                continue
                            slot = first_slot
                            for _ in range(node_last[p] - low + 1):
                                for c in range(nc):
                                    numbers.add(
                                        acc, slot * nc + c, v, p * size + slot * nc + c, err
                                    )
                                for x in range(nx):
                                    acc_x[slot * nx + x] = min(
                                        acc_x[slot * nx + x],
                                        node_x[p * size_x + slot * nx + x],
                                    )
                                slot = slot + 1 if slot + 1 < windows else 0
                    is_matched = False
                    for w in range(low, high + 1):
                        slot = w % windows
                        if numbers.is_zero(acc, slot * nc):
                            continue
                        is_matched = True
                        for c in range(1, nc):
                            weight = graph.weights[s, c - 1]
                            if weight >= 0:
                                numbers.add_times(
                                    acc,
                                    slot * nc + c,
                                    acc,
                                    slot * nc,
                                    events.weights[weight, i],
                                    err,
                                )
                            elif weight == ONE:
                                numbers.add(acc, slot * nc + c, acc, slot * nc, err)
                        for x in range(nx):
                            attribute = graph.extremes[s, x]
                            if attribute >= 0:
                                own = events.extremes[attribute, i]
                                if own == own:
                                    acc_x[slot * nx + x] = min(
                                        acc_x[slot * nx + x], own * graph.signs[x]
                                    )
                        if graph.end_rule[s] == 0:
                            for c in range(nc):
                                numbers.add(total, slot * nc + c, acc, slot * nc + c, err)
                            for x in range(nx):
                                total_x[slot * nx + x] = min(
                                    total_x[slot * nx + x], acc_x[slot * nx + x]
                                )
                    if not is_matched:
                        continue
                    if count[s] == room_of[s]:
                        # Nodes that no open window has go; as many as are left were planned for.
                        gone = 0
                        while gone < count[s] and node_last[base[s] + gone] < low:
                            gone += 1
                        for p in range(base[s], base[s] + count[s] - gone):
                            node[p], node_last[p] = node[p + gone], node_last[p + gone]
                            for c in range(size):
                                numbers.copy(v, p * size + c, v, (p + gone) * size + c)
                            for x in range(size_x):
                                node_x[p * size_x + x] = node_x[(p + gone) * size_x + x]
                        count[s] -= gone
                        head[s] = max(head[s] - gone, 0)
                        seen[s] -= gone
                    p = base[s] + count[s]
                    node[p], node_last[p] = i, high
                    for c in range(size):
                        numbers.copy(v, p * size + c, acc, c)
                    for x in range(size_x):
                        node_x[p * size_x + x] = acc_x[x]
                    count[s] += 1
                i += 1
        if err[0] != 0:
            n = begun
            redo[redone] = part
            redone += 1
    # What pointers point to is named once more, so that it outlives them.
    alive(node_v, acc_v, total_v, err_array)
    return records[:n], out_v[: n * nc], out_x[: n * nx].copy().reshape((n, nx)), redo[:redone]


run = kept_on_disk(_run, digest("greta.py", "records.py"))
