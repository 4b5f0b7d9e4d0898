"""A workload over a stream of tables: feed, close_until, snapshot, restore.

Fed rows wait until `close_until` promises that nothing earlier will come. Then those before that
time are run in order, and the windows that end by it give their results, each once. So neither the
order of rows nor the cut of the stream into tables changes anything, and neither does writing the
state to bytes and reading it again at any moment, in this process or another.

State is kept by *page*. A partition is on the page that the hash of its key says; sets of queries
that partition the stream in different ways have different keys, so one row may be on a page for
each way, and a page holds what all sets keep of the partitions that are on it. A host that has many
more partitions than it wants in memory puts pages away and loads those that it needs: the pages of
new rows (`pages_of`), and those with a deadline that has come (`page_deadlines`). Without that a
session has one page.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.engine.pipeline import shared_plan
from hamlet.engine.state.closed import Closed
from hamlet.engine.state.ingest import Intake, Keying
from hamlet.engine.state.meaning import digest, plain, query_digest, workload_digest
from hamlet.engine.state.pages import Part, add_parts, parts_by_page
from hamlet.engine.state.rows import RawRows
from hamlet.engine.state.set_state import SetState
from hamlet.engine.state.window_replay import with_single_windows
from hamlet.engine.statistics import RunStatistics
from hamlet.errors import (
    HamletError,
    InternalError,
    PlanError,
    ReadError,
    RunError,
    UnknownName,
)
from hamlet.events.required_columns import types_by_key
from hamlet.events.times import times_of
from hamlet.kernel.encode.partitions import rows_without
from hamlet.kernel.finish.partial import partial_schema
from hamlet.kernel.machine import FAR, NEVER
from hamlet.kernel.packing import pack, unpack
from hamlet.kernel.run import Counters
from hamlet.share.policy import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.engine.closed import ClosedSet
    from hamlet.engine.state.long_runs import Shelf
    from hamlet.events.times import Times
    from hamlet.plan.workload import WorkloadPlan

    Longs = NDArray[np.int64]

__all__ = ["BEGINNING", "Session", "query_digest", "workload_digest"]

BEGINNING = -FAR
_SNAPSHOT, _CORE, _PAGE = "the snapshot", "the core of a session", "the page"
_OTHER = "it was made by another workload, other options or another schema"
# The name and the first nine options: what static has decided comes after them, and no byte of a
# state depends on it.
_OPTIONS_IN_STATE = 10


class Session:
    """The answers of a workload over a stream, window by window.

    >>> from hamlet import Workload
    >>> from hamlet.engine import Options
    >>> import pyarrow as pa
    >>> plan = Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s").plan
    >>> schema = pa.schema({"type": pa.string(), "time": pa.int64()})
    >>> session = Session(plan, Options(), schema)
    >>> session.feed(pa.table({"type": ["B", "A", "B"], "time": [2, 1, 12]}, schema=schema))
    >>> session.feed(pa.table({"type": ["B"], "time": [3]}, schema=schema))
    >>> closed = session.close_until(10_000_000)
    >>> [answer.rows["exact.0"].to_pylist() for answer in closed.answers()]
    [['3']]

    Attributes:
        released: The time before which all events have come.
        lent_us: So long after a row a host that keeps rows has to have it; 0 where none is asked
            for again.
        lend: Gives the rows that a host keeps: all that it had fed as lent and that had been
            released when it last took up the session.
        statistics: What was done. `events_used` are the rows that were taken in: of a type that
            some query asks for, in time, with a value for each partition attribute.
    """

    def __init__(
        self, plan: WorkloadPlan, options: Options, schema: pa.Schema, pages: int = 1
    ) -> None:
        """Begin with nothing.

        Args:
            plan: The workload.
            options: How it is run.
            schema: The columns of the events, whose types hold for the life of the stream.
            pages: How many pages partitions are spread over.

        Raises:
            SchemaError: A column is missing, or is not what the workload uses it for.
        """
        options.check()
        if pages < 1:
            reason = f"the number of pages is {pages}"
            raise PlanError(reason, "There is at least one.")
        self.plan = shared_plan(plan, options)
        self.options = options
        self.pages = pages
        self._intake = Intake(self.plan, options, schema)
        types, known = self._intake.types, self._intake.schema
        apart = with_single_windows(self.plan)
        self._sets = [
            SetState(self.plan, sharable, options, types, known, apart)
            for sharable in self.plan.sets
        ]
        by_keys: dict[tuple[str, ...], list[SetState]] = {}
        for state in self._sets:
            by_keys.setdefault(tuple(sorted(state.sharable.partition)), []).append(state)
        self._keyings = [Keying(sets, types, known) for sets in by_keys.values()]
        self.lent_us = max((state.lent_us for state in self._sets), default=0)
        self._partial = partial_schema(self.plan, known, options.numbers)
        self._code, self._means = self._fingerprint(options), self._meaning()
        self._begin()

    def _begin(self) -> None:
        self.released = BEGINNING
        self.statistics = RunStatistics()
        self._is_changed = np.zeros(self.pages, np.bool_)
        self._closed = np.full(self.pages, BEGINNING, np.int64)
        self.lend: Callable[[], pa.Table] | None = None
        self._failure: BaseException | None = None
        for state in self._sets:
            state.begin()
        for keying in self._keyings:
            keying.waiting.forget()

    @property
    def times(self) -> Times:
        """What the times of events are given in, and windows are."""
        return times_of(self._intake.schema.field(self.options.time).type)

    @property
    def code(self) -> str:
        """What a session is, in a digest: queries, options, columns, and how state is laid out.

        States of another are refused, unless it differs in names and in how queries share alone.
        """
        return self._code

    @property
    def late(self) -> int:
        """How many rows came after their time had been released."""
        return self.statistics.late

    # Events

    def feed(self, table: pa.Table, is_lent: bool = False) -> None:
        """Take in rows, in any order; those before what was released are late, and left out.

        Args:
            table: The rows.
            is_lent: Whether the host keeps them too: what is asked for again is not kept here.

        Raises:
            SchemaError: A column is missing, or is of another type than at the beginning.
        """
        self._check()
        events = self._intake.events(table)
        codes = self._intake.codes(events)
        is_late = events.ts < self.released
        is_used = np.zeros(len(events), np.bool_)
        added: list[tuple[Keying, RawRows]] = []
        for keying in self._keyings:
            wanted = keying.wanted(events, codes) & ~is_late
            is_used |= wanted
            if wanted.any():
                added.append((keying, keying.rows(events, codes, wanted, self.pages, is_lent)))
        lacking = rows_without(events, types_by_key(self.plan), ~is_late)
        with self._changing():
            for keying, rows in added:
                self._is_changed[rows.page] = True
                keying.waiting.add(rows)
            done = self.statistics
            done.events_in += events.statistics.rows
            done.events_used += int(np.count_nonzero(is_used))
            done.late += int(np.count_nonzero(is_late & (codes >= 0)))
            for reason, count in events.statistics.malformed.items():
                done.malformed[reason] = done.malformed.get(reason, 0) + count
            for attribute, count in lacking.items():
                done.without_key[attribute] = done.without_key.get(attribute, 0) + count

    def pages_of(self, table: pa.Table) -> NDArray[np.int32]:
        """The pages that the rows of a table belong to.

        Returns:
            A line for each way in which sets partition the stream, with a page for each row; -1
            where it takes no part.
        """
        lines = self._intake.pages_of(table, self._keyings, self.pages)
        return np.array([np.where(wanted, page, -1) for wanted, page in lines], np.int32)

    # Windows

    def close_until(self, ts: int) -> Closed:
        """Promise that no event before a time comes any more; close the windows that end by it.

        Returns:
            What those windows hold: answers, or a partial answer of the workload.

        Raises:
            SchemaError: Values do not fit the queries. The session has then stopped half-way, as
                it has when Ctrl-C ends this: it says so whatever it is asked, until something is
                restored.
        """
        self._check()
        until = min(ts, FAR)
        sets: list[ClosedSet] = []
        if ts > self.released:
            with self._changing():
                sets = self._advance(until)
                self.released = until if until < FAR else FAR + 1
                self._closed[:] = until
        return Closed(self.plan, tuple(sets), self._partial)

    def _advance(self, until: int) -> list[ClosedSet]:
        counters = Counters()
        results: list[ClosedSet] = []
        for keying in self._keyings:
            rows = keying.waiting.release(until if until < FAR else FAR + 1)
            self._is_changed[rows.page] = True
            lend = self._lend_for(keying)
            for state in keying.sets:
                closed = state.advance(rows, until, self._closed, self._is_changed, counters, lend)
                results += [] if closed is None else [closed]
        self.statistics.count(counters)
        return results

    def _lend_for(self, keying: Keying) -> Callable[[set[int]], RawRows] | None:
        """What gives the rows of some pages that the host keeps."""
        return None if self.lend is None else partial(self._lent, self.lend, keying)

    def _lent(self, lend: Callable[[], pa.Table], keying: Keying, pages: set[int]) -> RawRows:
        events = self._intake.events(lend())
        codes = self._intake.codes(events)
        wanted = keying.wanted(events, codes)
        rows = keying.rows(events, codes, wanted, self.pages, is_lent=True)
        return rows.taken(np.isin(rows.page, sorted(pages)))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """What changes the session: where it is left half-way, nothing can go on from there."""
        try:
            yield
        except BaseException as failure:
            self._failure = failure
            raise

    def _check(self) -> None:
        """Fail again where the session has stopped half-way."""
        if isinstance(self._failure, HamletError):
            raise self._failure
        if self._failure is not None:
            reason = f"it was stopped half-way, by {type(self._failure).__name__}"
            remedy = "restore a snapshot, or begin another"
            raise RunError("the session", f"{reason}; {remedy}") from self._failure

    def close_all(self) -> Closed:
        """The end of the stream: close everything."""
        return self.close_until(FAR)

    def next_deadline(self) -> int | None:
        """The earliest time for which `close_until` would do anything; None where there is none.

        That is the end of a window with an event in it, or the moment after an event that waits.
        """
        earliest = int(self._deadlines().min())
        return None if earliest == NEVER else earliest

    def page_deadlines(self) -> dict[int, int]:
        """The same for each page that has one."""
        deadlines = self._deadlines()
        return {int(page): int(deadlines[page]) for page in np.flatnonzero(deadlines < NEVER)}

    def _deadlines(self) -> Longs:
        deadlines = np.full(self.pages, NEVER - 1, np.int64)
        for keying in self._keyings:
            keying.waiting.first_by_page(deadlines)
        deadlines += 1
        for keying in self._keyings:
            lend = self._lend_for(keying)
            for state in keying.sets:
                state.lower_deadlines(deadlines, self._closed, lend)
        return deadlines

    # Bytes

    def snapshot(self) -> bytes:
        """The whole state as bytes."""
        pages = self._packed(np.ones(self.pages, np.bool_))
        header = {"code": self._means, "pages": sorted(pages)}
        return pack(_SNAPSHOT, header, [self.core(), *(pages[page] for page in sorted(pages))])

    def restore(self, data: bytes) -> None:
        """Take up the state of a snapshot; what the session had is gone.

        Raises:
            ReadError: It is no snapshot, or one of another workload, other options or schema.
        """
        header, (core, *pages) = self._unpacked(_SNAPSHOT, data)
        self._begin()
        with self._changing():
            self.restore_core(core)
            self.load_pages(dict(zip(header["pages"], pages, strict=True)))
            self._is_changed[header["pages"]] = True

    def core(self) -> bytes:
        """What all pages have in common: how far time has come, counts, and grids of digits."""
        self._check()
        header = {
            "code": self._means,
            "released": self.released,
            "statistics": asdict(self.statistics),
            "grids": [state.grids for state in self._sets],
            "sharing": [state.store.sharing for state in self._sets],
        }
        return pack(_CORE, header, [])

    def restore_core(self, data: bytes) -> None:
        """Take up what all pages have in common; what the session had is gone.

        Raises:
            ReadError: It is something else, or of another workload, other options or schema.
        """
        header, _ = self._unpacked(_CORE, data)
        self._begin()
        with self._changing():
            self.released = header["released"]
            self._closed[:] = min(self.released, FAR)
            self.statistics = RunStatistics(**header["statistics"])
            for state, grids in zip(self._sets, header["grids"], strict=True):
                state.extend({name: grid and tuple(grid) for name, grid in grids.items()})
            # States of earlier versions know nothing of it.
            for state, (bundles, learnt) in zip(
                self._sets, header.get("sharing", ()), strict=False
            ):
                state.store.go_on_sharing(bundles, learnt)

    def take_pages(
        self, only_changed: bool = True, shelf: Shelf | None = None
    ) -> dict[int, bytes | None]:
        """The state of each page, or of each that has changed since they were taken or loaded.

        None stands for a page that has nothing on it any more. The session still has what it had:
        see `forget_pages`. With a shelf, long runs are there and not on pages; each is put there
        once, and whoever loads the pages has the same shelf.
        """
        is_wanted = self._is_changed if only_changed else np.ones(self.pages, np.bool_)
        packed = self._packed(is_wanted, shelf)
        wanted = np.flatnonzero(is_wanted).tolist() if only_changed else sorted(packed)
        self._is_changed = np.zeros(self.pages, np.bool_)
        return {page: packed.get(page) for page in wanted}

    def load_pages(self, pages: Mapping[int, bytes], shelf: Shelf | None = None) -> None:
        """Add the state of pages of which the session has nothing; all of them or none.

        Raises:
            ReadError: One is something else, or of another workload, other options or schema.
        """
        self._check()
        taken = self._occupied()
        read = {page: self._read_page(page, data, taken) for page, data in pages.items()}
        parts: list[list[tuple[int, Part]]] = [[] for _ in self._sets]
        waiting: list[list[RawRows]] = [[] for _ in self._keyings]
        for page, (header, pieces) in read.items():
            at = 0
            for number, described, count in header["sets"]:
                parts[number].append((page, Part(described, pieces[at : at + count])))
                at += count
            for number in header["waiting"]:
                schema = self._keyings[number].schema
                waiting[number].append(RawRows.of_pieces(pieces[at : at + 3], page, schema))
                at += 3
        with self._changing():
            for page, (header, _) in read.items():
                self._closed[page] = header["closed"]
            for state, some in zip(self._sets, parts, strict=True):
                add_parts(state, some, shelf)
            for keying, rows in zip(self._keyings, waiting, strict=True):
                keying.waiting.add(RawRows.joined(rows, keying.schema))

    def _read_page(
        self, page: int, data: bytes, taken: NDArray[np.bool_]
    ) -> tuple[dict[str, Any], list[Any]]:
        """What was written of a page, after a look at whether it is that page."""
        if not 0 <= page < self.pages:
            raise UnknownName("page", str(page), f"There are {self.pages}, from 0 on.")
        if taken[page]:
            reason = f"page {page} was loaded, but there is something on it"
            raise InternalError(reason)
        header, pieces = self._unpacked(_PAGE, data)
        if header["page"] != page:
            raise ReadError(_PAGE, f"it is page {header['page']}, not {page}")
        return header, pieces

    def forget_pages(self) -> None:
        """Have nothing on any page any more, but still know what they have in common."""
        with self._changing():
            for state in self._sets:
                state.forget()
            for keying in self._keyings:
                keying.waiting.forget()
            self._is_changed[:] = False
            self._closed[:] = min(self.released, FAR)

    def _packed(self, is_wanted: NDArray[np.bool_], shelf: Shelf | None = None) -> dict[int, bytes]:
        """The bytes of each page that has something."""
        self._check()
        sets = [parts_by_page(state, is_wanted, shelf) for state in self._sets]
        waiting: list[dict[int, RawRows]] = []
        for keying in self._keyings:
            rows = keying.waiting.all()
            waiting.append(dict(rows.taken(is_wanted[rows.page]).by_page()))
        packed = {}
        known = {page for each in sets for page in each} | {p for each in waiting for p in each}
        for page in sorted(known):
            pieces: list[Any] = []
            header: dict[str, Any] = {"code": self._means, "page": page}
            header |= {"closed": int(self._closed[page]), "sets": [], "waiting": []}
            for number, parts in enumerate(sets):
                if page in parts:
                    part = parts[page]
                    header["sets"].append([number, part.header, len(part.pieces)])
                    pieces += part.pieces
            for number, by_page in enumerate(waiting):
                if page in by_page:
                    header["waiting"].append(number)
                    pieces += by_page[page].pieces()
            packed[page] = pack(_PAGE, header, pieces)
        return packed

    def _occupied(self) -> NDArray[np.bool_]:
        """Which pages have something on them."""
        is_occupied = np.zeros(self.pages, np.bool_)
        for state in self._sets:
            is_occupied[state.pages_of(np.flatnonzero(state.store.words > 0), self.pages)] = True
            for rows in state.stored.parts:
                is_occupied[rows.page] = True
        for keying in self._keyings:
            is_occupied[keying.waiting.all().page] = True
        return is_occupied

    def _unpacked(self, what: str, data: bytes) -> tuple[dict[str, Any], list[Any]]:
        header, pieces = unpack(what, data)
        # Earlier versions wrote another, which depends on names and on how queries shared.
        if header["code"] != self._means and header["code"] not in self._fingerprints():
            raise ReadError(what, _OTHER)
        return header, pieces

    def _fingerprint(self, options: Options) -> str:
        """What bytes depend on: queries, options, columns, pages, and how state is laid out."""
        known = plain(options)[:_OPTIONS_IN_STATE]
        return digest([[plain(each.query) for each in self.plan.queries], known, *self._laid_out()])

    def _fingerprints(self) -> set[str]:
        """That of each policy: no byte depends on how queries shared."""
        return {self._fingerprint(replace(self.options, sharing=each)) for each in POLICIES}

    def _meaning(self) -> str:
        """The same but for what no byte depends on: names, and how queries share."""
        options = self.options
        known = [options.type, options.time, options.order, options.numbers, options.separator]
        queries = [plain(replace(each.query, name="")) for each in self.plan.queries]
        return digest([queries, known, *self._laid_out()])

    def _laid_out(self) -> list[Any]:
        columns = [[field.name, str(field.type)] for field in self._intake.schema]
        return [columns, self.pages, [state.fingerprint() for state in self._sets]]
