"""Conditions on edges that have to be looked at event by event.

A condition asks something of the event itself (atoms that hold or fail), and of the way from the
event before: for each need one alternative must be open, and no forbidden one may be. An
alternative is open if no guard of it was completed since the event before and all its predicates
hold between the two. Null is NaN; a comparison with null does not hold.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel.jit import compiled
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
    for need in entries(P, at.NEED_P, cond):
        is_met = False
        for k in entries(P, at.NEED_ALT_P, need):
            if _way_open(P, S, sides, P[P[at.NEED_ALT] + k], step, start, j, i):
                is_met = True
                break
        if not is_met:
            return False
    for k in entries(P, at.FORBID_P, cond):
        if _way_open(P, S, sides, P[P[at.FORBID_ALT] + k], step, start, j, i):
            return False
    return True


@compiled
def atoms_fit(P, S, sides, cond, i):
    """Whether an event itself satisfies what an edge asks of it."""
    atoms = sides.letter[i] * S[at.C_ATOMS]
    for k in entries(P, at.HOLDS_P, cond):
        if sides.letters[atoms + P[P[at.HOLDS] + k]] == 0:
            return False
    for k in entries(P, at.FAILS_P, cond):
        if sides.letters[atoms + P[P[at.FAILS] + k]] == 1:
            return False
    return True


@compiled
def _way_open(P, S, sides, alt, step, start, j, i):
    """Whether one way along an edge is open."""
    for k in entries(P, at.ALT_GUARD_P, alt):
        g = P[P[at.ALT_GUARD] + k]
        if step != NO_STEP:
            if S[P[at.S_G_DONE] + g] > step:
                return False
        elif S[P[at.S_G_DONE] + g] != NO_STEP and S[P[at.S_G_DONE_T] + g] >= start:
            return False
    for k in entries(P, at.ALT_PRED_P, alt):
        p = P[P[at.ALT_PRED] + k]
        kind, row = P[P[at.P_KIND] + p], p * S[at.C_EVENTS]
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
    steps = entries(P, at.P_CODE_P, p)
    stack = np.empty(len(steps))
    top = -1
    for k in steps:
        opcode = P[P[at.P_CODE] + k]
        if opcode <= NEXT:
            top += 1
            if opcode == CONST:
                stack[top] = sides.arguments[k]
            elif opcode == PREVIOUS:
                stack[top] = sides.columns[int(sides.arguments[k]) * S[at.C_EVENTS] + j]
            else:
                stack[top] = sides.columns[int(sides.arguments[k]) * S[at.C_EVENTS] + i]
        else:
            top = operated(opcode, stack, top)
    return stack[0] == 1.0
