"""A whole workload over a table, in one process: read, encode, run, finish.

Each sharable set is encoded and run by itself; with `sharing="apart"` each query is a set of its
own.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.engine.closed import answers_of_sets
from hamlet.engine.empty_results import Seen, odd_events, why_empty
from hamlet.engine.first_answer import NOTE, is_soon_interpreted, may_interpret
from hamlet.engine.groups import groups_of
from hamlet.engine.options import events_of
from hamlet.engine.pipeline import Pipelines
from hamlet.engine.slow_loops import RUN_BEGINS, followed, slow_loops
from hamlet.engine.statistics import RunStatistics, timed
from hamlet.events.required_columns import types_by_key
from hamlet.kernel.encode.arranging import used_rows
from hamlet.kernel.encode.partitions import Grouping, rows_without
from hamlet.kernel.jit import interpreted, is_interpreted
from hamlet.share.bundles import bundle_reports, set_trace
from hamlet.share.trace import burst_table, trace_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hamlet.engine.closed import ClosedSet
    from hamlet.engine.options import Options, Progress
    from hamlet.engine.pipeline import SetPipeline
    from hamlet.events.table import EventTable
    from hamlet.events.times import Times
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.kernel.finish import SetAnswers
    from hamlet.kernel.run import Counters
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.share.bundles import BundleReport


@dataclass(frozen=True, slots=True)
class LocalRun:
    """What a run gave.

    Attributes:
        queries: All queries of the workload, in order.
        answers: Their rows, set by set.
        times: What the times of events were given in.
        statistics: What was done.
        notes: What may be a mistake, such as a type that no event has.
        why_empty: Finds out why queries have no rows, a sentence for each; takes a run or two more.
        trace: What was decided about sharing, a table, if that was asked for.
        bundles: With a trace, the queries that could be one while they behave alike.
    """

    queries: tuple[Query, ...]
    answers: list[SetAnswers]
    times: Times
    statistics: RunStatistics
    notes: tuple[str, ...]
    why_empty: Callable[[], Sequence[str]]
    trace: Any
    bundles: tuple[BundleReport, ...]


def run_workload(
    plan: WorkloadPlan,
    source: Any,
    options: Options,
    progress: Progress | None = None,
    kept: Pipelines | None = None,
) -> LocalRun:
    """The answers of every query over all events of a source.

    Args:
        plan: The workload.
        source: The events: see `EventTable.of`.
        options: How it is run.
        progress: Is told what is being done.
        kept: What earlier runs of the same workload have worked out, which this run adds to.
    """
    options.check()
    statistics = RunStatistics()
    tell = progress or _say_nothing
    tell("reading", 0.0)
    with timed(statistics, "read"):
        table = events_of(source, plan, options)
    with interpreted(is_interpreted() or may_interpret(plan, table, options)):
        return _run_table(plan, table, options, statistics, tell, kept)


def _run_table(
    plan: WorkloadPlan,
    table: EventTable,
    options: Options,
    statistics: RunStatistics,
    tell: Progress,
    kept: Pipelines | None,
) -> LocalRun:
    """The same for events that have been read."""
    times = table.times
    closed: list[ClosedSet] = []
    traces: list[Any] = [trace_schema(times).empty_table()] if options.trace else []
    bundles: list[BundleReport] = []
    slow: list[str] = []
    with timed(statistics, "plan"):
        pipelines = (Pipelines(plan) if kept is None else kept).of(options, len(table))
    count = len(pipelines)
    for number, pipeline in enumerate(pipelines):
        # Reading is counted as one part, and so is what each set takes.
        def tell_set(what: str, done: float, number: int = number) -> None:
            tell(f"{what} set {number + 1} of {count}", (1 + number + done) / (1 + count))

        ran = _run_set(pipeline, table, options, statistics, tell_set)
        closed.append(ran.closed)
        slow += ran.notes
        if ran.compiled is not None and options.trace:
            traces += _traces_of(ran, ran.compiled, number + 1, times, options)
            shared, program = pipeline.plan, pipeline.program
            bundles += bundle_reports(ran.compiled, shared, program, options.mode, number + 1)
    with timed(statistics, "finish"), interpreted(statistics.interpreted > 0):
        answers = answers_of_sets(plan, closed)
    sizes = _rows_by_query(plan, answers)
    statistics.events_in = table.statistics.rows
    statistics.events_used = used_rows(table)
    statistics.malformed = table.statistics.malformed
    statistics.without_key = rows_without(table, types_by_key(plan))
    notes = [*table.statistics.notes, *odd_events(plan, Seen.of(table)), *slow]
    tell("putting results together", 1.0)
    return LocalRun(
        tuple(planned.query for planned in plan.queries),
        answers,
        times,
        statistics,
        (*dict.fromkeys(notes), *([NOTE] if statistics.interpreted else ())),
        partial(why_no_rows, plan, table, sizes, options) if not all(sizes) else tuple,
        pa.concat_tables(traces).unify_dictionaries() if options.trace else None,
        tuple(bundles),
    )


def _rows_by_query(plan: WorkloadPlan, answers: list[SetAnswers]) -> list[int]:
    """How many rows each query has."""
    sizes = [0] * len(plan.queries)
    for each in answers:
        for number, size in zip(each.numbers, np.diff(each.starts).tolist(), strict=True):
            sizes[number] += size
    return sizes


def why_no_rows(
    plan: WorkloadPlan,
    table: EventTable,
    sizes: list[int],
    options: Options,
    seen: Seen | None = None,
) -> list[str]:
    """Why queries have no rows; asked for by who shows it, since it takes longer than many runs.

    Args:
        plan: The workload.
        table: The events, or the earliest of them.
        sizes: How many rows each query has.
        options: How it was run.
        seen: What is known of all events, where the table has some only.
    """
    with interpreted(is_interpreted() or may_interpret(plan, table, options)):
        return why_empty(plan, table, sizes, partial(_rows_of, options=options), seen)


def _rows_of(plan: WorkloadPlan, table: EventTable, options: Options) -> list[int]:
    """How many rows the queries of another workload have over the same events."""
    how = replace(options, trace=False, system="hamlet")
    closed = [
        _run_set(pipeline, table, how, RunStatistics(), _say_nothing).closed
        for pipeline in Pipelines(plan).of(how)
    ]
    return _rows_by_query(plan, answers_of_sets(plan, closed))


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a sharable set gave, and what is needed to read its trace."""

    closed: ClosedSet
    pipeline: SetPipeline
    encoded: EncodedSet
    compiled: Compiled | None
    counters: Counters
    notes: list[str]


def _run_set(
    pipeline: SetPipeline,
    table: EventTable,
    options: Options,
    statistics: RunStatistics,
    tell: Progress,
) -> _Ran:
    """Run a set, with the engine or with a system that it is compared with."""
    tell("encoding", 0.0)
    with timed(statistics, "encode"):
        encoded = pipeline.encode(table, is_whole=True)
    is_quick = is_interpreted() and is_soon_interpreted(pipeline.queries, pipeline.program, encoded)
    statistics.interpreted += is_quick
    with interpreted(is_quick) if is_interpreted() else nullcontext():
        with timed(statistics, "plan"):
            ready = pipeline.ready(encoded)
        slow = slow_loops(pipeline.queries, pipeline.program, encoded)
        tell("running", RUN_BEGINS)
        with timed(statistics, "run"), followed(slow, encoded.batch, tell) as standing:
            emission, counters = ready.run(options.trace, standing)
        statistics.count(counters)
        tell("finishing", 0.9)
        with timed(statistics, "finish"):
            closed = pipeline.closed(encoded, emission)
    notes = [each.note for each in slow if each.is_many]
    return _Ran(closed, pipeline, encoded, ready.compiled, counters, notes)


def _traces_of(
    ran: _Ran, compiled: Compiled, number: int, times: Times, options: Options
) -> Iterator[Any]:
    """The trace of a set: a table of its bundles, and one of each group of rows."""
    count = int(ran.encoded.batch.part.max(initial=-1)) + 1
    everything = np.arange(count, dtype=np.int32)
    by_partition = Grouping(tuple(ran.encoded.keys), everything, everything)
    groups = groups_of(ran.encoded.keys, by_partition).texts
    pipeline, program = ran.pipeline, ran.pipeline.program
    how: dict[str, Any] = {"sharable_set": number, "times": times}
    yield set_trace(
        ran.counters.trace or [],
        compiled,
        pipeline.plan,
        program,
        ran.encoded.batch,
        groups,
        options.mode,
        coefficients=options.coefficients,
        **how,
    )
    decided = ran.counters.bursts_decided or []
    for made, raw in zip(compiled.row_groups, decided, strict=True):
        clock = pipeline.plan.queries[program.queries[0]].query.window.clock
        loop = pipeline.traced_loop(made)
        yield burst_table(raw, groups, loop, program.pane_us, clock=clock, **how)


def _say_nothing(what: str, done: float) -> None:
    """What is called where nobody wants to know."""
