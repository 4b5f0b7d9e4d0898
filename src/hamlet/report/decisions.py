"""A trace over time: how often each thing was decided in each stretch of panes.

A trace has a row for each burst that was decided about and for each event that touches a bundle,
far more than a page can show. Here the rows of neighbouring panes are counted together, into as
many stretches as a screen has room for; of bursts the first are shown one by one too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.report.columns import as_array, start_microseconds
from hamlet.share.summary import OF_BURST, summarise
from hamlet.share.trace import DECIDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.share.summary import Summary

MOST_STRETCHES = 480
# Bursts that are shown one by one, and what is shown of each
MOST_BURSTS = 500
BURST = (*OF_BURST, "decided")


def decisions(trace: Any, pane_us: Sequence[int]) -> list[dict[str, Any]]:
    """For each sharable set and type what was decided, whole and over time.

    set, type, about   which
    start, step        of the first stretch and from one to the next, in microseconds
    share, alone, ...  how often each was decided, for each stretch
    events             events of the bursts between touches, for each stretch
    snapshots          snapshots that were created, for each stretch
    summary            the same over all of it, and why

    Args:
        trace: The trace.
        pane_us: The length of the panes of each set.
    """
    return [
        {
            "set": one.sharable_set,
            "type": one.type,
            "about": one.about,
            **_over_time(_rows(trace, one), pane_us[one.sharable_set - 1]),
            "summary": {
                "decisions": one.decisions,
                "decided": one.decided,
                "pays": one.pays,
                "as_one": one.as_one,
                "mean_burst": one.mean_burst,
                "mean_live": one.mean_live,
                "mean_queries": one.mean_queries,
                "mean_windows": one.mean_windows,
                "snapshots": one.snapshots,
                "mean_snapshots": one.mean_snapshots,
                "cost_shared_ns": one.cost_shared,
                "cost_alone_ns": one.cost_alone,
                "why": one.why,
            },
            "bursts": _first_bursts(_rows(trace, one)) if one.about == "burst" else [],
        }
        for one in summarise(trace)
    ]


def _rows(trace: Any, one: Summary) -> Any:
    """The rows that a summary is of."""
    here = pc.equal(trace["set"], one.sharable_set)
    for name, word in (("type", one.type), ("about", one.about)):
        here = pc.and_(here, pc.equal(trace[name].cast(pa.string()), word))
    return trace.filter(here)


def _first_bursts(rows: Any) -> list[list[Any]]:
    """The first bursts, each as the cells of a line: when it began, and the columns of BURST."""
    some = rows.slice(0, MOST_BURSTS)
    begins = start_microseconds(as_array(some["time"])).tolist()
    columns = [
        some[name].cast(pa.string() if name == "decided" else some[name].type) for name in BURST
    ]
    return [list(cells) for cells in zip(begins, *(c.to_pylist() for c in columns), strict=True)]


def _over_time(rows: Any, pane_us: int) -> dict[str, Any]:
    starts = start_microseconds(as_array(rows["pane_start"]))
    pane = starts // pane_us
    low = int(pane.min())
    step = -(-(int(pane.max()) - low + 1) // MOST_STRETCHES)
    stretch = (pane - low) // step
    size = int(stretch.max()) + 1
    words = as_array(rows["decided"].cast(pa.string())).dictionary_encode()
    names = words.dictionary.to_pylist()
    decided = np.array([DECIDED.index(name) for name in names])[words.indices.to_numpy()]
    curves: dict[str, Any] = {"start": low * pane_us, "step": step * pane_us}
    for code, name in enumerate(DECIDED):
        curves[name] = np.bincount(stretch[decided == code], minlength=size).tolist()
    for name, column in (("events", "burst"), ("snapshots", "snapshots_created")):
        sums = np.bincount(stretch, weights=rows[column].to_numpy(), minlength=size)
        curves[name] = sums.astype(np.int64).tolist()
    return curves
