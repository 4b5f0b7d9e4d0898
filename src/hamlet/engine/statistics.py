"""What a run did: how many events came and took part, how much work there was, where time went."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hamlet.errors import counted
from hamlet.kernel.compiling import seconds_of_kernels

if TYPE_CHECKING:
    from hamlet.kernel.run import Counters


@dataclass(slots=True)
class RunStatistics:
    """Counts of one run, and the seconds of each stage.

    Attributes:
        events_in: Rows that were read.
        events_used: Rows that took part in at least one query.
        malformed: Rows that could not be read, by reason.
        without_key: Rows that took no part in some query, because they have no value for an
            attribute that it groups by or that its events have in common, by attribute.
        late: Rows that came after their windows had closed.
        bursts: Stretches of events that were executed at once: graphlets.
        shared_bursts: Of loops with an edge predicate those that queries shared.
        snapshots: Values that were kept apart for each query at the start of a burst.
        shared: Events for all queries of a bundle that cost as one, because it was merged.
        splits: Merged bundles that were split by an event for some of their queries.
        merges: Bundles that were merged again.
        windows_closed: Windows of partitions that were worked out, of any query.
        windows: Windows with a result in any group, counted for each query.
        groups: Groups with a result in any window, counted for each query.
        interpreted: Sets of queries that were run without compiled code.
        seconds: Wall time by stage, in the order the stages ran.
    """

    events_in: int = 0
    events_used: int = 0
    malformed: dict[str, int] = field(default_factory=dict)
    without_key: dict[str, int] = field(default_factory=dict)
    late: int = 0
    bursts: int = 0
    shared_bursts: int = 0
    snapshots: int = 0
    shared: int = 0
    splits: int = 0
    merges: int = 0
    windows_closed: int = 0
    windows: int = 0
    groups: int = 0
    interpreted: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def count(self, counters: Counters) -> None:
        """Add what kernels have done."""
        self.bursts += counters.bursts
        self.shared_bursts += counters.shared_bursts
        self.snapshots += counters.snapshots
        self.shared += counters.shared
        self.splits += counters.split
        self.merges += counters.merged
        self.windows_closed += counters.windows

    @property
    def events_malformed(self) -> int:
        """Rows that could not be read, for any reason."""
        return sum(self.malformed.values())

    def left_out(self) -> list[str]:
        """A line for each attribute without which rows took no part."""
        counts = self.without_key.items()
        return [f"left out  {number:,} without a value for {name}" for name, number in counts]

    def __str__(self) -> str:
        """The counts in a few lines; what did not occur, and need not be reported, is left out.

        >>> print(RunStatistics(events_in=1200, events_used=900, malformed={"time is text": 2},
        ...                     without_key={"driver": 7}, windows=3, groups=1,
        ...                     seconds={"read": 0.5, "run": 1.25}))
        events    1,200 in, 900 used, 2 malformed, 0 late
        malformed 2 time is text
        left out  7 without a value for driver
        results   3 windows, 1 group
        seconds   1.750 (read 0.500, run 1.250)
        work      0 bursts, 0 snapshots
        """
        lines = [
            f"events    {self.events_in:,} in, {self.events_used:,} used, "
            f"{self.events_malformed:,} malformed, {self.late:,} late"
        ]
        lines += [f"malformed {number:,} {reason}" for reason, number in self.malformed.items()]
        lines += self.left_out()
        results = (counted(self.windows, "window"), counted(self.groups, "group"))
        lines.append(f"results   {', '.join(results)}")
        if self.seconds:
            stages = ", ".join(f"{stage} {took:.3f}" for stage, took in self.seconds.items())
            lines.append(f"seconds   {sum(self.seconds.values()):.3f} ({stages})")
        work = (counted(self.bursts, "burst"), counted(self.snapshots, "snapshot"))
        lines.append(f"work      {', '.join(work)}")
        if self.shared or self.splits or self.merges:
            shared = f"{counted(self.shared, 'event')} for all as one"
            changed = (counted(self.splits, "split"), counted(self.merges, "merge"))
            lines.append(f"sharing   {', '.join((shared, *changed))}")
        return "\n".join(lines)


class timed:
    """Add the time that a stage takes to what it has taken; compiling and loading is one apart.

    What raises is not counted.
    """

    __slots__ = ("_before", "_begun", "_stage", "_statistics")

    def __init__(self, statistics: RunStatistics, stage: str) -> None:
        self._statistics, self._stage = statistics, stage

    def __enter__(self) -> None:
        self._before = seconds_of_kernels()
        self._begun = clock.perf_counter()

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            return
        of_kernels = seconds_of_kernels() - self._before
        took = clock.perf_counter() - self._begun - of_kernels
        seconds, stage = self._statistics.seconds, self._stage
        seconds[stage] = seconds.get(stage, 0.0) + took
        if of_kernels:
            seconds["kernels"] = seconds.get("kernels", 0.0) + of_kernels
