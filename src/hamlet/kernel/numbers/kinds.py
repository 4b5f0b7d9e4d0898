"""Kinds of numbers: which one an array has, arrays of a kind, and addresses of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, float64, types
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from hamlet.kernel.jit import INLINED

# Integers of one word stay below this, so that a sum of two never wraps around.
SAFE = 1 << 62
BASE = 2.0**512
INVERSE = 2.0**-512
HIGH = 2.0**256
LOW = 2.0**-256
LARGEST = 2.0**900


def is_one(v: Any) -> bool:
    """Whether a type is that of one address, and not of an address with a number of words."""
    return isinstance(v, types.CPointer | types.Array)


def kind_of(v: Any) -> str:
    """The kind of numbers that a type of pointers is for: plain, float, int or limbs."""
    if is_one(v):
        return "plain" if v.dtype == float64 else "int"
    return "float" if v[0].dtype == float64 else "limbs"


@intrinsic
def raw_pointer(context: Any, array: Any) -> Any:
    """The address of the first element of an array; the array must outlive it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arrayobj.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), code


if config.BOUNDSCHECK:  # type: ignore[attr-defined]
    # Whoever has Numba check bounds gets arrays for addresses, which have some. That is slow.
    def raw_pointer(array: Any) -> Any:  # type: ignore[misc]
        """The elements of an array, one after the other."""
        raise NotImplementedError

    @overload(raw_pointer)
    def _elements(array: Any) -> Any:
        def elements(array: Any) -> Any:
            return array.reshape(array.size)

        return elements


def pointer(array: Any) -> Any:
    """What compiled functions are handed for an array of numbers."""


@overload(pointer)
def _pointer(array: Any) -> Any:
    if array.ndim == 1:

        def single(array: Any) -> Any:
            return raw_pointer(array)

        return single

    def several(array: Any) -> Any:
        return raw_pointer(array), array.shape[1]

    return several


def room(v: Any, n: int) -> Any:
    """An array for n numbers of the same kind."""


@overload(room)
def _room(v: Any, n: int) -> Any:
    if v.ndim == 1:

        def single(v: Any, n: int) -> Any:
            return np.empty(n, v.dtype)

        return single

    def several(v: Any, n: int) -> Any:
        return np.empty((n, v.shape[1]), v.dtype)

    return several


def is_float(v: Any) -> bool:
    """Whether numbers are floating-point; known when a kernel is compiled."""
    raise NotImplementedError


@overload(is_float, jit_options=INLINED)
def _is_float(v: Any) -> Any:
    if kind_of(v) in ("plain", "float"):

        def yes(v: Any) -> bool:
            return True

        return yes

    def no(v: Any) -> bool:
        return False

    return no


def is_safe(v: Any, d: int) -> bool:
    """Whether v[d] can be trusted: false for doubles that have grown too large."""
    raise NotImplementedError


@overload(is_safe, jit_options=INLINED)
def _is_safe(v: Any, d: int) -> Any:
    if kind_of(v) == "plain":

        def plain(v: Any, d: int) -> bool:
            return bool(abs(v[d]) < LARGEST)

        return plain

    def checked(v: Any, d: int) -> bool:
        return True

    return checked


# For Python


def next_words(words: int) -> int:
    """How many words numbers get when they have outgrown theirs."""
    return 2 * words


def integers(words: np.ndarray[Any, Any]) -> list[int]:
    """Rows of an integer array as Python integers.

    >>> integers(np.array([[1, 1], [2**64 - 1, 2**64 - 1]], dtype=np.uint64))
    [18446744073709551617, -1]
    """
    flat = np.ascontiguousarray(words.astype("<u8", copy=False))
    size = flat.shape[1] * 8
    data = flat.tobytes()
    return [
        int.from_bytes(data[i : i + size], "little", signed=True) for i in range(0, len(data), size)
    ]
