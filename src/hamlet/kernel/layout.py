"""Where things stand in the two flat integer arrays of the machine.

The machine is given its code as one array P: scalars first, then for each array of code its offset
in P, then the arrays. So `P[P[at.U_W] + u]` is entry u of the array u_w. What changes while it runs
and is an integer is one array S, whose parts also have their offsets in P: `S[P[at.S_LO] + u]`. Two
arrays instead of a hundred keep calls between compiled functions, and their compilation, cheap.

Each name is written once, where the thing is declared: scalars, arrays of a batch and state here,
arrays of code in code.py. From these declarations come the numbers, as constants of this module
with names in capitals, and image.py fills the arrays in the same order. Modules of the machine have
`from hamlet.kernel import layout as at`; for Numba an attribute of a module is a constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hamlet.kernel.code import LAZY as LAZY
from hamlet.kernel.code import Code

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

    # The numbers made below, as type checkers see them; a test looks for names that do not exist.
    def __getattr__(name: str) -> int: ...


class Scalars(NamedTuple):
    """Single numbers of code."""

    n_units: int
    n_z: int  # accumulators
    n_sums: int  # of counters and accumulators
    n_stacks: int
    n_counters: int
    n_shared: int  # accumulators with several counters
    t_base: int  # where room for one row begins among the numbers
    t_base_x: int  # and among the extremes
    n_always: int  # units that may hold trends before any op touches them
    n_moves: int  # units that move trends and have lazy ops
    alike: int  # see fast_paths.are_alike
    n_b: int  # bundles
    n_ops: int
    is_few: int  # accumulators: see compile/counters.py
    n_grids: int  # windows of units: of the same length and slide
    ladders: int  # where they begin among sums
    n_ladders: int


class BatchArrays(NamedTuple):
    """Arrays that stand with those of code, but are made for each batch.

    Logs and trees begin in numbers and extremes at their vbase and xbase.
    """

    log_vbase: Ints  # for one event in each log
    log_xbase: Ints
    t_vbase: Ints
    t_xbase: Ints
    t_bits: Ints  # height of a tree
    # Bundles
    u_bundle: Ints  # -1: none
    b_p: Ints
    b_unit: Ints
    b_patience: Ints
    u_rows_p: Ints  # rows of a unit in the order that its bundle has in common
    u_rows: Ints
    u_waits: Ints  # and its lazy ops, by u_lazy_p
    # Counters, first the own ones of accumulators: see compile/counters.py
    z_total: Ints  # where the total of an accumulator is among counters
    z_order: Ints  # accumulators with several counters
    z_parent: Ints  # one before it in that order, of which an accumulator has all counters
    z_c_p: Ints  # the counters of an accumulator besides its own
    z_c: Ints
    z_more_p: Ints  # and of these those that its parent does not have
    z_more: Ints
    sum_total: Ints  # by sum of an accumulator: where its total is among sums
    sum_parent: Ints
    c_sum_p: Ints  # by counter: the weights of its sums
    c_sum: Ints
    sum_parts_p: Ints  # by sum of an accumulator: those of the counters
    sum_parts: Ints
    sum_more_p: Ints
    sum_more: Ints
    c_stack_p: Ints  # by counter: what its stacks hold
    c_stack_of: Ints
    stack_parts_p: Ints
    stack_parts: Ints


# Arrays of state, and what each has an entry for
STATE = {
    # Units: their windows, whether they are active, and up to where they are up to date
    "s_lo": "unit",  # first open window
    "s_hi": "unit",  # last open window
    "s_due": "unit",  # when a window opens or closes
    "s_touched": "unit",  # last window that was open when an op touched it
    "s_where": "unit",  # place in s_active, -1 if it is not active
    "s_active": "unit",
    "s_seen": "unit",  # the last step that touched it
    "s_slot": "unit",  # where the first open window stands in rows
    "s_step": "unit",  # the last step whose trends its rows for one step only may hold
    "s_waiting": "unit",  # those whose trends wait for the very next event, which may be lazy
    "s_waits": "unit",  # whether a unit is among these: see NO_RUN
    "s_late": "unit",  # 1 if numbers are up to date but extremes are not
    "s_stamp_n": "lazy op",  # the steps of its accumulator and c_lazy when it was up to date
    "s_stamp_events": "lazy op",
    "s_block": "unit",  # the block of time at which its trees stand
    "s_flip": "unit",  # which half of a tree has that block
    # Windows that units share: which are open, from when to when, and where the first stands
    "s_grid_from": "grid",
    "s_grid_due": "grid",
    "s_grid_lo": "grid",
    "s_grid_hi": "grid",
    "s_grid_slot": "grid",
    # Accumulators
    "s_c_n": "counter",  # steps; those of accumulators that have several counters are at the end
    "s_z_fresh": "accumulator",  # c_lazy when it was added up
    "s_stack_len": "stack",
    # Guards: the latest start of a match, as step and as time
    "s_g_l": "guard state",
    "s_g_lt": "guard state",
    "s_g_done": "guard",
    "s_g_done_t": "guard",
    # Stored events
    "s_log_head": "log",  # the first event that an open window has
    "s_log_len": "log",
    # Of logs that are ordered: how many of the events are in the heap, and, of the last step that
    # took some out of it, its number, how many these are, and whether it took all the others, too
    "s_log_heap": "log",
    "s_log_step": "log",
    "s_log_out": "log",
    "s_log_all": "log",
    "s_glog_len": "guard log",
    "s_t_bits": "half tree",  # height, EMPTY if there are no leaves
    # Bundles: see machine/bundles.py
    "s_b_mode": "bundle",
    "s_b_live": "bundle",  # active units
    "s_b_run": "bundle",  # events for all in a row, below 0: for some
    "s_b_partial": "bundle",  # time of the last event for some
}

# Arrays of code that go into P; the arguments of predicates are doubles and stay by themselves.
CODE_ARRAYS = tuple(name for name in Code._fields if name != "p_arg")
_NAMES = (*Scalars._fields, *CODE_ARRAYS, *BatchArrays._fields, *STATE)
HEADER = len(_NAMES)
globals().update({name.upper(): number for number, name in enumerate(_NAMES)})

# What is needed most often of units and ops of the commonest kinds, side by side, QUICK entries for
# each. Rows are given by where they begin in the numbers; -1: there is none, or the unit or op is
# not of such a kind.
QUICK = 16
# Of a unit, by U_QUICK + QUICK * unit: its most windows, components and extremes; its first lazy op
# and the one after its last; how many rows there are, and where they begin in numbers and extremes;
# of units that keep nothing but rows the only row of START, and the only one at which trends end,
# the latter in numbers and extremes; what kind of unit it is; and the number of its windows.
(
    Q_W,
    Q_NC,
    Q_NX,
    Q_LAZY,
    Q_LAZY_END,
    Q_ROWS,
    Q_BASE,
    Q_BASE_X,
    Q_START,
    Q_END,
    Q_END_X,
    Q_KIND,
    Q_GRID,
) = range(13)
# Kinds of units: those that store events one by one; those that keep nothing but rows, with one row
# at which trends end; and of these those with one row of START, all loops lazy, that only count.
STORES, HAS_ROWS, COUNTS_ONLY = range(3)
# Of a lazy op, by LAZIES + LAZY * lazy op: its accumulator; the op; the row of a loop that reads no
# more than its own row and another, and the other; where the stamps of its sums begin.
LZ_Z, LZ_OP, LZ_OWN, LZ_OTHER, LZ_SBASE = range(LAZY)
# Of an op, by O_QUICK + QUICK * op: its unit; its bundle; how its unit is brought up to date; and,
# for ops that add one row to another and nothing of their own, the two, how many numbers they have
# and which of them to add (every step-th: an empty trend has no sums), and the same for extremes.
(
    QO_UNIT,
    QO_BUNDLE,
    QO_SYNC,
    QO_FROM,
    QO_TO,
    QO_SIZE,
    QO_STEP,
    QO_FROM_X,
    QO_TO_X,
    QO_SIZE_X,
    QO_MOVES,
    QO_BEGINS,
    QO_OWN,
    QO_END,
    QO_END_X,
) = range(15)
# Whether an op moves trends: between rows, also stored events, or all of one row to another, as
# above but for the place of the second, or stored events of a log that is ordered, and its own;
# whether some of them begin with it (1); and a row that it both takes from and adds to, by its
# number in the unit, or that second row, or the log, and with it the row of the end. Of units with
# trends that wait for the very next event alone: all that begins waits, or all that waited ends, or
# it is one of several ops that go on with the same event
STAYING, MOVING, STORING, HANDING_ON, TAKING, BEGINNING, ENDING, TOGETHER = range(8)
# In whole; a unit that only counts; extremes later, because the op does not touch those of
# the loop nor of the other row that it reads; not if nothing waits that the op could go on with
SYNC_ALL, SYNC_COUNTS, SYNC_LATER, SYNC_IF_WAITING = range(4)

# Of a unit that waits for the very next event: nothing has come yet; above it, a run of the
# accumulator whose number is by one less. 0: it does not wait so.
NO_RUN = 1

# How an event follows the one before: at a later time; at the same; at a later, and others that no
# unit knows come between
APART, TIED, AFTER_OTHERS = range(3)

# Of the array with ops, guard ops and accumulators for each letter; whether an event alone in its
# time needs nothing of the long way, and whether it needs nothing but accumulators: never, always,
# or unless trends wait for just this event
NOT_LAZY, ALWAYS_LAZY, LAZY_UNLESS_WAITED_FOR = range(3)
L_OPS_P, L_OPS, L_GOPS_P, L_GOPS, L_Z_P, L_Z, L_DIRECT, L_LAZY = range(8)
# Of its ops that are run directly those that are of no whole bundle; and the bundles of which all
# units have an op: which, where their ops begin in the list after it, and that list, in the order
# of its units
L_REST_P, L_REST, L_FULL_P, L_FULL, L_FULL_AT, L_FULL_OPS = range(8, 14)
# Guard ops that are run directly, and ops and guard ops that are not
L_BARS_P, L_BARS, L_LONG_P, L_LONG, L_LONG_GOPS_P, L_LONG_GOPS = range(14, 20)
# Units in which its events begin trends at a lazy op
L_WAKES_P, L_WAKES = range(20, 22)
# Counters
L_COUNTERS_P, L_COUNTERS = range(22, 24)
# Ladders
L_LADDERS_P, L_LADDERS = range(24, 26)
# Where accumulators are few (IS_FEW) those of each letter as bits
L_BITS = 26

# The first numbers of S: counts, and sizes that the machine needs to find its way in arrays
(
    C_ACTIVE,
    C_STEPS,
    C_SNAPSHOTS,
    C_BURSTS,
    C_EVENTS,
    C_ATOMS,
    C_STACK,
    C_LOG,
    C_GLOG,
    C_LOGS,
    C_GUARD_LOGS,
    C_MOST,
    C_MOST_X,
    C_WINDOWS,
    C_ROOM,
    C_SCRATCH,
    C_SCRATCH_X,
    C_PENDING,
    C_KEPT,
    C_WANTED,
    C_SHARED,
    C_SPLIT,
    C_MERGED,
    C_PART,
    C_TRACE,
    C_TRACE_ROOM,
    C_ASLEEP,
    C_LAZY,
    C_ADDED,
    C_LOG_LEFT,
    C_WAITING,
    C_PASSED,
    # Which windows are asked for: see machine/redoing.py
    C_LIMITED,
    C_AFTER,
    C_FROM,
    C_TO,
    C_LONGEST,
    C_FIRM,
    # Whether partitions whose numbers do not fit are given up in whole
    C_WHOLE,
    COUNTS,
) = range(40)

# What the walk may be short of room for; 0: nothing. ROOM_STATE is for the state of a partition
# that is kept for the next batch. See machine/capacity.py.
(
    ROOM_OUT,
    ROOM_SCRATCH,
    ROOM_SCRATCH_X,
    ROOM_PENDING,
    ROOM_KEPT,
    ROOM_LOGS,
    ROOM_GUARD_LOGS,
    ROOM_TRACE,
    ROOM_STACKS,
    ROOM_STATE,
    ROOM_REDO,
) = range(1, 12)
