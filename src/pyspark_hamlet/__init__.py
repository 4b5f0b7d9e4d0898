"""Where Spark looks for data sources that it finds by itself: see hamlet/spark/source.py."""

from hamlet.spark.source import WorkloadSource as DefaultSource

__all__ = ["DefaultSource"]
