"""Rides of a ride-sharing service: each district plays one ride after another.

A ride follows one of a few scripts, from its Request to its end. Speeds are those of a burst, give
or take a little, so that traffic is slow for a while and then fast again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.data.columns import BLOCK, TEXT, TIME, start_us, texts, times
from hamlet.data.draws import Clock, Draws, WeightedChoice, zipf
from hamlet.data.tape import Script, Scripts, Tape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.data.settings import RideSharing

SCHEMA = pa.schema(
    [
        ("time", TIME),
        ("type", TEXT),
        ("district", pa.int32()),
        ("driver", pa.int32()),
        ("rider", pa.int32()),
        ("request_type", TEXT),
        ("speed", pa.float64()),
        ("duration", pa.int32()),
        ("price", pa.float64()),
    ]
)
REQUEST_TYPES = ("Solo", "Pool", "Premium")
_TO_RIDER = ("Travel", "Arrive", "Pickup")
_POOL = 1
# Every script begins with Request, and none ends with it.
SCRIPTS = (
    Script(30, ("Request", "Quote", "Accept", *_TO_RIDER, "Travel", "Dropoff", "Pay", "Rate")),
    Script(
        25,
        ("Request", "Pool", "Accept", *_TO_RIDER, "Travel", "Stop", "Travel", "Dropoff", "Pay"),
    ),
    Script(10, ("Request", "Surge", "Quote", "Accept", *_TO_RIDER, "Travel", "Dropoff", "Pay")),
    Script(8, ("Request", "Decline", "Accept", *_TO_RIDER, "Travel", "Dropoff", "Pay", "Tip")),
    Script(8, ("Request", "Accept", "Travel", "Reroute", *_TO_RIDER, "Travel", "Dropoff", "Tip")),
    Script(8, ("Request", "Accept", "Travel", "Delay", "Travel", "Cancel")),
    Script(6, ("Request", "Accept", "Travel", "Arrive", "Wait", "Message", "Cancel")),
    Script(5, ("Request", "Quote", "Cancel", "Idle")),
)
# Which scripts are shared rides.
_IS_POOL = np.array(["Pool" in script.types for script in SCRIPTS])


class RideSharingStream:
    """The stream, block after block."""

    schema = SCHEMA

    def __init__(self, settings: RideSharing, seed: int) -> None:
        self._settings = settings
        self._draws = Draws(seed)
        self._districts = WeightedChoice(zipf(settings.groups, settings.skew))
        self._scripts = Scripts(SCRIPTS, settings, self._draws)
        self._tape = Tape(settings.groups, self._write, self._scripts.mean)
        self._clock = Clock(start_us(settings), settings.rate)

    def _write(self, districts: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """A ride for each district, with a driver and a rider of its own."""
        draws, rides = self._draws, len(districts)
        bursts, ride, script = self._scripts.write(districts)
        drivers, riders = self._settings.drivers, self._settings.riders
        driver = districts * drivers + draws.below(drivers, rides)
        rider = districts * riders + draws.below(riders, rides)
        kind = np.where(draws.uniform(rides) < 0.8, 0, 2)
        kind[_IS_POOL[script]] = _POOL
        return {
            **bursts,
            "driver": driver[ride].astype(np.int32),
            "rider": rider[ride].astype(np.int32),
            "request_type": kind[ride].astype(np.int32),
            "speed": draws.below(500, len(ride)) + 50,
        }

    def block(self) -> Any:
        """The next events."""
        draws, size = self._draws, BLOCK
        district = self._districts.draw(draws, size)
        read = self._tape.read(district)
        speed = read["speed"] + draws.below(101, size) - 50
        columns = [
            times(self._clock.next(draws, size)),
            texts(read["type"], self._settings.types),
            district.astype(np.int32),
            read["driver"],
            read["rider"],
            texts(read["request_type"], REQUEST_TYPES),
            speed / 10.0,
            (draws.below(600, size) + 1).astype(np.int32),
            (draws.below(5751, size) + 250) / 100.0,
        ]
        return pa.record_batch(columns, schema=SCHEMA)
