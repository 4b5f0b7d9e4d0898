"""Workloads on Spark: a DataFrame of events in, a DataFrame of results out.

The only folder that imports pyspark. Spark reads, filters, finds letters and shuffles; the engine
gets narrow Arrow batches and gives rows of results. `register` has the table function for SQL, and
`StreamingWorkload` is a workload on a stream whose queries come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hamlet.spark.stream.handle import StreamingWorkload

__all__ = ["StreamingWorkload", "register"]


def register(session: SparkSession, name: str = "trends") -> None:
    """Make the table function `trends` known to a session: see `hamlet.spark.sql`.

    Args:
        session: Any session, over Spark Connect too.
        name: What to call the function.

    Raises:
        PlanError: The version of Spark is too old.
    """
    from hamlet.spark.versions import check_version

    check_version(session.version)
    # Tasks import this package, and have no use for what parses and explains.
    from hamlet.spark.sql import table_function

    session.udtf.register(name, table_function())


def __getattr__(name: str) -> Any:
    """What is imported when it is first asked for: tasks import this package too."""
    if name == "StreamingWorkload":
        from hamlet.spark.stream.handle import StreamingWorkload

        return StreamingWorkload
    reason = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(reason)
