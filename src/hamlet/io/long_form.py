"""Answers to the long form of results: a row for each query, window, group and aggregate.

Rows stand in the order of the workload, of time, of the values of the grouping attributes, and of
the RETURN clause: the same run writes the same bytes. Types never depend on the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.events.times import Times, given_times, time_type
from hamlet.kernel.encode.sorting import all_read_only
from hamlet.kernel.finish import TEXT
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.finish import Answer, SetAnswers
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
    names = [[result.name for result in query.returned] for query in queries]
    widths = np.array([len(some) for some in names], np.int64)
    texts, first_group = _texts_of_groups(answers)
    turns = _turns(answers, widths, first_group)
    columns = [
        _in_turn([[query.name] for query in queries], sizes * widths),
        given_times(turns.start, times),
        given_times(turns.end, times),
        texts.take(pa.array(turns.group)),
        _in_turn(names, sizes),
        *(_with_nulls(each) for each in (turns.value, turns.log10)),
        _digits_in_turn(answers, turns),
    ]
    ends = np.cumsum(sizes * widths)
    return pa.table(columns, schema=long_schema(times)), np.append(0, ends)


def _with_nulls(values: Doubles) -> Any:
    """Doubles as an Arrow array in which NaN is null."""
    is_null = np.isnan(values)
    if not is_null.any():
        return pa.array(values)
    known = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(pa.float64(), len(values), [known, pa.py_buffer(values)])


def _in_turn(words: Sequence[Sequence[str]], counts: Longs) -> Any:
    """Some words in turn, so many times, then others, and so on: put together as bytes."""
    written = [[word.encode() for word in some] for some in words]
    data = b"".join(
        b"".join(some) * count for some, count in zip(written, counts.tolist(), strict=True)
    )
    widths = np.array([len(some) for some in written], np.int64)
    lengths = np.array([len(word) for some in written for word in some], np.int64)
    ends = np.zeros(int(counts @ widths) + 1, np.int64)
    _add_lengths(*all_read_only(lengths, widths, counts), ends)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(TEXT, len(ends) - 1, buffers)


@interpretable
def _add_lengths(lengths, widths, counts, ends):  # type: ignore[no-untyped-def]
    """Where words end that are some in turn, so many times, then others."""
    first, row = 0, 0
    for number in range(len(counts)):
        last = first + widths[number]
        for _ in range(counts[number]):
            for word in range(first, last):
                ends[row + 1] = ends[row] + lengths[word]
                row += 1
        first = last


class _Turns(NamedTuple):
    """What rows of the long form have: for each row of answers its aggregates in turn.

    `place` is where a row is in columns of aggregates one below the other, where these have digits.
    """

    start: Longs
    end: Longs
    group: Longs
    value: Doubles
    log10: Doubles
    place: Longs


def _turns(answers: SetAnswers, widths: Longs, first_group: Longs) -> _Turns:
    size, most = len(answers.window_start), int(widths.max(initial=0))
    count = int(widths @ np.diff(answers.starts))
    cells = answers.cells[:most]
    values, logs = (
        np.stack(some) if some else np.empty((0, size))
        for some in ([each.value for each in cells], [each.log10 for each in cells])
    )
    turns = _Turns(
        start=np.empty(count, np.int64),
        end=np.empty(count, np.int64),
        group=np.empty(count, np.int64),
        value=np.empty(count),
        log10=np.empty(count),
        place=np.empty(count if any(each.digits for each in cells) else 0, np.int64),
    )
    of_queries = all_read_only(answers.starts, widths, first_group)
    of_rows = all_read_only(answers.window_start, answers.window_end, answers.group)
    _take_turns(*of_queries, *of_rows, *all_read_only(values, logs), *turns)
    return turns


@interpretable
def _take_turns(  # type: ignore[no-untyped-def]
    starts, widths, first_group, begins, ends, groups, values, logs, *turns
):
    start, end, group, value, log10, place = turns
    at, size, has_digits = 0, len(begins), len(place) > 0
    for query in range(len(widths)):
        for row in range(starts[query], starts[query + 1]):
            for number in range(widths[query]):
                start[at], end[at] = begins[row], ends[row]
                group[at] = groups[row] + first_group[query]
                value[at], log10[at] = values[number, row], logs[number, row]
                if has_digits:
                    place[at] = number * size + row
                at += 1


def _digits_in_turn(answers: SetAnswers, turns: _Turns) -> Any:
    """The digits of aggregates, in turn."""
    if not any(each.digits for each in answers.cells):
        return pa.nulls(len(turns.value), TEXT)
    every = pa.concat_arrays([each.exact for each in answers.cells])
    return every.take(pa.array(turns.place))


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
    by_query: list[list[Any]] = [[] for _ in queries]
    for answer in answers:
        by_query[answer.query].append(answer.rows)
    return [_sorted(query, tables) for query, tables in zip(queries, by_query, strict=True)]


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
