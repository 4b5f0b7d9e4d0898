"""Local times: microseconds as the clocks of a time zone show them, and what calendars say of them.

The rules of zones are those of Python's `zoneinfo`, here as on every host. It knows the years 1 to
9999; the calendar repeats after 400 years, to the day of the week, and the rules of zones are the
same year by year before their first change and after their last, so other years are looked up in
one of these.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE_US = 146_097 * DAY_US  # 400 years
# Inside the years that Python's calendar has, by more than a cycle.
_FIRST_US = (datetime(2, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST_US = (datetime(9998, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def is_zone(name: str) -> bool:
    """Whether there is a time zone of this name.

    >>> is_zone("Europe/Berlin"), is_zone("UTC"), is_zone("Europe/Bärlin")
    (True, True, False)
    """
    return name in zone_names()


@cache
def zone_names() -> frozenset[str]:
    """All time zones that there are."""
    return frozenset(available_timezones())


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def offset_us(ts: int, zone: str) -> int:
    """How far the clocks of a zone are ahead of UTC at a time.

    >>> offset_us(0, "Europe/Berlin") // HOUR_US, offset_us(17_000_000_000_000_000, "Asia/Tokyo")
    (1, 32400000000)
    """
    if zone == "UTC":
        return 0
    moment = _EPOCH + timedelta(microseconds=folded(ts))
    return _ahead_us(moment.astimezone(_zone(zone)))


def midnight(day: int, zone: str) -> int:
    """When a day of a zone begins: where there is no midnight, when its clocks are put on.

    Args:
        day: Counted from 1970-01-01.
        zone: The name of the zone.

    >>> midnight(1, "Europe/Berlin") == DAY_US - HOUR_US
    True
    """
    shown = _EPOCH + timedelta(microseconds=folded(day * DAY_US))
    return day * DAY_US - _ahead_us(shown.replace(tzinfo=_zone(zone)))


def _ahead_us(shown: datetime) -> int:
    """How far a time that clocks of a zone show is ahead of UTC."""
    return (shown.utcoffset() or timedelta(0)) // timedelta(microseconds=1)


def folded(ts: int) -> int:
    """The same time of a year that Python's calendar has."""
    if ts < _FIRST_US:
        return ts + -((ts - _FIRST_US) // _CYCLE_US) * _CYCLE_US
    if ts > _LAST_US:
        return ts - -((_LAST_US - ts) // _CYCLE_US) * _CYCLE_US
    return ts


def local(ts: int, zone: str = "UTC") -> int:
    """What the clocks of a zone show, as microseconds since they showed 1970-01-01 00:00."""
    return ts + offset_us(ts, zone)


def hour(ts: int, zone: str = "UTC") -> int:
    """The hour, 0 to 23."""
    return local(ts, zone) % DAY_US // HOUR_US


def minute(ts: int, zone: str = "UTC") -> int:
    """The minute, 0 to 59."""
    return local(ts, zone) % HOUR_US // 60_000_000


def weekday(ts: int, zone: str = "UTC") -> int:
    """The day of the week, 1 for Monday to 7 for Sunday.

    >>> weekday(0), weekday(-DAY_US), weekday(-1, "Asia/Tokyo")
    (4, 3, 4)
    """
    return (local(ts, zone) // DAY_US + 3) % 7 + 1


def date(ts: int, zone: str = "UTC") -> int:
    """The day, as midnight of it in UTC, which is what columns of dates are."""
    return local(ts, zone) // DAY_US * DAY_US
