"""Files of events read by Spark."""
