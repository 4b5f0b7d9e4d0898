"""The aggregates: what each is applied to, what kernels add up for it, how it is finished.

This table is all that the language, the kernels, partial answers and explain know of them by name.
A new one is a line here, and where its numbers are not made of those that there are, a weight in
kernel/encode/batch.py and a finisher in kernel/finish/cells.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# What is added up over the occurrences of events in trends: 1, 1 where an attribute is not null,
# the attribute itself, or its square; or over trends, of the last event less the first: its time
# within its stretch, and 1 where that is an odd one (see `Weight` in kernel/base.py).
WeightKind = Literal["one", "present", "value", "square", "time", "turn"]
# From these sums, the extreme, or other aggregates to a result: see kernel/finish/cells.py
Finisher = Literal["count", "sum", "mean", "variance", "deviation", "extreme", "computed"]


@dataclass(frozen=True, slots=True)
class Function:
    """One of the aggregates.

    Attributes:
        name: What it is called in queries.
        finisher: How its result is made.
        takes_attribute: Whether it is applied to an attribute; else to a variable, or to * for all
            trends, for which nothing but the number of trends is needed.
        weights: What is added up for it, in the order that finishers have them in.
        sign: 1 for the least value and -1 for the greatest; 0 where it is no extreme.
        has_pairs: Whether it can be asked of pairs of trends, those of AND.
    """

    name: str
    finisher: Finisher
    takes_attribute: bool
    weights: tuple[WeightKind, ...] = ()
    sign: Literal[1, 0, -1] = 0
    has_pairs: bool = True


# Sums over the occurrences that are not null, as for AVG, and of squares
_SPREAD: tuple[WeightKind, ...] = ("present", "value", "square")

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.name: function
        for function in (
            Function("COUNT", "count", False, ("one",)),
            # Occurrences that are not null are counted too: to tell null from 0, and to divide by.
            Function("SUM", "sum", True, ("present", "value")),
            Function("AVG", "mean", True, ("present", "value")),
            Function("MIN", "extreme", True, sign=1),
            Function("MAX", "extreme", True, sign=-1),
            Function("STDDEV", "deviation", True, _SPREAD, has_pairs=False),
            Function("VARIANCE", "variance", True, _SPREAD, has_pairs=False),
        )
    }
)

# What trends are measured by, and what can be asked of that: the functions that are there, of which
# a measure is the argument instead of an attribute.
LENGTH = "LENGTH"
DURATION = "DURATION"
MEASURES: Mapping[str, Mapping[str, Function]] = MappingProxyType(
    {
        LENGTH: {
            function.name: function
            for function in (
                # The number of occurrences of any events, and that over the number of trends
                Function("SUM", "count", False, ("one",), has_pairs=False),
                Function("AVG", "mean", False, ("one",), has_pairs=False),
                Function("MIN", "extreme", False, sign=1, has_pairs=False),
                Function("MAX", "extreme", False, sign=-1, has_pairs=False),
            )
        },
        DURATION: {
            function.name: function
            for function in (
                Function("SUM", "sum", False, ("time", "turn"), has_pairs=False),
                Function("AVG", "mean", False, ("time", "turn"), has_pairs=False),
                Function("MIN", "extreme", False, sign=1, has_pairs=False),
                Function("MAX", "extreme", False, sign=-1, has_pairs=False),
            )
        },
    }
)


def squared(attribute: str) -> str:
    """What the squares of an attribute are called where sums are told apart by attribute."""
    return f"\0square of {attribute}"
