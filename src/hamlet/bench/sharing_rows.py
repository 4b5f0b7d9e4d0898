"""Rows of loops with an edge predicate: over own columns, over snapshots, and by what costs less.

Queries SEQ(Xi, T+, Yi) with T.v < NEXT(T).v over bursts of T that an X begins and a Y ends. At each
point the answers of the three ways are compared first, then they are timed in turn, one pass over
events that were encoded once. `hamlet bench sharing --only grid` measures the grid.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.bench.sharing_kernels import Kernel, check_equal, kernel
from hamlet.bench.timing import seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAYS = ("never", "always", "dynamic")
_FIELDS = ("queries", "live", "windows", "burst")
QUERIES = (2, 10, 50, 200)
LIVE = (30, 300, 3000, 30_000)
WINDOWS = (1, 4, 12)
BURSTS = (3, 10, 30, 100, 1000)
# Windows of so many events have bursts that are shorter by the thousand: there is no question.
_LONG, _LEAST_BURST = 30_000, 100


@dataclass(frozen=True, slots=True)
class RowPoint:
    """A workload and a stream: queries, events in a window, windows open at once, Ts in a burst."""

    queries: int
    live: int
    windows: int
    burst: int

    def text(self) -> str:
        """The queries; a second is an event."""
        slide = max(1, self.live // self.windows)
        clause = f"WHERE T.v < NEXT(T).v WITHIN {slide * self.windows} s SLIDE {slide} s"
        return ";\n".join(
            f"q{i}: RETURN COUNT(*) PATTERN SEQ(X{i}, T+, Y{i}) {clause}"
            for i in range(self.queries)
        )

    def table(self, events: int, seed: int = 1) -> pa.Table:
        """The stream: each burst has an X and a Y of any queries."""
        rng = np.random.default_rng(seed)
        place = np.arange(events) % (self.burst + 2)
        query = rng.integers(0, self.queries, events)
        codes = np.where(place == 0, query, np.where(place > self.burst, self.queries + query, -1))
        names = [f"{letter}{i}" for letter in "XY" for i in range(self.queries)] + ["T"]
        codes = np.where(codes < 0, 2 * self.queries, codes).astype(np.int32)
        types = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names))
        return pa.table({"type": types, "time": np.arange(events), "v": rng.random(events)})


@dataclass(frozen=True, slots=True)
class RowTimes:
    """Nanoseconds for each event at a point, by way."""

    point: RowPoint
    took_ns: dict[str, float]

    @property
    def over_best(self) -> float:
        """The time of the dynamic way against the better of the other two."""
        return self.took_ns["dynamic"] / min(self.took_ns["never"], self.took_ns["always"])

    @property
    def line(self) -> str:
        """The point in a line of text."""
        p = self.point
        where = f"k {p.queries:>3}  n {p.live:>6,}  w {p.windows:>2}  b {p.burst:>5,}"
        shown = "  ".join(f"{way} {ns:>7,.0f}" for way, ns in self.took_ns.items())
        return f"{where}  {shown}  {self.over_best:5.2f}"

    def as_data(self) -> dict[str, Any]:
        """The point as plain data."""
        return {**asdict(self.point), "took_ns": self.took_ns, "over_best": self.over_best}


def points(quick: bool = False, coarse: bool = False) -> Iterator[RowPoint]:
    """The grid; a coarse one of a quarter of it; or a few points."""
    if quick:
        yield from (RowPoint(3, 30, 4, burst) for burst in (3, 10))
        return
    grid: tuple[tuple[int, ...], ...] = (QUERIES, LIVE, WINDOWS, BURSTS)
    if coarse:
        grid = ((10, 50), LIVE[:3], WINDOWS[:2], (3, 30, 100, 1000))
    for queries, live, windows, burst in product(*grid):
        if burst <= live and windows <= live and (live < _LONG or burst >= _LEAST_BURST):
            yield RowPoint(queries, live, windows, burst)


def measured(point: RowPoint, events: int = 0, repeat: int = 3) -> RowTimes:
    """One point, answers compared first."""
    events = events or max(20_000, 6 * point.live)
    made = kernel(point.text(), point.table(events), "float", "dynamic")
    ways = {way: in_way(made, way) for way in WAYS}
    answers = {way: each.answers()[0] for way, each in ways.items()}
    for way in WAYS[1:]:
        check_equal(answers[way], answers[WAYS[0]])
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(repeat):
        for way, each in ways.items():
            took[way].append(seconds(each))
    return RowTimes(point, {way: min(all_of) / events * 1e9 for way, all_of in took.items()})


def read_points(path: Path) -> dict[RowPoint, RowTimes]:
    """Points that were measured before: a line of JSON each; none where there is no file."""
    if not path.exists():
        return {}
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    every = [
        RowTimes(RowPoint(**{name: each[name] for name in _FIELDS}), each["took_ns"])
        for each in found
    ]
    return {times.point: times for times in every}


def add_point(path: Path, times: RowTimes) -> None:
    """Keep a point that has been measured."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(times.as_data()) + "\n")


def in_way(made: Kernel, way: str) -> Kernel:
    """The same code in one pass, with rows of one kind or of the cheaper one."""
    pieces: tuple[Any, ...] = tuple(
        (p, replace(c, sharing=(way,) * len(c.row_groups)), b) for p, c, b in made.pieces
    )
    return replace(made, pieces=pieces)
