"""Keep the classes that Java loads for Spark: `python java_classes.py ARCHIVE`.

Half of what a small process with Spark does is to find and to check some ten thousand classes. Java
can keep them in an archive as it has them in memory. Those are kept that a batch and a stream load.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from hamlet.cli import run

WORKLOAD = """
RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s SLIDE 5 s;
RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x AND [k] WITHIN 15 s
"""
EVENTS = "type,time,k,x\nA,1,1,2\nB,2,1,3\nB,3,1,4\n"


def load_classes(folder: Path) -> None:
    """Run a batch and a stream in this process."""
    workload, source = folder / "workload.hql", folder / "in"
    source.mkdir()
    workload.write_text(WORKLOAD, encoding="utf-8")
    (source / "events.csv").write_text(EVENTS, encoding="utf-8")
    places = [f"--out={folder / 'out'}", f"--checkpoint={folder / 'checkpoint'}"]
    # The stream last: it may have to wait until the kernels are compiled.
    answer("run", str(workload), f"--events={source}", "--engine=spark", "--format=json")
    answer("stream", str(workload), f"--source={source}", *places, "--once", "--flush")


def answer(*arguments: str) -> None:
    """Run a command, which has to succeed."""
    status = run([*arguments, "--master=local[1]"])
    assert not status, f"hamlet {' '.join(arguments)} returned {status}"


def keep(archive: Path) -> None:
    """Write the archive, which appears whole or not at all."""
    partial = archive.with_name(f"{archive.name}.{os.getpid()}")
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{options} -XX:ArchiveClassesAtExit={partial}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            load_classes(Path(folder))
        # Java writes it when it ends, which it does when nobody can tell it any more what to do.
        java = SparkContext._gateway.proc
        java.stdin.close()
        java.wait()
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
