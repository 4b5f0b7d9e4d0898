"""The stack machine that answers general predicates, one operator at a time.

It computes in doubles; NaN stands for null and unknown. Where operands come from is the business of
those who run it: the engine has addresses, the systems that it is compared with have arrays. The
code is told in stack_code.py.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.stack_code import (
    ADD,
    AND,
    DIVIDE,
    FIRST_COMPARE,
    IS_NOT_NULL,
    IS_NULL,
    MULTIPLY,
    NEGATE,
    NOT,
    OR,
    REMAINDER,
    SUBTRACT,
)


@compiled
def operated(opcode, stack, top):
    """Apply an operator to what is on top of the stack; where the top is then."""
    if opcode == NEGATE:
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
    return top


@inlined
def compared(kind, a, b):
    """A comparison; false where a side is NaN."""
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
    return a < b or a > b


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
    return 1.0 if compared(opcode - FIRST_COMPARE, a, b) else 0.0
