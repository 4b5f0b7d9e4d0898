"""How large and how small doubles are, in one pass without a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.encode.sorting import read_only
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIZE = np.int64(0x7FFFFFFFFFFFFFFF)  # all bits but the sign


def sizes_of(values: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the greatest size of numbers that are not 0; infinite and 0 where all are.

    >>> sizes_of(np.array([-3.0, 0.0, 0.5]))
    (0.5, 3.0)
    """
    least, greatest = _sizes(read_only(values).view(np.int64))
    sizes = np.array([least + 1, greatest], np.int64).view(np.float64)
    return float(sizes[0]), float(sizes[1])


@interpretable
def _sizes(bits):  # type: ignore[no-untyped-def]
    """The same by the bits of numbers, which stand in the order of their sizes.

    Of the least it is 1 less: so what is 0 is the largest there is, and need not be told apart.
    """
    least, greatest = np.int64(0x7FEFFFFFFFFFFFFF), np.int64(0)
    for number in bits:
        size = number & _SIZE
        greatest, least = max(greatest, size), min(least, (size - 1) & _SIZE)
    return least, greatest
