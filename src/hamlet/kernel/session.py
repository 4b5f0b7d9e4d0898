"""A kernel over a stream of encoded batches: feed, close_until, snapshot, restore.

Units without stored events keep their rows (kept.py), which do not grow with the number of events.
Units that keep events one by one (edge predicates) are given the events of their open windows again
with every batch. Either way a window's result comes out once, when it is closed, and any cut of the
stream into batches gives the same results.

Promises asked of the caller: partitions keep their numbers, events come in time order, all events
of one time and partition in one batch, and the sides of edge predicates are comparable from batch
to batch. The sessions of `hamlet.session`, which are fed tables, ask for none of this.

A snapshot is plain bytes and can be restored in another process by a kernel of the same code.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import InternalError, ReadError
from hamlet.kernel.base import Emission, EventBatch, Weight
from hamlet.kernel.code import all_units
from hamlet.kernel.kept import Piece, RowStore, Shape
from hamlet.kernel.machine import FAR
from hamlet.kernel.packing import pack, unpack
from hamlet.kernel.shared import Counters, joined, partition_ranges, run_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled

BEGINNING = -FAR
_WHAT = "the snapshot"


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
        self._kept = RowStore(is_float)
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
            self._ready += self._advance_rows(self.rows, no_events(self.rows), ts)
            ends = [ends_of(self.rows, emission) for emission in self._ready]
            now = [end <= ts for end in ends]
            pairs = list(zip(self._ready, now, strict=True))
            emissions += [picked(emission, wanted) for emission, wanted in pairs]
            later = [picked(emission, ~wanted) for emission, wanted in pairs]
            self._ready = [emission for emission in later if len(emission.part)]
        if self.stored is not None and self._events is not None:
            emissions.append(self._advance_stored(self.stored, self._events, ts))
            self._events = self._still_needed(self.stored, self._events, ts)
        self.closed_until = max(self.closed_until, ts)
        compiled = self.rows if self.rows is not None else self.stored
        if compiled is None:
            raise InternalError("a session without any unit")
        return joined(compiled, emissions, self.is_float)

    def _advance_rows(self, compiled: Compiled, events: EventBatch, ts: int) -> list[Emission]:
        """Bring the rows of all partitions up to the events and close what ends by a time."""
        parts = partition_ranges(events)[:, 0]
        self._kept.grow(int(parts.max(initial=-1)) + 1)
        return self._kept.advance(compiled, events, parts, ts, self.counters)[0]

    def _advance_stored(self, compiled: Compiled, events: EventBatch, ts: int) -> Emission:
        """Run over all events of open windows again; keep what closes now."""
        before = chosen(events, events.ts < ts)
        emission, counters = run_batch(compiled, before, self.is_float)
        self.counters.snapshots += counters.snapshots
        self.counters.bursts += counters.bursts
        end = ends_of(compiled, emission)
        return picked(emission, (end > self.closed_until) & (end <= ts))

    def _still_needed(self, compiled: Compiled, events: EventBatch, ts: int) -> EventBatch:
        """The events of windows that are still open at a time."""
        within, slide = windows_of(compiled)
        within, slide = within[list(all_units(compiled))], slide[list(all_units(compiled))]
        oldest = (ts - within) // slide + 1
        return chosen(events, events.ts >= int((oldest * slide).min()))

    # Bytes

    def snapshot(self) -> bytes:
        """The whole state as bytes."""
        pieces: list[NDArray[Any]] = []
        header: dict[str, Any] = {
            "code": self._fingerprint(),
            "closed_until": self.closed_until,
            "kept": [],
            "events": None if self._events is None else _described(self._events, pieces),
        }
        slots = np.flatnonzero(self._kept.words > 0)
        for words, (which, kept) in self._kept.taken(slots).items():
            header["kept"].append(words)
            mine = slots[which]
            pieces += [mine, self._kept.last[mine], kept.sizes, kept.ints, kept.numbers]
            pieces.append(kept.extremes)
        header["ready"] = [_emission_described(each, pieces) for each in self._ready]
        return pack(_WHAT, header, pieces)

    def restore(self, data: bytes) -> None:
        """Take up the state of a snapshot."""
        header, pieces = unpack(_WHAT, data)
        if header["code"] != self._fingerprint():
            raise ReadError(_WHAT, "it was made by another workload or other options")
        self.closed_until = header["closed_until"]
        described = header["events"]
        self._events = None if described is None else _batch_of(described, pieces)
        self._kept = RowStore(self.is_float)
        for words in header["kept"]:
            slots, last, *arrays = (pieces.pop(0) for _ in range(6))
            self._kept.grow(int(slots.max()) + 1)
            if self.rows is not None:
                self._kept.put(slots, Piece(*arrays), Shape.of(self.rows), words, last)
        self._ready = [_emission_of(each, pieces) for each in header["ready"]]

    def _fingerprint(self) -> str:
        """What the state depends on: the code of both kinds of units and the kind of numbers."""
        digest = hashlib.sha256(str(self.is_float).encode())
        for compiled in (self.rows, self.stored):
            if compiled is not None:
                for array in compiled.code:
                    digest.update(np.ascontiguousarray(array).tobytes())
                digest.update(repr([each.group for each in compiled.row_groups]).encode())
            digest.update(b"|")
        return digest.hexdigest()


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


def no_events(compiled: Compiled) -> EventBatch:
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


def ends_of(compiled: Compiled, emission: Emission) -> NDArray[np.int64]:
    """When the window of each record ends."""
    within, slide = windows_of(compiled)
    return emission.window * slide[emission.unit] + within[emission.unit]


def windows_of(compiled: Compiled) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """WITHIN and SLIDE of each unit, by its template."""
    code = compiled.code
    lengths = dict(zip(code.u_template, zip(code.u_within, code.u_slide, strict=True), strict=True))
    for group in (each.group for each in compiled.row_groups):
        lengths |= {u.template: (group.within_us, group.slide_us) for u in group.units}
    table = np.ones((max(lengths) + 1, 2), np.int64)
    for template, pair in lengths.items():
        table[template] = pair
    return table[:, 0], table[:, 1]


def picked(emission: Emission, wanted: NDArray[np.bool_]) -> Emission:
    """Some records of an emission."""
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
