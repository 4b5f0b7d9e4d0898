"""Readers of real event data: public files, each as a table of events with a type and a time.

The files are not part of the package. They are looked for in a folder that is given, or else in the
one that the variable HAMLET_DATA names. `real.toml` says what each of them has. Rows come out in
the order of their times.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hamlet.data.settings import HOME_TYPES, LEVELS
from hamlet.errors import ReadError, UnknownName, did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "HAMLET_DATA"
_REMEDY = f"pass --data (data= in Python) or set {VARIABLE} to the folder that has it"
_US = {"s": 1_000_000, "ms": 1000}


@dataclass(frozen=True, slots=True)
class RealFile:
    """A public file of events; see `real.toml` for what each entry means."""

    about: str
    type: str
    time: str
    columns: Mapping[str, tuple[str, str]]
    unit: str | None = None
    order: str | None = None
    types: tuple[str, ...] = ()
    levels: str | None = None


@cache
def real_files() -> Mapping[str, RealFile]:
    """Every file that can be read, by its name."""
    text = Path(__file__).with_name("real.toml").read_text(encoding="utf-8")
    return {name: RealFile(**entries) for name, entries in tomllib.loads(text).items()}


def read_real(name: str, data: str | Path | None = None) -> Any:
    """A real file as an Arrow table of events: time, type and attributes, in order of time.

    Args:
        name: stock_trades, cabs, smart_plugs, taxi_rides, taxi_trips, loans or cluster_tasks.
        data: The folder that has it; without one, that of the variable HAMLET_DATA.

    Raises:
        UnknownName: There is no such data.
        ReadError: The file is not there, or is not what it should be.
    """
    files = real_files()
    if name not in files:
        known = f"Real data are {listed(files)}.{did_you_mean(name, files)}"
        raise UnknownName("real data", name, known)
    return _events(files[name], path_of(name, data))


def path_of(name: str, data: str | Path | None = None) -> Path:
    """The path of real data; see `read_real`.

    Raises:
        ReadError: The file is not there.
    """
    folder = data if data is not None else os.environ.get(VARIABLE)
    file = f"{name}.csv.gz"
    if not folder:
        raise ReadError(file, f"no folder is given; {_REMEDY}")
    for path in (Path(folder) / file, Path(folder) / f"{name}.csv"):
        if path.is_file():
            return path
    what = "file" if Path(folder).is_dir() else "folder"
    raise ReadError(str(Path(folder) / file), f"there is no such {what}; {_REMEDY}")


# Columns


def _events(file: RealFile, path: Path) -> Any:
    import pyarrow as pa

    raw = _raw(file, path)
    columns = {"time": _times(raw[file.time], file.unit), "type": _types(raw, file, path)}
    for source, (name, kind) in file.columns.items():
        columns[name] = _attribute(raw[source], kind)
    table = pa.table(columns)
    order = [(name, "ascending") for name in ("time", file.order) if name]
    return _sorted(table, order)


def _raw(file: RealFile, path: Path) -> Any:
    """The columns of the file that are looked at."""
    import pyarrow as pa
    from pyarrow import csv

    kinds = {
        "text": pa.dictionary(pa.int32(), pa.string()),
        "number": pa.float64(),
        "whole": pa.int64(),
        "flag": pa.int64(),
        "time": pa.string(),
    }
    wanted = {source: kinds[kind] for source, (_, kind) in file.columns.items()}
    wanted[file.time] = kinds["whole" if file.unit else "time"]
    if file.levels:
        wanted[file.levels] = kinds["whole"]
    wanted.setdefault(file.type, kinds["whole" if file.types else "text"])
    options = csv.ConvertOptions(
        include_columns=list(wanted), column_types=wanted, strings_can_be_null=True
    )
    try:
        return csv.read_csv(path, convert_options=options).combine_chunks().unify_dictionaries()
    except KeyError as error:
        missing = [name for name in wanted if f"'{name}'" in str(error)]
        raise ReadError(str(path), f"it has no column '{missing[0]}'") from error
    except (pa.ArrowException, OSError) as error:
        raise ReadError(str(path), str(error).split("\n")[0]) from error


def _times(column: Any, unit: str | None) -> Any:
    import pyarrow as pa
    from pyarrow import compute as pc

    from hamlet.events.texts import moments_of_texts

    if unit is None:
        # All files have times of one kind, whether theirs name a zone or not.
        return moments_of_texts(column.combine_chunks()).cast(pa.timestamp("us", "UTC"))
    return pc.multiply(column, _US[unit]).cast(pa.timestamp("us", "UTC"))


def _types(raw: Any, file: RealFile, path: Path) -> Any:
    import numpy as np

    from hamlet.data.columns import texts

    if file.levels:
        level = np.digitize(raw[file.type].to_numpy(), LEVELS)
        is_load = raw[file.levels].to_numpy() == 1
        return texts(np.where(is_load, level, HOME_TYPES.index("WORK")), HOME_TYPES)
    if not file.types:
        return raw[file.type]
    codes = raw[file.type].to_numpy()
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(file.types):
        reason = f"{file.type} must be a number below {len(file.types)}"
        raise ReadError(str(path), reason)
    return texts(codes, file.types)


def _attribute(column: Any, kind: str) -> Any:
    import pyarrow as pa
    from pyarrow import compute as pc

    if kind == "flag":
        return pc.equal(column, 1)
    if kind != "time":
        return column
    times = _times(column, None)
    # The source writes 1970 where it knows of no time.
    return pc.if_else(pc.equal(times.cast(pa.int64()), 0), pa.scalar(None, times.type), times)


def _sorted(table: Any, order: list[tuple[str, str]]) -> Any:
    """The table in order of time; rows of equal time stay in the order of the file."""
    import numpy as np

    keys = [table[name].to_numpy() for name, _ in reversed(order)]
    return table.take(np.lexsort(keys))
