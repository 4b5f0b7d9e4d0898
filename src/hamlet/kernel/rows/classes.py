"""Which units of a group share: a unit that alone begins bursts has a class of its own.

Every burst that begins costs all units of a class a snapshot. So the beginning of a batch is looked
through: which E+ begin bursts that nothing but their own entries begins? Those that begin more of
them in a window than they would need own columns leave the others (kernel/rows/cost.py). Each class
is a group with rows of its own, and bursts are decided about in each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.rows.cost import leavers
from hamlet.kernel.rows.letters import SEVERAL, PlacedGroup, laid_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch

    Ints = NDArray[np.int64]

# Events of a batch that are looked at, and of the loop that there have to be among them
_SAMPLE, _LEAST = 8192, 256
# Where there are more partitions than these among them, they are small and all is cheap.
_MOST_PARTITIONS = 16


def classes_of(
    made: PlacedGroup, events: EventBatch, ts: Ints, letter: NDArray[np.int32], ranges: Ints
) -> list[tuple[int, ...]]:
    """The units of each class, by their numbers in the group; all arrays in the group's order."""
    everyone = tuple(range(len(made.group.units)))
    if not made.is_sharable or made.columns < 3:
        return [everyone]
    gone = set(_leaving(made, events.letters, ts, letter, ranges))
    if not gone:
        return [everyone]
    parted = [c in gone for c in made.column_of_unit]
    return [tuple(u for u in everyone if parted[u] is side) for side in (False, True)]


def class_group(made: PlacedGroup, units: tuple[int, ...]) -> PlacedGroup:
    """The group of a class; made once."""
    if len(units) == len(made.group.units):
        return made
    if units not in made.classes:
        chosen = tuple(made.group.units[u] for u in units)
        made.classes[units] = PlacedGroup.of(replace(made.group, units=chosen))
    return made.classes[units]


def _leaving(
    made: PlacedGroup,
    letters: NDArray[np.uint8],
    ts: Ints,
    letter: NDArray[np.int32],
    ranges: Ints,
) -> list[int]:
    """The columns that had better not share with the others."""
    seen = ranges[ranges[:, 1] < _SAMPLE]
    if not 0 < len(seen) <= _MOST_PARTITIONS:
        return []
    laid, few = laid_for(made, letters), letter[:_SAMPLE]
    loops = laid.is_loop[few]
    if loops.sum() < _LEAST:
        return []
    alone, bursts = _alone(loops, laid.fed[few], made.columns)
    live = _live(made.group.within_us, loops, ts[:_SAMPLE], seen)
    return leavers(alone, bursts, int(loops.sum()), live, made.group.overlap)


def _alone(loops: NDArray[np.bool_], fed: Ints, columns: int) -> tuple[list[int], int]:
    """How many bursts each column begins alone, and how many bursts there are."""
    at = np.flatnonzero(fed != -1)
    if not len(at):
        return [0] * columns, 0
    # What comes in between the same two events of the loop begins one burst.
    burst = np.cumsum(loops)[at]
    first = np.flatnonzero(np.concatenate([[True], burst[1:] != burst[:-1]]))
    least, most = np.minimum.reduceat(fed[at], first), np.maximum.reduceat(fed[at], first)
    one = least[(least == most) & (least != SEVERAL)]
    return np.bincount(one, minlength=columns).tolist(), len(first)


def _live(within_us: int, loops: NDArray[np.bool_], ts: Ints, ranges: Ints) -> float:
    """How many events of the loop a window has, as most of these events see it."""
    total, weighted = 0, 0.0
    for first, end in ranges[:, 1:3].tolist():
        end = min(end, len(ts))
        here = int(loops[first:end].sum())
        lasts = int(ts[end - 1] - ts[first]) + 1
        weighted += here * here * min(1.0, within_us / lasts)
        total += here
    return weighted / max(total, 1)
