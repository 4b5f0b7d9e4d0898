"""A workload over a table, stage by stage, each with the time that the processor took for it."""

from __future__ import annotations

import gc
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hamlet.engine.pipeline import SetPipeline, shared_plan
from hamlet.events.table import EventTable
from hamlet.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.engine import Options
    from hamlet.workload import Workload


COUNTED = ("bursts", "snapshots", "shared", "split", "merged")


class Stages:
    """One run, as `hamlet.engine` does it.

    Attributes:
        results: What came out.
        seconds: Of the processor, by stage. "plan" is what does not depend on the events: the
            program of each set and the code, graphs or sequences that it is run by.
        counts: What the engine did, by the names in COUNTED; nothing is counted of other systems.
    """

    def __init__(self, workload: Workload, source: Any, options: Options) -> None:
        self.seconds = dict.fromkeys(("read", "plan", "encode", "run", "finish"), 0.0)
        self.counts = Counter(dict.fromkeys(COUNTED, 0))
        gc.collect()
        plan = workload.plan
        with self._timed("read"):
            table = EventTable.of(source, plan, order=options.order)
        shared = shared_plan(plan, options)
        answers: list[Any] = []
        for sharable in shared.sets:
            with self._timed("plan"):
                pipeline = SetPipeline.of(shared, sharable, options)
            with self._timed("encode"):
                encoded = pipeline.encode(table)
            with self._timed("plan"):
                ready = pipeline.ready(encoded)
            with self._timed("run"):
                emission, counters = ready.run(False)
            self.counts.update({name: getattr(counters, name) for name in COUNTED})
            with self._timed("finish"):
                answers.append(pipeline.closed(encoded, emission).answers(shared))
        with self._timed("finish"):
            self.results = Results([planned.query for planned in plan.queries], answers)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        self.seconds[stage] += time.process_time() - begun
