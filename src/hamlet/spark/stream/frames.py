"""Results of a stream, as a DataFrame that starts its queries with the settings they need.

Spark takes settings for a query from the session, at the moment it starts: in which kind of store
state is kept, and over how many tasks it is spread. Those of the user's session are for the user's
other work too. So they are left as they are, but for the moment in which a query over results is
started, and what is made of results, by `select`, `groupBy` and so on, is started in the same way.

Results have a watermark already: windows come when that of the events has passed their ends. Spark
allows one only, and a second one never moves. So `withWatermark` says which column carries it on.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

from hamlet.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

# How Spark marks the column that a watermark is about.
WATERMARK = "spark.watermarkDelayMs"
_SETTINGS = "_hamlet_settings"
_MARK: dict[str, Any] = {WATERMARK: 0}
_starting = threading.RLock()


@contextmanager
def set_for_a_moment(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session, which are as they were afterwards."""
    with _starting:
        known = session.conf.getAll
        before = {name: known.get(name) for name in settings}
        try:
            for name, value in settings.items():
                session.conf.set(name, value)
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, old)


def started_with(frame: DataFrame, settings: Mapping[str, str]) -> DataFrame:
    """A DataFrame whose queries, and those of all that is made of it, start with some settings."""
    carrier: DataFrame = _carried(frame, dict(settings))
    return carrier


def marked(frame: DataFrame, column: str) -> DataFrame:
    """A DataFrame one of whose columns carries the watermark on."""
    return frame.withMetadata(column, _MARK)


def has_watermark(frame: DataFrame, column: str) -> bool:
    """Whether a column of a DataFrame has a watermark."""
    return any(
        field.name == column and WATERMARK in (field.metadata or {})
        for field in frame.schema.fields
    )


def _carried(value: Any, settings: Mapping[str, str]) -> Any:
    """A value; one that a stream can be made or started of knows the settings."""
    kind = type(value)
    is_ours = issubclass(kind, (_Carrying, _Writer))
    if kind.__name__ in _KINDS and str(kind.__module__).startswith("pyspark.sql") and not is_ours:
        value.__dict__[_SETTINGS] = settings
        made: Any = _with_settings
        value.__class__ = made(kind)
    return value


class _Carrying:
    """What gives streams, or starts them: all that comes of it does so too."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        settings = super().__getattribute__("__dict__").get(_SETTINGS)
        if name.startswith("_") or settings is None:
            return found
        if not callable(found) or isinstance(found, type):
            return _carried(found, settings)

        @wraps(found)
        def carrying(*given: Any, **named: Any) -> Any:
            return _carried(found(*given, **named), settings)

        return carrying


class _Frame(_Carrying):
    def withWatermark(self, eventTime: str, delayThreshold: str) -> Any:
        """Have a column carry on the watermark that the results have; the delay adds nothing."""
        frame: Any = self
        kind = dict(frame.dtypes).get(eventTime, "timestamp")
        if eventTime == "window_start":
            remedy = "Take window_end: windows come when the watermark has passed their ends."
            raise PlanError("the starts of windows are older than the watermark", remedy)
        if not kind.startswith("timestamp"):
            reason = f"a watermark is over timestamps, and {eventTime} is {kind}"
            remedy = f'Make one first: .withColumn("end", timestamp_seconds("{eventTime}")).'
            raise PlanError(reason, remedy)
        return frame.withMetadata(eventTime, _MARK)


class _Grouped(_Carrying):
    pass


class _Writer:
    """Starts queries, with settings that are those of the session only until they have started."""

    def start(self, *given: Any, **named: Any) -> Any:
        """Start a query."""
        return self._begun("start", given, named)

    def toTable(self, *given: Any, **named: Any) -> Any:
        """Start a query that writes to a table."""
        return self._begun("toTable", given, named)

    def _begun(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        known = self.__dict__
        session = known.get("_spark") or known["_session"]
        with set_for_a_moment(session, known[_SETTINGS]):
            return getattr(super(), name)(*given, **named)


_KINDS: Mapping[str, type] = {
    "DataFrame": _Frame,
    "GroupedData": _Grouped,
    "DataStreamWriter": _Writer,
}


@cache
def _with_settings(kind: type) -> type:
    """A class of Spark's that starts queries with settings; it is called as Spark calls it."""
    known = {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (_KINDS[kind.__name__], kind), known)
