"""A workload under each policy of sharing: encoded once, run at will, answers compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.engine import options_for
from hamlet.engine.pipeline import pipelines
from hamlet.errors import InternalError
from hamlet.events.table import EventTable
from hamlet.kernel.run import Counters
from hamlet.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hamlet.engine.pipeline import SetPipeline
    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.number_table import NumberTable
    from hamlet.plan.number_mode import Numbers

POLICIES = ("never", "always", "static", "dynamic")


@dataclass(frozen=True, slots=True)
class Kernel:
    """The sets of a workload, ready to run."""

    pieces: tuple[tuple[SetPipeline, Compiled, EventBatch], ...]

    def __call__(self) -> None:
        """Run over all events."""
        for one, compiled, batch in self.pieces:
            one.run(compiled, batch)

    def with_patience(self, patience: int) -> Kernel:
        """The same, where each bundle has this patience."""
        return replace(self, pieces=tuple((p, _patient(c, patience), b) for p, c, b in self.pieces))

    def answers(self) -> tuple[Answers, Counters]:
        """What all queries answer, and how often bundles were shared, split and merged."""
        parts: list[Answers] = []
        done = Counters()
        for one, compiled, batch in self.pieces:
            emission, counters = one.run(compiled, batch)
            done.shared += counters.shared
            done.split += counters.split
            done.merged += counters.merged
            program = one.program
            query = np.array(program.queries)[program.template_query[emission.unit]]
            count: NDArray[Any] = _trends(emission.numbers)
            some = count != 0
            parts.append(Answers(query[some], emission.window[some], count[some]))
        query, window, count = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((window, query))
        return Answers(query[order], window[order], count[order]), done


def _trends(numbers: NumberTable) -> NDArray[Any]:
    """How many trends each record has, or of floats the base 2 logarithm; 0 for none."""
    if not numbers.mode.has_exponents:
        return np.array(numbers.column(0), np.object_)
    pairs = ((math.log2(m) + 512 * e if m else 0.0) for m, e in numbers.column(0))
    return np.fromiter(pairs, np.float64)


class Answers(NamedTuple):
    """Windows with trends, by query and window: how many, or of floats the base 2 logarithm."""

    query: NDArray[np.int64]
    window: NDArray[np.int64]
    trends: NDArray[Any]


def kernel(
    text: str, table: pa.Table, numbers: Numbers, policy: str, before: pa.Table | None = None
) -> Kernel:
    """A workload over a table of events, under a policy; static decides from those before."""
    plan = Workload.parse(text).plan
    sample = before if policy == "static" else None
    options = options_for(plan, numbers=numbers, sharing=policy, sample=sample)
    events = EventTable.of(table, plan)
    pieces = []
    for one in pipelines(plan, options):
        encoded = one.encode(events)
        pieces.append((one, one.compile(encoded), encoded.batch))
    return Kernel(tuple(pieces))


def _patient(compiled: Compiled, patience: int) -> Compiled:
    return replace(compiled, patience=(patience,) * len(compiled.bundles))


def check_equal(found: Answers, expected: Answers) -> None:
    """Refuse answers that differ: at all, or for floats by more than nine places of a logarithm."""
    for one, other in zip(found[:2], expected[:2], strict=True):
        if not np.array_equal(one, other):
            raise InternalError("policies of sharing differ in the windows that have trends")
    if expected.trends.dtype == np.float64:
        apart = np.abs(found.trends - expected.trends)
        are_equal = bool((apart <= 1e-9 * np.maximum(1.0, np.abs(expected.trends))).all())
    else:
        are_equal = np.array_equal(found.trends, expected.trends)
    if not are_equal:
        raise InternalError("policies of sharing differ in counts")
