"""What rows are brought together by: all that partitions them, or less where that saves a shuffle.

Queries that group by less than partitions them need a second shuffle where rows are brought
together by all that partitions them. Brought together by what all of their queries group by, every
group is whole in one task, and one shuffle is enough; sets that partition the stream in different
ways share it, where their queries have something to group by in common. It is done where groups
are so many, and so much of one size, that tasks get about the same.

How many rows there are, and how large groups are, is counted in two jobs before the first. Where
rows are few, or nothing is to be saved, the second is left out.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from hamlet.spark.events import are_given
from hamlet.spark.kinds import as_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column

    from hamlet.plan.workload import SharableSet, WorkloadPlan
    from hamlet.spark.events import EventFrame
    from hamlet.spark.settings import Settings

    # Attributes, in the order of their names.
    Key = tuple[str, ...]

log = logging.getLogger("hamlet")

# So few rows are not worth a look at their groups.
_FEW_ROWS = 10_000
# About so many rows are looked at.
_ROWS_SEEN = 1_000_000
# Tasks get at most about half as much again as they should where each has so many groups, times the
# logarithm of how many tasks there are.
_GROUPS_OF_TASK = 8


@dataclass(frozen=True, slots=True)
class Brought:
    """Sets whose rows go through one shuffle.

    by: The attributes that rows are brought together by.
    sets: By what partitions the stream.
    is_even: Whether groups are known to be about as large as each other.
    """

    by: Key
    sets: tuple[tuple[Key, tuple[SharableSet, ...]], ...]
    is_even: bool = False

    @property
    def all_sets(self) -> tuple[SharableSet, ...]:
        """All of them."""
        return tuple(sharable for _, some in self.sets for sharable in some)


def by_partition(plan: WorkloadPlan) -> list[Brought]:
    """Rows brought together by all that partitions them: a shuffle for each partitioning."""
    by_key: dict[Key, list[SharableSet]] = {}
    for sharable in plan.sets:
        by_key.setdefault(tuple(sorted(sharable.partition)), []).append(sharable)
    return [Brought(key, ((key, tuple(sets)),)) for key, sets in by_key.items()]


def brought_together(
    plan: WorkloadPlan, events: EventFrame, settings: Settings, rows: Callable[[], int]
) -> list[Brought]:
    """What the rows of each shuffle are brought together by.

    Args:
        plan: The workload.
        events: The events.
        settings: Whether it may be less than all that partitions them.
        rows: How many rows there are; asked only where it matters.
    """
    apart = by_partition(plan)
    together = _together(plan, apart)
    if settings.shuffle == "partition" or together == apart:
        return apart
    if settings.shuffle == "group":
        return together
    alone = [one for each in apart for one in _together(plan, [each])]
    asked = {each.by for each in (*together, *alone) if each not in apart}
    are_few = rows() <= _FEW_ROWS
    good = asked if are_few else _evenly_grouped(events, sorted(asked), rows(), settings)
    for key in sorted(asked - good):
        log.info("rows are not shuffled by %s: groups are few, or of very different sizes", key)
    chosen = _chosen(plan, apart, together, good)
    return [replace(each, is_even=not are_few and each.by in good) for each in chosen]


def _chosen(
    plan: WorkloadPlan, apart: list[Brought], together: list[Brought], good: set[Key]
) -> Iterator[Brought]:
    by_sets = {each.sets[0]: each for each in apart}
    for each in together:
        if each in apart or each.by in good:
            yield each
            continue
        for one in each.sets:
            (alone,) = _together(plan, [by_sets[one]])
            yield alone if alone.by in good else by_sets[one]


def _together(plan: WorkloadPlan, apart: Iterable[Brought]) -> list[Brought]:
    """Sets brought together by what their queries group by in common; those without it apart."""
    brought: list[Brought] = []
    for each in apart:
        common = _common(plan, each)
        for place, other in enumerate(brought):
            both = tuple(key for key in other.by if key in common)
            if both and _groups_are_whole(plan, other):
                brought[place] = Brought(both, (*other.sets, *each.sets))
                break
        else:
            brought.append(Brought(common, each.sets) if common else each)
    return brought


def _common(plan: WorkloadPlan, brought: Brought) -> Key:
    numbers = [number for sharable in brought.all_sets for number in sharable.queries]
    grouped = [set(plan.queries[number].query.group_by) for number in numbers]
    return tuple(sorted(set.intersection(*grouped)))


def _groups_are_whole(plan: WorkloadPlan, brought: Brought) -> bool:
    return set(brought.by) <= set(_common(plan, brought))


def _evenly_grouped(
    events: EventFrame, asked: Sequence[Key], rows: int, settings: Settings
) -> set[Key]:
    """Those of some keys whose groups are many and even enough, found in a job."""
    at_once = settings.parallelism()
    hashes = [
        F.when(are_given([events.schema[name] for name in key]), F.xxhash64(*_hashed(events, key)))
        for key in asked
    ]
    frame = events.frame.select(*(each.alias(f"h{i}") for i, each in enumerate(hashes)))
    if rows > _ROWS_SEEN:
        frame = frame.sample(fraction=_ROWS_SEEN / rows, seed=1)
    pairs = [F.struct(F.lit(i).alias("i"), F.col(f"h{i}").alias("h")) for i in range(len(asked))]
    counted = frame.select(F.explode(F.array(*pairs)).alias("pair")).select("pair.i", "pair.h")
    counted = counted.where("h IS NOT NULL").groupBy("i", "h").agg(F.count(F.lit(1)).alias("n"))
    n = F.col("n").cast("double")
    sums = [F.sum(n).alias("rows"), F.sum(n * (n - 1)).alias("pairs"), F.max(n).alias("largest")]
    counts = counted.groupBy("i").agg(*sums).collect()
    wanted = _GROUPS_OF_TASK * at_once * max(1.0, math.log(at_once))
    return {
        asked[row["i"]]
        for row in counts
        # How likely two rows are of one group is one in as many as there would be of one size.
        if row["pairs"] * wanted <= row["rows"] * (row["rows"] - 1)
        and row["largest"] * 2 * at_once <= row["rows"]
    }


def _hashed(events: EventFrame, key: Key) -> list[Column]:
    return [as_key(*events.schema[name]) for name in key]
