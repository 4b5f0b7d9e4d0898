"""A plain compiled loop for one query, as an engineer would write who has only that to answer.

Events are sorted once for each partitioning and sifted for the query (loop_front.py); then one pass
goes through them with the numbers of every open window in a small array, in doubles
(loop_source.py); at last the partitions of a group are added up. All of it is compiled by Numba,
and written out as source for the query at hand. Nothing is shared but the sorting, neither among
queries nor among windows. It is a yardstick: fair, and kept simple.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numba import njit

from hamlet.bench.real.loop_form import Extreme, NotByHand, Total, form_of
from hamlet.bench.real.loop_front import Sieve, sorted_by
from hamlet.bench.real.loop_source import source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.bench.real.loop_front import Sorted
    from hamlet.plan.query import Aggregate, Query

    Doubles = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["HandLoop", "NotByHand", "form_of", "sorted_by"]


@cache
def _compiled(source: str) -> Any:
    """The loop; queries that differ in conditions and windows only have the same."""
    space: dict[str, Any] = {"np": np}
    exec(source, space)  # our own text
    return njit(nogil=True)(space["run"])


class HandLoop:
    """The loop of one query, compiled; `run` goes from sorted events to a table."""

    def __init__(self, query: Query) -> None:
        """Write the passes for a query."""
        self.query = query
        self.form = form_of(query)
        self.sieve = Sieve(query, self.form)
        self.kernel = _compiled(source_of(self.form))

    def run(self, placed: Sorted) -> pa.Table:
        """Windows and groups with their aggregates."""
        window = self.query.window
        begins, *arrays = self.sieve.run(placed)
        has_edge = any(step.edge is not None for step in self.form.steps)
        kept_room = int(np.diff(begins).max(initial=1)) if has_edge else 1
        how = (window.within_us, window.slide_us, window.overlap, kept_room)
        return self._finished(placed, *self.kernel(begins, *arrays, *how))

    def _finished(self, placed: Sorted, part: Ints, window: Ints, found: Doubles) -> pa.Table:
        """Partitions of one group added up."""
        keys = self.query.group_by
        of_partition, rows = placed.groups(keys)
        group = of_partition[part]
        sums = 1 + len(self.form.totals)
        if set(keys) != set(placed.keys) and len(part):
            low, groups = int(window.min()), len(rows)
            code, size = (window - low) * groups + group, (int(window.max()) - low + 1) * groups
            if size > 4 * len(code) + (1 << 16):
                some, code = np.unique(code, return_inverse=True)
            else:
                some = np.arange(size)
            total = np.zeros((len(some), found.shape[1]))
            total[:, sums:] = np.inf
            _add_up(code, found, sums, total)
            is_there = total[:, 0] > 0
            some, found = some[is_there], total[is_there]
            window, group = some // groups + low, some % groups
        numbers = list(np.ascontiguousarray(found.T))
        taken = pa.array(rows[group])
        columns = {key: placed.events.table.column(key).take(taken) for key in keys}
        named = {each.name: self._aggregate(each, numbers) for each in self.query.aggregates}
        return pa.table({"window": window * self.query.window.slide_us, **columns, **named})

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


@njit(nogil=True)
def _add_up(code, found, sums, total):  # type: ignore[no-untyped-def]
    for record in range(len(code)):
        into = code[record]
        for number in range(found.shape[1]):
            if number < sums:
                total[into, number] += found[record, number]
            else:
                total[into, number] = min(total[into, number], found[record, number])
