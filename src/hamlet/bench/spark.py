"""How fast workloads are on Spark, against the least that any Python on Spark costs.

The same rows in the same columns go through a task that gives back what it gets, and through a
workload, in turn. The first is what it costs to bring events to Python and results back; the second
has a shuffle, a sort and the engine in it. Answers are compared with those of one machine before.
"""

from __future__ import annotations

import os
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hamlet.bench import streams
from hamlet.bench.timing import Spread
from hamlet.data import generate_table
from hamlet.data.workloads import first
from hamlet.engine import Options
from hamlet.errors import InternalError
from hamlet.io.circumstances import circumstances
from hamlet.plan.number_mode import NUMBERS
from hamlet.spark.batch import answer
from hamlet.spark.files.reading import read_files
from hamlet.spark.session import cut_into_tasks, running, start
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # Only hamlet.spark imports pyspark, even for types.
    DataFrame: TypeAlias = Any

EVENTS = 10_000_000
GROUPS = 1_000
QUERIES = 50
# One X and then Ts, one burst in each window: counts stay below 2^62.
BURST = 60
FLOOR = 0.75
# Rides of a day, as in the demo: a small run, where planning and starting are most of it.
RIDES, RIDE_QUERIES = 200_000, 10
REPEAT = 3
_CHECKED_GROUPS = 20
_ROWS_OF_FILE = 1 << 20
RETURNS = ("COUNT(*)", "COUNT(*), SUM(T.v) AS total")


def measure(
    events: int = EVENTS,
    *,
    master: str | None = None,
    quick: bool = False,
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure batch runs and report everything as plain data.

    Args:
        events: How many events.
        master: Where to run; all cores of this machine when left out.
        quick: A tenth of the events: shows that it works, measures little.
        tell: Is told what is being done.
    """
    size = max(BURST, (events // 10 if quick else events) // GROUPS)
    is_ours = running() is None
    spark = start(master, settings={"spark.driver.memory": "4g"}, quiet=True)
    try:
        with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as folder:
            # First, so that nothing is warm.
            small = _small(spark, Path(folder), RIDES // 10 if quick else RIDES, tell)
        with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as folder:
            tell(f"writing {GROUPS * size:,} events")
            _write(Path(folder), size)
            frame = spark.read.parquet(folder)
            if is_ours:
                cut_into_tasks(spark, sum(each.stat().st_size for each in Path(folder).iterdir()))
            figures = list(_figures(frame, GROUPS * size, quick, tell))
    finally:
        if is_ours:
            spark.stop()
    described = circumstances()
    described["machine"]["cores_used"] = os.cpu_count()
    described["versions"]["pyspark"] = version("pyspark")
    return {
        **described,
        "quick": quick,
        "repeat": REPEAT,
        "events": GROUPS * size,
        "kept": quick or all(figure["ok"] for figure in figures),
        "small": small,
        "figures": figures,
    }


def _small(
    spark: Any, folder: Path, events: int, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Where the time of a small run goes: the first of a session, and the median of others."""
    tell(f"measuring {RIDE_QUERIES} queries over {events:,} rides, cold and warm")
    path = folder / "rides.parquet"
    parquet.write_table(generate_table("ridesharing", events=events, seed=1, groups=20), path)
    workload, options = Workload.parse(first("ridesharing", queries=RIDE_QUERIES)), Options()
    runs: list[dict[str, float]] = []
    for _ in range(REPEAT + 1):
        begun = time.perf_counter()
        source = read_files(spark, path, workload.plan, options)
        read = time.perf_counter()
        answers = answer(workload.plan, source.frame, options, rows=source.rows)
        planned = time.perf_counter()
        answers.table.write.format("noop").mode("overwrite").save()
        done = time.perf_counter()
        runs.append({"read": read - begun, "plan": planned - read, "run": done - planned})
    stages = {stage: Spread.of([each[stage] for each in runs[1:]])._asdict() for stage in runs[0]}
    return [{"state": "cold", "seconds": runs[0]}, {"state": "warm", "seconds": stages}]


def _write(folder: Path, size: int) -> None:
    """Parquet files of bursts in groups, their names as text, and a random v."""
    stream = streams.grouped(GROUPS, size, BURST - 1, QUERIES, span=BURST)
    table = stream.table()
    names = pa.array([f"group {number}" for number in range(GROUPS)])
    table = table.set_column(
        table.schema.get_field_index("g"), "g", names.take(table["g"].combine_chunks())
    )
    table = table.set_column(0, "type", table["type"].cast(pa.string()))
    table = table.append_column("v", pa.array(np.random.default_rng(2).random(len(table))))
    for number, begin in enumerate(range(0, len(table), _ROWS_OF_FILE)):
        part = table.slice(begin, _ROWS_OF_FILE)
        parquet.write_table(part, folder / f"events-{number:04d}.parquet")


def _figures(
    frame: DataFrame, events: int, quick: bool, tell: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    for returns in RETURNS:
        columns = ["type", "time", "g", *(["v"] if "v" in returns else [])]
        text = streams.workload(QUERIES, BURST, BURST, returns=returns, group_by="g")
        workload = Workload.parse(text)
        some = frame.where(frame["g"].isin(*(f"group {n}" for n in range(_CHECKED_GROUPS))))
        for numbers in NUMBERS:
            tell(f"measuring {returns}, {numbers}")
            options = Options(numbers=numbers)
            _check(workload, some.select(*columns), options)
            bare, ours = _in_turn(
                lambda columns=columns: _identity(frame.select(*columns)),  # type: ignore[misc]
                lambda w=workload, o=options: answer(w.plan, frame, o).table,  # type: ignore[misc]
            )
            ratio = Spread.of([b / o for b, o in zip(bare, ours, strict=True)])
            figure = {
                "case": "batch",
                "what": f"{QUERIES} queries, {GROUPS:,} groups, {returns}, {numbers}",
                "bare_rows_per_s": Spread.of([events / each for each in bare])._asdict(),
                "rows_per_s": Spread.of([events / each for each in ours])._asdict(),
                "found": ratio._asdict(),
                "floor": FLOOR,
                "ok": ratio.median >= FLOOR,
            }
            tell(f"  {ratio.median:.3g} of the speed of a bare task: {figure['what']}")
            yield figure


def _small_line(small: dict[str, Any]) -> str:
    seconds = {
        stage: each["median"] if isinstance(each, dict) else each
        for stage, each in small["seconds"].items()
    }
    shown = ", ".join(f"{stage} {each:.2f}" for stage, each in seconds.items())
    return f"a small run, {small['state']}: {sum(seconds.values()):.2f} s ({shown})"


def _identity(frame: DataFrame) -> DataFrame:
    return frame.mapInArrow(_same, frame.schema)


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _in_turn(
    bare: Callable[[], DataFrame], ours: Callable[[], DataFrame]
) -> tuple[list[float], list[float]]:
    """How long each takes, again and again in turn, after a run of both to warm up."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(REPEAT + 1):
        for which, make in enumerate((bare, ours)):
            frame = make()
            begun = time.perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            if number:
                taken[which].append(time.perf_counter() - begun)
    return taken


def _check(workload: Workload, frame: DataFrame, options: Options) -> None:
    """Some groups have the same answers as on one machine."""
    table = answer(workload.plan, frame, options).collected().table
    alone = workload.run(frame.toArrow(), numbers=options.numbers).table
    if table.drop_columns(["value", "log10"]) != alone.drop_columns(["value", "log10"]):
        raise InternalError("Spark and one machine differ")
    for name in ("value", "log10"):
        pairs = zip(table[name].to_pylist(), alone[name].to_pylist(), strict=True)
        if any(abs(a - b) > 1e-9 * max(1.0, abs(b)) for a, b in pairs):
            raise InternalError("Spark and one machine differ")


def as_text(report: dict[str, Any]) -> str:
    """A report as a table of text."""
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    lines = [
        f"{report['machine']['processor']}, {report['machine']['cores_used']} cores, "
        f"Python {report['python']}, {versions}",
        f"commit {report['commit']}, medians of {report['repeat']}, {report['events']:,} events",
        report["command"],
        *(["sizes are small: floors are not meant for these figures"] if report["quick"] else []),
        "",
    ]
    rows = [("", "bare task", "workload", "ratio", "floor", "")]
    for figure in report["figures"]:
        speeds = [figure[each]["median"] / 1e6 for each in ("bare_rows_per_s", "rows_per_s")]
        shown = [f"{speed:.3g} M rows/s" for speed in speeds]
        ratio = f"{figure['found']['median']:.2f}"
        state = "ok" if figure["ok"] else "short"
        rows.append((figure["what"], *shown, ratio, f"at least {figure['floor']:g}", state))
    lines += [_small_line(each) for each in report["small"]] + [""]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    for row in rows:
        cells = zip(row, widths, (False, True, True, True, True, False), strict=True)
        line = "  ".join(cell.rjust(w) if right else cell.ljust(w) for cell, w, right in cells)
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"
