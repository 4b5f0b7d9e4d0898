"""The command line: read arguments, call the library, print.

Data goes to standard output, talk to standard error. Exit status 0: fine; 1: the answer is no; 2:
could not do it. A user's mistake never shows a stack trace, unless `--debug` asks for it.
"""

from __future__ import annotations

import os
import sys
import traceback
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hamlet import __version__
from hamlet.bench.calibrate_command import calibrate_command
from hamlet.bench.compare_command import compare_command
from hamlet.bench.engine_command import engine_command
from hamlet.bench.paper_command import paper_command
from hamlet.bench.peers_command import peers_command
from hamlet.bench.sharing_command import sharing_command
from hamlet.bench.spark_command import spark_command
from hamlet.check_command import check_command
from hamlet.commands import (
    format_option,
    give,
    load_workload,
    separator_option,
    spark_module,
    tell,
    write_whole,
)
from hamlet.data.command import generate_command
from hamlet.errors import HamletError, PlanError, QueryError, WriteError, reason_of
from hamlet.explain import STAGES
from hamlet.report.command import Kept, keeping_options, report_command
from hamlet.share.policy import POLICIES
from hamlet.systems import SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hamlet.results import Results
    from hamlet.workload import Workload

_sharing_option = click.option(
    "--sharing",
    type=click.Choice(POLICIES),
    default="dynamic",
    metavar="POLICY",
    help="Share work: dynamic, always, never or static.  [default: dynamic]",
)

_numbers_option = click.option(
    "--numbers",
    type=click.Choice(["exact", "float"]),
    default="exact",
    help="Integers, or floats, of any magnitude.  [default: exact]",
)


def _column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Say which columns of events have what every workload needs."""
    options = (
        click.option(
            "--type", metavar="COLUMN", default="type", help="Types of events.  [default: type]"
        ),
        click.option(
            "--time", metavar="COLUMN", default="time", help="Their times.  [default: time]"
        ),
        click.option("--order", metavar="COLUMN", help="What orders events of equal time."),
        separator_option,
    )
    # The option that is applied last is shown first.
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)


WORKLOAD_HELP = "WORKLOAD is a file of queries, or - for standard input."


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hamlet")
@click.option("--debug", is_flag=True, help="Show a stack trace with every error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Event trend aggregation: many Kleene-pattern queries over one stream, answered together."""
    context.obj = {"debug": debug}


@cli.command(epilog="Exit status: 0 fine, 1 the workload is wrong, 2 it cannot be read.")
@click.argument("workload")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice(list(STAGES)),
    metavar="STAGE",
    help=f"Show only this stage (may be repeated): {', '.join(STAGES)}.",
)
@click.option("--schema", metavar="FILE", help="Check attributes too, as in hamlet check.")
@click.option("--out", metavar="FILE", help="Write to this file instead of standard output.")
@click.option("--analyze", is_flag=True, help="Run it over --events; show what is shared, and why.")
@click.option("--events", metavar="PATH", help="Events for --analyze, as in hamlet run.")
@_column_options
@_sharing_option
@format_option(
    "mermaid", "svg", help="Pictures (mermaid, svg) show the stages merged and templates."
)
def explain(
    workload: str,
    stages: tuple[str, ...],
    format_: str,
    schema: str | None,
    out: str | None,
    analyze: bool,
    events: str | None,
    **options: Any,
) -> None:
    """Show what Hamlet understood of a workload: its plan, stage by stage, or as a picture.

    WORKLOAD is a file of queries, or - for standard input.
    """
    if analyze != (events is not None):
        raise click.UsageError("--analyze runs the workload: it goes with --events, and only so")
    if analyze and (stages or format_ not in ("text", "json")):
        raise click.UsageError("--analyze has no stages and no picture; it is text or json")
    if out is not None:
        _check_not_read(out, workload=workload, schema=schema, events=events)
    loaded = load_workload(workload, schema, options["separator"])
    if events is None:
        shown = loaded.explain(stages, format=format_)
    else:
        shown = _analyzed(loaded, events, format_, options)
    if out is None:
        click.echo(shown, nl=False)
        return
    write_whole(Path(out), shown)
    tell(f"wrote {out}")


def _check_not_read(out: str, **read: str | None) -> None:
    """Refuse to write over what is read."""
    for what, path in read.items():
        if path is not None and Path(path).resolve() == Path(out).resolve():
            raise WriteError(out, f"that is the {what}; choose another place")


def _analyzed(loaded: Workload, events: str, format_: str, options: dict[str, Any]) -> str:
    """What a run over some events decided."""
    from hamlet.console import interruptible, shown_progress

    with shown_progress() as progress:
        return interruptible(
            lambda: loaded.analyze(events, format=format_, progress=progress, **options)
        )


@cli.command(
    "run",
    epilog="Exit status: 0 fine, 1 the workload is wrong, 2 it could not be run or written.",
)
@click.argument("workload")
@click.option(
    "--events",
    metavar="PATH",
    required=True,
    help="CSV, TSV, JSON lines or Parquet: a file, a folder or a glob.",
)
@click.option("--out", metavar="PATH", help="A .csv, .tsv, .jsonl or .parquet file, or a folder.")
@_column_options
@_numbers_option
@_sharing_option
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
@click.option("--overwrite", is_flag=True, help="Replace what is there already.")
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
    loaded = load_workload(workload)
    if out is not None:
        _check_out(out, events, loaded if wide else None, overwrite, format_)
    if trace is not None:
        if engine == "spark":
            raise PlanError("engine", engine, "A trace is kept by --engine local.")
        _check_trace(trace, events, out, overwrite)
    kept = Kept(save, report, overwrite)
    kept.check(events=events, results=out, trace=trace)
    from hamlet.console import interruptible, shown_progress
    from hamlet.engine import Options
    from hamlet.results import is_folder

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


def _check_out(out: str, events: str, wide: Workload | None, overwrite: bool, format_: str) -> None:
    """Refuse a place for results before any event is read."""
    from hamlet.results import check_target

    if format_ != "text":
        message = "--format is for standard output; a file is written as its ending says"
        raise click.UsageError(message)
    if Path(out).resolve() == Path(events).resolve():
        raise WriteError(out, "the events are there; choose another place")
    names = [query.name for query in wide.queries] if wide else ()
    check_target(Path(out), overwrite=overwrite, wide=names)


def _check_trace(trace: str, events: str, out: str | None, overwrite: bool) -> None:
    """Refuse a place for a trace before any event is read."""
    from hamlet.results import check_trace_target

    taken = {Path(events).resolve(): "the events are there"}
    if out is not None:
        taken[Path(out).resolve()] = "the results are to be written there"
    if Path(trace).resolve() in taken:
        raise WriteError(trace, f"{taken[Path(trace).resolve()]}; choose another place")
    check_trace_target(Path(trace), overwrite=overwrite)


@cli.command(
    "stream",
    epilog="Exit status: 0 it ended or was stopped, 1 the workload is wrong, 2 it failed.",
)
@click.argument("workload")
@click.option(
    "--source",
    metavar="PLACE",
    required=True,
    help="A folder of CSV, TSV, JSON lines or Parquet files, or kafka:HOST:PORT/TOPIC.",
)
@click.option(
    "--out", metavar="PLACE", required=True, help="A folder, kafka:HOST:PORT/TOPIC, or console."
)
@click.option("--checkpoint", metavar="FOLDER", required=True, help="Where the state is kept.")
@click.option(
    "--lateness",
    metavar="TIME",
    default="0 s",
    help="How long rows are waited for.  [default: 0 s]",
)
@click.option("--trigger", metavar="TIME", help="Begin a batch at most so often.")
@click.option("--once", is_flag=True, help="End when all that is there has been read.")
@click.option("--flush", is_flag=True, help="With --once: close all windows in the end.")
@_column_options
@_numbers_option
@_sharing_option
@click.option("--schema", metavar="FILE", help="Events that show what columns are, or a schema.")
@click.option(
    "--file-format",
    type=click.Choice(["parquet", "jsonl"]),
    default="parquet",
    help="Files at --out.  [default: parquet]",
)
@click.option("--files", default=100, help="So many files are read at a time.  [default: 100]")
@click.option("--buckets", type=int, help="Parts that groups are spread over.  [default: cores]")
@click.option("--master", metavar="URL", help="Where Spark runs, as in hamlet run.")
@click.option("--packages", metavar="NAMES", help="What Spark downloads, for Kafka.")
@format_option(help="In the end, print nothing or the counts as one JSON document.")
def stream(workload: str, lateness: str, trigger: str | None, format_: str, **given: Any) -> None:
    """Answer every query of a workload over a stream, window by window.

    WORKLOAD is a file of queries, or - for standard input. Ctrl-C stops it, and the same command
    goes on from there.
    """
    if given["flush"] and not given["once"]:
        raise click.UsageError("--flush is for the end of what is there: it goes with --once")
    if given["once"] and trigger is not None:
        raise click.UsageError("--trigger is for a stream that goes on, not for --once")
    if given["out"] == "console" and format_ == "json":
        raise click.UsageError("--out console prints tables: --format json goes with other places")
    loaded = load_workload(workload)
    command = spark_module("hamlet.spark.stream_command")
    counts = command.stream_run(loaded.plan, lateness, trigger, tell=tell, **given)
    give(counts, "", format_)


cli.add_command(check_command)
cli.add_command(generate_command)
cli.add_command(report_command)
cli.add_command(calibrate_command)


@cli.group()
def bench() -> None:
    """Measure how fast Hamlet is, against the floors that it has to keep."""


bench.add_command(engine_command)
bench.add_command(spark_command)
bench.add_command(sharing_command)
bench.add_command(paper_command)
bench.add_command(peers_command)
bench.add_command(compare_command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit status."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(arguments)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        click.echo("interrupted", err=True)
        return 2
    except HamletError as error:
        if "--debug" in arguments:
            traceback.print_exception(error)
        else:
            click.echo(_message(error), err=True)
        return 1 if isinstance(error, QueryError) else 2


def _run(arguments: list[str]) -> int:
    """Run a command; standard output that takes no more is an error like any other."""
    output = sys.stdout
    try:
        result: Any = cli.main(arguments, prog_name="hamlet", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except SystemExit:
        if sys.stdout is not output:
            # Nobody reads on: who reads the pipe had enough. For what is left, click has put
            # another stream in the place of standard output.
            return 0
        raise
    except OSError as error:
        # What is still buffered would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise WriteError("standard output", reason_of(error)) from error


def _message(error: HamletError) -> str:
    if isinstance(error, QueryError):
        number = len(error.problems)
        return f"{error}\n\n{number} error{'s' if number > 1 else ''} in {error.name}"
    return f"hamlet: {error}"
