"""A hash of values that is the same in every process, on every machine, for ever.

Python's own hash of text differs from process to process, and Arrow's is no promise. Numbers, truth
values and times are hashed as 64-bit integers, doubles by their bits (0 and -0 are one), decimals
by their words, text by its UTF-8 bytes. Work is done on whole columns; of text on distinct words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from hamlet.events.columns import is_text, numpy_of
from hamlet.kernel.kept_code import kept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hashes_of(columns: Iterable[pa.ChunkedArray | pa.Array], count: int) -> Hashes:
    """A hash for each row of some columns; anything where a value is null.

    >>> rows = [pa.array([1, 2, 1]), pa.array(["a", "é", "a"])]
    >>> first, second, third = hashes_of(rows, 3).tolist()
    >>> first == third, first == second
    (True, False)

    Args:
        columns: The columns; which is which matters.
        count: The number of rows.
    """
    hashes = np.zeros(count, np.uint64)
    for column in columns:
        for words in _words(column):
            hashes = _mixed(hashes * _GOLDEN + words)
    return hashes


def _mixed(values: Hashes) -> Hashes:
    """Integers whose every bit depends on every bit of others (the finish of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _words(column: pa.ChunkedArray | pa.Array) -> list[Hashes]:
    """Arrays of 64-bit words that are equal where values are."""
    whole = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kind = whole.type
    if types.is_dictionary(kind):
        whole = whole.cast(kind.value_type)
        kind = whole.type
    if types.is_null(kind):
        return [np.zeros(len(whole), np.uint64)]
    if is_text(kind):
        return [_of_text(whole)]
    if types.is_decimal(kind):
        return _of_decimals(whole)
    if types.is_floating(kind):
        doubles = numpy_of(whole.cast(pa.float64()).fill_null(0.0))
        return [(doubles + 0.0).view(np.uint64)]
    if types.is_boolean(kind):
        whole = whole.cast(pa.int8())
    elif types.is_timestamp(kind) or types.is_date64(kind):
        whole = whole.cast(pa.int64())
    elif types.is_date32(kind):
        whole = whole.cast(pa.int32())
    values = numpy_of(whole.fill_null(0) if whole.null_count else whole)
    return [values if values.dtype == np.uint64 else values.astype(np.int64).view(np.uint64)]


def _of_text(column: pa.ChunkedArray) -> Hashes:
    encoded = column.cast(pa.large_string()).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks)
    encoded = encoded.dictionary_encode()
    words = encoded.dictionary
    if not len(words):
        return np.zeros(len(column), np.uint64)
    _, offsets, data = words.buffers()
    ends = np.frombuffer(offsets, np.int64)[words.offset : words.offset + len(words) + 1]
    letters = np.frombuffer(data or b"", np.uint8)
    hashes = np.empty(len(words), np.uint64)
    _hash_bytes(ends, letters, hashes)
    indices: NDArray[np.int32] = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return hashes[indices]


@kept
def _hash_bytes(ends, letters, found):  # type: ignore[no-untyped-def]
    """The 64-bit FNV-1a hash of each stretch of bytes."""
    for word in range(len(found)):
        value = np.uint64(0xCBF29CE484222325)
        for i in range(ends[word], ends[word + 1]):
            value = (value ^ np.uint64(letters[i])) * np.uint64(0x100000001B3)
        found[word] = value


def _of_decimals(column: pa.ChunkedArray) -> list[Hashes]:
    """The words of decimals, of which all in a column have one scale."""
    kind = column.type
    wide = pa.decimal256(76, kind.scale) if kind.bit_width > 128 else pa.decimal128(38, kind.scale)
    array: Any = column.cast(wide).combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], wide)
    count = wide.bit_width // 64
    data = array.buffers()[1]
    words = np.frombuffer(data or b"", np.uint64)[count * array.offset :][: count * len(array)]
    return list(words.reshape(len(array), count).T)
