"""How long panes are."""

from __future__ import annotations

# Panes may be so many times shorter than is wanted.
_FINER = 8
# Larger prime factors are not looked for: no length that people write has them.
_LARGEST_FACTOR = 100_000


def pane_length(common_us: int, wanted_us: float) -> int:
    """A length that divides the common length of all windows and slides.

    It is the longest that is short enough; where there is none near, as with lengths that nobody
    would choose, the shortest that is too long.

    Args:
        common_us: The greatest length that divides every WITHIN and SLIDE.
        wanted_us: How long panes should be at most.

    >>> pane_length(3_600_000_000, 61e6), pane_length(10, 7), pane_length(1_000_003, 10_000.0)
    (60000000, 5, 1000003)
    """
    lengths = _divisors(common_us)
    short = [length for length in lengths if wanted_us / _FINER <= length <= wanted_us]
    return max(short) if short else min((n for n in lengths if n > wanted_us), default=common_us)


def _divisors(number: int) -> list[int]:
    """The divisors of a number; all of them unless it has two very large prime factors.

    >>> sorted(_divisors(12)), _divisors(1)
    ([1, 2, 3, 4, 6, 12], [1])
    """
    divisors, rest, factor = [1], number, 2
    while rest > 1:
        if factor > _LARGEST_FACTOR or factor * factor > rest:
            factor = rest
        powers = [1]
        while rest % factor == 0:
            rest //= factor
            powers.append(powers[-1] * factor)
        divisors = [one * power for one in divisors for power in powers]
        factor += 1
    return divisors
