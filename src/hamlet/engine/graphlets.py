"""What the engine does with a small stream, event by event: for `hamlet explain --graphlets`.

Numbers of single events are nowhere in results, so they are asked for, event by event, with queries
that share the loop of those that are looked at and go the same way through encoding, code and
kernels (witnesses.py). What was decided about a burst is read from the trace of the run itself.

A loop without an edge predicate is one map for each burst: its snapshot is what has come as far as
the burst, and coefficients are of that snapshot alone. With an edge predicate a row is over all
snapshots of the window, each of which is what had come in from outside until then, and an event
that some queries alone admit, or before which their edge predicates let different events, is a
snapshot by itself: coefficients of others are counted without it, and its own are what there is
more with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.engine.local import LocalRun, run_workload
from hamlet.engine.options import Options, events_of
from hamlet.engine.pipeline import SetPipeline, shared_plan
from hamlet.engine.witnesses import can_be_witnessed, end_of, entry_of, probe, witness
from hamlet.errors import InternalError, PlanError, listed
from hamlet.explain.graphlets import Execution, Graphlet, GraphletEvent, LoopExecution
from hamlet.explain.sharers import known_sharing
from hamlet.plan.predicates import show, show_edge
from hamlet.plan.query import Window
from hamlet.plan.workload import plan_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.events.table import EventTable
    from hamlet.kernel.finish import Answer
    from hamlet.plan.query import Query
    from hamlet.plan.template import PlannedQuery
    from hamlet.plan.workload import SharableSet, WorkloadPlan

MOST_EVENTS = 200
# Between two times there is room for an entry before the later one and an end after the earlier.
_ROOM = 4
_NAMES = ("x", "y", "z")
# How long a window is that has two events with an entry and an end, and the trends of these: each
# of them, and both
_PAIR, _TRENDS_OF_PAIR = 8, 3


def executed(plan: WorkloadPlan, name: str, source: Any, options: Options) -> Execution:
    """Run a workload over a small stream, and tell what became of each event of each E+.

    Raises:
        PlanError: There are too many events, or they have an order column.
    """
    options = replace(options, trace=True)
    options.check()
    if options.order is not None:
        raise PlanError("graphlets are shown without an order column", "Leave it out.")
    table = events_of(source, plan, options)
    if len(table) > MOST_EVENTS:
        reason = f"graphlets are shown of up to {MOST_EVENTS} events, and there are {len(table):,}"
        raise PlanError(reason, "Give a few of them.")
    run = run_workload(plan, source, options)
    shared = shared_plan(plan, options)
    loops: list[LoopExecution] = []
    for number, sharable in enumerate(shared.sets, 1):
        loops += _Set(shared, number, sharable, table, options, run.trace).loops()
    return Execution(name, loops, list(_results(plan, _answers(run))))


def _answers(run: LocalRun) -> list[Answer]:
    """A table for each query that has rows."""
    return [answer for each in run.answers for answer in each.answers(only_found=True)]


def _results(plan: WorkloadPlan, answers: list[Answer]) -> Iterator[tuple[str, str, str, str]]:
    for answer in sorted(answers, key=lambda each: each.query):
        query = plan.queries[answer.query].query
        for row in sorted(answer.rows.to_pylist(), key=lambda row: row["window_start"]):
            window = _span(query.window, row["window_start"])
            for number, result in enumerate(query.returned):
                value = row.get(f"exact.{number}") or row[f"value.{number}"]
                yield query.name, window, result.name, str(value)


def _span(window: Window, start_us: int) -> str:
    (end_us,) = window.ends(np.array([start_us], np.int64)).tolist()
    return f"[{start_us / 1e6:g}, {end_us / 1e6:g}) s"


@dataclass(frozen=True, slots=True)
class _Set:
    """A sharable set over a small table."""

    plan: WorkloadPlan
    number: int
    sharable: SharableSet
    table: EventTable
    options: Options
    trace: Any

    def loops(self) -> Iterator[LoopExecution]:
        """Each E+ of the set, over each group of events."""
        members = [self.plan.queries[n] for n in self.sharable.queries]
        planned = {each.query.name: each for each in members}
        pipeline = SetPipeline.of(self.plan, self.sharable, self.options)
        only = replace(self.plan, sets=(self.sharable,))
        turned = self._turned(pipeline)
        for each in known_sharing(only, [pipeline.program], self.options.sharing):
            for names in self._classes(each, planned):
                some = [planned[name] for name in names]
                if not all(can_be_witnessed(one.query, each["type"]) for one in some):
                    continue
                is_turned = any(
                    each["type"] == event_type and set(names) <= set(queries)
                    for event_type, queries in turned
                )
                decided = {} if is_turned else self.bursts(each["type"], tuple(names))
                for alike in _by_window(some):
                    for group, rows in self._groups():
                        known = (each, names, decided, is_turned)
                        yield _Loop(self, known, alike, group, rows).execution()

    def _classes(self, known: dict[str, Any], planned: dict[str, PlannedQuery]) -> list[list[str]]:
        """The queries that could share an E+, as the run had them together."""
        if not known["shared"]:
            return [[name] for name in known["queries"]]
        ran = dict.fromkeys(
            row["class"]
            for row in self.trace.to_pylist()
            if (row["set"], row["type"], row["about"]) == (self.number, known["type"], "burst")
        )
        classes = [each.split(", ") for each in ran]
        classes = [each for each in classes if set(each) < set(known["queries"])]
        if any(set(each.split(", ")) == set(known["queries"]) for each in ran):
            return [known["queries"]]
        # A query that has nothing to decide about is not traced; with the same loop it is one.
        left: dict[tuple[str, ...], list[str]] = {}
        for name in known["queries"]:
            if not any(name in each for each in classes):
                asked = _compared(planned[name].query, known["type"])
                left.setdefault(asked, []).append(name)
        return [*classes, *left.values()]

    def _turned(self, pipeline: SetPipeline) -> set[tuple[str, tuple[str, ...]]]:
        """Loops that are run from the last event to the first."""
        compiled = pipeline.compile(pipeline.encode(self.table))
        loops = (pipeline.traced_loop(g) for g in compiled.row_groups if g.group.is_backward)
        return {(loop.type, loop.queries) for loop in loops}

    def _groups(self) -> Iterator[tuple[str, list[int]]]:
        """The rows of each partition, in order of time."""
        keys = [self.table.table.column(name).to_pylist() for name in self.sharable.partition]
        groups: dict[tuple[Any, ...], list[int]] = {}
        for row in np.argsort(self.table.ts, kind="stable").tolist():
            groups.setdefault(tuple(key[row] for key in keys), []).append(row)
        for values, rows in groups.items():
            pairs = zip(self.sharable.partition, values, strict=True)
            yield ", ".join(f"{name} = {value}" for name, value in pairs), rows

    def type_of(self, row: int) -> str:
        """The type of a row."""
        words = self.table.types.words
        return "" if words is None else str(words[int(self.table.types.data[row])])

    def bursts(self, name: str, queries: tuple[str, ...]) -> dict[int, str]:
        """When the bursts of a loop with an edge predicate began, and what was decided of each."""
        asked = (self.number, name, ", ".join(queries), "burst")
        return {
            _microseconds(row["time"]): row["decided"]
            for row in self.trace.to_pylist()
            if (row["set"], row["type"], row["class"], row["about"]) == asked
        }


def _by_window(members: list[PlannedQuery]) -> Iterator[list[PlannedQuery]]:
    """Queries of one table, those with the same window together: a window is shown of these."""
    by_window: dict[Window, list[PlannedQuery]] = {}
    for one in members:
        by_window.setdefault(one.query.window, []).append(one)
    yield from by_window.values()


def _microseconds(time: Any) -> int:
    return round(1e6 * (time if isinstance(time, int | float) else time.timestamp()))


class _Loop:
    """One E+ of some queries, over the rows of one group: its busiest window."""

    def __init__(
        self,
        of: _Set,
        known: tuple[dict[str, Any], list[str], dict[int, str], bool],
        members: list[PlannedQuery],
        group: str,
        rows: list[int],
    ) -> None:
        self.of, self.group = of, group
        self.known, self.together, self.decided, self.is_turned = known
        self.queries = [planned.query for planned in members]
        self.names = tuple(query.name for query in self.queries)
        self.type: str = self.known["type"]
        self.start, self.rows = self._busiest(rows)
        self.loops = [row for row in self.rows if of.type_of(row) == self.type]
        self.admitting: dict[int, list[Query]] = {}
        self.disputed: set[int] = set()
        # Of disputed events, by query: as the query itself has them
        self.own: dict[int, dict[str, dict[str, int]]] = {}
        # All of it is in one window of its own.
        length = _ROOM * (self.queries[0].window.within_us + 2)
        self.window = Window(length, length)

    def _busiest(self, rows: list[int]) -> tuple[int, list[int]]:
        """The first of the windows with the most events of E, and its rows."""
        window = self.queries[0].window
        ts = window.clock.times(self.of.table.ts)
        best: tuple[int, list[int]] = (0, [])
        most = -1
        for i in sorted({int(ts[row]) // window.slide_us for row in rows}):
            start = i * window.slide_us
            inside = [row for row in rows if start <= ts[row] < start + window.within_us]
            count = sum(self.of.type_of(row) == self.type for row in inside)
            if count > most:
                most, best = count, (start, inside)
        start, inside = best
        return int(window.clock.moments(np.array([start], np.int64))[0]), inside

    def execution(self) -> LoopExecution:
        """The loop with all its graphlets."""
        bursts = self._bursts()
        if self.known["kind"] == "rows":
            self.admitting = {row: self._admitting(row) for row in self.loops}
            self.disputed = self._disputed()
        counted = {row: self._asked(row, bursts, self._agreeing([row])) for row in self.loops}
        for row in self.disputed:
            self.own[row] = {
                query.name: self._asked(row, bursts, query) for query in self.admitting[row]
            }
        self._take_apart(counted)
        graphlets = self._graphlets(bursts, counted)
        return LoopExecution(
            self.type,
            self._loop_text(),
            self.names,
            self._how(),
            _span(self.queries[0].window, self.start),
            self.group,
            graphlets,
        )

    def _loop_text(self) -> str:
        """E, with what all queries ask of its events, and of neighbours."""
        locals_ = {q.local[p.index] for q in self.queries for p in q.places if p.type == self.type}
        asked = [show(local) for local in locals_ if local is not None and len(locals_) == 1]
        compared = {_compared(query, self.type) for query in self.queries}
        asked += compared.pop() if len(compared) == 1 else ()
        return f"{self.type}[{' AND '.join(asked)}]" if asked else self.type

    def _how(self) -> str:
        if self.is_turned:
            return "shared from the last event to the first: these queries end alike"
        if not self.known["shared"]:
            return f"per query: {self.known['why']}"
        others = [name for name in self.known["queries"] if name not in self.together]
        if others:
            return f"a table of its own in this run, apart from {listed(others)}"
        return f"shared: {self.known['why']}"

    # Bursts

    def _bursts(self) -> list[tuple[list[int], str]]:
        """The rows of each burst, and what was decided about it."""
        decided = self.decided
        others = {place.type for query in self.queries for place in query.places} - {self.type}
        bursts: list[tuple[list[int], str]] = []
        is_over, told = True, "share" if self.known["shared"] else "alone"
        ts = self.of.table.ts
        # What comes in at the time of an E comes in after it: they do not see each other.
        for row in sorted(self.rows, key=lambda row: (int(ts[row]), row not in self.loops)):
            if row in self.loops:
                at = int(ts[row])
                if at in decided if decided else is_over:
                    bursts.append(([], decided.get(at, told)))
                if not bursts:
                    bursts.append(([], told))
                bursts[-1][0].append(row)
                is_over = False
            elif self.of.type_of(row) in others:
                is_over = True
        return bursts

    # Asking

    def _time(self, row: int) -> int:
        return _ROOM * (int(self.of.table.ts[row]) - self.start + 1)

    def _asked(
        self, row: int, bursts: list[tuple[list[int], str]], asking: Query | None
    ) -> dict[str, int]:
        """What witnesses and probes count that end after an event, and see no other of its time."""
        ts = self.of.table.ts
        firsts = [some[0] for some, _ in bursts if ts[some[0]] <= ts[row]]
        entries = {f"#{number}": first for number, first in enumerate(firsts)}
        seen = [each for each in self.rows if ts[each] < ts[row] or each == row]
        if not any(map(self._is_single, seen)):
            return self._counted(seen, row, self.names, entries, asking)
        plain = [each for each in seen if each == row or not self._is_single(each)]
        counts = self._counted(seen, row, self.names, {}, asking)
        counts |= self._counted(plain, row, (), entries, asking)
        for single in seen:
            both = self._agreeing([single, row], asking)
            if self._is_single(single) and single != row and both is not None:
                entry = {f"@{single}": single}
                more = self._counted([*plain, single], row, (), entry, both)
                less = self._counted(plain, row, (), entry, both)
                # But for the one that is the event alone.
                counts |= {name: more[name] - less[name] - 1 for name in entry}
        return counts

    def _counted(
        self,
        seen: list[int],
        row: int,
        witnesses: tuple[str, ...],
        entries: dict[str, int],
        asking: Query | None,
    ) -> dict[str, int]:
        """What has ended after a row that has seen some: of witnesses, of probes by their entry."""
        rows = [(self.of.type_of(each), self._time(each), each) for each in sorted(seen)]
        rows += [(entry_of(name), self._time(at) - 1, at) for name, at in entries.items()]
        rows += [(end_of(name), self._time(row) + 1, row) for name in (*witnesses, *entries)]
        planned = [
            witness(query, self.type, self.window)
            for query in self.queries
            if query.name in witnesses
        ]
        asking = asking or self.queries[0]
        planned += [probe(asking, self.type, name, self.window) for name in entries]
        return self._answered(planned, rows)

    def _admitting(self, row: int) -> list[Query]:
        """The queries that admit an event of E: each is asked for what ends with it alone."""
        names = {query.name: f"{query.name}?" for query in self.queries}
        rows = [(entry_of(name), self._time(row) - 1, row) for name in names.values()]
        rows += [(self.type, self._time(row), row)]
        rows += [(end_of(name), self._time(row) + 1, row) for name in names.values()]
        planned = [probe(q, self.type, names[q.name], self.window) for q in self.queries]
        counts = self._answered(planned, rows)
        return [query for query in self.queries if counts[names[query.name]]]

    def _is_single(self, row: int) -> bool:
        """Whether a row is of E, and not the same to all queries."""
        is_for_some = 0 < len(self.admitting.get(row, ())) < len(self.queries)
        return is_for_some or row in self.disputed

    def _disputed(self) -> set[int]:
        """The events before which edge predicates let different ones."""
        asking = {_compared(query, self.type): query for query in self.queries}
        if len(asking) == 1:
            return set()
        ts = self.of.table.ts
        pairs = [(a, b) for b in self.loops for a in self.loops if ts[a] < ts[b]]
        let = [self._let(query, pairs) for query in asking.values()]
        return {b for (_, b), *found in zip(pairs, *let, strict=True) if len(set(found)) > 1}

    def _let(self, query: Query, pairs: list[tuple[int, int]]) -> list[bool]:
        """Whether a query lets the second of two events of E follow the first one.

        Each pair has a window of its own, and three trends where it may, whatever else is asked.
        """
        free = replace(query, local=tuple(None for _ in query.local))
        planned = [probe(free, self.type, "pair", Window(_PAIR, _PAIR))]
        rows: list[tuple[str, int, int]] = []
        for number, (first, second) in enumerate(pairs):
            types = (entry_of("pair"), self.type, self.type, end_of("pair"))
            rows += [
                (kind, _PAIR * number + time, row)
                for time, (kind, row) in enumerate(
                    zip(types, (first, first, second, second), strict=True)
                )
            ]
        counts = dict.fromkeys(range(len(pairs)), 0)
        for answer in self._answers(planned, rows):
            starts = answer.rows["window_start"].to_pylist()
            for start, value in zip(starts, answer.rows["exact.0"].to_pylist(), strict=True):
                counts[start // _PAIR] += int(value)
        return [trends == _TRENDS_OF_PAIR for trends in counts.values()]

    def _agreeing(self, rows: list[int], asking: Query | None = None) -> Query | None:
        """A query that admits some rows: the one that asks, if it does."""
        for query in self.queries if asking is None else [asking, *self.queries]:
            if all(query in self.admitting.get(row, self.queries) for row in rows):
                return query
        return None

    def _answered(
        self, planned: list[PlannedQuery], rows: list[tuple[str, int, int]]
    ) -> dict[str, int]:
        """What queries count over rows."""
        counts = dict.fromkeys((one.query.name for one in planned), 0)
        for answer in self._answers(planned, rows):
            counts[planned[answer.query].query.name] = sum(
                map(int, answer.rows["exact.0"].to_pylist())
            )
        return counts

    def _answers(
        self, planned: list[PlannedQuery], rows: list[tuple[str, int, int]]
    ) -> list[Answer]:
        """Run queries over rows: types, times, and the rows whose attributes they have."""
        options, table = self.of.options, self.of.table.table
        types, times, numbers = zip(*rows, strict=True)
        copied = set(table.column_names) - {options.type, options.time}
        columns: dict[str, Any] = {name: table[name].take(pa.array(numbers)) for name in copied}
        columns[options.type] = pa.array(types)
        columns[options.time] = pa.array(times, pa.timestamp("us"))
        asked = Options(options.type, options.time, sharing="always")
        return _answers(run_workload(plan_workload(planned), pa.table(columns), asked))

    def _take_apart(self, counted: dict[int, dict[str, int]]) -> None:
        """Have what ends at each event, where it was all that ends at it or before."""
        ts = self.of.table.ts
        single: dict[int, dict[str, int]] = {}
        for row, sums in counted.items():
            before = [each for each in single if ts[each] < ts[row]]
            # Probes do not see events that are snapshots by themselves.
            plain = [each for each in before if not self._is_single(each)]

            def alone(sums: dict[str, int]) -> dict[str, int]:
                seen = {name: before if name in self.names else plain for name in sums}  # noqa: B023
                return {
                    name: number - sum(single[each].get(name, 0) for each in seen[name])
                    for name, number in sums.items()
                }

            single[row] = alone(sums)
            self.own[row] = {name: alone(own) for name, own in self.own.get(row, {}).items()}
        counted.update(single)

    # Putting together

    def _graphlets(
        self, bursts: list[tuple[list[int], str]], counted: dict[int, dict[str, int]]
    ) -> list[Graphlet]:
        is_map = self.known["kind"] == "burst"
        is_shared = self.known["shared"] and not self.is_turned
        graphlets: list[Graphlet] = []
        for number, (rows, decided) in enumerate(bursts):
            is_shared = is_shared and decided in ("share", "merge")
            events = [self._event(row, counted[row]) for row in rows]
            graphlet = Graphlet(decided, events=events)
            graphlets.append(graphlet)
            if is_shared:
                graphlet.snapshot = _name(number)
                first = number if is_map else 0
                for row, event in zip(rows, events, strict=True):
                    event.expression = self._expression(counted[row], first, number)
                self._value(graphlets, rows, (first, number))
        return graphlets

    def _expression(self, counts: dict[str, int], first: int, last: int) -> dict[str, int]:
        """Coefficients of snapshots of bursts, and of single events."""
        singles = {self._single_name(int(n[1:])): counts[n] for n in counts if n[0] == "@"}
        return _expression(counts, first, last) | {
            n: times for n, times in singles.items() if times
        }

    def _single_name(self, row: int) -> str:
        """What the snapshot of a single event is called."""
        return f"z{1 + [each for each in self.loops if self._is_single(each)].index(row)}"

    def _event(self, row: int, counts: dict[str, int]) -> GraphletEvent:
        name = f"{self.type} {self.of.table.ts[row] / 1e6:g}"
        return GraphletEvent(name, {query: counts[query] for query in self.names})

    def _value(self, graphlets: list[Graphlet], rows: list[int], numbers: tuple[int, int]) -> None:
        """The values of the last snapshot, from the first event of its graphlet; all must agree.

        A single event is by itself for those that look at it later. Snapshots that events are over
        are those with some numbers, from the first to the last.
        """
        last = graphlets[-1]
        known: dict[Any, dict[str, int]] = {g.snapshot: g.values for g in graphlets if g.values}
        known |= {e.snapshot: e.counts for g in graphlets for e in g.events if e.snapshot}
        for row, event in zip(rows, last.events, strict=True):
            admitting = [query.name for query in self.admitting.get(row, self.queries)]
            expressions = {
                query: self._expression(own, *numbers) for query, own in self.own[row].items()
            }
            for query in admitting:
                expressions.setdefault(query, event.expression or {})
                if query not in last.values:
                    rest = _evaluated(expressions[query], known, query)
                    last.values[query] = event.counts[query] - rest
            known[last.snapshot] = last.values
            if any(_evaluated(expressions[q], known, q) != event.counts[q] for q in admitting):
                reason = f"coefficients of {event.name} do not give its counts"
                raise InternalError(reason)
            if self._is_single(row):
                event.snapshot = self._single_name(row)
                event.expression = {event.snapshot: 1}
                known[event.snapshot] = event.counts


def _compared(query: Query, event_type: str) -> tuple[str, ...]:
    """What a query asks of neighbours in its loop."""
    place = next(place for place in query.places if place.type == event_type)
    pairs = dict(query.adjacent).get((place.index, place.index), ())
    return tuple(show_edge(query.edge_predicates[number]) for number in pairs)


def _name(number: int) -> str:
    """What a snapshot is called.

    >>> _name(0), _name(3)
    ('x', 'x4')
    """
    return _NAMES[number] if number < len(_NAMES) else f"x{number + 1}"


def _expression(counts: dict[str, int], first: int, last: int) -> dict[str, int]:
    """Coefficients of the snapshots from first to last: a probe counts all from its own on."""
    sums = [counts.get(f"#{number}", 0) for number in range(last + 1)] + [0]
    if first == last:
        return {_name(last): sums[last]} if sums[last] else {}
    parts = {_name(n): sums[n] - sums[n + 1] for n in range(first, last + 1)}
    return {name: times for name, times in parts.items() if times}


def _evaluated(expression: dict[str, int], known: dict[Any, dict[str, int]], query: str) -> int:
    """What an expression is worth for a query, by the snapshots that are known."""
    terms = expression.items()
    return sum(times * known[name].get(query, 0) for name, times in terms if name in known)
