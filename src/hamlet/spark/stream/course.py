"""The course of a stream: which generations of its workload are live when it goes on.

What the checkpoint knows of the stream is compared with what is asked for. The same workload goes
on as it was; another one is a change, and begins a generation after all events that were taken in
(`generations.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hamlet.engine.session import workload_digest
from hamlet.errors import ReadError
from hamlet.plan.workload import plan_workload
from hamlet.spark.stream.generations import (
    EVER_US,
    EVERYTHING,
    Generation,
    Live,
    change_us,
    live_ones,
    next_number,
)
from hamlet.spark.stream.settings import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hamlet.engine import Options
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.stream.checkpoint import Checkpoint
    from hamlet.spark.stream.settings import StreamSettings

_OTHER = "its stream was begun with another workload"


@dataclass(frozen=True, slots=True)
class Course:
    """How a stream goes on.

    begun: What it was begun with; None where it begins now.
    live: The generations that may still answer, the newest last.
    is_change: Whether the newest is not noted yet in the checkpoint of a stream that has begun.
    """

    begun: Mapping[str, Any] | None
    live: tuple[Live, ...]
    is_change: bool

    def note(
        self,
        checkpoint: Checkpoint,
        facts: Mapping[str, Any],
        own: Sequence[Mapping[str, Any]],
        source: Mapping[str, Any] | None,
    ) -> None:
        """Compare what the checkpoint knows with how things are, and note what is new.

        Args:
            checkpoint: The checkpoint.
            facts: What can never change, by what to call it in a message.
            own: For each live generation what its state depends on.
            source: What the rows of the source are, where somebody found it out.

        Raises:
            ReadError: The stream was begun in another way.
            WriteError: Nothing can be noted.
        """
        newest = replace(self.live[-1].generation, source=source, **own[-1])
        if self.begun is None:
            checkpoint.begin(facts, newest)
            return
        checkpoint.compare(self.begun, facts)
        for live, its_own in zip(self.live, own, strict=True):
            if not (self.is_change and live is self.live[-1]):
                checkpoint.compare(live.generation.described(), its_own)
        if self.is_change:
            checkpoint.change(newest)


def course_of(
    plan: WorkloadPlan,
    text: str,
    options: Options,
    settings: StreamSettings,
    checkpoint: Checkpoint | None,
    buckets: int,
) -> Course:
    """How a stream goes on with a workload.

    Args:
        plan: The workload.
        text: How it is written; empty where nobody knows.
        options: How to run it.
        settings: How to run it as a stream.
        checkpoint: The checkpoint, if there is one.
        buckets: Over how many parts to spread groups, where nobody has said so.

    Raises:
        ReadError: The workload is another one, and nobody knows what it was or is.
    """
    asked = Generation(
        number=0,
        text=text,
        workload=workload_digest(plan),
        sharing=options.sharing,
        buckets=settings.buckets or (BUCKETS if checkpoint is None else buckets),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    history = () if checkpoint is None else checkpoint.generations()
    if checkpoint is None or not history:
        return Course(None, (Live(asked, plan, EVERYTHING),), is_change=False)
    is_change = not _is_same(history[-1], asked, settings)
    if is_change:
        history = (*history, _changed(history, asked, settings, checkpoint))
    closed_ms, _ = checkpoint.watermarks()
    live = live_ones(history, plan, None if closed_ms is None else closed_ms * 1000)
    return Course(checkpoint.begun_with(), live, is_change)


def _is_same(last: Generation, asked: Generation, settings: StreamSettings) -> bool:
    are_buckets = settings.buckets is None or settings.buckets == last.buckets
    return (last.workload, last.sharing) == (asked.workload, asked.sharing) and are_buckets


def _changed(
    history: Sequence[Generation],
    asked: Generation,
    settings: StreamSettings,
    checkpoint: Checkpoint,
) -> Generation:
    """The generation that a change begins."""
    last = history[-1]
    if not (last.text and asked.text):
        reason = f"{_OTHER}, and it is not known how that was written"
        raise ReadError(checkpoint.folder, f"{reason}; go on with it, or choose an empty folder")
    if checkpoint.is_ended():
        reason = f"{_OTHER}, and ended by flush; choose an empty folder"
        raise ReadError(checkpoint.folder, reason)
    checkpoint.check_is_idle()
    _, watermark_ms = checkpoint.watermarks()
    # Where no batch is done nobody has answered anything yet.
    since = -EVER_US if watermark_ms is None else change_us(watermark_ms, settings.lateness_us)
    return replace(
        asked,
        number=next_number(history),
        buckets=settings.buckets or last.buckets,
        since_us=max(since, last.change_us),
    )


def plan_to_read(checkpoint: Checkpoint, plan: WorkloadPlan) -> WorkloadPlan:
    """The queries of a workload, and those of earlier ones that still have windows to answer.

    What they read of events is to be read as long as that.
    """
    history = checkpoint.generations()
    if not history or not history[-1].text:
        return plan
    closed_ms, _ = checkpoint.watermarks()
    closed_us = None if closed_ms is None else closed_ms * 1000
    live = live_ones(history, history[-1].plan(), closed_us)
    return plan_workload([*(query for each in live for query in each.plan.queries), *plan.queries])
