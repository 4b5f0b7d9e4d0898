"""Guards: how their matches are followed, and which rows they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.kernel.compile.parts import RaggedLists, ints
from hamlet.plan.execution import guard_grain_of
from hamlet.plan.template import END, START

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hamlet.kernel.compile.maker import Maker

    Ints = NDArray[np.int64]


def guard_arrays(maker: Maker) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """How matches of guards are followed, and which rows they change."""
    resets, mains, copies = RaggedLists(), RaggedLists(), RaggedLists()
    inputs = RaggedLists()
    ends: list[int] = []
    logs: list[int] = []
    starts: list[int] = []
    conditions = maker.program.conditions
    for number, (unit_number, template) in enumerate(maker.guards):
        unit = maker.units[unit_number]
        states = maker.states_of[template]
        guarded = [key for key in unit.rows if template in key[1]]
        main = [key for key in guarded if key[2] == -1]
        resets.lists.append([unit.rows[key] for key in guarded] if len(states) == 1 else [])
        starts.append(int(any(key[0] == START for key in guarded)))
        mains.lists.append([unit.rows[key] for key in main] if len(states) > 1 else [])
        # Where two guards of a row have several events the edge looks at single events instead.
        copies.lists.append(
            [
                unit.rows[owner, guards, copy, step]
                for owner, guards, _, step in main
                for copy in range(len(states))
            ]
            if len(states) > 1
            else []
        )
        local = {state: i for i, state in enumerate(states)}
        incoming: dict[int, list[tuple[int, int, int]]] = {}
        ending = set()
        logged = set()
        for s, t, c in maker.edges_of[template]:
            condition = conditions[c]
            if t == END:
                ending.add(s)
                continue
            looks = guard_grain_of(condition).keeps_events
            if looks and s != START:
                logged.add(s)
            asked = (
                maker.condition_number(unit_number, t, condition)
                if looks
                else maker.atom_condition_number(unit_number, t, condition)
            )
            incoming.setdefault(t, []).append((local.get(s, -1), asked, int(looks)))
        for state in states:
            inputs.lists.append(incoming.get(state, []))
            ends.append(int(state in ending))
            if state in logged:
                key = (number, local[state])
                maker.guard_logs[key] = len(maker.guard_logs)
                logs.append(maker.guard_logs[key])
            else:
                logs.append(-1)
    return (
        {
            "gs_end": ints(ends),
            "gs_log": ints(logs),
            "gs_in_p": inputs.pointers(),
            "gs_in_source": inputs.flat(0),
            "gs_in_cond": inputs.flat(1),
            "gs_in_scan": inputs.flat(2),
        },
        {
            "g_reset_p": resets.pointers(),
            "g_reset_row": resets.flat(),
            "g_starts": ints(starts),
            "g_main_p": mains.pointers(),
            "g_main_row": mains.flat(),
            "g_copy_p": copies.pointers(),
            "g_copy_row": copies.flat(),
        },
    )
