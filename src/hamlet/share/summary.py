"""A trace in short: what was decided about each E+ of each sharable set, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.errors import counted
from hamlet.share.trace import DECIDED, MERGE, SHARE, SPLIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hamlet.share.trace import About

    Ints = NDArray[np.int64]
    Columns = dict[str, NDArray[Any]]

# The numbers of a trace that are about one burst
OF_BURST = (
    "burst",
    "live",
    "queries",
    "windows",
    "snapshots_created",
    "snapshots_propagated",
    "cost_shared",
    "cost_alone",
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What was decided about one E+ of one sharable set, over a whole trace.

    Attributes:
        sharable_set: The number of the set.
        type: E.
        about: Whether bursts were decided about, or bundles at the events that touch them.
        decisions: How many there were.
        decided: How many of each.
        pays: Of these, how often to share costs less.
        as_one: How often it was shared.
        mean_burst: b, on average.
        mean_live: n; 0 of touches.
        mean_queries: k.
        mean_windows: w.
        snapshots: Snapshots that were created, s_c, in all.
        mean_snapshots: That were propagated, s_p, on average.
        cost: Nanoseconds as it was decided, on average.
        cost_shared: If all had been shared.
        cost_alone: If none had been.
        why: What the decisions came from, in a sentence.
    """

    sharable_set: int
    type: str
    about: About
    decisions: int
    decided: dict[str, int]
    pays: int
    as_one: int
    mean_burst: float
    mean_live: float
    mean_queries: float
    mean_windows: float
    snapshots: int
    mean_snapshots: float
    cost: float
    cost_shared: float
    cost_alone: float
    why: str


def summarise(trace: Any) -> list[Summary]:
    """What was decided, for each sharable set and type of a trace, in order of both."""
    return [_summary(*key, rows) for key, rows in _parts(trace)]


def _parts(trace: Any) -> Iterator[tuple[tuple[int, str, Any], Columns]]:
    """The rows of each sharable set, type and kind of decision, as arrays."""
    if not trace.num_rows:
        return
    types, of_type = _decoded(trace["type"])
    kinds, of_kind = _decoded(trace["about"])
    decisions, decided = _decoded(trace["decided"])
    columns = {name: trace[name].fill_null(0).to_numpy() for name in ("set", *OF_BURST)}
    columns["decided"] = np.array([DECIDED.index(name) for name in decisions])[decided]
    # One number for all three, which sorts as they do.
    ranks = [sorted(types), sorted(kinds)]
    key = columns["set"].astype(np.int64)
    for names, numbers, ranked in zip((types, kinds), (of_type, of_kind), ranks, strict=True):
        key = key * len(ranked) + np.array([ranked.index(name) for name in names])[numbers]
    for one in np.unique(key).tolist():
        rest, kind = divmod(one, len(ranks[1]))
        number, of = divmod(rest, len(ranks[0]))
        here = key == one
        found = {name: column[here] for name, column in columns.items()}
        yield (number, ranks[0][of], ranks[1][kind]), found


def _decoded(column: Any) -> tuple[list[str], Ints]:
    """The words of a column, and which of them each row has.

    Pieces of a trace that were put together, and files, have dictionaries of their own or none.
    """
    array = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return array.dictionary.to_pylist(), array.indices.to_numpy().astype(np.int64)


def _summary(number: int, name: str, about: About, rows: Columns) -> Summary:
    decided, shared, alone = rows["decided"], rows["cost_shared"], rows["cost_alone"]
    is_shared = (decided == SHARE) | (decided == MERGE)
    # A bundle is split by an event that finds it merged, so that costs what a merged one does.
    paid_shared = is_shared | ((decided == SPLIT) & (about == "touch"))
    cost = np.where(paid_shared, shared, alone)
    pays = shared < alone
    counts = np.bincount(decided, minlength=len(DECIDED)).tolist()
    means = tuple(float(each.mean()) for each in (cost, shared, alone))
    why = _why_touches if about == "touch" else _why_bursts
    return Summary(
        sharable_set=number,
        type=name,
        about=about,
        decisions=len(decided),
        decided=dict(zip(DECIDED, counts, strict=True)),
        pays=int(pays.sum()),
        as_one=int(is_shared.sum()),
        mean_burst=float(rows["burst"].mean()),
        mean_live=float(rows["live"].mean()),
        mean_queries=float(rows["queries"].mean()),
        mean_windows=float(rows["windows"].mean()),
        snapshots=int(rows["snapshots_created"].sum()),
        mean_snapshots=float(rows["snapshots_propagated"].mean()),
        cost=means[0],
        cost_shared=means[1],
        cost_alone=means[2],
        why=why(len(decided), int(pays.sum()), int((pays & ~is_shared).sum()), *means),
    )


def _why_touches(
    touches: int, for_all: int, waited: int, cost: float, _shared: float, alone: float
) -> str:
    kept = "every event is for all queries"
    if touches > for_all:
        some = counted(touches - for_all, "event is for some", "events are for some")
        kept = f"{some} queries only, and {waited:,} for all found them split"
    return f"{kept}; a touch costs {cost:,.0f} ns, {alone:,.0f} ns with a snapshot for each query"


def _why_bursts(
    bursts: int, pays: int, missed: int, _cost: float, shared: float, alone: float
) -> str:
    cheaper = f"to share costs less in {pays:,} of {counted(bursts, 'burst')}"
    if missed:
        cheaper += f", and {missed:,} of these were not shared"
    return (
        f"{cheaper}; until open windows close, {shared / 1e3:,.1f} µs over snapshots against "
        f"{alone / 1e3:,.1f} µs over own columns"
    )
