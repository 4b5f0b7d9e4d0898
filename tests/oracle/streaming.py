"""A stream fed to sessions in every way that the protocol allows, at random.

Rows arrive out of order and in tables of any size, time is released in steps of any size within the
promise, and between any two of these the state may be written to bytes and taken up by another
session. Pages may be kept apart by a host that only ever loads what it has to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.engine import Options
from hamlet.events import EventTable
from hamlet.results import Results
from hamlet.session import Session
from hamlet.workload import Workload

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from hamlet.kernel.finish import Answer

END_OF_TIME = 2**62


class Stream:
    """A workload and all rows of a stream, as one table, with their times in microseconds."""

    def __init__(
        self, text: str, events: Sequence[Mapping[str, Any]] | pa.Table, **options: Any
    ) -> None:
        self.workload = Workload.parse(text)
        self.options = Options(**options)
        found = EventTable.of(events, self.workload.plan, order=self.options.order)
        self.table = found.table
        self.ts = found.ts

    def session(self, pages: int = 1) -> Session:
        return Session(self.workload.plan, self.options, self.table.schema, pages)

    def rows(self, which: Any) -> pa.Table:
        return self.table.take(pa.array(np.asarray(which, np.int64)))

    def results(self, answers: Sequence[Answer]) -> Results:
        times = self.session().times
        return Results(self.workload.queries, answers, times=times)

    def at_once(self) -> Results:
        options = self.options
        return self.workload.run(
            self.table, order=options.order, numbers=options.numbers, sharing=options.sharing
        )


def steps(stream: Stream, chance: random.Random) -> list[tuple[list[int], int]]:
    """Rows to feed, and what to release after them, within the promise."""
    ts = stream.ts
    span = int(ts.max() - ts.min()) if len(ts) else 0
    delay = chance.choice([0, span // 8, span])
    arrival = sorted(range(len(ts)), key=lambda row: int(ts[row]) + chance.randint(0, delay))
    found = []
    while arrival:
        size = chance.choice([1, 1, 2, 3, 5, len(arrival)])
        table, arrival = arrival[:size], arrival[size:]
        chance.shuffle(table)
        most = min((int(ts[row]) for row in arrival), default=int(ts.max()) + 10**6)
        release = most - chance.choice([0, 0, 0, 1, 500_000, 3_000_000])
        found.append((table, release if chance.random() < 0.7 else -END_OF_TIME))
    return found


def in_pieces(stream: Stream, chance: random.Random, pages: int = 1) -> Results:
    """The results of sessions, one after another, each of which takes up where the last was."""
    session, answers = stream.session(pages), list[Any]()
    for rows, release in steps(stream, chance):
        session.feed(stream.rows(rows))
        session = _maybe_restored(stream, session, chance)
        answers += session.close_until(release)
        session = _maybe_restored(stream, session, chance)
    assert session.late == 0
    answers += session.close_all()
    assert session.next_deadline() is None
    return stream.results(answers)


def _maybe_restored(stream: Stream, session: Session, chance: random.Random) -> Session:
    if chance.random() < 0.6:
        return session
    after = stream.session(session.pages)
    after.restore(session.snapshot())
    return after


class Host:
    """One who keeps pages apart, and gives a session only those that it has to."""

    def __init__(self, stream: Stream, pages: int) -> None:
        self.stream = stream
        self.core = stream.session(pages).core()
        self.pages: dict[int, bytes] = {}
        self.deadlines: dict[int, int] = {}
        self.count = pages
        self.answers: list[Answer] = []

    def step(self, table: pa.Table, release: int) -> None:
        session = self.stream.session(self.count)
        session.restore_core(self.core)
        belongs = session.pages_of(table)
        touched = set(belongs[belongs >= 0].tolist())
        touched |= {page for page, deadline in self.deadlines.items() if deadline <= release}
        session.load_pages({page: self.pages[page] for page in touched if page in self.pages})
        session.feed(table)
        self.answers += session.close_until(release)
        changed = session.take_pages()
        assert set(changed) <= touched
        for page, data in changed.items():
            self.pages.pop(page, None)
            if data is not None:
                self.pages[page] = data
        for page in touched:
            self.deadlines.pop(page, None)
        self.deadlines.update(session.page_deadlines())
        self.core = session.core()


def by_a_host(stream: Stream, chance: random.Random, pages: int) -> Results:
    """The results where pages are kept apart, and nothing is left in the end."""
    host = Host(stream, pages)
    for rows, release in steps(stream, chance):
        host.step(stream.rows(rows), release)
    host.step(stream.rows([]), END_OF_TIME)
    assert not host.pages
    assert not host.deadlines
    return stream.results(host.answers)
