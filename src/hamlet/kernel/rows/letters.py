"""What an event of each letter does: operations on ranges of columns, laid out for the kernel.

The places of running totals are known before (places.py), and so are the ops of an event that
satisfies some atoms (ops.py). Here they become the arrays of integers that layout.py declares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.rows.automata import Node, merged
from hamlet.kernel.rows.layout import (
    ADDS,
    ARRAYS,
    BELOW,
    BY_BENEFIT,
    COMES_IN,
    DIRECTS,
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
from hamlet.kernel.rows.ops import Op, emptied, feeds, in_turn, ops_of, skipped
from hamlet.kernel.rows.places import Placing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hamlet.kernel.rows.group import RowGroup
    from hamlet.kernel.rows.places import Place, Placed

    Ints = NDArray[np.int64]

# By operator of the predicate: how the kernel compares, and whether both sides change their sign
COMPARED = (
    (BELOW, False),
    (UP_TO, False),
    (BELOW, True),
    (UP_TO, True),
    (EQUAL, False),
    (UNEQUAL, False),
)
# With one column, and so few windows open at once, own numbers are as few as snapshots.
_FEW_WINDOWS = 2
# How many codes of a group are kept
_MOST_CODES = 8


class Laid(NamedTuple):
    """What follows from the letters of a batch.

    Attributes:
        letters: By letter and atom, 1 where events of the letter satisfy the atom.
        code: See layout.py.
        is_loop: By letter whether its events are of the loop.
        admits: By letter and column of E+ whether its events are of that loop.
        feeds: By letter and column of E+ whether its events come into that.
        enters: By letter whether its events come into any.
    """

    letters: NDArray[np.uint8]
    code: Ints
    is_loop: NDArray[np.bool_]
    admits: NDArray[np.bool_]
    feeds: NDArray[np.bool_]
    enters: NDArray[np.bool_]


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
    # Those of some of its units; None for one that has not been needed for long.
    classes: dict[tuple[int, ...], PlacedGroup | None] = field(default_factory=dict, compare=False)

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
    def asked_of_neighbours(self) -> tuple[Ints, ...]:
        """What columns of E+ ask for, in numbers.

        That is by column its window and edge predicate; by window how long it is, and how far they
        are apart; and by predicate how the kernel compares.
        """
        group, loops = self.group, self.nodes[: self.columns]
        return (
            np.array([group.windows.index(node.window) for node in loops]),
            np.array([group.predicates.index(node.predicate) for node in loops]),
            np.array([within for within, _ in group.windows]),
            np.array([slide for _, slide in group.windows]),
            np.array([COMPARED[predicate.operator][0] for predicate in group.predicates]),
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
        placed = Placing(automata).placed()
        return PlacedGroup(group, automata.nodes, of_atom, placed, loops, reads, automata.loop_of)


def lay_out(
    made: PlacedGroup,
    letters: NDArray[np.uint8],
    events: int,
    same: bool,
    kind: int,
    sharing: int,
    seed: int = 0,
    same_keys: bool = False,
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
        same_keys: Whether all edge predicates compare the same f of every event in the same way.
        words: Of a number.
    """
    code = laid_for(made, letters).code.copy()
    code[N_EVENTS], code[SAME_SIDES], code[KIND] = events, same, kind
    is_asked = sharing != BY_BENEFIT or may_pay(made)
    code[SHARING], code[SEED] = sharing if made.is_sharable and is_asked else OWN, seed
    code[SAME_KEYS], code[WORDS] = same_keys, words
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
    code, feeds = _code(made, letters), _feeds(made, letters)
    is_loop = np.logical_or.reduce(admits, axis=1)
    enters = np.logical_or.reduce(feeds, axis=1)
    made.codes.append(Laid(letters, code, is_loop, admits, feeds, enters))
    return made.codes[-1]


def _feeds(made: PlacedGroup, letters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """By letter and column of E+ whether its events come into that, from before E+."""
    found = np.zeros((len(letters), made.columns), np.bool_)
    for letter, atom in np.argwhere(letters).tolist():
        for number in made.of_atom.get(atom, ()):
            if number >= made.columns:
                found[letter, [c for row, c in made.placed.fed[number] if row == 0]] = True
    return found


def _code(made: PlacedGroup, letters: NDArray[np.uint8]) -> Ints:
    """The code of a group for some letters, but for what depends on a batch."""
    by_letter = [_Doing.of(made, atoms) for atoms in _atoms(letters)]
    # After the last letter stands what every E+ admits.
    for_all = [op for op in ops_of(made, frozenset(made.group.atoms)) if op.is_loop]
    ops = [*(each.ops for each in by_letter), for_all]
    arrays = _of_windows(made) | _of_columns(made) | _of_letters(made, by_letter)
    arrays |= {"OPS_P": _pointers(ops)} | _of_ops(made, [op for each in ops for op in each])
    scalars = dict.fromkeys(("N_EVENTS", "SAME_SIDES", "KIND", "SHARING"), 0)
    scalars |= dict.fromkeys(("SEED", "DISPUTED", "SAME_KEYS"), 0)
    scalars |= _scalars(made, by_letter)
    scalars["LAYERS"] = 1 + max((op.layer for each in ops for op in each), default=0)
    chosen = [np.asarray(arrays[name], np.int64) for name in ARRAYS]
    begins = HEADER + np.cumsum([0, *(len(each) for each in chosen)])[:-1]
    header = [np.array([scalars[name] for name in SCALARS], np.int64), begins]
    return np.concatenate([*header, *chosen])


class _Doing(NamedTuple):
    """What an event of a letter does.

    Attributes:
        ops: In an order in which none reads what one before it has added to, if there is one.
        skips: Of an event of the loop the ranges of columns that do not admit it.
        resets: The ranges of columns of rows that it empties.
        feeds: How many columns come into E+, range by range.
        entries: The same with what an event is worth that is a snapshot by itself.
        known: Bits of all this, see layout.py.
        is_clear: Whether it bars all stored events.
    """

    ops: list[Op]
    skips: list[tuple[int, int]]
    resets: list[tuple[Place, int]]
    feeds: list[int]
    entries: list[int]
    known: int
    is_clear: bool

    @staticmethod
    def of(made: PlacedGroup, atoms: frozenset[int]) -> _Doing:
        ops, is_in_turn = in_turn(ops_of(made, atoms))
        skips, resets, fed = skipped(ops, made.columns), emptied(made.placed, atoms), feeds(ops)
        is_loop = not atoms.isdisjoint(made.group.atoms)
        is_clear = not atoms.isdisjoint(made.group.guards)
        is_mixed = len(made.group.predicates) > 1
        reads = any(made.reads_loop[node] for atom in atoms for node in made.of_atom.get(atom, ()))
        facts = {
            ADDS: bool(ops),
            EMPTIES: bool(resets) or is_clear,
            READS: bool(resets) or is_clear or reads,
            LOOPS: is_loop,
            PARTS: bool(skips),
            COMES_IN: bool(fed),
            DISPUTES: is_loop and is_mixed,
        }
        known = sum(bit for bit, is_so in facts.items() if is_so)
        if known and is_in_turn and not known & (EMPTIES | DISPUTES):
            known |= DIRECTS
        if known == ADDS | LOOPS | DIRECTS and all(op.is_loop for op in ops):
            known |= PLAIN
        own = [op.n for op in ops if op.is_loop] if skips or is_mixed else []
        return _Doing(ops, skips, resets, fed, fed + own, known, is_clear)


def _of_windows(made: PlacedGroup) -> dict[str, list[int]]:
    """What begins and ends with a window."""
    group, starts, ends = made.group, made.placed.starts, made.placed.ends
    return {
        "START_AT": _begins(starts, _numbers(made)),
        "START_TIMES": [times for times, _ in starts.values()],
        "START_STEP": [group.steps(window)[0] for _, window in starts.values()],
        "START_FROM": [group.steps(window)[1] for _, window in starts.values()],
        "WINDOW_WITHIN": [within for within, _ in group.windows],
        "WINDOW_STEP": [group.steps(window)[0] for window in group.windows],
        "WINDOW_FROM": [group.steps(window)[1] for window in group.windows],
        "WINDOW_OF": [group.windows.index((u.within_us, u.slide_us)) for u in group.units],
        "END_P": _pointers(ends),
        "END_AT": _begins(chain(*ends), _numbers(made)),
        "END_AT_X": _begins(chain(*ends), _extremes(made)),
        "SIGN": [sign for unit in group.units for sign in unit.signs],
    }


def _of_columns(made: PlacedGroup) -> dict[str, list[int]]:
    """What each E+ compares, and of which values it has extremes."""
    group, loops = made.group, made.nodes[: made.columns]
    return {
        "PREDICATE_OF": [group.predicates.index(node.predicate) for node in loops],
        "COMPARES": [COMPARED[predicate.operator][0] for predicate in group.predicates],
        "ROW_EXTREME": list(map(_coded, made.row_extremes)),
        "EXTREME_OF": [
            made.row_extremes.index(each) if each[0] >= 0 else -1
            for x in range(group.extremes)
            for each in (node.state.extremes[x] for node in loops)
        ],
    }


def _of_letters(made: PlacedGroup, by_letter: list[_Doing]) -> dict[str, list[int]]:
    """What events of each letter do, but for their ops."""
    skips = [skip for each in by_letter for skip in each.skips]
    resets = [reset for each in by_letter for reset in each.resets]
    return {
        "KNOWN": [each.known for each in by_letter],
        "IS_LOOP": [int(bool(each.known & LOOPS)) for each in by_letter],
        "IS_CLEAR": [int(each.is_clear) for each in by_letter],
        "ENTERS": [len(each.feeds) for each in by_letter],
        "SKIPS_P": _pointers(each.skips for each in by_letter),
        "SKIP_FIRST": [first for first, _ in skips],
        "SKIP_N": [n for _, n in skips],
        "RESETS_P": _pointers(each.resets for each in by_letter),
        "RESET_AT": _begins((place for place, _ in resets), _numbers(made)),
        "RESET_AT_X": _begins((place for place, _ in resets), _extremes(made)),
        "RESET_N": [n for _, n in resets],
    }


def _of_ops(made: PlacedGroup, ops: list[Op]) -> dict[str, list[int]]:
    """What each op reads and adds to."""
    sources = [[(row, op.first + column) for row, column in op.sources] for op in ops]
    targets = [[(row, op.first + column) for row, column in op.targets] for op in ops]
    return {
        "OP_FIRST": [op.first for op in ops],
        "OP_N": [op.n for op in ops],
        "OP_LAYER": [op.layer for op in ops],
        "OP_IS_LOOP": [int(op.is_loop) for op in ops],
        "OP_SOURCES_P": _pointers(sources),
        "OP_TARGETS_P": _pointers(targets),
        "OP_WEIGHT": [weight for op in ops for weight in op.weights],
        "OP_EXTREME": [_coded(each) for op in ops for each in op.extremes],
        "SOURCE_AT": _begins(chain(*sources), _numbers(made)),
        "SOURCE_AT_X": _begins(chain(*sources), _extremes(made)),
        "TARGET_AT": _begins(chain(*targets), _numbers(made)),
        "TARGET_AT_X": _begins(chain(*targets), _extremes(made)),
    }


def _scalars(made: PlacedGroup, by_letter: list[_Doing]) -> dict[str, int]:
    """How many there are of everything."""
    group, placed = made.group, made.placed
    return {
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
        "STARTS": len(placed.starts),
        "LOOP_LETTER": len(by_letter),
        "FEEDS": max((len(each.entries) for each in by_letter), default=0),
        "FED_COLUMNS": max((sum(each.entries) for each in by_letter), default=0),
        "STARTS_LOOP": int(any(row == 0 for row, _ in placed.starts)),
        "PREDICATES": len(group.predicates),
        "WORDS": 1,
    }


def _numbers(made: PlacedGroup) -> int:
    """How many numbers a row has."""
    return made.group.overlap * made.group.components * made.columns


def _extremes(made: PlacedGroup) -> int:
    """How many extremes a row has."""
    return made.group.overlap * made.group.extremes * made.columns


def _begins(places: Iterable[Place], size: int) -> list[int]:
    """Where places are, in rows of some size."""
    return [row * size + column for row, column in places]


def _coded(extreme: tuple[int, int]) -> int:
    """An extreme as a number: 2 * attribute + (1 for MAX), -1 for none."""
    attribute, sign = extreme
    return -1 if attribute < 0 else 2 * attribute + (sign < 0)


def _atoms(letters: NDArray[np.uint8]) -> list[frozenset[int]]:
    """By letter the atoms that its events satisfy."""
    by_letter: list[list[int]] = [[] for _ in letters]
    for letter, atom in np.argwhere(letters).tolist():
        by_letter[letter].append(atom)
    return [frozenset(each) for each in by_letter]


def _pointers(lists: Iterable[Iterable[object]]) -> list[int]:
    pointers = [0]
    for each in lists:
        pointers.append(pointers[-1] + len(list(each)))
    return pointers
