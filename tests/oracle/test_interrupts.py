"""Ctrl-C at any moment of a run: KeyboardInterrupt comes out, and the process is as before.

Would catch an exception of another kind, a crash, a run that goes on, a workload that gives other
results after it was interrupted, and a session that is used half-way.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.session import Session
from hamlet.engine.state.rows import Waiting
from hamlet.errors import RunError, SchemaError

HOST = Path(__file__).parent / "interrupted.py"


@pytest.mark.slow
def test_runs_of_every_kind_are_interrupted_at_random_moments():
    ended = subprocess.run(
        [sys.executable, str(HOST), "1", "12"],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )

    assert ended.returncode == 0, ended.stderr[-3000:]
    told = json.loads(ended.stdout)
    assert len(told["found"]) == 8
    # Half a second on a machine that does nothing else; some of these runs take minutes.
    assert told["worst"] < 15
    assert "SystemError" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("method", ["feed", "close_until"])
def test_a_session_that_was_interrupted_says_so_until_something_is_restored(
    monkeypatch: pytest.MonkeyPatch, method: str
):
    plan = Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s").plan
    table = pa.table({"type": ["A", "B", "B"], "time": [1, 2, 3]})
    session = Session(plan, Options(), table.schema)
    session.feed(table)
    snapshot = session.snapshot()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    call = {"feed": lambda: session.feed(table), "close_until": session.close_all}[method]
    with monkeypatch.context() as patched:
        patched.setattr(Waiting, {"feed": "add", "close_until": "release"}[method], interrupted)
        with pytest.raises(KeyboardInterrupt):
            call()

    for call in (session.snapshot, session.close_all, lambda: session.feed(table)):
        with pytest.raises(RunError, match="stopped half-way, by KeyboardInterrupt; restore a"):
            call()
    session.restore(snapshot)
    assert [answer.rows["exact.0"].to_pylist() for answer in session.close_all().answers()] == [
        ["3"]
    ]


def test_a_table_that_a_session_refuses_leaves_it_as_it_was():
    plan = Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s").plan
    table = pa.table({"type": ["A", "B"], "time": [1, 2]})
    session = Session(plan, Options(), table.schema)
    session.feed(table)

    with pytest.raises(SchemaError):
        session.feed(pa.table({"type": ["A"]}))

    assert [answer.rows["exact.0"].to_pylist() for answer in session.close_all().answers()] == [
        ["1"]
    ]
