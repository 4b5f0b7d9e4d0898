"""`hamlet run`: answer a workload over a table of events."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.keeping import Kept, keeping_options
from hamlet.cli.loading import load_workload, spark_module
from hamlet.cli.options import (
    column_options,
    format_option,
    numbers_option,
    overwrite_option,
    sharing_option,
)
from hamlet.cli.output import tell
from hamlet.errors import PlanError
from hamlet.io.targets import check_apart, is_folder
from hamlet.systems import SYSTEMS

if TYPE_CHECKING:
    from hamlet.results import Results
    from hamlet.workload import Workload


@click.command(
    "run",
    epilog="Exit status: 0 fine, 1 the workload is wrong, 2 it could not be run or written.",
)
@click.argument("workload")
@click.option(
    "--events",
    metavar="PATH",
    required=True,
    help="CSV, JSON lines or Parquet: a file, a folder or a glob.",
)
@click.option("--out", metavar="PATH", help="A .csv, .jsonl or .parquet file, or a folder.")
@column_options
@numbers_option
@sharing_option
@click.option("--trace", metavar="FILE", help="Write what was decided: .csv, .jsonl or .parquet.")
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    default="spark",
    help="What runs it.  [default: spark]",
)
@click.option(
    "--system",
    type=click.Choice(SYSTEMS),
    default="hamlet",
    metavar="NAME",
    help="To compare: greta, sharon or mcep.",
)
@click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs, such as local[4] or spark://host:7077.",
)
@click.option("--wide", is_flag=True, help="A table for each query, a column for each aggregate.")
@keeping_options
@overwrite_option
@format_option(help="Without --out: first rows, or JSON lines.")
def run_command(
    workload: str,
    events: str,
    out: str | None,
    wide: bool,
    overwrite: bool,
    format_: str,
    engine: str,
    system: str,
    trace: str | None,
    master: str | None,
    save: str | None,
    report: str | None,
    **options: Any,
) -> None:
    """Answer every query of a workload over a table of events. WORKLOAD is a file, or - (stdin)."""
    if engine == "local" and master is not None:
        raise click.UsageError("--master is for --engine spark")
    if engine == "spark" and system != "hamlet":
        raise PlanError("engine", engine, f"Pass --engine local: there alone {system} runs.")
    targets = {"results": out, "trace": trace, "run": save, "report": report}
    check_apart(targets, {"events": events, "workload": workload})
    loaded = load_workload(workload)
    if out is not None:
        _check_out(out, loaded if wide else None, overwrite, format_)
    if trace is not None:
        if engine == "spark":
            raise PlanError("engine", engine, "A trace is kept by --engine local.")
        from hamlet.results import check_trace_target

        check_trace_target(Path(trace), overwrite=overwrite)
    kept = Kept(save, report, overwrite)
    kept.check()
    from hamlet.console import interruptible, shown_progress
    from hamlet.engine import Options

    results: Results | None = None
    with shown_progress() as progress:
        if engine == "local":
            traced = trace is not None or bool(kept)
            results = interruptible(
                lambda: loaded.run(
                    events, progress=progress, trace=traced, system=system, **options
                )
            )
        else:
            # In this thread, where Ctrl-C ends what Spark does.
            command = spark_module("hamlet.spark.command", ", or pass --engine local")
            run = command.Run(loaded.plan, events, Options(**options), master, progress)
            if out is not None and not wide and is_folder(Path(out)) and not kept:
                statistics = run.write_parts(Path(out))
            else:
                results = run.collect()
    if results is not None:
        statistics = results.statistics
        _give(results, out, wide, overwrite, format_, options["numbers"])
        if trace is not None:
            results.write_trace(trace, overwrite=overwrite)
        kept.keep(results, loaded, engine=engine, events=events, options=Options(**options))
        for note in results.notes:
            tell(f"note      {note}")
    tell(str(statistics))
    for written in filter(None, (out, trace, save, report)):
        tell(f"wrote {written}")


def _give(
    results: Results, out: str | None, wide: bool, overwrite: bool, format_: str, numbers: str
) -> None:
    """Print results, or write them to files."""
    from hamlet.console import print_results

    if out is None and format_ == "json":
        results.write_lines(sys.stdout.buffer, wide=wide)
    elif out is None:
        print_results(results, wide=wide)
    elif wide:
        also: Any = ("log10", "exact") if numbers == "exact" else ("log10",)
        results.write_wide(out, overwrite=overwrite, also=also)
    else:
        results.write(out, overwrite=overwrite)


def _check_out(out: str, wide: Workload | None, overwrite: bool, format_: str) -> None:
    """Refuse a place for results before any event is read."""
    from hamlet.results import check_target

    if format_ != "text":
        message = "--format is for standard output; a file is written as its ending says"
        raise click.UsageError(message)
    names = [query.name for query in wide.queries] if wide else ()
    check_target(Path(out), overwrite=overwrite, wide=names)
