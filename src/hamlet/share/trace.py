"""A trace of decisions: one row for each burst, what was decided and what either way costs.

A kernel hands over plain integers; here they become an Arrow table that can be read by itself, and
a summary of it. Costs are worked out here and not in the kernel: they are our model's, for showing
why, with the coefficients the run had.

Name here               in the paper
burst                   b
queries                 k
snapshots_created       s_c, those of touched queries that share
snapshots_propagated    s_p: a burst is one map, so 1 where anybody shares and 0 where nobody does
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from hamlet.share.coefficients import DEFAULTS, CoefficientTable, NumberKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

Times = Literal["timestamps", "seconds"]

# The columns of what a kernel hands over.
PARTITION, TIME, ACCUMULATOR, BURST, QUERIES, TOUCHED, SPLIT, MERGED = range(8)
RAW_COLUMNS = 8

DECIDED = ("share", "split", "merge", "mixed")
_SHARE, _SPLIT, _MERGE, _MIXED = range(4)
_NAMES = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Accumulator:
    """What bursts of one shared E+ are kept in: the type, and the size of a query that shares it.

    `windows` and `words` are averages where its queries differ.
    """

    type: str
    windows: float
    kind: NumberKind = "double"
    words: float = 1


def trace_schema(times: Times = "timestamps") -> Any:
    """The columns of a trace.

    set                   number of the sharable set
    group                 JSON text of the values that the partition has in common
    pane_start            start of the pane the burst begins in
    type                  E
    burst                 events in the burst
    queries               queries that could share it
    snapshots_created     queries that were touched and share it
    snapshots_propagated  1 where any query shares it
    split                 queries that take it alone
    merged                queries that share it and took the one before alone
    cost_shared           nanoseconds if all shared it
    cost_alone            nanoseconds if none did
    decided               "share" all; "merge" all, some of them again; "split" all alone;
                          "mixed" some alone and some shared
    """
    start = pa.timestamp("us", tz="UTC") if times == "timestamps" else pa.float64()
    counts = ("burst", "queries", "snapshots_created", "snapshots_propagated", "split", "merged")
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
    groups: Sequence[str] | Any,
    accumulators: Sequence[Accumulator],
    pane_us: int,
    *,
    sharable_set: int = 0,
    times: Times = "timestamps",
    coefficients: CoefficientTable = DEFAULTS,
) -> Any:
    """The trace of one sharable set as an Arrow table. O(rows), nothing in Python for each.

    Args:
        raw: [rows, 8]: partition, time in microseconds of the first event, accumulator, events,
            queries that could share, of these touched since the burst before, taking this burst
            alone, and sharing again.
        groups: The JSON text of each partition.
        accumulators: What the accumulators are, by number.
        pane_us: The length of a pane.
        sharable_set: The number of the set.
        times: Whether times are shown as timestamps or as seconds.
        coefficients: What the costs are worked out with.
    """
    raw = raw.reshape(-1, RAW_COLUMNS)
    number = raw[:, ACCUMULATOR]
    snapshot, alone, event = _costs(accumulators, coefficients)
    burst, queries, touched = raw[:, BURST], raw[:, QUERIES], raw[:, TOUCHED]
    events_ns = burst * event[number]
    columns = [
        pa.array(np.full(len(raw), sharable_set, np.int32)),
        _text(groups).take(pa.array(raw[:, PARTITION])),
        _pane_start(raw[:, TIME] // pane_us * pane_us, times),
        _named(number, [one.type for one in accumulators]),
        pa.array(burst),
        pa.array(queries),
        # A touched query that takes the burst alone needs no snapshot for it.
        pa.array(touched - raw[:, SPLIT]),
        pa.array((raw[:, SPLIT] < queries).astype(np.int64)),
        pa.array(raw[:, SPLIT]),
        pa.array(raw[:, MERGED]),
        pa.array(events_ns + touched * snapshot[number]),
        pa.array(events_ns + queries * alone[number]),
        _named(_decided(raw), DECIDED),
    ]
    return pa.Table.from_arrays(columns, schema=trace_schema(times))


def _text(words: Sequence[str] | Any) -> Any:
    if isinstance(words, pa.Array | pa.ChunkedArray):
        words = words.cast(pa.large_string())
        return words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
    return pa.array(words, pa.large_string())


def _decided(raw: Ints) -> Ints:
    split, merged = raw[:, SPLIT], raw[:, MERGED]
    shared = np.where(merged > 0, _MERGE, _SHARE)
    apart = np.where(split == raw[:, QUERIES], _SPLIT, _MIXED)
    return np.where(split == 0, shared, apart)


def _costs(accumulators: Sequence[Accumulator], table: CoefficientTable) -> NDArray[np.float64]:
    """Nanoseconds of a snapshot, of a burst alone and of an event, for each accumulator."""
    costs = np.zeros((3, len(accumulators)))
    for number, one in enumerate(accumulators):
        c = table.of(one.kind)
        costs[:, number] = (
            c.snapshot_ns(one.windows, one.words),
            c.alone_ns(one.windows, one.words),
            c.event,
        )
    return costs


def _named(numbers: Ints, names: Sequence[str]) -> Any:
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers.astype(np.int32)), pa.array(names, pa.string())
    )


def _pane_start(start_us: Ints, times: Times) -> Any:
    if times == "timestamps":
        return pa.array(start_us).cast(pa.timestamp("us", tz="UTC"))
    # Whole seconds and the rest apart: each is a number that a double can hold.
    return pa.array(start_us // 1_000_000 + start_us % 1_000_000 / 1e6)


# Summaries


@dataclass(frozen=True, slots=True)
class Summary:
    """What was decided about one shared E+ of one sharable set, over a whole trace.

    Attributes:
        sharable_set: The number of the set.
        type: E.
        bursts: How many there were.
        decided: How many of them each decision took.
        events: Events in all bursts.
        shared_events: Events in bursts that at least one query shared.
        shared_work: Of all pairs of an event and a query, those where the query shared the event.
        mean_burst: Events per burst.
        cost_shared: Mean nanoseconds of a burst if all had shared.
        cost_alone: Mean nanoseconds of a burst if none had.
        why: What the decisions came from, in a sentence.
    """

    sharable_set: int
    type: str
    bursts: int
    decided: dict[str, int]
    events: int
    shared_events: int
    shared_work: float
    mean_burst: float
    cost_shared: float
    cost_alone: float
    why: str

    @property
    def share_of_events(self) -> float:
        """The part of all events that was in shared bursts."""
        return self.shared_events / self.events if self.events else 0.0

    def __str__(self) -> str:
        """The summary in two lines; decisions that were never taken are left out."""
        taken = ", ".join(f"{count:,} {name}" for name, count in self.decided.items() if count)
        return (
            f"set {self.sharable_set}, {self.type}+: {self.bursts:,} bursts of "
            f"{self.mean_burst:.1f} events ({taken}), {self.share_of_events:.0%} of events shared\n"
            f"  {self.why}"
        )


def summarise(trace: Any) -> list[Summary]:
    """What was decided, for each sharable set and type of a trace, in order of both."""
    return [_summary(number, name, rows) for number, name, rows in _parts(trace)]


def _parts(trace: Any) -> Iterator[tuple[int, str, dict[str, NDArray[Any]]]]:
    """The rows of each sharable set and type, as arrays."""
    if not trace.num_rows:
        return
    names, kind = _decoded(trace["type"])
    decisions, decided = _decoded(trace["decided"])
    numeric = ("set", "burst", "queries", "snapshots_created", "snapshots_propagated", "split")
    columns = {name: trace[name].to_numpy() for name in (*numeric, "cost_shared", "cost_alone")}
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
    burst, queries = rows["burst"], rows["queries"]
    counts = np.bincount(rows["decided"], minlength=len(DECIDED)).tolist()
    pairs = float((burst * queries).sum())
    shared = float((burst * (queries - rows["split"])).sum())
    touched = rows["snapshots_created"] + rows["split"]
    costs = (float(rows["cost_shared"].mean()), float(rows["cost_alone"].mean()))
    return Summary(
        sharable_set=number,
        type=name,
        bursts=len(burst),
        decided=dict(zip(DECIDED, counts, strict=True)),
        events=int(burst.sum()),
        shared_events=int(burst[rows["snapshots_propagated"] > 0].sum()),
        shared_work=shared / pairs if pairs else 0.0,
        mean_burst=float(burst.mean()),
        cost_shared=costs[0],
        cost_alone=costs[1],
        why=_why(float(touched.mean()), float(queries.mean()), *costs),
    )


def _why(touched: float, queries: float, shared: float, alone: float) -> str:
    return (
        f"{touched:.1f} of {queries:.1f} queries are touched before a burst, which costs "
        f"{shared:,.0f} ns if all share and {alone:,.0f} ns if none does"
    )
