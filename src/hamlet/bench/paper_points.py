"""What the experiments of the paper vary, and at which values: one point for each run.

The paper says which data sets, workloads, rates and numbers of queries it takes, but for the low
setting of its first comparison, and for its windows, only that they let all systems end. What is
chosen here instead stands beside each sweep.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SEED = 1
ALL = ("hamlet", "greta", "sharon", "mcep")
TWO = ("hamlet", "greta")
POLICIES = ("dynamic", "static", "always", "never")


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One workload over one stream.

    sweep: What is varied, and x: its value here.
    kind: Of the workload, first or second: see `hamlet.data.workloads`; or twins: one pattern for
        all, and a different condition on the event that enters each.
    within: The windows of a workload of the first kind, in seconds; they do not overlap.
    pieces: How many tables of `minutes` are handed over, one after the other.
    series: The systems, or policies of sharing, that are compared.
    """

    sweep: str
    x: float
    data_set: str
    rate: float
    queries: int
    minutes: float
    pieces: int
    series: tuple[str, ...]
    kind: str = "first"
    within: float = 0.0
    groups: int | None = None
    burst: float | None = None

    @property
    def are_policies(self) -> bool:
        """Whether what is compared are policies of sharing, and not systems."""
        return self.series == POLICIES

    def as_dict(self) -> dict[str, Any]:
        """The point as plain data."""
        return {**asdict(self), "series": list(self.series)}


@dataclass(frozen=True, slots=True)
class Scale:
    """How large points are, how many, how often each is measured, and how long each may take."""

    name: str
    repeat: int
    limit_s: float
    few: bool
    taxi_minutes: float
    home_minutes: float
    stock_minutes: float
    growth_seconds: tuple[float, ...]

    def some(self, values: Sequence[float]) -> list[float]:
        """The values to measure at: the least, the middle and the greatest where few are."""
        if not self.few:
            return list(values)
        return sorted({values[0], values[len(values) // 2], values[-1]})


QUICK = Scale(
    "quick",
    repeat=3,
    limit_s=10.0,
    few=True,
    taxi_minutes=20,
    home_minutes=3,
    stock_minutes=10,
    growth_seconds=(0.5, 2, 10, 120),
)
FULL = Scale(
    "full",
    repeat=3,
    limit_s=120.0,
    few=False,
    taxi_minutes=30,
    home_minutes=10,
    stock_minutes=20,
    growth_seconds=(0.5, 1, 2, 5, 10, 30, 60, 180, 600),
)

RIDE_RATES = (10_000, 12_500, 15_000, 17_500, 20_000)
RIDE_QUERIES = (5, 10, 15, 20, 25)
TAXI_RATES = (100, 200, 300, 400)
HOME_RATES = (10_000, 20_000, 30_000, 40_000)
STOCK_RATES = (2_000, 2_500, 3_000, 3_500, 4_000)
HIGH_QUERIES = (10, 25, 50, 100)
STOCK_QUERIES = (20, 40, 60, 80, 100)


def _rides(sweep: str, x: float, rate: float, queries: int) -> SweepPoint:
    """The low setting: so many districts, and windows so short, that MCEP comes to an end."""
    return SweepPoint(
        sweep, x, "ridesharing", rate, queries, 1, 3, ALL, within=60, groups=2000, burst=5
    )


def rides_by_events(scale: Scale) -> Iterator[SweepPoint]:
    """Ridesharing, events per minute; 15 queries, 2,000 districts, windows of 1 minute."""
    for rate in scale.some(RIDE_RATES):
        yield _rides("ridesharing-events", rate, rate, 15)


def rides_by_queries(scale: Scale) -> Iterator[SweepPoint]:
    """Ridesharing, number of queries; 15,000 events per minute."""
    for queries in scale.some(RIDE_QUERIES):
        yield _rides("ridesharing-queries", queries, 15_000, int(queries))


def _high(sweep: str, x: float, rate: float, queries: int, scale: Scale) -> SweepPoint:
    """The high setting: long windows, and few groups."""
    data_set = sweep.split("-")[0]
    minutes = scale.taxi_minutes if data_set == "taxi" else scale.home_minutes
    return SweepPoint(sweep, x, data_set, rate, queries, minutes, 1, TWO, within=60 * minutes)


def taxi_by_events(scale: Scale) -> Iterator[SweepPoint]:
    """New York taxis, events per minute; 50 queries."""
    for rate in scale.some(TAXI_RATES):
        yield _high("taxi-events", rate, rate, 50, scale)


def homes_by_events(scale: Scale) -> Iterator[SweepPoint]:
    """Smart homes, events per minute; 50 queries."""
    for rate in scale.some(HOME_RATES):
        yield _high("smarthome-events", rate, rate, 50, scale)


def taxi_by_queries(scale: Scale) -> Iterator[SweepPoint]:
    """New York taxis, number of queries; 200 events per minute."""
    for queries in scale.some(HIGH_QUERIES):
        yield _high("taxi-queries", queries, 200, int(queries), scale)


def homes_by_queries(scale: Scale) -> Iterator[SweepPoint]:
    """Smart homes, number of queries; 20,000 events per minute."""
    for queries in scale.some(HIGH_QUERIES):
        yield _high("smarthome-queries", queries, 20_000, int(queries), scale)


def _trades(sweep: str, x: float, rate: float, queries: int, scale: Scale) -> SweepPoint:
    return SweepPoint(
        sweep, x, "stock", rate, queries, scale.stock_minutes, 1, POLICIES, kind="second"
    )


def stock_by_events(scale: Scale) -> Iterator[SweepPoint]:
    """Stock, events per minute, policies of sharing; 50 diverse queries."""
    for rate in scale.some(STOCK_RATES):
        yield _trades("stock-events", rate, rate, 50, scale)


def stock_by_queries(scale: Scale) -> Iterator[SweepPoint]:
    """Stock, number of diverse queries, policies of sharing; 3,000 events per minute."""
    for queries in scale.some(STOCK_QUERIES):
        yield _trades("stock-queries", queries, 3_000, int(queries), scale)


def stock_by_twins(scale: Scale) -> Iterator[SweepPoint]:
    """Stock, number of queries that differ in one condition; 3,000 events per minute, 20 companies.

    The diverse queries of the paper's second workload leave a policy of this engine nothing to
    decide: bursts are shared by all but "never", and no two queries can be one. These can.
    """
    for queries in scale.some(STOCK_QUERIES):
        yield SweepPoint(
            "stock-twins",
            queries,
            "stock",
            3_000,
            int(queries),
            scale.stock_minutes,
            1,
            POLICIES,
            kind="twins",
            within=120,
            groups=20,
        )


def growth(scale: Scale) -> Iterator[SweepPoint]:
    """Not in the paper: ridesharing, events of one district in one window; 5 queries."""
    rate, groups = 10_000, 10
    for seconds in scale.growth_seconds:
        events = round(rate * seconds / 60 / groups)
        minutes = seconds / 60
        yield SweepPoint(
            "growth", events, "ridesharing", rate, 5, minutes, 3, ALL, within=seconds, groups=groups
        )


SWEEPS: dict[str, Callable[[Scale], Iterator[SweepPoint]]] = {
    "ridesharing-events": rides_by_events,
    "ridesharing-queries": rides_by_queries,
    "taxi-events": taxi_by_events,
    "taxi-queries": taxi_by_queries,
    "smarthome-events": homes_by_events,
    "smarthome-queries": homes_by_queries,
    "stock-events": stock_by_events,
    "stock-queries": stock_by_queries,
    "stock-twins": stock_by_twins,
    "growth": growth,
}
