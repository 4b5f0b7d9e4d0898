"""What is said before a long wait: conditions that no order decides, over many pairs of events.

Such a condition is looked at for every two events of a window and partition that may be neighbours,
so its cost grows like the square of the events of a window; how many pairs there are is known once
events are encoded, before the first is looked at.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.pairs import earlier_in_windows
from hamlet.kernel.run import Standing
from hamlet.plan.predicates import show_edge
from hamlet.plan.program import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.engine.options import Progress
    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.predicates import EdgePredicate
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query

# Fewer are compared in a few seconds.
_MANY_PAIRS = 30_000_000
# Measured: 7 to 10 million, with conditions of one to four operations and numbers of any kind.
_PAIRS_PER_S = 10_000_000
_LOOK_EVERY_S = 0.2
# Which part of a set, as progress counts it, is its run: from where it begins on
RUN_BEGINS, RUN_TAKES = 0.3, 0.6


@dataclass(frozen=True, slots=True)
class SlowLoop:
    """A query that compares pairs of events one by one.

    query: The query.
    condition: The condition that no order decides.
    earlier: For each event of the batch with how many before it it is compared at most.
    """

    query: str
    condition: str
    earlier: NDArray[np.int64]

    @property
    def pairs(self) -> int:
        """How many pairs there are at most."""
        return int(self.earlier.sum())

    @property
    def is_many(self) -> bool:
        """Whether it takes so long that it should be said."""
        return self.pairs > _MANY_PAIRS

    @property
    def cost(self) -> str:
        """What it takes, in words."""
        seconds = self.pairs / _PAIRS_PER_S
        about = f", about {_duration(seconds)}" if seconds >= 1 else ""
        return f"each of up to {rounded(self.pairs)} pairs of events is looked at{about}"

    @property
    def note(self) -> str:
        """What to say of it, and what to do."""
        return (
            f"{self.query}: no order decides {self.condition}, so {self.cost}; one comparison of "
            "the one event with the other, f(T) < g(NEXT(T)), shorter windows or more groups take "
            "less"
        )


def slow_loops(queries: Sequence[Query], program: Program, encoded: EncodedSet) -> list[SlowLoop]:
    """The queries of a set that compare pairs of events one by one."""
    loops = []
    for number, query in enumerate(queries):
        slow = undecided_predicates(query, program, encoded)
        if slow:
            earlier, _ = earlier_of_query(query, number, program, encoded)
            loops.append(SlowLoop(query.name, show_edge(slow[0]), earlier))
    return loops


def undecided_predicates(
    query: Query, program: Program, encoded: EncodedSet
) -> list[EdgePredicate]:
    """The edge predicates of a query that no order decides over some events."""
    decided = dict(zip(program.predicates, encoded.ordered_usable, strict=True))
    return [each for each in query.edge_predicates if not decided[each]]


def earlier_of_query(
    query: Query, number: int, program: Program, encoded: EncodedSet
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each event how many of a query come before it in a window, and whether it is of it too.

    Args:
        query: The query.
        number: Its number in the set.
        program: The program of the set.
        encoded: The events.
    """
    batch = encoded.batch
    is_own = (program.template_query == number) & (program.template_role != Role.GUARD)
    atoms = np.unique(program.state_atom[is_own[program.state_template]])
    is_asked = np.asarray(batch.letters[:, atoms].any(axis=1))[batch.letter]
    earlier = np.zeros(len(batch), np.int64)
    earlier[is_asked] = earlier_in_windows(
        batch.part[is_asked], batch.ts[is_asked], query.window.within_us
    )
    return earlier, is_asked


@contextmanager
def followed(
    loops: Sequence[SlowLoop], batch: EventBatch, tell: Progress
) -> Iterator[Standing | None]:
    """While a set runs, tell how many of the pairs of its slowest loop have been looked at.

    Gives what has to be told where the run stands; None where no loop is slow.
    """
    many = [each for each in loops if each.is_many]
    if not many:
        yield None
        return
    slowest = max(many, key=lambda each: each.pairs)
    standing, is_over, done = Standing(), threading.Event(), np.cumsum(slowest.earlier)
    pairs = int(done[-1])

    def look() -> None:
        looked_at = 0
        while not is_over.wait(_LOOK_EVERY_S):
            place = min(standing.at_event(batch), len(done) - 1)
            # Numbers that outgrow their room are begun again, with more of it.
            looked_at = max(looked_at, int(done[place]))
            what = f"looked at {rounded(looked_at)} of {rounded(pairs)} pairs of events in"
            tell(what, RUN_BEGINS + RUN_TAKES * looked_at / pairs)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield standing
    finally:
        is_over.set()
        thread.join()


def rounded(pairs: int) -> str:
    """A large number in words.

    >>> rounded(3_240_000_000), rounded(451_000_000), rounded(1234)
    ('3.2 billion', '451 million', '1,234')
    """
    if pairs < 10**6:
        return f"{pairs:,}"
    return f"{pairs / 1e9:.1f} billion" if pairs >= 10**9 else f"{pairs / 1e6:.0f} million"


def _duration(seconds: float) -> str:
    """A time to wait, roughly.

    >>> _duration(7.2), _duration(100), _duration(9000)
    ('7 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
