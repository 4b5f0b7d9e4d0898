"""How numbers are computed: exactly, or as doubles with exponents of any length.

A user says which by a word, `numbers="exact"` or `numbers="float"`. What follows from it, wherever
that is asked, stands here: the types of arrays, and whether numbers come with exponents.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, get_args

import numpy as np

# As users write it
Numbers = Literal["exact", "float"]
NUMBERS: tuple[Numbers, ...] = get_args(Numbers)


class NumberMode(Enum):
    """How the numbers of a run are computed.

    >>> NumberMode("float").dtype
    <class 'numpy.float64'>
    """

    EXACT = "exact"
    FLOAT = "float"

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """The type of weights, and of numbers that one word holds."""
        return np.float64 if self is NumberMode.FLOAT else np.int64

    @property
    def has_exponents(self) -> bool:
        """Whether kernels give each number as a mantissa and an exponent."""
        return self is NumberMode.FLOAT

    @staticmethod
    def of(array: np.ndarray[Any, Any]) -> NumberMode:
        """The mode that an array of weights or numbers is of."""
        return NumberMode.FLOAT if array.dtype == np.float64 else NumberMode.EXACT

    def array(self, n: int, words: int) -> np.ndarray[Any, Any]:
        """An array for n numbers with so many words for each.

        >>> NumberMode.EXACT.array(3, 1).dtype, NumberMode.EXACT.array(3, 2).shape
        (dtype('int64'), (3, 2))
        """
        if words == 1:
            return np.empty(n, self.dtype)
        return np.empty((n, words), np.float64 if self is NumberMode.FLOAT else np.uint64)
