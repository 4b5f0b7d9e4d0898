"""What a generated stream is like: one frozen class of settings for each data set.

Defaults follow the paper (Section "Experimental Setup") and, where it is silent, the public data
that each stream looks like. Nothing heavy is imported here: the command line shows these defaults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from hamlet.errors import PlanError, SchemaError, UnknownName, did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

START = datetime(2026, 1, 1, tzinfo=UTC)
# Times are distinct microseconds, so there are at most as many events in a minute as those.
FASTEST = 60_000_000.0
_SLOWEST = 0.001
_LONGEST_BURST = 1e9
_MOST_GROUPS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """What every generated stream has.

    rate: Events in a minute, of all groups together.
    burst: Mean number of events of one type in a row, for the types that come in bursts.
    bursts: The same for single types, by name; other types come one by one.
    groups: How many groups.
    skew: How unequal they are: the n-th group gets a share like 1/n**skew (Zipf); 0 is equal.
    start: When the stream begins.
    """

    rate: float
    burst: float
    groups: int
    bursts: Mapping[str, float] = field(default_factory=dict)
    skew: float = 0.0
    start: datetime = START

    # How the data set is called, and what its groups and its bursts are, as the help says it.
    name: ClassVar[str]
    groups_are: ClassVar[str]
    bursts_are: ClassVar[str]
    bursty: ClassVar[tuple[str, ...]] = ()
    fewest_groups: ClassVar[int] = 1

    def __post_init__(self) -> None:
        self._check("rate", self.rate, _SLOWEST, FASTEST)
        self._check("groups", self.groups, self.fewest_groups, _MOST_GROUPS)
        self._check("skew", self.skew, 0, 10)
        for value in (self.burst, *self.bursts.values()):
            self._check("burst", value, 1, _LONGEST_BURST)
        for name in self.bursts:
            if name not in self.types:
                known = f"{self.name} has {listed(self.types, 20)}.{did_you_mean(name, self.types)}"
                raise UnknownName("event type", name, known)
        if self.start.tzinfo is None:
            object.__setattr__(self, "start", self.start.replace(tzinfo=UTC))

    def _check(self, what: str, value: float, least: float, most: float) -> None:
        # NaN is on neither side of anything.
        if not least <= value <= most or not math.isfinite(value):
            reason = f"{what} must be between {least:,g} and {most:,g}, not {value:g}"
            raise SchemaError(self.name, reason)

    @property
    def types(self) -> tuple[str, ...]:
        """The types of events, in the order of their codes."""
        raise NotImplementedError

    def mean_of(self, event_type: str) -> float:
        """The mean number of events of a type in a row."""
        return self.bursts.get(event_type, self.burst if event_type in self.bursty else 1.0)


@dataclass(frozen=True, kw_only=True)
class RideSharing(StreamSettings):
    """Rides of a ride-sharing service in the districts of a city: 20 types of events.

    A district has one ride after another, from its Request to its end, and each ride has a driver
    and a rider of that district. Travel comes in bursts.

    groups: Districts.
    drivers: Drivers of each district.
    riders: Riders of each district.
    """

    rate: float = 10_000
    burst: float = 10
    groups: int = 100
    drivers: int = 20
    riders: int = 50

    name: ClassVar[str] = "ridesharing"
    groups_are: ClassVar[str] = "districts"
    bursts_are: ClassVar[str] = "Travel"
    bursty: ClassVar[tuple[str, ...]] = ("Travel",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("drivers", self.drivers, 1, 1000)
        self._check("riders", self.riders, 1, 1000)

    @property
    def types(self) -> tuple[str, ...]:
        """The 20 types."""
        return RIDE_TYPES


RIDE_TYPES = (
    *("Request", "Quote", "Surge", "Accept", "Decline", "Pool", "Travel", "Reroute", "Delay"),
    *("Arrive", "Wait", "Message", "Pickup", "Stop", "Dropoff", "Cancel", "Pay", "Tip", "Rate"),
    "Idle",
)


@dataclass(frozen=True, kw_only=True)
class Taxi(StreamSettings):
    """Taxis and hired cars in New York: where they pick up and drop off whom, and for how much.

    A driver has one trip after another. Cruise (free), Approach (to a rider who asked for the car)
    and Travel (with a rider) come in bursts: a position now and then.

    groups: Drivers.
    """

    rate: float = 200
    burst: float = 10
    groups: int = 200

    name: ClassVar[str] = "taxi"
    groups_are: ClassVar[str] = "drivers"
    bursts_are: ClassVar[str] = "Cruise, Approach and Travel"
    bursty: ClassVar[tuple[str, ...]] = ("Cruise", "Approach", "Travel")

    @property
    def types(self) -> tuple[str, ...]:
        """The types of events of a trip."""
        return TAXI_TYPES


TAXI_TYPES = ("Cruise", "Request", "Approach", "Pickup", "Travel", "Dropoff", "Cancel")


@dataclass(frozen=True, kw_only=True)
class SmartHome(StreamSettings):
    """Smart plugs in houses: energy used so far (WORK) and then the present load, in turn.

    The type of a report of load is its level, as in the reader of the real file. Plugs report in
    the order of houses, over and over. A level lasts for `burst` reports of its plug on average.

    groups: Plugs.
    houses: Houses; plugs are spread over them evenly.
    """

    rate: float = 20_000
    burst: float = 24
    groups: int = 2125
    houses: int = 40

    name: ClassVar[str] = "smarthome"
    groups_are: ClassVar[str] = "plugs"
    bursts_are: ClassVar[str] = "one level of load"
    bursty: ClassVar[tuple[str, ...]] = ("OFF", "LOW", "MEDIUM", "HIGH")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("houses", self.houses, 1, self.groups)
        if "WORK" in self.bursts:
            raise SchemaError(self.name, "WORK has no bursts: it comes before every load")

    @property
    def types(self) -> tuple[str, ...]:
        """The levels of load, and WORK."""
        return HOME_TYPES


HOME_TYPES = ("OFF", "LOW", "MEDIUM", "HIGH", "WORK")
# Loads in watts at which the levels LOW, MEDIUM and HIGH begin.
LEVELS = (1.0, 20.0, 200.0)


@dataclass(frozen=True, kw_only=True)
class Stock(StreamSettings):
    """Trades of companies: the type of an event is the company's symbol.

    Trades of one company come in bursts. Times are in milliseconds and may be equal; `seq` is the
    order. Skew is that of the companies.

    groups: Companies, and so types.
    """

    rate: float = 4_500
    burst: float = 120
    groups: int = 220
    skew: float = 0.5

    name: ClassVar[str] = "stock"
    groups_are: ClassVar[str] = "companies"
    bursts_are: ClassVar[str] = "one company"
    fewest_groups: ClassVar[int] = 2

    @property
    def types(self) -> tuple[str, ...]:
        """The symbols: S001, S002 and so on, the most traded first."""
        return symbols(self.groups)

    def mean_of(self, event_type: str) -> float:
        """The mean number of trades of a company in a row."""
        return self.bursts.get(event_type, self.burst)


def symbols(number: int) -> tuple[str, ...]:
    """As many made-up symbols of companies.

    >>> symbols(3)
    ('S001', 'S002', 'S003')
    """
    digits = max(3, len(str(number)))
    return tuple(f"S{n:0{digits}d}" for n in range(1, number + 1))


DATA_SETS: dict[str, type[StreamSettings]] = {
    kind.name: kind for kind in (RideSharing, Taxi, SmartHome, Stock)
}


def settings_of(data_set: str | StreamSettings, **given: Any) -> StreamSettings:
    """The settings of a data set: its defaults, and what is given and not None.

    >>> settings_of("taxi", rate="3/group", groups=10).rate
    30.0

    Args:
        data_set: A name, or settings to take as they are.
        given: Values by the names of the fields; a rate may be text like "50/group" too.

    Raises:
        PlanError: There is no such data set, setting or event type.
        SchemaError: A value is out of range.
    """
    if isinstance(data_set, StreamSettings):
        if given:
            reason = f"settings that are made already take no {min(given)}"
            raise PlanError(reason, "Make them with it.")
        return data_set
    kind = known(data_set)
    names = [setting.name for setting in fields(kind)]
    for name in given:
        if name not in names:
            raise UnknownName("setting", name, f"{data_set} has {listed(names)}.")
    chosen = {name: value for name, value in given.items() if value is not None}
    rate = chosen.get("rate")
    if isinstance(rate, str):
        groups = chosen.get("groups", kind.__dataclass_fields__["groups"].default)
        chosen["rate"] = rate_of(data_set, rate, groups)
    return kind(**chosen)


def known(data_set: str) -> type[StreamSettings]:
    """The settings of a data set by its name."""
    if data_set not in DATA_SETS:
        remedy = f"Data sets are {listed(DATA_SETS)}.{did_you_mean(data_set, DATA_SETS)}"
        raise UnknownName("data set", data_set, remedy)
    return DATA_SETS[data_set]


def rate_of(data_set: str, text: str, groups: int) -> float:
    """Events in a minute, from text that gives them for all groups or, with /group, for each."""
    number, slash, unit = text.partition("/")
    try:
        if slash and unit.strip() != "group":
            raise ValueError(unit)
        return float(number) * (groups if slash else 1)
    except ValueError as error:
        reason = f"rate must be a number of events in a minute, or NUMBER/group, not {text!r}"
        raise SchemaError(data_set, reason) from error
