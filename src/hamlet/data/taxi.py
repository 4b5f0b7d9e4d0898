"""Taxis and hired cars in New York: each driver has one trip after another.

The meter runs: price is what the trip has cost so far, so it never falls on one trip. Locations are
taxi zones, numbered from 1 as the city does, most of them in Manhattan; a trip's are known from its
beginning.
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

    from hamlet.data.settings import Taxi

SCHEMA = pa.schema(
    [
        ("time", TIME),
        ("type", TEXT),
        ("driver", pa.int32()),
        ("rider", pa.int32()),
        ("borough", TEXT),
        ("pickup_zone", pa.int32()),
        ("dropoff_zone", pa.int32()),
        ("passengers", pa.int32()),
        ("price", pa.float64()),
    ]
)
BOROUGHS = ("Manhattan", "Brooklyn", "Queens", "Bronx", "Staten Island")
_ZONES_OF = (69, 61, 69, 43, 21)  # 263 zones
_BOROUGH_SHARES = (0.70, 0.12, 0.12, 0.05, 0.01)
_RIDERS = 1_000_000
_PASSENGERS = np.array([1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 5, 6], np.int32)
# No script ends with what another begins with.
SCRIPTS = (
    Script(60, ("Cruise", "Pickup", "Travel", "Dropoff")),
    Script(32, ("Request", "Approach", "Pickup", "Travel", "Dropoff")),
    Script(8, ("Request", "Approach", "Cancel")),
)


class TaxiStream:
    """The stream, block after block."""

    schema = SCHEMA

    def __init__(self, settings: Taxi, seed: int) -> None:
        self._settings = settings
        self._draws = Draws(seed)
        self._drivers = WeightedChoice(zipf(settings.groups, settings.skew))
        self._scripts = Scripts(SCRIPTS, settings, self._draws)
        self._boroughs = WeightedChoice(np.array(_BOROUGH_SHARES))
        self._tape = Tape(settings.groups, self._write, self._scripts.mean)
        self._clock = Clock(start_us(settings), settings.rate)

    def _write(self, drivers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """A trip for each driver, with a rider, two places and a fare."""
        draws, trips = self._draws, len(drivers)
        bursts, trip, _ = self._scripts.write(drivers)
        borough = self._boroughs.draw(draws, trips)
        pickup = self._zones(borough)
        # Most trips stay in their borough.
        stays = draws.uniform(trips) < 0.8
        dropoff = self._zones(np.where(stays, borough, self._boroughs.draw(draws, trips)))
        length = bursts["length"]
        before = np.cumsum(length) - length
        first = np.searchsorted(trip, np.arange(trips))
        return {
            **bursts,
            "rider": draws.below(_RIDERS, trips).astype(np.int32)[trip],
            "borough": borough.astype(np.int32)[trip],
            "pickup_zone": pickup.astype(np.int32)[trip],
            "dropoff_zone": dropoff.astype(np.int32)[trip],
            "passengers": _PASSENGERS[draws.below(len(_PASSENGERS), trips)][trip],
            "cents": (draws.below(500, trips) + 250)[trip],
            "per_event": (draws.below(91, trips) + 10)[trip],
            "before": before - before[first][trip],
        }

    def _zones(self, borough: NDArray[np.int64]) -> NDArray[np.int64]:
        """Any zone of each borough."""
        sizes = np.array(_ZONES_OF)
        first = np.cumsum(sizes) - sizes
        zones: NDArray[np.int64] = self._draws.below(sizes[borough], len(borough))
        zones += first[borough] + 1
        return zones

    def block(self) -> Any:
        """The next events."""
        draws, size = self._draws, BLOCK
        driver = self._drivers.draw(draws, size)
        read = self._tape.read(driver)
        cents = read["cents"] + read["per_event"] * (read["before"] + read.place)
        columns = [
            times(self._clock.next(draws, size)),
            texts(read["type"], self._settings.types),
            driver.astype(np.int32),
            read["rider"],
            texts(read["borough"], BOROUGHS),
            read["pickup_zone"],
            read["dropoff_zone"],
            read["passengers"],
            cents / 100.0,
        ]
        return pa.record_batch(columns, schema=SCHEMA)
