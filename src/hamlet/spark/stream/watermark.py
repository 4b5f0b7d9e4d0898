"""The watermark that a stream may have already: taken as it is, or refused before it begins.

Spark allows one watermark in a query, and says so only in the middle of the first batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet.errors import PlanError
from hamlet.plan.durations import show_duration
from hamlet.spark.stream.frames import WATERMARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What Spark's plan calls it, whichever columns are left.
_NODE = "EventTimeWatermark"


def lateness_of(frame: DataFrame, time: str, asked_us: int | None) -> int | None:
    """How long a stream waits for rows by itself, in microseconds; None where it has no watermark.

    Args:
        frame: The stream.
        time: The column of the times.
        asked_us: The lateness that was asked for, if one was.

    Raises:
        PlanError: It has one that cannot be gone on with.
    """
    found = {
        field.name: int((field.metadata or {})[WATERMARK]) * 1000
        for field in frame.schema.fields
        if WATERMARK in (field.metadata or {})
    }
    if time in found:
        if asked_us is not None and asked_us != found[time]:
            shown = [_shown(each) for each in (found[time], asked_us)]
            reason = f"the stream has a watermark with a delay of {shown[0]}, not of {shown[1]}"
            raise PlanError(reason, "Leave the lateness out, or take the stream without watermark.")
        return found[time]
    remedy = f"Spark allows one: take the stream without it, or with one of its column '{time}'."
    if found:
        reason = f"the stream has a watermark already, of its column '{next(iter(found))}'"
        raise PlanError(reason, remedy)
    # Over Spark Connect nobody tells, and Spark refuses it in the first batch.
    plan: Any = getattr(frame, "_jdf", None)
    if plan is not None and _NODE in plan.queryExecution().analyzed().toString():
        reason = "the stream has a watermark already, of a column that it has no more"
        raise PlanError(reason, remedy)
    return None


def _shown(length_us: int) -> str:
    return show_duration(length_us) if length_us else "0 s"
