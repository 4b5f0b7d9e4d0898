"""Guards: how their matches are followed, and which rows they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    return _arrays_of_matches(maker), _arrays_of_rows(maker)


def _arrays_of_rows(maker: Maker) -> dict[str, Ints]:
    """Which rows each guard changes.

    A guard of a single event empties its rows. That of several has a copy of a row for each of its
    states. Where two guards of a row have several events the edge looks at single events instead.
    """
    resets, mains, copies = RaggedLists(), RaggedLists(), RaggedLists()
    starts: list[int] = []
    for unit_number, template in maker.guards:
        rows = maker.units[unit_number].rows
        states = len(maker.states_of[template])
        guarded = [key for key in rows if template in key[1]]
        main = [key for key in guarded if key[2] == -1] if states > 1 else []
        resets.lists.append([rows[key] for key in guarded] if states == 1 else [])
        starts.append(int(any(key[0] == START for key in guarded)))
        mains.lists.append([rows[key] for key in main])
        copies.lists.append(
            [rows[owner, guards, n, step] for owner, guards, _, step in main for n in range(states)]
        )
    return {
        "g_reset_p": resets.pointers(),
        "g_reset_row": resets.flat(),
        "g_starts": ints(starts),
        "g_main_p": mains.pointers(),
        "g_main_row": mains.flat(),
        "g_copy_p": copies.pointers(),
        "g_copy_row": copies.flat(),
    }


def _arrays_of_matches(maker: Maker) -> dict[str, Ints]:
    """For each state of each guard what it is reached from, and whether its events are kept."""
    inputs = RaggedLists()
    ends: list[int] = []
    logs: list[int] = []
    for number, (unit_number, template) in enumerate(maker.guards):
        states = maker.states_of[template]
        steps = _Steps.of(maker, unit_number, template)
        for place, state in enumerate(states):
            inputs.lists.append(steps.into.get(state, []))
            ends.append(int(state in steps.ending))
            logs.append(_new_log(maker, (number, place)) if state in steps.kept else -1)
    return {
        "gs_end": ints(ends),
        "gs_log": ints(logs),
        "gs_in_p": inputs.pointers(),
        "gs_in_source": inputs.flat(0),
        "gs_in_cond": inputs.flat(1),
        "gs_in_scan": inputs.flat(2),
    }


def _new_log(maker: Maker, state: tuple[int, int]) -> int:
    """The number of a list of events, for a state of a guard."""
    return maker.guard_logs.setdefault(state, len(maker.guard_logs))


class _Steps(NamedTuple):
    """The edges of a guard.

    Attributes:
        into: For each state its edges: the place of the state before, -1 for START, the number of
            what is asked, and whether that is asked of every event kept there.
        ending: The states whose events complete a match.
        kept: The states whose events are kept, to be asked.
    """

    into: dict[int, list[tuple[int, int, int]]]
    ending: set[int]
    kept: set[int]

    @staticmethod
    def of(maker: Maker, unit_number: int, template: int) -> _Steps:
        steps = _Steps({}, set(), set())
        place = {state: number for number, state in enumerate(maker.states_of[template])}
        for source, target, condition_number in maker.edges_of[template]:
            if target == END:
                steps.ending.add(source)
                continue
            condition = maker.program.conditions[condition_number]
            looks = guard_grain_of(condition).keeps_events
            number_of = maker.condition_number if looks else maker.atom_condition_number
            if looks and source != START:
                steps.kept.add(source)
            edge = (place.get(source, -1), number_of(unit_number, target, condition), int(looks))
            steps.into.setdefault(target, []).append(edge)
        return steps
