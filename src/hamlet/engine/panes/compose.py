"""From the answers of queries over panes to what a kernel would have emitted for windows.

The answers come as a partial answer (kernel/finish/partial.py) in which a window is a pane. Each
template of each partition is put together by itself; its maps are columns with a row for each pane
that has any event of it, so time without events costs nothing. Windows with the same panes have the
same numbers, and are worked out once.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from hamlet.engine.closed import ClosedSet
from hamlet.engine.panes.answers import answers_of_set, constant
from hamlet.engine.panes.maps import Cell, applied
from hamlet.engine.panes.records import PaneRecords
from hamlet.engine.state.closed import KeyedEmission, groups_of
from hamlet.kernel.finish.partial_columns import conformed
from hamlet.kernel.finish.totals import picks_of
from hamlet.plan.program import compile_set
from hamlet.plan.windows import end_of_window, first_window, last_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from hamlet.engine.panes.answers import Answers
    from hamlet.engine.panes.derive import Form, Panes
    from hamlet.engine.panes.maps import Map
    from hamlet.plan.query import Query, Window
    from hamlet.plan.workload import SharableSet

    Longs = NDArray[np.int64]


def compose(panes: Panes, table: pa.Table) -> Iterator[ClosedSet]:
    """What each set gives for the windows of the partitions whose panes are in a table.

    Args:
        panes: The queries over panes.
        table: Their partial answers: of one query of the workload and one partition all that there
            is, or nothing.
    """
    table = conformed(table)
    for sharable, pane_set, forms in zip(panes.sets, panes.pane_sets, panes.forms, strict=True):
        answers = answers_of_set(panes.plan, pane_set, table)
        if answers is not None:
            yield _closed(panes, sharable, forms, answers)


def _closed(
    panes: Panes, sharable: SharableSet, forms: Sequence[Form], answers: Answers
) -> ClosedSet:
    program = compile_set(panes.plan, sharable)
    records = PaneRecords(answers.mode)
    for form in forms:
        query = panes.plan.queries[form.query].query
        is_it = program.template_query == sharable.queries.index(form.query)
        (unit,) = np.flatnonzero(is_it & (program.template_role == form.role)).tolist()
        for part in range(answers.keys.num_rows if answers.keys.num_columns else 1):
            windows = _windows(form, query, panes.pane_us, answers, part)
            if windows is not None:
                records.add(part, unit, *windows)
    queries = [panes.plan.queries[number].query for number in sharable.queries]
    (emission,), groups = groups_of([KeyedEmission(records.emission(), answers.keys)], queries)
    return ClosedSet(program, emission, answers.digits, answers.is_integer, groups)


def _windows(
    form: Form, query: Query, pane_us: int, answers: Answers, part: int
) -> tuple[Longs, Cell] | None:
    """The windows of one template and partition that have a trend, and their numbers."""
    numbers = {*form.entries.values(), *(each for some in form.barred for each in some)}
    present = [answers.of[n].panes_of(part) for n in sorted(numbers) if n in answers.of]
    panes = np.unique(np.concatenate(present)) if present else np.zeros(0, np.int64)
    if not len(panes):
        return None
    picks = picks_of(query)
    empty = _empty(query, answers)
    maps = _maps(form, answers, part, panes, empty, picks)
    window, low, high = _ranges(query.window, pane_us, panes)
    is_new = np.ones(len(window), np.bool_)
    is_new[1:] = (np.diff(low) != 0) | (np.diff(high) != 0)
    one = _counting(empty, constant(1, answers.mode))
    begin = {(0, row): one.take(np.zeros(int(is_new.sum()), np.int64)) for row in form.starts}
    state = applied(begin, maps, low[is_new], high[is_new], picks)
    ended = [state[0, row] for row in form.ends if (0, row) in state]
    if not ended:
        return None
    total = reduce(lambda a, b: a.beside(b, picks), ended)
    which = np.cumsum(is_new) - 1
    chosen = np.flatnonzero(total.count.is_some()[which])
    return window[chosen], total.take(which[chosen])


def _ranges(window: Window, pane_us: int, panes: Longs) -> tuple[Longs, Longs, Longs]:
    """Windows with any of some panes, in order: their numbers, first panes, and panes after."""
    slide, within = window.slide_us // pane_us, window.within_us // pane_us
    first, last = first_window(panes, within, slide), last_window(panes, slide)
    # Each pane adds the windows that none before it was in.
    first[1:] = np.maximum(first[1:], last[:-1] + 1)
    counts = np.maximum(last - first + 1, 0)
    begins = np.cumsum(counts) - counts
    number = np.repeat(first - begins, counts) + np.arange(counts.sum())
    low = np.searchsorted(panes, number * slide)
    return number, low, np.searchsorted(panes, end_of_window(number, within, slide))


# Maps


def _maps(
    form: Form,
    answers: Answers,
    part: int,
    panes: Longs,
    empty: Cell,
    picks: Sequence[np.ufunc],
) -> Map:
    """The maps of some panes, and at the end that of a pane without events."""
    maps: Map = {}
    cells = {
        number: answers.of[number].at(panes, part)
        for number in dict.fromkeys(form.entries.values())
        if number in answers.of
    }
    for place, number in form.entries.items():
        if number in cells:
            maps[place] = cells[number]
    nothing = empty.take(np.zeros(len(panes) + 1, np.int64))
    for row, barred in enumerate(form.barred):
        # Trends that get no event in a pane wait on, unless a guard has a match.
        waits = np.ones(len(panes) + 1, np.int64)
        for number in barred:
            if number in answers.of:
                waits[np.searchsorted(panes, answers.of[number].panes_of(part))] = 0
        ones = constant(1, answers.mode).take_or_zero(waits - 1)
        stays, moves = _counting(nothing, ones), maps.get((row, row))
        maps[row, row] = stays if moves is None else stays.beside(moves, picks)
    return maps


def _empty(query: Query, answers: Answers) -> Cell:
    """The cell of no way at all."""
    zero = constant(0, answers.mode)
    sums, extremes = answers.widths(query)
    return Cell(zero, (zero,) * sums, (np.full(1, np.nan),) * extremes)


def _counting(empty: Cell, count: object) -> Cell:
    """The cell of ways without events."""
    return Cell(count, empty.sums, empty.extremes)
