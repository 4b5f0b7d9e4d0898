"""From program to code: what the compiled kernel walks through, as flat arrays of integers.

Name here    what it is
unit         a template that is not a guard: one pattern of one query
row          a running total of a unit: the numbers of trends that end at one state (or START, which
             has one empty trend in every window) and that no match of the row's guards has barred.
             Edges that agree in source and guards read the same row.
copy         of a row, for each state of a guard of several events: what the row will be when the
             partial match at that state is completed
op           what an event does at one state of a unit: read rows, add weights, add to rows
tree         events at a state in the order of one side of an edge predicate, with sums over
             ranges, for edges f(previous) op g(next)
log          events at a state kept one by one, for edges whose condition is looked at for each
lazy op      an op on a state with a free loop whose type does nothing else to the unit: a run of
             such events is one and the same linear map for all queries and windows, so it is kept
             as a few numbers for each partition and applied to a unit only when something else
             touches it. A unit may have several, none of which reads what another adds to. Where
             trends move, a run brings all that wait for it to its state.
             This is the shared graphlet of the paper: the run's numbers are the coefficients, the
             rows it is applied to are the snapshot, one value for each query and window.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel.recent import Recent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import Component
    from hamlet.kernel.compile.bundles import Bundle
    from hamlet.kernel.compile.fast_paths import LetterTables
    from hamlet.kernel.rows.letters import PlacedGroup

    Ints = NDArray[np.int64]

# Alphabets that tables are kept for: batches of one stream have one or a few.
_MOST_ALPHABETS = 8
# Instead of the number of a weight: no weight, or 1 for every event.
NO_WEIGHT, ONE = -1, -2
# Instead of the number of a row of extremes: nothing; ADDED less the number of a row whose values
# are added to what trends have already.
NO_EXTREME, ADDED = -1, -2
# What becomes of a stored event when another goes on with it: it stays; it is gone, but a trend may
# end at it; it is gone for good; it was there for the step after it only; it is gone for good, as
# all that compare like it, or all events of its log are.
STAYS, TAKEN, DROPPED, PASSES, POPPED, EMPTIED = range(6)
# Logs: events in the order of time; those of the last step alone; in the order of a comparison, of
# events that are gone for good when another goes on with them
PLAIN, LAST_STEP, ORDERED = range(3)
# Entries of a lazy op in `lazies`
LAZY = 5
# Stamps of a component where trends move: of its sum, and of the two sums of its ladder
STAMPS = 3


class Code(NamedTuple):
    """The arrays; `x_p` are row pointers into the arrays that follow them."""

    # Units
    u_template: Ints
    u_w: Ints  # most windows open at once
    u_slide: Ints
    u_within: Ints
    u_nc: Ints  # components
    u_nx: Ints  # extremes
    u_nrows: Ints
    u_vbase: Ints
    u_xbase: Ints
    u_rbase: Ints
    u_always: Ints  # may hold trends before any other op touches it
    u_steps: Ints  # 1 where events move trends instead of copying them: see plan/matching.py
    u_pass_p: Ints  # rows that hold trends for one step only
    u_pass: Ints
    x_sign: Ints  # by u_xsbase + extreme: 1 for MIN, -1 for MAX
    u_xsbase: Ints
    end_p: Ints
    end_row: Ints
    escan_p: Ints
    escan_log: Ints
    escan_cond: Ints
    r_start: Ints
    # Ops
    o_unit: Ints
    o_src_p: Ints
    o_src_row: Ints
    o_src_cond: Ints
    src_take_p: Ints  # by source: the rows that are emptied when an event goes on with them
    src_take: Ints
    o_dst_p: Ints
    o_dst_row: Ints
    o_scan_p: Ints
    o_scan_log: Ints
    o_scan_cond: Ints
    o_scan_step: Ints  # STAYS, TAKEN, DROPPED, PASSES, POPPED or EMPTIED
    o_first_p: Ints  # edges from START that have to be looked at for each window
    o_first_cond: Ints
    o_log: Ints
    o_group: Ints  # of those for the same events of a unit where each reads its own rows; -1: none
    o_missed_p: Ints  # rows for one step only that none of these reads
    o_missed: Ints
    o_tree_p: Ints  # trees that an op reads
    o_tree: Ints
    o_leaf_p: Ints  # trees that its events become leaves of
    o_leaf: Ints
    o_w_p: Ints
    o_w: Ints
    o_x_p: Ints
    o_x: Ints  # the row of each extreme, NO_EXTREME, or ADDED less the row
    o_zw: Ints  # aligned with o_w: the lazy sum of the weight
    o_zl: Ints  # and its ladder, where trends move and end
    o_zx: Ints  # aligned with o_x: the stack of lazy extremes
    # Lazy ops, sorted by unit, and accumulators
    u_lazy_p: Ints
    lazies: Ints  # LAZY entries for each: see layout.py
    z_atom: Ints
    zs_p: Ints
    zs_weight: Ints
    zl_p: Ints  # ladders: see numbers/sums.py
    zl_weight: Ints
    zx_p: Ints
    zx_attribute: Ints
    # Guards
    g_unit: Ints
    g_n: Ints
    g_sbase: Ints
    g_reset_p: Ints
    g_reset_row: Ints
    g_starts: Ints  # whether a row of START is among those
    g_tree_p: Ints
    g_tree: Ints
    g_main_p: Ints
    g_main_row: Ints
    g_copy_p: Ints
    g_copy_row: Ints
    gs_end: Ints
    gs_log: Ints
    gs_in_p: Ints
    gs_in_source: Ints
    gs_in_cond: Ints
    gs_in_scan: Ints
    gop_guard: Ints
    gop_state: Ints
    u_g_p: Ints  # guards are sorted by unit
    # Logs
    log_unit: Ints
    u_log_p: Ints
    u_log: Ints
    u_glog_p: Ints  # guard logs are sorted by unit
    log_kind: Ints  # PLAIN, LAST_STEP or ORDERED
    log_predicate: Ints  # of those that are ordered the comparison
    log_flip: Ints  # and the bit that turns its order round, or 0
    # Trees; a class is an atom, a predicate and a window length: its order of events is common
    t_unit: Ints
    t_class: Ints
    t_op: Ints
    u_tree_p: Ints  # trees are sorted by unit
    # Conditions
    need_p: Ints
    need_alt_p: Ints
    forbid_p: Ints
    alt_guard_p: Ints
    alt_guard: Ints
    alt_pred_p: Ints
    alt_pred: Ints
    forbid_alt: Ints
    need_alt: Ints
    holds_p: Ints
    holds: Ints
    fails_p: Ints
    fails: Ints
    # Predicates
    p_kind: Ints
    p_code_p: Ints
    p_code: Ints
    p_arg: NDArray[np.float64]
    # Short cuts: see fast_paths.py
    u_quick: Ints
    o_quick: Ints

    @property
    def stamps(self) -> int:
        """How many sums are kept of lazy ops, as they were when the op was up to date."""
        of_unit = self.u_nc * np.where(self.u_steps == 1, STAMPS, 1)
        return int(np.repeat(of_unit, np.diff(self.u_lazy_p)).sum())

    @property
    def waits_for_next(self) -> bool:
        """Whether any trends wait for one step only, in rows or in stored events."""
        return len(self.u_pass) > 0 or bool((self.o_scan_step == PASSES).any())

    def burst_atoms(self, unit: int) -> list[int]:
        """The atoms of the lazy ops of a unit."""
        first, end = self.u_lazy_p[unit : unit + 2]
        accumulators = self.lazies.reshape(-1, LAZY)[first:end, 0]
        return [int(atom) for atom in self.z_atom[accumulators]]


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code, with what is needed to prepare batches for it."""

    code: Code
    values: int  # numbers in all rows
    extremes: int
    atom_ops: list[list[int]]
    atom_gops: list[list[int]]
    lazy_of_atom: list[int]
    classes: list[tuple[int, int, int]]  # atom, predicate, length of the window
    components: list[tuple[Component, ...]]  # by query of the set
    weight_type: type  # of a batch's weights
    row_groups: tuple[PlacedGroup, ...] = ()  # units that are no part of the code
    bundles: tuple[Bundle, ...] = ()  # units that may be one
    patience: tuple[int, ...] = ()  # of each bundle: see machine/bundles.py
    sharing: tuple[str, ...] = ()  # the policy for each group of rows
    # And the units of each table of a group, where these do not follow from its events
    tables: tuple[tuple[tuple[int, ...], ...], ...] = ()
    repeats: Ints | None = None  # by template: the component to emit at each place, -1 for none
    # What letters do, for the alphabets of events that were met: see fast_paths.py. What is made of
    # this with `replace` begins without.
    letter_tables: Recent[LetterTables] = field(
        default_factory=lambda: Recent(_MOST_ALPHABETS), init=False, compare=False, repr=False
    )
    # How much memory it takes, likewise: see run.py.
    sizes: Recent[Any] = field(
        default_factory=lambda: Recent(1), init=False, compare=False, repr=False
    )
    # Code and state as they are before the first event, likewise: see image.py.
    images: Recent[tuple[LetterTables, Ints, Ints]] = field(
        default_factory=lambda: Recent(_MOST_ALPHABETS), init=False, compare=False, repr=False
    )
