"""Arrays with more room, for compiled functions.

Entries are moved one by one: an assignment of slices compiles checks of their shapes, too, which
takes a third of a second for each kind of array.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled
from hamlet.kernel.numbers import pointer


@compiled
def longer(array, used, size):
    """The used part of an array of integers or doubles in one with more room."""
    larger = np.empty(size, array.dtype)
    move(larger, 0, array, 0, used)
    return larger


@compiled
def longer_numbers(array, used, size):
    """The used part of an array of numbers in one with more room."""
    larger = numbers.room(array, size)
    move_numbers(larger, 0, array, 0, used)
    return larger


@compiled
def move(to, at, source, start, n):
    """Copy n integers or doubles."""
    for k in range(n):
        to[at + k] = source[start + k]


@compiled
def move_numbers(to, at, source, start, n):
    """Copy n numbers."""
    target, origin = pointer(to), pointer(source)
    for k in range(n):
        numbers.copy(target, at + k, origin, start + k)
