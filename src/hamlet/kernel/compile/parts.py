"""Small things that code is put together from."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.plan.template import START, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(slots=True)
class RaggedLists:
    """Lists of lists that become a pointer array and a flat array."""

    lists: list[list[Any]] = field(default_factory=list)

    def pointers(self) -> Ints:
        """Where each list begins in the flat array, and where the last ends."""
        return begins(map(len, self.lists))

    def flat(self, column: int | None = None) -> Ints:
        """All lists one after the other; of lists of tuples one column."""
        values = [v if column is None else v[column] for each in self.lists for v in each]
        return ints(values)


def ints(values: Iterable[Any]) -> Ints:
    """An array of integers."""
    return np.array(list(values), dtype=np.int64)


def begins(sizes: Iterable[int]) -> Ints:
    """Where things of some sizes begin, one after the other, and where the last ends.

    >>> begins([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return ints(accumulate(sizes, initial=0))


def counts(groups: int, sorted_members: list[int]) -> Ints:
    """Pointers to the members of each group in a list sorted by group."""
    sizes = np.bincount(np.array(sorted_members, dtype=np.int64), minlength=groups)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


# The state (or START) whose trends a row has, the guards that bar them, which copy for the states
# of a guard it is, and what becomes of the trends when an event goes on with them
RowKey = tuple[int, frozenset[int], int, Step]


class Unit:
    """One unit while it is being compiled."""

    def __init__(self, number: int, template: int, query: int) -> None:
        self.number = number
        self.template = template
        self.query = query
        self.rows: dict[RowKey, int] = {}
        self.row_is_start: list[int] = []

    def row(
        self, owner: int, guards: frozenset[int], copy: int = -1, step: Step = Step.STAY
    ) -> int:
        """The number of a row, made when first asked for; copy -1 is the row itself."""
        key = (owner, guards, copy, step)
        if key not in self.rows:
            self.rows[key] = len(self.rows)
            self.row_is_start.append(int(owner == START))
        return self.rows[key]
