"""Rows of a task that are put into files: each comes back once, in stretches of time.

Would catch a row that is lost or comes twice, a stretch that has a row of a later one, events of
equal time that are parted, rows of two slices that are mixed, more rows in memory than allowed, and
files that are left behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet.spark import spill
from hamlet.spark.spill import Pool

if TYPE_CHECKING:
    from pathlib import Path


def clock(table: pa.Table) -> Any:
    return table["time"].to_numpy()


def rows_of(count: int, span: int, slices: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    number = rng.integers(0, slices + 1, count)
    return pa.table(
        {
            "time": rng.integers(-span, span, count),
            "row": np.arange(count),
            "slice": pa.array(number, mask=number == slices),
        }
    )


@pytest.mark.parametrize(
    ("count", "most", "span"), [(5000, 700, 10**6), (5000, 700, 3), (600, 1, 1)]
)
def test_rows_come_back_once_and_in_order(
    count: int, most: int, span: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"/nowhere,{tmp_path}")
    monkeypatch.setattr(spill, "_BLOCK_ROWS", 64)
    table = rows_of(count, span, 2, seed=count + span)
    found: dict[int | None, list[int]] = {}

    with Pool(most, clock, "slice") as pool:
        for batch in table.to_batches(max_chunksize=100):
            pool.add(batch)
            assert pool._count <= most
        assert any(tmp_path.iterdir())
        for number, rows in pool.slices():
            assert isinstance(rows, spill.Runs)
            before = -(10**9)
            for stretch, until in rows.in_order(200):
                times = clock(stretch)
                assert times.min() >= before
                assert times.max() < until
                # As many rows as asked for, a block of each run more, and those of one time
                if span > count:
                    assert len(times) <= 200 + 64 * (len(rows.runs) + 1)
                assert set(stretch["slice"].to_pylist()) == {number}
                found.setdefault(number, []).extend(stretch["row"].to_pylist())
                before = until

    assert set(found) == {0, 1, None}
    assert sorted(row for some in found.values() for row in some) == list(range(count))
    assert not list(tmp_path.iterdir())


def test_few_rows_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    table = rows_of(100, 50, 1, seed=1)

    with Pool(100, clock) as pool:
        for batch in table.to_batches(max_chunksize=7):
            pool.add(batch)
        ((number, rows),) = pool.slices()

        assert number is None
        assert rows == table
        assert not list(tmp_path.iterdir())


def test_a_slice_with_few_rows_of_many_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    table = pa.table({"time": range(40), "slice": [1] * 10 + [2] * 30})

    with Pool(15, clock, "slice") as pool:
        pool.add(table.to_batches()[0])
        found = {number: type(rows) for number, rows in pool.slices()}

    assert found == {1: pa.Table, 2: spill.Runs}


def test_files_go_when_a_task_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))

    def task() -> None:
        with Pool(1, clock) as pool:
            pool.add(rows_of(10, 5, 1, seed=1).to_batches()[0])
            assert any(tmp_path.iterdir())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        task()

    assert not list(tmp_path.iterdir())


def test_long_rows_are_put_away_by_their_bytes_into_all_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folders = [tmp_path / "a", tmp_path / "b"]
    for each in folders:
        each.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(map(str, folders)))
    table = rows_of(4000, 1000, 1, seed=1).drop_columns(["slice"])

    with Pool(10**6, clock, most_bytes=table.nbytes // 8) as pool:
        for batch in table.to_batches(max_chunksize=100):
            pool.add(batch)
            assert pool._size <= table.nbytes // 8
        files = [len(list(each.rglob("*.arrow"))) for each in folders]
        ((_, runs),) = pool.slices()
        assert isinstance(runs, spill.Runs)
        stretches = list(runs.in_order(500))

    assert min(files) >= 3
    assert max(files) - min(files) <= 1
    assert sorted(pa.concat_tables([each for each, _ in stretches])["row"].to_pylist()) == list(
        range(4000)
    )
    assert not any(any(each.iterdir()) for each in folders)
