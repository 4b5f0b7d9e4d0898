"""One of the compared systems over a table of events: read, encode, run, finish.

All but the run is the engine's own. Events of a sharable set are encoded once, also for GRETA,
which then runs each query alone: so that what is compared is how systems work on events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import SystemCannot
from hamlet.kernel.numbers import next_words
from hamlet.paper.systems.guards import fill_latest
from hamlet.paper.systems.records import emission_of
from hamlet.paper.systems.tables import SystemEvents, Tables, tables_of
from hamlet.plan.query import Match

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission, EventBatch
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.paper.systems.records import ClosedWindows
    from hamlet.plan.number_mode import NumberMode
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan

    # What a system does with some partitions and numbers of one kind.
    Run = Callable[[NDArray[np.int64], NDArray[Any]], list[ClosedWindows]]


def prepared(
    system: str, plan: WorkloadPlan, program: Program, encoded: EncodedSet
) -> Callable[[NumberMode], Emission]:
    """A system ready to run over the events of a set; called, it runs them.

    Args:
        system: One of SYSTEMS but for the engine itself.
        plan: The workload.
        program: The program of the set.
        encoded: Its events.

    Raises:
        SystemCannot: The system has no way to answer a query.
        SystemLimit: It would take too much memory; MCEP finds out only when it runs.
    """
    for number in program.queries:
        query = plan.queries[number].query
        if query.match != Match.ANY:
            raise SystemCannot(system, query.name, f"it has no MATCH {query.match}")
        for each in query.aggregates:
            if each.measure is not None and each.weights != ("one",):
                asked = f"{each.function}({each.measure})"
                raise SystemCannot(system, query.name, f"it has no {asked}")
    tables = tables_of(plan, program, encoded)
    batch = encoded.batch
    ranges = partition_ranges(batch)
    events = _events(batch, len(tables.guards), len(ranges))
    start = _STARTS[system](tables, events, ranges)

    def run(mode: NumberMode) -> Emission:
        fill_latest(tables, events, ranges)
        closed: list[ClosedWindows] = []
        words, left = 1, ranges
        while len(left):
            parts = start(left, mode.array(0, words))
            closed += parts
            again = np.unique(np.concatenate([part.redo for part in parts]))
            # A partition that one unit has to do again is done again by all: drop what it gave.
            closed[len(closed) - len(parts) :] = [_without(part, again) for part in parts]
            left = left[np.isin(left[:, 0], again)]
            words = next_words(words)
        return emission_of(closed, mode)

    return run


def _without(found: ClosedWindows, parts: NDArray[np.int32]) -> ClosedWindows:
    """What was found in all but some partitions."""
    from hamlet.paper.systems.records import ClosedWindows

    is_kept = ~np.isin(found.records[:, 0], parts)
    if is_kept.all():
        return found
    shape = (len(found.records), found.components, *found.numbers.shape[1:])
    kept = found.numbers.reshape(shape)[is_kept]
    return ClosedWindows(
        found.templates,
        found.components,
        found.records[is_kept],
        kept.reshape(-1, *found.numbers.shape[1:]),
        found.extremes[is_kept],
        found.redo,
    )


def partition_ranges(batch: EventBatch) -> NDArray[np.int64]:
    """For each partition its number, its first event, the one after its last, and its end's place.

    The end's place is where `latest` has what is known at the end of the partition.
    """
    part, n = batch.part, len(batch)
    firsts = np.flatnonzero(np.diff(part, prepend=-1)) if n else np.empty(0, np.int64)
    ends = np.append(firsts[1:], n)[: len(firsts)]
    places = n + np.arange(len(firsts))
    return np.stack([part[firsts], firsts, ends, places], axis=1).astype(np.int64)


def _events(batch: EventBatch, guards: int, partitions: int) -> SystemEvents:
    """A batch as compiled functions see it."""
    step = np.cumsum(batch.tied == 0)
    return SystemEvents(
        batch.ts,
        step.astype(np.int64),
        batch.letter,
        batch.letters,
        np.ascontiguousarray(batch.weights),
        np.ascontiguousarray(batch.extremes),
        np.ascontiguousarray(batch.previous),
        np.ascontiguousarray(batch.next),
        np.ascontiguousarray(batch.columns),
        np.empty((guards, len(batch) + partitions), np.int64),
    )


def _greta(tables: Tables, events: SystemEvents, ranges: NDArray[np.int64]) -> Run:
    from hamlet.paper.systems.greta import run_greta

    return lambda chosen, zero: run_greta(tables, events, chosen, zero)


def _sharon(tables: Tables, events: SystemEvents, ranges: NDArray[np.int64]) -> Run:
    from hamlet.paper.systems.sharon import families_of, run_sharon

    families = families_of(tables, events, ranges)
    return lambda chosen, zero: run_sharon(families, events, chosen, zero)


def _mcep(tables: Tables, events: SystemEvents, ranges: NDArray[np.int64]) -> Run:
    from hamlet.paper.systems.mcep import families_of, run_mcep

    families = families_of(tables)
    return lambda chosen, zero: run_mcep(families, tables, events, chosen, zero)


_STARTS: dict[str, Callable[[Tables, SystemEvents, NDArray[np.int64]], Run]] = {
    "greta": _greta,
    "sharon": _sharon,
    "mcep": _mcep,
}
