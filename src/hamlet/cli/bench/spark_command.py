"""`hamlet bench spark`: batches and streams, against the least that any Python on Spark costs."""

from __future__ import annotations

from pathlib import Path

import click

from hamlet.cli.bench.options import out_options, quick_option, write_figures
from hamlet.cli.loading import spark_module
from hamlet.cli.options import format_option
from hamlet.cli.output import give, tell


@click.command(
    "spark",
    epilog="Exit status: 0 every floor is kept (or --quick), 1 one is not, 2 it cannot run.",
)
@click.option("--events", type=int, default=10_000_000, show_default=True, help="Of a batch.")
@click.option("--only", type=click.Choice(["batch", "stream"]), help="Measure only this.")
@click.option("--master", metavar="URL", help="Where Spark runs.  [default: as Spark is set up]")
@click.option("--soak", type=float, metavar="MINUTES", help="Instead: whether memory stays flat.")
@quick_option
@out_options
@format_option()
def spark_command(
    events: int,
    only: str | None,
    master: str | None,
    soak: float | None,
    quick: bool,
    out: str | None,
    format_: str,
) -> int:
    """Measure workloads on Spark against a bare task of Python over the same rows.

    Answers are compared with those of one machine before anything is timed.
    """
    reports = {}
    if soak is not None:
        long = spark_module("hamlet.bench.spark_soak")
        reports["soak"] = long.soak(soak, tell, master=master)
        _show(long.as_text(reports["soak"]), format_)
    if only != "stream" and soak is None:
        batch = spark_module("hamlet.bench.spark")
        reports["batch"] = batch.measure(events, master=master, quick=quick, tell=tell)
        _show(batch.as_text(reports["batch"]), format_)
    if only != "batch" and soak is None:
        stream = spark_module("hamlet.bench.spark_stream")
        reports["stream"] = stream.measure_streaming(quick, tell, master=master)
        _show(stream.as_text(reports["stream"]), format_)
    give(reports, "", format_)
    if out is not None:
        write_figures(Path(out), reports)
        tell(f"wrote {out}")
    return 0 if all(report["kept"] for report in reports.values()) else 1


def _show(text: str, format_: str) -> None:
    """Print what is known already: the other measurement takes minutes, and may fail."""
    if format_ == "text":
        click.echo(text, nl=False)
