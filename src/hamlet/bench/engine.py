"""How fast the local engine is, against the floors that it has to keep.

Every case first compares answers with a plain program, or with the queries run one by one, and then
measures. "Kernel" means that events are encoded once and only the run over them is timed; the other
cases time the whole way from an Arrow table to the table of results. Sizes are in the cases below.
"""

from __future__ import annotations

import gc
import math
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from hamlet.bench import streams
from hamlet.bench.timing import Spread, one_core, rate, ratio, seconds
from hamlet.engine import Options
from hamlet.engine.pipeline import pipelines
from hamlet.errors import InternalError, UnknownName, listed
from hamlet.events.table import EventTable
from hamlet.io.circumstances import circumstances
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hamlet.plan.number_mode import Numbers

    Work = Callable[[], object]

QUERIES = 50
# Windows of tens of thousands of events.
WITHIN = 24_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    floor: The least, or for times the most, that the figure may be.
    unit: What it counts: millions of events in a second, how many times as fast, or as long.
    """

    case: str
    what: str
    floor: float
    unit: Literal["M events/s", "x as fast", "x the time"]
    found: Spread

    @property
    def is_kept(self) -> bool:
        """Whether the floor is kept."""
        if self.unit == "x the time":
            return self.found.median <= self.floor
        return self.found.median >= self.floor


@dataclass(frozen=True, slots=True)
class Scale:
    """How large cases are and how often they are repeated."""

    quick: bool = False

    @property
    def repeat(self) -> int:
        """How often each thing is measured."""
        return 2 if self.quick else 5

    def of(self, size: int, least: int = 1000) -> int:
        """A size, or a hundredth of it."""
        return max(least, size // 100) if self.quick else size


# Cases


def bursts_50(scale: Scale) -> Iterator[Figure]:
    """50 queries, 4 overlapping windows, float."""
    yield from _throughput("bursts-50", scale, QUERIES, 4, {1: 15, 10: 60, 120: 150})


def bursts_200(scale: Scale) -> Iterator[Figure]:
    """200 queries, 12 overlapping windows, float."""
    yield from _throughput("bursts-200", scale, 200, 12, {1: 10, 120: 80})


def _throughput(
    case: str, scale: Scale, queries: int, overlap: int, floors: dict[int, float]
) -> Iterator[Figure]:
    for burst, floor in floors.items():
        _check_small(burst, queries, overlap)
        events = scale.of(2_000_000)
        within = scale.of(WITHIN, least=240)
        table = streams.bursts(events, burst, queries).table()
        text = streams.workload(queries, within, within // overlap)
        _check_one_alone(text, table)
        kernel = _kernel(text, table, "float")
        spread = rate(kernel, events, scale.repeat)
        what = f"{queries} queries, {overlap} windows, bursts of {burst}, kernel"
        yield _speed(case, what, floor, spread)


def loop(scale: Scale) -> Iterator[Figure]:
    """50 queries, 4 windows, against a Python loop of one exact recurrence for each query."""
    events = scale.of(1_000_000, least=5000)
    # Exact counts stay below 2^62: at most 60 Ts in a window.
    for numbers, burst, floor in (("float", 120, 1000.0), ("exact", 15, 500.0)):
        slide = burst + 1
        stream = streams.bursts(events, burst, QUERIES)
        text = streams.workload(QUERIES, 4 * slide, slide)
        table, kinds = stream.table(), stream.kind.tolist()
        expected: streams.Counts = {}

        def plain(kinds: list[int] = kinds, slide: int = slide, found: Any = expected) -> None:
            found.update(streams.count_by_loop(kinds, QUERIES, 4 * slide, slide))

        took = seconds(plain)
        _check(Workload.parse(text).run(table, numbers=_numbers(numbers)), expected)
        spread = _times_as_fast(took, _kernel(text, table, numbers), scale)
        what = f"50 queries, 4 windows, bursts of {burst}, {numbers}, kernel against a Python loop"
        yield Figure("loop", what, floor, "x as fast", spread)


def digits(scale: Scale) -> Iterator[Figure]:
    """Exact counts of 30,000 digits, to the table of results, against that loop and its digits."""
    events = scale.of(100_000)
    stream = streams.bursts(events, 120, QUERIES)
    text = streams.workload(QUERIES, events, events)
    table, kinds = stream.table(), stream.kind.tolist()
    parsed = Workload.parse(text)
    sys.set_int_max_str_digits(0)
    expected: dict[tuple[str, int], str] = {}

    def plain() -> None:
        counts = streams.count_by_loop(kinds, QUERIES, events, events)
        expected.update({at: str(count) for at, count in counts.items()})

    took = seconds(plain)
    results = parsed.run(table)
    keys = zip(
        results.table["query"].to_pylist(), results.table["window_start"].to_pylist(), strict=True
    )
    exact = results.table["exact"].to_pylist()
    _same({(q, int(w)): e for (q, w), e in zip(keys, exact, strict=True)}, expected)
    spread = _times_as_fast(took, lambda: parsed.run(table).table, scale)
    what = f"exact, {events:,} events in one window, digits included, against a Python loop"
    yield Figure("digits", what, 20, "x as fast", spread)


def rising(scale: Scale) -> Iterator[Figure]:
    """T.v < NEXT(T).v in one window: shared against apart, twice the events, against a scan."""
    where = "T.v < NEXT(T).v"
    events = _affordable(where, scale.of(100_000), most=20.0)
    table = streams.bursts(events, 10, QUERIES).table()
    text = streams.workload(QUERIES, 4 * events, 4 * events, where=where)
    _check_one_alone(text, table)
    shared = _kernel(text, table, "float", "always")
    apart = _kernel(text, table, "float", "apart")
    repeat = min(3, scale.repeat)
    what = f"edge predicate, {events:,} events in one window, kernel, always against apart"
    yield Figure("rising", what, 5, "x as fast", ratio(apart, shared, repeat, warm=False))
    twice = _kernel(text, streams.bursts(2 * events, 10, QUERIES).table(), "float", "always")
    what = f"edge predicate, kernel, {2 * events:,} events against {events:,}"
    yield Figure("rising", what, 2.5, "x the time", ratio(twice, shared, repeat, warm=False))


def scan(scale: Scale) -> Iterator[Figure]:
    """T.v < NEXT(T).v, 10,000 events in one window, against scans of all predecessors in numpy."""
    events = scale.of(10_000, least=500)
    stream = streams.bursts(events, 10, QUERIES)
    text = streams.workload(QUERIES, events, events, where="T.v < NEXT(T).v")
    kinds, v = stream.kind.tolist(), stream.columns["v"]
    totals: list[float] = []
    took = seconds(lambda: totals.extend(streams.count_rising_by_scan(kinds, v, QUERIES)))
    table = stream.table()
    rows = Workload.parse(text).run(table, numbers="float").table
    logs = {f"q{i}": math.log10(total) for i, total in enumerate(totals) if total}
    _close(dict(zip(rows["query"].to_pylist(), rows["log10"].to_pylist(), strict=True)), logs)
    times = _times_as_fast(took, _kernel(text, table, "float"), scale)
    what = f"edge predicate, {events:,} events in one window, kernel against numpy scans"
    yield Figure("scan", what, 50, "x as fast", times)


def groups(scale: Scale) -> Iterator[Figure]:
    """A million groups of 10 events, and ten of a million: 10 queries, 4 windows, float."""
    many, few = scale.of(1_000_000), 10
    text = streams.workload(10, 40, 10, group_by="g")
    short = streams.grouped(many, 10, 9, 10, span=10).table()
    _check_one_alone(text, short.slice(0, 50_000))
    small = _kernel(text, short, "float")
    yield _speed(
        "groups", f"{many:,} groups of 10, kernel", 20, rate(small, len(short), scale.repeat)
    )
    # Windows of as many events of all groups as above of one: 40 bursts of each.
    text = streams.workload(10, 400, 100, group_by="g")
    large = _kernel(text, streams.grouped(few, many, 9, 10, span=10).table(), "float")
    what = f"{many:,} groups of 10 against {few} of {many:,}, kernel"
    yield Figure("groups", what, 3, "x the time", ratio(small, large, min(3, scale.repeat)))


def growth(scale: Scale) -> Iterator[Figure]:
    """What more queries, and more windows, cost: bursts of 120, float."""
    events, within = scale.of(2_000_000), scale.of(WITHIN, least=240)

    def kernel(queries: int, overlap: int) -> Work:
        table = streams.bursts(events, 120, queries).table()
        text = streams.workload(queries, within, within // overlap)
        _check_one_alone(text, table)
        return _kernel(text, table, "float")

    base = kernel(QUERIES, 4)
    spread = ratio(base, kernel(1, 4), scale.repeat)
    yield Figure("growth", "50 queries against 1, 4 windows, kernel", 2, "x the time", spread)
    spread = ratio(kernel(QUERIES, 12), kernel(QUERIES, 1), scale.repeat)
    yield Figure("growth", "12 windows against 1, 50 queries, kernel", 2, "x the time", spread)


def aggregates(scale: Scale) -> Iterator[Figure]:
    """SUM, AVG, MIN and MAX together against COUNT(*) alone: 50 queries, 4 windows, float."""
    events, within = scale.of(2_000_000), scale.of(WITHIN, least=240)
    table = streams.bursts(events, 10, QUERIES).table()
    all_four = "SUM(T.v), AVG(T.v), MIN(T.v), MAX(T.v)"
    texts = [
        streams.workload(QUERIES, within, within // 4, returns=r) for r in (all_four, "COUNT(*)")
    ]
    for text in texts:
        _check_one_alone(text, table)
    four, count = (_kernel(text, table, "float") for text in texts)
    spread = ratio(four, count, scale.repeat)
    what = "SUM, AVG, MIN, MAX against COUNT(*), bursts of 10, kernel"
    yield Figure("aggregates", what, 3, "x the time", spread)


def whole(scale: Scale) -> Iterator[Figure]:
    """Arrow to Arrow: 100,000 groups of 50 events, 50 queries, exact, one core."""
    many = scale.of(100_000)
    stream = streams.grouped(many, 50, 49, QUERIES, span=100)
    text = streams.workload(QUERIES, 100, 100, group_by="g")
    parsed = Workload.parse(text)
    plain = stream.table()
    _check_one_alone(text, plain.slice(0, 50_000))
    texts = pa.compute.binary_join_element_wise("group ", plain["g"].cast(pa.string()), "")
    as_text = plain.set_column(plain.schema.get_field_index("g"), "g", texts)
    for kind, table, floor in (("integer", plain, 12.0), ("text", as_text, 6.0)):
        spread = rate(lambda table=table: parsed.run(table).table, len(table), scale.repeat)  # type: ignore[misc]
        yield _speed("whole", f"Arrow to Arrow, {many:,} groups, {kind} key", floor, spread)


def exact(scale: Scale) -> Iterator[Figure]:
    """Exact numbers against floats while counts are below 2^62: 50 queries, 4 windows."""
    events = scale.of(2_000_000)
    table = streams.bursts(events, 15, QUERIES).table()
    text = streams.workload(QUERIES, 64, 16)
    _check_small(15, QUERIES, 4)
    spread = ratio(_kernel(text, table, "exact"), _kernel(text, table, "float"), scale.repeat)
    what = "exact against float, counts below 2^62, bursts of 15, kernel"
    yield Figure("exact", what, 1.4, "x the time", spread)


CASES: dict[str, Callable[[Scale], Iterator[Figure]]] = {
    "bursts-50": bursts_50,
    "bursts-200": bursts_200,
    "loop": loop,
    "digits": digits,
    "rising": rising,
    "scan": scan,
    "groups": groups,
    "growth": growth,
    "aggregates": aggregates,
    "whole": whole,
    "exact": exact,
}


# Pieces of the engine


def _numbers(name: str) -> Numbers:
    return "float" if name == "float" else "exact"


def _kernel(text: str, table: pa.Table, numbers: str, sharing: Any = "dynamic") -> Work:
    """Encode a table once; what is returned runs the kernel over it."""
    plan = Workload.parse(text).plan
    options = Options(numbers=_numbers(numbers), sharing=sharing)
    events = EventTable.of(table, plan)
    pieces = [one.ready(one.encode(events)) for one in pipelines(plan, options)]

    def run() -> None:
        for piece in pieces:
            piece.run(False)

    return run


def _times_as_fast(slow: float, work: Work, scale: Scale) -> Spread:
    """Against something too slow to be measured more than once."""
    work()
    return Spread.of([slow / seconds(work) for _ in range(scale.repeat)])


def _affordable(where: str, events: int, most: float) -> int:
    """How many events the queries apart can take in so many seconds: halved until they can."""

    def took(number: int) -> float:
        table = streams.bursts(number, 10, QUERIES).table()
        text = streams.workload(QUERIES, 4 * number, 4 * number, where=where)
        kernel = _kernel(text, table, "float", "apart")
        kernel()
        return seconds(kernel)

    tried = 4000
    if events <= tried:
        return events
    half, full = took(tried // 2), took(tried)
    exponent = max(1.0, math.log2(full / half))
    while events > tried and full * (events / tried) ** exponent > most:
        events //= 2
    return events


# Answers


def _check_small(burst: int, queries: int, overlap: int) -> None:
    """A few windows of this shape, in both kinds of numbers, against the loop."""
    slide = max(6, 48 // overlap)
    stream = streams.bursts(30 * slide, burst, queries)
    text = streams.workload(queries, overlap * slide, slide)
    expected = streams.count_by_loop(stream.kind.tolist(), queries, overlap * slide, slide)
    for numbers in ("float", "exact"):
        results = Workload.parse(text).run(stream.table(), numbers=_numbers(numbers))
        _check(results, expected)


def _check_one_alone(text: str, table: pa.Table) -> None:
    """The first query has the same answers alone as among the others."""
    alone = Workload.parse(text.split(";\n")[0]).run(table, numbers="float").table
    together = Workload.parse(text).run(table, numbers="float").table
    first = together.filter(pa.compute.field("query") == "q0")
    _close(_logs(first), _logs(alone))


def _logs(table: pa.Table) -> dict[Any, float]:
    """The logarithm of each result, or the result itself where it has none."""
    names = ("window_start", "group", "aggregate", "log10", "value")
    columns = [table[name].to_pylist() for name in names]
    return {
        tuple(key): value if log10 is None else log10
        for *key, log10, value in zip(*columns, strict=True)
    }


def _check(results: Any, expected: streams.Counts) -> None:
    """Results are the counts: digit for digit, or to nine places where there are no digits."""
    rows = results.table
    keys = zip(rows["query"].to_pylist(), map(int, rows["window_start"].to_pylist()), strict=True)
    if rows["exact"].null_count == 0:
        _same(
            dict(zip(keys, rows["exact"].to_pylist(), strict=True)),
            {key: str(count) for key, count in expected.items()},
        )
    else:
        logs = {key: math.log10(count) for key, count in expected.items()}
        _close(dict(zip(keys, rows["log10"].to_pylist(), strict=True)), logs)


def _same(found: dict[Any, Any], expected: dict[Any, Any]) -> None:
    if found != expected:
        raise InternalError("the engine and the plain program differ")


def _close(found: dict[Any, float], expected: dict[Any, float]) -> None:
    if found.keys() != expected.keys() or any(
        abs(found[key] - expected[key]) > 1e-9 * max(1.0, abs(expected[key])) for key in found
    ):
        raise InternalError("answers that should be equal differ")


def _speed(case: str, what: str, floor: float, spread: Spread) -> Figure:
    return Figure(case, what, floor, "M events/s", Spread(*(value / 1e6 for value in spread)))


# Report


def names() -> tuple[str, ...]:
    """What can be measured."""
    return tuple(f"{name:<12}{case.__doc__}" for name, case in CASES.items())


def measure(
    only: Sequence[str] = (), *, quick: bool = False, tell: Callable[[str], None] = print
) -> dict[str, Any]:
    """Measure all cases, or some, and report everything as plain data."""
    for name in only:
        if name not in CASES:
            raise UnknownName("measurement", name, f"There are {listed(CASES)}.")
    figures: list[Figure] = []
    scale = Scale(quick)
    with one_core():
        for name in only or CASES:
            tell(f"measuring {name}: {CASES[name].__doc__}")
            for figure in CASES[name](scale):
                tell(f"  {figure.found.median:,.4g} {figure.unit}: {figure.what}")
                figures.append(figure)
            gc.collect()
    return {
        **circumstances(),
        "quick": quick,
        "repeat": scale.repeat,
        "kept": quick or all(figure.is_kept for figure in figures),
        "figures": [{**asdict(f), "found": f.found._asdict(), "ok": f.is_kept} for f in figures],
    }


def as_text(report: dict[str, Any]) -> str:
    """A report as a table of text."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    lines = [
        f"{machine['processor']}, one core, Python {report['python']}, {versions}",
        f"commit {report['commit']}, medians of {report['repeat']}, processor time",
        report["command"],
        *(["sizes are small: floors are not meant for these figures"] if report["quick"] else []),
        "",
    ]
    rows = [("", "measured", "least .. greatest", "floor", "", "")]
    for figure in report["figures"]:
        spread = Spread(**figure["found"])
        at = "at most" if figure["unit"] == "x the time" else "at least"
        rows.append(
            (
                figure["what"],
                f"{spread.median:,.4g}",
                f"{spread.low:,.4g} .. {spread.high:,.4g}",
                f"{at} {figure['floor']:g}",
                figure["unit"],
                "ok" if figure["ok"] else "short",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    for row in rows:
        cells = zip(row, widths, (False, True, True, True, False, False), strict=True)
        line = "  ".join(cell.rjust(w) if right else cell.ljust(w) for cell, w, right in cells)
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"
