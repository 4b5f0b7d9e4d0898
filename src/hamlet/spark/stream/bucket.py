"""One bucket of a stream: its session, its state in pieces, and what a batch does to both.

Of its state a bucket has a small core, which is written with every batch, and pages. Only pages
that new rows are on, or that have a deadline which the watermark has passed, are read, and only
those that have changed are written: groups that are idle cost nothing. While there is little in
them, pages are written with the core (`stream_pages.py`). When the next deadline is,
a timer knows. Nothing here knows of Spark.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from hamlet.engine.session import BEGINNING
from hamlet.errors import ReadError, RunError
from hamlet.events.columns import numpy_of
from hamlet.kernel.machine import FAR, NEVER
from hamlet.kernel.packing import pack, unpack
from hamlet.spark.stream.generations import EVER_US
from hamlet.spark.stream.job import TIME
from hamlet.spark.stream.late import keep_late
from hamlet.spark.stream.pages import Pages, Places
from hamlet.spark.stream.shelf import RunShelf
from hamlet.spark.stream.waiting import WaitingLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.engine.session import Session
    from hamlet.engine.state.closed import Closed
    from hamlet.spark.stream.job import Answered, StreamJob
    from hamlet.spark.stream.lanes import Lane

# What a bucket tells of its work, by the name that stands in the column `aggregate`.
LATE, WINDOWS, PAGES_READ, PAGES_WRITTEN, BYTES_WRITTEN, *DECIDED = TOLD = (
    "late",
    "windows",
    "pages_read",
    "pages_written",
    "bytes_written",
    "bursts",
    "shared_bursts",
    "shared_events",
    "snapshots",
    "merges",
    "splits",
)
_BUCKET = "the state of a stream"


class Stored(Places, Protocol):
    """Where a bucket keeps its state."""

    def core(self) -> bytes | None:
        """What was put there last."""

    def put_core(self, data: bytes) -> None:
        """Keep it."""

    def clear(self) -> None:
        """Keep nothing."""

    def set_timer(self, old_ms: int | None, new_ms: int | None) -> None:
        """Be called again when the watermark has come to a time, and no longer at another."""


# A worker runs many batches, and a session takes its time to be made. What it has of pages and
# core is forgotten after each.
_sessions: dict[str, tuple[Session, bytes]] = {}
_MOST_SESSIONS = 16


def _session_of(job: StreamJob, lane: Lane, use: str = "") -> tuple[Session, bytes]:
    """A session, one for each use, and the core that it begins with."""
    key = f"{job.settings} {lane.first} {use}"
    if key not in _sessions:
        if len(_sessions) >= _MOST_SESSIONS:
            _sessions.clear()
        session = job.session(lane)
        _sessions[key] = session, session.core()
    return _sessions[key]


def step(
    job: StreamJob,
    bucket: int,
    stored: Stored,
    data: Sequence[bytes],
    watermark_us: int | None,
    *,
    is_fired: bool = False,
    is_end: bool = False,
    batch: int = 0,
) -> Iterator[Answered]:
    """One batch of a bucket.

    Rows before the watermark are late: it depends neither on the bucket nor on its state which
    rows of a batch these are.

    Args:
        job: What is done.
        bucket: Which bucket it is.
        stored: Its state.
        data: Packed rows.
        watermark_us: Before this no more rows are waited for; None where nothing is known.
        is_fired: Whether the timer has come to an end.
        is_end: Whether all windows close, because no more rows come.
        batch: The number of the batch, which is the same if it is done again.

    Returns:
        Rows of results and parts of partial answers, as bytes.

    Raises:
        ReadError: The state is of another workload, or of one that was run in another way.
        RunError: There are rows after the end.
    """
    lane = job.lane_of(bucket)
    session, beginning = _session_of(job, lane)
    deadlines, timer, pages, log, shelf = _restore(job, session, stored, beginning)
    timer = None if is_fired else timer
    table, is_first, texts = job.fed(lane, data)
    if session.released > FAR:
        _check_over(table, watermark_us)
    # What early results are made of has to be on pages.
    has_room = job.is_early or pages.has_room(sum(map(len, data)))
    is_logged = not has_room and not is_end
    waited, lent = _waited(job, lane, session, log, watermark_us, is_end)
    fed, kept = _parted(table, watermark_us) if is_logged else (table, None)
    seen = pa.concat_tables([waited, lent, fed])
    needed = _needed_pages(session, seen, deadlines, watermark_us, is_end)
    if job.is_early and table.num_rows and not lane.groups_are_on_pages:
        # What a group comes to so far takes all that there is of it.
        needed |= deadlines < NEVER
    there = np.flatnonzero(deadlines < NEVER).tolist()
    read = pages.read(np.flatnonzero(needed & (deadlines < NEVER)).tolist())
    session.load_pages(read, shelf)
    session.lend = _lender(job, lane, log, session.released)
    decided = _decided(session)
    if waited.num_rows:
        session.feed(waited)
    if lent.num_rows:
        session.feed(lent, is_lent=True)
    closed = [] if watermark_us is None else [session.close_until(watermark_us)]
    times = numpy_of(table.column(TIME).cast(pa.int64()))
    is_late = (times < session.released) & job.span.counts(times)
    is_late &= True if is_first is None else is_first
    late = int(np.count_nonzero(is_late))
    if late and texts is not None and job.late_rows is not None:
        keep_late(job.late_rows, batch, bucket, texts.filter(pa.array(is_late)))
    is_early = job.is_early and bool(table.num_rows) and not is_end
    before = _as_if_over(job, lane, session) if is_early else None
    if fed.num_rows:
        session.feed(fed)
    if kept is not None and len(kept):
        log.add(data, job.extras, kept, _or_beginning(watermark_us), session.lent_us)
    after = _as_if_over(job, lane, session) if is_early else None
    if is_end:
        closed.append(session.close_all())
    changed = session.take_pages(shelf=None if pages.together is not None else shelf)
    pages.write(changed, there)
    log.drop(session.released)
    deadlines[needed] = NEVER
    for page, deadline in session.page_deadlines().items():
        deadlines[page] = deadline
    if job.span.is_over(watermark_us):
        stored.set_timer(timer, None)
        stored.clear()
    else:
        _store(job, session, stored, pages, log, shelf, deadlines, timer)
    session.forget_pages()
    windows = 0
    for some in closed:
        answered = job.span.of(some, lane.queries)
        windows += len(answered)
        yield from job.answered(lane, bucket, answered, batch)
    if before is not None and after is not None:
        yield from job.updated(lane, bucket, before, after, batch)
    told = {
        LATE: late,
        WINDOWS: windows,
        PAGES_READ: len(read),
        PAGES_WRITTEN: len(changed),
        BYTES_WRITTEN: log.written
        + shelf.written
        + sum(len(each) for each in changed.values() if each is not None),
        **{name: now - decided[name] for name, now in _decided(session).items()},
    }
    yield job.told(bucket, told)


def _decided(session: Session) -> dict[str, int]:
    """How often events were run together, and apart, since the beginning."""
    done = session.statistics
    counts = (done.bursts, done.shared_bursts, done.shared, done.snapshots)
    return dict(zip(DECIDED, (*counts, done.merges, done.splits), strict=True))


def _as_if_over(job: StreamJob, lane: Lane, session: Session) -> Closed:
    """What open windows would give if no more rows came; the session is as it was."""
    twin, _ = _session_of(job, lane, "early")
    twin.restore(session.snapshot())
    return job.span.of(twin.close_all(), lane.queries)


def _needed_pages(
    session: Session,
    table: pa.Table,
    deadlines: NDArray[np.int64],
    watermark_us: int | None,
    is_end: bool,
) -> NDArray[np.bool_]:
    """The pages that rows belong to, and those that have a window which closes now."""
    needed = np.zeros(len(deadlines), np.bool_)
    belongs = session.pages_of(table)
    needed[belongs[belongs >= 0]] = True
    if is_end:
        needed |= deadlines < NEVER
    elif watermark_us is not None and watermark_us > session.released:
        needed |= deadlines <= watermark_us
    return needed


def _store(
    job: StreamJob,
    session: Session,
    stored: Stored,
    pages: Pages,
    log: WaitingLog,
    shelf: RunShelf,
    deadlines: NDArray[np.int64],
    timer: int | None,
) -> None:
    """Put away what is kept of all pages together, and set the timer to the next deadline."""
    next_timer = _timer(deadlines, log.deadline, job.span.last_us)
    if next_timer != timer:
        stored.set_timer(timer, next_timer)
    together = pages.together or {}
    header = {
        "settings": job.settings,
        "timer": next_timer,
        "together": None if pages.together is None else list(together),
        "waiting": len(log.entries) > 0,
        "shelf": True,
    }
    waiting = [log.entries] if len(log.entries) else []
    pieces: list[Any] = [session.core(), deadlines, *together.values(), shelf.free, *waiting]
    stored.put_core(pack(_BUCKET, header, pieces))


def _parted(table: pa.Table, watermark_us: int | None) -> tuple[pa.Table, NDArray[np.int64] | None]:
    """The late rows of a batch, which a session counts, and the times of those that wait."""
    times = numpy_of(table.column(TIME).cast(pa.int64()))
    if watermark_us is None:
        return table.slice(0, 0), times
    is_late = times < watermark_us
    return table.filter(pa.array(is_late)), times[~is_late]


def _waited(
    job: StreamJob,
    lane: Lane,
    session: Session,
    log: WaitingLog,
    watermark_us: int | None,
    is_end: bool,
) -> tuple[pa.Table, pa.Table]:
    """The rows that have waited for what the watermark has passed now, and those that are lent."""
    before = FAR if is_end else _or_beginning(watermark_us)
    nothing = job.fed(lane, ()).table
    own, lent = [nothing], [nothing]
    firsts: dict[int, int] = {}
    for came in log.due(before):
        table = job.fed_later(lane, came.data, came.extras)
        times = numpy_of(table.column(TIME).cast(pa.int64()))
        is_new = (times >= session.released) & (times < before)
        (lent if came.is_lent else own).append(table.filter(pa.array(is_new)))
        firsts[came.at] = int(times[times >= before].min(initial=NEVER))
    log.begin_from(firsts)
    return _all_rows(own), _all_rows(lent)


def _lender(
    job: StreamJob, lane: Lane, log: WaitingLog, released_us: int
) -> Callable[[], pa.Table] | None:
    """What gives the rows of the log that had been taken in before this batch."""
    if not len(log.entries):
        return None

    @cache
    def lend() -> pa.Table:
        tables = [job.fed(lane, ()).table]
        for came in log.lent():
            table = job.fed_later(lane, came.data, came.extras)
            times = numpy_of(table.column(TIME).cast(pa.int64()))
            tables.append(table.filter(pa.array((times >= came.after_us) & (times < released_us))))
        return _all_rows(tables)

    return lend


def _all_rows(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).unify_dictionaries()


def _or_beginning(watermark_us: int | None) -> int:
    """The watermark; before all times where nothing is known."""
    return BEGINNING if watermark_us is None else watermark_us


def _check_over(table: pa.Table, watermark_us: int | None) -> None:
    """Refuse rows that come in time, but after the batch that was to be the last."""
    times = numpy_of(table.column(TIME).cast(pa.int64()))
    if np.any(times >= _or_beginning(watermark_us)):
        raise RunError(
            "the stream",
            "it was ended by flush, and more rows came after that; read all there is without"
            " flush, from an empty checkpoint, and flush then",
        )


def _restore(
    job: StreamJob, session: Session, stored: Stored, beginning: bytes
) -> tuple[NDArray[np.int64], int | None, Pages, WaitingLog, RunShelf]:
    """Take up a bucket: when pages have something to do, when the timer ends, and what it keeps."""
    data = stored.core()
    if data is None:
        session.restore_core(beginning)
        deadlines = np.full(job.pages, NEVER, np.int64)
        log, shelf = WaitingLog.nothing(stored), RunShelf(stored)
        return deadlines, None, Pages(stored, {}), log, shelf
    header, (core, deadlines, *together) = unpack(_BUCKET, data)
    if header["settings"] != job.settings:
        raise ReadError(_BUCKET, "its state was made by another workload, or with other options")
    session.restore_core(bytes(core))
    log = WaitingLog.nothing(stored)
    if header.get("waiting"):
        log = WaitingLog(stored, together.pop())
    # Earlier versions have none.
    shelf = RunShelf(stored, together.pop() if header.get("shelf") else None)
    numbers = header["together"]
    known = None if numbers is None else dict(zip(numbers, map(bytes, together), strict=True))
    return deadlines, header["timer"], Pages(stored, known), log, shelf


def _timer(deadlines: NDArray[np.int64], log_us: int, last_us: int) -> int | None:
    """When something is to be done, in milliseconds; None where nothing is.

    Args:
        deadlines: When there is something to do on each page.
        log_us: When there is something to do with rows that are apart from pages.
        last_us: When all is over, which is far away where no other workload follows.
    """
    earliest = min(int(deadlines.min()), log_us)
    if last_us < EVER_US:
        earliest = min(earliest, last_us)
    # No watermark is before 1970.
    return None if earliest == NEVER else max(-(-earliest // 1000), 1)
