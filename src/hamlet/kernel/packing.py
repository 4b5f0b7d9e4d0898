"""State as plain bytes: a header of JSON, then arrays and byte strings as they are.

    magic, version, checksum of all that follows, length of the header, header, pieces

Nothing in it is code, so reading it runs nothing. What cannot be read is refused with a reason:
other bytes, another version, a piece cut off or changed, something else than what was asked for.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Piece = NDArray[Any] | bytes | memoryview

_MAGIC = b"HAMLETST"
_VERSION = 2
_HEAD = struct.Struct("<8sIII")


def pack(what: str, header: dict[str, Any], pieces: Sequence[Piece]) -> bytes:
    """A header and pieces as bytes.

    >>> data = pack("a demo", {"n": 1}, [np.arange(3), b"xy"])
    >>> header, (array, text) = unpack("a demo", data)
    >>> header["n"], array.tolist(), bytes(text)
    (1, [0, 1, 2], b'xy')

    Args:
        what: What this is, to be asked for when it is read.
        header: Plain data.
        pieces: Arrays and byte strings.
    """
    shapes = [
        [piece.dtype.str, piece.shape] if isinstance(piece, np.ndarray) else len(piece)
        for piece in pieces
    ]
    text = json.dumps({**header, "what": what, "pieces": shapes}).encode()
    body = [text, *(_as_bytes(piece) for piece in pieces)]
    checksum = len(text)
    for part in body:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEAD.pack(_MAGIC, _VERSION, checksum, len(text)), *body])


def _as_bytes(piece: Piece) -> bytes | memoryview:
    """The bytes of a piece, without a copy where it is in one piece."""
    if not isinstance(piece, np.ndarray):
        return piece
    return np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data


def unpack(what: str, data: bytes) -> tuple[dict[str, Any], list[Any]]:
    """The header and the pieces of what was packed: arrays that can be written to, and views.

    Raises:
        ReadError: The bytes are not what was asked for.
    """
    view = memoryview(data)
    if len(view) < _HEAD.size or view[:8] != _MAGIC:
        raise ReadError(what, "it is not a snapshot of Hamlet")
    _, version, checksum, length = _HEAD.unpack(view[: _HEAD.size])
    if version != _VERSION:
        raise ReadError(what, f"it has version {version}, not {_VERSION}")
    body = view[_HEAD.size :]
    if zlib.crc32(body, length) != checksum:
        raise ReadError(what, "it is damaged")
    header = json.loads(bytes(body[:length]))
    if header["what"] != what:
        raise ReadError(what, f"it is {header['what']}")
    pieces: list[Any] = []
    at = length
    for shape in header["pieces"]:
        if isinstance(shape, int):
            pieces.append(body[at : at + shape])
            at += shape
            continue
        dtype = np.dtype(shape[0])
        end = at + math.prod(shape[1]) * dtype.itemsize
        pieces.append(np.frombuffer(body[at:end], dtype).reshape(shape[1]).copy())
        at = end
    return header, pieces
