"""The aggregates: what each is applied to, what kernels add up for it, how it is finished.

This table is all that the language, the kernels, partial answers and explain know of them by name.
A new one is a line here, and where its numbers are not made of those that there are, a weight in
kernel/encode/batch.py and a finisher in kernel/finish/answers.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# What is added up over the occurrences of events in trends: 1, 1 where an attribute is not null, or
# the attribute itself.
WeightKind = Literal["one", "present", "value"]
# From these sums, the extreme, or other aggregates to a result: see kernel/finish/cells.py
Finisher = Literal["count", "sum", "mean", "extreme", "computed"]


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
    """

    name: str
    finisher: Finisher
    takes_attribute: bool
    weights: tuple[WeightKind, ...] = ()
    sign: Literal[1, 0, -1] = 0


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
        )
    }
)
