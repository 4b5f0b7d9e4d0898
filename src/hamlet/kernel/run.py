"""Running a batch on the machine: memory laid out, words added where integers outgrow them.

In exact mode every partition of a portion is first tried with the words that its numbers are
expected to need (see widths.py), and groups of rows with one. Windows that outgrow them are run
again with more, doubling each time (machine/redoing.py, rows/redoing.py).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel.compile.fast_paths import by_letter
from hamlet.kernel.emissions import emission_of, joined
from hamlet.kernel.encode.sorting import take
from hamlet.kernel.image import guard_logs_of, image_of
from hamlet.kernel.machine import FAR, EventArrays, Memory, Records, Sides, Stored, run
from hamlet.kernel.machine.bundles import TRACED
from hamlet.kernel.machine.memory import ENTRY
from hamlet.kernel.machine.redoing import AGAIN
from hamlet.kernel.numbers import next_words
from hamlet.kernel.rows import RowRecords, all_windows, run_rows, tables_of
from hamlet.kernel.rows.layout import DECIDED, T_PART, T_TIME
from hamlet.kernel.sifting import in_turn, sifted
from hamlet.kernel.stopping import stoppable
from hamlet.kernel.trees import lay_out_trees
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission, EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.compile.counters import Counters as LazyCounters
    from hamlet.kernel.rows import PlacedGroup
    from hamlet.kernel.trees import Trees

# The column of a bundle's number in rows of what was decided
_BUNDLE = 2
# Room for records by events and partitions, and the most that is made in advance
_FIRST_RECORDS = 1024
_RECORDS_OF_PARTITION = 8
_MOST_RECORDS = 1 << 21
# Partitions and events from which on one partition shows how long the numbers of others may be
_SEVERAL, _MANY_EVENTS = 4, 20_000
# The share of events from which on it is worth looking at the letters of all: 1 / _PART
_PART = 4
# Events in a stack of extremes, or in a log, to begin with
_FIRST_STACK = 16
_FIRST_LOG = 64


@dataclass(slots=True)
class Counters:
    """How often a run did what its cost depends on."""

    snapshots: int = 0
    bursts: int = 0
    windows: int = 0
    partitions_redone: int = 0
    # Of bundles, see machine/bundles.py: events for all units that cost as one, splits and merges
    shared: int = 0
    split: int = 0
    merged: int = 0
    # Of rows over snapshots, see rows/basis.py
    shared_bursts: int = 0
    # What was decided, where that is asked for: of bundles, and of each group of rows
    trace: list[DecisionRows] | None = None
    bursts_decided: list[NDArray[np.int64]] | None = None


@dataclass(slots=True)
class Standing:
    """Where the machine stands in the events of a batch; to be read while it runs."""

    state: NDArray[np.int64] | None = None

    def at_event(self, batch: EventBatch) -> int:
        """About how many events of a batch come before where it stands."""
        if self.state is None:
            return 0
        first = np.searchsorted(batch.part, self.state[at.C_PART])
        return int(first + self.state[at.C_STEPS])


@dataclass(frozen=True, slots=True)
class DecisionRows:
    """Rows of what was decided in partitions that were run with so many words for each number."""

    words: int
    rows: NDArray[np.int64]


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
    def nothing(mode: NumberMode, words: int) -> Kept:
        """No state of any partition."""
        empty = np.empty((0, 6), np.int64)
        return Kept(empty, np.empty(0, np.int64), mode.array(0, words), np.empty(0))


@dataclass(frozen=True, slots=True)
class Portion:
    """Partitions that are run by the same code, to begin with by numbers of so many words.

    `bundles` has for each bundle of the code its number in the code of all units.
    """

    compiled: Compiled
    ranges: NDArray[np.int64]
    words: int
    bundles: NDArray[np.int64]

    @staticmethod
    def all_of(compiled: Compiled, ranges: NDArray[np.int64], words: int = 1) -> Portion:
        """All units of code for some partitions."""
        return Portion(compiled, ranges, words, np.arange(len(compiled.bundles)))


def run_batch(
    compiled: Compiled,
    batch: EventBatch,
    mode: NumberMode,
    trace: bool = False,
    portions: Sequence[Portion] | None = None,
    standing: Standing | None = None,
    whole: NDArray[np.int64] | None = None,
) -> tuple[Emission, Counters]:
    """All windows of all partitions of a batch, closed at its end.

    Args:
        compiled: The code of all units.
        batch: The events.
        mode: How numbers are computed.
        trace: Whether to keep what is decided about sharing.
        portions: The units that are no part of a group of rows, by code and words; all of them with
            one word when left out.
        standing: Is told where the machine stands.
        whole: All partitions, see `partition_ranges`, where they have been found.
    """
    counters = Counters()
    whole = partition_ranges(batch) if whole is None else whole
    if trace:
        counters.trace, counters.bursts_decided = [], []
    tables = compiled.tables or ((),) * len(compiled.row_groups)
    groups = zip(compiled.row_groups, compiled.sharing, tables, strict=True)
    emissions = [
        part
        for group, sharing, some in groups
        for part in run_group(compiled, group, sharing, batch, mode, counters, whole, some)
    ]
    if portions is None:
        portions = [Portion.all_of(compiled, whole)]
    for portion in portions:
        emissions += _run_portion(portion, batch, mode, counters, standing)
    return joined(compiled, emissions, mode), counters


def _run_portion(
    portion: Portion,
    batch: EventBatch,
    mode: NumberMode,
    counters: Counters,
    standing: Standing | None,
) -> Iterator[Emission]:
    """All windows of the units of a portion."""
    compiled, ranges, words = portion.compiled, portion.ranges, portion.words
    limits = all_limits(ranges)
    while len(ranges) and len(compiled.code.u_w):
        kept = Kept.nothing(mode, words)
        emission, redo, _ = run_once(
            compiled, batch, ranges, kept, FAR, mode, words, counters, standing, limits=limits
        )
        yield emission
        if counters.trace:
            rows = counters.trace[-1].rows
            rows[:, _BUNDLE] = portion.bundles[rows[:, _BUNDLE]]
        if not len(redo):
            break
        counters.partitions_redone += len(np.unique(redo[:, 0]))
        ranges = np.full((len(redo), ranges.shape[1]), -1, np.int64)
        ranges[:, :3], limits = redo[:, :3], np.ascontiguousarray(redo[:, 3:])
        words = next_words(words)


def run_group(
    compiled: Compiled,
    made: PlacedGroup,
    sharing: str,
    batch: EventBatch,
    mode: NumberMode,
    counters: Counters,
    whole: NDArray[np.int64],
    tables: tuple[tuple[int, ...], ...] = (),
) -> list[Emission]:
    """All windows of the units of one group in some partitions, under a policy of sharing.

    Which units have a table together follows from their events, where it is not given.
    """
    batch, whole = sifted(made, batch, whole)
    parts: list[Emission] = []
    templates = np.array([unit.template for unit in made.group.units], np.int32)
    is_traced = counters.bursts_decided is not None
    decided: list[NDArray[np.int64]] = [np.empty((0, DECIDED), np.int64)]
    ranges, probe = all_windows(whole), None
    if mode is NumberMode.EXACT:
        probe = _middle(ranges, batch)
    # What is to be run, by words; a partition comes first where it is to show how it fares.
    waiting = {1: [ranges if probe is None else probe]}
    while waiting:
        words = min(waiting)
        ranges = np.concatenate(waiting.pop(words))
        if not len(ranges):
            continue
        done = run_rows(made, batch, ranges, mode.array(0, words), sharing, is_traced, tables)
        if is_traced:
            decided.append(_decided(made, done))
        counters.windows += len(done.part)
        counters.bursts += done.bursts
        counters.shared_bursts += done.shared
        counters.split += done.split
        counters.snapshots += done.snapshots
        template = take(templates, done.unit)
        parts.append(
            emission_of(compiled, done.part, template, done.window, done.components, done.extremes)
        )
        if len(done.redo):
            counters.partitions_redone += len(np.unique(done.redo[:, 0]))
            waiting.setdefault(next_words(words), []).append(done.redo)
        if probe is not None:
            # Where most of it has outgrown a word, so is most of others expected to.
            has_outgrown = 2 * _sizes(done.redo).sum() > _sizes(probe).sum()
            others = all_windows(whole[whole[:, 0] != probe[0, 0]])
            waiting.setdefault(next_words(1) if has_outgrown else 1, []).append(others)
            probe = None
    if counters.bursts_decided is not None:
        counters.bursts_decided.append(np.concatenate(decided))
    return parts


def tables_before(
    made: PlacedGroup, batch: EventBatch, whole: NDArray[np.int64]
) -> tuple[tuple[int, ...], ...]:
    """The units of a group that would have a table together in most of some partitions."""
    batch, whole = sifted(made, batch, whole)
    return tables_of(made, batch, whole)


def _sizes(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many events partitions have."""
    sizes: NDArray[np.int64] = ranges[:, 2] - ranges[:, 1]
    return sizes


def _middle(ranges: NDArray[np.int64], batch: EventBatch) -> NDArray[np.int64] | None:
    """The partition of the middle length where it is worth seeing first how it fares."""
    if len(ranges) < _SEVERAL or len(batch) < _MANY_EVENTS:
        return None
    middle = np.argsort(_sizes(ranges), kind="stable")[len(ranges) // 2]
    return ranges[middle : middle + 1]


def _decided(made: PlacedGroup, done: RowRecords) -> NDArray[np.int64]:
    """What was decided in partitions that need no wider numbers, by the times of events."""
    rows = done.decisions
    if len(done.redo):
        rows = rows[~np.isin(rows[:, T_PART], done.redo[:, 0])]
    if made.group.is_backward:
        rows[:, T_TIME] = made.group.within_us - 1 - rows[:, T_TIME]
    return rows


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


def all_limits(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of some ranges that all of its windows are asked for."""
    return np.tile(np.array([-FAR, -FAR, FAR]), (len(ranges), 1))


def run_once(
    compiled: Compiled,
    events: EventBatch,
    ranges: NDArray[np.int64],
    kept: Kept,
    until: int,
    mode: NumberMode,
    words: int,
    counters: Counters,
    standing: Standing | None = None,
    learnt: NDArray[np.int64] | None = None,
    limits: NDArray[np.int64] | None = None,
) -> tuple[Emission, NDArray[np.int64], Kept]:
    """Run some partitions with numbers of one kind.

    What is learnt of bundles is for how many events in a row each has behaved alike; it is gone on
    from, and written anew.

    Of each of the ranges some windows are asked for: see machine/redoing.py, which also says what
    is given up, to be run again by numbers of a wider kind; nothing is emitted of that. Without
    limits all windows are asked for, and whole partitions given up.

    Returns what they emit, what was given up, and, with `until` before the end of time, the state
    of the other partitions.
    """
    zero = mode.array(0, words)
    memory, seen, sides, stored, records = _laid_out(
        compiled, events, ranges, zero, counters.trace is not None
    )
    if standing is not None:
        standing.state = memory.S
    runs = memory.S[memory.P[at.S_B_RUN] :][: len(compiled.bundles)]
    if learnt is not None:
        runs[:] = learnt
    # What is decided is told of whole partitions, and a stream goes on with whole ones. So do
    # doubles: where one outgrows its exponent, most that come after it do.
    is_whole = limits is None or counters.trace is not None or mode is NumberMode.FLOAT
    memory.S[at.C_WHOLE] = int(is_whole)
    limits = all_limits(ranges) if limits is None else limits
    known = (kept.ints, kept.numbers, kept.extremes)
    written, redo, after, trace = stoppable(
        lambda stop: run(
            memory._replace(err=stop), seen, sides, stored, records, until, ranges, limits, known
        ),
        steps=_steps(compiled, ranges, words),
    )
    if learnt is not None:
        learnt[:] = np.maximum(runs, 0)
    n = int(records.n[0])
    _count(counters, memory.S, n)
    if counters.trace is not None:
        counters.trace.append(DecisionRows(words, trace.reshape(-1, TRACED).copy()))
    emission = _emission(compiled, memory.S, written, n)
    return emission, redo.reshape(-1, AGAIN), Kept(*after)


class _Sizes(NamedTuple):
    """What follows from code alone of how much memory it takes."""

    units: int
    windows: int  # of all units that may be open, once for each component
    components: int  # the most of any unit
    widest_extremes: int
    values: int  # numbers and extremes of rows, and of the widest window
    extremes: int
    factors: int
    sums: int
    logs: int
    logged: int  # numbers and extremes of an entry in all logs
    logged_extremes: int
    guard_logs: int
    kinds: tuple[
        tuple[int, int, int], ...
    ]  # of windows: slide, how many are open, of how many units


def _sizes_of(compiled: Compiled) -> _Sizes:
    """The sizes of code, worked out once."""
    sizes: _Sizes = compiled.sizes.get_or_make(None, lambda: _sizes_from(compiled))
    return sizes


def _sizes_from(compiled: Compiled) -> _Sizes:
    code = compiled.code
    wide, wide_x = code.u_w * code.u_nc, code.u_w * code.u_nx
    windows = zip(code.u_slide.tolist(), code.u_w.tolist(), strict=True)
    return _Sizes(
        units=len(code.u_w),
        windows=int(wide.sum()),
        components=max(int(code.u_nc.max()), 1),
        widest_extremes=int(code.u_nx.max()),
        values=compiled.values + int(wide.max()),
        extremes=compiled.extremes + int(wide_x.max()),
        factors=2 * (len(code.z_atom) + len(code.lazies) // at.LAZY),
        sums=code.stamps + 2 * len(code.zl_weight),
        logs=len(code.log_unit),
        logged=int(wide[code.log_unit].sum()),
        logged_extremes=int(wide_x[code.log_unit].sum()),
        guard_logs=guard_logs_of(compiled),
        kinds=tuple((slide, most, n) for (slide, most), n in Counter(windows).items()),
    )


def _steps(compiled: Compiled, ranges: NDArray[np.int64], words: int) -> int:
    """About how many steps a run takes, which is at most: see stopping.py.

    Where events are kept one by one each of them may be looked at for each event of its partition.
    """
    sizes, lengths = _sizes_of(compiled), _sizes(ranges)
    events = int(lengths.sum())
    pairs = int(lengths.max(initial=1)) if sizes.logs or sizes.guard_logs else 1
    return events * (sizes.units + sizes.windows) * words * pairs


def _laid_out(
    compiled: Compiled,
    events: EventBatch,
    ranges: NDArray[np.int64],
    zero: NDArray[Any],
    is_traced: bool,
) -> tuple[Memory, EventArrays, Sides, Stored, Records]:
    """What the machine is handed for a batch; `zero` is an array of the kind of its numbers."""
    code, tables = compiled.code, by_letter(compiled, events.letters)
    events = in_turn(events, tables.in_turn)
    trees = lay_out_trees(compiled, events)
    packed, state = image_of(compiled, trees, tables)
    _set_sizes(state, compiled, events, is_traced)
    seen = EventArrays(
        events.ts,
        _tied(compiled, events),
        _letters(tables.alike, events, ranges),
        _line(events.weights),
        _line(events.extremes),
        tables.letters,
    )
    previous, following = _line(events.previous), _line(events.next)
    sides = Sides(
        events.letter,
        _line(events.letters),
        previous,
        following,
        previous.view(np.int64),
        following.view(np.int64),
        _line(events.columns),
        code.p_arg,
    )
    records = _records_expected(compiled, events, ranges)
    results = Records(
        np.empty(records, np.int32),
        np.empty(records, np.int32),
        np.empty(records, np.int64),
        _room(zero, records * state[at.C_MOST]),
        np.empty(records * state[at.C_MOST_X]),
        np.zeros(1, np.int64),
    )
    memory = _memory(compiled, tables.counters, packed, state, zero, events.weights.dtype)
    return memory, seen, sides, _stored(compiled, trees, zero), results


def _tied(compiled: Compiled, events: EventBatch) -> NDArray[np.uint8]:
    """Which events are of the time of the one before, and which come after others.

    Nobody asks for the latter where no trends wait for the very next event.
    """
    if events.after_others is None or not compiled.code.waits_for_next:
        return events.tied
    tied = events.tied.copy()
    tied[events.after_others != 0] = at.AFTER_OTHERS
    return tied


def _letters(
    alike: NDArray[np.int64], events: EventBatch, ranges: NDArray[np.int64]
) -> NDArray[Any]:
    """The letters of events; those that differ only in what other units ask are one.

    Not where few of the events are run: it makes runs of them longer, and changes no number.
    """
    is_worth_it = len(events) < _PART * int(_sizes(ranges).sum())
    if not is_worth_it or bool((alike == np.arange(len(alike))).all()):
        return events.letter
    letters: NDArray[Any] = alike.astype(events.letter.dtype)[events.letter]
    return letters


def _records_expected(compiled: Compiled, events: EventBatch, ranges: NDArray[np.int64]) -> int:
    """About how many windows have results: to make more room means to copy what there is.

    It is memory only where it is used, so rather more of it, but for batches of a few events.
    """
    sizes = _sizes(ranges)
    events_run = int(sizes.sum())
    expected = _FIRST_RECORDS + _RECORDS_OF_PARTITION * len(ranges) + events_run // 16
    if events_run < _MANY_EVENTS:
        return expected
    spans = events.ts[ranges[:, 2] - 1] - events.ts[ranges[:, 1]]
    for slide, most, units in _sizes_of(compiled).kinds:
        expected += units * int(np.minimum(spans // slide + most + 1, sizes * most).sum())
    return min(expected, max(_MOST_RECORDS, _RECORDS_OF_PARTITION * len(ranges)))


def _set_sizes(
    state: NDArray[np.int64], compiled: Compiled, events: EventBatch, is_traced: bool
) -> None:
    """Write into state the sizes by which the machine finds its way in arrays."""
    sizes = _sizes_of(compiled)
    state[at.C_EVENTS], state[at.C_ATOMS] = len(events), events.letters.shape[1]
    state[at.C_STACK], state[at.C_LOG], state[at.C_GLOG] = _FIRST_STACK, _FIRST_LOG, _FIRST_LOG
    state[at.C_LOGS], state[at.C_GUARD_LOGS] = sizes.logs, sizes.guard_logs
    state[at.C_MOST], state[at.C_MOST_X] = sizes.components, sizes.widest_extremes
    state[at.C_TRACE_ROOM] = 4 * sizes.units if is_traced else 0


def _memory(
    compiled: Compiled,
    counters: LazyCounters,
    packed: NDArray[np.int64],
    state: NDArray[np.int64],
    zero: NDArray[Any],
    weight_type: np.dtype[Any],
) -> Memory:
    """Code, state, rows and accumulators."""
    sizes = _sizes_of(compiled)
    return Memory(
        packed,
        state,
        _room(zero, sizes.values),
        np.empty(sizes.extremes),
        np.ones(sizes.factors),
        np.zeros(2 * (counters.sums + sizes.sums), weight_type),
        np.empty(counters.stacks * _FIRST_STACK, np.int64),
        np.empty(counters.stacks * _FIRST_STACK),
        None,  # what it looks at while it runs: see stopping.py
        np.empty(TRACED * state[at.C_TRACE_ROOM], np.int64),
    )


def _stored(compiled: Compiled, trees: Trees, zero: NDArray[Any]) -> Stored:
    """Logs and trees."""
    sizes = _sizes_of(compiled)
    return Stored(
        np.empty(ENTRY * sizes.logs * _FIRST_LOG, np.int64),
        _room(zero, sizes.logged * _FIRST_LOG),
        np.empty(sizes.logged_extremes * _FIRST_LOG),
        np.empty(3 * sizes.guard_logs * _FIRST_LOG, np.int64),
        _room(zero, trees.numbers),
        np.empty(trees.extremes),
        trees.places,
    )


def _count(counters: Counters, state: NDArray[np.int64], windows: int) -> None:
    """Count what a run has done."""
    counters.snapshots += int(state[at.C_SNAPSHOTS])
    counters.bursts += int(state[at.C_BURSTS])
    counters.windows += windows
    counters.shared += int(state[at.C_SHARED])
    counters.split += int(state[at.C_SPLIT])
    counters.merged += int(state[at.C_MERGED])


def _emission(
    compiled: Compiled, state: NDArray[np.int64], written: tuple[NDArray[Any], ...], n: int
) -> Emission:
    """The n records that the machine has written."""
    code, (_, _, most, most_x, *_) = compiled.code, _sizes_of(compiled)
    part, unit, window, v, x = written
    part, unit, window = part[:n], unit[:n], window[:n]
    v = v[: n * most].reshape((n, most, *v.shape[1:]))
    template = take(code.u_template.astype(np.int32), unit)
    x = x[: n * most_x].reshape(n, most_x)
    return emission_of(compiled, part, template, window, v, x)


def _room(zero: NDArray[Any], n: int) -> NDArray[Any]:
    """An array for n numbers of the same kind as another."""
    return np.empty((n, *zero.shape[1:]), zero.dtype)


def _line(array: NDArray[Any]) -> NDArray[Any]:
    """A table as one line of numbers, row after row."""
    return np.ascontiguousarray(array).reshape(-1)
