"""The command line: read arguments, call the library, print.

Data goes to standard output, talk to standard error. Exit status 0: fine; 1: the answer is no; 2:
could not do it; 130 and 143: ended by Ctrl-C and by SIGTERM, as shells have it. A user's mistake
never shows a stack trace, unless `--debug` asks for it.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, NoReturn

import click

from hamlet._version import __version__
from hamlet.cli.bench import bench_command
from hamlet.cli.calibrate_command import calibrate_command
from hamlet.cli.check_command import check_command
from hamlet.cli.ending import EndedBySignal, EndedBySignals, leave, sigterm_ends
from hamlet.cli.examples_command import examples_command
from hamlet.cli.explain_command import explain_command
from hamlet.cli.generate_command import generate_command
from hamlet.cli.report_command import report_command
from hamlet.cli.run_command import run_command
from hamlet.cli.stream_command import stream_command
from hamlet.cli.warm_command import warm_command
from hamlet.errors import HamletError, QueryError, RunError, WriteError, counted, reason_of


@click.group(
    cls=EndedBySignals,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hamlet")
@click.option("--debug", is_flag=True, help="Show a stack trace with every error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Event trend aggregation: many Kleene-pattern queries over one stream, answered together."""
    context.obj = {"debug": debug}


for _command in (
    check_command,
    explain_command,
    run_command,
    examples_command,
    stream_command,
    generate_command,
    report_command,
    warm_command,
    calibrate_command,
    bench_command,
):
    cli.add_command(_command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit status."""
    with sigterm_ends():
        status = run(arguments)
    leave(status)


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
    except EndedBySignal as ended:
        return ended.told()
    except (click.Abort, KeyboardInterrupt):
        return EndedBySignal().told()
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
        if error.filename is not None:
            raise RunError(str(error.filename), reason_of(error)) from error
        # A stream that is open has no name. What is still buffered would fail once more when
        # Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise WriteError("standard output", reason_of(error)) from error


def _message(error: HamletError) -> str:
    if isinstance(error, QueryError):
        return f"{error}\n\n{counted(len(error.problems), 'error')} in {error.name}"
    return f"hamlet: {error}"
