"""What sharing has to bring: workloads that differ in one thing, each figure a ratio in one run.

Contenders have the same events and are timed in turn, in processor time, after their answers were
compared. Events come one each second, so a window of n seconds has n events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.bench.sharing_kernels import Kernel, check_equal, kernel
from hamlet.bench.sharing_rows import (
    RowPoint,
    add_point,
    in_way,
    measured,
    points,
    read_points,
)
from hamlet.bench.timing import Spread, seconds
from hamlet.bench.wanted import Wanted
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hamlet.bench.sharing_rows import RowTimes

    Tell = Callable[[str], None]

RISING = "T.v < NEXT(T).v"
_FIXED = ("never", "always")
# What 50 queries SEQ(Xi, T+, D) took, by events and windows, with a tree for each of them: in times
# of sorting as many doubles, so that it can be compared on any machine. A stable sort has no vector
# instructions on some of these; it takes 1.07 times as long as the plain one that this was measured
# with where that had none.
_TREES = {(300, 1): 230.0, (300, 4): 339.0, (3000, 1): 279.0, (3000, 4): 681.0}


@dataclass(frozen=True, slots=True)
class Size:
    """How large figures are, and how often each is measured."""

    events: int = 20_000
    repeat: int = 5
    queries: int = 50
    is_quick: bool = False
    is_coarse: bool = False  # of the grid
    points: Path | None = None  # where points of the grid are kept from one run to the next

    def of(self, live: int) -> int:
        """Events of a stream whose windows have so many: at least six windows."""
        return max(self.events, 6 * live)


FULL = Size()
QUICK = Size(events=1_500, repeat=2, queries=6, is_quick=True)


# Streams and workloads


def stream(
    events: int,
    names: Sequence[str],
    entering: NDArray[np.bool_],
    leaving: NDArray[np.bool_] | None = None,
    seed: int = 1,
) -> pa.Table:
    """Ts, but for events that enter, and others that leave, each of any name in its half.

    Args:
        events: How many.
        names: Types of events that enter; those that leave have a Y instead of the X.
        entering: Which events are no T.
        leaving: And which of the rest.
        seed: Where chance begins.
    """
    rng = np.random.default_rng(seed)
    k = len(names)
    which = rng.integers(0, k, events)
    codes = np.where(entering, which, 2 * k)
    if leaving is not None:
        codes = np.where(leaving & ~entering, k + which, codes)
    words = [*names, *(name.replace("X", "Y") for name in names), "T"]
    types = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(words))
    return pa.table(
        {
            "type": types,
            "time": np.arange(events),
            "v": rng.random(events),
            "u": rng.random(events),
            "carrier": rng.integers(0, 50, events),
        }
    )


def in_bursts(events: int, burst: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """An event that enters before each burst, and one that leaves after it."""
    place = np.arange(events) % (burst + 2)
    return place == 0, place == burst + 1


def workload(patterns: Sequence[str], wheres: Sequence[str], live: int, windows: int) -> str:
    """A query for each pattern, with windows of so many events."""
    slide = max(1, live // windows)
    clause = f"WITHIN {slide * windows} s SLIDE {slide} s"
    pairs = enumerate(zip(patterns, wheres, strict=True))
    return ";\n".join(
        f"q{i}: RETURN COUNT(*) PATTERN {pattern} {'WHERE ' + where if where else ''} {clause}"
        for i, (pattern, where) in pairs
    )


# Timing


def times_in_turn(works: Mapping[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """The seconds of each, round after round, after one to warm up."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeat):
        for name, work in works.items():
            times[name].append(seconds(work))
    return times


def over(one: Sequence[float], other: Sequence[float]) -> Spread:
    """How many times as long the one takes, round by round."""
    return Spread.of([a / b for a, b in zip(one, other, strict=True)])


def _times(text: str, table: pa.Table, ways: Sequence[str], repeat: int) -> dict[str, list[float]]:
    """A workload under some policies, answers compared first."""
    kernels = {way: kernel(text, table, "float", way) for way in ways}
    _check(list(kernels.values()))
    return times_in_turn(kernels, repeat)


def _check(kernels: Sequence[Kernel]) -> None:
    expected, _ = kernels[0].answers()
    for one in kernels[1:]:
        check_equal(one.answers()[0], expected)


def _best_fixed(times: dict[str, list[float]]) -> str:
    return min(_FIXED, key=lambda way: Spread.of(times[way]).median)


# Figures


def ends(size: Size, _tell: Tell) -> Iterator[Wanted]:
    """SEQ(Xi, T+, Yi) with an edge predicate: many queries against one."""
    k, live, windows = size.queries, 300, 4
    point = RowPoint(k, live, windows, 30)
    table = point.table(size.of(live))
    first = point.text().split(";")[0]
    many, one = (kernel(text, table, "float", "dynamic") for text in (point.text(), first))
    _check([many, kernel(point.text(), table, "float", "apart")])
    times = times_in_turn({"many": many, "one": one}, size.repeat)
    what = f"SEQ(Xi, T+, Yi), {RISING}, {k} queries against 1, kernel"
    yield Wanted(what, 3, "x the time", over(times["many"], times["one"]))
    works = {"many": _whole(point.text(), table), "one": _whole(first, table)}
    times = times_in_turn(works, size.repeat)
    yield Wanted(f"{what[:-6]}whole", 5, "x the time", over(times["many"], times["one"]))


def _whole(text: str, table: pa.Table) -> Callable[[], object]:
    """A workload from the table to its results."""
    parsed = Workload.parse(text)
    return lambda: parsed.run(table, numbers="float").table


def suffix(size: Size, _tell: Tell) -> Iterator[Wanted]:
    """SEQ(Xi, T+, D) with an edge predicate: against a tree for each query."""
    k = size.queries
    for live, windows in _TREES:
        events = size.of(live)
        table = stream(events, [f"X{i}" for i in range(k)], *in_bursts(events, 30))
        types = table["type"].cast(pa.string()).to_pylist()
        table = table.set_column(0, "type", pa.array(["D" if t[0] == "Y" else t for t in types]))
        patterns = [f"SEQ(X{i}, T+, D)" for i in range(k)]
        text = workload(patterns, [RISING] * k, live, windows)
        shared = kernel(text, table, "float", "dynamic")
        _check([shared, kernel(text, table, "float", "apart")])
        sort = partial(np.sort, np.random.default_rng(1).random(events), kind="stable")
        times = times_in_turn({"shared": shared, "sort": sort}, size.repeat)
        taken = over(times["shared"], times["sort"])
        trees = _TREES[live, windows]
        what = f"SEQ(Xi, T+, D), n = {live}, w = {windows}, kernel, against trees"
        ratio = Spread(trees / taken.median, trees / taken.high, trees / taken.low)
        yield Wanted(what, 30, "x as fast", ratio)


def runs(size: Size, _tell: Tell) -> Iterator[Wanted]:
    """Rising runs with a threshold and a carrier each, and as many others on the same type."""
    k, live, windows = size.queries, 2000, 4
    events = size.of(live)
    table = stream(events, [f"X{i}" for i in range(k)], *in_bursts(events, 30))
    patterns = ["T+"] * k + [f"SEQ(X{i}, T+)" for i in range(k)]
    wheres = [f"{RISING} AND T.u > {i / (2 * k)} AND T.carrier = {i}" for i in range(k)]
    text = workload(patterns, [*wheres, *[""] * k], live, windows)
    times = _times(text, table, ("dynamic", "never"), size.repeat)
    what = f"{k} rising runs with conditions of their own, {k} others: dynamic against never"
    yield Wanted(what, 1.0, "x the time", over(times["dynamic"], times["never"]))


def changing(size: Size, _tell: Tell) -> Iterator[Wanted]:
    """Streams that change between bursts of a third of the window, and of one event."""
    k = size.queries
    for live in (300, 3000):
        for windows, least in ((1, 1.2), (4, 1.5)):
            for phase, limit, unit in ((8, least, "x as fast"), (2, 1.1, "x the time")):
                times = _changing_times(size, k, live, windows, phase)
                best = _best_fixed(times)
                what = (
                    f"changing every {phase} windows, n = {live}, w = {windows}: "
                    f"dynamic against {best}"
                )
                pair = (best, "dynamic") if unit == "x as fast" else ("dynamic", best)
                yield Wanted(what, limit, unit, over(*(times[way] for way in pair)))  # type: ignore[arg-type]


def _changing_times(
    size: Size, k: int, live: int, windows: int, phase: int
) -> dict[str, list[float]]:
    """The seconds of each policy on a stream of long and short bursts by turns."""
    stretch = phase * live
    events = max(size.of(live), 6 * stretch)
    entering, leaving = np.zeros(events, np.bool_), np.zeros(events, np.bool_)
    for number, begin in enumerate(range(0, events, stretch)):
        burst = live // 3 if number % 2 == 0 else 1
        n = min(stretch, events - begin)
        entering[begin : begin + n], leaving[begin : begin + n] = in_bursts(n, burst)
    table = stream(events, [f"X{i}" for i in range(k)], entering, leaving)
    text = RowPoint(k, live, windows, 1).text()
    made = kernel(text, table, "float", "dynamic")
    ways = {way: in_way(made, way) for way in (*_FIXED, "dynamic")}
    _check(list(ways.values()))
    return times_in_turn(ways, size.repeat)


def conditions(size: Size, _tell: Tell) -> Iterator[Wanted]:
    """SEQ(Xi, T+) with T.v < c_i: many queries against one, by how far they disagree."""
    k, live, windows = size.queries, 300, 4
    events = size.of(live)
    entering, _ = in_bursts(events, 30)
    table = stream(events, [f"X{i}" for i in range(k)], entering)
    patterns = [f"SEQ(X{i}, T+)" for i in range(k)]
    for share in (0.0, 0.01, 0.05, 0.2, 1.0):
        wheres = [f"T.v < {1 - share * i / k}" for i in range(k)]
        text = workload(patterns, wheres, live, windows)
        many = kernel(text, table, "float", "dynamic")
        one = kernel(text.split(";")[0], table, "float", "dynamic")
        _check([many, kernel(text, table, "float", "apart")])
        times = times_in_turn({"many": many, "one": one}, size.repeat)
        what = f"T.v < c_i, {share:.0%} of Ts are for some: {k} queries against 1, kernel"
        yield Wanted(what, 3, "x the time", over(times["many"], times["one"]))


def odd_one(size: Size, _tell: Tell) -> Iterator[Wanted]:
    """Twenty queries of which one goes its own way: against the nineteen and the one."""
    k, live, windows = 20, 3000 if not size.is_quick else 300, 4
    events = size.of(live)
    table = stream(events, [f"X{i}" for i in range(k)], *in_bursts(events, 30))
    ends_at = [f"SEQ(X{i}, T+, Y{i})" for i in range(k)]
    runs_on = [f"SEQ(X{i}, T+)" for i in range(k)]
    own_v = [RISING] * (k - 1) + [f"{RISING} AND T.u > 0.05"]
    own_u = [""] * (k - 1) + ["T.u > 0.25"]
    later = _alike_at_first(table)
    for name, patterns, wheres, events_of in (
        ("rising", ends_at, own_v, table),
        ("free", runs_on, own_u, table),
        ("rising, from the middle on", ends_at, own_v, later),
        ("free, from the middle on", runs_on, own_u, later),
    ):
        text = workload(patterns, wheres, live, windows)
        parts = text.split(";")
        together = kernel(text, events_of, "float", "dynamic")
        many = kernel(";".join(parts[:-1]), events_of, "float", "dynamic")
        one = kernel(parts[-1], events_of, "float", "dynamic")
        _check([together, kernel(text, events_of, "float", "apart")])
        times = times_in_turn({"together": together, "many": many, "one": one}, size.repeat)
        apart = [a + b for a, b in zip(times["many"], times["one"], strict=True)]
        what = f"20 queries, one its own way, {name}: against the 19 and the one"
        yield Wanted(what, 1.3, "x the time", over(times["together"], apart))


def _alike_at_first(table: pa.Table) -> pa.Table:
    """The same events, of which those of the first half satisfy what is asked of u."""
    u = table["u"].to_numpy().copy()
    u[: len(u) // 2] = 1.0
    return table.set_column(table.schema.get_field_index("u"), "u", pa.array(u))


FIGURES: dict[str, Callable[[Size, Any], Iterator[Wanted]]] = {
    "ends": ends,
    "suffix": suffix,
    "runs": runs,
    "changing-rows": changing,
    "conditions": conditions,
    "odd-one": odd_one,
}


# The grid


def measure_grid(size: Size, tell: Tell) -> list[RowTimes]:
    """Own columns, snapshots and the cheaper of them, at each point of the grid."""
    known = {} if size.points is None else read_points(size.points)
    of_points = []
    every = list(points(size.is_quick, size.is_coarse))
    for number, point in enumerate(every, 1):
        times = known.get(point)
        if times is None:
            times = measured(point, repeat=min(3, size.repeat))
            if size.points is not None:
                add_point(size.points, times)
        of_points.append(times)
        tell(f"  {number} of {len(every)}: {times.line}")
    return of_points


def grid_wanted(grid: Sequence[RowTimes]) -> Iterator[Wanted]:
    """How far dynamic is from the better of the others on the grid, and what it gains."""
    if not grid:
        return
    ratios = sorted(times.over_best for times in grid)
    ninth = ratios[int(0.9 * (len(ratios) - 1))]
    middle = Spread.of(ratios)
    for what, limit, value in (
        ("at the median", 1.1, middle.median),
        ("at nine in ten", 1.3, ninth),
        ("at worst", 2.0, ratios[-1]),
    ):
        spread = replace_median(middle, value)
        yield Wanted(f"grid: dynamic against the better, {what}", limit, "x the time", spread)
    for other, least in (("never", 50), ("always", 10)):
        gains = Spread.of([times.took_ns[other] / times.took_ns["dynamic"] for times in grid])
        what = f"grid: dynamic against {other}, at its best"
        yield Wanted(what, least, "x as fast", replace_median(gains, gains.high))


def replace_median(spread: Spread, value: float) -> Spread:
    """A spread of which another place than the median is told."""
    return spread._replace(median=value)
