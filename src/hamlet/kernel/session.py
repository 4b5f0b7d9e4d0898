"""A kernel over a stream of batches: feed, close_until, snapshot, restore.

Units without stored events keep their rows, which do not grow with the number of events. Units
that keep events one by one (edge predicates) are given the events of their open windows again with
every batch. Either way a window's result comes out once, when it is closed, and any cut of the
stream into batches gives the same results.

Promises asked of the caller: partitions keep their numbers, events come in time order, all events
of one time and partition in one batch, and the sides of edge predicates are comparable from batch
to batch.

A snapshot is plain bytes: a header with a version and the shapes, then the arrays. It can be
restored in another process by a kernel of the same code.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import InternalError, ReadError
from hamlet.kernel.base import Emission, EventBatch
from hamlet.kernel.code import all_units
from hamlet.kernel.machine import FAR
from hamlet.kernel.shared import (
    Counters,
    Kept,
    joined,
    next_words,
    partition_ranges,
    room,
    run_batch,
    run_once,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled

_MAGIC = b"HAMLETKS"
_VERSION = 1
BEGINNING = -FAR


class KernelSession:
    """The state of one sharable set between batches.

    Args:
        rows: The units that keep no events, compiled alone; None where there are none.
        stored: The units that do, compiled alone; None where there are none.
        is_float: Whether numbers are floating-point.
    """

    def __init__(self, rows: Compiled | None, stored: Compiled | None, is_float: bool) -> None:
        self.rows = rows
        self.stored = stored
        self.is_float = is_float
        self.counters = Counters()
        self.closed_until = BEGINNING
        self._kept: dict[int, Kept] = {}
        self._events: EventBatch | None = None
        self._ready: list[Emission] = []

    def feed(self, batch: EventBatch) -> None:
        """Take in a batch; results wait until their windows are closed."""
        if len(batch) and int(batch.ts.min()) < self.closed_until:
            raise InternalError("events were fed after their windows were closed")
        if self.rows is not None:
            self._ready += self._advance_rows(self.rows, batch, BEGINNING)
        if self.stored is not None:
            known = [] if self._events is None else [self._events]
            self._events = joined_batches([*known, batch])

    def close_until(self, ts: int) -> Emission:
        """Close every window that ends by a time, and give its results."""
        emissions: list[Emission] = []
        if self.rows is not None:
            self._ready += self._advance_rows(self.rows, _no_events(self.rows), ts)
            ends = [_ends(self.rows, emission) for emission in self._ready]
            now = [end <= ts for end in ends]
            pairs = list(zip(self._ready, now, strict=True))
            emissions += [_picked(emission, wanted) for emission, wanted in pairs]
            later = [_picked(emission, ~wanted) for emission, wanted in pairs]
            self._ready = [emission for emission in later if len(emission.part)]
        if self.stored is not None and self._events is not None:
            emissions.append(self._advance_stored(self.stored, self._events, ts))
            self._events = self._still_needed(self.stored, self._events, ts)
        self.closed_until = max(self.closed_until, ts)
        compiled = self.rows if self.rows is not None else self.stored
        if compiled is None:
            raise InternalError("a session without any unit")
        return joined(compiled, emissions, self.is_float)

    # Units that keep rows

    def _advance_rows(self, compiled: Compiled, events: EventBatch, ts: int) -> list[Emission]:
        """Bring the rows of all partitions up to the events and close what ends by a time."""
        pending = dict(self._kept) or {1: Kept.nothing(self.is_float, 1)}
        self._kept = {}
        emissions: list[Emission] = []
        words = 1
        carried: _Carried | None = None
        known = _parts_of(pending.values())
        while pending or carried is not None:
            kept = pending.pop(words, Kept.nothing(self.is_float, words))
            ranges = _ranges(events, kept, known if words == 1 else None)
            if carried is not None:
                kept, ranges = _with_carried(events, kept, ranges, carried)
                carried = None
            emission, redo, after = run_once(
                compiled, events, ranges, kept, ts, self.is_float, words, self.counters
            )
            emissions.append(emission)
            if len(after.ranges):
                self._kept[words] = after
            if len(redo):
                carried = widened(only_kept(kept, ranges, redo), self.is_float, words)
            words = next_words(words)
        return emissions

    # Units that keep events

    def _advance_stored(self, compiled: Compiled, events: EventBatch, ts: int) -> Emission:
        """Run over all events of open windows again; keep what closes now."""
        before = chosen(events, events.ts < ts)
        emission, counters = run_batch(compiled, before, self.is_float)
        self.counters.snapshots += counters.snapshots
        self.counters.bursts += counters.bursts
        end = _ends(compiled, emission)
        return _picked(emission, (end > self.closed_until) & (end <= ts))

    def _still_needed(self, compiled: Compiled, events: EventBatch, ts: int) -> EventBatch:
        """The events of windows that are still open at a time."""
        within, slide = _windows(compiled)
        within, slide = within[list(all_units(compiled))], slide[list(all_units(compiled))]
        oldest = (ts - within) // slide + 1
        return chosen(events, events.ts >= int((oldest * slide).min()))

    # Bytes

    def snapshot(self) -> bytes:
        """The whole state as bytes."""
        arrays: list[NDArray[Any]] = []
        header: dict[str, Any] = {
            "version": _VERSION,
            "code": self._fingerprint(),
            "closed_until": self.closed_until,
            "kept": sorted(self._kept),
            "events": None if self._events is None else _described(self._events, arrays),
        }
        for words in sorted(self._kept):
            kept = self._kept[words]
            arrays += [kept.ranges, kept.ints, kept.numbers, kept.extremes]
        header["ready"] = [_emission_described(each, arrays) for each in self._ready]
        header["arrays"] = [[str(a.dtype), list(a.shape)] for a in arrays]
        text = json.dumps(header).encode()
        parts = [_MAGIC, struct.pack("<Q", len(text)), text]
        return b"".join([*parts, *(np.ascontiguousarray(a).tobytes() for a in arrays)])

    def restore(self, data: bytes) -> None:
        """Take up the state of a snapshot."""
        header, arrays = _read(data)
        if header["code"] != self._fingerprint():
            raise ReadError("the snapshot", "it was made by another workload or other options")
        self.closed_until = header["closed_until"]
        described = header["events"]
        self._events = None if described is None else _batch_of(described, arrays)
        self._kept = {}
        for words in header["kept"]:
            self._kept[words] = Kept(arrays.pop(0), arrays.pop(0), arrays.pop(0), arrays.pop(0))
        self._ready = [_emission_of(each, arrays) for each in header["ready"]]

    def _fingerprint(self) -> str:
        """What the state depends on: the code of both kinds of units and the kind of numbers."""
        digest = hashlib.sha256(str(self.is_float).encode())
        for compiled in (self.rows, self.stored):
            if compiled is not None:
                for array in compiled.code:
                    digest.update(np.ascontiguousarray(array).tobytes())
                digest.update(repr(compiled.chains).encode())
            digest.update(b"|")
        return digest.hexdigest()


def _read(data: bytes) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    if data[: len(_MAGIC)] != _MAGIC:
        raise ReadError("the snapshot", "it is not a snapshot of a kernel")
    at = len(_MAGIC) + 8
    (length,) = struct.unpack("<Q", data[len(_MAGIC) : at])
    header = json.loads(data[at : at + length])
    if header["version"] != _VERSION:
        raise ReadError("the snapshot", f"it has version {header['version']}, not {_VERSION}")
    at += length
    arrays: list[NDArray[Any]] = []
    for dtype, shape in header["arrays"]:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        arrays.append(np.frombuffer(data[at : at + size], dtype).reshape(shape).copy())
        at += size
    return header, arrays


# Batches

_BY_EVENT = ("part", "ts", "tied", "letter")
_TABLES = ("weights", "extremes", "previous", "next", "columns")


def chosen(events: EventBatch, wanted: NDArray[np.bool_]) -> EventBatch:
    """Some events of a batch, in order."""
    if wanted.all():
        return events
    changes: dict[str, Any] = {name: getattr(events, name)[wanted] for name in _BY_EVENT}
    for name in _TABLES:
        changes[name] = np.ascontiguousarray(getattr(events, name)[:, wanted])
    return replace(events, **changes)


def joined_batches(batches: list[EventBatch]) -> EventBatch:
    """Batches of one stream as one, each partition's events together and in order."""
    first = batches[0]
    letters, numbers = np.unique(
        np.concatenate([batch.letters for batch in batches]), axis=0, return_inverse=True
    )
    offsets = np.cumsum([0, *(len(batch.letters) for batch in batches)])
    part = np.concatenate([batch.part for batch in batches])
    order = np.argsort(part, kind="stable")
    letter = np.concatenate(
        [numbers.reshape(-1)[offsets[i] + batch.letter] for i, batch in enumerate(batches)]
    )
    tables: dict[str, Any] = {
        name: np.ascontiguousarray(
            np.concatenate([getattr(batch, name) for batch in batches], axis=1)[:, order]
        )
        for name in _TABLES
    }
    return replace(
        first,
        part=part[order],
        ts=np.concatenate([batch.ts for batch in batches])[order],
        tied=np.concatenate([batch.tied for batch in batches])[order],
        letter=letter[order].astype(np.int32),
        letters=np.ascontiguousarray(letters),
        **tables,
    )


def _no_events(compiled: Compiled) -> EventBatch:
    """A batch without events, for closing windows only."""
    atoms = len(compiled.atom_ops)
    empty = np.empty((0, 0))
    return EventBatch(
        np.empty(0, np.int32),
        np.empty(0, np.int64),
        np.empty(0, np.uint8),
        np.empty(0, np.int32),
        np.zeros((0, atoms), np.uint8),
        (),
        np.empty((0, 0), compiled.weight_type),
        (),
        empty,
        np.empty((int(compiled.code.p_kind.size), 0)),
        np.empty((int(compiled.code.p_kind.size), 0)),
        (),
        empty,
    )


def _described(events: EventBatch, arrays: list[NDArray[Any]]) -> dict[str, Any]:
    """What of a batch is no array, with its arrays added to a list."""
    for field in fields(events):
        value = getattr(events, field.name)
        if isinstance(value, np.ndarray):
            arrays.append(value)
    return {
        "weights": [[w.kind, w.attribute, w.digit, w.exponent] for w in events.weight_specs],
        "extremes": list(events.extreme_attributes),
        "columns": list(events.column_names),
    }


def _batch_of(described: dict[str, Any], arrays: list[NDArray[Any]]) -> EventBatch:
    from hamlet.kernel.base import Weight

    part, ts, tied, letter, letters = (arrays.pop(0) for _ in range(5))
    weights, extremes, previous, following, columns = (arrays.pop(0) for _ in range(5))
    specs = tuple(Weight(*each) for each in described["weights"])
    return EventBatch(
        part,
        ts,
        tied,
        letter,
        letters,
        specs,
        weights,
        tuple(described["extremes"]),
        extremes,
        previous,
        following,
        tuple(described["columns"]),
        columns,
    )


def _ends(compiled: Compiled, emission: Emission) -> NDArray[np.int64]:
    """When the window of each record ends."""
    within, slide = _windows(compiled)
    return emission.window * slide[emission.unit] + within[emission.unit]


def _windows(compiled: Compiled) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """WITHIN and SLIDE of each unit, by its template."""
    code = compiled.code
    lengths = dict(zip(code.u_template, zip(code.u_within, code.u_slide, strict=True), strict=True))
    for group in compiled.chains:
        lengths |= {c.template: (group.within_us, group.slide_us) for c in group.chains}
    table = np.ones((max(lengths) + 1, 2), np.int64)
    for template, pair in lengths.items():
        table[template] = pair
    return table[:, 0], table[:, 1]


def _picked(emission: Emission, wanted: NDArray[np.bool_]) -> Emission:
    exponents = emission.exponents
    return Emission(
        emission.part[wanted],
        emission.unit[wanted],
        emission.window[wanted],
        emission.components[wanted],
        None if exponents is None else exponents[wanted],
        emission.extremes[wanted],
    )


def _emission_described(emission: Emission, arrays: list[NDArray[Any]]) -> dict[str, Any]:
    """What of an emission is no array of numbers, with its arrays added to a list."""
    arrays += [emission.part, emission.unit, emission.window, emission.extremes]
    described: dict[str, Any] = {"shape": list(emission.components.shape), "integers": None}
    if emission.components.dtype == object:
        # Hexadecimal, because decimal digits of very long integers are slow to make and to read.
        integers: list[Any] = list(emission.components.reshape(-1))
        described["integers"] = [hex(value) for value in integers]
    else:
        arrays.append(emission.components)
    described["is_float"] = emission.exponents is not None
    if emission.exponents is not None:
        arrays.append(emission.exponents)
    return described


def _emission_of(described: dict[str, Any], arrays: list[NDArray[Any]]) -> Emission:
    part, unit, window, extremes = (arrays.pop(0) for _ in range(4))
    if described["integers"] is None:
        components = arrays.pop(0)
    else:
        components = np.empty(len(described["integers"]), dtype=object)
        components[:] = [int(text, 16) for text in described["integers"]]
        components = components.reshape(described["shape"])
    exponents = arrays.pop(0) if described["is_float"] else None
    return Emission(part, unit, window, components, exponents, extremes)


# Kept state


def _parts_of(kept: Iterable[Kept]) -> NDArray[np.int64]:
    parts = [each.ranges[:, 0] for each in kept]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _ranges(events: EventBatch, kept: Kept, known: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The partitions to run with one kind of numbers: those with such state, and new ones.

    `known` are all partitions with state of any kind; None where new ones are not wanted here.
    """
    with_events = partition_ranges(events)
    at = {int(part): row for row, part in enumerate(with_events[:, 0])}
    ranges = kept.ranges.copy()
    ranges[:, 1:3] = 0
    for row, part in enumerate(ranges[:, 0]):
        if int(part) in at:
            ranges[row, 1:3] = with_events[at[int(part)], 1:3]
    if known is None:
        return ranges
    return np.concatenate([ranges, with_events[~np.isin(with_events[:, 0], known)]])


@dataclass(frozen=True, slots=True)
class _Carried:
    """State, widened, of partitions that have outgrown their numbers; some may have had none."""

    parts: NDArray[np.int64]
    kept: Kept


def only_kept(kept: Kept, ranges: NDArray[np.int64], parts: NDArray[np.int32]) -> _Carried:
    """The state of some partitions as it was before they were run."""
    rows = ranges[np.isin(ranges[:, 0], parts)]
    return _Carried(rows[:, 0].copy(), replace(kept, ranges=rows[rows[:, 3] >= 0]))


def widened(carried: _Carried, is_float: bool, words: int) -> _Carried:
    """State with its numbers in the next wider kind."""
    old = carried.kept.numbers
    new = room(len(old), is_float, next_words(words))
    if is_float:
        large = np.abs(old) >= 2.0**256
        new[:, 0] = np.where(large, old * 2.0**-512, old)
        new[:, 1] = large
    elif words == 1:
        new[:, 0] = old.view(np.uint64)
        new[:, 1] = np.where(old < 0, ~np.uint64(0), np.uint64(0))
    else:
        new[:, :words] = old
        new[:, words:] = np.where(old[:, -1:] >> np.uint64(63), ~np.uint64(0), np.uint64(0))
    return _Carried(carried.parts, replace(carried.kept, numbers=new))


def _with_carried(
    events: EventBatch, kept: Kept, ranges: NDArray[np.int64], carried: _Carried
) -> tuple[Kept, NDArray[np.int64]]:
    """State and partitions of one kind together with those that have come up to it."""
    more = carried.kept
    moved = more.ranges.copy()
    moved[:, 3:] += [len(kept.ints), len(kept.numbers), len(kept.extremes)]
    both = Kept(
        np.concatenate([kept.ranges, moved]),
        np.concatenate([kept.ints, more.ints]),
        np.concatenate([kept.numbers, more.numbers]),
        np.concatenate([kept.extremes, more.extremes]),
    )
    fresh = np.setdiff1d(carried.parts, moved[:, 0])
    with_events = partition_ranges(events)
    new = with_events[np.isin(with_events[:, 0], fresh)]
    at = {int(part): row for row, part in enumerate(with_events[:, 0])}
    for row, part in enumerate(moved[:, 0]):
        moved[row, 1:3] = with_events[at[int(part)], 1:3] if int(part) in at else 0
    return both, np.concatenate([ranges, moved, new])
