"""Negation for the systems that keep events: where the latest match of a guard began.

A match of a guard bars the step from event j to event i if it began after j and was completed
before i. Of all matches completed before i the one that began last bars most, so for each event and
guard one number says it all. GRETA has a graph for each negated pattern too.

Cost: O(events) for guards without edge predicates, and with them O(events) for each event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.jit import compiled, kept_on_disk
from hamlet.kernel.stopping import STOPPED, stoppable
from hamlet.paper.systems.caching import digest
from hamlet.paper.systems.conditions import NO_EVENT, fits, is_open
from hamlet.paper.systems.tables import NO_EDGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.paper.systems.tables import SystemEvents, Tables


def fill_latest(tables: Tables, events: SystemEvents, ranges: NDArray[np.int64]) -> None:
    """Fill `latest` of some events for every guard of a set."""
    for number, guard in enumerate(tables.guards):
        has_edges = np.isin(
            tables.rules.kind[guard.graph.in_rule], (0,), invert=True
        ) & _asks_of_two(tables, guard.graph.in_rule)
        stoppable(fill, guard.graph, has_edges, tables.rules, events, number, ranges)


def _asks_of_two(tables: Tables, rules: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether rules look at both events of an edge."""
    keys = [tables.rule_keys[int(rule)] for rule in rules]
    return np.array([bool(tables.program.conditions[c].predicates) for c, _ in keys], np.bool_)


@compiled
def _fill(graph, has_edges, rules, events, guard, ranges, stop):
    """For each event, and the end of each partition, the latest match completed before."""
    states = graph.end_rule.shape[0]
    # By state: the latest start of a partial match there, and the events that were there
    best = np.empty(states, np.int64)
    count, head = np.empty(states, np.int64), np.empty(states, np.int64)
    longest = 1
    for r in range(ranges.shape[0]):
        longest = max(longest, ranges[r, 2] - ranges[r, 1])
    kept = np.empty((states, longest if has_edges.any() else 0), np.int64)
    began = np.empty((states, longest if has_edges.any() else 0), np.int64)
    # What the events of one step do is applied after all of them
    spans = np.empty((64, 3), np.int64)
    for r in range(ranges.shape[0]):
        first, end = ranges[r, 1], ranges[r, 2]
        best[:], count[:], head[:] = -1, 0, 0
        done = -1
        i = first
        while i < end and stop[STOPPED] == 0:
            n = 0
            after = i
            while after < end and events.step[after] == events.step[i]:
                events.latest[guard, after] = done
                letter = events.letter[after]
                for k in range(graph.enter_p[letter], graph.enter_p[letter + 1]):
                    s = graph.enter[k]
                    start = -1
                    for e in range(graph.in_p[s], graph.in_p[s + 1]):
                        rule, source = graph.in_rule[e], graph.in_source[e]
                        if not has_edges[e]:
                            if fits(rules, events, rule, after):
                                start = max(start, after if source < 0 else best[source])
                            continue
                        low = events.ts[after] - graph.within
                        while (
                            head[source] < count[source]
                            and events.ts[kept[source, head[source]]] <= low
                        ):
                            head[source] += 1
                        for p in range(head[source], count[source]):
                            j = kept[source, p]
                            if began[source, p] > start and is_open(
                                rules, events, rule, j, after, after, 0
                            ):
                                start = began[source, p]
                    if start >= 0:
                        if n == spans.shape[0]:
                            larger = np.empty((2 * n, 3), np.int64)
                            larger[:n] = spans
                            spans = larger
                        spans[n, 0], spans[n, 1], spans[n, 2] = s, after, start
                        n += 1
                after += 1
            for k in range(n):
                s, start = spans[k, 0], spans[k, 2]
                best[s] = max(best[s], start)
                if kept.shape[1] > 0:
                    kept[s, count[s]], began[s, count[s]] = spans[k, 1], start
                    count[s] += 1
                rule = graph.end_rule[s]
                if rule != NO_EDGE and is_open(rules, events, rule, spans[k, 1], NO_EVENT, 0, 0):
                    done = max(done, start)
            i = after
        events.latest[guard, ranges[r, 3]] = done


fill = kept_on_disk(_fill, digest("guards.py"))
