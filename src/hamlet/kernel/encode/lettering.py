"""The letter of each event: which atoms of its type it satisfies, as the number of a combination.

A type whose atoms ask nothing of an event has one letter, found by the code of the type. For other
types the atoms are evaluated on the events of the type alone, or, where those are many of all and
ask few things, on all rows, which saves gathering them. Only combinations that occur are given a
number. O(rows) for types, O(events of the type x its atoms) for conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from hamlet.plan.predicates import columns_of
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
# Conditions of a type that are evaluated on all rows at most, and the least share of rows it has
_FEW_CONDITIONS = 10
_MANY_ROWS = 0.25
# Atoms are evaluated on so many rows at a time, which stay in the cache meanwhile.
_STRETCH = 1 << 15


def letters_of(table: EventTable, alphabet: Alphabet) -> tuple[NDArray[np.int32], Bits]:
    """For each row of a table the number of its letter, -1 for the empty one, and the letters.

    A letter has a 0 or 1 for each atom of the alphabet.
    """
    codes, words = table.types.data, table.types.words
    code_of = _type_codes(alphabet, words)
    by_code = np.full(max(len(words), 1), -1, np.int32)  # type: ignore[arg-type]
    rows_of = _RowsOfType(codes, len(words))  # type: ignore[arg-type]
    places = {atom: place for place, atom in enumerate(alphabet.atoms)}
    letters: list[Bits] = []
    conditional: list[tuple[int, tuple[Atom, ...], list[int]]] = []
    for event_type in alphabet.types:
        code = code_of.get(event_type)
        if code is None:
            continue
        atoms = alphabet.of_type(event_type)
        columns = [places[atom] for atom in atoms]
        if all(atom.condition is None for atom in atoms):
            by_code[code] = len(letters)
            letters.append(_spread(np.ones((1, len(atoms)), np.uint8), columns, len(places))[0])
            continue
        conditional.append((code, atoms, columns))
    letter = take(by_code, codes) if len(codes) else np.empty(0, np.int32)
    for code, atoms, columns in conditional:
        is_few = sum(atom.condition is not None for atom in atoms) <= _FEW_CONDITIONS
        on_all = is_few and rows_of.count(code) >= _MANY_ROWS * len(codes)
        if on_all:
            packed = _packed_on_all(table, atoms)
            bits = _occurring(codes, code, packed, atoms)
        else:
            combination, bits = _combinations(table, rows_of[code], atoms)
        is_some = bits.any(axis=1)
        numbers = np.where(is_some, np.cumsum(is_some) - 1 + len(letters), -1).astype(np.int32)
        letters.extend(_spread(bits[is_some], columns, len(places)))
        if on_all:
            _number(read_only(codes), code, packed, _by_packed(bits, atoms, numbers), letter)
        else:
            letter[rows_of[code]] = numbers[combination]
    return letter, np.array(letters, np.uint8).reshape(len(letters), len(places))


def _type_codes(alphabet: Alphabet, words: pa.Array | None) -> dict[str, int]:
    """The code of each type of the alphabet that occurs."""
    types = pa.array(alphabet.types, words.type)  # type: ignore[union-attr]
    codes = zip(alphabet.types, pc.index_in(types, words).to_pylist(), strict=True)
    return {name: code for name, code in codes if code is not None}


class _RowsOfType:
    """The rows of each type, found for all types at once when they are first asked for."""

    def __init__(self, codes: NDArray[np.int32], types: int) -> None:
        self.codes = codes
        self.types = types
        self.counts: NDArray[np.int64] | None = None
        self.sorted: tuple[Rows, NDArray[np.int64]] | None = None

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


def _packed_on_all(table: EventTable, atoms: tuple[Atom, ...]) -> NDArray[np.uint16]:
    """For each row of the table a bit for each condition, whatever its type."""
    conditions = [atom.condition for atom in atoms if atom.condition is not None]
    packed = np.zeros(len(table), np.uint16)
    length = _stretch(table, conditions)
    for start in range(0, len(packed), length):
        stretch = slice(start, start + length)
        here = packed[stretch]

        def lookup(column: Column, stretch: slice = stretch) -> Values:
            return table.column(column.attribute).take(stretch)

        for place, condition in enumerate(conditions):
            truth = holds(condition, lookup, len(here))
            here |= truth.astype(np.uint16) << np.uint16(place)
    return packed


def _occurring(
    codes: NDArray[np.int32], code: int, packed: NDArray[np.uint16], atoms: tuple[Atom, ...]
) -> Bits:
    """The combinations of atoms that rows of a type satisfy."""
    asked = [atom.condition is not None for atom in atoms]
    occurs = np.zeros((1 << sum(asked)) + 1, np.uint8)  # the last is for rows of other types
    _note(read_only(codes), code, packed, occurs)
    found = np.flatnonzero(occurs[:-1])
    bits = np.ones((len(found), len(atoms)), np.uint8)
    bits[:, asked] = (found[:, None] >> np.arange(sum(asked))) & 1
    return bits


def _by_packed(
    bits: Bits, atoms: tuple[Atom, ...], numbers: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The numbers of combinations by the bits of their conditions."""
    asked = [atom.condition is not None for atom in atoms]
    table = np.full(1 << sum(asked), -1, np.int32)
    table[bits[:, asked] @ (1 << np.arange(sum(asked)))] = numbers
    return table


# No branch depends on the type of a row: types come in no order that could be guessed.


@interpretable
def _note(codes, code, packed, occurs):  # type: ignore[no-untyped-def]
    other = len(occurs) - 1
    for row in range(len(codes)):
        occurs[packed[row] if codes[row] == code else other] = 1


@interpretable
def _number(codes, code, packed, numbers, letter):  # type: ignore[no-untyped-def]
    for row in range(len(codes)):
        number = numbers[packed[row]]
        letter[row] = number if codes[row] == code else letter[row]


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
    length = _stretch(table, conditions)
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


def _stretch(table: EventTable, conditions: list[Expression]) -> int:
    """How many rows conditions are evaluated on at a time.

    Each stretch compares all words of a text once, so it should not have fewer rows than words.
    """
    names = {name for condition in conditions for name in _names_in(condition)}
    words = [table.column(name).words for name in names]
    return max(_STRETCH, *(len(column) for column in words if column is not None), 0)


@remembered
def _names_in(condition: Expression) -> tuple[str, ...]:
    """The attributes that a condition looks at."""
    return tuple(column.attribute for column in columns_of(condition))


def _spread(bits: Bits, columns: list[int], width: int) -> Bits:
    """Bits of some atoms as bits of all atoms."""
    spread = np.zeros((len(bits), width), np.uint8)
    spread[:, columns] = bits
    return spread
