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
from hamlet.kernel.encode.sorting import all_read_only
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
    kind = values.type
    if values.null_count or not len(values):
        return None
    if types.is_signed_integer(kind):
        return order_of_integers(values.to_numpy().astype(np.int64, copy=False))
    if types.is_string(kind) or types.is_large_string(kind):
        return order_of_texts(*text_pieces(values))
    return None


def order_of_integers(values: Longs) -> NDArray[np.int32] | None:
    """The order of some integers; None where two are equal."""
    order = np.argsort(values)
    ordered = values[order]
    return None if bool((ordered[1:] == ordered[:-1]).any()) else order.astype(np.int32)


def order_of_texts(begins: Longs, ends: Longs, data: NDArray[np.uint8]) -> NDArray[np.int32] | None:
    """The order of some texts, given by their bytes; None where two may be equal."""
    keys = np.empty(len(begins), np.uint64)
    _beginnings(*all_read_only(begins, ends, data), keys)
    return order_of_integers((keys ^ _SIGN).view(np.int64))


def text_pieces(
    words: pa.Array, codes: NDArray[np.int32] | None = None
) -> tuple[Longs, Longs, NDArray[np.uint8]]:
    """Where some texts begin and end, and their bytes; of all words where codes are left out."""
    offsets, data = text_bytes(words)
    if codes is None:
        return offsets[:-1], offsets[1:], data
    return offsets[codes], offsets[1:][codes], data


@interpretable
def _beginnings(begins, ends, data, keys):  # type: ignore[no-untyped-def]
    """Eight bytes of each text, after those that all have in common."""
    first = begins[0]
    common = ends[0] - first
    for text in range(1, len(keys)):
        length = min(common, ends[text] - begins[text])
        same = 0
        while same < length and data[begins[text] + same] == data[first + same]:
            same += 1
        common = same
    for text in range(len(keys)):
        begin, end = begins[text] + common, ends[text]
        key = np.uint64(0)
        for place in range(8):
            byte = data[begin + place] if begin + place < end else 0
            key = (key << np.uint64(8)) | np.uint64(byte)
        keys[text] = key
