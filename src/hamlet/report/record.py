"""How a run came about: what was asked, of which events, by which command, on which machine.

Nothing here is needed to answer a query, so that it is cheap to make is all that a run sees of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hamlet.errors import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.engine import Options
    from hamlet.explain.planned import PlannedWorkload

_OPTIONS = ("type", "time", "order", "numbers", "sharing")


def now() -> str:
    """This moment as ISO 8601 text."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """How a run came about.

    Attributes:
        workload: What was asked.
        engine: "local" or "spark".
        events: Where the events came from, as a person would say it.
        options: The options of the run, by name.
        command: The words that were typed; none for a run from Python.
        begun: When, as ISO 8601 text.
    """

    workload: PlannedWorkload
    engine: str
    events: str
    options: dict[str, str | None]
    command: Sequence[str] = ()
    begun: str = field(default_factory=now)


def record_of(
    workload: PlannedWorkload,
    engine: str,
    events: Any,
    options: Options,
    command: Sequence[str] = (),
) -> RunRecord:
    """How a run that begins now comes about."""
    given = {name: getattr(options, name) for name in _OPTIONS}
    return RunRecord(workload, engine, told_events(events), given, command)


def told_events(events: Any) -> str:
    """Events as a person would name them: a path, or what kind of table they are.

    >>> told_events("rides/*.csv"), told_events([{"time": 1}])
    ('rides/*.csv', 'a list in Python')
    """
    if isinstance(events, str | os.PathLike):
        return str(events)
    return f"a {type(events).__name__} in Python"


def circumstances_of(engine: str) -> dict[str, str]:
    """The machine and the versions of what runs here and now, each in a line."""
    from importlib.metadata import PackageNotFoundError, version

    from hamlet.io.circumstances import circumstances

    described = circumstances()
    versions = {"python": described["python"], **described["versions"]}
    if engine == "spark":
        try:
            versions["pyspark"] = version("pyspark")
        except PackageNotFoundError:
            versions["pyspark"] = "not found"
    return {
        "processor": described["machine"]["processor"],
        "cores": str(os.cpu_count() or 1),
        "system": described["machine"]["system"],
        "versions": listed(f"{name} {number}" for name, number in versions.items()),
    }
