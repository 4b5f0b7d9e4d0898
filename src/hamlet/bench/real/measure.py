"""Measuring: answers compared first, then all contenders in turn, on one core.

All go the whole way, from a table of events to a table of results. By stage and by query it is told
where the time goes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hamlet.bench.real.hand_loops import HandLoop, NotByHand, sorted_by
from hamlet.bench.real.in_sql import Database, NotInSql, sql_of
from hamlet.bench.real.workloads import SEED, RealWorkload, workloads
from hamlet.bench.timing import Spread, one_core, seconds
from hamlet.errors import InternalError, ReadError, UnknownName, listed
from hamlet.events.table import EventTable
from hamlet.io.circumstances import circumstances
from hamlet.plan.workload import plan_workload
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.query import Query

_TOLERANCE = 1e-9
KINDS: tuple[Numbers, ...] = ("float", "exact")


class Contest:
    """One workload, with everything that answers it made ready and warm."""

    def __init__(self, asked: RealWorkload, table: Any) -> None:
        self.asked, self.table = asked, table
        self.workload = Workload.parse(asked.text)
        self.alone = [Workload(plan_workload([one])) for one in self.workload.plan.queries]
        self.loops: list[HandLoop] = []
        self.not_by_hand: dict[str, str] = {}
        for query in self.workload.queries:
            try:
                self.loops.append(HandLoop(query))
            except NotByHand as why:
                self.not_by_hand[query.name] = str(why)
        self._find_sql()

    def _find_sql(self) -> None:
        """Which queries SQL can say, and these as a workload of their own."""
        self.in_sql: dict[str, str] = {}
        self.not_in_sql: dict[str, str] = {}
        for query in self.workload.queries:
            try:
                self.in_sql[query.name] = sql_of(query, self.table, self.asked.columns)
            except NotInSql as why:
                self.not_in_sql[query.name] = str(why)
        some = [one for one in self.workload.plan.queries if one.query.name in self.in_sql]
        self.said = Workload(plan_workload(some)) if some else None

    def by_hand(self, only: str | None = None) -> dict[str, Any]:
        """The answers of the loops; those of one partitioning sort once."""
        events = EventTable.of(self.table, self.workload.plan, **self.asked.columns)
        ordered: dict[tuple[str, ...], Any] = {}
        answers = {}
        for loop in self.loops:
            query = loop.query
            if only is not None and query.name != only:
                continue
            if query.partition not in ordered:
                ordered[query.partition] = sorted_by(events, query.partition)
            answers[query.name] = loop.run(ordered[query.partition])
        return answers

    def together(self, numbers: Numbers) -> Any:
        """All queries by the engine, with the long form of what they return."""
        return _with_table(self.workload.run(self.table, numbers=numbers, **self.asked.columns))

    def one(self, number: int, numbers: Numbers) -> Any:
        """One query by the engine."""
        one = self.alone[number]
        return _with_table(one.run(self.table, numbers=numbers, **self.asked.columns))

    def one_by_one(self, numbers: Numbers) -> None:
        """All queries by the engine, each in a run of its own."""
        for number in range(len(self.alone)):
            self.one(number, numbers)

    def those_in_sql(self) -> Any:
        """The queries that SQL can say by the engine, with the long form of what they return."""
        assert self.said is not None
        return _with_table(self.said.run(self.table, numbers="float", **self.asked.columns))

    def check(self, database: Database | None = None) -> int:
        """Compare all answers; how many rows there were."""
        by_hand, rows = self.by_hand(), 0
        by_sql = {} if database is None else database.answers(self.in_sql)
        for numbers in KINDS:
            results = self.together(numbers)
            rows = results.table.num_rows
            for number, query in enumerate(self.workload.queries):
                ours = keyed(results.wide(query.name), query, "window_start")
                theirs = keyed(self.one(number, numbers).wide(query.name), query, "window_start")
                compare(f"{query.name} alone", theirs, ours)
                for how, answers in (("by hand", by_hand), ("in SQL", by_sql)):
                    if query.name in answers:
                        answered = keyed(answers[query.name], query, "window")
                        compare(f"{query.name} {how}", answered, ours)
        return rows


def _with_table(results: Any) -> Any:
    """Results whose table has been put together, which is left to who asks for it otherwise."""
    assert results.table is not None
    return results


def keyed(table: Any, query: Query, start: str) -> dict[tuple[Any, ...], tuple[float, ...]]:
    """Aggregates by start of the window, in microseconds, and group."""
    starts = table[start]
    if pa.types.is_timestamp(starts.type):
        starts = starts.cast(pa.timestamp("us", starts.type.tz)).cast(pa.int64())
    keys = zip(starts.to_pylist(), *(table[k].to_pylist() for k in query.group_by), strict=True)
    values = zip(*(table[a.name].to_pylist() for a in query.aggregates), strict=True)
    return {
        k: tuple(math.nan if x is None else float(x) for x in v)
        for k, v in zip(keys, values, strict=True)
    }


def compare(
    what: str,
    found: dict[tuple[Any, ...], tuple[float, ...]],
    expected: dict[tuple[Any, ...], tuple[float, ...]],
) -> None:
    """Refuse answers that differ; numbers that a double cannot hold are not looked at."""
    if found.keys() != expected.keys():
        message = f"{what}: windows and groups differ from those of all queries together"
        raise InternalError(message)
    for key, values in expected.items():
        for one, other in zip(found[key], values, strict=True):
            is_known = math.isfinite(one) and math.isfinite(other)
            if is_known and abs(one - other) > _TOLERANCE * max(abs(one), abs(other)):
                message = f"{what}, {key}: {one} and {other}"
                raise InternalError(message)


def measure(
    only: Sequence[str] = (),
    *,
    data: str | Path | None = None,
    quick: bool = False,
    repeat: int = 3,
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Compare and time all contenders, workload by workload; those without their file are named."""
    known = {one.name: one for one in workloads()}
    for name in only:
        if name not in known:
            raise UnknownName("workload", name, f"There are {listed(known)}.")
    points = []
    for name in only or known:
        tell(f"measuring {name}: {known[name].about}")
        try:
            table = known[name].table(data, quick)
        except ReadError as missing:
            tell(str(missing))
            points.append({"name": name, "about": known[name].about, "missing": str(missing)})
            continue
        with one_core():
            points.append(measure_workload(known[name], table, repeat))
    return {**circumstances(), "seed": SEED, "quick": quick, "repeat": repeat, "points": points}


def measure_workload(asked: RealWorkload, table: Any, repeat: int) -> dict[str, Any]:
    """Seconds of all contenders, and by query."""
    contest = Contest(asked, table)
    with Database.of(table) as database:
        rows = contest.check(database)
        works: dict[str, Callable[[], object]] = {"hand loops": contest.by_hand}
        for numbers in KINDS:
            works[f"together, {numbers}"] = partial(contest.together, numbers)
            works[f"one by one, {numbers}"] = partial(contest.one_by_one, numbers)
        if database is not None and contest.in_sql:
            works["DuckDB"] = partial(database.answers, contest.in_sql)
            works["together, those in SQL"] = contest.those_in_sql
            contest.those_in_sql()
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(repeat):
            for name, work in works.items():
                times[name].append(seconds(work))
    return {
        "name": asked.name,
        "about": asked.about,
        "events": table.num_rows,
        "queries": len(contest.workload.queries),
        "rows": rows,
        "not by hand": contest.not_by_hand,
        "not in SQL": contest.not_in_sql,
        "seconds": {name: Spread.of(each)._asdict() for name, each in times.items()},
        "stages": {kind: contest.together(kind).statistics.seconds for kind in KINDS},
        "by query": _by_query(contest) if len(contest.alone) <= 20 else {},
    }


def _by_query(contest: Contest) -> dict[str, dict[str, float]]:
    """Seconds of each query by itself."""
    return {
        query.name: {
            "hand loop": seconds(partial(contest.by_hand, query.name)),
            **{kind: seconds(partial(contest.one, number, kind)) for kind in KINDS},
        }
        for number, query in enumerate(contest.workload.queries)
    }


def as_text(report: dict[str, Any]) -> str:
    """A report as a table of text."""
    head = f"{'workload':<20}{'events':>10}{'queries':>9}{'hand loops':>12}{'together':>10}"
    head += f"{'one by one':>12}{'exact':>9}{'one by one':>12}{'hand/ours':>11}{'apart/ours':>12}"
    lines = [
        f"{report['machine']['processor']}, one core, Python {report['python']}",
        f"commit {report['commit']}, medians of {report['repeat']}, processor time in ms"
        "; stages by the clock",
        report["command"],
        "",
        head + f"{'exact':>8}{'exact/float':>13}",
    ]
    for point in report["points"]:
        lines += _lines(point)
    return "\n".join(lines) + "\n"


def _lines(point: dict[str, Any]) -> list[str]:
    if "missing" in point:
        return [f"{point['name']:<20}{point['missing']}"]
    middle = {name: 1e3 * each["median"] for name, each in point["seconds"].items()}
    hand, ours, exact = middle["hand loops"], middle["together, float"], middle["together, exact"]
    apart, apart_exact = middle["one by one, float"], middle["one by one, exact"]
    line = (
        f"{point['name']:<20}{point['events']:>10,}{point['queries']:>9}{hand:>12.1f}{ours:>10.1f}"
    )
    line += (
        f"{apart:>12.1f}{exact:>9.1f}{apart_exact:>12.1f}{hand / ours:>11.2f}{apart / ours:>12.2f}"
    )
    lines = [line + f"{apart_exact / exact:>8.2f}{exact / ours:>13.2f}"]
    if "DuckDB" in middle:
        said = point["queries"] - len(point["not in SQL"])
        sql, same = middle["DuckDB"], middle["together, those in SQL"]
        line = f"    {'in SQL':<14}{said} of {point['queries']} queries: DuckDB {sql:.1f}"
        lines.append(f"{line}  together {same:.1f}  DuckDB/ours {sql / same:.2f}")
    for numbers, stages in point["stages"].items():
        times = "  ".join(f"{stage} {1e3 * took:.1f}" for stage, took in stages.items())
        lines.append(f"    {numbers:<14}{times}")
    for name, each in point["by query"].items():
        times = "  ".join(f"{kind} {1e3 * s:.1f}" for kind, s in each.items())
        lines.append(f"    {name:<14}{times}")
    lines += [f"    {name:<14}not by hand: {why}" for name, why in point["not by hand"].items()]
    return lines
