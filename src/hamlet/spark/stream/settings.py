"""How a stream is run: how long rows are waited for, and what its state is spread over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Literal, get_args

from hamlet.errors import PlanError, UnknownName, did_you_mean, listed
from hamlet.plan.durations import LONGEST_US, UNIT_US, UNITS

Emit = Literal["final", "update"]
EMITS: tuple[str, ...] = get_args(Emit)

# State is kept in what Spark has for large state, which it does not take by itself.
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BUCKETS, PAGES = 8, 64


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How a stream is run.

    lateness_us: How long rows are waited for.
    buckets: How many parts groups are spread over; None for some more than there are cores, if
        what it is can be noted, and else 8.
    pages: How many pieces the state of a bucket has.
    emit: "final" for results of windows that are over, "update" for those of open ones as well.
    late_rows: A folder for rows that come too late; None where they are only counted.
    has_watermark: Whether the events have one already, of that lateness.
    tasks: How many tasks work on the buckets; None for what the session says, or the cores.
    """

    lateness_us: int = 0
    buckets: int | None = None
    pages: int = PAGES
    emit: Emit = "final"
    late_rows: str | None = None
    has_watermark: bool = False
    tasks: int | None = None

    @property
    def is_early(self) -> bool:
        """Whether results of open windows are given."""
        return self.emit == "update"

    def check(self) -> None:
        """Refuse less than one bucket, or less than one page in each."""
        if self.emit not in EMITS:
            raise UnknownName("way to emit", self.emit, f"It is one of {listed(EMITS)}.")
        for what, number in (("number of buckets", self.buckets), ("number of pages", self.pages)):
            if number is not None and number < 1:
                reason = f"{what} is {number}"
                raise PlanError(reason, "There is at least one.")


def duration_us(written: str | float | timedelta, what: str = "lateness") -> int:
    """A length of time in microseconds, from text as in a query, seconds or a timedelta.

    >>> duration_us("1.5 min"), duration_us("1 week"), duration_us(timedelta(milliseconds=2))
    (90000000, 604800000000, 2000)

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
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
        unit = UNITS.get(match[2].lower()) if match else None
        if match is None or unit is None:
            guess = did_you_mean(match[2], UNITS) if match else ""
            reason = f"{what} is {written!r}"
            raise PlanError(reason, f"Write a number and a unit, such as 10 s.{guess}")
        length = Fraction(match[1]) * UNIT_US[unit]
    if not 0 <= length <= LONGEST_US:
        reason = f"{what} is {written!r}"
        raise PlanError(reason, "It is 0 s or longer, and not for ever.")
    return int(length)
