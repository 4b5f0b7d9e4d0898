"""What a group of units with one loop is, as plain values; and the same group seen from its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

# Instead of a state
START, END = -1, -2
# f op g, as numbers: see stack_code.COMPARE_CODES. Seen from g it is the mirrored one.
_MIRRORED = (2, 3, 0, 1, 4, 5)


@dataclass(frozen=True, slots=True)
class RowState:
    """A state of a unit.

    Attributes:
        atom: What its events satisfy.
        weights: For each component after the first the weight that an event adds: see code.py.
        extremes: For each extreme its attribute, -1 for none, and 1 for MIN or -1 for MAX.
        is_loop: Whether it is the E of the loop.
    """

    atom: int
    weights: tuple[int, ...]
    extremes: tuple[tuple[int, int], ...]
    is_loop: bool


@dataclass(frozen=True, slots=True)
class RowEdge:
    """From a state or START to a state or END; the loop itself is none of them.

    Attributes:
        guards: Atoms of which no event may be between the two.
        asks: Atoms that the second event has to satisfy (1), or must not (0).
    """

    source: int
    target: int
    guards: tuple[int, ...] = ()
    asks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class RowPredicate:
    """The edge predicate f(previous) op g(next) of a loop: its number in the program, and op."""

    number: int
    operator: int

    def mirrored(self) -> RowPredicate:
        """The same seen from the end, where f and g have changed sides."""
        return RowPredicate(self.number, _MIRRORED[self.operator])


@dataclass(frozen=True, slots=True)
class RowUnit:
    """One pattern of one query: its window, states and edges, and for each extreme 1 or -1."""

    template: int
    predicate: RowPredicate
    within_us: int
    slide_us: int
    states: tuple[RowState, ...]
    edges: tuple[RowEdge, ...]
    signs: tuple[int, ...]

    def turned_round(self) -> RowUnit:
        """The same pattern seen from its end."""
        return replace(
            self, predicate=self.predicate.mirrored(), edges=tuple(map(_turned, self.edges))
        )


@dataclass(frozen=True)
class RowGroup:
    """Units with one loop; what they ask of its events and neighbours may differ, and windows too.

    Attributes:
        guards: Atoms of which no event may be between two neighbours of the loop.
        components: Of each unit, its number of trends included.
        extremes: Of each unit.
        is_backward: Whether events are taken from the last to the first; then the edges of its
            units are turned round, and f and g have changed sides.
    """

    guards: tuple[int, ...]
    components: int
    extremes: int
    units: tuple[RowUnit, ...]
    is_backward: bool = False

    @cached_property
    def atoms(self) -> tuple[int, ...]:
        """What units ask of the events of the loop."""
        states = (state for unit in self.units for state in unit.states if state.is_loop)
        return tuple(sorted({state.atom for state in states}))

    @cached_property
    def weights(self) -> frozenset[int]:
        """The weights that any event adds to a component: see code.py."""
        states = (state for unit in self.units for state in unit.states)
        return frozenset(weight for state in states for weight in state.weights if weight >= 0)

    @cached_property
    def predicates(self) -> tuple[RowPredicate, ...]:
        """What units ask of neighbours in the loop."""
        return tuple(sorted({unit.predicate for unit in self.units}))

    @cached_property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """The different lengths and slides of its units."""
        return tuple(sorted({(unit.within_us, unit.slide_us) for unit in self.units}))

    @cached_property
    def within_us(self) -> int:
        """How long a window is in the table: as the longest of any unit."""
        return max(unit.within_us for unit in self.units)

    @cached_property
    def slide_us(self) -> int:
        """How far windows of the table are apart, so that those of all units are among them."""
        return gcd(*(unit.slide_us for unit in self.units))

    @cached_property
    def overlap(self) -> int:
        """The most windows that are open at once."""
        return -(-self.within_us // self.slide_us)

    def turned_round(self) -> RowGroup:
        """The same group seen from its end; an edge that asks something of its target cannot be."""
        return replace(
            self,
            units=tuple(unit.turned_round() for unit in self.units),
            is_backward=not self.is_backward,
        )

    def steps(self, window: tuple[int, int]) -> tuple[int, int]:
        """Which windows of the table are those of a length and slide: one in so many, from one on.

        Seen from the end, windows of different lengths that end together begin together.
        """
        within, slide = window
        first = (self.within_us - within) // self.slide_us if self.is_backward else 0
        return slide // self.slide_us, first

    @property
    def can_turn(self) -> bool:
        """Whether it can be seen from its end."""
        return not any(edge.asks for unit in self.units for edge in unit.edges)


def _turned(edge: RowEdge) -> RowEdge:
    ends = {START: END, END: START}
    return RowEdge(
        ends.get(edge.target, edge.target), ends.get(edge.source, edge.source), edge.guards
    )
