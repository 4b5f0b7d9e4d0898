"""What a set keeps of each page: slices of arrays that all partitions of a page lie in together.

A partition is on the page that the hash of its key says, the same in every process, so a host can
put each page away under its number and bring back only those that new rows belong to. What is kept
is gathered page after page at once; then each page is cut out. Python runs for each page, not for
each partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.engine.state.rows import RawRows, table_bytes, table_of
from hamlet.kernel.machine.checkpoint import forget_alike
from hamlet.kernel.row_pieces import Piece, reshaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hamlet.engine.state.layout import Grids
    from hamlet.engine.state.long_runs import Shelf
    from hamlet.engine.state.set_state import SetState

    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """What one set keeps of one page: plain data, and pieces as packing.py takes them."""

    header: dict[str, Any]
    pieces: list[Any]


def parts_by_page(
    state: SetState, is_wanted: NDArray[np.bool_], shelf: Shelf | None = None
) -> dict[int, Part]:
    """What a set keeps of each page that is wanted; pages with nothing are left out."""
    parts: dict[int, Part] = {}
    for page, header, pieces in _kept_by_page(state, is_wanted):
        parts[page] = Part(header, pieces)
    stored = state.stored.all().own() if state.lent_us else state.stored.all()
    wanted = is_wanted & state.looks_again(len(is_wanted))
    for page, rows in stored.taken(wanted[stored.page]).by_page():
        part = parts.setdefault(page, Part(_header(state), []))
        part.header["stored"] = True
        part.pieces.extend(rows.pieces())
    if state.tables is not None:
        for page, header, pieces in state.tables.by_page(is_wanted, shelf):
            part = parts.setdefault(page, Part(_header(state), []))
            part.header["tables"] = header
            part.pieces.extend(pieces)
        for page in sorted(state.tables.behind):
            if is_wanted[page]:
                parts.setdefault(page, Part(_header(state), [])).header["behind"] = True
    return parts


def _header(state: SetState) -> dict[str, Any]:
    bundles, _ = state.store.sharing
    return {"grids": state.grids, "kinds": None, "stored": False, "bundles": bundles}


def _kept_by_page(
    state: SetState, is_wanted: NDArray[np.bool_]
) -> Iterator[tuple[int, dict[str, Any], list[Any]]]:
    slots = np.flatnonzero(state.store.words > 0)
    page = state.pages_of(slots, len(is_wanted))
    slots, page = slots[is_wanted[page]], page[is_wanted[page]]
    order = np.argsort(page, kind="stable")
    slots, page = slots[order], page[order]
    keys, last = state.keys.taken(slots), state.store.last[slots]
    kinds = [
        (words, which, piece, np.append(piece.starts, [piece.ends], axis=0))
        for words, (which, piece) in state.store.taken(slots).items()
    ]
    begins = np.flatnonzero(np.diff(page, prepend=-1, append=-1))
    for begin, end in pairwise(begins.tolist()):
        mine = keys.slice(begin, end - begin) if keys.num_columns else keys
        header = _header(state)
        header["kinds"] = []
        pieces = [last[begin:end], table_bytes(mine)]
        for words, which, piece, bounds in kinds:
            first, stop = np.searchsorted(which, [begin, end]).tolist()
            if first < stop:
                header["kinds"].append(words)
                pieces += [which[first:stop] - begin, piece.sizes[first:stop]]
                (i, v, x), (i_end, v_end, x_end) = bounds[first].tolist(), bounds[stop].tolist()
                pieces += [piece.ints[i:i_end], piece.numbers[v:v_end], piece.extremes[x:x_end]]
        yield int(page[begin]), header, pieces


def add_parts(state: SetState, parts: list[tuple[int, Part]], shelf: Shelf | None = None) -> None:
    """Let a set have what was kept of some pages, of which it has nothing yet."""
    for grids in _different([part.header["grids"] for _, part in parts]):
        state.extend(grids)
    keys: list[pa.Table] = []
    last: list[Longs] = []
    by_kind: dict[tuple[int, str], list[tuple[Longs, Piece, Grids]]] = {}
    stored: list[RawRows] = []
    slot = len(state.keys)
    for page, part in parts:
        pieces = iter(part.pieces)
        if part.header["kinds"] is not None:
            last.append(next(pieces))
            keys.append(table_of(next(pieces), state.key_schema))
            for words in part.header["kinds"]:
                which, *arrays = (next(pieces) for _ in range(5))
                grids = _grids(part.header["grids"])
                kind = words, repr(sorted(grids.items()))
                piece = Piece(*arrays)
                if part.header.get("bundles") != state.store.sharing[0]:
                    forget_alike(piece.ints, piece.starts[:, 0], state.layout.plain.ints)
                by_kind.setdefault(kind, []).append((slot + which, piece, grids))
            slot += len(last[-1])
        if part.header["stored"]:
            rows = RawRows.of_pieces([next(pieces) for _ in range(3)], page, state.schema)
            stored.append(rows)
        has_tables = any(part.header.get(each) for each in ("stored", "tables", "behind"))
        if state.tables is not None and has_tables:
            state.tables.add_page(page, part.header.get("tables"), pieces, shelf)
    if stored:
        state.stored.parts.append(RawRows.joined(stored, state.schema))
    if not last:
        return
    state.keys.add(pa.concat_tables(keys), slot - len(state.keys))
    state.store.grow(slot)
    times = np.concatenate([state.store.last[: slot - sum(map(len, last))], *last])
    for (words, _), those in by_kind.items():
        slots = np.concatenate([each for each, _, _ in those])
        piece = _joined([each for _, each, _ in those])
        grids = those[0][2]
        new = state.layout.shape(state.grids)
        if grids != state.grids:
            old = state.layout.shape(grids)
            sources = state.layout.sources(grids, state.grids)
            piece = reshaped(piece, old, new, sources, words)
        state.store.put(slots, piece, new, words, times[slots])


def _different(read: list[dict[str, Any]]) -> list[Grids]:
    """Grids as they are read, each once."""
    return list({repr(sorted(grids.items())): _grids(grids) for grids in read}.values())


def _grids(read: dict[str, Any]) -> Grids:
    return {name: None if grid is None else tuple(grid) for name, grid in read.items()}


def _joined(pieces: list[Piece]) -> Piece:
    """What is kept of partitions, one after another."""
    return Piece(
        np.concatenate([piece.sizes for piece in pieces]),
        np.concatenate([piece.ints for piece in pieces]),
        np.concatenate([piece.numbers for piece in pieces]),
        np.concatenate([piece.extremes for piece in pieces]),
    )
