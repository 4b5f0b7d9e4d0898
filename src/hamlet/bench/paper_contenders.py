"""Who is compared at a point: the engine under a policy, a system of the paper, or written loops.

All get the same tables and give the same answers. A contender that runs each query by itself reads
and encodes the events for each, as programs do that know nothing of one another: that is GRETA
without the help of one encoding for all queries.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hamlet.bench.paper_paced import Paced
from hamlet.bench.paper_points import HOSTS, POLICIES
from hamlet.bench.paper_stages import Stages
from hamlet.bench.paper_streams import order_of
from hamlet.bench.real.measure import Contest, compare, keyed
from hamlet.bench.real.workloads import RealWorkload
from hamlet.bench.timing import seconds
from hamlet.engine import Options, options_for, run_workload
from hamlet.engine.pipeline import Pipelines
from hamlet.engine.session import Session
from hamlet.errors import SystemCannot
from hamlet.plan.workload import plan_workload
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

# Into how many batches a table is cut to look at the state between them.
_LOOKS = 24


class Took(NamedTuple):
    """Seconds of the processor for one table; the kernel's are None where they are not apart."""

    latency: float
    kernel: float | None


class Contender(Protocol):
    """One who answers the queries of a point over its tables."""

    def warm_up(self) -> None:
        """Have everything compiled."""

    def answer(self) -> list[Any] | None:
        """The answers, a table of results for each.

        None where they have been compared with those of the engine already.
        """

    def counts(self) -> dict[str, int]:
        """What was counted; it may take longer than answers do."""

    def measure(self) -> dict[str, float | None]:
        """The figures of one run over every table."""


def _figures(found: Sequence[Took]) -> dict[str, float | None]:
    """What one run took: on average for a table, and in all."""
    kernels = [each.kernel for each in found if each.kernel is not None]
    return {
        "latency_s": mean(each.latency for each in found),
        "total_s": sum(each.latency for each in found),
        "kernel_s": mean(kernels) if kernels else None,
    }


def contender_of(
    point: dict[str, Any], workload: Workload, tables: Sequence[Any], sample: Any
) -> Contender:
    """The contender of a point."""
    name, order = point["name"], order_of(point)
    if name == "loops":
        return Loops(workload, tables, order)
    if name in HOSTS:
        return Paced(workload, tables[0], name, point["speed"])
    system, _, is_apart = name.partition(" ")
    if is_apart:
        options = Options(numbers="float", order=order, system=system)
        return OneByOne(workload, tables, options)
    if name in POLICIES:
        options = options_for(
            workload.plan,
            numbers="float",
            order=order,
            sharing=name,
            sample=sample if name == "static" else None,
        )
        return Engine(workload, tables, options, point["are_policies"])
    shown = Options(numbers="float", order=order, system=name)
    return Engine(workload, tables, shown, False)


class Engine:
    """The engine, or a system, over all queries."""

    def __init__(
        self, workload: Workload, tables: Sequence[Any], options: Options, is_traced: bool
    ) -> None:
        self.workload, self.tables, self.options = workload, tables, options
        self.is_traced = is_traced
        self.kept = Pipelines(workload.plan)
        # What the first answer took for what is made once for a workload, and what it did
        self.plan_s = 0.0
        self.done = Counter[str]()

    def warm_up(self) -> None:
        """Have kernels of both sizes of numbers compiled, or read from disk."""
        options = self.options
        events = [{"time": t, "type": "ABC"[min(t, 1)], "x": t % 7, "n": t} for t in range(1200)]
        some = events if options.system != "mcep" else events[:5]
        text = "q: RETURN COUNT(*), SUM(B.x), MAX(B.x) PATTERN SEQ(A, NOT C, B+) WITHIN 1 h"
        plain = Options(numbers="float", system=options.system, sharing=options.sharing, order="n")
        Stages(Pipelines(Workload.parse(text).plan), some, plain)
        if options.system == "hamlet":
            edge = Workload.parse(text.replace("WITHIN", "WHERE B.x < NEXT(B).x WITHIN"))
            Stages(Pipelines(edge.plan), some, plain)

    def answer(self) -> list[Any] | None:
        """The results."""
        answers = []
        for table in self.tables:
            stages = Stages(self.kept, table, self.options)
            self.plan_s += stages.seconds["plan"]
            answers.append(stages.results.table)
            self.done.update(stages.counts)
        return answers

    def counts(self) -> dict[str, int]:
        """What the first answer did, what was decided, and the bytes of state."""
        counts = dict(self.done)
        if self.is_traced:
            counts |= self._decided()
        if self.options.system == "hamlet":
            counts["state_bytes"] = max(map(self._state, self.tables))
        return counts

    def _decided(self) -> dict[str, int]:
        """How many decisions there were about bursts, and how many of each."""
        counts = Counter[str]()
        for table in self.tables:
            traced = run_workload(self.workload.plan, table, replace(self.options, trace=True))
            for row in (
                traced.trace.group_by(["about", "decided"])
                .aggregate([([], "count_all"), ("snapshots_created", "sum")])
                .to_pylist()
            ):
                counts["decisions"] += row["count_all"]
                counts[f"{row['about']} {row['decided']}"] += row["count_all"]
        return dict(counts)

    def _state(self, table: Any) -> int:
        """The most bytes of state between two batches of a stream of a table's events."""
        session = Session(self.workload.plan, self.options, table.schema)
        step, most = -(-len(table) // _LOOKS), 0
        times = table["time"].cast("int64")
        for start in range(0, len(table), step):
            session.feed(table.slice(start, step))
            session.close_until(times[min(start + step, len(table)) - 1].as_py())
            most = max(most, len(session.snapshot()))
        return most

    def measure(self) -> dict[str, float | None]:
        """The figures of one run over every table."""
        took = [_took(Stages(self.kept, table, self.options)) for table in self.tables]
        return {**_figures(took), "plan_s": self.plan_s}


def _took(stages: Stages) -> Took:
    return Took(sum(stages.seconds.values()), stages.seconds["run"])


class OneByOne(Engine):
    """A system that reads and encodes the events for each query anew."""

    def __init__(self, workload: Workload, tables: Sequence[Any], options: Options) -> None:
        super().__init__(workload, tables, options, False)
        self.alone = [Pipelines(plan_workload([one])) for one in workload.plan.queries]

    def answer(self) -> list[Any] | None:
        """The results of all queries, in their order."""
        import pyarrow as pa

        answers = []
        for table in self.tables:
            stages = [Stages(one, table, self.options) for one in self.alone]
            self.plan_s += sum(each.seconds["plan"] for each in stages)
            answers.append(pa.concat_tables([each.results.table for each in stages]))
        return answers

    def counts(self) -> dict[str, int]:
        """Nothing is counted of queries by themselves."""
        return {}

    def measure(self) -> dict[str, float | None]:
        """The figures of one run over every table."""
        took = [self._each_over(table) for table in self.tables]
        return {**_figures(took), "plan_s": self.plan_s}

    def _each_over(self, table: Any) -> Took:
        """What all queries take for a table, one after the other."""
        runs = [_took(Stages(one, table, self.options)) for one in self.alone]
        kernels = sum(each.kernel or 0.0 for each in runs)
        return Took(sum(each.latency for each in runs), kernels)


class Loops:
    """A plain compiled loop for each query, as somebody would write who has only that to answer."""

    def __init__(self, workload: Workload, tables: Sequence[Any], order: str | None) -> None:
        columns = {} if order is None else {"order": order}
        asked = RealWorkload("", "", workload.text, columns=columns)
        self.contests = [Contest(asked, table) for table in tables]
        left = self.contests[0].not_by_hand
        if left:
            query, why = next(iter(left.items()))
            raise SystemCannot("loops", query, why)

    def warm_up(self) -> None:
        """Compile the loops."""
        self.contests[0].by_hand()

    def answer(self) -> list[Any] | None:
        """Compare all answers with those of the engine."""
        for contest in self.contests:
            by_hand, results = contest.by_hand(), contest.together("float")
            for query in contest.workload.queries:
                expected = keyed(results.wide(query.name), query, "window_start")
                compare(query.name, keyed(by_hand[query.name], query, "window"), expected)
        return None

    def counts(self) -> dict[str, int]:
        """Nothing is counted."""
        return {}

    def measure(self) -> dict[str, float | None]:
        """The figures of one run over every table."""
        return _figures([Took(seconds(each.by_hand), None) for each in self.contests])
