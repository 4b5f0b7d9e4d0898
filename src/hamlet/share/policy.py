"""When queries share: the policies, as pure functions of statistics.

dynamic    burst by burst: a query that is touched too often takes bursts alone, and shares again
           as soon as a burst passes without it being touched. The default.
always     every query shares every burst.
never      every query takes every burst alone.
static     decided once, before the run, from the rates of events; the paper's baseline.

Results are the same under all of them. What edges allow is known at plan time: chains of edges
f(previous) op g(next) are worked out once for all queries, which always pays, and edges that are
no chains have state for each query, so there is nothing to share.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal, get_args

from hamlet.errors import PlanError, did_you_mean, listed
from hamlet.share.coefficients import DEFAULTS, CoefficientTable, NumberKind
from hamlet.share.cost import FORMS, BurstStatistics, Form, alone_ns, shared_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Policy = Literal["dynamic", "always", "never", "static"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

Decided = Literal["share", "split", "merge"]
EdgeKind = Literal["plain", "chain", "tree", "log"]


@dataclass(frozen=True, slots=True)
class QueryStatistics:
    """What is known of a query when a burst comes that it could share.

    Attributes:
        windows: Its windows that are open at once.
        bursts: Bursts so far, over whatever stretch the caller looks back.
        touches: Of these, bursts before which an entry or a guard of the query was touched.
        is_touched: Whether that was so before this burst.
        is_split: Whether it took the burst before alone.
        kind: The numbers it has.
        words: Words of a number, where numbers have several.
        planned: What was decided before the run; the static policy keeps to it.
    """

    windows: float
    bursts: float = 0
    touches: float = 0
    is_touched: bool = False
    is_split: bool = False
    kind: NumberKind = "double"
    words: float = 1
    planned: Literal["share", "split"] = "share"

    @property
    def bursts_per_touch(self) -> float:
        """How many bursts come for each touch; infinite where there was none."""
        return self.bursts / self.touches if self.touches else inf


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, what either way was thought to cost, and why, in a short sentence.

    "merge" is to share again after having been split off. Costs are for one burst: nanoseconds of
    our kernels, accesses in the paper's model.
    """

    decided: Decided
    cost_shared: float
    cost_alone: float
    why: str

    @property
    def shares(self) -> bool:
        """Whether the query shares the burst."""
        return self.decided != "split"


def decide(
    policy: Policy, statistics: QueryStatistics, coefficients: CoefficientTable = DEFAULTS
) -> Decision:
    """Whether a query shares a burst.

    Only a query that was touched has a choice to make under the dynamic policy: one that was not
    introduces no snapshot, so sharing costs nothing.

    >>> decide("dynamic", QueryStatistics(12, bursts=900, touches=1, is_touched=True)).decided
    'share'
    >>> decide("dynamic", QueryStatistics(12, bursts=30, touches=20, is_split=True)).decided
    'merge'

    Raises:
        PlanError: There is no such policy.
    """
    c = coefficients.of(statistics.kind)
    rate = statistics.bursts_per_touch
    match policy:
        case "always":
            shares, why = True, "queries always share"
        case "never":
            shares, why = False, "queries never share"
        case "static":
            shares = statistics.planned == "share"
            why = f"decided before the run to {'share' if shares else 'split'}"
        case "dynamic" if not statistics.is_touched:
            shares, why = True, "not touched since the last burst, so sharing is free"
        case "dynamic":
            least = c.patience(statistics.windows, statistics.words)
            shares, why = rate >= least, _compared(rate, least)
        case _:
            raise PlanError("sharing policy", policy, _known_policies(policy))
    return Decision(
        decided=_named(shares, was_shared=not statistics.is_split),
        cost_shared=shared_ns(c, statistics.windows, rate, statistics.words),
        cost_alone=alone_ns(c, statistics.windows, statistics.words),
        why=why,
    )


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


# Known before the run


@dataclass(frozen=True, slots=True)
class PlanTimeChoice:
    """Whether an edge's work is shared, as far as that is known at plan time, and why.

    `shared` is None where it is decided burst by burst.
    """

    shared: bool | None
    why: str


_OF_EDGES: dict[EdgeKind, PlanTimeChoice] = {
    "plain": PlanTimeChoice(None, "a burst is one map for all queries; snapshots decide"),
    "chain": PlanTimeChoice(True, "chains are worked out once for all queries, which always pays"),
    "tree": PlanTimeChoice(False, "each query has a tree of its own sums"),
    "log": PlanTimeChoice(False, "each query has a list of its own events"),
}


def choose_at_plan_time(policy: Policy, edge: EdgeKind) -> PlanTimeChoice:
    """What the policy makes of a kind of edge before any event is there.

    >>> choose_at_plan_time("dynamic", "chain").shared, choose_at_plan_time("always", "tree").shared
    (True, False)

    Raises:
        PlanError: There is no such policy.
    """
    if policy not in POLICIES:
        raise PlanError("sharing policy", policy, _known_policies(policy))
    by_edge = _OF_EDGES[edge]
    if by_edge.shared is False or policy == "dynamic":
        return by_edge
    if policy == "never":
        return PlanTimeChoice(False, "queries never share")
    if by_edge.shared is None and policy == "always":
        return PlanTimeChoice(True, "queries always share")
    return by_edge


@dataclass(frozen=True, slots=True)
class Touched:
    """A query for the static choice: the types that touch it, and its size."""

    by: frozenset[str]
    windows: float = 1
    kind: NumberKind = "double"
    words: float = 1


@dataclass(frozen=True, slots=True)
class Rates:
    """How many events of each type come, in a second or in a sample, and what they do.

    Attributes:
        events: Events by type; a type that is missing does not occur.
        kleene: The type E whose E+ is shared.
        queries: The queries that could share it.
    """

    events: Mapping[str, float]
    kleene: str
    queries: Sequence[Touched]

    def of(self, types: frozenset[str]) -> float:
        """How many events of these types come, E left out: it is what bursts are made of."""
        return sum(self.events.get(name, 0.0) for name in types - {self.kleene})


def followed_by(first: float, second: float) -> float:
    """How often, in random order, an event of one kind is followed by one of another.

    Other events are not looked at. With one kind the E and the other all that end a burst, that is
    the expected number of bursts; with the other all that touch a query, the expected number of
    times that it is touched after a burst.

    >>> followed_by(30, 10)
    7.5
    """
    return first * second / (first + second) if first and second else 0.0


def static_choice(rates: Rates, coefficients: CoefficientTable = DEFAULTS) -> tuple[Decision, ...]:
    """Decide once for each query, from rates, as if events came in random order.

    That is the paper's static baseline: cheap, and wrong for as long as the stream is not as its
    rates say. The `decided` of each query is what `QueryStatistics.planned` should be.

    >>> queries = [Touched(frozenset({"A"})), Touched(frozenset({"B"}))]
    >>> rates = Rates({"E": 100, "A": 50, "B": 1}, "E", queries)
    >>> [decision.decided for decision in static_choice(rates)]
    ['split', 'share']
    """
    bursting = rates.of(frozenset().union(*(query.by for query in rates.queries)))
    e = rates.events.get(rates.kleene, 0.0)
    bursts = followed_by(e, bursting)
    found = []
    for query in rates.queries:
        touches = followed_by(e, rates.of(query.by))
        statistics = QueryStatistics(
            query.windows, bursts, touches, is_touched=True, kind=query.kind, words=query.words
        )
        found.append(decide("dynamic", statistics, coefficients))
    return tuple(found)


def _named(shares: bool, was_shared: bool) -> Decided:
    if not shares:
        return "split"
    return "share" if was_shared else "merge"


def _compared(rate: float, least: float) -> str:
    if rate == inf:
        return "never touched, so sharing is free"
    so = "and sharing pays from" if rate < least else "which is rare enough: sharing pays from"
    return f"touched every {rate:.3g} bursts, {so} {least:.3g}"


def _known_policies(policy: str) -> str:
    return f"Policies are {listed(POLICIES)}.{did_you_mean(policy, POLICIES)}"
