"""When queries share: the policies, as pure functions of statistics.

dynamic    decided burst by burst, from counters that are at hand: see kernel/rows/decision.py and
           kernel/machine/bundles.py. The default.
always     every burst is shared by all queries that can share it.
never      one pass over the events, in which each query has its own numbers at every event.
static     as always or as never, for each loop decided once, from what precedes the run: a sample
           of events, or rates that are given. With neither, every loop that can be is shared. The
           paper's baseline: nothing is decided while events come.
apart      each query is a workload of its own: a pass over the events for each.

Results are the same under all of them. What can be shared is known at plan time: a burst without
edge predicates is one map for all queries that ask the same of its events, and loops with one
comparison of neighbours have one table of rows; other edges have state for each query, so there is
nothing to share. None of this says that sharing is faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from hamlet.errors import UnknownName, did_you_mean, listed
from hamlet.plan.execution import Grain
from hamlet.share.coefficients import DEFAULTS, CoefficientTable
from hamlet.share.cost import FOREVER, apart_ns, merged_ns, patience

if TYPE_CHECKING:
    from hamlet.share.cost import BundleSize

Policy = Literal["dynamic", "always", "never", "static", "apart"]
POLICIES: tuple[Policy, ...] = get_args(Policy)


# The patience of a bundle that is merged from the start and, once split, never again.
UNTIL_SPLIT = FOREVER - 1


def inside(policy: Policy) -> Policy:
    """What is decided by in each pass: a query that is run apart is a workload as any other."""
    return "dynamic" if policy == "apart" else policy


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
    if inside(policy) == "dynamic":
        return patience(coefficients.of(size.kind), size)
    return UNTIL_SPLIT if rates is None or _pays(size, coefficients, rates) else FOREVER


def _pays(size: BundleSize, coefficients: CoefficientTable, rates: Rates) -> bool:
    """Whether to be merged until the first split is expected to pay."""
    c = coefficients.of(size.kind)
    return merged_ns(c, size, rates.mean_run) < apart_ns(c, size, rates.mean_run)


# What is fixed before the run


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the static policy has decided of each loop, before any event of the run.

    Loops are known by their text (see `loop_name`), and bundles by the names of their queries, so
    that what was decided here holds wherever the workload is run. What is not in it is shared.

    Attributes:
        alone: Loops that are not shared.
        split: Bundles that are not merged.
        tables: Queries that have a table together without others of their loop, with that.
    """

    alone: frozenset[str] = frozenset()
    split: frozenset[tuple[str, ...]] = frozenset()
    tables: frozenset[tuple[str, tuple[str, ...]]] = frozenset()

    def policy_of(self, loop: str) -> Policy:
        """What a loop is run with."""
        return "never" if loop in self.alone else "always"

    def table_of(self, loop: str, query: str) -> tuple[str, ...]:
        """The queries that one has a table with; nothing where all of its loop have one."""
        found = (some for name, some in sorted(self.tables) if name == loop and query in some)
        return next(found, ())

    def patience_of(self, queries: tuple[str, ...]) -> int:
        """Of a bundle: merged until the first split, or never."""
        return FOREVER if queries in self.split else UNTIL_SPLIT


NOTHING_FIXED = Fixed()


def loop_name(atom: object, predicate: object) -> str:
    """A loop with an edge predicate as text, the same in every plan of a workload."""
    return f"{atom}: {predicate}"


# Known before the run


@dataclass(frozen=True, slots=True)
class PlanTimeChoice:
    """Whether the work of a loop is shared, and why: known at plan time."""

    shared: bool
    why: str


_OF_LOOPS: dict[Grain, PlanTimeChoice] = {
    Grain.BURST: PlanTimeChoice(True, "a burst is one map for all that ask the same of its events"),
    Grain.TYPE: PlanTimeChoice(False, "totals of each query are read or added to at each event"),
    Grain.ROWS: PlanTimeChoice(
        True, "one table of rows, over own columns or snapshots as is decided for each burst"
    ),
    Grain.ORDERED: PlanTimeChoice(False, "each query has a tree of its own sums"),
    Grain.TAKEN: PlanTimeChoice(False, "each query has its own events in order"),
    Grain.SCAN: PlanTimeChoice(False, "each query has a list of its own events"),
}

_UNSHARED = {
    "never": "each query has its own numbers at every event",
    "apart": "each query has a pass of its own",
}


def choose_at_plan_time(policy: Policy, loop: Grain) -> PlanTimeChoice:
    """What the policy makes of a loop before any event is there.

    >>> choose_at_plan_time("dynamic", Grain.ROWS).shared
    True
    >>> choose_at_plan_time("always", Grain.ORDERED).shared
    False

    Raises:
        UnknownName: There is no such policy.
    """
    _check(policy)
    if policy in _UNSHARED and _OF_LOOPS[loop].shared:
        return PlanTimeChoice(False, _UNSHARED[policy])
    return _OF_LOOPS[loop]


def _check(policy: str) -> None:
    if policy not in POLICIES:
        known = f"Policies are {listed(POLICIES)}.{did_you_mean(policy, POLICIES)}"
        raise UnknownName("sharing policy", policy, known)
