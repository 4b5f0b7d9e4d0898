"""Where the running totals of a group stand: rows and columns, known before there are events.

Every E+ of the group has a column of its own in the table. A running total stands in a row, at the
column of the E+ that it feeds or comes from, so that one and the same step of many units is one
operation on neighbouring columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hamlet.kernel.rows.automata import Automata, Inflow

    Place = tuple[int, int]  # row and column

# A column has so many rows more than the average at most
_SPARE_ROWS = 6


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the running totals of a group stand.

    Attributes:
        rows: How many rows there are.
        of_node: The column of each node.
        read: For each node the inflows that it reads, and where.
        fed: For each node where what comes to it is added.
        starts: Where a new window begins with empty trends: how many, and length and slide of
            such windows.
        ends: For each unit where its trends end.
        guarded: By atom what its events empty.
    """

    rows: int
    of_node: list[int]
    read: list[list[tuple[Inflow, Place]]]
    fed: list[list[Place]]
    starts: dict[Place, tuple[int, tuple[int, int]]]
    ends: list[list[Place]]
    guarded: dict[int, list[Place]]


class Placing:
    """Finds a place for each running total."""

    def __init__(self, automata: Automata) -> None:
        self.automata = automata
        self.columns = automata.loops
        self.taken = [0] * self.columns
        # By inflow and column where it is wanted; and the first such column of each
        self.places: dict[tuple[Inflow, int], Place] = {}
        self.found_at: dict[Inflow, int] = {}
        self.of_node = list(range(self.columns)) + [-1] * (len(automata.nodes) - self.columns)
        inflows = sum(len(n.inflows) for n in automata.nodes) + sum(map(len, automata.ends))
        self.most = _SPARE_ROWS + -(-inflows // self.columns)

    def placed(self) -> Placed:
        """All of them."""
        nodes, loops = self.automata.nodes, self.columns
        for number in range(loops):
            for inflow in nodes[number].inflows:
                self._place_at(inflow, number)
        self._columns_of_nodes()
        read = [
            [(inflow, self.place(inflow, number)) for inflow in node.inflows]
            for number, node in enumerate(nodes)
        ]
        ends = [
            [self._place_near(inflow, self._column_before(inflow)) for inflow in each]
            for each in self.automata.ends
        ]
        fed: list[list[Place]] = [[] for _ in nodes]
        starts: dict[Place, tuple[int, tuple[int, int]]] = {}
        guarded: dict[int, list[Place]] = {}
        for (inflow, column), place in self.places.items():
            for source in inflow.sources:
                fed[source].append(place)
            if inflow.starts:
                starts[place] = (inflow.starts, nodes[column].window)
            for atom in inflow.guards:
                guarded.setdefault(atom, []).append(place)
        return Placed(max(self.taken), self.of_node, read, fed, starts, ends, guarded)

    def place(self, inflow: Inflow, node: int) -> Place:
        """Where a node reads an inflow: an E+ at its own column."""
        if node < self.columns:
            return self.places[inflow, node]
        return self._place_near(inflow, self.of_node[node])

    def _place_near(self, inflow: Inflow, column: int) -> Place:
        """A place of an inflow, at a column if it has none yet and there is room.

        What comes from START alone is the same everywhere, and has a place at each column where it
        is wanted: so what many units do at their beginning is one operation.
        """
        if inflow.sources:
            column = self.found_at.get(inflow, column)
        if (inflow, column) in self.places:
            return self.places[inflow, column]
        return self._place_at(inflow, column)

    def _place_at(self, inflow: Inflow, column: int) -> Place:
        """A new place of an inflow, at a column if there is room."""
        at = column
        if self.taken[at] >= self.most:
            at = self.taken.index(min(self.taken))
        self.places[inflow, column] = (self.taken[at], at)
        self.found_at.setdefault(inflow, column)
        self.taken[at] += 1
        return self.places[inflow, column]

    def _columns_of_nodes(self) -> None:
        """The column of each other node: of the E+ that it feeds, or that feeds it, if any."""
        nodes = self.automata.nodes
        near: list[list[int]] = [[] for _ in nodes]
        for number, node in enumerate(nodes):
            for inflow in node.inflows:
                for source in inflow.sources:
                    near[source].append(number)
                    near[number].append(source)
        reached = list(range(self.columns))
        while reached:
            number = reached.pop(0)
            for other in near[number]:
                if self.of_node[other] < 0:
                    self.of_node[other] = self.of_node[number]
                    reached.append(other)
        # One that has to do with no E+ is at one of its window.
        of_window = {nodes[c].window: c for c in reversed(range(self.columns))}
        self.of_node = [
            of_window[node.window] if column < 0 else column
            for node, column in zip(nodes, self.of_node, strict=True)
        ]

    def _column_before(self, inflow: Inflow) -> int:
        return self.of_node[inflow.sources[0]] if inflow.sources else 0
