"""Units that are chains: they are run by themselves, not by the machine (see kernel/chains.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.kernel.chains import Chain, ChainGroup
from hamlet.kernel.stack_code import COMPARE_CODES
from hamlet.plan.template import END, START

if TYPE_CHECKING:
    from hamlet.kernel.compiler.maker import Maker
    from hamlet.kernel.compiler.parts import Unit


def take_out_chains(maker: Maker) -> None:
    """Take out the units that are chains: they are run by themselves, not by the machine."""
    groups: dict[tuple[int, int, int, int, int], list[Chain]] = {}
    left: list[Unit] = []
    for unit in maker.units:
        found = _chain(maker, unit)
        if found is None:
            left.append(unit)
        else:
            groups.setdefault(found[0], []).append(found[1])
    maker.chains = tuple(ChainGroup(*key, tuple(chains)) for key, chains in groups.items())
    # The others are numbered anew.
    kept = {unit.number: number for number, unit in enumerate(left)}
    maker.guards = [(kept[unit], t) for unit, t in maker.guards if unit in kept]
    maker.guard_number = {pair: i for i, pair in enumerate(maker.guards)}
    for unit in left:
        unit.number = kept[unit.number]
    maker.units = left


def _chain(maker: Maker, unit: Unit) -> tuple[tuple[int, int, int, int, int], Chain] | None:
    """A unit as a chain with the key of its group; None where it is something else."""
    program, query = maker.program, maker.queries[unit.query]
    states = maker.states_of.get(unit.template, [])
    edges = maker.edges_of.get(unit.template, [])
    loops = [(s, c) for s, t, c in edges if s == t]
    if len(loops) != 1 or len(states) > 2:
        return None
    ((state, condition_number),) = loops
    condition = program.conditions[condition_number]
    entry = next((s for s in states if s != state), None)
    path = [(START, state)] if entry is None else [(START, entry), (entry, state)]
    wanted = {*path, (state, END), (state, state)}
    free = all(program.conditions[c].is_free for s, t, c in edges if s != t)
    if {(s, t) for s, t, _ in edges} != wanted or not free or query.is_conjunction:
        return None
    if maker.grain(unit, condition) != "tree" or condition.guards:
        return None
    predicate = next(iter(condition.predicates))
    operator = COMPARE_CODES[program.predicates[predicate].operator]
    window = query.window
    extremes = [a for a in query.aggregates if a.function in ("MIN", "MAX")]
    atom = int(program.state_atom[state])
    chain = Chain(
        unit.template,
        -1 if entry is None else int(program.state_atom[entry]),
        tuple(maker.state_weights(unit.query, state)),
        tuple(maker.state_weights(unit.query, -1 if entry is None else entry)),
        tuple(maker.state_extremes(unit.query, state, extremes)),
        tuple(maker.state_extremes(unit.query, -1 if entry is None else entry, extremes)),
        tuple(1 if a.function == "MIN" else -1 for a in extremes),
    )
    return (atom, predicate, operator, window.within_us, window.slide_us), chain
