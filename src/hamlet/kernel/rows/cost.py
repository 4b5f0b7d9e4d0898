"""What rows of a loop with an edge predicate cost, over own columns and over snapshots.

Pure arithmetic, in nanoseconds for each event of the loop; the kernel compiles these very functions
(kernel/rows/survey.py, kernel/rows/decision.py).

    T(W)     = rank + (2 + 1.5 log2 n) (row + cell W)     in a tree, or W (column + event n / 2)
    W_own    = k w
    W_shared = S (1 - 1 / 2w)         S snapshots taken in a window
    settle   = S + entries w + k w                        where something reads E+, a window closes
    split    = stored (S + entries w)

A part f of the events that some E+ alone admit adds f n to W_shared, each is settled to be a
snapshot by itself, and is an entry of k columns from then on.

A burst that begins over snapshots is split where T(k w) left + 1.2 split < T(W) left, with `left`
the events that open windows will still see and W the snapshots that there will be on average until
then. A unit whose entries alone cause more than w snapshots in a window does not
share: own columns of its own are fewer.

Name here    in the paper
columns      k (times w over own columns; s_p over snapshots)
live         n
bursts       s_c, for each event
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from numba.extending import register_jitable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_F = TypeVar("_F", bound="Callable[..., Any]")

# Of a look at all stored events: for each column, and for each column and event
SCAN_COLUMN, SCAN_EVENT = 5.7, 0.055
# Of ranking; for each row of a tree, and for each of its columns
RANK, ROW, ROW_COLUMN = 60.0, 2.5, 0.045
# Of an event in a tree, whatever its row is like, more than of one in a scanned table
TREE = 65.0
# How many own columns of a tree a snapshot is like: nodes have more of these or less. By how much a
# row over snapshots is taken in at less (plain.py); and up to which width it has no calls, which is
# the less the narrower it is
SNAPSHOT_WIDE, PLAIN_LESS, NARROW, NARROW_LESS = 1.8, 14.0, 16.0, 45.0
# A row has the snapshot at hand besides those that are there on average: half of one more.
AT_HAND = 0.5
# Of a snapshot; to settle: for each snapshot, for each entry and window, for each own column
SNAPSHOT, SETTLE_COLUMN, SETTLE_ENTRY, SETTLE_OWN = 50.0, 4.5, 0.42, 0.05
# Of seeing whether predicates disagree: of a look at a stored event, and how many there are where
# more than bounds differ, for each predicate
LOOK, LOOKS = 0.2, 10
# Of an event over snapshots in a scanned table, against one that is taken in directly (direct.py);
# and the part of a window's events that a snapshot has coefficients of, on average
STEP, SNAPSHOT_LIVE = 50.0, 0.6
# Of a split: for each stored event and snapshot, or entry and window
SPLIT_CELL = 0.7
# How many numbers of one word one of two is like, and for each word one of more: these are added
# word by word, and not several at once
OF_TWO_WORDS, OF_A_WORD = 4.0, 4.5
# Of an event, whatever its row is like: classes go through the events one after the other
EVENT = 60.0
# And what more where it may be a snapshot by itself, as predicates differ
MIXED = 120.0
# Of any event, to see that a class has nothing to do with it
PASS = 5.0
# A tree has so many nodes for each event of a window; what has more cells than two megabytes is
# slower by this part each time that it doubles.
_NODES, _CACHED, _SLOWER = 2.0, float(1 << 18), 0.35
# Of a class, whatever its events are: it is a run of its own, with code of its own
CLASS = 100_000.0
# Classes part where that saves so much of what they cost together.
_WORTH_PARTING = 0.9


class ClassSeen(NamedTuple):
    """What some events are to units that may have one table.

    Attributes:
        events: All of them.
        loops: Those of the loop that any of the units admits.
        live: Of these in a window.
        bursts: That begin with what comes into any of them.
        parts: Of the loop that are not the same to all of the units: they are snapshots each.
        predicates: Different edge predicates: a snapshot is worked out with each.
        looks: At a stored event, to see whether these disagree: one, where only bounds differ.
    """

    events: int
    loops: int
    live: float
    bursts: int
    parts: int
    predicates: int = 1
    looks: int = 0


def _compiled_too(function: _F) -> _F:
    """A function that compiled functions call as well."""
    register_jitable(function)
    return function


@_compiled_too
def scan_ns(columns: float, live: float) -> float:
    """Of a row where all stored events are looked at.

    >>> scan_ns(1, 20), scan_ns(100, 300)
    (6.25, 1395.0)
    """
    return columns * (SCAN_COLUMN + SCAN_EVENT * 0.5 * live)


@_compiled_too
def tree_ns(columns: float, live: float) -> float:
    """Of a row where sums over ranges are looked up.

    >>> round(tree_ns(1, 20)), round(tree_ns(100, 300)), round(tree_ns(1000, 3000))
    (82, 160, 2353)
    """
    doubled = log2(max(1.0, _NODES * live * columns / _CACHED))
    cell = ROW_COLUMN * (1.0 + _SLOWER * doubled)
    return RANK + (2.0 + 1.5 * log2(live + 1.0)) * (ROW + cell * columns)


@_compiled_too
def row_ns(columns: float, live: float) -> float:
    """Of a row in the better table."""
    return min(scan_ns(columns, live), TREE + tree_ns(columns, live))


@_compiled_too
def in_words(words: int) -> float:
    """How many numbers of one word one of so many is like.

    >>> in_words(1), in_words(2), in_words(4)
    (1.0, 4.0, 18.0)
    """
    if words <= 1:
        return 1.0
    return OF_TWO_WORDS if words == 2 else OF_A_WORD * words


@_compiled_too
def less_ns(columns: float) -> float:
    """By how much a row over snapshots is taken in at less, where sums over ranges are looked up.

    >>> less_ns(2), less_ns(20)
    (53.375, 14.0)
    """
    return PLAIN_LESS + NARROW_LESS * max(0.0, 1.0 - columns / NARROW)


@_compiled_too
def shared_ns(columns: float, live: float, bursts: float, only_scanned: bool = False) -> float:
    """Of a row over snapshots in the better table, with so many bursts for each event.

    >>> round(shared_ns(10, 300, 0.03)), round(shared_ns(200, 3000, 0.1))
    (147, 903)
    """
    columns += AT_HAND
    row = STEP + scan_ns(columns, SNAPSHOT_LIVE * live)
    if not only_scanned:
        row = min(row, TREE + tree_ns(SNAPSHOT_WIDE * columns, live) - less_ns(columns))
    return row + bursts * (SNAPSHOT + SETTLE_COLUMN * columns)


def class_ns(
    seen: ClassSeen, columns: int, windows: int, numbers: int, own: bool, over: bool
) -> float:
    """Of all events seen, for units that have one table.

    Fifty thresholds that hardly ever disagree are had over snapshots; where every second event is
    for some of them alone, over own columns. Units with different edge predicates have one table to
    share, and it is scanned; over own columns they could as well be apart.

    >>> few, many = (ClassSeen(9_000, 8_000, 300.0, 250, parts) for parts in (80, 4_000))
    >>> [[round(class_ns(s, 50, 4, 1, *b) / 1e6, 1) for b in ((1, 0), (0, 1))] for s in (few, many)]
    [[2.8, 1.7], [2.8, 56.1]]

    Args:
        seen: Events, and how many are what.
        columns: Of E+.
        windows: That are open at once.
        numbers: Of a column in a window.
        own: Whether rows may be over own columns.
        over: And over snapshots.
    """
    mixed = seen.predicates > 1
    loops, cells = max(seen.loops, 1), columns * windows * numbers
    some, of_window = seen.parts / loops, seen.live / loops
    snapshots = (seen.bursts + seen.parts) * of_window * (1.0 - 0.5 / windows)
    wide = numbers * max(snapshots, 1.0)
    noted = seen.parts * of_window * columns * windows * numbers
    single = SETTLE_COLUMN * wide + SETTLE_ENTRY * noted
    once = shared_ns(wide, seen.live, seen.bursts / loops, mixed)
    again = some * (seen.predicates - 1)
    row = once * (1.0 + again) + some * seen.predicates * single
    row += LOOK * seen.looks * seen.live + (MIXED if mixed else 0.0)
    if own and not mixed:
        row = min(row, row_ns(cells, seen.live)) if over else row_ns(cells, seen.live)
    return PASS * seen.events + seen.loops * (EVENT + row)


def most_ns(events: int, cells: int, predicates: int) -> float:
    """The most that so many events of one partition cost over so many own columns.

    These are in tables for each of some edge predicates.

    >>> round(most_ns(1_000, 10, 1)), round(most_ns(1_000, 200, 1)), round(most_ns(1_000, 200, 5))
    (240005, 417486, 1314443)
    """
    return events * predicates * (PASS + EVENT + row_ns(cells / predicates, events))


def leavers(
    alone: Sequence[int],
    members: Sequence[bool],
    seen: ClassSeen,
    windows: int,
    numbers: int,
    times: float,
    gone: list[bool],
) -> bool:
    """Find the columns of a class that had better not share with the others, if there are any.

    >>> seen, gone = ClassSeen(6000, 5000, 3000.0, 905, 0), [False] * 50
    >>> leavers([0] * 49 + [900], [True] * 50, seen, 4, 1, 1.0, gone), gone.index(True)
    (True, 49)
    >>> leavers([200, 210, 190, 205], [True] * 4, seen._replace(live=300.0), 4, 1, 1.0, gone)
    False

    Args:
        alone: For each column the bursts that nothing but its own entries began.
        members: Whether it is in the class.
        seen: What events are to the class.
        windows: That are open at once.
        numbers: Of a column in a window.
        times: How many events each of those seen stands for.
        gone: Whether a column leaves, where any does.
    """
    of_window, rest = seen.live / max(seen.loops, 1), seen.bursts
    everyone, some = 0, 0
    for c in range(len(alone)):
        gone[c] = bool(members[c] and alone[c] * of_window > windows)
        everyone += members[c]
        if gone[c]:
            some += 1
            rest -= alone[c]
    if some in (0, everyone):
        return False
    wide, cells = numbers * of_window * (1.0 - 0.5 / windows), numbers * windows
    together = _better(everyone * cells, seen.bursts, seen.loops, seen.live, wide)
    stay = _better((everyone - some) * cells, rest, seen.loops, seen.live, wide)
    apart = stay + row_ns(some * cells, seen.live) + 2.0 * EVENT
    apart += CLASS / (max(seen.loops, 1) * times)
    return apart < _WORTH_PARTING * (together + EVENT)


@_compiled_too
def _better(columns: int, bursts: int, events: int, live: float, wide: float) -> float:
    """Of a row over own columns or over snapshots, each burst so wide."""
    over = shared_ns(bursts * wide, live, bursts / max(events, 1), False)
    return min(row_ns(columns, live), over)
