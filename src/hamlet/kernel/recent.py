"""What was worked out before, by what it was worked out from: the few that were asked for last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Made = TypeVar("Made")


class Recent(Generic[Made]):
    """A bounded number of values by key.

    Threads may use one together: each step is a single operation of a dict, so that the worst that
    happens is that two make the same value, of which one is kept.

    >>> recent = Recent(2)
    >>> [recent.get_or_make(key, lambda: made) for key, made in (("a", 1), ("b", 2), ("a", 3))]
    [1, 2, 1]
    >>> recent.get_or_make("c", lambda: 4), recent.get_or_make("b", lambda: 5)
    (4, 5)
    """

    def __init__(self, most: int) -> None:
        """Begin with nothing, and keep at most so many."""
        self.most = most
        self._kept: dict[Hashable, Made] = {}

    def get_or_make(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The value of a key, made where there is none; it is now the last that was asked for."""
        kept = self._kept
        try:
            found = kept.pop(key)
        except KeyError:
            found = make()
        kept[key] = found
        while len(kept) > self.most:
            kept.pop(next(iter(kept), None), None)
        return found
