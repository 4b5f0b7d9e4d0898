"""Other ways to answer the same queries: a plain Python program, and SQL in DuckDB.

The queries are SEQ(Xi, T+) over bursts. Without an edge predicate there is a closed form, because
every subset of the T that follow an X is a trend: an X followed by m of them begins 2^m - 1 trends.
SQL says that with a window function. With an edge predicate SQL joins trends of one length with the
events that may follow, ranked by time, once for each length. The Python program has the recurrence
of the paper for each query. Events are the same table for all, on one core, and answers are
compared before anything is timed.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hamlet.bench import streams
from hamlet.bench.timing import Spread, one_core, seconds
from hamlet.errors import InternalError, UnknownName, listed
from hamlet.io.circumstances import circumstances
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

    # By query and start of the window, in seconds
    Answers = dict[tuple[str, int], float]
    Peer = Callable[[], Answers]

SEED = 1
NAMES = ("hamlet", "python", "duckdb")


@dataclass(frozen=True, slots=True)
class Case:
    """A workload of SEQ(Xi, T+), windows of `within` events that do not overlap."""

    name: str
    about: str
    events: int
    queries: int
    burst: int
    within: int
    returns: str
    where: str
    sql: str

    def table(self) -> pa.Table:
        """The events; their times are their numbers, so a window has as many as seconds."""
        return streams.bursts(self.events, self.burst, self.queries, SEED).table()

    def text(self) -> str:
        """The queries."""
        return streams.workload(
            self.queries, self.within, self.within, self.returns, where=self.where
        )


_PARTS = """
WITH e AS (
    SELECT time, type, v::DOUBLE AS v, time // {within} AS w, (type = 'T')::INTEGER AS is_t
    FROM events
)"""

# An X followed by m events T begins 2^m - 1 trends.
COUNT_SQL = (
    _PARTS
    + """,
f AS (
    SELECT type, w, sum(is_t) OVER (
        PARTITION BY w ORDER BY time ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS m
    FROM e
)
SELECT 'q' || type[2:], w * {within}, sum(2::DOUBLE ** m - 1)
FROM f WHERE type <> 'T' AND m > 0 GROUP BY ALL"""
)

# Each of the m events is in 2^(m-1) of those trends.
SUM_SQL = (
    _PARTS
    + """,
f AS (
    SELECT type, w, sum(is_t) OVER following AS m, sum(is_t * v) OVER following AS total
    FROM e
    WINDOW following AS (
        PARTITION BY w ORDER BY time ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    )
)
SELECT 'q' || type[2:], w * {within}, sum(2::DOUBLE ** (m - 1) * total)
FROM f WHERE type <> 'T' AND m > 0 GROUP BY ALL"""
)

# Trends of each length by their last event, from those that are one shorter.
EDGE_SQL = (
    _PARTS.replace("WITH", "WITH RECURSIVE")
    + """,
t AS (
    SELECT w, time, v, row_number() OVER (PARTITION BY w ORDER BY time) AS rank
    FROM e WHERE is_t = 1
),
x AS (SELECT w, time, type FROM e WHERE is_t = 0),
ends AS (
    SELECT x.type, t.w, t.rank, t.v, count(*)::DOUBLE AS trends
    FROM x JOIN t ON t.w = x.w AND t.time > x.time GROUP BY ALL
    UNION ALL
    SELECT ends.type, t.w, t.rank, t.v, sum(ends.trends) AS trends
    FROM ends JOIN t ON t.w = ends.w AND t.rank > ends.rank AND t.v > ends.v GROUP BY ALL
)
SELECT 'q' || type[2:], w * {within}, sum(trends) FROM ends GROUP BY ALL"""
)


def cases(quick: bool) -> list[Case]:
    """What is asked."""
    many, few = (20_000, 2_000) if quick else (400_000, 20_000)
    return [
        Case("count", "COUNT(*), closed form", many, 10, 10, 200, "COUNT(*)", "", COUNT_SQL),
        Case("sum", "SUM(T.v), closed form", many, 10, 10, 200, "SUM(T.v)", "", SUM_SQL),
        Case("many", "COUNT(*), 100 queries", many, 100, 10, 200, "COUNT(*)", "", COUNT_SQL),
        Case(
            "edge",
            "COUNT(*) where v rises, join for each length",
            few,
            10,
            10,
            200,
            "COUNT(*)",
            "T.v < NEXT(T).v",
            EDGE_SQL,
        ),
    ]


# Peers


@contextmanager
def by_hamlet(case: Case, table: pa.Table) -> Iterator[Peer]:
    """The engine, with the workload parsed."""
    workload = Workload.parse(case.text())

    def answer() -> Answers:
        rows = workload.run(table, numbers="float").table
        columns = (rows[name].to_pylist() for name in ("query", "window_start", "value"))
        return {(query, int(start)): value for query, start, value in zip(*columns, strict=True)}

    yield answer


@contextmanager
def by_python(case: Case, table: pa.Table) -> Iterator[Peer]:
    """The recurrence of each query, event by event, in plain Python."""
    recurrence = _PLAIN[case.name]

    def answer() -> Answers:
        types, values = table["type"].to_pylist(), table["v"].to_pylist()
        answers: Answers = {}
        for start in range(0, len(types), case.within):
            inside = range(start, min(start + case.within, len(types)))
            some, v = [types[i] for i in inside], [float(values[i]) for i in inside]
            for query in range(case.queries):
                count = recurrence(f"X{query}", some, v)
                if count is not None:
                    answers[f"q{query}", start] = count
        return answers

    yield answer


def _count(entry: str, types: list[str], values: list[float]) -> float | None:
    starts = trends = 0.0
    for kind in types:
        if kind == "T":
            trends += trends + starts
        elif kind == entry:
            starts += 1.0
    return trends or None


def _sum(entry: str, types: list[str], values: list[float]) -> float | None:
    starts = trends = total = 0.0
    for kind, value in zip(types, values, strict=True):
        if kind == "T":
            total += total + value * (trends + starts)
            trends += trends + starts
        elif kind == entry:
            starts += 1.0
    return total if trends else None


def _rising(entry: str, types: list[str], values: list[float]) -> float | None:
    starts, ending = 0.0, list[tuple[float, float]]()
    for kind, value in zip(types, values, strict=True):
        if kind == "T":
            ending.append((value, starts + sum(n for before, n in ending if before < value)))
        elif kind == entry:
            starts += 1.0
    return sum(n for _, n in ending) or None


_PLAIN: dict[str, Callable[[str, list[str], list[float]], float | None]] = {
    "count": _count,
    "sum": _sum,
    "many": _count,
    "edge": _rising,
}


@contextmanager
def by_duckdb(case: Case, table: pa.Table) -> Iterator[Peer]:
    """SQL, for all queries at once, connected to a database in memory with one thread."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("events", table)
        sql = case.sql.format(within=case.within)

        def answer() -> Answers:
            rows = connection.execute(sql).fetchall()
            return {(query, int(start)): value for query, start, value in rows}

        yield answer


_PEERS: dict[str, Callable[[Case, Any], AbstractContextManager[Peer]]] = {
    "hamlet": by_hamlet,
    "python": by_python,
    "duckdb": by_duckdb,
}


# Measuring


def measure(
    only: Sequence[str] = (),
    *,
    quick: bool = False,
    repeat: int = 3,
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Compare the answers of all peers and time them, case by case."""
    known = cases(quick)
    for name in only:
        if name not in [case.name for case in known]:
            raise UnknownName("case", name, f"There are {listed(case.name for case in known)}.")
    points = []
    with one_core():
        for case in known:
            if not only or case.name in only:
                tell(f"measuring {case.name}: {case.about}")
                points.append(measure_case(case, repeat))
    return {**_circumstances(), "seed": SEED, "quick": quick, "repeat": repeat, "points": points}


def measure_case(case: Case, repeat: int) -> dict[str, Any]:
    """Seconds of each peer, all with the same answers."""
    table = case.table()
    with by_hamlet(case, table) as peer:
        expected = peer()
    measured: dict[str, Any] = {}
    for name, prepared in _PEERS.items():
        try:
            with prepared(case, table) as peer:
                check_equal(name, peer(), expected)
                times = [seconds(peer) for _ in range(repeat)]
        except ModuleNotFoundError as error:
            if error.name != "duckdb":
                raise
            why = "it needs duckdb, from pip install 'hamlet-trends[bench]'"
            measured[name] = {"status": "missing", "why": why}
            continue
        measured[name] = {"status": "measured", "seconds": Spread.of(times)._asdict()}
    return {
        "name": case.name,
        "about": case.about,
        "events": case.events,
        "queries": case.queries,
        "within": case.within,
        "answers": len(expected),
        "found": measured,
    }


def check_equal(name: str, found: Answers, expected: Answers) -> None:
    """Refuse answers that differ in a window, or in a value by more than nine places."""
    if found.keys() != expected.keys():
        message = f"{name} and hamlet differ in the windows that have trends"
        raise InternalError(message)
    for key, value in expected.items():
        if abs(found[key] - value) > 1e-9 * abs(value):
            message = f"{name} and hamlet differ in {key}: {found[key]} and {value}"
            raise InternalError(message)


def _circumstances() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    known = circumstances()
    try:
        known["versions"]["duckdb"] = version("duckdb")
    except PackageNotFoundError:
        known["versions"]["duckdb"] = "not installed"
    return known


def as_text(report: dict[str, Any]) -> str:
    """A report as a table of text."""
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    lines = [
        f"{report['machine']['processor']}, one core, Python {report['python']}, {versions}",
        f"commit {report['commit']}, medians of {report['repeat']}, processor time, seed "
        f"{report['seed']}",
        report["command"],
    ]
    for point in report["points"]:
        asked = f"{point['events']:,} events, {point['queries']} queries, {point['answers']:,} rows"
        lines += ["", f"{point['name']}: {point['about']}; {asked}"]
        base = point["found"]["hamlet"]["seconds"]["median"]
        for name, found in point["found"].items():
            if found["status"] != "measured":
                lines.append(f"  {name:<8} {found['why']}")
                continue
            s = Spread(**found["seconds"])
            lines.append(
                f"  {name:<8}{1e3 * s.median:>12.2f} ms  {1e3 * s.low:.2f} .. {1e3 * s.high:.2f}"
                f"{s.median / base:>10.2f}x"
            )
    return "\n".join(lines) + "\n"
