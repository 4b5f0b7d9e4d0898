"""Numbers of records, of any kind, found by their place in what kernels wrote.

Nothing is converted or copied before the records of a group are added up: integers of different
lengths stand side by side, a component that several aggregates ask for stands there once, and one
that a record does not have stands nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.numbers import integers
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

# The place of a number that is 0 and stands nowhere
NOWHERE = -1
_WORD = 8


@dataclass(frozen=True, slots=True, eq=False)
class NumberTable:
    """[records, components]: doubles, or integers in two's complement, see numbers/.

    Attributes:
        data: float64 or uint64: all words of all numbers.
        place: [components, records]: where a number begins in them, or NOWHERE.
        words: How many words each number of a record has; of doubles 2 where an exponent follows.
    """

    data: NDArray[Any]
    place: Longs
    words: Longs

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
        data = np.ascontiguousarray(v).reshape(-1)
        data = data if NumberMode.of(data).has_exponents else data.view(np.uint64)
        first = np.arange(records, dtype=np.int64) * (width * words)
        if columns is None or kind is None:
            columns, kind = np.arange(width, dtype=np.int64)[None], None
        place = np.empty((columns.shape[1], records), np.int64)
        is_one = kind is None or len(columns) == 1
        for here, column in zip(place, columns.T.tolist(), strict=True):
            if is_one or column.count(column[0]) == len(column):
                here[:] = NOWHERE if column[0] < 0 else first + column[0] * words
                continue
            of_kind = np.array(column)
            np.add(first, (of_kind * words)[kind], out=here)
            if min(column) < 0:
                here[(of_kind < 0)[kind]] = NOWHERE
        return NumberTable(data, place, np.full(records, words, np.int64))

    @staticmethod
    def of(components: NDArray[Any], exponents: NDArray[np.float64] | None = None) -> NumberTable:
        """Numbers that Python holds.

        >>> table = NumberTable.of(np.array([[1, 2**64], [3, -1]], object))
        >>> table.words.tolist(), table.column(1)
        ([2, 1], [18446744073709551616, -1])

        Args:
            components: [records, components]: int64, Python integers, or mantissas.
            exponents: Where these are mantissas, of value = mantissa * 2**(512 * exponent).
        """
        if exponents is not None:
            return NumberTable.of_kernel(np.stack([components, exponents], axis=-1))
        if components.dtype != np.object_:
            return NumberTable.of_kernel(components)
        bits = [max([0, *(int(each).bit_length() for each in row)]) for row in components]
        words = np.array([each // 64 + 1 for each in bits], np.int64).reshape(len(bits))
        width = components.shape[1]
        written = b"".join(
            int(each).to_bytes(_WORD * size, "little", signed=True)
            for row, size in zip(components, words.tolist(), strict=True)
            for each in row
        )
        first = (np.cumsum(words) - words) * width
        place = first + np.arange(width, dtype=np.int64)[:, None] * words
        return NumberTable(np.frombuffer(written, np.uint64), place, words)

    @staticmethod
    def nothing(width: int, mode: NumberMode) -> NumberTable:
        """No records."""
        return NumberTable.of_kernel(np.empty((0, width), mode.dtype))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def mode(self) -> NumberMode:
        """How these numbers were computed."""
        return NumberMode.of(self.data)

    def where(self, chosen: NDArray[Any]) -> NumberTable:
        """Some of the records."""
        return NumberTable(self.data, self.place[:, chosen], self.words[chosen])

    @staticmethod
    def joined(tables: list[NumberTable]) -> NumberTable:
        """Tables one below the other; the narrower ones are 0 where others have more."""
        width = max(len(table.place) for table in tables)
        sizes = np.cumsum([0, *(len(table) for table in tables)])
        place = np.empty((width, sizes[-1]), np.int64)
        before = 0
        for table, low, high in zip(tables, sizes[:-1], sizes[1:], strict=True):
            here = place[: len(table.place), low:high]
            np.add(table.place, before, out=here)
            if before:
                here[table.place < 0] = NOWHERE
            place[len(table.place) :, low:high] = NOWHERE
            before += len(table.data)
        return NumberTable(
            np.concatenate([table.data for table in tables]),
            place,
            np.concatenate([table.words for table in tables]),
        )

    def column(self, component: int) -> list[Any]:
        """One component as Python has it: integers, or pairs of a mantissa and an exponent."""
        numbers: list[Any] = []
        for place, words in zip(self.place[component].tolist(), self.words.tolist(), strict=True):
            here = self.data[place : place + words] if place >= 0 else self.data[:0]
            if self.mode.has_exponents:
                pair = [*here.tolist(), 0.0, 0.0][:2]
                numbers.append((pair[0], pair[1]))
            else:
                numbers += integers(here[None]) if len(here) else [0]
        return numbers
