"""What a burst costs, shared and not: the paper's model in both published forms, and ours.

Pure arithmetic (Section "Dynamic Sharing Optimizer" of the paper). The paper counts accesses: an
event looks at all n events before it, in a shared graphlet at each of s_p snapshots of each, and a
new snapshot has to be worked out for all k queries from g events of t types. So its costs are
quadratic in events, and whether to share depends on everything at once.

Our type-grained kernel is linear, and in nanoseconds. A burst of E+ is one linear map for every
query and window: taking b events into its accumulator costs b steps whatever k is, and a query is
brought up to date when it is touched, which costs no more than applying the burst to it at once.
So in this model queries that ask the same of its events share a burst, and what is left to choose
is whose snapshots are one; what queries of a set that do not share cost each other is not in it.
Queries that behave alike make a bundle: merged, a touch by an event that is for all k of them
costs one touch instead of k; but an event that is for some only splits the bundle, and each gets
its own state. With F events for all between two events for some:

    merged   F touch(w) + k copy(rows w)
    split    F k touch(w)

so merging pays from F > k copy(rows w) / ((k - 1) touch(w)) on.

Name here    in the paper
BurstStatistics.b, n, g, k, s_c, s_p    the same
types        t in the plain form (types per query), p in the other (predecessor types per type)
snapshots    what a query adds to s_c and s_p
BundleSize.queries    k; a merged bundle has one snapshot, a split one k
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, log2
from typing import TYPE_CHECKING, Literal, NamedTuple

from hamlet.share.coefficients import DEFAULTS, Coefficients, NumberKind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

Form = Literal["plain", "log2"]

# The patience of a bundle that is never merged: longer than any run of events.
FOREVER = 1 << 40


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


@dataclass(frozen=True, slots=True)
class BundleSize:
    """Queries that behave alike: how many they are, and the size of each.

    Attributes:
        queries: k.
        windows: Windows of a query that are open at once, w.
        rows: Running totals of a query, one for each state.
        aggregates: Numbers in each window of a row.
        kind: The kind of numbers.
        words: Words of a number, where numbers have several.
    """

    queries: int
    windows: int
    rows: int = 2
    aggregates: int = 1
    kind: NumberKind = "double"
    words: int = 1

    def touch_ns(self, c: Coefficients) -> float:
        """What a touch of one query costs."""
        return c.touch_ns(self.windows * self.aggregates, self.words)

    def split_ns(self, c: Coefficients) -> float:
        """What it costs to give each query its own state."""
        cells = self.rows * self.windows * self.aggregates
        return self.queries * c.copy_ns(cells, self.words)


def merged_ns(c: Coefficients, size: BundleSize, run: float) -> float:
    """What a run of events for all costs a bundle that is merged, and split at its end."""
    return run * size.touch_ns(c) + size.split_ns(c)


def apart_ns(c: Coefficients, size: BundleSize, run: float) -> float:
    """What a run of events for all costs a bundle that is split, and stays so."""
    return run * size.queries * size.touch_ns(c)


def patience(c: Coefficients, size: BundleSize) -> int:
    """The least number of events for all, between two events for some, for which merging pays.

    >>> patience(DEFAULTS.double, BundleSize(queries=2, windows=12))
    4
    >>> patience(DEFAULTS.double, BundleSize(queries=50, windows=12))
    2
    """
    saved = (size.queries - 1) * size.touch_ns(c)
    return floor(min(size.split_ns(c) / saved, FOREVER - 1)) + 1


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
