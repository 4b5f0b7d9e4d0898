"""Sessions that talk to Spark Connect, and what is done otherwise there: progress, and the end.

Everything else is the same DataFrames and columns. A session over Connect has no context and no
Java of its own; nothing outside of this file asks which kind a session is.
"""

from __future__ import annotations

import socket
import time as clock
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from hamlet.errors import PlanError, reason_of

try:
    from py4j.protocol import Py4JError
except ImportError:  # pyspark-client comes without the bridge to Java
    Py4JError = OSError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Py4JError", "cancel", "connect", "is_remote", "stage_progress"]

_PORT = 15002
_SECONDS_TO_ANSWER = 5.0
_SECONDS_TO_CANCEL = 10.0
_LOOK_EVERY_S = 0.2


def is_remote(session: SparkSession) -> bool:
    """Whether a session talks to Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def connect(url: str) -> SparkSession:
    """A session over Spark Connect.

    Args:
        url: Such as sc://host:15002, with what Spark takes after it: ;token=... and the like.

    Raises:
        PlanError: What Connect needs is not installed, or nobody answers.
    """
    try:
        from pyspark.sql.connect.session import SparkSession as _  # noqa: F401
    except ImportError as error:
        remedy = "Run pip install 'hamlet-trends[connect]'."
        reason = f"Spark Connect needs more packages, the first of them {error.name}"
        raise PlanError(reason, remedy) from error
    _check_answers(url)
    return SparkSession.builder.remote(url).getOrCreate()


def _check_answers(url: str) -> None:
    """Refuse a server that is not there: Spark would try for minutes to reach it."""
    parts = urlsplit(url)
    remedy = "A server is named as in sc://host:15002."
    if parts.scheme != "sc" or not parts.hostname:
        reason = f"{url!r} names no server of Spark Connect"
        raise PlanError(reason, remedy)
    try:
        port = parts.port or _PORT
        socket.create_connection((parts.hostname, port), _SECONDS_TO_ANSWER).close()
    except (OSError, ValueError) as error:
        why = reason_of(error) if isinstance(error, OSError) else str(error)
        reason = f"nobody answers at {url} ({why})"
        raise PlanError(reason, f"Is the server running? {remedy}") from error


def cancel(session: SparkSession) -> None:
    """Cancel what a session runs, and wait until it is gone.

    Ctrl-C reaches Java too, and what has ended by it needs no cancelling.
    """
    with suppress(Py4JError, OSError):
        if is_remote(session):
            session.interruptAll()
            return
        context = session.sparkContext
        until = clock.monotonic() + _SECONDS_TO_CANCEL
        context.cancelAllJobs()
        while context.statusTracker().getActiveJobsIds() and clock.monotonic() < until:
            clock.sleep(_LOOK_EVERY_S)


@contextmanager
def stage_progress(session: SparkSession) -> Iterator[Callable[[], dict[Any, tuple[int, int]]]]:
    """How many tasks of each stage have been done, and how many it has: of those that have begun.

    What is given is asked for that as often as one likes, from any thread.
    """
    begun: dict[Any, tuple[int, int]] = {}
    if not is_remote(session):
        tracker = session.sparkContext.statusTracker()

        def look() -> dict[Any, tuple[int, int]]:
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    begun[stage] = (info.numCompletedTasks, info.numTasks)
            return begun

        yield look
        return

    def told(stages: Any, operation_id: str, **_: Any) -> None:
        for stage in stages or ():
            begun[operation_id, stage.stage_id] = (stage.num_completed_tasks, stage.num_tasks)

    handler: Any = told
    session.registerProgressHandler(handler)
    try:
        yield lambda: dict(begun)
    finally:
        session.removeProgressHandler(handler)
