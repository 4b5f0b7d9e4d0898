"""Settings of a session that are Hamlet's own; none of them changes results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from hamlet.errors import PlanError, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

SLICES = "spark.hamlet.slices"
SLICE_ROWS = "spark.hamlet.sliceRows"
ROWS_IN_MEMORY = "spark.hamlet.rowsInMemory"
_WAYS = ("auto", "on", "off")
_SLICE_ROWS, _ROWS_IN_MEMORY = 1_000_000, 2_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How work is cut up.

    slices: Whether groups that are too large for one task are looked for, and cut into slices of
        time: "on", "off", or "auto" where the input is large.
    slice_rows: A group with fewer rows is never cut.
    rows_in_memory: A task with more rows puts them into files and runs them in order of time.
    parallelism: How many tasks run at once; asked of the session where it matters, which is seldom.
    """

    slices: str = "auto"
    slice_rows: int = _SLICE_ROWS
    rows_in_memory: int = _ROWS_IN_MEMORY
    parallelism: Callable[[], int] = lambda: 1

    @staticmethod
    def of(session: SparkSession) -> Settings:
        """What a session says.

        Raises:
            PlanError: A setting is not what it can be.
        """
        slices = session.conf.get(SLICES, _WAYS[0]) or ""
        if slices not in _WAYS:
            reason = f"{SLICES} is {slices!r}"
            raise PlanError(reason, f"It is one of {listed(_WAYS)}.")
        return Settings(
            slices,
            _rows(session, SLICE_ROWS, _SLICE_ROWS),
            _rows(session, ROWS_IN_MEMORY, _ROWS_IN_MEMORY),
            cache(partial(parallelism, session)),
        )


def parallelism(session: SparkSession) -> int:
    """How many tasks a session runs at once.

    Over Spark Connect nobody tells, but a plan does: Spark cuts a range into as many pieces.
    """
    plan = session.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0]
    found = re.search(r"splits=(?:Some\()?(\d+)", plan)
    return int(found[1]) if found else 1


def _rows(session: SparkSession, name: str, default: int) -> int:
    text = session.conf.get(name, str(default)) or ""
    if not text.isdecimal() or int(text) < 1:
        reason = f"{name} is {text!r}"
        raise PlanError(reason, "It is a number of rows, at least 1.")
    return int(text)
