"""Logs of stored events: who reads them, and so in which order they are kept.

Where events go on with stored ones by one comparison, and take them away, a log is a heap: what an
event goes on with is at its front. Where they go on with the very last events alone, there is no
need to keep others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.code import (
    DROPPED,
    EMPTIED,
    LAST_STEP,
    ORDERED,
    PASSES,
    PLAIN,
    POPPED,
    STAYS,
    TAKEN,
)
from hamlet.kernel.compile.parts import counts, ints
from hamlet.plan.execution import is_taken_off
from hamlet.plan.template import Step

if TYPE_CHECKING:
    from hamlet.kernel.compile.maker import Maker
    from hamlet.kernel.compile.parts import Ints
    from hamlet.plan.template import Condition

# The bit of a double that is its sign
_SIGN = int(np.iinfo(np.int64).min)


class _Kind(NamedTuple):
    """What a log is; of one that is ordered also the predicate, and what turns its order."""

    kind: int
    predicate: int = -1
    flip: int = 0


def log_arrays(maker: Maker) -> dict[str, Ints]:
    """Logs and those who read them, laid out."""
    units, of_log, kinds = len(maker.units), maker.log_unit, _kinds(maker)
    return {
        "log_unit": ints(of_log),
        "u_log_p": counts(units, sorted(of_log)),
        "u_log": ints(sorted(range(len(of_log)), key=of_log.__getitem__)),
        "u_glog_p": counts(units, [maker.guards[g][0] for g, _ in maker.guard_logs]),
        "log_kind": ints(each.kind for each in kinds),
        "log_predicate": ints(each.predicate for each in kinds),
        "log_flip": ints(each.flip for each in kinds),
        "o_scan_step": ints(
            _becomes(kinds[log].kind, log, condition, maker)
            for op in maker.scans.lists
            for log, _, condition in op
        ),
    }


def _kinds(maker: Maker) -> list[_Kind]:
    """The kind of each log."""
    asked: dict[int, set[Condition]] = {log: set() for log in range(len(maker.log_unit))}
    for op in maker.scans.lists:
        for log, _, condition in op:
            asked[log].add(condition)
    return [_kind_of(maker, log, some) for log, some in asked.items()]


def _kind_of(maker: Maker, log: int, conditions: set[Condition]) -> _Kind:
    steps = {condition.step for condition in conditions}
    if _is_read_at_end(maker, log) or len(steps) != 1:
        return _Kind(PLAIN)
    if steps == {Step.PASS}:
        return _Kind(LAST_STEP)
    predicates = {number for condition in conditions for number in condition.predicates}
    directed = maker.execution.surroundings.directed
    # What a guard bars for some only has to be kept for the others.
    is_one = len(predicates) == 1 and len({condition.guards for condition in conditions}) == 1
    if not is_one or not all(is_taken_off(each, directed) for each in conditions):
        return _Kind(PLAIN)
    (number,) = predicates
    is_rising = maker.program.predicates[number].operator in ("<", "<=")
    return _Kind(ORDERED, number, 0 if is_rising else _SIGN)


def _is_read_at_end(maker: Maker, log: int) -> bool:
    return any(log == other for of_unit in maker.end_scans.lists for other, *_ in of_unit)


def _becomes(kind: int, log: int, condition: Condition, maker: Maker) -> int:
    """What becomes of a stored event that an event goes on with: see `STAYS` in code.py."""
    if kind == ORDERED:
        return POPPED if condition.predicates else EMPTIED
    if condition.step == Step.STAY:
        return STAYS
    if condition.step == Step.PASS:
        return PASSES
    return TAKEN if _is_read_at_end(maker, log) else DROPPED
