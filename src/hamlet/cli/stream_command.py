"""`hamlet stream`: answer a workload over a stream, on Spark."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from hamlet.cli.loading import load_workload, spark_module
from hamlet.cli.options import column_options, format_option, numbers_option, sharing_options
from hamlet.cli.output import give, tell


def _tell_status(context: click.Context, _: click.Parameter, folder: str | None) -> None:
    """Tell what runs on a checkpoint, and end."""
    if folder is None or context.resilient_parsing:
        return
    status = spark_module("hamlet.spark.stream.status")
    click.echo(status.status_text(folder), nl=False)
    context.exit()


@click.command(
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
@click.option("--watch", is_flag=True, help="Take over changes of the file WORKLOAD.")
@click.option(
    "--status",
    metavar="FOLDER",
    is_eager=True,
    expose_value=False,
    callback=_tell_status,
    help="Instead: which queries a checkpoint has, since when.",
)
@column_options
@numbers_option
@sharing_options
@click.option("--schema", metavar="FILE", help="Events that show what columns are, or a schema.")
@click.option(
    "--file-format",
    type=click.Choice(["parquet", "jsonl"]),
    default="parquet",
    help="Files at --out.  [default: parquet]",
)
@click.option("--files", default=100, help="So many files are read at a time.  [default: 100]")
@click.option(
    "--buckets", type=int, help="Parts that groups are spread over.  [default: 16 or more]"
)
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    help="So many tasks work on them; other than before, the state is spread anew.",
)
@click.option("--master", metavar="URL", help="Where Spark runs, as in hamlet run.")
@click.option("--packages", metavar="NAMES", help="What Spark downloads, for Kafka.")
@click.option(
    "--late-rows", metavar="FOLDER", help="Keep rows that come too late there, as JSON lines."
)
@click.option(
    "--emit",
    type=click.Choice(["final", "update"]),
    default="final",
    help="Results of windows that are over, or of open ones as they change too.  [default: final]",
)
@click.option("--wide", metavar="QUERY", help="Results of this query alone, a column for each.")
@click.option("--page", metavar="PORT", help="Serve a page about the stream, on this machine.")
@click.option(
    "--start",
    metavar="OFFSETS",
    default="earliest",
    help="Of a topic: earliest, latest, a time, or JSON.  [default: earliest]",
)
@click.option(
    "--offsets",
    type=click.IntRange(min=1),
    default=500_000,
    help="So many rows of a topic are read at a time.  [default: 500000]",
)
@click.option(
    "--kafka", metavar="NAME=VALUE", multiple=True, help="An option of Kafka's clients; repeatable."
)
@click.option(
    "--kafka-config", metavar="FILE", help="A file with such options, as Kafka's own tools read it."
)
@click.option("--key", metavar="COLUMNS", help="Of a topic at --out: what keys are made of.")
@format_option(help="In the end, print nothing or the counts as one JSON document.")
def stream_command(
    workload: str, lateness: str, trigger: str | None, watch: bool, format_: str, **given: Any
) -> None:
    """Answer every query of a workload over a stream, window by window.

    WORKLOAD is a file of queries, or - for standard input. Ctrl-C stops it, and the same command
    goes on from there; with another workload, queries come and go from then on.
    """
    if given["flush"] and not given["once"]:
        raise click.UsageError("--flush is for the end of what is there: it goes with --once")
    if given["once"] and trigger is not None:
        raise click.UsageError("--trigger is for a stream that goes on, not for --once")
    if given["out"] == "console" and format_ == "json":
        raise click.UsageError("--out console prints tables: --format json goes with other places")
    _check_topics(given["source"], given["out"])
    given["topics"] = {
        name: given.pop(name) for name in ("start", "offsets", "kafka", "kafka_config", "key")
    }
    if watch and (given["once"] or workload == "-"):
        raise click.UsageError("--watch is for a file, and a stream that goes on without --once")
    loaded = load_workload(workload)
    command = spark_module("hamlet.spark.stream.command")
    watched = workload if watch else None
    counts = command.stream_run(loaded, lateness, trigger, tell=tell, watch=watched, **given)
    give(counts, "", format_)


def _check_topics(source: str, out: str) -> None:
    """Refuse options of topics where there is none: they would be passed over without a word."""
    reads, writes = source.startswith("kafka:"), out.startswith("kafka:")
    uses = {
        "start": ("--source", reads),
        "offsets": ("--source", reads),
        "kafka": ("--source or --out", reads or writes),
        "kafka_config": ("--source or --out", reads or writes),
        "key": ("--out", writes),
    }
    context = click.get_current_context()
    for name, (place, is_topic) in uses.items():
        if not is_topic and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            message = f"{option} is for topics: it goes with {place} kafka:HOST:PORT/TOPIC"
            raise click.UsageError(message)
