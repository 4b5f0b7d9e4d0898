"""Window arithmetic: window i of WITHIN and SLIDE is [i * slide, i * slide + within).

For single times and for arrays of them; kernel/windowing.py has the same for compiled functions.
The definition that the engine is tested against (kernel/reference.py) has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

# Times, or numbers of windows
Times = TypeVar("Times", int, "NDArray[np.int64]")

# A table of rows has windows of different lengths and slides, where no more than these are open.
_MOST_OPEN = 64


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


def in_one_table(windows: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """For each WITHIN and SLIDE the number of a table that may have it together with others.

    A table opens a window at every multiple of its least slide, and keeps it for its greatest
    length. So slides are multiples of the least one, and lengths differ by such, so that windows
    end together too; and not too many are open.

    >>> in_one_table([(60, 60), (10, 10), (30, 10), (7, 7), (9000, 10)])
    {(7, 7): 0, (10, 10): 1, (30, 10): 1, (9000, 10): 2, (60, 60): 1}
    """
    table_of: dict[tuple[int, int], int] = {}
    tables: list[tuple[int, int]] = []
    for within, slide in sorted(set(windows), key=lambda lengths: (lengths[1], lengths[0])):
        for number, (longest, least) in enumerate(tables):
            longer, is_even = max(longest, within), (longest - within) % least == 0
            if slide % least == 0 and is_even and overlap(longer, least) <= _MOST_OPEN:
                table_of[within, slide], tables[number] = number, (longer, least)
                break
        else:
            table_of[within, slide] = len(tables)
            tables.append((within, slide))
    return table_of
