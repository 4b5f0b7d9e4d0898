"""Short cuts of code: what the machine needs most often, side by side, and what each letter does.

Everything here can be read off the code; it is put together once so that the machine does not have
to look for it event by event. What the entries mean is told in layout.py.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel.code import NO_EXTREME, POPPED, STAYS
from hamlet.kernel.compile.bundles import whole_bundles
from hamlet.kernel.compile.counters import find_counters
from hamlet.kernel.compile.parts import begins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Code, Compiled
    from hamlet.kernel.compile.counters import Counters

    Ints = NDArray[np.int64]

# Of more letters it is not found out which may come first.
_MOST_LETTERS = 256


def placed_loops(code: Code) -> Ints:
    """Lazy ops with the rows of their loops given by where they begin in the numbers."""
    lazies = code.lazies.reshape(-1, at.LAZY).copy()
    unit = np.repeat(np.arange(len(code.u_w)), np.diff(code.u_lazy_p))
    for place in (at.LZ_OWN, at.LZ_OTHER):
        row = lazies[:, place]
        begins = code.u_vbase[unit] + row * code.u_w[unit] * code.u_nc[unit]
        lazies[:, place] = np.where(row < 0, -1, begins)
    return lazies.reshape(-1)


def quick_units(code: Code) -> Ints:
    """Of each unit what is needed most often, where its trends begin and end, and its kind."""
    quick = np.full((len(code.u_w), at.QUICK), -1, np.int64)
    quick[:, at.Q_W], quick[:, at.Q_NC], quick[:, at.Q_NX] = code.u_w, code.u_nc, code.u_nx
    quick[:, at.Q_LAZY], quick[:, at.Q_LAZY_END] = code.u_lazy_p[:-1], code.u_lazy_p[1:]
    quick[:, at.Q_ROWS] = code.u_nrows
    quick[:, at.Q_BASE], quick[:, at.Q_BASE_X] = code.u_vbase, code.u_xbase
    quick[:, at.Q_KIND] = at.STORES
    ends, starts = _only(code.end_p, code.end_row), _only_start(code)
    has_rows = (np.diff(code.escan_p) == 0) & (ends >= 0)
    has_rows[code.t_unit] = False
    has_rows[code.log_unit] = False
    size, size_x = code.u_w * code.u_nc, code.u_w * code.u_nx
    quick[:, at.Q_START] = np.where(has_rows & (starts >= 0), code.u_vbase + starts * size, -1)
    quick[:, at.Q_END] = np.where(has_rows, code.u_vbase + ends * size, -1)
    quick[:, at.Q_END_X] = np.where(has_rows, code.u_xbase + ends * size_x, -1)
    quick[has_rows, at.Q_KIND] = at.HAS_ROWS
    counts = has_rows & (starts >= 0) & (ends != starts)
    counts &= (code.u_nc == 1) & (code.u_nx == 0) & (code.u_always == 0)
    counts &= (np.diff(code.u_lazy_p) > 0) & (code.u_steps == 0)
    counts &= ~_any(code.u_lazy_p, code.lazies.reshape(-1, at.LAZY)[:, at.LZ_OWN] < 0)
    quick[counts, at.Q_KIND] = at.COUNTS_ONLY
    windows = np.column_stack([code.u_within, code.u_slide, code.u_w])
    quick[:, at.Q_GRID] = np.unique(windows, axis=0, return_inverse=True)[1].reshape(-1)
    return quick.reshape(-1)


def _only_start(code: Code) -> Ints:
    """Of each unit its row of START, -1 where it has none or several."""
    unit = np.repeat(np.arange(len(code.u_w)), code.u_nrows)
    begins = np.flatnonzero(code.r_start == 1)
    pointers = np.searchsorted(unit[begins], np.arange(len(code.u_w) + 1))
    return _only(pointers, begins - code.u_rbase[unit[begins]])


def _only(pointers: Ints, flat: Ints) -> Ints:
    """The only value of each range of an array, -1 where there is none or several."""
    first = np.append(flat, -1)[pointers[:-1]]
    return np.where(np.diff(pointers) == 1, first, -1)


def are_alike(code: Code) -> bool:
    """Whether all units only count, and have windows of the same length and slide."""
    kinds = code.u_quick.reshape(-1, at.QUICK)[:, at.Q_KIND]
    windows = np.column_stack([code.u_within, code.u_slide])
    is_so = (kinds == at.COUNTS_ONLY).all() and (windows == windows[:1]).all()
    return len(kinds) > 0 and bool(is_so)


def quick_ops(code: Code) -> Ints:
    """Of each op its unit, and for ops that add one row to another from where to where.

    START has an empty trend in each window, without sums and extremes.
    """
    quick = np.full((len(code.o_unit), at.QUICK), -1, np.int64)
    quick[:, at.QO_UNIT] = code.o_unit
    kinds = code.u_quick.reshape(-1, at.QUICK)[code.o_unit, at.Q_KIND]
    quick[:, at.QO_SYNC] = np.where(kinds == at.COUNTS_ONLY, at.SYNC_COUNTS, at.SYNC_ALL)
    read, fed = _only(code.o_src_p, code.o_src_row), _only(code.o_dst_p, code.o_dst_row)
    adds = _any(code.o_w_p, code.o_w != -1) | _any(code.o_x_p, code.o_x != NO_EXTREME)
    moves = code.u_steps[code.o_unit] == 1
    _fill_moves(code, quick, moves)
    passes = np.diff(code.u_pass_p)[code.o_unit] > 0
    quick[passes, at.QO_SYNC] = at.SYNC_IF_WAITING
    plain = ~moves | (~passes & (_takes(code) <= 1) & _reads_rows_only(code))
    simple = np.flatnonzero((read >= 0) & (fed >= 0) & (read != fed) & ~adds & plain)
    read, fed, unit = read[simple], fed[simple], code.o_unit[simple]
    begins = code.r_start[code.u_rbase[unit] + read] == 1
    size, size_x = code.u_w[unit] * code.u_nc[unit], code.u_w[unit] * code.u_nx[unit]
    quick[simple, at.QO_FROM] = code.u_vbase[unit] + read * size
    quick[simple, at.QO_TO] = code.u_vbase[unit] + fed * size
    quick[simple, at.QO_SIZE] = size
    quick[simple, at.QO_STEP] = np.where(begins, code.u_nc[unit], 1)
    quick[simple, at.QO_FROM_X] = code.u_xbase[unit] + read * size_x
    quick[simple, at.QO_TO_X] = code.u_xbase[unit] + fed * size_x
    quick[simple, at.QO_SIZE_X] = np.where(begins, 0, size_x)
    hands_on = simple[moves[simple] & ~begins]
    quick[hands_on, at.QO_MOVES] = at.HANDING_ON
    quick[hands_on, at.QO_OWN], quick[hands_on, at.QO_TO] = quick[hands_on, at.QO_TO], -1
    _fill_taking(code, quick, passes)
    _fill_passing(code, quick, passes, adds)
    # Of units with one lazy op, whose other row they feed
    is_later = begins & ~moves[simple] & (code.u_nx[unit] > 0) & (np.diff(code.u_lazy_p)[unit] == 1)
    later = simple[is_later]
    loops = code.lazies.reshape(-1, at.LAZY)[code.u_lazy_p[code.o_unit[later]]]
    is_other = quick[later, at.QO_TO] == loops[:, at.LZ_OTHER]
    quick[_alone(code, later[is_other]), at.QO_SYNC] = at.SYNC_LATER
    return quick.reshape(-1)


def _fill_moves(code: Code, quick: Ints, moves: NDArray[np.bool_]) -> None:
    """Of ops that move trends: whether they store events, begin trends, have a row of their own."""
    kinds = np.where(_reads_rows_only(code), at.MOVING, at.STORING)
    quick[:, at.QO_MOVES] = np.where(moves, kinds, at.STAYING)
    base = code.u_rbase[np.repeat(code.o_unit, np.diff(code.o_src_p))]
    is_start = _any(code.o_src_p, code.r_start[base + code.o_src_row] == 1)
    quick[:, at.QO_BEGINS] = is_start | (np.diff(code.o_first_p) > 0)
    reads, feeds = _parted(code.o_src_p, code.o_src_row), _parted(code.o_dst_p, code.o_dst_row)
    taken = np.diff(code.src_take_p)
    for op in np.flatnonzero(moves).tolist():
        own = [row for row in reads[op] if row in feeds[op]]
        # Rows with copies for the states of a guard are not changed in place.
        has_copies = (taken[code.o_src_p[op] : code.o_src_p[op + 1]] > 1).any()
        if len(own) == 1 and reads[op].count(own[0]) == 1 and not has_copies:
            quick[op, at.QO_OWN] = own[0]


def _fill_taking(code: Code, quick: Ints, passes: NDArray[np.bool_]) -> None:
    """Of ops of loops that take stored events in order: from which row, and to which they add."""
    scanned, read = _only(code.o_scan_p, code.o_scan_log), _only(code.o_src_p, code.o_src_row)
    ended = _only(code.o_dst_p, code.o_dst_row)
    reads, ends = np.diff(code.o_src_p), np.diff(code.o_dst_p)
    takes = (quick[:, at.QO_MOVES] == at.STORING) & (scanned >= 0) & (scanned == code.o_log)
    takes &= (_only(code.o_scan_p, code.o_scan_step) == POPPED) & (np.diff(code.o_first_p) == 0)
    takes &= ~passes & (reads <= 1) & (ends <= 1) & (_takes(code) <= 1)
    takes &= ~_any(code.o_src_p, code.o_src_cond != -1)
    for op in np.flatnonzero(takes & _moves_directly(code)).tolist():
        unit = code.o_unit[op]
        size, size_x = code.u_w[unit] * code.u_nc[unit], code.u_w[unit] * code.u_nx[unit]
        quick[op, at.QO_MOVES], quick[op, at.QO_OWN] = at.TAKING, code.o_log[op]
        places = (read[op], at.QO_FROM, at.QO_FROM_X), (ended[op], at.QO_END, at.QO_END_X)
        for row, to, to_x in places:
            quick[op, to] = code.u_vbase[unit] + row * size if row >= 0 else -1
            quick[op, to_x] = code.u_xbase[unit] + row * size_x if row >= 0 else -1


def _fill_passing(
    code: Code, quick: Ints, passing_ops: NDArray[np.bool_], adds: NDArray[np.bool_]
) -> None:
    """Of ops that move trends from one row to another as they are: where trends begin, or end.

    And of several ops that go on with the same events, if they do so from rows.
    """
    from_rows = passing_ops & _reads_rows_only(code)
    quick[from_rows & (code.o_group >= 0), at.QO_MOVES] = at.TOGETHER
    read, fed = _only(code.o_src_p, code.o_src_row), _only(code.o_dst_p, code.o_dst_row)
    is_plain = from_rows & ~adds & (read >= 0) & (fed >= 0) & (read != fed)
    passing = [set(rows) for rows in _parted(code.u_pass_p, code.u_pass)]
    for op in np.flatnonzero(is_plain & (quick[:, at.QO_MOVES] == at.MOVING)).tolist():
        unit = code.o_unit[op]
        begins = code.r_start[code.u_rbase[unit] + read[op]] == 1
        if begins == (read[op] in passing[unit]) or (fed[op] in passing[unit]) != begins:
            continue
        size, size_x = code.u_w[unit] * code.u_nc[unit], code.u_w[unit] * code.u_nx[unit]
        quick[op, at.QO_MOVES] = at.BEGINNING if begins else at.ENDING
        quick[op, at.QO_SIZE], quick[op, at.QO_SIZE_X] = size, size_x
        quick[op, at.QO_FROM] = code.u_vbase[unit] + read[op] * size
        quick[op, at.QO_FROM_X] = code.u_xbase[unit] + read[op] * size_x
        quick[op, at.QO_OWN] = code.u_vbase[unit] + fed[op] * size
        quick[op, at.QO_TO_X] = code.u_xbase[unit] + fed[op] * size_x


def _takes(code: Code) -> Ints:
    """Of each op how many rows are emptied with the first that it reads."""
    firsts = np.append(np.diff(code.src_take_p), 0)
    taken: Ints = firsts[code.o_src_p[:-1]]
    return taken


def _alone(code: Code, ops: Ints) -> Ints:
    """Of ops that have one destination those whose row no op feeds that is not among them."""
    rows = np.concatenate([[0], np.cumsum(code.u_nrows)])
    owner = np.repeat(code.o_unit, np.diff(code.o_dst_p))
    fed = np.bincount(rows[owner] + code.o_dst_row, minlength=int(rows[-1]))
    own = rows[code.o_unit[ops]] + code.o_dst_row[code.o_dst_p[ops]]
    of_these = np.bincount(own, minlength=int(rows[-1]))
    alone: Ints = ops[fed[own] == of_these[own]]
    return alone


class LetterTables(NamedTuple):
    """What the machine has to know of the letters of a batch.

    letters: For each letter its ops, guard ops and counters, in one flat array.
    alike: For each letter the first that does the same.
    is_used: Which bundles are of use: those that some letter is for all units of.
    counters: What lazy events are added to.
    in_turn: [letters, letters]: whether an event of the first may be taken in before one of the
        second, though they are of one time. None where that is not found out.
    """

    letters: Ints
    alike: Ints
    is_used: list[bool]
    counters: Counters
    in_turn: NDArray[np.bool_] | None


def by_letter(compiled: Compiled, letters: NDArray[np.uint8]) -> LetterTables:
    """What each letter does; events mostly have the letters of those before them."""
    key = (letters.shape, letters.tobytes())
    return compiled.letter_tables.get_or_make(key, lambda: _tables(compiled, letters))


def _tables(compiled: Compiled, letters: NDArray[np.uint8]) -> LetterTables:
    of_letters = _of_letters(compiled, letters)
    bundles = whole_bundles(compiled, of_letters.direct)
    counters = find_counters(compiled.code, of_letters.lazy)
    wakes = _wakes(compiled, letters)
    full = [of_letter for letter in bundles.whole for of_letter in letter]
    is_direct = [int(not (o or g)) for o, g in zip(*of_letters[5:], strict=True)]
    is_lazy = [
        at.NOT_LAZY if gops or not goes_on else at.LAZY_UNLESS_WAITED_FOR if ops else at.ALWAYS_LAZY
        for ops, gops, goes_on in zip(
            *of_letters[:2], _only_go_on(compiled, of_letters), strict=True
        )
    ]
    arrays: list[Any] = [
        *_lists(of_letters.ops),
        *_lists(of_letters.gops),
        *_lists(of_letters.lazy),
        is_direct,
        is_lazy,
        *_lists(bundles.rest),
        begins(len(of_letter) for of_letter in bundles.whole),
        [bundle for bundle, _ in full],
        begins(len(some) for _, some in full)[:-1],
        [op for _, some in full for op in some],
        *_lists(of_letters.guards),
        *_lists(of_letters.long),
        *_lists(of_letters.long_guards),
        *_lists(wakes),
        *_lists(counters.of_letter),
        *_lists(_ladders(compiled.code, of_letters.lazy)),
        counters.bits,
    ]
    # Bundles that no letter has to do with stay as they are: a stream may go on with them later.
    touched = {op for ops in of_letters.ops for op in ops}
    is_used = [
        is_whole or not any(op in touched for member in bundle.ops for op in member)
        for bundle, is_whole in zip(compiled.bundles, bundles.is_used, strict=True)
    ]
    # Which events are for all of a bundle is decided step by step.
    turns = None if compiled.bundles else _in_turn(compiled.code, of_letters)
    return LetterTables(_flat(arrays), _first_alike(of_letters, wakes), is_used, counters, turns)


def _in_turn(code: Code, letters: _Letters) -> NDArray[np.bool_] | None:
    """For each two letters whether events of the one may come first; see `LetterTables`.

    They may where the second reads nothing that the first feeds or takes, in rows or in what is
    stored, and where no guard of a unit that knows both is among them.
    """
    count, units, rows = len(letters.ops), len(code.u_w), len(code.r_start)
    # All events of one time are one step to trends that wait for the very next.
    if count > _MOST_LETTERS or code.waits_for_next:
        return None
    # After the rows of all units stands for each what it stores.
    reads, feeds = (np.zeros((count, rows + units), np.float32) for _ in range(2))
    knows, guards = (np.zeros((count, units), np.float32) for _ in range(2))
    loops = code.lazies.reshape(-1, at.LAZY)
    stores = ~_reads_rows_only(code)
    read_by, fed_by = _parted(code.o_src_p, code.o_src_row), _parted(code.o_dst_p, code.o_dst_row)
    taken_by = _parted(code.src_take_p[code.o_src_p], code.src_take)
    guarded = code.g_unit[code.gop_guard]
    for letter in range(count):
        lazy = loops[np.isin(loops[:, at.LZ_Z], letters.lazy[letter]), at.LZ_OP].tolist()
        for op in [*letters.ops[letter], *lazy]:
            unit = code.o_unit[op]
            reads[letter, code.u_rbase[unit] + np.array(read_by[op], np.int64)] = 1
            changed = [*fed_by[op], *taken_by[op]]
            feeds[letter, code.u_rbase[unit] + np.array(changed, np.int64)] = 1
            if stores[op]:
                reads[letter, rows + unit] = feeds[letter, rows + unit] = 1
            knows[letter, unit] = 1
        guards[letter, guarded[letters.gops[letter]]] = 1
    knows = np.maximum(knows, guards)
    barred = guards @ knows.T
    return np.asarray((feeds @ reads.T == 0) & (barred == 0) & (barred.T == 0))


def _first_alike(of_letters: _Letters, wakes: list[list[int]]) -> Ints:
    """For each letter the first that does the same."""
    first: dict[str, int] = {}
    rows = zip(*of_letters, wakes, strict=True)
    return np.array([first.setdefault(repr(row), n) for n, row in enumerate(rows)], np.int64)


def _wakes(compiled: Compiled, letters: NDArray[np.uint8]) -> list[list[int]]:
    """For each letter the units in which its events begin trends at a lazy op."""
    code = compiled.code
    by_atom: dict[int, list[int]] = {}
    for unit in np.flatnonzero(code.u_always).tolist():
        for z, op, *_ in code.lazies.reshape(-1, at.LAZY)[slice(*code.u_lazy_p[unit : unit + 2])]:
            rows = code.o_src_row[slice(*code.o_src_p[op : op + 2])]
            if (code.r_start[code.u_rbase[unit] + rows] == 1).any():
                by_atom.setdefault(int(code.z_atom[z]), []).append(unit)
    wakes: list[list[int]] = [[] for _ in letters]
    for atom, units in by_atom.items():
        for letter in np.flatnonzero(letters[:, atom]).tolist():
            wakes[letter] += [unit for unit in units if unit not in wakes[letter]]
    return wakes


def _only_go_on(compiled: Compiled, of_letters: _Letters) -> list[bool]:
    """Whether all ops of each letter go on directly with trends that wait for one step only."""
    quick = compiled.code.o_quick.reshape(-1, at.QUICK)
    waited = (quick[:, at.QO_SYNC] == at.SYNC_IF_WAITING) & (quick[:, at.QO_BEGINS] == 0)
    return [
        not long and all(waited[op] for op in ops)
        for ops, long in zip(of_letters.ops, of_letters.long, strict=True)
    ]


def _ladders(code: Code, lazy: list[list[int]]) -> list[list[int]]:
    """For each letter the ladders of its accumulators."""
    return [[k for z in some for k in range(*code.zl_p[z : z + 2])] for some in lazy]


def _lists(lists: list[list[int]]) -> tuple[Ints, list[int]]:
    """Lists as pointers and one list."""
    pointers = begins(map(len, lists))
    return pointers, [value for some in lists for value in some]


def bundle_letters(
    compiled: Compiled, letters: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """[letters, bundles]: for which bundles an event alone in its time is for all, and for any.

    Bundles that no letter is for all units of are of no use to the machine: neither is told.
    """
    of_letters = _of_letters(compiled, letters)
    bundles = whole_bundles(compiled, of_letters.direct)
    for_all = np.zeros((len(letters), len(compiled.bundles)), np.bool_)
    for_any = np.zeros_like(for_all)
    of_unit = {
        u: b
        for b, bundle in enumerate(compiled.bundles)
        for u in bundle.units
        if bundles.is_used[b]
    }
    units = compiled.code.o_unit.tolist()
    for letter, some in enumerate(of_letters.ops):
        for_all[letter, [b for b, _ in bundles.whole[letter]]] = True
        for_any[letter, [of_unit[units[op]] for op in some if units[op] in of_unit]] = True
    return for_all, for_any


class _Letters(NamedTuple):
    """For each letter its ops, guard ops and accumulators, and how its ops are run.

    The events of a letter that stand alone in their time run ops and guard ops directly, one after
    the other, as far as that may be; the others go the long way.
    """

    ops: list[list[int]]
    gops: list[list[int]]
    lazy: list[list[int]]
    direct: list[list[int]]
    guards: list[list[int]]
    long: list[list[int]]
    long_guards: list[list[int]]


def _of_letters(compiled: Compiled, letters: NDArray[np.uint8]) -> _Letters:
    """What each letter does."""
    empty: list[list[list[int]]] = [[[] for _ in letters] for _ in _Letters._fields]
    found = _Letters(*empty)
    for letter, atom in zip(*(where.tolist() for where in np.nonzero(letters)), strict=True):
        found.ops[letter].extend(compiled.atom_ops[atom])
        found.gops[letter].extend(compiled.atom_gops[atom])
        if compiled.lazy_of_atom[atom] >= 0:
            found.lazy[letter].append(compiled.lazy_of_atom[atom])
    ways = _Ways(compiled.code)
    for letter, (ops, gops) in enumerate(zip(found.ops, found.gops, strict=True)):
        if ops or gops:
            direct, guards, long, long_guards = ways.of(ops, gops)
            found.direct[letter] = direct
            found.guards[letter] = guards
            found.long[letter] = long
            found.long_guards[letter] = long_guards
    return found


class _Ways:
    """Which ops and guard ops of an event alone in its time are run directly, and in which order.

    Those of one unit go one way. They are run directly if the ops read nothing but rows, and can be
    put in an order in which none reads what one before it has added to, or has taken where they
    move trends; a guard is, if it is one event that no op of the unit knows, and bars nothing but
    rows.
    """

    def __init__(self, code: Code) -> None:
        self.unit = code.o_unit.tolist()
        self.steps = code.u_steps.tolist()
        self.guard_unit = code.g_unit[code.gop_guard].tolist()
        self.reads_rows = _reads_rows_only(code).tolist()
        self.is_direct = (_reads_rows_only(code) | _moves_directly(code)).tolist()
        self.passes = (np.diff(code.u_pass_p) > 0).tolist()
        self.group = code.o_group.tolist()
        self.takes = _parted(code.src_take_p[code.o_src_p], code.src_take)
        self.bars_rows_only = _bars_rows_only(code).tolist()
        self.reads = _parted(code.o_src_p, code.o_src_row)
        self.feeds = _parted(code.o_dst_p, code.o_dst_row)

    def of(
        self, ops: list[int], gops: list[int]
    ) -> tuple[list[int], list[int], list[int], list[int]]:
        """Ops and guard ops that are run directly, and those that go the long way."""
        by_unit: dict[int, list[int]] = {}
        for op in ops:
            by_unit.setdefault(self.unit[op], []).append(op)
        barred: dict[int, list[int]] = {}
        for gop in gops:
            barred.setdefault(self.guard_unit[gop], []).append(gop)
        direct: list[int] = []
        guards: list[int] = []
        long: list[int] = []
        long_guards: list[int] = []
        for unit, some in by_unit.items():
            is_apart = unit in barred or (self.steps[unit] and not self._move_in_turn(unit, some))
            order = None if is_apart else self._ordered(some)
            if order is None:
                long += some
            else:
                direct += order
        for unit, some in barred.items():
            if unit in by_unit or not all(self.bars_rows_only[gop] for gop in some):
                long_guards += some
            else:
                guards += some
        return direct, guards, long, long_guards

    def _move_in_turn(self, unit: int, ops: list[int]) -> bool:
        """Whether ops of a unit that move trends can do so one after the other.

        Then no two of them take from the same row. Where trends wait for one step only, they are
        all ops of the same events: what none of them reads has been passed by.
        """
        if len(ops) == 1:
            return True
        if not all(self.reads_rows[op] for op in ops):
            return False
        if self.passes[unit]:
            groups = {self.group[op] for op in ops}
            return len(groups) == 1 and -1 not in groups
        taken = [row for op in ops for row in self.takes[op]]
        return len(set(taken)) == len(taken)

    def _ordered(self, ops: list[int]) -> list[int] | None:
        """Ops of one unit such that none reads what one before it has added to; None if none is."""
        if not all(self.is_direct[op] for op in ops):
            return None
        readers: dict[int, list[int]] = {}
        for op in ops:
            for row in set(self.reads[op]):
                readers.setdefault(row, []).append(op)
        # For each op the others that read what it adds to, which go before it; and the reverse.
        before = {
            op: {r for row in self.feeds[op] for r in readers.get(row, ()) if r != op} for op in ops
        }
        after: dict[int, list[int]] = {op: [] for op in ops}
        for op, some in before.items():
            for reader in some:
                after[reader].append(op)
        waits = {op: len(some) for op, some in before.items()}
        place = {op: number for number, op in enumerate(ops)}
        ready = [place[op] for op in ops if not waits[op]]  # sorted, so it is a heap
        order = []
        while ready:
            op = ops[heappop(ready)]
            order.append(op)
            for other in after[op]:
                waits[other] -= 1
                if not waits[other]:
                    heappush(ready, place[other])
        return order if len(order) == len(ops) else None


def bundle_arrays(compiled: Compiled, is_used: list[bool]) -> tuple[dict[str, Ints], Ints]:
    """Bundles that are of use, as the machine has them; the others keep their numbers.

    Also the short cuts of ops, each with its bundle.
    """
    code, bundles = compiled.code, compiled.bundles
    of_unit = np.full(len(code.u_w), -1, np.int64)
    rows: list[tuple[int, ...]] = [()] * len(code.u_w)
    for number, bundle in enumerate(bundles):
        if is_used[number]:
            of_unit[list(bundle.units)] = number
            for unit, some in zip(bundle.units, bundle.rows, strict=True):
                rows[unit] = some
    waits = np.arange(len(code.lazies) // at.LAZY)
    lazy_of = {op: lazy for lazy, op in enumerate(code.lazies[at.LZ_OP :: at.LAZY].tolist())}
    for bundle in bundles:
        for unit, members in zip(bundle.units, bundle.ops, strict=True):
            first, end = code.u_lazy_p[unit : unit + 2]
            waits[first:end] = [lazy_of[op] for op in members if op in lazy_of]
    ops = code.o_quick.reshape(-1, at.QUICK).copy()
    ops[:, at.QO_BUNDLE] = of_unit[code.o_unit]
    arrays = {
        "u_bundle": of_unit,
        "b_p": begins(len(bundle.units) for bundle in bundles),
        "b_unit": np.array([u for bundle in bundles for u in bundle.units], np.int64),
        "b_patience": np.array(compiled.patience, np.int64),
        "u_rows_p": begins(map(len, rows)),
        "u_rows": np.array([row for some in rows for row in some], np.int64),
        "u_waits": waits,
    }
    return arrays, ops.reshape(-1)


def _reads_rows_only(code: Code) -> NDArray[np.bool_]:
    """For each op whether an event alone in its time can be added by it at once."""
    empty = np.diff(code.o_src_p) > 0
    for pointers in (code.o_scan_p, code.o_first_p, code.o_tree_p, code.o_leaf_p):
        empty &= np.diff(pointers) == 0
    return empty & (code.o_log < 0) & ~_any(code.o_src_p, code.o_src_cond != -1)


def _moves_directly(code: Code) -> NDArray[np.bool_]:
    """For each op that moves trends whether it does so without windows or trees to be looked at."""
    fits: NDArray[np.bool_] = code.u_steps[code.o_unit] == 1
    for pointers in (code.o_first_p, code.o_tree_p, code.o_leaf_p):
        fits &= np.diff(pointers) == 0
    return fits & ~_any(code.o_scan_p, code.o_scan_step == STAYS)


def _bars_rows_only(code: Code) -> NDArray[np.bool_]:
    """For each guard op whether it is a guard of one event, asked for nothing, that bars rows."""
    guard = code.gop_guard
    unit = code.g_unit[guard]
    plain: NDArray[np.bool_] = code.g_n[guard] == 1
    plain &= np.diff(code.g_tree_p)[guard] == 0
    plain &= ~np.isin(unit, code.log_unit) & ~np.isin(unit, code.t_unit)
    state = code.g_sbase[guard] + code.gop_state
    plain &= (code.gs_end[state] == 1) & (code.gs_log[state] < 0)
    asked = _any(code.gs_in_p, (code.gs_in_cond >= 0) | (code.gs_in_source >= 0))
    plain &= ~asked[state]
    return plain


def _any(pointers: Ints, is_so: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each range of an array whether it holds for some of it."""
    before = np.concatenate([[0], np.cumsum(is_so)])
    return before[pointers[1:]] > before[pointers[:-1]]


def _parted(pointers: Ints, flat: Ints) -> list[list[int]]:
    """The ranges of an array as lists."""
    values, cuts = flat.tolist(), pointers.tolist()
    return [values[low:high] for low, high in pairwise(cuts)]


def _flat(arrays: list[Any]) -> Ints:
    """The offset of each array, and the arrays."""
    offsets = len(arrays) + begins(map(len, arrays))[:-1]
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in (offsets, *arrays)])
