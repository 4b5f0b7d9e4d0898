"""What commands begin with: a workload, and modules that may not be there."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hamlet.cli.output import tell
from hamlet.errors import PlanError, QueryError, ReadError, reason_of
from hamlet.events.formats import ENDINGS, ending_of
from hamlet.explain.planned import read_text
from hamlet.io.targets import is_url
from hamlet.schema import Schema
from hamlet.workload import Workload

if TYPE_CHECKING:
    from hamlet.cli.engines import Place


def load_workload(
    workload: str,
    schema: str | None = None,
    type: str = "type",
    separator: str | None = None,
    place: Place | None = None,
) -> Workload:
    """The workload of a file, or of standard input, checked against a schema if there is one.

    Args:
        workload: The file, or -; a URL is read by Spark.
        schema: A file that describes events, or has some.
        type: Of events, the column with their types.
        separator: Of events, what stands between columns of text.
        place: Where Spark runs, where the workload is a URL.
    """
    known = Schema.load(schema, type=type, separator=separator) if schema else None
    if known is not None and known.note:
        tell(f"note      {known.note}")
    if workload == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        except OSError as error:
            raise ReadError("standard input", reason_of(error)) from error
        except UnicodeDecodeError as error:
            raise ReadError("standard input", "it is not UTF-8 text") from error
        return Workload.parse(text, schema=known, name="<stdin>")
    text = _from_elsewhere(workload, place) if is_url(workload) else read_text(Path(workload))
    try:
        # The whole path is shown, so that an editor or terminal can open the place of an error.
        return Workload.parse(text, schema=known, name=workload)
    except QueryError as error:
        if ending_of(Path(workload)) not in ENDINGS:
            raise
        reason = (
            "by its name it has events; queries come first, as in hamlet run FILE --events FILE"
        )
        raise ReadError(workload, reason) from error


def _from_elsewhere(workload: str, place: Place | None) -> str:
    command = spark_module("hamlet.spark.command")
    return str(command.text_at(workload, *(place or (None, None))))


def spark_module(name: str, instead: str = "") -> Any:
    """A module that needs Spark, which may not be installed; what to do without it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        remedy = f"Run pip install 'hamlet-trends[spark]'{instead}."
        raise PlanError("pyspark is not installed", remedy) from error
