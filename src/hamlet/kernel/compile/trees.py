"""Trees in the order of their units, and who reads and feeds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.kernel.compile.parts import RaggedLists, counts, ints
from hamlet.kernel.stack_code import COMPARE_CODES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hamlet.kernel.compile.maker import Maker
    from hamlet.plan.query import Window

    Ints = NDArray[np.int64]


def tree_arrays(maker: Maker, windows: list[Window]) -> dict[str, Ints]:
    """Trees in the order of their units, and who reads and feeds them."""
    program = maker.program
    keys = sorted(
        maker.trees, key=lambda key: (maker.tree_unit[maker.trees[key]], maker.trees[key])
    )
    number = {maker.trees[key]: new for new, key in enumerate(keys)}
    rows: list[tuple[int, int, int]] = []
    by_guard: dict[tuple[int, int], list[int]] = {}
    for state, predicate, guards in keys:
        unit = maker.tree_unit[maker.trees[state, predicate, guards]]
        kind = (int(program.state_atom[state]), predicate, windows[unit].within_us)
        operator = COMPARE_CODES[program.predicates[predicate].operator]
        rows.append((unit, maker.classes.setdefault(kind, len(maker.classes)), operator))
        for template in guards:
            by_guard.setdefault((unit, template), []).append(len(rows) - 1)
    reads = RaggedLists([[number[t] for t in each] for each in maker.tree_reads.lists])
    leaves = RaggedLists([[number[t] for t in maker.trees_of.get(s, ())] for s in maker.op_state])
    guarded = RaggedLists([by_guard.get(pair, []) for pair in maker.guards])
    return {
        "t_unit": ints(unit for unit, _, _ in rows),
        "t_class": ints(kind for _, kind, _ in rows),
        "t_op": ints(operator for _, _, operator in rows),
        "u_tree_p": counts(len(maker.units), [unit for unit, _, _ in rows]),
        "o_tree_p": reads.pointers(),
        "o_tree": reads.flat(),
        "o_leaf_p": leaves.pointers(),
        "o_leaf": leaves.flat(),
        "g_tree_p": guarded.pointers(),
        "g_tree": guarded.flat(),
    }
