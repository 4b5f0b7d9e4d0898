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
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel import jit
from hamlet.kernel.numbers import SAFE
from hamlet.plan.template import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.plan.program import Program

    Ints = NDArray[np.int64]
    Doubles = NDArray[np.float64]

_SAFE_BITS, _WORD_BITS = SAFE.bit_length() - 1, 64
# Units are run apart where the lengths of their numbers are this many bits apart, which is what it
# takes for a number of another kind to be likely.
_APART = 24
# Every set of units costs a walk through the events, so there are few.
_MOST_CLASSES = 4
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
    return tuple(
        WidthClass(frozenset(templates[unit] for unit in units), _words(bits[units].max(axis=0)))
        for units in _alike(bits, ranges[:, 2] - ranges[:, 1])
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


def _alike(bits: Doubles, events: Ints) -> Iterator[list[int]]:
    """Units in classes of about equal lengths, cut where the differences are largest."""
    words = np.array([_words(row) for row in bits])
    if (words == words[0]).all():
        yield list(range(len(bits)))
        return
    lengths = bits @ events / events.sum()
    order = np.argsort(lengths, kind="stable")
    gaps = np.diff(lengths[order])
    cuts = np.sort(np.argsort(-gaps, kind="stable")[: _MOST_CLASSES - 1])
    cuts = cuts[gaps[cuts] >= _APART] + 1
    yield from ([int(unit) for unit in units] for units in np.split(order, cuts))


def expected_bits(program: Program, compiled: Compiled, batch: EventBatch, ranges: Ints) -> Doubles:
    """[units, partitions]: the logarithm to base 2 of the longest number that is expected."""
    code = compiled.code
    bits = np.empty((len(code.u_template), len(ranges)))
    extra = _weight_bits(compiled, batch)
    edges = zip(program.edge_source, program.edge_target, program.edge_condition, strict=True)
    # Where an event moves trends it does not double them.
    stays = [condition.step == Step.STAY for condition in program.conditions]
    loops = {int(s) for s, t, condition in edges if s == t and stays[condition]}
    seen: dict[tuple[bytes, bytes, int], int] = {}
    for unit, (template, within) in enumerate(zip(code.u_template, code.u_within, strict=True)):
        states = np.flatnonzero(program.state_template == template)
        is_loop = np.array([int(state) in loops for state in states], np.bool_)
        admits = batch.letters[:, program.state_atom[states]] != 0
        doubled = np.log2(1.0 + admits[:, is_loop].sum(axis=1))
        singles = _as_mask(admits[:, ~is_loop])
        key = (doubled.tobytes(), singles.tobytes(), int(within))
        if key in seen:
            bits[unit] = bits[seen[key]]
        else:
            _longest(batch.letter, batch.ts, ranges, doubled, singles, within, bits[unit])
            seen[key] = unit
    return bits + extra[program.template_query[code.u_template]][:, None]


def _as_mask(admits: NDArray[np.bool_]) -> Ints:
    """For each letter the states that admit it, a bit each; those beyond the 16th have none."""
    admits = admits[:, :16]
    return admits @ (1 << np.arange(admits.shape[1], dtype=np.int64))


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


@jit.interpretable
def _longest(letter, ts, ranges, doubled, singles, within, out):  # type: ignore[no-untyped-def]
    """For each partition the bits of numbers in the busiest stretch as long as a window.

    That is of the number of trends, and a sum of ones over all their events.
    """
    counts = np.zeros(16, np.int64)
    for p in range(len(ranges)):
        counts[:] = 0
        begin, bits, most = ranges[p, 1], 0.0, -1.0
        for i in range(ranges[p, 1], ranges[p, 2]):
            while ts[begin] <= ts[i] - within:
                bits -= doubled[letter[begin]]
                _count(counts, singles[letter[begin]], -1)
                begin += 1
            bits += doubled[letter[i]]
            _count(counts, singles[letter[i]], 1)
            if bits > most:
                most = bits
                out[p] = bits + _single_bits(counts) + np.log2(i + 1 - begin)


@jit.compiled
def _count(counts, mask, by):  # type: ignore[no-untyped-def]
    state = 0
    while mask:
        if mask & 1:
            counts[state] += by
        mask >>= 1
        state += 1


@jit.compiled
def _single_bits(counts):  # type: ignore[no-untyped-def]
    """The bits by which events that stand once in a trend lengthen the number of trends."""
    choices = 1.0
    for count in counts:
        choices *= max(count, 1)
    return np.log2(choices)
