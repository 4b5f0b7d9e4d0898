"""Places that Spark's file systems reach: URLs of results and of workloads.

Everything goes through the readers and writers of DataFrames, so over Spark Connect too. Spark
writes a folder of parts and puts `_SUCCESS` into it when all are there; how much of it others see
before, the committer of the store decides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pyspark.errors import PySparkException

from hamlet.errors import ReadError, WriteError
from hamlet.io.targets import TAKEN
from hamlet.io.writers import wide_file_name
from hamlet.spark.remote import Py4JError, is_remote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from hamlet.spark.results import SparkResults

_IS_THERE = "PATH_ALREADY_EXISTS"


def read_text(session: SparkSession, url: str) -> str:
    """A whole small file.

    Raises:
        ReadError: It cannot be read.
    """
    try:
        found = session.read.text(url, wholetext=True).limit(2).collect()
    except (PySparkException, Py4JError) as error:
        raise ReadError(url, _first_line(error)) from error
    if len(found) != 1:
        raise ReadError(url, "it is no single file")
    return str(found[0][0]).removeprefix("\ufeff")


def write_long(results: SparkResults, url: str, *, overwrite: bool) -> None:
    """Write the long form to a folder of parts, Parquet unless the URL ends otherwise.

    Raises:
        WriteError: Something is there already.
    """
    _write(results.table, url, overwrite=overwrite)


def write_wide(
    results: SparkResults,
    url: str,
    *,
    overwrite: bool,
    also: Sequence[Literal["log10", "exact"]] = (),
) -> None:
    """Write the wide form of each query to a folder of its own in a folder.

    Results are doubles, however large they are: `also` has all digits of exact ones.

    Raises:
        WriteError: Something is there already.
    """
    # Else everything would be run again for each query.
    kept = results.table.persist()
    try:
        for query in results.queries:
            place = f"{url.rstrip('/')}/{wide_file_name(query).removesuffix('.parquet')}"
            _write(results.wide(query, also=also, whole="double"), place, overwrite=overwrite)
    finally:
        kept.unpersist()


def _write(table: DataFrame, url: str, *, overwrite: bool) -> None:
    writer = table.write.mode("overwrite" if overwrite else "errorifexists")
    try:
        if re.search(r"\.jsonl?/?$", url):
            writer.json(url)
        elif re.search(r"\.csv/?$", url):
            writer.option("header", True).csv(url)
        else:
            writer.parquet(url)
    except PySparkException as error:
        if _IS_THERE in str(error):
            raise WriteError(url, TAKEN) from error
        raise


def is_of_this_machine(session: SparkSession) -> bool:
    """Whether tasks write to the disks of this machine."""
    if is_remote(session):
        return False
    master = session.conf.get("spark.master", "") or ""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
