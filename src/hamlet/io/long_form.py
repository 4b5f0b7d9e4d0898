"""Answers to the long form of results: a row for each query, window, group and aggregate.

Rows stand in the order of the workload, of time, of the values of the grouping attributes, and of
the RETURN clause: the same run writes the same bytes. Types never depend on the values.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.events.times import Times, given_times, time_type
from hamlet.kernel.finish import TEXT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.finish import Answer, SetAnswers
    from hamlet.kernel.finish.cells import Cells
    from hamlet.plan.query import Query

    Longs = NDArray[np.int64]
    Doubles = NDArray[np.float64]

COLUMNS = (
    "query",
    "window_start",
    "window_end",
    "group",
    "aggregate",
    "value",
    "log10",
    "exact",
)
_LONG_INTEGER = pa.decimal128(38, 0)


def long_table(query: Query, rows: Any, times: Times = "timestamps") -> Any:
    """The rows of one query in long form; `rows` as an `Answer` has them, None for none."""
    if rows is None or not rows.num_rows or not query.returned:
        return long_schema(times).empty_table()
    size, width = rows.num_rows, len(query.returned)
    each = pa.array(np.repeat(np.arange(size), width))
    # Rows of one aggregate stand together in a concatenation; the long form takes them in turn.
    turns = pa.array((np.arange(width) * size + np.arange(size)[:, None]).ravel())

    def in_turn(kind: str) -> Any:
        chunks = [c for i in range(width) for c in rows[f"{kind}.{i}"].chunks]
        return pa.concat_arrays(chunks).take(turns)

    start, end = window_columns(query, rows, times)
    names = pa.array([result.name for result in query.returned], TEXT)
    columns = [
        pa.repeat(pa.scalar(query.name, TEXT), size * width),
        start.take(each),
        end.take(each),
        rows["group"].take(each),
        names.take(pa.array(np.tile(np.arange(width), size))),
        *(in_turn(kind) for kind in ("value", "log10", "exact")),
    ]
    return pa.table(columns, schema=long_schema(times))


def long_table_of_set(answers: SetAnswers, times: Times) -> tuple[Any, Longs]:
    """The rows of all queries of a set in long form, and where those of each begin and end."""
    queries, sizes = answers.queries, np.diff(answers.starts)
    widths = np.array([len(query.returned) for query in queries], np.int64)
    turns = _Turns(np.repeat(np.arange(len(queries)), sizes), widths)
    start, end = answers.window_start[turns.row], answers.window_end[turns.row]
    names = [[result.name for result in query.returned] for query in queries]
    texts, first_group = _texts_of_groups(answers)
    group = answers.group + first_group[turns.query_of_row]
    columns = [
        _in_turn([[query.name] for query in queries], sizes * widths),
        given_times(start, times),
        given_times(end, times),
        texts.take(pa.array(group[turns.row])),
        _in_turn(names, sizes),
        turns.numbers([cells.value for cells in answers.cells]),
        turns.numbers([cells.log10 for cells in answers.cells]),
        turns.texts(answers.cells),
    ]
    ends = np.cumsum(sizes * widths)
    return pa.table(columns, schema=long_schema(times)), np.append(0, ends)


def _in_turn(words: Sequence[Sequence[str]], counts: Longs) -> Any:
    """Some words in turn, so many times, then others, and so on: put together as bytes."""
    written = [[word.encode() for word in some] for some in words]
    data = b"".join(
        b"".join(some) * count for some, count in zip(written, counts.tolist(), strict=True)
    )
    sizes = [
        np.tile([len(word) for word in some], count)
        for some, count in zip(written, counts, strict=True)
    ]
    ends = np.cumsum(np.concatenate([[0], *sizes]), dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(TEXT, len(ends) - 1, buffers)


class _Turns:
    """Rows of the long form: for each row of answers its aggregates in turn.

    Attributes:
        query_of_row: The query of each row of answers.
        row: The row of answers of each row of the long form.
    """

    def __init__(self, query_of_row: Longs, widths: Longs) -> None:
        self.query_of_row = query_of_row
        self.most = int(widths.max(initial=0))
        width = widths[query_of_row]
        self._size = len(query_of_row)
        self._is_even = bool((width == self.most).all())
        self._first = np.cumsum(width) - width
        self.row = np.repeat(np.arange(self._size), width)

    def numbers(self, columns: Sequence[Doubles]) -> Any:
        """Columns of numbers, one for each aggregate, in turn; NaN is null."""
        if self.most == 1:
            found = columns[0][self.row]
        elif self._is_even:
            found = np.stack(columns[: self.most], axis=1).ravel()
        else:
            found = np.concatenate(columns[: self.most])[self._place]
        return pa.array(found, pa.float64(), from_pandas=True)

    @cached_property
    def _place(self) -> Longs:
        """Where rows of the long form are, in columns of aggregates one below the other."""
        aggregate = np.arange(len(self.row)) - self._first[self.row]
        return aggregate * self._size + self.row

    def texts(self, cells: Sequence[Cells]) -> Any:
        """The digits of aggregates, in turn."""
        if not any(each.digits for each in cells):
            return pa.nulls(len(self.row), TEXT)
        if self.most == 1:
            return cells[0].exact.take(pa.array(self.row))
        every = pa.concat_arrays([each.exact for each in cells])
        return every.take(pa.array(self._place))


def _texts_of_groups(answers: SetAnswers) -> tuple[Any, Longs]:
    """The texts of all groups, and where those of each query begin among them."""
    first: dict[int, int] = {}
    texts: list[Any] = []
    count = 0
    for groups in answers.groups:
        if id(groups) not in first:
            first[id(groups)] = count
            texts.append(groups.texts)
            count += len(texts[-1])
    starts = [first[id(groups)] for groups in answers.groups]
    every = pa.concat_arrays(texts) if texts else pa.array([], TEXT)
    return every, np.array(starts, np.int64)


def long_schema(times: Times) -> Any:
    """The columns of the long form and their types."""
    time = time_type(times)
    types = (TEXT, time, time, TEXT, TEXT, pa.float64(), pa.float64(), TEXT)
    return pa.schema(list(zip(COLUMNS, types, strict=True)))


def window_columns(query: Query, rows: Any, times: Times) -> tuple[Any, Any]:
    """Start and end of the window of each row."""
    known = _with_ends(query, rows)
    start, end = (known[name].to_numpy() for name in ("window_start", "window_end"))
    return given_times(start, times), given_times(end, times)


def _with_ends(query: Query, rows: Any) -> Any:
    """Rows with the ends of their windows, which may have been left out."""
    if "window_end" in rows.column_names:
        return rows
    ends = query.window.ends(rows["window_start"].to_numpy())
    return rows.append_column("window_end", pa.array(ends))


def rows_by_query(queries: Sequence[Query], answers: Iterable[Answer]) -> list[Any]:
    """For each query its rows in order, or None where there is no answer."""
    found: list[list[Any]] = [[] for _ in queries]
    for answer in answers:
        found[answer.query].append(answer.rows)
    return [_sorted(query, tables) for query, tables in zip(queries, found, strict=True)]


def _sorted(query: Query, tables: list[Any]) -> Any:
    if not tables:
        return None
    # A column that is all null in one piece has no type there.
    rows = pa.concat_tables(tables, promote_options="permissive")
    rows = _with_ends(query, rows)
    keys = [f"key.{i}" for i in range(len(query.group_by))]
    by = [(name, "ascending") for name in ("window_start", "window_end", *keys, "group")]
    return rows.sort_by(by).combine_chunks()


def no_rows(query: Query) -> Any:
    """The table of an answer without rows; the types of grouping attributes are not known."""
    fields = [("window_start", pa.int64()), ("window_end", pa.int64()), ("group", TEXT)]
    fields += [(f"key.{i}", pa.null()) for i in range(len(query.group_by))]
    for i in range(len(query.returned)):
        fields += [
            (f"value.{i}", pa.float64()),
            (f"log10.{i}", pa.float64()),
            (f"exact.{i}", TEXT),
        ]
    return pa.schema(fields).empty_table()


def whole_or_double(is_count: bool, value: Any, exact: Any) -> Any:
    """A result as a column of numbers: whole where it has digits, else doubles."""
    if not len(value):
        return exact.cast(pa.int64()) if is_count else value
    has_digits = exact.null_count == value.null_count < len(value)
    if not has_digits:
        return value
    # Arrow makes other numbers of digits that a decimal cannot hold, and may not say so.
    length = pc.max(pc.binary_length(pc.utf8_ltrim(exact, "-"))).as_py()
    if length > _LONG_INTEGER.precision:
        return exact
    try:
        return exact.cast(pa.int64())
    except pa.ArrowInvalid:
        return exact.cast(_LONG_INTEGER)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is free."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate
