"""Streams: a session of the engine for each bucket of partitions, in Spark's own state."""
