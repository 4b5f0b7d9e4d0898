"""Results as short columns for a page: one piece of JSON for each query.

Rows of one group stand together, groups with most rows first. A window is its number, and windows
in a row are written as the first of them and how many they are. Numbers keep every bit: integers
of up to 15 digits and doubles are JSON numbers; longer integers are their digits as text, and what
no double holds is text like 1.23e+4567.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.errors import SchemaError
from hamlet.events.times import from_seconds
from hamlet.io.screen import show_number
from hamlet.plan.windows import last_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.plan.query import Query, Window

    Ints = NDArray[np.int64]

# So many values make a page of about 30 MB, which a browser opens in a second or two.
MOST_VALUES = 3_000_000
# Longer integers are shown by their magnitude.
_MOST_DIGITS = 40
_EXACT_BELOW = 10.0**15


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one query, an array for each column and one of each kind for each aggregate."""

    query: Query
    start_us: Ints
    end_us: Ints
    group: Ints
    groups: Sequence[str]
    rows: Any

    @property
    def width(self) -> int:
        """How many aggregates there are."""
        return len(self.query.returned)

    @property
    def window(self) -> Ints:
        """By row the number of its window."""
        return window_numbers(self.query.window, self.start_us, self.end_us)

    def column(self, kind: str, aggregate: int) -> Any:
        """The value, log10 or exact of one aggregate, in the order of rows."""
        at = np.arange(aggregate, self.rows.num_rows, self.width)
        return self.rows[kind].take(pa.array(at))


def parts_of(table: Any, queries: Sequence[Query]) -> list[Part]:
    """The long form cut into queries.

    Raises:
        SchemaError: The table is not the results of these queries.
    """
    known = table["query"].combine_chunks().dictionary_encode()
    names = known.dictionary.to_pylist()
    number = {query.name: i for i, query in enumerate(queries)}
    strangers = [name for name in names if name not in number]
    ids = np.array([number.get(name, -1) for name in names], np.int64)[known.indices.to_numpy()]
    if strangers or (np.diff(ids) < 0).any():
        raise SchemaError("results", "they are not those of this workload, in its order")
    bounds = np.searchsorted(ids, np.arange(len(queries) + 1))
    parts = []
    for query, begin, end in zip(queries, bounds[:-1], bounds[1:], strict=True):
        width = max(1, len(query.returned))
        if (end - begin) % width:
            raise SchemaError("results", f"rows of {query.name} are missing")
        rows = table.slice(begin, end - begin).combine_chunks()
        parts.append(_part(query, rows, np.arange(0, end - begin, width)))
    return parts


def _part(query: Query, rows: Any, firsts: Ints) -> Part:
    at = pa.array(firsts)
    group = as_array(rows["group"].take(at)).dictionary_encode()
    ids = group.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    starts, ends = (
        start_microseconds(as_array(rows[name].take(at))) for name in ("window_start", "window_end")
    )
    return Part(query, starts, ends, ids, group.dictionary.to_pylist(), rows)


def window_numbers(window: Window, starts: Ints, ends: Ints) -> Ints:
    """Windows by their number on the clock of the query.

    Two windows of a calendar begin at one moment, or end at one, where a local day does not exist.
    Of a moment clocks show the later day, so the earlier of what both bounds say is right.
    """
    clock, slide = window.clock, window.slide_us
    by_start = last_window(clock.times(starts), slide)
    return np.minimum(by_start, last_window(clock.times(ends) - window.within_us, slide))


def as_array(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def start_microseconds(times: Any) -> Ints:
    """Times of either kind as microseconds."""
    if pa.types.is_timestamp(times.type):
        whole: Ints = times.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
        return whole
    return from_seconds(times.to_numpy().astype(np.float64))[0]


def packed(part: Part, budget: int) -> dict[str, Any]:
    """One query as the columns of the page.

    groups   JSON text of each group that is kept, in order
    rows     how many rows each has
    first    number of the first window of each run of windows, group by group
    length   how many windows are in each run
    values   for each aggregate its values, in the order of rows
    left_out how many groups, and how many rows of the last one kept, are not on the page

    Args:
        part: The rows of the query.
        budget: How many values the page has room for. At least one group is kept, the first of its
            windows if it is too long by itself.
    """
    order, sizes, left_groups, left_rows = _kept(part, max(1, budget // max(1, part.width)))
    window = part.window[order]
    group = part.group[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (np.diff(window) != 1) | (np.diff(group) != 0)
    at = np.flatnonzero(begins)
    names = [part.groups[g] for g in group[np.cumsum(sizes) - sizes].tolist()] if len(sizes) else []
    return {
        "groups": names,
        "rows": sizes.tolist(),
        "first": window[at].tolist(),
        "length": np.diff(np.append(at, len(order))).tolist(),
        "values": [_values(part, i, order) for i in range(part.width)],
        "left_out": [left_groups, left_rows],
    }


def _kept(part: Part, most_rows: int) -> tuple[Ints, Ints, int, int]:
    """Rows in order, how many each kept group has, and how many groups and rows are left out."""
    sizes = np.bincount(part.group, minlength=len(part.groups))
    # Stable: groups of one size stay in the order of the results.
    ranked = np.argsort(-sizes, kind="stable")
    fits = np.cumsum(sizes[ranked]) <= most_rows
    kept = max(1, int(fits.sum())) if len(ranked) else 0
    rank = np.empty(len(ranked), np.int64)
    # Those that are kept stand in the order of the results again, where they are found by eye.
    chosen = np.sort(ranked[:kept])
    rank[:] = len(ranked)
    rank[chosen] = np.arange(kept)
    of_row = rank[part.group]
    order = np.lexsort((part.window, of_row))
    order = order[: int((of_row < kept).sum())]
    left_rows = max(0, len(order) - most_rows)
    order = order[: len(order) - left_rows]
    counts = np.bincount(of_row[order], minlength=kept).astype(np.int64)
    return order, counts, len(ranked) - kept, left_rows


def _values(part: Part, aggregate: int, order: Ints) -> list[Any]:
    """The values of one aggregate as what JSON writes."""
    at = pa.array(order)
    value = as_array(part.column("value", aggregate).take(at))
    doubles = value.to_numpy(zero_copy_only=False).astype(np.float64)
    is_null = value.is_null().to_numpy(zero_copy_only=False)
    is_small = ~is_null & (np.abs(doubles) < _EXACT_BELOW)
    whole = is_small & (doubles == np.floor(np.where(is_small, doubles, 0.0)))
    if whole.all():
        integers: list[Any] = doubles.astype(np.int64).tolist()
        return integers
    values: list[Any] = doubles.tolist()
    for i in np.flatnonzero(whole).tolist():
        values[i] = int(values[i])
    for i in np.flatnonzero(is_null).tolist():
        values[i] = None
    _add_texts(part, aggregate, order, values, ~is_null & ~is_small)
    return values


def _add_texts(
    part: Part, aggregate: int, order: Ints, texts: list[Any], is_large: NDArray[np.bool_]
) -> None:
    """Write digits where a double does not have them all, and magnitudes where it has none."""
    large = np.flatnonzero(is_large)
    if not len(large):
        return
    rows = pa.array(order[large])
    kinds = (as_array(part.column(kind, aggregate).take(rows)) for kind in ("log10", "exact"))
    log10, exact = kinds
    # Digits by the ten thousand are not brought into Python to be thrown away.
    short = pc.if_else(pc.less_equal(pc.utf8_length(exact), _MOST_DIGITS), exact, None)
    pairs = zip(large.tolist(), log10.to_pylist(), short.to_pylist(), strict=True)
    for i, magnitude, digits in pairs:
        if digits is not None:
            texts[i] = digits
        elif not np.isfinite(texts[i]):
            texts[i] = show_number(texts[i], magnitude, None)
