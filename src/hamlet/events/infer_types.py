"""Texts of one or several files as one table, each column of one type, by the rule of `rules.py`.

What a column is depends on all of its texts, so it is decided when all files have been read.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hamlet.events import text_rules as rules
from hamlet.events.source import NOT_A_TIME, Sieve, SourceTable
from hamlet.events.texts import TYPES, TextLook, are_texts, look_at, values_of_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.events.csv_file import Texts
    from hamlet.events.source import Wanted
    from hamlet.events.text_rules import Facts, Sort


def typed(parts: Sequence[Texts], wanted: Wanted) -> list[SourceTable]:
    """Files with their wanted columns typed, and the rows with a value that is none left out."""
    tables = [part.table for part in parts]
    sieves = [Sieve(Counter(part.malformed)) for part in parts]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        for name in wanted.columns:
            if name == wanted.type:
                continue
            pieces = [_pieces(table, name) for table in tables]
            if wanted.use_of(name) is None and name != wanted.time and _is_text(pieces):
                continue
            looks = [list(pool.map(look_at, some)) for some in pieces]
            use, is_time = wanted.use_of(name), name == wanted.time
            sort = rules.sort_of(_added(looks), use, is_time=is_time)
            for number, table in enumerate(tables):
                place = table.schema.get_field_index(name)
                if place < 0:
                    continue
                column, faulty = _column(pool, pieces[number], looks[number], sort)
                sieves[number].fault(faulty, reason_of(name, sort, is_time=is_time))
                tables[number] = table.set_column(place, name, column)
    return [
        SourceTable(part.name, sieve.kept(table), part.columns, sieve.malformed)
        for part, sieve, table in zip(parts, sieves, tables, strict=True)
    ]


def facts_of_column(texts: Texts, name: str) -> Facts:
    """What there is in a column."""
    return _added([[look_at(piece) for piece in _pieces(texts.table, name)]])


def reason_of(name: str, sort: Sort, *, is_time: bool) -> str:
    """What is wrong with a row whose text is not of the sort of its column."""
    if is_time:
        return NOT_A_TIME
    if sort in rules.NUMBERS:
        return f"{name} is not a number"
    return f"{name} is not a {'time' if sort in rules.TIMES else 'truth value'}"


def _pieces(table: pa.Table, name: str) -> list[pa.Array]:
    place = table.schema.get_field_index(name)
    return [] if place < 0 else list(table.column(place).chunks)


def _is_text(pieces: list[list[pa.Array]]) -> bool:
    """Whether the first texts of a column, whose use says nothing, show that it is text."""
    first = next((piece for some in pieces for piece in some if len(piece)), None)
    return first is not None and are_texts(first)


def _added(looks: Sequence[Sequence[TextLook]]) -> Facts:
    return sum((look.facts for some in looks for look in some), Counter[str]())


def _column(
    pool: ThreadPoolExecutor, pieces: list[pa.Array], looks: list[TextLook], sort: Sort
) -> tuple[pa.ChunkedArray, NDArray[np.bool_] | None]:
    """The values of a column, and which of its rows are faulty where any is."""
    if sort == "text":
        return pa.chunked_array(pieces, None if pieces else TYPES["text"]), None
    read = list(pool.map(lambda piece, look: values_of_texts(piece, sort, look), pieces, looks))
    column = pa.chunked_array([values for values, _ in read], TYPES[sort])
    if all(faulty is None for _, faulty in read):
        return column, None
    return column, np.concatenate(
        [np.zeros(len(v), np.bool_) if faulty is None else faulty for v, faulty in read]
    )
