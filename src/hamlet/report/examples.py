"""Examples for a page: trends behind the rows of results that a reader looks at first.

A page cannot read events, so what its rows open to is drawn when the run is kept: of each query the
greatest results, and the first ones of the group that the page shows first. How many rows that are
is a matter of what drawing them takes; for the others the page says how to ask for examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.engine.examples import Row, compares, events_of_row, examples_of, sides_of
from hamlet.errors import HamletError
from hamlet.report.columns import parts_of
from hamlet.report.findings import found_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.engine.examples import Example, Origin, Trend
    from hamlet.events.table import EventTable
    from hamlet.plan.query import Query
    from hamlet.report.columns import Part
    from hamlet.results import Results

_TRENDS_OF_ROW = 3
_EVENTS_SHOWN = 12
_COLUMNS_SHOWN = 16
_GREATEST, _FIRST = 3, 12
_MOST_ROWS, _FEW_ROWS = 120, 10
# What is looked at for all rows, in events, or pairs of them where conditions look at both: about
# two seconds. No row may take a large part of it.
_STEPS, _STEPS_OF_ROW = 1_000_000, 200_000


def drawn_for(results: Results) -> list[dict[str, Any]]:
    """Examples of some rows of results as plain data; none where the events cannot be read again.

    query: The name of the query.
    start_us, end_us: When the window begins and ends.
    group: The group, as JSON text.
    count: How many trends, or pairs of trends, there are, as digits.
    examples: Each a list of trends: one, or the two of a pair. A trend has its length and events,
        of a long one the first and last; an event has texts by column.
    """
    if results.origin is None:
        return []
    queries = [planned.query for planned in results.origin.plan.queries]
    asked = _asked(parts_of(results.table, queries))
    for some in (asked[:_MOST_ROWS], asked[:_FEW_ROWS]):
        try:
            return _drawn(results.origin, some)
        except (HamletError, OSError, pa.ArrowException):
            continue  # too many events, or they are not there any more
    return []


def _asked(parts: Sequence[Part]) -> list[tuple[int, Row]]:
    """The rows to draw examples of: of each query its first choice, then all second ones."""
    choices = [_chosen(part) for part in parts]
    deepest = max(map(len, choices), default=0)
    return [
        (number, rows[depth])
        for depth in range(deepest)
        for number, rows in enumerate(choices)
        if depth < len(rows)
    ]


def _chosen(part: Part) -> list[Row]:
    """Rows of a query, the one with the greatest result first."""
    if not len(part.start_us) or not part.width:
        return []
    finding = found_by(part)
    value = part.column("value", finding.aggregate).fill_null(-np.inf).to_numpy()
    greatest = np.argsort(-value, kind="stable")[:_GREATEST]
    of_group = np.flatnonzero(part.group == finding.group)
    first = of_group[np.argsort(part.window[of_group], kind="stable")][:_FIRST]
    rows = list(dict.fromkeys([*greatest.tolist(), *first.tolist()]))
    return [
        Row(int(part.start_us[row]), int(part.end_us[row]), part.groups[part.group[row]])
        for row in rows
    ]


def _drawn(origin: Origin, asked: Sequence[tuple[int, Row]]) -> list[dict[str, Any]]:
    by_query: dict[int, list[Row]] = {}
    for number, row in asked:
        by_query.setdefault(number, []).append(row)
    if not by_query:
        return []
    table, shown, steps = origin.events(by_query), [], 0
    for number, row in asked:
        query = origin.plan.queries[number].query
        events = events_of_row(table, query, row)
        needed = _steps(query, events)
        if needed > _STEPS_OF_ROW or steps + needed > _STEPS:
            continue
        steps += needed
        examples = examples_of(origin, number, events, row, n=_TRENDS_OF_ROW, how="random", seed=0)
        if examples.count:
            shown.append(
                {
                    "query": query.name,
                    "start_us": row.start,
                    "end_us": row.end,
                    "group": row.group,
                    "count": str(examples.count),
                    "examples": [_plain(trend) for trend in examples],
                }
            )
    return shown


def _steps(query: Query, events: EventTable) -> int:
    return len(events) ** 2 // 2 if compares(query) else len(events)


def _plain(example: Example) -> list[dict[str, Any]]:
    return [_short(trend) for trend in sides_of(example)]


def _short(trend: Trend) -> dict[str, Any]:
    """A trend with the texts of its events; of many the first and the last."""
    half = _EVENTS_SHOWN // 2
    shown = trend if len(trend) <= _EVENTS_SHOWN else [*trend[:half], *trend[-half:]]
    return {"length": len(trend), "events": [_texts(event) for event in shown]}


def _texts(event: dict[str, Any]) -> dict[str, str]:
    given = [(name, str(value)) for name, value in event.items() if value is not None]
    return dict(given[:_COLUMNS_SHOWN])
