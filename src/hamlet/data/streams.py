"""Generated streams of events: lazy, seeded, the same in every chunk size.

A stream is made in blocks of its own, and what a caller asks for is cut from them. So the first
events of a long stream are those of a short one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hamlet.data.settings import StreamSettings, settings_of
from hamlet.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK = 65_536


class _Stream(Protocol):
    """What makes the events of a data set."""

    schema: Any

    def block(self) -> Any:
        """The next events, a RecordBatch of any size but none."""


def generate(
    data_set: str | StreamSettings,
    *,
    events: int | None = None,
    seed: int = 0,
    chunk: int = CHUNK,
    **settings: Any,
) -> Any:
    """Events of a data set, as an iterator of Arrow record batches, made while they are asked for.

    It is a `pyarrow.RecordBatchReader`, which `Workload.run` takes too.

    >>> batch = next(generate("stock", events=3, seed=1))
    >>> batch.num_rows, batch.schema.names[:3]
    (3, ['time', 'type', 'seq'])

    Args:
        data_set: "ridesharing", "taxi", "smarthome" or "stock", or its settings.
        events: How many; without it the stream never ends.
        seed: The same seed gives the same events, on every machine.
        chunk: Rows of a batch, apart from the last; it does not change the events.
        settings: rate, burst, bursts, groups, skew, start, and what else the settings of the data
            set have (see `hamlet.data.settings`); what is left out or None is the default.

    Raises:
        PlanError: There is no such data set, setting or event type.
        SchemaError: A value is out of range.
    """
    chosen = settings_of(data_set, **settings)
    for what, value, least in (("events", events, 0), ("seed", seed, 0), ("chunk", chunk, 1)):
        if value is not None and value < least:
            raise SchemaError(chosen.name, f"{what} must be at least {least}, not {value}")
    import pyarrow as pa

    stream: _Stream = _maker(chosen.name)(chosen, seed)
    return pa.RecordBatchReader.from_batches(stream.schema, _cut(stream, events, chunk))


def generate_table(
    data_set: str | StreamSettings, *, events: int, seed: int = 0, **settings: Any
) -> Any:
    """The same events as one Arrow table.

    >>> generate_table("taxi", events=3, seed=1).num_rows
    3
    """
    return generate(data_set, events=events, seed=seed, **settings).read_all()


def schema_of(data_set: str | StreamSettings) -> Any:
    """The Arrow schema of a data set, which no setting changes."""
    name = data_set.name if isinstance(data_set, StreamSettings) else settings_of(data_set).name
    return _maker(name).schema


def _maker(name: str) -> Any:
    # Imported here because they load NumPy and Arrow.
    from hamlet.data.ridesharing import RideSharingStream
    from hamlet.data.smarthome import SmartHomeStream
    from hamlet.data.stock import StockStream
    from hamlet.data.taxi import TaxiStream

    return {
        "ridesharing": RideSharingStream,
        "taxi": TaxiStream,
        "smarthome": SmartHomeStream,
        "stock": StockStream,
    }[name]


def _cut(stream: _Stream, events: int | None, chunk: int) -> Iterator[Any]:
    """Batches of a given size, cut from blocks and put together from them."""
    import pyarrow as pa

    left, waiting, rows = events, [], 0
    while left is None or left > 0:
        size = chunk if left is None else min(chunk, left)
        while rows < size:
            waiting.append(stream.block())
            rows += waiting[-1].num_rows
        whole = waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
        yield whole.slice(0, size)
        rows -= size
        waiting = [whole.slice(size)] if rows else []
        left = None if left is None else left - size
