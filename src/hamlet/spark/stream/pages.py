"""Where the pages of a bucket are: with its core while they are small, and else by themselves.

Each request to the state store goes to another process and back, a millisecond or so. A bucket with
little state thus reads and writes all of it at once. One that has grown has a place for each page,
so that idle groups are not written with every batch; it stays so, since it may grow again. Rows
that wait for the watermark do not make it grow: where they are many, they are elsewhere. So are
long runs of stored events, which are written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# So many bytes of pages are written with the core at most.
MOST_TOGETHER = 1 << 16


class Places(Protocol):
    """A place for each page."""

    def page(self, page: int) -> bytes | None:
        """What was put there last, and not removed."""

    def put_page(self, page: int, data: bytes) -> None:
        """Keep it."""

    def remove_page(self, page: int) -> None:
        """Keep it no longer."""


class Pages:
    """The pages of a bucket, by their numbers.

    together: Those that are with the core, which are all; None where each has its own place.
    """

    def __init__(self, places: Places, together: Mapping[int, bytes] | None) -> None:
        self._places = places
        self.together = None if together is None else dict(together)

    def has_room(self, size: int) -> bool:
        """Whether rows of so many bytes may wait on pages: they are written with every batch."""
        if self.together is None:
            return False
        return sum(map(len, self.together.values())) + size <= MOST_TOGETHER // 2

    def read(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Some pages, those of them that there are."""
        read = self._places.page if self.together is None else self.together.get
        pages = {number: read(number) for number in numbers}
        return {number: page for number, page in pages.items() if page is not None}

    def write(self, changed: Mapping[int, bytes | None], there: Iterable[int]) -> None:
        """Keep pages that have changed; None for one that is no longer needed.

        Args:
            changed: The pages.
            there: Those that were kept before.
        """
        if self.together is None:
            before = set(there)
            for number, page in changed.items():
                if page is not None:
                    self._places.put_page(number, page)
                elif number in before:
                    self._places.remove_page(number)
            return
        merged = {**self.together, **changed}
        self.together = {number: page for number, page in merged.items() if page is not None}
        if sum(map(len, self.together.values())) > MOST_TOGETHER:
            for number, page in self.together.items():
                self._places.put_page(number, page)
            self.together = None
