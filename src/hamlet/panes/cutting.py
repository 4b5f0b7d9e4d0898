"""How long panes are."""

from __future__ import annotations

# A divisor of the common length is looked for up to so many times the number that is wanted.
_FINER = 8


def pane_length(common_us: int, wanted_us: float) -> int:
    """A length that divides the common length of all windows and slides.

    It is the common length where that is short enough, else the first of its divisors that is;
    where there is none near, as with lengths that nobody would choose, the next longer one.

    Args:
        common_us: The greatest length that divides every WITHIN and SLIDE.
        wanted_us: How long panes should be at most.

    >>> pane_length(3_600_000_000, 60e6), pane_length(10, 7), pane_length(1_000_003, 10_000.0)
    (60000000, 5, 1000003)
    """
    parts = max(-int(-common_us // max(wanted_us, 1.0)), 1)
    finer = (n for n in range(parts, min(_FINER * parts, common_us) + 1) if common_us % n == 0)
    coarser = (n for n in range(min(parts, common_us), 0, -1) if common_us % n == 0)
    return common_us // next(finer, next(coarser))
