"""What follows from a plan or a query alone is worked out once, however often that is run.

Plans and queries are immutable, and so large that to compare two of them takes as long as what is
remembered here. So the very same object is looked for, which is kept for as long as its result is.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    Function = TypeVar("Function", bound=Callable[..., Any])

_MOST = 4096


def remembered(function: Function) -> Function:
    """Have a function remember its results by the very first argument and the value of others.

    >>> @remembered
    ... def length(words, at_least=0):
    ...     print("counted")
    ...     return max(len(words), at_least)
    >>> words = ("a", "b")
    >>> length(words), length(words), length(words, 3)
    counted
    counted
    (2, 2, 3)

    Args:
        function: Its first argument must not change, and the others must be hashable. Threads may
            call it together: the worst that happens is that two work out the same.
    """
    kept: dict[tuple[int, Hashable], tuple[Any, Any]] = {}

    @wraps(function)
    def remembering(first: Any, *others: Hashable) -> Any:
        key = (id(first), others)
        known = kept.get(key)
        if known is not None and known[0] is first:
            return known[1]
        made = function(first, *others)
        if len(kept) >= _MOST:
            kept.clear()
        kept[key] = (first, made)
        return made

    return remembering  # type: ignore[return-value]
