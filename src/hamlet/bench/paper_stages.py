"""A workload over a table, stage by stage, each with the time that the processor took for it."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from hamlet.engine import compile_encoded, groups_of
from hamlet.events import EventTable
from hamlet.kernel.encode import encode
from hamlet.kernel.finish import finish
from hamlet.kernel.run import run_batch
from hamlet.plan.program import compile_set
from hamlet.plan.workload import plan_alone
from hamlet.results import Results
from hamlet.systems.run import prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hamlet.engine import Options
    from hamlet.kernel.base import Emission
    from hamlet.kernel.encode import EncodedSet
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.workload import Workload


@dataclass(slots=True)
class Counters:
    """What the engine did; nothing is counted of other systems."""

    bursts: int = 0
    snapshots: int = 0
    shared: int = 0
    split: int = 0
    merged: int = 0

    def add(self, other: Any) -> None:
        """Add what was counted elsewhere."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class Stages:
    """One run, as `hamlet.engine` does it.

    Attributes:
        results: What came out.
        seconds: Of the processor, by stage. "plan" is what does not depend on the events: the
            program of each set and the code, graphs or sequences that it is run by.
        counters: What the engine did.
    """

    def __init__(self, workload: Workload, source: Any, options: Options) -> None:
        self.seconds = dict.fromkeys(("read", "plan", "encode", "run", "finish"), 0.0)
        self.counters = Counters()
        gc.collect()
        plan = workload.plan
        with self._timed("read"):
            table = EventTable.of(source, plan, order=options.order)
        shared = plan_alone(plan) if options.sharing == "never" else plan
        answers: list[Any] = []
        for sharable in shared.sets:
            with self._timed("plan"):
                program = compile_set(shared, sharable)
            with self._timed("encode"):
                encoded = encode(table, shared, sharable, program, options.numbers)
            with self._timed("plan"):
                run = self._ready(shared, program, encoded, options)
            with self._timed("run"):
                emission = run()
            with self._timed("finish"):
                is_integer = {a: a in encoded.integers for a in encoded.digits}
                groups = groups_of(encoded)
                answers += finish(
                    shared,
                    program,
                    emission,
                    digits=encoded.digits,
                    is_integer=is_integer,
                    groups=groups,
                )
        with self._timed("finish"):
            self.results = Results([planned.query for planned in plan.queries], answers)

    def _ready(
        self, plan: WorkloadPlan, program: Program, encoded: EncodedSet, options: Options
    ) -> Callable[[], Emission]:
        is_float = options.numbers == "float"
        if options.system != "hamlet":
            other = prepared(options.system, plan, program, encoded)
            return lambda: other(is_float)
        compiled = compile_encoded(plan, program, encoded, options)

        def run() -> Emission:
            emission, counters = run_batch(compiled, encoded.batch, is_float)
            self.counters.add(counters)
            return emission

        return run

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        self.seconds[stage] += time.process_time() - begun
