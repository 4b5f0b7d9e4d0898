"""A whole workload over a table, in one process: read, encode, run, finish.

Each sharable set is encoded and run by itself; with `sharing="never"` each query is a set of its
own.
"""

from __future__ import annotations

import datetime
import json
import time as clock
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.compiling import timed_kernels
from hamlet.errors import PlanError, did_you_mean, listed
from hamlet.events import EventTable
from hamlet.kernel.compiler import compile_code
from hamlet.kernel.encode import EncodedSet, encode
from hamlet.kernel.finish import Answer, Groups, finish
from hamlet.kernel.partitions import Grouping
from hamlet.kernel.shared import are_of_one_size, run_batch
from hamlet.plan.program import compile_set
from hamlet.plan.workload import WorkloadPlan, plan_alone
from hamlet.results import Results
from hamlet.share.bundles import bundle_patience, bundle_reports, set_trace, with_static_patience
from hamlet.share.coefficients import DEFAULTS, CoefficientTable
from hamlet.share.policy import POLICIES, Policy
from hamlet.share.trace import trace_schema
from hamlet.statistics import RunStatistics
from hamlet.systems import SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission, Numbers
    from hamlet.kernel.code import Compiled
    from hamlet.plan.program import Program
    from hamlet.plan.workload import SharableSet
    from hamlet.results import Times
    from hamlet.share.bundles import BundleReport

    # Is told what is being done, and which part of the whole has been done before, from 0 to 1.
    Progress = Callable[[str, float], None]
    _Trace = list[NDArray[np.int64]] | None

NUMBERS = ("exact", "float")


@dataclass(frozen=True, slots=True)
class Options:
    """How a workload is run.

    `coefficients` are what the policy decides with; `trace` is whether what it decides is kept.
    `system` is what runs it: the engine itself, or one that it is compared with.
    """

    type: str = "type"
    time: str = "time"
    order: str | None = None
    numbers: Numbers = "exact"
    sharing: Policy = "dynamic"
    coefficients: CoefficientTable = DEFAULTS
    trace: bool = False
    system: str = "hamlet"

    def check(self) -> None:
        """Refuse what is not an option."""
        if self.numbers not in NUMBERS:
            raise PlanError("numbers", self.numbers, "Numbers are exact or float.")
        if self.sharing not in POLICIES:
            raise PlanError("sharing", self.sharing, f"Sharing is one of {listed(POLICIES)}.")
        if self.system not in SYSTEMS:
            raise PlanError("system", self.system, f"Systems are {listed(SYSTEMS)}.")
        if self.system != "hamlet" and self.trace:
            remedy = "Run without it, or with system hamlet."
            raise PlanError("trace of system", self.system, remedy)


def run_workload(
    plan: WorkloadPlan, source: Any, options: Options, progress: Progress | None = None
) -> Results:
    """The results of every query over all events of a source."""
    options.check()
    statistics = RunStatistics()
    tell = progress or _say_nothing
    tell("reading", 0.0)
    with _timed(statistics, "read"):
        table = EventTable.of(
            source, plan, type=options.type, time=options.time, order=options.order
        )
    times: Times = "seconds" if table.time_is_number else "timestamps"
    answers: list[Answer] = []
    traces: list[Any] = [trace_schema(times).empty_table()]
    bundles: list[BundleReport] = []
    shared_plan = plan_alone(plan) if options.sharing == "never" else plan
    count = len(shared_plan.sets)
    for number, sharable in enumerate(shared_plan.sets):
        # Reading is counted as one part, and so is what each set takes.
        def tell_set(what: str, done: float, number: int = number) -> None:
            tell(f"{what} set {number + 1} of {count}", (1 + number + done) / (1 + count))

        ran = _run_set(shared_plan, sharable, table, options, statistics, tell_set)
        answers += ran.answers
        if ran.trace is not None and ran.compiled is not None:
            traces.append(_trace_of(ran, ran.compiled, ran.trace, number + 1, times, options))
            is_float = options.numbers == "float"
            bundles += bundle_reports(ran.compiled, shared_plan, ran.program, is_float, number + 1)
    statistics.events_in = table.statistics.rows
    statistics.events_used = table.statistics.used
    statistics.malformed = table.statistics.malformed
    queries = [planned.query for planned in plan.queries]
    tell("putting results together", 1.0)
    with _timed(statistics, "results"):
        results = Results(queries, answers, times=times, statistics=statistics)
        results.notes = _notes(plan, table)
        if options.trace:
            results.trace = pa.concat_tables(traces).unify_dictionaries()
            results.bundles = tuple(bundles)
        return results


def _notes(plan: WorkloadPlan, table: EventTable) -> tuple[str, ...]:
    """What is odd about the events: types that queries ask for and no event has may be misspelt."""
    known = set(table.types.words.to_pylist() if table.types.words is not None else ())
    asked = (place.type for planned in plan.queries for place in planned.query.places)
    absent = [each for each in dict.fromkeys(asked) if each not in known]
    if not absent or not len(table):
        return ()
    guess = did_you_mean(absent[0], known) if len(absent) == 1 else ""
    return (f"no event has type {listed(absent)}; there are {listed(sorted(known))}.{guess}",)


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a sharable set gave, and what is needed to read its trace."""

    answers: tuple[Answer, ...]
    program: Program
    encoded: EncodedSet
    compiled: Compiled | None
    trace: _Trace


def _run_set(
    plan: WorkloadPlan,
    sharable: SharableSet,
    table: EventTable,
    options: Options,
    statistics: RunStatistics,
    tell: Progress,
) -> _Ran:
    """Run a set, with the engine or with a system that it is compared with."""
    tell("encoding", 0.0)
    with _timed(statistics, "plan"):
        program = compile_set(plan, sharable)
    with _timed(statistics, "encode"):
        encoded = encode(table, plan, sharable, program, options.numbers)
    tell("running", 0.3)
    run = _by_engine if options.system == "hamlet" else _by_system
    emission, compiled, trace = run(plan, program, encoded, options, statistics)
    tell("finishing", 0.9)
    with _timed(statistics, "finish"):
        answers = _finished(plan, program, encoded, emission)
    statistics.groups += _groups_in(answers)
    return _Ran(answers, program, encoded, compiled, trace)


def _by_engine(
    plan: WorkloadPlan,
    program: Program,
    encoded: EncodedSet,
    options: Options,
    statistics: RunStatistics,
) -> tuple[Emission, Compiled | None, _Trace]:
    with _timed(statistics, "run"):
        compiled = compile_encoded(plan, program, encoded, options)
        is_float = options.numbers == "float"
        emission, counters = run_batch(compiled, encoded.batch, is_float, trace=options.trace)
    statistics.bursts += counters.bursts
    statistics.snapshots += counters.snapshots
    statistics.shared += counters.shared
    statistics.splits += counters.split
    statistics.merges += counters.merged
    statistics.windows_closed += counters.windows
    return emission, compiled, counters.trace


def _by_system(
    plan: WorkloadPlan,
    program: Program,
    encoded: EncodedSet,
    options: Options,
    statistics: RunStatistics,
) -> tuple[Emission, Compiled | None, _Trace]:
    from hamlet.systems.run import prepared

    with _timed(statistics, "plan"):
        run = prepared(options.system, plan, program, encoded)
    with _timed(statistics, "run"):
        emission = run(options.numbers == "float")
    statistics.windows_closed += len(emission.part)
    return emission, None, None


def _finished(
    plan: WorkloadPlan, program: Program, encoded: EncodedSet, emission: Emission
) -> tuple[Answer, ...]:
    return finish(
        plan,
        program,
        emission,
        digits=encoded.digits,
        is_integer={a: a in encoded.integers for a in encoded.digits},
        groups=groups_of(encoded),
    )


def _groups_in(answers: tuple[Answer, ...]) -> int:
    return sum(len(pc.unique(answer.rows["group"])) for answer in answers)


def _trace_of(
    ran: _Ran,
    compiled: Compiled,
    matrices: list[NDArray[np.int64]],
    number: int,
    times: Times,
    options: Options,
) -> Any:
    """The trace of a set as a table."""
    count = int(ran.encoded.batch.part.max(initial=-1)) + 1
    everything = np.arange(count, dtype=np.int32)
    by_partition = Grouping(tuple(ran.encoded.keys), everything, everything)
    return set_trace(
        matrices,
        compiled,
        ran.program,
        ran.encoded.batch,
        _named_groups(ran.encoded, by_partition).json,
        options.numbers == "float",
        sharable_set=number,
        times=times,
        coefficients=options.coefficients,
    )


def compile_encoded(
    plan: WorkloadPlan, program: Program, encoded: EncodedSet, options: Options
) -> Compiled:
    """The code that the machine runs over the events of a set."""
    batch, is_float = encoded.batch, options.numbers == "float"
    compiled = compile_code(
        plan,
        program,
        batch.weight_specs,
        batch.extreme_attributes,
        encoded.digits,
        encoded.conditions,
        batch.column_names,
        encoded.ordered_usable,
        is_float=is_float,
        lazy_weights=are_of_one_size(batch.weights),
        share=options.sharing != "never",
        ones=[
            spec.kind != "value" and bool((row == 1).all())
            for spec, row in zip(batch.weight_specs, batch.weights, strict=True)
        ],
        patience=bundle_patience(options.sharing, is_float, options.coefficients),
        distinct=True,
    )
    compiled = replace(compiled, sharing=options.sharing)
    if options.sharing == "static":
        return with_static_patience(compiled, batch, is_float, options.coefficients)
    return compiled


def groups_of(encoded: EncodedSet) -> list[Groups]:
    """The groups of each query; queries that group alike have them in common."""
    made: dict[tuple[str, ...], Groups] = {}
    for grouping in encoded.groupings:
        if grouping.attributes not in made:
            made[grouping.attributes] = _named_groups(encoded, grouping)
    return [made[grouping.attributes] for grouping in encoded.groupings]


def _named_groups(encoded: EncodedSet, grouping: Grouping) -> Groups:
    values = {name: encoded.keys[name].take(grouping.partition) for name in grouping.attributes}
    count = len(grouping.partition)
    pieces: list[Any] = []
    for number, (name, column) in enumerate(values.items()):
        lead = ("{" if number == 0 else ", ") + json.dumps(name, ensure_ascii=False) + ": "
        pieces += [pa.scalar(lead, pa.large_string()), _json_texts(column)]
    if not pieces:
        return Groups(grouping.of_partition, ["{}"] * count, values)
    pieces.append(pa.scalar("}", pa.large_string()))
    texts = pc.binary_join_element_wise(*pieces, pa.scalar("", pa.large_string()))
    return Groups(grouping.of_partition, texts.to_pylist(), values)


def _json_texts(column: pa.Array) -> pa.Array:
    """Each value as JSON text."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.large_string())
    texts = [json.dumps(_plain(v), ensure_ascii=False) for v in column.to_pylist()]
    return pa.array(texts, pa.large_string())


def _plain(value: Any) -> Any:
    """A value that JSON knows; times as ISO text."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _say_nothing(what: str, done: float) -> None:
    """What is called where nobody wants to know."""


@contextmanager
def _timed(statistics: RunStatistics, stage: str) -> Iterator[None]:
    """Add the time that a stage takes to what it has taken; compiling and loading is one apart."""
    begun = clock.perf_counter()
    with timed_kernels() as kernels:
        yield
    took = clock.perf_counter() - begun - kernels.seconds
    statistics.seconds[stage] = statistics.seconds.get(stage, 0.0) + took
    if kernels.seconds:
        before = statistics.seconds.get("kernels", 0.0)
        statistics.seconds["kernels"] = before + kernels.seconds
