"""Counters: what lazy events are added to, and which of them make up an accumulator.

An accumulator is about the events of one atom. Queries whose conditions differ have different ones,
and an event may be for many of them. Events of different times commute there, so it need not be
added to each: it is added to one counter for all events that are for the same accumulators, and an
accumulator is added up from its counters when somebody asks. Each has one counter of its own too,
for events that no other has, and for those of equal times, which do not commute.

An accumulator of which there would be too many counters to add up has its own counter only, to
which each of its events is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hamlet.kernel.compile.parts import RaggedLists

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Code

    Ints = NDArray[np.int64]

_FLAT = {"sum": "c_sum", "stack": "c_stack_of"}
# The most counters that an accumulator is added up from
_MOST = 256


class Counters(NamedTuple):
    """Counters for the letters of a batch; those with the numbers of accumulators are their own.

    of_letter: The counters that an event of each letter is added to.
    arrays: Arrays of the machine: see BatchArrays in layout.py.
    sums: How many sums there are: of counters, then totals of accumulators.
    """

    of_letter: list[list[int]]
    arrays: dict[str, Ints]
    counters: int
    sums: int
    stacks: int


def find_counters(code: Code, lazy: list[list[int]]) -> Counters:
    """Counters for letters, of each of which the accumulators are given."""
    own = len(code.z_atom)
    sets = _shared_sets(lazy)
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
    totals = _numbered(own + len(sets), [bool(each) for each in of_accumulator])
    sums, sum_arrays = _kept(code.zs_p, code.zs_weight, members, of_accumulator, "sum")
    stacks, stack_arrays = _kept(code.zx_p, code.zx_attribute, members, of_accumulator, "stack")
    is_shared = [bool(each) for z, each in enumerate(of_accumulator) for _ in _range(code.zs_p, z)]
    sum_totals = _numbered(sums, is_shared)
    arrays = {
        "z_total": totals,
        "z_c_p": RaggedLists(of_accumulator).pointers(),
        "z_c": RaggedLists(of_accumulator).flat(),
        "sum_total": sum_totals,
        **sum_arrays,
        **stack_arrays,
    }
    counters = own + len(sets) + sum(map(bool, of_accumulator))
    return Counters(of_letter, arrays, counters, sums + sum(is_shared), stacks)


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


def _numbered(first: int, is_shared: list[bool]) -> Ints:
    """Where totals are kept: in a place of their own, from the first on, or where parts are."""
    places = first + np.cumsum(is_shared, dtype=np.int64) - 1
    return np.where(is_shared, places, np.arange(len(is_shared)))


def _kept(
    pointers: Ints,
    kinds: Ints,
    members: list[tuple[int, ...]],
    of_accumulator: list[list[int]],
    name: str,
) -> tuple[int, dict[str, Ints]]:
    """The sums or stacks of counters: how many, what each is of, and which make up each other.

    Args:
        pointers: Where those of each accumulator begin.
        kinds: What each is of: a weight or an attribute.
        members: Of each counter its accumulators.
        of_accumulator: Of each accumulator the counters that are not its own.
        name: What is kept.
    """
    of_counter: list[list[int]] = []
    place: dict[tuple[int, int], int] = {}
    for counter, some in enumerate(members):
        wanted = dict.fromkeys(int(kinds[k]) for z in some for k in _range(pointers, z))
        for kind in wanted:
            place[counter, kind] = len(place)
        of_counter.append(list(wanted))
    parts = [
        [place[counter, int(kinds[k])] for counter in of_accumulator[z]]
        for z in range(len(of_accumulator))
        for k in _range(pointers, z)
    ]
    counts = RaggedLists(of_counter)
    return len(place), {
        f"c_{name}_p": counts.pointers(),
        _FLAT[name]: counts.flat(),
        f"{name}_parts_p": RaggedLists(parts).pointers(),
        f"{name}_parts": RaggedLists(parts).flat(),
    }


def _range(pointers: Ints, i: int) -> range:
    return range(int(pointers[i]), int(pointers[i + 1]))
