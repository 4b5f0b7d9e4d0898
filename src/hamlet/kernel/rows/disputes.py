"""How often units that ask different things of neighbours disagree about an event.

An event is disputed by two edge predicates where they let different stored events precede it. Each
stored event has a random number, and what a predicate lets precede an event is one word: the sum of
theirs. Two predicates dispute the events for which their words differ. A few events of a partition
are looked at, and before each of them as many as there are in a window, or a thousand: in longer
windows they disagree as much more often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.jit import apart, inlined
from hamlet.kernel.rows.layout import BELOW, EQUAL, UP_TO
from hamlet.kernel.rows.letters import COMPARED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.rows.group import RowPredicate

    Doubles = NDArray[np.float64]

# Events that are looked at: so many words, one in so many events of the loop at most, but of each
# predicate no more and no fewer than so many
_WORDS, _ONE_IN, _MOST, _FEWEST = 384, 8, 64, 24
# Stored events that each of them sees at most
_BEFORE = 1024


def by_keys(predicates: Sequence[RowPredicate], f: Doubles) -> list[int]:
    """A number for each predicate: those that differ in bounds only have the same one."""
    numbers: dict[tuple[int, bytes], int] = {}
    alike = ((COMPARED[p.operator][0], f[n].tobytes()) for n, p in enumerate(predicates))
    return [numbers.setdefault(each, len(numbers)) for each in alike]


@apart
def keys_of(seen, asked, p):
    """The same of the events of a partition that are looked at."""
    numbers = np.arange(len(asked.operators))
    for n in range(1, len(numbers)):
        for other in range(n):
            is_same = asked.operators[n] == asked.operators[other]
            i = p.first
            while is_same and i < p.first + p.events:
                one, two = seen.f[n, i], seen.f[other, i]
                is_same = one == two or (one != one and two != two)
                i += 1
            if is_same:
                numbers[n] = numbers[other]
                break
    return numbers


@apart
def words_of(seen, asked, p, within):
    """By predicate and event of a few what may precede it; how many are looked at on average."""
    predicates = len(asked.operators)
    at, random = np.empty(p.loops, np.int64), np.empty(p.loops, np.int64)
    loops = 0
    for i in range(p.first, p.first + p.events):
        if asked.is_loop[seen.letter[i]]:
            at[loops] = i
            # As many different bits as can be, from the place alone
            mixed = (loops + 1) * -7046029254386353131
            random[loops] = (mixed ^ (mixed >> 29)) * -4658895280553007687
            loops += 1
    n = min(loops, max(_FEWEST, min(_MOST, _WORDS // predicates, loops // _ONE_IN)))
    words, keys, looked = np.zeros((predicates, n), np.int64), np.empty(loops), 0
    for predicate in range(predicates):
        operator = asked.operators[predicate]
        for k in range(loops):
            keys[k] = seen.f[predicate, at[k]]
        for k in range(n):
            q = (2 * k + 1) * loops // (2 * n)
            begin, end = _before(seen.ts, at, q, within)
            words[predicate, k] = _word(
                keys, random, begin, end, seen.g[predicate, at[q]], operator
            )
            looked += end - begin
    return words, max(1.0, looked / float(max(n * predicates, 1)))


@inlined
def _before(ts, at, q, within):
    """The events of the loop before one of them that are in a window with it."""
    begin, end, time = q, q, ts[at[q]]
    while end > 0 and ts[at[end - 1]] == time:
        end -= 1
    begin = end
    while begin > max(0, end - _BEFORE) and ts[at[begin - 1]] > time - within:
        begin -= 1
    return begin, end


@apart
def _word(keys, random, begin, end, bound, operator):
    """What may precede an event; null stands in no order to anything."""
    word = 0
    if operator == BELOW:
        for k in range(begin, end):
            word += random[k] if keys[k] < bound else 0
    elif operator == UP_TO:
        for k in range(begin, end):
            word += random[k] if keys[k] <= bound else 0
    elif operator == EQUAL:
        for k in range(begin, end):
            word += random[k] if keys[k] == bound else 0
    else:
        for k in range(begin, end):
            word += random[k] if (keys[k] < bound) | (keys[k] > bound) else 0
    return word


@apart
def part_in(made, a, b, live):
    """The part of the events that some predicates of two classes dispute, of so long windows."""
    n, found = made.words.shape[1], 0
    for k in range(n):
        differ = made.words[a, k] != made.words[b, k]
        found += (made.disputed[a, k] | made.disputed[b, k]) != 0 or differ
    part = found / float(max(n, 1))
    times = live / made.looked
    return part if times <= 1.0 else 1.0 - (1.0 - part) ** times
