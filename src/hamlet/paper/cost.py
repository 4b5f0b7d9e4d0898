"""What a burst costs, shared and not: the paper's model in both published forms, and whole plans.

Pure arithmetic (Section "Dynamic Sharing Optimizer" of the paper). The paper counts accesses: an
event looks at all n events before it, in a shared graphlet at each of s_p snapshots of each, and a
new snapshot has to be worked out for all k queries from g events of t types. So its costs are
quadratic in events, and whether to share depends on everything at once. What the engine itself
decides with is in hamlet/share/cost.py; `BundleModel` and `ChainModel` are its costs of a plan, to
have the paper's choice made with them.

Name here    in the paper
BurstStatistics.b, n, g, k, s_c, s_p    the same
types        t in the plain form (types per query), p in the other (predecessor types per type)
snapshots    what a query adds to s_c and s_p
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2
from typing import TYPE_CHECKING, Literal, NamedTuple

from hamlet.share.coefficients import DEFAULTS, Coefficients
from hamlet.share.cost import merged_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from hamlet.share.cost import BundleSize

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


# Our chains


def chain_shared_ns(c: Coefficients, b: float, n: float, entries: float) -> float:
    """What b events on chains of edges cost for all queries together.

    The chains that begin at each event are worked out once, with one look into a tree of n events;
    each entry of each query then adds some of them up.
    """
    return b * log2(max(n, 2)) * c.tree_step + entries * c.entry


def chain_alone_ns(c: Coefficients, b: float, n: float, entries: float, k: float) -> float:
    """The same for k queries, each with a tree of its own; `entries` are those of all of them."""
    return k * b * log2(max(n, 2)) * c.tree_step + entries * c.entry


# Plans: what is shared by whom


@dataclass(frozen=True, slots=True)
class Member:
    """A query of a burst that could be shared.

    Attributes:
        query: Its number.
        snapshots: How many snapshots its predicates introduce into this burst, in the paper's
            model.
        entries: Events that enter its chains in this burst.
        behaviour: Queries have a graphlet, or a snapshot, in common only where this is equal. In
            the paper: the same E with the same conditions on its events and edges. In a bundle:
            the same windows, aggregates and states too.
    """

    query: int
    snapshots: float = 0
    entries: float = 0
    behaviour: Hashable = None


@dataclass(frozen=True, slots=True)
class PaperModel:
    """The paper's cost of a plan for one burst, in either form.

    A set of queries has the snapshots of `burst` (its s_c and s_p: those of the graphlet itself)
    and those of its members. A query alone has none. `burst.k` is not looked at.
    """

    burst: BurstStatistics
    form: Form = "plain"

    def cost(self, sets: Sequence[Sequence[Member]], alone: Sequence[Member]) -> float:
        """What the burst costs if each set shares a graphlet and all others have their own."""
        shared = sum(self.shared(len(s), sum(m.snapshots for m in s)) for s in sets)
        return shared + self.alone(len(alone))

    def gain(self, member: Member, queries: int, snapshots: float) -> float:
        """What sharing saves for one member of a graphlet.

        Args:
            member: The query that could be taken out.
            queries: How many queries share the graphlet, with it.
            snapshots: How many snapshots they introduce, with it.
        """
        without = self.shared(queries - 1, snapshots - member.snapshots) + self.alone(1)
        return without - self.shared(queries, snapshots)

    def shared(self, queries: int, snapshots: float) -> float:
        """What a graphlet costs that so many queries share, which introduce so many snapshots."""
        s = self.burst
        return FORMS[self.form].shared(
            replace(s, k=queries, s_c=s.s_c + snapshots, s_p=s.s_p + snapshots)
        )

    def alone(self, queries: int) -> float:
        """What so many queries cost, each with a graphlet of its own."""
        return FORMS[self.form].alone(replace(self.burst, k=queries))


@dataclass(frozen=True, slots=True)
class BundleModel:
    """Our cost of a plan for a run of events for all, in nanoseconds.

    Events of bursts are left out: they cost the same under every plan.

    Attributes:
        bundles: For each behaviour the size of a query that has it; how many they are is told by
            the plan.
        runs: For each behaviour the events for all of its queries until the next for some.
    """

    bundles: Mapping[Hashable, BundleSize]
    runs: Mapping[Hashable, float]
    coefficients: Coefficients = DEFAULTS.double

    def cost(self, sets: Sequence[Sequence[Member]], alone: Sequence[Member]) -> float:
        """What the run costs if each set is merged and all others have snapshots of their own."""
        return sum(self._merged(s[0], len(s)) for s in sets) + sum(map(self._alone, alone))

    def gain(self, member: Member, queries: int, snapshots: float) -> float:
        """What being merged saves for one of so many queries."""
        without = self._merged(member, queries - 1) + self._alone(member)
        return without - self._merged(member, queries)

    def _merged(self, member: Member, queries: int) -> float:
        size = replace(self.bundles[member.behaviour], queries=queries)
        if queries < 2:  # whoever is the only one is never split
            return queries * self._alone(member)
        return merged_ns(self.coefficients, size, self.runs[member.behaviour])

    def _alone(self, member: Member) -> float:
        touch = self.bundles[member.behaviour].touch_ns(self.coefficients)
        return self.runs[member.behaviour] * touch


@dataclass(frozen=True, slots=True)
class ChainModel:
    """Our cost of b events on chains of edges, in a window of n, in nanoseconds."""

    b: float
    n: float
    coefficients: Coefficients = DEFAULTS.double

    def cost(self, sets: Sequence[Sequence[Member]], alone: Sequence[Member]) -> float:
        """What the events cost if each set shares its chains and all others have their own."""
        trees = len(sets) + len(alone)
        entries = sum(m.entries for group in (*sets, alone) for m in group)
        return chain_alone_ns(self.coefficients, self.b, self.n, entries, trees)

    def gain(self, member: Member, queries: int, snapshots: float) -> float:
        """What sharing saves for one query: a tree of its own, unless it is the only one."""
        if queries < 2:
            return 0.0
        return chain_shared_ns(self.coefficients, self.b, self.n, 0)
