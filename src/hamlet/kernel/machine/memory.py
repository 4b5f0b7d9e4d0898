"""What compiled functions are handed: the addresses of arrays, in a few bundles.

An array that goes into a compiled call is counted in and out of it, atomically; in the inner loops
that was ten times slower. Addresses (see `raw_pointer` and `pointer` in numbers/) are not
counted, so they can be bundled: a bundle is taken apart by the compiler and costs what its fields
would. It is made where the arrays are at hand (batch.py), once for each stretch of events, and
what it points to must outlive it. Bundles are small because a call that is not inlined passes each
field: a function is given those that it needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet.kernel import layout as at
from hamlet.kernel.jit import inlined

# Instead of the step at which something was completed: it never was.
NO_STEP = -1
# Instead of the height of a tree: it has no leaves yet.
EMPTY = -1
# After all times and steps
FAR = 1 << 62
# Integers of a stored event; among them, in a log that is ordered, its key, and the entry that is
# at its place there
ENTRY = 6
KEY, AT_PLACE = 4, 5


class Memory(NamedTuple):
    """What all parts of the machine work on.

    zf and zs have two entries for each accumulator or sum, and after those of all accumulators the
    stamps of lazy ops: what they were when the op was last brought up to date.
    """

    P: Any  # code: see layout.py
    S: Any  # state in integers: see layout.py
    v: Any  # numbers: rows of units, then room for one row from T_BASE on
    x: Any  # extremes of rows; those of MAX with the sign changed, so that the least is wanted
    zf: Any  # by accumulator: by what steps multiply beyond doubling, as mantissa and exponent
    zs: Any  # by sum: the sum of weights in two parts, see numbers.add_to_sum
    spos: Any  # by stack: event numbers
    sval: Any  # by stack: extremes, rising
    err: Any  # err[0] is set where a number may not fit; err[1] from outside, see stopping.py
    trace: Any  # rows of what was decided: see bundles.py


class EventArrays(NamedTuple):
    """Events in time order, one entry for each, and what each letter does."""

    ts: Any
    tied: Any  # how it follows the one before: see TIED in layout.py
    letter: Any
    weights: Any  # by weight, then event
    extremes: Any  # by attribute, then event; NaN for null
    by_letter: Any  # see L_OPS_P in layout.py


class Sides(NamedTuple):
    """What conditions on edges are looked up in."""

    letter: Any
    letters: Any  # by letter, then atom
    previous: Any  # by predicate, then event: its value for the event before
    next: Any  # and for the event now
    previous_bits: Any  # the same values as integers
    next_bits: Any
    columns: Any  # by attribute, then event, for general predicates
    arguments: Any  # of their code


class Stored(NamedTuple):
    """Events kept one by one, and sums over ranges of them.

    Entries of logs are ENTRY integers: event, step, time, the step that took it away, FAR where
    none has, and two of logs that are ordered; of logs of guards three: event, and step and time of
    the start of the match.
    """

    entries: Any
    v: Any
    x: Any
    guard_entries: Any
    tree_v: Any
    tree_x: Any
    places: Any  # of events in trees: see trees.py


class Records(NamedTuple):
    """Results of windows."""

    part: Any  # of each its partition, unit and window
    unit: Any
    window: Any
    v: Any
    x: Any
    n: Any  # n[0] is their number


class Scratch(NamedTuple):
    """Room for one step."""

    v: Any  # what each pending op adds
    x: Any
    kept: Any  # rows put aside by guards
    kept_x: Any
    pending: Any  # op, event, and where in v and x
    met: Any  # units
    gops: Any  # guard op, event, and source, step and time of the start of its match


@inlined
def entries(P, pointers, i):
    """The range that belongs to entry i of an array of pointers."""
    return range(P[P[pointers] + i], P[P[pointers] + i + 1])


@inlined
def shape(P, u):
    """Of a unit: the most windows open at once, its components and its extremes."""
    return P[P[at.U_W] + u], P[P[at.U_NC] + u], P[P[at.U_NX] + u]
