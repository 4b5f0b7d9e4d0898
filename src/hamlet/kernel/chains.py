"""Chains: E+ with one edge predicate between neighbours, computed once for all its queries.

For SEQ(X, E+) or E+ alone, what follows the first E of a trend does not depend on how the trend
came to it. So the numbers of chains that *begin* at each E are computed once, from the last event
of a window to the first, for every query with the same E, predicate and window; a query only adds
up, at each X of its own, the chains that begin later. Fifty queries cost hardly more than one.

With B(e) the number of chains beginning at e, B(e) = 1 + the sum of B over later events that may
follow e, which a tree over the order of g(next) gives in logarithmic time. Sums of weights and
extremes over chains obey the same recurrence. In the paper's words, B is the coefficient of each
event and an X its graphlet-level snapshot, worked out from the other end.

Cost: O(n log n) for each window of n events, O(1) more for each query and X. Numbers that outgrow
their kind are reported like the machine's. The walk itself is in chain_kernel.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.chain_kernel import ChainCode, ChainEvents, run
from hamlet.kernel.code import NO_WEIGHT
from hamlet.kernel.stopping import stoppable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch

_SCALE = 2.0**-800


@dataclass(frozen=True, slots=True)
class Chain:
    """One unit of the shape SEQ(X, E+) or E+.

    `weights` and `entry_weights` have for each component after the first the weight that an event
    of E, or of X, adds (see code.NO_WEIGHT and code.ONE); `extremes` and `entry_extremes` the
    attribute of each extreme, -1 for none; `entry` is the atom of X, -1 where there is none.
    """

    template: int
    entry: int
    weights: tuple[int, ...]
    entry_weights: tuple[int, ...]
    extremes: tuple[int, ...]
    entry_extremes: tuple[int, ...]
    signs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChainGroup:
    """Chains with the same atom of E, predicate and window."""

    atom: int
    predicate: int
    operator: int
    within_us: int
    slide_us: int
    chains: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class ChainRecords:
    """Closed windows of one group: partition, chain, window, and what they add up to."""

    part: NDArray[np.int64]
    chain: NDArray[np.int64]
    window: NDArray[np.int64]
    components: NDArray[Any]
    extremes: NDArray[np.float64]
    redo: NDArray[np.int32]


def run_chains(
    group: ChainGroup,
    events: EventBatch,
    ranges: NDArray[np.int64],
    zero: NDArray[Any],
) -> ChainRecords:
    """All windows of all partitions; `zero` is an empty array of the kind of numbers to use."""
    used = {w for c in group.chains for w in (*c.weights, *c.entry_weights) if w >= 0}
    code = _code_of(group, events, _scale(zero, events, used))
    seen = ChainEvents(
        events.ts,
        events.tied,
        events.letter,
        np.ascontiguousarray(events.letters[:, group.atom][events.letter]),
        np.ascontiguousarray(events.previous[group.predicate]),
        np.ascontiguousarray(events.next[group.predicate]),
        np.ascontiguousarray(events.weights).reshape(-1),
        np.ascontiguousarray(events.extremes).reshape(-1),
        len(events),
    )
    records, v, x, redo, _ = stoppable(run, seen, code, ranges, zero)
    n = len(records) // 3
    records, x = records.reshape(n, 3), x.reshape(n, code.most_x)
    components = v.reshape((n, code.most, *v.shape[1:]))
    if code.scale != 1.0:
        components = _unscaled(components, code.scale)
    return ChainRecords(records[:, 0], records[:, 1], records[:, 2], components, x, redo)


def _code_of(group: ChainGroup, events: EventBatch, scale: float) -> ChainCode:
    """A group as the kernel has it: what its chains have in common once, and tables by chain."""
    chains = group.chains
    weights, weight_of = _distinct([chain.weights for chain in chains])
    extremes, extreme_of = _distinct([_signed_extremes(chain) for chain in chains])
    entry_p, entry = _entries(group, events)
    return ChainCode(
        operator=group.operator,
        within=group.within_us,
        slide=group.slide_us,
        chains=len(chains),
        most=1 + weight_of.shape[1],
        most_x=extreme_of.shape[1],
        width=1 + len(weights),
        width_x=len(extremes),
        scale=scale,
        entry_p=entry_p,
        entry=entry,
        is_alone=np.array([chain.entry < 0 for chain in chains], np.uint8),
        weights=weights,
        weight_of=weight_of.reshape(-1),
        entry_weights=_table([chain.entry_weights for chain in chains], NO_WEIGHT).reshape(-1),
        extremes=extremes,
        extreme_of=extreme_of.reshape(-1),
        entry_extremes=_table([chain.entry_extremes for chain in chains], -1).reshape(-1),
        signs=_table([chain.signs for chain in chains], 1).reshape(-1),
    )


def _signed_extremes(chain: Chain) -> tuple[int, ...]:
    """The attribute of each extreme, doubled, and 1 more for MAX; -1 for none."""
    pairs = zip(chain.extremes, chain.signs, strict=True)
    return tuple(-1 if attribute < 0 else 2 * attribute + (sign < 0) for attribute, sign in pairs)


def _scale(zero: NDArray[Any], events: EventBatch, used: set[int]) -> float:
    """What doubles are scaled by, so that the range below 1 serves for numbers of chains too.

    There are hundreds of bits below it still: weights that need them are not scaled.
    """
    if zero.ndim == 2 or zero.dtype != np.float64:
        return 1.0
    for weight in used:
        sizes = np.abs(events.weights[weight])
        if np.any((sizes > 0) & (sizes < 2.0**-100)):
            return 1.0
    return _SCALE


def _unscaled(scaled: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Scaled doubles as numbers with an exponent each: see numbers/."""
    is_large = np.abs(scaled) >= 1.0
    mantissas = scaled * np.where(is_large, 2.0**-1024 / scale, 1.0 / scale)
    return np.stack([mantissas, np.where(is_large, 2.0, 0.0)], axis=-1)


def _entries(group: ChainGroup, events: EventBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each letter the chains that its events are an X of: pointers, and numbers."""
    by_letter = [
        [i for i, c in enumerate(group.chains) if c.entry >= 0 and letter[c.entry] == 1]
        for letter in events.letters
    ]
    pointers = np.cumsum([0, *(len(chains) for chains in by_letter)], dtype=np.int64)
    return pointers, np.array([i for chains in by_letter for i in chains], dtype=np.int64)


def _distinct(rows: list[tuple[int, ...]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values of some rows but for -1, and for each row their positions or -1."""
    values = list(dict.fromkeys(v for row in rows for v in row if v != -1))
    positions = [tuple(-1 if v == -1 else values.index(v) for v in row) for row in rows]
    return np.array(values, dtype=np.int64), _table(positions, -1)


def _table(rows: list[tuple[int, ...]], filling: int) -> NDArray[np.int64]:
    """Rows of different lengths as an array, filled up."""
    width = max(len(row) for row in rows)
    table = np.full((len(rows), width), filling, np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
