"""A trace of decisions: a row for each burst of a loop with an edge predicate, with both costs.

And one for each event that touches a bundle of queries on a loop without one. Kernels hand over
plain integers; here they become an Arrow table that can be read by itself. What a burst costs is
what the kernel decided by; the costs of a touch are worked out here, with the coefficients of the
run.

Name here               in the paper
burst                   b
live                    n
queries                 k
snapshots_created       s_c; of a bundle: one if it is merged, one for each query of a split one
snapshots_propagated    s_p; a touched burst is one map, so always 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from hamlet.events.times import given_times, time_type
from hamlet.kernel.rows import layout
from hamlet.plan.clocks import PLAIN
from hamlet.share.coefficients import DEFAULTS, CoefficientTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.events.times import Times
    from hamlet.plan.clocks import Clock
    from hamlet.share.cost import BundleSize

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


# The columns of what a kernel hands over.
PARTITION, TIME, BUNDLE, BURST, QUERIES, BEFORE, AFTER, DECISION = range(8)
RAW_COLUMNS = 8

DECIDED = ("share", "alone", "merge", "split")
SHARE, ALONE, MERGE, SPLIT = range(4)
_OF_BURSTS = {
    layout.KEEP_SHARED: SHARE,
    layout.KEEP_OWN: ALONE,
    layout.MERGE: MERGE,
    layout.SPLIT: SPLIT,
}
# What a row is about
About = Literal["burst", "touch"]
ABOUT: tuple[About, ...] = ("burst", "touch")
_NAMES = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Traced:
    """A bundle that is traced: the type E of the loop that its queries share, and their size."""

    type: str
    size: BundleSize
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TracedLoop:
    """A loop with an edge predicate that is traced.

    Attributes:
        type: Its type E.
        loop: Itself as text.
        queries: The queries that have it.
        classes: Where some of them left the others, the queries of each class.
    """

    type: str
    loop: str
    queries: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...] = ()


def trace_schema(times: Times = "timestamps") -> Any:
    """The columns of a trace.

    set                   number of the sharable set, from 1
    group                 JSON text of the values that the partition has in common
    pane_start            start of the pane of the event
    time                  time of the event with which the burst begins, or which touches the bundle
    about                 "burst" of a loop with an edge predicate, or "touch" of a bundle
    type                  E
    loop                  E, and its edge predicate
    class                 names of the queries that decide together
    burst                 b: events of E in the burst; of a touch, since the one before
    live                  n: events of E in a window, on average so far; null of a touch
    queries               k: queries of the class
    windows               w: windows that are open
    snapshots_created     s_c
    snapshots_propagated  s_p
    cost_shared           nanoseconds if it is shared: of a burst until all open windows are closed,
                          of a touch if the bundle is merged when the event comes
    cost_alone            nanoseconds if it is not
    decided               "share", "alone": as before; "merge": it was not shared, and is; "split":
                          it was, and is not
    """
    start = time_type(times)
    counts = ("burst", "live", "queries", "windows", "snapshots_created", "snapshots_propagated")
    return pa.schema(
        [
            ("set", pa.int32()),
            ("group", pa.large_string()),
            ("pane_start", start),
            ("time", start),
            ("about", _NAMES),
            ("type", _NAMES),
            ("loop", _NAMES),
            ("class", _NAMES),
            *((name, pa.int64()) for name in counts),
            ("cost_shared", pa.float64()),
            ("cost_alone", pa.float64()),
            ("decided", _NAMES),
        ]
    )


def burst_table(
    raw: Ints,
    groups: Sequence[str] | Any,
    loop: TracedLoop,
    pane_us: int,
    *,
    sharable_set: int = 1,
    times: Times = "timestamps",
    clock: Clock = PLAIN,
) -> Any:
    """The decisions of one loop with an edge predicate, as the row kernel wrote them down.

    Args:
        raw: [bursts, columns]: see T_PART to T_DECISION of kernel/rows/layout.py.
        groups: The JSON text of each partition.
        loop: What the loop is.
        pane_us: The length of a pane.
        sharable_set: The number of the set.
        times: What times are given in.
        clock: The clock of the windows of the set, on which kernels tell the time.
    """
    n, number = len(raw), raw[:, layout.T_CLASS]
    classes = list(loop.classes)
    # Where it is not known who left, all stand for each.
    classes += [loop.queries] * (int(number.max(initial=0)) + 1 - len(classes))
    sizes = np.array([len(queries) for queries in classes], np.int64)
    decided = np.array([_OF_BURSTS[code] for code in range(len(_OF_BURSTS))])
    nothing = np.zeros(n, np.int64)
    columns = [
        pa.array(np.full(n, sharable_set, np.int32)),
        _text(groups).take(pa.array(raw[:, layout.T_PART])),
        given_times(clock.moments(raw[:, layout.T_TIME] // pane_us * pane_us), times),
        given_times(clock.moments(raw[:, layout.T_TIME]), times),
        _named(nothing, ABOUT),
        _named(nothing, [loop.type]),
        _named(nothing, [loop.loop]),
        _named(number, [", ".join(queries) for queries in classes]),
        pa.array(raw[:, layout.T_EVENTS]),
        pa.array(raw[:, layout.T_LIVE]),
        pa.array(sizes[number]),
        pa.array(raw[:, layout.T_WINDOWS]),
        pa.array(raw[:, layout.T_CREATED]),
        pa.array(raw[:, layout.T_SNAPSHOTS]),
        pa.array(raw[:, layout.T_SHARED_NS].astype(np.float64)),
        pa.array(raw[:, layout.T_OWN_NS].astype(np.float64)),
        _named(decided[raw[:, layout.T_DECISION]], DECIDED),
    ]
    return pa.Table.from_arrays(columns, schema=trace_schema(times))


def trace_table(
    raw: Ints,
    is_for_all: Flags,
    groups: Sequence[str] | Any,
    bundles: Sequence[Traced],
    pane_us: int,
    *,
    sharable_set: int = 1,
    times: Times = "timestamps",
    clock: Clock = PLAIN,
    coefficients: CoefficientTable = DEFAULTS,
) -> Any:
    """The touches of the bundles of a set, as a table. O(rows log rows), none of it in Python.

    Args:
        raw: [rows, 8]: partition, time in microseconds, bundle, events of the burst before, queries
            of the bundle, of these with state of their own before and after (0 before the first
            event), and what was decided: see kernel/machine/bundles.py. An event that is for some
            queries only may have a row for each; it becomes one.
        is_for_all: For each row whether the event is for all queries.
        groups: The JSON text of each partition.
        bundles: What the bundles are, by number.
        pane_us: The length of a pane.
        sharable_set: The number of the set.
        times: What times are given in.
        clock: The clock of the windows of the set, on which kernels tell the time.
        coefficients: What the costs are worked out with.
    """
    raw, is_for_all, touched = _by_event(raw.reshape(-1, RAW_COLUMNS), is_for_all)
    number = raw[:, BUNDLE]
    touch, split, event = (each[number] for each in _costs(bundles, coefficients))
    burst, queries = raw[:, BURST], raw[:, QUERIES]
    events_ns = burst * event
    shared = np.where(is_for_all, touch, split + touched * touch)
    alone = np.where(is_for_all, queries, touched) * touch
    windows = np.array([one.size.windows for one in bundles], np.int64)[number]
    columns = [
        pa.array(np.full(len(raw), sharable_set, np.int32)),
        _text(groups).take(pa.array(raw[:, PARTITION])),
        given_times(clock.moments(raw[:, TIME] // pane_us * pane_us), times),
        given_times(clock.moments(raw[:, TIME]), times),
        _named(np.ones(len(raw), np.int64), ABOUT),
        _named(number, [one.type for one in bundles]),
        _named(number, [one.type for one in bundles]),
        _named(number, [", ".join(one.queries) for one in bundles]),
        pa.array(burst),
        pa.nulls(len(raw), pa.int64()),
        pa.array(queries),
        pa.array(windows),
        pa.array(raw[:, AFTER]),
        pa.array(np.ones(len(raw), np.int64)),
        pa.array(events_ns + shared),
        pa.array(events_ns + alone),
        _named(_decided(raw), DECIDED),
    ]
    return pa.Table.from_arrays(columns, schema=trace_schema(times))


def _by_event(raw: Ints, is_for_all: Flags) -> tuple[Ints, Flags, Ints]:
    """The first row of each event for some queries, and all others; how many rows each was.

    The first has what was decided: after it the bundle is split.
    """
    order = np.lexsort((raw[:, BUNDLE], raw[:, TIME], raw[:, PARTITION]))
    key = raw[order][:, [PARTITION, TIME, BUNDLE]]
    begins = np.ones(len(raw), np.bool_)
    begins[1:] = (key[1:] != key[:-1]).any(axis=1) | is_for_all[order][1:]
    firsts = np.flatnonzero(begins)
    counts = np.diff(np.append(firsts, len(raw)))
    back = np.argsort(order[firsts], kind="stable")
    kept = order[firsts][back]
    return raw[kept], is_for_all[kept], counts[back]


def _decided(raw: Ints) -> Ints:
    """What was decided; a bundle without any state was not split before, so it is not merged."""
    decided = raw[:, DECISION]
    return np.where((decided == MERGE) & (raw[:, BEFORE] == 0), SHARE, decided)


def _costs(bundles: Sequence[Traced], table: CoefficientTable) -> NDArray[np.float64]:
    """Nanoseconds of a touch, of a split and of an event of the burst, for each bundle."""
    costs = np.zeros((3, len(bundles)))
    for number, one in enumerate(bundles):
        c = table.of(one.size.kind)
        costs[:, number] = (one.size.touch_ns(c), one.size.split_ns(c), c.event)
    return costs


def _text(words: Sequence[str] | Any) -> Any:
    if isinstance(words, pa.Array | pa.ChunkedArray):
        words = words.cast(pa.large_string())
        return words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
    return pa.array(words, pa.large_string())


def _named(numbers: Ints, names: Sequence[str]) -> Any:
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers.astype(np.int32)), pa.array(names, pa.string())
    )
