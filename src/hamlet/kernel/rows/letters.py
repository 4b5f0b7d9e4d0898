"""What an event of each letter does: operations on ranges of columns, laid out for the kernel.

Every E+ of the group has a column of its own in the table. A running total stands in a row, at the
column of the E+ that it feeds or comes from, so that one and the same step of many units is one
operation on neighbouring columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.rows.automata import Automata, Inflow, Node, merged
from hamlet.kernel.rows.layout import (
    ADDS,
    ARRAYS,
    BELOW,
    BY_BENEFIT,
    COMES_IN,
    DIRECTS,
    DISPUTED,
    DISPUTES,
    EMPTIES,
    EQUAL,
    HEADER,
    KIND,
    LOOPS,
    N_EVENTS,
    OWN,
    PARTS,
    PLAIN,
    READS,
    SAME_KEYS,
    SAME_SIDES,
    SCALARS,
    SEED,
    SHARING,
    UNEQUAL,
    UP_TO,
    WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hamlet.kernel.rows.group import RowGroup, RowPredicate

    Ints = NDArray[np.int64]
    Place = tuple[int, int]  # row and column

# By operator of the predicate: how the kernel compares, and whether both sides change their sign
COMPARED = (
    (BELOW, False),
    (UP_TO, False),
    (BELOW, True),
    (UP_TO, True),
    (EQUAL, False),
    (UNEQUAL, False),
)
# A column has so many rows more than the average at most
_SPARE_ROWS = 6
# Instead of a column
SEVERAL = -2
# With one column, and so few windows open at once, own numbers are as few as snapshots.
_FEW_WINDOWS = 2
# How many codes of a group are kept
_MOST_CODES = 8


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


class _Placing:
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
        found = list(range(self.columns))
        while found:
            number = found.pop(0)
            for other in near[number]:
                if self.of_node[other] < 0:
                    self.of_node[other] = self.of_node[number]
                    found.append(other)
        # One that has to do with no E+ is at one of its window.
        of_window = {nodes[c].window: c for c in reversed(range(self.columns))}
        self.of_node = [
            of_window[node.window] if column < 0 else column
            for node, column in zip(nodes, self.of_node, strict=True)
        ]

    def _column_before(self, inflow: Inflow) -> int:
        return self.of_node[inflow.sources[0]] if inflow.sources else 0


class Laid(NamedTuple):
    """What follows from the letters of a batch.

    Attributes:
        letters: By letter and atom, 1 where events of the letter satisfy the atom.
        code: See layout.py.
        is_loop: By letter whether its events are of the loop.
        admits: By letter and column of E+ whether its events are of that loop.
        fed: By letter the column of E+ that its events come into: -1 for none, SEVERAL for more.
    """

    letters: NDArray[np.uint8]
    code: Ints
    is_loop: NDArray[np.bool_]
    admits: NDArray[np.bool_]
    fed: Ints


@dataclass(frozen=True)
class PlacedGroup:
    """A group with its nodes and their places: all that does not depend on events."""

    group: RowGroup
    nodes: tuple[Node, ...]
    of_atom: dict[int, list[int]]
    placed: Placed
    columns: int
    reads_loop: tuple[bool, ...]  # by node: whether it reads what E+ has given
    column_of_unit: tuple[int, ...]
    codes: list[Laid] = field(default_factory=list, compare=False)  # for some letters each
    classes: dict[tuple[int, ...], PlacedGroup] = field(default_factory=dict, compare=False)

    @cached_property
    def is_sharable(self) -> bool:
        """Whether rows may be over snapshots.

        Each E+ has to have one running total that comes into it, which nothing empties and to which
        no E+ itself adds; and they add the same weights.
        """
        loops = self.nodes[: self.columns]
        inflows = [inflow for node in loops for inflow in node.inflows]
        return (
            all(len(node.inflows) == 1 for node in loops)
            and not any(each.guards or each.asks for each in inflows)
            and not any(s < self.columns for each in inflows for s in each.sources)
            and len({node.state.weights for node in loops}) == 1
            and all(
                row == 0 for row, _ in (p for r in self.placed.read[: self.columns] for _, p in r)
            )
        )

    @cached_property
    def row_extremes(self) -> tuple[tuple[int, int], ...]:
        """The different extremes that any E+ asks for: rows over snapshots have these."""
        asked = (each for node in self.nodes[: self.columns] for each in node.state.extremes)
        return tuple(sorted({each for each in asked if each[0] >= 0}))

    @staticmethod
    def of(group: RowGroup) -> PlacedGroup:
        """Find nodes and places."""
        automata = merged(group)
        of_atom: dict[int, list[int]] = {}
        for number, node in enumerate(automata.nodes):
            of_atom.setdefault(node.state.atom, []).append(number)
        loops = automata.loops
        reads = tuple(
            number >= loops and any(s < loops for inflow in node.inflows for s in inflow.sources)
            for number, node in enumerate(automata.nodes)
        )
        placed = _Placing(automata).placed()
        return PlacedGroup(group, automata.nodes, of_atom, placed, loops, reads, automata.loop_of)


def lay_out(
    made: PlacedGroup,
    letters: NDArray[np.uint8],
    events: int,
    same: bool,
    kind: int,
    sharing: int,
    seed: int = 0,
    disputed: tuple[int, bool] = (0, False),
    words: int = 1,
) -> Ints:
    """The code of a group for the letters of a batch.

    Args:
        made: The group.
        letters: By letter and atom, 1 where events of the letter satisfy the atom.
        events: How many events there are in the batch.
        same: Whether f and g are the same of every event.
        kind: Of the table.
        sharing: The policy, see layout.py.
        seed: Of the coin, where that decides.
        disputed: Of a thousand events of the loop those on which edge predicates will disagree, and
            whether all of these compare the same f of every event in the same way.
        words: Of a number.
    """
    code = laid_for(made, letters).code.copy()
    code[N_EVENTS], code[SAME_SIDES], code[KIND] = events, same, kind
    is_asked = sharing != BY_BENEFIT or may_pay(made)
    code[SHARING], code[SEED] = sharing if made.is_sharable and is_asked else OWN, seed
    code[DISPUTED], code[SAME_KEYS] = disputed
    code[WORDS] = words
    return code


def may_pay(made: PlacedGroup) -> bool:
    """Whether snapshots may be less work than own columns, whatever the events are."""
    return made.columns > 1 or made.group.overlap > _FEW_WINDOWS


def laid_for(made: PlacedGroup, letters: NDArray[np.uint8]) -> Laid:
    """What was laid out for some letters; most batches have the same."""
    for known in made.codes:
        if known.letters is letters or np.array_equal(known.letters, letters):
            return known
    if len(made.codes) >= _MOST_CODES:
        made.codes.pop(0)
    admits = letters[:, [node.state.atom for node in made.nodes[: made.columns]]].astype(np.bool_)
    code, fed = _code(made, letters), _columns_fed(made, letters)
    is_loop = np.logical_or.reduce(admits, axis=1)
    made.codes.append(Laid(letters, code, is_loop, admits, fed))
    return made.codes[-1]


def _columns_fed(made: PlacedGroup, letters: NDArray[np.uint8]) -> Ints:
    """By letter the column of E+ that its events come into: -1 for none, SEVERAL for more."""
    found = np.full(len(letters), -1, np.int64)
    for letter, atom in np.argwhere(letters).tolist():
        for number in made.of_atom.get(atom, ()):
            fed = [c for row, c in made.placed.fed[number] if row == 0]
            if number >= made.columns and fed:
                is_one = len(fed) == 1 and found[letter] in (-1, fed[0])
                found[letter] = fed[0] if is_one else SEVERAL
    return found


def _code(made: PlacedGroup, letters: NDArray[np.uint8]) -> Ints:
    """The code of a group for some letters, but for what depends on a batch."""
    group, placed = made.group, made.placed
    atoms, loops = _atoms(letters), frozenset(group.atoms)
    in_turn = [_in_turn(_ops(made, each)) for each in atoms]
    by_letter = [each for each, _ in in_turn]
    # After the last letter stands what every E+ admits.
    for_all = [op for op in _ops(made, loops) if op.is_loop]
    skips = [_skipped(each, made.columns) for each in by_letter]
    resets = [_resets(placed, each) for each in atoms]
    ops = [op for each in (*by_letter, for_all) for op in each]
    size = group.overlap * group.components * made.columns
    size_x = group.overlap * group.extremes * made.columns

    def at(places: Iterable[Place]) -> list[int]:
        return [row * size + column for row, column in places]

    def at_x(places: Iterable[Place]) -> list[int]:
        return [row * size_x + column for row, column in places]

    sources = [[(r, op.first + c) for r, c in op.sources] for op in ops]
    targets = [[(r, op.first + c) for r, c in op.targets] for op in ops]
    is_loop = [int(not each.isdisjoint(loops)) for each in atoms]
    is_clear = [int(not each.isdisjoint(group.guards)) for each in atoms]
    feeds = [_feeds(each) for each in by_letter]
    # What comes into E+ is noted, and what an event is worth that is a snapshot by itself.
    is_mixed = len(group.predicates) > 1
    entered = [
        feed + ([op.n for op in each if op.is_loop] if skip or is_mixed else [])
        for feed, each, skip in zip(feeds, by_letter, skips, strict=True)
    ]
    starts_loop = any(row == 0 for row, _ in placed.starts)
    reads = [
        bool(r) or bool(c) or any(made.reads_loop[n] for a in each for n in made.of_atom.get(a, ()))
        for r, c, each in zip(resets, is_clear, atoms, strict=True)
    ]
    known = [
        (ADDS if o else 0) | (EMPTIES if r or c else 0) | (READS if d else 0) | (LOOPS if i else 0)
        for o, r, c, d, i in zip(by_letter, resets, is_clear, reads, is_loop, strict=True)
    ]
    known = [
        k | (PARTS if s else 0) | (COMES_IN if f else 0)
        for k, s, f in zip(known, skips, feeds, strict=True)
    ]
    known = [k | (DISPUTES if k & LOOPS and is_mixed else 0) for k in known]
    known = [
        k | (DIRECTS if k and not k & (EMPTIES | DISPUTES) and is_direct else 0)
        for k, (_, is_direct) in zip(known, in_turn, strict=True)
    ]
    known = [
        k | (PLAIN if k == ADDS | LOOPS | DIRECTS and all(op.is_loop for op in o) else 0)
        for k, o in zip(known, by_letter, strict=True)
    ]
    flat_resets = [reset for each in resets for reset in each]
    arrays = {
        "START_AT": at(placed.starts),
        "START_TIMES": [times for times, _ in placed.starts.values()],
        "START_STEP": [group.steps(window)[0] for _, window in placed.starts.values()],
        "START_FROM": [group.steps(window)[1] for _, window in placed.starts.values()],
        "WINDOW_WITHIN": [within for within, _ in group.windows],
        "WINDOW_STEP": [group.steps(window)[0] for window in group.windows],
        "WINDOW_FROM": [group.steps(window)[1] for window in group.windows],
        "WINDOW_OF": [group.windows.index((u.within_us, u.slide_us)) for u in group.units],
        "END_P": _pointers(placed.ends),
        "END_AT": at(place for each in placed.ends for place in each),
        "END_AT_X": at_x(place for each in placed.ends for place in each),
        "SIGN": [sign for unit in group.units for sign in unit.signs],
        "KNOWN": known,
        "IS_LOOP": is_loop,
        "IS_CLEAR": is_clear,
        "ENTERS": list(map(len, feeds)),
        "OPS_P": _pointers((*by_letter, for_all)),
        "SKIPS_P": _pointers(skips),
        "SKIP_FIRST": [first for each in skips for first, _ in each],
        "SKIP_N": [n for each in skips for _, n in each],
        "RESETS_P": _pointers(resets),
        "RESET_AT": at(place for place, _ in flat_resets),
        "RESET_AT_X": at_x(place for place, _ in flat_resets),
        "RESET_N": [n for _, n in flat_resets],
        "OP_FIRST": [op.first for op in ops],
        "OP_N": [op.n for op in ops],
        "OP_LAYER": [op.layer for op in ops],
        "OP_IS_LOOP": [int(op.is_loop) for op in ops],
        "OP_SOURCES_P": _pointers(sources),
        "OP_TARGETS_P": _pointers(targets),
        "OP_WEIGHT": [weight for op in ops for weight in op.weights],
        "OP_EXTREME": [_coded(each) for op in ops for each in op.extremes],
        "SOURCE_AT": at(place for each in sources for place in each),
        "SOURCE_AT_X": at_x(place for each in sources for place in each),
        "TARGET_AT": at(place for each in targets for place in each),
        "TARGET_AT_X": at_x(place for each in targets for place in each),
        "PREDICATE_OF": [
            group.predicates.index(node.predicate) for node in made.nodes[: made.columns]
        ],
        "COMPARES": [COMPARED[predicate.operator][0] for predicate in group.predicates],
        "ROW_EXTREME": list(map(_coded, made.row_extremes)),
        "EXTREME_OF": [
            made.row_extremes.index(each) if each[0] >= 0 else -1
            for x in range(group.extremes)
            for each in (node.state.extremes[x] for node in made.nodes[: made.columns])
        ],
    }
    scalars = {
        "COLUMNS": made.columns,
        "COMPONENTS": group.components,
        "EXTREMES": group.extremes,
        "ROW_EXTREMES": len(made.row_extremes),
        "OVERLAP": group.overlap,
        "WITHIN": group.within_us,
        "SLIDE": group.slide_us,
        "OPERATOR": COMPARED[group.predicates[0].operator][0],
        "ROWS": placed.rows,
        "UNITS": len(group.units),
        "WINDOWS": len(group.windows),
        "LAYERS": 1 + max((op.layer for op in ops), default=0),
        "STARTS": len(placed.starts),
        "N_EVENTS": 0,
        "SAME_SIDES": 0,
        "KIND": 0,
        "SHARING": 0,
        "LOOP_LETTER": len(letters),
        "FEEDS": max(map(len, entered), default=0),
        "FED_COLUMNS": max(map(sum, entered), default=0),
        "STARTS_LOOP": int(starts_loop),
        "SEED": 0,
        "PREDICATES": len(group.predicates),
        "DISPUTED": 0,
        "SAME_KEYS": 0,
        "WORDS": 1,
    }
    chosen = [np.asarray(arrays[name], np.int64) for name in ARRAYS]
    begins = HEADER + np.cumsum([0, *(len(each) for each in chosen)])[:-1]
    header = [np.array([scalars[name] for name in SCALARS], np.int64), begins]
    return np.concatenate([*header, *chosen])


def _coded(extreme: tuple[int, int]) -> int:
    """An extreme as a number: 2 * attribute + (1 for MAX), -1 for none."""
    attribute, sign = extreme
    return -1 if attribute < 0 else 2 * attribute + (sign < 0)


def _atoms(letters: NDArray[np.uint8]) -> list[frozenset[int]]:
    """By letter the atoms that its events satisfy."""
    found: list[list[int]] = [[] for _ in letters]
    for letter, atom in np.argwhere(letters).tolist():
        found[letter].append(atom)
    return [frozenset(each) for each in found]


def _ops(made: PlacedGroup, atoms: frozenset[int]) -> list[Op]:
    """What an event that satisfies some atoms does, alike ops in neighbouring columns made one."""
    found: list[Op] = []
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
        found.append(
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
    for op in sorted(found, key=lambda op: (op.layer, op.first)):
        if together and together[-1].is_followed_by(op):
            together[-1] = replace(together[-1], n=together[-1].n + 1)
        else:
            together.append(op)
    return together


def _in_turn(ops: list[Op]) -> tuple[list[Op], bool]:
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


def _skipped(ops: list[Op], columns: int) -> list[tuple[int, int]]:
    """Of an event of the loop the ranges of columns that do not admit it: first column, columns."""
    admitting = sorted((op.first, op.n) for op in ops if op.is_loop)
    if not admitting:
        return []
    ends = [0, *(first + n for first, n in admitting)]
    begins = [*(first for first, _ in admitting), columns]
    return [(end, begin - end) for end, begin in zip(ends, begins, strict=True) if begin > end]


def _feeds(ops: list[Op]) -> list[int]:
    """The columns of what events of a letter add to what comes into E+, which is row 0."""
    return [op.n for op in ops if not op.is_loop for row, _ in op.targets if row == 0]


def _resets(placed: Placed, atoms: frozenset[int]) -> list[tuple[Place, int]]:
    """What an event that satisfies some atoms empties: ranges of columns of rows."""
    places = {p for atom, each in placed.guarded.items() if atom in atoms for p in each}
    found: list[tuple[Place, int]] = []
    for row, column in sorted(places):
        if found and found[-1][0] == (row, column - found[-1][1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append(((row, column), 1))
    return found


def _pointers(lists: Iterable[Iterable[object]]) -> list[int]:
    found = [0]
    for each in lists:
        found.append(found[-1] + len(list(each)))
    return found
