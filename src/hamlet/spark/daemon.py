"""The daemon that forks the Python workers of a session of our own.

Spark starts one, and forks it for each task that runs Python. What it has imported, its forks have:
that saves each of them some seconds. After every task a worker looks for garbage, which it need not
do among all that was imported: that would take longer than a small task.
"""

import gc

from pyspark.daemon import manager

import hamlet.spark.stream.bucket
import hamlet.spark.stream.state
import hamlet.spark.task  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    manager()
