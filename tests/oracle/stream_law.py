"""The law by which queries come and go on a stream, from batches: what rows there must be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa


def lawful(
    table: pa.Table,
    queries: Mapping[str, str],
    names: Sequence[Sequence[str]],
    changes: Sequence[float],
) -> list[dict[str, Any]]:
    """Rows of windows that begin after a query came and end before it went.

    Args:
        table: The events, with times in seconds.
        queries: All queries that ever are, by name.
        names: Which of them each workload has; the first has always been there.
        changes: When the others came.
    """
    rows: list[dict[str, Any]] = []
    begins = [float("-inf"), *changes]
    for name, query in queries.items():
        is_there = [name in each for each in names]
        every = Workload.parse(f"{name}: {query}").run(table).table.to_pylist()
        for place, there in enumerate(is_there):
            if there and not (place and is_there[place - 1]):
                gone = next((i for i in range(place, len(names)) if not is_there[i]), None)
                ends = float("inf") if gone is None else begins[gone]
                rows += [
                    row
                    for row in every
                    if row["window_start"] >= begins[place] and row["window_end"] <= ends
                ]
    return rows


def changes_of(checkpoint: Path) -> list[float]:
    """When the workload has changed, as a checkpoint has it, in seconds."""
    paths = sorted((checkpoint / "hamlet" / "changes").glob("[0-9]*"))
    return [json.loads(path.read_text())["since_us"] / 10**6 for path in paths]


def comparable(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Rows in an order of their own, but for the last digit of a logarithm."""
    return sorted(str({**row, "log10": row["log10"] and round(row["log10"], 12)}) for row in rows)
