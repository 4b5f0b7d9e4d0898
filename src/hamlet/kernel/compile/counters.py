"""Counters: what lazy events are added to, and which of them make up an accumulator.

An accumulator is about the events of one atom. Queries whose conditions differ have different ones,
and an event may be for many of them. Events of different times commute there, so it need not be
added to each: it is added to one counter for all events that are for the same accumulators, and an
accumulator is added up from its counters when somebody asks. Each has one counter of its own too,
for events that no other has, and for those of equal times, which do not commute.

An accumulator of which there would be too many counters to add up has its own counter only, to
which each of its events is added.

Where accumulators, with all that they add up, are few, each has its own counter only: events that
stand one after the other are looked at once for each of them, whatever their letters are.

Conditions such as `v < 3` and `v < 5` let in more and more events. Where the counters of one
accumulator are among those of another, that one is added up from it and what there is more, if all
are wanted at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.compile.parts import RaggedLists

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Code

    Ints = NDArray[np.int64]

# The most counters that an accumulator is added up from
_MOST = 256
# The most that few accumulators add up, counts among it, and the most letters' bits have room for
_FEW, _BITS = 24, 62
# How many accumulators are looked at to find one that another may be added up from
_LOOKED_AT = 8


class Counters(NamedTuple):
    """Counters for the letters of a batch; those with the numbers of accumulators are their own.

    of_letter: The counters that an event of each letter is added to.
    bits: For each letter its accumulators as bits, where these are few; nothing otherwise.
    arrays: Arrays of the machine: see BatchArrays in layout.py.
    counters: How many there are, with places for totals after them, and so with sums.
    """

    of_letter: list[list[int]]
    bits: list[int]
    arrays: dict[str, Ints]
    counters: int
    sums: int
    stacks: int


def find_counters(code: Code, lazy: list[list[int]]) -> Counters:
    """Counters for letters, of each of which the accumulators are given."""
    own = len(code.z_atom)
    lanes = own + len(code.zs_weight) + len(code.zx_attribute)
    is_few = own <= _BITS and lanes <= _FEW and not len(code.zl_weight)
    sets = [] if is_few else _shared_sets(lazy)
    bits = [sum(1 << z for z in set(some)) for some in lazy] if is_few else []
    number = {some: own + i for i, some in enumerate(sets)}
    sharing = {z for some in sets for z in some}
    of_letter = []
    for of_one in lazy:
        shared = tuple(z for z in sorted(of_one) if z in sharing)
        apart = [z for z in of_one if z not in sharing]
        of_letter.append(apart + ([number[shared]] if len(shared) > 1 else list(shared)))
    members = [(z,) for z in range(own)] + sets
    of_accumulator: list[list[int]] = [[] for _ in range(own)]
    for some, counter in number.items():
        for z in some:
            of_accumulator[z].append(counter)
    parents = _parents(code, of_accumulator)
    more = [
        [c for c in each if parents.get(z, -1) < 0 or c not in of_accumulator[parents[z]]]
        for z, each in enumerate(of_accumulator)
    ]
    sums = _Places(code.zs_p, code.zs_weight, members)
    stacks = _Places(code.zx_p, code.zx_attribute, members)
    is_shared = [bool(each) for z, each in enumerate(of_accumulator) for _ in _range(code.zs_p, z)]
    arrays = {
        "z_total": _totals(own + len(sets), [bool(each) for each in of_accumulator]),
        "z_order": np.array(list(parents), np.int64),
        "z_parent": np.array([parents.get(z, -1) for z in range(own)], np.int64),
        "z_c_p": RaggedLists(of_accumulator).pointers(),
        "z_c": RaggedLists(of_accumulator).flat(),
        "z_more_p": RaggedLists(more).pointers(),
        "z_more": RaggedLists(more).flat(),
        "sum_total": _totals(sums.count, is_shared),
        "sum_parent": sums.of_parents(parents),
        "c_sum_p": sums.of_counters.pointers(),
        "c_sum": sums.of_counters.flat(),
        "sum_parts_p": sums.parts(of_accumulator).pointers(),
        "sum_parts": sums.parts(of_accumulator).flat(),
        "sum_more_p": sums.parts(more).pointers(),
        "sum_more": sums.parts(more).flat(),
        "c_stack_p": stacks.of_counters.pointers(),
        "c_stack_of": stacks.of_counters.flat(),
        "stack_parts_p": stacks.parts(of_accumulator).pointers(),
        "stack_parts": stacks.parts(of_accumulator).flat(),
    }
    counters = own + len(sets) + 2 * len(parents)
    return Counters(
        of_letter, bits, arrays, counters, sums.count + 2 * sum(is_shared), stacks.count
    )


def _shared_sets(lazy: list[list[int]]) -> list[tuple[int, ...]]:
    """The sets of accumulators that have a counter, two or more in each, each set once."""
    sets = dict.fromkeys(tuple(sorted(some)) for some in lazy if len(some) > 1)
    counts: dict[int, int] = {}
    for some in sets:
        for z in some:
            counts[z] = counts.get(z, 0) + 1
    few = {z for z, n in counts.items() if n <= _MOST}
    left = dict.fromkeys(tuple(z for z in some if z in few) for some in sets)
    return [some for some in left if len(some) > 1]


def _parents(code: Code, of_accumulator: list[list[int]]) -> dict[int, int]:
    """Of each accumulator with several counters one whose counters are among its own, or -1.

    It comes before it, and has all the sums that it has.
    """
    parents: dict[int, int] = {}
    weights = [
        {int(code.zs_weight[k]) for k in _range(code.zs_p, z)} for z in range(len(code.z_atom))
    ]
    counters = [frozenset(each) for each in of_accumulator]
    shared = [z for z, each in enumerate(counters) if each]
    for z in sorted(shared, key=lambda z: len(counters[z])):
        before = reversed(list(parents)[-_LOOKED_AT:])
        fits = (y for y in before if counters[y] <= counters[z] and weights[y] >= weights[z])
        parents[z] = next(fits, -1)
    return parents


def _totals(first: int, is_shared: list[bool]) -> Ints:
    """Where totals are: each in two places, from the first on, or where the only part is.

    The second of the two is for what the total has from counters that are not its own.
    """
    places = first + 2 * (np.cumsum(is_shared, dtype=np.int64) - 1)
    return np.where(is_shared, places, np.arange(len(is_shared)))


class _Places:
    """The sums or stacks of counters.

    Args:
        pointers: Where those of each accumulator begin.
        kinds: What each is of: a weight or an attribute.
        members: Of each counter its accumulators.
    """

    def __init__(self, pointers: Ints, kinds: Ints, members: list[tuple[int, ...]]) -> None:
        self._pointers, self._kinds = pointers, kinds.tolist()
        self._place: dict[tuple[int, int], int] = {}
        self.of_counters = RaggedLists()
        for counter, some in enumerate(members):
            wanted = dict.fromkeys(self._kinds[k] for z in some for k in _range(pointers, z))
            for kind in wanted:
                self._place[counter, kind] = len(self._place)
            self.of_counters.lists.append(list(wanted))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._place)

    def parts(self, counters: list[list[int]]) -> RaggedLists:
        """By sum or stack of each accumulator those of some counters."""
        return RaggedLists(
            [
                [self._place[counter, self._kinds[k]] for counter in some]
                for z, some in enumerate(counters)
                for k in _range(self._pointers, z)
            ]
        )

    def of_parents(self, parents: dict[int, int]) -> Ints:
        """By sum of each accumulator that of its parent, -1 for none."""
        found = [-1] * len(self._kinds)
        for z, parent in parents.items():
            if parent >= 0:
                own = {self._kinds[k]: k for k in _range(self._pointers, parent)}
                for k in _range(self._pointers, z):
                    found[k] = own[self._kinds[k]]
        return np.array(found, np.int64)


def _range(pointers: Ints, i: int) -> range:
    return range(int(pointers[i]), int(pointers[i + 1]))
