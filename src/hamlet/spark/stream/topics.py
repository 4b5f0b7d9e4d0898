"""Topics of Kafka: where they are read from, how much at a time, as whom, and with which keys."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from hamlet.errors import PlanError, ReadError, UnknownName, listed
from hamlet.spark.stream.answers import JSON

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

# A topic that is full is not read whole with the first batch.
MOST_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Topics:
    """How topics are read and written.

    start: Where a new stream begins, as an option of Spark.
    offsets: So many rows are a batch at most.
    client: Options of Kafka's clients, as Spark calls them.
    key: The columns that keys of results are made of.
    """

    start: tuple[str, str] = ("startingOffsets", "earliest")
    offsets: int = MOST_ROWS
    client: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()

    @staticmethod
    def of(
        start: str = "earliest",
        offsets: int = MOST_ROWS,
        kafka: Sequence[str] = (),
        kafka_config: str | None = None,
        key: str | None = None,
    ) -> Topics:
        """What the command line says.

        Raises:
            PlanError: Something is not what it can be.
            ReadError: The file of options cannot be read.
        """
        client = {} if kafka_config is None else dict(_properties(kafka_config))
        for each in kafka:
            name, between, value = each.partition("=")
            if not (name and between):
                reason = f"{each!r} is no option of Kafka"
                raise PlanError(reason, "Write NAME=VALUE.")
            client[name] = value
        named = {f"kafka.{name.removeprefix('kafka.')}": v for name, v in client.items()}
        columns = () if key is None else tuple(part.strip() for part in key.split(","))
        return Topics(_begin(start), offsets, named, columns)

    def reading(self) -> dict[str, str]:
        """Options with which a topic is read."""
        name, value = self.start
        return {name: value, "maxOffsetsPerTrigger": str(self.offsets), **self.client}

    def written(self, results: DataFrame) -> DataFrame:
        """Results as they are written to a topic: values are JSON, and so are keys of many columns.

        Raises:
            UnknownName: A key is of no column.
        """
        for name in self.key:
            if name not in results.columns:
                raise UnknownName("column", name, f"Results have {listed(results.columns)}.")
        columns = [F.to_json(F.struct("*"), JSON).alias("value")]
        if len(self.key) == 1:
            columns.append(F.col(self.key[0]).cast("string").alias("key"))
        elif self.key:
            columns.append(F.to_json(F.struct(*self.key), JSON).alias("key"))
        return results.select(*columns)


def _begin(written: str) -> tuple[str, str]:
    """Where a new stream begins, as an option of Spark.

    >>> _begin("latest"), _begin('{"rides":{"0":7}}')
    (('startingOffsets', 'latest'), ('startingOffsets', '{"rides":{"0":7}}'))
    >>> _begin("2026-11-18T10:00:00Z")
    ('startingTimestamp', '1794996000000')
    """
    if written in ("earliest", "latest"):
        return "startingOffsets", written
    if written.lstrip().startswith("{"):
        try:
            json.loads(written)
        except ValueError as error:
            reason = f"the offsets {written!r} are no JSON ({error})"
            raise PlanError(reason, _WAYS) from error
        return "startingOffsets", written
    try:
        moment = datetime.fromisoformat(written)
    except ValueError as error:
        reason = f"a topic cannot be read from {written!r} on"
        raise PlanError(reason, _WAYS) from error
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return "startingTimestamp", str(round(known.timestamp() * 1000))


_WAYS = 'Write earliest, latest, a time such as 2026-11-18T10:00:00Z, or {"TOPIC": {"0": 7}}.'


def _properties(path: str) -> Iterator[tuple[str, str]]:
    """The options in a file of properties: a name, = and a value in a line."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(path, str(error)) from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip()[0] in "#!":
            continue
        match = re.fullmatch(r"\s*([^\s=:]+)\s*[=:]\s*(.*?)\s*", line)
        if match is None:
            raise ReadError(path, f"line {number} is not NAME=VALUE")
        yield match[1], match[2]
