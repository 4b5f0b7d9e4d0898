"""What an event does to the rows of a group: operations on ranges of neighbouring columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hamlet.kernel.rows.group import RowPredicate
    from hamlet.kernel.rows.letters import PlacedGroup
    from hamlet.kernel.rows.places import Place, Placed


@dataclass(frozen=True, slots=True)
class Op:
    """What an event does at some nodes in neighbouring columns.

    `sources` and `targets` are rows, with the distance of their columns from the op's own.
    """

    layer: int
    first: int
    n: int
    is_loop: bool
    sources: tuple[Place, ...]
    targets: tuple[Place, ...]
    weights: tuple[int, ...]
    extremes: tuple[tuple[int, int], ...]
    predicate: RowPredicate | None  # of the loop

    def is_followed_by(self, other: Op) -> bool:
        """Whether another op does the same in the columns after its own."""
        return other.first == self.first + self.n and other == replace(
            self, first=other.first, n=other.n
        )


def ops_of(made: PlacedGroup, atoms: frozenset[int]) -> list[Op]:
    """What an event that satisfies some atoms does, alike ops in neighbouring columns made one."""
    ops: list[Op] = []
    placed, has_loop = made.placed, not atoms.isdisjoint(made.group.atoms)
    layers: dict[int, int] = {}
    for number in (n for atom in sorted(atoms) for n in made.of_atom.get(atom, ())):
        node = made.nodes[number]
        column, is_loop = placed.of_node[number], node.state.is_loop
        sources = [
            place
            for inflow, place in placed.read[number]
            if all((atom in atoms) == wanted for atom, wanted in inflow.asks)
        ]
        if not sources and not is_loop:
            continue
        layer = 0
        if not is_loop:
            layer = layers.get(column, int(has_loop))
            layers[column] = layer + 1
        ops.append(
            Op(
                layer,
                column,
                1,
                is_loop,
                tuple((row, c - column) for row, c in sources),
                tuple((row, c - column) for row, c in placed.fed[number]),
                node.state.weights,
                node.state.extremes,
                node.predicate if is_loop else None,
            )
        )
    together: list[Op] = []
    for op in sorted(ops, key=lambda op: (op.layer, op.first)):
        if together and together[-1].is_followed_by(op):
            together[-1] = replace(together[-1], n=together[-1].n + 1)
        else:
            together.append(op)
    return together


def in_turn(ops: list[Op]) -> tuple[list[Op], bool]:
    """Some ops such that none reads what one before it has added to, and whether there is a way.

    Those of the loop come first.
    """
    first = [op for op in ops if op.is_loop]
    waiting = [op for op in ops if not op.is_loop]
    done = list(first)
    while waiting:
        # What the others have still to read must not have been added to.
        free = next((op for op in waiting if not _adds_to_any(op, waiting)), None)
        if free is None:
            return ops, False
        done.append(free)
        waiting = [op for op in waiting if op is not free]
    is_clear = not any(_adds_to_any(op, done) for op in first)
    return done, is_clear and not any(_adds_to_itself(op) for op in done)


def _adds_to_any(op: Op, others: list[Op]) -> bool:
    """Whether an op adds to what others read."""
    return any(
        row == read and -op.n < op.first + a - other.first - b < other.n
        for other in others
        if other is not op
        for row, a in op.targets
        for read, b in other.sources
    )


def _adds_to_itself(op: Op) -> bool:
    """Whether an op adds to what it reads in another of its columns."""
    return any(
        row == read and a != b and abs(a - b) < op.n
        for row, a in op.targets
        for read, b in op.sources
    )


def skipped(ops: list[Op], columns: int) -> list[tuple[int, int]]:
    """Of an event of the loop the ranges of columns that do not admit it: first column, columns."""
    admitting = sorted((op.first, op.n) for op in ops if op.is_loop)
    if not admitting:
        return []
    ends = [0, *(first + n for first, n in admitting)]
    begins = [*(first for first, _ in admitting), columns]
    return [(end, begin - end) for end, begin in zip(ends, begins, strict=True) if begin > end]


def feeds(ops: list[Op]) -> list[int]:
    """The columns of what events of a letter add to what comes into E+, which is row 0."""
    return [op.n for op in ops if not op.is_loop for row, _ in op.targets if row == 0]


def emptied(placed: Placed, atoms: frozenset[int]) -> list[tuple[Place, int]]:
    """What an event that satisfies some atoms empties: ranges of columns of rows."""
    places = {p for atom, each in placed.guarded.items() if atom in atoms for p in each}
    ranges: list[tuple[Place, int]] = []
    for row, column in sorted(places):
        if ranges and ranges[-1][0] == (row, column - ranges[-1][1]):
            ranges[-1] = (ranges[-1][0], ranges[-1][1] + 1)
        else:
            ranges.append(((row, column), 1))
    return ranges
