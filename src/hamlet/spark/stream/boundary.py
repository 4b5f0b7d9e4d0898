"""Where one batch of a stream has ended and the next has not begun."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

# A batch may take so long to come to its end.
_MOST_S = 10.0
_LOOK_EVERY_S = 0.05


def wait_for_boundary(query: StreamingQuery, is_over: threading.Event | None = None) -> None:
    """Wait until no batch is under way, but not for ever: one that is stopped is done again.

    Args:
        query: The query.
        is_over: Ends the waiting.
    """
    waiting = is_over or threading.Event()
    for _ in range(round(_MOST_S / _LOOK_EVERY_S)):
        if not query.isActive or not query.status["isTriggerActive"]:
            return
        if waiting.wait(_LOOK_EVERY_S):
            return
