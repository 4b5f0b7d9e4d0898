"""The letter of each event: which atoms of its type it satisfies, as the number of a combination.

Where few things are asked, each is asked once of all rows, and one pass finds the letters. Where
many are, or events that are asked anything are few, the atoms of a type are evaluated on its events
alone, and a type whose atoms ask nothing has one letter, found by the code of the type. Only
combinations that occur are given a number. O(rows) for types, O(events x atoms) for conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.encode.conjuncts import bits_of_rows, conjuncts_of, stretch_of
from hamlet.kernel.encode.evaluate import holds
from hamlet.kernel.encode.sorting import (
    counts_of,
    dense_codes,
    gathered,
    read_only,
    sort_by_code,
    take,
)
from hamlet.kernel.jit import interpretable
from hamlet.plan.remembered import remembered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.events.columns import Values
    from hamlet.events.table import EventTable
    from hamlet.plan.letters import Alphabet, Atom
    from hamlet.plan.predicates import Column, Expression

    Rows = NDArray[np.int32]
    Bits = NDArray[np.uint8]

# Combinations are packed into 64-bit integers, this many atoms at a time.
_PACKED = 62
# Things that are asked of all rows at most, and the least share of rows that are asked anything
_FEW = 8
_MANY_ROWS = 0.25
# Of combinations that are no letter, and of those that have not been seen
_EMPTY, _UNSEEN = -1, -2


def letters_of(table: EventTable, alphabet: Alphabet) -> tuple[NDArray[np.int32], Bits]:
    """For each row of a table the number of its letter, -1 for the empty one, and the letters.

    A letter has a 0 or 1 for each atom of the alphabet.
    """
    if not len(table):
        return np.empty(0, np.int32), np.zeros((0, len(alphabet.atoms)), np.uint8)
    asked, codes = _asked(alphabet), table.type_codes
    code_of = {name: codes[name] for name in asked.types if name in codes}
    if len(asked.conjuncts) <= _FEW and _asks_many(table, asked, code_of):
        return _in_one_pass(table, asked, code_of)
    return _type_by_type(table, alphabet, code_of)


def _asks_many(table: EventTable, asked: _Asked, code_of: dict[str, int]) -> bool:
    """Whether enough rows are asked anything, or none is."""
    conditional = [name for name in code_of if asked.types[name].is_conditional]
    rows = _RowsOfType.of(table)
    asking = sum(rows.count(code_of[name]) for name in conditional)
    return not conditional or asking >= _MANY_ROWS * len(table)


# In one pass


@dataclass(frozen=True, slots=True)
class _TypeAsked:
    """What is asked of events of a type.

    Attributes:
        columns: The places of its atoms in the alphabet.
        masks: For each of them the conjuncts that must hold, a bit each.
        is_conditional: Whether anything is asked.
    """

    columns: NDArray[np.intp]
    masks: NDArray[np.int64]
    is_conditional: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an alphabet asks of events: its conjuncts, each once, and by type who asks for them."""

    conjuncts: tuple[Expression, ...]
    types: dict[str, _TypeAsked]
    width: int


@remembered
def _asked(alphabet: Alphabet) -> _Asked:
    conditions = [atom.condition for atom in alphabet.atoms]
    every = (part for each in conditions if each is not None for part in conjuncts_of(each))
    places = {part: place for place, part in enumerate(dict.fromkeys(every))}

    def mask(condition: Expression | None) -> int:
        parts = () if condition is None else conjuncts_of(condition)
        return sum(1 << places[part] for part in parts) if len(places) <= _FEW else 0

    of_type: dict[str, list[int]] = {}
    for column, atom in enumerate(alphabet.atoms):
        of_type.setdefault(atom.type, []).append(column)
    types = {}
    for name, columns in of_type.items():
        masks = np.array([mask(conditions[column]) for column in columns], np.int64)
        types[name] = _TypeAsked(np.array(columns), masks, bool(masks.any()))
    return _Asked(tuple(places), types, len(alphabet.atoms))


@dataclass(frozen=True, slots=True)
class _Numbering:
    """How combinations are numbered where types have some codes, before any event is looked at.

    Attributes:
        letters: Those of types of which nothing is asked.
        numbers: [codes, combinations of conjuncts]: the numbers that are known by then.
        types: By code the types of which something is asked.
        masks: For each code the conjuncts that are looked at.
        starts: For each code where its atoms begin, and where the last end.
        atoms: The conjuncts of each.
    """

    letters: tuple[Bits, ...]
    numbers: NDArray[np.int32]
    types: dict[int, _TypeAsked]
    masks: NDArray[np.int64]
    starts: NDArray[np.int64]
    atoms: NDArray[np.int64]


@remembered
def _numbering(asked: _Asked, code_of: tuple[tuple[str, int], ...], count: int) -> _Numbering:
    numbers = np.full((count, 1 << len(asked.conjuncts)), _EMPTY, np.int32)
    masks, starts = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
    letters: list[Bits] = []
    types: dict[int, _TypeAsked] = {}
    for name, code in sorted(code_of, key=lambda each: each[1]):
        of_type = asked.types[name]
        if of_type.is_conditional:
            numbers[code] = _UNSEEN
            masks[code] = np.bitwise_or.reduce(of_type.masks)
            starts[code + 1] = len(of_type.masks)
            types[code] = of_type
        else:
            numbers[code] = len(letters)
            letters.append(_letter(asked, of_type, 0))
    atoms = [of_type.masks for of_type in types.values()]
    every = np.concatenate(atoms) if atoms else np.empty(0, np.int64)
    return _Numbering(tuple(letters), numbers, types, masks, np.cumsum(starts), every)


def _in_one_pass(
    table: EventTable, asked: _Asked, code_of: dict[str, int]
) -> tuple[NDArray[np.int32], Bits]:
    """The letters of all rows: numbers are given as combinations are met."""
    codes, depth = table.types.data, len(asked.conjuncts)
    count = len(table.types.words)  # type: ignore[arg-type]
    known = _numbering(asked, tuple(code_of.items()), count)
    if not known.types:
        letters = np.array(known.letters, np.uint8).reshape(-1, asked.width)
        return take(known.numbers[:, 0], codes), letters
    packed = bits_of_rows(table, asked.conjuncts)
    letter = np.empty(len(codes), np.int32)
    numbers = np.empty(len(known.types) << depth, np.int64)
    met = _number(
        read_only(codes),
        packed,
        depth,
        known.masks,
        known.starts,
        known.atoms,
        known.numbers.reshape(-1).copy(),
        len(known.letters),
        numbers,
        letter,
    )
    every = [
        *known.letters,
        *(
            _letter(asked, known.types[place >> depth], place & ((1 << depth) - 1))
            for place in numbers[:met].tolist()
        ),
    ]
    return letter, np.array(every, np.uint8).reshape(len(every), asked.width)


def _letter(asked: _Asked, of_type: _TypeAsked, holding: int) -> Bits:
    """The letter of an event of a type for which some conjuncts hold."""
    letter = np.zeros(asked.width, np.uint8)
    letter[of_type.columns] = (of_type.masks & holding) == of_type.masks
    return letter


@interpretable
def _number(codes, packed, depth, masks, starts, atoms, numbers, first, found, letter):  # type: ignore[no-untyped-def]
    """Fill in letters; how many combinations were met for the first time, which are in `found`."""
    met = 0
    for row in range(len(codes)):
        code = np.int64(codes[row])
        holding = packed[row] & masks[code]
        place = (code << depth) | holding
        number = numbers[place]
        if number == _UNSEEN:
            number = _EMPTY
            for atom in range(starts[code], starts[code + 1]):
                if holding & atoms[atom] == atoms[atom]:
                    number = first + met
            if number != _EMPTY:
                found[met] = place
                met += 1
            numbers[place] = number
        letter[row] = number
    return met


# Type by type


def _type_by_type(
    table: EventTable, alphabet: Alphabet, code_of: dict[str, int]
) -> tuple[NDArray[np.int32], Bits]:
    """The letters of all rows, those of types of which something is asked by themselves."""
    codes = table.types.data
    by_code = np.full(max(len(table.types.words), 1), _EMPTY, np.int32)  # type: ignore[arg-type]
    rows_of = _RowsOfType.of(table)
    places = {atom: place for place, atom in enumerate(alphabet.atoms)}
    letters: list[Bits] = []
    conditional: list[tuple[int, tuple[Atom, ...], list[int]]] = []
    for event_type, code in code_of.items():
        atoms = alphabet.of_type(event_type)
        columns = [places[atom] for atom in atoms]
        if all(atom.condition is None for atom in atoms):
            by_code[code] = len(letters)
            letters.append(_spread(np.ones((1, len(atoms)), np.uint8), columns, len(places))[0])
            continue
        conditional.append((code, atoms, columns))
    letter = take(by_code, codes)
    for code, atoms, columns in conditional:
        combination, bits = _combinations(table, rows_of[code], atoms)
        is_some = bits.any(axis=1)
        numbers = np.where(is_some, np.cumsum(is_some) - 1 + len(letters), _EMPTY).astype(np.int32)
        letters.extend(_spread(bits[is_some], columns, len(places)))
        letter[rows_of[code]] = numbers[combination]
    return letter, np.array(letters, np.uint8).reshape(len(letters), len(places))


class _RowsOfType:
    """The rows of each type, found for all types and sets at once when they are first asked for."""

    def __init__(self, codes: NDArray[np.int32], types: int) -> None:
        self.codes = codes
        self.types = types
        self.counts: NDArray[np.int64] | None = None
        self.sorted: tuple[Rows, NDArray[np.int64]] | None = None

    @staticmethod
    def of(table: EventTable) -> _RowsOfType:
        """Those of a table, for all who ask."""
        if _RowsOfType not in table.kept:
            words = table.types.words
            table.kept[_RowsOfType] = _RowsOfType(
                table.types.data, 0 if words is None else len(words)
            )
        rows: _RowsOfType = table.kept[_RowsOfType]
        return rows

    def count(self, code: int) -> int:
        """How many rows have a type."""
        if self.counts is None:
            self.counts = counts_of(self.codes, self.types)
        return int(self.counts[code])

    def __getitem__(self, code: int) -> Rows:
        if self.sorted is None:
            self.sorted = sort_by_code(self.codes, self.types)
        order, starts = self.sorted
        return order[starts[code] : starts[code + 1]]


def _combinations(
    table: EventTable, rows: Rows, atoms: tuple[Atom, ...]
) -> tuple[NDArray[np.int32], Bits]:
    """For each row the number of the combination of atoms that it satisfies, and what those are."""
    codes = np.zeros(len(rows), np.int32)
    bits = np.zeros((1, 0), np.uint8)
    taken: dict[str, Values] = {}
    for start in range(0, len(atoms), _PACKED):
        some = atoms[start : start + _PACKED]
        packed = _packed(table, rows, some, taken)
        fresh, first = dense_codes(packed)
        fresh_bits = (packed[first, None] >> np.arange(len(some))) & 1
        width = max(len(first), 1)
        both, first = dense_codes(codes.astype(np.int64) * width + fresh)
        bits = np.hstack([bits[codes[first]], fresh_bits[fresh[first]].astype(np.uint8)])
        codes = both
    return codes, bits


def _packed(
    table: EventTable, rows: Rows, atoms: tuple[Atom, ...], taken: dict[str, Values]
) -> NDArray[np.int64]:
    """For each row a bit for each atom; `taken` keeps the columns of the rows."""
    packed = np.zeros(len(rows), np.int64)
    conditions = [atom.condition for atom in atoms if atom.condition is not None]
    length = stretch_of(table, conditions)
    for start in range(0, len(rows), length):
        stretch = slice(start, start + length)
        here = packed[stretch]

        def lookup(column: Column, stretch: slice = stretch) -> Values:
            name = column.attribute
            if name not in taken:
                taken[name] = gathered(table.column(name), rows)
            return taken[name].take(stretch)

        for place, atom in enumerate(atoms):
            if atom.condition is None:
                here |= np.int64(1 << place)
            else:
                truth = holds(atom.condition, lookup, len(here))
                here |= truth.astype(np.int64) << np.int64(place)
    return packed


def _spread(bits: Bits, columns: list[int], width: int) -> Bits:
    """Bits of some atoms as bits of all atoms."""
    spread = np.zeros((len(bits), width), np.uint8)
    spread[:, columns] = bits
    return spread
