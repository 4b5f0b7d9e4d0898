"""How a stream is run: how long rows are waited for, and what its state is spread over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from hamlet.errors import PlanError, did_you_mean
from hamlet.lang.build import UNITS

BUCKETS, PAGES = 8, 64
_MICROSECONDS = {"ms": 10**3, "s": 10**6, "min": 6 * 10**7, "h": 36 * 10**8, "d": 864 * 10**8}
_LONGEST_US = 10**18


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How a stream is run.

    lateness_us: How long rows are waited for.
    buckets: How many parts groups are spread over; None for as many as there are cores, if what
        it is can be noted, and else 8.
    pages: How many pieces the state of a bucket has.
    """

    lateness_us: int = 0
    buckets: int | None = None
    pages: int = PAGES

    def check(self) -> None:
        """Refuse less than one bucket, or less than one page in each."""
        for what, number in (("number of buckets", self.buckets), ("number of pages", self.pages)):
            if number is not None and number < 1:
                reason = f"{what} is {number}"
                raise PlanError(reason, "There is at least one.")


def duration_us(written: str | float | timedelta, what: str = "lateness") -> int:
    """A length of time in microseconds, from text as in a query, seconds or a timedelta.

    >>> duration_us("1.5 min"), duration_us("0 s"), duration_us(timedelta(milliseconds=2))
    (90000000, 0, 2000)

    Args:
        written: The length.
        what: What it is, for a message.

    Raises:
        PlanError: It is none.
    """
    if isinstance(written, timedelta):
        length = Fraction(written // timedelta(microseconds=1))
    else:
        text = written if isinstance(written, str) else f"{written} s"
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
        unit = UNITS.get(found[2].lower()) if found else None
        if found is None or unit is None:
            guess = did_you_mean(found[2], UNITS) if found else ""
            reason = f"{what} is {written!r}"
            raise PlanError(reason, f"Write a number and a unit, such as 10 s.{guess}")
        length = Fraction(found[1]) * _MICROSECONDS[unit]
    if not 0 <= length <= _LONGEST_US:
        reason = f"{what} is {written!r}"
        raise PlanError(reason, "It is 0 s or longer, and not for ever.")
    return int(length)
