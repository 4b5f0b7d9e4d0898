"""The same workloads over Spark Connect, where a session has neither a context nor a Java.

Would catch whatever asks for one of these, a way of Connect to do something that gives other rows,
and a server that is not there being waited for. What talks to Connect runs in processes of its own:
pyspark is of one kind in a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from command_runs import Left, in_one_process

pytest.importorskip("grpc", reason="what Spark Connect needs is not installed")

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    folder = str(tmp_path_factory.mktemp("connect"))
    command = [sys.executable, str(HERE / "connect_server.py"), folder]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=folder) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port.isdecimal(), port
        yield f"sc://127.0.0.1:{port}"
        # Leaving closes its standard input, and waits for it.


# A stream that is stopped, goes on and ends, in a process that has neither a context nor a Java.
STREAM = """
import sys
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import functions as F
from hamlet import Workload
from hamlet.spark.session import start

remote, folder = sys.argv[1:]
spark = start(remote=remote)
text = "RETURN COUNT(*) AS trends, SUM(B.x) AS x PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s SLIDE 5 s"
workload = Workload.parse(text)
rows = [{"type": "ABBC"[i % 4], "time": i / 3, "k": i % 5, "x": i} for i in range(240)]
table = pa.Table.from_pylist(rows)

def timed(events):
    return events.withColumn("time", F.timestamp_seconds("time"))

def answers(which, **how):
    return which.run(events, wide=True, checkpoint=f"{folder}/checkpoint", **how)

for number in range(2):
    parquet.write_table(table.slice(120 * number, 120), f"{folder}/in/{number}.parquet")
    stream = spark.readStream.schema("type string, time double, k bigint, x bigint")
    events = timed(stream.parquet(f"{folder}/in"))
    for flush in (False, True)[: number + 1]:
        found = answers(workload, lateness="2 s", flush=flush)
        writer = found.writeStream.format("parquet").option("path", f"{folder}/out")
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
        writer.trigger(availableNow=True).start().awaitTermination()
    if number == 0:
        try:
            answers(workload, lateness="3 s")
        except Exception as error:
            print(type(error).__name__, error)
batch = workload.run(timed(spark.read.parquet(f"{folder}/in")), wide=True)
streamed = spark.read.parquet(f"{folder}/out")
columns = ["window_start", "k", "trends", "x"]
missing = batch.select(columns).exceptAll(streamed.select(columns))
print(batch.count(), streamed.count(), missing.count())
"""


SAME = ("run", "examples/ridesharing.hql", "--events", "examples/rides.csv")


def hamlet(*commands: tuple[str, ...]) -> list[Left]:
    return in_one_process(*((*SAME, *each) for each in commands), folder=ROOT)


def test_all_conformance_cases(server: str):
    case = f"{HERE / 'test_conformance.py'}::test_all_cases"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", case]
    environment = os.environ | {"HAMLET_TEST_REMOTE": server}
    # Of the run around this one, which a run by itself knows nothing of
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        environment.pop(name, None)

    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "1 passed" in done.stdout


def rows(text: str) -> list[str]:
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in text.splitlines())


def test_the_command_line_gives_what_it_gives_on_one_machine(server: str):
    """Also where one process runs two of them, each in a session of its own."""
    forms = ((), ("--wide",))
    local = ("--format", "json", "--engine", "local")
    remote = ("--format", "json", "--remote", server)

    found = hamlet(*((*form, *where) for form in forms for where in (local, remote)))

    for here, there in zip(found[::2], found[1::2], strict=True):
        assert (there.status, "Traceback" in there.err) == (0, False), there.err
        assert rows(there.out) == rows(here.out)
        assert len(rows(here.out)) > 5
        assert "engine    spark: --remote says where" in there.err


def test_a_place_that_is_none_is_refused_in_a_sentence():
    wrong = {
        ("--remote", "sc://127.0.0.1:1"): "nobody answers at sc://127.0.0.1:1",
        ("--remote", "spark://host:7077"): "names no server of Spark Connect",
        ("--remote", "sc://h", "--master", "local[2]"): "--master and --remote are two places",
        ("--remote", "sc://h", "--engine", "local"): "--remote is for --engine spark",
    }

    found = hamlet(*wrong)

    for left, message in zip(found, wrong.values(), strict=True):
        assert left.status == 2
        assert message in left.err
        assert "Traceback" not in left.err


@pytest.mark.skipif(pyspark.__version__.startswith("4.0."), reason="streams need Spark 4.1")
def test_a_stream_goes_on_and_ends_over_connect(server: str, tmp_path: Path):
    (tmp_path / "in").mkdir()
    command = [sys.executable, "-c", STREAM, server, str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.returncode == 0, done.stderr[:3000]
    refused, counts = done.stdout.splitlines()
    assert refused.startswith("ReadError")
    assert "lateness" in refused
    batch, streamed, missing = map(int, counts.split())
    assert batch == streamed > 40
    assert missing == 0
