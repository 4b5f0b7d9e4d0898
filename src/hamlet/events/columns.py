"""A column as NumPy arrays: numbers, codes of text, truth values or microseconds, and what is null.

Everything after reading works on `Values`. Integers are exact: 64 bits, or Python integers where a
column has larger ones. Text is a code for each row and the distinct words, so that whatever has to
be known of a word is found out once. NaN is null: tables that have no nulls of their own use it so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hamlet.events.times import microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.schema import Kind

LARGEST = 2**63 - 1
# Integers up to here are doubles, one to one.
EXACT = 2**53
# Words from which on it is worth a look whether their last bytes differ
_MANY_WORDS = 256
# Words that Python tells apart before Arrow has begun to
_FEW_WORDS = 16
_EIGHT = 8


# What Arrow's types are to a query, by their numbers, and those that are left as they are
_NUMBERS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float32(), pa.float64()),
)
_DECIMALS = (pa.decimal32(1), pa.decimal64(1), pa.decimal128(1), pa.decimal256(1))
_TIMES = (pa.timestamp("us"), pa.date32(), pa.date64())
_TEXTS = (pa.string(), pa.large_string(), pa.string_view())
_KINDS: dict[int, Kind] = {
    **{each.id: "number" for each in (*_NUMBERS, pa.float16(), *_DECIMALS)},
    **{each.id: "time" for each in _TIMES},
    **{each.id: "text" for each in _TEXTS},
    pa.bool_().id: "boolean",
}
_DICTIONARY = pa.dictionary(pa.int32(), pa.string()).id
_WORDS = (pa.string().id, pa.large_string().id)
_PLAIN = frozenset(
    each.id for each in (*_NUMBERS, *_TIMES, pa.bool_(), pa.string(), pa.large_string())
)


@dataclass(frozen=True, slots=True)
class Values:
    """A column, or what an expression is worth on each row.

    kind: None where there are nothing but nulls.
    data: int64, float64 or Python integers for numbers, bool for truth values, microseconds, as
        integers, for times and durations, int32 indices of `words` for text; anything where null.
    valid: False where null; None where nothing is.
    words: The distinct words of text; some may be on no row.
    """

    kind: Kind | None
    data: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    words: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: NDArray[Any] | slice) -> Values:
        """The same for some of the rows, in the order given."""
        valid = None if self.valid is None else self.valid[rows]
        return Values(self.kind, self.data[rows], valid, self.words)

    @property
    def is_integer(self) -> bool:
        """Whether these are whole numbers, exact however large; times and durations are."""
        is_amount = self.kind in ("number", "time", "duration")
        return is_amount and self.data.dtype != np.float64


def nothing(length: int) -> Values:
    """A column of nulls."""
    return Values(None, np.zeros(length, np.int64), np.zeros(length, np.bool_))


def kind_of(column: pa.DataType) -> Kind | None:
    """What a column of an Arrow type is to a query; None for types that queries cannot use."""
    known = _KINDS.get(column.id)
    if known is None and types.is_dictionary(column):
        known = _KINDS.get(column.value_type.id)
    return known


def is_text(column: pa.DataType) -> bool:
    """Whether a column is of one of Arrow's three types of text."""
    return bool(
        types.is_string(column) or types.is_large_string(column) or types.is_string_view(column)
    )


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as one of the few types that everything after reading knows, its values the same.

    Arrow has several types for one kind of value, and its functions know some of them only. Text
    stays in a dictionary, but for one that says that a code of its own is null.
    """
    if column.type.id in _PLAIN:
        return column
    if not _is_of_words(column.type) and types.is_run_end_encoded(column.type):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.value_type)
    kind = column.type if _is_of_words(column.type) else plain_type(column.type)
    if types.is_dictionary(column.type) and not types.is_dictionary(kind):
        column = column.cast(column.type.value_type)
    column = column if column.type == kind else column.cast(kind)
    if types.is_dictionary(kind) and any(chunk.dictionary.null_count for chunk in column.chunks):
        return column.cast(kind.value_type)
    return column


def _is_of_words(column: pa.DataType) -> bool:
    """Whether a column is a dictionary of text that is left as it is."""
    return column.id == _DICTIONARY and column.value_type.id in _WORDS


def plain_type(column: pa.DataType) -> pa.DataType:
    """The type that `plain` gives a column."""
    if column.id in _PLAIN:
        return column
    if types.is_run_end_encoded(column):
        return plain_type(column.value_type)
    if types.is_dictionary(column):
        words = plain_type(column.value_type)
        if words == column.value_type and is_text(words):
            return column
        return pa.dictionary(pa.int32(), words) if is_text(words) else words
    if types.is_string_view(column):
        return pa.large_string()
    if types.is_float16(column):
        return pa.float32()
    if types.is_decimal32(column) or types.is_decimal64(column):
        return pa.decimal128(column.precision, column.scale)
    return column


def values_of(column: pa.ChunkedArray) -> Values:
    """A column of any type that `kind_of` knows, or of nulls."""
    if types.is_null(column.type):
        return nothing(len(column))
    kind = kind_of(column.type)
    if kind == "text":
        return _text(column)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == "time":
        ts, fault = microseconds(column)
        return Values(kind, ts, None if fault is None else fault == 0)
    if kind == "boolean":
        return Values(kind, _filled(column, False), _valid(column))
    return _numbers(column)


def numpy_of(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column without nulls as an array, without a copy where it is in one piece."""
    chunk = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(chunk, pa.ChunkedArray):
        chunk = pa.concat_arrays(chunk.chunks) if chunk.num_chunks else pa.array([], chunk.type)
    return chunk.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _valid(column: pa.ChunkedArray) -> NDArray[np.bool_] | None:
    return numpy_of(column.is_valid()) if column.null_count else None


def _filled(column: pa.ChunkedArray, value: bool | int | float) -> NDArray[Any]:
    return numpy_of(column.fill_null(value) if column.null_count else column)


# Numbers


def _numbers(column: pa.ChunkedArray) -> Values:
    valid = _valid(column)
    if types.is_decimal(column.type):
        return _decimals(column, valid)
    if types.is_uint64(column.type):
        data = _filled(column, 0)
        if len(data) and int(data.max()) > LARGEST:
            return Values("number", data.astype(object), valid)
        return Values("number", data.astype(np.int64), valid)
    if types.is_integer(column.type):
        return Values("number", _filled(column, 0).astype(np.int64, copy=False), valid)
    return fractions(_filled(column.cast(pa.float64()), 0.0), valid)


def fractions(data: NDArray[np.float64], valid: NDArray[np.bool_] | None) -> Values:
    """Doubles, in which NaN is null."""
    missing = np.isnan(data)
    if missing.any():
        data = np.where(missing, 0.0, data)
        valid = ~missing if valid is None else valid & ~missing
    return Values("number", data, valid)


def _decimals(column: pa.ChunkedArray, valid: NDArray[np.bool_] | None) -> Values:
    """Decimals without decimal places as integers, others as the nearest doubles (by their digits).

    So their type says what they are, and no value: a host that has only some of them agrees.
    """
    if column.type.scale <= 0:
        try:
            integers = column.cast(pa.decimal256(76, 0)).cast(pa.int64())
            return Values("number", _filled(integers, 0), valid)
        except pa.ArrowInvalid:
            return Values("number", _big_integers(column), valid)
    return fractions(_filled(column.cast(pa.string()).cast(pa.float64()), 0.0), valid)


def _big_integers(column: pa.ChunkedArray) -> NDArray[np.object_]:
    data = np.zeros(len(column), object)
    data[:] = [0 if value is None else int(value) for value in column.to_pylist()]
    return data


# Text


def _text(column: pa.ChunkedArray) -> Values:
    """Codes and words; the words of a dictionary may repeat, those of the result do not."""
    is_encoded = types.is_dictionary(column.type)
    column = column.unify_dictionaries() if is_encoded else column.dictionary_encode()
    if not column.num_chunks:
        return Values("text", np.zeros(0, np.int32), None, pa.array([], pa.large_string()))
    words = column.chunk(column.num_chunks - 1).dictionary  # later chunks know all earlier words
    indices = pa.chunked_array([chunk.indices for chunk in column.chunks])
    codes = _filled(indices, 0).astype(np.int32, copy=False)
    if not is_encoded and len(words):  # Arrow has just seen to it that none repeats
        return Values("text", codes, _valid(indices), words)
    return distinct_words(codes, _valid(indices), words)


def distinct_words(
    codes: NDArray[np.int32], valid: NDArray[np.bool_] | None, words: pa.Array
) -> Values:
    """Text by codes of words that may repeat, as text by codes of words that do not."""
    if not len(words):
        words = words.cast(pa.large_string())
    if len(words) <= _FEW_WORDS:
        differ = len(set(words.to_pylist())) == len(words) and not words.null_count
    else:
        differ = len(words) >= _MANY_WORDS and _differ_at_their_ends(words)
    if differ:
        return Values("text", codes, valid, words)
    once = words.dictionary_encode()
    if len(once.dictionary) == len(words):
        return Values("text", codes, valid, words)
    moved = numpy_of(pa.chunked_array([once.indices])).astype(np.int32)
    return Values("text", moved[codes] if len(moved) else codes, valid, once.dictionary)


def _differ_at_their_ends(words: pa.Array) -> bool:
    """Whether the last eight bytes tell all of some words apart, as they mostly do of names.

    It takes a quarter of the time of a look at all of their bytes.
    """
    if types.is_string_view(words.type):
        return False
    offsets, data = text_bytes(words)
    if len(data) < _EIGHT or words.null_count:
        return False
    ends = offsets[1:]
    # Eight bytes from any place on, of which those before the word are shifted out.
    eights: NDArray[np.uint64] = np.ndarray(len(data) - _EIGHT + 1, "<u8", data, strides=(1,))
    before = _EIGHT - np.minimum(ends, _EIGHT)
    missing = _EIGHT - np.minimum(ends - offsets[:-1], _EIGHT)
    tails = eights[ends - _EIGHT + before]
    tails = tails << (8 * before).astype(np.uint64) >> (8 * missing).astype(np.uint64)
    tails.sort()
    return not bool((tails[1:] == tails[:-1]).any())


def text_bytes(words: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each text begins, and where the last ends, in the bytes of all."""
    wide = types.is_large_string(words.type)
    _, offsets, data = words.buffers()
    bounds: NDArray[Any] = np.frombuffer(offsets, np.int64 if wide else np.int32)
    bounds = bounds[words.offset : words.offset + len(words) + 1]
    bytes_of = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return bounds.astype(np.int64, copy=False), bytes_of


def ranks_of(words: pa.Array) -> NDArray[np.int64]:
    """For each of some distinct words its place in their order, by code points."""
    order = pc.sort_indices(words).to_numpy()
    ranks = np.empty(len(words), np.int64)
    ranks[order] = np.arange(len(words))
    return ranks


def joint_words(columns: list[Values]) -> tuple[list[NDArray[np.int64]], pa.Array]:
    """For each of some columns of text the ranks of its words among the words of all."""
    words = [column.words.cast(pa.large_string()) for column in columns if column.words is not None]
    once = pa.concat_arrays(words).dictionary_encode()
    ranks = ranks_of(once.dictionary)[once.indices.to_numpy()]
    ends = np.cumsum([len(each) for each in words])
    return list(np.split(ranks, ends[:-1])), once.dictionary
