"""Kept rows: would catch numbers changed by going from one kind to another and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hamlet.kernel.numbers import integers
from hamlet.kernel.row_pieces import Piece, Shape, by_need, reshaped, widened
from hamlet.kernel.row_store import RowStore
from hamlet.plan.number_mode import NumberMode


def piece_of(numbers: Any) -> Piece:
    """Two partitions with one active unit each, and half of the numbers."""
    half = len(numbers) // 2
    sizes = np.array([[7, half, 0], [7, half, 0]])
    ints = np.array([1, 5, 0, 3, 4, 4, 99] * 2)
    return Piece(sizes, ints, numbers, np.empty(0))


@pytest.mark.parametrize("words", [1, 2, 4])
def test_integers_stay_what_they_are_in_wider_and_narrower_kinds(words: int) -> None:
    values = [3, -7, 0, 2**30, -(2**30), 1]
    numbers: Any = np.array(values)
    if words > 1:
        further = [[2**64 - 1 if v < 0 else 0] * (words - 1) for v in values]
        both = zip(values, further, strict=True)
        numbers = np.array([[v % 2**64, *more] for v, more in both], np.uint64)

    wide = widened(piece_of(numbers), NumberMode.EXACT, words)
    ((kind, which, narrow),) = by_need(wide, NumberMode.EXACT, 2 * words)

    assert integers(wide.numbers) == values
    assert kind == words
    assert which.tolist() == [0, 1]
    np.testing.assert_array_equal(narrow.numbers, numbers)
    assert narrow.numbers.dtype == numbers.dtype


def test_doubles_stay_what_they_are_in_wider_and_narrower_kinds() -> None:
    values = np.array([0.0, 1.5, -2.0, 2.0**90, 7.0, -0.0])

    wide = widened(piece_of(values), NumberMode.FLOAT, 1)
    ((kind, _, narrow),) = by_need(wide, NumberMode.FLOAT, 2)

    assert kind == 1
    np.testing.assert_array_equal(narrow.numbers, values)


def test_large_and_tiny_doubles_are_brought_into_range() -> None:
    values = np.array([2.0**800, -(2.0**-800), 2.0**300, 2.0**-300, 2.0**256, 2.0**-1074])

    wide = widened(piece_of(values), NumberMode.FLOAT, 1).numbers

    assert (np.abs(np.log2(np.abs(wide[:, 0]))) <= 256).all()
    assert wide[:, 1].tolist() == [2.0, -2.0, 1.0, -1.0, 1.0, -2.0]
    np.testing.assert_array_equal(np.ldexp(wide[:, 0], (512 * wide[:, 1]).astype(int)), values)


def test_partitions_with_large_numbers_stay_wide_alone() -> None:
    numbers = np.array([[1, 0], [2, 0], [3, 0], [2**40, 0]], np.uint64)

    found = {
        kind: which.tolist() for kind, which, _ in by_need(piece_of(numbers), NumberMode.EXACT, 2)
    }

    assert found == {2: [1], 1: [0]}


def shape_of(components: int) -> Shape:
    """One unit with two rows of two windows."""
    one = np.array([1])
    return Shape(np.array([5]), np.array([4]), np.array([components]), 10 * one, 20 * one, 0 * one)


@pytest.mark.parametrize("words", [1, 2])
def test_new_components_are_zero_and_old_ones_keep_their_places(words: int) -> None:
    numbers: Any = np.arange(1, 17)
    if words == 2:
        numbers = np.stack([numbers, 100 * numbers], axis=1).astype(np.uint64)

    found = reshaped(
        piece_of(numbers), shape_of(2), shape_of(4), {0: np.array([0, -1, 1, -1])}, words
    )

    assert found.sizes[:, 1].tolist() == [16, 16]
    low = found.numbers.reshape(-1, 4, words)[:, :, 0]
    assert low[:, [0, 2]].reshape(-1).tolist() == list(range(1, 17))
    assert not low[:, [1, 3]].any()


def test_gaps_are_closed_and_what_is_kept_stays() -> None:
    store, shape = RowStore(NumberMode.EXACT), shape_of(1)
    store.grow(100)
    ints = np.array([1, 5, 0, 0, 4, 4, 99])
    for turn in range(300):
        for first in (0, 50):
            slots = np.arange(first, 100)
            size = np.tile([7, 4, 0], (len(slots), 1))
            numbers = np.repeat(1000 * turn + slots, 4)
            piece = Piece(size, np.tile(ints, len(slots)), numbers, np.empty(0))
            store.put(slots, piece, shape, 1, np.full(len(slots), 15))
            store._close_gaps()

    ((which, kept),) = store.taken(np.arange(100)).values()

    assert which.tolist() == list(range(100))
    assert kept.numbers.reshape(100, 4)[:, 0].tolist() == [299_000 + slot for slot in range(100)]
    assert len(store._heaps[1].ints) < 50_000
    assert (store.deadline == 20).all()


def test_what_is_over_is_not_kept() -> None:
    """The last event was at 15; windows 0 and 1 had it, window 2 begins at 20."""
    store, shape = RowStore(NumberMode.EXACT), shape_of(1)
    store.grow(3)
    for slot, (lo, touched) in enumerate([(0, 3), (2, 3), (1, 0)]):
        ints = np.array([1, 5, 0, lo, 4, touched, 99])
        piece = Piece(np.array([[7, 4, 0]]), ints, np.arange(4), np.empty(0))
        store.put(np.array([slot]), piece, shape, 1, np.array([15]))

    assert store.words.tolist() == [1, 0, 0]
    assert store.due(19).tolist() == []
    assert store.due(20).tolist() == [0]
