"""The daemon that forks the Python workers of a session of our own.

Spark starts one, and forks it for each task that runs Python. What it has imported, its forks have:
that saves each of them some seconds. After every task a worker looks for garbage, which it need not
do among all that was imported: that would take longer than a small task. When the first compiled
function is called Numba looks up what it knows of types and functions: here, once for all forks.
"""

import gc

from numba.core.registry import cpu_target
from pyspark.daemon import manager

import hamlet.spark.stream.bucket
import hamlet.spark.stream.state
import hamlet.spark.task  # noqa: F401

if __name__ == "__main__":
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    gc.freeze()
    manager()
