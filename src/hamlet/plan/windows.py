"""Window arithmetic: window i of WITHIN and SLIDE is [i * slide, i * slide + within).

For single times and for arrays of them; kernel/windowing.py has the same for compiled functions.
The definition that the engine is tested against (kernel/reference.py) has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Times, or numbers of windows
Times = TypeVar("Times", int, "NDArray[np.int64]")


def first_window(ts: Times, within: int, slide: int) -> Times:
    """The first window that has a time in it, or that is still open then.

    >>> first_window(12, within=10, slide=5), first_window(-1, within=10, slide=5)
    (1, -2)
    """
    return (ts - within) // slide + 1


def last_window(ts: Times, slide: int) -> Times:
    """The last window that has a time in it.

    >>> last_window(12, slide=5)
    2
    """
    return ts // slide


def last_ended(ts: Times, within: int, slide: int) -> Times:
    """The last window that has ended by a time.

    >>> last_ended(15, within=10, slide=5)
    1
    """
    return (ts - within) // slide


def end_of_window(window: Times, within: Times | int, slide: Times | int) -> Times:
    """When a window ends.

    >>> end_of_window(1, within=10, slide=5)
    15
    """
    return window * slide + within


def overlap(within: int, slide: int) -> int:
    """How many windows a time is in, at most.

    >>> overlap(within=10, slide=5), overlap(within=10, slide=4)
    (2, 3)
    """
    return -(-within // slide)
