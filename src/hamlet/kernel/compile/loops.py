"""Lazy ops and their accumulators: which ops are lazy is decided in the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.code import NO_WEIGHT, STAMPS
from hamlet.kernel.compile.parts import begins, counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.compile.maker import Maker

    Ints = NDArray[np.int64]


def _stack_numbers(maker: Maker, unit: int, extremes: list[int]) -> list[int]:
    """For each extreme of an op the number of what its stack holds, -1 for none."""
    aggregates = maker.queries[maker.units[unit].query].extremes
    return [
        -1 if x < 0 else 2 * x + (aggregate.sign < 0)
        for x, aggregate in zip(extremes, aggregates, strict=True)
    ]


def accumulators(
    maker: Maker, weights: list[list[int]], extremes: list[list[int]], ends: list[list[int]]
) -> dict[str, Any]:
    """Accumulators: one for each atom with lazy ops, with the sums and stacks its ops need.

    A stack holds an attribute, or (odd numbers) its negative, whose least is the greatest. Ladders
    are for ops whose trends move, and end there too.
    """
    atoms: list[int] = []
    sums: list[list[int]] = []
    stacks: list[list[int]] = []
    ladders: list[list[int]] = []
    lazies = [(unit, state) for unit, states in maker.lazy_states.items() for state in states]
    for unit, state in lazies:
        atom = int(maker.program.state_atom[state])
        if atom not in atoms:
            atoms.append(atom)
            sums.append([])
            stacks.append([])
            ladders.append([])
        number = atoms.index(atom)
        op = maker.op_of_state[state]
        used = dict.fromkeys(w for w in weights[op] if w != NO_WEIGHT)
        sums[number] += [w for w in used if w not in sums[number]]
        if _has_ladders(maker, unit, ends[op]):
            ladders[number] += [w for w in used if w not in ladders[number]]
        held = _stack_numbers(maker, unit, extremes[op])
        stacks[number] += [x for x in dict.fromkeys(held) if x >= 0 and x not in stacks[number]]
    sum_base = begins(map(len, sums))
    stack_base = begins(map(len, stacks))
    ladder_base = begins(map(len, ladders))
    op_sums = [[-1] * len(each) for each in weights]
    op_ladders = [[-1] * len(each) for each in weights]
    op_stacks = [[-1] * len(each) for each in extremes]
    for unit, state in lazies:
        op, number = maker.op_of_state[state], atoms.index(int(maker.program.state_atom[state]))
        op_sums[op] = [
            -1 if w == NO_WEIGHT else int(sum_base[number]) + sums[number].index(w)
            for w in weights[op]
        ]
        if _has_ladders(maker, unit, ends[op]):
            # Others of the same atom have no room to remember how far a ladder was.
            op_ladders[op] = [
                int(ladder_base[number]) + ladders[number].index(w) if w in ladders[number] else -1
                for w in weights[op]
            ]
        op_stacks[op] = [
            -1 if x < 0 else int(stack_base[number]) + stacks[number].index(x)
            for x in _stack_numbers(maker, unit, extremes[op])
        ]
    return {
        "atoms": atoms,
        "sums": sums,
        "stacks": stacks,
        "ladders": ladders,
        "op_sums": op_sums,
        "op_ladders": op_ladders,
        "op_stacks": op_stacks,
    }


def _has_ladders(maker: Maker, unit: int, ends: list[int]) -> bool:
    """Whether trends of a lazy op move, and end at each of its events."""
    return unit in maker.stepping and len(ends) > 1


def lazy_ops(
    maker: Maker, atoms: list[int], ncs: list[int], ends: list[list[int]]
) -> dict[str, Ints]:
    """The lazy ops of each unit, LAZY entries for each: see layout.py.

    Args:
        maker: What was found.
        atoms: The atom of each accumulator.
        ncs: Of each unit its components.
        ends: Of each op the rows that it adds to.
    """
    ops: list[tuple[int, int, int, int, int]] = []
    units: list[int] = []
    stamps = 0
    for unit, states in sorted(maker.lazy_states.items()):
        for state in states:
            op = maker.op_of_state[state]
            moves = unit in maker.stepping
            own, other = _loop_rows([row for row, _ in maker.sources.lists[op]], ends[op], moves)
            accumulator = atoms.index(int(maker.program.state_atom[state]))
            ops.append((accumulator, op, own, other, stamps))
            units.append(unit)
            stamps += STAMPS * ncs[unit] if moves else ncs[unit]
    return {
        "u_lazy_p": counts(len(maker.units), units),
        "lazies": np.array(ops, np.int64).reshape(-1),
    }


def _loop_rows(read: list[int], fed: list[int], moves: bool) -> tuple[int, int]:
    """The row of a loop that reads no more than its own and another, and the other; -1: none.

    Where trends move only the row that they wait in.
    """
    if moves:
        return next(row for row in fed if row in read), -1
    others = [row for row in read if row not in fed]
    if len(fed) != 1 or read.count(fed[0]) != 1 or len(others) > 1:
        return -1, -1
    return fed[0], others[0] if others else -1
