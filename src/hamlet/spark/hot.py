"""Groups that are too large for one task, cut into slices of time.

Windows do not depend on each other. So the windows of one group that begin in one slice of time can
be worked out by one task, and those that begin in the next slice by another. A slice gets its own
events and those after it that are still in one of its windows: events near the end of a slice go to
two tasks. Where a slice is several times as long as the longest window these are few.

Which groups are large is found by counting a sample of the rows, in a job of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from hamlet.spark.kinds import NUMBERS, microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from hamlet.spark.settings import Settings

SLICE = "slice"
# The longest window is at most this part of a slice.
MOST_OVERLAP = 0.3
# Input is large from so many bytes on, as Spark estimates them. Where it knows nothing it says more
# than the second number.
_LARGE, _UNKNOWN = 1 << 28, 1 << 60
_SAMPLE = 64
# Slices for each task that runs at once: some have more events than others.
_SLICES_OF_TASK = 4
# Times in seconds are doubles here, and rounded: these many microseconds at most.
_ROUNDED_US = 2_000
_UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}


@dataclass(frozen=True, slots=True)
class Slices:
    """Which groups are cut, and where.

    length_us: How long a slice is; they are numbered from 1970 on.
    reach_us: The longest window.
    hashes: Of the keys of the groups; None where all events are one group. Another group that has
        one of them is cut too, and nothing is wrong with that.
    """

    length_us: int
    reach_us: int
    hashes: tuple[int, ...] | None

    def applied(self, frame: DataFrame, keys: Sequence[Column], time: str) -> DataFrame:
        """Rows with the number of a slice, null for groups that are whole; some of them twice."""
        kind = frame.schema[time].dataType
        ts, rounded = _clock(F.col(time), kind)
        first, last = self._number(ts - self.reach_us - rounded), self._number(ts + rounded)
        numbers = F.sequence(first, last)
        if self.hashes is not None:
            whole = F.array(F.lit(None).cast("long"))
            numbers = F.when(F.xxhash64(*keys).isin(*self.hashes), numbers).otherwise(whole)
        return frame.select("*", F.explode(numbers).alias(SLICE))

    def _number(self, ts: Column) -> Column:
        """The slice of a time, in integers all the way."""
        length = F.lit(self.length_us).cast("long")
        return F.call_function("div", ts - F.pmod(ts, length), length)


def slices_of(
    frame: DataFrame, keys: Sequence[Column], time: str, reach_us: int, settings: Settings
) -> Slices | None:
    """The slices of the groups that are too large, or None where none is.

    Args:
        frame: The rows that take part.
        keys: What partitions them.
        time: The column of times.
        reach_us: The longest window.
        settings: Whether to look, and from how many rows on a group is large.
    """
    is_large = settings.slices == "on"
    if settings.slices == "auto":
        is_large = _LARGE <= size_of(frame) < _UNKNOWN
    if not is_large:
        return None
    # Asked for, small input is counted as a whole.
    of_sample = 1 if settings.slices == "on" and size_of(frame) < _LARGE else _SAMPLE
    ts, _ = _clock(F.col(time), frame.schema[time].dataType)
    key = F.xxhash64(*keys) if keys else F.lit(0).cast("long")
    rows = frame.select(key.alias("key"), ts.alias("ts"))
    if of_sample > 1:
        rows = rows.sample(fraction=1 / of_sample, seed=1)
    hot, total = _hot(rows, settings, of_sample)
    if not hot:
        return None
    spans = _spans(rows, hot)
    # So many rows are in a slice where each has the same.
    of_slice = max(total / settings.parallelism / _SLICES_OF_TASK, 1.0)
    wanted = min(spans[key] * of_slice / hot[key] for key in hot)
    length = max(int(wanted), int(reach_us / MOST_OVERLAP) + 1)
    # A group whose events are all in about one slice would have more work for nothing.
    cut = sorted(key for key in hot if spans[key] >= 2 * length)
    return Slices(length, reach_us, tuple(cut) if keys else None) if cut else None


def _hot(rows: DataFrame, settings: Settings, of_sample: int) -> tuple[dict[int, int], int]:
    """The hashes of large groups with the numbers of their rows, and how many rows there are.

    A group is large where it is more than half of what a task has if all have the same.
    """
    counted = Observation()
    groups = rows.groupBy("key").agg(F.count(F.lit(1)).alias("n"))
    groups = groups.observe(counted, F.coalesce(F.sum("n"), F.lit(0)).alias("total"))
    found = groups.where(F.col("n") >= settings.slice_rows / of_sample).collect()
    total = int(counted.get["total"])
    least = total / settings.parallelism / 2
    return {int(row["key"]): int(row["n"]) for row in found if row["n"] > least}, total


def _spans(rows: DataFrame, hot: dict[int, int]) -> dict[int, float]:
    """How long the time is that the events of each group are in, in microseconds."""
    # A few events far from all others should not make slices long.
    low, high = 0.02, 0.98
    found = (
        rows.where(F.col("key").isin(*hot))
        .groupBy("key")
        .agg(F.percentile_approx("ts", [low, high], 1000).alias("at"))
        .collect()
    )
    return {int(row["key"]): (row["at"][1] - row["at"][0]) / (high - low) for row in found}


def size_of(frame: DataFrame) -> int:
    """How many bytes Spark believes that a DataFrame has."""
    explained = frame.sparkSession.sql("EXPLAIN COST SELECT * FROM {frame}", frame=frame)
    found = re.search(r"sizeInBytes=([0-9.E+]+) (\w+)", explained.collect()[0][0])
    if found is None or found[2] not in _UNITS:
        return _UNKNOWN
    return int(float(found[1]) * (1 << _UNITS[found[2]]))


def _clock(time: Column, kind: DataType) -> tuple[Column, int]:
    """Times in microseconds, and by how many they may be wrong."""
    if isinstance(kind, NUMBERS):
        return F.round(time.cast("double") * 1e6).cast("long"), _ROUNDED_US
    return microseconds(time, kind), 0
