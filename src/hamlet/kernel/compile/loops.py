"""The accumulators of the events of lazy ops: which ops are lazy is decided in the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.code import NO_WEIGHT

if TYPE_CHECKING:
    from hamlet.kernel.compile.maker import Maker


def _stack_numbers(maker: Maker, unit: int, extremes: list[int]) -> list[int]:
    """For each extreme of an op the number of what its stack holds, -1 for none."""
    aggregates = maker.queries[maker.units[unit].query].extremes
    return [
        -1 if x < 0 else 2 * x + (aggregate.sign < 0)
        for x, aggregate in zip(extremes, aggregates, strict=True)
    ]


def accumulators(
    maker: Maker, weights: list[list[int]], extremes: list[list[int]]
) -> dict[str, Any]:
    """Accumulators: one for each atom with lazy ops, with the sums and stacks its ops need.

    A stack holds an attribute, or (odd numbers) its negative, whose least is the greatest.
    """
    atoms: list[int] = []
    of_unit = [-1] * len(maker.units)
    sums: list[list[int]] = []
    stacks: list[list[int]] = []
    for unit, state in maker.lazy_op.items():
        atom = int(maker.program.state_atom[state])
        if atom not in atoms:
            atoms.append(atom)
            sums.append([])
            stacks.append([])
        number = atoms.index(atom)
        of_unit[unit] = number
        op = maker.op_of_state[state]
        used = dict.fromkeys(w for w in weights[op] if w != NO_WEIGHT)
        sums[number] += [w for w in used if w not in sums[number]]
        held = _stack_numbers(maker, unit, extremes[op])
        stacks[number] += [x for x in dict.fromkeys(held) if x >= 0 and x not in stacks[number]]
    sum_base = np.cumsum([0, *(len(each) for each in sums)])
    stack_base = np.cumsum([0, *(len(each) for each in stacks)])
    op_sums = [[-1] * len(each) for each in weights]
    op_stacks = [[-1] * len(each) for each in extremes]
    for unit, state in maker.lazy_op.items():
        op, number = maker.op_of_state[state], of_unit[unit]
        op_sums[op] = [
            -1 if w == NO_WEIGHT else int(sum_base[number]) + sums[number].index(w)
            for w in weights[op]
        ]
        op_stacks[op] = [
            -1 if x < 0 else int(stack_base[number]) + stacks[number].index(x)
            for x in _stack_numbers(maker, unit, extremes[op])
        ]
    return {
        "atoms": atoms,
        "of_unit": of_unit,
        "sums": sums,
        "stacks": stacks,
        "op_sums": op_sums,
        "op_stacks": op_stacks,
    }
