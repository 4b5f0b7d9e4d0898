"""A trace of decisions: one row for each event that touches a bundle, and what either way costs.

A kernel hands over plain integers; here they become an Arrow table that can be read by itself, and
a summary of it. Costs are worked out here and not in the kernel: they are our model's, for showing
why, with the coefficients the run had.

Name here               in the paper
burst                   b
queries                 k
snapshots_created       s_c: one of a merged bundle, one for each query of a split one
snapshots_propagated    s_p: a burst is one map, so always 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.errors import counted
from hamlet.events.times import given_times, time_type
from hamlet.share.coefficients import DEFAULTS, CoefficientTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.events.times import Times
    from hamlet.share.cost import BundleSize

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


# The columns of what a kernel hands over.
PARTITION, TIME, BUNDLE, BURST, QUERIES, BEFORE, AFTER, DECISION = range(8)
RAW_COLUMNS = 8

DECIDED = ("share", "alone", "merge", "split")
_SHARE, _ALONE, _MERGE, _SPLIT = range(4)
_NAMES = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Traced:
    """A bundle that is traced: the type E of the loop that its queries share, and their size."""

    type: str
    size: BundleSize


def trace_schema(times: Times = "timestamps") -> Any:
    """The columns of a trace.

    set                   number of the sharable set, from 1
    group                 JSON text of the values that the partition has in common
    pane_start            start of the pane of the event
    type                  E
    burst                 events of E since the bundle was touched before
    queries               queries of the bundle
    snapshots_created     queries that have state of their own after the event
    snapshots_propagated  1: a burst is one map
    cost_shared           nanoseconds if the bundle is merged when the event comes
    cost_alone            nanoseconds if it is split
    decided               "share" it is merged; "alone" it is split and stays so; "merge" it was
                          split and is merged; "split" it was merged and is split
    """
    start = time_type(times)
    counts = ("burst", "queries", "snapshots_created", "snapshots_propagated")
    return pa.schema(
        [
            ("set", pa.int32()),
            ("group", pa.large_string()),
            ("pane_start", start),
            ("type", _NAMES),
            *((name, pa.int64()) for name in counts),
            ("cost_shared", pa.float64()),
            ("cost_alone", pa.float64()),
            ("decided", _NAMES),
        ]
    )


def trace_table(
    raw: Ints,
    is_for_all: Flags,
    groups: Sequence[str] | Any,
    bundles: Sequence[Traced],
    pane_us: int,
    *,
    sharable_set: int = 1,
    times: Times = "timestamps",
    coefficients: CoefficientTable = DEFAULTS,
) -> Any:
    """The trace of one sharable set as an Arrow table. O(rows log rows), none of it in Python.

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
        coefficients: What the costs are worked out with.
    """
    raw, is_for_all, touched = _by_event(raw.reshape(-1, RAW_COLUMNS), is_for_all)
    number = raw[:, BUNDLE]
    touch, split, event = (each[number] for each in _costs(bundles, coefficients))
    burst, queries = raw[:, BURST], raw[:, QUERIES]
    events_ns = burst * event
    shared = np.where(is_for_all, touch, split + touched * touch)
    alone = np.where(is_for_all, queries, touched) * touch
    columns = [
        pa.array(np.full(len(raw), sharable_set, np.int32)),
        _text(groups).take(pa.array(raw[:, PARTITION])),
        given_times(raw[:, TIME] // pane_us * pane_us, times),
        _named(number, [one.type for one in bundles]),
        pa.array(burst),
        pa.array(queries),
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
    return np.where((decided == _MERGE) & (raw[:, BEFORE] == 0), _SHARE, decided)


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


# Summaries


@dataclass(frozen=True, slots=True)
class Summary:
    """What was decided about the bundles on one shared E+ of one sharable set, over a whole trace.

    Attributes:
        sharable_set: The number of the set.
        type: E.
        touches: Events that touched a bundle.
        for_all: Of these, events for all queries of the bundle.
        as_one: Of these, events that cost as one because the bundle was merged.
        decided: How many touches each decision took.
        mean_burst: Events of E between two touches.
        mean_queries: Queries of the bundle, on average over touches.
        cost: Nanoseconds of all touches as they were decided.
        cost_alone: Nanoseconds if no bundle had been merged.
        why: What the decisions came from, in a sentence.
    """

    sharable_set: int
    type: str
    touches: int
    for_all: int
    as_one: int
    decided: dict[str, int]
    mean_burst: float
    mean_queries: float
    cost: float
    cost_alone: float
    why: str

    @property
    def share_for_all(self) -> float:
        """The part of touches by events for all queries of a bundle."""
        return self.for_all / self.touches


def summarise(trace: Any) -> list[Summary]:
    """What was decided, for each sharable set and type of a trace, in order of both."""
    return [_summary(number, name, rows) for number, name, rows in _parts(trace)]


def _parts(trace: Any) -> Iterator[tuple[int, str, dict[str, NDArray[Any]]]]:
    """The rows of each sharable set and type, as arrays."""
    if not trace.num_rows:
        return
    names, kind = _decoded(trace["type"])
    decisions, decided = _decoded(trace["decided"])
    numeric = ("set", "burst", "queries", "cost_shared", "cost_alone")
    columns = {name: trace[name].to_numpy() for name in numeric}
    columns["decided"] = np.array([DECIDED.index(name) for name in decisions])[decided]
    ranked = sorted(names)
    rank = np.array([ranked.index(name) for name in names])[kind]
    # One number for both, which sorts as the two do.
    key = columns["set"].astype(np.int64) * len(ranked) + rank
    for one in np.unique(key).tolist():
        number, of = divmod(one, len(ranked))
        here = key == one
        yield number, ranked[of], {name: column[here] for name, column in columns.items()}


def _decoded(column: Any) -> tuple[list[str], Ints]:
    """The words of a column, and which of them each row has.

    Pieces of a trace that were put together, and files, have dictionaries of their own or none.
    """
    array = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return array.dictionary.to_pylist(), array.indices.to_numpy().astype(np.int64)


def _summary(number: int, name: str, rows: dict[str, NDArray[Any]]) -> Summary:
    decided, shared, alone = rows["decided"], rows["cost_shared"], rows["cost_alone"]
    # Only for an event for all is it cheaper to be merged.
    for_all = shared < alone
    is_merged = (decided == _SHARE) | (decided == _MERGE)
    cost = np.where(is_merged | (decided == _SPLIT), shared, alone)
    waited = int((for_all & ~is_merged).sum())
    counts = np.bincount(decided, minlength=len(DECIDED)).tolist()
    costs = (float(cost.sum()), float(alone.sum()))
    return Summary(
        sharable_set=number,
        type=name,
        touches=len(decided),
        for_all=int(for_all.sum()),
        as_one=int(is_merged.sum()),
        decided=dict(zip(DECIDED, counts, strict=True)),
        mean_burst=float(rows["burst"].mean()),
        mean_queries=float(rows["queries"].mean()),
        cost=costs[0],
        cost_alone=costs[1],
        why=_why(len(decided) - int(for_all.sum()), waited, *costs, len(decided)),
    )


def _why(for_some: int, waited: int, cost: float, alone: float, touches: int) -> str:
    kept = "every event is for all queries"
    if for_some:
        some = counted(for_some, "event is for some", "events are for some")
        kept = f"{some} queries only, and {waited:,} for all found them split"
    return (
        f"{kept}; a touch costs {cost / touches:,.0f} ns, {alone / touches:,.0f} ns with a "
        "snapshot for each query"
    )
