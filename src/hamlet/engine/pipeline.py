"""The pipeline of one sharable set: a table is encoded, code is compiled for it, run, and closed.

Every host goes through it: the engine in one process, tasks of Spark, streams, and what measures
them. So a policy of sharing, and a kind of numbers, is the same thing everywhere.

What does not depend on the events is worked out once for a workload (`Pipelines`): the program of
each set, and its code for each form of events that was met.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hamlet.engine.closed import ClosedSet
from hamlet.engine.groups import groups_of_queries
from hamlet.kernel.compile import EventForm, compile_code
from hamlet.kernel.encode.batch import encode
from hamlet.kernel.interpreted import interpret
from hamlet.kernel.jit import is_interpreted
from hamlet.kernel.recent import Recent
from hamlet.kernel.run import Counters, Portion, run_batch
from hamlet.kernel.walks import walks_of
from hamlet.kernel.widths import WidthClass, bundle_numbers, width_classes
from hamlet.plan.letters import Atom
from hamlet.plan.number_mode import NumberMode
from hamlet.plan.predicates import show_edge
from hamlet.plan.program import compile_set
from hamlet.plan.workload import plan_alone, plan_together
from hamlet.share.bundles import after_static, bundle_patience, with_fixed_patience
from hamlet.share.policy import inside, loop_name
from hamlet.share.trace import TracedLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from hamlet.engine.options import Options
    from hamlet.events.table import EventTable
    from hamlet.kernel.base import Emission, EventBatch
    from hamlet.kernel.code import Compiled
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.kernel.rows import PlacedGroup
    from hamlet.kernel.run import Standing
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.workload import SharableSet, WorkloadPlan
    from hamlet.share.policy import Policy


# Events of a table up to which sets that are partitioned alike are run as one, though they have
# nothing to share: these are put in order, lettered and walked through once. Measured up to here,
# that takes about as long as each by itself or less, down to two thirds.
_FEW_EVENTS = 1 << 20
# Forms of events that the code of a set is kept for: tables of one workload mostly have a few.
_MOST_FORMS = 16


def shared_plan(plan: WorkloadPlan, options: Options) -> WorkloadPlan:
    """A workload with the sets that are run together: where queries are run apart, each is one."""
    return plan_alone(plan) if _is_apart(options) else plan


def _may_go_together(options: Options) -> bool:
    """Whether it is nobody's business which sets there are: neither of a policy, nor of a trace."""
    is_own = options.system == "hamlet" and not is_interpreted()
    return is_own and not options.trace and options.sharing == "dynamic"


def _is_apart(options: Options) -> bool:
    """Whether each query is run by itself."""
    return options.sharing == "apart"


@dataclass(frozen=True, slots=True)
class Ready:
    """A set that can be run over the events it was made ready for, as often as one likes.

    Attributes:
        run: Runs it; its arguments are whether what is decided on the way is to be kept, and what
            is told where it stands, which may be left out.
        compiled: The code that is run; None where a system is run that the engine is compared with.
    """

    run: Callable[..., tuple[Emission, Counters]]
    compiled: Compiled | None = None


@dataclass(frozen=True, slots=True)
class SetPipeline:
    """One sharable set of a workload, with its program, and how it is run.

    `codes` has the code of the set for forms of events and options that were met. A pipeline that
    is made of another with `replace` begins without: its plan or program may be another.
    """

    plan: WorkloadPlan
    sharable: SharableSet
    options: Options
    program: Program
    codes: Recent[Compiled] = field(
        default_factory=lambda: Recent(_MOST_FORMS), init=False, compare=False
    )

    @classmethod
    def of(cls, plan: WorkloadPlan, sharable: SharableSet, options: Options) -> SetPipeline:
        """That of a set of a plan (see `shared_plan`)."""
        return cls(plan, sharable, options, compile_set(plan, sharable))

    def with_options(self, options: Options) -> SetPipeline:
        """The same set run in another way, with the code of this one where it needs the same."""
        other = replace(self, options=options)
        object.__setattr__(other, "codes", self.codes)
        return other

    @property
    def queries(self) -> list[Query]:
        """The queries of the set."""
        return [self.plan.queries[number].query for number in self.program.queries]

    def encode(
        self,
        table: EventTable,
        *,
        grids: Mapping[str, tuple[int, ...] | None] | None = None,
        has_edges: bool = True,
        is_whole: bool = False,
    ) -> EncodedSet:
        """The events of a table as arrays; see `kernel.encode.encode` for the arguments."""
        return encode(
            table,
            self.plan,
            self.sharable,
            self.program,
            self.options.numbers,
            grids=grids,
            has_edges=has_edges,
            is_whole=is_whole,
        )

    def compile(
        self,
        encoded: EncodedSet,
        *,
        form: EventForm | None = None,
        only: frozenset[int] | None = None,
        distinct: bool = True,
    ) -> Compiled:
        """The code for events, which the policy of sharing decides with.

        No more is looked at of the events than their form.

        Args:
            encoded: The events.
            form: What they are like, where that is known already.
            only: The templates to make units of; all that are not guards when left out.
            distinct: Whether components that are equal for these events are computed once.
        """
        form = EventForm.of(encoded) if form is None else form
        return self.compile_for(form, only=only, distinct=distinct)

    def compile_for(
        self, form: EventForm, *, only: frozenset[int] | None = None, distinct: bool = True
    ) -> Compiled:
        """The code for events of a form, perhaps that of a run before; see `compile`."""
        options = self.options
        # All that code depends on but the plan and the set, which are those of this pipeline.
        policy = (options.sharing, options.fixed, options.mode, options.coefficients)
        return self.codes.get_or_make(
            (form, only, distinct, policy), lambda: self._code(form, only, distinct)
        )

    def _code(self, form: EventForm, only: frozenset[int] | None, distinct: bool) -> Compiled:
        options, policy = self.options, inside(self.options.sharing)
        compiled = compile_code(
            self.plan,
            self.program,
            form,
            share=policy != "never",
            only=only,
            patience=bundle_patience(policy, options.mode, options.coefficients),
            distinct=distinct,
        )
        compiled = replace(compiled, sharing=tuple(map(self._policy_of, compiled.row_groups)))
        if policy == "static":
            tables = tuple(map(self._fixed_tables, compiled.row_groups))
            compiled = replace(compiled, tables=tables)
            return with_fixed_patience(compiled, self.plan, self.program, options.fixed)
        return compiled

    def _policy_of(self, made: PlacedGroup) -> Policy:
        """The policy for a group of rows."""
        if self.options.sharing != "static":
            return inside(self.options.sharing)
        return self.options.fixed.policy_of(self.loop_name(made))

    def _fixed_tables(self, made: PlacedGroup) -> tuple[tuple[int, ...], ...]:
        """The units of a group that have a table together: as many as can be, if nothing is fixed.

        Nothing of it follows from events of the run.
        """
        tables: dict[tuple[tuple[str, ...], Hashable], list[int]] = {}
        loop, is_shared = self.loop_name(made), self._policy_of(made) == "always"
        for number, unit in enumerate(made.group.units):
            (query,) = self.queries_of(made, (number,))
            # Over own columns those with different edge predicates have nothing of one table.
            predicate = None if is_shared and made.is_sharable else unit.predicate
            key = (self.options.fixed.table_of(loop, query), predicate)
            tables.setdefault(key, []).append(number)
        return tuple(map(tuple, tables.values()))

    def loop_name(self, made: PlacedGroup) -> str:
        """The loop of a group of rows as text."""
        atoms = [self.program.alphabet.atoms[atom] for atom in made.group.atoms]
        atom = atoms[0] if len(atoms) == 1 else Atom(atoms[0].type, None)
        numbers = (predicate.number for predicate in made.group.predicates)
        asked = [show_edge(self.program.predicates[number]) for number in numbers]
        return loop_name(atom, " OR ".join(asked))

    def traced_loop(self, made: PlacedGroup) -> TracedLoop:
        """The loop of a group of rows, with its queries, as a trace has it."""
        everyone = tuple(range(len(made.group.units)))
        return TracedLoop(
            self.program.alphabet.atoms[made.group.atoms[0]].type,
            self.loop_name(made),
            self.queries_of(made, everyone),
            tuple(self.queries_of(made, units) for units in (everyone, *made.classes)),
        )

    def queries_of(self, made: PlacedGroup, units: Iterable[int]) -> tuple[str, ...]:
        """The names of the queries of some units of a group, in the order of the workload."""
        program = self.program
        templates = (made.group.units[unit].template for unit in units)
        numbers = {program.queries[program.template_query[template]] for template in templates}
        return tuple(self.plan.queries[number].query.name for number in sorted(numbers))

    def afterwards(self, compiled: Compiled, batch: EventBatch) -> Compiled:
        """The code to go on with after a batch: a static policy does not merge again."""
        is_static = self.options.sharing == "static"
        return after_static(compiled, batch) if is_static else compiled

    def compile_unseen(
        self, digits: Mapping[str, tuple[int, ...]], only: frozenset[int] | None = None
    ) -> Compiled:
        """The code where no events are at hand, which tells how state is laid out."""
        form = self.form_unseen(digits)
        is_shared = self.options.sharing != "never"
        return compile_code(self.plan, self.program, form, share=is_shared, only=only)

    def form_unseen(self, digits: Mapping[str, tuple[int, ...]]) -> EventForm:
        """What events are taken to be like before there are any."""
        return EventForm.unseen(self.queries, self.program, digits, self.options.mode)

    def run(self, compiled: Compiled, batch: EventBatch) -> tuple[Emission, Counters]:
        """All windows of some events, closed at their end."""
        return run_batch(compiled, batch, self.options.mode)

    def ready(self, encoded: EncodedSet) -> Ready:
        """The set, ready to be run over events by the engine or by a system it is compared with."""
        if self.options.system != "hamlet":
            return self._ready_system(encoded)
        if is_interpreted():
            return self._ready_interpreted(encoded)
        compiled = self.compile(encoded)
        whole = _ranges(encoded)
        portions = self._portions(compiled, encoded, whole)

        def run(trace: bool, standing: Standing | None = None) -> tuple[Emission, Counters]:
            batch, mode = encoded.batch, self.options.mode
            return run_batch(compiled, batch, mode, trace, portions, standing, whole)

        return Ready(run, compiled)

    def _portions(
        self, compiled: Compiled, encoded: EncodedSet, ranges: NDArray[np.int64]
    ) -> list[Portion]:
        """What is run together: units that walk together, in exact mode by how long numbers are."""
        classes = self._classes(compiled, encoded, ranges)
        parts = [
            (some, one.words)
            for one in classes
            for some in walks_of(compiled, encoded.batch, one.templates)
        ]
        codes = [compiled]
        if len(parts) > 1:
            form = EventForm.of(encoded)
            codes = [self.compile(encoded, form=form, only=some) for some, _ in parts]
        return [
            Portion(code, ranges[needed == words], int(words), bundle_numbers(code, compiled))
            for (_, needed), code in zip(parts, codes, strict=True)
            for words in np.unique(needed)
        ]

    def _classes(
        self, compiled: Compiled, encoded: EncodedSet, ranges: NDArray[np.int64]
    ) -> tuple[WidthClass, ...]:
        if self.options.mode is NumberMode.EXACT:
            return width_classes(self.program, compiled, encoded.batch, ranges)
        every = frozenset(compiled.code.u_template.tolist())
        return (WidthClass(every, np.ones(len(ranges), np.int64)),)

    def _ready_interpreted(self, encoded: EncodedSet) -> Ready:
        def run(_trace: bool, _standing: Standing | None = None) -> tuple[Emission, Counters]:
            emission = interpret(self.queries, self.program, encoded, self.options.mode)
            return emission, Counters(windows=len(emission.part))

        return Ready(run)

    def _ready_system(self, encoded: EncodedSet) -> Ready:
        from hamlet.paper.systems.run import prepared

        start = prepared(self.options.system, self.plan, self.program, encoded)

        def run(_trace: bool, _standing: Standing | None = None) -> tuple[Emission, Counters]:
            emission = start(self.options.mode)
            return emission, Counters(windows=len(emission.part))

        return Ready(run)

    def closed(self, encoded: EncodedSet, emission: Emission) -> ClosedSet:
        """What was emitted for events, with what it takes to make results of it."""
        return ClosedSet(
            self.program,
            emission,
            encoded.digits,
            {name: name in encoded.integers for name in encoded.digits},
            groups_of_queries(encoded.keys, encoded.groupings),
        )

    def answered(self, table: EventTable) -> tuple[ClosedSet, Counters]:
        """All of it over a table: what its windows hold, and what was done."""
        encoded = self.encode(table, is_whole=True)
        emission, counters = self.ready(encoded).run(False)
        return self.closed(encoded, emission), counters


def _ranges(encoded: EncodedSet) -> NDArray[np.int64]:
    """All partitions as a run takes them: see `partition_ranges`."""
    ranges = np.full((len(encoded.starts), 6), -1, np.int64)
    ranges[:, 0] = np.arange(len(ranges))
    ranges[:, 1] = encoded.starts
    ranges[:-1, 2] = encoded.starts[1:]
    ranges[-1:, 2] = len(encoded.batch)
    return ranges


class Pipelines:
    """The pipelines of one workload, kept from one run to the next.

    A copy of it, in another process too, begins with nothing.
    """

    def __init__(self, plan: WorkloadPlan) -> None:
        """Begin with nothing but what is asked."""
        self.plan = plan
        self._made: dict[tuple[bool, bool], list[SetPipeline]] = {}

    def __reduce__(self) -> tuple[type[Pipelines], tuple[WorkloadPlan]]:
        return Pipelines, (self.plan,)

    def of(self, options: Options, events: int | None = None) -> list[SetPipeline]:
        """A pipeline for each set that is run together.

        Args:
            options: How it is run.
            events: How many events there are, where that may decide: unless they are very many,
                sets that have nothing to share are run together all the same.
        """
        is_apart, are_few = _is_apart(options), events is not None and events <= _FEW_EVENTS
        goes_together = are_few and not is_apart and _may_go_together(options)
        key = is_apart, goes_together
        if key not in self._made:
            plan = plan_together(self.plan) if goes_together else shared_plan(self.plan, options)
            self._made[key] = [SetPipeline.of(plan, each, options) for each in plan.sets]
        return [one.with_options(options) for one in self._made[key]]


def pipelines(plan: WorkloadPlan, options: Options) -> Iterator[SetPipeline]:
    """A pipeline for each set that is run together."""
    return iter(Pipelines(plan).of(options))
