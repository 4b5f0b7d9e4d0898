"""A trace over time: how often each thing was decided in each stretch of panes.

A trace has a row for each event that touches a bundle, far more than a page can show. Here the rows
of neighbouring panes are counted together, into as many stretches as a screen has room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.report.columns import as_array, start_microseconds
from hamlet.share.trace import DECIDED, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_STRETCHES = 480


def decisions(trace: Any, pane_us: Sequence[int]) -> list[dict[str, Any]]:
    """For each sharable set and type what was decided, whole and over time.

    set, type          which
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
            **_over_time(_rows(trace, one.sharable_set, one.type), pane_us[one.sharable_set - 1]),
            "summary": {
                "touches": one.touches,
                "decided": one.decided,
                "for_all": one.for_all,
                "as_one": one.as_one,
                "mean_burst": one.mean_burst,
                "cost_ns": one.cost,
                "cost_alone_ns": one.cost_alone,
                "why": one.why,
            },
        }
        for one in summarise(trace)
    ]


def _rows(trace: Any, sharable_set: int, name: str) -> Any:
    is_set = pc.equal(trace["set"], sharable_set)
    return trace.filter(pc.and_(is_set, pc.equal(trace["type"].cast(pa.string()), name)))


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
    found: dict[str, Any] = {"start": low * pane_us, "step": step * pane_us}
    for code, name in enumerate(DECIDED):
        found[name] = np.bincount(stretch[decided == code], minlength=size).tolist()
    for name, column in (("events", "burst"), ("snapshots", "snapshots_created")):
        sums = np.bincount(stretch, weights=rows[column].to_numpy(), minlength=size)
        found[name] = sums.astype(np.int64).tolist()
    return found
