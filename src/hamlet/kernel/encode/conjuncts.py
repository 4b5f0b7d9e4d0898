"""Conditions of single events as conjuncts, each of which is asked once of all rows.

Most conditions are a few comparisons of a column with a constant, joined by AND, and many queries
have some of them in common. Each becomes a bit of each row: for numbers in one compiled pass that
makes nothing on the way, for anything else by the evaluation of expressions, a stretch of rows at a
time, which stays in the cache meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.encode.evaluate import holds
from hamlet.kernel.encode.sorting import read_only
from hamlet.kernel.jit import interpretable
from hamlet.plan.predicates import FLIPPED, Column, Constant, Operation, columns_of
from hamlet.plan.remembered import remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.events.columns import Values
    from hamlet.events.table import EventTable
    from hamlet.plan.predicates import Expression

# Conditions are evaluated on so many rows at a time, which stay in the cache meanwhile.
_STRETCH = 1 << 15
# How the compiled pass compares; integers up to this are doubles as they are.
_SYMBOLS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_EXACT = 2**53


@remembered
def conjuncts_of(condition: Expression) -> tuple[Expression, ...]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Operation) and condition.operator == "and":
        parts = (part for operand in condition.operands for part in conjuncts_of(operand))
        return tuple(dict.fromkeys(parts))
    return (condition,)


def bits_of_rows(table: EventTable, conjuncts: Sequence[Expression]) -> NDArray[np.uint16]:
    """For each row of a table a bit for each conjunct, whatever the type of the row."""
    packed = np.zeros(len(table), np.uint16)
    for place, conjunct in enumerate(conjuncts):
        if not _compare_numbers(table, conjunct, place, packed):
            _evaluate(table, conjunct, place, packed)
    return packed


def _compare_numbers(
    table: EventTable, conjunct: Expression, place: int, packed: NDArray[np.uint16]
) -> bool:
    """Ask a conjunct in one pass; whether it could be."""
    asked = _comparison(conjunct)
    if asked is None:
        return False
    name, symbol, value = asked
    values = table.column(name)
    if values.kind != "number" or values.valid is not None:
        return False
    data = values.data
    is_whole = isinstance(value, int)
    if data.dtype == np.float64 and (not is_whole or abs(value) <= _EXACT):
        _compare_all(read_only(data), symbol, float(value), np.uint16(1 << place), packed)
        return True
    if data.dtype == np.int64 and is_whole and -(2**63) <= value < 2**63:
        _compare_all(read_only(data), symbol, np.int64(value), np.uint16(1 << place), packed)
        return True
    return False


@remembered
def _comparison(conjunct: Expression) -> tuple[str, int, int | float] | None:
    """A column, a comparison, and a number, where that is all there is."""
    if not isinstance(conjunct, Operation) or conjunct.operator not in _SYMBOLS:
        return None
    (one, other), symbol = conjunct.operands, conjunct.operator
    if isinstance(one, Constant):
        one, other, symbol = other, one, FLIPPED[symbol]
    if not isinstance(one, Column) or not isinstance(other, Constant):
        return None
    if isinstance(other.value, bool) or not isinstance(other.value, int | float):
        return None
    if other.kind not in ("int", "float"):
        return None
    return one.attribute, _SYMBOLS[symbol], other.value


@interpretable
def _compare_all(data, symbol, value, bit, packed):  # type: ignore[no-untyped-def]
    zero = np.uint16(0)
    if symbol == 0:
        for row in range(len(data)):
            packed[row] |= bit if data[row] == value else zero
    elif symbol == 1:
        for row in range(len(data)):
            packed[row] |= bit if data[row] != value else zero
    elif symbol == 2:
        for row in range(len(data)):
            packed[row] |= bit if data[row] < value else zero
    elif symbol == 3:
        for row in range(len(data)):
            packed[row] |= bit if data[row] <= value else zero
    elif symbol == 4:
        for row in range(len(data)):
            packed[row] |= bit if data[row] > value else zero
    else:
        for row in range(len(data)):
            packed[row] |= bit if data[row] >= value else zero


def _evaluate(
    table: EventTable, conjunct: Expression, place: int, packed: NDArray[np.uint16]
) -> None:
    length = stretch_of(table, [conjunct])
    for start in range(0, len(packed), length):
        rows = slice(start, start + length)
        here = packed[rows]

        def lookup(column: Column, rows: slice = rows) -> Values:
            return table.column(column.attribute).take(rows)

        here |= holds(conjunct, lookup, len(here)).astype(np.uint16) << np.uint16(place)


def stretch_of(table: EventTable, conditions: Sequence[Expression]) -> int:
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
