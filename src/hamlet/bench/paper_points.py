"""What the experiments of the paper vary, and at which values: one point for each run.

The paper gives its data sets, workloads, rates and numbers of queries, and says that windows have
10,000 events in the setting in which all systems end, and 100,000 in the one of its introduction in
which others fail. It gives neither the lengths of windows nor the number of groups, on which it
depends how many of these events can be in one trend. What is chosen here instead stands beside
each sweep, and `GIVEN` tells the two apart.

Every sweep has a twin over a real file of the same kind, where that file is there. Its rate is
changed as the paper changes it, by the speed at which it is replayed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SEED = 1
# The engine, and what it is held against: itself without sharing (in one pass; each query with a
# pass of its own), the systems of the paper, GRETA without the help of one encoding for all
# queries, and a compiled loop for each query.
ALL = ("hamlet", "never", "apart", "loops", "greta", "greta apart", "sharon", "mcep")
TWO = ("hamlet", "never", "apart", "loops", "greta", "greta apart")
POLICIES = ("dynamic", "static", "always", "never", "apart")
# Where latency is measured as the paper defines it, while events come at their pace.
HOSTS = ("session", "spark")
GIVEN = (
    ("events per minute, number of queries, data sets, burst of 120 trades", "paper"),
    ("windows of 10,000 events where all systems end, of 100,000 where GRETA is alone", "paper"),
    ("number of groups, lengths of windows in minutes, patterns, conditions", "chosen"),
)


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One workload over one stream.

    sweep: What is varied, and x: its value here.
    data_set: The generated data set, or the real file, that events come from.
    rate: Events in a minute; a real file is replayed at the speed that makes it so.
    kind: Of the workload: first, second (see `hamlet.data.workloads`); edges, the second with a
        condition on neighbours in each query; or twins, one pattern for all and a different
        condition on the event that enters each.
    within: The windows of a workload of the first kind, in seconds; they do not overlap.
    pieces: How many tables of `minutes` are handed over, one after the other.
    groups: How many groups there are; of a real file, how many of its groups are taken.
    burst: How many events of the repeated type come in a row on average.
    series: The systems, or policies of sharing, that are compared.
    speed: How many seconds of events come in a second, where they come at a pace.
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
    speed: float | None = None

    @property
    def are_policies(self) -> bool:
        """Whether what is compared are policies of sharing, and not systems."""
        return self.series == POLICIES

    def as_dict(self) -> dict[str, Any]:
        """The point as plain data."""
        return {**asdict(self), "series": list(self.series)}


@dataclass(frozen=True, slots=True)
class Scale:
    """How large points are, how many, how often each is measured, and how long each may take.

    enough_s: After so many seconds a run is not repeated any more.
    high_events: Of a window in the high setting, at the default rate of its data set.
    low_windows: How many windows there are in the low setting, a table for each.
    paced_repeat: How often a replay at a pace is repeated, which takes as long as its events do.
    """

    name: str
    repeat: int
    limit_s: float
    enough_s: float
    few: bool
    high_events: int
    low_windows: int
    stock_minutes: float
    paced_windows: int
    paced_repeat: int
    growth_seconds: tuple[float, ...]

    def some(self, values: Sequence[float]) -> list[float]:
        """The values to measure at: the least and the greatest where few are."""
        return [values[0], values[-1]] if self.few else list(values)


QUICK = Scale(
    "quick",
    repeat=3,
    limit_s=3.0,
    enough_s=1.0,
    few=True,
    high_events=10_000,
    low_windows=1,
    stock_minutes=20,
    paced_windows=12,
    paced_repeat=1,
    growth_seconds=(0.5, 2, 10, 60),
)
FULL = Scale(
    "full",
    repeat=3,
    limit_s=120.0,
    enough_s=60.0,
    few=False,
    high_events=100_000,
    low_windows=3,
    stock_minutes=40,
    paced_windows=30,
    paced_repeat=3,
    growth_seconds=(0.5, 1, 2, 5, 10, 30, 60, 180, 600),
)

RIDE_RATES = (10_000, 12_500, 15_000, 17_500, 20_000)
RIDE_QUERIES = (5, 10, 15, 20, 25)
TAXI_RATES = (100, 200, 300, 400)
HOME_RATES = (10_000, 20_000, 30_000, 40_000)
STOCK_RATES = (2_000, 2_500, 3_000, 3_500, 4_000)
HIGH_QUERIES = (10, 25, 50, 100)
STOCK_QUERIES = (20, 40, 60, 80, 100)
REAL_GROUPS = (16, 64, 256)
# Events a second, at 60 times the pace of the clock
PACED_RATES = (10_000, 50_000, 250_000)


def _low(
    sweep: str, x: float, data_set: str, scale: Scale, rate: float, queries: int
) -> SweepPoint:
    """The low setting: windows of 10,000 to 20,000 events, in as many groups as let MCEP end."""
    groups = {"ridesharing": 1000, "cabs": 508}[data_set]
    burst = 5.0 if data_set == "ridesharing" else None
    return SweepPoint(
        sweep,
        x,
        data_set,
        rate,
        queries,
        1,
        scale.low_windows,
        ALL,
        within=60,
        groups=groups,
        burst=burst,
    )


def _low_by_events(sweep: str, data_set: str) -> Callable[[Scale], Iterator[SweepPoint]]:
    def points(scale: Scale) -> Iterator[SweepPoint]:
        for rate in scale.some(RIDE_RATES):
            yield _low(sweep, rate, data_set, scale, rate, 15)

    return points


def _low_by_queries(sweep: str, data_set: str) -> Callable[[Scale], Iterator[SweepPoint]]:
    def points(scale: Scale) -> Iterator[SweepPoint]:
        for queries in scale.some(RIDE_QUERIES):
            yield _low(sweep, queries, data_set, scale, 15_000, int(queries))

    return points


@dataclass(frozen=True, slots=True)
class _High:
    """A stream of the high setting: its default rate makes the events of a window what is asked."""

    data_set: str
    rate: float
    rates: tuple[float, ...]
    groups: int | None
    most_events: int = 100_000

    def point(
        self,
        sweep: str,
        x: float,
        scale: Scale,
        *,
        rate: float = 0,
        queries: int = 50,
        groups: int = 0,
    ) -> SweepPoint:
        """One window, whose length in minutes the rate does not change."""
        minutes = min(scale.high_events, self.most_events) / self.rate
        return SweepPoint(
            sweep,
            x,
            self.data_set,
            rate or self.rate,
            queries,
            minutes,
            1,
            TWO,
            within=60 * minutes,
            groups=groups or self.groups,
        )


_TAXI = _High("taxi", 200, TAXI_RATES, 100)
_HOMES = _High("smarthome", 20_000, HOME_RATES, 2125)
_CABS = _High("cabs", 200, TAXI_RATES, 128)
# Files that have no more: 16 cabs in two days, and all plugs at twice the rate.
_FEW_CABS = _High("cabs", 200, TAXI_RATES, 128, most_events=20_000)
_PLUGS = _High("smart_plugs", 20_000, HOME_RATES, None, most_events=15_000)


def _high_by_events(sweep: str, of: _High) -> Callable[[Scale], Iterator[SweepPoint]]:
    def points(scale: Scale) -> Iterator[SweepPoint]:
        for rate in scale.some(of.rates):
            yield of.point(sweep, rate, scale, rate=rate)

    return points


def _high_by_queries(sweep: str, of: _High) -> Callable[[Scale], Iterator[SweepPoint]]:
    def points(scale: Scale) -> Iterator[SweepPoint]:
        for queries in scale.some(HIGH_QUERIES):
            yield of.point(sweep, queries, scale, queries=int(queries))

    return points


def _high_by_groups(sweep: str, of: _High) -> Callable[[Scale], Iterator[SweepPoint]]:
    """The same events a minute in more and more groups: what the paper does not say."""

    def points(scale: Scale) -> Iterator[SweepPoint]:
        for groups in scale.some(REAL_GROUPS):
            yield of.point(sweep, groups, scale, groups=int(groups))

    return points


def _trades(
    sweep: str, x: float, data_set: str, rate: float, queries: int, scale: Scale, kind: str
) -> SweepPoint:
    return SweepPoint(
        sweep, x, data_set, rate, queries, scale.stock_minutes, 1, POLICIES, kind=kind
    )


def _trades_by_events(
    sweep: str, data_set: str, kind: str
) -> Callable[[Scale], Iterator[SweepPoint]]:
    def points(scale: Scale) -> Iterator[SweepPoint]:
        for rate in scale.some(STOCK_RATES):
            yield _trades(sweep, rate, data_set, rate, 50, scale, kind)

    return points


def _trades_by_queries(
    sweep: str, data_set: str, kind: str
) -> Callable[[Scale], Iterator[SweepPoint]]:
    def points(scale: Scale) -> Iterator[SweepPoint]:
        for queries in scale.some(STOCK_QUERIES):
            yield _trades(sweep, queries, data_set, 3_000, int(queries), scale, kind)

    return points


def _twins_by_queries(scale: Scale) -> Iterator[SweepPoint]:
    """Stock, queries that differ in one condition; 3,000 events per minute, 20 companies."""
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


def paced(scale: Scale) -> Iterator[SweepPoint]:
    """Ridesharing, fed at a pace: events a second; 15 queries, windows of a second of the clock."""
    speed = 60.0
    for rate in PACED_RATES[: 1 if scale.few else None]:
        yield SweepPoint(
            "paced",
            rate,
            "ridesharing",
            rate,
            15,
            scale.paced_windows,
            1,
            HOSTS,
            within=60,
            groups=1000,
            burst=5,
            speed=speed,
        )


def growth(scale: Scale) -> Iterator[SweepPoint]:
    """Not in the paper: ridesharing, events of one district in one window; 5 queries."""
    rate, groups = 10_000, 10
    for seconds in scale.growth_seconds:
        events = round(rate * seconds / 60 / groups)
        minutes = seconds / 60
        yield SweepPoint(
            "growth",
            events,
            "ridesharing",
            rate,
            5,
            minutes,
            scale.low_windows,
            ALL,
            within=seconds,
            groups=groups,
        )


SWEEPS: dict[str, Callable[[Scale], Iterator[SweepPoint]]] = {
    "ridesharing-events": _low_by_events("ridesharing-events", "ridesharing"),
    "ridesharing-queries": _low_by_queries("ridesharing-queries", "ridesharing"),
    "real-low-events": _low_by_events("real-low-events", "cabs"),
    "real-low-queries": _low_by_queries("real-low-queries", "cabs"),
    "taxi-events": _high_by_events("taxi-events", _TAXI),
    "taxi-queries": _high_by_queries("taxi-queries", _TAXI),
    "smarthome-events": _high_by_events("smarthome-events", _HOMES),
    "smarthome-queries": _high_by_queries("smarthome-queries", _HOMES),
    "cabs-events": _high_by_events("cabs-events", _CABS),
    "cabs-queries": _high_by_queries("cabs-queries", _CABS),
    "cabs-groups": _high_by_groups("cabs-groups", _FEW_CABS),
    "plugs-events": _high_by_events("plugs-events", _PLUGS),
    "stock-events": _trades_by_events("stock-events", "stock", "second"),
    "stock-queries": _trades_by_queries("stock-queries", "stock", "second"),
    "stock-edges-events": _trades_by_events("stock-edges-events", "stock", "edges"),
    "stock-edges-queries": _trades_by_queries("stock-edges-queries", "stock", "edges"),
    "trades-queries": _trades_by_queries("trades-queries", "stock_trades", "second"),
    "trades-edges-events": _trades_by_events("trades-edges-events", "stock_trades", "edges"),
    "trades-edges-queries": _trades_by_queries("trades-edges-queries", "stock_trades", "edges"),
    "stock-twins": _twins_by_queries,
    "paced": paced,
    "growth": growth,
}
