"""What the steps of our kernels cost on this machine: the coefficients that sharing decides with.

Small kernels are run that differ in one thing only, such as how many entries fall into a window, so
that whatever else a run costs is not in the difference. How the difference grows with queries,
windows and words is then found by least squares.

    touch   as many bursts, with an entry before each of them, or before every sixth
    event   as many entries, with one event in a burst, or with eight
    copy    queries merged and split again in each slot, against queries that are never merged;
            a first touch is taken to cost what any other does

Chains of edges are not measured: their coefficients stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from hamlet.bench.sharing_kernels import kernel
from hamlet.bench.sharing_streams import twins
from hamlet.bench.timing import one_core, seconds
from hamlet.kernel.machine import FAR
from hamlet.kernel.machine.bundles import FOREVER
from hamlet.kernel.run import Counters, Kept, partition_ranges, run_once
from hamlet.plan.number_mode import NumberMode
from hamlet.share.coefficients import DEFAULTS, FIELDS, KINDS, CoefficientTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hamlet.bench.sharing_kernels import Kernel
    from hamlet.share.coefficients import NumberKind

    # What is being measured, and which part of the whole has been done before, from 0 to 1
    Progress = Callable[[str, float], None]

# Of each kind of numbers the words that it is measured with
WORDS: dict[NumberKind, tuple[int, ...]] = {
    "double": (1,),
    "wide": (2,),
    "int64": (1,),
    "words": (2, 4),
}
ALL, ONE = -1, 0
# Seconds of a window; counts in it stay far below 2^62.
_WITHIN = 48
_BURSTS = 6
_LEAST_NS = 0.1


@dataclass(frozen=True, slots=True)
class Scale:
    """How many windows a kernel has, of how many queries, and how often it is run."""

    slots: int = 2000
    repeat: int = 5
    queries: tuple[int, ...] = (4, 40)
    windows: tuple[int, ...] = (1, 4, 12)


FULL = Scale()
QUICK = Scale(slots=30, repeat=2, queries=(4, 12), windows=(1, 4))


class Sample(NamedTuple):
    """The nanoseconds of a step, for one query, in a kernel of this size."""

    windows: int
    rows: int
    words: int
    ns: float


def calibrate(
    scale: Scale = FULL, progress: Progress = lambda what, done: None
) -> dict[NumberKind, dict[str, float]]:
    """Measure the coefficients of each kind of numbers, in nanoseconds."""
    figures: dict[NumberKind, dict[str, float]] = {}
    with one_core():
        for number, kind in enumerate(KINDS):
            progress(f"measuring numbers of kind {kind}", number / len(KINDS))
            figures[kind] = _calibrate_kind(kind, scale)
    progress("done", 1.0)
    return figures


def as_table(found: dict[NumberKind, dict[str, float]]) -> CoefficientTable:
    """Measured coefficients, with shipped ones for what was not measured."""
    return CoefficientTable(
        **{
            kind: replace(
                DEFAULTS.of(kind),
                **{name: round(ns, 3) for name, ns in found[kind].items() if name in FIELDS},
            )
            for kind in KINDS
        }
    )


def as_text(found: dict[NumberKind, dict[str, float]]) -> str:
    """Measured and shipped coefficients, side by side."""
    lines = [f"{'nanoseconds':<22}{'measured':>10}{'shipped':>10}"]
    for kind, measured in found.items():
        for name, ns in measured.items():
            shipped = getattr(DEFAULTS.of(kind), name, None)
            known = "-" if shipped is None else f"{shipped:.2f}"
            lines.append(f"{f'{kind} {name}':<22}{ns:>10.2f}{known:>10}")
    return "\n".join(lines) + "\n"


def _calibrate_kind(kind: NumberKind, scale: Scale) -> dict[str, float]:
    sizes = [(k, w) for k in scale.queries for w in scale.windows]
    touches = [s for words in WORDS[kind] for s in _touches(kind, words, sizes, scale)]
    touch = _fitted(touches, [1] * len(touches))
    event = _event(kind, WORDS[kind][0], scale)
    copies = []
    for words in WORDS[kind]:
        for k, w in sizes:
            copies.append(_copy(kind, words, k, w, touch, scale))
    copy = _fitted(copies, [each.rows for each in copies])
    per_word = kind == "words"
    return {
        "event": event,
        "touch_fixed": touch[0],
        "touch_window": touch[1],
        **({"touch_word": touch[2]} if per_word else {}),
        "copy_fixed": copy[0],
        "copy_cell": copy[1],
        **({"copy_word": copy[2]} if per_word else {}),
    }


# Steps


def _touches(
    kind: NumberKind, words: int, sizes: list[tuple[int, int]], scale: Scale
) -> list[Sample]:
    """What a touch costs, for each number of windows: one query more that is touched."""
    by_windows: dict[int, list[tuple[int, float]]] = {}
    for k, w in sizes:
        often, seldom = (
            _kernel(kind, k, w, scale, [ALL] * n + [None] * (_BURSTS - n), "always")
            for n in (_BURSTS, 1)
        )
        apart = _apart(often, seldom, kind, words, scale)
        by_windows.setdefault(w, []).append((k, apart / (scale.slots * (_BURSTS - 1))))
    # An entry has a cost of its own too, however many queries it touches.
    return [Sample(w, 0, words, _slope(pairs)) for w, pairs in by_windows.items()]


def _slope(pairs: list[tuple[int, float]]) -> float:
    """How much the second grows for each one that the first grows by."""
    x, y = np.array(pairs, np.float64).T
    return float(np.polyfit(x, y, 1)[0])


def _event(kind: NumberKind, words: int, scale: Scale) -> float:
    """What one event more in a burst costs."""
    # A step so short is only seen in many.
    scale = replace(scale, slots=10 * scale.slots)
    long, short = (
        _kernel(kind, 4, 1, scale, [ALL] * _BURSTS, "always", burst=burst) for burst in (8, 1)
    )
    apart = _apart(long, short, kind, words, scale)
    return max(_LEAST_NS, apart / (scale.slots * _BURSTS * 7))


def _copy(
    kind: NumberKind, words: int, k: int, w: int, touch: Sequence[float], scale: Scale
) -> Sample:
    """What it costs to give one query of a split bundle its own state."""
    merging = _kernel(kind, k, w, scale, [ALL, ONE], "dynamic")
    never = merging.with_patience(FOREVER)
    apart = _apart(merging.with_patience(0), never, kind, words, scale)
    _, compiled, _ = merging.pieces[0]
    rows = int(compiled.code.u_nrows[compiled.bundles[0].units[0]])
    spared = touch[0] + (touch[1] + touch[2] * words) * w
    return Sample(w, rows, words, apart / (scale.slots * (k - 1)) + spared)


def _fitted(samples: list[Sample], rows: list[int]) -> tuple[float, float, float]:
    """Nanoseconds at all, for each number, and for each word of one; none is below zero.

    Numbers are rows times windows. With one size of words, words are not told from numbers.
    """
    numbers = np.array([s.windows * r for s, r in zip(samples, rows, strict=True)], np.float64)
    words = np.array([s.words for s in samples])
    columns = [np.ones(len(samples)), numbers, numbers * words]
    wanted = [0, 1, 2] if len(set(words.tolist())) > 1 else [0, 1]
    ns = np.array([s.ns for s in samples])
    while True:
        solved = np.linalg.lstsq(np.array([columns[i] for i in wanted]).T, ns, rcond=None)[0]
        if len(wanted) == 1 or solved.min() >= 0:
            break
        del wanted[int(solved.argmin())]
    fitted = [0.0, 0.0, 0.0]
    for i, value in zip(wanted, solved.tolist(), strict=True):
        fitted[i] = max(value, 0.0)
    return max(fitted[0], _LEAST_NS), fitted[1], fitted[2]


# Kernels


def _kernel(
    kind: NumberKind,
    queries: int,
    windows: int,
    scale: Scale,
    entries: Sequence[int | None],
    policy: str,
    burst: int = 1,
) -> Kernel:
    """Slots that all have the same events: for each entry, or none, an X and a burst of Ts."""
    slot: list[tuple[bool, int]] = []
    for entry in entries:
        slot += [(True, entry)] if entry is not None else []
        slot += [(False, 0)] * burst
    size = len(slot)
    # No window begins or ends inside a slot, and all are closed before the next one, so that slots
    # differ in their events only, and queries are equal again.
    inside = np.arange(size) / 1000
    begins = np.arange(scale.slots) * 2 * _WITHIN
    time = (begins[:, None] + inside).ravel()
    codes = np.tile([0 if is_entry else 1 for is_entry, _ in slot], scale.slots).astype(np.int32)
    v = np.tile([value for _, value in slot], scale.slots)
    types = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["X", "T"]))
    table = pa.table({"type": types, "time": time, "v": v})
    return kernel(twins(queries, _WITHIN, windows), table, _mode_of(kind).value, policy)


def _mode_of(kind: NumberKind) -> NumberMode:
    """The mode in which numbers of a kind occur."""
    return NumberMode.FLOAT if kind in ("double", "wide") else NumberMode.EXACT


def _apart(one: Kernel, other: Kernel, kind: NumberKind, words: int, scale: Scale) -> float:
    """How many nanoseconds more the one takes, with numbers of one kind: the least of each.

    They are run in turn, so that what else the machine does falls on both.
    """
    works = [_work(each, kind, words) for each in (one, other)]
    for work in works:
        work()
    rounds = [[seconds(work) for work in works] for _ in range(scale.repeat)]
    first, second = np.min(rounds, axis=0)
    return 1e9 * float(first - second)


def _work(kernel: Kernel, kind: NumberKind, words: int) -> Callable[[], Any]:
    """A run with numbers of one kind."""
    (_, compiled, batch), mode = kernel.pieces[0], _mode_of(kind)
    ranges = partition_ranges(batch)

    def run() -> Any:
        kept = Kept.nothing(mode, words)
        return run_once(compiled, batch, ranges, kept, FAR, mode, words, Counters())

    return run
