"""Records of an emission by when their windows end, and batches that only close windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.base import Emission, EventBatch
from hamlet.plan.windows import end_of_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled
    from hamlet.plan.program import Program
    from hamlet.plan.query import Window


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


def ends_of(emission: Emission, program: Program, windows: Sequence[Window]) -> NDArray[np.int64]:
    """When the window of each record ends; `windows` are those of each query of the program."""
    query = program.template_query[emission.unit]
    within = np.array([window.within_us for window in windows], np.int64)
    slide = np.array([window.slide_us for window in windows], np.int64)
    return end_of_window(emission.window, within[query], slide[query])


def picked(emission: Emission, wanted: NDArray[np.bool_]) -> Emission:
    """Some records of an emission."""
    return Emission(
        emission.part[wanted],
        emission.unit[wanted],
        emission.window[wanted],
        emission.numbers.where(wanted),
        emission.extremes[wanted],
    )
