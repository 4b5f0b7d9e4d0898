"""What is said before a long wait: conditions that no order decides, over many pairs of events.

Such a condition is looked at for every two events of a window and partition that may be neighbours,
so its cost grows like the square of the events of a window; how many pairs there are is known once
events are encoded, before the first is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hamlet.kernel.interpreted import pairs_in_windows
from hamlet.plan.predicates import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query

# Fewer are compared in a few seconds.
_MANY_PAIRS = 300_000_000


class SlowLoop(NamedTuple):
    """A query that compares very many pairs of events one by one, and what to say of it."""

    pairs: int
    note: str

    @property
    def what(self) -> str:
        """What is done while one waits."""
        return f"looking at {_rounded(self.pairs)} pairs of events in"


def slow_loops(queries: Sequence[Query], program: Program, encoded: EncodedSet) -> list[SlowLoop]:
    """The queries that compare very many pairs of events one by one."""
    decided = dict(zip(program.predicates, encoded.ordered_usable, strict=True))
    found = []
    for query in queries:
        slow = [each for each in query.edge_predicates if not decided[each]]
        if not slow:
            continue
        pairs = pairs_in_windows(encoded.batch, query.window.within_us)
        if pairs > _MANY_PAIRS:
            note = (
                f"{query.name}: no order decides {show(slow[0].condition)}, so each of up to "
                f"{_rounded(pairs)} pairs of events is looked at; one comparison of the one event "
                "with the other, f(T) < g(NEXT(T)), shorter windows or more groups take less"
            )
            found.append(SlowLoop(pairs, note))
    return found


def _rounded(pairs: int) -> str:
    """A large number in words.

    >>> _rounded(3_240_000_000), _rounded(451_000_000)
    ('3.2 billion', '451 million')
    """
    return f"{pairs / 1e9:.1f} billion" if pairs >= 10**9 else f"{pairs / 1e6:.0f} million"
