"""Settings of a session that are Hamlet's own; none of them changes results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from hamlet.errors import PlanError, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

SLICES = "spark.hamlet.slices"
SHUFFLE = "spark.hamlet.shuffle"
COUNTS = "spark.hamlet.counts"
SLICE_ROWS = "spark.hamlet.sliceRows"
ROWS_IN_MEMORY = "spark.hamlet.rowsInMemory"
BYTES_IN_MEMORY = "spark.hamlet.bytesInMemory"
_WAYS = ("auto", "on", "off")
_SHUFFLES = ("auto", "group", "partition")
_SWITCH = ("on", "off")
_SLICE_ROWS, _ROWS_IN_MEMORY, _BYTES_IN_MEMORY = 1_000_000, 2_000_000, 1 << 29


@dataclass(frozen=True, slots=True)
class Settings:
    """How work is cut up.

    slices: Whether groups that are too large for one task are looked for, and cut into slices of
        time: "on", "off", or "auto" where the input is large.
    slice_rows: A group with fewer rows is never cut.
    rows_in_memory: A task with more rows puts them into files and runs them in order of time.
    bytes_in_memory: And one with more bytes of rows.
    shuffle: What rows are brought together by: "partition" for all that partitions them, "group"
        for what queries group by, or "auto" for the better.
    counts: Whether rows that are left out are counted.
    parallelism: How many tasks run at once; asked of the session where it matters, which is seldom.
    """

    slices: str = "auto"
    slice_rows: int = _SLICE_ROWS
    rows_in_memory: int = _ROWS_IN_MEMORY
    bytes_in_memory: int = _BYTES_IN_MEMORY
    shuffle: str = "auto"
    counts: bool = True
    parallelism: Callable[[], int] = lambda: 1

    @staticmethod
    def of(session: SparkSession) -> Settings:
        """What a session says.

        Raises:
            PlanError: A setting is not what it can be.
        """
        return Settings(
            slices=_one_of(session, SLICES, _WAYS),
            slice_rows=_number(session, SLICE_ROWS, _SLICE_ROWS, "rows"),
            rows_in_memory=_number(session, ROWS_IN_MEMORY, _ROWS_IN_MEMORY, "rows"),
            bytes_in_memory=_number(session, BYTES_IN_MEMORY, _BYTES_IN_MEMORY, "bytes"),
            shuffle=_one_of(session, SHUFFLE, _SHUFFLES),
            counts=_one_of(session, COUNTS, _SWITCH) == "on",
            parallelism=cache(partial(parallelism, session)),
        )


def parallelism(session: SparkSession) -> int:
    """How many tasks a session runs at once.

    Over Spark Connect nobody tells, but a plan does: Spark cuts a range into as many pieces.
    """
    plan = session.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0]
    match = re.search(r"splits=(?:Some\()?(\d+)", plan)
    return int(match[1]) if match else 1


def _one_of(session: SparkSession, name: str, values: Sequence[str]) -> str:
    """A setting that is one of some values, the first where nobody has chosen."""
    value = session.conf.get(name, values[0]) or ""
    if value not in values:
        reason = f"{name} is {value!r}"
        raise PlanError(reason, f"It is one of {listed(values)}.")
    return value


def _number(session: SparkSession, name: str, default: int, of: str) -> int:
    text = session.conf.get(name, str(default)) or ""
    if not text.isdecimal() or int(text) < 1:
        reason = f"{name} is {text!r}"
        raise PlanError(reason, f"It is a number of {of}, at least 1.")
    return int(text)
