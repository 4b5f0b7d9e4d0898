"""The events and queries of a point: generated, or a real file replayed at another speed.

A real file has its own rate. As the paper does, events per minute are changed by the speed at which
a file is replayed: times are stretched so that the stretch that is taken has the rate of the point,
and nothing else of it changes, bursts least of all.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.bench.paper_points import POLICIES, SEED
from hamlet.data import generate_table
from hamlet.data.real import read_real, real_files
from hamlet.data.workloads import edges, first, second, vocabularies
from hamlet.errors import ReadError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

# How much of the stream before a point the static policy decides from, in minutes.
SAMPLE_MINUTES = 5.0
_MINUTE_US = 60_000_000


def order_of(point: dict[str, Any]) -> str | None:
    """The column that orders events of equal time."""
    files = real_files()
    if point["data_set"] in files:
        return files[point["data_set"]].order
    return "seq" if point["data_set"] == "stock" else None


def text_of(point: dict[str, Any], table: Any) -> str:
    """The queries."""
    if point["kind"] == "twins":
        return _twins(point["queries"], point["within"], table)
    if point["kind"] == "second":
        return second(point["data_set"], point["queries"], SEED)
    if point["kind"] == "edges":
        return edges(point["data_set"], point["queries"], SEED)
    window = f"{round(1000 * point['within'])} ms"
    return first(point["data_set"], point["queries"], SEED, within=window, slide=window)


def _twins(queries: int, within: float, table: Any) -> str:
    """Queries that differ in the least price of the trade that enters them.

    Prices walk, so for a while a trade is for all queries or for none, and then for some.
    """
    import pyarrow.compute as pc

    prices = table.filter(pc.equal(table["type"], "S002"))["price"].to_numpy()
    low, high = np.quantile(prices, (0.0, 0.5))
    return ";\n".join(
        f"q{n}: RETURN COUNT(*), MAX(S001.volume) PATTERN SEQ(S002, S001+) "
        f"WHERE S002.price >= {low + (high - low) * n / queries:.6f} "
        f"WITHIN {within:g} s SLIDE {within / 4:g} s"
        for n in range(queries)
    )


def write_stream(point: dict[str, Any], folder: Path, data: str | None = None) -> None:
    """Make the stream of a point once, for all processes that answer over it.

    Args:
        point: The point.
        folder: Where files are put, for `stored_stream`.
        data: The folder with the real files; without one, that of the variable HAMLET_DATA.

    Raises:
        ReadError: The real file is not there, or has fewer events than the point asks for.
    """
    sample, pieces = stream_of(point, data)
    if sample is not None:
        _write(sample, folder / _SAMPLE)
    for number, piece in enumerate(pieces):
        _write(piece, folder / _PIECES.replace("*", f"{number:04}"))


def stored_stream(folder: Path) -> tuple[pa.Table | None, list[pa.Table]]:
    """What `write_stream` has put into a folder."""
    sample = folder / _SAMPLE
    pieces = sorted(folder.glob(_PIECES))
    return _read(sample) if sample.exists() else None, [_read(piece) for piece in pieces]


_SAMPLE, _PIECES = "sample.arrow", "piece-*.arrow"


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow as pa

    whole = table.combine_chunks().unify_dictionaries()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, whole.schema) as writer:
        writer.write_table(whole)


def _read(path: Path) -> pa.Table:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as file:
        return pa.ipc.open_file(file).read_all()


def stream_of(
    point: dict[str, Any], data: str | None = None
) -> tuple[pa.Table | None, list[pa.Table]]:
    """What precedes the run, where policies are compared, and the events, cut into pieces.

    Pieces end where windows of a workload of the first kind end.

    Args:
        point: The point.
        data: The folder with the real files; without one, that of the variable HAMLET_DATA.

    Raises:
        ReadError: The real file is not there, or has fewer events than the point asks for.
    """
    before = SAMPLE_MINUTES if tuple(point["series"]) == POLICIES else 0.0
    minutes = before + point["minutes"] * point["pieces"]
    count = math.ceil(point["rate"] * minutes)
    if point["data_set"] in real_files():
        table = _replayed(point, count, data)
    else:
        settings = {name: point[name] for name in ("groups", "burst") if point[name] is not None}
        table = generate_table(
            point["data_set"], events=count, seed=SEED, rate=point["rate"], **settings
        )
    us = table["time"].cast("int64").to_numpy()
    length = round(_MINUTE_US * point["minutes"])
    start = us[0] + round(_MINUTE_US * before)
    if point["pieces"] == 1:
        cut = [table.slice(int(np.searchsorted(us, start)))]
    else:
        piece = (us - us[0] // length * length) // length
        ends = np.searchsorted(piece, np.arange(point["pieces"] + 1))
        cut = [table.slice(low, high - low) for low, high in pairwise(ends.tolist())]
    sample = table.slice(0, int(np.searchsorted(us, start))) if before else None
    return sample, [each for each in cut if len(each)]


@lru_cache(maxsize=2)
def _events_of(name: str, data: str | None) -> pa.Table:
    """A real file, which several points in a row are about."""
    return read_real(name, data).combine_chunks().unify_dictionaries()


def _replayed(point: dict[str, Any], count: int, data: str | None) -> pa.Table:
    """The first events of a real file, of some of its groups, at the rate of a point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name = point["data_set"]
    table = _events_of(name, data)
    grouping = vocabularies()[name].groupings[0]
    if point["groups"] is not None and grouping:
        keys = table[grouping[0]]
        keys = keys.cast(pa.string()) if pa.types.is_dictionary(keys.type) else keys
        table = table.filter(pc.is_in(keys, pc.unique(keys).slice(0, point["groups"])))
    if len(table) < count:
        raise ReadError(name, f"it has {len(table):,} events of these groups, not {count:,}")
    table = table.slice(0, count)
    us = table["time"].cast("int64").to_numpy()
    speed = _MINUTE_US * len(table) / point["rate"] / max(us[-1] - us[0], 1)
    # Windows begin at full minutes of the epoch, so the stream does too.
    start = us[0] // (60 * _MINUTE_US) * 60 * _MINUTE_US
    times = pa.array(start + ((us - us[0]) * speed).astype(np.int64)).cast(table["time"].type)
    return table.set_column(table.schema.get_field_index("time"), "time", times)
