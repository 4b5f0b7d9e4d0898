"""States of all units of a group that always have the same numbers, made one.

What a state has depends on its own atom and weights, on the window of its unit, on what a loop asks
of neighbours, and on the states before it. So states are the same that agree in these and come from
the same states by the same edges: the coarsest such partition is found by refinement, as when a
finite automaton is minimised, from the other end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hamlet.kernel.rows.group import END, START

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from hamlet.kernel.rows.group import RowGroup, RowPredicate, RowState, RowUnit


@dataclass(frozen=True, slots=True)
class Inflow:
    """A running total that events read: what has come from some nodes, and START, by one way.

    Attributes:
        sources: Nodes; one may be there twice.
        starts: How often START is among them: a new window begins with so many empty trends.
        guards: Atoms whose events empty it.
        asks: What an event has to satisfy that reads it.
    """

    sources: tuple[int, ...]
    starts: int
    guards: tuple[int, ...]
    asks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Node:
    """States of some units that are one, the inflows that they read, and length and slide.

    Of a loop what is asked of neighbours, too; other nodes may be of units that ask other things.
    """

    state: RowState
    inflows: tuple[Inflow, ...]
    window: tuple[int, int]
    predicate: RowPredicate


@dataclass(frozen=True, slots=True)
class Automata:
    """All nodes of a group, those of the loop first; and for each unit what its trends end with."""

    nodes: tuple[Node, ...]
    ends: tuple[tuple[Inflow, ...], ...]
    loop_of: tuple[int, ...]  # by unit: the node of its (first) E+

    @property
    def loops(self) -> int:
        """How many different E+ there are: the columns of the table for each window."""
        return sum(node.state.is_loop for node in self.nodes)


def merged(group: RowGroup) -> Automata:
    """The automata of all units of a group, with equal states made one."""
    colours = _refined(group.units)
    order = sorted(
        {c: None for colour in colours for c in colour},
        key=lambda c: (not _state_of(group.units, colours, c).is_loop, c),
    )
    number = {colour: node for node, colour in enumerate(order)}
    nodes: dict[int, Node] = {}
    ends, loop_of = [], []
    for unit, colour in zip(group.units, colours, strict=True):
        of_state = [number[c] for c in colour]
        for index, state in enumerate(unit.states):
            window, inflows = (unit.within_us, unit.slide_us), _inflows(unit, index, of_state)
            nodes.setdefault(of_state[index], Node(state, inflows, window, unit.predicate))
        ends.append(_inflows(unit, END, of_state))
        loop_of.append(min(of_state))  # those of the loop come first
    return Automata(tuple(nodes[n] for n in range(len(nodes))), tuple(ends), tuple(loop_of))


def _state_of(units: tuple[RowUnit, ...], colours: list[list[int]], wanted: int) -> RowState:
    for unit, colour in zip(units, colours, strict=True):
        if wanted in colour:
            return unit.states[colour.index(wanted)]
    raise KeyError(wanted)


def _refined(units: tuple[RowUnit, ...]) -> list[list[int]]:
    """For each unit the class of each state: of one class are states with the same numbers."""
    colours = _numbered(
        [
            [
                (state, unit.within_us, unit.slide_us, unit.predicate if state.is_loop else None)
                for state in unit.states
            ]
            for unit in units
        ]
    )
    while True:
        signs = [
            [(colour[i], _incoming(unit, i, colour)) for i in range(len(unit.states))]
            for unit, colour in zip(units, colours, strict=True)
        ]
        finer = _numbered(signs)
        if _count(finer) == _count(colours):
            return finer
        colours = finer


def _numbered(signs: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    known: dict[Hashable, int] = {}
    return [[known.setdefault(sign, len(known)) for sign in each] for each in signs]


def _count(colours: list[list[int]]) -> int:
    return len({c for colour in colours for c in colour})


def _incoming(unit: RowUnit, target: int, colour: list[int]) -> Hashable:
    edges = (edge for edge in unit.edges if edge.target == target)
    return tuple(
        sorted((START if e.source == START else colour[e.source], e.guards, e.asks) for e in edges)
    )


def _inflows(unit: RowUnit, target: int, of_state: list[int]) -> tuple[Inflow, ...]:
    ways: dict[tuple[tuple[int, ...], tuple[tuple[int, int], ...]], list[int]] = {}
    for edge in unit.edges:
        if edge.target == target:
            source = START if edge.source == START else of_state[edge.source]
            ways.setdefault((edge.guards, edge.asks), []).append(source)
    return tuple(
        Inflow(tuple(sorted(s for s in sources if s != START)), sources.count(START), *way)
        for way, sources in sorted(ways.items())
    )
