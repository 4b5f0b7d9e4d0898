"""How wide exact numbers will be, known before the run from how many events windows have.

The number of trends doubles with about every event that repeats, so the logarithm of a count is
about the number of such events in the busiest window, and a sum has the bits of its weights on top.
Units whose numbers are about as long are run together, each partition with the words it is expected
to need: a query that outgrows 64 bits costs those nothing that do not.

An expectation may be wrong. Too long a number is still right, and too short a one is noticed by the
run, which then does that partition again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel import jit
from hamlet.kernel.numbers import SAFE
from hamlet.plan.template import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.plan.program import Program

    Ints = NDArray[np.int64]
    Doubles = NDArray[np.float64]

_SAFE_BITS, _WORD_BITS = SAFE.bit_length() - 1, 64
# What numbers of two words take, and each word more, as compared with those of one; and a walk
# through the events, as compared with what a unit takes of one word. Measured, roughly.
_TWO_WORDS, _WORD, _WALK = 2.0, 0.3, 1.0
# The most classes of units, and how many blocks of units of like lengths are told apart
_MOST_CLASSES = 4
_MOST_BLOCKS = 16
# Of so many events of a loop in a partition one in a few is looked at for where it is busiest.
_MANY_LOOPS, _EVERY = 256, 4
# Below this many events there is less to be gained than it takes to look.
_FEW_EVENTS = 2_000


@dataclass(frozen=True, slots=True)
class WidthClass:
    """Units that are run together.

    Attributes:
        templates: The templates of the units.
        words: For each partition how many words its numbers are expected to need.
    """

    templates: frozenset[int]
    words: Ints


def width_classes(
    program: Program, compiled: Compiled, batch: EventBatch, ranges: Ints
) -> tuple[WidthClass, ...]:
    """The units of code by the length of their numbers; all are one class where that is as good."""
    templates = [int(template) for template in compiled.code.u_template]
    if len(batch) < _FEW_EVENTS or not templates:
        return (WidthClass(frozenset(templates), np.ones(len(ranges), np.int64)),)
    bits = expected_bits(program, compiled, batch, ranges)
    for bundle in compiled.bundles:  # they are one while they behave alike
        bits[list(bundle.units)] = bits[list(bundle.units)].max(axis=0)
    events = ranges[:, 2] - ranges[:, 1]
    return tuple(
        WidthClass(
            frozenset(templates[unit] for unit in units),
            _without_few(_words(bits[units].max(axis=0)), events),
        )
        for units in _alike(bits, events)
    )


def bundle_numbers(code: Compiled, whole: Compiled) -> Ints:
    """For each bundle of the code of some units its number in the code of all."""
    number_of = {
        int(whole.code.u_template[unit]): number
        for number, bundle in enumerate(whole.bundles)
        for unit in bundle.units
    }
    templates = (int(code.code.u_template[bundle.units[0]]) for bundle in code.bundles)
    return np.array([number_of[template] for template in templates], np.int64)


def _words(bits: Doubles) -> Ints:
    """Words that hold numbers of some lengths: 1, 2, 3, 4, 6, 9, ..., not to have many kinds."""
    words = np.ones(len(bits), np.int64)
    room = 1
    while (short := bits >= _SAFE_BITS + _WORD_BITS * (room - 1)).any():
        room += max(room // 2, 1)
        words[short] = room
    return words


def _without_few(words: Ints, events: Ints) -> Ints:
    """Words, where there are few events with some of them the next longer ones instead."""
    kinds = np.unique(words)
    for short, longer in pairwise(kinds):
        if events[words == short].sum() < _FEW_EVENTS:
            words[words == short] = longer
    return words


def _alike(bits: Doubles, events: Ints) -> list[list[int]]:
    """Units in classes of about equal lengths, cut where that is expected to take least time.

    Longer numbers cost more, for each unit of a class, and each class a walk through the events.
    """
    long = np.flatnonzero(bits.max(axis=0) >= _SAFE_BITS)
    order = np.argsort(bits @ events, kind="stable")
    blocks = np.array_split(order, min(len(order), _MOST_BLOCKS))
    if not len(long):
        return [order.tolist()]
    longest = np.array([bits[np.ix_(block, long)].max(axis=0) for block in blocks])
    sizes, walk = [len(block) for block in blocks], _WALK * float(events.sum())
    # By the blocks that are in classes, the last of them first: what they take, and their cuts
    best: list[list[tuple[float, list[int]]]] = [[(0.0, [])]]
    for end in range(1, len(blocks) + 1):
        top, units, tried = longest[end - 1], 0, []
        for first in range(end - 1, -1, -1):
            top, units = np.maximum(top, longest[first]), units + sizes[first]
            takes = walk + units * float(events[long] @ _takes(top))
            tried += [
                (before + takes, [*cuts, first])
                for before, cuts in best[first]
                if len(cuts) < _MOST_CLASSES
            ]
        # Of as many classes the best
        best.append([min(c for c in tried if len(c[1]) == n) for n in {len(c[1]) for c in tried}])
    _, cuts = min(best[-1])
    ends = [*cuts[1:], len(blocks)]
    return [np.concatenate(blocks[a:b]).tolist() for a, b in zip(cuts, ends, strict=True)]


def _takes(bits: Doubles) -> Doubles:
    """How long numbers of some bits take, as compared with those of one word."""
    return np.where(bits < _SAFE_BITS, 1.0, _TWO_WORDS + _WORD * (bits / _WORD_BITS - 1.0))


def expected_bits(program: Program, compiled: Compiled, batch: EventBatch, ranges: Ints) -> Doubles:
    """[units, partitions]: the logarithm to base 2 of the longest number that is expected.

    That of all events of a partition, as in one window, is enough where it fits a word; elsewhere
    the busiest stretch as long as a window is looked for, once for units with the same loops.
    """
    code = compiled.code
    columns, units = _Columns(len(batch.letters)), []
    edges = zip(program.edge_source, program.edge_target, program.edge_condition, strict=True)
    # Where an event moves trends it does not double them.
    stays = [condition.step == Step.STAY for condition in program.conditions]
    loops = {int(s) for s, t, condition in edges if s == t and stays[condition]}
    for template in code.u_template:
        states = np.flatnonzero(program.state_template == template)
        is_loop = np.array([int(state) in loops for state in states], np.bool_)
        admits = batch.letters[:, program.state_atom[states]] != 0
        doubled = columns.number(np.log2(1.0 + admits[:, is_loop].sum(axis=1)))
        singles = [columns.number(each) for each in admits[:, ~is_loop].T.astype(np.float64)]
        units.append((doubled, singles))
    extra = _weight_bits(compiled, batch)[program.template_query[code.u_template]]
    table, first, end = columns.table(), ranges[:, 1], ranges[:, 2]
    sums = _summed(batch.letter, table, first, end)
    bits = _bits_of(units, sums, end - first) + extra[:, None]
    alike: dict[tuple[int, int], list[int]] = {}
    for unit, ((doubled, _), within) in enumerate(zip(units, code.u_within.tolist(), strict=True)):
        alike.setdefault((doubled, within), []).append(unit)
    spans = batch.ts[end - 1] - batch.ts[first]
    busy = _Busiest(batch)
    for (doubled, within), some in alike.items():
        long = np.flatnonzero((bits[some].max(axis=0) >= _SAFE_BITS) & (spans >= within))
        if len(long):
            begins, ends = first[long], end[long]
            busy.narrow(table[:, doubled], within, begins, ends)
            sums = _summed(batch.letter, table, begins, ends)
            found = _bits_of([units[unit] for unit in some], sums, ends - begins)
            bits[np.ix_(np.array(some), long)] = found + extra[some][:, None]
    return bits


class _Busiest:
    """Finds where partitions have the most of what letters count for."""

    def __init__(self, batch: EventBatch) -> None:
        self.letter, self.ts = batch.letter, batch.ts
        self._of: dict[bytes, NDArray[np.int32]] = {}

    def narrow(self, counts: Doubles, within: int, first: Ints, end: Ints) -> None:
        """Narrow partitions to the stretch as long as a window that has the most.

        Args:
            counts: By letter what its events count for.
            within: The length of the window.
            first: Where partitions begin.
            end: Where they end.
        """
        some = counts[counts > 0.0]
        if not len(some) or (some != some[0]).any():
            _narrow(self.letter, self.ts, np.ascontiguousarray(counts), within, first, end)
            return
        rows = self._those(counts > 0.0)
        low, high = (np.searchsorted(rows, each) for each in (first, end))
        _narrow_alike(rows, low, high, self.ts, within, first, end)

    def _those(self, is_asked: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The events of some letters."""
        key = is_asked.tobytes()
        if key not in self._of:
            rows = np.empty(len(self.ts), np.int32)
            self._of[key] = rows[: _choose(self.letter, is_asked, rows)]
        return self._of[key]


class _Columns:
    """What letters count for, a column for each way; equal ones are one."""

    def __init__(self, letters: int) -> None:
        self._letters = letters
        self._numbers: dict[bytes, int] = {}

    def number(self, column: Doubles) -> int:
        """The number of a column."""
        return self._numbers.setdefault(column.tobytes(), len(self._numbers))

    def table(self) -> Doubles:
        """All columns, [letters, columns]."""
        columns = [np.frombuffer(column, np.float64) for column in self._numbers]
        return np.stack(columns, axis=1) if columns else np.empty((self._letters, 0))


def _bits_of(units: Sequence[tuple[int, list[int]]], sums: Doubles, events: Ints) -> Doubles:
    """[units, stretches]: the bits of numbers of trends, and of sums of ones over their events.

    Events of a loop double trends; those that stand once in a trend are each a choice.
    """
    of_events, choices = np.log2(np.maximum(events, 1)), np.log2(np.maximum(sums, 1.0))
    found = np.empty((len(units), len(sums)))
    for bits, (doubled, singles) in zip(found, units, strict=True):
        np.add(sums[:, doubled], of_events, out=bits)
        for single in singles:
            bits += choices[:, single]
    return found


def _weight_bits(compiled: Compiled, batch: EventBatch) -> Doubles:
    """For each query the bits of the largest weight that it adds up."""
    largest = [float(np.abs(row).max(initial=1)) for row in batch.weights]
    by_weight = dict(zip(batch.weight_specs, np.log2(np.maximum(largest, 1.0)), strict=True))
    return np.array(
        [
            max((by_weight.get(each.weight, 0.0) for each in components), default=0.0)
            for components in compiled.components
        ]
    )


def _summed(letter: Any, table: Doubles, first: Ints, end: Ints) -> Doubles:
    """[stretches, columns]: the sum of each column over the events of some stretches."""
    sums = np.zeros((len(first), table.shape[1]))
    _sum(letter, table, first, end, sums)
    return sums


@jit.interpretable
def _sum(letter, table, first, end, sums):  # type: ignore[no-untyped-def]
    """Add up each column over the events of some stretches."""
    for p in range(len(first)):
        for i in range(first[p], end[p]):
            for c in range(table.shape[1]):
                sums[p, c] += table[letter[i], c]


@jit.interpretable
def _choose(letter, is_asked, rows):  # type: ignore[no-untyped-def]
    """Fill in the events of some letters; how many there are."""
    count = 0
    for event in range(len(letter)):
        rows[count] = event
        count += int(is_asked[letter[event]])
    return count


@jit.interpretable
def _narrow_alike(rows, low, high, ts, within, first, end):  # type: ignore[no-untyped-def]
    """As `_narrow` where some events count for the same, and others for nothing: `rows` has these.

    Of each partition they stand from `low` to `high`. A window has at most one more than any before
    it had, so all that is asked at each of them is whether it has. Of many only some are looked at:
    what is found has as many as the busiest stretch but for a few.
    """
    for p in range(len(first)):
        step = 1 if high[p] - low[p] < _MANY_LOOPS else _EVERY
        most, last = 0, -1  # the most of those that are looked at, times the step
        for row in range(low[p], high[p], step):
            if row - most >= low[p] and ts[rows[row]] - ts[rows[row - most]] < within:
                most, last = most + step, row
        if last < 0:
            continue
        # With what stands before them in the window, and between those that are looked at
        stretch, latest = rows[last], ts[rows[last]]
        while stretch > first[p] and ts[stretch - 1] > latest - within:
            stretch -= 1
        first[p], end[p] = stretch, rows[min(last + step, high[p]) - 1] + 1


@jit.interpretable
def _narrow(letter, ts, steps, within, first, end):  # type: ignore[no-untyped-def]
    """Narrow partitions to the stretch as long as a window with the most of what letters count."""
    for p in range(len(first)):
        begin, total, most, last = first[p], 0.0, -1.0, end[p]
        for i in range(begin, last):
            while ts[begin] <= ts[i] - within:
                total -= steps[letter[begin]]
                begin += 1
            total += steps[letter[i]]
            if total > most:
                most = total
                first[p], end[p] = begin, i + 1
