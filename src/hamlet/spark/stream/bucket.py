"""One bucket of a stream: its session, its state in pieces, and what a batch does to both.

Of its state a bucket has a small core, which is written with every batch, and pages. Only pages
that new rows are on, or that have a deadline which the watermark has passed, are read, and only
those that have changed are written: groups that are idle cost nothing. While there is little in
them, pages are written with the core (`stream_pages.py`). When the next deadline is,
a timer knows. Nothing here knows of Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from hamlet.engine.session import BEGINNING
from hamlet.errors import ReadError, RunError
from hamlet.events.columns import numpy_of
from hamlet.kernel.machine import FAR, NEVER
from hamlet.kernel.packing import pack, unpack
from hamlet.spark.stream.generations import EVER_US
from hamlet.spark.stream.job import TIME
from hamlet.spark.stream.pages import Pages, Places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.engine.session import Session
    from hamlet.spark.stream.job import Answered, StreamJob
    from hamlet.spark.stream.lanes import Lane

# What a bucket tells of its work, by the name that stands in the column `aggregate`.
LATE, WINDOWS, PAGES_READ, PAGES_WRITTEN, BYTES_WRITTEN = TOLD = (
    "late",
    "windows",
    "pages_read",
    "pages_written",
    "bytes_written",
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


def _session_of(job: StreamJob, lane: Lane) -> tuple[Session, bytes]:
    """A session, and the core that it begins with."""
    key = f"{job.settings} {lane.first}"
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

    Returns:
        Rows of results and parts of partial answers, as bytes.

    Raises:
        ReadError: The state is of another workload, or of one that was run in another way.
        RunError: There are rows after the end.
    """
    lane = job.lane_of(bucket)
    session, beginning = _session_of(job, lane)
    deadlines, timer, pages = _restore(job, session, stored, beginning)
    timer = None if is_fired else timer
    table, is_first = job.fed(lane, data)
    if session.released > FAR:
        _check_over(table, watermark_us)
    needed = _needed_pages(session, table, deadlines, watermark_us, is_end)
    there = np.flatnonzero(deadlines < NEVER).tolist()
    read = pages.read(np.flatnonzero(needed & (deadlines < NEVER)).tolist())
    session.load_pages(read)
    closed = [] if watermark_us is None else [session.close_until(watermark_us)]
    is_late = numpy_of(table.column(TIME).cast(pa.int64())) < session.released
    late = int(np.count_nonzero(is_late if is_first is None else is_late & is_first))
    if table.num_rows:
        session.feed(table)
    if is_end:
        closed.append(session.close_all())
    changed = session.take_pages()
    pages.write(changed, there)
    deadlines[needed] = NEVER
    for page, deadline in session.page_deadlines().items():
        deadlines[page] = deadline
    if job.span.is_over(watermark_us):
        stored.set_timer(timer, None)
        stored.clear()
    else:
        _store(job, session, stored, pages, deadlines, timer)
    session.forget_pages()
    windows = 0
    for some in closed:
        answered = job.span.of(some, lane.queries)
        windows += len(answered)
        yield from job.answered(lane, bucket, answered)
    told = {
        LATE: late if job.is_newest else 0,
        WINDOWS: windows,
        PAGES_READ: len(read),
        PAGES_WRITTEN: len(changed),
        BYTES_WRITTEN: sum(len(each) for each in changed.values() if each is not None),
    }
    yield job.told(bucket, told)


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
    deadlines: NDArray[np.int64],
    timer: int | None,
) -> None:
    """Put away what is kept of all pages together, and set the timer to the next deadline."""
    next_timer = _timer(deadlines, job.span.last_us)
    if next_timer != timer:
        stored.set_timer(timer, next_timer)
    together = pages.together or {}
    header = {
        "settings": job.settings,
        "timer": next_timer,
        "together": None if pages.together is None else list(together),
    }
    stored.put_core(pack(_BUCKET, header, [session.core(), deadlines, *together.values()]))


def _check_over(table: pa.Table, watermark_us: int | None) -> None:
    """Refuse rows that come in time, but after the batch that was to be the last."""
    times = numpy_of(table.column(TIME).cast(pa.int64()))
    if np.any(times >= (BEGINNING if watermark_us is None else watermark_us)):
        raise RunError(
            "the stream",
            "it was ended by flush, and more rows came after that; read all there is without"
            " flush, from an empty checkpoint, and flush then",
        )


def _restore(
    job: StreamJob, session: Session, stored: Stored, beginning: bytes
) -> tuple[NDArray[np.int64], int | None, Pages]:
    """Take up a bucket: when pages have something to do, when the timer ends, and its pages."""
    data = stored.core()
    if data is None:
        session.restore_core(beginning)
        return np.full(job.pages, NEVER, np.int64), None, Pages(stored, {})
    header, (core, deadlines, *together) = unpack(_BUCKET, data)
    if header["settings"] != job.settings:
        raise ReadError(_BUCKET, "its state was made by another workload, or with other options")
    session.restore_core(bytes(core))
    numbers = header["together"]
    known = None if numbers is None else dict(zip(numbers, map(bytes, together), strict=True))
    return deadlines, header["timer"], Pages(stored, known)


def _timer(deadlines: NDArray[np.int64], last_us: int) -> int | None:
    """When something is to be done, in milliseconds; None where nothing is.

    Args:
        deadlines: When there is something to do on each page.
        last_us: When all is over, which is far away where no other workload follows.
    """
    earliest = int(deadlines.min())
    if last_us < EVER_US:
        earliest = min(earliest, last_us)
    # No watermark is before 1970.
    return None if earliest == NEVER else max(-(-earliest // 1000), 1)
