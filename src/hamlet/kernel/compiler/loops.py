"""Lazy ops, which of them each unit has, and the accumulators of their events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.code import NO_WEIGHT

if TYPE_CHECKING:
    from hamlet.kernel.compiler.maker import Maker
    from hamlet.kernel.compiler.parts import Unit


def choose_loops(maker: Maker) -> dict[int, int]:
    """For each unit that can have one, the state of its lazy op."""
    candidates = {unit.number: _loop_states(maker, unit) for unit in maker.units}
    atoms = maker.program.state_atom
    votes = Counter(int(atoms[s]) for states in candidates.values() for s in states)
    return {
        unit: max(states, key=lambda s: (votes[int(atoms[s])], -s))
        for unit, states in candidates.items()
        if states
    }


def _loop_states(maker: Maker, unit: Unit) -> list[int]:
    types = Counter(maker.type_of(s) for s in maker.states_of.get(unit.template, []))
    for number, template in maker.guards:
        if number == unit.number:
            types.update(maker.type_of(s) for s in maker.states_of[template])
    return [
        state
        for state in maker.states_of.get(unit.template, [])
        if types[maker.type_of(state)] == 1 and _can_be_lazy(maker, unit, state)
    ]


def _can_be_lazy(maker: Maker, unit: Unit, state: int) -> bool:
    op = maker.op_of_state[state]
    own = unit.rows.get((state, frozenset(), -1))
    sources = maker.sources.lists[op]
    plain = all(condition == -1 for _, condition in sources)
    loops = own is not None and any(row == own for row, _ in sources)
    reads = maker.scans.lists[op] or maker.firsts.lists[op] or maker.tree_reads.lists[op]
    is_stored = state in maker.logs or state in maker.trees_of
    weights = maker.state_weights(unit.query, state)
    summable = maker.lazy_weights is None or all(maker.lazy_weights[w] for w in weights if w >= 0)
    return plain and loops and not reads and not is_stored and summable


def _stack_numbers(maker: Maker, unit: int, extremes: list[int]) -> list[int]:
    """For each extreme of an op the number of what its stack holds, -1 for none."""
    aggregates = maker.queries[maker.units[unit].query].aggregates
    functions = [a.function for a in aggregates if a.function in ("MIN", "MAX")]
    return [
        -1 if x < 0 else 2 * x + (function == "MAX")
        for x, function in zip(extremes, functions, strict=True)
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
