"""A workload over a table, stage by stage, each with the time that the processor took for it."""

from __future__ import annotations

import gc
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hamlet.engine.closed import answers_of_sets
from hamlet.events.table import EventTable
from hamlet.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.engine import Options
    from hamlet.engine.closed import ClosedSet
    from hamlet.engine.pipeline import Pipelines, SetPipeline


COUNTED = ("bursts", "snapshots", "shared", "split", "merged")


class Stages:
    """One run, as `hamlet.engine` does it.

    Attributes:
        results: What came out.
        seconds: Of the processor, by stage. "plan" is what does not depend on the events: the
            program of each set and the code, graphs or sequences that it is run by. It is kept for
            later runs, as a workload keeps it.
        counts: What the engine did, by the names in COUNTED; nothing is counted of other systems.
    """

    def __init__(self, kept: Pipelines, source: Any, options: Options) -> None:
        self.seconds = dict.fromkeys(("read", "plan", "encode", "run", "finish"), 0.0)
        self.counts = Counter(dict.fromkeys(COUNTED, 0))
        gc.collect()
        plan = kept.plan
        with self._timed("read"):
            table = EventTable.of(source, plan, order=options.order)
        with self._timed("plan"):
            pipelines = kept.of(options, len(table))
        closed = [self._closed(pipeline, table) for pipeline in pipelines]
        with self._timed("finish"):
            answers = answers_of_sets(plan, closed)
            self.results = Results([planned.query for planned in plan.queries], answers)

    def _closed(self, pipeline: SetPipeline, table: EventTable) -> ClosedSet:
        """Encode, run and close one set."""
        with self._timed("encode"):
            encoded = pipeline.encode(table)
        with self._timed("plan"):
            ready = pipeline.ready(encoded)
        with self._timed("run"):
            emission, counters = ready.run(False)
        self.counts.update({name: getattr(counters, name) for name in COUNTED})
        with self._timed("finish"):
            return pipeline.closed(encoded, emission)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        self.seconds[stage] += time.process_time() - begun
