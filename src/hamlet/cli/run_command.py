"""`hamlet run`: answer a workload over a table of events."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.engines import choose_engine, place_for
from hamlet.cli.keeping import Kept, keeping_options
from hamlet.cli.loading import load_workload, spark_module
from hamlet.cli.options import (
    column_options,
    engine_options,
    events_option,
    format_option,
    numbers_option,
    overwrite_option,
    sharing_options,
)
from hamlet.cli.output import tell
from hamlet.errors import PlanError
from hamlet.io.targets import check_apart, is_folder, is_url
from hamlet.paper.systems import SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hamlet.cli.engines import Place
    from hamlet.engine import Options
    from hamlet.results import Results
    from hamlet.workload import Workload


@click.command(
    "run",
    epilog="Exit status: 0 fine, 1 the workload is wrong, 2 it could not be run or written.",
)
@click.argument("workload")
@events_option
@click.option(
    "--out", metavar="PATH", help="A .csv, .tsv, .jsonl or .parquet file, a folder, or a URL."
)
@column_options
@numbers_option
@sharing_options
@click.option("--trace", metavar="FILE", help="Write what was decided: .csv, .jsonl or .parquet.")
@engine_options
@click.option(
    "--system",
    type=click.Choice(SYSTEMS),
    default="hamlet",
    metavar="NAME",
    help="To compare: greta, sharon or mcep.",
)
@click.option(
    "--counts/--no-counts",
    default=True,
    help="On Spark: count rows that are left out, of all types.",
    show_default=False,
)
@click.option("--wide", is_flag=True, help="A table for each query, a column for each aggregate.")
@click.option("--long", is_flag=True, help="One table, a row for each aggregate.")
@keeping_options
@overwrite_option
@format_option(help="Without --out: first rows, or JSON lines.")
def run_command(
    workload: str,
    events: str,
    out: str | None,
    wide: bool,
    long: bool,
    overwrite: bool,
    format_: str,
    engine: str | None,
    system: str,
    trace: str | None,
    master: str | None,
    remote: str | None,
    counts: bool,
    save: str | None,
    report: str | None,
    **options: Any,
) -> None:
    """Answer every query of a workload over a table of events. WORKLOAD is a file, or - (stdin)."""
    place = place_for(engine, master, remote)
    if long and wide:
        raise click.UsageError("--long and --wide are two forms: choose one")
    targets = {"results": out, "trace": trace, "run": save, "report": report}
    check_apart(targets, {"events": events, "workload": workload})
    loaded = load_workload(workload, place=place)
    kept = Kept(save, report, overwrite)
    _check_targets(out, trace, kept, loaded if wide else None, format_)
    chosen = choose_engine(
        events, asked=engine, place=place.option, only_local=_only_local(system, trace), out=out
    )
    if chosen.engine == "spark":
        _check_spark(system, trace)
    if chosen.why:
        tell(chosen.line)
    notes: Sequence[str] = ()
    run = _Run(loaded, events, options, chosen.engine, None if counts else False)
    if chosen.engine == "local":
        traced = trace is not None or bool(kept)
        results: Results | None = run.locally(traced, system)
    elif out is not None and is_url(out):
        _check_nothing_kept(kept)
        results = None
        statistics = run.on_spark(place, lambda r: r.write_to(out, wide, overwrite))
    elif out is not None and not wide and is_folder(Path(out)) and not kept:
        results = None
        statistics, notes = run.on_spark(place, lambda r: r.write_parts(Path(out)))
    else:
        results = run.on_spark(place, lambda r: r.collect(draws=bool(kept)))
    if results is not None:
        statistics = results.statistics
        form = True if wide else False if long else None
        _give(results, out, form, overwrite, format_, options["numbers"])
        if trace is not None:
            results.write_trace(trace, overwrite=overwrite)
        how = {"engine": chosen.engine, "events": events, "options": run.engine_options()}
        kept.keep(results, loaded, **how)
        notes = results.notes
    for note in notes:
        tell(f"note      {note}")
    tell(str(statistics))
    for written in filter(None, (out, trace, save, report)):
        tell(f"wrote {written}")


@dataclass(frozen=True, slots=True)
class _Run:
    """What is run, by whichever engine."""

    workload: Workload
    events: str
    options: dict[str, Any]
    engine: str
    counts: bool | None

    def engine_options(self) -> Options:
        """The options as the engine has them."""
        from hamlet.engine import options_for

        return options_for(self.workload.plan, **self.options)

    def locally(self, traced: bool, system: str) -> Results:
        from hamlet.cli.console import interruptible, shown_progress

        with shown_progress() as progress:
            return interruptible(
                lambda: self.workload.run(
                    self.events, progress=progress, trace=traced, system=system, **self.options
                )
            )

    def on_spark(self, place: Place, work: Callable[[Any], Any]) -> Any:
        """What is made of a run on Spark: results, or where they are written what was done.

        In this thread, where Ctrl-C ends what Spark does.
        """
        from hamlet.cli.console import shown_progress

        command = spark_module("hamlet.spark.command", ", or pass --engine local")
        with shown_progress() as progress:
            options = self.engine_options()
            plan, counts = self.workload.plan, self.counts
            run = command.Run(
                plan, self.events, options, place.master, progress, place.remote, counts
            )
            return work(run)


def _only_local(system: str, trace: str | None) -> str:
    """What was asked for that only this process does."""
    if system != "hamlet":
        return f"--system {system}"
    return "--trace" if trace is not None else ""


def _check_spark(system: str, trace: str | None) -> None:
    if system != "hamlet":
        reason = f"{system} does not run on Spark"
        raise PlanError(reason, "Pass --engine local.")
    if trace is not None:
        raise PlanError("on Spark no trace is kept", "Pass --engine local.")


def _check_nothing_kept(kept: Kept) -> None:
    if kept:
        remedy = "Leave them out, or write results to a path."
        raise PlanError("--save and --report keep results that are on this machine", remedy)


def _give(
    results: Results,
    out: str | None,
    wide: bool | None,
    overwrite: bool,
    format_: str,
    numbers: str,
) -> None:
    """Print results, or write them to files."""
    from hamlet.cli.console import print_results

    if out is None and format_ == "json":
        results.write_lines(sys.stdout.buffer, wide=bool(wide))
    elif out is None:
        print_results(results, wide=wide)
    elif wide:
        also: Any = ("log10", "exact") if numbers == "exact" else ("log10",)
        results.write_wide(out, overwrite=overwrite, also=also)
    else:
        results.write(out, overwrite=overwrite)


def _check_targets(
    out: str | None, trace: str | None, kept: Kept, wide: Workload | None, format_: str
) -> None:
    """Refuse a place before any event is read."""
    from hamlet.io.writers import check_target, check_trace_target

    if out is not None and is_url(out):
        kept.check()
        return
    if out is not None:
        if format_ != "text":
            message = "--format is for standard output; a file is written as its ending says"
            raise click.UsageError(message)
        names = [query.name for query in wide.queries] if wide else ()
        check_target(Path(out), overwrite=kept.overwrite, wide=names)
    if trace is not None:
        check_trace_target(Path(trace), overwrite=kept.overwrite)
    kept.check()
