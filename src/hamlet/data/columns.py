"""What generated and real tables of events have in common: the types of their columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.data.settings import StreamSettings

TIME = pa.timestamp("us", "UTC")
# Each word once: what a type is takes four bytes, in memory and in Parquet.
TEXT = pa.dictionary(pa.int32(), pa.string())
# Streams are made in blocks of about as many events: the arrays of a block fit into a cache.
BLOCK = 1 << 16


def start_us(settings: StreamSettings) -> int:
    """When a stream begins, in microseconds."""
    return (settings.start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def times(microseconds: NDArray[np.int64]) -> Any:
    """A column of times."""
    return pa.array(microseconds).view(TIME)


def texts(codes: NDArray[Any], words: Sequence[str]) -> Any:
    """A column of text from codes of words."""
    indices = pa.array(codes.astype(np.int32, copy=False))
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()), safe=False)
