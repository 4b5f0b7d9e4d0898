"""The order of distinct values, and whether texts are distinct, without a look at most bytes.

Texts that name things mostly differ within eight bytes of where the first two of them differ. As
integers these sort in a few passes; where two are equal so far, nothing is said, and who asks has
Arrow compare all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyarrow import types

from hamlet.events.columns import text_bytes
from hamlet.kernel.encode.sorting import read_only
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

# What a byte counts as that a text is too short to have: no other byte counts less.
_SIGN = np.uint64(1 << 63)


def order_of_distinct(values: pa.Array) -> NDArray[np.int32] | None:
    """The order of some texts or integers; None where that was not found, or two may be equal.

    >>> import pyarrow as pa
    >>> order_of_distinct(pa.array(["id-7", "id-12", "id-3"])).tolist()
    [1, 2, 0]
    >>> order_of_distinct(pa.array([5, 5, 3])) is None
    True
    """
    keys = _keys(values)
    if keys is None:
        return None
    order = np.argsort(keys)
    ordered = keys[order]
    return None if bool((ordered[1:] == ordered[:-1]).any()) else order.astype(np.int32)


def _keys(values: pa.Array) -> Longs | None:
    """An integer for each value that stands in the order of these, but may be equal."""
    kind = values.type
    if values.null_count or not len(values):
        return None
    if types.is_signed_integer(kind):
        return values.to_numpy().astype(np.int64, copy=False)  # type: ignore[no-any-return]
    if types.is_string(kind) or types.is_large_string(kind):
        offsets, data = text_bytes(values)
        keys = np.empty(len(values), np.uint64)
        _beginnings(read_only(offsets), read_only(data), keys)
        return (keys ^ _SIGN).view(np.int64)
    return None


@interpretable
def _beginnings(offsets, data, keys):  # type: ignore[no-untyped-def]
    """Eight bytes of each text, after those that all have in common."""
    first = offsets[0]
    common = offsets[1] - first
    for text in range(1, len(keys)):
        length = min(common, offsets[text + 1] - offsets[text])
        same = 0
        while same < length and data[offsets[text] + same] == data[first + same]:
            same += 1
        common = same
    for text in range(len(keys)):
        begin, end = offsets[text] + common, offsets[text + 1]
        key = np.uint64(0)
        for place in range(8):
            byte = data[begin + place] if begin + place < end else 0
            key = (key << np.uint64(8)) | np.uint64(byte)
        keys[text] = key
