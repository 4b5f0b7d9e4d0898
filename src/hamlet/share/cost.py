"""What queries that behave alike cost, as one and apart: pure arithmetic, in nanoseconds.

Pure arithmetic (Section "Dynamic Sharing Optimizer" of the paper). The paper counts accesses: an
event looks at all n events before it, in a shared graphlet at each of s_p snapshots of each, and a
new snapshot has to be worked out for all k queries from g events of t types. So its costs are
quadratic in events, and whether to share depends on everything at once.

Our type-grained kernel is linear, and in nanoseconds. A burst of E+ is one linear map for every
query and window: taking b events into its accumulator costs b steps whatever k is, and a query is
brought up to date when it is touched, which costs no more than applying the burst to it at once.
So in this model queries that ask the same of its events share a burst, and what is left to choose
is whose snapshots are one; what queries of a set that do not share cost each other is not in it.
Queries that behave alike make a bundle: merged, a touch by an event that is for all k of them
costs one touch instead of k; but an event that is for some only splits the bundle, and each gets
its own state. With F events for all between two events for some:

    merged   F touch(w) + k copy(rows w)
    split    F k touch(w)

so merging pays from F > k copy(rows w) / ((k - 1) touch(w)) on. The paper's own model, which is
quadratic in events, is in hamlet/paper/cost.py.

Name here    in the paper
BundleSize.queries    k; a merged bundle has one snapshot, a split one k
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hamlet.share.coefficients import Coefficients, NumberKind

# The patience of a bundle that is never merged: longer than any run of events.
FOREVER = 1 << 40


@dataclass(frozen=True, slots=True)
class BundleSize:
    """Queries that behave alike: how many they are, and the size of each.

    Attributes:
        queries: k.
        windows: Windows of a query that are open at once, w.
        rows: Running totals of a query, one for each state.
        aggregates: Numbers in each window of a row.
        kind: The kind of numbers.
        words: Words of a number, where numbers have several.
    """

    queries: int
    windows: int
    rows: int = 2
    aggregates: int = 1
    kind: NumberKind = "double"
    words: int = 1

    def touch_ns(self, c: Coefficients) -> float:
        """What a touch of one query costs."""
        return c.touch_ns(self.windows * self.aggregates, self.words)

    def split_ns(self, c: Coefficients) -> float:
        """What it costs to give each query its own state."""
        cells = self.rows * self.windows * self.aggregates
        return self.queries * c.copy_ns(cells, self.words)


def merged_ns(c: Coefficients, size: BundleSize, run: float) -> float:
    """What a run of events for all costs a bundle that is merged, and split at its end."""
    return run * size.touch_ns(c) + size.split_ns(c)


def apart_ns(c: Coefficients, size: BundleSize, run: float) -> float:
    """What a run of events for all costs a bundle that is split, and stays so."""
    return run * size.queries * size.touch_ns(c)


def patience(c: Coefficients, size: BundleSize) -> int:
    """The least number of events for all, between two events for some, for which merging pays.

    >>> from hamlet.share.coefficients import DEFAULTS
    >>> patience(DEFAULTS.double, BundleSize(queries=2, windows=12))
    4
    >>> patience(DEFAULTS.double, BundleSize(queries=50, windows=12))
    2
    """
    saved = (size.queries - 1) * size.touch_ns(c)
    return floor(min(size.split_ns(c) / saved, FOREVER - 1)) + 1
