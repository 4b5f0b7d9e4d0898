"""Loops with an edge predicate: one table of rows for all units that have the loop.

A unit is a pattern of a query. The units of a group have E+ in common, with the same condition
f(previous) op g(next) between neighbours; what comes before and after E+ is their own, and what
they ask of its events may differ, as may their windows (windows.py), and where they mostly agree
the condition, too (predicates.py). Every stored event of E has
one row, in which the numbers of all units and open windows stand side by side, so what an event
adds is a few operations on vectors, however many units there are. States that begin alike have the
same numbers, and are kept once (automata.py); a group whose units end alike rather than begin alike
is run from the last event to the first.

group.py        what a group is, as plain values
automata.py     states of all units that have the same numbers, made one
letters.py      what an event of each letter does, as operations on ranges of columns
layout.py       where things stand in the flat arrays of the kernel
cells.py        operations on ranges of numbers, for each kind of numbers
ranking.py      places of events in the order of a side of the predicate
scan.py, tree.py   the table: every stored event looked at, or sums over ranges in logarithmic time
direct.py       events that are alone at their time, where windows are small
snapshots.py    a basis that all units have in common: what has come into E+, and when
basis.py        rows over snapshots instead of own columns
plain.py        events that are as most are, over snapshots
extremes.py     least and greatest values, beside their coefficients
singles.py      events of the loop that are not the same to all units
predicates.py   units that ask different things of neighbours
evaluation.py   from snapshots to numbers of units and windows: settling, and splitting
survey.py       what a partition is like, and what both ways would cost
stretches.py    which of the two, and which table, for windows after each other
decision.py     which of the two, burst by burst
classes.py      which units share, which have a table together, and from when on
finding.py      the same of one partition, from how that begins, compiled
disputes.py     how often edge predicates disagree
blocks.py       where trees are turned
windows.py      windows that open and close
redoing.py      windows whose numbers do not fit, which are run again
walk.py         the walk through the events of a partition
partitions.py   partition after partition, stretch after stretch
kernel.py       all partitions of a batch, compiled
batch.py        the entry from Python
runs.py         in a stream: events of batches before, in sorted runs
kept.py         all partitions of a batch of a stream, each from what was kept of it
going_on.py     the entry from Python for streams
"""

from __future__ import annotations

from hamlet.kernel.rows.batch import RowRecords, all_windows, run_rows, tables_of
from hamlet.kernel.rows.group import RowEdge, RowGroup, RowPredicate, RowState, RowUnit
from hamlet.kernel.rows.letters import PlacedGroup

__all__ = [
    "PlacedGroup",
    "RowEdge",
    "RowGroup",
    "RowPredicate",
    "RowRecords",
    "RowState",
    "RowUnit",
    "all_windows",
    "run_rows",
    "tables_of",
]
