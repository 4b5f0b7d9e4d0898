"""What a burst costs, shared and not: the paper's model in both published forms.

Pure arithmetic (Section "Dynamic Sharing Optimizer" of the paper). The paper counts accesses: an
event looks at all n events before it, in a shared graphlet at each of s_p snapshots of each, and a
new snapshot has to be worked out for all k queries from g events of t types. So its costs are
quadratic in events, and whether to share depends on everything at once. What the engine itself
decides with is in hamlet/share/cost.py and hamlet/kernel/rows/cost.py.

Name here    in the paper
BurstStatistics.b, n, g, k, s_c, s_p    the same
types        t in the plain form (types per query), p in the other (predecessor types per type)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Form = Literal["plain", "log2"]
Decided = Literal["share", "split", "merge"]


@dataclass(frozen=True, slots=True)
class BurstStatistics:
    """What is known of a burst of E that k queries could share, in the paper's letters.

    Attributes:
        b: Events in the burst.
        n: Events in the window.
        g: Events in the graphlet.
        k: Queries.
        s_c: Snapshots created from the burst.
        s_p: Snapshots propagated through the graphlet.
        types: Types per query (t) in the plain form, predecessor types per type and query (p) in
            the form with a logarithm.
    """

    b: int
    n: int
    g: int
    k: int
    s_c: float = 1
    s_p: float = 1
    types: int = 1


def shared_plain(s: BurstStatistics) -> float:
    """Shared = b n s_p + s_c k g t.

    >>> shared_plain(BurstStatistics(b=4, n=7, g=4, k=2, s_c=1, s_p=1, types=2))
    44
    """
    return s.b * s.n * s.s_p + s.s_c * s.k * s.g * s.types


def alone_plain(s: BurstStatistics) -> float:
    """NonShared = k b n.

    >>> alone_plain(BurstStatistics(b=4, n=7, g=4, k=2))
    56
    """
    return s.k * s.b * s.n


def shared_log2(s: BurstStatistics) -> float:
    """Shared = s_c k g p + b (log2(g) + n s_p): finding an event's place costs a search."""
    return s.s_c * s.k * s.g * s.types + s.b * (log2(s.g) + s.n * s.s_p)


def alone_log2(s: BurstStatistics) -> float:
    """NonShared = k b (log2(g) + n)."""
    return s.k * s.b * (log2(s.g) + s.n)


class Published(NamedTuple):
    """One published form of the model."""

    shared: Callable[[BurstStatistics], float]
    alone: Callable[[BurstStatistics], float]


FORMS: dict[Form, Published] = {
    "plain": Published(shared_plain, alone_plain),
    "log2": Published(shared_log2, alone_log2),
}


def benefit(s: BurstStatistics, form: Form = "plain") -> float:
    """What sharing saves; where it is more than nothing the paper shares.

    >>> benefit(BurstStatistics(b=4, n=11, g=8, k=2, s_c=1, s_p=2, types=2))
    -32
    """
    return FORMS[form].alone(s) - FORMS[form].shared(s)


# Decisions


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, what either way was thought to cost, and why, in a short sentence.

    "merge" is to share again after having been split off. Costs are accesses for one burst.
    """

    decided: Decided
    cost_shared: float
    cost_alone: float
    why: str


def decide_as_published(
    statistics: BurstStatistics, form: Form = "plain", was_shared: bool = True
) -> Decision:
    """Whether all k queries share a burst, by the benefit of the paper's definition.

    >>> decide_as_published(BurstStatistics(b=4, n=11, g=8, k=2, s_c=1, s_p=2, types=2))
    Decision(decided='split', cost_shared=120, cost_alone=88, why='sharing costs 32 more')
    """
    shared, alone = FORMS[form].shared(statistics), FORMS[form].alone(statistics)
    saved = alone - shared
    why = f"sharing saves {saved:g}" if saved > 0 else f"sharing costs {-saved:g} more"
    return Decision(_named(saved > 0, was_shared), shared, alone, why)


def _named(shares: bool, was_shared: bool) -> Decided:
    if not shares:
        return "split"
    return "share" if was_shared else "merge"
