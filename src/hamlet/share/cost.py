"""What a burst costs, shared and not: the paper's model in both published forms, and ours.

Pure arithmetic (Section "Dynamic Sharing Optimizer" of the paper). The paper counts accesses: an
event looks at all n events before it, in a shared graphlet at each of s_p snapshots of each, and a
new snapshot has to be worked out for all k queries from g events of t types. So its costs are
quadratic in events, and whether to share depends on everything at once.

Our type-grained kernel is linear, and in nanoseconds. A burst of E+ is one linear map for every
query and window; taking b events into its accumulator costs b steps whatever k is. Only a query
that was touched since the last burst, by an entry or a guard of its own, has a snapshot to pay
for: the next touch must first bring it up to date. Or the burst is applied to it at once, alone,
and nothing is due later. There is no n, no g and no k in that choice, so each query's is its own.

Name here    in the paper
BurstStatistics.b, n, g, k, s_c, s_p    the same
types        t in the plain form (types per query), p in the other (predecessor types per type)
snapshots    what a query adds to s_c and s_p
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log2
from typing import TYPE_CHECKING, Literal, NamedTuple

from hamlet.share.coefficients import DEFAULTS, Coefficients

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

Form = Literal["plain", "log2"]


# The paper's model


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


# Our model


def shared_ns(c: Coefficients, windows: float, bursts_per_touch: float, words: float = 1) -> float:
    """What a query costs for each burst while it shares: its snapshot, spread over the bursts.

    A query that is never touched (infinitely many bursts for each touch) costs nothing.

    >>> shared_ns(DEFAULTS.double, windows=12, bursts_per_touch=inf)
    0.0
    """
    return 0.0 if bursts_per_touch == inf else c.snapshot_ns(windows, words) / bursts_per_touch


def alone_ns(c: Coefficients, windows: float, words: float = 1) -> float:
    """What a query costs for each burst that is applied to it alone."""
    return c.alone_ns(windows, words)


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
        snapshots: How many snapshots fewer there would be without it. In the paper's model those
            that its predicates introduce into this burst; in ours the chance that a snapshot is
            due: 1 / (bursts per touch), 0 where it was not touched.
        windows: Its windows that are open at once.
        words: Words of a number, where numbers have several.
        entries: Events that enter its chains in this burst.
        behaviour: Queries share a graphlet only where this is equal: the same E with the same
            conditions on its events and edges.
    """

    query: int
    snapshots: float = 0
    windows: float = 1
    words: float = 1
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
class KernelModel:
    """Our cost of a plan for one burst of b events without edge predicates, in nanoseconds."""

    b: float
    coefficients: Coefficients = DEFAULTS.double

    def cost(self, sets: Sequence[Sequence[Member]], alone: Sequence[Member]) -> float:
        """What the burst costs if each set shares a graphlet and all others have their own.

        Every set has an accumulator. One is kept even where nobody shares: what is applied to a
        query alone comes from it.
        """
        events = self.b * self.coefficients.event * max(1, len(sets))
        due = sum(self._snapshot(member) for members in sets for member in members)
        return events + due + sum(self._alone(member) for member in alone)

    def gain(self, member: Member, queries: int, snapshots: float) -> float:
        """What sharing saves for one query; the others make no difference to it."""
        return self._alone(member) - self._snapshot(member)

    def _snapshot(self, member: Member) -> float:
        return member.snapshots * self.coefficients.snapshot_ns(member.windows, member.words)

    def _alone(self, member: Member) -> float:
        return self.coefficients.alone_ns(member.windows, member.words)


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
