"""Conditions on edges that have to be looked at event by event.

A condition asks something of the event itself (atoms that hold or fail), and of the way from the
event before: for each need one alternative must be open, and no forbidden one may be. An
alternative is open if no guard of it was completed since the event before and all its predicates
hold between the two. Null is NaN; a comparison with null does not hold.
"""

from __future__ import annotations

import numpy as np

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
from hamlet.kernel.machine.memory import NO_STEP, compiled, entries
from hamlet.kernel.stack_code import (
    ADD,
    AND,
    CONST,
    DIVIDE,
    FIRST_COMPARE,
    GENERAL,
    IS_NOT_NULL,
    IS_NULL,
    MULTIPLY,
    NEGATE,
    NEXT,
    NOT,
    OR,
    PREVIOUS,
    REMAINDER,
    SUBTRACT,
)

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
        elif not _compared(kind, sides.previous[row + j], sides.next[row + i]):
            return False
    return True


@compiled
def _compared(kind, a, b):
    """A comparison; false where a side is NaN, which stands for null."""
    if a != a or b != b:
        return False
    if kind == 0:
        return a < b
    if kind == 1:
        return a <= b
    if kind == 2:
        return a > b
    if kind == 3:
        return a >= b
    if kind == 4:
        return a == b
    return a != b


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
        elif opcode == NEGATE:
            stack[top] = -stack[top]
        elif opcode == NOT:
            if stack[top] == stack[top]:
                stack[top] = 1.0 - stack[top]
        elif opcode == IS_NULL:
            stack[top] = 1.0 if stack[top] != stack[top] else 0.0
        elif opcode == IS_NOT_NULL:
            stack[top] = 0.0 if stack[top] != stack[top] else 1.0
        else:
            top -= 1
            stack[top] = _binary(opcode, stack[top], stack[top + 1])
    return stack[0] == 1.0


@compiled
def _binary(opcode, a, b):
    """An operation on two numbers or truth values (1.0, 0.0, or NaN for unknown)."""
    if opcode == AND:
        if a == 0.0 or b == 0.0:
            return 0.0
        return np.nan if a != a or b != b else 1.0
    if opcode == OR:
        if a == 1.0 or b == 1.0:
            return 1.0
        return np.nan if a != a or b != b else 0.0
    if a != a or b != b:
        return np.nan
    if opcode == ADD:
        return a + b
    if opcode == SUBTRACT:
        return a - b
    if opcode == MULTIPLY:
        return a * b
    if opcode == DIVIDE:
        return np.nan if b == 0.0 else a / b
    if opcode == REMAINDER:
        return np.nan if b == 0.0 else np.fmod(a, b)
    return 1.0 if _compared(opcode - FIRST_COMPARE, a, b) else 0.0
