"""Workloads on Spark: a DataFrame of events in, a DataFrame of results out.

The only folder that imports pyspark. Spark reads, filters, finds letters and shuffles; the engine
gets narrow Arrow batches and gives rows of results. `register` has the table function for SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(session: SparkSession, name: str = "trends") -> None:
    """Make the table function `trends` known to a session: see `hamlet.spark.sql`.

    Args:
        session: Any session, over Spark Connect too.
        name: What to call the function.
    """
    # Tasks import this package, and have no use for what parses and explains.
    from hamlet.spark.sql import table_function

    session.udtf.register(name, table_function())
