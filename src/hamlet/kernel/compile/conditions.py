"""Conditions on edges, for edges that have to be looked at event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.kernel.compile.parts import RaggedLists
from hamlet.plan.letters import Atom

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hamlet.kernel.compile.maker import Maker
    from hamlet.plan.template import Alternative

    Ints = NDArray[np.int64]


def condition_arrays(maker: Maker) -> dict[str, Ints]:
    """All conditions, with their needs, alternatives and atoms."""
    needs, forbids, holds, fails = RaggedLists(), RaggedLists(), RaggedLists(), RaggedLists()
    need_alternatives = RaggedLists()
    guards, predicates = RaggedLists(), RaggedLists()
    atoms = {atom: i for i, atom in enumerate(maker.program.alphabet.atoms)}

    def alternative(unit: int, way: Alternative) -> int:
        guards.lists.append([maker.guard_number[unit, g] for g in sorted(way.guards)])
        predicates.lists.append(sorted(way.predicates))
        return len(guards.lists) - 1

    for unit, event_type, condition in maker.conditions:
        numbers = []
        for need in condition.needs:
            need_alternatives.lists.append([alternative(unit, way) for way in need])
            numbers.append(len(need_alternatives.lists) - 1)
        needs.lists.append(numbers)
        forbids.lists.append([alternative(unit, way) for way in condition.forbids])
        holds.lists.append([atoms[Atom(event_type, e)] for e in condition.holds])
        fails.lists.append([atoms[Atom(event_type, e)] for e in condition.fails])
    return {
        "need_p": needs.pointers(),
        "need_alt_p": need_alternatives.pointers(),
        "need_alt": need_alternatives.flat(),
        "forbid_p": forbids.pointers(),
        "forbid_alt": forbids.flat(),
        "alt_guard_p": guards.pointers(),
        "alt_guard": guards.flat(),
        "alt_pred_p": predicates.pointers(),
        "alt_pred": predicates.flat(),
        "holds_p": holds.pointers(),
        "holds": holds.flat(),
        "fails_p": fails.pointers(),
        "fails": fails.flat(),
    }
