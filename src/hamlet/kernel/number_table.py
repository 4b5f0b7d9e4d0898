"""Numbers of records, of any kind, found by their place in what kernels wrote.

Nothing is converted or copied before the records of a group are added up: what one run of a kernel
wrote stays a piece by itself, so integers of different lengths stand side by side, a component that
several aggregates ask for stands there once, and one that a record does not have stands nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.numbers import integers
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

# The place of a number that is 0 and stands nowhere
NOWHERE = -1
_WORD = 8
# Of pieces with few records there are as many as batches of a stream: such are put together.
_FEW_RECORDS = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Records that were written together, each with as much room as all others.

    Attributes:
        data: [records, room]: float64 or uint64.
        words: How many words each number has; of doubles 2 where an exponent follows.
        offsets: [kinds, components]: where in its room a record has a number, or NOWHERE.
        kind: The kind of each record.
    """

    data: NDArray[Any]
    words: int
    offsets: Longs
    kind: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.kind)

    def offsets_of(self, component: int) -> Longs:
        """For each kind of record where it has a component, or NOWHERE."""
        if component < self.offsets.shape[1]:
            return self.offsets[:, component]
        return np.full(len(self.offsets), NOWHERE, np.int64)

    def places(self, component: int) -> Longs:
        """For each record where in all of the data it has a component, or NOWHERE."""
        offsets = self.offsets_of(component)[self.kind]
        places = np.arange(len(self), dtype=np.int64) * self.data.shape[1] + offsets
        return np.where(offsets < 0, NOWHERE, places)

    def is_like(self, other: Piece) -> bool:
        """Whether records of another one are laid out in the same way."""
        return (
            self.words == other.words
            and self.data.shape[1] == other.data.shape[1]
            and (self.offsets is other.offsets or np.array_equal(self.offsets, other.offsets))
        )


@dataclass(frozen=True, eq=False)
class NumberTable:
    """[records, components]: doubles, or integers in two's complement, see numbers/.

    Attributes:
        pieces: The records one below the other, at least one piece of them.
        mode: How the numbers were computed.
    """

    pieces: tuple[Piece, ...]
    mode: NumberMode

    @staticmethod
    def of_kernel(
        v: NDArray[Any], columns: Longs | None = None, kind: NDArray[np.int32] | None = None
    ) -> NumberTable:
        """What a kernel gave.

        Args:
            v: [records, components], and where numbers have several words [..., words].
            columns: [kinds, components]: which of the numbers of a record each component is, -1 for
                none; as they are when left out.
            kind: With columns the kind of each record.
        """
        records, width = v.shape[:2]
        words = v.shape[2] if v.ndim == 3 else 1
        mode = NumberMode.of(v)
        data = np.ascontiguousarray(v).reshape(records, width * words)
        data = data if mode.has_exponents else data.view(np.uint64)
        if columns is None or kind is None:
            columns, kind = np.arange(width, dtype=np.int64)[None], np.zeros(records, np.int32)
        offsets = columns if words == 1 else np.where(columns < 0, NOWHERE, columns * words)
        return NumberTable((Piece(data, words, offsets, kind),), mode)

    @staticmethod
    def of(components: NDArray[Any], exponents: NDArray[np.float64] | None = None) -> NumberTable:
        """Numbers that Python holds.

        >>> table = NumberTable.of(np.array([[1, 2**64], [3, -1]], object))
        >>> table.words.tolist(), table.column(1)
        ([2, 2], [18446744073709551616, -1])

        Args:
            components: [records, components]: int64, Python integers, or mantissas.
            exponents: Where these are mantissas, of value = mantissa * 2**(512 * exponent).
        """
        if exponents is not None:
            return NumberTable.of_kernel(np.stack([components, exponents], axis=-1))
        if components.dtype != np.object_:
            return NumberTable.of_kernel(components)
        numbers = [int(each) for each in components.ravel()]
        words = max((each.bit_length() for each in numbers), default=0) // 64 + 1
        written = b"".join(each.to_bytes(_WORD * words, "little", signed=True) for each in numbers)
        return NumberTable.of_kernel(
            np.frombuffer(written, np.uint64).reshape(*components.shape, words)
        )

    @staticmethod
    def nothing(width: int, mode: NumberMode) -> NumberTable:
        """No records."""
        return NumberTable.of_kernel(np.empty((0, width), mode.dtype))

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    @property
    def width(self) -> int:
        """How many components those records have that have most of them."""
        return max(int(piece.offsets.shape[1]) for piece in self.pieces)

    def where(self, chosen: NDArray[np.bool_]) -> NumberTable:
        """Some of the records."""
        picked = tuple(
            Piece(piece.data[chosen[some]], piece.words, piece.offsets, piece.kind[chosen[some]])
            for piece, some in self.parts()
        )
        return NumberTable(picked, self.mode)

    def parts(self) -> Iterator[tuple[Piece, slice]]:
        """Each piece, and which of all records it has."""
        low = 0
        for piece in self.pieces:
            yield piece, slice(low, low + len(piece))
            low += len(piece)

    @staticmethod
    def joined(tables: Sequence[NumberTable]) -> NumberTable:
        """Tables one below the other; the narrower ones are 0 where others have more."""
        pieces: list[Piece] = []
        for piece in (piece for table in tables for piece in table.pieces):
            last = pieces[-1] if pieces else piece
            if pieces and len(last) + len(piece) <= _FEW_RECORDS and last.is_like(piece):
                data, kind = (last.data, piece.data), (last.kind, piece.kind)
                both = np.concatenate(data), last.words, last.offsets, np.concatenate(kind)
                pieces[-1] = Piece(*both)
            else:
                pieces.append(piece)
        return NumberTable(tuple(pieces), tables[0].mode)

    # All pieces as one, which few need

    @cached_property
    def data(self) -> NDArray[Any]:
        """All words of all numbers."""
        return np.concatenate([piece.data.reshape(-1) for piece in self.pieces])

    @cached_property
    def words(self) -> Longs:
        """How many words each number of a record has."""
        words = np.array([piece.words for piece in self.pieces], np.int64)
        return np.repeat(words, [len(piece) for piece in self.pieces])

    def places(self, component: int) -> Longs:
        """Where in all of the data each record has a component, or NOWHERE."""
        places = np.empty(len(self), np.int64)
        before = 0
        for piece, some in self.parts():
            here = piece.places(component)
            places[some] = np.where(here < 0, NOWHERE, here + before)
            before += piece.data.size
        return places

    def column(self, component: int) -> list[Any]:
        """One component as Python has it: integers, or pairs of a mantissa and an exponent."""
        numbers: list[Any] = []
        places = self.places(component).tolist()
        for place, words in zip(places, self.words.tolist(), strict=True):
            here = self.data[place : place + words] if place >= 0 else self.data[:0]
            if self.mode.has_exponents:
                pair = [*here.tolist(), 0.0, 0.0][:2]
                numbers.append((pair[0], pair[1]))
            else:
                numbers += integers(here[None]) if len(here) else [0]
        return numbers
