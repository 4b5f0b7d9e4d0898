"""What comes before the loops: events sorted once for each partitioning, and sifted for each query.

Sorting is a counting pass over the codes of the key, for files are in order of time; columns are
gathered in that order once, for all queries. Sifting is one compiled pass for a query, written out
for its types and conditions: it keeps the events that the query is about, with what it asks of
them, one behind the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numba import njit

from hamlet.bench.real.loop_form import NotByHand
from hamlet.kernel.encode.evaluate import evaluate, holds
from hamlet.plan.predicates import COMPARISONS, FLIPPED, Column, Constant, Expression, Operation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.bench.real.loop_form import Form
    from hamlet.events.columns import Values
    from hamlet.events.table import EventTable
    from hamlet.plan.query import Query

    Doubles = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(slots=True)
class Sorted:
    """Rows of a table by partition and time; queries with the same keys have it in common.

    Attributes:
        events: The table.
        keys: The attributes that it is partitioned by.
        rows: Their numbers in the table.
        starts: Where each partition begins, and where the last one ends.
        ts: The time of each.
        kind: The code of its type.
        moment: A number that is equal for rows of one partition that are simultaneous.
    """

    events: EventTable
    keys: tuple[str, ...]
    rows: NDArray[np.int32]
    starts: Ints
    ts: Ints
    kind: NDArray[np.int32]
    moment: Ints
    _columns: dict[Any, NDArray[Any]] = field(default_factory=dict)

    def numbers(self, expression: Expression) -> Doubles:
        """An expression over single events as doubles, NaN where it is null."""
        key = ("number", expression)
        if key not in self._columns:
            self._columns[key] = _doubles(self.events, expression)[self.rows]
        return self._columns[key]

    def codes(self, attribute: str) -> NDArray[np.int32]:
        """The codes of a text, -1 where it is null."""
        key = ("text", attribute)
        if key not in self._columns:
            values = self.events.column(attribute)
            codes = values.data
            codes = codes if values.valid is None else np.where(values.valid, codes, -1)
            self._columns[key] = codes.astype(np.int32)[self.rows]
        return self._columns[key]

    def truth(self, condition: Expression) -> NDArray[np.bool_]:
        """Where a condition of single events holds."""
        key = ("truth", condition)
        if key not in self._columns:
            events = self.events
            holding = holds(condition, lambda c: events.column(c.attribute), len(events))
            self._columns[key] = holding[self.rows]
        return self._columns[key]

    def groups(self, names: tuple[str, ...]) -> tuple[Ints, NDArray[np.int32]]:
        """The group of each partition, and for each group a row that is in it."""
        some = self.starts[:-1] < self.starts[1:]
        first = np.zeros(len(some), np.int32)
        first[some] = self.rows[self.starts[:-1][some]]
        if set(names) == set(self.keys):
            return np.arange(len(first)), first
        code = np.zeros(len(first), np.int64)
        for name in names:
            codes, count = _codes(self.events.table.column(name).take(pa.array(first)))
            code = code * (count + 1) + codes
        _, at, group = np.unique(code, return_index=True, return_inverse=True)
        return group, first[at]


def sorted_by(events: EventTable, keys: tuple[str, ...]) -> Sorted:
    """The rows that have a value for every key, in order of partition and time."""
    part, count = np.zeros(len(events), np.int64), 1
    for key in keys:
        codes, size = _codes(events.table.column(key))
        part = np.where((part < 0) | (codes < 0), -1, part * size + codes) if count > 1 else codes
        count *= size
    if len(keys) > 1:
        dense = pa.array(part).dictionary_encode()
        is_there = dense.dictionary.to_numpy() >= 0
        codes = dense.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        part, count = np.where(is_there[codes], codes, -1), len(is_there)
    order = np.empty(0, np.int64) if events.order is None else events.order.data.astype(np.int64)
    before = np.empty(0, np.int64)
    if not _is_in_order(events.ts, order):
        before = np.lexsort([order, events.ts] if len(order) else [events.ts])
    rows, starts = _counted(part, count, before)
    ts = events.ts[rows]
    moment = np.empty(len(rows), np.int64)
    _find_moments(starts, ts, order[rows] if len(order) else order, moment)
    return Sorted(events, keys, rows, starts, ts, events.types.data[rows], moment)


def _codes(column: Any) -> tuple[Ints, int]:
    """The codes of a column, -1 for null, and how many there are."""
    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    indices = column.indices.fill_null(-1) if column.null_count else column.indices
    return indices.to_numpy(zero_copy_only=False).astype(np.int64), len(column.dictionary)


@njit(nogil=True)
def _is_in_order(ts, order):  # type: ignore[no-untyped-def]
    for i in range(1, len(ts)):
        if ts[i] < ts[i - 1]:
            return False
        if len(order) and ts[i] == ts[i - 1] and order[i] < order[i - 1]:
            return False
    return True


@njit(nogil=True)
def _counted(part, count, before):  # type: ignore[no-untyped-def]
    starts = np.zeros(count + 1, np.int64)
    for code in part:
        if code >= 0:
            starts[code + 1] += 1
    for code in range(count):
        starts[code + 1] += starts[code]
    ends = starts[:-1].copy()
    rows = np.empty(starts[-1], np.int32)
    for place in range(len(part)):
        row = before[place] if len(before) else place
        code = part[row]
        if code >= 0:
            rows[ends[code]] = row
            ends[code] += 1
    return rows, starts


@njit(nogil=True)
def _find_moments(starts, ts, order, moment):  # type: ignore[no-untyped-def]
    number = 0
    for p in range(len(starts) - 1):
        number += 1
        for i in range(starts[p], starts[p + 1]):
            if i > starts[p] and (ts[i] != ts[i - 1] or (len(order) and order[i] != order[i - 1])):
                number += 1
            moment[i] = number


def _doubles(events: EventTable, expression: Expression) -> Doubles:
    def lookup(column: Column) -> Values:
        return events.column(column.attribute)

    values = evaluate(expression, lookup, len(events))
    if values.kind != "number":
        reason = "it compares or adds up what is no number"
        raise NotByHand(reason)
    data: Doubles = values.data.astype(np.float64, copy=False)
    return data if values.valid is None else np.where(values.valid, data, np.nan)


# Sifting


class Sieve:
    """The compiled pass that keeps the events of a query, and what it is handed."""

    def __init__(self, query: Query, form: Form) -> None:
        """Write the pass for a query."""
        self.query, self.form = query, form
        self._arrays: list[tuple[str, Any]] = []
        self._constants: list[Any] = []
        self.sift = _compiled(self._text())

    def run(self, placed: Sorted) -> Any:
        """Where partitions begin, times, moments, masks, both sides, and values of attributes."""
        words = placed.events.type_codes
        constants = [
            words.get(each, -2) if isinstance(each, str) else _constant(each, placed)
            for each in self._constants
        ]
        arrays = [getattr(placed, how)(what) for how, what in self._arrays]
        for place in self._summed:
            if np.isnan(arrays[place]).any():
                reason = f"{self._arrays[place][1].attribute} has nulls"
                raise NotByHand(reason)
        return self.sift(placed.starts, placed.ts, placed.moment, placed.kind, *arrays, *constants)

    def _text(self) -> str:
        form = self.form
        places = [step.place for step in form.steps] + form.bars
        asked = [self._asked(place) for place in places]
        edge = next((step.edge for step in form.steps if step.edge is not None), None)
        sides = ["0.0", "0.0"]
        if edge is not None:
            if edge.previous is None or edge.next is None:
                raise NotByHand("a condition on neighbours without two sides")
            sides = [self._array("numbers", side) for side in (edge.previous, edge.next)]
        self._summed: list[int] = []
        values = []
        for sign, attribute in [
            *((1, total.attribute) for total in form.totals),
            *((extreme.sign, extreme.attribute) for extreme in form.extremes),
        ]:
            if attribute is None:
                values.append("1.0")
                continue
            name = self._array("numbers", Column("this", attribute))
            self._summed.append(int(name[1 : name.index("[")]))
            values.append(f"-{name}" if sign < 0 else name)
        names = [f"v{i}" for i in range(len(values))]
        kept = ["f", "g"] if edge is not None else []
        given = [f"a{i}" for i in range(len(self._arrays))]
        given += [f"k{i}" for i in range(len(self._constants))]
        lines = [
            f"def sift({', '.join(['starts', 'ts', 'moment', 'kind', *given])}):",
            "    n, size = 0, len(ts)",
            "    begins = np.zeros(len(starts), np.int64)",
            "    out_ts, out_moment = np.empty(size, np.int64), np.empty(size, np.int64)",
            "    out_mask = np.empty(size, np.int64)",
            *(f"    {name} = np.empty(size)" for name in [*kept, *names]),
            "    for p in range(len(starts) - 1):",
            "        begins[p] = n",
            "        for i in range(starts[p], starts[p + 1]):",
            "            t, m = kind[i], 0",
        ]
        for bit, condition in enumerate(asked):
            lines += [f"            if {condition}:", f"                m |= {1 << bit}"]
        lines += [
            "            if m != 0:",
            "                out_ts[n], out_moment[n], out_mask[n] = ts[i], moment[i], m",
        ]
        lines += [
            f"                {name}[n] = {value}"
            for name, value in zip([*kept, *names], [*sides[: len(kept)], *values], strict=True)
        ]
        both = ", ".join(f"{name}[:n]" for name in (kept or ["out_nothing", "out_nothing"]))
        given_back = "".join(f", {name}[:n]" for name in names)
        lines += [
            "                n += 1",
            "    begins[len(starts) - 1] = n",
            "    out_nothing = np.empty(n if n < 1 else 1)",
            f"    return begins, out_ts[:n], out_moment[:n], out_mask[:n], {both}{given_back}",
        ]
        return "\n".join(lines)

    def _asked(self, place: int) -> str:
        """What makes an event one of a place."""
        text = f"t == {self._constant(self.query.places[place].type)}"
        condition = self.query.local[place]
        return text if condition is None else f"{text} and {self._condition(condition)}"

    def _condition(self, condition: Expression) -> str:
        if isinstance(condition, Operation):
            if condition.operator in ("and", "or"):
                parts = (self._condition(operand) for operand in condition.operands)
                return "(" + f" {condition.operator} ".join(parts) + ")"
            if condition.operator in COMPARISONS:
                text = self._comparison(condition)
                if text is not None:
                    return text
        return self._array("truth", condition)

    def _comparison(self, condition: Operation) -> str | None:
        """A column compared with a constant; nothing compares with NaN but by !=."""
        (one, other), symbol = condition.operands, condition.operator
        if isinstance(one, Constant):
            one, other, symbol = other, one, FLIPPED[symbol]
        if not isinstance(one, Column) or not isinstance(other, Constant):
            return None
        if isinstance(other.value, str) and symbol == "=":
            constant = self._constant((one.attribute, other.value))
            return f"{self._array('codes', one.attribute)} == {constant}"
        if other.kind not in ("int", "float") or symbol == "!=":
            return None
        operator = "==" if symbol == "=" else symbol
        return f"{self._array('numbers', one)} {operator} {self._constant(float(other.value))}"  # type: ignore[arg-type]

    def _array(self, how: str, what: Any) -> str:
        if (how, what) not in self._arrays:
            self._arrays.append((how, what))
        return f"a{self._arrays.index((how, what))}[i]"

    def _constant(self, value: Any) -> str:
        self._constants.append(value)
        return f"k{len(self._constants) - 1}"


def _constant(value: Any, placed: Sorted) -> float | int:
    """A number, or the code of a word of a text, which may be none."""
    if isinstance(value, float):
        return value
    attribute, word = value
    words = placed.events.column(attribute).words
    code = -2 if words is None else words.index(pa.scalar(word, words.type)).as_py()
    return code if code >= 0 else -2


@cache
def _compiled(source: str) -> Any:
    """A pass; queries that differ in constants only have the same."""
    space: dict[str, Any] = {"np": np}
    exec(source, space)  # our own text
    return njit(nogil=True)(space["sift"])
