"""How often units that ask different things of neighbours disagree about an event.

An event is disputed by two edge predicates where they let different stored events precede it. So
what a predicate lets precede an event is one word, a bit for each event of the loop before it, and
two predicates dispute the events for which their words differ. That has room for windows of so many
events; where they are longer, some stored event is nearly always between two bounds, rows would be
over as many snapshots as there are events, and units with different predicates have tables apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.rows.layout import BELOW, EQUAL, UP_TO
from hamlet.kernel.rows.letters import COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.rows.group import RowPredicate

    Ints = NDArray[np.int64]
    Doubles = NDArray[np.float64]
    Mask = NDArray[np.bool_]

# Events of the loop in a window, where different predicates may have one table
MOST_LIVE = 64
# Events of the loop that are looked at
_SEEN = 256


class Loops(NamedTuple):
    """Events of a loop in the order that a group takes them in: partition, time, where they are."""

    part: NDArray[np.int64]
    ts: Ints
    at: Ints

    @staticmethod
    def of(ts: Ints, is_loop: Mask, ranges: Ints) -> Loops:
        """Those of some partitions."""
        begins = np.zeros(len(ts) + 1, np.int64)
        begins[np.minimum(ranges[:, 1:3], len(ts))] = 1
        at = np.flatnonzero(is_loop)
        return Loops(np.cumsum(begins)[at], ts[at], at)

    def pairs(self, apart: int, within_us: int) -> Mask:
        """By event from number `apart` on, whether that so many before is in a window with it."""
        is_near = self.ts[:-apart] > self.ts[apart:] - within_us
        return np.asarray(is_near & (self.part[:-apart] == self.part[apart:]))


def has_small_windows(loops: Loops, within_us: int) -> bool:
    """Whether no window has more events of the loop than different predicates may look at."""
    return len(loops.at) <= MOST_LIVE or not loops.pairs(MOST_LIVE, within_us).any()


def let_precede(
    loops: Loops, within_us: int, predicates: Sequence[RowPredicate], f: Doubles, g: Doubles
) -> NDArray[np.uint64]:
    """By predicate and event of the loop, of the first of them, what may precede it as bits."""
    few = Loops(*(each[:_SEEN] for each in loops))
    words = np.zeros((len(predicates), len(few.at)), np.uint64)
    keys, bounds = f[:, few.at], g[:, few.at]
    operators = np.array([COMPARED[predicate.operator][0] for predicate in predicates])
    alike = [(np.flatnonzero(operators == each), int(each)) for each in np.unique(operators)]
    for apart in range(1, min(MOST_LIVE + 1, len(few.at))):
        # Events of one time do not precede each other.
        is_pair = few.pairs(apart, within_us) & (few.ts[:-apart] < few.ts[apart:])
        if not is_pair.any():
            continue
        for some, operator in alike:
            is_let = is_pair & _compared(operator, keys[some, :-apart], bounds[some, apart:])
            words[some, apart:] |= is_let.astype(np.uint64) << np.uint64(apart - 1)
    return words


def _compared(operator: int, keys: Doubles, bounds: Doubles) -> Mask:
    """As cells.is_open does; null stands in no order to anything."""
    if operator == BELOW:
        return np.asarray(keys < bounds)
    if operator == UP_TO:
        return np.asarray(keys <= bounds)
    if operator == EQUAL:
        return np.asarray(keys == bounds)
    return np.asarray((keys < bounds) | (keys > bounds))


def by_keys(predicates: Sequence[RowPredicate], f: Doubles) -> list[int]:
    """A number for each predicate: those that differ in bounds only have the same one."""
    numbers: dict[tuple[int, bytes], int] = {}
    alike = ((COMPARED[p.operator][0], f[n].tobytes()) for n, p in enumerate(predicates))
    return [numbers.setdefault(each, len(numbers)) for each in alike]


def disputed_part(let: NDArray[np.uint64], predicates: Iterable[int]) -> float:
    """The part of the events that some of these predicates dispute.

    >>> let = np.array([[0, 1, 3, 7], [0, 1, 2, 7], [0, 1, 3, 6]], np.uint64)
    >>> disputed_part(let, [0, 1]), disputed_part(let, [0, 1, 2]), disputed_part(let, [2])
    (0.25, 0.5, 0.0)
    """
    some = let[list(predicates)]
    return float((some != some[:1]).any(axis=0).mean()) if some.shape[1] else 0.0
