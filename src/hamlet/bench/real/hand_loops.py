"""A plain compiled loop for one query, as an engineer would write who has only that to answer.

The loop is written out as Python source for the steps of the query's pattern and compiled by Numba.
It walks through the events of a partition once, with the numbers of every open window in a small
array, in doubles; where trends must rise or fall, events are kept and looked through. Nothing is
shared, neither among queries nor among windows. It is a yardstick: fair, and kept simple.

It answers sequences of single and repeated types with absences between them, conditions on single
events, one condition on neighbours of a repeated type, and all aggregates of attributes that are
never null. Anything else raises `NotByHand`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numba import njit

from hamlet.kernel.encode.evaluate import evaluate, holds
from hamlet.plan.query import Absence, Match, Repeat, Sequence, Single

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hamlet.events.table import EventTable
    from hamlet.plan.predicates import EdgePredicate, Expression
    from hamlet.plan.query import Aggregate, Query

    Doubles = NDArray[np.float64]
    Ints = NDArray[np.int64]


class NotByHand(Exception):
    """A query that is not of a form that a loop is written for; says why."""


@dataclass(slots=True)
class Step:
    """A place of a sequence: repeated or not, with a condition on neighbours.

    bar: The place of the type that may not come between this step and the next one.
    """

    place: int
    repeats: bool = False
    edge: EdgePredicate | None = None
    bar: int | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """What is added up along trends: 1, or an attribute, at the events of some steps."""

    attribute: str | None
    steps: frozenset[int]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least (sign 1) or greatest (sign -1) value of an attribute at events of some steps."""

    sign: int
    attribute: str
    steps: frozenset[int]


@dataclass(slots=True)
class Form:
    """A query as a list of steps, and what is computed for it."""

    steps: list[Step] = field(default_factory=list)
    first_bar: int | None = None
    totals: list[Total] = field(default_factory=list)
    extremes: list[Extreme] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Numbers of one step in one window: of trends, totals, extremes."""
        return 1 + len(self.totals) + len(self.extremes)

    @property
    def bars(self) -> list[int]:
        """Places of types that may not come in between, each once for each step that has it."""
        bars = [step.bar for step in self.steps if step.bar is not None]
        return bars if self.first_bar is None else [*bars, self.first_bar]


# From query to form


def form_of(query: Query) -> Form:
    """The steps of a query, or the reason why there is no loop for it."""
    if query.is_conjunction:
        raise NotByHand("AND joins two patterns")
    if query.match != Match.ANY:
        raise NotByHand("it keeps some trends only")
    form = Form()
    for item in _items(query.branches[0]):
        _add(form, query, item)
    if sum(step.edge is not None for step in form.steps) > 1:
        raise NotByHand("two conditions on neighbours")
    for aggregate in query.aggregates:
        _add_aggregate(form, aggregate)
    return form


def _items(pattern: Any) -> tuple[Any, ...]:
    return pattern.items if isinstance(pattern, Sequence) else (pattern,)


def _add(form: Form, query: Query, item: Any) -> None:
    if isinstance(item, Absence):
        negated = query.negations[item.negation]
        if not isinstance(negated, Single):
            raise NotByHand("NOT of more than a type")
        if not form.steps:
            form.first_bar = negated.place
        elif form.steps[-1].bar is None:
            form.steps[-1].bar = negated.place
        else:
            raise NotByHand("two NOT in one place")
        return
    body = item.body if isinstance(item, Repeat) else item
    if not isinstance(body, Single):
        raise NotByHand("a pattern inside a pattern")
    form.steps.append(Step(body.place, isinstance(item, Repeat), _edge(query, body.place)))


def _edge(query: Query, place: int) -> EdgePredicate | None:
    """The condition on two neighbours at one place; those between places have no loop."""
    for pair, numbers in query.adjacent:
        if numbers and pair[0] != pair[1]:
            raise NotByHand("a condition on neighbours of two types")
        if numbers and pair == (place, place):
            (number,) = numbers if len(numbers) == 1 else (None,)
            predicate = None if number is None else query.edge_predicates[number]
            if predicate is None or not predicate.is_ordered:
                raise NotByHand("a condition on neighbours that is not f(one) op g(next)")
            return predicate
    return None


def _add_aggregate(form: Form, aggregate: Aggregate) -> None:
    if aggregate.counts_trends:
        return
    if aggregate.measure is not None:
        reason = f"it asks for {aggregate.function}({aggregate.measure})"
        raise NotByHand(reason)
    steps = frozenset(i for i, step in enumerate(form.steps) if step.place in aggregate.places)
    if aggregate.sign:
        _once(form.extremes, Extreme(aggregate.sign, str(aggregate.attribute), steps))
        return
    if aggregate.attribute is None or "present" in aggregate.weights:
        _once(form.totals, Total(None, steps))
    if aggregate.is_summed:
        _once(form.totals, Total(aggregate.attribute, steps))


def _once(entries: list[Any], entry: Any) -> None:
    if entry not in entries:
        entries.append(entry)


# Source


class _Writer:
    """Lines of source, indented."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, depth: int, *lines: str) -> None:
        self.lines += ["    " * depth + line for line in lines]


def source_of(form: Form) -> str:
    """The loop over all partitions, as text."""
    out = _Writer()
    width, steps = form.width, len(form.steps)
    barred = [i for i, step in enumerate(form.steps) if step.bar is not None]
    # A row of a window has the numbers of each step, then of each step before a bar what may go on.
    row = width * (steps + len(barred))
    out(
        0,
        "def run(begins, ts, moment, mask, f, g, values, within, slide, overlap, room, kept_room):",
    )
    out(1, f"cur, old = np.zeros((overlap, {row})), np.zeros({row})")
    out(1, "closed, begin = np.zeros(overlap, np.bool_), np.zeros(overlap, np.int64)")
    out(1, f"kept, key = np.empty((kept_room, overlap, {width})), np.empty(kept_room)")
    out(1, "part, window = np.empty(room, np.int64), np.empty(room, np.int64)")
    out(1, f"found = np.empty((room, {width}))", "n = 0")
    out(1, "for p in range(len(begins) - 1):")
    out(2, "i, end, stored, low, high = begins[p], begins[p + 1], 0, 0, -(1 << 62)")
    out(2, "while i < end:")
    out(3, "t = ts[i]", "first, last = (t - within) // slide + 1, t // slide")
    out(3, "for j in range(low, min(first, high + 1)):")
    _write_emit(out, 4, form)
    out(3, "for j in range(max(high + 1, first), last + 1):")
    out(4, "s = j % overlap", "cur[s] = 0.0", "closed[s] = False", "begin[s] = stored")
    for base in range(steps + len(barred)):
        for x in range(len(form.extremes)):
            out(4, f"cur[s, {width * base + 1 + len(form.totals) + x}] = np.inf")
    out(3, "low, high = first, last", "k = i + 1")
    out(3, "while k < end and moment[k] == moment[i]:", "    k += 1")
    out(3, "seen = mask[i]")
    out(3, "for e in range(i + 1, k):", "    seen |= mask[e]")
    out(3, "after = stored")
    for step in form.steps:
        if step.edge is not None:
            out(
                3,
                "for e in range(i, k):",
                f"    after += (mask[e] >> {form.steps.index(step)}) & 1",
            )
    out(3, "for j in range(first, last + 1):")
    out(4, "s = j % overlap")
    out(4, "row, before, place = cur[s], cur[s], stored")
    out(4, f"if k > i + 1 or seen >= {1 << steps}:")
    out(5, "old[:] = row", "before = old")
    for number in range(len(barred)):
        base = width * (steps + number)
        out(5, f"if seen & {1 << (steps + number)}:")
        out(6, f"row[{base}:{base + width}] = 0.0")
        for x in range(len(form.extremes)):
            out(6, f"row[{base + 1 + len(form.totals) + x}] = np.inf")
    out(4, "for e in range(i, k):", "    m = mask[e]")
    for at in reversed(range(steps)):
        _write_step(out, 5, form, at, barred)
    if form.first_bar is not None:
        out(4, f"if seen & {1 << (steps + len(barred))}:", "    closed[s] = True")
    out(3, "stored = after", "i = k")
    out(2, "for j in range(low, high + 1):")
    _write_emit(out, 3, form)
    out(1, "return part[:n], window[:n], found[:n]")
    return "\n".join(out.lines)


def _write_emit(out: _Writer, depth: int, form: Form) -> None:
    """Write out what a window has come to."""
    width, steps = form.width, len(form.steps)
    barred = sum(step.bar is not None for step in form.steps)
    base = width * (steps + barred - 1) if form.steps[-1].bar is not None else width * (steps - 1)
    out(depth, f"if cur[j % overlap, {base}] > 0.0:")
    out(depth + 1, "if n == len(part):")
    out(depth + 2, "part, window = np.append(part, part), np.append(window, window)")
    out(depth + 2, "found = np.concatenate((found, found))")
    out(depth + 1, "part[n], window[n] = p, j")
    out(depth + 1, f"found[n] = cur[j % overlap, {base}:{base + width}]", "n += 1")


def _write_step(out: _Writer, depth: int, form: Form, at: int, barred: list[int]) -> None:
    """Write what an event adds at one step."""
    step, width, steps = form.steps[at], form.width, len(form.steps)
    totals, extremes = len(form.totals), len(form.extremes)
    own, source = width * at, None
    if at > 0:
        source = width * (steps + barred.index(at - 1)) if at - 1 in barred else width * (at - 1)
    out(depth, f"if m & {1 << at}:")
    depth += 1
    if source is None:
        out(depth, "c = 0.0 if closed[s] else 1.0")
        out(
            depth,
            *(f"a{i} = 0.0" for i in range(totals)),
            *(f"x{i} = np.inf" for i in range(extremes)),
        )
    else:
        out(depth, f"c = before[{source}]")
        out(depth, *(f"a{i} = before[{source + 1 + i}]" for i in range(totals)))
        out(depth, *(f"x{i} = before[{source + 1 + totals + i}]" for i in range(extremes)))
    if step.repeats and step.edge is None:
        out(depth, f"c += before[{own}]")
        out(depth, *(f"a{i} += before[{own + 1 + i}]" for i in range(totals)))
        out(depth, *(f"x{i} = min(x{i}, before[{own + 1 + totals + i}])" for i in range(extremes)))
    elif step.repeats and step.edge is not None:
        operator = {"=": "==", "<>": "!="}.get(step.edge.operator, step.edge.operator)
        out(depth, "for b in range(begin[s], stored):")
        out(depth + 1, f"if key[b] {operator} g[e]:")
        out(depth + 2, "c += kept[b, s, 0]")
        out(depth + 2, *(f"a{i} += kept[b, s, {1 + i}]" for i in range(totals)))
        out(
            depth + 2, *(f"x{i} = min(x{i}, kept[b, s, {1 + totals + i}])" for i in range(extremes))
        )
    for i, total in enumerate(form.totals):
        if at in total.steps:
            out(depth, f"a{i} += c" if total.attribute is None else f"a{i} += c * values[{i}, e]")
    for i, extreme in enumerate(form.extremes):
        if at in extreme.steps:
            out(depth, "if c > 0.0:", f"    x{i} = min(x{i}, values[{totals + i}, e])")
    targets = [own] + ([width * (steps + barred.index(at))] if at in barred else [])
    for base in targets:
        out(depth, f"row[{base}] += c")
        out(depth, *(f"row[{base + 1 + i}] += a{i}" for i in range(totals)))
        place = base + 1 + totals
        out(depth, *(f"row[{place + i}] = min(row[{place + i}], x{i})" for i in range(extremes)))
    if step.edge is not None:
        out(depth, "key[place], kept[place, s, 0] = f[e], c")
        out(depth, *(f"kept[place, s, {1 + i}] = a{i}" for i in range(totals)))
        out(depth, *(f"kept[place, s, {1 + totals + i}] = x{i}" for i in range(extremes)))
        out(depth, "place += 1")


@cache
def _compiled(source: str) -> Any:
    """The loop; queries that differ in conditions and windows only have the same."""
    space: dict[str, Any] = {"np": np}
    exec(source, space)  # our own text
    return njit(nogil=True)(space["run"])


# Running


@dataclass(slots=True)
class Sorted:
    """Rows of a table by partition and time; queries with the same keys have it in common.

    Attributes:
        rows: Their numbers in the table.
        part: The partition of each.
        firsts: The first row of each partition.
        moment: A number that is equal for rows of one partition that are simultaneous.
    """

    rows: Ints
    part: Ints
    firsts: Ints
    moment: Ints


def sorted_by(table: EventTable, keys: tuple[str, ...]) -> Sorted:
    """The rows that have a value for every key, in order of partition and time."""
    part, rows = np.zeros(len(table), np.int64), np.arange(len(table))
    for key in keys:
        column = table.table.column(key).combine_chunks()
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        part = part * (len(column.dictionary) + 1) + codes
        rows = rows[codes[rows] >= 0] if column.null_count else rows
    ts, part = table.ts[rows], part[rows]
    times = [ts] if table.order is None else [table.order.data[rows], ts]
    # Most files are in order of time.
    is_sorted = table.order is None and bool((ts[1:] >= ts[:-1]).all())
    order = np.argsort(part, kind="stable") if is_sorted else np.lexsort([*times, part])
    rows, part, times = rows[order], part[order], [each[order] for each in times]
    is_first = _changes(part)
    moment = np.cumsum(np.logical_or.reduce([is_first, *(_changes(each) for each in times)]))
    return Sorted(rows, np.cumsum(is_first) - 1, rows[is_first], moment)


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value is another than the one before it."""
    is_other = np.ones(len(values), np.bool_)
    is_other[1:] = values[1:] != values[:-1]
    return is_other


class HandLoop:
    """The loop of one query, compiled; `run` goes from a table to a table."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.form = form_of(query)
        self.kernel = _compiled(source_of(self.form))

    def run(self, table: EventTable, ordered: Sorted) -> pa.Table:
        """Windows and groups with their aggregates."""
        window = self.query.window
        used, begins, part, mask = self._sifted(table, ordered)
        rows = ordered.rows[used]
        sizes = np.diff(begins)
        found = self.kernel(
            begins,
            table.ts[rows],
            ordered.moment[used],
            mask,
            *self._sides(table, rows),
            self._values(table, rows),
            window.within_us,
            window.slide_us,
            window.overlap,
            len(sizes) + 1024,
            int(sizes.max(initial=1)) if any(s.edge for s in self.form.steps) else 1,
        )
        return self._finished(table, ordered.firsts[part], *found)

    def _sifted(self, table: EventTable, ordered: Sorted) -> tuple[Ints, Ints, Ints, Ints]:
        """Rows that some step or bar is about, where partitions begin, and what each row fits."""
        places = [step.place for step in self.form.steps] + self.form.bars
        mask = np.zeros(len(table), np.int64)
        for bit, place in enumerate(places):
            mask |= self._fits(table, place).astype(np.int64) << bit
        mask = mask[ordered.rows]
        used = np.flatnonzero(mask)
        part = ordered.part[used]
        is_first = _changes(part)
        begins = np.append(np.flatnonzero(is_first), len(part))
        return used, begins, part[is_first], mask[used]

    def _fits(self, table: EventTable, place: int) -> NDArray[np.bool_]:
        words = [] if table.types.words is None else table.types.words.to_pylist()
        kind = self.query.places[place].type
        fits: NDArray[np.bool_] = table.types.data == (words.index(kind) if kind in words else -1)
        condition = self.query.local[place]
        if condition is not None:
            fits = fits & holds(condition, lambda c: table.column(c.attribute), len(table))
        return fits

    def _sides(self, table: EventTable, rows: Ints) -> Iterator[Doubles]:
        """Both sides of the condition on neighbours."""
        edge = next((step.edge for step in self.form.steps if step.edge is not None), None)
        for side in ("previous", "next"):
            yield np.empty(0) if edge is None else _doubles(table, getattr(edge, side))[rows]

    def _values(self, table: EventTable, rows: Ints) -> Doubles:
        """For each total and extreme the values of its attribute; of the greatest with a sign."""
        entries = [(1, total.attribute) for total in self.form.totals]
        entries += [(extreme.sign, extreme.attribute) for extreme in self.form.extremes]
        values = np.empty((len(entries), len(rows)))
        for row, (sign, attribute) in zip(values, entries, strict=True):
            if attribute is not None:
                column = table.column(attribute)
                if column.valid is not None and not column.valid[rows].all():
                    why = f"{attribute} has nulls"
                    raise NotByHand(why)
                row[:] = sign * column.data[rows].astype(np.float64)
        return values

    def _finished(
        self, table: EventTable, firsts: Ints, part: Ints, window: Ints, found: Doubles
    ) -> pa.Table:
        """Partitions of one group added up."""
        keys = self.query.group_by
        columns: dict[str, Any] = {"window": window}
        rows = pa.array(firsts[part])
        for key in keys:
            columns[key] = table.table.column(key).combine_chunks().take(rows)
        ways = []
        for number, how in enumerate(self._ways()):
            columns[f"n{number}"] = found[:, number]
            ways.append((f"n{number}", how))
        grouped = pa.table(columns).group_by(["window", *keys]).aggregate(ways)
        numbers = [grouped[f"n{i}_{how}"].to_numpy() for i, how in enumerate(self._ways())]
        named = {a.name: self._aggregate(a, numbers) for a in self.query.aggregates}
        starts = grouped["window"].to_numpy() * self.query.window.slide_us
        return pa.table({"window": starts, **{k: grouped[k] for k in keys}, **named})

    def _ways(self) -> list[str]:
        return ["sum"] * (1 + len(self.form.totals)) + ["min"] * len(self.form.extremes)

    def _aggregate(self, aggregate: Aggregate, numbers: list[Doubles]) -> Doubles:
        if aggregate.counts_trends:
            return numbers[0]
        form = self.form
        steps = frozenset(i for i, step in enumerate(form.steps) if step.place in aggregate.places)
        if aggregate.sign:
            entry = Extreme(aggregate.sign, str(aggregate.attribute), steps)
            return aggregate.sign * numbers[1 + len(form.totals) + form.extremes.index(entry)]
        if not aggregate.is_summed:
            return numbers[1 + form.totals.index(Total(None, steps))]
        total = numbers[1 + form.totals.index(Total(aggregate.attribute, steps))]
        if aggregate.finisher == "sum":
            return total
        return total / numbers[1 + form.totals.index(Total(None, steps))]


def _doubles(table: EventTable, expression: Expression | None) -> Doubles:
    """One side of a condition on neighbours; NaN, which stands so to nothing, where it is null."""
    if expression is None:
        raise NotByHand("a condition on neighbours without two sides")
    values = evaluate(expression, lambda column: table.column(column.attribute), len(table))
    if values.kind != "number":
        raise NotByHand("a condition on neighbours that compares no numbers")
    data = values.data.astype(np.float64)
    return data if values.valid is None else np.where(values.valid, data, np.nan)
