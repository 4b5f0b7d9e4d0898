"""Clocks of windows: times on which windows begin at the multiples of SLIDE.

Kernels know windows [i * slide, i * slide + within) only. Windows that begin elsewhere are such
windows on another clock, which shows another time at each moment, but shows times in their order
and never the same at two moments: what is before, after and simultaneous stays so.

OFFSET is a clock that is behind by so much. Calendar days are a clock on which a day has twice the
microseconds of 24 hours: it begins at local midnight and runs on evenly, and before a day is over,
however long it is, the next begins at the next multiple.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hamlet.plan.local_times import DAY_US, midnight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

# How long a calendar day is on its clock: days of 23, 24 and 25 hours, and odder ones, have room
CALENDAR_DAY_US = 2 * DAY_US
# A stream has the same few days again and again.
_midnight = lru_cache(maxsize=1 << 16)(midnight)


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of some windows.

    Attributes:
        offset_us: By how much it is behind.
        zone: Whose midnights its days begin at; None for days of 24 hours, in UTC.
    """

    offset_us: int = 0
    zone: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it shows the time of events as it is."""
        return not self.offset_us and self.zone is None

    def times(self, ts: Longs) -> Longs:
        """What it shows at some moments.

        >>> Clock(5).times(np.array([7])).tolist()
        [2]
        >>> noon = 20541 * DAY_US + DAY_US // 2  # 2026-03-29, when clocks are put on
        >>> Clock(zone="Europe/Rome").times(np.array([noon])) % CALENDAR_DAY_US // 3_600_000_000
        array([13])
        """
        if self.zone is None:
            return ts - self.offset_us if self.offset_us else ts
        if not len(ts):
            return ts
        # A local day is that in UTC, or one of its neighbours.
        utc = np.unique(ts // DAY_US)
        days = np.unique(np.concatenate([utc - 1, utc, utc + 1]))
        begins = _midnights(self.zone, days)
        which = np.searchsorted(begins, ts, side="right") - 1
        shown: Longs = days[which] * CALENDAR_DAY_US + (ts - begins[which]) - self.offset_us
        return shown

    def time(self, ts: int) -> int:
        """What it shows at a moment."""
        return int(self.times(np.array([ts], np.int64))[0])

    def moments(self, times: Longs) -> Longs:
        """When it shows some times."""
        times = times + self.offset_us
        if self.zone is None or not len(times):
            return times
        day, number = np.unique(times // CALENDAR_DAY_US, return_inverse=True)
        instants: Longs = _midnights(self.zone, day)[number.ravel()] + times % CALENDAR_DAY_US
        return instants


# That of windows that begin at multiples of SLIDE from the epoch
PLAIN = Clock()


def _midnights(zone: str, days: Longs) -> Longs:
    """When local days, counted from 1970-01-01, begin."""
    return np.array([_midnight(day, zone) for day in days.tolist()], np.int64)
