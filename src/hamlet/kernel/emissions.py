"""What kernels have computed, as emissions: of any kind of numbers, and several as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.base import Emission, values_of_codes
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled


def emission_of(
    compiled: Compiled,
    part: NDArray[np.int32],
    template: NDArray[np.int32],
    window: NDArray[np.int64],
    v: NDArray[Any],
    x: NDArray[np.float64],
) -> Emission:
    """Records of a kernel as an emission.

    Args:
        compiled: The code that was run.
        part: The partition of each record.
        template: The template of its unit.
        window: The number of its window.
        v: [records, components]: numbers of any kind, see numbers/.
        x: [records, extremes], infinite where there is none.
    """
    components, exponents = _components(v)
    if compiled.repeats is not None and compiled.repeats.shape[1] > 1:
        places = compiled.repeats[template]
        components = _repeated(components, places)
        exponents = None if exponents is None else _repeated(exponents, places)
    return Emission(part, template, window, components, exponents, values_of_codes(x))


def _components(v: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Numbers of any kind as values, or for floats as mantissas and exponents."""
    mode = NumberMode.of(v)
    if v.ndim == 2:
        return v, np.zeros(v.shape) if mode.has_exponents else None
    if mode.has_exponents:
        return v[:, :, 0].copy(), v[:, :, 1].copy()
    values = numbers.integers(v.reshape(-1, v.shape[2]))
    components = np.empty(len(values), dtype=object)
    components[:] = values
    return components.reshape(v.shape[:2]), None


def _repeated(table: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """Components that were computed once at every place where they are asked for."""
    repeated = np.take_along_axis(table, np.maximum(places, 0), axis=1)
    repeated[places < 0] = 0
    return repeated


def joined(compiled: Compiled, parts: list[Emission], mode: NumberMode) -> Emission:
    """Several emissions as one."""
    if not parts:
        most = max(int(compiled.code.u_nc.max(initial=1)), 1)
        most_x = int(compiled.code.u_nx.max(initial=0))
        nothing: NDArray[Any] = np.empty((0, most), mode.dtype)
        return Emission(
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            nothing,
            np.empty((0, most)) if mode.has_exponents else None,
            np.empty((0, most_x)),
        )
    if len(parts) == 1:
        return parts[0]
    exponents = [part.exponents for part in parts if part.exponents is not None]
    return Emission(
        np.concatenate([part.part for part in parts]),
        np.concatenate([part.unit for part in parts]),
        np.concatenate([part.window for part in parts]),
        _stacked([part.components for part in parts], 0),
        _stacked(exponents, 0.0) if exponents else None,
        _stacked([part.extremes for part in parts], np.nan),
    )


def _stacked(tables: list[NDArray[Any]], filling: Any) -> NDArray[Any]:
    """Tables one below the other, the narrower ones filled up."""
    width = max(table.shape[1] for table in tables)
    return np.concatenate(
        [
            np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=filling)
            for table in tables
        ]
    )
