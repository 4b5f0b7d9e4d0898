"""Streams and workloads in which it can be said how far queries agree.

The queries are twins, SEQ(X x, T+), and differ only in the Xs that they take: x.v is below 0 where
all of them do, and otherwise names the one query that does. So v decides, X by X, whether the
predicates agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

SEED = 1
_TYPES = ("X", "T")


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of a stream with one character.

    burst: Ts after each X.
    disagree: The share of Xs that are for one query only.
    """

    burst: int
    disagree: float


# All predicates agree; none does; long bursts with sparse entries; bursts of 1; now this, now that.
CHANGING = (
    Phase(3, 0.0),
    Phase(3, 1.0),
    Phase(300, 0.0),
    Phase(1, 0.0),
    Phase(1, 1.0),
    Phase(11, 0.5),
)


def steady(events: int, burst: int, queries: int, disagree: float, seed: int = SEED) -> pa.Table:
    """Bursts of one length, with Xs of which a share is for one query only, at random."""
    return _table(_pieces([Phase(burst, disagree)], events, events), queries, seed)


def changing(events: int, stretch: int, queries: int, seed: int = SEED) -> pa.Table:
    """A stream that changes its character every so many events."""
    return _table(_pieces(CHANGING, events, stretch), queries, seed)


def almost_never_agreeing(events: int, burst: int, queries: int, seed: int = SEED) -> pa.Table:
    """Every X but the first is for one query: sharing is possible, and never of any use."""
    kinds, disagree = _pieces([Phase(burst, 1.0)], events, events)
    disagree[0] = 0.0
    return _table((kinds, disagree), queries, seed)


def _pieces(phases: Sequence[Phase], events: int, stretch: int) -> tuple[Flags, NDArray[Any]]:
    """For each event whether it is an X, and how likely it is that an X is for one query."""
    is_start, disagree = np.zeros(events, np.bool_), np.zeros(events)
    for number, begin in enumerate(range(0, events, stretch)):
        phase = phases[number % len(phases)]
        is_start[begin : begin + stretch : phase.burst + 1] = True
        disagree[begin : begin + stretch] = phase.disagree
    return is_start, disagree


def _table(pieces: tuple[Flags, NDArray[Any]], queries: int, seed: int) -> pa.Table:
    is_start, disagree = pieces
    rng = np.random.default_rng(seed)
    named = rng.integers(0, queries, len(is_start))
    v = np.where(rng.random(len(is_start)) < disagree, named, -1)
    # Ts have a v of their own, for edge predicates.
    v[~is_start] = rng.integers(0, 2**20, int((~is_start).sum()))
    codes = pa.array(np.where(is_start, 0, 1).astype(np.int32))
    types = pa.DictionaryArray.from_arrays(codes, pa.array(_TYPES))
    return pa.table({"type": types, "time": np.arange(len(v), dtype=np.int64), "v": v})


def twins(queries: int, within: int, windows: int, has_edge: bool = False) -> str:
    """Queries that differ only in the Xs they take; a second is an event."""
    edge = " AND T.v < NEXT(T).v" if has_edge else ""
    clause = f"{edge} WITHIN {within} s SLIDE {within // windows} s"
    return ";\n".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE (x.v < 0 OR x.v = {i}){clause}"
        for i in range(queries)
    )


def unlike(queries: int, within: int) -> str:
    """Queries that share T+ and of which no two have the same windows."""
    return ";\n".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE x.v < 0 OR x.v = {i}"
        f" WITHIN {within + i} s SLIDE {within + i} s"
        for i in range(queries)
    )
