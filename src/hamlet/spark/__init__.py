"""Workloads on Spark: a DataFrame of events in, a DataFrame of results out.

The only folder that imports pyspark. Spark reads, filters, finds letters and shuffles; the engine
gets narrow Arrow batches and gives rows of results.
"""
