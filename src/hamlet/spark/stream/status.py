"""What runs on a checkpoint, and since when: `hamlet stream --status`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hamlet.errors import ReadError, counted
from hamlet.spark.stream.checkpoint import BEGUN, CHANGES
from hamlet.spark.stream.generations import differences, history_of, shown_moment

if TYPE_CHECKING:
    from hamlet.spark.stream.generations import Generation


def status_text(folder: str) -> str:
    """The generations of a stream, as text; the newest is what runs.

    Raises:
        ReadError: It is not the checkpoint of a stream that can be read here.
    """
    history = _generations(folder)
    lines = []
    for place, generation in enumerate(history):
        since = shown_moment(generation.since_us)
        lines.append(f"{generation.number}  windows from {since} on, noted {generation.at}")
        queries = generation.meanings() if generation.text else ()
        if not queries:
            lines.append("   queries of an earlier version, which did not note them")
        elif place == 0:
            lines.append(f"   {counted(len(queries), 'query', 'queries')}")
            lines += [f"   = {query.name}" for query in queries]
        else:
            changes = differences(history[place - 1].meanings(), queries)
            lines += [f"   + {name}" for name in changes["added"]]
            lines += [f"   - {name}" for name in changes["removed"]]
            lines.append(f"   {len(changes['unchanged'])} unchanged")
    return "".join(f"{line}\n" for line in lines)


def _generations(folder: str) -> tuple[Generation, ...]:
    begun, changes = Path(folder, *BEGUN), Path(folder, *CHANGES)
    if not begun.is_file():
        raise ReadError(folder, "there is no checkpoint of a stream of hamlet, on this machine")
    paths = sorted(changes.glob("[0-9]*.json")) if changes.is_dir() else []
    try:
        contents = [json.loads(path.read_text(encoding="utf-8")) for path in (begun, *paths)]
    except (OSError, ValueError) as error:
        raise ReadError(folder, "what is noted in it is damaged") from error
    return history_of(contents[0], contents[1:])
