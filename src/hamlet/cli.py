"""The command line: read arguments, call the library, print.

Data goes to standard output, talk to standard error. Exit status 0: fine; 1: the answer is no; 2:
could not do it. A user's mistake never shows a stack trace, unless `--debug` asks for it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from hamlet import __version__
from hamlet.errors import HamletError, QueryError, ReadError
from hamlet.explain import STAGES
from hamlet.schema import Schema
from hamlet.workload import FORMATS, Workload, read_text

WORKLOAD_HELP = "WORKLOAD is a file of queries, or - for standard input."


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hamlet")
@click.option("--debug", is_flag=True, help="Show a stack trace with every error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Event trend aggregation: many Kleene-pattern queries over one stream, answered together."""
    context.obj = {"debug": debug}


@cli.command(epilog="Exit status: 0 the workload is right, 1 it is wrong, 2 it cannot be read.")
@click.argument("workload")
@click.option(
    "--schema",
    metavar="FILE",
    help="Check attributes too: a .json schema, or a .csv, .jsonl or .parquet file of events.",
)
def check(workload: str, schema: str | None) -> None:
    """Say whether a workload is right, or list every error in it.

    WORKLOAD is a file of queries, or - for standard input.
    """
    click.echo(f"ok  {_load(workload, schema).summary}")


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
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Pictures (mermaid, svg) show the stages merged and templates.",
)
@click.option("--schema", metavar="FILE", help="Check attributes too, as in hamlet check.")
@click.option("--out", metavar="FILE", help="Write to this file instead of standard output.")
def explain(
    workload: str, stages: tuple[str, ...], format_: str, schema: str | None, out: str | None
) -> None:
    """Show what Hamlet understood of a workload: its plan, stage by stage, or as a picture.

    WORKLOAD is a file of queries, or - for standard input.
    """
    shown = _load(workload, schema).explain(stages, format=format_)
    if out is None:
        click.echo(shown, nl=False)
        return
    _write_whole(Path(out), shown)
    click.echo(f"wrote {out}", err=True)


def _load(workload: str, schema: str | None) -> Workload:
    known = Schema.load(schema) if schema else None
    if workload == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ReadError("standard input", "it is not UTF-8 text") from error
        return Workload.parse(text, schema=known, name="<stdin>")
    # The whole path is shown, so that an editor or terminal can open the place of an error.
    return Workload.parse(read_text(Path(workload)), schema=known, name=workload)


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that it appears whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ReadError(str(path), f"cannot write: {error.strerror}") from error


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit status."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        result: Any = cli.main(arguments, prog_name="hamlet", standalone_mode=False)
        return result if isinstance(result, int) else 0
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
            raise
        click.echo(_message(error), err=True)
        return 1 if isinstance(error, QueryError) else 2


def _message(error: HamletError) -> str:
    if isinstance(error, QueryError):
        number = len(error.problems)
        return f"{error}\n\n{number} error{'s' if number > 1 else ''} in {error.name}"
    return f"hamlet: {error}"
