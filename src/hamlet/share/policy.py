"""When queries share: the policies, as pure functions of statistics.

dynamic    a bundle is merged when as many events for all its queries have come in a row as make up
           for splitting it again, and split by an event for some. The default.
always     every burst is shared, and each query has a snapshot of its own.
never      every query takes every burst alone.
static     for each bundle decided once, before the run, from the rates of events, whether its
           queries are one; the first event for some of them refutes that for good. The paper's
           baseline: nothing is decided while events come.

Results are the same under all of them. What edges allow is known at plan time: a burst without edge
predicates is one map for all queries and chains f(previous) op g(next) are worked out once for all,
which always pays; edges that are no chains have state for each query, so there is nothing to share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from hamlet.errors import UnknownName, did_you_mean, listed
from hamlet.share.coefficients import DEFAULTS, CoefficientTable
from hamlet.share.cost import FOREVER, FORMS, BurstStatistics, Form, patience

if TYPE_CHECKING:
    from hamlet.share.cost import BundleSize

Policy = Literal["dynamic", "always", "never", "static"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

Decided = Literal["share", "split", "merge"]
EdgeKind = Literal["plain", "own", "chain", "tree", "log"]

# The patience of a bundle that is merged from the start and, once split, never again.
UNTIL_SPLIT = FOREVER - 1


@dataclass(frozen=True, slots=True)
class Rates:
    """How many events are for all queries of a bundle, and how many for some.

    In a second, or in a sample: only their ratio counts.
    """

    for_all: float
    for_some: float

    @property
    def mean_run(self) -> float:
        """How many events for all come in a row, on average, if events come in random order.

        Runs of none are not counted: nothing is merged or split there.

        >>> Rates(for_all=30, for_some=10).mean_run
        4.0
        """
        if not self.for_all:
            return 0.0
        runs = followed_by(self.for_all, self.for_some)
        return self.for_all / runs if runs else float(FOREVER)


def followed_by(first: float, second: float) -> float:
    """How often, in random order, an event of one kind is followed by one of another.

    Other events are not looked at. With one kind the events for all and the other those for some,
    that is the expected number of splits.

    >>> followed_by(30, 10)
    7.5
    """
    return first * second / (first + second) if first and second else 0.0


def patience_of(
    policy: Policy,
    size: BundleSize,
    coefficients: CoefficientTable = DEFAULTS,
    rates: Rates | None = None,
) -> int | None:
    """How many events for all must come in a row before a bundle is merged; None for no bundles.

    >>> from hamlet.share.cost import BundleSize
    >>> size = BundleSize(queries=50, windows=12)
    >>> patience_of("dynamic", size), patience_of("always", size)
    (2, None)
    >>> patience_of("static", size, rates=Rates(for_all=1000, for_some=10)) == UNTIL_SPLIT
    True

    Args:
        policy: The policy.
        size: The queries of the bundle.
        coefficients: What steps cost.
        rates: What the static policy decides from; without any, nothing speaks against merging.

    Raises:
        UnknownName: There is no such policy.
    """
    _check(policy)
    if policy in ("always", "never"):
        return None
    if policy == "dynamic":
        return patience(coefficients.of(size.kind), size)
    return UNTIL_SPLIT if rates is None or _pays(size, coefficients, rates) else FOREVER


def _pays(size: BundleSize, coefficients: CoefficientTable, rates: Rates) -> bool:
    """Whether to be merged until the first split is expected to pay."""
    c = coefficients.of(size.kind)
    return rates.mean_run * (size.queries - 1) * size.touch_ns(c) > size.split_ns(c)


# The paper's own


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


# Known before the run


@dataclass(frozen=True, slots=True)
class PlanTimeChoice:
    """Whether the work along an edge is shared, and why: known at plan time."""

    shared: bool
    why: str


_OF_EDGES: dict[EdgeKind, PlanTimeChoice] = {
    "plain": PlanTimeChoice(True, "a burst is one map for all that ask the same of its events"),
    "own": PlanTimeChoice(False, "totals of each query are read or added to at each event"),
    "chain": PlanTimeChoice(True, "chains are worked out once for all queries, which always pays"),
    "tree": PlanTimeChoice(False, "each query has a tree of its own sums"),
    "log": PlanTimeChoice(False, "each query has a list of its own events"),
}


def choose_at_plan_time(policy: Policy, edge: EdgeKind) -> PlanTimeChoice:
    """What the policy makes of a kind of edge before any event is there.

    >>> choose_at_plan_time("dynamic", "chain").shared, choose_at_plan_time("always", "tree").shared
    (True, False)

    Raises:
        UnknownName: There is no such policy.
    """
    _check(policy)
    if policy == "never" and _OF_EDGES[edge].shared:
        return PlanTimeChoice(False, "queries never share")
    return _OF_EDGES[edge]


def _check(policy: str) -> None:
    if policy not in POLICIES:
        known = f"Policies are {listed(POLICIES)}.{did_you_mean(policy, POLICIES)}"
        raise UnknownName("sharing policy", policy, known)
