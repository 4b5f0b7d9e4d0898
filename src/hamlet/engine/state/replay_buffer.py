"""The raw rows of open windows, for units with edge predicates.

When a window closes, the rows of all windows that close with it are run again from their beginning.
A row is kept as long as a window is open that it is in, of a unit that asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hamlet.engine.state.rows import RawRows
from hamlet.kernel.machine import FAR, NEVER
from hamlet.plan.program import Role
from hamlet.plan.query import BETWEEN
from hamlet.plan.windows import end_of_window, first_window, last_ended, last_window

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query, Window

    Longs = NDArray[np.int64]

# Rows stand in as many pieces before they are put together.
_MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit with edge predicates: its template, its windows and the atoms that it looks at.

    between: The types of events that matter to it by coming between others, whatever they are.
    """

    template: int
    window: Window
    atoms: NDArray[np.intp]
    between: frozenset[str]

    def asks(self, letters: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Whether it looks at events with each of some letters."""
        if self.between:
            return np.ones(len(letters), np.bool_)
        return np.asarray(letters[:, self.atoms].any(axis=1))

    def oldest(self, ts: int) -> int:
        """When the oldest window begins that is open at a time."""
        within, slide = self.window.within_us, self.window.slide_us
        return first_window(ts, within, slide) * slide

    def newest_end(self, ts: int) -> int:
        """When the last window ends that has ended by a time."""
        within, slide = self.window.within_us, self.window.slide_us
        return end_of_window(last_ended(ts, within, slide), within, slide)


class StoredRows:
    """The rows of open windows, in pieces.

    Args:
        program: The program of the set.
        queries: Its queries.
        units: Its units with edge predicates, by template.
        types: The names of all types of the workload.
        schema: What the set looks at of an event.
    """

    def __init__(
        self,
        program: Program,
        queries: Sequence[Query],
        units: Iterable[int],
        types: Sequence[str],
        schema: pa.Schema,
    ) -> None:
        self.schema = schema
        self.parts: list[RawRows] = []
        self._units = [_unit(program, queries, unit) for unit in sorted(units)]
        self._clock = queries[0].window.clock
        asked = {program.alphabet.atoms[a].type for unit in self._units for a in unit.atoms}
        asked.update(*(unit.between for unit in self._units))
        self._is_asked = np.array([name in asked for name in types], np.bool_)

    @property
    def windows(self) -> list[Window]:
        """The different windows of units."""
        return list(dict.fromkeys(unit.window for unit in self._units))

    def by_window(self, some: frozenset[int]) -> dict[Window, frozenset[int]]:
        """Those of some units that have windows of the same length and slide, by template."""
        units = [unit for unit in self._units if unit.template in some]
        windows = dict.fromkeys(unit.window for unit in units)
        return {w: frozenset(u.template for u in units if u.window == w) for w in windows}

    def all(self) -> RawRows:
        """All rows."""
        return RawRows.joined(self.parts, self.schema)

    def add(self, rows: RawRows) -> None:
        """Add those rows that some unit may ask for."""
        mine = rows.taken(self._is_asked[rows.types])
        if len(mine):
            self.parts.append(mine.selected(self.schema.names))
        if len(self.parts) > _MOST_PARTS:
            self.parts = [self.all()]

    def take_due(self, until: int, closed: Longs) -> RawRows | None:
        """Take out the rows of windows that close now; None where no such window has any."""
        if not self.parts:
            return None
        before = min(int(closed[part.page].min()) for part in self.parts)
        first = min(unit.oldest(before) for unit in self._units)
        end = max(unit.newest_end(until) for unit in self._units) if until < FAR else FAR + 1
        shown = (self._clock.times(part.ts) for part in self.parts)
        if not any(((ts >= first) & (ts < end)).any() for ts in shown):
            return None
        rows = self.all()
        later = self._clock.times(rows.ts) >= end
        self.parts = [rows.taken(later)] if later.any() else []
        return rows.taken(~later)

    def put_back(self, rows: RawRows, encoded: EncodedSet, until: int) -> None:
        """Go on keeping those of the rows that are in a window that is still open."""
        if until >= FAR:
            return
        batch = encoded.batch
        oldest = np.full(len(batch.letters), NEVER, np.int64)
        for unit in self._units:
            asks = unit.asks(batch.letters)
            oldest[asks] = np.minimum(oldest[asks], unit.oldest(until))
        kept = rows.taken(encoded.rows[batch.ts >= oldest[batch.letter]])
        if len(kept):
            self.parts.append(kept)

    def asked(self, rows: RawRows) -> RawRows:
        """Those rows that some unit may ask for."""
        return rows.taken(self._is_asked[rows.types]).selected(self.schema.names)

    def pages(self) -> set[int]:
        """The pages that rows are on."""
        return {page for part in self.parts for page in np.unique(part.page).tolist()}

    def on_pages(self, pages: set[int]) -> RawRows:
        """The rows on some pages."""
        if not pages:
            return RawRows.joined([], self.schema)
        wanted = np.array(sorted(pages), np.int32)
        parts = [part.taken(np.isin(part.page, wanted)) for part in self.parts]
        return RawRows.joined(parts, self.schema)

    def expire(self, until: int) -> None:
        """Drop pieces of which no row is in a window that is open."""
        if until >= FAR:
            self.parts = []
        elif self.parts:
            oldest = min(unit.oldest(until) for unit in self._units)
            self.parts = [
                part for part in self.parts if int(self._clock.times(part.ts).max()) >= oldest
            ]

    def open_pages(self, closed: Longs, until: int) -> set[int]:
        """The pages with rows in windows that are still open when time has come so far.

        Args:
            closed: For each page the time by which windows have been closed before.
            until: The time; FAR for the end of the stream.
        """
        if until >= FAR:
            return set()
        found = np.full(len(closed), NEVER, np.int64)
        self.lower_deadlines(found, np.maximum(closed, until))
        return set(np.flatnonzero(found < NEVER).tolist())

    def lower_deadlines(self, found: Longs, closed: Longs) -> None:
        """Lower what was found for each page to when a window with a row in it ends there."""
        for rows in self.parts:
            ts = self._clock.times(rows.ts)
            for within, slide in {(w.within_us, w.slide_us) for w in self.windows}:
                # The first window that has the row in it and was not closed yet
                first = first_window(np.maximum(ts, closed[rows.page]), within, slide)
                is_open = first <= last_window(ts, slide)
                end = end_of_window(first, within, slide)
                np.minimum.at(found, rows.page[is_open], end[is_open])


def _unit(program: Program, queries: Sequence[Query], unit: int) -> _Unit:
    query = int(program.template_query[unit])
    own = (program.template_role == Role.GUARD) & (program.template_query == query)
    states = np.isin(program.state_template, [unit, *np.flatnonzero(own)])
    atoms = np.unique(program.state_atom[states]).astype(np.intp)
    between = (place.type for place in queries[query].places if place.negation == BETWEEN)
    return _Unit(unit, queries[query].window, atoms, frozenset(between))
