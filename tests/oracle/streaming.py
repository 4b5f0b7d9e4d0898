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
from hamlet.engine.session import Session
from hamlet.events.table import EventTable
from hamlet.kernel.finish.partial import answers_of, merged
from hamlet.results import Results
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
        self.ts, self.times = found.ts, found.times

    def session(self, pages: int = 1) -> Session:
        return Session(self.workload.plan, self.options, self.table.schema, pages)

    def rows(self, which: Any) -> pa.Table:
        return self.table.take(pa.array(np.asarray(which, np.int64)))

    def results(self, answers: Sequence[Answer]) -> Results:
        return Results(self.workload.queries, answers, times=self.times)

    def at_once(self) -> Results:
        options = self.options
        return self.workload.run(
            self.table, order=options.order, numbers=options.numbers, sharing=options.sharing
        )


def check_equal(found: Results, wanted: Results) -> None:
    """Fail unless two exact results are equal; of a logarithm the last bit may differ."""
    one, other = found.table, wanted.table
    logarithms = [table["log10"].to_numpy() for table in (one, other)]
    assert one.drop_columns(["log10"]).equals(other.drop_columns(["log10"]))
    np.testing.assert_allclose(*logarithms, rtol=1e-14)


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
    session, other = stream.session(pages), stream.session(pages)
    answers: list[Answer] = []
    for rows, release in steps(stream, chance):
        session.feed(stream.rows(rows))
        session, other = _maybe_restored(session, other, chance)
        deadline = session.next_deadline()
        closed = session.close_until(release)
        assert not len(closed) or (deadline is not None and deadline <= release)
        answers += closed.answers()
        session, other = _maybe_restored(session, other, chance)
    assert session.late == 0
    answers += session.close_all().answers()
    assert session.next_deadline() is None
    return stream.results(answers)


def _maybe_restored(
    session: Session, other: Session, chance: random.Random
) -> tuple[Session, Session]:
    """The two sessions, the first of which goes on; what the other had is gone."""
    if chance.random() < 0.6:
        return session, other
    other.restore(session.snapshot())
    return other, session


class Host:
    """One who keeps pages apart, and gives a session only those that it has to."""

    def __init__(self, stream: Stream, pages: int) -> None:
        self.stream = stream
        self.session = stream.session(pages)
        self.core = self.session.core()
        self.pages: dict[int, bytes] = {}
        self.deadlines: dict[int, int] = {}
        self.partial = self.session.close_until(-END_OF_TIME).partial()

    def step(self, table: pa.Table, release: int) -> None:
        session = self.session
        session.restore_core(self.core)
        belongs = session.pages_of(table)
        touched = set(belongs[belongs >= 0].tolist())
        touched |= {page for page, deadline in self.deadlines.items() if deadline <= release}
        session.load_pages({page: self.pages[page] for page in touched if page in self.pages})
        session.feed(table)
        self.partial = merged([self.partial, session.close_until(release).partial()])
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

    def results(self) -> Results:
        return self.stream.results(answers_of(self.stream.workload.plan, self.partial))


def by_a_host(stream: Stream, chance: random.Random, pages: int) -> Results:
    """The results where pages are kept apart, and nothing is left in the end."""
    host = Host(stream, pages)
    for rows, release in steps(stream, chance):
        host.step(stream.rows(rows), release)
    host.step(stream.rows([]), END_OF_TIME)
    assert not host.pages
    assert not host.deadlines
    return host.results()
