"""Rows that wait: would catch one released too early, too late, twice or not at all."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from hamlet.engine.state.rows import RawRows, Waiting

SCHEMA = pa.schema({"id": pa.int64(), "s": pa.string()})


def rows_of(ts: list[int], first: int = 0, schema: pa.Schema = SCHEMA) -> RawRows:
    numbers = np.arange(first, first + len(ts))
    table = pa.table({"id": numbers, "s": [f"row {n}" for n in numbers]}).cast(SCHEMA)
    return RawRows(
        np.array(ts, np.int64),
        (numbers % 3).astype(np.int32),
        (numbers % 5).astype(np.int32),
        table.select(schema.names),
    )


def test_rows_are_released_by_time_whatever_their_order() -> None:
    chance = random.Random(4)
    waiting, left, count = Waiting(SCHEMA), dict[int, int](), 0
    for turn in range(200):
        ts = [turn + chance.randint(0, 30) for _ in range(chance.randint(0, 6))]
        waiting.add(rows_of(ts, count))
        left |= {count + n: t for n, t in enumerate(ts)}
        count += len(ts)

        released = waiting.release(turn)

        due = {n for n, t in left.items() if t < turn}
        numbers = released.table["id"].to_pylist()
        assert sorted(numbers) == sorted(due)
        assert [left[n] for n in numbers] == released.ts.tolist()
        left = {n: t for n, t in left.items() if n not in due}
    assert sorted(waiting.all().table["id"].to_pylist()) == sorted(left)


@pytest.mark.parametrize("schema", [SCHEMA, pa.schema([])])
def test_rows_are_cut_into_pages_and_bytes_and_back(schema: pa.Schema) -> None:
    rows = rows_of(list(range(40)), schema=schema)

    found = {page: RawRows.of_pieces(part.pieces(), page, schema) for page, part in rows.by_page()}

    assert sorted(found) == [0, 1, 2, 3, 4]
    for page, part in found.items():
        assert part.ts.tolist() == list(range(page, 40, 5))
        assert part.types.tolist() == [n % 3 for n in range(page, 40, 5)]
        assert part.page.tolist() == [page] * 8
        if schema.names:
            assert part.table["s"].to_pylist() == [f"row {n}" for n in range(page, 40, 5)]


def test_a_few_rows_that_wait_do_not_keep_the_memory_of_many() -> None:
    waiting = Waiting(SCHEMA)
    waiting.add(rows_of([1] * 9_999 + [10**9]))

    waiting.release(2)

    assert waiting.all().table.get_total_buffer_size() < 1000
