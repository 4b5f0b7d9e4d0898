"""The image of the machine: code and state of a batch, laid out as layout.py says.

Code is the same for every batch of a run; what stands beside it depends on the batch: trees, whose
height follows from the events, and bundles, of which only those are of use that some letter is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel.compile.fast_paths import are_alike, bundle_arrays
from hamlet.kernel.layout import BatchArrays, Scalars
from hamlet.kernel.machine.bundles import FOREVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Compiled
    from hamlet.kernel.compile.fast_paths import LetterTables
    from hamlet.kernel.trees import Trees

    Ints = NDArray[np.int64]


def image_of(compiled: Compiled, trees: Trees, tables: LetterTables) -> tuple[Ints, Ints]:
    """Code in one array, and state, as it is before the first event, in another.

    Batches with the same letters and trees as high have the same, of which each gets a copy.

    Args:
        compiled: The code.
        trees: The trees of the batch.
        tables: What letters do, which bundles are of use, and counters.
    """
    # Tables are kept with what was made of them, so that no others have their identity meanwhile.
    _, packed, state = compiled.images.get_or_make(
        (id(tables), trees.bits.tobytes()), lambda: (tables, *_image(compiled, trees, tables))
    )
    return packed.copy(), state.copy()


def _image(compiled: Compiled, trees: Trees, tables: LetterTables) -> tuple[Ints, Ints]:
    code, counts = compiled.code, _counts(compiled, *_kept_by(tables))
    width = code.u_w[code.log_unit] * code.u_nc[code.log_unit]
    width_x = code.u_w[code.log_unit] * code.u_nx[code.log_unit]
    bundles, ops = bundle_arrays(compiled, tables.is_used)
    batch = BatchArrays(
        log_vbase=_begins(width),
        log_xbase=_begins(width_x),
        t_vbase=trees.vbase,
        t_xbase=trees.xbase,
        t_bits=trees.bits,
        **bundles,
        **tables.counters.arrays,
    )
    scalars = Scalars(
        n_units=len(code.u_w),
        n_z=len(code.z_atom),
        n_sums=tables.counters.sums,
        n_stacks=tables.counters.stacks,
        n_counters=tables.counters.counters,
        n_shared=len(tables.counters.arrays["z_order"]),
        t_base=compiled.values,
        t_base_x=compiled.extremes,
        n_always=int(code.u_always.sum()),
        n_moves=int(((code.u_steps == 1) & (np.diff(code.u_lazy_p) > 0)).sum()),
        alike=int(are_alike(code)),
        n_b=len(compiled.bundles),
        n_ops=len(code.o_unit),
        is_few=int(bool(tables.counters.bits)),
        n_grids=counts["grid"],
        ladders=tables.counters.sums + code.stamps,
        n_ladders=len(code.zl_weight),
    )
    code = code._replace(o_quick=ops)
    arrays = [*(getattr(code, name) for name in at.CODE_ARRAYS), *batch]
    sizes = np.array([counts[kind] for kind in at.STATE.values()], np.int64)
    parts = at.COUNTS + _begins(sizes)
    starts = at.HEADER + _begins(np.array([len(array) for array in arrays], np.int64))
    packed = np.concatenate([scalars, starts, parts, *arrays]).astype(np.int64)
    state = np.zeros(at.COUNTS + int(sizes.sum()), np.int64)
    # Before anything is known of the stream, queries are taken to behave alike.
    runs = packed[at.S_B_RUN]
    state[runs : runs + len(compiled.bundles)] = [p % FOREVER for p in compiled.patience]
    return packed, state


def _kept_by(tables: LetterTables) -> tuple[int, int]:
    """How many counters and stacks there are."""
    return tables.counters.counters, tables.counters.stacks


def guard_logs_of(compiled: Compiled) -> int:
    """How many logs the guards have."""
    return int(compiled.code.gs_log.max(initial=-1)) + 1


def _counts(compiled: Compiled, counters: int, stacks: int) -> dict[str, int]:
    """How many there are of what arrays of state have entries for."""
    code = compiled.code
    return {
        "unit": len(code.u_w),
        "lazy op": len(code.lazies) // at.LAZY,
        "accumulator": len(code.z_atom),
        "counter": counters,
        "stack": stacks,
        "guard": len(code.g_unit),
        "guard state": len(code.gs_end),
        "log": len(code.log_unit),
        "guard log": guard_logs_of(compiled),
        "half tree": 2 * len(code.t_unit),
        "bundle": len(compiled.bundles),
        "grid": int(code.u_quick.reshape(-1, at.QUICK)[:, at.Q_GRID].max(initial=-1)) + 1,
    }


def _begins(sizes: Ints) -> Ints:
    """Where things of given sizes begin that stand one after the other."""
    return np.cumsum(sizes) - sizes
