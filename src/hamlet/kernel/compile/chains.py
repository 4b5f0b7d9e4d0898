"""Units that are chains: they are run by themselves, not by the machine (see kernel/chains.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.kernel.chains import Chain, ChainGroup
from hamlet.kernel.stack_code import COMPARE_CODES

if TYPE_CHECKING:
    from hamlet.kernel.compile.maker import Maker
    from hamlet.kernel.compile.parts import Unit


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
    shape = maker.execution.chain(unit.template)
    if shape is None:
        return None
    program, query = maker.program, maker.queries[unit.query]
    entry = -1 if shape.entry is None else shape.entry
    operator = COMPARE_CODES[program.predicates[shape.predicate].operator]
    window = query.window
    chain = Chain(
        unit.template,
        -1 if shape.entry is None else int(program.state_atom[entry]),
        tuple(maker.state_weights(unit.query, shape.state)),
        tuple(maker.state_weights(unit.query, entry)),
        tuple(maker.state_extremes(unit.query, shape.state)),
        tuple(maker.state_extremes(unit.query, entry)),
        tuple(aggregate.sign for aggregate in query.extremes),
    )
    atom = int(program.state_atom[shape.state])
    return (atom, shape.predicate, operator, window.within_us, window.slide_us), chain
