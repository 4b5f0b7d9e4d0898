"""A stream that is killed and started again: would catch a row that is lost, or comes twice.

The whole family of processes is killed with SIGKILL at random moments: before the first batch is
done, between batches, in the middle of one, and while the stream is being ended. Between some kills
queries come and go.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest
from pyarrow import parquet
from stream_law import changes_of, comparable, lawful

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# `make kills` has more of them, which takes hours.
KILLS = int(os.environ.get("HAMLET_KILLS", "10"))
# The first two share B+ and have nothing to group by in common: their groups are in both buckets.
QUERIES = {
    "one": "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s SLIDE 5 s",
    "two": "RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x AND [k] WITHIN 15 s",
    "three": "RETURN COUNT(*) PATTERN SEQ(A, C) WHERE C.x > 9 GROUPBY k WITHIN 10 s",
    "four": "RETURN COUNT(*), MIN(C.x) PATTERN SEQ(A, NOT B, C+) GROUPBY k WITHIN 20 s SLIDE 5 s",
}
FIRST = ("one", "two", "three")
# With which start the workload changes to what; each of these lives to its first batch.
_OTHERS = {2: ("three", "one", "four"), 5: ("two", "one", "four"), 7: ("four", "two", "three")}
CHANGES = {n: _OTHERS[n % 10] for n in range(KILLS) if n % 10 in _OTHERS}
MOST_SECONDS = 180 * KILLS
# Before the first batch, Java would compile code for expressions that few rows ever reach.
INTERPRETED = (
    "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN"
    " pyspark-shell"
)


def write_events(folder: Path, files: int) -> pa.Table:
    """Files of events, out of order by up to 3 seconds."""
    chance = random.Random(1)
    rows = [
        {
            "type": chance.choice("ABBC"),
            "time": 1_000 + number / 4,
            "k": chance.randrange(6),
            "x": chance.randrange(50),
        }
        for number in range(40 * files)
    ]
    rows.sort(key=lambda row: row["time"] + 3 * chance.random())
    folder.mkdir()
    for number in range(files):
        path = folder / f"{number:03d}.parquet"
        parquet.write_table(pa.Table.from_pylist(rows[40 * number : 40 * (number + 1)]), path)
        os.utime(path, (10**9 + number, 10**9 + number))
    return pa.Table.from_pylist(rows)


class Stream:
    """`hamlet stream` in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        arguments = ["stream", "workload.hql", "--source", "in", "--out", "out"]
        arguments += ["--checkpoint", "checkpoint", "--lateness", "4 s", "--once", "--flush"]
        arguments += ["--files", "1", "--buckets", "2", "--master", "local[1]"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hamlet", *arguments],
            cwd=folder,
            env={**os.environ, "PYSPARK_SUBMIT_ARGS": INTERPRETED},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.lines.extend(lines)

    def batches(self) -> int:
        return sum(line.startswith("batch") for line in self.lines)

    def wait(self, batches: int, deadline: float) -> bool:
        """Until so many batches are done; whether the stream is still there then."""
        while self.process.poll() is None and self.batches() < batches:
            assert time.monotonic() < deadline, self.lines
            time.sleep(0.05)
        return self.process.poll() is None

    def ended(self, deadline: float) -> None:
        """Wait for its end."""
        self.process.wait(timeout=max(1.0, deadline - time.monotonic()))
        self.reader.join()

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()


def write_workload(folder: Path, names: Sequence[str]) -> None:
    text = ";\n".join(f"{name}: {QUERIES[name]}" for name in names)
    (folder / "workload.hql").write_text(text, encoding="utf-8")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Stream]]:
    """Streams that were started in a folder with a workload; none is left running."""
    write_workload(tmp_path, FIRST)
    streams: list[Stream] = []
    yield streams
    for each in streams:
        if each.process.poll() is None:
            each.kill()


def counting(out: Path) -> list[Path]:
    """The parts that count, by Spark's own list: a kill may leave others, also empty ones."""
    entries = {
        json.loads(line)["path"]
        for log in (out / "_spark_metadata").iterdir()
        if not log.name.startswith(".")
        for line in log.read_text(encoding="utf-8").splitlines()[1:]
    }
    return [out / Path(unquote(urlsplit(entry).path)).name for entry in sorted(entries)]


@pytest.mark.slow
def test_ten_kills_and_an_interrupt_among_changes_lose_and_repeat_nothing(
    tmp_path: Path, started: list[Stream]
):
    # More files than ten starts read, also where the machine is so busy that kills come late.
    table = write_events(tmp_path / "in", 4 * KILLS)
    chance = random.Random(4)
    deadline = time.monotonic() + MOST_SECONDS

    def start() -> Stream:
        started.append(Stream(tmp_path))
        return started[-1]

    kills = 0
    for number in range(KILLS):
        if number in CHANGES:
            write_workload(tmp_path, CHANGES[number])
        stream = start()
        # Some are killed before their first batch is done; most some moments after it.
        is_there = stream.wait(0 if number % 5 == 3 else 1, deadline)
        time.sleep(chance.uniform(2.0, 5.0) if number % 5 == 3 else chance.uniform(0.0, 0.6))
        kills += is_there and stream.process.poll() is None
        stream.kill()
    interrupted = start()
    interrupted.wait(1, deadline)
    interrupted.process.send_signal(signal.SIGINT)
    interrupted.ended(deadline)
    last = start()
    last.ended(deadline)

    assert kills == KILLS, [each.lines[-3:] for each in started]
    assert interrupted.process.returncode == 0, interrupted.lines
    assert "stopped; the same command goes on from here\n" in interrupted.lines
    assert last.process.returncode == 0, last.lines
    changes = changes_of(tmp_path / "checkpoint")
    assert len(changes) == len(CHANGES)
    found = [
        row for path in counting(tmp_path / "out") for row in parquet.read_table(path).to_pylist()
    ]
    wanted = lawful(table, QUERIES, [FIRST, *CHANGES.values()], changes)
    assert comparable(found) == comparable(wanted)
