"""Live streams: the pace, and files that a reader of the folder sees whole.

The clock is a number that sleeping moves, so no test waits. Would catch a pace that drifts, a file
that appears before it is complete, and one that is overwritten.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from pyarrow import parquet

from hamlet.data import generate, generate_table, schema_of
from hamlet.data.live import LiveFolder, LiveLines, chunk_of, play
from hamlet.errors import SchemaError, WriteError


class Clock:
    """Time that passes when someone sleeps or works."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


class Ear:
    """A listener that notes when it heard how much, and takes some time each time."""

    def __init__(self, clock: Clock, takes: list[float]) -> None:
        self.clock, self.takes = clock, takes
        self.rows = 0
        self.heard: list[tuple[float, int]] = []

    def deliver(self, batch) -> None:
        self.heard.append((round(self.clock.now - 100, 6), batch.num_rows))
        self.rows += batch.num_rows
        self.clock.now += self.takes.pop(0) if self.takes else 0.0


def test_events_are_delivered_at_their_rate():
    clock = Clock()
    ear = Ear(clock, [])

    batches = generate("taxi", events=250, seed=1, chunk=chunk_of(100))
    play(batches, 100, ear, clock=clock, sleep=clock.sleep)

    assert ear.heard == [(0, 100), (1, 100), (2, 50)]


def test_who_is_late_catches_up():
    clock = Clock()
    ear = Ear(clock, [0.25, 2.5, 0.0])

    batches = generate("taxi", events=500, seed=1, chunk=100)
    play(batches, 100, ear, clock=clock, sleep=clock.sleep)

    assert [at for at, _ in ear.heard] == [0, 1, 3.5, 3.5, 4]
    assert clock.slept == [0.75, 0.5]


def test_slow_streams_deliver_one_event_at_a_time():
    clock = Clock()
    ear = Ear(clock, [])

    play(
        generate("taxi", events=3, seed=1, chunk=chunk_of(0.25)),
        0.25,
        ear,
        clock=clock,
        sleep=clock.sleep,
    )

    assert ear.heard == [(0, 1), (4, 1), (8, 1)]


@pytest.mark.parametrize("rate", [0, -1, float("nan"), 1e6 + 1])
def test_a_rate_that_cannot_be_is_refused(rate: float):
    with pytest.raises(SchemaError, match="events in a second must be more than 0"):
        chunk_of(rate)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_each_delivery_is_a_file_that_appears_whole(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "live"
    live = LiveFolder(folder, schema_of("taxi"), format, overwrite=False)
    seen: list[set[str]] = []
    move = Path.replace

    def watched(path: Path, target: Path) -> Path:
        seen.append({each.name for each in folder.iterdir()})
        return move(path, target)

    monkeypatch.setattr(Path, "replace", watched)

    for batch in generate("taxi", events=30, seed=1, chunk=10):
        live.deliver(batch)

    names = [f"part-0000{i}.{format}" for i in range(3)]
    assert sorted(each.name for each in folder.iterdir()) == names
    assert (live.rows, live.files) == (30, 3)
    # Before a file has its name, there is nothing but a hidden one that is complete.
    for number, there in enumerate(seen):
        (hidden,) = there - set(names[:number])
        assert hidden.startswith(".")
        assert there - {hidden} == set(names[:number])


def test_the_files_together_are_the_stream(tmp_path: Path):
    live = LiveFolder(tmp_path / "live", schema_of("stock"), "parquet", overwrite=False)

    for batch in generate("stock", events=1000, seed=4, chunk=300):
        live.deliver(batch)

    expected = generate_table("stock", events=1000, seed=4)
    assert parquet.read_table(tmp_path / "live").equals(expected)


def test_a_delivery_that_fails_leaves_the_files_before(tmp_path: Path):
    live = LiveFolder(tmp_path / "live", schema_of("taxi"), "csv", overwrite=False)
    live.deliver(next(generate("taxi", events=5, seed=1)))

    class Broken:
        num_rows = 5

        def __getattr__(self, name: str):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        live.deliver(Broken())

    assert [each.name for each in (tmp_path / "live").iterdir()] == ["part-00000.csv"]
    assert live.rows == 5


def test_a_folder_with_parts_is_emptied_only_if_told(tmp_path: Path):
    folder = tmp_path / "live"
    LiveFolder(folder, schema_of("taxi"), "csv", overwrite=False)
    (folder / "part-00007.csv").write_text("old", encoding="utf-8")

    with pytest.raises(WriteError, match="it is there already"):
        LiveFolder(folder, schema_of("taxi"), "csv", overwrite=False)
    assert list(folder.iterdir()) != []

    LiveFolder(folder, schema_of("taxi"), "csv", overwrite=True)
    assert list(folder.iterdir()) == []


def test_a_live_stream_is_not_a_file(tmp_path: Path):
    with pytest.raises(WriteError, match="a live stream goes into a folder"):
        LiveFolder(tmp_path / "e.parquet", schema_of("taxi"), "parquet", overwrite=False)


def test_lines_are_written_at_once():
    written = io.BytesIO()
    buffered = io.BufferedWriter(written)
    lines = LiveLines(buffered)

    lines.deliver(next(generate("taxi", events=3, seed=1)))

    assert [json.loads(line)["driver"] for line in written.getvalue().splitlines()] == (
        generate_table("taxi", events=3, seed=1)["driver"].to_pylist()
    )
    assert lines.rows == 3
