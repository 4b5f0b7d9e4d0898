"""Long runs of stored events, each of which is written once, apart from the page that has it.

A run is never changed (kernel/rows/runs.py), while the page of its partition is written with every
batch that has an event on it. So runs of more than a few kilobytes are put on a *shelf*, which a
host has; the page has their numbers there. Runs are merged as they grow, so that each event is
written as often as the logarithm of what is stored says, and not with every batch.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hamlet.kernel.packing import pack, unpack
from hamlet.kernel.rows.kept import H_RUNS, H_WHOLE, H_WHOLE_X, H_WINDOWS, HEAD
from hamlet.kernel.rows.runs import R_DOUBLES, R_INTS, R_KEYS, R_NUMBERS, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.rows.going_on import KeptArrays

    Longs = NDArray[np.int64]

# Shorter runs are written with their page: each on a shelf is a request of its own.
LONG = 1 << 14
_RUN = "a run of stored events"
# A process that has made a run, or read it, will mostly need it again for the next batch.
_MOST_REMEMBERED = 1 << 26


class Shelf(Protocol):
    """Where a host keeps runs."""

    def put(self, data: bytes) -> int:
        """Keep the bytes of a run; its number here."""

    def get(self, number: int) -> bytes:
        """The bytes of a run."""

    def drop(self, number: int) -> None:
        """Keep a run no longer."""


@dataclass(frozen=True, slots=True)
class OnShelf:
    """A run on a shelf.

    name: A digest of what is in it.
    arrays: Its integers, doubles and numbers; nothing where it was not read.
    """

    number: int
    name: str
    arrays: tuple[NDArray[Any], ...]

    def is_same(self, arrays: Sequence[NDArray[Any]]) -> bool:
        """Whether those are its integers, doubles and numbers, bit by bit."""
        return len(self.arrays) > 0 and all(
            a.dtype == b.dtype and a.shape == b.shape and np.array_equal(_bits(a), _bits(b))
            for a, b in zip(self.arrays, arrays, strict=True)
        )


class RunsOfPage:
    """The long runs of a page: those that it had, and those that it has now."""

    def __init__(self, shelf: Shelf, had: Sequence[OnShelf]) -> None:
        self._shelf = shelf
        self._had = had
        self.has: list[OnShelf] = []

    def kept(self, arrays: Sequence[NDArray[Any]]) -> list[Any]:
        """Number and name of a run that is on the shelf now, if it was not before."""
        same = [run for run in (*self._had, *self.has) if run.is_same(arrays)]
        if same:
            run = same[0]
        else:
            data = pack(_RUN, {}, list(arrays))
            name = hashlib.blake2b(data, digest_size=16).hexdigest()
            run = OnShelf(self._shelf.put(data), name, tuple(each.copy() for each in arrays))
            _remembered.add(name, run.arrays)
        if run not in self.has:
            self.has.append(run)
        return [run.number, run.name]

    def drop_others(self) -> None:
        """Have nothing on the shelf that the page has no more."""
        has = {run.number for run in self.has}
        for run in self._had:
            if run.number not in has:
                self._shelf.drop(run.number)


def found_on(shelf: Shelf | None, number: int, name: str) -> OnShelf:
    """A run that was put on a shelf; not read where there is no shelf to read it from."""
    if shelf is None:
        return OnShelf(number, name, ())
    arrays = _remembered.arrays(name)
    if arrays is None:
        arrays = tuple(unpack(_RUN, shelf.get(number))[1])
        _remembered.add(name, arrays)
    return OnShelf(number, name, arrays)


class _Remembered:
    """Runs at hand, by their names, without those that were needed least recently."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, tuple[NDArray[Any], ...]] = OrderedDict()
        self._size = 0

    def arrays(self, name: str) -> tuple[NDArray[Any], ...] | None:
        """The arrays of a run, if it is at hand."""
        if name in self._runs:
            self._runs.move_to_end(name)
        return self._runs.get(name)

    def add(self, name: str, arrays: tuple[NDArray[Any], ...]) -> None:
        """Have a run at hand which is not."""
        if self.arrays(name) is not None:
            return
        self._runs[name] = arrays
        self._size += _size(arrays)
        while self._size > _MOST_REMEMBERED:
            self._size -= _size(self._runs.popitem(last=False)[1])


_remembered = _Remembered()


def _size(arrays: Sequence[NDArray[Any]]) -> int:
    return sum(each.nbytes for each in arrays)


# Cutting


def long_runs(arrays: KeptArrays, heads: Longs, sizes: Longs) -> Longs:
    """Where long runs are in arrays without gaps.

    Returns:
        [runs, 6]: where each begins in the integers, doubles and numbers, and how long it is there.
    """
    width = _width(arrays)
    some = heads[sizes @ np.array([8, 8, width]) >= LONG]
    found = [cut for head in some.tolist() for cut in _long_runs_of(arrays.ints, head, width)]
    return np.array(found, np.int64).reshape(-1, 6)


def _long_runs_of(ints: Longs, head: int, width: int) -> Iterator[tuple[int, ...]]:
    """The long runs of one partition."""
    whole, whole_x = int(ints[head + H_WHOLE]), int(ints[head + H_WHOLE_X])
    begin, count = head + HEAD + int(ints[head + H_WINDOWS]), int(ints[head + H_RUNS])
    for run in ints[begin : begin + count * RUN].reshape(-1, RUN).tolist():
        keys = run[R_KEYS]
        lengths = 2 * keys, keys * (1 + whole_x), keys * whole
        if 8 * (lengths[0] + lengths[1]) + width * lengths[2] >= LONG:
            yield run[R_INTS], run[R_DOUBLES], run[R_NUMBERS], *lengths


def _width(arrays: KeptArrays) -> int:
    """How many bytes a number takes."""
    numbers = arrays.numbers
    return int(numbers.itemsize) * (1 if numbers.ndim == 1 else int(numbers.shape[1]))


def cut_out(arrays: KeptArrays, cuts: Longs) -> Iterator[tuple[NDArray[Any], ...]]:
    """The integers, doubles and numbers of each run, and at last all that is between them."""
    three = arrays.ints, arrays.doubles, arrays.numbers
    for cut in cuts.tolist():
        yield tuple(
            array[begin : begin + length]
            for array, begin, length in zip(three, cut[:3], cut[3:], strict=True)
        )
    yield tuple(
        _without(array, cuts[:, column], cuts[:, 3 + column]) for column, array in enumerate(three)
    )


def _without(array: NDArray[Any], begins: Longs, lengths: Longs) -> NDArray[Any]:
    ends = begins + lengths
    pieces = zip(np.append(0, ends).tolist(), [*begins.tolist(), len(array)], strict=True)
    return np.concatenate([array[begin:end] for begin, end in pieces])


def put_in(
    others: Sequence[NDArray[Any]], cuts: Longs, runs: Sequence[OnShelf]
) -> list[NDArray[Any]]:
    """The arrays from which runs were cut out."""
    return [
        _with(array, cuts[:, column], cuts[:, 3 + column], [run.arrays[column] for run in runs])
        for column, array in enumerate(others)
    ]


def _with(
    array: NDArray[Any], begins: Longs, lengths: Longs, runs: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    # How much of the others comes before each run
    before = begins - np.append(0, np.cumsum(lengths)[:-1])
    pieces, at = [], 0
    for end, run in zip(before.tolist(), runs, strict=True):
        pieces += [array[at:end], run]
        at = end
    return np.concatenate([*pieces, array[at:]])


def _bits(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array: no number is unlike itself."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint64)
