"""Records of an emission by when their windows end, and batches that only close windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.base import Emission, EventBatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled


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


def ends_of(compiled: Compiled, emission: Emission) -> NDArray[np.int64]:
    """When the window of each record ends."""
    within, slide = _windows_of(compiled)
    return emission.window * slide[emission.unit] + within[emission.unit]


def _windows_of(compiled: Compiled) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """WITHIN and SLIDE of each unit, by its template."""
    code = compiled.code
    lengths = dict(zip(code.u_template, zip(code.u_within, code.u_slide, strict=True), strict=True))
    for group in compiled.chains:
        lengths |= {c.template: (group.within_us, group.slide_us) for c in group.chains}
    table = np.ones((max(lengths) + 1, 2), np.int64)
    for template, pair in lengths.items():
        table[template] = pair
    return table[:, 0], table[:, 1]


def picked(emission: Emission, wanted: NDArray[np.bool_]) -> Emission:
    """Some records of an emission."""
    exponents = emission.exponents
    return Emission(
        emission.part[wanted],
        emission.unit[wanted],
        emission.window[wanted],
        emission.components[wanted],
        None if exponents is None else exponents[wanted],
        emission.extremes[wanted],
    )
