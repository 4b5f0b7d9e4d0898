"""Code for the stack machine that answers general predicates: operands before operators.

The machine computes in doubles, with NaN for null and unknown: see stack_machine.py.
"""

from __future__ import annotations

from hamlet.plan.predicates import Column, Constant, Expression, Operation

COMPARE_CODES = {"<": 0, "<=": 1, ">": 2, ">=": 3, "=": 4, "!=": 5}
GENERAL = 6

# Opcodes of the stack machine for general predicates.
CONST, PREVIOUS, NEXT, ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, NEGATE = range(9)
FIRST_COMPARE = 9
AND, OR, NOT, IS_NULL, IS_NOT_NULL = range(15, 20)
_BINARY = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE, "%": REMAINDER}


def emit(expression: Expression, column: dict[str, int], steps: list[tuple[int, float]]) -> None:
    """Code for the stack machine, operands before operators."""
    if isinstance(expression, Constant):
        value = expression.value
        steps.append((CONST, float("nan") if value is None else float(value)))
        return
    if isinstance(expression, Column):
        opcode = PREVIOUS if expression.role == "previous" else NEXT
        steps.append((opcode, float(column[expression.attribute])))
        return
    symbol, operands = expression.operator, expression.operands
    if symbol in ("in", "not in"):
        tests = tuple(Operation("=", (operands[0], item)) for item in operands[1:])
        any_of: Expression = Operation("or", tests) if len(tests) > 1 else tests[0]
        emit(any_of if symbol == "in" else Operation("not", (any_of,)), column, steps)
        return
    emit(operands[0], column, steps)
    if len(operands) == 1:
        unary = {"-": NEGATE, "not": NOT, "is null": IS_NULL, "is not null": IS_NOT_NULL}
        steps.append((unary[symbol], 0.0))
        return
    for operand in operands[1:]:
        emit(operand, column, steps)
        if symbol in _BINARY:
            steps.append((_BINARY[symbol], 0.0))
        elif symbol in COMPARE_CODES:
            steps.append((FIRST_COMPARE + COMPARE_CODES[symbol], 0.0))
        else:
            steps.append((AND if symbol == "and" else OR, 0.0))
