"""What the static policy fixes before a run: from a sample of earlier events, or from given rates.

Either way there is a batch of events that precedes the run. Rates are made one: events of each type
are drawn at random times, so many in a second, for a few windows; what is asked of an event by
itself is taken to hold, and what is compared is drawn too. Over that batch the dynamic policy is
run, and what it does with most bursts of a loop is what the static one does with all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.engine.options import Options, events_of
from hamlet.engine.pipeline import SetPipeline
from hamlet.errors import PlanError, UnknownName, did_you_mean, listed
from hamlet.kernel.base import EventBatch
from hamlet.kernel.rows.letters import may_pay
from hamlet.kernel.run import Counters, partition_ranges, run_group, tables_before
from hamlet.plan.number_mode import NumberMode
from hamlet.share.bundles import split_bundles
from hamlet.share.policy import NOTHING_FIXED, Fixed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hamlet.events.table import EventTable
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.compile import EventForm
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan

# Of what is drawn: windows, events, and where it begins
_WINDOWS = 4
_MOST_EVENTS = 200_000
_SEED = 1


def options_for(
    plan: WorkloadPlan,
    *,
    sample: Any = None,
    rates: Mapping[str, float] | None = None,
    **given: Any,
) -> Options:
    """Options that can be run with, with what the static policy fixes.

    Args:
        plan: The workload.
        sample: Events from before the run, whatever `EventTable.of` takes.
        rates: How many events of each type come in a second, to one partition.
        **given: Fields of `Options`.

    Raises:
        PlanError: A sample or rates are given, and the policy is another one, or both are.
        UnknownName: What is given is none of what there is.
    """
    options = Options(**given)
    options.check()
    if sample is None and rates is None:
        return options
    if options.sharing != "static":
        what = "a sample" if rates is None else "rates"
        reason = f"{what} of events is for sharing static, and this is sharing {options.sharing}"
        raise PlanError(reason, "Leave it out, or choose static.")
    if sample is not None and rates is not None:
        raise PlanError("a sample and rates say the same thing", "Give one of the two.")
    if rates is not None:
        _check_types(plan, rates)
    fixed = NOTHING_FIXED
    table = None if sample is None else events_of(sample, plan, options)
    # Which is cheaper does not depend on the kind of numbers, and this one needs no second run.
    tried = replace(options, sharing="dynamic", numbers="float", trace=False, fixed=NOTHING_FIXED)
    for sharable in plan.sets:
        before = _Before.of(SetPipeline.of(plan, sharable, tried), table, rates or {})
        alone, split, tables = before.alone(), before.split(), before.tables()
        fixed = Fixed(fixed.alone | alone, fixed.split | split, fixed.tables | tables)
    return replace(options, fixed=fixed)


def _check_types(plan: WorkloadPlan, rates: Mapping[str, float]) -> None:
    known = {place.type for planned in plan.queries for place in planned.query.places}
    for name, rate in rates.items():
        if name not in known:
            remedy = f"Types are {listed(sorted(known))}.{did_you_mean(name, known)}"
            raise UnknownName("type of events", name, remedy)
        if not 0 <= rate < float("inf"):
            reason = f"{name} cannot come {rate} times in a second"
            raise PlanError(reason, "Give a number from 0.")


@dataclass(frozen=True, slots=True)
class _Before:
    """A set with a batch of events that precedes its run."""

    pipeline: SetPipeline
    compiled: Compiled
    batch: EventBatch

    @classmethod
    def of(
        cls, pipeline: SetPipeline, table: EventTable | None, rates: Mapping[str, float]
    ) -> _Before:
        """That of a sample, or drawn at rates."""
        if table is not None:
            encoded = pipeline.encode(table)
            return cls(pipeline, pipeline.compile(encoded), encoded.batch)
        form = pipeline.form_unseen(dict.fromkeys(_summed(pipeline), (0,)))
        return cls(pipeline, pipeline.compile_for(form), _drawn(pipeline, form, rates))

    def alone(self) -> frozenset[str]:
        """The loops of which the dynamic policy shares no more than half of the bursts.

        Those are among them that it never shares, and so counts no bursts of.
        """
        bursts: dict[str, int] = {}
        shared: dict[str, int] = {}
        for made in self.compiled.row_groups:
            name, counters = self.pipeline.loop_name(made), Counters()
            if not may_pay(made):
                bursts[name], shared[name] = bursts.get(name, 0) + 1, shared.get(name, 0)
                continue
            run_group(
                self.compiled,
                made,
                "dynamic",
                self.batch,
                NumberMode.FLOAT,
                counters,
                partition_ranges(self.batch),
            )
            bursts[name] = bursts.get(name, 0) + counters.bursts
            shared[name] = shared.get(name, 0) + counters.shared_bursts
        return frozenset(name for name, n in bursts.items() if n and 2 * shared[name] <= n)

    def tables(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """The queries that have a table together, by loop, where not all of it have one."""
        return frozenset(
            (self.pipeline.loop_name(made), self.pipeline.queries_of(made, units))
            for made in self.compiled.row_groups
            for some in [tables_before(made, self.batch, partition_ranges(self.batch))]
            for units in (some if len(some) > 1 else ())
        )

    def split(self) -> frozenset[tuple[str, ...]]:
        """The bundles that it does not pay to merge."""
        one = self.pipeline
        coefficients = one.options.coefficients
        return frozenset(
            split_bundles(
                self.compiled, one.plan, one.program, self.batch, NumberMode.FLOAT, coefficients
            )
        )


def _summed(pipeline: SetPipeline) -> set[str]:
    """What is added up: attributes, and squares of them."""
    queries = (pipeline.plan.queries[number].query for number in pipeline.program.queries)
    return {name for query in queries for aggregate in query.aggregates for name in aggregate.sums}


def _drawn(pipeline: SetPipeline, form: EventForm, rates: Mapping[str, float]) -> EventBatch:
    """Events of one partition at random times, a few windows long or as long as they may be."""
    program = pipeline.program
    windows = [pipeline.plan.queries[number].query.window for number in program.queries]
    types = [name for name in program.alphabet.types if rates.get(name)]
    total = sum(rates[name] for name in types)
    seconds = _WINDOWS * max(window.within_us for window in windows) / 1e6
    seconds = min(seconds, _MOST_EVENTS / total) if total else 0.0
    rng = np.random.default_rng(_SEED)
    counts = [rng.poisson(rates[name] * seconds) for name in types]
    ts = rng.integers(0, max(1, int(seconds * 1e6)), sum(counts))
    letter = np.repeat(np.arange(len(types), dtype=np.int32), counts)
    order = np.argsort(ts, kind="stable")
    ts, letter = ts[order], letter[order]
    return _batch_of(program, form, ts, letter, types, rng)


def _batch_of(
    program: Program,
    form: EventForm,
    ts: NDArray[np.int64],
    letter: NDArray[np.int32],
    types: list[str],
    rng: np.random.Generator,
) -> EventBatch:
    n, atoms = len(ts), program.alphabet.atoms
    letters = np.array([[atom.type == name for atom in atoms] for name in types], np.uint8)
    tied = np.zeros(n, np.uint8)
    tied[1:] = ts[1:] == ts[:-1]
    values = rng.random((len(program.predicates), n))
    return EventBatch(
        np.zeros(n, np.int32),
        ts,
        tied,
        letter,
        letters.reshape(len(types), len(atoms)),
        form.weights,
        np.ones((len(form.weights), n)),
        form.extreme_attributes,
        rng.random((len(form.extreme_attributes), n)),
        values,
        values.copy(),
        form.column_names,
        rng.random((len(form.column_names), n)),
    )
