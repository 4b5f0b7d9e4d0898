"""Where things stand in the flat integer arrays of the row kernel.

The code of a group is one array P: scalars, then for each of its arrays where it begins in P, then
the arrays. So `P[P[OP_FIRST] + op]` is entry `op` of the array OP_FIRST. What changes while a
partition is run and is an integer is one array S.

A row has, for each window that may be open, each component and each column one number, in this
order; windows stand in it by their number modulo the most that are open at once. What a node reads
and adds to are ranges of columns of rows, given by where they begin in window 0 and component 0.
"""

from __future__ import annotations

SCALARS = (
    "COLUMNS",
    "COMPONENTS",
    "EXTREMES",
    "ROW_EXTREMES",  # different ones that the E+ ask for: see extremes.py
    "OVERLAP",
    "WITHIN",
    "SLIDE",
    "OPERATOR",  # one of BELOW, UP_TO, EQUAL, UNEQUAL
    "ROWS",
    "UNITS",
    "WINDOWS",  # different lengths and slides of units
    "LAYERS",  # rows that an event needs at most for what it adds
    "STARTS",
    "N_EVENTS",
    "SAME_SIDES",  # whether f and g are the same of every event
    "KIND",  # of table: CHOSEN, SCANNED or TREE
    "SHARING",  # a policy, see below
    "LOOP_LETTER",  # what stands for events that every E+ admits
    "FEEDS",  # of one event into E+ at most, and the columns of all of them
    "FED_COLUMNS",
    "STARTS_LOOP",  # whether trends begin with E
    "SEED",  # of the coin
    "PREDICATES",  # different edge predicates of units: see predicates.py
    "DISPUTED",  # of a thousand events of the loop of the partition at hand: on which they disagree
    "SAME_KEYS",  # whether they compare the same f of every event in the same way
    "WORDS",  # of a number
)
ARRAYS = (
    "START_AT",  # ranges that a new window has one empty trend in, and how often they do
    "START_TIMES",
    "START_STEP",  # and in which windows: one in so many of the table's, from one on
    "START_FROM",
    "WINDOW_WITHIN",  # by length and slide: how long, and which of the table's in the same way
    "WINDOW_STEP",
    "WINDOW_FROM",
    "WINDOW_OF",  # by unit: which of them
    "END_P",  # by unit: rows that its trends end with
    "END_AT",
    "END_AT_X",
    "SIGN",  # by unit, then extreme
    "KNOWN",  # by letter: what it does
    "IS_LOOP",  # whether its events are of the loop
    "IS_CLEAR",  # whether its events bar all stored ones
    "ENTERS",  # in how many ranges of columns its events come into E+
    "OPS_P",
    "SKIPS_P",  # by letter of the loop: ranges of columns that do not admit its events
    "SKIP_FIRST",
    "SKIP_N",
    "RESETS_P",
    "RESET_AT",
    "RESET_AT_X",
    "RESET_N",
    "OP_FIRST",  # by op: columns, layer, whether of the loop
    "OP_N",
    "OP_LAYER",
    "OP_IS_LOOP",
    "OP_SOURCES_P",
    "OP_TARGETS_P",
    "OP_WEIGHT",  # by op, then component after the first
    "OP_EXTREME",  # by op, then extreme: 2 * attribute + (1 for MAX), -1 for none
    "SOURCE_AT",
    "SOURCE_AT_X",
    "TARGET_AT",
    "TARGET_AT_X",
    "PREDICATE_OF",  # by column: which edge predicate its E+ has
    "COMPARES",  # by edge predicate: as OPERATOR
    "ROW_EXTREME",  # by extreme that any E+ asks for: as OP_EXTREME
    "EXTREME_OF",  # by extreme of units, then column: which of these its E+ asks for, -1 for none
)
HEADER = len(SCALARS) + len(ARRAYS)
(
    COLUMNS,
    COMPONENTS,
    EXTREMES,
    ROW_EXTREMES,
    OVERLAP,
    WITHIN,
    SLIDE,
    OPERATOR,
    ROWS,
    UNITS,
    WINDOWS,
    LAYERS,
    STARTS,
    N_EVENTS,
    SAME_SIDES,
    KIND,
    SHARING,
    LOOP_LETTER,
    FEEDS,
    FED_COLUMNS,
    STARTS_LOOP,
    SEED,
    PREDICATES,
    DISPUTED,
    SAME_KEYS,
    WORDS,
    START_AT,
    START_TIMES,
    START_STEP,
    START_FROM,
    WINDOW_WITHIN,
    WINDOW_STEP,
    WINDOW_FROM,
    WINDOW_OF,
    END_P,
    END_AT,
    END_AT_X,
    SIGN,
    KNOWN,
    IS_LOOP,
    IS_CLEAR,
    ENTERS,
    OPS_P,
    SKIPS_P,
    SKIP_FIRST,
    SKIP_N,
    RESETS_P,
    RESET_AT,
    RESET_AT_X,
    RESET_N,
    OP_FIRST,
    OP_N,
    OP_LAYER,
    OP_IS_LOOP,
    OP_SOURCES_P,
    OP_TARGETS_P,
    OP_WEIGHT,
    OP_EXTREME,
    SOURCE_AT,
    SOURCE_AT_X,
    TARGET_AT,
    TARGET_AT_X,
    PREDICATE_OF,
    COMPARES,
    ROW_EXTREME,
    EXTREME_OF,
) = range(HEADER)

# How the key of an event and the bound of a later one have to compare; the other two operators
# become these where both sides change their sign.
BELOW, UP_TO, EQUAL, UNEQUAL = range(4)

# What events of a letter do, as bits: READS what E+ has given, LOOPS: are of the loop, DIRECTS:
# do operations that can be done one after the other (direct.py), PARTS: are of the loop, and not
# every E+ admits them (singles.py), DISPUTES: are of the loop, and edge predicates may disagree
# about what precedes them (predicates.py), COMES_IN: come into E+, PLAIN: are of the loop, the same
# to all E+, and nothing else (plain.py)
ADDS, EMPTIES, READS, LOOPS, DIRECTS, PARTS, DISPUTES, COMES_IN, PLAIN = (
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    128,
    256,
)

# Kinds of tables: by what is cheaper for a partition, or always the same
CHOSEN, SCANNED, TREE = range(3)

# Policies of sharing: BY_SURVEY decides once for a partition, BY_BENEFIT burst by burst
OWN, ALWAYS, BY_SURVEY, BY_BENEFIT, BY_COIN = range(5)

# State in integers
(
    S_LO,  # the first and the last window that are open
    S_HI,
    S_DUE,  # when one closes or opens
    S_OPEN,  # how many are open, and where the first of them stands in rows
    S_PLACE,
    S_IS_TREE,
    S_STORED,  # events in the scanned table, and what there is room for
    S_ROOM,
    S_BLOCK,  # of a tree: its block and when it ends
    S_BLOCK_END,
    S_HALF,  # which half is the one at hand, and how many leaves both have
    S_LEAVES,
    S_LEAVES_BEFORE,
    S_NEXT,  # how many events of the loop of the block have been taken in
    S_MOST,  # most leaves of a block
    S_OUT,  # records, and what there is room for
    S_OUT_ROOM,
    S_SCRATCH,  # rows that there is room for, and that are wanted
    S_WANTED,
    S_END,  # of the partition
    S_FIRST,  # the first and the last window that are asked for
    S_LAST,
    # Windows up to S_OWN_HI have own columns, later ones are over snapshots
    S_OWN_HI,
    S_OWN_OPEN,  # how many of the former are open
    S_MODE,  # whether windows that open are over snapshots
    S_DIRTY,  # whether something has come into E+ since its last event
    S_READABLE,  # whether there was one that nothing has read
    S_FORCED,  # whether coefficients have grown so large that own columns must take over
    # Snapshots are numbered from the first of the partition on
    S_OLDEST,  # the first that matters, how many there have been, the first that there is room for
    S_BIRTHS,
    S_FIRST_COLUMN,
    S_HAND,  # the one at hand: the last that is of no single event
    S_COLUMN_ROOM,
    S_BASE,  # the first that nodes of a tree have numbers of, and of the block before
    S_BASE_BEFORE,
    S_STRIDE,  # how many there is room for in a node, and of the block before
    S_STRIDE_BEFORE,
    S_BLOCK_BIRTHS,  # how many there had been when the block began
    S_UNSETTLED,  # whether something ended at E+ that has not been added to rows
    S_FIRST_ENTRY,  # the first entry that matters, those with a snapshot, and all; their numbers
    S_DATED,
    S_ENTRIES,
    S_AMOUNTS,
    S_LOG_ROOM,
    S_AMOUNTS_ROOM,
    S_COIN,
    S_DECIDED,  # decisions that were written down, and what there is room for
    S_DECIDED_ROOM,
    S_PANE,  # what the survey has of the pane at hand: see decision.py
    S_PANE_BACK,
    S_PANE_AHEAD,
    S_PANE_BEYOND,
    S_TAIL,  # when the next stretch begins: see stretches.py
    S_PLANNED,  # whether its windows are over snapshots, unless a burst has split
    C_SNAPSHOTS,  # counts of the whole run
    C_BURSTS,
    C_SHARED,
    C_SPLIT,
    S_RUNS,  # runs of events of batches before: see runs.py
    S_POLICY,  # of sharing in the partition: that of the code, or OWN
    S_FEW,  # up to how many events of a window there is nothing to decide: see survey.py
    S_FIRM,  # records, and the open windows, before the roll at hand: see redoing.py
    S_FIRM_LO,
    S_FIRM_HI,
    STATES,
) = range(65)
NO_BLOCK = -(1 << 62)
# Later than any time, and after any window
FAR = 1 << 62

# Of a decision that is written down, one row for each burst: see decision.py
(
    T_PART,
    T_TIME,
    T_EVENTS,  # b: events of the loop in the burst
    T_LIVE,  # n: and in a window
    T_CREATED,  # s_c: snapshots that it takes
    T_SNAPSHOTS,  # s_p: that are alive
    T_COLUMNS,  # k: different E+ of the group
    T_WINDOWS,  # w: that are open
    T_SHARED_NS,  # costs until the open windows have closed
    T_OWN_NS,
    T_DECISION,
    T_CLASS,  # the number of the class of units that it is about
    DECIDED,
) = range(13)
# What was decided of a burst; MERGE: it is the first in windows over snapshots
KEEP_OWN, KEEP_SHARED, SPLIT, MERGE = range(4)

# What the survey notes of each pane that has events, of all panes before it (survey.py): the number
# of its window; events of the loop, bursts, reads of what E+ has given, entries, events of the loop
# that are not the same to all E+; where its first event is; and whether something has come into E+
# before it that no event of the loop has found yet
PANE, N_EVENTS_OF, N_BURSTS, N_READS, N_ENTRIES, N_PARTS, FIRST_EVENT, CAME_IN, SURVEYED = range(9)
