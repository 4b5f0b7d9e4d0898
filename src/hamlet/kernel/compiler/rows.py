"""Units whose loops have an edge predicate: groups with one table, not run by the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.kernel.rows.automata import merged
from hamlet.kernel.rows.group import END, START, RowEdge, RowGroup, RowState, RowUnit
from hamlet.kernel.rows.letters import PlacedGroup
from hamlet.kernel.stack_code import COMPARE_CODES
from hamlet.plan.letters import Atom
from hamlet.plan.template import END as TEMPLATE_END
from hamlet.plan.template import START as TEMPLATE_START

if TYPE_CHECKING:
    from hamlet.kernel.compiler.maker import Maker
    from hamlet.kernel.compiler.parts import Unit
    from hamlet.plan.template import Condition

    # Atom, predicate, operator, guards, window, components and extremes
    _Key = tuple[int, int, int, tuple[int, ...], int, int, int, int]

# Events are turned round where that leaves at most one column in so many.
_WORTH_TURNING = 2


def take_out_rows(maker: Maker) -> None:
    """Take out the units that the row kernel runs: see kernel/rows."""
    groups: dict[_Key, list[RowUnit]] = {}
    left: list[Unit] = []
    for unit in maker.units:
        found = _row_unit(maker, unit)
        if found is None:
            left.append(unit)
        else:
            groups.setdefault(found[0], []).append(found[1])
    maker.row_groups = tuple(PlacedGroup.of(_group(key, units)) for key, units in groups.items())
    # The others are numbered anew.
    kept = {unit.number: number for number, unit in enumerate(left)}
    maker.guards = [(kept[unit], t) for unit, t in maker.guards if unit in kept]
    maker.guard_number = {pair: i for i, pair in enumerate(maker.guards)}
    for unit in left:
        unit.number = kept[unit.number]
    maker.units = left


def _group(key: _Key, units: list[RowUnit]) -> RowGroup:
    """A group, run in the direction in which its units have more in common.

    Units that end alike stand side by side, so that what they do there is one operation.
    """
    group = RowGroup(*key, tuple(sorted(units, key=_ending)))
    if len(units) > 1 and group.can_turn:
        turned = group.turned_round()
        if _WORTH_TURNING * merged(turned).loops <= merged(group).loops:
            return turned
    return group


def _ending(unit: RowUnit) -> tuple[int, ...]:
    """The atoms that come after the loop."""
    loops = {i for i, state in enumerate(unit.states) if state.is_loop}
    after = {e.target for e in unit.edges if e.source in loops and e.target != END}
    return tuple(sorted(unit.states[i].atom for i in after))


def _row_unit(maker: Maker, unit: Unit) -> tuple[_Key, RowUnit] | None:
    """A unit with the key of its group; None where the machine has to run it."""
    program, query = maker.program, maker.queries[unit.query]
    states = maker.states_of.get(unit.template, [])
    number = {state: i for i, state in enumerate(states)}
    number |= {TEMPLATE_START: START, TEMPLATE_END: END}
    loops: dict[int, tuple[int, int, tuple[int, ...]]] = {}
    edges: list[RowEdge] = []
    for source, target, c in maker.edges_of.get(unit.template, []):
        condition = program.conditions[c]
        guards = _guard_atoms(maker, condition)
        if guards is None:
            return None
        grain = maker.grain(unit, condition)
        if grain == "tree" and source == target:
            predicate = next(iter(condition.predicates))
            loops[source] = (int(program.state_atom[source]), predicate, guards)
        elif grain == "type":
            asks = _asks(maker, target, condition)
            edges.append(RowEdge(number[source], number[target], guards, asks))
        else:
            return None
    if len(set(loops.values())) != 1:
        return None
    atom, predicate, guards = next(iter(loops.values()))
    extremes = [a for a in query.aggregates if a.function in ("MIN", "MAX")]
    signs = tuple(1 if a.function == "MIN" else -1 for a in extremes)
    made = tuple(
        RowState(
            int(program.state_atom[state]),
            tuple(maker.state_weights(unit.query, state)),
            tuple(zip(maker.state_extremes(unit.query, state, extremes), signs, strict=True)),
            state in loops,
        )
        for state in states
    )
    operator = COMPARE_CODES[program.predicates[predicate].operator]
    window = query.window
    components = 1 + len(maker.components[unit.query])
    key = (
        atom,
        predicate,
        operator,
        guards,
        window.within_us,
        window.slide_us,
        components,
        len(extremes),
    )
    return key, RowUnit(unit.template, made, tuple(edges), signs)


def _guard_atoms(maker: Maker, condition: Condition) -> tuple[int, ...] | None:
    """The atoms of the guards of an edge; None where one of them is more than a single event."""
    program = maker.program
    found = set()
    for template in condition.guards:
        states = maker.states_of[template]
        conditions = [program.conditions[c] for _, _, c in maker.edges_of[template]]
        if len(states) != 1 or not all(each.is_free for each in conditions):
            return None
        found.add(int(program.state_atom[states[0]]))
    return tuple(sorted(found))


def _asks(maker: Maker, target: int, condition: Condition) -> tuple[tuple[int, int], ...]:
    """What an edge asks of its second event itself."""
    if not condition.holds and not condition.fails:
        return ()
    atoms = {atom: i for i, atom in enumerate(maker.program.alphabet.atoms)}
    event_type = maker.type_of(target)
    asked = [(atoms[Atom(event_type, each)], 1) for each in condition.holds]
    asked += [(atoms[Atom(event_type, each)], 0) for each in condition.fails]
    return tuple(sorted(asked))
