"""What is looked for in a source of events, and what was found there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hamlet.events.formats import separator_of
from hamlet.events.required_columns import needs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.events.required_columns import Needs
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.schema import Kind

NOT_A_TIME = "not a time"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns to read: type, time, perhaps order, and the attributes that queries need.

    separator: What stands between columns of text; None for what the ending of a file says.
    has_all: Whether all other columns are read as well.
    """

    type: str
    time: str
    order: str | None
    needs: Needs
    separator: str | None = None
    has_all: bool = False

    @staticmethod
    def of(plan: WorkloadPlan, options: Options, *, has_all: bool = False) -> Wanted:
        """What a workload, run in some way, wants to be read."""
        separator = separator_of(options.separator)
        needs = needs_of(plan)
        return Wanted(options.type, options.time, options.order, needs, separator, has_all)

    def use_of(self, name: str) -> Kind | None:
        """What the use of a column says that it is, "any" where it contradicts itself, or None."""
        if name == self.type:
            return "text"
        return "any" if name in self.needs.contested else self.needs.kinds.get(name)

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names, each once."""
        given = [self.type, self.time, *([self.order] if self.order else [])]
        return tuple(dict.fromkeys([*given, *self.needs.attributes]))

    def among(self, names: tuple[str, ...] | list[str]) -> list[str]:
        """Those of them that are among some names, and with `has_all` all others."""
        asked = [name for name in self.columns if name in names]
        return list(dict.fromkeys([*asked, *names])) if self.has_all else asked


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The wanted columns that there are, and how many rows could not be read, by reason.

    name: What to call the source in a message.
    columns: The names of all its columns, wanted or not.
    may_lack: Whether a column that is not there stands for nulls, as in rows of Python values.
    notes: What may be a mistake.
    """

    name: str
    table: pa.Table
    columns: tuple[str, ...]
    malformed: Counter[str] = field(default_factory=Counter)
    may_lack: bool = False
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Sieve:
    """Which rows of a table are good so far; each bad one is counted once, by its first fault."""

    malformed: Counter[str] = field(default_factory=Counter)
    good: NDArray[np.bool_] | None = None

    def fault(self, faulty: NDArray[np.bool_] | None, reason: str) -> None:
        """Leave out the rows that are faulty."""
        if faulty is None:
            return
        if self.good is not None:
            faulty = faulty & self.good
        count = int(np.count_nonzero(faulty))
        if count:
            self.malformed[reason] += count
            self.good = ~faulty if self.good is None else self.good & ~faulty

    def kept(self, table: pa.Table) -> pa.Table:
        """The good rows of a table."""
        return table if self.good is None else table.filter(pa.array(self.good))


def one_piece(column: pa.ChunkedArray) -> pa.Array:
    """A column in one array."""
    whole = column.combine_chunks()
    if not isinstance(whole, pa.ChunkedArray):
        return whole
    return pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
