"""Where events stand in trees: their order by one side of an edge predicate, block by block.

A class of trees is an atom, an edge predicate f(previous) op g(next) and a length of window. Time
is cut into blocks of that length, so that an event's predecessors are in its own block or in the
one before. For each event this gives its place among the events of its block, ordered by f, and
how many of that block and of the one before have f below, and up to, its g. With these a kernel
finds the sum over all predecessors in logarithmic time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.code import Compiled

    Ints = NDArray[np.int64]

# For each class and event: its leaf (-1 for none), the tree's height, and how many keys are below
# and up to its own in this block and in the one before (-1 where it has none to compare).
FIELDS = 6


@dataclass(frozen=True, slots=True)
class Trees:
    """Places of events, and where each tree begins in the numbers and extremes of all trees."""

    places: NDArray[np.int32]
    bits: Ints
    vbase: Ints
    xbase: Ints
    numbers: int
    extremes: int


_NOTHING = np.empty(0, np.int64)
NO_TREES = Trees(np.empty(0, np.int32), _NOTHING, _NOTHING, _NOTHING, 0, 0)


def lay_out_trees(compiled: Compiled, events: EventBatch) -> Trees:
    """The trees of a batch."""
    code = compiled.code
    if not compiled.classes:
        return NO_TREES
    places = np.full((len(compiled.classes), len(events), FIELDS), -1, np.int32)
    heights = np.zeros(len(compiled.classes), np.int64)
    for number, (atom, predicate, within_us) in enumerate(compiled.classes):
        heights[number] = _place(places[number], events, atom, predicate, within_us)
    bits = heights[code.t_class]
    w = code.u_w[code.t_unit]
    nodes = 2 * (2 << bits)  # two halves
    sizes = nodes * w * code.u_nc[code.t_unit]
    sizes_x = nodes * w * code.u_nx[code.t_unit]
    return Trees(
        places.reshape(-1),
        bits,
        np.cumsum([0, *sizes])[:-1],
        np.cumsum([0, *sizes_x])[:-1],
        int(sizes.sum()),
        int(sizes_x.sum()),
    )


def _place(
    places: NDArray[np.int32], events: EventBatch, atom: int, predicate: int, within_us: int
) -> int:
    """Fill in the places of one class; the height of its highest tree."""
    keys, bounds = events.previous[predicate], events.next[predicate]
    sources = np.flatnonzero((events.letters[events.letter, atom] == 1) & ~np.isnan(keys))
    askers = np.flatnonzero(~np.isnan(bounds))
    if not len(sources):
        return 0
    block = events.ts // within_us
    # Blocks in order, numbered by twos so that the block before is found only where it is adjacent.
    groups, group_of = _numbered(events.part[sources], block[sources])
    ranks = np.unique(np.concatenate([keys[sources], bounds[askers]]), return_inverse=True)[1]
    width = int(ranks.max()) + 1
    combined = group_of * width + ranks[: len(sources)]
    order = np.argsort(combined, kind="stable")
    sorted_keys = combined[order]
    starts = np.searchsorted(group_of[order], np.arange(len(groups[0]) + 1))
    sizes = np.diff(starts)
    bits = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    places[sources[order], 0] = np.arange(len(order)) - starts[group_of[order]]
    places[sources, 1] = bits[group_of]
    for age in range(2) if len(askers) else ():
        group = _numbers_of(groups, events.part[askers], block[askers] - age)
        known = group >= 0
        wanted = group[known] * width + ranks[len(sources) :][known]
        base = starts[group[known]]
        rows = askers[known]
        places[rows, 2 + 2 * age] = np.searchsorted(sorted_keys, wanted, "left") - base
        places[rows, 3 + 2 * age] = np.searchsorted(sorted_keys, wanted, "right") - base
    return int(bits.max())


def _numbered(part: NDArray[np.int32], block: Ints) -> tuple[tuple[Ints, Ints], Ints]:
    """Distinct pairs of partition and block in order, and the number of each event's pair."""
    changes = np.ones(len(part), np.bool_)
    changes[1:] = (part[1:] != part[:-1]) | (block[1:] != block[:-1])
    firsts = np.flatnonzero(changes)
    return (part[firsts].astype(np.int64), block[firsts]), np.cumsum(changes) - 1


def _numbers_of(groups: tuple[Ints, Ints], part: NDArray[np.int32], block: Ints) -> Ints:
    """The numbers of some pairs of partition and block, -1 for those that do not occur."""
    lowest = min(int(groups[1].min()), int(block.min()))
    span = max(int(groups[1].max()), int(block.max())) - lowest + 1
    known = groups[0] * span + (groups[1] - lowest)
    wanted = part.astype(np.int64) * span + (block - lowest)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, -1)
