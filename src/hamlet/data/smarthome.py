"""Smart plugs in houses, as in the challenge of DEBS 2014: energy used so far and present load.

Plugs report in sweeps, house by house, some twice and many not at all, as in the real file. Each
report is two events, WORK and then the load, whose type is its level. A plug's level follows a
script from OFF to something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.data.columns import BLOCK, TEXT, TIME, start_us, texts, times
from hamlet.data.draws import Clock, Draws, WeightedChoice, zipf
from hamlet.data.settings import HOME_TYPES, LEVELS
from hamlet.data.tape import Script, Scripts, Tape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.data.settings import SmartHome

SCHEMA = pa.schema(
    [
        ("time", TIME),
        ("type", TEXT),
        ("house", pa.int32()),
        ("household", pa.int32()),
        ("plug", pa.int32()),
        ("value", pa.float64()),
    ]
)
_WORK = HOME_TYPES.index("WORK")
# The share of plugs that report in one sweep of the real file, and the plugs of a household there.
_REPORTING = 0.43
_PLUGS = 8
# Loads of the levels in milliwatts.
_LOW = np.array([0, *(int(1000 * level) for level in LEVELS)])
_HIGH = np.array([0, *(int(1000 * level) - 1 for level in LEVELS[1:]), 2_500_000])
# A watt for a microsecond is one of so many parts of a watt-hour.
_PARTS = 3_600_000_000
SCRIPTS = (
    Script(40, ("OFF", "LOW")),
    Script(25, ("OFF", "MEDIUM")),
    Script(10, ("OFF", "HIGH")),
    Script(15, ("OFF", "LOW", "MEDIUM", "LOW")),
    Script(10, ("OFF", "LOW", "HIGH", "MEDIUM")),
)


class SmartHomeStream:
    """The stream, block after block."""

    schema = SCHEMA

    def __init__(self, settings: SmartHome, seed: int) -> None:
        plugs = settings.groups
        self._draws = Draws(seed)
        self._plugs = WeightedChoice(zipf(plugs, settings.skew))
        self._scripts = Scripts(SCRIPTS, settings, self._draws)
        self._tape = Tape(plugs, self._write, self._scripts.mean)
        self._start = start_us(settings)
        self._clock = Clock(self._start, settings.rate)
        self._sweep = max(1, round(_REPORTING * plugs))
        house = np.arange(plugs) * settings.houses // plugs
        number = np.arange(plugs) - np.searchsorted(house, house)
        self._house = house.astype(np.int32)
        self._household = (number // _PLUGS).astype(np.int32)
        self._plug = (number % _PLUGS).astype(np.int32)
        self._work_at_start = self._draws.below(170_000, plugs)
        self._watts = self._draws.below(200, plugs) + 1

    def _write(self, plugs: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Levels for each plug, each with a load that it stays near."""
        bursts, chapter, _ = self._scripts.write(plugs)
        low, high = _LOW[bursts["type"]], _HIGH[bursts["type"]]
        load = low + self._draws.below(high - low + 1, len(chapter))
        return {**bursts, "load": load, "low": low, "high": high}

    def block(self) -> Any:
        """The next events."""
        draws = self._draws
        sweeps = -(-BLOCK // 2 // self._sweep)
        size = sweeps * self._sweep
        plug = np.sort(self._plugs.draw(draws, size).reshape(sweeps, -1), axis=1).ravel()
        read = self._tape.read(plug)
        ts = self._clock.next(draws, 2 * size)
        load = read["load"]
        load += load * (draws.below(101, size) - 50) // 1000
        load = np.clip(load, read["low"], read["high"])
        used = (ts[::2] - self._start) * self._watts[plug] // _PARTS
        values = _in_turn(self._work_at_start[plug] + used, load)
        columns = [
            times(ts),
            texts(_in_turn(np.full(size, _WORK), read["type"]), HOME_TYPES),
            np.repeat(self._house[plug], 2),
            np.repeat(self._household[plug], 2),
            np.repeat(self._plug[plug], 2),
            values / 1000.0,
        ]
        return pa.record_batch(columns, schema=SCHEMA)


def _in_turn(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """The values of two arrays, one of each in turn."""
    return np.stack((first, second), axis=1).ravel()
