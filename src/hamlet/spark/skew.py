"""Groups that are too large for one task, cut into slices of time.

Windows do not depend on each other. So the windows of one group that begin in one slice of time can
be worked out by one task, and those that begin in the next slice by another. A slice gets its own
events and those after it that are still in one of its windows: events near the end of a slice go to
two tasks. Where a slice is several times as long as the longest window these are few.

Where windows are too long for that, a slice has a part of each window: some panes, which are put
together later (hamlet/panes). No event goes to two tasks then.

Which groups are large is found by counting a sample of the rows, in a job of its own, where there
are as many rows as one large group has.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from hamlet.engine.panes.cutting import pane_length
from hamlet.spark.kinds import NUMBERS, microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from hamlet.spark.settings import Settings

log = logging.getLogger("hamlet")

SLICE = "slice"
# The longest window is at most this part of a slice.
MOST_OVERLAP = 0.3
# About so many rows are counted, or all where they are fewer.
_SAMPLE_ROWS = 1 << 20
# Slices for each task that runs at once: some have more events than others.
_SLICES_OF_TASK = 4
# Times in seconds are doubles here, and rounded: these many microseconds at most.
_ROUNDED_US = 2_000
# Panes have about so many rows, which keeps exact numbers short while an event is added to them;
# but no more panes than this are made on purpose, and none where windows ask for far more.
_PANE_ROWS, _ENOUGH_PANES, _MOST_PANES = 1 << 12, 1 << 10, 1 << 14


@dataclass(frozen=True, slots=True)
class Slices:
    """Which groups are cut, and where.

    length_us: How long a slice is; they are numbered from 1970 on.
    reach_us: The longest window, or 0 where slices are made of panes.
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
        is_cut = F.lit(True) if self.hashes is None else F.xxhash64(*keys).isin(*self.hashes)
        if self.reach_us == 0 and rounded == 0:
            # Each row is in one slice only.
            return frame.select("*", F.when(is_cut, self._number(ts)).alias(SLICE))
        first, last = self._number(ts - self.reach_us - rounded), self._number(ts + rounded)
        whole = F.array(F.lit(None).cast("long"))
        numbers = F.when(is_cut, F.sequence(first, last)).otherwise(whole)
        return frame.select("*", F.explode(numbers).alias(SLICE))

    def _number(self, ts: Column) -> Column:
        """The slice of a time, in integers all the way."""
        length = F.lit(self.length_us).cast("long")
        return F.call_function("div", ts - F.pmod(ts, length), length)


@dataclass(frozen=True, slots=True)
class PaneSlices:
    """Slices of groups that are made of panes, and how long a pane is."""

    pane_us: int
    slices: Slices


@dataclass(frozen=True, slots=True)
class Hot:
    """Groups that are too large for one task, by the hashes of their keys.

    rows: About how many rows each has.
    spans_us: How long the time is that its events are in.
    of_slice: How many rows a slice has where each has the same.
    has_keys: Whether there is anything to partition by; if not, all rows are one group.
    """

    rows: dict[int, int]
    spans_us: dict[int, float]
    of_slice: float
    has_keys: bool

    @property
    def length_us(self) -> float:
        """How long a slice should be."""
        return min(self.spans_us[key] * self.of_slice / self.rows[key] for key in self.rows)

    def slices(self, length_us: int, reach_us: int, cut: Sequence[int]) -> Slices:
        """Slices of some of the groups."""
        return Slices(length_us, reach_us, tuple(sorted(cut)) if self.has_keys else None)


def hot_groups(
    frame: DataFrame,
    keys: Sequence[Column],
    time: str,
    settings: Settings,
    rows_there: Callable[[], int],
) -> Hot | None:
    """The groups that are too large, or None where none is.

    Args:
        frame: The rows that take part.
        keys: What partitions them.
        time: The column of times.
        settings: Whether to look, and from how many rows on a group is large.
        rows_there: How many rows there are, those that take no part included.
    """
    if settings.slices == "off":
        return None
    if rows_there() < settings.slice_rows:
        log.info("large groups are not looked for: there are %s rows", rows_there())
        return None
    of_sample = max(1, rows_there() // _SAMPLE_ROWS)
    ts, _ = _clock(F.col(time), frame.schema[time].dataType)
    key = F.xxhash64(*keys) if keys else F.lit(0).cast("long")
    rows = frame.select(key.alias("key"), ts.alias("ts"))
    if of_sample > 1:
        rows = rows.sample(fraction=1 / of_sample, seed=1)
    hot, total = _hot(rows, settings, of_sample)
    if not hot:
        return None
    spans = _spans(rows, hot)
    of_slice = max(total / settings.parallelism() / _SLICES_OF_TASK, 1.0) * of_sample
    counts = {key: count * of_sample for key, count in hot.items()}
    return Hot(counts, spans, of_slice, has_keys=bool(keys))


def slices_of(hot: Hot | None, reach_us: int) -> Slices | None:
    """The slices of large groups, or None where none can be cut.

    Args:
        hot: The groups.
        reach_us: The longest window.
    """
    if hot is None:
        return None
    length = max(int(hot.length_us), int(reach_us / MOST_OVERLAP) + 1)
    # A group whose events are all in about one slice would have more work for nothing.
    cut = [key for key, span in hot.spans_us.items() if span >= 2 * length]
    return hot.slices(length, reach_us, cut) if cut else None


def pane_slices_of(hot: Hot | None, slices: Slices | None, common_us: int) -> PaneSlices | None:
    """The slices of large groups by panes, or None where these would not help.

    Args:
        hot: The groups.
        slices: Those of windows: panes are for where they leave a group whole.
        common_us: The greatest length that divides all windows and slides.
    """
    if hot is None:
        return None
    if slices is not None and (slices.hashes is None or len(slices.hashes) == len(hot.rows)):
        return None
    wanted = [
        hot.spans_us[key] / min(max(rows / _PANE_ROWS, 1.0), _ENOUGH_PANES)
        for key, rows in hot.rows.items()
    ]
    pane = pane_length(common_us, min(*wanted, hot.length_us))
    longest, shortest = max(hot.spans_us.values()), min(hot.spans_us.values())
    if longest > _MOST_PANES * pane or shortest < 2 * pane:
        return None
    length = pane * max(int(hot.length_us / pane), 1)
    return PaneSlices(pane, hot.slices(length, 0, list(hot.rows)))


def _hot(rows: DataFrame, settings: Settings, of_sample: int) -> tuple[dict[int, int], int]:
    """The hashes of large groups with the numbers of their rows, and how many rows there are.

    A group is large where it is more than half of what a task has if all have the same.
    """
    counted = Observation()
    groups = rows.groupBy("key").agg(F.count(F.lit(1)).alias("n"))
    groups = groups.observe(counted, F.coalesce(F.sum("n"), F.lit(0)).alias("total"))
    large = groups.where(F.col("n") >= settings.slice_rows / of_sample).collect()
    total = int(counted.get["total"])
    least = total / settings.parallelism() / 2
    return {int(row["key"]): int(row["n"]) for row in large if row["n"] > least}, total


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


def _clock(time: Column, kind: DataType) -> tuple[Column, int]:
    """Times in microseconds, and by how many they may be wrong."""
    if isinstance(kind, NUMBERS):
        return F.round(time.cast("double") * 1e6).cast("long"), _ROUNDED_US
    return microseconds(time, kind), 0
