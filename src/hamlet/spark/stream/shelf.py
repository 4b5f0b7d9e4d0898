"""Where the long runs of a bucket are: each in a place of its own, beside those of pages.

Numbers of what is gone are given anew, so they stay small. Which are free is kept with the core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hamlet.errors import ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.spark.stream.pages import Places

    Longs = NDArray[np.int64]

# There are far fewer pages.
_FIRST = 1 << 20
_BUCKET = "the state of a stream"


class RunShelf:
    """A shelf (`long_runs.Shelf`) on the places of a bucket.

    Attributes:
        written: How many bytes have been put there.
    """

    def __init__(self, places: Places, free: Longs | None = None) -> None:
        """Take up a shelf.

        Args:
            places: The places.
            free: The numbers that are free: the last of them and all after it, and any before it.
        """
        self._places = places
        self._free = [0] if free is None else free.tolist()
        self.written = 0

    @property
    def free(self) -> Longs:
        """Which numbers are free, as the shelf is taken up again."""
        return np.array(self._free, np.int64)

    def put(self, data: bytes) -> int:
        """Keep the bytes of a run; its number here."""
        if len(self._free) > 1:
            number = self._free.pop(0)
        else:
            number = self._free[0]
            self._free[0] += 1
        self._places.put_page(_FIRST + number, data)
        self.written += len(data)
        return int(number)

    def get(self, number: int) -> bytes:
        """The bytes of a run."""
        data = self._places.page(_FIRST + number)
        if data is None:
            raise ReadError(_BUCKET, "a part of it is not there")
        return data

    def drop(self, number: int) -> None:
        """Keep a run no longer."""
        self._places.remove_page(_FIRST + number)
        self._free.insert(0, number)
