"""State as bytes: would catch arrays that come back changed, and bytes taken for something else."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hamlet.errors import ReadError
from hamlet.kernel.packing import pack, unpack

ARRAYS = [
    np.arange(6, dtype=np.int64).reshape(2, 3),
    np.zeros((0, 2), np.uint64),
    np.array([1.5, np.nan, -np.inf]),
    np.arange(20, dtype=np.int32)[::3],
    np.array([True, False]),
]


def test_pieces_come_back_as_they_were_and_can_be_written_to() -> None:
    data = pack("the demo", {"n": [1, None]}, [*ARRAYS, b"", b"bytes"])

    header, pieces = unpack("the demo", data)

    assert header["n"] == [1, None]
    for wanted, found in zip(ARRAYS, pieces, strict=False):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
        assert found.flags.writeable
        assert found.flags.c_contiguous
    assert [bytes(piece) for piece in pieces[-2:]] == [b"", b"bytes"]


@pytest.mark.parametrize("place", [10, 20, 60, -1])
def test_a_changed_byte_is_noticed(place: int) -> None:
    data = bytearray(pack("the demo", {}, ARRAYS))
    data[place] ^= 1

    with pytest.raises(ReadError):
        unpack("the demo", bytes(data))


def test_other_bytes_are_refused_with_the_reason() -> None:
    data = pack("the demo", {}, ARRAYS)
    newer = data[:8] + struct.pack("<I", 99) + data[12:]

    for other, reason in (
        (b"", "not a snapshot"),
        (b"PAR1" + data, "not a snapshot"),
        (newer, "version 99"),
        (data[:-3], "damaged"),
    ):
        with pytest.raises(ReadError, match=reason):
            unpack("the demo", other)
    with pytest.raises(ReadError, match="it is the demo"):
        unpack("something else", data)
