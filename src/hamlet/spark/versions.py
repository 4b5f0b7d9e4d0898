"""Which versions of Spark workloads run on: the session of the events counts, whoever began it."""

from __future__ import annotations

import re

from hamlet.errors import PlanError

LEAST = (4, 0)
# The first whose state of streams takes many rows at a time.
LEAST_OF_STREAMS = (4, 1)


def check_version(version: str, *, is_stream: bool = False) -> None:
    """Refuse a version of Spark that is too old.

    Raises:
        PlanError: It says which one is needed.
    """
    least = LEAST_OF_STREAMS if is_stream else LEAST
    if tuple(map(int, re.findall(r"\d+", version)[:2])) >= least:
        return
    needed = ".".join(map(str, least))
    what = "streams need" if is_stream else "Hamlet needs"
    remedy = f"{what} {needed} or newer: run pip install --upgrade 'hamlet-trends[spark]'"
    reason = f"Spark {version} is too old"
    raise PlanError(reason, f"{remedy[0].upper()}{remedy[1:]}, or use a newer cluster.")
