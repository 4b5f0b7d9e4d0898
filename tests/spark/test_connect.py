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

import pytest

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


def hamlet(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hamlet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


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


@pytest.mark.parametrize("form", [(), ("--wide",)])
def test_the_command_line_gives_what_it_gives_on_one_machine(server: str, form: tuple[str, ...]):
    same = ("run", "examples/ridesharing.hql", "--events", "examples/rides.csv", *form)

    here = hamlet(*same, "--format", "json", "--engine", "local")
    there = hamlet(*same, "--format", "json", "--remote", server)

    assert (there.returncode, "Traceback" in there.stderr) == (0, False), there.stderr
    assert rows(there.stdout) == rows(here.stdout)
    assert len(rows(here.stdout)) > 5
    assert "engine    spark: --remote says where" in there.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--remote", "sc://127.0.0.1:1"), "nobody answers at sc://127.0.0.1:1"),
        (("--remote", "spark://host:7077"), "names no server of Spark Connect"),
        (("--remote", "sc://h", "--master", "local[2]"), "--master and --remote are two places"),
        (("--remote", "sc://h", "--engine", "local"), "--remote is for --engine spark"),
    ],
)
def test_a_place_that_is_none_is_refused_in_a_sentence(arguments: tuple[str, ...], message: str):
    same = ("run", "examples/ridesharing.hql", "--events", "examples/rides.csv")

    done = hamlet(*same, *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
