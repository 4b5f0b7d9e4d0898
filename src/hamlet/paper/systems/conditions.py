"""Whether an edge is taken from one event to the next; null is NaN, and fails every comparison.

An edge may begin at START (there is no event before) or go to END (there is none after). A guard
bars it when a match of the guard lies strictly between the two, or the ends of the window.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.stack_code import CONST, GENERAL, NEXT, PREVIOUS
from hamlet.kernel.stack_machine import compared, operated
from hamlet.paper.systems.tables import COMPARED, FREE_WAY

# Instead of an event: the edge comes from START, or goes to END.
NO_EVENT = -1


@inlined
def is_open(rules, events, rule, j, i, at, start):
    """Whether an edge is taken from event j (or START) to event i (or END).

    `at` is where in `latest` the moment of event i, or of the end, stands, and `start` the start of
    the window.
    """
    if rules.kind[rule] == FREE_WAY:
        return True
    if rules.kind[rule] == COMPARED:
        p = rules.predicate[rule]
        return compared(rules.p_kind[p], events.previous[p, j], events.next[p, i])
    return looked_at(rules, events, rule, j, i, at, start)


@compiled
def looked_at(rules, events, rule, j, i, at, start):
    """The same for a condition that is not one comparison, such as all from START and to END."""
    if i != NO_EVENT and not fits(rules, events, rule, i):
        return False
    for need in range(rules.need_p[rule], rules.need_p[rule + 1]):
        is_known = False
        for k in range(rules.way_p[need], rules.way_p[need + 1]):
            if _way_open(rules, events, rules.way[k], j, i, at, start):
                is_known = True
                break
        if not is_known:
            return False
    for k in range(rules.forbid_p[rule], rules.forbid_p[rule + 1]):
        if _way_open(rules, events, rules.forbid[k], j, i, at, start):
            return False
    return True


@compiled
def fits(rules, events, rule, i):
    """Whether an event itself satisfies what an edge asks of it."""
    letter = events.letter[i]
    for k in range(rules.holds_p[rule], rules.holds_p[rule + 1]):
        if events.letters[letter, rules.holds[k]] == 0:
            return False
    for k in range(rules.fails_p[rule], rules.fails_p[rule + 1]):
        if events.letters[letter, rules.fails[k]] == 1:
            return False
    return True


@compiled
def _way_open(rules, events, way, j, i, at, start):
    for k in range(rules.guard_p[way], rules.guard_p[way + 1]):
        began = events.latest[rules.guard[k], at]
        if began < 0:
            continue
        if j == NO_EVENT:
            if events.ts[began] >= start:
                return False
        elif events.step[began] > events.step[j]:
            return False
    for k in range(rules.asked_p[way], rules.asked_p[way + 1]):
        p = rules.asked[k]
        if rules.p_kind[p] == GENERAL:
            if not _general(rules, events, p, j, i):
                return False
        elif not compared(rules.p_kind[p], events.previous[p, j], events.next[p, i]):
            return False
    return True


@compiled
def _general(rules, events, p, j, i):
    """A predicate that no order decides, on a small stack machine; NaN stands for unknown."""
    steps = range(rules.code_p[p], rules.code_p[p + 1])
    stack = np.empty(len(steps))
    top = -1
    for k in steps:
        opcode = rules.code[k]
        if opcode <= NEXT:
            top += 1
            if opcode == CONST:
                stack[top] = rules.argument[k]
            elif opcode == PREVIOUS:
                stack[top] = events.columns[int(rules.argument[k]), j]
            else:
                stack[top] = events.columns[int(rules.argument[k]), i]
        else:
            top = operated(opcode, stack, top)
    return stack[0] == 1.0
