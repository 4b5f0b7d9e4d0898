"""Units of time, and lengths of time as text."""

from __future__ import annotations

from decimal import Decimal

# Every spelling of a unit, and its short form.
UNITS = {
    "ms": "ms",
    "s": "s",
    "sec": "s",
    "second": "s",
    "seconds": "s",
    "min": "min",
    "minute": "min",
    "minutes": "min",
    "h": "h",
    "hour": "h",
    "hours": "h",
    "d": "d",
    "day": "d",
    "days": "d",
    "week": "week",
    "weeks": "week",
}

# How many microseconds units have.
UNIT_US = {
    "ms": 10**3,
    "s": 10**6,
    "min": 6 * 10**7,
    "h": 36 * 10**8,
    "d": 864 * 10**8,
    "week": 6048 * 10**8,
}
# Further than this (about 29,000 years) no two times of events are apart: 64-bit microseconds have
# room to spare.
LONGEST_US = 10**18
# Those that lengths are shown in, the longest first
_SHOWN = ("d", "h", "min", "s", "ms")


def in_longest_unit(length_us: int) -> tuple[Decimal, str]:
    """A length as an amount of the longest unit that it is a whole number of, or of milliseconds.

    >>> in_longest_unit(5_400_000_000), in_longest_unit(1_500)
    ((Decimal('90'), 'min'), (Decimal('1.5'), 'ms'))
    """
    whole = (unit for unit in _SHOWN if length_us % UNIT_US[unit] == 0)
    unit = next(whole, "ms") if length_us else "s"
    return Decimal(length_us) / UNIT_US[unit], unit


def show_duration(length_us: int) -> str:
    """A length as it is written in a query.

    >>> show_duration(5_400_000_000), show_duration(-1_500_000), show_duration(0)
    ('90 min', '-1500 ms', '0 s')
    """
    amount, unit = in_longest_unit(length_us)
    return f"{amount:f} {unit}"
