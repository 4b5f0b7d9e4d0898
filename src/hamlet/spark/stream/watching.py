"""What a page about a stream is told: figures of batches, results as they come, and queries.

Spark's progress has what was counted in a batch. Results go where they are written, and nowhere
else; for the page each task that makes rows of them sends some to the driver beside, with what
Spark calls an accumulator. A task that is done twice tells twice, which makes no difference: what
is shown of a window is told by its query, group and value.
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam

from hamlet.events.columns import numpy_of
from hamlet.events.times import from_seconds, microseconds
from hamlet.spark.stream.answers import EVENTS, ROWS, USED, WITHOUT, WORK
from hamlet.spark.stream.bucket import LATE
from hamlet.spark.stream.generations import differences, shown_moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

    from hamlet.report.live import LiveFigures
    from hamlet.spark.stream.generations import Generation, Meaning

# So many rows of results a task shows of a batch: of more nobody sees all.
_MOST_ROWS = 5_000
# Longer integers are shown by their digits.
_MOST_PLAIN = 1 << 53


class _Shown(AccumulatorParam[list[bytes]]):
    """Adds up lists in tasks; where they arrive, each is given away at once."""

    def __init__(self, give: Callable[[bytes], None] | None = None) -> None:
        self._give = give

    def __reduce__(self) -> Any:
        return _Shown, ()

    def zero(self, value: list[bytes]) -> list[bytes]:
        return []

    def addInPlace(self, value1: list[bytes], value2: list[bytes]) -> list[bytes]:
        if self._give is None:
            return value1 + value2
        for each in value2:
            self._give(each)
        return []


def shown_to(figures: LiveFigures, spark: SparkSession) -> Accumulator[list[bytes]]:
    """What tasks add rows of results to, so that figures are told of them."""

    def give(data: bytes) -> None:
        figures.results(_rows(data))

    return spark.sparkContext.accumulator([], _Shown(give))


class Showing:
    """Makes rows of results, and shows some of them."""

    def __init__(
        self,
        unpacked: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        shown: Accumulator[list[bytes]],
    ) -> None:
        self._unpacked, self._shown = unpacked, shown

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows."""
        left = _MOST_ROWS
        for batch in self._unpacked(batches):
            if left and batch.num_rows:
                some = batch.slice(0, left)
                left -= some.num_rows
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, some.schema) as writer:
                    writer.write_batch(some)
                self._shown.add([sink.getvalue().to_pybytes()])
            yield batch


def _rows(data: bytes) -> Iterator[dict[str, Any]]:
    table = pa.ipc.open_stream(data).read_all()
    table = table.filter(table["query"].is_valid())
    starts, ends = (_moments(table[name]) for name in ("window_start", "window_end"))
    names = ("query", "group", "aggregate", "value", "log10", "exact")
    columns = zip(*(table[name].to_pylist() for name in names), strict=True)
    for start, end, (query, group, aggregate, *numbers) in zip(starts, ends, columns, strict=True):
        yield {
            "query": query,
            "group": group,
            "aggregate": aggregate,
            "start": start,
            "end": end,
            "value": shown_number(*numbers),
        }


def _moments(column: pa.ChunkedArray) -> list[int]:
    """Times in microseconds."""
    if pa.types.is_floating(column.type):
        moments: list[int] = from_seconds(numpy_of(column))[0].tolist()
        return moments
    return list(microseconds(column)[0].tolist())


def shown_number(value: float | None, log10: float | None, exact: str | None) -> Any:
    """A value as a page reads it: a number, digits as text, or text like 1.23e+4567.

    >>> shown_number(3.0, 0.5, "3"), shown_number(1e30, 30.0, "1" + 30 * "0")
    (3, '1000000000000000000000000000000')
    >>> shown_number(math.inf, 1000.25, None)
    '1.77828e+1000'
    """
    if exact is not None:
        return int(exact) if len(exact) < 16 and abs(int(exact)) < _MOST_PLAIN else exact
    if value is None or math.isnan(value):
        return None
    if math.isfinite(value):
        return value
    if log10 is None or not math.isfinite(log10):
        return None
    exponent = math.floor(log10)
    return f"{'-' if value < 0 else ''}{10 ** (log10 - exponent):.6g}e+{exponent}"


def figures_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a batch, as Spark tells of it."""
    observed = found.get("observedMetrics") or {}
    rows, work = observed.get(EVENTS) or {}, observed.get(WORK) or {}
    took = found["durationMs"]["triggerExecution"] / 1000
    at = _seconds(found["timestamp"]) + took
    watermark = _seconds(found.get("eventTime", {}).get("watermark"))
    if not watermark:
        watermark = None
    malformed = {
        name: count
        for name, count in rows.items()
        if name not in (ROWS, USED) and not name.startswith(WITHOUT)
    }
    states = found.get("stateOperators") or []
    return {
        "batch": found["batchId"],
        "at": at,
        "seconds": took,
        "rows": rows.get(ROWS, 0),
        "used": rows.get(USED, 0),
        "rows_per_s": rows.get(ROWS, 0) / took if took else 0.0,
        "malformed": sum(malformed.values()),
        "late": work.get(LATE, 0),
        "watermark": watermark,
        "lag_s": None if watermark is None else time.time() - watermark,
        "state_bytes": sum(_state_bytes(each) for each in states),
        "state_rows": sum(each.get("numRowsTotal", 0) for each in states),
        **{
            name: work.get(name, 0)
            for name in (
                "results",
                "windows",
                "bursts",
                "shared_bursts",
                "shared_events",
                "snapshots",
                "merges",
                "splits",
            )
        },
    }


def _state_bytes(operator: Mapping[str, Any]) -> int:
    custom = operator.get("customMetrics") or {}
    return int(operator.get("memoryUsedBytes", 0)) + int(custom.get("rocksdbSstFileSize", 0))


def _seconds(moment: str | None) -> float | None:
    if not moment:
        return None
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone(UTC).timestamp()


def queries_of(history: Sequence[Generation]) -> list[dict[str, Any]]:
    """All queries that a stream has, and those that it had: since when, and until when."""
    queries: list[dict[str, Any]] = []
    before: Sequence[Meaning] = ()
    for generation in history:
        meanings = generation.meanings() if generation.text else ()
        if not meanings:
            continue
        changed = differences(before, meanings)
        moment = shown_moment(generation.since_us)
        for each in queries:
            if each["name"] in changed["removed"] and each["until"] is None:
                each["until"] = moment
        texts = generation.texts()
        queries += [
            {
                "name": name,
                "text": texts.get(name, ""),
                "since": moment,
                "noted": generation.at,
                "until": None,
            }
            for name in changed["added"]
        ]
        before = meanings
    return sorted(queries, key=lambda each: each["until"] is not None)
