"""Which units walk through the events of a batch together, and which by themselves.

The events of a loop are only counted, for all units that repeat them, as long as no unit looks at
each: then all of them are brought up to date at every event. A unit that stores events does look.
So where many events are such that some units count and others store them, these walk apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel import layout as at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.code import Compiled

# Of fewer events a second walk is not worth its beginning; and one in so many has to be spared.
_MANY_EVENTS = 10_000
_PART = 4


def walks_of(
    compiled: Compiled, batch: EventBatch, templates: frozenset[int]
) -> list[frozenset[int]]:
    """Some units, by their templates, in those that walk together.

    Args:
        compiled: The code of all units.
        batch: The events.
        templates: The units.
    """
    code = compiled.code
    some = np.isin(code.u_template, list(templates))
    kinds = code.u_quick.reshape(-1, at.QUICK)[:, at.Q_KIND]
    stores: NDArray[np.bool_] = some & (kinds == at.STORES)
    counts = some & ~stores & (np.diff(code.u_lazy_p) > 0)
    if len(batch) < _MANY_EVENTS or not stores.any() or not counts.any():
        return [templates]
    if _PART * _spared(compiled, batch, stores, counts) < len(batch):
        return [templates]
    apart = frozenset(code.u_template[stores].tolist())
    return [apart, templates - apart]


def _spared(
    compiled: Compiled, batch: EventBatch, stores: NDArray[np.bool_], counts: NDArray[np.bool_]
) -> int:
    """How many events some units count and others store, which the former know no other way."""
    code = compiled.code
    loops = code.lazies.reshape(-1, at.LAZY)
    counting = np.repeat(counts, np.diff(code.u_lazy_p))
    is_counted, is_stored, is_known = (np.zeros(len(compiled.atom_ops), np.bool_) for _ in range(3))
    is_counted[code.z_atom[loops[counting, at.LZ_Z]]] = True
    for atom, ops in enumerate(compiled.atom_ops):
        is_stored[atom] = stores[code.o_unit[ops]].any()
        is_known[atom] = counts[code.o_unit[ops]].any()
    has = [batch.letters[:, atoms].any(axis=1) for atoms in (is_counted, is_stored, is_known)]
    spared = np.asarray(has[0] & has[1] & ~has[2])
    return int(np.bincount(batch.letter, minlength=len(spared))[spared].sum())
