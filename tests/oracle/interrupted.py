"""Run workloads over and over in one process, each run ended by SIGINT at a random moment.

Called by test_interrupts.py as a process of its own: `interrupted.py SEED SECONDS`. Prints how many
runs of each kind were interrupted, and the longest time that it took, as JSON; whatever else comes
out of a run ends it with a trace.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.session import Session
from hamlet.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUPBY g WITHIN 5000 s SLIDE 1000 s"
EDGE = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x WITHIN 10000000 s"
LOGS = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x * NEXT(B).x > 9 WITHIN 10000000 s"


def events(count: int) -> pa.Table:
    chance = np.random.default_rng(7)
    kinds = np.where(chance.random(count) < 0.1, "A", "B")
    return pa.table(
        {
            "type": kinds,
            "time": np.arange(count),
            "x": chance.integers(0, 1000, count),
            "g": chance.integers(0, 20, count),
        }
    )


def run_by(text: str, **options: Any) -> Callable[[pa.Table], object]:
    workload = Workload.parse(text)
    return lambda table: workload.run(table, **options).table


def run_session(table: pa.Table) -> object:
    """A session in pieces; one that was interrupted says so, and goes on from a snapshot."""
    session = Session(Workload.parse(PLAIN).plan, Options(), table.schema)
    nothing, before = session.snapshot(), session.statistics.events_in
    try:
        for begin in range(0, len(table), 20_000):
            session.feed(table.slice(begin, 20_000))
            session.close_until(10**6 * begin)
        return [answer.rows.to_pydict() for answer in session.close_all().answers()]
    except KeyboardInterrupt:
        # Either the call has changed nothing, or the session says that it was stopped.
        with suppress(RunError):
            session.feed(table.slice(0, 0))
        session.restore(nothing)
        assert session.statistics.events_in == before
        raise


KINDS: dict[str, tuple[int, Callable[[pa.Table], object]]] = {
    "exact": (300_000, run_by(PLAIN)),
    "float": (300_000, run_by(PLAIN, numbers="float")),
    "edge": (300_000, run_by(EDGE, numbers="float")),
    "logs": (100_000, run_by(LOGS, numbers="float")),
    "session": (300_000, run_session),
    "greta": (300_000, run_by(EDGE, numbers="float", system="greta")),
    "mcep": (25, run_by("RETURN COUNT(*) PATTERN B+ WITHIN 1000 s", system="mcep")),
    "sharon": (300, run_by("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 9000 s", system="sharon")),
}


def interrupt_after(seconds: float, sent: list[float]) -> None:
    def send() -> None:
        time.sleep(seconds)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()


def main(seed: int, seconds: float) -> None:
    chance, found, worst = random.Random(seed), Counter[str](), 0.0
    few = {name: events(12) for name in KINDS}
    wanted = {name: run(few[name]) for name, (_, run) in KINDS.items()}  # compiles kernels, too
    tables = {name: events(count) for name, (count, _) in KINDS.items()}
    until = time.monotonic() + seconds
    names = list(KINDS)
    while time.monotonic() < until or len(found) < len(KINDS):
        name = names[sum(found.values()) % len(names)]
        run, sent = KINDS[name][1], list[float]()
        try:
            interrupt_after(chance.choice([0.02, 0.2, 1.0]) * chance.random(), sent)
            run(tables[name])
            while True:  # it was over before the signal came
                time.sleep(0.001)
        except KeyboardInterrupt:
            found[name] += 1
            worst = max(worst, time.monotonic() - sent[0])
        assert run(few[name]) == wanted[name], name
    print(json.dumps({"found": found, "worst": worst}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
