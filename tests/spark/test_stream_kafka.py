"""`hamlet stream` from a topic of Kafka to another, with a real broker: only where there is one.

Would catch a connector that is not found, values that are read otherwise than lines of a file, and
results that are not written as they should be. `make test-cluster` has Maven fetch the broker and
Spark's connector, and says in HAMLET_KAFKA where they are.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hamlet import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

JARS = os.environ.get("HAMLET_KAFKA")
# A broker and the connector are jars that no package of Python brings.
BROKER, CONNECTOR = f"{JARS}/broker", f"{JARS}/connector"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(JARS is None, reason="make test-cluster runs these"),
]

WORKLOAD = """
one: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 10 s SLIDE 5 s;
two: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE [k] WITHIN 10 s
"""
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
# Writes the lines of a file to a topic, or prints those of a topic.
SCRIPT = """
import sys
from hamlet.spark.session import start
server, topic, *lines = sys.argv[1:]
spark = start("local[1]", quiet=True)
if lines:
    frame = spark.read.text(lines[0])
    options = {"kafka.bootstrap.servers": server, "topic": topic}
    frame.write.format("kafka").options(**options).save()
else:
    options = {"kafka.bootstrap.servers": server, "subscribe": topic}
    for row in spark.read.format("kafka").options(**options).load().collect():
        print("key", row["key"] and bytes(row["key"]).decode())
        print(bytes(row["value"]).decode())
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A broker, for as long as a test runs."""
    port, control = free_port(), free_port()
    settings = tmp_path / "server.properties"
    settings.write_text(SETTINGS.format(port=port, control=control, folder=tmp_path))
    java = ["java", "-Xmx256m", "-cp", f"{BROKER}/*"]
    new = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk"]
    subprocess.run([*java, *new, "-c", str(settings)], check=True, capture_output=True)
    broker = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    try:
        while True:
            assert broker.poll() is None
            assert time.monotonic() < deadline
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        broker.kill()
        broker.wait()


def python(folder: Path, *arguments: str) -> str:
    """What a Python with the connector prints."""
    jars = ",".join(str(path) for path in sorted(Path(str(CONNECTOR)).glob("*.jar")))
    left = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYSPARK_SUBMIT_ARGS": f"--jars {jars} pyspark-shell"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert left.returncode == 0, left.stderr
    return left.stdout + left.stderr


def test_from_one_topic_to_another(server: str, tmp_path: Path):
    chance = random.Random(2)
    rows = [
        {"type": chance.choice("ABBC"), "time": n / 4, "k": f"g{n % 3}", "x": chance.randrange(9)}
        for n in range(200)
    ]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join([*lines, "nothing"]) + "\n")
    (tmp_path / "sample.jsonl").write_text("\n".join(lines[:10]) + "\n")
    (tmp_path / "w.hql").write_text(WORKLOAD)
    # Options of Kafka's clients reach both ends.
    (tmp_path / "client.properties").write_text("# who we are\nsecurity.protocol = PLAINTEXT\n")
    python(tmp_path, "-c", SCRIPT, server, "rides", "rows.jsonl")

    told = python(
        tmp_path,
        *("-m", "hamlet", "stream", "w.hql", "--source", f"kafka:{server}/rides"),
        *("--schema", "sample.jsonl", "--lateness", "60 s", "--out", f"kafka:{server}/counts"),
        *("--checkpoint", "state", "--once", "--flush", "--packages", "", "--master", "local[1]"),
        *("--offsets", "80", "--kafka-config", "client.properties", "--key", "query,group"),
    )

    printed = python(tmp_path, "-c", SCRIPT, server, "counts").splitlines()
    found = [json.loads(line) for line in printed if line.startswith("{")]
    wanted = Workload.parse(WORKLOAD).run(rows).table.to_pylist()
    assert "201 in, " in told
    # So many offsets make a batch at most.
    sizes = [int(each) for each in re.findall(r"^batch \d+  ([\d,]+) rows", told, re.MULTILINE)]
    assert [size for size in sizes if size] == [80, 80, 41]
    keys = {json.loads(line[4:])["query"] for line in printed if line.startswith("key {")}
    assert keys == {"one", "two"}
    assert "malformed 1 not JSON" in told
    names = ("query", "window_start", "group", "aggregate", "exact")
    assert sorted(str([row[name] for name in names]) for row in found) == sorted(
        str([row[name] for name in names]) for row in wanted
    )
