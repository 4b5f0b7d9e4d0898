"""Bursty synthetic streams, and the plainest programs that answer queries over them.

A burst is one event of a random type X0, X1, ... and then some of type T, all at distinct times. A
workload asks SEQ(Xi, T+) for each i, so that all queries share T+.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = -1


@dataclass(frozen=True, slots=True)
class Stream:
    """Events: for each its start type, or T, and its attributes.

    Times are 0, 1, 2, ... where there is no column of them.
    """

    kind: NDArray[np.int32]
    columns: dict[str, Any]

    def __len__(self) -> int:
        return len(self.kind)

    def table(self) -> pa.Table:
        """The events as an Arrow table."""
        names = [*(f"X{i}" for i in range(int(self.kind.max(initial=0)) + 1)), "T"]
        codes = np.where(self.kind == T, len(names) - 1, self.kind).astype(np.int32)
        types = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names))
        columns = {"time": np.arange(len(self), dtype=np.int64), **self.columns}
        return pa.table({"type": types, **columns})


def bursts(events: int, burst: int, types: int, seed: int = 1) -> Stream:
    """Bursts of one X and `burst` Ts; each event has a random v, an integer below 2^20."""
    rng = np.random.default_rng(seed)
    kind = np.full(events, T, np.int32)
    starts = kind[:: burst + 1]
    starts[:] = rng.integers(0, types, len(starts))
    return Stream(kind, {"v": rng.integers(0, 2**20, events)})


def grouped(groups: int, size: int, burst: int, types: int, span: int, seed: int = 1) -> Stream:
    """As many groups, each with bursts of its own in one stretch of time; rows are in time order.

    Args:
        groups: How many groups.
        size: Events of each.
        burst: Ts after each X.
        types: How many types X.
        span: The groups begin at random multiples of this.
        seed: What the random numbers come from.
    """
    rng = np.random.default_rng(seed)
    kind = np.full((groups, size), T, np.int32)
    starts = kind[:, :: burst + 1]
    starts[:] = rng.integers(0, types, starts.shape)
    begin = rng.integers(0, max(1, groups // 100), groups) * span
    time = (begin[:, None] + np.arange(size)).ravel()
    arranged = np.argsort(time, kind="stable")
    key = np.repeat(np.arange(groups), size)
    columns = {"time": time[arranged], "g": key[arranged]}
    return Stream(kind.ravel()[arranged], columns)


def workload(
    queries: int,
    within: int,
    slide: int,
    returns: str = "COUNT(*)",
    where: str = "",
    group_by: str = "",
) -> str:
    """SEQ(Xi, T+) for each i; windows in seconds, which are events where times are not given."""
    clauses = [f"WHERE {where}" if where else "", f"GROUPBY {group_by}" if group_by else ""]
    rest = " ".join([*filter(None, clauses), f"WITHIN {within} s SLIDE {slide} s"])
    return ";\n".join(
        f"q{i}: RETURN {returns} PATTERN SEQ(X{i}, T+) {rest}" for i in range(queries)
    )


Counts = dict[tuple[str, int], int]


def count_by_loop(kinds: list[int], queries: int, within: int, slide: int) -> Counts:
    """The number of trends of each query and window, by one exact recurrence for each."""
    counts: Counts = {}
    first = (-within // slide + 1) * slide
    for start in range(first, len(kinds), slide):
        inside = kinds[max(0, start) : start + within]
        for query in range(queries):
            starts = trends = 0
            for kind in inside:
                if kind == T:
                    trends += trends + starts
                elif kind == query:
                    starts += 1
            if trends:
                counts[f"q{query}", start] = trends
    return counts


def count_rising_by_scan(kinds: list[int], v: NDArray[Any], queries: int) -> list[float]:
    """The trends of each query whose Ts rise in v, in one window: each T looks at all before it."""
    is_t = np.array(kinds) == T
    totals = []
    for query in range(queries):
        ending = np.zeros(len(kinds))
        starts = 0
        for i, kind in enumerate(kinds):
            if kind == T:
                ending[i] = starts + ending[:i][is_t[:i] & (v[:i] < v[i])].sum()
            elif kind == query:
                starts += 1
        totals.append(float(ending.sum()))
    return totals
