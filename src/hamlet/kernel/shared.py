"""Running a batch on the machine: memory laid out, words added where integers outgrow them.

In exact mode every partition is first tried with one word for each number. Those that outgrow it
are run again with more, doubling each time: partitions with small counts never pay for the large
ones, and the last run costs about as much as all before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.base import FINITE, Emission, EventBatch
from hamlet.kernel.layout import (
    C_ATOMS,
    C_BURSTS,
    C_EVENTS,
    C_GLOG,
    C_GUARD_LOGS,
    C_LOG,
    C_LOGS,
    C_MERGED,
    C_MOST,
    C_MOST_X,
    C_SHARED,
    C_SNAPSHOTS,
    C_SPLIT,
    C_STACK,
    C_TRACE_ROOM,
    CODE_ARRAYS,
    COUNTS,
    HEADER,
    SCALARS,
    STATE_ARRAYS,
)
from hamlet.kernel.machine import FAR, Events, Memory, Records, Sides, Stored, run
from hamlet.kernel.machine.bundles import FOREVER, TRACED
from hamlet.kernel.quick import are_alike, bundle_arrays, by_letter
from hamlet.kernel.rows import run_rows
from hamlet.kernel.trees import Trees, lay_out_trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled
    from hamlet.kernel.rows import PlacedGroup

# Room for records by events and partitions: it is memory only where it is used.
_FIRST_RECORDS = 1024
_RECORDS_OF_PARTITION = 8
_FIRST_LOGGED = 64


@dataclass(slots=True)
class Counters:
    """What a run has done."""

    snapshots: int = 0
    bursts: int = 0
    windows: int = 0
    partitions_redone: int = 0
    # Of bundles, see machine/bundles.py: events for all units that cost as one, splits and merges
    shared: int = 0
    split: int = 0
    merged: int = 0
    # Rows of what was decided, where they are asked for
    trace: list[NDArray[np.int64]] | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The state of some partitions between two batches, all with numbers of one kind.

    ranges: For each partition its number, two unused entries, and where it begins in the others.
    """

    ranges: NDArray[np.int64]
    ints: NDArray[np.int64]
    numbers: NDArray[Any]
    extremes: NDArray[np.float64]

    @staticmethod
    def nothing(is_float: bool, words: int) -> Kept:
        """No state of any partition."""
        empty = np.empty((0, 6), np.int64)
        return Kept(empty, np.empty(0, np.int64), room(0, is_float, words), np.empty(0))


def run_batch(
    compiled: Compiled, batch: EventBatch, is_float: bool, trace: bool = False
) -> tuple[Emission, Counters]:
    """All windows of all partitions of a batch, closed at its end."""
    counters = Counters(trace=[] if trace else None)
    emissions = [
        _run_group(compiled, group, batch, is_float, counters) for group in compiled.row_groups
    ]
    words = 1
    while len(batch) and len(compiled.code.u_w):
        ranges = partition_ranges(batch)
        kept = Kept.nothing(is_float, words)
        emission, redo, _ = run_once(compiled, batch, ranges, kept, FAR, is_float, words, counters)
        emissions.append(emission)
        if not len(redo):
            break
        counters.partitions_redone += len(redo)
        batch = only_partitions(batch, redo)
        words = next_words(words)
    return joined(compiled, emissions, is_float), counters


def _run_group(
    compiled: Compiled,
    group: PlacedGroup,
    batch: EventBatch,
    is_float: bool,
    counters: Counters,
) -> Emission:
    """All windows of the units of one group."""
    parts: list[Emission] = []
    templates = np.array([unit.template for unit in group.group.units], np.int32)
    words = 1
    ranges = partition_ranges(batch)
    while len(ranges):
        found = run_rows(group, batch, ranges, room(0, is_float, words), compiled.sharing)
        counters.bursts += found.bursts
        counters.shared += found.shared
        counters.snapshots += found.snapshots
        counters.windows += len(found.part)
        components, exponents = _components(found.components, is_float)
        components, exponents = _repeated(compiled, templates[found.unit], components, exponents)
        parts.append(
            Emission(
                found.part,
                templates[found.unit],
                found.window,
                components,
                exponents,
                _extremes(found.extremes),
            )
        )
        ranges = ranges[np.isin(ranges[:, 0], found.redo)]
        counters.partitions_redone += len(ranges)
        words = next_words(words)
    return joined(compiled, parts, is_float)


def are_of_one_size(weights: NDArray[Any]) -> list[bool]:
    """For each weight whether sums over a run may be had as differences of running sums.

    Integers always: they are exact. Doubles when the largest is at most 2^30 times the smallest:
    then what is lost of the running sum, which is kept in two doubles, is far below 1e-9 of any
    term.
    """
    if weights.dtype == np.int64:
        return [True] * len(weights)
    found = []
    for row in weights:
        sizes = np.abs(row[row != 0])
        low, high = (sizes.min(), sizes.max()) if len(sizes) else (1.0, 1.0)
        found.append(bool(high * 2.0**-30 <= low and low > 2.0**-400 and high < 2.0**400))
    return found


def next_words(words: int) -> int:
    """How many words numbers get when they have outgrown theirs."""
    return 2 * words


def partition_ranges(events: EventBatch) -> NDArray[np.int64]:
    """For each partition its number, its first event, the one after its last, and no state."""
    part = events.part
    begins = np.flatnonzero(part[1:] != part[:-1]) + 1
    firsts = np.concatenate([np.zeros(min(len(part), 1), np.int64), begins])
    ranges = np.full((len(firsts), 6), -1, np.int64)
    ranges[:, 0] = part[firsts]
    ranges[:, 1] = firsts
    ranges[:, 2] = np.append(firsts[1:], len(part))[: len(firsts)]
    return ranges


def run_once(
    compiled: Compiled,
    events: EventBatch,
    ranges: NDArray[np.int64],
    kept: Kept,
    until: int,
    is_float: bool,
    words: int,
    counters: Counters,
) -> tuple[Emission, NDArray[np.int32], Kept]:
    """Run some partitions with numbers of one kind.

    Returns what they emit, the partitions that need a wider kind (of which nothing is emitted),
    and, with `until` before the end of time, the state of the others.
    """
    code = compiled.code
    most = max(int(code.u_nc.max()), 1)
    most_x = int(code.u_nx.max())
    widest = int((code.u_w * code.u_nc).max())
    trees = lay_out_trees(compiled, events)
    letter_table, is_used = by_letter(compiled, events.letters)
    packed, state = _packed(compiled, trees, is_used)
    state[C_TRACE_ROOM] = 0 if counters.trace is None else 4 * len(code.u_w)
    units, lazies, stacks = len(code.u_w), len(code.z_atom), int(code.zx_p[-1])
    logs, guard_logs = len(code.log_unit), _guard_logs(compiled)
    widths = code.u_w[code.log_unit]
    redo = np.empty(len(ranges), np.int32)
    state[C_EVENTS], state[C_ATOMS] = len(events), events.letters.shape[1]
    state[C_STACK], state[C_LOG], state[C_GLOG] = 16, _FIRST_LOGGED, _FIRST_LOGGED
    state[C_LOGS], state[C_GUARD_LOGS] = logs, guard_logs
    state[C_MOST], state[C_MOST_X] = most, most_x
    out_n = np.zeros(1, np.int64)
    records = _FIRST_RECORDS + _RECORDS_OF_PARTITION * len(ranges) + len(events) // 16
    memory = Memory(
        packed,
        state,
        room(compiled.values + widest, is_float, words),
        np.empty(compiled.extremes),
        np.ones(2 * (lazies + units)),
        np.zeros(2 * (compiled.sums + int(code.u_nc.sum())), events.weights.dtype),
        np.empty(stacks * 16, np.int64),
        np.empty(stacks * 16),
        np.zeros(1, np.int64),
        np.empty(TRACED * state[C_TRACE_ROOM], np.int64),
    )
    seen = Events(
        events.ts,
        events.tied,
        events.letter,
        _line(events.weights),
        _line(events.extremes),
        letter_table,
    )
    sides = Sides(
        events.letter,
        _line(events.letters),
        _line(events.previous),
        _line(events.next),
        _line(events.columns),
        code.p_arg,
    )
    stored = Stored(
        np.empty(3 * logs * _FIRST_LOGGED, np.int64),
        room(int((widths * code.u_nc[code.log_unit]).sum()) * _FIRST_LOGGED, is_float, words),
        np.empty(int((widths * code.u_nx[code.log_unit]).sum()) * _FIRST_LOGGED),
        np.empty(3 * guard_logs * _FIRST_LOGGED, np.int64),
        room(trees.numbers, is_float, words),
        np.empty(trees.extremes),
        trees.places,
    )
    results = Records(
        np.empty(records, np.int32),
        np.empty(records, np.int32),
        np.empty(records, np.int64),
        room(records * most, is_float, words),
        np.empty(records * most_x),
        out_n,
    )
    known = (kept.ints, kept.numbers, kept.extremes)
    (part, unit, window, v, x), redone, after, trace = run(
        memory, seen, sides, stored, results, until, ranges, known, redo
    )
    n = int(out_n[0])
    counters.snapshots += int(state[C_SNAPSHOTS])
    counters.bursts += int(state[C_BURSTS])
    counters.windows += n
    counters.shared += int(state[C_SHARED])
    counters.split += int(state[C_SPLIT])
    counters.merged += int(state[C_MERGED])
    if counters.trace is not None:
        counters.trace.append(trace.reshape(-1, TRACED).copy())
    part, unit, window = part[:n], unit[:n], window[:n]
    x = x[: n * most_x].reshape(n, most_x)
    v = v[: n * most].reshape((n, most) if words == 1 else (n, most, words))
    if (code.u_nc < most).any():
        v[np.arange(most)[None, :] >= code.u_nc[unit][:, None]] = 0
    components, exponents = _components(v, is_float)
    template = compiled.code.u_template.astype(np.int32)[unit]
    components, exponents = _repeated(compiled, template, components, exponents)
    emission = Emission(part, template, window, components, exponents, _extremes(x))
    return emission, redo[:redone].copy(), Kept(*after)


def _extremes(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Extremes of a kernel: NaN where there is none, and infinite ones as they were."""
    found = np.where(np.isinf(x), np.nan, x)
    return np.where(np.abs(found) == FINITE, np.copysign(np.inf, found), found)


def _components(v: NDArray[Any], is_float: bool) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Numbers of any kind, [records, components], as an emission has them."""
    if v.ndim == 2:
        return v, np.zeros(v.shape) if is_float else None
    if is_float:
        return v[:, :, 0].copy(), v[:, :, 1].copy()
    flat = numbers.integers(v.reshape(-1, v.shape[2]))
    components = np.empty(len(flat), dtype=object)
    components[:] = flat
    return components.reshape(v.shape[:2]), None


def _repeated(
    compiled: Compiled,
    template: NDArray[np.int32],
    components: NDArray[Any],
    exponents: NDArray[np.float64] | None,
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Components that were computed once at every place where they are asked for."""
    if compiled.repeats is None or compiled.repeats.shape[1] == 1:
        return components, exponents
    places = compiled.repeats[template]

    def spread(table: NDArray[Any]) -> NDArray[Any]:
        found = np.take_along_axis(table, np.maximum(places, 0), axis=1)
        found[places < 0] = 0
        return found

    return spread(components), None if exponents is None else spread(exponents)


def joined(compiled: Compiled, parts: list[Emission], is_float: bool) -> Emission:
    """Several emissions as one."""
    if not parts:
        most = max(int(compiled.code.u_nc.max(initial=1)), 1)
        most_x = int(compiled.code.u_nx.max(initial=0))
        nothing: NDArray[Any] = np.empty((0, most), np.float64 if is_float else np.int64)
        return Emission(
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            nothing,
            np.empty((0, most)) if is_float else None,
            np.empty((0, most_x)),
        )
    if len(parts) == 1:
        return parts[0]
    exponents = [part.exponents for part in parts if part.exponents is not None]
    return Emission(
        np.concatenate([part.part for part in parts]),
        np.concatenate([part.unit for part in parts]),
        np.concatenate([part.window for part in parts]),
        _stacked([part.components for part in parts], 0),
        _stacked(exponents, 0.0) if exponents else None,
        _stacked([part.extremes for part in parts], np.nan),
    )


def _stacked(tables: list[NDArray[Any]], filling: Any) -> NDArray[Any]:
    """Tables one below the other, the narrower ones filled up."""
    width = max(table.shape[1] for table in tables)
    return np.concatenate(
        [
            np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=filling)
            for table in tables
        ]
    )


def room(n: int, is_float: bool, words: int) -> NDArray[Any]:
    """An array for n numbers of a kind: see numbers.py."""
    if words == 1:
        return np.empty(n, np.float64 if is_float else np.int64)
    return np.empty((n, words), np.float64 if is_float else np.uint64)


def _line(array: NDArray[Any]) -> NDArray[Any]:
    """A table as one line of numbers, row after row."""
    return np.ascontiguousarray(array).reshape(-1)


def only_partitions(events: EventBatch, parts: NDArray[np.int32]) -> EventBatch:
    """The events of some partitions."""
    if len(parts) == len(partition_ranges(events)):
        return events
    wanted = np.zeros(int(events.part[-1]) + 1, np.bool_)
    wanted[parts] = True
    kept = wanted[events.part]
    weights: NDArray[Any] = np.ascontiguousarray(events.weights[:, kept])
    return EventBatch(
        events.part[kept],
        events.ts[kept],
        events.tied[kept],
        events.letter[kept],
        events.letters,
        events.weight_specs,
        weights,
        events.extreme_attributes,
        np.ascontiguousarray(events.extremes[:, kept]),
        np.ascontiguousarray(events.previous[:, kept]),
        np.ascontiguousarray(events.next[:, kept]),
        events.column_names,
        np.ascontiguousarray(events.columns[:, kept]),
    )


def _guard_logs(compiled: Compiled) -> int:
    return int(compiled.code.gs_log.max(initial=-1)) + 1


def _packed(
    compiled: Compiled, trees: Trees, is_used: list[bool]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Code in one array, state in another."""
    code = compiled.code
    units, lazies, logs = len(code.u_w), len(code.z_atom), len(code.log_unit)
    width = code.u_w[code.log_unit] * code.u_nc[code.log_unit]
    width_x = code.u_w[code.log_unit] * code.u_nx[code.log_unit]
    arrays = {name.upper(): array for name, array in code._asdict().items()}
    arrays["LOG_VBASE"] = np.cumsum([0, *width])[:-1]
    arrays["LOG_XBASE"] = np.cumsum([0, *width_x])[:-1]
    arrays |= bundle_arrays(compiled, is_used)
    arrays |= {"T_VBASE": trees.vbase, "T_XBASE": trees.xbase, "T_BITS": trees.bits}
    sizes = dict.fromkeys(STATE_ARRAYS, units)
    sizes |= {"S_T_BITS": 2 * len(code.t_unit)}
    sizes |= {"S_Z_N": lazies, "S_Z_EVENTS": lazies}
    sizes |= {"S_G_L": len(code.gs_end), "S_G_LT": len(code.gs_end)}
    sizes |= {"S_G_DONE": len(code.g_unit), "S_G_DONE_T": len(code.g_unit)}
    sizes |= {"S_LOG_HEAD": logs, "S_LOG_LEN": logs, "S_GLOG_LEN": _guard_logs(compiled)}
    sizes |= {"S_STACK_LEN": int(code.zx_p[-1])}
    bundles = len(compiled.bundles)
    sizes |= dict.fromkeys(("S_B_MODE", "S_B_LIVE", "S_B_RUN", "S_B_PARTIAL"), bundles)
    offsets = COUNTS + np.cumsum([0, *sizes.values()])
    scalars = {
        "N_UNITS": units,
        "N_Z": lazies,
        "N_SUMS": compiled.sums,
        "T_BASE": compiled.values,
        "HAS_ALWAYS": int(code.u_always.any()),
        "ALIKE": int(are_alike(code)),
        "N_B": bundles,
        "N_OPS": len(code.o_unit),
    }
    chosen = [arrays[name] for name in CODE_ARRAYS]
    starts = HEADER + np.cumsum([0, *(len(array) for array in chosen)])[:-1]
    header = [np.array([scalars[name] for name in SCALARS]), starts, offsets[:-1]]
    packed = np.concatenate([*header, *chosen]).astype(np.int64)
    state = np.zeros(int(offsets[-1]), np.int64)
    # Before anything is known of the stream, queries are taken to behave alike.
    runs = int(offsets[list(sizes).index("S_B_RUN")])
    state[runs : runs + bundles] = [p % FOREVER for p in compiled.patience]
    return packed, state
