"""Where sharing wins and where it loses: four policies over streams of every character.

At each point the answers of all policies are compared first. Then they are timed in turn, round
after round, so that what else the machine does falls on all of them alike. "Kernel" time: events
are encoded once, and only the run over them counts.
"""

from __future__ import annotations

import gc
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hamlet.bench import sharing_figures as figures
from hamlet.bench import sharing_streams as streams
from hamlet.bench.sharing_kernels import POLICIES, Kernel, check_equal, kernel
from hamlet.bench.timing import Spread, one_core, seconds
from hamlet.bench.wanted import Wanted, wanted_line
from hamlet.errors import UnknownName, listed
from hamlet.io.circumstances import circumstances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from hamlet.bench.sharing_figures import Size
    from hamlet.bench.sharing_rows import RowTimes
    from hamlet.plan.number_mode import Numbers

    Times = dict[str, list[float]]

BURSTS = (1, 3, 10, 30, 100, 300, 1000)
QUERIES = (2, 5, 10, 20, 50, 100, 200)
DISAGREE = (0, 1, 5, 20, 50, 80, 100)
WINDOWS = (1, 2, 4, 12)
_BASE_QUERIES = 50

# What is wanted
MOST_OVER_BEST = 1.1
LEAST_ON_CHANGING = 1.25
LEAST_AT_BEST = 5.0
MOST_FOR_DECISIONS = 1.01


@dataclass(frozen=True, slots=True)
class Scale:
    """How large points are, how many, and how often each is measured."""

    events: int = 60_000
    repeat: int = 5
    # Decisions cost so little that it takes more rounds, and longer ones, to see it
    careful: int = 15
    every: int = 1
    figures: Size = figures.FULL

    @property
    def is_small(self) -> bool:
        """Whether floors are not meant for it."""
        return self.figures.is_quick

    def some(self, values: Sequence[int]) -> tuple[int, ...]:
        """The values to measure at: the least and the greatest always."""
        return tuple(sorted({*values[:: self.every], values[-1]}))


FULL = Scale()
QUICK = Scale(events=6_000, repeat=3, careful=3, every=3, figures=figures.QUICK)


@dataclass(frozen=True, slots=True)
class GridPoint:
    """A workload and a stream.

    sweep: What is varied, and x: its value here.
    disagree: Percent of entries that are for one query only.
    within: Events in a window, and windows: how many are open at once.
    stretch: How many events until the stream changes its character; 0 for a steady one.
    """

    sweep: str
    x: int
    burst: int = 10
    queries: int = _BASE_QUERIES
    disagree: int = 5
    windows: int = 4
    within: int = 0
    has_edge: bool = False
    numbers: Numbers = "float"
    stretch: int = 0
    events: int = 0

    def sized(self, scale: Scale) -> GridPoint:
        """The same with its window, a few bursts, and as many events as the queries can take."""
        # A dozen windows must divide it.
        within = self.within or 12 * -(-4 * (self.burst + 1) // 12)
        share = min(1.0, 2 * _BASE_QUERIES / self.queries) * (0.1 if self.has_edge else 1.0)
        most = max(int(scale.events * share), 4 * (self.burst + 1))
        return GridPoint(**{**asdict(self), "within": within, "events": self.events or most})

    def table(self, seed: int = streams.SEED) -> pa.Table:
        """The events."""
        if self.stretch:
            return streams.changing(self.events, self.stretch, self.queries, seed)
        return streams.steady(self.events, self.burst, self.queries, self.disagree / 100, seed)

    def text(self) -> str:
        """The queries."""
        return streams.twins(self.queries, self.within, self.windows, self.has_edge)


# Sweeps


def by_burst(scale: Scale) -> Iterator[GridPoint]:
    """Length of bursts."""
    for burst in scale.some(BURSTS):
        yield GridPoint("burst", burst, burst=burst)


def by_queries(scale: Scale) -> Iterator[GridPoint]:
    """Number of queries."""
    for queries in scale.some(QUERIES):
        yield GridPoint("queries", queries, queries=queries, burst=3)


def by_disagreement(scale: Scale) -> Iterator[GridPoint]:
    """Percent of entries that predicates disagree on."""
    for percent in scale.some(DISAGREE):
        yield GridPoint("disagree", percent, disagree=percent, burst=3)


def by_disagreement_exact(scale: Scale) -> Iterator[GridPoint]:
    """The same in exact numbers."""
    for percent in scale.some(DISAGREE):
        yield GridPoint("disagree-exact", percent, disagree=percent, burst=3, numbers="exact")


def by_windows(scale: Scale) -> Iterator[GridPoint]:
    """Windows open at once."""
    for windows in scale.some(WINDOWS):
        yield GridPoint("windows", windows, windows=windows, burst=3, within=24)


def by_burst_with_edge(scale: Scale) -> Iterator[GridPoint]:
    """Length of bursts, with an edge predicate."""
    for burst in scale.some(BURSTS):
        yield GridPoint("burst-edge", burst, burst=burst, has_edge=True)


def by_queries_with_edge(scale: Scale) -> Iterator[GridPoint]:
    """Number of queries, with an edge predicate."""
    for queries in scale.some(QUERIES):
        yield GridPoint("queries-edge", queries, queries=queries, has_edge=True)


def by_change(scale: Scale) -> Iterator[GridPoint]:
    """A stream that changes its character every so many events, in both kinds of numbers."""
    kinds: tuple[Numbers, ...] = ("float", "exact")
    for numbers in kinds:
        for stretch in scale.some((1000, 3000, 10_000)):
            at = min(stretch, scale.events // 6)
            sweep = "changing" if numbers == "float" else "changing-exact"
            yield GridPoint(sweep, stretch, stretch=at, within=24, numbers=numbers)


SWEEPS: dict[str, Callable[[Scale], Iterator[GridPoint]]] = {
    "burst": by_burst,
    "queries": by_queries,
    "disagree": by_disagreement,
    "disagree-exact": by_disagreement_exact,
    "windows": by_windows,
    "burst-edge": by_burst_with_edge,
    "queries-edge": by_queries_with_edge,
    "changing": by_change,
}
NAMES = (*figures.FIGURES, "grid", *SWEEPS, "decisions")


# Measuring


def measure(
    only: Sequence[str] = (), *, scale: Scale = FULL, tell: Callable[[str], None] = print
) -> dict[str, Any]:
    """Measure all sweeps, or some, and report everything as plain data."""
    for name in only:
        if name not in NAMES:
            raise UnknownName("measurement", name, f"There are {listed(NAMES)}.")
    asked = [name for name in NAMES if not only or name in only]
    points: list[dict[str, Any]] = []
    grid: list[RowTimes] = []
    wanted: list[Wanted] = []
    with one_core():
        for name in asked:
            if name in figures.FIGURES:
                tell(f"measuring {name}: {figures.FIGURES[name].__doc__}")
                wanted += _told(figures.FIGURES[name](scale.figures, tell), tell)
            elif name == "grid":
                tell(f"measuring grid: {figures.measure_grid.__doc__}")
                grid = figures.measure_grid(scale.figures, tell)
                wanted += figures.grid_wanted(grid)
            elif name in SWEEPS:
                tell(f"measuring {name}: {SWEEPS[name].__doc__}")
                for point in SWEEPS[name](scale):
                    points.append(measure_point(point.sized(scale), scale.repeat))
                    tell(f"  {_point_line(points[-1])}")
        wanted += _wanted(points)
        if "decisions" in asked:
            tell("measuring decisions: what it costs to ask where nothing can be shared.")
            wanted += _told(measure_decisions(scale), tell)
    return {
        **circumstances(),
        "seed": streams.SEED,
        "quick": scale.is_small,
        "repeat": scale.repeat,
        "kept": scale.is_small or all(each.is_kept for each in wanted),
        "points": points,
        "grid": [times.as_data() for times in grid],
        "wanted": [each.as_data() for each in wanted],
    }


def _told(found: Iterator[Wanted], tell: Callable[[str], None]) -> Iterator[Wanted]:
    """Each figure as soon as it is there."""
    for each in found:
        tell(f"  {wanted_line(each.as_data())}")
        yield each


def measure_point(point: GridPoint, repeat: int) -> dict[str, Any]:
    """Compare the answers of all policies, and time them in turn."""
    text, table = point.text(), point.table()
    # Another stream of the same character came before: static decides from it.
    before = point.table(streams.SEED + 1)
    kernels = {policy: kernel(text, table, point.numbers, policy, before) for policy in POLICIES}
    # What the best fixed patience would make of it, though nobody can know it before.
    kernels["eager"] = kernels["dynamic"].with_patience(0)
    expected, _ = kernels["never"].answers()
    for policy in (*POLICIES[1:], "eager"):
        found, counters = kernels[policy].answers()
        check_equal(found, expected)
        if policy == "dynamic":
            done = counters
    times = in_turn(kernels, repeat)
    spreads = {policy: Spread.of(each) for policy, each in times.items()}
    others = ("never", "always", "static")
    best = min(others, key=lambda policy: spreads[policy].median)
    return {
        **asdict(point),
        "answers": len(expected.trends),
        "answers_equal": True,
        "shared": done.shared,
        "splits": done.split,
        "merges": done.merged,
        "seconds": {policy: spread._asdict() for policy, spread in spreads.items()},
        "best_other": best,
        "dynamic_over": {
            other: _over(times["dynamic"], times[other])._asdict() for other in (*others, "eager")
        },
    }


def in_turn(kernels: dict[str, Kernel], repeat: int) -> Times:
    """The seconds that each takes in each round."""
    times: Times = {name: [] for name in kernels}
    for _ in range(repeat):
        for name, each in kernels.items():
            times[name].append(seconds(each))
    gc.collect()
    return times


def measure_decisions(scale: Scale) -> Iterator[Wanted]:
    """How much longer a run takes for having to decide, where there is nothing to gain."""
    queries = _BASE_QUERIES
    events = 10 * scale.events
    split = streams.almost_never_agreeing(events, 3, queries)
    mixed = streams.steady(events // 4, 3, queries, 0.05)
    cases = {
        "all disagree": (streams.twins(queries, 24, 4), split),
        "no bundle": (streams.unlike(queries, 24), mixed),
    }
    for what, (text, table) in cases.items():
        kernels = {policy: kernel(text, table, "float", policy) for policy in ("always", "dynamic")}
        answers = [each.answers()[0] for each in kernels.values()]
        check_equal(answers[1], answers[0])
        times = in_turn(kernels, scale.careful)
        ratio = _over(times["dynamic"], times["always"])
        what = f"decisions, {what}: dynamic against always"
        yield Wanted(what, MOST_FOR_DECISIONS, "x the time", ratio)


def _over(one: list[float], other: list[float]) -> Spread:
    """How many times as long the one takes, round by round."""
    return Spread.of([a / b for a, b in zip(one, other, strict=True)])


# What is wanted of it


def _wanted(points: list[dict[str, Any]]) -> Iterator[Wanted]:
    for point in points:
        best = point["best_other"]
        ratio = Spread(**point["dynamic_over"][best])
        what = f"{point['sweep']} {point['x']}: dynamic against {best}, the best"
        yield Wanted(what, MOST_OVER_BEST, "x the time", ratio)
    for point in points:
        if point["stretch"]:
            for other in ("always", "static"):
                what = f"{point['sweep']} {point['x']}: dynamic against {other}"
                yield Wanted(what, LEAST_ON_CHANGING, "x as fast", _faster(point, other))
    if points:
        best_of_all = max(points, key=lambda point: _faster(point, "never").median)
        what = f"{best_of_all['sweep']} {best_of_all['x']}: dynamic against never, at its best"
        yield Wanted(what, LEAST_AT_BEST, "x as fast", _faster(best_of_all, "never"))


def _faster(point: dict[str, Any], other: str) -> Spread:
    over = Spread(**point["dynamic_over"][other])
    return Spread(1 / over.median, 1 / over.high, 1 / over.low)


# Report


def as_text(report: dict[str, Any]) -> str:
    """A report as tables of text."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    lines = [
        f"{machine['processor']}, one core, Python {report['python']}, {versions}",
        f"commit {report['commit']}, medians of {report['repeat']}, processor time, seed "
        f"{report['seed']}",
        report["command"],
        *(["sizes are small: limits are not meant for these figures"] if report["quick"] else []),
        "",
    ]
    if report["points"]:
        policies = "".join(f"{policy:>9}" for policy in (*POLICIES, "of best"))
        lines += [f"{'ms':<24}{policies}  best other", *map(_point_line, report["points"]), ""]
    lines += map(wanted_line, report["wanted"])
    return "\n".join(lines) + "\n"


def _point_line(point: dict[str, Any]) -> str:
    cells = [f"{point['sweep']} {point['x']}".ljust(24)]
    cells += [f"{1e3 * point['seconds'][policy]['median']:9.2f}" for policy in POLICIES]
    best = point["best_other"]
    return "".join([*cells, f"{point['dynamic_over'][best]['median']:9.2f}", f"  {best}"])
