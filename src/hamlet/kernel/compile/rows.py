"""Units whose loops have an edge predicate: groups with one table, not run by the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hamlet.kernel.rows.automata import merged
from hamlet.kernel.rows.group import (
    END,
    START,
    RowEdge,
    RowGroup,
    RowPredicate,
    RowState,
    RowUnit,
)
from hamlet.kernel.rows.letters import PlacedGroup
from hamlet.kernel.stack_code import COMPARE_CODES
from hamlet.plan.letters import Atom
from hamlet.plan.template import END as TEMPLATE_END
from hamlet.plan.template import START as TEMPLATE_START
from hamlet.plan.windows import in_one_table

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from hamlet.kernel.compile.maker import Maker
    from hamlet.kernel.compile.parts import Unit
    from hamlet.plan.execution import RowShape
    from hamlet.plan.template import Condition

    # Guards, components and extremes
    _Key = tuple[tuple[int, ...], int, int]

# Events are turned round where that leaves at most one column in so many.
_WORTH_TURNING = 2


def take_out_rows(maker: Maker, forwards: bool = False) -> None:
    """Take out the units that the row kernel runs: see kernel/rows.

    Those that are to be run forwards have groups of their own by what they ask of neighbours, and
    by windows: what is kept of a group from batch to batch has nothing that only others need.
    """
    groups: dict[Hashable, dict[Hashable, list[RowUnit]]] = {}
    keys: dict[Hashable, _Key] = {}
    left: list[Unit] = []
    for unit in maker.units:
        row_unit = _row_unit(maker, unit)
        if row_unit is None:
            left.append(unit)
        else:
            shape, key, made = row_unit
            direction = maker.program.predicates[shape.predicate].direction
            of_loop: Hashable = (maker.execution.type_of(min(shape.loops)), direction, key)
            if forwards:
                of_loop = (of_loop, made.predicate, made.within_us, made.slide_us)
            alike, keys[of_loop] = groups.setdefault(of_loop, {}), key
            asks = (made.predicate, shape.atom, made.within_us, made.slide_us)
            alike.setdefault(asks, []).append(made)
    maker.row_groups = tuple(
        made
        for of_loop, alike in groups.items()
        for made in _groups(keys[of_loop], list(alike.values()), forwards)
    )
    # The others are numbered anew.
    kept = {unit.number: number for number, unit in enumerate(left)}
    maker.guards = [(kept[unit], t) for unit, t in maker.guards if unit in kept]
    maker.guard_number = {pair: i for i, pair in enumerate(maker.guards)}
    for unit in left:
        unit.number = kept[unit.number]
    maker.units = left


def _groups(key: _Key, alike: list[list[RowUnit]], forwards: bool) -> Iterator[PlacedGroup]:
    """Units with one loop, by windows and what they ask of it: in as few groups as can be.

    A group may have one table: its units are run in one direction, and none of them keeps others
    from sharing. Those that ask different things of neighbours have nothing in common but sharing.
    """
    tables = in_one_table((units[0].within_us, units[0].slide_us) for units in alike)
    groups = [_group(key, units) for units in alike]
    if forwards:
        yield PlacedGroup.of(_group(key, [unit for group in groups for unit in group.units]))
        return
    wants = [_prefers_turning(group) for group in groups]
    # Those to which both directions are the same go with the others.
    turns = sum(want is True for want in wants) > sum(want is False for want in wants)
    together: dict[Hashable, list[PlacedGroup]] = {}
    for group, want in zip(groups, wants, strict=True):
        made = PlacedGroup.of(group.turned_round() if (turns if want is None else want) else group)
        weights = made.nodes[0].state.weights if made.is_sharable else None
        table = tables[made.group.windows[0]]
        asks = None if made.is_sharable else made.group.predicates
        together.setdefault((made.group.is_backward, table, weights, asks), []).append(made)
    for some in together.values():
        if len(some) == 1:
            yield some[0]
        else:
            members = tuple(unit for made in some for unit in made.group.units)
            yield PlacedGroup.of(replace(some[0].group, units=members))


def _group(key: _Key, units: list[RowUnit]) -> RowGroup:
    """A group; units that end alike stand side by side: what they do there is one operation."""
    return RowGroup(*key, tuple(sorted(units, key=_ending)))


def _prefers_turning(group: RowGroup) -> bool | None:
    """Whether its units have much more in common seen from the end; None: it is all the same."""
    if not group.can_turn:
        return False
    if len(group.units) == 1:
        return None
    forward, turned = merged(group).loops, merged(group.turned_round()).loops
    return None if forward == turned else _WORTH_TURNING * turned <= forward


def _ending(unit: RowUnit) -> tuple[int, ...]:
    """The atoms that come after the loop."""
    loops = {i for i, state in enumerate(unit.states) if state.is_loop}
    after = {e.target for e in unit.edges if e.source in loops and e.target != END}
    return tuple(sorted(unit.states[i].atom for i in after))


def _row_unit(maker: Maker, unit: Unit) -> tuple[RowShape, _Key, RowUnit] | None:
    """A unit with its loop and what its group has in common; None where the machine runs it."""
    shape = maker.execution.rows(unit.template)
    if shape is None:
        return None
    program, query = maker.program, maker.queries[unit.query]
    numbers = maker.states_of.get(unit.template, [])
    number = {state: i for i, state in enumerate(numbers)}
    number |= {TEMPLATE_START: START, TEMPLATE_END: END}
    edges = tuple(
        RowEdge(number[s], number[t], *_way(maker, t, program.conditions[c]))
        for s, t, c in maker.edges_of.get(unit.template, [])
        if s != t or s not in shape.loops
    )
    signs = tuple(aggregate.sign for aggregate in query.extremes)
    states = tuple(
        RowState(
            int(program.state_atom[state]),
            tuple(maker.state_weights(unit.query, state)),
            tuple(zip(maker.state_extremes(unit.query, state), signs, strict=True)),
            state in shape.loops,
        )
        for state in numbers
    )
    key = (
        shape.guards,
        1 + len(maker.components[unit.query]),
        len(signs),
    )
    operator = COMPARE_CODES[program.predicates[shape.predicate].operator]
    made = RowUnit(
        unit.template,
        RowPredicate(shape.predicate, operator),
        query.window.within_us,
        query.window.slide_us,
        states,
        edges,
        signs,
    )
    return shape, key, made


def _way(
    maker: Maker, target: int, condition: Condition
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The atoms of the guards of an edge, and what it asks of its second event itself."""
    guards = maker.execution.guard_atoms(condition) or ()
    if not condition.holds and not condition.fails:
        return guards, ()
    atoms = {atom: i for i, atom in enumerate(maker.program.alphabet.atoms)}
    event_type = maker.execution.type_of(target)
    asked = [(atoms[Atom(event_type, each)], 1) for each in condition.holds]
    asked += [(atoms[Atom(event_type, each)], 0) for each in condition.fails]
    return guards, tuple(sorted(asked))
