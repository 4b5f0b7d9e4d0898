"""Events that are at one time with others, which have them go a long way, and often need not.

The events of a batch are those of all queries of a set. To the machine they are as good as of
different times where they can be put in an order in which none reads what one before it has fed
(`in_turn`): most are asked for by different queries, or stand one after the other in a pattern. A
group of rows gets only the events that it knows (`sifted`), where many of these are at one time
with others, and only the partitions that have any where these are small.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.encode.sorting import read_only, take, take_into
from hamlet.kernel.jit import interpretable
from hamlet.kernel.rows.layout import KNOWN
from hamlet.kernel.rows.letters import laid_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.rows.group import RowGroup
    from hamlet.kernel.rows.letters import PlacedGroup

    Ints = NDArray[np.int64]

# More events of one time are not put in turn.
_MOST_TOGETHER = 8
# Of known events one in so many has to be at one time with events that are not known.
_FEW_TIED = 16
# Events of a partition, on average, up to which it is worth looking which of them have any
_SMALL = 64


def sifted(made: PlacedGroup, events: EventBatch, ranges: Ints) -> tuple[EventBatch, Ints]:
    """The events of some partitions that a group knows, or all, and where partitions are.

    Partitions without any may be left out: nothing ever begins in them.

    Args:
        made: The group.
        events: A batch; nothing but what the group looks at is sifted.
        ranges: The partitions: see `partition_ranges` in run.py.
    """
    code = laid_for(made, events.letters).code
    is_known = code[code[KNOWN] :][: len(events.letters)] != 0
    is_small = len(events) < _SMALL * len(ranges)
    if is_known.all() or not (is_small or events.tied.any()):
        return events, ranges
    counts = np.zeros(len(ranges), np.int64)
    looked_at = (read_only(events.letter), read_only(events.tied), read_only(is_known))
    tied = _look(*looked_at, read_only(ranges[:, 1:3]), counts)
    known = int(counts.sum())
    if _FEW_TIED * tied <= known:
        return events, ranges[counts > 0] if is_small else ranges
    rows, is_tied = np.empty(known, np.int32), np.empty(known, np.uint8)
    _sift(*looked_at, read_only(ranges[:, 1:3]), rows, is_tied)
    kept = ranges[counts > 0]
    kept[:, 2] = np.cumsum(counts[counts > 0])
    kept[:, 1] = kept[:, 2] - counts[counts > 0]
    return _taken(made.group, events, rows, is_tied), kept


def in_turn(events: EventBatch, may_precede: NDArray[np.bool_] | None) -> EventBatch:
    """Events as of different times, where those of one time can be taken in one after the other.

    They are put in an order in which none reads what one before it has fed, where there is one.

    Args:
        events: A batch.
        may_precede: For each two letters whether the first may come first: see `LetterTables`.
    """
    if may_precede is None or not events.tied.any():
        return events
    tied, rows = events.tied.copy(), np.arange(len(events), dtype=np.int32)
    if not _put_in_turn(read_only(events.letter), read_only(may_precede), tied, rows):
        return replace(events, tied=tied)
    tables = ("weights", "extremes", "previous", "next", "columns")
    # Both sides of edge predicates are mostly one.
    given = {id(table): table for table in (getattr(events, name) for name in tables)}
    changed = {key: _with_moved(table, rows) for key, table in given.items()}
    moved: dict[str, Any] = {name: changed[id(getattr(events, name))] for name in tables}
    return replace(events, tied=tied, letter=take(events.letter, rows), **moved)


def _with_moved(table: NDArray[Any], rows: NDArray[np.int32]) -> NDArray[Any]:
    """A table of events that have changed their places."""
    if not table.size:
        return table
    changed = np.empty_like(table)
    for line, moved in zip(table, changed, strict=True):
        take_into(line, rows, moved)
    return changed


def _taken(
    group: RowGroup, events: EventBatch, rows: NDArray[np.int32], tied: NDArray[np.uint8]
) -> EventBatch:
    """Some events, with what a group looks at."""
    states = [state for unit in group.units for state in unit.states]
    weights = {weight for state in states for weight in state.weights if weight >= 0}
    extremes = {row for state in states for row, _ in state.extremes if row >= 0}
    predicates = {each.number for each in group.predicates}
    previous = _some(events.previous, predicates, rows)
    is_same = events.next is events.previous
    return replace(
        events,
        part=take(events.part, rows),
        ts=take(events.ts, rows),
        tied=tied,
        letter=take(events.letter, rows),
        weights=_some(events.weights, weights, rows),
        extremes=_some(events.extremes, extremes, rows),
        previous=previous,
        next=previous if is_same else _some(events.next, predicates, rows),
        after_others=None,  # which nobody asks for who keeps trends that skip events
    )


def _some(table: NDArray[Any], numbers: Iterable[int], rows: NDArray[np.int32]) -> NDArray[Any]:
    """Some columns of some lines of a table; of the other lines there is nothing to be read."""
    some = np.zeros((len(table), len(rows)), table.dtype)
    for number in numbers:
        some[number] = take(table[number], rows)
    return some


@interpretable
def _look(letter, tied, is_known, ranges, counts):  # type: ignore[no-untyped-def]
    """Fill in how many events of each partition are known.

    Returns how many of these are at one time with another that is not.
    """
    together = 0
    for number in range(len(ranges)):
        known, others = 0, 0  # of the time that is looked at
        for event in range(ranges[number, 0], ranges[number, 1]):
            if tied[event] == 0:
                together += known if others > 0 else 0
                known = others = 0
            is_one = int(is_known[letter[event]])
            known += is_one
            others += 1 - is_one
            counts[number] += is_one
        together += known if others > 0 else 0
    return together


@interpretable
def _sift(letter, tied, is_known, ranges, rows, is_tied):  # type: ignore[no-untyped-def]
    """Fill in the events that are known, and whether each is at one time with the one before it."""
    count = 0
    for number in range(len(ranges)):
        is_same = np.uint8(0)
        for event in range(ranges[number, 0], ranges[number, 1]):
            is_same = is_same & tied[event]
            if is_known[letter[event]]:
                rows[count], is_tied[count] = event, is_same
                count += 1
                is_same = np.uint8(1)


@interpretable
def _put_in_turn(letter, may_precede, tied, rows):  # type: ignore[no-untyped-def]
    """Fill in which event comes when; whether any comes at another place than it had.

    Events that have come to an order are no longer tied.
    """
    first, count, is_moved = 0, len(letter), False
    while first < count:
        end = first + 1
        while end < count and tied[end] != 0:
            end += 1
        if first + 1 < end <= first + _MOST_TOGETHER:
            place = first
            while place < end:
                # One that may come before all that are left
                one = place
                while one < end:
                    other = place
                    while other < end and (
                        other == one or may_precede[letter[rows[one]], letter[rows[other]]]
                    ):
                        other += 1
                    if other == end:
                        break
                    one += 1
                if one == end:
                    break
                rows[place], rows[one] = rows[one], rows[place]
                is_moved = is_moved or one != place
                place += 1
            if place == end:
                tied[first + 1 : end] = 0
            else:
                for event in range(first, end):
                    rows[event] = event
        first = end
    return is_moved
