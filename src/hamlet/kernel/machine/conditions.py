"""Conditions on edges that have to be looked at event by event.

A condition asks something of the event itself (atoms that hold or fail), and of the way from the
event before: for each need one alternative must be open, and no forbidden one may be. An
alternative is open if no guard of it was completed since the event before and all its predicates
hold between the two. Null is NaN; a comparison with null does not hold.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel.inner import compiled
from hamlet.kernel.layout import (
    ALT_GUARD,
    ALT_GUARD_P,
    ALT_PRED,
    ALT_PRED_P,
    C_ATOMS,
    C_EVENTS,
    FAILS,
    FAILS_P,
    FORBID_ALT,
    FORBID_P,
    HOLDS,
    HOLDS_P,
    NEED_ALT,
    NEED_ALT_P,
    NEED_P,
    P_CODE,
    P_CODE_P,
    P_KIND,
    S_G_DONE,
    S_G_DONE_T,
)
from hamlet.kernel.machine.memory import NO_STEP, entries
from hamlet.kernel.stack_code import CONST, GENERAL, NEXT, PREVIOUS
from hamlet.kernel.stack_machine import compared, operated

# Instead of an event: the edge comes from START, or goes to END.
NO_EVENT = -1


@compiled
def edge_open(P, S, sides, cond, step, start, j, i):
    """Whether an edge is taken from a stored event or START to event i, or to END.

    From a stored event j: `step` is its step. From START: `step` is NO_STEP, and `start` the
    window's start.
    """
    if i != NO_EVENT and not atoms_fit(P, S, sides, cond, i):
        return False
    for need in entries(P, NEED_P, cond):
        found = False
        for k in entries(P, NEED_ALT_P, need):
            if _way_open(P, S, sides, P[P[NEED_ALT] + k], step, start, j, i):
                found = True
                break
        if not found:
            return False
    for k in entries(P, FORBID_P, cond):
        if _way_open(P, S, sides, P[P[FORBID_ALT] + k], step, start, j, i):
            return False
    return True


@compiled
def atoms_fit(P, S, sides, cond, i):
    """Whether an event itself satisfies what an edge asks of it."""
    atoms = sides.letter[i] * S[C_ATOMS]
    for k in entries(P, HOLDS_P, cond):
        if sides.letters[atoms + P[P[HOLDS] + k]] == 0:
            return False
    for k in entries(P, FAILS_P, cond):
        if sides.letters[atoms + P[P[FAILS] + k]] == 1:
            return False
    return True


@compiled
def _way_open(P, S, sides, alt, step, start, j, i):
    """Whether one way along an edge is open."""
    for k in entries(P, ALT_GUARD_P, alt):
        g = P[P[ALT_GUARD] + k]
        if step != NO_STEP:
            if S[P[S_G_DONE] + g] > step:
                return False
        elif S[P[S_G_DONE] + g] != NO_STEP and S[P[S_G_DONE_T] + g] >= start:
            return False
    for k in entries(P, ALT_PRED_P, alt):
        p = P[P[ALT_PRED] + k]
        kind, row = P[P[P_KIND] + p], p * S[C_EVENTS]
        if kind == GENERAL:
            if not _general(P, S, sides, p, j, i):
                return False
        elif not compared(kind, sides.previous[row + j], sides.next[row + i]):
            return False
    return True


@compiled
def _general(P, S, sides, p, j, i):
    """A general predicate on a small stack machine; NaN stands for null and unknown.

    `j` is the event before, `i` the event now.
    """
    steps = entries(P, P_CODE_P, p)
    stack = np.empty(len(steps))
    top = -1
    for k in steps:
        opcode = P[P[P_CODE] + k]
        if opcode <= NEXT:
            top += 1
            if opcode == CONST:
                stack[top] = sides.arguments[k]
            elif opcode == PREVIOUS:
                stack[top] = sides.columns[int(sides.arguments[k]) * S[C_EVENTS] + j]
            else:
                stack[top] = sides.columns[int(sides.arguments[k]) * S[C_EVENTS] + i]
        else:
            top = operated(opcode, stack, top)
    return stack[0] == 1.0
